"""The backlog: each turn in one state, handed out once, waited for as long as somebody
has it.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from engram.core.buffer import WaitingTurn
from engram.core.policy import Policy
from engram.core.records import FiledTurn, Turn
from engram.errors import UnavailableError
from engram.ingest.queue import ASKED, TurnQueue

NOW = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)
MOST = Policy().buffer.batch_turns


def waiting(*seqs, session="s", level="none", **more):
    """Turns of one session file."""
    turns = [Turn(f"m{seq}", session, "user", "words", NOW) for seq in seqs]
    return [
        WaitingTurn(seq, FiledTurn(turn, session, f"t{seq}"), level, NOW, **more)
        for seq, turn in zip(seqs, turns, strict=True)
    ]


@pytest.fixture
def queue():
    policy = Policy()
    return TurnQueue(replace(policy, buffer=replace(policy.buffer, reply_seconds=0.0)))


def counts(queue):
    return {
        name.removesuffix("_turns"): number
        for name, number in queue.counts().items()
        if number
    }


def test_what_is_given_back_waits_and_what_was_settled_does_not_return(queue):
    """Whoever met the fault may have done a part."""
    queue.add([*waiting(1, level="high"), *waiting(2, session="other", level="high")])
    one, other = queue.due(NOW, MOST)
    queue.drop(one)
    queue.give_back([one, other], LATER)
    assert counts(queue) == {"parked": 1}
    assert queue.due(LATER, MOST) == [other]


def test_closing_wakes_whoever_waits(queue):
    """With words; for what is done already nobody need wait."""
    queue.add(waiting(1, level="high"))
    queue.due(NOW, MOST)
    waits = threading.Event()

    def wait():
        waits.set()
        return queue.wait({1}, 600)

    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(wait)
        waits.wait()
        queue.close()
        with pytest.raises(UnavailableError, match="closed"):
            asked.result(60)
    assert queue.wait({2}, 0)


def test_what_is_known_and_cannot_be_filed_waits_for_its_time_and_holds_up_no_flush(
    queue,
):
    """It is counted as parked and handed out again at its time."""
    queue.add(waiting(1, 2), ASKED)
    (batch,) = queue.due(NOW, MOST)
    assert queue.stuck_reason(batch.seqs) == ""
    queue.put(batch, "stuck", until=LATER, reason="the disk is full")
    assert queue.wait(batch.seqs, 0.01)
    assert queue.stuck_reason(batch.seqs) == queue.stuck_reason() == "the disk is full"
    assert queue.stuck_reason([9]) == ""
    assert counts(queue) == {"parked": 2}
    assert (queue.due(NOW, MOST), queue.next_due()) == ([], LATER)
    assert queue.due(LATER, MOST) == [batch]
    queue.drop(batch)
    assert (queue.stuck_reason(batch.seqs), counts(queue)) == ("", {})
