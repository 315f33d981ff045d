"""The forecast of unused memories, by the rules of the nightly run (`X10`)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from engram.core import decay, lifecycle
from engram.core.records import Vitals

if TYPE_CHECKING:
    from collections.abc import Callable

    from engram.maintenance.passes.view import MemoryState, PassView

LEFT = "it is not recalled after its end; the note stays in its folder"
CURVE_POINTS = 31
"""Number of points of a curve; as many as fit on a line of a terminal."""
SOUND = Vitals(confidence=1.0, salience=1.0, retention=1.0, decay=0.0, heat=1.0)
"""The vitals of a protected memory, which does not fade."""


def forecast(
    view: PassView, now: datetime, days: int, points: int = 0
) -> list[dict[str, Any]]:
    """Return the coming changes of memories within `days` days, soonest first (`X10`).

    A row is one change of one memory. With `points` above 0 each row has a `curve` of
    that many values: `1 − decay` (0–1) at equal steps from now on. No run changes a
    note that engram did not write: it has a row, `expired`, only for its own end.
    """
    moments = [
        now + number * timedelta(days=days) / max(1, points - 1)
        for number in range(points)
    ]
    rows: list[dict[str, Any]] = []
    for one in view.active():

        def vitals_at(moment: datetime, one: MemoryState = one) -> Vitals:
            if one.kept:
                return SOUND
            feedback = view.feedback.get(one.fact.category, 0.0)
            return decay.vitals(
                one.fact, one.usage, moment, one.trust, view.policy, feedback
            )

        changes = _changes(view, one, vitals_at, now, days)
        if not changes:
            continue
        memory: dict[str, Any] = {
            "id": one.fact.id,
            "path": one.fact.path,
            "text": one.fact.text,
        }
        if moments:
            curve = [round(1 - vitals_at(moment).decay, 3) for moment in moments]
            memory["curve"] = curve
        memory["heat"] = round(vitals_at(now).heat, 3)
        memory["feedback"] = view.feedback.get(one.fact.category, 0.0)
        for change in changes:
            at = change.at.isoformat(timespec="seconds")
            rows.append(memory | {"at": at, "what": change.what, "why": change.why})
    return sorted(rows, key=lambda row: (row["at"], row["path"]))


def _changes(
    view: PassView,
    one: MemoryState,
    vitals_at: Callable[[datetime], Vitals],
    now: datetime,
    days: int,
) -> tuple[lifecycle.Forecast, ...]:
    """Return the coming changes of a memory, as the runs make them (rows B16, X10)."""
    if one.foreign:
        end = lifecycle.effective_expiry(one.fact)
        ends = end is not None and now < end <= now + timedelta(days=days)
        return (lifecycle.Forecast(end, "expired", LEFT),) if end and ends else ()
    fact = one.fact
    if one.kept and lifecycle.is_guessed_expiry(fact):
        fact = replace(fact, expires=None)  # `expire` removes the guess from the note
    return lifecycle.forecast(
        fact,
        one.usage,
        vitals_at,
        now,
        days,
        view.policy,
        said_by=one.said_by,
        user_action=one.kept,
    )
