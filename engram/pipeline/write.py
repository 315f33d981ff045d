"""Where notes are written: session files, planned changes, the action log and the list
of hashes.

Order of commit: a session file before its facts, facts before what belongs to them;
only then may the journal let go.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING

from engram.core.actions import CREATION_ACTIONS
from engram.core.classify import tier_of
from engram.core.language.secrets import redact
from engram.core.records import BlockEdit, Create, Fact, Move
from engram.core.text import content_hash
from engram.errors import ConflictError, EngramError
from engram.pipeline.conflicts import ConflictNotes
from engram.vault import blocks, disk, facts, frontmatter, sessions
from engram.vault.paths import stat_of
from engram.vault.store import ACTIONS, HASHES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from engram.config import Settings
    from engram.core.policy import FilePolicy
    from engram.core.records import Change, FiledTurn
    from engram.errors import Health
    from engram.index.search import Index
    from engram.ingest.queue import Batch
    from engram.vault.paths import Stat
    from engram.vault.store import Vault


LISTS = ("boxes", "artifacts")
_LINK = re.compile(r"\[\[([^\[\]|#\n]+)")
KNOWN = "the same statement is already known"


class NoteWriter:
    """Writes notes and what goes with them. Belongs to the one writer; what is degraded
    is reported to `health`.
    """

    def __init__(
        self, vault: Vault, index: Index, settings: Settings, health: Health
    ) -> None:
        self.vault = vault
        self.index = index
        self.settings = settings
        self.health = health
        self.conflicts = ConflictNotes(vault, index, settings)
        self._told: set[tuple[str, str]] | None = None
        self._births: dict[str, str] = {}
        self._births_stat: Stat | None = None

    def quiet_until(self, batch: Batch, now: datetime) -> datetime | None:
        """When the batch's session file will have rested after a person's edit; None if
        it may be written.
        """
        path = sessions.path(batch.waiting[0].filed.note)
        rest = self.settings.policy.files.quiet_seconds
        return (
            None
            if self.vault.is_at_rest(path, now, rest)
            else now + timedelta(seconds=rest)
        )

    def file_turns(self, turns: Sequence[FiledTurn]) -> tuple[FiledTurn, ...]:
        """Append the turns to their session file, those that stand there already left
        out; where they stand now.

        (`X1`, `B18`.)
        """
        zone, path, placed = (
            self.settings.zone,
            sessions.path(turns[0].note),
            tuple(turns),
        )

        def appended(raw: bytes) -> bytes:
            nonlocal placed
            raw, placed = sessions.append_turns(raw, turns, zone)
            return raw

        if self.index.scanner.exists(path):
            raw = self.vault.rewrite(path, appended)
        else:
            raw = sessions.new_session(turns, zone)
            self.vault.create(path, raw)
        self.index.wrote({path: raw})
        self.index.filed(turns)
        return placed

    def twin(self, text: str, persona: str | None, now: datetime) -> Fact | None:
        """The active fact that states the same, if its note stands: one that a person
        deleted a moment ago is no more.

        (`C5`.)
        """
        known = self.index.catalog.duplicate(content_hash(text), persona, now)
        if known and not self.index.scanner.exists(known.path):
            self.index.wrote({known.path: b""})
            return None
        return known

    def keep(self, fact: Fact, row: Mapping[str, object]) -> None:
        """Write one new fact as it is."""
        keys, body = (
            facts.fact_keys(fact, self.settings.zone),
            facts.fact_body(fact.text, fact.source),
        )
        self.write(
            [Create(self.path_of(fact, ()), keys, body, str(row["reason"]))], [row]
        )

    def write(
        self,
        changes: Sequence[Change],
        rows: Sequence[Mapping[str, object]],
        ready: Mapping[str, bytes] = MappingProxyType({}),
    ) -> None:
        """Carry out a plan and log it (rows X18, C11).

        When this returns, the index and the list of hashes agree with the notes.
        `ready` is as `Vault.apply` takes it. Raises EngramError; what was written
        before is known to the index all the same.
        """
        paths = [path for change in changes for path in _paths(change)]
        before = self._hashes_at(paths)
        written: dict[str, bytes] = {}
        try:
            self.vault.apply(changes, written, ready=ready)
        except EngramError as fault:
            self._interrupted(changes, written, fault)
            raise

        self.index.wrote(written)
        self._follow_hashes(before, self._hashes_at(paths))
        self.explain(rows)

    def _interrupted(
        self,
        changes: Sequence[Change],
        written: Mapping[str, bytes],
        fault: EngramError,
    ) -> None:
        """Let the index know which changes of a refused plan stand.

        Otherwise the next attempt would make the same notes a second time. After a
        conflict the files of others are left to the next scan: a person edited them.
        """
        ours = {
            path: raw
            for path, raw in written.items()
            if self.vault.has_content(path, raw)
        }
        theirs = isinstance(fault, ConflictError)
        unsure = [
            path
            for change in changes
            if isinstance(change, Create) or not theirs
            for path in _paths(change)
            if path not in ours
        ]
        self.took(ours, unsure)

    def took(self, written: Mapping[str, bytes], unsure: Collection[str]) -> None:
        """Let the index know what engram wrote elsewhere, and read `unsure` paths again.

        Those are the paths for which a refusal leaves open what they hold.
        """
        self.index.wrote(written)
        if unsure:
            self.conflicts.found(self.index.scan(unsure).conflicts)
        self.seed()

    def _hashes_at(self, paths: Sequence[str]) -> list[str]:
        """The content hashes of the active facts in these files, in this order."""
        facts_there = self.index.catalog.facts_at(paths) if paths else ()
        hashes = {
            fact.path: content_hash(fact.text)
            for fact in facts_there
            if fact.status == "active"
        }
        return [hashes[path] for path in dict.fromkeys(paths) if path in hashes]

    def _follow_hashes(self, before: Collection[str], after: Sequence[str]) -> None:
        """Bring the list of hashes up to date after a write (`C5`).

        New statements are appended. Where one ended, or the last write of the list
        failed, the list is written anew.
        """
        added = [digest for digest in after if digest not in before]
        if not set(before) <= set(after) or self.health.problem(HASHES):
            self.seed()
        elif added:
            self._besides(HASHES, partial(self.vault.add_hashes, added))

    def untie(self, gone: Collection[Fact]) -> None:
        """Where engram lists or quotes memories, those whose note is gone keep their
        name without the link.

        A note that cannot be patched is left as it is. What is told has a pass of its
        own.
        """
        stems = (PurePosixPath(fact.path).stem for fact in gone)
        names = {
            stem
            for stem in stems
            if not self.index.catalog.fact_ids_by_name(f"{stem}.md")
        }
        root, policy = self.vault.root, self.settings.policy.files
        lists = (
            (
                path
                for folder in LISTS
                for path in sorted((root / folder).rglob("[!.]*.md"))
            )
            if names
            else ()
        )
        with disk.DeferredSyncs() as pending:
            for path in (found.relative_to(root).as_posix() for found in lists):
                with suppress(EngramError):
                    if held := names.intersection(
                        _LINK.findall(self.vault.read(path).decode(errors="replace"))
                    ):
                        self.vault.rewrite(
                            path,
                            partial(_unlinked, path, sorted(held), policy),
                            pending,
                        )

    def explain(self, rows: Sequence[Mapping[str, object]]) -> None:
        """Add to the action log."""
        if rows:
            known = (
                self._births_stat is not None and self._births_stat == self._log_stat()
            )
            self._besides(ACTIONS, partial(self.vault.log_actions, rows))
            if known and not self.health.problem(ACTIONS):
                born = [row for row in rows if row["action"] in CREATION_ACTIONS]
                self._births = {
                    str(row["memory"]): str(row["at"]) for row in born
                } | self._births
                self._births_stat = self._log_stat()
        if self._told is not None:
            self._told |= {(str(row["action"]), str(row["memory"])) for row in rows}

    def told(self, action: str, memory: str) -> bool:
        """Whether the log has such a row (`X23`: a person edited this; `X9`: this was
        decided).
        """
        if self._told is None:
            self._told = self.vault.logged_actions(("edit", "decide", "restore"))
        return (action, memory) in self._told

    def kept(self, fact: Fact) -> str | None:
        """Why a memory is a person's, whom no pass contradicts, or None (`X23`)."""
        if fact.verification == "user_confirmed":
            return "a person confirmed it"
        if self.told("restore", fact.id):
            return "a person brought it back"
        return "a person edited it" if self.told("edit", fact.id) else None

    def births(self) -> Mapping[str, str]:
        """When engram wrote each memory that it wrote, by id, as the action log tells;
        a note not in it is foreign.

        The log is read again only where somebody else changed it. One that cannot be
        read tells what it told before.
        """
        now = self._log_stat()
        if now != self._births_stat:
            with suppress(EngramError):
                self._births, self._births_stat = self.vault.creation_times(), now
        return self._births

    def _log_stat(self) -> Stat | None:
        try:
            return stat_of((self.vault.root / ACTIONS).lstat())
        except OSError:
            return None

    def seed(self) -> None:
        """Write the list of hashes anew if it differs from the index (`C5`).

        For changes of the vault that others made; `write` and `took` follow their own.
        """
        catalog = self.index.catalog
        self._besides(
            HASHES,
            lambda: self.vault.seed_hashes(set(catalog.active_hashes().values())),
        )

    def _besides(self, path: str, write: Callable[[], object]) -> None:
        """Write what explains or can be made again: a refusal is reported and holds
        nothing up.
        """
        try:
            write()
        except EngramError as fault:
            self.health.report(path, str(fault))
        else:
            self.health.clear(path)

    def path_of(self, fact: Fact, taken: Collection[str]) -> str:
        """Where the note of a new fact will stand; `taken` are paths that are planned
        for others (`C7`).
        """
        planned = {PurePosixPath(path).name.casefold() for path in taken}
        return facts.fact_path(
            fact,
            self.settings.zone,
            folder="review" if fact.status == "review" else "facts",
            pattern=self.settings.file_name,
            taken=lambda path: (
                PurePosixPath(path).name.casefold() in planned
                or self._holds_another(path, fact)
            ),
        )

    def _holds_another(self, path: str, fact: Fact) -> bool:
        """Whether something else than `fact` stands there, or any memory's note has
        this name: links go by it.

        The fact stands there itself if the index failed to learn of it.
        """
        if {*self.index.catalog.fact_ids_by_name(PurePosixPath(path).name)} - {fact.id}:
            return True
        places = (path, path.replace("facts/", "archive/", 1))
        held = [place for place in places if self.index.scanner.exists(place)]
        limits = self.settings.policy.files
        return any(
            frontmatter.read(self.vault.read(place), limits).keys.get("id") != fact.id
            for place in held
        )

    def body(self, path: str) -> str:
        """The body of a note as it stands."""
        return frontmatter.read(self.vault.read(path), self.settings.policy.files).body

    def confirmed(self, fact: Fact) -> dict[str, object]:
        """The keys by which a fact that is seen again loses its speculative expiry
        (`C17`).
        """
        speculative = (
            tier_of(fact.confidence, self.settings.policy.extraction) == "speculative"
        )
        return (
            {"expires": None}
            if fact.expires and not fact.pinned and speculative
            else {}
        )


def purged(
    note_writer: NoteWriter, now: datetime, *, dry_run: bool
) -> dict[str, object]:
    """Empty the trash: the paths of what is removed, and by path what could not be
    (rows C16, X8).
    """
    found, failures, rows = (
        note_writer.vault.trash_paths(),
        dict[str, str](),
        list[dict[str, object]](),
    )
    for path in () if dry_run else found:
        try:
            known = frontmatter.read(
                note_writer.vault.read(path), note_writer.settings.policy.files
            ).keys.get("id")
            note_writer.vault.erase(path)
        except EngramError as fault:
            failures[path] = str(fault)
        else:
            rows += (
                [deed(now, "purge", known, "the user emptied the trash")]
                if isinstance(known, str)
                else []
            )
    if rows:
        note_writer.explain(rows)
    removed = [path for path in found if path not in failures]
    return {"removed": removed, "failures": failures, "dry_run": dry_run}


def _paths(change: Change) -> tuple[str, ...]:
    return (change.path, change.to) if isinstance(change, Move) else (change.path,)


def _unlinked(path: str, names: Iterable[str], policy: FilePolicy, raw: bytes) -> bytes:
    for name in names:
        raw = blocks.apply_block_edit(
            raw, BlockEdit(path, "its note is gone", unlink=name), policy
        )
    return raw


def deed(
    now: datetime, action: str, memory: str, why: str, by: str = "user"
) -> dict[str, object]:
    """A line of the action log for what a person did, or what follows from what was
    said (rows A32, C22).
    """
    return {
        "at": now.isoformat(timespec="seconds"),
        "action": action,
        "outcome": "applied",
        "memory": memory,
        "reason": redact(why).text,
        "by": by,
    }
