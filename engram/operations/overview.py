"""The operations `timeline`, `entities` and `neighbours`, an overview of the vault."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

from engram.core import graph
from engram.core.entities import entity_ref
from engram.core.personas import sees
from engram.core.records import ENTITY_TYPES, Entity, Fact
from engram.core.relations import current_lines, when_held
from engram.core.trust import OWNER
from engram.errors import NotFoundError
from engram.ingest import requests
from engram.operations.signature import (
    ANY_CALLER,
    TIME,
    Between,
    operation,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import date

    from engram.operations.listing import FactRow, FactTable
    from engram.operations.retrieval import Retriever

NODE_TEXT = 200
"""Maximum number of characters of a memory in a neighbourhood."""
_TIMES = {
    "now": "relations",
    "later": "planned_relations",
    "before": "former_relations",
}
"""The lists of relations of an entity, by the time in which they are true."""
DISTANCE = 2
"""Maximum number of steps from the first node of a neighbourhood."""


class Overview:
    """Counts and connections of memories. May be called from any thread."""

    def __init__(self, retriever: Retriever, table: FactTable) -> None:
        self.index = retriever.index
        self.settings = retriever.settings
        self.clock = retriever.clock
        self.entity_writer = retriever.entity_writer
        self.table = table

    @operation("Timeline", callers=ANY_CALLER)
    def timeline(
        self,
        *,
        since: Annotated[str | None, "only days from this one on", TIME] = None,
        until: Annotated[str | None, "only days up to this one", TIME] = None,
        asks: str | None = None,
    ) -> dict[str, Any]:
        """Count the memories of each day. Shows one line for each day on which
        something was learned.

        `since` and `until` limit the days. Forgotten memories are not counted. Raises
        BadRequestError for a time that cannot be read.
        """
        zone = self.settings.zone
        span = requests.span(since, until, zone, self.clock())
        days: Counter[str] = Counter()
        for row in self._visible(asks):
            when = row.created
            if when and span.has(when):
                days[f"{when.astimezone(zone):%Y-%m-%d}"] += 1
        return {"days": dict(sorted(days.items())), "total": days.total()}

    @operation("Entities", callers=ANY_CALLER)
    def entities(
        self,
        name: Annotated[str | None, "only the one of this name or alias"] = None,
        *,
        type: Annotated[str | None, "only this type", ENTITY_TYPES] = None,
        asks: str | None = None,
    ) -> dict[str, Any]:
        """List people, places and things. Shows the type, the other names, the
        relations and the number of memories of each, those with the most first.

        `type` limits them to one type, `name` to the one with this name or alias.
        Raises NotFoundError for an unknown name.
        """
        names = self.entity_writer.names
        chosen: Iterable[Entity] = [one for one in names.all() if not one.superseded]
        if name is not None:
            found = names.one(name)
            if found is None:
                raise NotFoundError(
                    "no person, place or thing has this name",
                    where=name,
                    fix="`engram entities` lists them.",
                )
            chosen = [found]
        everything = self.table.rows()
        seen = (row for row in everything if sees(asks, row.persona))
        known = self.table.about(names, seen)
        named = self.table.about(names, everything)
        rows = [
            self._entity_row(one, known.get(one.path, []))
            for one in chosen
            if type in {None, one.type}
            # an entity that only memories of another persona name is not listed
            and (one.path in known or one.path not in named)
        ]
        rows.sort(key=lambda row: (not row["owner"], -row["memories"], row["name"]))
        return {"entities": rows}

    def _entity_row(self, entity: Entity, known: list[FactRow]) -> dict[str, Any]:
        now = self.clock()
        about = [row for row in known if row.is_current(now)]
        last = max((row.created for row in about if row.created), default=None)
        own = self.entity_writer.names.owner()
        return {
            "name": entity.name,
            "type": entity.type,
            "owner": entity == own,
            "aliases": list(entity.aliases),
            **_relations(entity, now.astimezone(self.settings.zone).date()),
            "memories": len(about),
            "last": last.astimezone(self.settings.zone).isoformat() if last else None,
            "path": entity.path,
        }

    @operation("Surroundings", callers=ANY_CALLER)
    def neighbours(
        self,
        id: Annotated[
            str,
            "the id of a memory, an unambiguous prefix of it, or the name of an entity",
        ],
        *,
        limit: Annotated[int, "maximum number of nodes", Between(1, 300)] = 60,
        asks: str | None = None,
    ) -> dict[str, Any]:
        """Show the neighbourhood of a memory or an entity. Shows the memories, people,
        places and things within two steps, and the relations between them.

        `id` is a memory, or the name of an entity. The nearest and most certain come
        first. Raises NotFoundError.
        """
        seen = self._visible(asks)
        walk = _Walk(self, [row for row in seen if row.is_current(self.clock())])
        start = walk.start(id)
        walk.widen(start, limit)
        return {
            "center": start,
            "nodes": list(walk.nodes.values()),
            "edges": list(walk.edges.values()),
        }

    def _visible(self, asks: str | None) -> Iterator[FactRow]:
        """Yield the memories that the persona sees, without forgotten ones."""
        for row in self.table:
            if row.status != "forgotten" and sees(asks, row.persona):
                yield row


def _relations(entity: Entity, today: date) -> dict[str, list[dict[str, str | None]]]:
    """Return the relations by the time in which they are true."""
    found: dict[str, list[dict[str, str | None]]] = {key: [] for key in _TIMES.values()}
    for line in entity.relations:
        found[_TIMES[when_held(line, today)]].append(
            {
                "type": line.type,
                "name": line.name,
                "since": line.since or None,
                "until": line.until or None,
            }
        )
    return found


class _Walk:
    """The nodes and edges of a neighbourhood visited so far."""

    def __init__(self, overview: Overview, rows: list[FactRow]) -> None:
        self.overview = overview
        self.writer = overview.entity_writer
        self.today = overview.clock().astimezone(overview.settings.zone).date()
        self.rows = {row.id: row for row in rows}
        self.about = overview.table.about(self.writer.names, rows)
        self.nodes: dict[str, dict[str, Any]] = {}
        self.edges: dict[frozenset[str], dict[str, Any]] = {}

    def start(self, name: str) -> str:
        """Add the first node and return its id; raise NotFoundError."""
        unit: Fact | Entity | None = self.writer.names.one(name)
        if unit is None:
            unit = self.overview.index.catalog.find_fact(name)
            if unit.id not in self.rows:
                raise NotFoundError(
                    "this memory is not active, so it has no neighbourhood", where=name
                )
        return self._add(unit, 0)

    def widen(self, start: str, limit: int) -> None:
        """Add the nodes in reach of the first one, level by level."""
        level = [start]
        for distance in range(1, DISTANCE + 1):
            following: list[str] = []
            ties = [tie for name in level for tie in self._ties(name)]
            ties.sort(key=lambda tie: -tie[3])
            wanted = [tie[1] for tie in ties if tie[1] in self.rows]
            facts = self.overview.index.catalog.units(wanted[: 2 * limit])
            for one, other, kind, confidence in ties:
                if other not in self.nodes:
                    unit = facts.get(other) or self.writer.names.one(other)
                    if len(self.nodes) >= limit or not isinstance(unit, Fact | Entity):
                        continue
                    following.append(self._add(unit, distance))
                self._tie(one, other, kind, confidence)
            level = following

    def _add(self, unit: Fact | Entity, distance: int) -> str:
        if isinstance(unit, Fact):
            shown = unit.id, unit.text[:NODE_TEXT], "memory", unit.category
        else:
            shown = unit.name, unit.name, "entity", unit.type
        keys = ("id", "name", "kind", "type", "distance")
        self.nodes[shown[0]] = dict(zip(keys, (*shown, distance), strict=True))
        return shown[0]

    def _tie(self, one: str, other: str, kind: str, confidence: float) -> None:
        if one != other:
            tie = {
                "source": one,
                "target": other,
                "type": kind,
                "confidence": round(confidence, 2),
            }
            self.edges.setdefault(frozenset((one, other)), tie)

    def _ties(self, name: str) -> Iterator[tuple[str, str, str, float]]:
        """Yield the edges of a node: its end, the other end, kind and confidence."""
        names = self.writer.names
        if entity := names.one(name):
            for line in current_lines(entity.relations, self.today):
                if related := names.one(line.name):
                    yield name, related.name, line.type, 1.0
            about = self.about.get(entity.path, [])
            for row in sorted(about, key=lambda row: row.mark, reverse=True):
                yield name, row.id, "about", 0.9
            refs = [entity_ref(entity.type, entity.name)]
            if entity == names.owner():
                refs.append(entity_ref("person", OWNER))
        else:
            for ref in self.rows[name].about:
                if found := names.one(ref):
                    yield name, found.name, "about", 1.0
            refs = [name]
        now, policy = self.overview.clock(), self.overview.settings.policy.links
        for edge in self.writer.edges.at(refs):
            other = edge.target if edge.source in refs else edge.source
            if other in self.rows:
                confidence = graph.edge_confidence(edge, now, policy)
                yield name, other, edge.type, confidence
