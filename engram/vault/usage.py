"""How memories were used: `state/usage/<device>.jsonl`, never their notes (rows A19, B4, B5; design of the model §2).

A line is an anchor: how the use of one memory stood after one device had seen something of it. The counts in it
are the device's own, so they add up over devices; of times the latest holds, and of what fades the latest anchor.
Lines may therefore come in any order, twice or late, and a union merge is always right. A device writes its own
file only.
"""

from __future__ import annotations

import json
import math
import re
import secrets
import stat
import threading
from contextlib import suppress
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from io import BytesIO, TextIOWrapper
from types import NoneType
from typing import TYPE_CHECKING, Any

from engram.core.records import Usage
from engram.errors import EngramError, NotFoundError, StorageError
from engram.vault import files
from engram.vault.places import stat_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from engram.core.policy import UsagePolicy
    from engram.vault.places import Stat
    from engram.vault.store import Vault

USAGE = "state/usage"
DEVICE = "device"
UNUSED = Usage()
_NAME = re.compile(r"[0-9a-f]{16}")
_INITIAL = {field.name: field.default for field in fields(Usage)}
_TIMES = {datetime, NoneType}
_NUMBERS = {float, int}
_DECODE = json.JSONDecoder().raw_decode
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


def device_of(state: Path) -> str:
    """This machine's name in the log: 16 random hexadecimal digits, kept in its state home and told to nobody else.

    Where the state home was lost a new name begins, and what the old one saw still counts.
    """
    path = state / DEVICE
    try:
        name = files.read(path).decode(errors="replace").strip()
    except NotFoundError:
        name = ""
    if _NAME.fullmatch(name):
        return name
    fresh = secrets.token_hex(8)
    files.make_folders(state)
    files.remove(path)
    files.write_new(path, f"{fresh}\n".encode())
    return fresh


def merged(seen: Sequence[Usage], most_stability: float) -> Usage:
    """What several devices saw of one memory, each counting for itself; their order does not matter.

    Recalls, confirmations and gains of stability are added (`A19`), the latter up to `most_stability`; salience,
    gap and gradient are those of the latest anchor, which was made on top of what its device knew of the others.
    """
    return replace(
        max(seen, key=_anchor),
        access=sum(one.access for one in seen),
        last_access=_latest(one.last_access for one in seen),
        confirmations=sum(one.confirmations for one in seen),
        evidence_at=_latest(one.evidence_at for one in seen),
        stability=min(most_stability, 1 + math.fsum(one.stability - 1 for one in seen)),
    )


class Uses:
    """What all devices saw of each memory.

    `of` and `note` may be called from any thread; `refresh`, `flush` and `compact` belong to the one writer.
    What was noted since the last `flush` is lost in a crash; `known` is False until the files were read.
    """

    def __init__(self, vault: Vault, device: str, policy: UsagePolicy) -> None:
        self.vault = vault
        self.device = device
        self.policy = policy
        self.known = False
        self.path = f"{USAGE}/{device}.jsonl"
        self._held: dict[str, dict[str, Usage]] = {device: {}}
        self._stats: dict[str, Stat] = {}
        self._unsaved: set[str] = set()
        self._lines = 0
        self._lock = threading.Lock()

    def of(self, memory: str) -> Usage:
        """How the memory was used so far, on all devices; the initial values where it was not (`B5`)."""
        seen = [held[memory] for held in self._held.values() if memory in held]
        if len(seen) > 1:
            return merged(seen, self.policy.most_stability)
        return seen[0] if seen else UNUSED

    def note(self, updates: Mapping[str, Usage]) -> None:
        """From now on these memories stand so: `of` them, bumped. Counts never fall; saved by the next `flush`."""
        with self._lock:
            own = self._held[self.device]
            for memory, usage in updates.items():
                before = own.get(memory, UNUSED)
                others = [held[memory] for held in self._held.values() if held is not own and memory in held]
                mine = _own(usage, before, others)
                if mine != before:
                    own[memory] = mine
                    self._unsaved.add(memory)

    def flush(self) -> int:
        """Append what was noted, durably; how many lines. Raises EngramError, and tries them again next time."""
        with self._lock:
            own = self._held[self.device]
            names, self._unsaved = self._unsaved, set()
            raw = _raw({name: own[name] for name in sorted(names)})
        if not names:
            return 0
        try:
            self.vault.append(self.path, raw)
        except EngramError:
            with self._lock:
                self._unsaved |= names
            raise
        self._wrote(self._lines + len(names))
        return len(names)

    def refresh(self, now: datetime, *, restore: bool = True) -> None:
        """Read the files that somebody else changed, as git and sync tools do; torn and foreign lines are passed over.

        So are lines from further ahead of `now` than `usage.ahead_hours`: a clock was wrong when they were written.
        With `restore` what our own file has lost meanwhile is written again by the next `flush`; git may have brought
        a shorter one on purpose. Raises EngramError.
        """
        stats = self._found()
        held = {device: self._read(device, now) for device in stats if stats[device] != self._stats.get(device)}
        with self._lock:
            own = self._held[self.device]
            if self.device in held or self.device not in stats:
                written = held.get(self.device, {})
                for memory, usage in written.items():
                    own[memory] = _joined(own[memory], usage) if memory in own else usage
                lost = {memory for memory, usage in own.items() if written.get(memory) != usage}
                self._unsaved = lost if restore else self._unsaved & lost
            kept = {device: known for device, known in self._held.items() if device in stats}
            self._held = kept | held | {self.device: own}
            self._lines = self._lines if self.device in stats else 0
            self._stats = stats
            self.known = True

    def compact(self, now: datetime) -> int:
        """Leave one line for each memory in our own file once enough lines are superseded; the bytes that saves.

        No answer changes by it, and a second run changes no byte. Lines from ahead of `now` stay as they are: it
        may be `now` that is wrong.
        """
        superseded = self._lines - len(self._held[self.device])
        if superseded <= self._lines * self.policy.superseded_share:
            return 0
        before = len(self.vault.read(self.path))
        left = self.vault.rewrite(self.path, partial(_compacted, until=self._limit(now)))
        self._wrote(left.count(b"\n"))
        return before - len(left)

    def _limit(self, now: datetime) -> datetime:
        return now + timedelta(hours=self.policy.ahead_hours)

    def _found(self) -> dict[str, Stat]:
        """The files of the log, by device."""
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
            raise StorageError("the usage log cannot be read", where=str(folder)) from fault
        return found

    def _read(self, device: str, now: datetime) -> dict[str, Usage]:
        raw = self.vault.read(f"{USAGE}/{device}.jsonl")
        if device == self.device:
            self._lines = raw.count(b"\n")
        return _folded(raw, self._limit(now))[0]

    def _wrote(self, lines: int) -> None:
        """Our own file has so many lines now, and need not be read for what we wrote ourselves."""
        self._lines = lines
        with suppress(OSError):
            self._stats[self.device] = stat_of((self.vault.root / self.path).lstat())


def _own(usage: Usage, before: Usage, others: Sequence[Usage]) -> Usage:
    """The share of `usage` that this device saw itself: all of it but what the others count."""
    return replace(
        usage,
        access=max(before.access, usage.access - sum(one.access for one in others)),
        confirmations=max(before.confirmations, usage.confirmations - sum(one.confirmations for one in others)),
        stability=max(before.stability, usage.stability - math.fsum(one.stability - 1 for one in others)),
    )


def _joined(one: Usage, other: Usage) -> Usage:
    """Two lines of one device: each holds all that came before it, so nothing is added."""
    return replace(
        max(one, other, key=_anchor),
        access=max(one.access, other.access),
        last_access=_latest((one.last_access, other.last_access)),
        confirmations=max(one.confirmations, other.confirmations),
        evidence_at=_latest((one.evidence_at, other.evidence_at)),
        stability=max(one.stability, other.stability),
    )


def _anchor(usage: Usage) -> tuple[Any, ...]:
    return usage.salience_at or _LONG_AGO, usage.salience, usage.gap_days, usage.gradient


def _latest(times: Iterable[datetime | None]) -> datetime | None:
    return max(filter(None, times), default=None)


# -- lines --------------------------------------------------------------------------------------------


def _folded(raw: bytes, until: datetime) -> tuple[dict[str, Usage], list[str]]:
    """What the lines of one device say, and those that come from after `until`."""
    held: dict[str, Usage] = {}
    ahead: list[str] = []
    limit = _text(until)
    for text in map(str.rstrip, TextIOWrapper(BytesIO(raw), "utf-8", "replace", "\n")):
        if (line := _line(text)) is None:
            continue
        memory, at, usage = line
        if at > limit:
            ahead.append(text)
        else:
            held[memory] = _joined(held[memory], usage) if memory in held else usage
    return held, ahead


def _compacted(raw: bytes, until: datetime) -> bytes:
    held, ahead = _folded(raw, until)
    return _raw(dict(sorted(held.items()))) + "".join(f"{text}\n" for text in ahead).encode()


def _raw(held: Mapping[str, Usage]) -> bytes:
    return "".join(f"{json.dumps(_row(memory, usage))}\n" for memory, usage in held.items()).encode()


def _row(memory: str, usage: Usage) -> dict[str, object]:
    """The line as JSON: the memory, the latest time in it, and what differs from the initial values."""
    at = _latest((usage.last_access, usage.evidence_at, usage.salience_at))
    row: dict[str, object] = {"id": memory, "at": _text(at or _LONG_AGO)}
    for name, initial in _INITIAL.items():
        value = getattr(usage, name)
        if value != initial:
            row[name] = _text(value) if isinstance(value, datetime) else value
    return row


def _line(text: str) -> tuple[str, str, Usage] | None:
    """The memory in a line, its time and its use, or None where the line is none of ours.

    This is what a start costs for each memory that was ever used, so it does nothing twice.
    """
    try:
        row, end = _DECODE(text)
        memory, at = row["id"], row["at"]
        raw = map(row.get, _INITIAL, _INITIAL.values())
        values: list[Any] = [_time(value) if type(value) is str else value for value in raw]
        usage = Usage(*values)
        sound = end == len(text) and type(memory) is type(at) is str and _sound(usage)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return (memory, at, usage) if sound else None


def _sound(usage: Usage) -> bool:
    """Whether every value is of its type and in its range; TypeError may say no as well."""
    return (
        type(usage.access) is type(usage.confirmations) is int
        and {type(usage.last_access), type(usage.evidence_at), type(usage.salience_at)} <= _TIMES
        and {type(usage.stability), type(usage.salience), type(usage.gap_days), type(usage.gradient)} <= _NUMBERS
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
