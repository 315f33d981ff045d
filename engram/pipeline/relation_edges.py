"""The edges that stated relations begin, end or reinforce (rows B1, D6, X27)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engram.core.entities import (
    ALIAS,
    COUPLE_RELATIONS,
    EXCLUSIVE_RELATIONS,
    name_key,
    relation_label,
)
from engram.core.language.dates import in_figures
from engram.core.records import Edge, Relation
from engram.core.relations import ended_relations, update_relations
from engram.core.trust import EXTERNAL
from engram.vault.edges import EdgeRow, EdgeStore, edge_id, relation_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from engram.core.policy import LinkPolicy


@dataclass(frozen=True, slots=True)
class StatedRelation:
    """A relation with the time, source class and trust (0–1) of the turn stating it."""

    relation: Relation
    said_at: datetime
    source_class: str
    trust: float

    @property
    def is_alias(self) -> bool:
        """Whether it states another name of an entity."""
        return relation_label(self.relation.type) == ALIAS

    @property
    def is_usable(self) -> bool:
        """Whether it may change notes: not if an import or a tool states it (`X27`).

        The end of an alias changes nothing either.
        """
        if not relation_label(self.relation.type) or self.source_class in EXTERNAL:
            return False
        return not (self.is_alias and self.relation.ended)

    @property
    def is_over(self) -> bool:
        """Whether it is stated to be over, or its last day is past."""
        ends = self.relation.ends
        return self.relation.ended or bool(ends and ends.end <= self.said_at)

    def edge(self, source: str, target: str) -> Edge:
        """Return the edge between two refs, with the days of the relation."""
        relation = self.relation
        begins, ends = relation.begins, relation.ends
        return Edge(
            source,
            target,
            "relation",
            relation_label(relation.type),
            min(relation.confidence, self.trust),
            valid_from=begins.start if begins else None,
            valid_until=ends.end if ends else None,
            attitude=relation.attitude,
            proximity=relation.proximity,
            since=in_figures(begins).partition("/")[0] if begins else "",
            until=in_figures(ends).rpartition("/")[2] if ends else "",
        )


def changed_edges(
    store: EdgeStore,
    stated: Iterable[tuple[StatedRelation, Edge]],
    policy: LinkPolicy,
) -> dict[str, EdgeRow]:
    """Return the edges that relations begin, end or reinforce, by edge id.

    They include edges whose line is not yet in a note. The trust in the source limits
    the confidence of an edge, and no statement ends an edge with a more trusted source
    (rows D6, X27).
    """
    changed = store.unlisted()
    for one, seen in stated:
        same_name = name_key(one.relation.subject) == name_key(one.relation.object)
        if same_name or seen.source == seen.target:
            continue
        if one.is_over:
            changed |= _ended(store, seen, one, changed)
        else:
            changed |= _reinforced(store, seen, one, changed, policy)
    return changed


def _reinforced(
    store: EdgeStore,
    seen: Edge,
    stated: StatedRelation,
    changed: Mapping[str, EdgeRow],
    policy: LinkPolicy,
) -> dict[str, EdgeRow]:
    """Return the edges that a current relation begins, reinforces or replaces."""
    known = _rows_like(store, seen, changed)
    edges = update_relations(
        [row.edge for row in known.values()],
        seen,
        stated.said_at,
        policy,
        single=seen.label in EXCLUSIVE_RELATIONS and not stated.relation.beside,
    )
    if any(_ends(known.get(edge_id(edge)), edge, stated.trust) for edge in edges):
        return {}
    return {
        edge_id(edge): _row(edge, known.get(edge_id(edge)), seen, stated.trust)
        for edge in edges
    }


def _ended(
    store: EdgeStore,
    seen: Edge,
    stated: StatedRelation,
    changed: Mapping[str, EdgeRow],
) -> dict[str, EdgeRow]:
    """Return the edges that end with a relation, by edge id.

    The end of a couple ends every relation between the two, in both directions. An edge
    with more trust than the statement does not end.
    """
    ending = [seen]
    if seen.label in COUPLE_RELATIONS:
        reverse = replace(seen, source=seen.target, target=seen.source)
        ending = [
            replace(edge, label=label)
            for edge in (seen, reverse)
            for label in sorted(COUPLE_RELATIONS)
        ]
    ended: dict[str, EdgeRow] = {}
    for edge in ending:
        rows = {
            row_id: row
            for row_id, row in _rows_like(store, edge, changed).items()
            if row.trust <= stated.trust
        }
        known = [row.edge for row in rows.values()]
        for over in ended_relations(known, edge, stated.said_at):
            row = rows[edge_id(over)]
            ended[edge_id(over)] = replace(row, edge=over, unlisted=True)
    return ended


def _rows_like(
    store: EdgeStore, edge: Edge, changed: Mapping[str, EdgeRow]
) -> dict[str, EdgeRow]:
    """Return the rows with the source, type and label of `edge`, by edge id.

    `changed` are the rows that this batch changed; they replace those of the store.
    """
    return store.same_relation(edge) | {
        row_id: row
        for row_id, row in changed.items()
        if relation_key(row.edge) == relation_key(edge)
    }


def _row(edge: Edge, before: EdgeRow | None, mention: Edge, trusted: float) -> EdgeRow:
    """Return the row of an edge after a mention; `before` is its last row.

    The note needs a line if the edge is new, begins or ends, or if its line is still
    missing.
    """
    if before is None:
        level = trusted if edge.target == mention.target else 0.0
        confidence = min(edge.confidence, trusted)
        return EdgeRow(replace(edge, confidence=confidence), unlisted=True, trust=level)

    unlisted = before.unlisted or _days(before.edge) != _days(edge)
    level = (
        max(before.trust, trusted) if edge.target == mention.target else before.trust
    )
    confidence = min(edge.confidence, max(trusted, before.edge.confidence))
    return EdgeRow(replace(edge, confidence=confidence), unlisted=unlisted, trust=level)


def _days(edge: Edge) -> tuple[datetime | None, str, str]:
    """Return the days that the line of an edge shows."""
    return edge.valid_until, edge.since, edge.until


def _ends(before: EdgeRow | None, edge: Edge, most: float) -> bool:
    """Return whether `edge` would end a row whose source has more than `most` trust."""
    return (
        before is not None
        and before.trust > most
        and before.edge.valid_until != edge.valid_until
    )
