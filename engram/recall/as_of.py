"""What stood on an earlier day in the place of what a question finds: chains of
supersession (row X5).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engram.core import lifecycle
from engram.core.ranking import Scored
from engram.core.records import Fact

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from engram.core.ranking import Question
    from engram.index.database import Unit
    from engram.index.filters import SearchFilter
    from engram.index.search import Index

ASIDE = 50
"""Facts that are looked at for what stood in their place."""
LONGEST = 32
"""Links of a chain that are followed, there and back."""


def stood(
    index: Index,
    question: Question,
    where: SearchFilter,
    scored: Sequence[Scored],
    units: Mapping[str, Unit],
    then: datetime,
) -> tuple[list[Scored], dict[str, Unit], int]:
    """The candidates with what stood at `then` in the place of others, without what had
    been replaced by then.

    And how many that were.
    """
    every = index.lexical.search(
        question, replace(where, kinds=("fact",), as_of=None), len(units) + ASIDE
    ).hits
    more, facts = _instead(index, every, units.keys(), then, where.persona or None)
    both = {**units, **facts}
    gone = _replaced(index, both, then)
    kept = {name: unit for name, unit in both.items() if name not in gone}
    return [one for one in (*scored, *more) if one.key in kept], kept, len(gone)


def _instead(
    index: Index,
    found: Iterable[Scored],
    known: Collection[str],
    then: datetime,
    persona: str | None,
) -> tuple[list[Scored], dict[str, Fact]]:
    """What stood at `then` in the place of facts that are found and did not, and those
    facts, by id.

    Each is worth what led to it: who asks in today's words for what was then is
    answered in the words of then, and the other way about.
    """
    scores: dict[str, float] = {}
    facts: dict[str, Fact] = {}
    for one in found:
        if one.key in known:
            continue
        for other in _chain(index, one.key):
            holds = lifecycle.hidden_then(other, then) is None and other.persona in {
                None,
                persona,
            }
            if (
                holds
                and other.id not in known
                and one.score > scores.get(other.id, 0.0)
            ):
                scores[other.id], facts[other.id] = one.score, other
    return [
        Scored(name, score, {"chain": score}) for name, score in scores.items()
    ], facts


def _replaced(index: Index, units: Mapping[str, Unit], then: datetime) -> set[str]:
    """Those of the facts whose place another one had taken by `then`, known and valid,
    whatever came of it later.

    One that was only weakened stands beside what contradicts it.
    """
    ended = [
        one
        for one in units.values()
        if isinstance(one, Fact) and one.status != "active" and one.superseded_by
    ]
    return {one.id for one in ended if _succeeded(index, one, then)}


def _succeeded(index: Index, fact: Fact, then: datetime) -> bool:
    seen, ahead = {fact.id}, list(fact.superseded_by)
    while ahead and len(seen) < LONGEST:
        later = [one for one in _facts(index, ahead) if one.id not in seen]
        if any(lifecycle.hidden_then(one, then) is None for one in later):
            return True
        seen |= {*ahead, *(one.id for one in later)}
        ahead = [
            name for one in later for name in one.superseded_by if name not in seen
        ]
    return False


def _chain(index: Index, name: str) -> list[Fact]:
    """The facts before and behind this one, itself too, the nearest first."""
    found: dict[str, Fact] = {}
    ahead: Sequence[str] = [name]
    while ahead and len(found) < LONGEST:
        near = _facts(index, ahead)
        found |= {one.id: one for one in near}
        linked = (
            name for one in near for name in (*one.supersedes, *one.superseded_by)
        )
        ahead = [name for name in dict.fromkeys(linked) if name not in found]
    return list(found.values())


def _facts(index: Index, names: Sequence[str]) -> list[Fact]:
    return [one for one in index.units(list(names)).values() if isinstance(one, Fact)]
