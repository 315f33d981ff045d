"""The snapshot of the vault on which a run is planned (rows A21, A28, X23)."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from engram.core import trust
from engram.errors import EngramError, NotFoundError
from engram.index.conversations import SessionReader
from engram.llm.answers import AnswerCache
from engram.maintenance.passes.view import FOREIGN, MemoryState, PassView, VaultReader
from engram.pipeline.compare import Comparison, nearest
from engram.vault import disk as vault_disk
from engram.vault import frontmatter
from engram.vault.blocks import page_from
from engram.vault.paths import is_text
from engram.vault.runs import RUNS
from engram.vault.store import ACTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from engram.core.decide import Known
    from engram.core.records import Entity, Fact, Page
    from engram.core.user_facts import Slot
    from engram.maintenance.report import Progress
    from engram.maintenance.schedule import Cadence
    from engram.pipeline.entities import EntityWriter
    from engram.pipeline.usage import UsageTracker
    from engram.pipeline.write import NoteWriter

ANSWERS = "answers.jsonl"
EDITED_KEYS = ("valid_from", "event_end", "slot")
_CHUNK = 1000
_LINKED = frozenset({"archive", "facts", "entities", "review"})


class Snapshot(VaultReader):
    """Reads one vault for the passes. For the writer thread.

    Reads of which a pass makes many raise RunInterruptedError if the run must end.
    `answers` caches the answers of a model.
    """

    def __init__(
        self,
        note_writer: NoteWriter,
        usage_tracker: UsageTracker,
        entity_writer: EntityWriter,
        comparison: Comparison,
        progress: Progress,
    ) -> None:
        super().__init__()
        self.progress = progress
        self.note_writer = note_writer
        self.neighbour_cache = NeighbourCache(comparison)
        self.vault, self.index, self.settings = (
            note_writer.vault,
            note_writer.index,
            note_writer.settings,
        )
        self.usage_tracker = usage_tracker
        self.entity_writer = entity_writer
        self.edges = entity_writer.edges
        self.session_reader = SessionReader(self.vault, self.index, self.settings)
        self._entities: Mapping[str, Entity] = {}
        self._voices: dict[str, trust.TurnSource] = {}
        self._pages: dict[str, tuple[str, Page | None]] = {}
        self._facts: Mapping[str, Fact] = {}
        self._slots: Mapping[str, Sequence[Slot]] | None = None
        self._answer_failures: dict[str, str] = {}
        self.answers = AnswerCache(
            self.settings.cache / ANSWERS, self.settings.policy.consolidation.answers
        )

    def view(self, now: datetime, cadence: Cadence | None = None) -> PassView:
        """Return the view of the passes at `now`.

        A talk run follows turns, so it gets only promises and the memories from the
        conversations that it is about, without vectors and sources.
        """
        whole = cadence != "talk"
        telling = cadence in {"talk", "nightly"}
        sessions = self.session_reader.view(now) if telling else ()
        catalog = self.index.catalog
        if whole:
            facts = catalog.facts()
            self.neighbour_cache.follow(facts)
        else:
            told = catalog.facts_of_conversations([one.stem for one in sessions])
            facts = list(
                {fact.id: fact for fact in (*catalog.promises(), *told)}.values()
            )
        self.usage_tracker.record_first_met(
            facts, self.note_writer.creation_times(), now, self.settings.zone
        )
        self.edges.refresh()
        self._entities = self.entity_writer.entities_by_path()
        self._pages = {
            path: known for path, known in self._pages.items() if path in self._entities
        }
        self._voices = {}
        self._facts = {fact.id: fact for fact in facts} if whole else {}
        self._slots = None
        memories = {one.fact.id: one for one in self._memory_states(facts, whole=whole)}
        semantic = self.index.semantic
        return PassView(
            self.settings.policy,
            self.settings.zone,
            memories,
            reader=self,
            edges=self.edges.all(),
            logs=(ACTIONS, RUNS),
            answers=self.answers,
            stored=semantic.storage(self.index.lexical) if whole and semantic else {},
            tombstones=self.index.tombstones.keys,
            forgotten=self.index.tombstones.forgotten,
            restored=self.index.tombstones.restored,
            feedback=self.usage_tracker.feedback(self.read(ACTIONS), now)
            if whole
            else {},
            roots=self.settings.drift_roots,
            sessions=sessions,
            messages=self.session_reader.messages() if telling else {},
            model=self.session_reader.model,
            answer_failures=dict(self._answer_failures),
            entities=self._entities,
            owner=self.settings.owner,
        )

    def record_answer_failure(self, key: str, why: str) -> None:
        """Record why the answer to a question could not be read.

        `key` is the key of the question. Later views have the reason until the process
        ends.
        """
        self._answer_failures[key] = why

    def begin(self, pass_name: str) -> None:
        """Record that a pass begins. Raises RunInterruptedError."""
        self.progress.enter(pass_name)

    def check(self) -> None:
        """Raise RunInterruptedError if the run must be given up."""
        self.progress.check()

    def slots(self, fact: Fact) -> Sequence[Slot]:
        """Return what a memory gives; that of an unchanged one is read from the index."""
        self.check()
        if self._facts.get(fact.id) is not fact:
            return super().slots(fact)
        if self._slots is None:
            self._slots = self.index.catalog.slots()
        return self._slots.get(fact.id, ())

    def near(self, fact: Fact) -> Sequence[Known]:
        """Return the neighbours of a memory, from the cache."""
        self.check()
        return self.neighbour_cache.near(fact)

    def statements(self) -> Mapping[str, str]:
        """Return the content hashes of all active memories, by id."""
        return self.index.catalog.active_hashes()

    def trust_of(self, fact: Fact) -> float:
        """Return the trust in the source of a memory, 0–1 (`D6`)."""
        return trust.trust(self.said_by(fact), self.settings.policy.trust)

    def disk(self, path: str) -> bytes | None:
        """Return the content of a file below a configured root; None if missing (`D10`).

        b'' for a folder, for a file that cannot be read, and for a path below no
        existing root.
        """
        for root in map(Path, self.settings.drift_roots):
            if not path.startswith(f"{root}/") or not root.is_dir():
                continue
            try:
                file = vault_disk.safe_join(root, path.removeprefix(f"{root}/"))
                return vault_disk.read(file, self.settings.policy.insight.drift_bytes)
            except NotFoundError:
                return None
            except EngramError:
                return b""
        return b""

    def _memory_states(
        self, facts: Sequence[Fact], *, whole: bool
    ) -> Iterator[MemoryState]:
        if whole:  # in the order on disk
            keys = sorted({key for fact in facts for key in fact.turns})
            for start in range(0, len(keys), _CHUNK):
                self.check()
                self._voices |= self.index.lexical.voices(keys[start : start + _CHUNK])
        trusts = {
            one: trust.trust(one, self.settings.policy.trust)
            for one in trust.SOURCE_CLASSES
        }
        barred = {one: trust.restriction("core", one) for one in trust.SOURCE_CLASSES}
        births = self.note_writer.creation_times()
        self.check()
        for fact in facts:
            source, foreign = self.said_by(fact, ask=False), fact.id not in births
            claim = self.note_writer.user_claim(fact) or (FOREIGN if foreign else None)
            yield MemoryState(
                fact,
                self.usage_tracker.usage_of(fact.id),
                trusts[source],
                barred[source],
                claim,
                source,
                foreign,
            )

    def quiet(self, now: datetime) -> Callable[[str], str | None]:
        """Return a check whether the note at a path was edited just now.

        The check returns the reason why the note must not be changed now, or None.
        """
        rest = self.settings.policy.files.quiet_seconds
        return lambda path: (
            None if self.vault.is_at_rest(path, now, rest) else "it was edited just now"
        )

    def read(self, path: str) -> bytes:
        """Return the bytes of a file of the vault, or b'' if there is none."""
        try:
            return self.vault.read(path)
        except NotFoundError:
            return b""

    # -- notes other than memories -----------------------------------------------------

    def page(self, path: str) -> Page | None:
        """Return the note at `path`, which is not a memory; None if unreadable.

        Entity notes are cached by content hash.
        """
        self.check()
        entity = self._entities.get(path)
        if entity is None:
            return self._page(path)
        sha, page = self._pages.get(path, ("", None))
        if sha != entity.sha:
            self._pages[path] = entity.sha, (page := self._page(path))
        return page

    def _page(self, path: str) -> Page | None:
        try:
            note = frontmatter.read(self.read(path), self.settings.policy.files)
        except EngramError:
            return None
        return page_from(note) if note.front is not None or note.body else None

    def pages(self, folder: str) -> list[str]:
        """Return the paths of the notes in a folder whose name is UTF-8, sorted."""
        root = self.settings.vault
        files = (path for path in (root / folder).glob("[!.]*.md") if path.is_file())
        return sorted(
            filter(is_text, (path.relative_to(root).as_posix() for path in files))
        )

    def linking(self, name: str) -> list[str]:
        """Return the paths of notes that link to the note of this name.

        Memories and entities are left out. Every file is read, so passes call it only
        for a note that is to be removed.
        """
        link = re.compile(
            rf"\[\[(?:[^\]|#\n]*/)?{re.escape(name)}(?:\.md)?[ \t]*[\]|#]",
            re.IGNORECASE,
        )
        found = []
        for path in sorted(self.settings.vault.rglob("*.md")):
            below = path.relative_to(self.settings.vault).as_posix()
            parts = below.split("/")
            if parts[0] in _LINKED or any(part.startswith(".") for part in parts):
                continue
            if not (path.is_file() and is_text(below)):
                continue
            if link.search(self.read(below).decode(errors="replace")):
                found.append(below)
        return found

    def edited(self) -> Mapping[str, Mapping[str, str]]:
        """Return the edited memories, with the keys of the time that a user gave them.

        `slot` is among the keys if the words no longer have the value of the slot.
        Those that the pass `redate` wrote already are left out.
        """
        rows = [*self.vault.rows_with("edit"), *self.vault.rows_with("redate")]
        times: dict[str, Mapping[str, str]] = {}
        for row in sorted(rows, key=lambda row: str(row.get("at"))):
            memory = str(row.get("memory"))
            if row.get("action") == "redate":
                times.pop(memory, None)
            elif keys := {one: str(row[one]) for one in EDITED_KEYS if one in row}:
                times[memory] = keys
        return times

    def said_by(self, fact: Fact, *, ask: bool = True) -> str:
        """Return the source class of a memory.

        Turns that are not cached are read from the index, unless `ask` is false.
        """
        self.check()
        keys = (fact.source, *fact.also)
        if ask and (new := [key for key in keys if key and key not in self._voices]):
            self._voices |= self.index.lexical.voices(new)
        return trust.best_source_class(
            fact,
            [self._voices[key].source_class for key in keys if key in self._voices],
        )


CACHED = 1024
"""Number of memories whose neighbours stay cached, the most recently searched."""
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class NeighbourCache:
    """Caches the neighbours of each active memory. For the writer thread.

    `follow` searches for the neighbours of memories that are new
    or have another text, and adds those memories to the neighbours that it finds. A
    night without new memories needs no search.
    """

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison
        self._statements: set[int] = set()
        self._scale: object = None
        self._near: dict[str, tuple[Fact, list[Known]]] = {}

    def near(self, fact: Fact) -> list[Known]:
        """Return the active neighbours of a fact, nearest first.

        Words for time, such as `yesterday`, are relative to the date of the fact.
        """
        if fact.id not in self._near:
            said_at = fact.created or LONG_AGO
            near = self.comparison.near(fact, said_at, statuses=("active",))
            self._near[fact.id] = fact, near
        return self._near[fact.id][1]

    def follow(self, facts: Iterable[Fact]) -> None:
        """Update the cache; `facts` are all facts of the vault.

        The cache is emptied if the scale of similarities changed, or if there are more
        new facts than cached ones.
        """
        active = {_identity(fact): fact for fact in facts if fact.status == "active"}
        new = [fact for name, fact in active.items() if name not in self._statements]
        _, scale = self.comparison.index.mark
        usable = scale == self._scale and len(new) <= len(self._near)

        cached = list(self._near.values())[-CACHED:] if usable else []
        self._statements, self._scale = set(active), scale
        self._near = {
            fact.id: (fact, [near for near in some if _identity(near.fact) in active])
            for fact, some in cached
            if _identity(fact) in active
        }
        if cached:
            for fact in new:
                self._enter(fact)

    def _enter(self, fact: Fact) -> None:
        """Search the neighbours of a new fact, and add it to the neighbours of each."""
        for near in self.near(fact):
            other, neighbours = self._near.get(near.fact.id, (fact, []))
            known = any(one.fact.id == fact.id for one in neighbours)
            if other.persona == fact.persona and not known:
                neighbours.append(replace(near, fact=fact))
                neighbours.sort(key=nearest)


def _identity(fact: Fact) -> int:
    """Return a hash of the fact's statement, persona and start."""
    return hash((fact.id, fact.text, fact.persona, fact.valid_from))
