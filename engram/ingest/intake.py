"""Intake of turns: check, redact, write to the journal, acknowledge, queue.

`engram/pipeline/process.py` continues from a batch of the queue to files.
"""

from __future__ import annotations

import threading
from bisect import bisect_right, insort
from collections import Counter
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import takewhile
from operator import attrgetter
from typing import TYPE_CHECKING

from engram.core.buffer import WaitingTurn
from engram.core.language.privacy import with_privacy
from engram.core.language.quotations import without_parts
from engram.core.language.signals import scan, table
from engram.core.records import FiledTurn, Turn
from engram.core.text import note_name
from engram.core.turn_versions import (
    base_id,
    first_id,
    is_version_of,
    replaces,
    text_digest,
    turn_digest,
    version_id,
)
from engram.errors import (
    BadRequestError,
    BusyError,
    ConflictError,
    Health,
    LockedError,
    StorageError,
    UnavailableError,
)
from engram.ingest.queue import RESTARTED, Batch, TurnQueue
from engram.vault import sessions

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from engram.config import Settings
    from engram.core.policy import Policy
    from engram.index.search import Index
    from engram.vault.journal import Journal, UnfiledTurns
    from engram.vault.store import Vault


LATEST = 3
"""The number of turns of a session file that determine the next one's privacy."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The result of a request: the unit keys of its turns, in their order.

    `stored` is the number of new turns, `duplicates` of known ones; `replaced` of the
    new ones are known turns with another text.
    """

    keys: tuple[str, ...]
    stored: int
    duplicates: int
    replaced: int


def unread() -> UnavailableError:
    """Return the error for turns that arrive while the catalogue is built.

    Only the catalogue contains the turns that are already in the vault.
    """
    return UnavailableError(
        "the vault is still being read", fix="Nothing was stored; send the turns again."
    )


def _block_number(block: str) -> int:
    digits = block[1:]
    return int(digits) if digits.isdecimal() else 0


@dataclass(slots=True)
class _Place:
    """A session file that may get the next turn of its conversation.

    `turns`, `block` and `size` (bytes) include turns that are not written yet. `latest`
    are the last turns with a place there since the process began.
    """

    stem: str
    started: datetime
    ended: datetime
    turns: int = 0
    block: int = 0
    size: int = 0
    latest: tuple[Turn, ...] = ()


class Intake:
    """The intake of turns, and the durable part of the queue.

    `accept` is thread-safe; the other methods are for the writer thread. `device` is
    the name of this device, which has session files of its own.
    """

    def __init__(
        self,
        journal: Journal,
        index: Index,
        settings: Settings,
        health: Health,
        vault: Vault,
        device: str,
    ) -> None:
        self.vault = vault
        self.device = device
        self.journal = journal
        self.index = index
        self.settings = settings
        self.health = health
        self.patterns = table(settings.patterns)
        self.queue = TurnQueue(_queue_policy(settings))
        self._buffer = settings.policy.buffer
        self._lock = threading.Lock()
        # turns that are not in the vault yet, by session and id
        self._pending: dict[str, dict[str, tuple[FiledTurn, Future[None]]]] = {}
        # the number of pending turns of each session file
        self._pending_counts: Counter[str] = Counter()
        # the number of pending versions of edited turns of each session
        self._pending_versions: Counter[str] = Counter()
        # session files by conversation; the most recently used are last
        self._places: dict[tuple[str, str | None], list[_Place]] = {}

    # -- accepting turns ---------------------------------------------------------------

    def accept(
        self,
        turns: Sequence[Turn],
        now: datetime,
        unnamed: frozenset[str] = frozenset(),
    ) -> Accepted:
        """Store the new turns durably; the next recall finds them (`X18`).

        Two turns with the same session, id and text are one, and so are turns without
        an id (whose generated ids are in `unnamed`) that a client repeats at once
        (`_as_known`). The same id with another text is an edited turn, which replaces
        the older ones once it is filed. Raises ConflictError if it has another role,
        source or persona, or is twice in one request; BusyError if too many turns wait,
        BadRequestError for a request that is too large, UnavailableError if the
        catalogue was rebuilt meanwhile or another process may have the vault,
        StorageError if the disk fails. After an error nothing is acknowledged.
        """
        commit: Future[None] = Future()
        with self._lock:
            generation = self.index.scanner.generation
            turns = self._as_known(turns, unnamed)
            turns, conflicts = self._as_versions(turns, now)
            keys, new, other_commits = self._sort(turns)
            self._check_request(len(new), conflicts)
            placed = {
                (turn.session, turn.id): self._add_pending(self._place(turn), commit)
                for turn in new
            }
            # After a rebuild the lookups may have missed turns of the vault.
            is_current = generation and generation == self.index.scanner.generation
            if placed and not is_current:
                self._remove_pending(placed.values())
                self._places.clear()
                raise unread()

        self._commit(list(placed.values()), commit, now)
        for other in other_commits:
            other.result()
        # The next owner has read the journal only after the end of this one.
        self.index.catalog.database.check_owner()
        every_key = tuple(
            key or placed[turn.session, turn.id].key
            for key, turn in zip(keys, turns, strict=True)
        )
        replaced = sum(map(self._replaces_known, new))
        return Accepted(every_key, len(new), len(turns) - len(new), replaced)

    def is_known(self, session: str, name: str) -> bool:
        """Return whether a turn with this session and id is already stored."""
        return self._known(session, name) is not None

    def _as_versions(
        self, turns: Sequence[Turn], now: datetime
    ) -> tuple[list[Turn], list[str]]:
        """Return the turns, with new ids for edited ones, and the conflicts.

        A conflict is the id of a turn whose other text has another role, source or
        persona, or is in the same request.
        """
        result: list[Turn] = []
        conflicts: list[str] = []
        in_request: dict[tuple[str, str], str] = {}
        for turn in turns:
            if in_request.setdefault((turn.session, turn.id), turn.text) != turn.text:
                conflicts.append(turn.id)
                continue
            known = self._known(turn.session, turn.id)
            version = turn if known is None else self._version(turn, known, now)
            if version is None:
                conflicts.append(turn.id)
            else:
                result.append(version)
        return result, conflicts

    def _version(self, turn: Turn, known: FiledTurn, now: datetime) -> Turn | None:
        """Return a turn with the id of a known one, under its own version id.

        It repeats the known turn or one of its versions, or it is a new version; None
        if neither is possible. The original words of a turn that a person changed in
        the session file are a repetition too.
        """
        if known.turn.text == turn.text and not self._is_over(known):
            return turn
        versions = self._versions_with_text(turn, known)
        if versions:
            over = self._is_over(versions[-1])
            if not over or not self._is_stated_again(turn, versions[-1], now):
                return replace(
                    turn, id=versions[-1].turn.id, text=versions[-1].turn.text
                )
        if not is_version_of(turn, known.turn):
            return None
        number = sum(version.turn.id != turn.id for version in versions) + 1
        return replace(
            turn,
            id=version_id(turn.id, turn.text, number),
            private=turn.private or known.turn.private,
            confided=turn.confided and (known.turn.confided or not known.turn.private),
            sensitive_to=known.turn.sensitive_to,
        )

    def _versions_with_text(self, turn: Turn, known: FiledTurn) -> list[FiledTurn]:
        """Return the versions of a turn that had exactly the words of `turn`.

        They are in the order of their arrival. `known` is the first version.
        """
        digest = text_digest(turn.text)
        is_first = known.turn.text == turn.text
        versions = (
            [known]
            if is_first or digest in self.index.replaced_words(known.key)
            else []
        )
        number = 1
        while found := self._known(
            turn.session, version_id(turn.id, turn.text, number)
        ):
            versions.append(found)
            number += 1
        return versions

    def _is_over(self, filed: FiledTurn) -> bool:
        """Return whether a turn was withdrawn, or a waiting version will replace it."""
        if filed.key in self.index.tombstones.withdrawn:
            return True
        session, first = filed.turn.session, base_id(filed.turn.id)
        if not self._pending_versions[session]:
            return False
        pending = list(self._pending.get(session, {}))
        place = pending.index(filed.turn.id) + 1 if filed.turn.id in pending else 0
        later = [name for name in pending[place:] if name.startswith(f"{first} edit-")]
        return any(
            replaces(self._pending[session][name][0].turn, filed.turn, self._buffer)
            for name in later
        )

    def _is_stated_again(self, turn: Turn, known: FiledTurn, now: datetime) -> bool:
        """Return whether withdrawn words were stated again, and not only resent.

        They are stated again if they are later than the words that replaced them; at
        the same time only if the conversation continues.
        """
        first = base_id(turn.id)
        since = max(
            (
                version.turn.occurred_at
                for version in self.index.versions(turn.session, first)
                if not self._is_over(version)
            ),
            default=known.turn.occurred_at,
        )
        goes_on = now - turn.occurred_at <= timedelta(hours=self._buffer.edit_hours)
        return turn.occurred_at > since or (turn.occurred_at == since and goes_on)

    def _known(self, session: str, turn_id: str) -> FiledTurn | None:
        """Return the turn with this session and id, waiting or in the vault."""
        pending = self._pending.get(session, {}).get(turn_id)
        return pending[0] if pending else self.index.catalog.turn(session, turn_id)

    def _replaces_known(self, turn: Turn) -> bool:
        """Return whether a new turn replaces the first one with its id."""
        first = first_id(turn)
        known = self._known(turn.session, first) if first is not None else None
        return known is not None and replaces(turn, known.turn, self._buffer)

    def _as_known(
        self, turns: Sequence[Turn], unnamed: frozenset[str]
    ) -> Sequence[Turn]:
        """Return the turns, with the ids of those that a client sends again (`A8`).

        A client that got no answer repeats its request, and may add to it: the first
        turns of the request are then the last ones of the session, some seconds old. A
        repetition later, or after other words, is another turn.
        """
        first = turns[0] if turns else None
        if first is None or first.id not in unnamed:
            return turns
        last = self._latest(first)
        for number in range(min(len(last), len(turns)), 0, -1):
            pairs = list(zip(last[-number:], turns, strict=False))
            if all(self._is_again(new, old, unnamed) for old, new in pairs):
                again = [replace(new, id=old.id) for old, new in pairs]
                return [*again, *turns[number:]]
        return turns

    def _is_again(self, new: Turn, old: Turn, unnamed: frozenset[str]) -> bool:
        apart = abs((new.occurred_at - old.occurred_at).total_seconds())
        told = replace(old, sensitive_to=new.sensitive_to)
        same = replace(new, id=old.id, occurred_at=old.occurred_at) == told
        soon = apart <= self.settings.policy.buffer.retry_seconds
        return new.id in unnamed and same and soon

    def _latest(self, turn: Turn) -> list[Turn]:
        """Return the turns of the conversation's last session file.

        The list is empty if this turn does not follow within seconds.
        """
        soon = timedelta(seconds=self.settings.policy.buffer.retry_seconds)
        places = self._conversation(turn.session, turn.persona)
        place = max(places, key=lambda one: one.ended, default=None)
        if place is None or abs(turn.occurred_at - place.ended) > soon:
            return []
        known = {
            filed.block: filed
            for filed, _ in self._pending.get(turn.session, {}).values()
            if filed.note == place.stem
        }
        for unit in self.index.catalog.units_at(sessions.path(place.stem)):
            if isinstance(unit, FiledTurn):
                known.setdefault(unit.block, unit)
        return [known[block].turn for block in sorted(known, key=_block_number)]

    def _sort(
        self, turns: Sequence[Turn]
    ) -> tuple[list[str], list[Turn], list[Future[None]]]:
        """Sort the turns of a request into known and new ones.

        Returns the unit keys ('' for a new turn), the new turns, and the commits of
        other requests to wait for.
        """
        keys: list[str] = []
        new: dict[tuple[str, str], Turn] = {}
        commits: list[Future[None]] = []
        for turn in turns:
            name, key = (turn.session, turn.id), ""
            if name not in new:
                if pending := self._pending.get(turn.session, {}).get(turn.id):
                    commits.append(pending[1])
                if known := self._known(turn.session, turn.id):
                    key = known.key
                elif gone := self.index.tombstones.deleted.get(turn_digest(turn)):
                    key = gone
                else:
                    new[name] = turn
            keys.append(key)
        return keys, list(new.values()), commits

    def _check_request(self, number: int, conflicts: Sequence[str]) -> None:
        """Raise an error for a request with conflicts or with too many new turns."""
        if conflicts:
            raise ConflictError(
                "the same id came with another text, twice in one request or from another source",
                where=", ".join(conflicts[:10]),
                fix="Give each turn an id of its own; a request that holds such a turn is refused whole.",
            )
        most = self.settings.policy.journal.queue_turns
        if number > most:
            raise BadRequestError(
                f"one request may bring {most} new turns",
                fix="Nothing was stored; send fewer at once.",
            )
        if number > most - self._pending_counts.total():
            raise BusyError(
                "too many turns wait to be filed",
                retry_after=2,
                fix="Nothing was stored; try again.",
            )

    def _add_pending(self, filed: FiledTurn, commit: Future[None]) -> FiledTurn:
        """Register the turn as known, and reserve its place."""
        pending = self._pending.setdefault(filed.turn.session, {})
        pending[filed.turn.id] = (filed, commit)
        self._pending_counts[filed.note] += 1
        if base_id(filed.turn.id) != filed.turn.id:
            self._pending_versions[filed.turn.session] += 1
        return filed

    def _remove_pending(self, turns: Iterable[FiledTurn]) -> None:
        """Remove turns that are now in the vault, or that were not stored."""
        for filed in turns:
            pending = self._pending.get(filed.turn.session, {})
            if filed.turn.id in pending:
                stem = pending.pop(filed.turn.id)[0].note
                if base_id(filed.turn.id) != filed.turn.id:
                    self._pending_versions[filed.turn.session] -= 1
                self._uncount(stem)
                if not pending:
                    del self._pending[filed.turn.session]

    def _uncount(self, stem: str) -> None:
        self._pending_counts[stem] -= 1
        if not self._pending_counts[stem]:
            del self._pending_counts[stem]

    def _commit(
        self, placed: list[FiledTurn], commit: Future[None], now: datetime
    ) -> None:
        """Write new turns to the journal, then index and queue them.

        `commit` gets the result, for requests that wait for the same turns.
        """
        try:
            seqs = self.journal.append(placed) if placed else []
        except BaseException as fault:
            with self._lock:
                self._remove_pending(placed)
            commit.set_exception(fault)
            raise
        self.index.add_turns(placed)
        self.queue.add(
            [
                self._waiting(seq, filed, now)
                for seq, filed in zip(seqs, placed, strict=True)
            ]
        )
        commit.set_result(None)

    def _waiting(self, seq: int, filed: FiledTurn, now: datetime) -> WaitingTurn:
        # The turn that it replaces is hidden once it is filed.
        if first_id(filed.turn) is not None:
            return WaitingTurn(seq, filed, "high", now)
        # Only a user's turn can make a batch due early.
        if filed.turn.role != "user":
            return WaitingTurn(seq, filed, "none", now)
        # Once it is filed, its session file determines which earlier turns are private
        # too.
        if filed.turn.private:
            return WaitingTurn(seq, filed, "high", now)
        policy = self.settings.policy.signals
        signals = scan(filed.turn.text, self.patterns, policy)
        if signals.level == "high":  # perhaps in a pasted mail
            signals = scan(without_parts(filed.turn.text), self.patterns, policy)
        return WaitingTurn(seq, filed, signals.level, now)

    # -- places ------------------------------------------------------------------------

    @contextmanager
    def places(self, turns: Iterable[Turn]) -> Iterator[list[FiledTurn]]:
        """Reserve places in the vault for turns that are filed without the journal."""
        done: Future[None] = Future()
        done.set_result(None)
        with self._lock:
            filed = [self._add_pending(self._place(turn), done) for turn in turns]
        try:
            yield filed
        finally:
            with self._lock:
                self._remove_pending(filed)

    def _place(self, turn: Turn) -> FiledTurn:
        """Return a new turn with its session file and block (`E10`, `X1`).

        The file is that of the conversation at that time if it is not full, else a new
        one.
        """
        policy, said_at = self.settings.policy.buffer, turn.occurred_at
        gap = timedelta(minutes=policy.session_gap_minutes)
        size = len(turn.text.encode())
        places = self._conversation(turn.session, turn.persona)
        end = bisect_right(places, said_at + gap, key=attrgetter("started"))
        # One that is not full ends before the next one starts.
        near = takewhile(
            lambda place: place.ended >= said_at - gap,
            (places[number] for number in range(end - 1, -1, -1)),
        )
        place = next(
            (
                place
                for place in near
                if place.turns < policy.session_turns
                and place.size + size <= policy.session_bytes
            ),
            None,
        )
        if place is None:
            day = said_at.astimezone(self.settings.zone)
            name = turn.title or turn.session
            stem = sessions.stem(name, day, self.device, self._stem_taken)
            place = _Place(stem, said_at, said_at)
            insort(places, place, key=attrgetter("started"))
        place.ended = max(place.ended, said_at)
        place.turns += 1
        place.block += 1
        place.size += size
        turn = with_privacy([*place.latest, turn])[-1]
        place.latest = (*place.latest[1 - LATEST :], turn)
        return FiledTurn(turn, place.stem, f"t{place.block}")

    def _conversation(self, session: str, persona: str | None) -> list[_Place]:
        """Return the session files of a conversation, the earliest first, cached."""
        name = (session, persona)
        places = self._places.pop(name, None)
        if places is None:
            places = self._find_places(session, persona)
        self._places[name] = places
        if len(self._places) > self.settings.policy.buffer.conversations:
            del self._places[next(iter(self._places))]
        return places

    def _find_places(self, session: str, persona: str | None) -> list[_Place]:
        """Return the session files of this device, with those of pending turns."""
        places: dict[str, _Place] = {}
        for known in self.index.catalog.sessions(session, persona):
            stem = note_name(known.path)
            if not sessions.is_written_by(stem, self.device):
                continue
            places[stem] = _Place(
                stem,
                known.started,
                known.ended,
                known.turns,
                known.last_block,
                self._size(known.path),
            )

        for filed, _ in self._pending.get(session, {}).values():
            own = sessions.is_written_by(filed.note, self.device)
            if filed.turn.persona != persona or not own:
                continue
            said_at, block = filed.turn.occurred_at, int(filed.block[1:])
            place = places.setdefault(filed.note, _Place(filed.note, said_at, said_at))
            place.started = min(place.started, said_at)
            place.ended = max(place.ended, said_at)
            if block > place.block:  # not yet in the file
                place.block = block
                place.turns += 1
                place.size += len(filed.turn.text.encode())
        return sorted(places.values(), key=attrgetter("started"))

    def _size(self, path: str) -> int:
        """Return the size of a session file in bytes, 0 if it cannot be read."""
        with suppress(OSError):
            return (self.settings.vault / path).lstat().st_size
        return 0

    def _stem_taken(self, stem: str) -> bool:
        return stem in self._pending_counts or self.index.scanner.exists(
            sessions.path(stem)
        )

    # -- the durable queue -------------------------------------------------------------

    def recover(self, now: datetime) -> list[str]:
        """Queue the turns of the journal after a start; return its problems (`X20`)."""
        unfiled = self.journal.replay()
        self._queue_recovered(unfiled, now)
        done: Future[None] = Future()
        done.set_result(None)
        with self._lock:
            for _, filed in unfiled.turns:
                self._add_pending(filed, done)
        filed_before = {
            seq for park in unfiled.parked if park.filed for seq in park.seqs
        }
        self.index.add_turns(
            [filed for seq, filed in unfiled.turns if seq not in filed_before]
        )
        return [problem.message for problem in unfiled.problems]

    def _queue_recovered(self, unfiled: UnfiledTurns, now: datetime) -> None:
        """Queue waiting turns, parked batches and dead batches."""
        turns = {
            seq: WaitingTurn(seq, filed, "none", now, left_over=True)
            for seq, filed in unfiled.turns
        }
        parked = {seq for park in unfiled.parked for seq in park.seqs}
        waiting = sorted(turns.keys() - parked)
        self.queue.add((turns[seq] for seq in waiting), RESTARTED)
        latest = now + timedelta(seconds=self.settings.policy.model.retry_most_seconds)
        for park in unfiled.parked:
            batch = Batch(
                tuple(turns[seq] for seq in park.seqs),
                RESTARTED,
                park.attempts,
                park.filed,
            )
            # A wrong clock may have written a time in the far future.
            until = min(park.retry_at, latest)
            self.queue.put(batch, "parked", until=until, reason=park.reason)
        for letter in unfiled.dead:
            items = tuple(
                WaitingTurn(seq, filed, "none", now) for seq, filed in letter.turns
            )
            self.queue.put(
                Batch(items, RESTARTED, letter.attempts, filed=True),
                "dead",
                reason=letter.reason,
            )

    def count_restart(self, batch: Batch, now: datetime) -> Batch:
        """Count a restart of the process as an attempt, durably.

        Otherwise a turn that crashes the process would be retried forever.
        """
        if not any(item.left_over for item in batch.waiting):
            return batch
        items = tuple(replace(item, left_over=False) for item in batch.waiting)
        batch = replace(batch, waiting=items, attempts=batch.attempts + 1)
        # If it cannot be written now, the filing of the batch reports it.
        with suppress(StorageError, UnavailableError, LockedError):
            self.journal.park(
                batch.seqs,
                batch.attempts,
                now,
                "taken up after a restart",
                filed=batch.filed,
            )
        self.queue.put(batch, "taken")
        return batch

    def update_placement(self, batch: Batch, turns: Sequence[FiledTurn]) -> Batch:
        """Return the batch with its turns as in the session file.

        Their blocks or their file differ from the planned ones if a user edited the file.
        """
        with self._lock:
            for item, filed in zip(batch.waiting, turns, strict=True):
                pending = self._pending.get(filed.turn.session, {})
                if filed != item.filed and filed.turn.id in pending:
                    _, commit = pending[filed.turn.id]
                    self._pending_counts[filed.note] += 1
                    self._uncount(item.filed.note)
                    pending[filed.turn.id] = (filed, commit)
                    self._places.pop((filed.turn.session, filed.turn.persona), None)
        pairs = zip(batch.waiting, turns, strict=True)
        batch = replace(
            batch,
            waiting=tuple(replace(item, filed=filed) for item, filed in pairs),
            filed=True,
        )
        self.queue.put(batch, "taken")
        return batch

    def without_gone_turns(self, batch: Batch) -> list[Batch]:
        """Return a filed batch without removed turns.

        They were deleted from their file by a user, or withdrawn. The list is empty if
        no turn remains. A file with problems is not parsed: the batch is returned
        unchanged.
        """
        catalog, withdrawn = self.index.catalog, self.index.tombstones.withdrawn
        if catalog.problems(sessions.path(batch.waiting[0].filed.note)):
            return [batch]

        remaining, deleted = list[WaitingTurn](), list[WaitingTurn]()
        for item in batch.waiting:
            filed = catalog.turn(item.filed.turn.session, item.filed.turn.id)
            if filed and filed.key not in withdrawn:
                remaining.append(replace(item, filed=filed))
            else:
                deleted.append(item)
        if deleted:
            self.remove_filed(replace(batch, waiting=tuple(deleted)))
        return [replace(batch, waiting=tuple(remaining))] if remaining else []

    def remove_filed(self, batch: Batch) -> None:
        """Remove a batch that is in the vault from the journal and the queue."""
        self.journal.settle(batch.seqs)
        self._release(batch)
        self.queue.drop(batch)

    def purge(self, keys: Collection[str], damaged: Callable[[bytes], bool]) -> None:
        """Remove waiting turns and all words of filed turns from the journal.

        `keys` are those of the turns; `damaged` returns whether to remove a damaged
        segment. Raises ConflictError if such a turn is being extracted.
        """
        entries = self.queue.entries_of(keys)
        if any(state == "taken" for state, _ in entries):
            raise ConflictError(
                "memories are being extracted from these turns just now",
                fix="Wait a moment and try again; nothing was removed.",
            )
        items = [item for _, item in entries]
        seqs = [item.seq for item in items]
        self.journal.settle(seqs)
        self.queue.remove(seqs)
        with self._lock:
            self._remove_pending(item.filed for item in items)
            self._places.clear()
        self.index.filed([item.filed for item in items])
        self.journal.rewrite(damaged)

    def park(
        self, batch: Batch, until: datetime, reason: str, *, durable: bool = True
    ) -> None:
        """Let a batch wait until `until`.

        With `durable` the number of its attempts survives a restart.
        """
        if durable:
            self.journal.park(
                batch.seqs, batch.attempts, until, reason, filed=batch.filed
            )
        self.queue.put(batch, "parked", until=until, reason=reason)

    def give_up(self, batch: Batch, reason: str) -> None:
        """Make a batch a dead letter, which only a flush retries."""
        self.journal.give_up(batch.seqs, batch.attempts, reason)
        self._release(batch)
        self.queue.put(batch, "dead", reason=reason)

    def _release(self, batch: Batch) -> None:
        """Remove the turns of a stored batch from the pending ones."""
        with self._lock:
            self._remove_pending(item.filed for item in batch.waiting)


def _queue_policy(settings: Settings) -> Policy:
    """Return the policy of the queue; the rules do not wait for a reply."""
    policy = settings.policy
    if settings.model:
        return policy
    return replace(policy, buffer=replace(policy.buffer, reply_seconds=0.0))
