"""The search for neighbours of a fact, by words and vectors (rows A7, D3).

Similarities are on the nominal scale (0–1). Only facts that share words or meaning are
compared, so a comparison costs one search.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from heapq import nlargest
from typing import TYPE_CHECKING

from engram.core import calibration, ranking
from engram.core.decide import Known
from engram.core.language import similarity
from engram.core.records import Fact
from engram.index.filters import SearchFilter

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from engram.config import Settings
    from engram.core.language.similarity import ParsedStatement
    from engram.index.search import Index
    from engram.pipeline.plan import WritePlan

STATEMENTS = 4096
"""Number of parsed statements in the cache."""
CACHED = 1024
"""Number of memories whose neighbours stay cached, the most recently searched."""
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class NeighbourSearch:
    """Finds the neighbours of a fact. May be called from any thread.

    `owner_names` returns the names of the owner, which count as `the user`.
    """

    def __init__(
        self,
        index: Index,
        settings: Settings,
        owner_names: Callable[[], tuple[str, ...]],
    ) -> None:
        self.index = index
        self.settings = settings
        self.owner_names = owner_names
        self._statement = lru_cache(STATEMENTS)(self._parsed)

    @property
    def is_calibrated(self) -> bool:
        """Whether calibrated vectors are available; words alone do not measure novelty."""
        return self.index.semantic is not None and self.index.semantic.may_decide

    def near(
        self,
        fact: Fact,
        when: datetime,
        statuses: Collection[str],
        plan: WritePlan | None = None,
    ) -> list[Known]:
        """Return the neighbours of `fact` with one of these statuses, nearest first.

        They are facts that its persona sees. With a `plan` its new facts are included,
        and known facts are taken as the plan changes them.
        """
        where = SearchFilter(("fact",), statuses, fact.persona or "")
        owner = self.owner_names()
        own, cosines = self._statement(fact.text, owner), self._cosines(fact, where)
        candidates = self._candidates(fact, when, where, cosines)
        if plan:
            new = self._nearest_new(own, plan, owner)
            candidates = [*map(plan.latest, candidates), *new]

        found: list[Known] = []
        for known in candidates:
            words = similarity.compared(own, self._statement(known.text, owner))
            distinct = words.distinct or _another_time(fact, known)
            nearness = max(words.similarity, cosines.get(known.id, 0.0))
            found.append(
                Known(known, nearness, conflict=words.conflict, distinct=distinct)
            )
        return sorted(found, key=_nearest)

    def _nearest_new(
        self, own: ParsedStatement, plan: WritePlan, owner: tuple[str, ...]
    ) -> list[Fact]:
        """Return the new facts of a plan that share most words with a statement."""
        stems, pool = {*own.stems}, self.settings.policy.dedup.pool
        return nlargest(
            pool,
            plan.new,
            lambda fact: len(
                stems.intersection(self._statement(fact.text, owner).stems)
            ),
        )

    def says_more(self, text: str, known: str) -> bool:
        """Return whether a statement adds information to a similar known one."""
        owner = self.owner_names()
        return similarity.says_more(
            self._statement(text, owner), self._statement(known, owner)
        )

    def _parsed(self, text: str, owner: tuple[str, ...]) -> ParsedStatement:
        # Read the stemmer each time, because a rebuilt index has another one.
        return similarity.statement(text, self.index.lexical.stems, owner)

    def _candidates(
        self,
        fact: Fact,
        when: datetime,
        where: SearchFilter,
        cosines: Mapping[str, float],
    ) -> list[Fact]:
        # Facts with the same statement share words, so synonyms are not searched.
        question = replace(ranking.parse_question(fact.text, when), akin={})
        found = self.index.lexical.search(
            question, where, self.settings.policy.dedup.pool
        )
        units = self.index.units(
            list(dict.fromkeys([*(hit.key for hit in found.hits), *cosines]))
        )
        return [
            unit
            for unit in units.values()
            if isinstance(unit, Fact) and unit.id != fact.id
        ]

    def _cosines(self, fact: Fact, where: SearchFilter) -> dict[str, float]:
        """Return similarities by vectors, on the nominal scale, by fact id.

        Empty if the model is not calibrated or the text has no vector.
        """
        semantic = self.index.semantic
        if semantic is None or not semantic.may_decide:
            return {}
        vector = semantic.vector(fact.text)
        if vector is None:
            return {}
        pool = self.settings.policy.dedup.pool
        near = semantic.similar(self.index.lexical, vector, where, pool)
        return {key: calibration.nominal(raw, semantic.scale) for key, raw in near}


class NeighbourCache:
    """Caches the neighbours of each active memory (rows A21, A28).

    For the writer thread. `follow` searches for the neighbours of memories that are new
    or have another text, and adds those memories to the neighbours that it finds. A
    night without new memories needs no search.
    """

    def __init__(self, search: NeighbourSearch) -> None:
        self.search = search
        self._statements: set[int] = set()
        self._scale: object = None
        self._near: dict[str, tuple[Fact, list[Known]]] = {}

    def near(self, fact: Fact) -> list[Known]:
        """Return the active neighbours of a fact, nearest first.

        Words for time, such as `yesterday`, are relative to the date of the fact.
        """
        if fact.id not in self._near:
            said_at = fact.created or LONG_AGO
            self._near[fact.id] = fact, self.search.near(fact, said_at, ("active",))
        return self._near[fact.id][1]

    def follow(self, facts: Iterable[Fact]) -> None:
        """Update the cache; `facts` are all facts of the vault.

        The cache is emptied if the scale of similarities changed, or if there are more
        new facts than cached ones.
        """
        active = {_identity(fact): fact for fact in facts if fact.status == "active"}
        new = [fact for name, fact in active.items() if name not in self._statements]
        _, scale = self.search.index.mark
        usable = scale == self._scale and len(new) <= len(self._near)

        cached = list(self._near.values())[-CACHED:] if usable else []
        self._statements, self._scale = set(active), scale
        self._near = {
            fact.id: (fact, [near for near in some if _identity(near.fact) in active])
            for fact, some in cached
            if _identity(fact) in active
        }
        if cached:
            for fact in new:
                self._enter(fact)

    def _enter(self, fact: Fact) -> None:
        """Search the neighbours of a new fact, and add it to the neighbours of each."""
        for near in self.near(fact):
            other, neighbours = self._near.get(near.fact.id, (fact, []))
            known = any(one.fact.id == fact.id for one in neighbours)
            if other.persona == fact.persona and not known:
                neighbours.append(replace(near, fact=fact))
                neighbours.sort(key=_nearest)


def _identity(fact: Fact) -> int:
    """Return a hash of the fact's statement, persona and start."""
    return hash((fact.id, fact.text, fact.persona, fact.valid_from))


def _nearest(one: Known) -> tuple[float, str]:
    return (-one.similarity, one.fact.id)


def _another_time(one: Fact, other: Fact) -> str:
    """Return the reason why facts with different times are two events, or ''."""
    apart = one.valid_from and other.valid_from and one.valid_from != other.valid_from
    return "another time" if apart else ""
