"""Tier and precision of vectors, from use and retention (rows C29, D12).

Neither is in a note, and neither hides a memory: a vector with fewer bits is compared
like any other.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from engram.core import decay, lifecycle
from engram.maintenance.passes import VectorPrecision

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from engram.core.records import VectorStorage
    from engram.maintenance.passes import MemoryState, PassView, Step


def tier(view: PassView, now: datetime) -> list[Step]:
    """Move vectors of rarely used memories to the cold tier, and back (`C29`)."""
    changed: dict[str, VectorStorage] = {}
    for one, stored in _with_vectors(view):
        inputs = decay.heat_inputs(one.fact, one.usage, now, view.policy)
        if move := lifecycle.tier_move(
            one.fact, one.usage, stored.tier, inputs, now, view.policy
        ):
            changed[one.fact.id] = replace(stored, tier=move[0])
    return _step(changed, Counter(f"turn {one.tier}" for one in changed.values()))


def precision(view: PassView, now: datetime) -> list[Step]:
    """Set the bits of each vector by the retention of its memory (rows C29, D12).

    A cold vector has 8 bits at most.
    """
    changed: dict[str, VectorStorage] = {}
    for one, stored in _with_vectors(view):
        retention = view.vitals(one, now).retention
        bits = lifecycle.vector_bits(retention, stored.tier, view.policy)
        if bits != stored.bits:
            changed[one.fact.id] = replace(stored, bits=bits)
    return _step(changed, Counter(f"in {one.bits} bits" for one in changed.values()))


def _with_vectors(view: PassView) -> Iterator[tuple[MemoryState, VectorStorage]]:
    """Yield the memories that have a vector, with its storage."""
    for name, stored in view.stored.items():
        if name in view.memories:
            yield view.memories[name], stored


def _step(
    changed: Mapping[str, VectorStorage], counts: Mapping[str, int]
) -> list[Step]:
    """Return the step that changes vectors, with the counts as its reason."""
    if not changed:
        return []
    why = ", ".join(f"{counts[what]} {what}" for what in sorted(counts))
    return [VectorPrecision(changed, why)]
