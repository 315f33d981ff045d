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

    In order: one has a high signal, and a reply or `reply_seconds` followed; there are
    at least `turns` of them; the oldest has waited `minutes`, so two turns followed by
    silence are extracted too.
    """
    if not waiting:
        return None
    urgent = _urgent_time(waiting, policy)
    if urgent and now >= urgent:
        return "high signal"
    if len(waiting) >= policy.turns:
        return f"{policy.turns} turns"
    if now >= _oldest_time(waiting, policy):
        return f"{policy.minutes:g} minutes"
    return None


def flush_time(waiting: Sequence[WaitingTurn], policy: BufferPolicy) -> datetime:
    """Return when waiting turns become due by time alone."""
    oldest = _oldest_time(waiting, policy)
    return min(_urgent_time(waiting, policy) or oldest, oldest)


def _oldest_time(waiting: Sequence[WaitingTurn], policy: BufferPolicy) -> datetime:
    """Return when the oldest of the waiting turns will have waited `minutes`."""
    return min(item.since for item in waiting) + timedelta(minutes=policy.minutes)


def _urgent_time(
    waiting: Sequence[WaitingTurn], policy: BufferPolicy
) -> datetime | None:
    """Return from when a high signal makes the turns due; None without one.

    A turn of the user waits `reply_seconds` for the reply of the assistant, so that
    question and answer are read together.
    """
    urgent = [item.since for item in waiting if item.level == "high"]
    if not urgent:
        return None
    last_reply = max(
        (place for place, item in enumerate(waiting) if not _is_user(item)), default=-1
    )
    unanswered = [
        item.since for item in waiting[last_reply + 1 :] if item.level == "high"
    ]
    if not unanswered:
        return min(urgent)
    return min(unanswered) + timedelta(seconds=policy.reply_seconds)


def _is_user(item: WaitingTurn) -> bool:
    return item.filed.turn.role == "user"


def retry_wait(failures: int, policy: ModelPolicy) -> timedelta:
    """Return the wait after so many failures in a row, at least one (`X2`).

    It doubles with each failure, up to a bound.
    """
    doubled = policy.retry_seconds * 2.0 ** min(failures - 1, MOST_DOUBLINGS)
    return timedelta(seconds=min(doubled, policy.retry_most_seconds))
