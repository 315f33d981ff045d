"""Comparison of a statement with the known facts (rows A7, E5, D3, C12).

A search by words or vectors finds the facts that are near, a look-up those of the same
slot. A worker thread compares first, so that a model can judge uncertain pairs; the
writer thread compares again before it decides (`core/decide.py`).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from engram.core import actions, changes, graph
from engram.core.actions import Eligibility
from engram.core.entities import slot_key
from engram.core.importance import surprise
from engram.core.lifecycle import hidden_reason
from engram.core.text import content_hash
from engram.errors import ConfigError, ModelError
from engram.index.states import StateSearch
from engram.pipeline.neighbours import NeighbourSearch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from engram.config import Settings
    from engram.core.decide import Known
    from engram.core.importance import Surprise
    from engram.core.language.states import State
    from engram.core.records import Edge, Fact
    from engram.index.search import Index
    from engram.pipeline.plan import WritePlan

STATUSES = ("active", "superseded", "invalidated")
"""Statuses of neighbours; the last two show what an interrupted write completed."""


class Comparison:
    """Compares statements with the facts of the index; may be called from any thread.

    `ref_of` returns the type and ref of an entity by its name, `owner_names` the names
    of the owner, and `load_judged` the pairs (`pair_of`) that a model judged to be
    different.
    """

    def __init__(
        self,
        index: Index,
        settings: Settings,
        ref_of: Callable[[str], tuple[str, str]],
        owner_names: Callable[[], tuple[str, ...]],
        load_judged: Callable[[], set[frozenset[str]]],
    ) -> None:
        self.index = index
        self.settings = settings
        self.ref_of = ref_of
        self._load_judged = load_judged
        self._judged_pairs: set[frozenset[str]] | None = None
        self.neighbours = NeighbourSearch(index, settings, owner_names)
        self.states = StateSearch(index, settings, owner_names)

    def embed_new(
        self, texts: Iterable[str], embed: Callable[[Sequence[str]], list[bytes]]
    ) -> None:
        """Add vectors for statements without one, so that `compare` finds them (`A7`).

        Calls the embedding model, so it is for a worker thread. Without calibrated
        vectors, or if the model fails, nothing is done (`A6`).
        """
        semantic = self.index.semantic
        if semantic is None or not self.neighbours.is_calibrated:
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
        self, fact: Fact, when: datetime, plan: WritePlan | None = None
    ) -> tuple[Known, ...]:
        """Return the known facts near a fact stated at `when`, nearest first.

        Recall would return only the visible ones. With a `plan` the facts of the same
        batch are among them, and known facts are as the plan changes them.
        """
        slot = self._slot(fact)
        found: list[Known] = []
        for near in self.neighbours.near(fact, when, STATUSES, plan):
            same = bool(slot) and slot == self._slot(near.fact)
            visible = hidden_reason(near.fact, when) is None
            is_plain = visible and not same
            found.append(
                near if is_plain else replace(near, same_slot=same, visible=visible)
            )
        return tuple(found)

    def surprise(self, known: Sequence[Known]) -> Surprise:
        """Return how new a statement is among the facts near it (`D3`)."""
        policy = self.settings.policy
        nearest = [one for one in known if one.visible][: policy.dedup.neighbours]
        # A contradiction is not a repetition.
        return surprise(
            [one.similarity for one in nearest if not one.conflict],
            policy.dedup,
            policy.similarity,
            novelty=self.neighbours.is_calibrated,
        )

    def unjudged(self, text: str, neighbours: Sequence[Known]) -> list[Known]:
        """Return the neighbours that a model has not yet judged to be different (`A9`).

        A pair is identified by its texts, so an edited fact counts as unjudged.
        """
        if self._judged_pairs is None:
            self._judged_pairs = self._load_judged()
        return [
            near
            for near in neighbours
            if pair_of(text, near.fact.text) not in self._judged_pairs
        ]

    def record_judged(self, text: str, other: str) -> None:
        """Record that a model judged two statements to be different."""
        if self._judged_pairs is not None:
            self._judged_pairs.add(pair_of(text, other))

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

    def states_of(self, fact: Fact) -> tuple[State, ...]:
        """Return what a fact states by its words, else its own slot (X31)."""
        own = changes.state_in_slot(fact, self.states.name_words())
        return self.states.states_of(fact.text) or ((own,) if own else ())

    def in_slots(
        self, fact: Fact, states: Sequence[State], persona: str | None, plan: WritePlan
    ) -> dict[str, Fact]:
        """Return the facts that may state the same attributes as `fact`, by id (`A7`).

        The facts are as the plan leaves them; with a persona those that it sees
        (`E14`).
        """
        if not states:
            return {}
        found = self.states.near(states, STATUSES, persona)
        told = {changes.slot_of(state) for state in states}
        new = [
            one
            for one in plan.new
            if changes.DEATH in told
            or not told.isdisjoint(map(changes.slot_of, self.states_of(one)))
        ]
        every = [*map(plan.latest, found), *new]
        return {one.id: one for one in every if one.id != fact.id}

    def _slot(self, fact: Fact) -> str:
        kind, ref = self.ref_of(fact.about[0]) if fact.about else ("", "")
        return slot_key(fact.category, kind, ref, fact.tags) if ref else ""


def pair_of(one: str, other: str) -> frozenset[str]:
    """Return the hashes of two texts; order, case and blanks do not matter."""
    return frozenset((content_hash(one), content_hash(other)))
