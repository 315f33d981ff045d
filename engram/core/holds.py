"""Limits on the changes of a maintenance run without the user's consent (law 6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.core.policy import ConsolidationPolicy

PORTIONED_PASSES = frozenset({"archive", "expire"})
"""Passes that archive or remove a bounded number of memories in each run.

Every other pass is held as a whole.
"""


@dataclass(frozen=True, slots=True)
class RunLimits:
    """The number of memories that a run may end or archive, and of notes to rewrite."""

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

    >>> passes_over_limit({"merge": 30, "drift": 4}, 20)
    ['merge']
    >>> passes_over_limit({"merge": 12, "drift": 4}, 20)
    []
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
    """Return the reason for each pass that a run holds, by the name of the pass.

    `ended` and `rewritten` count the planned changes by pass.
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
    """Return the number of memories a run may archive, or None if it plans no more.

    `ended` counts the planned changes by pass.
    """
    others = sum(
        number for name, number in ended.items() if name not in PORTIONED_PASSES
    )
    most = max(0, limit.ended - others)
    return most if sum(ended.values()) - others > most else None
