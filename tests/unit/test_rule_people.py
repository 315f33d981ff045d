"""Whom the offline extractor's statements are about: relatives, bare names and
pronouns.
"""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from engram.core.policy import ExtractionPolicy
from engram.core.records import Turn
from engram.extraction.rules.engine import extract
from engram.extraction.rules.people import relatives
from tests.fakes.sentences import rows

NOW = datetime(2026, 11, 21, 21, 14, tzinfo=ZoneInfo("Europe/Berlin"))  # a Saturday


def read(text, speaker=""):
    return extract([Turn("t1", "s1", "user", text, NOW, speaker)], ExtractionPolicy())


def facts(text, speaker=""):
    return read(text, speaker).candidates


def test_a_pronoun_of_the_other_gender_is_not_resolved():
    """`her` is not a brother."""
    assert [
        one.text for one in facts("My brother Tom is ill. I will visit her tomorrow.")
    ] == ["Tom is the user's brother."]


def test_he_or_she_is_the_only_person_of_the_sentence_before():
    said = facts(
        "My son Ben met Tom. He works at Aldi. My sister Anna is ill. She works at BMW."
    )
    assert [one.text for one in said if "works" in one.text] == ["Anna works at BMW."]


def test_a_relative_with_a_name_gives_the_bond_and_what_is_said():
    """Two facts, each about its own subject."""
    bond, pet = facts(
        "My sister Anna has a greyhound called Bolt, and he sleeps all day.",
        speaker="Mira",
    )
    assert (bond.category, bond.text, bond.about) == (
        "relationship",
        "Anna is Mira's sister.",
        ("Anna", "Mira"),
    )
    assert (pet.text, pet.about) == (
        "Anna has a greyhound called Bolt.",
        ("Anna", "Bolt"),
    )


# row: E15
def test_a_known_relative_may_like_things():
    """A bare name that likes something may be a brand, unless it was introduced."""
    assert facts("I know Anna. Anna loves jazz.") == ()
    found = facts("My brother Paul is here. Paul loves jazz.")
    assert [one.text for one in found] == [
        "Paul is the user's brother.",
        "Paul loves jazz.",
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("I went with my sister Anna.", [("Anna", "sister")]),
        ("It is my friend Emma's birthday.", [("Emma", "friend")]),
        ("I shop for my neighbor, Mrs. Johnson, now", [("Mrs. Johnson", "neighbor")]),
        ("I gave my sister Harry Potter.", []),
        ("a list for my friend Amanda Van West", []),
        ("I went with my friends Ann and Bo.", [("Ann", "friend"), ("Bo", "friend")]),
        ("My sister Anna sings.", [("Anna", "sister")]),
        ("I went with my dad Monday.", []),
    ],
)
def test_who_somebody_is_may_stand_anywhere_in_a_clause(text, found):
    """A relative, friend or animal by name; no present for them, no longer name, no
    several.
    """
    assert [(one.name, one.kin) for one in relatives(text, 0, len(text))] == found


# row: X2
@pytest.mark.parametrize(
    ("text", "expected"),
    rows("rule_people", "each_relative_of_a_list_is_named"),
)
def test_each_relative_of_a_list_is_named(text, expected):
    listed = [one.text for one in facts(text) if " is the user's " in one.text]
    assert listed == expected


# row: X14
def test_a_time_in_brackets_belongs_to_no_later_clause():
    home, work = facts("I live in Bonn (since 2018) and I work at Siemens.")
    assert home.text == "The user lives in Bonn."
    assert (work.text, work.when) == ("The user works at Siemens.", None)
