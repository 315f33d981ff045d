"""The queue of turns that are in the journal and not yet filed, with their states.

The turns of one session file wait together. When they are due, they are cut into
batches and taken. A failed batch is parked until a later time. After the last attempt
it is dead; a flush revives it.
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

BLOCKED = frozenset({"stuck", "parked", "dead"})
"""The states of turns that could not be extracted or filed."""

ASKED, RESTARTED = "asked for", "after a restart"
"""The reasons for a batch to be due at once: a flush, or an interrupted process."""
WAITS = frozenset({"parked", "stuck", "revived"})
"""The states of batches that are due at a fixed time."""

UNFORESEEN = "an unexpected fault; `engram status` tells of it"
LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Batch:
    """Turns of one session file that are extracted together.

    `why` is the reason why they are due, `attempts` the number of attempts. `filed` is
    true if the turns were written into their session file; a turn that is missing there
    was deleted by a user. `failures` counts the consecutive failed writes, from
    `failing_since` on.
    """

    waiting: tuple[WaitingTurn, ...]
    why: str
    attempts: int = 0
    filed: bool = False
    failures: int = 0
    failing_since: datetime | None = None

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns, in order."""
        return tuple(item.filed.turn for item in self.waiting)

    @property
    def seqs(self) -> tuple[int, ...]:
        """The journal numbers of the turns."""
        return tuple(item.seq for item in self.waiting)

    def of(self, session: str | None) -> bool:
        """Return whether the batch belongs to a session; None means any."""
        return session in {None, self.waiting[0].filed.turn.session}

    def stretches(self, turns: int) -> Iterator[tuple[Turn, ...]]:
        """Yield the turns, up to `turns` at a time."""
        every = self.turns
        return (every[start : start + turns] for start in range(0, len(every), turns))

    def as_tried(self) -> Batch:
        """Return the batch with at least one attempt: it may be partly in the vault."""
        return replace(self, attempts=max(1, self.attempts))

    def as_failed(self, now: datetime) -> Batch:
        """Return the batch with one more failed write."""
        since = self.failing_since or now
        return replace(self, failures=self.failures + 1, failing_since=since)


@dataclass(slots=True, eq=False)
class QueuedBatch:
    """A batch with its state.

    `until` is the time of the next attempt of a parked or stuck batch, `reason` is why
    it is parked, stuck or dead. A waiting batch grows until it is due.
    """

    batch: Batch
    state: State
    until: datetime = LONG_AGO
    reason: str = ""


class TurnQueue:
    """The batches with every turn that is not filed. Thread-safe."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        # by the journal number of each turn
        self._entries: dict[int, QueuedBatch] = {}
        # the waiting batch of each session file
        self._growing: dict[str, QueuedBatch] = {}
        self._changed = threading.Condition()
        self._closed = False

    # -- changes of state --------------------------------------------------------------

    def add(self, items: Iterable[WaitingTurn], why: str = "") -> None:
        """Add turns to the waiting batch of their session file.

        With `why` the turns are due at once.
        """
        with self._changed:
            for item in items:
                entry = self._growing.setdefault(
                    item.filed.note, QueuedBatch(Batch((), why), "waiting")
                )
                entry.batch = replace(entry.batch, waiting=(*entry.batch.waiting, item))
                self._entries[item.seq] = entry

    def put(
        self,
        batch: Batch,
        state: State,
        *,
        until: datetime = LONG_AGO,
        reason: str = "",
    ) -> None:
        """Set the state of a batch."""
        with self._changed:
            self._entries.update(
                dict.fromkeys(batch.seqs, QueuedBatch(batch, state, until, reason))
            )
            self._changed.notify_all()

    def drop(self, batch: Batch) -> None:
        """Remove the turns of a batch."""
        with self._changed:
            for seq in batch.seqs:
                self._entries.pop(seq, None)
            self._changed.notify_all()

    def entries_of(self, keys: Collection[str]) -> list[tuple[State, WaitingTurn]]:
        """Return the state of each queued turn with one of these keys, and the turn."""
        with self._changed:
            return [
                (entry.state, item)
                for entry in self._all()
                for item in entry.batch.waiting
                if item.filed.key in keys
            ]

    def remove(self, seqs: Collection[int]) -> None:
        """Remove turns from their batches, by their journal numbers."""
        with self._changed:
            for entry in self._all():
                items = entry.batch.waiting
                left = tuple(item for item in items if item.seq not in seqs)
                if len(left) < len(items):
                    entry.batch = replace(entry.batch, waiting=left)
                    if not left and entry.state == "waiting":
                        self._growing.pop(items[0].filed.note, None)
            for seq in seqs:
                self._entries.pop(seq, None)
            self._changed.notify_all()

    def due(self, now: datetime, most: int) -> list[Batch]:
        """Take and return the batches that are due, of at most `most` turns each.

        They are in the order of their turns.
        """
        batches: list[Batch] = []
        with self._changed:
            for entry in self._all():
                if why := self._due(entry, now):
                    items = entry.batch.waiting
                    batches += [
                        replace(entry.batch, waiting=items[i : i + most], why=why)
                        for i in range(0, len(items), most)
                    ]
                    if entry.state == "waiting":
                        del self._growing[items[0].filed.note]
            for batch in batches:
                self.put(batch, "taken")
        return sorted(batches, key=lambda batch: batch.seqs)

    def give_back(self, batches: Iterable[Batch], until: datetime) -> None:
        """Park the batches that are still taken, after an unexpected error."""
        with self._changed:
            for batch in batches:
                entries = (self._entries.get(seq) for seq in batch.seqs)
                if any(entry and entry.state == "taken" for entry in entries):
                    self.put(batch, "parked", until=until, reason=UNFORESEEN)

    def hurry(self, session: str | None = None) -> set[int]:
        """Make the waiting batches, of a session or all, due now.

        Returns the journal numbers of the turns that wait or are taken.
        """
        with self._changed:
            for entry in self._growing.values():
                if entry.batch.of(session):
                    entry.batch = replace(entry.batch, why=ASKED)
            return {
                seq
                for seq, entry in self._entries.items()
                if entry.state in BUSY and entry.batch.of(session)
            }

    def revive(self, session: str | None = None) -> None:
        """Make the parked, stuck and dead batches, of a session or all, due now.

        Each gets at least one more attempt.
        """
        most = self._policy.model.attempts - 1
        with self._changed:
            for entry in self._all():
                if entry.state in BLOCKED and entry.batch.of(session):
                    items = tuple(
                        replace(item, left_over=False) for item in entry.batch.waiting
                    )
                    entry.batch = replace(
                        entry.batch,
                        waiting=items,
                        why=ASKED,
                        attempts=min(entry.batch.attempts, most),
                    )
                    entry.state, entry.until = "revived", LONG_AGO

    # -- waiting -----------------------------------------------------------------------

    def next_due(self) -> datetime | None:
        """Return when the next batch becomes due; None if no batch waits."""
        with self._changed:
            times = [entry.until for entry in self._all() if entry.state in WAITS]
            times += [
                buffer.flush_time(entry.batch.waiting, self._policy.buffer)
                for entry in self._growing.values()
            ]
        return min(times, default=None)

    def wait(self, seqs: Collection[int], timeout: float) -> bool:
        """Wait until no turn in `seqs` waits or is taken; return False after a timeout.

        `timeout` is in seconds. Raises UnavailableError if the queue is closed.
        """

        def is_busy() -> bool:
            return any(
                seq in self._entries and self._entries[seq].state in BUSY
                for seq in seqs
            )

        with self._changed:
            self._changed.wait_for(lambda: self._closed or not is_busy(), timeout)
            if is_busy() and self._closed:
                raise UnavailableError(
                    "the vault is being closed",
                    fix="What waits is distilled after the next start.",
                )
            return not is_busy()

    def stuck_reason(self, seqs: Collection[int] | None = None) -> str:
        """Return why extracted turns cannot be filed now, or ''.

        `seqs` are the journal numbers of the turns that count, None for all.
        """
        with self._changed:
            reasons = (
                entry.reason
                for seq, entry in self._entries.items()
                if entry.state == "stuck" and (seqs is None or seq in seqs)
            )
            return next(reasons, "")

    def numbers(self) -> dict[tuple[str, str], int]:
        """Return the journal number of each turn by its session and id."""
        with self._changed:
            return {
                (item.filed.turn.session, item.filed.turn.id): item.seq
                for entry in self._all()
                for item in entry.batch.waiting
            }

    def close(self) -> None:
        """End every `wait`, present and future."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    # -- state -------------------------------------------------------------------------

    @property
    def blocked(self) -> list[tuple[State, Batch, str]]:
        """The batches that are stuck, parked or dead, each with the reason."""
        with self._changed:
            return [
                (entry.state, entry.batch, entry.reason)
                for entry in self._all()
                if entry.state in BLOCKED
            ]

    def is_busy(self) -> bool:
        """Return whether turns wait for extraction or are being extracted."""
        with self._changed:
            return any(entry.state in BUSY for entry in self._entries.values())

    def counts(self) -> dict[str, int]:
        """Return the numbers of turns by state: waiting, taken, parked and dead."""
        with self._changed:
            number = Counter(entry.state for entry in self._entries.values())
        return {
            "waiting_turns": number["waiting"] + number["revived"],
            "distilling_turns": number["taken"],
            "parked_turns": number["parked"] + number["stuck"],
            "dead_turns": number["dead"],
        }

    def _all(self) -> Iterable[QueuedBatch]:
        """Return each entry once."""
        return dict.fromkeys(self._entries.values())

    def _due(self, entry: QueuedBatch, now: datetime) -> str | None:
        """Return why the entry is due, or None."""
        if entry.state == "waiting":
            return entry.batch.why or buffer.flush_reason(
                entry.batch.waiting, now, self._policy.buffer
            )
        if entry.state in WAITS and entry.until <= now:
            return entry.batch.why
        return None
