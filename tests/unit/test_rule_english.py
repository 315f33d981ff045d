"""English forms of the offline extractor: what is to be done or reminded of, and what
newcomers say of themselves.
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


def facts(text, when=NOW, **about):
    return extract(
        [Turn("t1", "s1", "user", text, when, **about)], ExtractionPolicy()
    ).candidates


TO_DO = rows("rule_english", "to_do")


# row: X2
# row: X14
@pytest.mark.parametrize(
    ("text", "statement", "due"), TO_DO, ids=[case[0] for case in TO_DO]
)
def test_what_is_still_to_be_done_is_a_promise_with_its_day(text, statement, due):
    """A promise, a duty, a wish to be reminded; the day is reckoned from the turn, and
    none is made up.
    """
    (one,) = facts(text)
    assert (one.category, one.text) == ("commitment", statement)
    assert (one.when.start.date().isoformat() if one.when else "") == due
    assert one.quote in text


# row: E16
@pytest.mark.parametrize(
    ("text", "statement", "day"),
    [
        (
            "My sister is getting married in June.",
            "The user's sister is getting married in June 2027.",
            "2027-06-01",
        ),
        (
            "My parents are coming on Friday.",
            "The user's parents are coming on Friday (27 November 2026).",
            "2026-11-27",
        ),
    ],
)
def test_what_another_person_plans_is_no_promise(text, statement, day):
    """It is an event with its day."""
    (one,) = facts(text)
    assert (one.category, one.text) == ("moment", statement)
    assert one.when.start.date().isoformat() == day


# row: X2
@pytest.mark.parametrize(
    "text",
    rows("rule_english", "what_is_asked_told_or_played_is_no_promise"),
)
def test_what_is_asked_told_or_played_is_no_promise(text):
    """A question for what is known, others' words, conditions, denials, jokes."""
    assert facts(text) == ()


def test_between_two_people_nobody_is_asked_to_remind():
    """Nor by an assistant, which says of itself what it likes."""
    text = "Remind me to call Anna tomorrow."
    people = [
        Turn("a", "s1", "assistant", "Hi!", NOW, "Ben"),
        Turn("b", "s1", "user", text, NOW, "Eva"),
    ]
    assert extract(people, ExtractionPolicy()).candidates == ()
    assert (
        extract(
            [Turn("a", "s1", "assistant", text, NOW)], ExtractionPolicy()
        ).candidates
        == ()
    )


@pytest.mark.parametrize(
    ("text", "statements"),
    rows("rule_english", "what_newcomers_say_of_themselves"),
)
def test_what_newcomers_say_of_themselves(text, statements):
    """One statement for each thing that is plainly said, none for what only looks like
    it.
    """
    assert [one.text for one in facts(text)] == statements


# row: X14
@pytest.mark.parametrize(
    "text", ["My sister Anna moves in May.", "I left with my friend Anna last week."]
)
def test_what_somebody_is_has_not_the_time_of_what_they_do(text):
    """Anna is a sister before she moves."""
    bond = next(one for one in facts(text) if one.text.startswith("Anna is the user's"))
    assert bond.when is None


# row: C3
@pytest.mark.parametrize(
    ("text", "statement"),
    rows("rule_english", "what_couples_say_of_themselves"),
)
def test_what_couples_say_of_themselves(text, statement):
    assert [one.text for one in facts(text)] == [statement] * bool(statement)
