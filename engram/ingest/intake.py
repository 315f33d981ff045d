"""The front half of the path: turn → redact → journal (then acknowledge) → signals →
backlog.

The back half, from a batch to files, is `note_writer.py`.
"""

from __future__ import annotations

import secrets
import threading
from collections import Counter
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from engram.core import trust
from engram.core.buffer import WaitingTurn
from engram.core.language.secrets import redact
from engram.core.language.signals import scan, table
from engram.core.records import ROLES, FiledTurn, Turn
from engram.core.text import content_hash, ulid
from engram.errors import (
    BadRequestError,
    BusyError,
    ConflictError,
    StorageError,
    UnavailableError,
)
from engram.ingest.queue import RESTARTED, Batch, TurnQueue
from engram.vault import sessions
from engram.vault.formats import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import tzinfo

    from engram.config import Settings
    from engram.errors import Health
    from engram.index.search import Index
    from engram.vault.journal import Journal, UnfiledTurns

SESSION = "main"
TURN_KEYS = frozenset(
    ("id", "session", "role", "speaker", "persona", "text", "occurred_at", "origin")
)
FIRST, LAST = datetime(1900, 1, 1, tzinfo=UTC), datetime(9990, 1, 1, tzinfo=UTC)
"""Moments outside are refused: reckoning with them, to the end of a year or in another
zone, leaves the calendar.
"""


@dataclass(frozen=True, slots=True)
class Accepted:
    """What became of a request: unit keys in the order given, and how many were new and
    known.
    """

    keys: tuple[str, ...]
    stored: int
    duplicates: int


def turn_from(
    raw: Mapping[str, Any],
    now: datetime,
    settings: Settings,
    fresh_id: str = "",
    standing: str = "chat",
) -> Turn:
    """Return one turn of a request, checked and redacted (`X11`).

    `id` absent: `fresh_id`, or one made up. `occurred_at` absent: `now`; without an
    offset it is local to the vault's zone. `standing` is the trust level of the caller;
    a turn may claim a lower one, never a higher one (`X17`). Raises BadRequestError
    with the field and the reason.
    """
    text = _checked_text(raw, settings)
    role = _checked_role(raw)
    said_at = now
    if raw.get("occurred_at") is not None:
        said_at = moment(raw["occurred_at"], settings.zone, "occurred_at")

    words = redact(plain_text(text), settings.redact).text
    given = {key: raw.get(key) or "" for key in ("id", "session", "speaker", "persona")}
    names = {
        key: name_from(name, settings) if name else "" for key, name in given.items()
    }
    # redaction must not make one id of two
    if names["id"] != _plain_name(given["id"]):
        names["id"] += f" {content_hash(words)[:12]}"
    return Turn(
        id=names["id"] or fresh_id or ulid(now, secrets.token_hex(16)),
        session=names["session"] or SESSION,
        role=role,
        text=words,
        occurred_at=said_at.astimezone(settings.zone).replace(microsecond=0),
        speaker=names["speaker"],
        persona=names["persona"] or None,
        origin=trust.caller_standing(standing, raw.get("origin") or ""),
    )


def _checked_text(raw: Mapping[str, Any], settings: Settings) -> str:
    """Return the text of a turn; BadRequestError if it is empty or too long.

    Keys that a turn does not have are refused too.
    """
    if unknown := sorted(set(raw) - TURN_KEYS):
        raise BadRequestError(
            f"a turn has no {unknown[0]!r}",
            fix=f"Its keys are {', '.join(sorted(TURN_KEYS))}.",
        )
    text, place = raw.get("text"), f"turn {raw['id']!r}" if raw.get("id") else ""
    if not isinstance(text, str) or not text.strip():
        raise BadRequestError(
            "there are no words in it", where=place, fix="Give the text that was said."
        )
    most = settings.policy.journal.turn_bytes
    if len(text.encode("utf-8", "surrogatepass")) > most:
        raise BadRequestError(
            f"a turn may have {most} bytes", where=place, fix="Split it."
        )
    return text


def _checked_role(raw: Mapping[str, Any]) -> str:
    """Return the role of a turn; BadRequestError for an unknown role or a bad name."""
    role: str = raw.get("role") or "user"
    if role not in ROLES:
        raise BadRequestError(
            f"there is no role {role!r}", fix=f"Use one of: {', '.join(ROLES)}."
        )
    for name in ("id", "session", "speaker", "persona", "origin"):
        value = raw.get(name) or ""
        if not isinstance(value, str) or len(value) > 500:
            raise BadRequestError(f"{name} must be a text of at most 500 characters")
    return role


def name_from(text: str, settings: Settings) -> str:
    """The name of a session, speaker, persona or turn as it is kept: on one line and
    redacted (`X11`).
    """
    return redact(_plain_name(text), settings.redact).text


def _plain_name(text: str) -> str:
    return " ".join(plain_text(text).split())


def moment(
    value: object, zone: tzinfo, name: str = "time", *, end: bool = False
) -> datetime:
    """The moment that `value` writes (ISO 8601, or epoch seconds), local to `zone`
    where it has no offset.

    With `end` a mere date means its last moment. BadRequestError for what is none of
    1900 to 9989.
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


def unread() -> UnavailableError:
    """Why turns are not taken while the catalogue is begun anew: only it knows which of
    them are in the vault.
    """
    return UnavailableError(
        "the vault is still being read", fix="Nothing was stored; send the turns again."
    )


@dataclass(slots=True)
class _Place:
    """A session file that may take the next turn of its conversation."""

    stem: str
    started: datetime
    ended: datetime
    turns: int = 0
    block: int = 0
    size: int = 0


class Intake:
    """Turns on their way in: known ids, their places, the journal; then the backlog, as
    far as it is durable.

    `accept` may be called from any thread; the rest belongs to the writer.
    """

    def __init__(
        self, journal: Journal, index: Index, settings: Settings, health: Health
    ) -> None:
        self.journal = journal
        self.index = index
        self.settings = settings
        self.health = health
        self.patterns = table(settings.patterns)
        self.queue = TurnQueue(settings.policy)
        self._lock = threading.Lock()
        # session → id → not in the vault yet
        self._pending: dict[str, dict[str, tuple[FiledTurn, Future[None]]]] = {}
        # how many of them belong to a session file
        self._ahead: Counter[str] = Counter()
        # looked up; those last asked for stand last
        self._places: dict[tuple[str, str | None], list[_Place]] = {}

    # -- the front half ----------------------------------------------------------------

    def accept(self, turns: Sequence[Turn], now: datetime) -> Accepted:
        """Store the new ones of `turns` durably, then answer (`X18`: the next recall
        finds them).

        The same `(session, id)` with the same text is one turn; with another text
        ConflictError. BusyError when too much waits, BadRequestError when it could
        never be taken, UnavailableError when the catalogue began anew meanwhile,
        StorageError when the disk refused. After a fault nothing of it was stored.
        """
        ticket: Future[None] = Future()
        with self._lock:
            known = self.index.scanner.generation
            keys, fresh, awaited, conflicts = self._sort(turns)
            self._admit(len(fresh), conflicts)
            placed = {
                (turn.session, turn.id): self._hold(self._place(turn), ticket)
                for turn in fresh
            }
            # what was looked up was not the whole truth
            if placed and not (known and known == self.index.scanner.generation):
                self._let_go(placed.values())
                self._places.clear()
                raise unread()
        self._commit(list(placed.values()), ticket, now)
        for other in awaited:
            other.result()
        return Accepted(
            tuple(
                key or placed[turn.session, turn.id].key
                for key, turn in zip(keys, turns, strict=True)
            ),
            len(fresh),
            len(turns) - len(fresh),
        )

    def _sort(
        self, turns: Sequence[Turn]
    ) -> tuple[list[str], list[Turn], list[Future[None]], list[str]]:
        """Unit keys of known turns ('' for others), the new turns, commits to wait for,
        conflicting ids.
        """
        keys: list[str] = []
        fresh: dict[tuple[str, str], Turn] = {}
        awaited: list[Future[None]] = []
        conflicts: list[str] = []
        for turn in turns:
            name = (turn.session, turn.id)
            known, key = fresh.get(name), ""
            pending = self._pending.get(turn.session, {}).get(turn.id)
            if known is None and pending:
                filed, commit = pending
                known, key = filed.turn, filed.key
                awaited.append(commit)
            elif known is None and (
                filed_before := self.index.catalog.turn(turn.session, turn.id)
            ):
                known, key = filed_before.turn, filed_before.key
            keys.append(key)
            if known is None:
                fresh[name] = turn
            elif known.text != turn.text:
                conflicts.append(turn.id)
        return keys, list(fresh.values()), awaited, conflicts

    def _admit(self, number: int, conflicts: Sequence[str]) -> None:
        """Refuse a request with conflicts, or with more new turns than there is room
        for, now or ever.
        """
        if conflicts:
            raise ConflictError(
                "the same id came with another text",
                where=", ".join(conflicts[:10]),
                fix="Give each turn an id of its own; a request that holds such a turn is refused whole.",
            )
        most = self.settings.policy.journal.queue_turns
        if number > most:
            raise BadRequestError(
                f"one request may bring {most} new turns",
                fix="Nothing was stored; send fewer at once.",
            )
        if number > most - self._ahead.total():
            raise BusyError(
                "too many turns wait to be filed",
                retry_after=2,
                fix="Nothing was stored; try again.",
            )

    def _hold(self, filed: FiledTurn, commit: Future[None]) -> FiledTurn:
        """From now on the turn is known, and its place is taken."""
        self._pending.setdefault(filed.turn.session, {})[filed.turn.id] = (
            filed,
            commit,
        )
        self._ahead[filed.note] += 1
        return filed

    def _let_go(self, turns: Iterable[FiledTurn]) -> None:
        """The vault holds these turns, or nobody does: they take no room here."""
        for filed in turns:
            held = self._pending.get(filed.turn.session, {})
            if filed.turn.id in held:
                stem = held.pop(filed.turn.id)[0].note
                self._ahead[stem] -= 1
                if not self._ahead[stem]:
                    del self._ahead[stem]
                if not held:
                    del self._pending[filed.turn.session]

    def _commit(
        self, placed: list[FiledTurn], ticket: Future[None], now: datetime
    ) -> None:
        try:
            seqs = self.journal.append(placed) if placed else []
        except BaseException as fault:
            with self._lock:
                self._let_go(placed)
            ticket.set_exception(fault)
            raise
        self.index.add_turns(placed)
        self.queue.add(
            [
                self._waiting(seq, filed, now)
                for seq, filed in zip(seqs, placed, strict=True)
            ]
        )
        ticket.set_result(None)

    def _waiting(self, seq: int, filed: FiledTurn, now: datetime) -> WaitingTurn:
        # what an assistant says of itself is no reason to hurry
        if filed.turn.role != "user":
            return WaitingTurn(seq, filed, "none", now)
        return WaitingTurn(
            seq,
            filed,
            scan(filed.turn.text, self.patterns, self.settings.policy.signals).level,
            now,
        )

    # -- places ------------------------------------------------------------------------

    @contextmanager
    def place(self, turn: Turn) -> Iterator[FiledTurn]:
        """A place in the vault for a turn that does not go through the journal, kept
        while it is filed.
        """
        done: Future[None] = Future()
        done.set_result(None)
        with self._lock:
            filed = self._hold(self._place(turn), done)
        try:
            yield filed
        finally:
            with self._lock:
                self._let_go([filed])

    def _place(self, turn: Turn) -> FiledTurn:
        """The session file and block of a new turn: the file active within the gap with
        room, else new (E10, X1).
        """
        policy = self.settings.policy.buffer
        gap = timedelta(minutes=policy.session_gap_minutes)
        size = len(turn.text.encode())
        places = self._thread(turn.session, turn.persona)
        for place in reversed(places):
            near = place.started - gap <= turn.occurred_at <= place.ended + gap
            if (
                near
                and place.turns < policy.session_turns
                and place.size + size <= policy.session_bytes
            ):
                break
        else:
            day = turn.occurred_at.astimezone(self.settings.zone)
            stem = sessions.stem(turn.session, day, self._stem_taken)
            place = _Place(stem, turn.occurred_at, turn.occurred_at)
            places.append(place)
        place.ended = max(place.ended, turn.occurred_at)
        place.turns += 1
        place.block += 1
        place.size += size
        return FiledTurn(turn, place.stem, f"t{place.block}")

    def _thread(self, session: str, persona: str | None) -> list[_Place]:
        """The places of a conversation: its files, and those that only waiting turns
        have a claim to.
        """
        thread = (session, persona)
        places = self._places.pop(thread, None)
        if places is None:
            found = {
                stem: _Place(
                    stem,
                    known.started,
                    known.ended,
                    known.turns,
                    known.last_block,
                    self._size(known.path),
                )
                for known in self.index.catalog.sessions(*thread)
                for stem in [known.path.rpartition("/")[2].removesuffix(".md")]
            }
            for filed, _ in self._pending.get(session, {}).values():
                if filed.turn.persona == persona:
                    said, block = filed.turn.occurred_at, int(filed.block[1:])
                    place = found.setdefault(filed.note, _Place(filed.note, said, said))
                    place.started, place.ended = (
                        min(place.started, said),
                        max(place.ended, said),
                    )
                    if block > place.block:  # it does not stand in the file yet
                        place.block, place.turns = block, place.turns + 1
                        place.size += len(filed.turn.text.encode())
            places = list(found.values())
        self._places[thread] = places
        if len(self._places) > self.settings.policy.buffer.conversations:
            del self._places[next(iter(self._places))]
        return places

    def _size(self, path: str) -> int:
        """The bytes of a session file; 0 where the disk does not say."""
        with suppress(OSError):
            return (self.settings.vault / path).lstat().st_size
        return 0

    def _stem_taken(self, stem: str) -> bool:
        return stem in self._ahead or self.index.scanner.exists(sessions.path(stem))

    # -- the backlog, durably ----------------------------------------------------------

    def recover(self, now: datetime) -> list[str]:
        """Queue what the journal holds from before; return its problems (X20)."""
        left = self.journal.replay()
        self._queue_recovered(left, now)
        done: Future[None] = Future()
        done.set_result(None)
        with self._lock:
            for _, filed in left.turns:
                self._hold(filed, done)
        filed_before = {seq for park in left.parked if park.filed for seq in park.seqs}
        self.index.add_turns(
            [filed for seq, filed in left.turns if seq not in filed_before]
        )
        return [problem.message for problem in left.problems]

    def _queue_recovered(self, left: UnfiledTurns, now: datetime) -> None:
        """Queue free turns and parked batches, and remember dead ones."""
        held = {
            seq: WaitingTurn(seq, filed, "none", now, left_over=True)
            for seq, filed in left.turns
        }
        free = held.keys() - {seq for park in left.parked for seq in park.seqs}
        self.queue.add((held[seq] for seq in sorted(free)), RESTARTED)
        latest = now + timedelta(seconds=self.settings.policy.model.retry_most_seconds)
        for park in left.parked:
            batch = Batch(
                tuple(held[seq] for seq in park.seqs),
                RESTARTED,
                park.attempts,
                park.filed,
            )
            # a time far away is one that a wrong clock wrote
            until = min(park.retry_at, latest)
            self.queue.put(batch, "parked", until=until, reason=park.reason)
        for letter in left.dead:
            items = tuple(
                WaitingTurn(seq, filed, "none", now) for seq, filed in letter.turns
            )
            self.queue.put(
                Batch(items, RESTARTED, letter.attempts, filed=True),
                "dead",
                reason=letter.reason,
            )

    def counted(self, batch: Batch, now: datetime) -> Batch:
        """The batch with a restart counted as a try, durably: a turn that kills the
        process must not do so for ever.
        """
        if not any(item.left_over for item in batch.waiting):
            return batch
        items = tuple(replace(item, left_over=False) for item in batch.waiting)
        batch = replace(batch, waiting=items, attempts=batch.attempts + 1)
        # a disk that refuses is no reason to hold the batch back: filing it will tell
        with suppress(StorageError):
            self.journal.park(
                batch.seqs,
                batch.attempts,
                now,
                "taken up after a restart",
                filed=batch.filed,
            )
        self.queue.put(batch, "taken")
        return batch

    def placed(self, batch: Batch, turns: Sequence[FiledTurn]) -> Batch:
        """The batch with its `turns` where their file has them; where a person took a
        place, all is looked up anew.
        """
        with self._lock:
            for item, filed in zip(batch.waiting, turns, strict=True):
                session, name = filed.turn.session, filed.turn.id
                if filed != item.filed and name in self._pending.get(session, {}):
                    self._pending[session][name] = (
                        filed,
                        self._pending[session][name][1],
                    )
                    self._places.pop((session, filed.turn.persona), None)
        pairs = zip(batch.waiting, turns, strict=True)
        batch = replace(
            batch,
            waiting=tuple(replace(item, filed=filed) for item, filed in pairs),
            filed=True,
        )
        self.queue.put(batch, "taken")
        return batch

    def still_said(self, batch: Batch) -> list[Batch]:
        """The batch as its session file says now, without what a person took out;
        nothing if none is left.
        """
        if self.index.catalog.problems(sessions.path(batch.waiting[0].filed.note)):
            return [batch]  # while the file is not understood, nobody can tell
        said = [
            self.index.catalog.turn(item.filed.turn.session, item.filed.turn.id)
            for item in batch.waiting
        ]
        pairs = list(zip(batch.waiting, said, strict=True))
        if gone := tuple(item for item, filed in pairs if filed is None):
            self.settled(replace(batch, waiting=gone))
        left = tuple(replace(item, filed=filed) for item, filed in pairs if filed)
        return [replace(batch, waiting=left)] if left else []

    def settled(self, batch: Batch) -> None:
        """The batch is in the vault: let the journal and the backlog go of it."""
        self.journal.settle(batch.seqs)
        self._in_the_vault(batch)
        self.queue.drop(batch)

    def parked(
        self, batch: Batch, until: datetime, reason: str, *, durable: bool = True
    ) -> None:
        """The batch waits until `until`; with `durable` its count of tries is kept
        across a restart.
        """
        if durable:
            self.journal.park(
                batch.seqs, batch.attempts, until, reason, filed=batch.filed
            )
        self.queue.put(batch, "parked", until=until, reason=reason)

    def buried(self, batch: Batch, reason: str) -> None:
        """The batch is a dead letter: nobody tries it again until somebody asks for it."""
        self.journal.give_up(batch.seqs, batch.attempts, reason)
        self._in_the_vault(batch)
        self.queue.put(batch, "dead", reason=reason)

    def _in_the_vault(self, batch: Batch) -> None:
        with self._lock:
            self._let_go(item.filed for item in batch.waiting)
