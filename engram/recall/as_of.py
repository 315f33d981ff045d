"""Search as of an earlier day: follow chains of supersession (row X5)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engram.core import lifecycle, personas
from engram.core.ranking import Question, Scored
from engram.core.records import ALL_PERSONAS, Fact

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from engram.index.database import Unit
    from engram.index.filters import SearchFilter
    from engram.index.search import Index

EXTRA_HITS = 50
"""Number of further facts whose chains are followed."""
LONGEST_CHAIN = 32
"""Number of facts that are read in a chain, in both directions."""


def at(
    index: Index,
    question: Question,
    where: SearchFilter,
    scored: Sequence[Scored],
    units: Mapping[str, Unit],
    then: datetime,
) -> tuple[list[Scored], dict[str, Unit], int]:
    """Return the candidates as of `then`: scores, units, and the number replaced.

    Facts valid at `then` are added if a later fact of their chain was found. Facts that
    had been replaced by `then` are removed and counted.
    """
    hits = index.lexical.search(
        question, replace(where, kinds=("fact",), as_of=None), len(units) + EXTRA_HITS
    ).hits
    persona = ALL_PERSONAS if where.persona is None else where.persona
    added, facts = _predecessors(index, hits, units.keys(), then, persona)
    both = {**units, **facts}
    replaced = _replaced(index, both, then)
    remaining = {name: unit for name, unit in both.items() if name not in replaced}
    return (
        [one for one in (*scored, *added) if one.key in remaining],
        remaining,
        len(replaced),
    )


def _predecessors(
    index: Index,
    hits: Iterable[Scored],
    known: Collection[str],
    then: datetime,
    persona: str,
) -> tuple[list[Scored], dict[str, Fact]]:
    """Return the facts valid at `then` in the chains of hits that were not, by id.

    Each gets the best score of the hits that led to it. A question in today's words
    finds a fact in the words of `then`, and vice versa.
    """
    scores: dict[str, float] = {}
    facts: dict[str, Fact] = {}
    for hit in hits:
        if hit.key in known:
            continue
        for fact in _chain(index, hit.key):
            if fact.id in known or not personas.sees(persona, fact.persona):
                continue
            if lifecycle.hidden_reason_as_of(fact, then) is not None:
                continue
            if hit.score > scores.get(fact.id, 0.0):
                scores[fact.id], facts[fact.id] = hit.score, fact

    added = [Scored(name, score, {"chain": score}) for name, score in scores.items()]
    return added, facts


def _replaced(index: Index, units: Mapping[str, Unit], then: datetime) -> set[str]:
    """Return the ids of the facts that a fact valid at `then` had superseded.

    A fact that was only weakened is not replaced: it stays valid, like the other one.
    """
    ended = [
        one
        for one in units.values()
        if isinstance(one, Fact) and one.status != "active" and one.superseded_by
    ]
    return {one.id for one in ended if _succeeded(index, one, then)}


def _succeeded(index: Index, fact: Fact, then: datetime) -> bool:
    """Return whether a fact valid at `then` supersedes this one."""
    seen, ahead = {fact.id}, list(fact.superseded_by)
    while ahead and len(seen) < LONGEST_CHAIN:
        later = [one for one in _facts(index, ahead) if one.id not in seen]
        if any(lifecycle.hidden_reason_as_of(one, then) is None for one in later):
            return True
        seen |= {*ahead, *(one.id for one in later)}
        ahead = [
            name for one in later for name in one.superseded_by if name not in seen
        ]
    return False


def _chain(index: Index, name: str) -> list[Fact]:
    """Return the fact with its predecessors and successors, the nearest first."""
    found: dict[str, Fact] = {}
    ahead: Sequence[str] = [name]
    while ahead and len(found) < LONGEST_CHAIN:
        near = _facts(index, ahead)
        found |= {one.id: one for one in near}
        linked = (
            name for one in near for name in (*one.supersedes, *one.superseded_by)
        )
        ahead = [name for name in dict.fromkeys(linked) if name not in found]
    return list(found.values())


def _facts(index: Index, names: Sequence[str]) -> list[Fact]:
    return index.facts(names)
