"""The index: catalogue and lexical index as one, with the turns whose file is not
written yet.

All of it is derived: deleting the cache folder changes no answer (row X20).
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from engram.core import graph
from engram.core.forgetting import Forgotten, stones
from engram.core.language.echo import own_words
from engram.core.lifecycle import ends, hidden
from engram.core.records import REMEMBERED, Fact, FiledTurn
from engram.core.trust import Voice
from engram.errors import EngramError, NotFoundError
from engram.index import hiding
from engram.index.bm25 import Bm25Index, IndexedText
from engram.index.catalog import Catalog
from engram.index.parse import Entry, broken
from engram.index.rows import key_of
from engram.index.semantic import SemanticIndex
from engram.index.vectors import digest
from engram.vault import disk

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from engram.config import Settings
    from engram.core.graph import EdgeTuple
    from engram.core.ranking import NearByMeaning, Question
    from engram.core.records import Edge, Problem, Stored
    from engram.index.bm25 import SearchResult
    from engram.index.diff import Diff, Edited
    from engram.index.filters import SearchFilter
    from engram.index.rows import SessionFile, Unit
    from engram.vault.git import Git
    from engram.vault.store import Vault


Looked = Entry | bool | None
"""What a look at a file found: True, it is as the catalogue knows it; None, nothing;
else the file as it is now.
"""


class Index:
    """What the vault holds, to look up and to search. Changes come from one thread,
    questions from any.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        gone: Callable[[Sequence[Fact]], None] | None = None,
        edited: Callable[[Sequence[Edited]], None] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        git: Git | None = None,
    ) -> None:
        self.settings = settings
        policy = settings.policy.files
        self.catalog = Catalog(
            settings.vault,
            settings.cache,
            settings.zone,
            policy,
            monotonic,
            gone=gone,
            edited=edited,
            git=git,
        )
        self._lexical = Bm25Index(settings.policy.lexical, settings.zone)
        self.meaning = (
            SemanticIndex(settings, settings.embeddings)
            if settings.embeddings
            else None
        )
        # content hashes and turn keys that a person removed
        self.tombstones: set[str] = set()
        self.forgotten = Forgotten()
        self._pending: dict[str, FiledTurn] = {}
        # of these, those that the lexical index has not heard of yet
        self._untold: list[FiledTurn] = []
        self._following = threading.Lock()
        try:
            self._mark = self._load()
            self._follow()
        except BaseException:
            self.catalog.close()
            raise

    def close(self) -> None:
        """Save what would be slow to make again."""
        with suppress(EngramError):
            self.save()
        self.catalog.close()

    def save(self) -> None:
        """Write the snapshot of the lexical index; without it the next start makes it
        from the catalogue.

        Waiting turns are left out: the journal brings them back.
        """
        with self._following:
            self._told().save(self.settings.cache, self._mark, tuple(self._pending))
        if self.meaning:
            self.meaning.tidy(self.lexical)

    # -- changes -----------------------------------------------------------------------

    def refresh(
        self, paths: Collection[str | Path] | None, *, accept_deletions: bool = False
    ) -> Diff:
        """Take in what changed on disk, everywhere or only at and below `paths`."""
        diff = self.catalog.scan(paths, accept_deletions=accept_deletions)
        self._follow()
        return diff

    def wrote(self, held: Mapping[str, bytes]) -> None:
        """Take in our own writes at once, so that the next question finds them (`X18`)."""
        self.catalog.wrote(held)
        self._follow()

    def filed(self, turns: Sequence[FiledTurn]) -> None:
        """These turns stand in their file now and no longer wait."""
        with self._following:
            lexical = self._told()
            for key in [filed.key for filed in turns]:
                waited, stands = self._pending.pop(key, None), self.catalog.unit(key)
                if waited and stands is None:
                    lexical.remove([key])
                elif (
                    waited and stands and stands != waited
                ):  # a person's turn has the block
                    lexical.add([_doc(stands)])

    def take_tombstones(self, vault: Vault) -> None:
        """Believe what the tombstones of `vault` say now (`X8`)."""
        self.tombstones, self.forgotten = (
            vault.tombstones(),
            Forgotten(stones(vault.tombstone_rows())),
        )

    def add_turns(self, turns: Sequence[FiledTurn]) -> None:
        """Make turns findable that wait for their file; the next question takes their
        words in, not who says them.
        """
        with self._following:
            self._pending |= {filed.key: filed for filed in turns}
            self._untold += turns

    @property
    def lexical(self) -> Bm25Index:
        """The lexical index, with every turn that waits."""
        if not self._untold:
            return self._lexical
        with self._following:
            return self._told()

    def _told(self) -> Bm25Index:
        if self._untold:
            self._lexical.add(map(_doc, self._untold))
            self._untold = []
        return self._lexical

    def rebuild(self) -> None:
        """Forget everything and read the vault again; only vectors stay, for they
        follow from the texts alone.
        """
        disk.make_folders(self.settings.cache)
        self.catalog.start_over()
        self.refresh(None)

    def _follow(self) -> None:
        """Bring the lexical index to where the catalogue stands; a turn in its file no
        longer waits.
        """
        with self._following:
            delta = self.catalog.since(self._mark)
            if delta.mark == self._mark:
                return
            if delta.fresh:
                self._lexical = Bm25Index(
                    self.settings.policy.lexical, self.settings.zone
                )
                self._untold = list(self._pending.values())
            lexical = self._told()
            if removed := [key for key in delta.removed if key not in self._pending]:
                lexical.remove(removed)
            lexical.add(filter(None, map(self._arrived, delta.added)))
            self._mark = delta.mark

    def _arrived(self, unit: Unit) -> IndexedText | None:
        """What is to be told of a unit; nothing of a turn that stands in its file as it
        was told while it waited.
        """
        doc = _doc(unit)
        waited = self._pending.get(doc.key)
        if waited is None:
            return doc
        if isinstance(unit, FiledTurn) and unit.turn.id != waited.turn.id:
            return None  # a person took the block; ours gets another when it is filed
        del self._pending[doc.key]
        return None if _doc(waited) == doc else doc

    def _load(self) -> str:
        """The mark at which the saved lexical index stands, or '' where there is none
        to use.
        """
        return self._lexical.mark if self._lexical.load(self.settings.cache) else ""

    # -- questions ---------------------------------------------------------------------

    def search(self, question: Question, where: SearchFilter, k: int) -> SearchResult:
        """The `k` best units."""
        return self.lexical.search(question, where, k)

    def tied(
        self,
        seeds: Mapping[str, float],
        stored: Callable[[Collection[str]], Iterable[Edge]],
        where: SearchFilter,
        now: datetime,
    ) -> dict[str, float]:
        """The facts that the `seeds` lead to with their activation, 0–1, among those
        that may be found (`C34`).

        `stored` gives the ties that no note tells. Nobody passes through a fact that
        may not be found.
        """
        policy = self.settings.policy.links

        def around(facts: Collection[str]) -> list[EdgeTuple]:
            ties = self.catalog.ties(facts, where.persona or "", policy) + graph.ways(
                stored(facts), now, policy
            )
            found = dict.fromkeys(ties)  # who share one entity often share another
            seen = self.lexical.allowed(
                {way[0] for way in found} | {way[1] for way in found}, where
            )
            return [way for way in found if way[0] in seen and way[1] in seen]

        return graph.spread(seeds, around, policy)

    def words_alone(self) -> str:
        """Why meaning cannot help to answer now, or ''."""
        if self.meaning is None:
            return "no embedding model is set"
        have, wanted = self.meaning.covered(self.lexical)
        enough = have and have >= wanted * self.meaning.policy.enough
        return "" if enough else f"{have} of {wanted} memories are embedded so far"

    def near(
        self, vector: bytes, where: SearchFilter, k: int, also: Collection[str]
    ) -> tuple[NearByMeaning, ...]:
        """What is near to a question by meaning, and how near the units of `also` are;
        () where nothing can be said.
        """
        return (
            self.meaning.near(self.lexical, vector, where, k, also)
            if self.meaning
            else ()
        )

    def similar(
        self, vector: bytes, where: SearchFilter, k: int
    ) -> list[tuple[str, float]]:
        """The `k` units whose text is nearest to `vector`, with raw cosines;
        `meaning.scale` reads them.
        """
        return (
            self.meaning.similar(self.lexical, vector, where, k) if self.meaning else []
        )

    def unembedded(self, limit: int) -> list[tuple[str, str]]:
        """Keys and texts of up to `limit` units that have no vector yet, each text
        once.
        """
        texts: dict[str, str] = {}
        if self.meaning:
            for key in self.meaning.wanting(self.lexical):
                unit = None if key in self.tombstones else self.unit(key)
                if unit and (text := _doc(unit).text).strip():
                    texts.setdefault(text, key)
                if len(texts) == limit:
                    break
        return [(key, text) for text, key in texts.items()]

    def embedded(self, pairs: Iterable[tuple[str, bytes]]) -> None:
        """These texts have these vectors."""
        if self.meaning:
            self.meaning.learn(pairs)

    def stored(self) -> dict[str, Stored]:
        """How the vectors of facts are kept, by the fact's id (rows C29, D12)."""
        return self.meaning.stored(self.lexical) if self.meaning else {}

    def store(self, wanted: Mapping[str, Stored]) -> None:
        """Keep the vectors of these facts like that. Nothing of it is in the vault, so
        there is nothing to undo.
        """
        if self.meaning:
            self.meaning.store(self.lexical, wanted)

    def give_up(self, texts: Iterable[str]) -> None:
        """These texts cannot be embedded; until the next start nobody tries."""
        if self.meaning:
            self.meaning.refused.update(map(digest, texts))

    def unit(self, key: str) -> Unit | None:
        """The unit with this key, filed or waiting."""
        return self._pending.get(key) or self.catalog.unit(key)

    def units(self, keys: Sequence[str]) -> dict[str, Unit]:
        """The units with these keys, as far as they are known."""
        waiting = self._waiting(keys)
        known = self.catalog.units(keys) | waiting
        return {key: known[key] for key in keys if key in known}

    def voices(self, keys: Sequence[str]) -> dict[str, Voice]:
        """How the turns with these keys came in, filed or waiting (`D6`)."""
        waiting = {key: filed.turn for key, filed in self._waiting(keys).items()}
        found = self.catalog.voices(keys)
        return found | {
            key: Voice(turn.role, turn.origin, turn.speaker)
            for key, turn in waiting.items()
        }

    def shown(self, unit: Unit) -> Unit | None:
        """The unit without what was forgotten, None where nothing is left of it (rows
        A26, X8).
        """
        if isinstance(unit, FiledTurn) and unit.key in self.tombstones:
            return None
        return hiding.seen(unit, self.forgotten, self.voices)

    def _waiting(self, keys: Sequence[str]) -> dict[str, FiledTurn]:
        """Those of the turns that are not filed yet; asked for before the catalogue, so
        that none is in neither.
        """
        return {key: filed for key in keys if (filed := self._pending.get(key))}

    def current(
        self, unit: Unit, place: tuple[str, str], seen: dict[str, Looked]
    ) -> Unit | None:
        """`unit` as its file says now: itself, read anew where the file changed, or
        None if it is gone (`X19`).

        `place` is where the catalogue has it; `seen` remembers during one question
        which files were found unchanged (True), gone (None), or changed, as they are
        now.
        """
        key = key_of(unit)
        if key in self._pending:
            return unit
        path, sha = place
        if path not in seen:
            same = bool(path) and self.catalog.verify(path, sha) is not None
            seen[path] = same or (self.catalog.reread(path) if path else None)
        looked = seen[path]
        if isinstance(looked, Entry):
            return next((one for one in looked.units or () if key_of(one) == key), None)
        return unit if looked else None

    def faults(
        self, found: Iterable[tuple[Unit, str]], seen: Mapping[str, Looked]
    ) -> list[str]:
        """What is wrong with the note of each unit, as its reader is told, or '';
        `current` found it at that path.
        """
        pairs = list(found)
        known = self.catalog.problems_of({path for _, path in pairs})
        read = {
            path: looked.problems
            for path, looked in seen.items()
            if isinstance(looked, Entry)
        }
        return [
            broken(unit, read.get(path, known.get(path, ()))) for unit, path in pairs
        ]

    def places(self, keys: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Path and hash of the files of the units with these keys; turns that wait for
        their file have none.
        """
        return self.catalog.places(keys)

    def turn(self, session: str, turn_id: str) -> FiledTurn | None:
        """The turn that the caller knows as `turn_id` of `session`, if its file holds
        it.
        """
        return self.catalog.turn_by(session, turn_id)

    def waiting(self) -> list[FiledTurn]:
        """The turns that wait for their file."""
        with self._following:
            return list(self._pending.values())

    def conversations(self, session: str, persona: str | None) -> list[SessionFile]:
        """The files of a conversation, oldest first."""
        return [
            known
            for known in self.catalog.sessions(session)
            if known.persona == persona
        ]

    def find(self, name: str) -> Fact:
        """The fact with this id, this beginning of an id, or this path; NotFoundError,
        ConflictError.
        """
        return self.catalog.fact(name)

    def find_any(self, name: str) -> Fact | FiledTurn:
        """As `find`, or the turn with this key or the only one whose key begins so,
        filed or waiting.
        """
        unit = self.unit(name)
        if isinstance(unit, FiledTurn):
            return unit
        try:
            return self.find(name)
        except NotFoundError:
            if turn := self.catalog.turn_like(
                name, [key for key in list(self._pending) if key.startswith(name)]
            ):
                return self._pending.get(turn) or cast(
                    "FiledTurn", self.catalog.unit(turn)
                )
            raise

    def fact(self, fact_id: str) -> Fact | None:
        """The fact with exactly this id."""
        unit = self.catalog.unit(fact_id)
        return unit if isinstance(unit, Fact) else None

    def active_twin(
        self, digest: str, persona: str | None, now: datetime
    ) -> str | None:
        """The id of a fact that states the same, may be recalled, and is everybody's or
        the persona's (`C5`).
        """
        for fact_id in self.catalog.active(digest):
            fact = self.fact(fact_id)
            if fact and fact.persona in {None, persona} and hidden(fact, now) is None:
                return fact_id
        return None

    def active_hashes(self) -> list[str]:
        """The content hashes of all active facts, each once, in order."""
        return self.catalog.active_hashes()

    def holds(self, path: str) -> bool:
        """Whether something stands at this vault-relative path."""
        return self.catalog.stands(path)

    def problems(self, path: str | None = None) -> list[Problem]:
        """What is wrong with files of the vault, or with one of them."""
        return self.catalog.problems(path)

    @property
    def known(self) -> str:
        """'' while the catalogue is begun anew, and nobody can tell what is in the
        vault; else which one it is.
        """
        return self.catalog.known

    @property
    def mark(self) -> tuple[str, object]:
        """What changes whenever an answer may."""
        return self._mark, self.meaning and (
            len(self.meaning.vectors),
            self.meaning.scale,
        )

    def size(self) -> int:
        """How many facts, turns and notes can be found."""
        return len(self.lexical)

    def counts(self) -> dict[str, int]:
        """How many of what; `waiting` turns are in the journal only."""
        return self.catalog.counts() | {"waiting": len(self._pending)}


def _doc(unit: Unit) -> IndexedText:
    """What the lexical index is told of a unit."""
    if isinstance(unit, FiledTurn):
        turn = unit.turn
        return IndexedText(
            unit.key,
            "turn",
            own_words(turn.text),
            thread="" if turn.session == REMEMBERED else unit.note,
            position=int(unit.block[1:]),
            speaker=turn.speaker,
            role=turn.role,
            when=turn.occurred_at.timestamp(),
            persona=turn.persona or "",
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
    return _stamp(ends(fact))


def _stamp(moment: datetime | None) -> float | None:
    return moment.timestamp() if moment else None
