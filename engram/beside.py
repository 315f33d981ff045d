"""What lies near a memory: found by words or vectors, compared on the nominal scale (rows A7, D3).

The candidates are those that share words or meaning with it, so the cost is that of one search, however large
the vault is.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from engram.core import ranking, scale, similar
from engram.core.dedup import Neighbour
from engram.core.records import Fact
from engram.index.lexical import Where

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import datetime

    from engram.config import Settings
    from engram.core.similar import Statement
    from engram.index.index import Index
    from engram.plan import Plan

STATEMENTS = 4096
"""Statements that are kept taken apart."""


class Beside:
    """Finds the facts near a fact, in any thread."""

    def __init__(self, index: Index, settings: Settings) -> None:
        self.index = index
        self.settings = settings
        self._statement = lru_cache(STATEMENTS)(self._taken_apart)

    @property
    def measures(self) -> bool:
        """Whether nearness tells what is new, which words alone do not."""
        return self.index.meaning is not None and self.index.meaning.scale.calibrated

    def near(self, fact: Fact, when: datetime, statuses: Collection[str], plan: Plan | None = None) -> list[Neighbour]:
        """The facts that share words or meaning with `fact` and whose persona sees it, nearest first.

        With a `plan` its new facts count too, all as they will stand.
        """
        where = Where(("fact",), statuses, fact.persona or "")
        own, cosines = self._statement(fact.text), self._cosines(fact, where)
        beside = self._candidates(fact, when, where, cosines)
        if plan:
            beside = [*map(plan.seen, beside), *plan.new]
        found: list[Neighbour] = []
        for known in beside:
            words = similar.compared(own, self._statement(known.text))
            apart = words.apart or _another_time(fact, known)
            nearness = max(words.similarity, cosines.get(known.id, 0.0))
            found.append(Neighbour(known, nearness, conflict=words.conflict, apart=apart))
        return sorted(found, key=lambda one: (-one.similarity, one.fact.id))

    def _taken_apart(self, text: str) -> Statement:
        return similar.statement(text, self.index.lexical.stems)  # the index may have another one by now

    def _candidates(self, fact: Fact, when: datetime, where: Where, cosines: Mapping[str, float]) -> list[Fact]:
        found = self.index.search(ranking.ask(fact.text, when), where, self.settings.policy.ladder.pool)
        units = self.index.units(list(dict.fromkeys([*(hit.key for hit in found.hits), *cosines])))
        return [unit for unit in units.values() if isinstance(unit, Fact) and unit.id != fact.id]

    def _cosines(self, fact: Fact, where: Where) -> dict[str, float]:
        """What vectors say, on the nominal scale; nothing where the model is not calibrated or knows the text not."""
        meaning = self.index.meaning
        vector = meaning.vector(fact.text) if meaning and meaning.scale.calibrated else None
        if meaning is None or vector is None:
            return {}
        near = self.index.similar(vector, where, self.settings.policy.ladder.pool)
        return {key: scale.nominal(raw, meaning.scale) for key, raw in near}


def _another_time(one: Fact, other: Fact) -> str:
    """What happened twice is two events."""
    apart = one.valid_from and other.valid_from and one.valid_from != other.valid_from
    return "another time" if apart else ""
