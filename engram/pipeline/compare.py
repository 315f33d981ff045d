"""Comparison of a statement with the known facts (rows A7, D3, C12).

A search by words and vectors finds the facts that are near, `index/states.py` those of
the same slot. Similarities are on the nominal scale (0–1). Only facts that share words
or meaning are compared, so a comparison costs one search.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from heapq import nlargest
from typing import TYPE_CHECKING

from engram.core import actions, calibration, graph, ranking
from engram.core.actions import Eligibility
from engram.core.decide import Known
from engram.core.importance import Surprise, surprise
from engram.core.language import similarity
from engram.core.lifecycle import hidden_reason
from engram.core.records import Edge, Fact
from engram.errors import ConfigError, ModelError
from engram.index.filters import SearchFilter
from engram.index.states import StateSearch

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from engram.config import Settings
    from engram.core.language.similarity import ParsedStatement
    from engram.index.search import Index
    from engram.pipeline.plan import WritePlan

STATEMENTS = 4096
"""Number of parsed statements in the cache."""
STATUSES = ("active", "superseded", "invalidated")
"""Statuses of known facts; the last two show what an interrupted write completed."""


class Comparison:
    """Compares statements with the facts of the index; may be called from any thread.

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
        self.states = StateSearch(index, settings, owner_names)
        self._statement = lru_cache(STATEMENTS)(self._parsed)

    @property
    def is_calibrated(self) -> bool:
        """Whether calibrated vectors are available; words alone do not measure novelty."""
        return self.index.semantic is not None and self.index.semantic.may_decide

    def embed_new(
        self, texts: Iterable[str], embed: Callable[[Sequence[str]], list[bytes]]
    ) -> None:
        """Add vectors for statements without one, so that `compare` finds them (`A7`).

        Calls the embedding model, so it is for a worker thread. Without calibrated
        vectors, or if the model fails, nothing is done (`A6`).
        """
        semantic = self.index.semantic
        if semantic is None or not self.is_calibrated:
            return

        new = [text for text in dict.fromkeys(texts) if semantic.vector(text) is None]
        parts = {
            key: sent for text in new for key, sent in semantic.parts(text).items()
        }
        if parts:
            with suppress(ModelError, ConfigError):
                vectors = embed(list(parts.values()))
                semantic.add(dict(zip(parts, vectors, strict=True)))

    def near(
        self,
        fact: Fact,
        when: datetime,
        plan: WritePlan | None = None,
        statuses: Collection[str] = STATUSES,
    ) -> list[Known]:
        """Return the known facts near a fact stated at `when`, nearest first.

        They are facts that its persona sees; recall would return only the visible ones.
        With a `plan` its new facts are among them, and known facts are taken as the
        plan changes them.
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
            score = max(words.similarity, cosines.get(known.id, 0.0))
            found.append(
                Known(
                    known,
                    score,
                    distinct=distinct,
                    visible=hidden_reason(known, when) is None,
                )
            )
        return sorted(found, key=nearest)

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
        pool = self.settings.policy.dedup.pool
        by_words = [unit for _, unit in self.index.by_words(question, where, pool)]
        units = [*by_words, *self.index.facts(cosines)]
        found = {unit.id: unit for unit in units if isinstance(unit, Fact)}
        return [unit for unit in found.values() if unit.id != fact.id]

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

    def surprise(self, known: Sequence[Known]) -> Surprise:
        """Return how new a statement is among the facts near it (`D3`)."""
        policy = self.settings.policy
        near = [one for one in known if one.visible][: policy.dedup.neighbours]
        # Another value and a denial are near, and no repetition.
        return surprise(
            [
                one.similarity
                for one in near
                if not one.distinct or one.similarity <= similarity.DISTINCT
            ],
            policy.dedup,
            policy.similarity,
            novelty=self.is_calibrated,
        )

    def similarity_edges(self, fact: Fact, plan: WritePlan) -> tuple[Edge, ...]:
        """Return edges from an active fact to facts that are similar to it (`A13`).

        The neighbours are those in `plan`; for a fact that an earlier attempt wrote,
        they are searched for again. A fact of very low confidence gets no edges
        (`C22`).
        """
        known = Eligibility(fact.confidence, "candidate", fact.importance, "extraction")
        rule = actions.ruling("link_graph", known, self.settings.policy.actions)
        if fact.status != "active" or rule[0] != "allow":
            return ()

        neighbours = plan.neighbours.get(fact.id)
        if neighbours is None:
            neighbours = self.near(fact, plan.now, plan)
        active = (
            (near.fact.id, near.similarity)
            for near in neighbours
            if plan.latest(near.fact).status == "active"
        )
        return graph.similarity_edges(
            fact.id, active, fact.created or plan.now, self.settings.policy.links
        )


def nearest(one: Known) -> tuple[float, str]:
    """Return the sort key of neighbours."""
    return (-one.similarity, one.fact.id)


def _another_time(one: Fact, other: Fact) -> str:
    """Return the reason why facts with different times are two events, or ''."""
    apart = one.valid_from and other.valid_from and one.valid_from != other.valid_from
    return "another time" if apart else ""
