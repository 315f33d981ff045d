"""The terms of memories, cached for the life of the process (rows C20, D9)."""

from __future__ import annotations

from array import array
from collections import Counter
from typing import TYPE_CHECKING

from engram.core.language.words import content, language, words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engram.core.records import Fact


_LETTERS = 2
"""A term that is compared has more."""


class TermCounts:
    """The frequency of each term, and the number of active memories that have it.

    Updated from the memories that changed.
    """

    def __init__(self) -> None:
        self.counts = Counter[str]()
        self.spread = Counter[str]()
        self._counted: set[int] = set()

    @property
    def memories(self) -> int:
        """How many memories are counted."""
        return len(self._counted)

    def follow(self, facts: Iterable[Fact]) -> None:
        """Count those of `facts`, which are all there are, that are active, and no
        others.
        """
        told = {hash((fact.id, fact.text)): fact for fact in facts}
        active = {key for key, fact in told.items() if fact.status == "active"}
        # somebody took words away that nobody knows any more
        if not self._counted <= told.keys():
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


class TermCache:
    """The terms of three letters and more of each memory, as hashes, for what has to be
    compared and not shown.
    """

    def __init__(self) -> None:
        self._known: dict[int, array[int]] = {}

    def of(self, facts: Iterable[Fact]) -> dict[str, array[int]]:
        """The terms of each of `facts` by id; those of others are forgotten."""
        keys = {hash((fact.id, fact.text)): fact for fact in facts}
        self._known = {
            key: self._known.get(key) or _hashes(fact.text)
            for key, fact in keys.items()
        }
        return {fact.id: self._known[key] for key, fact in keys.items()}


def _hashes(text: str) -> array[int]:
    return array("q", {hash(term) for term in _terms(text) if len(term) > _LETTERS})


def _terms(text: str) -> list[str]:
    found = words(text)
    return content(found, language(found))


def _less(counter: Counter[str], terms: Iterable[str]) -> None:
    counter.subtract(terms)
    for term in terms:
        if not counter[term]:
            del counter[term]
