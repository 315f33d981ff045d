"""The middle rungs of the write ladder: what a statement is beside what is known
already (rows A7, E5, D3, C12).

Words or vectors find the neighbours, the pure rungs of `core.dedup` give the verdict.
Questions may come from any thread: a worker asks so that a model can be asked in time,
the writer asks again before it writes.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engram.core import dedup, graph
from engram.core import importance as core_importance
from engram.core.entities import slot_key
from engram.core.lifecycle import hidden_reason
from engram.core.records import Fact
from engram.core.text import content_hash
from engram.errors import ConfigError, ModelError
from engram.pipeline.neighbours import NeighbourSearch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from engram.config import Settings
    from engram.core.dedup import Neighbour, Verdict
    from engram.core.records import Edge, Fact
    from engram.index.search import Index
    from engram.pipeline.plan import WritePlan

STATUSES = ("active", "superseded", "invalidated")
"""What may lie beside a statement; the last two tell what a crash left half done."""


@dataclass(frozen=True, slots=True)
class Compared:
    """The verdict on a statement, all its neighbours, nearest first, whatever their
    status, and its importance.
    """

    verdict: Verdict
    neighbours: tuple[Neighbour, ...]
    importance: float


class Comparison:
    """Compares statements with the facts of the index.

    `ref_of` gives the ref of an entity by its name, `judged` the pairs (`pair_of`) of
    which a model said before that they have nothing to do with each other.
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
        self.neighbours = NeighbourSearch(index, settings)

    def learn(
        self, texts: Iterable[str], embed: Callable[[Sequence[str]], list[bytes]]
    ) -> None:
        """Give statements that are nowhere yet their vectors, so that meaning finds
        what is near (`A7`).

        It takes a call to the embedding model: for a worker, before it asks or files. A
        model that is away, or whose numbers decide nothing yet, changes nothing (`A6`).
        """
        meaning = self.index.semantic
        if meaning is None or not self.neighbours.measures:
            return
        if fresh := [
            text for text in dict.fromkeys(texts) if meaning.vector(text) is None
        ]:
            with suppress(ModelError, ConfigError):
                meaning.add(zip(fresh, embed(fresh), strict=True))

    def weigh(
        self, fact: Fact, when: datetime, *, model: bool, plan: WritePlan | None = None
    ) -> Compared:
        """What the nearest facts ask for (`A7`, `E5`), and what their nearness does to
        its importance (`D3`).

        It is compared with what could be recalled `when` it was said. With a `plan` the
        facts of the same batch count too, all as they will stand.
        """
        policy = self.settings.policy
        near = self._near(fact, when, plan)
        active = [one for one in near if hidden_reason(one.fact, when) is None][
            : policy.ladder.neighbours
        ]
        verdict = dedup.compare(active, policy.similarity, calibrated=True, model=model)
        # what contradicts is no repetition
        similarities = [one.similarity for one in active if not one.conflict]
        gain = core_importance.surprise(
            similarities,
            policy.ladder,
            policy.similarity,
            novelty=self.neighbours.measures,
        ).gain
        return Compared(
            verdict,
            near,
            core_importance.after_surprise(fact.importance, gain, policy.ladder),
        )

    def unjudged(self, text: str, grey: Sequence[Neighbour]) -> list[Neighbour]:
        """Those of the neighbours that a model has not yet told from this statement, in
        their words of today (`A9`).
        """
        if self._apart is None:
            self._apart = self._judged()
        return [
            near for near in grey if pair_of(text, near.fact.text) not in self._apart
        ]

    def judged(self, text: str, known: str) -> None:
        """A model has told the two statements apart, which the action log says too."""
        if self._apart is not None:
            self._apart.add(pair_of(text, known))

    def ties(self, fact: Fact, plan: WritePlan) -> tuple[Edge, ...]:
        """The links of a new fact to what is similar, but not the same (`A13`).

        The neighbours are those it met when `plan` was made; one that was filed before
        has met none and looks again.
        """
        if fact.status != "active":
            return ()
        met = plan.met.get(fact.id)
        met = self._near(fact, plan.now, plan) if met is None else met
        near = (
            (one.fact.id, one.similarity)
            for one in met
            if plan.seen(one.fact).status == "active"
        )
        return graph.similarity_edges(
            fact.id, near, fact.created or plan.now, self.settings.policy.links
        )

    def _near(
        self, fact: Fact, when: datetime, plan: WritePlan | None
    ) -> tuple[Neighbour, ...]:
        """The facts beside `fact`, nearest first, with what shares its slot marked
        (`E5`).
        """
        slotted = self._slot(fact)
        near = self.neighbours.near(fact, when, STATUSES, plan)
        return tuple(
            replace(one, same_slot=bool(slotted) and slotted == self._slot(one.fact))
            for one in near
        )

    def _slot(self, fact: Fact) -> str:
        kind, ref = self.ref_of(fact.about[0]) if fact.about else ("", "")
        return slot_key(fact.category, kind, ref, fact.tags) if ref else ""


def pair_of(one: str, other: str) -> frozenset[str]:
    """Two statements, whatever their order, case and blanks."""
    return frozenset((content_hash(one), content_hash(other)))
