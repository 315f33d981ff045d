"""Bridges between entities that have much in common (row D9)."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations
from typing import TYPE_CHECKING, Any

from engram.core.entities import entity_ref
from engram.core.language.words import terms_of, words
from engram.core.records import BlockEdit, Edge, Entity, Fact, Line
from engram.core.text import note_name
from engram.maintenance.passes.generated_text import (
    by_weight,
    memories_by_entity,
    name_words,
    numbered,
)
from engram.maintenance.passes.groups import proposal_on
from engram.maintenance.passes.view import (
    Finding,
    MemoryState,
    ModelQuestion,
    NewEdge,
    PassView,
    Step,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

_SHORT = 2
"""The letters of terms that say nothing about an entity."""


def bridges(view: PassView, now: datetime) -> list[Step]:
    """Link unrelated entities with similar memories if a model finds a relation (`D9`).

    At most 5 pairs a day, in turn. A bridge is a guess: recall does not follow it, and
    both notes list the memories that support it.
    """
    policy = view.policy.profiles
    known = {
        path: memories
        for path, memories in memories_by_entity(view, now).items()
        if len(memories) >= policy.bridge_memories
    }
    bridged = {
        frozenset((edge.source, edge.target))
        for edge in view.edges
        if edge.type == "bridge"
    }
    pairs = _unrelated_pairs(view, known)
    steps: list[Step] = []
    for path, other in _pairs_of_day(pairs, now, policy.bridges):
        ends = sorted((path, other), key=lambda one: _ref(view, one))
        refs = [_ref(view, end) for end in ends]
        if frozenset(refs) in bridged:
            continue
        first, second = (
            [one.fact for one in sorted(known[end], key=by_weight)][
                : policy.together // 2
            ]
            for end in ends
        )
        material = {
            "a": {
                "name": view.entities[ends[0]].name,
                "facts": numbered(view, first),
            },
            "b": {
                "name": view.entities[ends[1]].name,
                "facts": numbered(view, second, len(first) + 1),
            },
        }
        ask = ModelQuestion.about(
            "bridge", material, "similar memories, but no relation"
        )
        answer = view.answers.get(ask.key)
        if answer is None:
            steps.append(ask)
        elif answer:
            steps += _bridge(view, ends, refs, answer, [*first, *second], now)
    return steps


def _bridge(
    view: PassView,
    ends: Sequence[str],
    refs: Sequence[str],
    answer: Mapping[str, Any],
    facts: Sequence[Fact],
    now: datetime,
) -> list[Step]:
    """Return the edge between two entities, and a line in both notes.

    If the weakest of the memories may not support a link, a finding is returned.
    """
    sources = [facts[n - 1] for n in answer["facts"]]
    stages = {fact.id: view.stage(view.memories[fact.id], now) for fact in sources}
    weakest = min(
        sources, key=lambda fact: (stages[fact.id] != "stale", fact.confidence)
    )
    proposal = proposal_on(view, "link_graph", weakest, stages[weakest.id])
    if proposal.ruling != "allow":
        why = f"it may not support a bridge: {proposal.why}"
        return [Finding(weakest.id, weakest.path, why, proposal)]

    line = Line(answer["how"], tuple(note_name(one.path) for one in sources))
    confidence = view.policy.profiles.bridge_confidence
    edge = Edge(refs[0], refs[1], "bridge", line.text, confidence, now)
    steps: list[Step] = [NewEdge(edge, line.text)]
    for end in ends:
        page = view.page(end)
        lines = page.blocks.get("bridges", ()) if page else ()
        if line not in lines:
            blocks = {"bridges": (*lines, line)}
            steps.append(BlockEdit(end, line.text, blocks=blocks))
    return steps


def _unrelated_pairs(
    view: PassView, known: Mapping[str, Sequence[MemoryState]]
) -> list[tuple[str, str]]:
    """Return unrelated pairs whose memories share rare terms, most similar first.

    The user's own name is none of them.
    """
    policy = view.policy.profiles
    owner = name_words(view)
    terms = {
        path: _distinct_terms(memories, view.entities[path]) - owner
        for path, memories in known.items()
    }
    related = {
        frozenset((edge.source, edge.target))
        for edge in view.edges
        if edge.type == "relation"
    }
    scores: dict[tuple[str, str], float] = {}
    for (one, other), shared in _shared_terms(terms, policy.bridge_spread).items():
        if shared < policy.bridge_words or _share_memory(known[one], known[other]):
            continue
        refs = frozenset((_ref(view, one), _ref(view, other)))
        if refs not in related and not _is_related(view, one, other):
            scores[one, other] = shared / len(terms[one] | terms[other])
    return sorted(scores, key=lambda pair: (-scores[pair], pair))


def _share_memory(some: Iterable[MemoryState], others: Iterable[MemoryState]) -> bool:
    ids = {one.fact.id for one in some}
    return any(one.fact.id in ids for one in others)


def _shared_terms(terms: Mapping[str, set[str]], most: int) -> Counter[tuple[str, str]]:
    """Count the terms of each pair of entities that both, and at most `most`, have."""
    spread: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(terms):
        for term in terms[path]:
            spread[term].append(path)
    return Counter(
        pair
        for paths in spread.values()
        if len(paths) <= most
        for pair in combinations(paths, 2)
    )


def _is_related(view: PassView, one: str, other: str) -> bool:
    first, second = view.entities[one], view.entities[other]
    return any(one.name == second.name for one in first.relations) or any(
        one.name == first.name for one in second.relations
    )


def _distinct_terms(memories: Iterable[MemoryState], entity: Entity) -> set[str]:
    """Return the terms of memories, of three letters or more, but no name of the entity."""
    names = words(" ".join((entity.name, *entity.aliases)))
    terms = {term for one in memories for term in terms_of(one.fact.text)}
    return {term for term in terms.difference(names) if len(term) > _SHORT}


def _pairs_of_day(
    pairs: Sequence[tuple[str, str]], now: datetime, most: int
) -> list[tuple[str, str]]:
    """Return `most` pairs for this day, another part of them each day."""
    if not pairs or not most:
        return []
    turns = -(-len(pairs) // most)
    start = now.toordinal() % turns * most
    return list(pairs[start : start + most])


def _ref(view: PassView, path: str) -> str:
    entity = view.entities[path]
    return entity_ref(entity.type, entity.name)
