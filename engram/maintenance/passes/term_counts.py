"""The terms of memories, cached as long as the process runs (rows C20, D9)."""

from __future__ import annotations

from array import array
from collections import Counter
from typing import TYPE_CHECKING

from engram.core.language.words import content, language, words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engram.core.records import Fact


_MOST_IGNORED_LETTERS = 2
"""Terms with this number of letters or fewer are not compared."""


class TermCounts:
    """The frequency of each term, and the number of active memories that contain it.

    The counts are updated from the memories that changed.
    """

    def __init__(self) -> None:
        self.counts = Counter[str]()
        self.spread = Counter[str]()
        self._counted: set[int] = set()

    @property
    def memories(self) -> int:
        """The number of memories counted."""
        return len(self._counted)

    def follow(self, facts: Iterable[Fact]) -> None:
        """Update the counts to the active ones of `facts`, which are all memories."""
        by_key = {hash((fact.id, fact.text)): fact for fact in facts}
        active = {key for key, fact in by_key.items() if fact.status == "active"}
        # the text of a deleted memory is unknown, so its terms cannot be subtracted
        if not self._counted <= by_key.keys():
            self.counts.clear()
            self.spread.clear()
            self._counted.clear()
        for key in active - self._counted:
            terms = _terms(by_key[key].text)
            self.counts.update(terms)
            self.spread.update(set(terms))
        for key in self._counted - active:
            terms = _terms(by_key[key].text)
            _subtract(self.counts, terms)
            _subtract(self.spread, set(terms))
        self._counted = active


class TermCache:
    """The terms of each memory with three letters or more, as hashes.

    They are compared, never displayed.
    """

    def __init__(self) -> None:
        self._cache: dict[int, array[int]] = {}

    def terms_by_id(self, facts: Iterable[Fact]) -> dict[str, array[int]]:
        """Return the terms of each of `facts` by id; drop the terms of other facts."""
        by_key = {hash((fact.id, fact.text)): fact for fact in facts}
        self._cache = {
            key: self._cache.get(key) or _hashes(fact.text)
            for key, fact in by_key.items()
        }
        return {fact.id: self._cache[key] for key, fact in by_key.items()}


def _hashes(text: str) -> array[int]:
    terms = (term for term in _terms(text) if len(term) > _MOST_IGNORED_LETTERS)
    return array("q", {hash(term) for term in terms})


def _terms(text: str) -> list[str]:
    parts = words(text)
    return content(parts, language(parts))


def _subtract(counter: Counter[str], terms: Iterable[str]) -> None:
    counter.subtract(terms)
    for term in terms:
        if not counter[term]:
            del counter[term]
