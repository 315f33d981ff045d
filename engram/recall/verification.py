"""Verification of ranked units against their files (row X19)."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from engram.core import todos
from engram.core.records import Fact
from engram.recall import formatting
from engram.recall.visibility import is_hidden

if TYPE_CHECKING:
    from collections.abc import (
        Collection,
        Iterator,
        Mapping,
        Sequence,
    )
    from datetime import tzinfo

    from engram.core.policy import RecallPolicy
    from engram.core.records import SearchHit
    from engram.index.database import Unit
    from engram.index.search import CurrentFile, Index
    from engram.recall.candidates import RankedCandidates
    from engram.recall.request import RecallRequest, RecallSearch
    from engram.recall.topics import PastState


def verified_hits(
    search: RecallSearch,
    candidates: RankedCandidates,
    past: Mapping[str, PastState],
    earlier: Collection[str],
) -> Iterator[SearchHit]:
    """Yield the slots as hits that agree with their files now, best first (`X19`).

    Yields at least one hit if there is one, and stops when time is up.
    """
    index, policy = search.index, search.settings.policy
    by_key = {slot.key: slot for slot in candidates.slots}
    seen: dict[str, CurrentFile] = {}
    label_of = cache(
        lambda name: _establishment_label(
            search.sources.usage(name).stability, policy.recall
        )
    )
    readable = _current(
        index,
        candidates.units,
        list(by_key),
        candidates.request,
        candidates.filtered,
        seen,
    )
    while page := list(islice(readable, min(_PAGE, candidates.request.k))):
        sources = sorted({unit.source for _, unit, _ in page if isinstance(unit, Fact)})
        turns = {
            key: unit
            for key, unit, _ in _current(
                index, {}, sources, candidates.request, Counter(), seen
            )
        }
        provenance = formatting.provenance(
            index, (unit for _, unit, _ in page), policy.trust
        )
        faults = index.faults(((unit, path) for _, unit, path in page), seen)
        for (key, unit, path), fault in zip(page, faults, strict=True):
            yield formatting.as_hit(
                by_key[key],
                unit,
                path,
                turns,
                provenance[key],
                search.settings.zone,
                standing=", ".join(
                    filter(None, (SAID_BEFORE if key in earlier else "", label_of(key)))
                ),
                fault=fault,
                due=_due_words(unit, search),
                **_end_of(past.get(key), search.settings.zone),
            )
            if search.limit.out_of_time_for("further hits"):
                return


SAID_BEFORE = "said before"
"""The label of a hit on the topic of a newer one."""
_PAGE = 32
"""Number of slots whose records and files are read together."""


def _current(
    index: Index,
    units: Mapping[str, Unit],
    keys: Sequence[str],
    request: RecallRequest,
    filtered: Counter[str],
    seen: dict[str, CurrentFile],
) -> Iterator[tuple[str, Unit, str]]:
    """Yield the keys that may be recalled, each with its unit as now in the file.

    The third value is the path of the file. `units` were read already; `seen` is as in
    `Index.current`.
    """
    size = min(_PAGE, request.k)
    for start in range(0, len(keys), size):
        page = keys[start : start + size]
        places = index.catalog.places(page)
        read = index.units([key for key in page if key not in units])
        for key in page:
            record = units.get(key) or read.get(key)
            place = places.get(key, ("", ""))
            unit = index.current(record, place, seen) if record else None
            if unit is None:
                filtered["gone from its file"] += 1
                continue
            if is_hidden(unit, request, index.tombstones.keys, filtered):
                continue
            if visible := index.visible(unit):
                yield key, visible, place[0]
            else:
                filtered["forgotten"] += 1


def _establishment_label(stability: float, policy: RecallPolicy) -> str:
    """Return the label of a memory of this stability, or '' (`A29`)."""
    if stability >= policy.well_established:
        return "well-established"
    return "established" if stability >= policy.established else ""


def _due_words(unit: Unit, search: RecallSearch) -> str:
    """Return the words for the due date of a promise, or for its end, or ''."""
    if not isinstance(unit, Fact):
        return ""
    return todos.due_words(unit, search.request.now, search.settings.zone)


def _end_of(past: PastState | None, zone: tzinfo) -> dict[str, Any]:
    """Return the fields of a hit about the end of its state (law 7)."""
    if past is None or not past.until:
        return {}
    day = f"{past.until.astimezone(zone):%Y-%m-%d}"
    return {"ended": day, "certain": past.certain}
