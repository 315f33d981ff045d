"""Filters of the lexical index: the rows to score, and the rows to return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engram.core.personas import own_name

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from engram.index.columns import Bools, ColumnStore, Ints, Places, StringTable

STATES_NOTHING = "states nothing"
REASONS = (STATES_NOTHING, "status", "not valid then", "not known then")
"""The reasons for removing a visible row from the hits; the first is not the filter's."""

_CACHED = 8


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """The restrictions of a search.

    Kinds, threads and persona are applied before scoring. `persona` '' sees global
    units and the private ones of conversations without a persona, a name sees global
    units and its own, None sees all. Status and `as_of` (epoch seconds, row X5) are
    applied after scoring, so that removed units can be counted.
    """

    kinds: Collection[str] = ("fact", "turn", "note")
    statuses: Collection[str] = ("active",)
    persona: str | None = ""
    as_of: float | None = None
    threads: Collection[str] | None = None


class RowFilter:
    """Filters for the present `rows`; changed rows need a new object.

    `names` are the string tables of the columns. Callers hold the lock of the index.
    """

    def __init__(self, rows: ColumnStore, names: Mapping[str, StringTable]) -> None:
        self._rows, self._names = rows, names
        self._results: dict[object, Bools] = {}

    def visible(self, where: SearchFilter) -> Bools:
        """Return the rows that may be scored; cached."""
        cache_key = _visibility_key(where)
        found = self._results.get(cache_key)
        if found is None:
            columns = self._rows.columns.part(slice(self._rows.size))
            found = (
                columns["alive"] & self._has_name("kind", where.kinds)[columns["kind"]]
            )
            if where.persona is not None:
                seen = ("", where.persona, own_name(where.persona))
                found &= self._has_name("persona", seen)[columns["persona"]]
            if where.threads is not None:
                found &= self._has_name("thread", where.threads)[columns["thread"]]
            self._cache(cache_key, found)
        return found

    def allowed(self, where: SearchFilter) -> Bools:
        """Return the rows that may be returned; cached unless `as_of` is set."""
        cache_key = (_visibility_key(where), frozenset(where.statuses))
        found = self._results.get(cache_key) if where.as_of is None else None
        if found is None:
            found = self.visible(where).copy()
            rows = np.flatnonzero(found)
            found[rows] = self.reasons(rows, where) == 0
            if where.as_of is None:
                self._cache(cache_key, found)
        return found

    def findable(self, where: SearchFilter) -> Bools:
        """Return the rows that may be returned and say something, as long as the columns.

        Cached unless `as_of` is set.
        """
        cache_key = ("findable", _visibility_key(where), frozenset(where.statuses))
        found = self._results.get(cache_key) if where.as_of is None else None
        if found is None:
            found = ~self._rows.columns["idle"]
            found[: self._rows.size] &= self.allowed(where)
            found[self._rows.size :] = False
            if where.as_of is None:
                self._cache(cache_key, found)
        return found

    def reasons(self, rows: Places, where: SearchFilter) -> Ints:
        """Return for each visible row its index in `REASONS`, 0 if it may be found."""
        columns = self._rows.columns
        found = np.where(
            self._has_name("status", where.statuses)[columns["status"][rows]], 0, 1
        ).astype(np.int32)
        if where.as_of is not None:
            early, late = (
                columns["valid_from"][rows] > where.as_of,
                columns["valid_until"][rows] <= where.as_of,
            )
            found[early | late] = 2
            later = (columns["created"][rows] > where.as_of) | (
                columns["when"][rows] > where.as_of
            )
            found[later] = 3
        return found

    def _has_name(self, column: str, names: Collection[str]) -> Bools:
        wanted = frozenset(names)
        return np.array([name in wanted for name in self._names[column].all])

    def _cache(self, cache_key: object, found: Bools) -> None:
        if len(self._results) >= _CACHED:
            self._results.clear()
        self._results[cache_key] = found


def _visibility_key(where: SearchFilter) -> tuple[object, ...]:
    threads = None if where.threads is None else frozenset(where.threads)
    return frozenset(where.kinds), where.persona, threads
