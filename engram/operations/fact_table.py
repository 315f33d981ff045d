"""The columns of all facts by which lists are selected, kept in step with the index.

Reading 10,000 facts takes a fifth of a second, and a list shows only a page. The table
reads all facts once, then only changed ones.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from dataclasses import dataclass
from sys import intern
from typing import TYPE_CHECKING

from engram.core import lifecycle
from engram.core.records import Fact

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from engram.core.entities import EntityNames
    from engram.index.search import Index


@dataclass(frozen=True, slots=True)
class FactRow:
    """The columns by which a list selects a fact; `mark` orders by time and id.

    `over` is when it ends, by its expiry or its validity.
    """

    id: str
    mark: str
    status: str
    category: str
    persona: str | None
    about: tuple[str, ...]
    created: datetime | None
    over: datetime | None

    def is_current(self, now: datetime) -> bool:
        """Whether the fact is active and not over at `now`."""
        return self.status == "active" and (self.over is None or now < self.over)


class FactTable:
    """The rows of all facts. May be used from any thread."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self._rows: dict[str, FactRow] = {}
        self._mark = ""
        self._sensitive: frozenset[str] = frozenset()
        self._lock = threading.Lock()

    def rows(self) -> list[FactRow]:
        """Return the rows of all facts, unordered."""
        catalog = self.index.catalog
        with self._lock:
            if self._mark != catalog.mark:
                self._update()
            return list(self._rows.values())

    def about(
        self, names: EntityNames, rows: Iterable[FactRow]
    ) -> dict[str, list[FactRow]]:
        """Return the rows about each entity, by its path; '' for unknown entities.

        A memory without `about` is about the owner.
        """
        own = names.owner()
        paths: dict[str, str] = {}
        found: defaultdict[str, list[FactRow]] = defaultdict(list)
        for row in rows:
            if not row.about and own:
                found[own.path].append(row)
            for name in row.about:
                if name not in paths:
                    entity = names.one(name)
                    paths[name] = entity.path if entity else ""
                found[paths[name]].append(row)
        return found

    def _update(self) -> None:
        catalog = self.index.catalog
        with catalog.database.lock:
            delta = catalog.since(self._mark)
            sensitive = catalog.sensitive_sessions
            if delta.fresh or sensitive != self._sensitive:
                self._sensitive = sensitive
                self._rows = {fact.id: _row(fact) for fact in catalog.facts()}
            else:
                for key in delta.removed:
                    self._rows.pop(key, None)
                self._rows |= {
                    unit.id: _row(unit)
                    for unit in delta.added
                    if isinstance(unit, Fact)
                }
            self._mark = delta.mark

    def __iter__(self) -> Iterator[FactRow]:
        return iter(self.rows())


def _row(fact: Fact) -> FactRow:
    expiry, until = lifecycle.effective_expiry(fact), fact.valid_until
    return FactRow(
        fact.id,
        mark(fact),
        intern(fact.status),
        intern(fact.category),
        fact.persona,
        tuple(map(intern, fact.about)),
        fact.created,
        min(expiry, until) if expiry and until else expiry or until,
    )


def mark(fact: Fact) -> str:
    """Return a text that orders memories by time; a page begins at a mark."""
    seconds = int(fact.created.timestamp()) if fact.created else 0
    return f"{max(seconds, 0):012d}-{fact.id}"
