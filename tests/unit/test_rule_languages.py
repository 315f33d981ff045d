"""German, French and Spanish forms of the offline extractor: what is ahead, and whose
people are named.
"""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from engram.core.policy import ExtractionPolicy
from engram.core.records import Turn
from engram.extraction.rules.engine import extract
from tests.fakes.sentences import rows

NOW = datetime(2026, 11, 21, 21, 14, tzinfo=ZoneInfo("Europe/Berlin"))  # a Saturday


def facts(text):
    return extract([Turn("t1", "s1", "user", text, NOW)], ExtractionPolicy()).candidates


TO_DO = rows("rule_languages", "to_do")


# row: X13
# row: X14
@pytest.mark.parametrize(
    ("text", "statement", "due"), TO_DO, ids=[case[0] for case in TO_DO]
)
def test_what_is_ahead_is_a_promise_with_its_day_in_figures(text, statement, due):
    """The words stay those of the speaker, so the day stands behind them as ISO 8601
    has it.
    """
    (one,) = facts(text)
    assert (one.category, one.text) == ("commitment", statement)
    assert (one.when.start.date().isoformat() if one.when else None) == due
    assert one.quote in text


# row: X13
@pytest.mark.parametrize(
    ("text", "statements"),
    rows("rule_languages", "what_newcomers_say_of_themselves"),
)
def test_what_newcomers_say_of_themselves(text, statements):
    found = facts(text)
    assert [one.text for one in found] == statements
    assert all(one.when is None for one in found)


# row: X2
@pytest.mark.parametrize(
    "text",
    rows("rule_languages", "what_is_open_others_or_of_nobody_named_is_no_promise"),
)
def test_what_is_open_others_or_of_nobody_named_is_no_promise(text):
    """Doubt, denial, questions, quotations, pronouns that nobody can follow."""
    assert facts(text) == ()


def test_between_two_people_nobody_is_asked_to_remind():
    text = "Erinner mich morgen an den Zahnarzttermin."
    people = [
        Turn("a", "s1", "assistant", "Hallo!", NOW, "Ben"),
        Turn("b", "s1", "user", text, NOW, "Eva"),
    ]
    assert extract(people, ExtractionPolicy()).candidates == ()


# row: X8
@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("Just kidding, I actually love jazz.", "The user loves jazz."),
        ("War nur Spaß, ich liebe Kino.", "Die Person liebt Kino."),
        ("I own a tiger, just kidding.", None),
    ],
)
def test_what_is_true_beside_the_joke_that_is_taken_back_is_read(text, statement):
    """The part that takes back is no statement, whatever stands before it is none."""
    assert [one.text for one in facts(text)] == ([statement] if statement else [])


# row: X13
@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("My blood group is B positive.", "The user's blood group is B positive."),
        ("My blood type is O-.", "The user's blood type is O-."),
        ("Meine Blutgruppe ist A positiv.", "Die Blutgruppe der Person ist A positiv."),
        ("My blood group is -", None),
    ],
)
def test_a_blood_group_is_a_fact_of_health(text, statement):
    """In an emergency somebody asks for it."""
    assert [one.text for one in facts(text)] == ([statement] if statement else [])


# row: B1
@pytest.mark.parametrize(
    ("text", "kin", "name"),
    [
        ("Meine Schwester heißt Clara.", "sister", "Clara"),
    ],
)
def test_a_relative_with_a_name_is_a_person_with_a_relation(text, kin, name):
    found = extract([Turn("t1", "s1", "user", text, NOW)], ExtractionPolicy())
    (relation,) = found.relations
    assert (relation.subject, relation.type, relation.object) == ("owner", kin, name)
    assert found.types == {name: "person"}


def test_a_pet_with_a_name_is_no_person():
    found = extract(
        [Turn("t1", "s1", "user", "Mein Hund heißt Rex.", NOW)], ExtractionPolicy()
    )
    assert found.relations == ()
    assert found.types == {"Rex": "animal"}


# row: X2
@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("Meine Mutter hat Diabetes.", "Die Mutter der Person hat Diabetes."),
    ],
)
def test_the_health_of_a_relative_is_a_fact(text, statement):
    assert [one.text for one in facts(text)] == [statement]


@pytest.mark.parametrize(
    "text",
    [
        "Ist mein Sohn allergisch gegen Nüsse?",
        "Vielleicht ist mein Sohn allergisch gegen Nüsse.",
        "Mein Sohn ist nicht allergisch gegen Nüsse.",
        "Si mi hijo es alérgico a las nueces, no vamos.",
    ],
)
def test_a_guess_about_the_health_of_a_relative_is_none(text):
    assert not [one for one in facts(text) if "llerg" in one.text or "lérg" in one.text]
