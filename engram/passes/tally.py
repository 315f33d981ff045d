"""The terms that memories hold, counted as they come and go (row C20)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from engram.core.words import content, language, words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engram.core.records import Fact


class Tally:
    """How often each term is said, and in how many active memories. What was counted once is not read again."""

    def __init__(self) -> None:
        self.counts = Counter[str]()
        self.spread = Counter[str]()
        self._counted: set[int] = set()

    @property
    def memories(self) -> int:
        """How many memories are counted."""
        return len(self._counted)

    def follow(self, facts: Iterable[Fact]) -> None:
        """Count those of `facts`, which are all there are, that are active, and no others."""
        told = {hash((fact.id, fact.text)): fact for fact in facts}
        active = {key for key, fact in told.items() if fact.status == "active"}
        if not self._counted <= told.keys():  # somebody took words away that nobody knows any more
            self.counts.clear()
            self.spread.clear()
            self._counted.clear()
        for key in active - self._counted:
            terms = _terms(told[key].text)
            self.counts.update(terms)
            self.spread.update(set(terms))
        for key in self._counted - active:
            terms = _terms(told[key].text)
            _less(self.counts, terms)
            _less(self.spread, set(terms))
        self._counted = active


def _terms(text: str) -> list[str]:
    found = words(text)
    return content(found, language(found))


def _less(counter: Counter[str], terms: Iterable[str]) -> None:
    counter.subtract(terms)
    for term in terms:
        if not counter[term]:
            del counter[term]
