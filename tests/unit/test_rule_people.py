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
from engram.extraction.rules.people import has_open_pronoun, names, relatives
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
    ("raw", "is_open"),
    [
        ("visit her tomorrow", True),
        ("read her book", True),
        ("met Anna and her dog", False),
    ],
)
def test_a_pronoun_needs_its_person_in_the_statement(raw, is_open):
    """Else a reader of the note would not know whom it means."""
    assert has_open_pronoun(raw) is is_open


# row: B1
@pytest.mark.parametrize(
    ("text", "bonds", "types"),
    [
        ("My sister Anna has a cat.", {("Mira", "sister", "Anna")}, {"Anna": "person"}),
        ("My sister's name is Anna.", {("Mira", "sister", "Anna")}, {"Anna": "person"}),
        (
            "Actually, my boss is now Inês Duarte.",
            {("Mira", "boss", "Inês Duarte")},
            {"Inês Duarte": "person"},
        ),
        (
            "My boss is called Tomás Ferreira.",
            {("Mira", "boss", "Tomás Ferreira")},
            {"Tomás Ferreira": "person"},
        ),
        ("Ben is my boss at work.", {("Mira", "boss", "Ben")}, {"Ben": "person"}),
        (
            "My 5-year-old son Tom plays chess.",
            {("Mira", "son", "Tom")},
            {"Tom": "person"},
        ),
        ("I'm married to Jens.", {("Mira", "spouse", "Jens")}, {"Jens": "person"}),
        (
            "I work at Siemens in Munich.",
            {("Mira", "works_at", "Siemens")},
            {"Siemens": "org"},
        ),
        (
            "I live in New York City.",
            {("Mira", "lives_in", "New York City")},
            {"New York City": "place"},
        ),
        (
            "I met Anna, Anna lives in Porto.",
            {("Anna", "lives_in", "Porto")},
            {"Anna": "person", "Porto": "place"},
        ),
        ("Ich wohne in Berlin.", {("Mira", "lives_in", "Berlin")}, {"Berlin": "place"}),
        (
            "Ich arbeite bei Siemens.",
            {("Mira", "works_at", "Siemens")},
            {"Siemens": "org"},
        ),
        (
            "Meine Schwester heißt Clara.",
            {("Mira", "sister", "Clara")},
            {"Clara": "person"},
        ),
        # no name, several names, no person, or over
        ("I work at a small bakery.", set(), {}),
        ("I live in Lisbon and Porto.", set(), {}),
        ("I used to live in Lisbon.", set(), {}),
        ("My dog Rex is old.", set(), {"Rex": "animal"}),
        ("My parents are Tom and Eva.", set(), {"Tom": "person", "Eva": "person"}),
        ("Does my sister Anna live in Porto?", set(), {}),
        ("Maybe I will work at Siemens.", set(), {}),
    ],
)
def test_a_statement_ties_together_whom_it_names(text, bonds, types):
    """Whose what somebody is, where somebody lives and works; no more than the pattern
    tells.
    """
    found = read(text, speaker="Mira")
    assert {(one.subject, one.type, one.object) for one in found.relations} == bonds
    assert found.types == {"Mira": "person"} | types


# row: B1
@pytest.mark.parametrize(
    ("text", "bond"),
    rows("rule_people", "a_statement_says_that_something_is_over"),
)
def test_a_statement_says_that_something_is_over(text, bond):
    """And nothing in its place."""
    found = read(text, speaker="Mira")
    assert [
        [one.subject, one.type, one.object] for one in found.relations if one.ended
    ] == [bond]
    assert not [one for one in found.relations if not one.ended]


# row: B1
@pytest.mark.parametrize(
    "text",
    [
        "I left Siemens early today.",
        "Maybe I left Siemens.",
        "I left Anna at the station.",
    ],
)
def test_not_everybody_who_leaves_is_gone_for_good(text):
    """A day's work has an end too."""
    assert read(text, speaker="Mira").relations == ()


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


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("My boss is Dr. Lopes and", ("Dr. Lopes",)),
        ("She is called Mrs Lopes", ("Mrs Lopes",)),
        ("My cat is Dr", ("Dr",)),
    ],
)
def test_a_title_is_part_of_a_name(said, found):
    """Else the name ends at its dot, and the note is called `Dr`."""
    assert names(said) == found


def test_a_pet_with_a_name_is_no_person():
    found = read("Mein Hund heißt Rex.")
    assert (found.relations, found.types) == ((), {"Rex": "animal"})


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
