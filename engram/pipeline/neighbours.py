"""What lies near a memory: found by words or vectors, compared on the nominal scale
(rows A7, D3).

The candidates are those that share words or meaning with it, so the cost is that of one
search, however large the vault is.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from engram.core import calibration, ranking
from engram.core.dedup import Neighbour
from engram.core.language import similarity
from engram.core.records import Fact
from engram.index.filters import SearchFilter

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from engram.config import Settings
    from engram.core.language.similarity import ParsedStatement
    from engram.index.search import Index
    from engram.pipeline.plan import WritePlan

STATEMENTS = 4096
"""Statements that are kept taken apart."""
KEPT = 1024
"""Memories of which it is kept what is near to them, the latest searched for."""
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class NeighbourSearch:
    """Finds the facts near a fact, in any thread."""

    def __init__(self, index: Index, settings: Settings) -> None:
        self.index = index
        self.settings = settings
        self._statement = lru_cache(STATEMENTS)(self._taken_apart)

    @property
    def measures(self) -> bool:
        """Whether nearness tells what is new, which words alone do not."""
        return self.index.semantic is not None and self.index.semantic.scale.calibrated

    def near(
        self,
        fact: Fact,
        when: datetime,
        statuses: Collection[str],
        plan: WritePlan | None = None,
    ) -> list[Neighbour]:
        """The facts that share words or meaning with `fact` and whose persona sees it,
        nearest first.

        With a `plan` its new facts count too, all as they will stand.
        """
        where = SearchFilter(("fact",), statuses, fact.persona or "")
        own, cosines = self._statement(fact.text), self._cosines(fact, where)
        beside = self._candidates(fact, when, where, cosines)
        if plan:
            beside = [*map(plan.seen, beside), *plan.new]
        found: list[Neighbour] = []
        for known in beside:
            words = similarity.compared(own, self._statement(known.text))
            apart = words.apart or _another_time(fact, known)
            nearness = max(words.similarity, cosines.get(known.id, 0.0))
            found.append(
                Neighbour(known, nearness, conflict=words.conflict, apart=apart)
            )
        return sorted(found, key=_nearest)

    def _taken_apart(self, text: str) -> ParsedStatement:
        # the index may have another one by now
        return similarity.statement(text, self.index.lexical.stems)

    def _candidates(
        self,
        fact: Fact,
        when: datetime,
        where: SearchFilter,
        cosines: Mapping[str, float],
    ) -> list[Fact]:
        # what says the same says it in its own words
        said = replace(ranking.parse_question(fact.text, when), akin={})
        found = self.index.lexical.search(said, where, self.settings.policy.ladder.pool)
        units = self.index.units(
            list(dict.fromkeys([*(hit.key for hit in found.hits), *cosines]))
        )
        return [
            unit
            for unit in units.values()
            if isinstance(unit, Fact) and unit.id != fact.id
        ]

    def _cosines(self, fact: Fact, where: SearchFilter) -> dict[str, float]:
        """What vectors say, on the nominal scale; nothing where the model is not
        calibrated or knows the text not.
        """
        meaning = self.index.semantic
        vector = (
            meaning.vector(fact.text) if meaning and meaning.scale.calibrated else None
        )
        if meaning is None or vector is None:
            return {}
        pool = self.settings.policy.ladder.pool
        near = meaning.similar(self.index.lexical, vector, where, pool)
        return {key: calibration.nominal(raw, meaning.scale) for key, raw in near}


class NeighbourCache:
    """What lies near each memory, searched for once and kept as long as the process
    lives (rows A21, A28).

    What is new or says something else is searched for, and from then on is near to what
    it was found near to; so a night in which nothing is new costs no search. Belongs to
    the one writer.
    """

    def __init__(self, beside: NeighbourSearch) -> None:
        self.beside = beside
        self._said: set[int] = set()
        self._measured: object = None
        self._near: dict[str, tuple[Fact, list[Neighbour]]] = {}

    def near(self, fact: Fact) -> list[Neighbour]:
        """The active facts near to one, nearest first; times in its words are those of
        when it was told.
        """
        if fact.id not in self._near:
            self._near[fact.id] = (
                fact,
                self.beside.near(fact, fact.created or LONG_AGO, ("active",)),
            )
        return self._near[fact.id][1]

    def follow(self, facts: Iterable[Fact]) -> None:
        """Take in what the vault says now; `facts` are all that are in it."""
        said = {_said(fact): fact for fact in facts if fact.status == "active"}
        new = [fact for key, fact in said.items() if key not in self._said]
        _, measured = self.beside.index.mark
        kept = (
            list(self._near.values())[-KEPT:]
            if measured == self._measured and len(new) <= len(self._near)
            else []
        )
        self._said, self._measured = set(said), measured
        self._near = {
            fact.id: (fact, [near for near in some if _said(near.fact) in said])
            for fact, some in kept
            if _said(fact) in said
        }
        for fact in new if kept else ():
            for near in self.near(fact):
                other, some = self._near.get(near.fact.id, (fact, []))
                if other.persona == fact.persona and all(
                    one.fact.id != fact.id for one in some
                ):
                    some.append(replace(near, fact=fact))
                    some.sort(key=_nearest)


def _said(fact: Fact) -> int:
    """What tells a statement from all others and from what the same note said before."""
    return hash((fact.id, fact.text, fact.persona, fact.valid_from))


def _nearest(one: Neighbour) -> tuple[float, str]:
    return (-one.similarity, one.fact.id)


def _another_time(one: Fact, other: Fact) -> str:
    """What happened twice is two events."""
    apart = one.valid_from and other.valid_from and one.valid_from != other.valid_from
    return "another time" if apart else ""
