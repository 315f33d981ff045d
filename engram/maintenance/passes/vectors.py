"""Tier and precision of vectors, from use and retention (rows C29, D12).

Neither is in a note, and neither hides a memory: a vector in fewer bits is compared as
any other.
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
    """What has rested for long and is worth little turns cold, and hot again when it is
    worth much (`C29`).
    """
    found: dict[str, VectorStorage] = {}
    for one, stored in _with_vectors(view):
        inputs = decay.heat_inputs(one.fact, one.usage, now, view.policy)
        if turn := lifecycle.tier_move(
            one.fact, one.usage, stored.tier, inputs, now, view.policy
        ):
            found[one.fact.id] = replace(stored, tier=turn[0])
    return _kept(found, Counter(f"turn {stored.tier}" for stored in found.values()))


def precision(view: PassView, now: datetime) -> list[Step]:
    """Each vector has the bits that retention leaves its memory, and 8 at most if it is
    cold (rows C29, D12).
    """
    found: dict[str, VectorStorage] = {}
    for one, stored in _with_vectors(view):
        bits = lifecycle.vector_bits(
            view.vitals(one, now).retention, stored.tier, view.policy
        )
        if bits != stored.bits:
            found[one.fact.id] = replace(stored, bits=bits)
    return _kept(found, Counter(f"in {stored.bits} bits" for stored in found.values()))


def _with_vectors(view: PassView) -> Iterator[tuple[MemoryState, VectorStorage]]:
    return (
        (view.memories[name], stored)
        for name, stored in view.stored.items()
        if name in view.memories
    )


def _kept(found: Mapping[str, VectorStorage], counts: Mapping[str, int]) -> list[Step]:
    return (
        [
            VectorPrecision(
                found, ", ".join(f"{counts[what]} {what}" for what in sorted(counts))
            )
        ]
        if found
        else []
    )
