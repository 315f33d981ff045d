"""The durable turn journal: a turn is acknowledged when its line is on the disk, and
not before.

A folder of segments, files of JSON lines. Each line carries a CRC and a sequence number
and is one of `turn`, `settle`, `park` or `bury`; the last three name turns by number,
so batches may end in any order. Callers that arrive while a sync runs share the next
one.
"""

from __future__ import annotations

import json
import threading
import zlib
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from engram.core.records import FiledTurn, Problem, Turn
from engram.errors import EngramError, StorageError
from engram.vault import disk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from engram.core.policy import JournalPolicy

_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_CRC = b'{"crc":"'
_BODY = len(_CRC) + len('00000000",')


@dataclass(frozen=True, slots=True)
class ParkedBatch:
    """A batch that failed and waits: its turns' numbers, tries so far, when to try
    again, why; whether in its file.
    """

    seqs: tuple[int, ...]
    attempts: int
    retry_at: datetime
    reason: str
    filed: bool = False


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A dead letter: a batch nobody tries again by itself. Its turns stay here until
    they are settled.
    """

    turns: tuple[tuple[int, FiledTurn], ...]
    attempts: int
    reason: str


@dataclass(frozen=True, slots=True)
class UnfiledTurns:
    """What is not yet in the vault: `turns` by number, the parked ones too; dead
    letters; faults found.
    """

    turns: tuple[tuple[int, FiledTurn], ...] = ()
    parked: tuple[ParkedBatch, ...] = ()
    dead: tuple[DeadLetter, ...] = ()
    problems: tuple[Problem, ...] = ()


@dataclass(slots=True)
class _UnsettledTurn:
    """A turn not yet settled: the segment and the length of its line, and the state of
    its batch if it has one.
    """

    filed: FiledTurn
    segment: int
    size: int
    batch: Mapping[str, Any] | None = None


@dataclass(slots=True)
class _WriteGroup:
    """Records that share one write and one sync, with their lines, and how it went."""

    records: list[dict[str, Any]] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)
    callers: int = 0
    done: bool = False
    fault: EngramError | None = None


class Journal:
    """The journal in `folder`. Call `replay` once, first; the rest may be called from
    any thread.

    `degraded` is '' or says why the disk last refused; it heals with the next success.
    """

    def __init__(self, folder: Path, policy: JournalPolicy) -> None:
        self.folder = folder
        self.policy = policy
        self.degraded = ""
        gate = threading.Lock()
        self._turnstile, self._gathered = (
            threading.Condition(gate),
            threading.Condition(gate),
        )
        self._group = _WriteGroup()
        self._crowd = 1
        self._busy = False
        self._log: disk.AppendFile | None = None
        self._segments: dict[int, bool] = {}  # number → whether it is damaged
        self._newest = 0
        self._held: dict[int, _UnsettledTurn] = {}
        self._seq = 0

    # -- reading -----------------------------------------------------------------------

    def replay(self) -> UnfiledTurns:
        """Read the journal, sync what was read, and say what is not settled.

        Faults are values with a byte position; every line that can be read counts. A
        turn that was refused for a failing disk may be here too, and again from a
        second try: `(session, id)` twice is one turn, the later line. Raises
        StorageError.
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
                            self._held.pop(older, None)
                    self._apply(record, number, size)
        for number, path in self._paths(".damaged"):
            self._newest = max(self._newest, number)
            problems.append(
                Problem(
                    "journal-kept", "a damaged journal segment was set aside", path.name
                )
            )
        self._newest = max(self._newest, *self._segments, 0)
        return self._backlog(problems)

    def unfiled(self) -> UnfiledTurns:
        """What is not settled now."""
        with self._turnstile:
            return self._backlog(())

    def _backlog(self, problems: Iterable[Problem]) -> UnfiledTurns:
        batches: dict[int, tuple[Mapping[str, Any], list[int]]] = {}
        for seq, held in self._held.items():
            if held.batch is not None:
                batches.setdefault(held.batch["seq"], (held.batch, []))[1].append(seq)
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
                turns = tuple((seq, self._held[seq].filed) for seq in seqs)
                dead.append(DeadLetter(turns, batch["attempts"], batch["reason"]))
        buried = {seq for letter in dead for seq, _ in letter.turns}
        waiting = tuple(
            (seq, held.filed) for seq, held in self._held.items() if seq not in buried
        )
        return UnfiledTurns(waiting, tuple(parked), tuple(dead), tuple(problems))

    # -- writing -----------------------------------------------------------------------

    def append(self, turns: Sequence[FiledTurn]) -> tuple[int, ...]:
        """Store turns durably; their numbers, in order. After a StorageError none of
        them counts.
        """
        return self._commit([_turn_record(filed) for filed in turns])

    def settle(self, seqs: Sequence[int], outcome: str = "") -> None:
        """These turns are durable in the vault, or need not be; segments that hold no
        others go.
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
        """These turns, `filed` or not, failed `attempts` times as one batch and wait
        until `retry_at`.
        """
        state = {
            "attempts": attempts,
            "retry_at": retry_at.isoformat(),
            "reason": reason,
            "filed": filed,
        }
        self._commit([{"kind": "park", "seqs": list(seqs), **state}])

    def give_up(self, seqs: Sequence[int], attempts: int, reason: str) -> None:
        """These turns are a dead letter; `park` brings them back."""
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

    def close(self) -> None:
        """Let go of the open segment."""
        with self._turnstile:
            self._close()

    # -- group commit ------------------------------------------------------------------

    def _commit(self, records: Sequence[Mapping[str, Any]]) -> tuple[int, ...]:
        """Number the records, write them with those of others, and return when they are
        on the disk.
        """
        if not records:
            return ()
        tails = [_tail(record) for record in records]
        with self._turnstile:
            group = self._group
            group.callers += 1
            if group.callers == self._crowd:
                self._gathered.notify()
            seqs = tuple(range(self._seq + 1, self._seq + 1 + len(records)))
            self._seq = seqs[-1]
            for seq, record, tail in zip(seqs, records, tails, strict=True):
                group.records.append({**record, "seq": seq})
                group.lines.append(_line(seq, tail))
            while not group.done:
                if self._busy:
                    self._turnstile.wait()
                else:
                    self._lead()
        if group.fault is not None:
            raise StorageError(
                group.fault.what, where=group.fault.where, fix=group.fault.fix
            )
        return seqs

    def _lead(self) -> None:
        """Write the waiting group; the turnstile is open meanwhile, so that the next
        one can gather.
        """
        self._busy = True
        if self._crowd > 1:
            self._gathered.wait_for(
                lambda: self._group.callers >= self._crowd, self.policy.gather_seconds
            )
        group, self._group = self._group, _WriteGroup()
        self._crowd = group.callers
        group.fault = StorageError("the write was interrupted", where=str(self.folder))
        try:
            group.fault = self._unlocked(self._write, group.lines)
            self.degraded = str(group.fault or "")
            # who came during the sync belongs to the crowd as well
            self._crowd += self._group.callers
            if group.fault is None:
                for record, line in zip(group.records, group.lines, strict=True):
                    self._apply(record, self._newest, len(line))
            group.done = True
            self._turnstile.notify_all()
            if group.fault is None and any(
                record["kind"] == "settle" for record in group.records
            ):
                self.degraded = str(self._unlocked(self._tidy) or "")
        finally:
            group.done = True
            self._busy = False
            self._turnstile.notify_all()

    def _unlocked(
        self, work: Callable[..., None], *values: object
    ) -> EngramError | None:
        """The fault of `work`, done with the turnstile open."""
        self._turnstile.release()
        try:
            work(*values)
        except EngramError as fault:
            return fault
        finally:
            self._turnstile.acquire()
        return None

    def _apply(self, record: Mapping[str, Any], segment: int, size: int) -> None:
        """What a durable record says of the turns that are held."""
        if record["kind"] == "turn":
            known = self._held.get(record["seq"])
            self._held[record["seq"]] = _UnsettledTurn(
                _filed(record), segment, size, known.batch if known else None
            )
            return
        for seq in record["seqs"]:
            if record["kind"] == "settle":
                self._held.pop(seq, None)
            elif seq in self._held:
                self._held[seq].batch = record

    # -- segments ----------------------------------------------------------------------

    def _write(self, lines: Iterable[bytes]) -> None:
        """Append durably to the open segment, or to a new one when it is full or
        failed.
        """
        if self._log is not None and self._log.size >= self.policy.segment_bytes:
            self._close()
        if self._log is None:
            self._newest += 1
            self._segments[self._newest] = False
            self._log = disk.AppendFile(self._path(self._newest))
        try:
            self._log.add(b"".join(lines))
        except EngramError:
            self._close()
            raise

    def _tidy(self) -> None:
        """Remove old segments, the oldest first and durably, since a younger one
        settles its turns.

        A few turns that stay long would hold back all younger segments: they are
        written again.
        """
        needed = {held.segment for held in self._held.values()}
        old = sorted(number for number in self._segments if number != self._newest)
        if needed.intersection(old):
            size = sum(held.size for held in self._held.values())
            if len(old) > 2 + 2 * size // self.policy.segment_bytes:
                self._carry()
                needed = {self._newest}
        for number in old:
            if number in needed:
                break
            path = self._path(number)
            if self._segments[number]:
                disk.move(path, path.with_suffix(".damaged"))
            else:
                disk.remove(path)
            del self._segments[number]

    def _carry(self) -> None:
        """Write what is held once more, under its own numbers."""
        lines = [
            _line(seq, _tail(_turn_record(held.filed)))
            for seq, held in self._held.items()
        ]
        batches = {
            held.batch["seq"]: held.batch
            for held in self._held.values()
            if held.batch is not None
        }
        lines += [_line(seq, _tail(batch)) for seq, batch in batches.items()]
        self._write(lines)
        for held in self._held.values():
            held.segment = self._newest

    def _close(self) -> None:
        if self._log is not None:
            self._log.close()
            self._log = None

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:08}.jsonl"

    def _paths(self, ending: str) -> list[tuple[int, Path]]:
        """The segments with that ending, oldest first."""
        return sorted(
            (int(path.stem), path)
            for path in self.folder.glob(f"*{ending}")
            if path.stem.isdigit()
        )


# ---------------------------------------------------------------------------------------------- lines


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
    }


def _filed(record: Mapping[str, Any]) -> FiledTurn:
    names = ("id", "session", "role", "text", "speaker", "persona", "origin")
    fields = {name: record[name] for name in names}
    turn = Turn(**fields, occurred_at=datetime.fromisoformat(record["occurred_at"]))
    return FiledTurn(turn, record["note"], record["block"])


def _tail(record: Mapping[str, Any]) -> bytes:
    """A record as JSON without its number and its opening brace."""
    rest = {name: value for name, value in record.items() if name != "seq"}
    return _json(rest).encode("utf-8", "surrogatepass")[1:]


def _line(seq: int, tail: bytes) -> bytes:
    """One line: the CRC-32 of all that follows it, the number, the record."""
    body = b'"seq":%d,%b\n' % (seq, tail)
    return b'{"crc":"%08x",%b' % (zlib.crc32(body), body)


def _parse(
    raw: bytes, name: str
) -> tuple[list[tuple[dict[str, Any], int]], list[Problem]]:
    """The records of a segment with their lengths, and the stretches that cannot be
    read.

    At the end of a segment such a stretch is what an interrupted write leaves,
    elsewhere it is damage.
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
    """What a line says, or None when it is not as it was written."""
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
