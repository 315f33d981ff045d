"""Entity notes and relations of a filed batch (rows A13, B1, C13, E2).

The notes are written first, then the edges. A relation gets its line in a note when it
begins, and the day of its end when it ends; a line that a user removes is not written
again. Writing a batch twice, as after a crash, changes nothing.
"""

from __future__ import annotations

import time
from collections import defaultdict
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from engram.core import trust
from engram.core.attributes import attribute
from engram.core.entities import (
    OWNER,
    OWNER_ALIAS,
    EntityNames,
    entity_ref,
    entity_type_of,
    is_owner,
    name_key,
)
from engram.core.language.privacy import words_are_private
from engram.core.language.sentences import sentences
from engram.core.language.states import continues_older_state
from engram.core.records import (
    Change,
    Create,
    Edge,
    Edit,
    Entity,
    Extraction,
    Fact,
    Move,
    Problem,
    Relation,
    Turn,
)
from engram.core.relations import RelationUpdate, line_changes, relation_line
from engram.errors import ConflictError, EngramError, NotFoundError
from engram.pipeline.relation_edges import StatedRelation, changed_edges
from engram.vault import changes, disk, entities, frontmatter
from engram.vault.edges import EdgeRow, EdgeStore, edge_id
from engram.vault.paths import NOT_TEXT, UNKNOWN, Stat, is_text, printable, stat_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from engram.config import Settings
    from engram.vault.frontmatter import Note
    from engram.vault.store import Vault

REFRESH_SECONDS = 1.0
"""Seconds for which the notes are taken as unchanged while batches are written."""


@dataclass(slots=True)
class _EntityChange:
    """Changes of one note: relations and additional names."""

    relations: list[RelationUpdate] = field(default_factory=list)
    aliases: list[str] = field(default_factory=list)


class EntityWriter:
    """Reads and writes the entity notes of a vault. For the writer thread."""

    def __init__(self, vault: Vault, settings: Settings) -> None:
        self.vault = vault
        self.settings = settings
        self.names = EntityNames(settings.owner)
        self.edges = EdgeStore(vault)
        self.problems: dict[str, tuple[Problem, ...]] = {}
        self._stats: dict[str, Stat] = {}
        self._unnamed_files: list[Problem] = []  # files whose names are not UTF-8
        # links to names that have no note yet, by the key of the name
        self._new_links: dict[str, str] = {}
        # entities whose notes the next batch creates, by path
        self._expected: dict[str, Entity] = {}
        # aliases that are not yet in their note, by its path
        self._waiting_aliases: dict[str, list[str]] = {}
        # paths of notes that are no entities, by the key of a link; None: not read
        self._other_files: dict[str, str] | None = None
        self._refreshed_at = float("-inf")

    # -- reading -----------------------------------------------------------------------

    def refresh(self) -> None:
        """Read the new and changed notes of the folder, and the edges."""
        self._refreshed_at = float("-inf")  # not changed if the folder cannot be read
        self._other_files = None
        self.edges.refresh()
        files = entities.entity_files(self.settings.vault)
        notes = {path: stat for path, stat in files.items() if is_text(path)}
        self._unnamed_files = [
            Problem("name", NOT_TEXT, printable(path))
            for path in sorted(files.keys() - notes.keys())
        ]
        for path in self._stats.keys() - notes.keys():
            self._forget(path)
        for path, stat in notes.items():
            if self._stats.get(path) != stat:
                self._read(path)
        self._refreshed_at = time.monotonic()

    def link_names(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the names by which the `about` of a memory links to these entities.

        An alias becomes the name of its entity. The owner is left out under all their
        names, because an empty `about` means the owner. `write` creates the notes that
        do not exist yet.
        """
        self.refresh_if_stale()
        others = (name for name in names if not self.names.is_owner(name))
        return tuple(dict.fromkeys(self._link(name) for name in others))

    def ref_of(self, name: str) -> tuple[str, str]:
        """Return the type and ref of the entity with this name; thread-safe (`E2`).

        Both are guessed if the entity has no note.
        """
        if self.names.is_owner(name):
            return "person", entity_ref("person", OWNER)
        entity = self.names.one(name)
        kind = entity.type if entity else entity_type_of(name)
        return kind, entity_ref(kind, entity.name if entity else name)

    def find_problems(self) -> list[Problem]:
        """Return the problems in entity notes."""
        self.refresh()
        return self._unnamed_files + [
            problem
            for _, problems in sorted(self.problems.items())
            for problem in problems
        ]

    def entities_by_path(self) -> dict[str, Entity]:
        """Return every entity by the path of its note; changed notes are read again."""
        self.refresh()
        return {entity.path: entity for entity in self.names.all()}

    def reread(self, paths: Iterable[str]) -> None:
        """Read the entity notes among `paths` again after another part wrote them."""
        for path in paths:
            if path.startswith(f"{entities.FOLDER}/"):
                self._read(path)

    def _link(self, name: str) -> str:
        entity = self.names.one(name)
        if entity is not None:
            return entity.name
        key = name_key(name)
        if key not in self._new_links:
            stem = entities.unambiguous_stem(name, self._others())
            self._new_links[key] = stem
        return self._new_links[key]

    def _resolves(self, link: str) -> bool:
        """Return whether a link leads to an entity, or to another note of the user."""
        name = entities.link_key(link)
        return name in self._others() or any(
            entities.link_key(one.name) == name for one in self.names.called(link)
        )

    def _others(self) -> dict[str, str]:
        if self._other_files is None:
            self._other_files = entities.other_files(self.settings.vault)
        return self._other_files

    def refresh_if_stale(self) -> None:
        """Refresh, but not for every batch of an import: the folder may be large."""
        if time.monotonic() - self._refreshed_at > REFRESH_SECONDS:
            self.refresh()

    def _read(self, path: str) -> tuple[bytes, Note, Entity] | None:
        """Read one note and return it; forget the entity if the note does not exist."""
        try:
            stat = stat_of((self.settings.vault / path).lstat())
            raw = self._read_twice(path)
        except (FileNotFoundError, NotFoundError):
            self._forget(path)
            return None
        except EngramError as fault:
            self._mark_unreadable(path, fault)
            return None

        note = frontmatter.read(raw, self.settings.policy.files)
        entity, problems = entities.entity_from(
            note, path, disk.sha256(raw), self.settings.zone
        )
        self._stats[path] = stat
        if entity.superseded:  # its names belong to another entity
            self.names.drop(path)
        else:
            self.names.put(path, self._with_former_name(note, entity))
        self.problems.pop(path, None)
        if problems:
            self.problems[path] = problems
        return raw, note, entity

    def _with_former_name(self, note: Note, entity: Entity) -> Entity:
        """Return the entity of a renamed note, with its old name as an alias.

        Old links and later statements then lead to it. The next batch writes the alias.
        """
        former = entities.former_name(note, entity)
        known = {name_key(name) for name in (entity.name, *entity.aliases)}
        if not former or name_key(former) in known:
            return entity
        waiting = self._waiting_aliases.setdefault(entity.path, [])
        if former not in waiting:
            waiting.append(former)
        return replace(entity, aliases=(*entity.aliases, former))

    def _mark_unreadable(self, path: str, fault: EngramError) -> None:
        """Report a note that cannot be read, and keep its name in use.

        Otherwise a second note with this name would be created.
        """
        if path not in self._stats:
            empty = frontmatter.read(b"")
            entity, _ = entities.entity_from(empty, path, "", self.settings.zone)
            self.names.put(path, entity)
        self._stats[path] = UNKNOWN
        self.problems[path] = (Problem("unreadable", fault.what, path),)

    def _read_twice(self, path: str) -> bytes:
        """Return the content of a note, with a second attempt after a failure.

        The changes of a note that cannot be read would have to wait for the next batch.
        """
        try:
            return self.vault.read(path)
        except NotFoundError:
            raise
        except EngramError:
            return self.vault.read(path)

    def _forget(self, path: str) -> None:
        self.names.drop(path)
        self._stats.pop(path, None)
        self.problems.pop(path, None)

    # -- writing a batch ---------------------------------------------------------------

    @contextmanager
    def expecting(self) -> Iterator[None]:
        """Forget at the end the expected entities that were not written."""
        try:
            yield
        finally:
            for path in self._expected:
                self._forget(path)
            self._expected.clear()

    def expect(
        self, facts: Sequence[Fact], types: Mapping[str, str], now: datetime
    ) -> None:
        """Make the names of new facts known before `write` creates their notes."""
        kinds = {name_key(name): kind for name, kind in types.items()}
        for path, entity in [*self._expected.items()]:
            kind = kinds.get(name_key(entity.name), entity.type)
            if entity.type == "concept" != kind:
                self._forget(path)
                del self._expected[path]
                typed = replace(
                    entity, type=kind, path=entities.path_of(entity.name, kind)
                )
                self._expected[typed.path] = typed
                self.names.put(typed.path, typed)
        self._expected |= self._new_entities(_names(facts, (), now), kinds)

    def write(
        self,
        facts: Sequence[Fact],
        extraction: Extraction,
        turns: Sequence[Turn],
        now: datetime,
        similarities: Iterable[Edge] = (),
    ) -> None:
        """Write the entities and relations of new `facts` (rows A13, B1, C13, E2).

        Every name without a note gets one, so that the links of the facts resolve.
        Relations become edges and lines in notes; `similarities` are edges between
        memories, each stored once. A note that a user edited within `quiet_seconds` is
        changed with a later batch.
        """
        self.refresh_if_stale()
        stated = self._stated(extraction.relations, turns)
        relations = sorted(
            (one for one in stated if not one.is_alias), key=lambda one: one.said_at
        )
        aliases = [one.relation for one in stated if one.is_alias]
        since = min((turn.occurred_at for turn in turns), default=now)

        types = _types(extraction, turns)
        self._retype(types, now)
        names = _names(facts, relations, since)
        created = self._expected | self._new_entities(names, types)
        self._expected.clear()
        edges = [(one, self._edge(one)) for one in relations]
        changed = changed_edges(self.edges, edges, self.settings.policy.links)
        changes = self._note_changes(changed, aliases)
        self._create(
            {
                path: _changed(entity, changes.pop(path, _EntityChange()))
                for path, entity in created.items()
            }
        )
        waiting = self._update_notes(changes, now)

        rows = [self._written_row(row, waiting) for row in changed.values()]
        rows += [
            EdgeRow(edge)
            for edge in similarities
            if edge_id(edge) not in self.edges.lines
        ]
        self.edges.append(rows)

    def add_owner_names(
        self, names: Sequence[str], since: datetime, now: datetime
    ) -> None:
        """Add names to the note of the owner; if there is none, create it.

        The first name becomes its name. An existing note with that name becomes the
        owner's.
        """
        self.refresh_if_stale()
        owner = self.names.owner() or self.names.one(names[0])
        if owner is None:
            new = entities.new_entity(self._link(names[0]), "person", since)
            self._new_links.clear()
            change = _EntityChange(aliases=[OWNER_ALIAS, *names])
            entity = _changed(new, change)
            self._create({entity.path: entity})
            return

        self._retype({name_key(owner.name): "person"}, now)
        owner = self.names.one(owner.name) or owner
        is_marked = any(map(is_owner, owner.aliases))
        aliases = [*names] if is_marked else [OWNER_ALIAS, *names]
        waiting = self._update_notes({owner.path: _EntityChange(aliases=aliases)}, now)
        if waiting:
            self._waiting_aliases[owner.path] = aliases

    def _stated(
        self, relations: Iterable[Relation], turns: Sequence[Turn]
    ) -> list[StatedRelation]:
        """Return the relations stated by these turns that may change notes.

        Entity notes are shared by all personas, so a private turn yields none (`E14`).
        """
        by_id = {turn.id: turn for turn in turns}
        policy = self.settings.policy.trust
        stated = []
        for relation in relations:
            turn = by_id.get(relation.turn_id)
            if turn is None or words_are_private(turn, relation.quote):
                continue
            beside = relation.beside or continues_older_state(
                _sentence(turn.text, relation.quote)
            )
            source_class = trust.source_class(
                trust.turn_as_evidence(turn, relation.quote)
            )
            source_trust = trust.trust(source_class, policy)
            stated.append(
                StatedRelation(
                    replace(relation, beside=beside),
                    turn.occurred_at,
                    source_class,
                    source_trust,
                )
            )
        return [one for one in stated if one.is_usable]

    def _update_notes(
        self, changes: Mapping[str, _EntityChange], now: datetime
    ) -> set[str]:
        """Change existing notes; return the paths of those that have to wait."""
        with disk.DeferredSyncs() as pending:
            waiting = {
                path
                for path, change in changes.items()
                if not self._apply(path, change, now, pending)
            }
        self._waiting_aliases = {
            path: changes[path].aliases for path in waiting if changes[path].aliases
        }
        return waiting

    def _new_entities(
        self, names: Sequence[tuple[str, datetime]], types: Mapping[str, str]
    ) -> dict[str, Entity]:
        """Return entities for the names that have none, by the path of their note.

        `names` come with the time of their first mention. A name whose link resolves to
        another note needs no entity.
        """
        created: dict[str, Entity] = {}
        for name, since in names:
            link = self._link(name)
            if (
                self.names.one(name)
                or self.names.is_owner(name)
                or self._resolves(link)
            ):
                continue

            title = name if link == entities.stem(name) else link
            kind = entity_type_of(name, types.get(name_key(name), ""))
            entity = entities.new_entity(title, kind, since)
            if self.vault.exists(entity.path):  # created since the last refresh
                self._read(entity.path)
            else:
                created[entity.path] = entity
                self.names.put(entity.path, entity)
        self._new_links.clear()
        return created

    def _create(self, created: Mapping[str, Entity]) -> None:
        """Create the notes of new entities. Raises EngramError.

        After an error the entities are unknown until the next refresh.
        """
        zone = self.settings.zone
        notes = (
            Create(
                path,
                entities.entity_keys(entity, zone),
                entities.entity_body(entity),
                "a new name",
            )
            for path, entity in created.items()
        )
        try:
            self._read_all(changes.write(self.vault, notes))
        except EngramError:
            for path in created:
                self._forget(path)
            self._refreshed_at = float("-inf")
            raise

    def _retype(self, types: Mapping[str, str], now: datetime) -> None:
        """Change the type of guessed concepts to the type that was stated (`B1`).

        The note moves to the folder of its type; links use its name and stay valid. Any
        other note keeps its type, which a user may have chosen.
        """
        for name, kind in types.items():
            entity = self.names.one(name)
            if entity is None or kind == "concept" or not _is_guessed(entity):
                continue
            if entity.path in self._expected:
                continue

            self._read(entity.path)
            entity = self.names.one(name)
            if entity is None or not _is_guessed(entity):
                continue
            if not self._is_busy(entity.path, now):
                self._set_type(entity, kind)

    def _set_type(self, entity: Entity, kind: str) -> None:
        """Set the type in a note, and move the note to the folder of that type."""
        target, why = entities.path_of(entity.name, kind), "its type was stated"
        path, sha, keys = entity.path, entity.sha, {"type": kind}
        change: Change = Move(path, sha, target, keys, why)
        if self.vault.exists(target):
            change = Edit(path, sha, keys, why)
        with suppress(ConflictError):
            self._read_all(changes.write(self.vault, [change]))

    def _edge(self, stated: StatedRelation) -> Edge:
        return stated.edge(
            self._ref(stated.relation.subject), self._ref(stated.relation.object)
        )

    def _ref(self, name: str) -> str:
        _, ref = self.ref_of(name)
        return ref

    def _note_changes(
        self, rows: Mapping[str, EdgeRow], aliases: Sequence[Relation]
    ) -> dict[str, _EntityChange]:
        """Return the changes of entity notes, by path.

        `add_owner_names` adds the names of the owner.
        """
        changes: defaultdict[str, _EntityChange] = defaultdict(_EntityChange)
        for path, waiting in self._waiting_aliases.items():
            changes[path].aliases += waiting
        for relation in aliases:
            entity = self.names.one(relation.subject)
            if entity is not None and not self.names.is_owner(relation.subject):
                changes[entity.path].aliases.append(relation.object)

        for row in rows.values():
            source = self._entity_at(row.edge.source)
            target = self._entity_at(row.edge.target)
            if row.unlisted and source and target:
                update = self._line_update(row, target.name)
                changes[source.path].relations.append(update)
        return dict(changes)

    def _line_update(self, row: EdgeRow, name: str) -> RelationUpdate:
        """Return the change of the line for an edge; `name` is that of its target."""
        stored = self.edges.lines.get(edge_id(row.edge))
        zone = self.settings.zone
        return RelationUpdate(
            row.edge.label,
            name,
            before=relation_line(stored.edge, name, zone) if stored else None,
            after=relation_line(row.edge, name, zone),
            # An ended edge that waits may already have its line in the note.
            is_new=stored is None
            or (stored.unlisted and stored.edge.valid_until is None),
        )

    def _entity_at(self, ref: str) -> Entity | None:
        """Return the entity with the ref of an edge, if it has a note."""
        if ref == entity_ref("person", OWNER):
            return self.names.owner()
        return self.names.one(ref.partition(":")[2])

    # -- files -------------------------------------------------------------------------

    def _apply(
        self, path: str, change: _EntityChange, now: datetime, pending: set[Path]
    ) -> bool:
        """Change a note; return False if the change has to wait.

        It waits while a user edits the note or the note cannot be read.
        """
        read = self._read(path)
        if read is None:  # if the note was deleted, nothing has to be changed
            return path not in self._stats
        raw, note, entity = read
        add, drop = line_changes(entity.relations, change.relations)
        body = entities.with_relations(note.body, add, drop)
        names = _new_names(entity, change)
        keys = {"aliases": [*entity.aliases, *names]} if names else {}
        if not keys and body == note.body:
            return True
        if self._is_busy(path, now):
            return False

        edit = Edit(path, disk.sha256(raw), keys, "a relation", body)
        try:
            self._read_all(changes.write(self.vault, [edit], pending))
        except ConflictError:
            return False
        return True

    def _is_busy(self, path: str, now: datetime) -> bool:
        """Return whether a note was edited within `quiet_seconds` or cannot be read."""
        quiet = self.settings.policy.files.quiet_seconds
        at_rest = self.vault.is_at_rest(path, now, quiet)
        return self._stats[path] == UNKNOWN or not at_rest

    def _read_all(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._read(path)

    def _written_row(self, row: EdgeRow, waiting: set[str]) -> EdgeRow:
        """Return the row; it stays unlisted if its note is among `waiting`."""
        source = self._entity_at(row.edge.source)
        is_waiting = source is not None and source.path in waiting
        return replace(row, unlisted=row.unlisted and is_waiting)


def _changed(entity: Entity, change: _EntityChange) -> Entity:
    """Return a new entity with the names and relations of a change."""
    aliases = (*entity.aliases, *_new_names(entity, change))
    add, _ = line_changes((), change.relations)
    return replace(entity, aliases=aliases, relations=tuple(add))


def _new_names(entity: Entity, change: _EntityChange) -> list[str]:
    """Return the aliases of a change that the entity does not have."""
    known = {name_key(name) for name in (entity.name, *entity.aliases)}
    return [
        alias for alias in dict.fromkeys(change.aliases) if name_key(alias) not in known
    ]


def _sentence(text: str, quote: str) -> str:
    """Return the sentence of a text that contains a quote, or the quote."""
    place = text.find(quote)
    spans = sentences(text) if place >= 0 else ()
    return next((text[a:b] for a, b in spans if a <= place < b), quote)


def _names(
    facts: Sequence[Fact], relations: Sequence[StatedRelation], since: datetime
) -> list[tuple[str, datetime]]:
    """Return the names that need a note, each with the time of its first mention."""
    names = [(name, fact.created or since) for fact in facts for name in fact.about]
    for stated in relations:
        if not stated.relation.ended:
            names.append((stated.relation.subject, stated.said_at))
            names.append((stated.relation.object, stated.said_at))
    return names


def _is_guessed(entity: Entity) -> bool:
    """Return whether a note is a concept that engram created and no user has moved."""
    path = entities.path_of(entity.name, "concept")
    return bool(entity.id) and entity.type == "concept" and entity.path == path


def _types(extraction: Extraction, turns: Sequence[Turn]) -> dict[str, str]:
    """Return the stated types, by the keys of names.

    A speaker is a person unless the extractor states another type, and so is a name
    that is the value of an attribute such as the partner.
    """
    people = (
        one.value for one in extraction.candidates if attribute(one.attribute).person
    )
    stated = {name_key(name): kind for name, kind in extraction.types.items()}
    speakers = {
        name_key(turn.speaker): "person"
        for turn in turns
        if turn.speaker and turn.role == "user"
    }
    return speakers | dict.fromkeys(map(name_key, people), "person") | stated
