"""Whether the machine's clock can be trusted (design of the vault): fading and expiry believe no clock that jumped."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from engram.core.policy import Policy


@dataclass(frozen=True, slots=True)
class Reading:
    """A look at two clocks: the one on the wall, and one that only runs (seconds, also while the machine sleeps)."""

    wall: datetime
    steady: float


def clock_doubt(readings: Sequence[Reading], policy: Policy) -> str | None:
    """Why the clock cannot be trusted to fade, expire or archive anything, or None (design of the vault).

    `readings` oldest first. A jump: wall and steady clock part by more than 1 h; after a restart of the machine,
    where the steady clock begins again, the wall clock alone does. It is trusted again once two readings
    ≥ 10 min apart agree.
    """
    limits, since, jump = policy.lifecycle, 0, timedelta()
    for number, (before, after) in enumerate(pairwise(readings), 1):
        restarted = after.steady < before.steady
        parted = _parted(before if restarted else readings[since], after)
        if abs(parted) > timedelta(hours=limits.clock_jump_hours):
            since, jump = number, parted
        elif restarted:
            since = number
    if not jump or readings[-1].steady - readings[since].steady >= limits.clock_agree_minutes * 60:
        return None
    return f"the clock jumped by {jump / timedelta(hours=1):+.1f} hours"


def _parted(before: Reading, after: Reading) -> timedelta:
    return (
        after.wall.astimezone(UTC)
        - before.wall.astimezone(UTC)
        - timedelta(seconds=max(0.0, after.steady - before.steady))
    )
