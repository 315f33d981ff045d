"""Whom the offline extractor's statements are about: relatives, bare names and pronouns."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from engram.core.policy import ExtractionPolicy
from engram.core.records import Turn
from engram.llm.rule_people import bindings, names, other
from engram.llm.rules import extract

NOW = datetime(2026, 11, 21, 21, 14, tzinfo=ZoneInfo("Europe/Berlin"))  # a Saturday


def facts(text, speaker=""):
    return extract([Turn("t1", "s1", "user", text, NOW, speaker)], ExtractionPolicy()).candidates


def test_a_pronoun_of_the_other_gender_is_not_resolved():
    """`her` is not a brother."""
    assert [one.text for one in facts("My brother Tom is ill. I will visit her tomorrow.")] == [
        "Tom is the user's brother."
    ]


def test_ones_own_name_is_no_news():
    """A speaker with a name does not need it said again."""
    assert facts("My name is Mira.", speaker="Mira") == ()
    assert [one.text for one in facts("My name is Mira Sol.", speaker="Mira")] == ["Mira's name is Mira Sol."]


def test_a_relative_with_a_name_gives_the_bond_and_what_is_said():
    """Two facts, each about its own subject."""
    bond, pet = facts("My sister Anna has a greyhound called Bolt, and he sleeps all day.", speaker="Mira")
    assert (bond.category, bond.text, bond.about) == ("relationship", "Anna is Mira's sister.", ("Anna", "Mira"))
    assert (pet.text, pet.about) == ("Anna has a greyhound called Bolt.", ("Anna", "Bolt"))


def test_a_known_relative_may_like_things():
    """A bare name that likes something may be a brand, unless it was introduced."""
    assert facts("I know Anna. Anna loves jazz.") == ()
    found = facts("My brother Paul is here. Paul loves jazz.")
    assert [one.text for one in found] == ["Paul is the user's brother.", "Paul loves jazz."]


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("Anna lives in Porto. I will visit her tomorrow.", "Mira will visit Anna on 22 November 2026."),
        ("My brother is ill. I'm going to call him tomorrow.", "Mira plans to call their brother on 22 November 2026."),
        ("We talked about Porto in May. I met Anna in Porto. I will go there tomorrow.", "Mira will go to Porto on 22"),
    ],
)
def test_a_pronoun_is_put_into_words_where_one_fits(text, statement):
    """The sentence before names exactly one person or place."""
    assert facts(text, speaker="Mira")[-1].text.startswith(statement)


@pytest.mark.parametrize("filler", [" by the way", ", honestly", " lol", " too", ", to be honest", " please", " haha"])
def test_fillers_at_the_end_go(filler):
    """They are no part of the statement."""
    assert facts(f"I'm vegetarian{filler}.")[0].text == "The user is vegetarian."


def test_a_statement_begins_with_a_person_or_not():
    """Months, languages and words that merely open a sentence are nobody's name."""
    anna = other("My sister Anna sings.", 0, 21)
    assert (anna.name, anna.kin) == ("Anna", "sister")
    for text in ("Monday is fine.", "My sisters Anna and Mia sing.", "German is hard.", "the cat sat."):
        assert other(text, 0, len(text)) is None


@pytest.mark.parametrize(
    ("raw", "before", "meant"),
    [
        ("visit her tomorrow", "Anna lives in Porto.", {"her": "Anna"}),
        ("visit him", "My brother Tom lives in Porto.", {"him": "Tom"}),
        ("go there", "Anna lives in Porto.", {"there": "to Porto"}),
        ("visit her", "I met Anna and Ben.", None),
        ("visit her", "", None),
        ("read her book", "Anna lives in Porto.", None),
        ("met Anna and her dog", "", {}),
    ],
)
def test_a_pronoun_stands_for_the_one_that_fits(raw, before, meant):
    """Named inside: kept; one fits: put in its place; else the statement is refused."""
    assert bindings(raw, "I", before) == meant


def test_names_of_people_and_animals_are_found():
    """Each name once, also in a list."""
    assert names("I have two cats named Luna and Tom") == ("Luna", "Tom")
