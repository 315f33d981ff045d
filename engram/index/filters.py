"""Which rows of the lexical index a question may look at, and which it may answer with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from engram.index.columns import Bools, ColumnStore, Ints, Places, StringTable

REASONS = ("", "status", "not valid then", "not known then")
"""Why a row that may be looked at is kept out of the answer."""

_REMEMBERED = 8
_NOD = 2
"""Words, without stop words, in which nothing is told to somebody who did not ask."""


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """What may be found. Kinds, threads and persona are applied before anything is
    scored.

    `persona` '' sees what belongs to everybody, a name sees its own too, None sees all.
    Status and `as_of` (epoch seconds, row X5) keep units out of the answer too, but
    those that would have been in it are counted.
    """

    kinds: Collection[str] = ("fact", "turn", "note")
    statuses: Collection[str] = ("active",)
    persona: str | None = ""
    as_of: float | None = None
    threads: Collection[str] | None = None


class RowFilter:
    """Sorts the `rows` as they stand; after a change of theirs another one is needed.
    Callers hold the lock.

    `names` are the tables of the columns that hold names.
    """

    def __init__(self, rows: ColumnStore, names: Mapping[str, StringTable]) -> None:
        self._rows, self._names = rows, names
        self._found: dict[object, Bools] = {}

    @cached_property
    def saying(self) -> Bools:
        """Which rows may be found for what stands beside them: not those that only nod
        to what the other side told.

        "Noted.", "Sounds good!" say nothing of any question. A word or two behind a
        question answer it, behind one's own words they go on with them ("To Porto."),
        and a number or a time tells something of itself.
        """
        columns = self._rows.columns
        rows = np.flatnonzero(columns["length"][: self._rows.size] <= _NOD)
        before = columns["before"][rows]
        same = np.logical_and.reduce(
            [
                columns[name][rows] == columns[name][before]
                for name in ("role", "speaker")
            ]
        )
        found = np.ones(self._rows.size, np.bool_)
        found[rows] = (
            same
            | (before == 0)
            | columns["asks"][before]
            | columns["counted"][rows]
            | columns["timed"][rows]
        )
        return found

    def visible(self, where: SearchFilter) -> Bools:
        """Which rows this question may look at all; remembered."""
        asked = _asked(where)
        found = self._found.get(asked)
        if found is None:
            columns = self._rows.columns.part(slice(self._rows.size))
            found = columns["alive"] & self._named("kind", where.kinds)[columns["kind"]]
            if where.persona is not None:
                found &= self._named("persona", ("", where.persona))[columns["persona"]]
            if where.threads is not None:
                found &= self._named("thread", where.threads)[columns["thread"]]
            self._remember(asked, found)
        return found

    def allowed(self, where: SearchFilter) -> Bools:
        """Which rows may be in the answer; remembered, unless it is about the past."""
        asked = (_asked(where), frozenset(where.statuses))
        found = self._found.get(asked) if where.as_of is None else None
        if found is None:
            found = self.visible(where).copy()
            rows = np.flatnonzero(found)
            found[rows] = self.reasons(rows, where) == 0
            if where.as_of is None:
                self._remember(asked, found)
        return found

    def reasons(self, rows: Places, where: SearchFilter) -> Ints:
        """Why a visible row must not be in the answer: a place in `REASONS`, 0 if it
        may.
        """
        columns = self._rows.columns
        found = np.where(
            self._named("status", where.statuses)[columns["status"][rows]], 0, 1
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

    def _named(self, column: str, names: Collection[str]) -> Bools:
        wanted = frozenset(names)
        return np.array([name in wanted for name in self._names[column].all])

    def _remember(self, asked: object, found: Bools) -> None:
        if len(self._found) >= _REMEMBERED:
            self._found.clear()
        self._found[asked] = found


def _asked(where: SearchFilter) -> tuple[object, ...]:
    threads = None if where.threads is None else frozenset(where.threads)
    return frozenset(where.kinds), where.persona, threads
