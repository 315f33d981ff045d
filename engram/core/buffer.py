"""The buffer as a value: which waiting turns are due, and why (row C2)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from engram.core.policy import BufferPolicy
    from engram.core.records import FiledTurn, Level


@dataclass(frozen=True, slots=True)
class WaitingTurn:
    """A turn that is on disk but not distilled yet: its journal number, place, signal
    and arrival.

    `left_over`: it was there when the process started, and nobody has taken it up
    since.
    """

    seq: int
    filed: FiledTurn
    level: Level
    since: datetime
    left_over: bool = False


def flush_reason(
    waiting: Sequence[WaitingTurn], now: datetime, policy: BufferPolicy
) -> str | None:
    """Why the waiting turns of one session are to be distilled now, or None to keep
    them (`C2`).

    In order: a HIGH signal in any of them; at least `turns` of them; the oldest has
    waited `minutes`. The age is that of the oldest waiting turn, so two turns followed
    by silence are distilled too.
    """
    if not waiting:
        return None
    if any(item.level == "high" for item in waiting):
        return "high signal"
    if len(waiting) >= policy.turns:
        return f"{policy.turns} turns"
    if now >= flush_time(waiting, policy):
        return f"{policy.minutes:g} minutes"
    return None


def flush_time(waiting: Sequence[WaitingTurn], policy: BufferPolicy) -> datetime:
    """When the oldest of the waiting turns will have waited `minutes`."""
    return min(item.since for item in waiting) + timedelta(minutes=policy.minutes)
