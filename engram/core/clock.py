"""Decide whether the machine's clock can be trusted.

Fading and expiry do not follow a clock that jumped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from engram.core.policy import Policy


@dataclass(frozen=True, slots=True)
class ClockReading:
    """The wall clock and the steady clock at one moment.

    The steady clock counts seconds, also while the machine sleeps.
    """

    wall: datetime
    steady: float


def clock_doubt(readings: Sequence[ClockReading], policy: Policy) -> str | None:
    """Return why the clock cannot be trusted to fade, expire or archive, or None.

    `readings` are oldest first. A jump is a difference of more than 1 h between both
    clocks; after a restart of the machine, where the steady clock begins again, the
    wall clock alone decides. The clock is trusted again once two readings ≥ 10 min
    apart agree.
    """
    limits, since, jump = policy.lifecycle, 0, 0.0
    walls, steady = (
        [one.wall.timestamp() for one in readings],
        [one.steady for one in readings],
    )
    for after in range(1, len(readings)):
        restarted = steady[after] < steady[after - 1]
        before = after - 1 if restarted else since
        parted = walls[after] - walls[before] - max(0.0, steady[after] - steady[before])
        if abs(parted) > limits.clock_jump_hours * 3600:
            since, jump = after, parted
        elif restarted:
            since = after
    if not jump or steady[-1] - steady[since] >= limits.clock_agree_minutes * 60:
        return None
    return f"the clock jumped by {jump / 3600:+.1f} hours"
