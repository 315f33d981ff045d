"""The neighbours of each active memory, kept from run to run (rows A21, A28)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from engram.pipeline.compare import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engram.core.decide import Known
    from engram.core.records import Fact
    from engram.pipeline.compare import Comparison

CACHED = 1024
"""Number of memories whose neighbours stay cached, the most recently searched."""
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class NeighbourCache:
    """Caches the neighbours of each active memory. For the writer thread.

    `follow` searches for the neighbours of memories that are new
    or have another text, and adds those memories to the neighbours that it finds. A
    night without new memories needs no search.
    """

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison
        self._statements: set[int] = set()
        self._scale: object = None
        self._near: dict[str, tuple[Fact, list[Known]]] = {}

    def near(self, fact: Fact) -> list[Known]:
        """Return the active neighbours of a fact, nearest first.

        Words for time, such as `yesterday`, are relative to the date of the fact.
        """
        if fact.id not in self._near:
            said_at = fact.created or LONG_AGO
            near = self.comparison.near(fact, said_at, statuses=("active",))
            self._near[fact.id] = fact, near
        return self._near[fact.id][1]

    def follow(self, facts: Iterable[Fact]) -> None:
        """Update the cache; `facts` are all facts of the vault.

        The cache is emptied if the scale of similarities changed, or if there are more
        new facts than cached ones.
        """
        active = {_identity(fact): fact for fact in facts if fact.status == "active"}
        new = [fact for name, fact in active.items() if name not in self._statements]
        _, scale = self.comparison.index.mark
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
                neighbours.sort(key=nearest)


def _identity(fact: Fact) -> int:
    """Return a hash of the fact's statement, persona and start."""
    return hash((fact.id, fact.text, fact.persona, fact.valid_from))
