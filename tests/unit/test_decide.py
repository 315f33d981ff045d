"""What a new statement does to the known facts: a matrix of values, without a vault."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.core import todos
from engram.core.decide import (
    Effect,
    Known,
    Statement,
    changed_by,
    decide,
    is_called_off,
    is_event,
    is_own_change,
    is_scheduled,
    rescheduled,
)
from engram.core.language.states import states
from engram.core.policy import Policy
from engram.core.records import Fact
from tests.size import examples

POLICY = Policy()
THEN = datetime(2026, 3, 4, tzinfo=UTC)
LATER = THEN + timedelta(days=60)
OLD = Fact(
    "F1",
    "Anna lives in Berlin.",
    created=THEN - timedelta(days=90),
    confidence=0.6,
    source="a#^t1",
    origin="rules",
)
NEW = Statement(Fact("N", "Anna lives in Munich.", source="b#^t1", created=THEN), THEN)
MET = Known(OLD, 0.75)

AGAIN, MORE = {"relation": "repeats"}, {"relation": "repeats", "exceeded": True}
REPLACED, OVER = {"relation": "replaces"}, {"relation": "ends"}
WORDS = {"similarity": 0.78, "distinct": "another home"}
OFTEN = {"also": ("b#^t1", "c#^t1")}
EVENT = {"kind": "episode", "valid_from": THEN - timedelta(days=91)}
PROMISE = {"category": "commitment"}
CORRECTS = {"category": "correction"}
PLANNED = {"valid_from": LATER}
OTHERS = {"by_user": False, "source": "assistant"}
FULL = {"remaining": 0}

# what the statement is | its fact | the known fact | its record | what follows | why
MATRIX = [
    # C5, X17: what is not compared
    ({"filed": True, "trivial": True}, {}, {"equal": True}, {}, ":", "already filed"),
    ({"trivial": True, "grounded": False}, {}, {"equal": True}, {}, ":", "trivial"),
    ({"grounded": False}, {}, {"equal": True}, {}, ": reinforce", "same statement"),
    ({"grounded": False, "refused": "no"}, {}, {}, {}, "review:", "no words"),
    ({"refused": "no", "contained": "x"}, {}, {}, {}, ":", "no"),
    ({"contained": "no"}, {}, {"similarity": 0.9}, {}, "review:", "no"),
    ({}, {}, {}, {"superseded_by": ("N",), "end_reason": "x"}, "active:", "x"),
    # A7, A8: the same
    ({}, {}, {"equal": True, "distinct": "another time"}, {}, ": reinforce", "same"),
    ({}, {}, {"similarity": 0.86}, {}, ": reinforce", "says the same (0.86)"),
    ({}, {}, {"similarity": 0.85}, {}, "active:", "new"),
    ({}, {}, {"similarity": 0.69}, {}, "active:", "new"),
    ({}, {}, {"similarity": 0.99, "visible": False}, {}, "active:", "new"),
    ({}, {}, {"similarity": 0.97, "distinct": "other names"}, {}, "active:", "new"),
    ({}, {}, AGAIN, {}, ": reinforce", "says the same"),
    ({}, {}, {"relation": "repeats", "distinct": "x"}, {}, "active:", "new"),
    ({}, {}, {"similarity": 0.9, "cap": None}, {}, ": confirm", "says the same"),
    ({}, {}, {"similarity": 0.9}, {"also": ("b#^t1",)}, ": confirm", "says the same"),
    ({}, {}, {"similarity": 0.9}, {"pinned": True}, ": confirm", "says the same"),
    ({}, {}, {"similarity": 0.9, "guarded": "x"}, {}, ": confirm", "says the same"),
    ({}, {}, MORE, {}, ": rewrite", "says the same"),
    ({}, {}, {**MORE, "protected": True}, {}, "active:", "says more"),
    ({}, {}, {**MORE, "newer": True}, {}, ": reinforce", "says the same"),
    ({}, {}, {**MORE, "barred": "x"}, {}, ": reinforce", "says the same"),
    (OTHERS, {}, MORE, {}, ": reinforce", "says the same"),
    ({}, {}, MORE, EVENT, ": reinforce", "says the same"),
    ({}, {}, {"relation": "supports"}, {}, "active: reinforce", "new"),
    (OTHERS, {}, {"relation": "supports"}, {}, "active:", "new"),
    # X8: a correction
    ({}, CORRECTS, REPLACED, OFTEN, "active: supersede+", "something else"),
    ({}, CORRECTS, REPLACED, EVENT, "active: supersede+", "something else"),
    ({}, CORRECTS, {**REPLACED, "guarded": "x"}, {}, "active: ask", "x"),
    ({}, CORRECTS, WORDS, {}, "active:", "new"),
    # A9: links of a model
    ({}, {}, REPLACED, {}, "active: supersede", "something else holds now"),
    ({}, {}, OVER, {}, "active: supersede", "it is over"),
    ({}, {}, REPLACED, OFTEN, "active: weaken", "something else holds now"),
    ({}, {}, REPLACED, {**OFTEN, "pinned": True}, "active: ask", "something else"),
    ({"ends": True}, {}, OVER, OFTEN, ": supersede", "it is over"),
    ({"ends": True}, {}, {**OVER, "guarded": "x"}, {}, "review: ask", "x"),
    ({}, {}, REPLACED, {"origin": "user"}, "active: supersede", "something else"),
    ({}, {}, {**REPLACED, "guarded": "x"}, {}, "active: ask", "x"),
    (OTHERS, {}, {**REPLACED, "guarded": "x"}, {}, "review: ask", "x"),
    (OTHERS, {}, {**REPLACED, "barred": "x"}, {}, "review: ask", "x"),
    ({}, {}, {**REPLACED, "newer": True}, {}, "superseded:", "something younger"),
    ({}, {}, {**OVER, "newer": True}, {}, "active:", "something younger"),
    (FULL, {}, REPLACED, {}, "active: ask", "too many changes"),
    (FULL, {}, REPLACED, OFTEN, "active: weaken", "something else holds now"),
    ({"doubtful": True}, {}, REPLACED, {}, "active:", "in doubt"),
    ({}, {}, REPLACED, EVENT, "active:", "what happened stays"),
    ({"words": "It is over."}, {}, OVER, PROMISE, "active: settle", "it is over"),
    ({"words": "New day."}, {}, REPLACED, PROMISE, "active: supersede", "something"),
    ({}, {}, REPLACED, {"attribute": "name"}, "active:", "no event ends it"),
    (
        {},
        {"attribute": "name"},
        REPLACED,
        {"attribute": "name"},
        "active: supersede",
        "",
    ),
    ({}, {}, {"similarity": 0.95, **REPLACED}, {}, "active: supersede", "something"),
    # announced for a day
    ({}, PLANNED, REPLACED, {}, "active: schedule", "something else holds now"),
    ({}, {**PLANNED, **PROMISE}, REPLACED, {}, "active: schedule", "something else"),
    ({}, PROMISE, REPLACED, {}, "active:", "a planned change without a day"),
    ({}, {**PLANNED, "attribute": "figure"}, REPLACED, {}, "active: supersede", "som"),
    ({"plans": True}, {}, REPLACED, {}, "active:", "a planned change without a day"),
    ({}, PLANNED, REPLACED, PLANNED, "active: supersede", "something else"),
    ({}, {**PLANNED, **CORRECTS}, REPLACED, {}, "active: supersede+", "something"),
    ({}, {**PLANNED, **PROMISE}, REPLACED, PROMISE, "active: supersede", "something"),
    # the last words of the user
    ({}, {}, {"undone": True}, {}, "active: supersede", "the statement that it had"),
]


def told(decision):
    actions = (
        f"{one.action}{'+' if one.add_tombstone else ''}" for one in decision.effects
    )
    return f"{decision.destination}: {' '.join(actions)}".rstrip()


# row: A7
# row: A8
# row: A9
# row: A10
# row: A11
# row: C5
# row: C33
# row: X8
# row: X9
# row: X17
# row: X23
# row: X27
@pytest.mark.parametrize(("new", "fact", "known", "old", "follows", "why"), MATRIX)
def test_one_known_fact(new, fact, known, old, follows, why):
    """What becomes of the statement and of the fact, with the reason."""
    statement = replace(NEW, fact=replace(NEW.fact, **fact), **new)
    decision = decide(
        statement, [replace(MET, fact=replace(OLD, **old), **known)], POLICY
    )
    assert told(decision) == follows
    reasons = [decision.why, *decision.refused]
    assert any(one.removeprefix("known: ").startswith(why) for one in reasons)


HOME, JOB = "The user lives in Berlin.", "The user works at Acme."
STATED = [
    ("I moved to Munich.", HOME, "supersede", "another home (rule of states)"),
    ("I live in Munich.", HOME, "supersede", "another home (rule of states)"),
    ("I no longer work at Acme.", JOB, "supersede", "no longer holds: employer"),
    ("I am moving to Lisbon on 3 May 2026.", HOME, "schedule", "another home"),
    ("I want to move to Lisbon.", HOME, "", ""),
    ("My sister Eva moved to Lisbon.", HOME, "", ""),
    ("I live in Berlin Kreuzberg.", HOME, "", ""),
    ("I work at Bosch too.", JOB, "", ""),
]


# row: A7
# row: E5
@pytest.mark.parametrize(("said", "known", "action", "why"), STATED)
def test_a_state_ends_the_one_in_its_slot(said, known, action, why):
    """At once, or on the day that the words give, however unlike the words are."""
    new = replace(NEW, fact=replace(NEW.fact, text=said), states=states(said))
    old = Known(replace(OLD, text=known, **OFTEN), states=states(known))
    effects = decide(new, [old], POLICY).effects
    assert [one.action for one in effects] == ([action] if action else [])
    assert all(one.why.startswith(why) for one in effects)
    for change in ({"guarded": "x"}, {"barred": "x"}):
        asked = decide(new, [replace(old, **change)], POLICY).effects
        assert [one.action for one in asked] == (["ask"] if action else [])


ANNOUNCED = "The user starts at Bosch on 3 May 2026."


# row: A7
@pytest.mark.parametrize(
    ("said", "action"),
    [
        ("I work for Acme right now.", []),
        ("I work for Acme until my new job starts.", []),
        ("I start at Siemens on 3 May 2026.", ["schedule"]),
        ("I no longer work at Bosch.", ["supersede"]),
    ],
)
def test_what_holds_now_does_not_call_off_what_is_announced(said, action):
    """Another announcement does, and words that end it."""
    new = replace(NEW, fact=replace(NEW.fact, text=said), states=states(said))
    plan = replace(OLD, text=ANNOUNCED, valid_from=LATER)
    effects = decide(new, [Known(plan, states=states(ANNOUNCED))], POLICY).effects
    assert [one.action for one in effects] == action


SON = "The user's son is called {}."


# row: X8
@pytest.mark.parametrize(
    ("text", "values", "action"),
    [
        ("The user lives in {}.", ("Rome", "Berlin"), "supersede+"),
        (SON, ("Tim", "Max"), "supersede+"),
        (SON, ("Tim", "Max", "Leo"), "ask"),
        ("The user's birthday is on {} May.", ("3", "4"), "supersede+"),
        ("The user likes {}.", ("tea", "coffee"), ""),
    ],
)
def test_a_correction_ends_the_wrong_value_at_once(text, values, action):
    """However often it was told; only a person knows which of two names is wrong."""
    right, *wrong = map(text.format, values)
    fact = replace(NEW.fact, text=right, **CORRECTS)
    new = replace(NEW, fact=fact, states=states(right), said_at=THEN)
    known = [
        Known(replace(OLD, id=one, text=one, **OFTEN), states=states(one))
        for one in wrong
    ]
    assert told(decide(new, known, POLICY)) == f"active: {action}".rstrip()


# row: X7
def test_what_is_over_is_not_said_again_by_another_source():
    """The user ended it; an assistant repeats an old note."""
    new = replace(NEW, states=states("The user lives in Berlin."), **OTHERS)
    over = Known(replace(OLD, status="superseded"), states=states(HOME), visible=False)
    now = Known(replace(OLD, id="F2"), states=states("The user lives in Rome."))
    known = [over, replace(now, barred="the user said it")]
    assert decide(new, known, POLICY).action == "skip"
    assert decide(replace(new, source="user"), [over], POLICY).action == "create"


# row: C33
def test_a_plan_that_is_called_off_lets_the_old_state_go_on():
    """Before its day, not when its day has passed; another day moves the end."""
    old = replace(OLD, superseded_by=("P",), valid_until=LATER)
    plan = Fact("P", "Anna moves to Rome.", "commitment", created=THEN, **PLANNED)
    assert is_scheduled(old)
    assert not is_scheduled(replace(old, status="superseded"))
    given_up = {"tags": (todos.EXPIRED,), "done": LATER - timedelta(days=3)}
    assert not is_called_off(plan, LATER)
    assert is_called_off(replace(plan, **given_up), LATER)
    assert not is_called_off(
        replace(plan, **given_up, end_reason=todos.TIME_OVER), LATER
    )
    assert is_called_off(replace(plan, status="forgotten"), LATER)
    assert is_called_off(None, LATER)
    freed = rescheduled(old, plan, None)
    assert (freed.superseded_by, freed.valid_until) == ((), None)
    moved = rescheduled(
        old, plan, replace(plan, id="Q", valid_from=LATER + timedelta(9))
    )
    assert (moved.superseded_by, moved.valid_until) == (("Q",), LATER + timedelta(9))


# -- numbers ---------------------------------------------------------------------------


FACTS = st.builds(
    Fact,
    id=st.just("F1"),
    text=st.just("x"),
    kind=st.sampled_from(("note", "episode")),
    category=st.sampled_from(("fact", "moment", "commitment")),
    confidence=st.floats(0, 1),
    source=st.sampled_from(("", "a#^t1", "b#^t1")),
    also=st.sets(st.sampled_from(("b#^t1", "c#^t1", "d#^t1"))).map(tuple),
    origin=st.sampled_from(("", "rules", "user", "edited")),
    pinned=st.booleans(),
    verification=st.sampled_from(("", "user_confirmed")),
    valid_from=st.sampled_from((None, THEN, LATER)),
)
KNOWN = st.builds(
    Known,
    fact=FACTS,
    similarity=st.floats(0, 1),
    relation=st.sampled_from(("", "repeats", "replaces", "ends", "supports")),
    newer=st.booleans(),
    barred=st.sampled_from(("", "barred")),
    guarded=st.sampled_from(("", "guarded")),
    exceeded=st.booleans(),
    undone=st.booleans(),
)
STATEMENTS = st.builds(
    Statement,
    fact=st.builds(
        Fact,
        id=st.just("N"),
        text=st.just("y"),
        category=st.sampled_from(("fact", "correction", "commitment")),
        source=st.just("b#^t1"),
        valid_from=st.sampled_from((None, LATER)),
    ),
    said_at=st.just(THEN),
    by_user=st.booleans(),
    remaining=st.integers(0, 5),
)


@examples(400)
@given(STATEMENTS, KNOWN)
def test_whatever_happens_nothing_is_lost(new, known):
    """A statement has a note of its own or lives on in another; no barred, guarded,
    older or limited evidence changes a fact.
    """
    decision = decide(new, [known], POLICY)
    found = {one.action for one in decision.effects}
    assert decision.destination or found & {"confirm", "reinforce", "rewrite"}
    ends = {"supersede", "settle", "schedule"}
    assert len(found & ends) <= new.remaining
    if known.guarded or known.fact.pinned:
        assert found <= {"confirm", "ask", *(ends if not known.guarded else ())}
    if known.barred or known.newer:
        assert found <= {"confirm", "reinforce", "ask"}
    if (
        is_event(known.fact)
        and known.fact.category != "commitment"
        and not new.corrects
    ):
        assert not found & ends
    assert all(0 <= (one.confidence or 0) <= 1 for one in decision.effects)


BERLIN = Fact(
    "A",
    "Anna lives in Berlin.",
    source="talk#^t1",
    also=("more#^t2",),
    about=("Anna",),
    confidence=0.5,
)
HEIR = "01KBH2Q0M6T4W2Y0B7C5D9E1FX"


# row: X23
@pytest.mark.parametrize(
    ("changed", "ours"),
    [
        ({"also": ("more#^t2", "again#^t1"), "confidence": 0.6, "expires": None}, True),
        ({"superseded_by": (HEIR,), "confidence": 0.3}, True),
        (
            {
                "superseded_by": (HEIR,),
                "status": "invalidated",
                "end_reason": "another home",
            },
            True,
        ),
        ({"supersedes": (HEIR,), "sha": "ff"}, True),
        (
            {"superseded_by": ("fact-anna-lives-in-munich",), "status": "superseded"},
            False,
        ),
        ({"also": ("more#^t2", "again#^t1"), "text": "Anna lives in Bonn."}, False),
        ({"also": ("more#^t2", "again#^t1"), "about": ("Ben",)}, False),
        ({"also": ()}, False),
        ({"also": ("again#^t1",)}, False),
        ({"status": "invalidated", "end_reason": "she moved"}, False),
        ({"confidence": 0.9}, False),
        ({"sha": "ff"}, False),
    ],
)
def test_a_change_is_ours_where_nobody_else_writes_such_a_thing(changed, ours):
    """More evidence, or an heir by its id, and what we write along with it."""
    assert is_own_change(BERLIN, replace(BERLIN, **changed)) is ours


# row: A10
@pytest.mark.parametrize("begins", [LATER, THEN - timedelta(days=3), None])
def test_an_end_is_no_later_than_the_day_it_was_told(begins):
    by = Fact("N", "Anna lives in Munich.", valid_from=begins)
    ended = changed_by(Effect("supersede", OLD, "another home"), OLD, by, THEN)
    assert ended.valid_until == min(begins or THEN, THEN)
