"""Detection of a wall clock that was set wrong.

Decay, expiry and the archive depend on the wall clock. A wrong clock could archive a
whole vault in one night, so it is compared with the time since boot, which cannot be
set.
"""

from __future__ import annotations

import math
import time
from collections import deque
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from engram.core import jsonl
from engram.errors import EngramError, Health
from engram.vault import disk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from engram.config import Settings
    from engram.core.policy import Policy
    from engram.pipeline.commits import CommitLog


@dataclass(frozen=True, slots=True)
class ClockReading:
    """The wall clock and the steady clock at one moment.

    The steady clock counts seconds, including the time when the machine sleeps.
    """

    wall: datetime
    steady: float


@dataclass(frozen=True, slots=True)
class ClockHistory:
    """A series of readings, reduced to what decides whether the clock is trusted.

    A jump is a difference of more than 1 h between both clocks; after a restart of the
    machine, where the steady clock begins again, the wall clock alone decides. The
    clock is trusted again once two readings ≥ 10 min apart agree.

    `since` is the first reading after the last jump or restart, `last` the latest one,
    and `jump` the seconds of the last jump, 0 if there was none.
    """

    since: ClockReading
    last: ClockReading
    jump: float = 0.0

    def followed_by(self, reading: ClockReading, policy: Policy) -> ClockHistory:
        """Return the history with one more reading."""
        restarted = reading.steady < self.last.steady
        before = self.last if restarted else self.since
        wall = reading.wall.timestamp() - before.wall.timestamp()
        parted = wall - max(0.0, reading.steady - before.steady)
        if abs(parted) > policy.lifecycle.clock_jump_hours * 3600:
            return ClockHistory(reading, reading, parted)
        return ClockHistory(reading if restarted else self.since, reading, self.jump)

    def doubt(self, policy: Policy) -> str | None:
        """Return why the clock cannot be trusted to fade, expire or archive, or None."""
        steady = self.last.steady - self.since.steady
        if not self.jump or steady >= policy.lifecycle.clock_agree_minutes * 60:
            return None
        return f"the clock jumped by {self.jump / 3600:+.1f} hours"


def clock_history(
    readings: Iterable[ClockReading], policy: Policy
) -> ClockHistory | None:
    """Return the history of readings, oldest first; None if there are none."""
    history = None
    for one in readings:
        history = (
            history.followed_by(one, policy) if history else ClockHistory(one, one)
        )
    return history


READINGS = "clock.jsonl"
UNBELIEVED = "memories do not fade until the clock has run steadily for {:g} minutes"


def boottime() -> float:
    """Return the seconds since boot, including suspended time."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class ClockGuard:
    """Readings of both clocks during the last day, in a file of the state folder.

    For the writer thread. A doubt is reported to `health`. Without the file a jump of
    the clock before the start is not detected.
    """

    def __init__(
        self,
        settings: Settings,
        health: Health,
        clock: Callable[[], datetime],
        steady: Callable[[], float],
    ) -> None:
        self.path = settings.state / READINGS
        self.policy = settings.policy
        self.health = health
        self.clock = clock
        self.steady = steady
        self._readings = deque(_known(self.path), self.policy.lifecycle.clock_readings)
        self._lines = len(self._readings)
        self._history = clock_history(self._readings, self.policy)

    def look(self) -> None:
        """Take a reading if the last one is old enough."""
        now = self._now()
        if (
            self._readings
            and 0
            <= now.steady - self._readings[-1].steady
            < self.policy.lifecycle.clock_look_seconds
        ):
            return
        self._add(now)
        try:
            self._keep(now)
        except EngramError as fault:
            self.health.report("clock", str(fault))
        else:
            self.doubt()

    def doubt(self) -> str | None:
        """Return why memories must not age now, or None."""
        if jump := self._followed_by(self._now()).doubt(self.policy):
            agree = UNBELIEVED.format(self.policy.lifecycle.clock_agree_minutes)
            self.health.report("clock", f"{jump}; {agree}")
            return self.health.problem("clock")
        self.health.clear("clock")
        return None

    def _add(self, reading: ClockReading) -> None:
        """Add a reading; the oldest is dropped where there are too many."""
        full = len(self._readings) == self._readings.maxlen
        self._readings.append(reading)
        if full:
            self._history = clock_history(self._readings, self.policy)
        else:
            self._history = self._followed_by(reading)

    def _followed_by(self, reading: ClockReading) -> ClockHistory:
        """Return the history of the readings with one more."""
        if self._history is None:
            return ClockHistory(reading, reading)
        return self._history.followed_by(reading, self.policy)

    def _now(self) -> ClockReading:
        return ClockReading(self.clock(), self.steady())

    def _keep(self, reading: ClockReading) -> None:
        """Append a line; rewrite the file when half of it is older than a day."""
        if self._lines >= 2 * self.policy.lifecycle.clock_readings:
            disk.write_derived(self.path, jsonl.encode(map(_row, self._readings)))
            self._lines = len(self._readings)
        else:
            disk.append(self.path, jsonl.encode([_row(reading)]), set())
            self._lines += 1


class FreezeGuard:
    """Decides whether missing files and elapsed time can be trusted."""

    def __init__(self, clock: ClockGuard, commits: CommitLog, health: Health) -> None:
        self._clock = clock
        self._commits = commits
        self._health = health

    def reason(self) -> str:
        """Return why no file may count as deleted and no memory may age now, or ''."""
        return (
            self._clock.doubt()
            or self._health.problem("frozen")
            or self._commits.away()
        )


def _row(reading: ClockReading) -> list[object]:
    return [reading.wall.isoformat(), reading.steady]


def _known(path: Path) -> Iterator[ClockReading]:
    try:
        raw = disk.read(path)
    except EngramError:
        return
    for line in jsonl.lines(raw):
        try:
            wall, steady = line.value
            reading = ClockReading(datetime.fromisoformat(wall), float(steady))
        except (ValueError, TypeError, OverflowError):
            continue
        if reading.wall.tzinfo and math.isfinite(reading.steady):
            yield reading
