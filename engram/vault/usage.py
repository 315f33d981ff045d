"""The usage log: the use of memories, in `state/usage/<device>.jsonl` (A19, B4, B5).

A line is an anchor: the usage of one memory as known to one device. Its counts are
those of that device and are added over devices; of times the latest counts, of fading
values the latest anchor. Lines may therefore come in any order, twice or late: merging
files is a union (a CRDT). A device writes only its own file.

Another kind of line records when a device first met notes: `{"met": [keys], "at":
when}`; the earliest time counts. A key is the id of a memory or, for a note without an
id, `text <content hash>`. `ALL` is the key for every note that existed when the log
began.
"""

from __future__ import annotations

import math
import re
import secrets
import stat
import threading
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from types import NoneType
from typing import TYPE_CHECKING, Any

from engram.core import jsonl
from engram.core.records import Usage
from engram.errors import EngramError, NotFoundError, StorageError
from engram.vault import disk
from engram.vault.paths import Stat, stat_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from engram.core.policy import UsagePolicy
    from engram.vault.store import Vault

USAGE = "state/usage"
DEVICE = "device"
ALL = "all notes"
"""The key for all notes that no line lists; an id contains no blank."""
MET_TOGETHER = 1000
"""The most keys in one line."""
UNUSED = Usage()
_NAME = re.compile(r"[0-9a-f]{16}")
_INITIAL = {one.name: one.default for one in fields(Usage) if one.name != "met"}
_TIMES = {datetime, NoneType}
_NUMBERS = {float, int}
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


def device_of(state: Path) -> str:
    """Return the name of this device: 16 random hexadecimal digits, stored in `state`.

    If the state folder is lost the device gets a new name; the file with its old name
    still counts.
    """
    path = state / DEVICE
    try:
        name = disk.read(path).decode(errors="replace").strip()
    except NotFoundError:
        name = ""
    if _NAME.fullmatch(name):
        return name
    fresh = secrets.token_hex(8)
    disk.make_folders(state)
    disk.remove(path)
    disk.write_new(path, f"{fresh}\n".encode())
    return fresh


def merged(usages: Sequence[Usage], most_stability: float) -> Usage:
    """Return the usage of one memory over several devices, in any order.

    Recalls, confirmations and gains of stability are added (`A19`), the last up to
    `most_stability`. Salience, gap and gradient are those of the latest anchor, which
    includes the then known values of the other devices.
    """
    return replace(
        max(usages, key=_anchor),
        access=sum(usage.access for usage in usages),
        last_access=_latest(usage.last_access for usage in usages),
        confirmations=sum(usage.confirmations for usage in usages),
        evidence_at=_latest(usage.evidence_at for usage in usages),
        stability=min(
            most_stability, 1 + math.fsum(usage.stability - 1 for usage in usages)
        ),
    )


class UsageLog:
    """The usage of each memory over all devices.

    `usage_of` and `record` are thread-safe; only the writer calls `refresh`, `flush`
    and `compact`. A crash loses the records since the last `flush`. `loaded` is False
    until the files were read.
    """

    def __init__(self, vault: Vault, device: str, policy: UsagePolicy) -> None:
        self.vault = vault
        self.device = device
        self.policy = policy
        self.loaded = False
        self.path = f"{USAGE}/{device}.jsonl"
        self._usages: dict[str, dict[str, Usage]] = {device: {}}
        self._met: dict[str, dict[str, datetime]] = {device: {}}
        self._elsewhere: dict[str, datetime] = {}
        self._first: dict[str, datetime] = {}
        self._unused = UNUSED
        self._stats: dict[str, Stat] = {}
        self._unsaved: set[str] = set()
        self._unsaved_met: set[str] = set()
        self._lines = 0
        self._lock = threading.Lock()

    def usage_of(self, memory: str) -> Usage:
        """Return the usage of a memory over all devices (`B5`).

        An unused memory has initial values.
        """
        seen = [usages[memory] for usages in self._usages.values() if memory in usages]
        met = self._first.get(memory)
        if not seen:
            return self._unused if met is None else Usage(met=met)
        used = merged(seen, self.policy.most_stability) if len(seen) > 1 else seen[0]
        met = met or self._unused.met
        return used if used.met == met else replace(used, met=met)

    def first_met(self, key: str) -> datetime | None:
        """Return when a device first met the note with this key, or None."""
        return self._first.get(key)

    def record_met(self, met: Mapping[str, datetime], *, written: bool = False) -> None:
        """Record when notes were first met; known earlier times stay.

        The next `flush` saves them, unless they are `written` elsewhere in the vault.
        """
        if not met:
            return
        with self._lock:
            own, fresh = self._met[self.device], dict[str, datetime]()
            for key, when in met.items():
                if key not in self._first or when < self._first[key]:
                    fresh[key] = when
            if written:
                self._elsewhere |= fresh
            else:
                own |= fresh
                self._unsaved_met |= fresh.keys()
            self._first |= fresh
            self._unused = Usage(met=self._first.get(ALL))

    def record(self, updates: Mapping[str, Usage]) -> None:
        """Set the usage of memories: increased values of `usage_of`. Counts never fall.

        The next `flush` saves them.
        """
        with self._lock:
            own = self._usages[self.device]
            for memory, usage in updates.items():
                before = own.get(memory, UNUSED)
                others = [
                    usages[memory]
                    for usages in self._usages.values()
                    if usages is not own and memory in usages
                ]
                counted = _own(replace(usage, met=None), before, others)
                if counted != before:
                    own[memory] = counted
                    self._unsaved.add(memory)

    def drop(self, keys: Collection[str]) -> None:
        """Exclude these memories from now on; their lines are gone from the files."""
        with self._lock:
            for known in (*self._usages.values(), *self._met.values()):
                for key in keys:
                    known.pop(key, None)  # type: ignore[attr-defined]
            for key in keys:
                self._first.pop(key, None)
                self._elsewhere.pop(key, None)
            self._unsaved -= set(keys)
            self._unsaved_met -= set(keys)
            self._stats = {}

    def flush(self) -> int:
        """Append the new records durably, and return the number of lines.

        After an EngramError the lines wait for the next `flush`.
        """
        with self._lock:
            own = self._usages[self.device]
            names, self._unsaved = self._unsaved, set()
            keys, self._unsaved_met = self._unsaved_met, set()
            raw = _raw({name: own[name] for name in sorted(names)})
            raw += _raw_met({key: self._met[self.device][key] for key in keys})
        if not raw:
            return 0
        try:
            self.vault.append(self.path, raw)
        except EngramError:
            with self._lock:
                self._unsaved |= names
                self._unsaved_met |= keys
            raise
        lines = raw.count(b"\n")
        self._record_own_write(self._lines + lines)
        return lines

    def refresh(self, now: datetime, *, restore: bool = True) -> None:
        """Read the files that another program changed, such as git or a sync tool.

        Torn and foreign lines are skipped, and so are lines more than
        `usage.ahead_hours` after `now`, which were written with a wrong clock. With
        `restore` the next `flush` writes the lines that this device's file has lost;
        without it they stay lost, because git may have checked out a shorter file on
        purpose. Raises EngramError.
        """
        stats = self._log_files()
        logs = {
            device: self._read(device, now)
            for device in stats
            if stats[device] != self._stats.get(device)
        }
        usages = {device: log.usages for device, log in logs.items()}
        with self._lock:
            own = self._usages[self.device]
            if self.device in usages or self.device not in stats:
                written = usages.get(self.device, {})
                for memory, usage in written.items():
                    own[memory] = (
                        _merged_lines(own[memory], usage) if memory in own else usage
                    )
                missing = {
                    memory
                    for memory, usage in own.items()
                    if written.get(memory) != usage
                }
                self._unsaved = missing if restore else self._unsaved & missing
            retained = {
                device: known
                for device, known in self._usages.items()
                if device in stats
            }
            self._usages = retained | usages | {self.device: own}
            self._refresh_met(logs, stats)
            self._lines = self._lines if self.device in stats else 0
            self._stats = stats
            self.loaded = True

    def _refresh_met(self, logs: Mapping[str, _Log], stats: Mapping[str, Stat]) -> None:
        if (
            not logs
            and self._met.keys() - {self.device} <= stats.keys()
            and self.device in stats
        ):
            return
        own = self._met[self.device]
        written: Mapping[str, datetime] | None = None  # None: the file is unchanged
        if self.device in logs:
            written = logs[self.device].met
        elif self.device not in stats:
            written = {}
        if written is not None:
            own = _earliest((own, written))
            self._unsaved_met = {
                key for key, when in own.items() if written.get(key) != when
            }
        retained = {
            device: known for device, known in self._met.items() if device in stats
        }
        self._met = (
            retained
            | {device: log.met for device, log in logs.items()}
            | {self.device: own}
        )
        self._first = _earliest((*self._met.values(), self._elsewhere))
        self._unused = Usage(met=self._first.get(ALL))

    def compact(self, now: datetime) -> int:
        """Rewrite this device's file with one line a memory; return the saved bytes.

        It is done only if enough lines are superseded. It does not change the usage,
        and a second call changes no byte. Lines from the future stay: `now` may be
        wrong.
        """
        superseded = (
            self._lines
            - len(self._usages[self.device])
            - _met_lines(self._met[self.device])
        )
        if superseded <= self._lines * self.policy.superseded_share:
            return 0
        before = len(self.vault.read(self.path))
        left = self.vault.rewrite(
            self.path, partial(_compacted, until=self._limit(now))
        )
        self._record_own_write(left.count(b"\n"))
        return before - len(left)

    def _limit(self, now: datetime) -> datetime:
        return now + timedelta(hours=self.policy.ahead_hours)

    def _log_files(self) -> dict[str, Stat]:
        folder, found = self.vault.root / USAGE, {}
        try:
            for path in sorted(folder.iterdir()) if folder.exists() else ():
                if path.suffix != ".jsonl" or not _NAME.fullmatch(path.stem):
                    continue
                with suppress(FileNotFoundError):
                    known = path.lstat()
                    if stat.S_ISREG(known.st_mode):
                        found[path.stem] = stat_of(known)
        except OSError as fault:
            raise StorageError(
                "the usage log cannot be read", where=str(folder)
            ) from fault
        return found

    def _read(self, device: str, now: datetime) -> _Log:
        raw = self.vault.read(f"{USAGE}/{device}.jsonl")
        if device == self.device:
            self._lines = raw.count(b"\n")
        log = _parsed_log(raw, self._limit(now))
        return replace(log, met={**dict.fromkeys(log.early, now), **log.met})

    def _record_own_write(self, lines: int) -> None:
        """Record the length and the stat of this device's file after a write."""
        self._lines = lines
        with suppress(OSError):
            self._stats[self.device] = stat_of((self.vault.root / self.path).lstat())


def _own(usage: Usage, before: Usage, others: Sequence[Usage]) -> Usage:
    """Return the part of `usage` that this device counts."""
    return replace(
        usage,
        access=max(before.access, usage.access - sum(other.access for other in others)),
        confirmations=max(
            before.confirmations,
            usage.confirmations - sum(other.confirmations for other in others),
        ),
        stability=max(
            before.stability,
            usage.stability - math.fsum(other.stability - 1 for other in others),
        ),
    )


def _merged_lines(first: Usage, second: Usage) -> Usage:
    """Merge two lines of one device; each includes all earlier ones."""
    return replace(
        max(first, second, key=_anchor),
        access=max(first.access, second.access),
        last_access=_latest((first.last_access, second.last_access)),
        confirmations=max(first.confirmations, second.confirmations),
        evidence_at=_latest((first.evidence_at, second.evidence_at)),
        stability=max(first.stability, second.stability),
    )


def _anchor(usage: Usage) -> tuple[Any, ...]:
    return (
        usage.salience_at or _LONG_AGO,
        usage.salience,
        usage.gap_days,
        usage.gradient,
    )


def _latest(times: Iterable[datetime | None]) -> datetime | None:
    return max(filter(None, times), default=None)


# -- lines -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Log:
    """The lines of one device: usage by memory, first meetings by key, future rows.

    `early` are the keys of notes that were met with a clock ahead of time.
    """

    usages: dict[str, Usage] = field(default_factory=dict)
    met: dict[str, datetime] = field(default_factory=dict)
    ahead: list[dict[str, Any]] = field(default_factory=list)
    early: set[str] = field(default_factory=set)


def _parsed_log(raw: bytes, until: datetime) -> _Log:
    """Return the parsed lines of one device; rows from after `until` go to `ahead`."""
    log = _Log()
    usages, ahead = log.usages, log.ahead
    limit = _text(until)
    for row in jsonl.rows(raw):
        if "met" in row:
            if not _take_met(row, until, log):
                ahead.append(row)
            continue
        if (line := _line(row)) is None:
            continue
        memory, at, usage = line
        if at > limit:
            ahead.append(row)
        else:
            usages[memory] = (
                _merged_lines(usages[memory], usage) if memory in usages else usage
            )
    return log


def _take_met(row: Mapping[str, Any], until: datetime, log: _Log) -> bool:
    """Add a row about first meetings to `log`; False for a row from after `until`."""
    try:
        when, keys = _time(row["at"]), row["met"]
    except (ValueError, TypeError, KeyError):
        return True
    names = [key for key in keys if type(key) is str] if isinstance(keys, list) else []
    if when > until:
        log.early.update(names)
        return False
    met = log.met
    for key in names:
        if key not in met or when < met[key]:
            met[key] = when
    return True


def _earliest(some: Iterable[Mapping[str, datetime]]) -> dict[str, datetime]:
    found: dict[str, datetime] = {}
    for met in some:
        if not found:
            found = dict(met)
            continue
        for key, when in met.items():
            if key not in found or when < found[key]:
                found[key] = when
    return found


def _met_lines(met: Mapping[str, datetime]) -> int:
    return sum(-(-number // MET_TOGETHER) for number in Counter(met.values()).values())


def _raw_met(met: Mapping[str, datetime]) -> bytes:
    """Return the lines about first meetings, the earliest first."""
    times: dict[datetime, list[str]] = {}
    for key, when in met.items():
        times.setdefault(when, []).append(key)
    return jsonl.encode(
        {"met": keys[start : start + MET_TOGETHER], "at": _text(when)}
        for when, keys in sorted((when, sorted(some)) for when, some in times.items())
        for start in range(0, len(keys), MET_TOGETHER)
    )


def _compacted(raw: bytes, until: datetime) -> bytes:
    """Return the lines of one device with one line for each memory."""
    log = _parsed_log(raw, until)
    lines = _raw(dict(sorted(log.usages.items()))) + _raw_met(log.met)
    return lines + jsonl.encode(log.ahead)


def _raw(usages: Mapping[str, Usage]) -> bytes:
    return jsonl.encode(_row(memory, usage) for memory, usage in usages.items())


def _row(memory: str, usage: Usage) -> dict[str, object]:
    """Return the row of a memory: its latest time, and its non-initial values."""
    at = _latest((usage.last_access, usage.evidence_at, usage.salience_at))
    row: dict[str, object] = {"id": memory, "at": _text(at or _LONG_AGO)}
    for name, initial in _INITIAL.items():
        value = getattr(usage, name)
        if value != initial:
            row[name] = _text(value) if isinstance(value, datetime) else value
    return row


def _line(row: Mapping[str, Any]) -> tuple[str, str, Usage] | None:
    """Return the memory of a row, its time and its usage; None for an invalid row.

    A start calls it for each memory that was ever used, so it avoids repeated work.
    """
    try:
        memory, at = row["id"], row["at"]
        raw = map(row.get, _INITIAL, _INITIAL.values())
        values: list[Any] = [
            _time(value) if type(value) is str else value for value in raw
        ]
        usage = Usage(*values)
        sound = type(memory) is type(at) is str and _is_valid(usage)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return (memory, at, usage) if sound else None


def _is_valid(usage: Usage) -> bool:
    """Return whether all values are valid; a wrong type may raise TypeError."""
    return (
        type(usage.access) is type(usage.confirmations) is int
        and {type(usage.last_access), type(usage.evidence_at), type(usage.salience_at)}
        <= _TIMES
        and {
            type(usage.stability),
            type(usage.salience),
            type(usage.gap_days),
            type(usage.gradient),
        }
        <= _NUMBERS
        and usage.access >= 0
        and usage.confirmations >= 0
        and 1 <= usage.stability < math.inf
        and 0 <= usage.salience <= 1
        and 0 <= usage.gap_days < math.inf
        and 0 < usage.gradient < math.inf
    )


def _text(when: datetime) -> str:
    return when.astimezone(UTC).isoformat()


def _time(text: str) -> datetime:
    when = datetime.fromisoformat(text)
    if when.tzinfo is None:
        raise ValueError(text)
    return when
