"""From slots to hits: what a question may see, read again from its file.

Rows A29, X8, X19.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any

from engram.core import lifecycle, personas, todos
from engram.core.decide import is_over
from engram.core.records import UNKNOWN_PERSONA, Fact, FiledTurn, SearchHit
from engram.core.sessions import shorten
from engram.core.text import content_hash
from engram.index.database import OwnNote, Unit
from engram.recall import formatting
from engram.vault.paths import FilePlace

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime, tzinfo

    from engram.core.policy import RecallPolicy
    from engram.index.search import CurrentFile, Index
    from engram.recall.request import RankedCandidates, RecallRequest, RecallSearch
    from engram.recall.topics import PastState


SAID_HERE = "said in this conversation"
"""The reason for leaving out what the running session said."""


def recallable(
    index: Index, keys: Sequence[str], request: RecallRequest, filtered: Counter[str]
) -> dict[str, Unit]:
    """Return the units with these keys that may be recalled; count the others."""
    units = index.units(keys)
    return {
        key: unit
        for key, unit in units.items()
        if not is_hidden(unit, request, index.tombstones.keys, filtered)
    }


def is_hidden(
    unit: Unit, request: RecallRequest, buried: Collection[str], filtered: Counter[str]
) -> bool:
    """Return whether a unit may not be recalled, and count the reason.

    A turn is hidden with the fact that a user removed (`X8`).
    """
    why = None
    if isinstance(unit, Fact):
        if request.as_of:
            why = lifecycle.hidden_reason_as_of(unit, request.as_of)
        else:
            why = lifecycle.hidden_reason(unit, request.now, archive=request.archive)
    elif _is_forgotten(unit, buried):
        why = "forgotten"
    if why is None and _is_of(unit, request.running):
        why = SAID_HERE
    private_to = unit.turn.private_to if isinstance(unit, FiledTurn) else unit.persona
    if why is None and not personas.sees(request.persona, private_to):
        why = "of another persona"
    if why is not None:
        filtered[why] += 1
    return why is not None


def _is_of(unit: Unit, running: Collection[str]) -> bool:
    """Return whether all sources of a unit are in the `running` session."""
    if not running or isinstance(unit, OwnNote):
        return False
    keys = [unit.key] if isinstance(unit, FiledTurn) else [unit.source, *unit.also]
    return all(key.partition("#")[0] in running for key in keys)


def _is_forgotten(unit: FiledTurn | OwnNote, buried: Collection[str]) -> bool:
    """Return whether a user removed the turn, or the statement of a broken note.

    The front matter of a broken note cannot be read, so its status is unknown.
    """
    if isinstance(unit, FiledTurn):
        return unit.key in buried
    return unit.persona == UNKNOWN_PERSONA and content_hash(unit.text) in buried


def verified_hits(
    search: RecallSearch,
    candidates: RankedCandidates,
    past: Mapping[str, PastState],
    earlier: Collection[str],
) -> Iterator[SearchHit]:
    """Yield the slots as hits that agree with their files now, best first (`X19`).

    Yields at least one hit if there is one, and stops when time is up.
    """
    index, policy, zone = search.index, search.settings.policy, search.settings.zone
    by_key = {slot.key: slot for slot in candidates.slots}
    seen: dict[str, CurrentFile] = {}
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
        fallen = _fallen(index, (unit for _, unit, _ in page), zone)
        for (key, unit, path), fault in zip(page, faults, strict=True):
            yield formatting.as_hit(
                by_key[key],
                unit,
                path,
                turns,
                provenance[key],
                zone,
                standing=", ".join(
                    filter(
                        None,
                        (
                            SAID_BEFORE if key in earlier else "",
                            _partly_over(past.get(key), zone),
                            fallen.get(key, ""),
                            _establishment_label(
                                search.sources.usage(key).stability, policy.recall
                            ),
                        ),
                    )
                ),
                fault=fault,
                due=todos.due_words(unit, search.request.now, zone)
                if isinstance(unit, Fact)
                else "",
                **_end_of(past.get(key), zone),
            )
            if search.limit.out_of_time_for("further hits"):
                return


_PART = 80
"""The most characters of the statement that is over."""

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
        read = index.placed(page)
        for key in page:
            known, place = read.get(key, (None, FilePlace()))
            record = units.get(key) or known
            unit = index.current(record, place, seen) if known and record else None
            if unit is None:
                filtered["gone from its file"] += 1
                continue
            if is_hidden(unit, request, index.tombstones.keys, filtered):
                continue
            if visible := index.visible(unit):
                yield key, visible, place.path
            else:
                filtered["forgotten"] += 1


def _establishment_label(stability: float, policy: RecallPolicy) -> str:
    """Return the label of a memory of this stability, or '' (`A29`)."""
    if stability >= policy.well_established:
        return "well-established"
    return "established" if stability >= policy.established else ""


def _end_of(past: PastState | None, zone: tzinfo) -> dict[str, Any]:
    """Return the fields of a hit about the end of its state (law 7)."""
    if past is None or past.part or not past.until:
        return {}
    return {"ended": _day(past.until, zone), "certain": past.certain}


def _fallen(index: Index, units: Iterable[Unit], zone: tzinfo) -> dict[str, str]:
    """Return the label of each fact that rests on one that is over, by its id (`X29`)."""
    labels = {}
    for fact in units:
        if not isinstance(fact, Fact) or not fact.because:
            continue
        over = [one for one in index.facts(fact.because) if is_over(one)]
        if over:
            days = [_day(one.valid_until, zone) for one in over if one.valid_until]
            since = f" since {min(days)}" if days else ""
            labels[fact.id] = f"may no longer hold{since}"
    return labels


def _partly_over(past: PastState | None, zone: tzinfo) -> str:
    """Return the label of a turn of which a part is over, with this part, or ''."""
    if past is None or not past.part or not past.until:
        return ""
    return f"over since {_day(past.until, zone)}: “{shorten(past.part, _PART)}”"


def _day(moment: datetime, zone: tzinfo) -> str:
    return f"{moment.astimezone(zone):%Y-%m-%d}"
