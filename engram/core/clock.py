"""Decide whether the machine's clock can be trusted.

Fading and expiry are suspended after a jump of the clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from engram.core.policy import Policy


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
