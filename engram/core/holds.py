"""Limits on one run of consolidation without asking the user (law 6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.core.policy import ConsolidationPolicy

PORTIONED_PASSES = frozenset({"archive", "expire"})
"""Passes that put memories away in portions, a bounded number in each run; every other
pass is held as a whole.
"""


@dataclass(frozen=True, slots=True)
class RunLimits:
    """How many memories a run may end or archive, and how many notes it may rewrite."""

    ended: int
    rewritten: int


def run_limits(active: int, notes: int, policy: ConsolidationPolicy) -> RunLimits:
    """Return the limits for a vault of this size, rounded down.

    They are `max(20, 2 %)` of the active memories and `max(50, 5 %)` of all notes.

    >>> from engram.core.policy import ConsolidationPolicy
    >>> run_limits(10_000, 2_000, ConsolidationPolicy())
    RunLimits(ended=200, rewritten=100)
    """
    return RunLimits(
        max(policy.hold_ended, int(policy.hold_ended_share * active)),
        max(policy.hold_rewritten, int(policy.hold_rewritten_share * notes)),
    )


def passes_over_limit(counts: Mapping[str, int], most: int) -> list[str]:
    """Return the passes to hold, largest first, so that the others stay within `most`.

    >>> passes_over_limit({"merge": 30, "drift": 4}, 20), passes_over_limit({"merge": 12, "drift": 4}, 20)
    (['merge'], [])
    """
    left, found = sum(counts.values()), []
    for name in sorted(counts, key=lambda name: (-counts[name], name)):
        if left <= most:
            break
        found.append(name)
        left -= counts[name]
    return found


def hold_reasons(
    ended: Mapping[str, int], rewritten: Mapping[str, int], limit: RunLimits
) -> dict[str, str]:
    """Return why a run holds passes, by the name of the pass.

    The arguments count the planned changes by pass.
    """
    reasons = {
        name: f"{name} would end {ended[name]} memories, and a run may end {limit.ended} without asking"
        for name in passes_over_limit(
            {
                name: number
                for name, number in ended.items()
                if name not in PORTIONED_PASSES
            },
            limit.ended,
        )
    }
    for name in passes_over_limit(
        {name: number for name, number in rewritten.items() if name not in reasons},
        limit.rewritten,
    ):
        count, most = rewritten[name], limit.rewritten
        reasons[name] = (
            f"{name} would rewrite {count} notes, and a run may rewrite {most} without asking"
        )
    return reasons


def archive_quota(ended: Mapping[str, int], limit: RunLimits) -> int | None:
    """Return how many memories a run may archive if it would archive more, else None.

    `ended` counts by pass.
    """
    others = sum(
        number for name, number in ended.items() if name not in PORTIONED_PASSES
    )
    most = max(0, limit.ended - others)
    return most if sum(ended.values()) - others > most else None
