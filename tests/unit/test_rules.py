"""The offline extractor in English and German: what it takes, and what it leaves."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.core.categories import CATEGORIES
from engram.core.policy import ExtractionPolicy
from engram.core.records import Turn
from engram.extraction.rules.engine import EXTRACTOR, extract
from tests.fakes.sentences import rows
from tests.size import examples

POLICY = ExtractionPolicy()
BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 21, 21, 14, tzinfo=BERLIN)  # a Saturday
MONDAY = datetime(2027, 3, 1, 9, tzinfo=BERLIN)


def turn(text, *, name="t1", role="user", speaker="", persona=None, when=NOW):
    return Turn(name, "s1", role, text, when, speaker, persona)


def facts(text, **about):
    return extract([turn(text, **about)], POLICY).candidates


TAKEN = rows("rules", "taken")

LEFT = rows("rules", "left")


# row: X2
# row: X17
@pytest.mark.parametrize(
    ("text", "category", "statement"), TAKEN, ids=[case[0] for case in TAKEN]
)
def test_a_plain_assertion_becomes_one_statement(text, category, statement):
    """Each of these sentences gives exactly the one fact, in the third person, with a
    literal piece of the turn.
    """
    (one,) = facts(text)
    assert (one.category, one.text, one.turn_id) == (category, statement, "t1")
    assert one.quote
    assert one.quote in text


# row: X2
@pytest.mark.parametrize("text", LEFT)
def test_what_is_not_asserted_of_oneself_gives_nothing(text):
    """Questions, hedges, mockery, quotations, games and small talk are left alone."""
    assert facts(text) == ()


# row: X2
# row: X13
@pytest.mark.parametrize(("text", "statements"), rows("rules", "several"))
def test_each_thing_that_is_plainly_said_is_a_statement(text, statements):
    """And none is what only looks like one, or is taken back."""
    assert [one.text for one in facts(text)] == statements


# row: X14
@pytest.mark.parametrize(("text", "statement", "due"), rows("rules", "to_do"))
def test_what_is_still_to_be_done_is_a_promise_with_its_day(text, statement, due):
    """The day is reckoned from the turn, and none is made up."""
    (one,) = facts(text)
    assert (one.category, one.text) == ("commitment", statement)
    assert (one.when.start.date().isoformat() if one.when else "") == due


# row: E16
@pytest.mark.parametrize(
    ("text", "is_promise"),
    [
        *((text, True) for text in rows("rules", "promises")),
        *((text, False) for text in rows("rules", "no_promises")),
    ],
)
def test_only_duties_promises_and_reminders_are_promises(text, is_promise):
    found = [one.category for one in facts(text, when=MONDAY)]
    assert found == ["commitment"] if is_promise else "commitment" not in found


# row: E16
@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("My sister is getting married in June.", "2027-06-01"),
        ("My parents are coming on Friday.", "2026-11-27"),
    ],
)
def test_what_another_person_plans_is_an_event_with_its_day(text, day):
    (one,) = facts(text)
    assert one.category == "moment"
    assert one.when.start.date().isoformat() == day


@pytest.mark.parametrize(
    "text",
    ["Remind me to call Anna tomorrow.", "Erinner mich morgen an den Zahnarzttermin."],
)
def test_between_two_people_nobody_is_asked_to_remind(text):
    people = [
        turn("Hi!", role="assistant", speaker="Ben"),
        turn(text, name="b", speaker="Eva"),
    ]
    assert extract(people, POLICY).candidates == ()
    assert facts(text, role="assistant") == ()


# row: X14
@pytest.mark.parametrize(
    "text", ["My sister Anna moves in May.", "I left with my friend Anna last week."]
)
def test_what_somebody_is_has_not_the_time_of_what_they_do(text):
    """Anna is a sister before she moves."""
    bond = next(one for one in facts(text) if one.text.startswith("Anna is the user's"))
    assert bond.when is None


WORDS = st.sampled_from(
    [word for case in TAKEN for word in case[0].split()]
    + [word for text in LEFT for word in text.split()]
    + ["\n", "“", "😀"]
)


# row: X17
@examples(300)
@given(st.lists(WORDS, max_size=30))
def test_any_words_give_lawful_candidates(words):
    """Whatever is said: literal quote, known category, confidence within the limit, and
    the same again.
    """
    text = " ".join(words)
    first = facts(text)
    assert first == facts(text)
    for one in first:
        assert one.quote in text
        assert one.category in CATEGORIES
        assert 0 < one.confidence <= POLICY.rules_confidence
        assert "\x00" not in one.text


@examples(150)
@given(st.sampled_from([case[0] for case in TAKEN if "?" not in case[0]]))
def test_a_question_is_never_a_fact(text):
    """The same words as a question give nothing."""
    assert facts(text.rstrip(".!") + "?") == ()


def test_an_unnamed_user_is_left_out_of_about():
    """An empty `about` means the owner; others are still named."""
    assert facts("I love hiking.")[0].about == ()
    assert facts("I have a dog named Rex.")[0].about == ("Rex",)


def test_a_persona_with_a_name_is_still_a_bot():
    """A speaker that is the persona of the turn is no person."""
    assert facts("I love tea.", role="assistant", speaker="Luna", persona="luna") == ()


def test_a_second_person_is_believed_about_themselves_a_little_less():
    """In a talk between two named people both speak for themselves."""
    (mine,) = facts("I love hiking.", speaker="Anna")
    (theirs,) = facts("I love hiking.", role="assistant", speaker="Ben")
    assert theirs.text == "Ben loves hiking."
    assert theirs.confidence < mine.confidence


def test_a_plan_in_the_past_is_no_plan():
    """`will` needs a time ahead, an event a time behind."""
    assert facts("I will send it to Anna yesterday.") == ()
    assert facts("I visited Rome tomorrow.") == ()


# row: C3
def test_a_batch_gives_each_statement_once():
    """The same statement in two turns is one fact, counted as repeated."""
    found = extract([turn("I love hiking."), turn("I love hiking!", name="t2")], POLICY)
    assert [one.turn_id for one in found.candidates] == ["t1"]
    assert found.dropped["repeated"] == 1


# row: C3
# row: E15
def test_a_batch_is_capped_and_keeps_the_surest():
    """Over the cap the weaker go; the order of the turns stays."""
    turns = [
        turn(f"I love {word}.", name=f"a{word}") for word in ("tea", "rain", "chess")
    ]
    turns.append(turn("My name is Anna.", name="z"))
    found = extract(turns, ExtractionPolicy(max_facts=2))
    assert [one.turn_id for one in found.candidates] == ["atea", "z"]
    assert found.dropped["too many"] == 2
    assert found.extractor == EXTRACTOR


def test_long_pasted_text_is_not_read():
    """A very long turn is somebody's text."""
    assert extract([turn("I love hiking. " * 200)], POLICY).dropped == {"pasted": 1}


@pytest.mark.parametrize(
    ("before", "after"),
    rows("rules", "nothing_is_read_while_a_role_is_played"),
)
def test_nothing_is_read_while_a_role_is_played(before, after):
    """From the first line of a game to its end nobody speaks for themselves; afterwards
    they do again.
    """
    texts = [*before, "I live in Bruges.", *after, "I live in Oslo."]
    found = extract(
        [turn(text, name=f"t{place}") for place, text in enumerate(texts)], POLICY
    )
    assert [one.text for one in found.candidates] == ["The user lives in Oslo."]
    assert found.dropped["played"] == len(texts) - 1


def test_mockery_spoils_tastes_and_not_facts():
    """Who mocks in one sentence may state a plain fact in the next."""
    found = facts("Oh great, rain. I just love Tuesdays. I'm allergic to nuts.")
    assert [one.text for one in found] == ["The user is allergic to nuts."]


def test_only_the_sentence_before_is_taken_back():
    """A slip of the tongue does not undo the rest of the turn."""
    found = extract([turn("I live in Oslo. I love tea. No, coffee.")], POLICY)
    assert [one.text for one in found.candidates] == ["The user lives in Oslo."]
    assert found.dropped == {"taken back": 1}
