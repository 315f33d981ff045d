"""Decide when waiting turns are due, and failed ones are tried again (rows C2, X2)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from engram.core.policy import BufferPolicy, ModelPolicy
    from engram.core.records import FiledTurn, Level

MOST_DOUBLINGS = 30
"""Doublings of a wait that are computed: by then every bound is reached."""


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


def retry_wait(failures: int, policy: ModelPolicy) -> timedelta:
    """Return the wait after so many failures in a row, at least one (`X2`).

    It doubles with each failure, up to a bound.
    """
    doubled = policy.retry_seconds * 2.0 ** min(failures - 1, MOST_DOUBLINGS)
    return timedelta(seconds=min(doubled, policy.retry_most_seconds))
