"""Entity notes and relations: what a filed batch says about who and what there is (rows
A13, B1, C13, E2).

Order of commit: the notes, then the edges. A relation gets its line in a note when it
begins and loses it when it ends, once: what a person takes out of a note afterwards
stays out. Entering a batch twice, as after a crash, changes nothing.
"""

from __future__ import annotations

import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from engram.core import graph, trust
from engram.core.entities import (
    ALIAS,
    COUPLE_RELATIONS,
    EXCLUSIVE_RELATIONS,
    OWNER,
    EntityNames,
    entity_ref,
    entity_type_of,
    is_owner,
    name_key,
    relation_label,
)
from engram.core.records import Create, Edge, Edit, Move, Problem
from engram.errors import ConflictError, EngramError, NotFoundError
from engram.vault import disk, entities, frontmatter
from engram.vault.edges import EdgeRow, EdgeStore, edge_id, relation_key
from engram.vault.paths import NOT_TEXT, UNKNOWN, is_text, printable, stat_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from engram.config import Settings
    from engram.core.records import Entity, Extraction, Fact, Relation, Turn
    from engram.vault.paths import Stat
    from engram.vault.store import Vault

LOOK_SECONDS = 1.0


@dataclass(slots=True)
class _EntityChange:
    """What is to change in one note: relations in and out, and further names."""

    add: list[tuple[str, str]] = field(default_factory=list)
    drop: list[tuple[str, str]] = field(default_factory=list)
    aliases: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _StatedRelation:
    """A relation with the turn that states it: when, and how far it is believed, 0–1."""

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
        """Whether it may change notes: aliases neither end nor come from tools."""
        if not relation_label(self.relation.type):
            return False
        from_tool = self.source_class == "tool"
        return not (self.is_alias and (self.relation.ended or from_tool))


class EntityWriter:
    """Knows the entity notes of a vault and keeps them up. Belongs to the one writer."""

    def __init__(self, vault: Vault, settings: Settings) -> None:
        self.vault = vault
        self.settings = settings
        self.names = EntityNames()
        self.edges = EdgeStore(vault)
        self.problems: dict[str, tuple[Problem, ...]] = {}
        self._stats: dict[str, Stat] = {}
        self._unnamed_files: list[Problem] = []  # files whose names are not UTF-8
        # how links to names without a note are written, by key
        self._promised: dict[str, str] = {}
        # aliases that wait for their note, by its path
        self._unnamed: dict[str, list[str]] = {}
        # what else a link may lead to, by name
        self._elsewhere: dict[str, str] | None = None
        self._looked = float("-inf")

    # -- what there is -----------------------------------------------------------------

    def refresh(self) -> None:
        """Look at the folder and read what is new or changed there, whoever wrote it;
        also the edges.
        """
        self._looked = float("-inf")  # a look that is refused half-way is no look
        self._elsewhere = None
        self.edges.refresh()
        every = entities.entity_files(self.settings.vault)
        found = {path: stat for path, stat in every.items() if is_text(path)}
        self._unnamed_files = [
            Problem("name", NOT_TEXT, printable(path))
            for path in sorted(every.keys() - found.keys())
        ]
        for path in self._stats.keys() - found.keys():
            self._forget(path)
        for path, stat in found.items():
            if self._stats.get(path) != stat:
                self._read(path)
        self._looked = time.monotonic()

    def linked(self, names: Iterable[str]) -> tuple[str, ...]:
        """The names by which a memory's `about` links to these entities: an alias
        becomes the entity's own name.

        The owner is left out, for an empty `about` means the owner. Each leads to a
        note once `take` has seen the memory.
        """
        self._look()
        return tuple(
            dict.fromkeys(self._link(name) for name in names if not is_owner(name))
        )

    def ref_of(self, name: str) -> tuple[str, str]:
        """Type and ref of the entity of this name (`E2`); guessed where it has no note.
        Safe from any thread.
        """
        entity = self.names.one(name)
        kind = entity.type if entity else entity_type_of(name)
        return kind, entity_ref(kind, entity.name if entity else name)

    def faults(self) -> list[Problem]:
        """What is wrong with entity notes."""
        self.refresh()
        return self._unnamed_files + [
            one for _, problems in sorted(self.problems.items()) for one in problems
        ]

    def known(self) -> dict[str, Entity]:
        """Every entity by the path of its note, as it is now."""
        self.refresh()
        return {entity.path: entity for entity in self.names.all()}

    def wrote(self, paths: Iterable[str]) -> None:
        """These notes were just written for another reason."""
        self._wrote(path for path in paths if path.startswith(f"{entities.FOLDER}/"))

    def _link(self, name: str) -> str:
        entity = self.names.one(name)
        if entity is None and name_key(name) not in self._promised:
            self._promised[name_key(name)] = entities.unambiguous_stem(
                name, self._others()
            )
        return entity.name if entity else self._promised[name_key(name)]

    def _leads(self, link: str) -> bool:
        """Whether a link leads somewhere: to an entity, or to a note of the person's
        own, which is left to them.
        """
        name = entities.link_key(link)
        return name in self._others() or any(
            entities.link_key(one.name) == name for one in self.names.called(link)
        )

    def _others(self) -> dict[str, str]:
        if self._elsewhere is None:
            self._elsewhere = entities.other_files(self.settings.vault)
        return self._elsewhere

    def _look(self) -> None:
        """A look at the whole folder costs too much for every batch of an import; a
        second is soon enough.
        """
        if time.monotonic() - self._looked > LOOK_SECONDS:
            self.refresh()

    def _read(self, path: str) -> None:
        """Take in the note as it is now."""
        try:
            stat = stat_of((self.settings.vault / path).lstat())
            raw = self._bytes(path)
        except (FileNotFoundError, NotFoundError):
            self._forget(path)
            return
        except EngramError as fault:  # one file holds nothing else up, and no second one of its name is made
            if path not in self._stats:
                self.names.put(
                    path,
                    entities.entity_from(
                        frontmatter.read(b""), path, "", self.settings.zone
                    )[0],
                )
            self._stats[path] = UNKNOWN
            self.problems[path] = (Problem("unreadable", fault.what, path),)
            return
        held = frontmatter.read(raw, self.settings.policy.files)
        entity, problems = entities.entity_from(
            held, path, disk.sha256(raw), self.settings.zone
        )
        self._stats[path] = stat
        if entity.superseded:  # its names are another's
            self.names.drop(path)
        else:
            self.names.put(path, entity)
        self.problems.pop(path, None)
        if problems:
            self.problems[path] = problems

    def _bytes(self, path: str) -> bytes:
        """What stands in a note; whoever is refused once asks again, for what waits
        does so until the next batch.
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

    # -- what a batch says -------------------------------------------------------------

    def take(
        self,
        facts: Sequence[Fact],
        extraction: Extraction,
        turns: Sequence[Turn],
        now: datetime,
        ties: Iterable[Edge] = (),
    ) -> None:
        """Enter what the new `facts` are about and how that is related (rows A13, B1,
        C13, E2).

        Makes a note for every name that has none, so that every link in a fact leads
        somewhere; relations become edges and lines in notes, `ties` between memories
        edges that are kept once. A note that a person touched within `quiet_seconds` is
        left alone and gets its lines with a later batch.
        """
        self._look()
        stated = self._stated(extraction.relations, turns)
        relations = sorted(
            (one for one in stated if not one.is_alias), key=lambda one: one.said_at
        )
        aliases = [one.relation for one in stated if one.is_alias]
        since = min((turn.occurred_at for turn in turns), default=now)

        types = _types(extraction, turns)
        self._retype(types, now)
        created = self._fresh(_names(facts, relations, since), types)
        changed = self._changes(relations)
        wishes = self._wishes(changed, aliases)
        self._create(
            {
                path: _granted_new(entity, wishes.pop(path, _EntityChange()))
                for path, entity in created.items()
            }
        )
        waiting = self._update_notes(wishes, now)

        rows = [self._settled(row, waiting) for row in changed.values()]
        rows += [EdgeRow(tie) for tie in ties if edge_id(tie) not in self.edges.lines]
        self.edges.append(rows)

    def _stated(
        self, relations: Iterable[Relation], turns: Sequence[Turn]
    ) -> list[_StatedRelation]:
        """Return the relations that these turns state and that may change notes."""
        by_id = {turn.id: turn for turn in turns}
        policy = self.settings.policy.trust
        stated = []
        for relation in relations:
            turn = by_id.get(relation.turn_id)
            if turn is None:
                continue
            source_class = trust.source_class(
                trust.turn_as_evidence(turn, relation.quote)
            )
            believed = trust.trust(source_class, policy)
            stated.append(
                _StatedRelation(relation, turn.occurred_at, source_class, believed)
            )
        return [one for one in stated if one.is_usable]

    def _update_notes(
        self, wishes: Mapping[str, _EntityChange], now: datetime
    ) -> set[str]:
        """Change existing notes; return the paths of those that have to wait."""
        with disk.DeferredSyncs() as pending:
            waiting = {
                path
                for path, wish in wishes.items()
                if not self._granted(path, wish, now, pending)
            }
        self._unnamed = {
            path: wishes[path].aliases for path in waiting if wishes[path].aliases
        }
        return waiting

    def _fresh(
        self, wanted: Sequence[tuple[str, datetime]], types: Mapping[str, str]
    ) -> dict[str, Entity]:
        """The entities of names that nobody has and whose link leads nowhere, by the
        path their note will have.
        """
        fresh: dict[str, Entity] = {}
        for name, since in wanted:
            link = self._link(name)
            if self.names.one(name) or is_owner(name) or self._leads(link):
                continue
            said = name if link == entities.stem(name) else link
            entity = entities.new_entity(
                said, entity_type_of(name, types.get(name_key(name), "")), since
            )
            if self.vault.exists(entity.path):  # a person made it a moment ago
                self._read(entity.path)
            else:
                fresh[entity.path] = entity
                self.names.put(entity.path, entity)
        self._promised.clear()
        return fresh

    def _create(self, fresh: Mapping[str, Entity]) -> None:
        """Make the notes of these entities; where that is refused, nobody knows them
        before the next look.
        """
        zone = self.settings.zone
        try:
            self._wrote(
                self.vault.apply(
                    Create(
                        path,
                        entities.entity_keys(entity, zone),
                        entities.entity_body(entity),
                        "a new name",
                    )
                    for path, entity in fresh.items()
                )
            )
        except EngramError:
            for path in fresh:
                self._forget(path)
            self._looked = float("-inf")
            raise

    def _retype(self, types: Mapping[str, str], now: datetime) -> None:
        """Give notes of ours that were concepts, for want of knowing better, the type
        that is said now (`B1`).

        Links go by the name, so each moves to the folder of its type. One that is no
        concept any more, or stands elsewhere, is as a person wants it.
        """
        for name, kind in types.items():
            entity = self.names.one(name)
            if entity is None or kind == "concept" or not _is_guessed(entity):
                continue
            self._read(entity.path)
            entity = self.names.one(name)
            if (
                entity is None
                or not _is_guessed(entity)
                or self._is_busy(entity.path, now)
            ):
                continue
            to, why = entities.path_of(entity.name, kind), "somebody said what it is"
            with suppress(ConflictError):
                held = self.vault.apply(
                    [Edit(entity.path, entity.sha, {"type": kind}, why)]
                )
                self._wrote(held)
                if not self.vault.exists(to):
                    sha = disk.sha256(held[entity.path])
                    self._wrote(self.vault.apply([Move(entity.path, sha, to, {}, why)]))

    def _changes(self, relations: Sequence[_StatedRelation]) -> dict[str, EdgeRow]:
        """Return the edges that relations open, end or reinforce, by edge id.

        Edges whose note still waits for its line are among them. A statement counts at
        most as far as its source is believed, and ends no edge of a source that is
        believed more (rows D6, X27).
        """
        changed = self.edges.unlisted()
        for stated in relations:
            relation, trusted = stated.relation, stated.trust
            seen = self._edge(relation)
            seen = replace(seen, confidence=min(seen.confidence, trusted))
            same_entity = name_key(relation.subject) == name_key(relation.object)
            if same_entity or seen.source == seen.target:
                continue
            if relation.ended:
                changed |= self._over(seen, stated.said_at, changed, trusted)
            else:
                changed |= self._reinforced(seen, stated, changed)
        return changed

    def _reinforced(
        self, seen: Edge, stated: _StatedRelation, changed: Mapping[str, EdgeRow]
    ) -> dict[str, EdgeRow]:
        """Return the edges that a relation which holds opens, reinforces or replaces."""
        known = self._like(seen, changed)
        edges = graph.update_relations(
            [row.edge for row in known.values()],
            seen,
            stated.said_at,
            self.settings.policy.links,
            single=seen.label in EXCLUSIVE_RELATIONS,
        )
        if any(_ends(known.get(edge_id(edge)), edge, stated.trust) for edge in edges):
            return {}
        return {
            edge_id(edge): _row(edge, known.get(edge_id(edge)), seen, stated.trust)
            for edge in edges
        }

    def _over(
        self, seen: Edge, said: datetime, changed: Mapping[str, EdgeRow], most: float
    ) -> dict[str, EdgeRow]:
        """The edges that end with a relation; between two who were a couple each that
        says so, either way.
        """
        ways = [seen]
        if seen.label in COUPLE_RELATIONS:
            turned = replace(seen, source=seen.target, target=seen.source)
            ways = [
                replace(way, label=one)
                for way in (seen, turned)
                for one in sorted(COUPLE_RELATIONS)
            ]
        ended: dict[str, EdgeRow] = {}
        for way in ways:
            lines = {
                name: line
                for name, line in self._like(way, changed).items()
                if line.trust <= most
            }
            for edge in graph.ended_relations(
                [line.edge for line in lines.values()], way, said
            ):
                ended[edge_id(edge)] = replace(
                    lines[edge_id(edge)], edge=edge, unlisted=True
                )
        return ended

    def _like(self, edge: Edge, changed: Mapping[str, EdgeRow]) -> dict[str, EdgeRow]:
        """The lines of the same type and label from the same source, as this batch has
        left them.
        """
        return self.edges.same_relation(edge) | {
            name: line
            for name, line in changed.items()
            if relation_key(line.edge) == relation_key(edge)
        }

    def _edge(self, one: Relation) -> Edge:
        source, target = (self._ref(name) for name in (one.subject, one.object))
        return Edge(
            source,
            target,
            "relation",
            relation_label(one.type),
            one.confidence,
            attitude=one.attitude,
            proximity=one.proximity,
        )

    def _ref(self, name: str) -> str:
        entity = self.names.one(name)
        if is_owner(name):
            return entity_ref("person", OWNER)
        return (
            entity_ref(entity.type, entity.name)
            if entity
            else entity_ref(entity_type_of(name), name)
        )

    def _wishes(
        self, lines: Mapping[str, EdgeRow], named: Sequence[Relation]
    ) -> dict[str, _EntityChange]:
        """What is asked of the notes, by path. The owner has no note."""
        wishes: defaultdict[str, _EntityChange] = defaultdict(_EntityChange)
        for path, aliases in self._unnamed.items():
            wishes[path].aliases += aliases
        for one in named:
            if (entity := self.names.one(one.subject)) is not None:
                wishes[entity.path].aliases.append(one.object)
        for line in lines.values():
            source, target = self._end(line.edge.source), self._end(line.edge.target)
            if line.unlisted and source and target:
                wish = wishes[source.path]
                (wish.drop if line.edge.valid_until else wish.add).append(
                    (line.edge.label, target.name)
                )
        return dict(wishes)

    def _end(self, end: str) -> Entity | None:
        """The entity at the end of an edge."""
        return self.names.one(end.partition(":")[2])

    # -- the files ---------------------------------------------------------------------

    def _granted(
        self, path: str, wish: _EntityChange, now: datetime, pending: set[Path]
    ) -> bool:
        """Whether the note says what is wished; False where a person is at it, or it
        has a fault.
        """
        self._read(path)
        if path not in self._stats:
            return True  # gone, and nothing is owed to it any more
        if self._stats[path] == UNKNOWN:
            return False
        raw = self.vault.read(path)
        held = frontmatter.read(raw, self.settings.policy.files)
        entity, _ = entities.entity_from(held, path, "", self.settings.zone)
        body = entities.with_relations(held.body, wish.add, wish.drop)
        fresh = _new_names(entity, wish)
        keys = {"aliases": [*entity.aliases, *fresh]} if fresh else {}
        if not keys and body == held.body:
            return True
        if self._is_busy(path, now):
            return False
        try:
            self._wrote(
                self.vault.apply(
                    [Edit(path, disk.sha256(raw), keys, "a relation", body)],
                    pending=pending,
                )
            )
        except ConflictError:
            return False
        return True

    def _is_busy(self, path: str, now: datetime) -> bool:
        """Whether somebody else wrote the note within `quiet_seconds`, or it cannot be
        read.
        """
        rests = self.vault.is_at_rest(
            path, now, self.settings.policy.files.quiet_seconds
        )
        return self._stats[path] == UNKNOWN or not rests

    def _wrote(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._read(path)

    def _settled(self, line: EdgeRow, waiting: set[str]) -> EdgeRow:
        """The line, owed as long as its note waits."""
        source = self._end(line.edge.source)
        return replace(
            line,
            unlisted=line.unlisted and source is not None and source.path in waiting,
        )


def _granted_new(entity: Entity, wish: _EntityChange) -> Entity:
    """The entity as its first note says it."""
    aliases = (*entity.aliases, *_new_names(entity, wish))
    return replace(entity, aliases=aliases, relations=tuple(dict.fromkeys(wish.add)))


def _new_names(entity: Entity, wish: _EntityChange) -> list[str]:
    called = {name_key(name) for name in (entity.name, *entity.aliases)}
    return [
        alias for alias in dict.fromkeys(wish.aliases) if name_key(alias) not in called
    ]


def _row(edge: Edge, before: EdgeRow | None, seen: Edge, trusted: float) -> EdgeRow:
    """Return the row of an edge after a statement `seen`, with `before` its last row.

    The note is owed a line where the edge is new, still waits, or begins or ends.
    """
    if before is None:
        level = trusted if edge.target == seen.target else 0.0
        confidence = min(edge.confidence, trusted)
        return EdgeRow(replace(edge, confidence=confidence), unlisted=True, trust=level)

    unlisted = before.unlisted or before.edge.valid_until != edge.valid_until
    level = max(before.trust, trusted) if edge.target == seen.target else before.trust
    confidence = min(edge.confidence, max(trusted, before.edge.confidence))
    return EdgeRow(replace(edge, confidence=confidence), unlisted=unlisted, trust=level)


def _names(
    facts: Sequence[Fact], relations: Sequence[_StatedRelation], since: datetime
) -> list[tuple[str, datetime]]:
    """Return the names that need a note, each with the time of its first mention."""
    names = [(name, fact.created or since) for fact in facts for name in fact.about]
    for stated in relations:
        if not stated.relation.ended:
            names.append((stated.relation.subject, stated.said_at))
            names.append((stated.relation.object, stated.said_at))
    return names


def _ends(before: EdgeRow | None, edge: Edge, most: float) -> bool:
    """Whether an edge ends that was said by somebody believed more."""
    return (
        before is not None
        and before.trust > most
        and before.edge.valid_until != edge.valid_until
    )


def _is_guessed(entity: Entity) -> bool:
    """Whether a note is a concept as we made it: with an id, and where concepts are
    put.
    """
    return bool(entity.id) and (entity.type, entity.path) == (
        "concept",
        entities.path_of(entity.name, "concept"),
    )


def _types(extraction: Extraction, turns: Sequence[Turn]) -> dict[str, str]:
    """The type of each name, by its key: who speaks is a person, the rest as the
    extractor says.
    """
    said = {name_key(name): kind for name, kind in extraction.types.items()}
    return {
        name_key(turn.speaker): "person"
        for turn in turns
        if turn.speaker and turn.role == "user"
    } | said
