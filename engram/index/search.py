"""The index of a vault: its catalogue, its lexical index and its vectors.

All of it is derived: deleting the cache folder changes no answer (row X20). Turns that
wait for their file are found too.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, cast

from engram.core import graph
from engram.core.language.echo import own_words
from engram.core.lifecycle import effective_expiry
from engram.core.reading import read
from engram.core.records import REMEMBERED, Fact, FiledTurn
from engram.core.turn_versions import text_digest
from engram.errors import EngramError, Health, NotFoundError, StorageError
from engram.index import hiding
from engram.index.bm25 import Bm25Index, IndexedText
from engram.index.catalog import Catalog
from engram.index.database import key_of, open_store
from engram.index.embedder import version
from engram.index.hiding import Tombstones
from engram.index.parse import Entry, broken
from engram.index.scan import Scanner
from engram.index.semantic import SemanticIndex
from engram.vault import disk
from engram.vault.paths import FilePlace

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Collection,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )
    from datetime import datetime
    from pathlib import Path

    from engram.config import Settings
    from engram.core.graph import WeightedEdge
    from engram.core.ranking import Question, VectorMatch
    from engram.core.records import Edge
    from engram.index.database import Unit
    from engram.index.diff import Diff
    from engram.index.filters import SearchFilter
    from engram.index.protocol import IndexStore
    from engram.vault.git import Git
    from engram.vault.store import Vault

CurrentFile = Entry | bool | None
"""The present state of a file: True as in the catalogue, None missing, else new."""

INDEX = "index"
"""The part of a process that does not work while the catalogue is late."""


class Index:
    """The index of one vault.

    `catalog` looks units up by key, `lexical` searches by words and `semantic` by
    embeddings (None without a model). `scanner` updates the catalogue from the files,
    `tombstones` has the hidden units. `store` has its rows, if it is already open; it
    is closed with the index. Only one thread may change an index; any may read it.
    """

    def __init__(
        self,
        settings: Settings,
        vault: Vault,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        git: Git | None = None,
        store: IndexStore | None = None,
        health: Health | None = None,
    ) -> None:
        self.settings = settings
        self.health = health or Health()
        # own writes that the catalogue misses, and whether it may miss more
        self._late: dict[str, bytes] = {}
        self._tolerant = False
        policy = settings.policy.files
        zone = settings.zone
        self.vault = vault
        self.tombstones = Tombstones(
            vault, settings.state / "tombstones.jsonl", in_git=git is not None
        )
        self._lexical = Bm25Index(settings.policy.lexical, zone)
        self._waiting: dict[str, FiledTurn] = {}
        # those of `_waiting` that are not in the lexical index yet
        self._new: list[FiledTurn] = []
        self._updating = threading.Lock()
        database = store or open_store(settings)
        try:
            self.semantic = _semantic(settings, database)
            self.catalog = Catalog(database, policy, self.tombstones.deletion)
            self.scanner = Scanner(
                self.catalog,
                settings.vault,
                zone,
                policy,
                monotonic,
                git=git,
                left_out=settings.leave_out,
            )
            self._mark = self._load_snapshot()
            self._update()
        except BaseException:
            database.close()
            raise

    def close(self) -> None:
        """Save the lexical index and close the database."""
        with suppress(EngramError):
            self.save()
        self.catalog.close()

    def save(self) -> None:
        """Write a snapshot of the lexical index, for a faster start.

        Waiting turns are left out: the journal restores them. Those that are already in
        the catalogue come after its mark, because another process may settle them.
        """
        with self._updating:
            lexical = self._with_new()
            mark = self.catalog.mark_before(self._mark, self._waiting)
            lexical.save(self.settings.cache, mark, tuple(self._waiting))
        if self.semantic:
            self.semantic.tidy(self.lexical)

    def _load_snapshot(self) -> str:
        """Load the lexical index; return its mark, '' without a usable snapshot."""
        loaded = self._lexical.load(self.settings.cache)
        return self._lexical.mark if loaded else ""

    # -- changes -----------------------------------------------------------------------

    def scan(
        self, paths: Collection[str | Path] | None, *, accept_deletions: bool = False
    ) -> Diff:
        """Store changes on disk, in the whole vault or at and below `paths`.

        The caller records the user changes and acknowledges them (`Scanner`).
        """
        if self._late:
            self._store(self._late)
        diff = self.scanner.scan(paths, accept_deletions=accept_deletions)
        self._update()
        return diff

    def wrote(self, files: Mapping[str, bytes]) -> None:
        """Store engram's own writes at once; see `Scanner.wrote` (`X18`).

        Raises StorageError if the catalogue cannot be written, except in `may_be_late`.
        """
        late = {**self._late, **files}
        try:
            self._store(late)
        except StorageError as fault:
            if not self._tolerant:
                raise
            self._late = late
            self.health.report(INDEX, str(fault))

    @contextmanager
    def may_be_late(self) -> Iterator[None]:
        """Let the catalogue miss own writes in this context, such as on a full disk.

        They are stored with the next ones or by the next scan; until then `health` has
        the reason. Their effect does not depend on the catalogue.
        """
        self._tolerant = True
        try:
            yield
        finally:
            self._tolerant = False

    def _store(self, files: Mapping[str, bytes]) -> None:
        """Store own writes, also those that are late. Raises StorageError."""
        self.scanner.wrote(files)
        self._late = {}
        self.health.clear(INDEX)
        self._update()

    def rebuild(self) -> None:
        """Empty the catalogue and read the vault again; vectors stay."""
        disk.make_folders(self.settings.cache)
        self.scanner.start_over()
        self.scan(None)

    def add_turns(self, turns: Sequence[FiledTurn]) -> None:
        """Add turns that wait for their file.

        They are only listed; the next search adds their words to the lexical index.
        """
        with self._updating:
            self._waiting |= {filed.key: filed for filed in turns}
            self._new += turns

    def filed(self, turns: Sequence[FiledTurn]) -> None:
        """Remove these turns from the waiting ones, because their file is written."""
        with self._updating:
            lexical = self._with_new()
            for turn in turns:
                waiting = self._waiting.pop(turn.key, None)
                if waiting is None:
                    continue
                unit = self.catalog.unit(turn.key)
                if unit is None:
                    lexical.remove([turn.key])
                elif unit != waiting:  # the user assigned the block to another turn
                    lexical.add([_indexed_text(unit)])

    @property
    def lexical(self) -> Bm25Index:
        """The lexical index, with all waiting turns, which are read now."""
        if not self._new:
            return self._lexical
        with self._updating:
            for filed in self._new:
                reading = read(filed.turn, self.settings.zone)
                self._waiting[filed.key] = replace(filed, reading=reading)
            return self._with_new()

    def _with_new(self) -> Bm25Index:
        if self._new:
            self._lexical.add(map(_indexed_text, self._new))
            self._new = []
        return self._lexical

    def _update(self) -> None:
        """Update the lexical index from the catalogue."""
        with self._updating:
            delta = self.catalog.since(self._mark)
            if delta.mark == self._mark:
                return
            if delta.fresh:
                policy = self.settings.policy.lexical
                self._lexical = Bm25Index(policy, self.settings.zone)
                self._new = list(self._waiting.values())
            lexical = self._with_new()
            if removed := [key for key in delta.removed if key not in self._waiting]:
                lexical.remove(removed)
            lexical.add(filter(None, map(self._text_to_add, delta.added)))
            self._mark = delta.mark

    def _text_to_add(self, unit: Unit) -> IndexedText | None:
        """Return the text of a new unit, None if it is already in the lexical index.

        A turn that waited for its file already is.
        """
        text = _indexed_text(unit)
        waiting = self._waiting.get(text.key)
        if waiting is None:
            return text
        if isinstance(unit, FiledTurn) and unit.turn.id != waiting.turn.id:
            # the user has the block; the waiting turn gets another one when it is filed
            return None
        del self._waiting[text.key]
        return None if _indexed_text(waiting) == text else text

    # -- look-ups ----------------------------------------------------------------------

    def unit(self, key: str) -> Unit | None:
        """Return the unit with this key, filed or waiting."""
        return self._waiting.get(key) or self.catalog.unit(key)

    def units(self, keys: Sequence[str]) -> dict[str, Unit]:
        """Return the units with these keys, filed or waiting, in that order."""
        return {key: unit for key, (unit, _) in self.placed(keys).items()}

    def facts(self, keys: Iterable[str]) -> list[Fact]:
        """Return the facts with these ids, in that order."""
        units = self.units([*keys]).values()
        return [unit for unit in units if isinstance(unit, Fact)]

    def turns(self, keys: Iterable[str]) -> list[FiledTurn]:
        """Return the turns with these keys, filed or waiting, in that order."""
        units = self.units([*keys]).values()
        return [unit for unit in units if isinstance(unit, FiledTurn)]

    def placed(self, keys: Sequence[str]) -> dict[str, tuple[Unit, FilePlace]]:
        """Return the units with these keys and the places of their files, in that order.

        A waiting turn has none.
        """
        # before the catalogue, so that a turn filed in between is not missed
        waiting = {key: filed for key in keys if (filed := self._waiting.get(key))}
        found = self.catalog.placed_units(keys)
        found |= {key: (filed, FilePlace()) for key, filed in waiting.items()}
        return {key: found[key] for key in keys if key in found}

    def find(self, name: str) -> Fact | FiledTurn:
        """Return the fact or turn with this id or path, or with this id prefix.

        Raises NotFoundError and ConflictError.
        """
        unit = self.unit(name)
        if isinstance(unit, FiledTurn):
            return unit
        try:
            return self.catalog.find_fact(name)
        except NotFoundError:
            waiting = [key for key in list(self._waiting) if key.startswith(name)]
            key = self.catalog.turn_key(name, waiting)
            if key is None:
                raise
            return cast("FiledTurn", self.unit(key))

    def versions(self, session: str, turn_id: str) -> list[FiledTurn]:
        """Return the turn with this id and its edited versions, filed or waiting."""
        start = f"{turn_id} edit-"
        found = {
            filed.key: filed
            for filed in self.waiting()
            if filed.turn.session == session
            and (filed.turn.id == turn_id or filed.turn.id.startswith(start))
        }
        filed = self.catalog.versions(session, turn_id)
        return list((found | {turn.key: turn for turn in filed}).values())

    def replaced_words(self, key: str) -> set[str]:
        """Return digests of the words of a turn that a user changed in its file.

        The set is empty if a user changed nothing; changes that are not recorded yet
        count.
        """
        unrecorded = self.catalog.replaced_words(key)
        return self.vault.replaced_words(key) | set(map(text_digest, unrecorded))

    def by_words(
        self, question: Question, where: SearchFilter, most: int
    ) -> list[tuple[float, Unit]]:
        """Return the units that share words with a question, with scores, best first."""
        hits = self.lexical.search(question, where, most).hits
        units = self.units([hit.key for hit in hits])
        return [(hit.score, units[hit.key]) for hit in hits if hit.key in units]

    def turns_above(self, filed: FiledTurn, most: int) -> list[FiledTurn]:
        """Return the last turns before one in its session file, in order."""
        number = int(filed.block[1:])
        blocks = (f"t{block}" for block in range(max(1, number - most), number))
        return self.turns(replace(filed, block=block).key for block in blocks)

    def turns_before(self, filed: FiledTurn, minutes: float) -> list[FiledTurn]:
        """Return the turns of a conversation in the minutes before one, in order."""
        source = filed.turn
        since = source.occurred_at - timedelta(minutes=minutes)
        units = [
            unit
            for file in self.catalog.sessions(source.session, source.persona)
            if file.ended >= since and file.started <= source.occurred_at
            for unit in self.catalog.units_at(file.path)
        ]
        before = [
            unit
            for unit in units
            if isinstance(unit, FiledTurn)
            and unit.turn.origin == source.origin
            and since <= unit.turn.occurred_at
            and unit.order < filed.order
        ]
        return sorted(before, key=lambda unit: unit.order)

    def visible(self, unit: Unit) -> Unit | None:
        """Return the unit without forgotten text, None if nothing is left.

        (Rows A26, X8.)
        """
        if isinstance(unit, FiledTurn) and unit.key in self.tombstones.keys:
            return None
        return hiding.without_forgotten(
            unit, self.tombstones.forgotten, self.lexical.voices
        )

    def waiting(self) -> list[FiledTurn]:
        """Return the turns that wait for their file."""
        with self._updating:
            return list(self._waiting.values())

    def current(
        self, unit: Unit, place: FilePlace, files: dict[str, CurrentFile]
    ) -> Unit | None:
        """Return `unit` as in its present file, None if it is gone (`X19`).

        `place` is that of `placed`, without a path for a turn that waited then and may
        be filed by now. `files` caches the present files for one question.
        """
        key, path = key_of(unit), place.path
        if not path or key in self._waiting:
            return unit
        if path not in files:
            files[path] = self.scanner.is_unchanged(place) or self.scanner.read(path)
        now = files[path]
        if isinstance(now, Entry):
            found = (
                unit_now for unit_now in now.units or () if key_of(unit_now) == key
            )
            return next(map(self.catalog.with_sensitivity, found), None)
        return unit if now else None

    def faults(
        self, units: Iterable[tuple[Unit, str]], files: Mapping[str, CurrentFile]
    ) -> list[str]:
        """Return for each unit, given with its path, the fault of its note or ''.

        `files` was filled by `current`.
        """
        pairs = list(units)
        known = self.catalog.problems_by_path({path for _, path in pairs})
        faults: list[str] = []
        for unit, path in pairs:
            now = files.get(path)
            problems = now.problems if isinstance(now, Entry) else known.get(path, ())
            faults.append(broken(unit, problems))
        return faults

    def counts(self) -> dict[str, int]:
        """Return the counts of the catalogue, and `waiting` turns."""
        return self.catalog.counts() | {"waiting": len(self._waiting)}

    @property
    def mark(self) -> tuple[str, object]:
        """A value that changes whenever an answer may change."""
        if self.semantic is None:
            return self._mark, None
        return self._mark, (len(self.semantic.vectors), self.semantic.scale)

    # -- search ------------------------------------------------------------------------

    def related(
        self,
        seeds: Mapping[str, float],
        stored_edges: Callable[[Collection[str]], Iterable[Edge]],
        where: SearchFilter,
        now: datetime,
    ) -> dict[str, float]:
        """Return the facts that edges connect to `seeds`, with activations 0–1.

        `stored_edges` returns the edges of facts that do not follow from notes. Facts
        outside the filter `where` are neither found nor passed through (`C34`).
        """
        policy = self.settings.policy.links
        return graph.spread_activation(
            seeds, lambda facts: self.edges(facts, stored_edges, where, now), policy
        )

    def edges(
        self,
        facts: Collection[str],
        stored_edges: Callable[[Collection[str]], Iterable[Edge]],
        where: SearchFilter,
        now: datetime,
    ) -> list[WeightedEdge]:
        """Return the edges of facts with their confidence at `now` (`C34`).

        Both ends are within the filter `where`.
        """
        policy = self.settings.policy.links
        edges = self.catalog.edges(facts, where.persona, policy)
        edges += graph.weighted_edges(stored_edges(facts), now, policy)
        unique = dict.fromkeys(edges)  # facts often share several entities
        ends = {edge[0] for edge in unique} | {edge[1] for edge in unique}
        allowed = self.lexical.allowed(ends, where)
        return [edge for edge in unique if edge[0] in allowed and edge[1] in allowed]

    def lacks_vectors(self) -> str:
        """Return why the vectors cannot be used now, or ''."""
        if self.semantic is None:
            return "no embedding model is set"
        have, wanted = self.semantic.coverage(self.lexical)
        enough = have and have >= wanted * self.semantic.policy.enough
        if enough:
            return ""
        return (
            f"{have} of {wanted} memories are embedded so far; the others are embedded"
            " while a daemon runs"
        )

    def near(
        self, vector: bytes, where: SearchFilter, k: int, also: Collection[str]
    ) -> tuple[VectorMatch, ...]:
        """Return the units near to a question by vectors; see `SemanticIndex.near`."""
        if self.semantic is None:
            return ()
        return self.semantic.near(self.lexical, vector, where, k, also)

    def unembedded(self, limit: int) -> list[tuple[str, str]]:
        """Return keys and texts of up to `limit` units without a vector.

        Each text is returned once.
        """
        texts: dict[str, str] = {}
        if self.semantic:
            for key in self.semantic.keys_to_embed(self.lexical):
                unit = None if key in self.tombstones.keys else self.unit(key)
                if (
                    unit
                    and not hiding.is_sensitive(unit)
                    and (text := _indexed_text(unit).text).strip()
                ):
                    texts.setdefault(text, key)
                if len(texts) == limit:
                    break
        return [(key, text) for text, key in texts.items()]


def _semantic(settings: Settings, store: IndexStore) -> SemanticIndex | None:
    """Return the search by vectors, None without an embedding model."""
    model = settings.embeddings
    if model is None:
        return None
    policy = settings.policy.vectors
    tag = f"{model.name} {policy.chars} {policy.sentences}"
    if model.in_process:
        tag += f" {policy.tokens} {version(model.folder)}"
    vectors = store.vectors(settings.cache / "vectors", tag)
    return SemanticIndex(settings, model, vectors)


def _indexed_text(unit: Unit) -> IndexedText:
    """Return the text and the columns of a unit for the lexical index."""
    if isinstance(unit, FiledTurn):
        turn = unit.turn
        return IndexedText(
            unit.key,
            "turn",
            own_words(turn.text),
            thread="" if turn.session == REMEMBERED else unit.note,
            position=int(unit.block[1:]),
            speaker=turn.speaker,
            # in a group `I` is not the owner of the memory
            role="" if turn.group and turn.speaker else turn.role,
            voice=f"{turn.role} {turn.origin}",
            when=turn.occurred_at.timestamp(),
            persona=turn.private_to or "",
        )
    if isinstance(unit, Fact):
        return IndexedText(
            unit.id,
            "fact",
            unit.text,
            when=_stamp(unit.created),
            persona=unit.persona or "",
            status=unit.status,
            valid_from=_stamp(unit.valid_from),
            valid_until=min(
                filter(None, (_stamp(unit.valid_until), _expiry(unit))), default=None
            ),
            created=_stamp(unit.created),
            tags=unit.tags,
        )
    text = f"{unit.title}\n{unit.text}"
    return IndexedText(
        unit.path,
        "note",
        text,
        when=unit.changed.timestamp(),
        persona=unit.persona or "",
    )


def _expiry(fact: Fact) -> float | None:
    return _stamp(effective_expiry(fact))


def _stamp(moment: datetime | None) -> float | None:
    return moment.timestamp() if moment else None
