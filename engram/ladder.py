"""The middle rungs of the write ladder: what a statement is beside what is known already (rows A7, E5, D3, C12).

Words or vectors find the neighbours, the pure rungs of `core.dedup` give the verdict. Questions may come from
any thread: a worker asks so that a model can be asked in time, the writer asks again before it writes.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from engram.core import dedup, links, ranking, salience, scale, similar
from engram.core.dedup import Neighbour
from engram.core.entities import slot
from engram.core.lifecycle import hidden
from engram.core.records import Fact
from engram.core.text import content_hash
from engram.errors import ConfigError, ModelError
from engram.index.lexical import Where

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from engram.config import Settings
    from engram.core.dedup import Verdict
    from engram.core.records import Edge
    from engram.core.similar import Statement
    from engram.index.index import Index
    from engram.plan import Plan

STATUSES = ("active", "superseded", "invalidated")
"""What may lie beside a statement; the last two tell what a crash left half done."""

STATEMENTS = 4096
"""Statements that are kept taken apart."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """The verdict on a statement, all its neighbours, nearest first, whatever their status, and its importance."""

    verdict: Verdict
    neighbours: tuple[Neighbour, ...]
    importance: float


class Ladder:
    """Compares statements with the facts of the index.

    `ref_of` gives the ref of an entity by its name, `judged` the pairs (`pair_of`) of which a model said before
    that they have nothing to do with each other.
    """

    def __init__(
        self,
        index: Index,
        settings: Settings,
        ref_of: Callable[[str], tuple[str, str]],
        judged: Callable[[], set[frozenset[str]]],
    ) -> None:
        self.index = index
        self.settings = settings
        self.ref_of = ref_of
        self._judged = judged
        self._apart: set[frozenset[str]] | None = None
        self._statement = lru_cache(STATEMENTS)(self._taken_apart)

    def learn(self, texts: Iterable[str], embed: Callable[[Sequence[str]], list[bytes]]) -> None:
        """Give statements that are nowhere yet their vectors, so that meaning finds what is near (`A7`).

        It takes a call to the embedding model: for a worker, before it asks or files. A model that is away, or
        whose numbers decide nothing yet, changes nothing (`A6`).
        """
        meaning = self.index.meaning
        if meaning is None or not self._measures():
            return
        if fresh := [text for text in dict.fromkeys(texts) if meaning.vector(text) is None]:
            with suppress(ModelError, ConfigError):
                self.index.embedded(zip(fresh, embed(fresh), strict=True))

    def weigh(self, fact: Fact, when: datetime, *, model: bool, plan: Plan | None = None) -> Weighed:
        """What the nearest facts ask for (`A7`, `E5`), and what their nearness does to its importance (`D3`).

        It is compared with what could be recalled `when` it was said. With a `plan` the facts of the same batch
        count too, all as they will stand.
        """
        policy = self.settings.policy
        near = self._near(fact, when, plan)
        active = [one for one in near if hidden(one.fact, when) is None][: policy.ladder.neighbours]
        verdict = dedup.relate(active, policy.similarity, calibrated=True, model=model)
        similarities = [one.similarity for one in active if not one.conflict]  # what contradicts is no repetition
        gain = salience.surprise(similarities, policy.ladder, policy.similarity, novelty=self._measures()).gain
        return Weighed(verdict, tuple(near), salience.surprised(fact.importance, gain, policy.ladder))

    def unjudged(self, text: str, grey: Sequence[Neighbour]) -> list[Neighbour]:
        """Those of the neighbours that a model has not yet told from this statement, in their words of today (`A9`)."""
        if self._apart is None:
            self._apart = self._judged()
        return [near for near in grey if pair_of(text, near.fact.text) not in self._apart]

    def judged(self, text: str, known: str) -> None:
        """A model has told the two statements apart, which the action log says too."""
        if self._apart is not None:
            self._apart.add(pair_of(text, known))

    def ties(self, fact: Fact, now: datetime) -> tuple[Edge, ...]:
        """The links of a new fact to what is similar, but not the same (`A13`)."""
        if fact.status != "active":
            return ()
        near = ((one.fact.id, one.similarity) for one in self._near(fact, now, None) if one.fact.status == "active")
        return links.links(fact.id, near, fact.created or now, self.settings.policy.links)

    def _taken_apart(self, text: str) -> Statement:
        return similar.statement(text, self.index.lexical.stems)  # the index may have another one by now

    def _near(self, fact: Fact, when: datetime, plan: Plan | None) -> list[Neighbour]:
        """The facts that share words or meaning with `fact` and whose persona sees it, nearest first."""
        own, slotted = self._statement(fact.text), self._slot(fact)
        cosines = self._cosines(fact)
        beside = self._candidates(fact, when, cosines)
        if plan:
            beside = [*map(plan.seen, beside), *plan.new]
        found: list[Neighbour] = []
        for known in beside:
            other = self._statement(known.text)
            words, _ = similar.compared(own, other)
            found.append(
                Neighbour(
                    known,
                    max(words, cosines.get(known.id, 0.0)),
                    same_slot=bool(slotted) and slotted == self._slot(known),
                    conflict=similar.conflict(own, other),
                    apart=similar.apart(own, other) or _another_time(fact, known),
                )
            )
        return sorted(found, key=lambda one: (-one.similarity, one.fact.id))

    def _candidates(self, fact: Fact, when: datetime, cosines: Mapping[str, float]) -> list[Fact]:
        question = ranking.ask(fact.text, when)
        found = self.index.search(question, self._where(fact), self.settings.policy.ladder.pool)
        units = self.index.units(list(dict.fromkeys([*(hit.key for hit in found.hits), *cosines])))
        return [unit for unit in units.values() if isinstance(unit, Fact) and unit.id != fact.id]

    def _cosines(self, fact: Fact) -> dict[str, float]:
        """What vectors say, on the nominal scale; nothing where the model is not calibrated or knows the text not."""
        meaning = self.index.meaning
        vector = meaning.vector(fact.text) if meaning and meaning.scale.calibrated else None
        if meaning is None or vector is None:
            return {}
        near = self.index.similar(vector, self._where(fact), self.settings.policy.ladder.pool)
        return {key: scale.nominal(raw, meaning.scale) for key, raw in near}

    def _measures(self) -> bool:
        """Whether nearness tells what is new, which words alone do not."""
        return self.index.meaning is not None and self.index.meaning.scale.calibrated

    def _where(self, fact: Fact) -> Where:
        """The facts that everybody or its persona sees."""
        return Where(("fact",), STATUSES, fact.persona or "")

    def _slot(self, fact: Fact) -> str:
        kind, ref = self.ref_of(fact.about[0]) if fact.about else ("", "")
        return slot(fact.category, kind, ref, fact.tags) if ref else ""


def pair_of(one: str, other: str) -> frozenset[str]:
    """Two statements, whatever their order, case and blanks."""
    return frozenset((content_hash(one), content_hash(other)))


def _another_time(one: Fact, other: Fact) -> str:
    """What happened twice is two events."""
    apart = one.valid_from and other.valid_from and one.valid_from != other.valid_from
    return "another time" if apart else ""
