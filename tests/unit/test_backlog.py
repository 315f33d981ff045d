"""The backlog: each turn in one state, handed out once, waited for as long as somebody has it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from engram.core.buffer import Waiting
from engram.core.policy import Policy
from engram.core.records import FiledTurn, Turn
from engram.errors import UnavailableError
from engram.ingest.queue import ASKED, RESTARTED, Backlog, Batch

NOW = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)
MOST = Policy().buffer.batch_turns


def waiting(*seqs, session="s", level="none", **more):
    """Turns of one session file."""
    turns = [Turn(f"m{seq}", session, "user", "words", NOW) for seq in seqs]
    return [
        Waiting(seq, FiledTurn(turn, session, f"t{seq}"), level, NOW, **more)
        for seq, turn in zip(seqs, turns, strict=True)
    ]


@pytest.fixture
def backlog():
    return Backlog(Policy())


def counts(backlog):
    return {name.removesuffix("_turns"): number for name, number in backlog.counts().items() if number}


def test_a_turn_has_one_state_at_a_time(backlog):
    """It waits, is taken, parked, taken again, dead, revived, taken and settled."""
    backlog.add(waiting(1, 2, level="high"))
    seen = [counts(backlog)]
    for state in ("parked", "dead"):
        (batch,) = backlog.due(NOW, MOST)
        seen.append(counts(backlog))
        backlog.put(batch, state, reason="why")
        seen.append(counts(backlog))
    assert backlog.due(NOW, MOST) == []
    backlog.revive()
    seen.append(counts(backlog))
    (batch,) = backlog.due(NOW, MOST)
    backlog.drop(batch)
    seen.append(counts(backlog))
    words = ("waiting", "distilling", "parked", "distilling", "dead", "waiting")
    assert seen == [*({word: 2} for word in words), {}]


def test_turns_that_come_while_others_are_taken_wait_for_themselves(backlog):
    """A batch never grows once it is handed out."""
    backlog.add(waiting(1, level="high"))
    (first,) = backlog.due(NOW, MOST)
    backlog.add(waiting(2, level="high"))
    backlog.put(first, "parked", until=NOW)
    assert [batch.seqs for batch in backlog.due(NOW, MOST)] == [(1,), (2,)]


def test_batches_come_in_the_order_they_were_said(backlog):
    """What was parked before what waits, though it comes later into the table, as after a restart."""
    backlog.add(waiting(3, session="other"), RESTARTED)
    backlog.put(Batch(tuple(waiting(1, 2)), RESTARTED), "parked", until=LATER)
    backlog.add(waiting(4, level="high"))
    assert [batch.seqs for batch in backlog.due(LATER, MOST)] == [(1, 2), (3,), (4,)]


def test_what_is_parked_comes_when_its_time_has_come(backlog):
    """And `next_due` says when."""
    backlog.add(waiting(1, level="high"))
    (batch,) = backlog.due(NOW, MOST)
    backlog.put(batch, "parked", until=LATER)
    assert (backlog.due(NOW, MOST), backlog.next_due()) == ([], LATER)
    assert backlog.due(LATER, MOST) == [batch]
    assert backlog.next_due() is None


def test_what_is_given_back_waits_and_what_was_settled_does_not_return(backlog):
    """Whoever met the fault may have done a part."""
    backlog.add([*waiting(1, level="high"), *waiting(2, session="other", level="high")])
    one, other = backlog.due(NOW, MOST)
    backlog.drop(one)
    backlog.give_back([one, other], LATER)
    assert counts(backlog) == {"parked": 1}
    assert backlog.due(LATER, MOST) == [other]


def test_a_flush_of_one_conversation_waits_for_no_other(backlog):
    """Not for what others have waiting, nor for what is taken of theirs."""
    backlog.add([*waiting(1, level="high"), *waiting(2, session="other", level="high")])
    backlog.due(NOW, MOST)
    backlog.add([*waiting(3), *waiting(4, session="other")])
    assert backlog.hurry("s") == {1, 3}
    assert [(batch.seqs, batch.why) for batch in backlog.due(NOW, MOST)] == [((3,), ASKED)]


def test_what_somebody_asks_for_is_no_longer_left_over_and_has_a_try(backlog):
    """A restart is not counted against it."""
    backlog.add(waiting(1, left_over=True), RESTARTED)
    (batch,) = backlog.due(NOW, MOST)
    backlog.put(batch, "dead", reason="why")
    backlog.revive()
    (asked,) = backlog.due(NOW, MOST)
    assert (asked.waiting[0].left_over, asked.why, asked.attempts) == (False, ASKED, 0)


def test_closing_wakes_whoever_waits(backlog):
    """With words; for what is done already nobody need wait."""
    backlog.add(waiting(1, level="high"))
    backlog.due(NOW, MOST)
    waits = threading.Event()

    def wait():
        waits.set()
        return backlog.wait({1}, 600)

    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(wait)
        waits.wait()
        backlog.close()
        with pytest.raises(UnavailableError, match="closed"):
            asked.result(5)
    assert backlog.wait({2}, 0)


def test_what_is_known_and_cannot_be_filed_is_waited_for_by_nobody(backlog):
    """It is counted as parked, and handed out to nobody, until it is settled."""
    backlog.add(waiting(1, 2), ASKED)
    (batch,) = backlog.due(NOW, MOST)
    assert backlog.stuck(batch.seqs) == ""
    backlog.put(batch, "stuck", reason="the disk is full")
    assert backlog.wait(batch.seqs, 0.01)
    assert backlog.stuck(batch.seqs) == "the disk is full"
    assert counts(backlog) == {"parked": 2}
    assert (backlog.due(LATER, MOST), backlog.next_due()) == ([], None)
    backlog.drop(batch)
    assert (backlog.stuck(batch.seqs), counts(backlog)) == ("", {})
