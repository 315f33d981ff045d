"""The backlog: turns that are on disk and not distilled yet, and what becomes of each
next.

Turns of one session file wait together until they are due, are cut into batches and
taken; a batch that is not settled then is parked until its time comes, or dead until
somebody asks for it, which revives it.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from engram.core import buffer
from engram.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from engram.core.buffer import WaitingTurn
    from engram.core.policy import Policy
    from engram.core.records import Turn

State = Literal["waiting", "taken", "stuck", "parked", "dead", "revived"]
BUSY = frozenset({"waiting", "taken", "revived"})
"""The states of turns that a flush waits for."""

HELD_UP = frozenset({"stuck", "parked", "dead"})
"""The states of turns that something keeps from being distilled or filed."""

ASKED, RESTARTED = "asked for", "after a restart"
"""Why a batch is due at once although its time has not come: somebody said `flush`, or
it was left over.
"""
UNFORESEEN = "an unexpected fault; `engram status` tells of it"
LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Batch:
    """Turns of one session file that are distilled together, why now, and how often it
    was tried.

    `filed`: they were put into their session file. What is not there any more a person
    took out.
    """

    waiting: tuple[WaitingTurn, ...]
    why: str
    attempts: int = 0
    filed: bool = False

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns alone, in order."""
        return tuple(item.filed.turn for item in self.waiting)

    @property
    def seqs(self) -> tuple[int, ...]:
        """Their numbers in the journal."""
        return tuple(item.seq for item in self.waiting)

    def of(self, session: str | None) -> bool:
        """Whether it belongs to this conversation; None means any."""
        return session in {None, self.waiting[0].filed.turn.session}

    def stretches(self, turns: int) -> Iterator[tuple[Turn, ...]]:
        """Its turns, so many together."""
        said = self.turns
        return (said[start : start + turns] for start in range(0, len(said), turns))

    def tried(self) -> Batch:
        """The batch as one that may stand in the vault already."""
        return replace(self, attempts=max(1, self.attempts))


@dataclass(slots=True, eq=False)
class QueuedBatch:
    """A batch, or one that still grows, and its state: until when it is parked, or why
    it is dead.
    """

    batch: Batch
    state: State
    until: datetime = LONG_AGO
    reason: str = ""


class TurnQueue:
    """The lot of every turn that is not settled, by the turn's number in the journal.
    Safe from any thread.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._lots: dict[int, QueuedBatch] = {}
        # by session file: where its next turn waits
        self._growing: dict[str, QueuedBatch] = {}
        self._changed = threading.Condition()
        self._closed = False

    # -- changes of state --------------------------------------------------------------

    def add(self, items: Iterable[WaitingTurn], why: str = "") -> None:
        """New turns wait with those of their session file; with `why` they are due at
        once.
        """
        with self._changed:
            for item in items:
                lot = self._growing.setdefault(
                    item.filed.note, QueuedBatch(Batch((), why), "waiting")
                )
                lot.batch = replace(lot.batch, waiting=(*lot.batch.waiting, item))
                self._lots[item.seq] = lot

    def put(
        self,
        batch: Batch,
        state: State,
        *,
        until: datetime = LONG_AGO,
        reason: str = "",
    ) -> None:
        """The batch is in this state from now on."""
        with self._changed:
            self._lots.update(
                dict.fromkeys(batch.seqs, QueuedBatch(batch, state, until, reason))
            )
            self._changed.notify_all()

    def drop(self, batch: Batch) -> None:
        """These turns are settled."""
        with self._changed:
            for seq in batch.seqs:
                self._lots.pop(seq, None)
            self._changed.notify_all()

    def due(self, now: datetime, most: int) -> list[Batch]:
        """The batches whose time has come, of at most so many turns, as they were said;
        each is handed out once.
        """
        taken: list[Batch] = []
        with self._changed:
            for lot in self._all():
                if why := self._due(lot, now):
                    items = lot.batch.waiting
                    taken += [
                        replace(lot.batch, waiting=items[i : i + most], why=why)
                        for i in range(0, len(items), most)
                    ]
                    if lot.state == "waiting":
                        del self._growing[items[0].filed.note]
            for batch in taken:
                self.put(batch, "taken")
        return sorted(taken, key=lambda batch: batch.seqs)

    def give_back(self, batches: Iterable[Batch], until: datetime) -> None:
        """What is still taken of these waits until then: whoever took them met a fault."""
        with self._changed:
            for lot in {
                self._lots[seq]
                for batch in batches
                for seq in batch.seqs
                if seq in self._lots
            }:
                if lot.state == "taken":
                    lot.state, lot.until, lot.reason = "parked", until, UNFORESEEN
            self._changed.notify_all()

    def hurry(self, session: str | None = None) -> set[int]:
        """Make everything that waits (of `session`) due now; the journal numbers to
        wait for.
        """
        with self._changed:
            for lot in self._growing.values():
                if lot.batch.of(session):
                    lot.batch = replace(lot.batch, why=ASKED)
            return {
                seq
                for seq, lot in self._lots.items()
                if lot.state in BUSY and lot.batch.of(session)
            }

    def revive(self, session: str | None = None) -> None:
        """Make what is parked or dead (of `session`) due now, with one more try at
        least: somebody asked for it.
        """
        most = self._policy.model.attempts - 1
        with self._changed:
            for lot in self._all():
                if lot.state in {"parked", "dead"} and lot.batch.of(session):
                    items = tuple(
                        replace(item, left_over=False) for item in lot.batch.waiting
                    )
                    lot.batch = replace(
                        lot.batch,
                        waiting=items,
                        why=ASKED,
                        attempts=min(lot.batch.attempts, most),
                    )
                    lot.state, lot.until = "revived", LONG_AGO

    # -- waiting -----------------------------------------------------------------------

    def next_due(self) -> datetime | None:
        """When the next batch becomes due by the clock; None when nothing waits."""
        with self._changed:
            times = [
                lot.until for lot in self._all() if lot.state in {"parked", "revived"}
            ]
            times += [
                buffer.flush_time(lot.batch.waiting, self._policy.buffer)
                for lot in self._growing.values()
            ]
        return min(times, default=None)

    def wait(self, seqs: Collection[int], timeout: float) -> bool:
        """Block until none of `seqs` waits or is in anybody's hands; False when
        `timeout` seconds passed.

        Raises UnavailableError when the vault is let go of meanwhile.
        """

        def is_busy() -> bool:
            return any(
                seq in self._lots and self._lots[seq].state in BUSY for seq in seqs
            )

        with self._changed:
            self._changed.wait_for(lambda: self._closed or not is_busy(), timeout)
            if is_busy() and self._closed:
                raise UnavailableError(
                    "the vault is being closed",
                    fix="What waits is distilled after the next start.",
                )
            return not is_busy()

    def stuck(self, seqs: Collection[int]) -> str:
        """Why some of `seqs`, of which it is known what they say, cannot be filed now;
        '' where all can.
        """
        with self._changed:
            lots = (self._lots[seq] for seq in seqs if seq in self._lots)
            return next((lot.reason for lot in lots if lot.state == "stuck"), "")

    def close(self) -> None:
        """Let nobody wait any longer."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    # -- what there is -----------------------------------------------------------------

    @property
    def held_up(self) -> list[tuple[State, Batch, str]]:
        """The batches that are stuck, parked or dead, each with why."""
        with self._changed:
            return [
                (lot.state, lot.batch, lot.reason)
                for lot in self._all()
                if lot.state in HELD_UP
            ]

    def is_busy(self) -> bool:
        """Return whether turns wait to be distilled or are being distilled."""
        with self._changed:
            return any(lot.state in BUSY for lot in self._lots.values())

    def counts(self) -> dict[str, int]:
        """How many turns wait, are being distilled, are parked, and are dead letters."""
        with self._changed:
            number = Counter(lot.state for lot in self._lots.values())
        return {
            "waiting_turns": number["waiting"] + number["revived"],
            "distilling_turns": number["taken"],
            "parked_turns": number["parked"] + number["stuck"],
            "dead_turns": number["dead"],
        }

    def _all(self) -> Iterable[QueuedBatch]:
        """Each lot once."""
        return dict.fromkeys(self._lots.values())

    def _due(self, lot: QueuedBatch, now: datetime) -> str | None:
        """Why the lot is due, or None."""
        if lot.state == "waiting":
            return lot.batch.why or buffer.flush_reason(
                lot.batch.waiting, now, self._policy.buffer
            )
        return (
            lot.batch.why
            if lot.state in {"parked", "revived"} and lot.until <= now
            else None
        )
