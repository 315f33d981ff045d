"""The forecast of unused memories, by the rules of the nightly run (`X10`)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from engram.core import decay, lifecycle
from engram.core.records import Vitals

if TYPE_CHECKING:
    from datetime import datetime

    from engram.maintenance.passes import MemoryState, PassView

_SOUND = Vitals(confidence=1.0, salience=1.0, retention=1.0, decay=0.0, heat=1.0)


def forecast(
    view: PassView, now: datetime, days: int, points: int = 0
) -> list[dict[str, Any]]:
    """What happens to memories within `days` days, one row each time, the soonest first
    (`X10`).

    With so many `points` each has the `curve` of what it will be worth: `1 − decay` at
    equal steps from now on.
    """
    found: list[dict[str, Any]] = []
    for one in (one for one in view.active() if not one.foreign):  # no run takes those

        def at(moment: datetime, one: MemoryState = one) -> Vitals:
            feedback = view.feedback.get(one.fact.category, 0.0)
            return (
                _SOUND
                if one.kept
                else decay.vitals(
                    one.fact, one.usage, moment, one.trust, view.policy, feedback
                )
            )

        known: dict[str, Any] = {
            "id": one.fact.id,
            "path": one.fact.path,
            "text": one.fact.text,
        }
        steps = [
            now + number * timedelta(days=days) / max(1, points - 1)
            for number in range(points)
        ]
        known |= (
            {"curve": [round(1 - at(moment).decay, 3) for moment in steps]}
            if steps
            else {}
        )
        known |= {
            "heat": round(at(now).heat, 3),
            "feedback": view.feedback.get(one.fact.category, 0.0),
        }
        coming = lifecycle.forecast(
            one.fact,
            one.usage,
            at,
            now,
            days,
            view.policy,
            said_by=one.said_by,
            kept=one.kept,
        )
        found += [
            known
            | {
                "at": each.at.isoformat(timespec="seconds"),
                "what": each.what,
                "why": each.why,
            }
            for each in coming
        ]
    return sorted(found, key=lambda row: (row["at"], row["path"]))
