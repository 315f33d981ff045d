"""The buffer as a value: keep, batch, now."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from engram.core.buffer import WaitingTurn, flush_reason, flush_time, retry_wait
from engram.core.policy import BufferPolicy, ModelPolicy
from engram.core.records import FiledTurn, Turn

NOW = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
POLICY = BufferPolicy()


def waiting(*levels, minutes=0.0):
    """Turns with these signals; the first has waited so long, the others have just
    come.
    """
    turn = FiledTurn(Turn("1", "s", "user", "words", NOW), "note", "t1")
    ages = [minutes, *[0.0] * len(levels)]
    return [
        WaitingTurn(n, turn, level, NOW - timedelta(minutes=ages[n]))
        for n, level in enumerate(levels)
    ]


# row: C2
@pytest.mark.parametrize(
    ("turns", "why"),
    [
        (waiting(), None),
        (waiting("none"), None),
        (waiting("medium", "medium", "low", "none"), None),
        (waiting("high", minutes=0.4), "high signal"),
        (waiting("none", "none", "high"), None),
        (waiting(*["none"] * 5), None),
        (waiting(*["none"] * 6), "5 turns"),
        (waiting(*["high"] * 5, minutes=0.4), "high signal"),
        (waiting("none", minutes=14.99), None),
        (waiting("none", minutes=15), "15 minutes"),
        (waiting("none", "none", minutes=60), "15 minutes"),
        (waiting(*["none"] * 6, minutes=60), "5 turns"),
    ],
)
def test_a_high_signal_then_the_number_then_the_age_of_the_oldest(turns, why):
    """The first rule that holds gives the reason; otherwise the turns are kept."""
    assert flush_reason(turns, NOW, POLICY) == why


# row: C2
def test_an_urgent_turn_waits_for_the_reply_to_it():
    """At most 20 seconds; what the assistant says is urgent at once."""
    (asked,) = waiting("high")
    reply = replace(asked.filed.turn, role="assistant")
    answered = [asked, replace(asked, filed=replace(asked.filed, turn=reply))]
    assert flush_reason([asked], NOW, POLICY) is None
    assert flush_time([asked], POLICY) == NOW + timedelta(seconds=20)
    assert flush_reason([asked], NOW + timedelta(seconds=20), POLICY) == "high signal"
    assert flush_reason(answered, NOW, POLICY) == "high signal"
    assert flush_reason([*answered, asked], NOW, POLICY) is None
    assert flush_reason(answered[1:], NOW, POLICY) == "high signal"
    kept = [replace(one, level="none") for one in answered]
    assert flush_reason([*kept, *kept, kept[0]], NOW, POLICY) is None
    assert flush_reason([*kept, *kept, kept[1]], NOW, POLICY) == "5 turns"
    alone = replace(POLICY, reply_seconds=0)  # without a model
    assert flush_reason([*kept, *kept, kept[0]], NOW, alone) == "5 turns"


# row: C2
def test_turns_are_due_by_the_clock_when_the_oldest_has_waited():
    """A later turn does not put it off."""
    turns = waiting("none", "none", minutes=10)
    moment = flush_time(turns, POLICY)
    assert moment == NOW + timedelta(minutes=5)
    assert flush_reason(turns, moment - timedelta(microseconds=1), POLICY) is None
    assert flush_reason(turns, moment, POLICY) == "15 minutes"


# row: X2
@pytest.mark.parametrize(
    ("failures", "seconds"),
    [(1, 30), (2, 60), (3, 120), (7, 1920), (8, 3600), (9, 3600), (10**6, 3600)],
)
def test_the_wait_after_a_failure_doubles_up_to_a_bound(failures, seconds):
    assert retry_wait(failures, ModelPolicy()) == timedelta(seconds=seconds)
