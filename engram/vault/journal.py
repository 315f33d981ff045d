"""The turn journal: a write-ahead log with group commit.

A turn is acknowledged after its line is synced. The journal is a folder of segments,
each a file of JSON lines. A line has a CRC-32 and a sequence number and is one of
`turn`, `settle`, `park` or `bury`; the last three refer to turns by number, so batches
may end in any order. Callers that arrive during a sync share the next one.

After a crash `replay` returns every acknowledged turn that was not settled. A truncated
line at the end of a segment was never acknowledged; a damaged line elsewhere is
reported, and its segment is preserved as `.damaged`.
"""

from __future__ import annotations

import json
import threading
import zlib
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from engram.core.records import FiledTurn, Problem, Turn
from engram.errors import ConflictError, EngramError, StorageError
from engram.vault import disk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from engram.core.policy import JournalPolicy

_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_CRC = b'{"crc":"'
_BODY = len(_CRC) + len('00000000",')
_OWNER_BITS = 32
"""The bits of a number that count the records of one owner.

The higher bits are the number of the owner.
"""


def _accept() -> None:
    """Do nothing, because no other process uses the journal."""


@dataclass(frozen=True, slots=True)
class ParkedBatch:
    """A failed batch that is retried at `retry_at`.

    `seqs` are the numbers of its turns, `filed` is true if they are in their session
    file.
    """

    seqs: tuple[int, ...]
    attempts: int
    retry_at: datetime
    reason: str
    filed: bool = False


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A batch that is not retried automatically; its turns stay until settled."""

    turns: tuple[tuple[int, FiledTurn], ...]
    attempts: int
    reason: str


@dataclass(frozen=True, slots=True)
class UnfiledTurns:
    """The turns that are not settled: `turns` with their numbers, parked ones included.

    `dead` are the dead letters, whose turns are not in `turns`; `problems` are the
    faults found in the files.
    """

    turns: tuple[tuple[int, FiledTurn], ...] = ()
    parked: tuple[ParkedBatch, ...] = ()
    dead: tuple[DeadLetter, ...] = ()
    problems: tuple[Problem, ...] = ()


@dataclass(slots=True)
class _UnsettledTurn:
    """A turn that is not settled, with the segment and length (bytes) of its line.

    `batch` is the `park` or `bury` record of its batch, if there is one.
    """

    filed: FiledTurn
    segment: int
    size: int
    batch: Mapping[str, Any] | None = None


@dataclass(slots=True)
class _WriteGroup:
    """Records that share one write and one sync, and the result."""

    records: list[dict[str, Any]] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)
    callers: int = 0
    done: bool = False
    fault: EngramError | None = None


class Journal:
    """The journal in `folder`.

    `replay` must be called once, first; all other methods are thread-safe.
    `check_owner` is called before each change of a file, and raises an EngramError if
    this process no longer owns the vault. `owner` grows with each owner of the vault,
    so no two owners assign the same number: a late record of a former owner does not
    refer to turns of its successor. `degraded` is the message of the last write error,
    '' after a success.
    """

    def __init__(
        self,
        folder: Path,
        policy: JournalPolicy,
        check_owner: Callable[[], None] = _accept,
        owner: int = 0,
    ) -> None:
        self.folder = folder
        self.policy = policy
        self._check_owner = check_owner
        self.degraded = ""
        lock = threading.Lock()
        # no caller writes, or a group is complete
        self._free = threading.Condition(lock)
        self._complete = threading.Condition(lock)  # the expected callers have arrived
        self._group = _WriteGroup()
        self._expected = 1
        self._writing = False
        self._log: disk.AppendFile | None = None
        self._segments: dict[int, bool] = {}  # number → whether it is damaged
        self._newest = 0
        self._unsettled: dict[int, _UnsettledTurn] = {}
        self._first = owner << _OWNER_BITS
        self._seq = 0

    # -- reading -----------------------------------------------------------------------

    def replay(self) -> UnfiledTurns:
        """Read the journal, sync the segments, and return the unsettled turns.

        Damage is reported with byte positions; every readable line counts. A turn whose
        append failed may be in the journal too, and again from a second attempt: of two
        lines with the same `(session, id)` the later one counts. Raises StorageError.
        """
        disk.make_folders(self.folder)
        problems: list[Problem] = []
        latest: dict[tuple[str, str], int] = {}
        with disk.DeferredSyncs([self.folder]) as pending:
            for number, path in self._paths(".jsonl"):
                records, faults = _parse(disk.read(path), path.name)
                pending.add(path)
                problems += faults
                self._segments[number] = any(
                    fault.code == "journal-damage" for fault in faults
                )
                for record, size in records:
                    self._seq = max(self._seq, record["seq"])
                    if record["kind"] == "turn":
                        older = latest.get(
                            (record["session"], record["id"]), record["seq"]
                        )
                        latest[record["session"], record["id"]] = record["seq"]
                        if older != record["seq"]:
                            self._unsettled.pop(older, None)
                    self._apply(record, number, size)
        for number, path in self._paths(".damaged"):
            self._newest = max(self._newest, number)
            problems.append(
                Problem(
                    "journal-kept", "a damaged journal segment was set aside", path.name
                )
            )
        self._newest = max(self._newest, *self._segments, 0)
        self._seq = max(self._seq, self._first)
        return self._unfiled(problems)

    @property
    def is_empty(self) -> bool:
        """Whether every turn is settled."""
        with self._free:
            return not self._unsettled

    def unfiled(self) -> UnfiledTurns:
        """Return the turns that are not settled now."""
        with self._free:
            return self._unfiled(())

    def _unfiled(self, problems: Iterable[Problem]) -> UnfiledTurns:
        batches: dict[int, tuple[Mapping[str, Any], list[int]]] = {}
        for seq, unsettled in self._unsettled.items():
            if unsettled.batch is not None:
                batches.setdefault(unsettled.batch["seq"], (unsettled.batch, []))[
                    1
                ].append(seq)
        parked, dead = [], []
        for batch, seqs in batches.values():
            if batch["kind"] == "park":
                at = datetime.fromisoformat(batch["retry_at"])
                filed = batch.get("filed", False)
                parked.append(
                    ParkedBatch(
                        tuple(seqs), batch["attempts"], at, batch["reason"], filed
                    )
                )
            else:
                turns = tuple((seq, self._unsettled[seq].filed) for seq in seqs)
                dead.append(DeadLetter(turns, batch["attempts"], batch["reason"]))
        buried = {seq for letter in dead for seq, _ in letter.turns}
        waiting = tuple(
            (seq, unsettled.filed)
            for seq, unsettled in self._unsettled.items()
            if seq not in buried
        )
        return UnfiledTurns(waiting, tuple(parked), tuple(dead), tuple(problems))

    # -- writing -----------------------------------------------------------------------

    def append(self, turns: Sequence[FiledTurn]) -> tuple[int, ...]:
        """Store turns durably, and return their numbers in order.

        After an EngramError none of them is acknowledged.
        """
        return self._commit([_turn_record(filed) for filed in turns])

    def settle(self, seqs: Sequence[int], outcome: str = "") -> None:
        """Record that these turns are processed, and remove segments without others.

        The turns must be durable in the vault, or not needed there.
        """
        self._commit([{"kind": "settle", "seqs": list(seqs), "outcome": outcome}])

    def park(
        self,
        seqs: Sequence[int],
        attempts: int,
        retry_at: datetime,
        reason: str,
        *,
        filed: bool = False,
    ) -> None:
        """Record that these turns failed `attempts` times as one batch.

        They wait until `retry_at`; `filed` is true if they are in their session file.
        """
        state = {
            "attempts": attempts,
            "retry_at": retry_at.isoformat(),
            "reason": reason,
            "filed": filed,
        }
        self._commit([{"kind": "park", "seqs": list(seqs), **state}])

    def give_up(self, seqs: Sequence[int], attempts: int, reason: str) -> None:
        """Make these turns a dead letter; `park` makes them waiting turns again."""
        self._commit(
            [
                {
                    "kind": "bury",
                    "seqs": list(seqs),
                    "attempts": attempts,
                    "reason": reason,
                }
            ]
        )

    def rewrite(self, damaged: Callable[[bytes], bool]) -> None:
        """Write the unsettled turns to a new segment and remove all older ones.

        A damaged segment is removed if `damaged` returns true for its bytes. Raises
        StorageError.
        """
        with self._free:
            self._free.wait_for(lambda: not self._writing)
            self._writing = True
            try:
                self._close()
                self._check_owner()
                old = [number for number in self._segments if number <= self._newest]
                self._rewrite_unsettled()
                for number in sorted(old):
                    disk.remove(self._path(number))
                    del self._segments[number]
                for _, path in self._paths(".damaged"):
                    if damaged(disk.read(path)):
                        disk.remove(path)
            finally:
                self._writing = False
                self._free.notify_all()

    def close(self) -> None:
        """Close the open segment."""
        with self._free:
            self._close()

    # -- group commit ------------------------------------------------------------------

    def _commit(self, records: Sequence[Mapping[str, Any]]) -> tuple[int, ...]:
        """Number the records and return their numbers once they are durable.

        One of the waiting callers leads: it writes and syncs the records of all.
        """
        if not records:
            return ()
        tails = [_tail(record) for record in records]
        with self._free:
            group = self._group
            group.callers += 1
            if group.callers == self._expected:
                self._complete.notify()
            seqs = tuple(range(self._seq + 1, self._seq + 1 + len(records)))
            self._seq = seqs[-1]
            for seq, record, tail in zip(seqs, records, tails, strict=True):
                group.records.append({**record, "seq": seq})
                group.lines.append(_line(seq, tail))
            while not group.done:
                if self._writing:
                    self._free.wait()
                else:
                    self._write_group()
        if group.fault is not None:
            raise copy(group.fault)
        return seqs

    def _write_group(self) -> None:
        """Write the waiting group, with the lock released, so that a new one can form.

        It waits at most `gather_seconds` for as many callers as the last group had.
        """
        self._writing = True
        if self._expected > 1:
            self._complete.wait_for(
                lambda: self._group.callers >= self._expected,
                self.policy.gather_seconds,
            )
        group, self._group = self._group, _WriteGroup()
        self._expected = group.callers
        group.fault = StorageError("the write was interrupted", where=str(self.folder))
        try:
            group.fault = self._without_lock(self._write, group.lines)
            self.degraded = str(group.fault or "")
            # callers that arrived during the sync are expected next time too
            self._expected += self._group.callers
            if group.fault is None:
                for record, line in zip(group.records, group.lines, strict=True):
                    self._apply(record, self._newest, len(line))
            group.done = True
            self._free.notify_all()
            if group.fault is None and any(
                record["kind"] == "settle" for record in group.records
            ):
                self.degraded = str(self._without_lock(self._remove_settled) or "")
        finally:
            group.done = True
            self._writing = False
            self._free.notify_all()

    def _without_lock(
        self, work: Callable[..., None], *values: object
    ) -> EngramError | None:
        """Call `work` with the lock released, and return its EngramError or None."""
        self._free.release()
        try:
            work(*values)
        except EngramError as fault:
            return fault
        finally:
            self._free.acquire()
        return None

    def _apply(self, record: Mapping[str, Any], segment: int, size: int) -> None:
        """Update the unsettled turns with a durable record."""
        if record["kind"] == "turn":
            known = self._unsettled.get(record["seq"])
            self._unsettled[record["seq"]] = _UnsettledTurn(
                _filed(record), segment, size, known.batch if known else None
            )
            return
        for seq in record["seqs"]:
            if record["kind"] == "settle":
                self._unsettled.pop(seq, None)
            elif seq in self._unsettled:
                self._unsettled[seq].batch = record

    # -- segments ----------------------------------------------------------------------

    def _write(self, lines: Iterable[bytes]) -> None:
        """Append durably to the open segment, or to a new one once it is full.

        After an error the segment is closed, and the next write begins a new one.
        """
        self._check_owner()
        if self._log is not None and self._log.size >= self.policy.segment_bytes:
            self._close()
        while self._log is None:
            self._newest += 1
            # a former owner of the vault may have created it too late
            with suppress(ConflictError):
                self._log = disk.AppendFile(self._path(self._newest))
                self._segments[self._newest] = False
        try:
            self._log.add(b"".join(lines))
        except EngramError:
            self._close()
            raise

    def _remove_settled(self) -> None:
        """Remove old segments without unsettled turns, the oldest first, each durably.

        The order matters: a younger segment settles the turns of an older one. A few
        unsettled turns would prevent the removal of all younger segments; they are
        written again to the open one.
        """
        needed = {unsettled.segment for unsettled in self._unsettled.values()}
        old = sorted(number for number in self._segments if number != self._newest)
        if needed.intersection(old):
            size = sum(unsettled.size for unsettled in self._unsettled.values())
            if len(old) > 2 + 2 * size // self.policy.segment_bytes:
                self._rewrite_unsettled()
                needed = {self._newest}
        for number in old:
            if number in needed:
                break
            self._check_owner()
            path = self._path(number)
            if self._segments[number]:
                disk.move(path, path.with_suffix(".damaged"))
            else:
                disk.remove(path)
            del self._segments[number]

    def _rewrite_unsettled(self) -> None:
        """Write the unsettled turns again, with their numbers."""
        lines = [
            _line(seq, _tail(_turn_record(unsettled.filed)))
            for seq, unsettled in self._unsettled.items()
        ]
        batches = {
            unsettled.batch["seq"]: unsettled.batch
            for unsettled in self._unsettled.values()
            if unsettled.batch is not None
        }
        lines += [_line(seq, _tail(batch)) for seq, batch in batches.items()]
        self._write(lines)
        for unsettled in self._unsettled.values():
            unsettled.segment = self._newest

    def _close(self) -> None:
        if self._log is not None:
            self._log.close()
            self._log = None

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:08}.jsonl"

    def _paths(self, ending: str) -> list[tuple[int, Path]]:
        return sorted(
            (int(path.stem), path)
            for path in self.folder.glob(f"*{ending}")
            if path.stem.isdigit()
        )


def _turn_record(filed: FiledTurn) -> dict[str, Any]:
    turn = filed.turn
    return {
        "kind": "turn",
        "note": filed.note,
        "block": filed.block,
        "session": turn.session,
        "id": turn.id,
        "role": turn.role,
        "text": turn.text,
        "occurred_at": turn.occurred_at.isoformat(),
        "speaker": turn.speaker,
        "persona": turn.persona,
        "origin": turn.origin,
        "group": turn.group,
        "private": turn.private,
        "confided": turn.confided,
        **({"title": turn.title} if turn.title else {}),
        **({} if turn.sensitive_to is None else {"sensitive_to": turn.sensitive_to}),
    }


def _filed(record: Mapping[str, Any]) -> FiledTurn:
    names = ("id", "session", "role", "text", "speaker", "persona", "origin")
    fields = {name: record[name] for name in names}
    turn = Turn(
        **fields,
        occurred_at=datetime.fromisoformat(record["occurred_at"]),
        group=bool(record.get("group")),
        private=bool(record.get("private")),
        confided=bool(record.get("confided")),
        title=str(record.get("title") or ""),
        sensitive_to=record.get("sensitive_to"),
    )
    return FiledTurn(turn, record["note"], record["block"])


def _tail(record: Mapping[str, Any]) -> bytes:
    """Return a record as JSON, without its number and its opening brace."""
    rest = {name: value for name, value in record.items() if name != "seq"}
    return _json(rest).encode("utf-8", "surrogatepass")[1:]


def _line(seq: int, tail: bytes) -> bytes:
    """Return one line: the CRC-32 of all that follows it, the number, the record."""
    body = b'"seq":%d,%b\n' % (seq, tail)
    return b'{"crc":"%08x",%b' % (zlib.crc32(body), body)


def _parse(
    raw: bytes, name: str
) -> tuple[list[tuple[dict[str, Any], int]], list[Problem]]:
    """Return the records of a segment with their lengths, and the unreadable ranges.

    At the end of a segment such a range is left by an interrupted write, elsewhere it
    is damage.
    """
    records: list[tuple[dict[str, Any], int]] = []
    faults: list[Problem] = []
    bad: int | None = None
    position = 0
    for line in raw.splitlines(keepends=True):
        record = _record(line)
        if record is None:
            bad = position if bad is None else bad
        else:
            if bad is not None:
                faults.append(
                    Problem(
                        "journal-damage",
                        f"bytes {bad} to {position} cannot be read",
                        name,
                    )
                )
                bad = None
            records.append((record, len(line)))
        position += len(line)
    if bad is not None:
        faults.append(
            Problem(
                "journal-torn",
                f"the end, from byte {bad} of {position}, cannot be read",
                name,
            )
        )
    return records, faults


def _record(line: bytes) -> dict[str, Any] | None:
    """Return the record of a line; None if the line is damaged."""
    if not line.startswith(_CRC) or not line.endswith(b"\n"):
        return None
    try:
        crc = int(line[len(_CRC) : _BODY - 2], 16)
    except ValueError:
        return None
    record: dict[str, Any] | None = (
        json.loads(line) if zlib.crc32(line[_BODY:]) == crc else None
    )
    return record
