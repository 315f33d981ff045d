"""Decide when waiting turns are due, and when failed ones are retried (rows C2, X2)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.core.policy import BufferPolicy, ModelPolicy
    from engram.core.records import FiledTurn, Level

MOST_DOUBLINGS = 30
"""The most doublings of a wait that are computed; every bound is reached by then."""


@dataclass(frozen=True, slots=True)
class WaitingTurn:
    """A turn on disk that is not extracted yet: journal number, place, signal, arrival.

    `left_over` is true for a turn that was already waiting when the process started.
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

    The reasons, in order: a turn has a high signal and was followed by a reply or by
    `reply_seconds` of silence; at least `turns` turns wait, and with a model the reply to
    the last of them is there; the oldest has waited `minutes`, so that two turns followed
    by silence are extracted too.
    """
    if not waiting:
        return None
    urgent = _urgent_time(waiting, policy)
    if urgent and now >= urgent:
        return "high signal"
    unanswered = policy.reply_seconds > 0 and _is_user(waiting[-1])
    if len(waiting) - unanswered >= policy.turns:
        return f"{policy.turns} turns"
    if now >= _oldest_time(waiting, policy):
        return f"{policy.minutes:g} minutes"
    return None


def flush_time(waiting: Sequence[WaitingTurn], policy: BufferPolicy) -> datetime:
    """Return when waiting turns become due by time alone."""
    oldest = _oldest_time(waiting, policy)
    return min(_urgent_time(waiting, policy) or oldest, oldest)


def _oldest_time(waiting: Sequence[WaitingTurn], policy: BufferPolicy) -> datetime:
    """Return the time at which the oldest waiting turn will have waited `minutes`."""
    return min(item.since for item in waiting) + timedelta(minutes=policy.minutes)


def _urgent_time(
    waiting: Sequence[WaitingTurn], policy: BufferPolicy
) -> datetime | None:
    """Return the time from which a high signal makes the turns due; None without one.

    A turn of the user waits `reply_seconds` for the reply of the assistant, so that
    question and answer are extracted together.
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
    """Return the wait after `failures` failures in a row, at least one (`X2`).

    The wait doubles with each failure, up to a bound.
    """
    doubled = policy.retry_seconds * 2.0 ** min(failures - 1, MOST_DOUBLINGS)
    return timedelta(seconds=min(doubled, policy.retry_most_seconds))
