"""The operation `list`: memories one page at a time, newest first.

Reading 10,000 facts takes a fifth of a second, and a list shows only a page.
`FactTable` holds the columns by which lists are selected, in step with the index: it
reads all facts once, then only changed ones.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cache, partial
from operator import attrgetter
from sys import intern
from typing import TYPE_CHECKING, Annotated, Any

from engram.core import lifecycle
from engram.core.entities import OWNER, EntityNames, name_key
from engram.core.language.words import ANY_STOP, capitalised
from engram.core.lifecycle import STAGES
from engram.core.personas import display_persona, sees
from engram.core.records import STATUSES, Fact
from engram.index.catalog import FactValues
from engram.ingest import requests
from engram.operations.signature import ANY_CALLER, TIME, After, Between, operation
from engram.recall import formatting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from engram.index.search import Index
    from engram.operations.retrieval import Retriever


@dataclass(frozen=True, slots=True)
class FactRow:
    """The columns by which a list selects a fact; `mark` orders by time and id.

    `over` is when it ends, by its expiry or its validity; `names` are the capitalised
    words of its text.
    """

    id: str
    mark: str
    status: str
    category: str
    persona: str | None
    about: tuple[str, ...]
    names: tuple[str, ...]
    created: datetime | None
    over: datetime | None

    def is_current(self, now: datetime) -> bool:
        """Whether the fact is active and not over at `now`."""
        return self.status == "active" and (self.over is None or now < self.over)


class FactTable:
    """The rows of all facts. May be used from any thread."""

    def __init__(self, index: Index) -> None:
        self._rows = FactValues(
            index.catalog, lambda facts: {fact.id: _row(fact) for fact in facts}
        )

    def rows(self) -> list[FactRow]:
        """Return the rows of all facts, unordered."""
        return list(self._rows.read().values())

    def about(
        self, names: EntityNames, rows: Iterable[FactRow]
    ) -> dict[str, list[FactRow]]:
        """Return the rows about each entity, by `subject_key`.

        A memory without `about` is about the owner. One that names a place or a thing
        is listed with it too; who is a subject only `about` says.
        """
        key, things = cache(partial(subject_key, names)), _things(names)
        found: defaultdict[str, list[FactRow]] = defaultdict(list)
        for row in rows:
            near = (thing for word in row.names for thing in things.get(word, ()))
            named = {path for path, told in near if told.issubset(row.names)}
            for subject in {key(name) for name in row.about or (OWNER,)} | named:
                found[subject].append(row)
        return found

    def __iter__(self) -> Iterator[FactRow]:
        return iter(self.rows())


def subject_key(names: EntityNames, name: str) -> str:
    """Return the path of the entity with this name, or else the key of the name."""
    is_own = names.is_owner(name)
    entity = names.owner() if is_own else names.one(name)
    return entity.path if entity else name_key(OWNER if is_own else name)


def _things(names: EntityNames) -> dict[str, list[tuple[str, set[str]]]]:
    """Return the places and things by a word of their names, with all of its words."""
    found: defaultdict[str, list[tuple[str, set[str]]]] = defaultdict(list)
    for entity in names.all():
        for name in () if entity.type == "person" else (entity.name, *entity.aliases):
            if told := capitalised(name) - ANY_STOP:
                found[min(told)].append((entity.path, told))
    return found


def _row(fact: Fact) -> FactRow:
    expiry, until = lifecycle.effective_expiry(fact), fact.valid_until
    return FactRow(
        fact.id,
        mark(fact),
        intern(fact.status),
        intern(fact.category),
        fact.persona,
        tuple(map(intern, fact.about)),
        tuple(map(intern, capitalised(fact.text))),
        fact.created,
        min(expiry, until) if expiry and until else expiry or until,
    )


def mark(fact: Fact) -> str:
    """Return a text that orders memories by time; a page begins at a mark."""
    seconds = int(fact.created.timestamp()) if fact.created else 0
    return f"{max(seconds, 0):012d}-{fact.id}"


ACTIVE, FORGOTTEN = "active", "forgotten"


class MemoryList:
    """Lists memories by category, subject, status and time. For any thread."""

    def __init__(
        self,
        retriever: Retriever,
        table: FactTable,
        stages: Callable[[Sequence[Fact]], Mapping[str, str]],
    ) -> None:
        self.stages = stages
        self.index = retriever.index
        self.names = retriever.entity_writer.names
        self.table = table
        self.settings = retriever.settings
        self.clock = retriever.clock

    @operation("MemoryPage", "GET /v1/memories", name="list", callers=ANY_CALLER)
    def page(
        self,
        *,
        status: Annotated[
            str, "which to list; active if absent", (*STATUSES, "all")
        ] = ACTIVE,
        category: Annotated[str | None, "only this category"] = None,
        about: Annotated[
            str | None, "only memories about this person, place or thing"
        ] = None,
        stage: Annotated[str | None, "only memories of this stage", STAGES] = None,
        since: Annotated[
            str | None, "only memories learned from this time on", TIME
        ] = None,
        until: Annotated[
            str | None, "only memories learned up to this time", TIME
        ] = None,
        limit: Annotated[int, "number of memories on a page", Between(1, 1000)] = 20,
        after: After = None,
        asks: str | None = None,
    ) -> dict[str, Any]:
        """List memories, newest first. Shows one line for each, and how to get the
        next page.

        A `stage` is computed for each memory that the other arguments select (`C24`).
        Raises BadRequestError for a time that cannot be read.
        """
        span = requests.span(since, until, self.settings.zone, self.clock())
        rows = [
            row
            for row in self._with_status(status)
            if sees(asks, row.persona)
            and category in {None, row.category}
            and span.has(row.created)
        ]
        if about is not None:
            key = subject_key(self.names, about)
            rows = self.table.about(self.names, rows).get(key, [])
        chosen = self._at_stage(rows, stage) if stage else rows
        chosen.sort(key=attrgetter("mark"), reverse=True)
        rest = [row for row in chosen if after is None or row.mark < after]
        facts = self._facts(rest[:limit])
        sources = formatting.provenance(self.index, facts, self.settings.policy.trust)
        return {
            "memories": [
                self._row(fact) | formatting.attributed(sources[fact.id])
                for fact in facts
            ],
            "total": len(chosen),
            "next": rest[limit - 1].mark if len(rest) > limit else None,
        }

    def _facts(self, rows: Iterable[FactRow]) -> list[Fact]:
        ids = [row.id for row in rows]
        units = self.index.catalog.units(ids)
        return [fact for one in ids if isinstance(fact := units.get(one), Fact)]

    def _at_stage(self, rows: Sequence[FactRow], stage: str) -> list[FactRow]:
        """Return the rows of memories at a stage (`C24`)."""
        stages = self.stages(self._facts(rows))
        return [row for row in rows if stages.get(row.id) == stage]

    def _with_status(self, status: str) -> Iterator[FactRow]:
        """Yield the rows with a status; an expired memory is not active."""
        now = self.clock()
        for row in self.table:
            if (
                row.is_current(now)
                if status == ACTIVE
                else status in {"all", row.status}
            ):
                yield row

    def _row(self, fact: Fact) -> dict[str, Any]:
        if fact.status == FORGOTTEN:
            # its path and tags contain words of the statement too
            fact = replace(fact, text="", about=(), tags=(), path="")
        zone = self.settings.zone
        times = {
            "created": fact.created,
            "valid_from": fact.valid_from,
            "valid_until": fact.valid_until,
        }
        return {
            "id": fact.id,
            "text": fact.text,
            "category": fact.category,
            "status": fact.status,
            "about": list(fact.about),
            "tags": list(fact.tags),
            "confidence": fact.confidence,
            "importance": fact.importance,
            "pinned": fact.pinned,
            "persona": display_persona(fact.persona),
            "sensitivity": fact.sensitivity,
            "path": fact.path,
            **{
                name: when.astimezone(zone).isoformat() if when else None
                for name, when in times.items()
            },
        }
