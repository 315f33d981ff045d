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
from engram.core.records import ROLES, FiledTurn, Turn
from engram.core.redact import redact
from engram.core.signals import scan, table
from engram.core.text import content_hash
from engram.errors import BadRequestError, BusyError, ConflictError, EngramError, StorageError
from engram.vault import sessions
from engram.vault.forms import plain_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import tzinfo

    from engram.config import Settings
    from engram.index.index import Index
    from engram.vault.journal import Journal

SESSION = "main"
TURN_KEYS = frozenset(("id", "session", "role", "speaker", "persona", "text", "occurred_at", "origin"))
ASKED, RESTARTED = "asked for", "after a restart"
"""Why a batch is due at once although its time has not come: somebody said `flush`, or it was left over."""
LONG_AGO = datetime.min.replace(tzinfo=UTC)
FIRST, LAST = datetime(1900, 1, 1, tzinfo=UTC), datetime(9990, 1, 1, tzinfo=UTC)
"""Moments outside are refused: reckoning with them, to the end of a year or in another zone, leaves the calendar."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Turns of one session file that are distilled together, why now, and how often it was tried.

    `filed`: they were put into their session file. What is not there any more a person took out.
    """

    waiting: tuple[Waiting, ...]
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


@dataclass(frozen=True, slots=True)
class Accepted:
    """What became of a request: unit keys in the order given, and how many were new and known."""

    keys: tuple[str, ...]
    stored: int
    duplicates: int


def turn_from(raw: Mapping[str, Any], now: datetime, settings: Settings, fresh_id: str) -> Turn:
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
    said_at = now if raw.get("occurred_at") is None else moment(raw["occurred_at"], settings.zone, "occurred_at")
    words = redact(plain_text(text), settings.redact).text
    names = {key: name_from(raw.get(key) or "", settings) for key in ("id", "session", "speaker", "persona")}
    if names["id"] != _plain_name(raw.get("id") or ""):  # two ids must not become one by what was taken out
        names["id"] += f" {content_hash(words)[:12]}"
    return Turn(
        id=names["id"] or fresh_id,
        session=names["session"] or SESSION,
        role=role,
        text=words,
        occurred_at=said_at.astimezone(settings.zone).replace(microsecond=0),
        speaker=names["speaker"],
        persona=names["persona"] or None,
        origin=raw.get("origin") or "chat",
    )


def name_from(text: str, settings: Settings) -> str:
    """The name of a session, speaker, persona or turn as it is kept: on one line and redacted (`X11`)."""
    return redact(_plain_name(text), settings.redact).text


def _plain_name(text: str) -> str:
    return " ".join(plain_text(text).split())


def moment(value: object, zone: tzinfo, name: str = "time", *, end: bool = False) -> datetime:
    """The moment that `value` writes (ISO 8601, or epoch seconds), local to `zone` where it has no offset.

    With `end` a mere date means its last moment. BadRequestError for what is none of 1900 to 9989.
    """
    found = None
    with suppress(ValueError, TypeError, OverflowError, OSError):
        if isinstance(value, int | float) and not isinstance(value, bool):
            found = datetime.fromtimestamp(value, zone)
        else:
            found = datetime.fromisoformat(str(value))
            found = found if found.tzinfo else found.replace(tzinfo=zone)
            if end and len(str(value)) == len("2026-11-20"):
                found += timedelta(days=1)
    if found is None or not FIRST <= found < LAST:
        what = f"{name} {value!r} is no ISO 8601 time between 1900 and 9989"
        raise BadRequestError(what, fix="Write 2026-11-20 or 2026-11-20T21:14:05.")
    return found


@dataclass(slots=True)
class _Place:
    """A session file that may take the next turn of its conversation."""

    stem: str
    started: datetime
    ended: datetime
    turns: int
    block: int
    size: int = 0


class Intake:
    """Turns on their way in: known ids, their places, the journal and the buffer.

    `accept` may be called from any thread; the rest belongs to the writer.
    """

    def __init__(self, journal: Journal, index: Index, settings: Settings, faults: dict[str, str]) -> None:
        self.journal = journal
        self.index = index
        self.settings = settings
        self.faults = faults
        self.patterns = table(settings.patterns)
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._pending: dict[tuple[str, str], tuple[FiledTurn, Future[None]]] = {}
        self._places: dict[tuple[str, str | None], list[_Place]] = {}
        self._stems: set[str] = set()
        self._unplaced: dict[tuple[str, str | None], list[FiledTurn]] = {}
        self._waiting: dict[str, list[Waiting]] = {}
        self._parked: list[tuple[datetime, Batch]] = []
        self._revived: list[Batch] = []
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
        try:
            self.index.add_turns(placed)
        except EngramError as fault:
            self.faults["index"] = f"new turns are not found before they are filed: {fault}"
        else:
            if placed:
                self.faults.pop("index", None)
        finally:  # whatever the index met, the turns are on the disk and sending them again finds them there
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
        size = len(turn.text.encode())
        places = self._thread(turn.session, turn.persona)
        for place in reversed(places):
            near = place.started - gap <= turn.occurred_at <= place.ended + gap
            if near and place.turns < policy.session_turns and place.size + size <= policy.session_bytes:
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
        place.size += size
        return FiledTurn(turn, place.stem, f"t{place.block}")

    def _thread(self, session: str, persona: str | None) -> list[_Place]:
        """The places of a conversation: its files, and those that only the journal has words for."""
        thread = (session, persona)
        if thread not in self._places:
            places = {
                stem: _Place(stem, known.started, known.ended, known.turns, known.last_block, self._size(known.path))
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
                place.size += len(filed.turn.text.encode())
            self._places[thread] = list(places.values())
        return self._places[thread]

    def _size(self, path: str) -> int:
        """The bytes of a session file; 0 where the disk does not say."""
        with suppress(OSError):
            return (self.settings.vault / path).lstat().st_size
        return 0

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
        filed_before = {seq for park in backlog.parked if park.filed for seq in park.seqs}
        latest = now + timedelta(seconds=self.settings.policy.model.retry_most_seconds)
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
                held = tuple(by_seq[seq] for seq in park.seqs)
                # A time far away is one that a wrong clock wrote.
                self._parked.append((min(park.retry_at, latest), Batch(held, RESTARTED, park.attempts, park.filed)))
            self._dead = [
                (Batch(waiting, RESTARTED, letter.attempts, filed=True), letter.reason)
                for waiting, letter in zip(dead, backlog.dead, strict=True)
            ]
        self.index.add_turns([waiting.filed for seq, waiting in by_seq.items() if seq not in filed_before])
        return [problem.message for problem in backlog.problems]

    def due(self, now: datetime) -> list[Batch]:
        """The batches whose time has come; each is handed out once."""
        policy = self.settings.policy.buffer
        with self._lock:
            batches = self._revived + [batch for at, batch in self._parked if at <= now]
            self._revived = []
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
            self.journal.park(batch.seqs, batch.attempts, now, "taken up after a restart", filed=batch.filed)
        return batch

    def next_due(self) -> datetime | None:
        """When the next batch becomes due by the clock; None when nothing waits."""
        with self._lock:
            times = [LONG_AGO] * bool(self._revived) + [at for at, _ in self._parked]
            times += [buffer.due_at(waiting, self.settings.policy.buffer) for waiting in self._waiting.values()]
        return min(times, default=None)

    def hurry(self, session: str | None = None) -> set[int]:
        """Make everything that waits (of `session`) due now; the journal numbers to wait for."""
        with self._lock:
            for note, waiting in self._waiting.items():
                if session is None or waiting[0].filed.turn.session == session:
                    self._urgent[note] = ASKED
            wanted = [item for waiting in self._waiting.values() for item in waiting]
            wanted += [item for batch in self._revived for item in batch.waiting]
            return self._taken | {item.seq for item in wanted if session in {None, item.filed.turn.session}}

    def revive(self, session: str | None = None) -> None:
        """Make what is parked or dead (of `session`) due now, with one more try at least: somebody asked for it."""
        most = self.settings.policy.model.attempts - 1
        with self._lock:
            asked = [batch for _, batch in self._parked if _of(batch, session)]
            asked += [batch for batch, _ in self._dead if _of(batch, session)]
            self._parked = [(at, batch) for at, batch in self._parked if not _of(batch, session)]
            self._dead = [(batch, why) for batch, why in self._dead if not _of(batch, session)]
            self._revived += [replace(batch, why=ASKED, attempts=min(batch.attempts, most)) for batch in asked]
            self._recovered.difference_update(seq for batch in asked for seq in batch.seqs)

    def wait(self, seqs: set[int], timeout: float) -> bool:
        """Block until none of `seqs` is in anybody's hands or waiting; False when `timeout` seconds passed."""
        with self._changed:
            return self._changed.wait_for(lambda: not (seqs & self._busy()), timeout)

    def _busy(self) -> set[int]:
        revived = {seq for batch in self._revived for seq in batch.seqs}
        return self._taken | revived | {item.seq for waiting in self._waiting.values() for item in waiting}

    def placed(self, batch: Batch, turns: Sequence[FiledTurn]) -> Batch:
        """The batch with its `turns` where their file has them; the next turn comes behind what stands there."""
        stem, thread = turns[0].note, (turns[0].turn.session, turns[0].turn.persona)
        path = sessions.path(stem)
        last = max((known.last_block for known in self.index.conversations(*thread) if known.path == path), default=0)
        with self._lock:
            for filed in turns:
                name = (filed.turn.session, filed.turn.id)
                if name in self._pending:
                    self._pending[name] = (filed, self._pending[name][1])
            for place in self._places.get(thread, ()):
                if place.stem == stem:
                    place.block = max(place.block, last)
        pairs = zip(batch.waiting, turns, strict=True)
        return replace(batch, waiting=tuple(replace(item, filed=filed) for item, filed in pairs), filed=True)

    def still_said(self, batch: Batch) -> list[Batch]:
        """The batch as its session file says now, without what a person took out; nothing if none is left."""
        if self.index.problems(sessions.path(batch.waiting[0].filed.note)):
            return [batch]  # while the file is not understood, nobody can tell
        said = [self.index.turn(item.filed.turn.session, item.filed.turn.id) for item in batch.waiting]
        pairs = list(zip(batch.waiting, said, strict=True))
        if gone := tuple(item for item, filed in pairs if filed is None):
            self.settled(replace(batch, waiting=gone))
        left = tuple(replace(item, filed=filed) for item, filed in pairs if filed)
        return [replace(batch, waiting=left)] if left else []

    def settled(self, batch: Batch) -> None:
        """The batch is in the vault: let the journal and the buffer go of it."""
        self.journal.settle(batch.seqs)
        with self._changed:
            self._let_go(batch)
            self._taken.difference_update(batch.seqs)
            self._changed.notify_all()

    def parked(self, batch: Batch, until: datetime, reason: str, *, durable: bool = True) -> None:
        """The batch waits until `until`; with `durable` its count of tries is kept across a restart."""
        if durable:
            self.journal.park(batch.seqs, batch.attempts, until, reason, filed=batch.filed)
        with self._changed:
            self._parked.append((until, batch))
            self._taken.difference_update(batch.seqs)
            self._changed.notify_all()

    def buried(self, batch: Batch, reason: str) -> None:
        """The batch is a dead letter: nobody tries it again until somebody asks for it (`revive`)."""
        self.journal.bury(batch.seqs, batch.attempts, reason)
        with self._changed:
            self._let_go(batch)
            self._dead.append((batch, reason))
            self._taken.difference_update(batch.seqs)
            self._changed.notify_all()

    def _let_go(self, batch: Batch) -> None:
        """The vault holds these turns: it knows their ids, and they take no room here."""
        for item in batch.waiting:
            self._pending.pop((item.filed.turn.session, item.filed.turn.id), None)

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
            revived = sum(len(batch.waiting) for batch in self._revived)
            return {
                "waiting_turns": revived + sum(map(len, self._waiting.values())),
                "distilling_turns": len(self._taken),
                "parked_turns": sum(len(batch.waiting) for _, batch in self._parked),
                "dead_turns": sum(len(batch.waiting) for batch, _ in self._dead),
            }


def _of(batch: Batch, session: str | None) -> bool:
    return session is None or any(turn.session == session for turn in batch.turns)
