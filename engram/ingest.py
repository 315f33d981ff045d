"""The front half of the path: turn → redact → journal (then acknowledge) → signals → buffer → batch.

The back half, from a batch to files, is `filing.py`.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from engram.core import buffer
from engram.core.buffer import Waiting
from engram.core.records import FiledTurn, Turn
from engram.core.redact import redact
from engram.core.signals import scan, table
from engram.errors import BadRequestError, BusyError, ConflictError, StorageError
from engram.vault import sessions
from engram.vault.forms import plain_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.config import Settings
    from engram.index.index import Index
    from engram.vault.journal import Journal

ROLES = ("user", "assistant", "system", "tool")
SESSION = "main"
TURN_KEYS = frozenset(("id", "session", "role", "speaker", "persona", "text", "occurred_at", "origin"))
ASKED, RESTARTED = "asked for", "after a restart"
"""Why a batch is due at once although its time has not come: somebody said `flush`, or it was left over."""
LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Batch:
    """Turns of one session file that are distilled together, why now, and how often it was tried."""

    waiting: tuple[Waiting, ...]
    why: str
    attempts: int = 0

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns alone, in order."""
        return tuple(item.filed.turn for item in self.waiting)

    @property
    def seqs(self) -> tuple[int, ...]:
        """Their numbers in the journal."""
        return tuple(item.seq for item in self.waiting)


@dataclass(frozen=True, slots=True)
class Accepted:
    """What became of a request: unit keys in the order given, and how many were new and known."""

    keys: tuple[str, ...]
    stored: int
    duplicates: int


def turn_from(raw: Mapping[str, Any], now: datetime, settings: Settings, fresh_id: str, origin: str = "chat") -> Turn:
    """One turn of a request, checked and redacted (`X11`); BadRequestError says which field and why.

    `id` absent: `fresh_id`. `occurred_at` absent: `now`; without an offset it is local to the vault's zone.
    """
    if unknown := sorted(set(raw) - TURN_KEYS):
        raise BadRequestError(f"a turn has no {unknown[0]!r}", fix=f"Its keys are {', '.join(sorted(TURN_KEYS))}.")
    text = raw.get("text")
    if not isinstance(text, str) or not text.strip():
        raise BadRequestError("a turn needs a text", where=f"turn {raw.get('id', '')!r}")
    most = settings.policy.journal.turn_bytes
    if len(text.encode("utf-8", "surrogatepass")) > most:
        raise BadRequestError(f"a turn may have {most} bytes", where=f"turn {raw.get('id', '')!r}", fix="Split it.")
    role = raw.get("role") or "user"
    if role not in ROLES:
        raise BadRequestError(f"there is no role {role!r}", fix=f"Use one of: {', '.join(ROLES)}.")
    for name in ("id", "session", "speaker", "persona", "origin"):
        if not isinstance(raw.get(name) or "", str) or len(raw.get(name) or "") > 500:
            raise BadRequestError(f"{name} must be a text of at most 500 characters")
    names = {key: " ".join(plain_text(raw.get(key) or "").split()) for key in ("id", "session", "speaker", "persona")}
    return Turn(
        id=names["id"] or fresh_id,
        session=names["session"] or SESSION,
        role=role,
        text=redact(plain_text(text), settings.redact).text,
        occurred_at=_moment(raw.get("occurred_at"), now, settings),
        speaker=redact(names["speaker"], settings.redact).text,
        persona=names["persona"] or None,
        origin=origin if origin != "chat" else (raw.get("origin") or "chat"),
    )


def _moment(value: object, now: datetime, settings: Settings) -> datetime:
    if value is None:
        return now.astimezone(settings.zone).replace(microsecond=0)
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            moment = datetime.fromtimestamp(value, settings.zone)
        else:
            moment = datetime.fromisoformat(str(value))
        moment = moment if moment.tzinfo else moment.replace(tzinfo=settings.zone)
        return moment.astimezone(settings.zone).replace(microsecond=0)
    except (ValueError, TypeError, OverflowError, OSError):
        raise BadRequestError(f"occurred_at {value!r} is no ISO 8601 time", fix="Write 2026-11-20T21:14:05.") from None


@dataclass(slots=True)
class _Place:
    """A session file that may take the next turn of its conversation."""

    stem: str
    started: datetime
    ended: datetime
    turns: int
    block: int


class Intake:
    """Turns on their way in: known ids, their places, the journal and the buffer.

    `accept` may be called from any thread; the rest belongs to the writer.
    """

    def __init__(self, journal: Journal, index: Index, settings: Settings) -> None:
        self.journal = journal
        self.index = index
        self.settings = settings
        self.patterns = table(settings.patterns)
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._pending: dict[tuple[str, str], tuple[FiledTurn, Future[None]]] = {}
        self._places: dict[tuple[str, str | None], list[_Place]] = {}
        self._stems: set[str] = set()
        self._unplaced: dict[tuple[str, str | None], list[FiledTurn]] = {}
        self._waiting: dict[str, list[Waiting]] = {}
        self._parked: list[tuple[datetime, Batch]] = []
        self._dead: list[tuple[Batch, str]] = []
        self._taken: set[int] = set()
        self._urgent: dict[str, str] = {}
        self._recovered: set[int] = set()

    # -- the front half ---------------------------------------------------------------------------

    def accept(self, turns: Sequence[Turn], now: datetime) -> Accepted:
        """Store the new ones of `turns` durably, then answer (`X18`: the next recall finds them).

        The same `(session, id)` with the same text is one turn; with another text ConflictError. BusyError
        when too much waits; StorageError when the disk refused. After a fault nothing of it was stored.
        """
        ticket: Future[None] = Future()
        with self._lock:
            keys, fresh, awaited, conflicts = self._sort(turns)
            if conflicts:
                raise ConflictError(
                    "the same id came with another text",
                    where=", ".join(conflicts[:10]),
                    fix="Give each turn an id of its own; nothing of this request was stored.",
                )
            room = self.settings.policy.journal.queue_turns - len(self._pending)
            if len(fresh) > room:
                raise BusyError("too many turns wait to be filed", retry_after=2, fix="Nothing was stored; try again.")
            placed = {(turn.session, turn.id): self._place(turn) for turn in fresh}
            for turn in fresh:
                self._pending[turn.session, turn.id] = (placed[turn.session, turn.id], ticket)
        self._commit(list(placed.values()), ticket, now)
        for other in awaited:
            other.result()
        return Accepted(
            tuple(key or placed[turn.session, turn.id].key for key, turn in zip(keys, turns, strict=True)),
            len(fresh),
            len(turns) - len(fresh),
        )

    def _sort(self, turns: Sequence[Turn]) -> tuple[list[str], list[Turn], list[Future[None]], list[str]]:
        """Unit keys of known turns ('' for others), the new turns, commits to wait for, conflicting ids."""
        keys: list[str] = []
        fresh: dict[tuple[str, str], Turn] = {}
        awaited: list[Future[None]] = []
        conflicts: list[str] = []
        for turn in turns:
            name = (turn.session, turn.id)
            known, key = fresh.get(name), ""
            if known is None and name in self._pending:
                filed, commit = self._pending[name]
                known, key = filed.turn, filed.key
                awaited.append(commit)
            elif known is None and (filed_before := self.index.turn(turn.session, turn.id)):
                known, key = filed_before.turn, filed_before.key
            keys.append(key)
            if known is None:
                fresh[name] = turn
            elif known.text != turn.text:
                conflicts.append(turn.id)
        return keys, list(fresh.values()), awaited, conflicts

    def _commit(self, placed: list[FiledTurn], ticket: Future[None], now: datetime) -> None:
        try:
            seqs = self.journal.append(placed) if placed else []
        except BaseException as fault:
            with self._lock:
                for filed in placed:
                    del self._pending[filed.turn.session, filed.turn.id]
            ticket.set_exception(fault)
            raise
        self.index.add_turns(placed)
        with self._lock:
            for seq, filed in zip(seqs, placed, strict=True):
                self._enqueue(seq, filed, now)
        ticket.set_result(None)

    def _enqueue(self, seq: int, filed: FiledTurn, now: datetime) -> None:
        level = scan(filed.turn.text, self.patterns, self.settings.policy.signals).level
        if filed.turn.role != "user":
            level = "none"  # what an assistant says of itself is no reason to hurry
        self._waiting.setdefault(filed.note, []).append(Waiting(seq, filed, level, now))

    def _place(self, turn: Turn) -> FiledTurn:
        """The session file and block of a new turn: the file active within the gap with room, else new (E10, X1)."""
        policy = self.settings.policy.buffer
        gap = timedelta(minutes=policy.session_gap_minutes)
        places = self._thread(turn.session, turn.persona)
        for place in reversed(places):
            near = place.started - gap <= turn.occurred_at <= place.ended + gap
            if near and place.turns < policy.session_turns:
                break
        else:
            day = turn.occurred_at.astimezone(self.settings.zone)
            stem = sessions.stem(turn.session, day, self._stem_taken)
            self._stems.add(stem)
            place = _Place(stem, turn.occurred_at, turn.occurred_at, 0, 0)
            places.append(place)
        place.ended = max(place.ended, turn.occurred_at)
        place.turns += 1
        place.block += 1
        return FiledTurn(turn, place.stem, f"t{place.block}")

    def _thread(self, session: str, persona: str | None) -> list[_Place]:
        """The places of a conversation: its files, and those that only the journal has words for."""
        thread = (session, persona)
        if thread not in self._places:
            places = {
                stem: _Place(stem, known.started, known.ended, known.turns, known.last_block)
                for known in self.index.conversations(*thread)
                if known.started and known.ended
                for stem in [known.path.rpartition("/")[2].removesuffix(".md")]
            }
            for filed in self._unplaced.pop(thread, ()):
                said = filed.turn.occurred_at
                place = places.setdefault(filed.note, _Place(filed.note, said, said, 0, 0))
                place.started, place.ended = min(place.started, said), max(place.ended, said)
                place.block = max(place.block, int(filed.block[1:]))
                place.turns = max(place.turns, place.block)
            self._places[thread] = list(places.values())
        return self._places[thread]

    def _stem_taken(self, stem: str) -> bool:
        return stem in self._stems or self.index.holds(sessions.path(stem))

    # -- the buffer -------------------------------------------------------------------------------

    def recover(self, now: datetime) -> list[str]:
        """Take up what the journal holds from before; the problems found in it, in words (X20)."""
        backlog = self.journal.replay()
        done: Future[None] = Future()
        done.set_result(None)
        by_seq = {seq: Waiting(seq, filed, "none", now) for seq, filed in backlog.turns}
        free = set(by_seq) - {seq for park in backlog.parked for seq in park.seqs}
        dead = [tuple(Waiting(seq, filed, "none", now) for seq, filed in letter.turns) for letter in backlog.dead]
        with self._lock:
            for waiting in by_seq.values():
                turn = waiting.filed.turn
                self._pending[turn.session, turn.id] = (waiting.filed, done)
                self._unplaced.setdefault((turn.session, turn.persona), []).append(waiting.filed)
                self._stems.add(waiting.filed.note)
            for seq in sorted(free):
                note = by_seq[seq].filed.note
                self._waiting.setdefault(note, []).append(by_seq[seq])
                self._urgent[note] = RESTARTED
            self._recovered.update(by_seq)
            for park in backlog.parked:
                batch = Batch(tuple(by_seq[seq] for seq in park.seqs if seq in by_seq), RESTARTED, park.attempts)
                self._parked.append((park.retry_at, batch))
            self._dead = [
                (Batch(waiting, RESTARTED), letter.reason) for waiting, letter in zip(dead, backlog.dead, strict=True)
            ]
        self.index.add_turns([waiting.filed for waiting in by_seq.values()])
        return [problem.message for problem in backlog.problems]

    def due(self, now: datetime) -> list[Batch]:
        """The batches whose time has come; each is handed out once."""
        policy = self.settings.policy.buffer
        with self._lock:
            batches = [batch for at, batch in self._parked if at <= now]
            self._parked = [(at, batch) for at, batch in self._parked if at > now]
            for note, waiting in list(self._waiting.items()):
                why = self._urgent.get(note) or buffer.due(waiting, now, policy)
                if why is None:
                    continue
                self._urgent.pop(note, None)
                del self._waiting[note]
                step = policy.batch_turns
                batches += [Batch(tuple(waiting[i : i + step]), why) for i in range(0, len(waiting), step)]
            self._taken.update(seq for batch in batches for seq in batch.seqs)
            return [self._marked(batch, now) for batch in batches]

    def _marked(self, batch: Batch, now: datetime) -> Batch:
        """Count a restart as a try, durably: a turn that kills the process must not do so for ever."""
        if self._recovered.isdisjoint(batch.seqs):
            return batch
        self._recovered.difference_update(batch.seqs)
        batch = replace(batch, attempts=batch.attempts + 1)
        with suppress(StorageError):  # a disk that refuses is no reason to hold the batch back: filing it will tell
            self.journal.park(batch.seqs, batch.attempts, now, "taken up after a restart")
        return batch

    def next_due(self) -> datetime | None:
        """When the next batch becomes due by the clock; None when nothing waits."""
        with self._lock:
            times = [at for at, _ in self._parked]
            times += [buffer.due_at(waiting, self.settings.policy.buffer) for waiting in self._waiting.values()]
        return min(times, default=None)

    def hurry(self, session: str | None = None) -> set[int]:
        """Make everything that waits (of `session`) due now; the journal numbers to wait for."""
        with self._lock:
            for note, waiting in self._waiting.items():
                if session is None or waiting[0].filed.turn.session == session:
                    self._urgent[note] = ASKED
            asked = [batch for _, batch in self._parked if _of(batch, session)]
            asked += [batch for batch, _ in self._dead if _of(batch, session)]
            self._dead = [(batch, why) for batch, why in self._dead if not _of(batch, session)]
            self._parked = [(at, batch) for at, batch in self._parked if not _of(batch, session)]
            self._parked += [(LONG_AGO, replace(batch, why=ASKED)) for batch in asked]
            wanted = [item for waiting in self._waiting.values() for item in waiting]
            wanted += [item for _, batch in self._parked for item in batch.waiting]
            return self._taken | {item.seq for item in wanted if session in {None, item.filed.turn.session}}

    def wait(self, seqs: set[int], timeout: float) -> bool:
        """Block until none of `seqs` is in anybody's hands or waiting; False when `timeout` seconds passed."""
        with self._changed:
            return self._changed.wait_for(lambda: not (seqs & self._busy()), timeout)

    def _busy(self) -> set[int]:
        return self._taken | {item.seq for waiting in self._waiting.values() for item in waiting}

    def settled(self, batch: Batch) -> None:
        """The batch is in the vault: let the journal and the buffer go of it."""
        self.journal.settle(batch.seqs)
        with self._changed:
            for item in batch.waiting:
                self._pending.pop((item.filed.turn.session, item.filed.turn.id), None)
            self._taken.difference_update(batch.seqs)
            self._changed.notify_all()

    def parked(self, batch: Batch, until: datetime, reason: str, *, durable: bool = True) -> None:
        """The batch waits until `until`; with `durable` its count of tries is kept across a restart."""
        if durable:
            self.journal.park(batch.seqs, batch.attempts, until, reason)
        with self._changed:
            self._parked.append((until, batch))
            self._taken.difference_update(batch.seqs)
            self._changed.notify_all()

    def buried(self, batch: Batch, reason: str) -> None:
        """The batch is a dead letter: nobody tries it again until somebody asks for it (`hurry`)."""
        self.journal.bury(batch.seqs, batch.attempts, reason)
        with self._changed:
            self._dead.append((batch, reason))
            self._taken.difference_update(batch.seqs)
            self._changed.notify_all()

    @property
    def dead(self) -> tuple[tuple[Batch, str], ...]:
        """The dead letters and why each is one."""
        with self._lock:
            return tuple(self._dead)

    def place(self, turn: Turn) -> FiledTurn:
        """A place in the vault for a turn that does not go through the journal."""
        with self._lock:
            return self._place(turn)

    def counts(self) -> dict[str, int]:
        """How many turns wait, are being distilled, and are parked."""
        with self._lock:
            return {
                "waiting_turns": sum(map(len, self._waiting.values())),
                "distilling_turns": len(self._taken),
                "parked_turns": sum(len(batch.waiting) for _, batch in self._parked),
                "dead_turns": sum(len(batch.waiting) for batch, _ in self._dead),
            }


def _of(batch: Batch, session: str | None) -> bool:
    return session is None or any(turn.session == session for turn in batch.turns)
