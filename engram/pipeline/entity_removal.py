"""Removal of entities and relations whose only support is hidden (rows X2, X6, X8).

The note of an entity is moved to the trash if engram created it, no user edited it, and
only forgotten memories name the entity. It is restored together with them. A relation
is removed if the turns that stated it last are hidden and no other memory of that time
names its ends.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from engram.core.entities import OWNER, entity_ref, name_key
from engram.core.language.words import words
from engram.core.records import Edge, Edit, Entity, Fact, FiledTurn, Move
from engram.core.relations import relation_line
from engram.core.text import is_ulid, note_name
from engram.vault import changes, disk, entities, frontmatter

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from engram.index.search import Index
    from engram.pipeline.entities import EntityWriter
    from engram.vault.edges import EdgeRow

WHY = "its only support is hidden"
BACK = "its support is shown again"
_OWNER_REF = entity_ref("person", OWNER)


class _Support:
    """The memories of a vault by the names that they are about."""

    def __init__(self, index: Index, facts: Sequence[Fact]) -> None:
        self.index = index
        self.live: defaultdict[str, list[Fact]] = defaultdict(list)
        self.hidden: defaultdict[str, list[Fact]] = defaultdict(list)
        self.texts = [fact.text for fact in facts if fact.status != "forgotten"]
        for fact in facts:
            facts_by_name = self.hidden if fact.status == "forgotten" else self.live
            for name in fact.about:
                facts_by_name[name_key(name)].append(fact)

    @cached_property
    def words(self) -> frozenset[str]:
        """All words of the memories that are not forgotten."""
        return frozenset(word for text in self.texts for word in words(text))

    def contains(self, name: str) -> bool:
        """Return whether a memory that is not forgotten contains a part of a name."""
        return not self.words.isdisjoint(words(name))

    def is_lost(self, edge: Edge) -> bool:
        """Return whether all turns that stated a relation last are hidden."""
        ends = _ends(edge)
        hidden = _stated_at(
            edge, (fact for end in ends for fact in self.hidden.get(end, ()))
        )
        if not hidden or _stated_at(
            edge, (fact for end in ends for fact in self.live.get(end, ()))
        ):
            return False
        keys = {key for fact in hidden for key in fact.turns}
        visible = map(self.index.visible, self.index.units(sorted(keys)).values())
        texts = [unit.turn.text for unit in visible if isinstance(unit, FiledTurn)]
        return not any(
            f"_{end}_" in f"_{name_key(text)}_" for end in ends for text in texts
        )


class EntityRemoval:
    """Removes unsupported entities and relations, and restores them. For the writer."""

    def __init__(self, entity_writer: EntityWriter, index: Index) -> None:
        self.entity_writer = entity_writer
        self.vault = entity_writer.vault
        self.settings = entity_writer.settings
        self.edges = entity_writer.edges
        self.index = index

    def tidy(self, now: datetime) -> None:
        """Make entity notes and relations agree with the memories. Raises EngramError."""
        self.entity_writer.refresh()
        facts = self.index.catalog.facts()
        support = _Support(self.index, facts)
        self._restore(support)
        if not support.hidden and not self.edges.withdrawn:
            return
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
            and not entity.has_user_text
            and not self.entity_writer.names.is_owner(entity.name)
            and any(support.hidden.get(key) or key in withdrawn for key in keys)
            and not any(support.live.get(key) for key in keys)
            and not entity.relations
            and not any(
                edge.type == "relation"
                for edge in self.edges.at([entity_ref(entity.type, entity.name)])
            )
            and not support.contains(entity.name)
        )

    def _remove(self, entity: Entity, now: datetime) -> None:
        """Move a note to the trash."""
        day = f"{now.astimezone(self.settings.zone):%Y-%m-%d}"
        to = f".trash/{day}/{entity.path.rpartition('/')[2]}"
        if not self.vault.exists(to):
            self._move(entity.path, entity.sha, to, WHY)

    def _restore(self, support: _Support) -> None:
        """Restore notes and relations whose memories are visible again."""
        back = [
            row
            for row in self.edges.withdrawn.values()
            if any(
                _stated_at(row.edge, support.live.get(end, ()))
                for end in _ends(row.edge)
            )
        ]
        wanted = set(support.live).union(*(_ends(row.edge) for row in back))
        for path in self.vault.trash_paths():
            name = note_name(path)
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
            written = changes.write(self.vault, [Move(path, sha, to, {}, why)])
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
            self.entity_writer.reread(changes.write(self.vault, [edit]))

    def _entity_at(self, ref: str) -> Entity | None:
        names = self.entity_writer.names
        return names.owner() if ref == _OWNER_REF else names.one(ref.partition(":")[2])


def _ends(edge: Edge) -> list[str]:
    """Return the keys of the names at the ends of an edge, without the owner."""
    refs = {edge.source, edge.target} - {_OWNER_REF}
    return [name_key(ref.partition(":")[2]) for ref in sorted(refs)]


def _stated_at(edge: Edge, facts: Iterable[Fact]) -> list[Fact]:
    """Return those of the facts that were stated when a relation was last stated."""
    return [fact for fact in facts if fact.created and fact.created == edge.reinforced]
