"""Decide which waiting turns are due for extraction, and why (row C2)."""

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
    """A turn on disk that is not extracted yet: journal number, place, signal, arrival.

    `left_over`: it was there when the process started and has not been extracted since.
    """

    seq: int
    filed: FiledTurn
    level: Level
    since: datetime
    left_over: bool = False


def flush_reason(
    waiting: Sequence[WaitingTurn], now: datetime, policy: BufferPolicy
) -> str | None:
    """Return why the waiting turns of a session are due now, or None (`C2`).

    In order: one has a high signal; there are at least `turns` of them; the oldest has
    waited `minutes`, so two turns followed by silence are extracted too.
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
    """Return when the oldest of the waiting turns will have waited `minutes`."""
    return min(item.since for item in waiting) + timedelta(minutes=policy.minutes)
