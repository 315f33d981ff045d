"""Entities and relations whose only support is hidden (rows X2, X6, X8).

A note that engram made, that no person wrote in, and that only forgotten memories name
goes to the trash, and comes back with them. A relation goes where the words that told
it last are hidden and no other memory of that time names its ends.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from engram.core.entities import OWNER, entity_ref, name_key
from engram.core.language.words import words
from engram.core.records import Edit, FiledTurn, Move
from engram.core.relations import relation_line
from engram.core.text import is_ulid
from engram.vault import disk, entities, frontmatter

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from engram.core.records import Edge, Entity, Fact
    from engram.index.search import Index
    from engram.pipeline.entities import EntityWriter
    from engram.vault.edges import EdgeRow

WHY = "its only support is hidden"
BACK = "its support is shown again"
_OWNER_REF = entity_ref("person", OWNER)


class _Support:
    """Which names the memories of a vault support, and when they were told."""

    def __init__(self, index: Index, facts: Sequence[Fact]) -> None:
        self.index = index
        self.live: defaultdict[str, list[Fact]] = defaultdict(list)
        self.gone: defaultdict[str, list[Fact]] = defaultdict(list)
        self.texts = [fact.text for fact in facts if fact.status != "forgotten"]
        for fact in facts:
            found = self.gone if fact.status == "forgotten" else self.live
            for name in fact.about:
                found[name_key(name)].append(fact)

    @cached_property
    def words(self) -> frozenset[str]:
        """All words of the memories that are not forgotten."""
        return frozenset(word for text in self.texts for word in words(text))

    def says(self, name: str) -> bool:
        """Return whether a memory that is not forgotten has a part of a name."""
        return not self.words.isdisjoint(words(name))

    def is_lost(self, edge: Edge) -> bool:
        """Return whether the words that told a relation last are hidden."""
        ends = _ends(edge)
        gone = _told_at(edge, (fact for end in ends for fact in self.gone.get(end, ())))
        if not gone or _told_at(
            edge, (fact for end in ends for fact in self.live.get(end, ()))
        ):
            return False
        keys = {key for fact in gone for key in (fact.source, *fact.also) if key}
        shown = map(self.index.visible, self.index.units(sorted(keys)).values())
        texts = [one.turn.text for one in shown if isinstance(one, FiledTurn)]
        return not any(
            f"_{end}_" in f"_{name_key(text)}_" for end in ends for text in texts
        )


class EntityRemoval:
    """Removes what nothing supports any more, and brings it back. For the writer."""

    def __init__(self, entity_writer: EntityWriter, index: Index) -> None:
        self.entity_writer = entity_writer
        self.vault = entity_writer.vault
        self.settings = entity_writer.settings
        self.edges = entity_writer.edges
        self.index = index

    def tidy(self, now: datetime) -> None:
        """Make notes and relations agree with the memories. Raises EngramError."""
        self.entity_writer.refresh()
        facts = self.index.catalog.facts()
        support = _Support(self.index, facts)
        if not support.gone and not self.edges.withdrawn:
            return
        self._bring_back(support)
        rows = self.edges.lines.values()
        lost = [
            row
            for row in rows
            if row.edge.type == "relation" and support.is_lost(row.edge)
        ]
        for row in lost:
            self._change_line(row, listed=False)
        self.edges.append(replace(row, withdrawn=True) for row in lost)
        for entity in self.entity_writer.names.all():
            if self._is_lost(entity, support):
                self._remove(entity, now)

    def _is_lost(self, entity: Entity, support: _Support) -> bool:
        keys = {name_key(name) for name in (entity.name, *entity.aliases)}
        withdrawn = {
            end for row in self.edges.withdrawn.values() for end in _ends(row.edge)
        }
        return (
            is_ulid(entity.id)
            and not entity.theirs
            and not self.entity_writer.names.is_owner(entity.name)
            and any(support.gone.get(key) or key in withdrawn for key in keys)
            and not any(support.live.get(key) for key in keys)
            and not entity.relations
            and not any(
                edge.type == "relation"
                for edge in self.edges.at([entity_ref(entity.type, entity.name)])
            )
            and not support.says(entity.name)
        )

    def _remove(self, entity: Entity, now: datetime) -> None:
        """Move a note to the trash."""
        day = f"{now.astimezone(self.settings.zone):%Y-%m-%d}"
        to = f".trash/{day}/{entity.path.rpartition('/')[2]}"
        if not self.vault.exists(to):
            self._move(entity.path, entity.sha, to, WHY)

    def _bring_back(self, support: _Support) -> None:
        """Bring back notes and relations whose memories hold again."""
        back = [
            row
            for row in self.edges.withdrawn.values()
            if any(
                _told_at(row.edge, support.live.get(end, ())) for end in _ends(row.edge)
            )
        ]
        wanted = set(support.live).union(*(_ends(row.edge) for row in back))
        for path in self.vault.trash_paths():
            name = path.rpartition("/")[2].removesuffix(".md")
            if name_key(name) in wanted and not self.entity_writer.names.one(name):
                self._from_trash(path)
        for row in back:
            self._change_line(row, listed=True)
        self.edges.append(replace(row, withdrawn=False) for row in back)

    def _from_trash(self, path: str) -> None:
        raw = self.vault.read(path)
        note = frontmatter.read(raw, self.settings.policy.files)
        sha, zone = disk.sha256(raw), self.settings.zone
        if note.keys.get("kind") == "entity" and not note.keys.get("superseded_by"):
            entity, _ = entities.entity_from(note, path, sha, zone)
            to = entities.path_of(entity.name, entity.type)
            self._move(path, sha, to, BACK)

    def _move(self, path: str, sha: str, to: str, why: str) -> None:
        if not self.vault.exists(to):
            written = self.vault.apply([Move(path, sha, to, {}, why)])
            self.entity_writer.reread([path, *written])

    def _change_line(self, row: EdgeRow, *, listed: bool) -> None:
        """Add the line of a relation to the note of its source, or drop it."""
        source, target = map(self._entity_at, (row.edge.source, row.edge.target))
        if source is None or target is None:
            return
        line = relation_line(row.edge, target.name, self.settings.zone)
        if line is None:
            return
        raw = self.vault.read(source.path)
        note = frontmatter.read(raw, self.settings.policy.files)
        add, drop = ([line], []) if listed else ([], [line])
        body = entities.with_relations(note.body, add, drop)
        if body != note.body:
            why = BACK if listed else WHY
            edit = Edit(source.path, disk.sha256(raw), {}, why, body)
            self.entity_writer.reread(self.vault.apply([edit]))

    def _entity_at(self, ref: str) -> Entity | None:
        names = self.entity_writer.names
        return names.owner() if ref == _OWNER_REF else names.one(ref.partition(":")[2])


def _ends(edge: Edge) -> list[str]:
    """Return the keys of the names at the ends of an edge, without the owner."""
    refs = {edge.source, edge.target} - {_OWNER_REF}
    return [name_key(ref.partition(":")[2]) for ref in sorted(refs)]


def _told_at(edge: Edge, facts: Iterable[Fact]) -> list[Fact]:
    """Return the facts that were told when a relation was told last."""
    return [fact for fact in facts if fact.created and fact.created == edge.reinforced]
