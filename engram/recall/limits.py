"""Limits on candidates: weak ones, kinds and outside sources (rows A29, E7, X27)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from engram.core import ranking, trust
from engram.core.records import (
    Fact,
    FiledTurn,
)
from engram.core.sessions import EPISODES
from engram.recall import formatting
from engram.recall.selection import max_hits

if TYPE_CHECKING:
    from collections.abc import (
        Mapping,
        Sequence,
    )

    from engram.core.entities import EntityNames
    from engram.core.policy import RecallPolicy, TrustPolicy
    from engram.index.database import Unit
    from engram.index.search import Index
    from engram.recall.request import RankedCandidates, RecallSearch


def without_misfits(
    candidates: RankedCandidates, policy: RecallPolicy
) -> RankedCandidates:
    """Leave out candidates that cover too little of the question by themselves.

    Units reached by relations stay, though they match no word (`A18`), unless nothing
    else is left.
    """
    fitting = [slot for slot in candidates.slots if slot.fit > policy.floor]
    if fitting:
        fitting = [
            slot
            for slot in candidates.slots
            if slot.fit > policy.floor or slot.key in candidates.related
        ]
    if misfits := len(candidates.slots) - len(fitting):
        candidates.filtered[MISFIT] += misfits
    return replace(candidates, slots=fitting)


MISFIT = "do not fit the question"
"""The reason for which a candidate that covers nothing of the question is left out."""


def without_weak(candidates: RankedCandidates, share: float) -> RankedCandidates:
    """Leave out candidates that match the question much less than the best does.

    These are candidates below `share` of the best score. Units reached by relations
    stay, though they match no word (`A18`).
    """
    least = share * candidates.slots[0].score if candidates.slots else 0.0
    strong = [
        slot
        for slot in candidates.slots
        if slot.score >= least or slot.key in candidates.related
    ]
    if weak := len(candidates.slots) - len(strong):
        candidates.filtered["much weaker than the best"] += weak
    return replace(candidates, slots=strong)


def with_quotas(candidates: RankedCandidates, policy: RecallPolicy) -> RankedCandidates:
    """Return the candidates with each kind limited to its quota in the request, if any.

    A candidate whose score is below the share `quota_rival` displaces no other kind.
    """
    request = candidates.request
    if not request.quotas:
        return candidates
    kinds = {
        slot.key: _quota_kind(slot.key, candidates.units.get(slot.key))
        for slot in candidates.slots
    }
    slots = ranking.limit_classes(
        candidates.slots,
        kinds,
        request.quotas,
        sum(request.quotas.values()),
        dict.fromkeys(request.quotas, policy.quota_rival),
    )
    return replace(candidates, slots=slots)


def _quota_kind(key: str, unit: Unit | None) -> str:
    """Return `fact`, `episode`, or '' for a note of the user (`A29`)."""
    if isinstance(unit, Fact):
        return "fact"
    return "episode" if "#^" in key or key.startswith(EPISODES) else ""


def with_caps(search: RecallSearch, candidates: RankedCandidates) -> RankedCandidates:
    """Return the candidates with facts about each type of entity limited (`E7`).

    The limits are those of the preset.
    """
    caps = ranking.PRESETS[search.request.preset].caps
    if not caps:
        return candidates
    counts: Counter[str] = Counter()
    slots = []
    for slot in candidates.slots:
        unit = candidates.units.get(slot.key)
        if isinstance(unit, Fact):
            its_type = _type_of(unit, search.sources.names)
            counts[its_type] += 1
            if counts[its_type] > caps[its_type]:
                candidates.filtered[f"over the cap of {its_type} facts"] += 1
                continue
        slots.append(slot)
    return replace(candidates, slots=slots)


def _type_of(fact: Fact, names: EntityNames) -> str:
    """Return `profile`, `people` or `project` by the first entity that a fact is about."""
    first = next(iter(fact.about), "")
    if not first or names.is_owner(first):
        return "profile"
    entity = names.one(first)
    return "people" if entity and entity.type == "person" else "project"


def with_external_limits(
    search: RecallSearch, candidates: RankedCandidates
) -> RankedCandidates:
    """Limit each outside source, and the assistant, to a share of the candidates (`X27`).

    The assistant is not limited if the question asks for its words.
    """
    policy, slots = search.settings.policy, candidates.slots
    asked = search.question.about_role == "assistant"
    limited = trust.EXTERNAL if asked else trust.OTHERS
    found = _source_classes(search.index, slots, candidates.units, policy.trust)
    classes = {key: said_by for key, said_by in found.items() if said_by in limited}
    if not classes:
        return candidates
    places = max_hits(candidates.request.k, candidates.request.budget, policy.recall)
    slots = ranking.limit_sources(slots, classes, places, policy.recall)
    return replace(candidates, slots=slots)


def _source_classes(
    index: Index,
    slots: Sequence[ranking.RankedSlot],
    units: Mapping[str, Unit],
    policy: TrustPolicy,
) -> dict[str, str]:
    """Return the source class of turns and of facts from outside, by key (`X27`).

    Facts above the caps of outside sources are skipped, because no such source made
    them.
    """
    cap = max(policy.ingest, policy.tool)
    ranked = {slot.key: units.get(slot.key) for slot in slots}
    facts = [
        one
        for one in ranked.values()
        if isinstance(one, Fact) and one.source and one.confidence <= cap
    ]
    turns = [
        key
        for key, unit in ranked.items()
        if unit is None or isinstance(unit, FiledTurn)
    ]
    voices = index.lexical.voices({*turns, *formatting.evidence(facts)})
    classes = {key: voices[key].source_class for key in turns if key in voices}
    for fact in facts:
        classes[fact.id] = trust.best_source_class(
            fact, (one.source_class for one in formatting.voices_of(fact, voices))
        )
    return classes
