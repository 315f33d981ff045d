"""The writer of notes: session files, planned changes, action log, list of hashes,
and the notes about files in conflict.

Order of writes: a session file before its facts, facts before their entity notes and
boxes; the journal drops the turns last.
"""

from __future__ import annotations

import re
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from difflib import unified_diff
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from engram.core.actions import CREATION_ACTIONS
from engram.core.categories import PLAIN
from engram.core.classify import tier_of
from engram.core.language.secrets import redact
from engram.core.markdown import escape, plain_text
from engram.core.records import BlockEdit, Change, Create, Fact, FiledTurn
from engram.core.text import content_hash, note_name, slug, ulid
from engram.errors import ConflictError, EngramError, Health
from engram.vault import blocks, changes, disk, facts, frontmatter, reviews, sessions
from engram.vault.formats import time_text, unused_name
from engram.vault.paths import Stat, printable, stat_of
from engram.vault.runs import FILING, RUNS, RunHistory, UserDecision
from engram.vault.store import ACTIONS, HASHES, Vault

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Collection,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )

    from engram.config import Settings
    from engram.core.policy import FilePolicy
    from engram.index.diff import Conflict
    from engram.index.search import Index
    from engram.ingest.queue import Batch

LINKING_FOLDERS = ("boxes", "artifacts")
"""Folders with generated notes that link to memories."""
_LINK = re.compile(r"\[\[([^\[\]|#\n]+)")
KNOWN = "the same statement is already known"


class NoteWriter:
    """Writes notes, and the logs and lists about them. For the writer thread.

    A log or list that cannot be written is reported to `health`.
    """

    def __init__(
        self, vault: Vault, index: Index, settings: Settings, health: Health
    ) -> None:
        self.vault = vault
        self.index = index
        self.settings = settings
        self.health = health
        self.conflicts = ConflictNotes(vault, index, settings)
        most = settings.policy.consolidation.history_bytes
        self.runs = RunHistory(vault, settings.state / "history", most)
        self.decision: UserDecision | None = None
        self._logged: set[tuple[str, str]] | None = None
        self._creation_times: dict[str, str] = {}
        self._creation_times_stat: Stat | None = None

    def quiet_until(self, batch: Batch, now: datetime) -> datetime | None:
        """Return when to try the session file of a batch again; None if it is at rest.

        A file that a user edited is not written for `quiet_seconds`.
        """
        path = sessions.path(batch.waiting[0].filed.note)
        rest = self.settings.policy.files.quiet_seconds
        if self.vault.is_at_rest(path, now, rest):
            return None
        return now + timedelta(seconds=rest)

    def file_turns(self, turns: Sequence[FiledTurn]) -> tuple[FiledTurn, ...]:
        """Append turns to their session files; return them with blocks (`X1`, `B18`).

        Turns that a file contains already are left out. Where a person's edit, or a
        merge, left a file that cannot be parsed, the conversation goes on in another.
        """
        by_note: dict[str, list[FiledTurn]] = {}
        for turn in turns:
            by_note.setdefault(turn.note, []).append(turn)
        written: dict[str, bytes] = {}
        found: dict[str, Iterator[FiledTurn]] = {}
        try:
            with disk.DeferredSyncs() as pending:
                for note, some in by_note.items():
                    raw, placed = self._append_turns(note, some, pending)
                    written[sessions.path(placed[0].note)] = raw
                    found[note] = iter(placed)
        finally:
            self.index.wrote(written)
        self.index.filed(turns)
        filed = tuple(next(found[turn.note]) for turn in turns)
        if self.decision:
            self.decision.told += [one.key for one in filed]
        if any(one.turn.private for one in filed):
            filed = tuple(map(self._as_indexed, filed))
        return filed

    def _append_turns(
        self, note: str, turns: Sequence[FiledTurn], pending: set[Path]
    ) -> tuple[bytes, Sequence[FiledTurn]]:
        """Append turns to one session file; return its bytes, and them with blocks."""
        zone, path = self.settings.zone, sessions.path(note)
        if not self.index.scanner.exists(path):
            raw = sessions.new_session(turns, zone)
            self.vault.create(path, raw, pending)
            return raw, tuple(turns)
        placed, cannot_append = tuple(turns), False

        def appended(raw: bytes) -> bytes:
            nonlocal placed, cannot_append
            try:
                raw, placed = sessions.append_turns(raw, turns, zone)
            except ConflictError:
                cannot_append = not sessions.may_contain(raw, turns)
                raise
            return raw

        try:
            return self.vault.rewrite(path, appended, pending), placed
        except ConflictError:
            if not cannot_append:
                raise
        name = unused_name(note, partial(self._is_of_another, turns[0]))
        return self._append_turns(
            name, [replace(one, note=name) for one in turns], pending
        )

    def _is_of_another(self, filed: FiledTurn, name: str) -> bool:
        """Return whether the turn must not be in the session file of this name."""
        known = self.index.catalog.sessions(filed.turn.session, filed.turn.persona)
        is_own = any(one.path == sessions.path(name) for one in known)
        return name == filed.note or (
            self.vault.exists(sessions.path(name)) and not is_own
        )

    def _as_indexed(self, filed: FiledTurn) -> FiledTurn:
        """Return the turn, private if a later turn in the file makes it so (`E14`)."""
        unit = self.index.catalog.unit(filed.key)
        if isinstance(unit, FiledTurn) and unit.turn.private:
            return replace(filed, turn=replace(filed.turn, private=True))
        return filed

    def duplicate(self, text: str, persona: str | None, now: datetime) -> Fact | None:
        """Return the active fact with the same text, if its note exists (`C5`).

        A user may have deleted the note since the last scan.
        """
        known = self.index.catalog.duplicate(content_hash(text), persona, now)
        if known and not self.index.scanner.exists(known.path):
            self.index.wrote({known.path: b""})
            return None
        return known

    def write_new(self, fact: Fact, row: Mapping[str, object]) -> None:
        """Create the note of one fact, and log it with `row`."""
        keys = facts.fact_keys(fact, self.settings.zone)
        body = facts.fact_body(fact.text, fact.source)
        note = Create(self.path_of(fact, ()), keys, body, str(row["reason"]))
        self.write([note], [row])

    def write(
        self, planned: Iterable[Change], rows: Sequence[Mapping[str, object]]
    ) -> None:
        """Make the changes and log `rows` (rows X18, C11).

        On return the index and the list of hashes agree with the notes. Raises
        EngramError; the index then contains the changes that were made before the
        failure.
        """
        self.put(changes.plan(self.vault, planned)).check()
        self.log_actions(rows)

    def put(
        self, writes: Sequence[changes.Write], *, every: bool = False
    ) -> changes.Outcome:
        """Write files as planned and index them; `every` is as in `changes.apply`.

        A note that may have been created, though its write failed, is scanned.
        """
        paths = [path for write in writes for path in write.paths]
        before = self._hashes_at(paths)
        outcome = changes.apply(self.vault, writes, every=every)
        if self.decision:
            self.decision.add(outcome.done)
        try:
            if outcome.failed:
                self.index_written(outcome.written, outcome.uncertain)
            else:
                self.index.wrote(outcome.written)
                self._follow_hashes(before, self._hashes_at(paths))
        except EngramError as fault:
            unsure = dict.fromkeys((write.place for write in writes), fault)
            outcome.failed = unsure | outcome.failed
        return outcome

    def index_written(
        self, written: Mapping[str, bytes], uncertain: Collection[str]
    ) -> None:
        """Index files that were written, by path.

        `uncertain` are paths whose content is unknown after a failure; they are
        scanned.
        """
        self.index.wrote(written)
        if uncertain:
            self.conflicts.found(self.index.scan(uncertain).conflicts)
        self.update_hashes()

    def scan_all(self) -> None:
        """Compare the whole vault with the catalogue; user edits remain to be recorded."""
        self.conflicts.found(self.index.scan(None).conflicts)
        self.update_hashes()

    def _hashes_at(self, paths: Sequence[str]) -> list[str]:
        """Return the content hashes of the active facts in these files, in this order."""
        facts_there = self.index.catalog.facts_at(paths) if paths else ()
        hashes = {
            fact.path: content_hash(fact.text)
            for fact in facts_there
            if fact.status == "active"
        }
        return [hashes[path] for path in dict.fromkeys(paths) if path in hashes]

    def _follow_hashes(self, before: Collection[str], after: Sequence[str]) -> None:
        """Update the list of hashes after a write (`C5`).

        The hashes of new statements are appended. The whole list is written if a
        statement ended or the last write of the list failed.
        """
        added = [digest for digest in after if digest not in before]
        if not set(before) <= set(after) or self.health.problem(HASHES):
            self.update_hashes()
        elif added:
            self._write_auxiliary(HASHES, partial(self.vault.add_hashes, added))

    def unlink_deleted(self, deleted: Collection[Fact]) -> None:
        """Replace links to deleted notes by plain names in boxes and artifacts.

        A note that cannot be written is left as it is. The nightly passes update
        generated blocks in other notes.
        """
        stems = (PurePosixPath(fact.path).stem for fact in deleted)
        names = {
            stem
            for stem in stems
            if not self.index.catalog.fact_ids_by_name(f"{stem}.md")
        }
        if not names:
            return

        root, policy = self.vault.root, self.settings.policy.files
        notes = [
            path.relative_to(root).as_posix()
            for folder in LINKING_FOLDERS
            for path in sorted((root / folder).rglob("[!.]*.md"))
        ]
        with disk.DeferredSyncs() as pending:
            for path in notes:
                with suppress(EngramError):
                    text = self.vault.read(path).decode(errors="replace")
                    if linked := sorted(names.intersection(_LINK.findall(text))):
                        edit = partial(_unlinked, path, linked, policy)
                        self.vault.rewrite(path, edit, pending)

    def log_actions(self, rows: Sequence[Mapping[str, object]]) -> None:
        """Append rows to the action log."""
        if rows:
            stat = self._creation_times_stat
            is_current = stat is not None and stat == self._log_stat()
            self._write_auxiliary(ACTIONS, partial(self.vault.log_actions, rows))
            if is_current and not self.health.problem(ACTIONS):
                created = {
                    str(row["memory"]): str(row["at"])
                    for row in rows
                    if row["action"] in CREATION_ACTIONS
                }
                self._creation_times = created | self._creation_times
                self._creation_times_stat = self._log_stat()
        if self._logged is not None:
            self._logged |= {(str(row["action"]), str(row["memory"])) for row in rows}

    def forget_logged(self) -> None:
        """Read the action log again when it is next needed, because rows were removed."""
        self._logged = None
        self._creation_times_stat = None

    @contextmanager
    def deciding(self, name: str, now: datetime) -> Iterator[UserDecision]:
        """Record what is written within this context as one decision of the user.

        A decision within another one is part of it. One whose old bytes cannot be
        recorded stands, and `health` says why it cannot be undone.
        """
        if self.decision:
            yield self.decision
            return
        self.decision = decision = UserDecision(self.runs, name)
        try:
            yield decision
        finally:
            self.decision = None
        self._write_auxiliary(RUNS, partial(decision.finish, now))

    def finish_run(
        self, run: str, now: datetime, counts: Mapping[str, int], failure: str
    ) -> None:
        """Record that the changes of a filing run are written, or why they failed."""
        failures = {FILING: failure} if failure else {}
        finish = partial(self.runs.finish, run, FILING, (now, now), counts, failures)
        self._write_auxiliary(RUNS, finish)

    def is_logged(self, action: str, memory: str) -> bool:
        """Return whether the log has a row with this action about a memory (X9, X23)."""
        if self._logged is None:
            self._logged = self.vault.logged_actions(("edit", "decide", "restore"))
        return (action, memory) in self._logged

    def ask(self, note: Create, about: str, turn: str, now: datetime) -> None:
        """Write a note that asks the user, once; `turn` is the key of the turn with it.

        `about` is the id or the key that the row of the log names.
        """
        if self.is_new_question(note):
            row = action_row(now, "ask", about, note.why, "rule") | {"turn": turn}
            self.write([note], [row])

    def is_new_question(self, note: Create) -> bool:
        """Return whether a question was neither decided nor written before."""
        decided = self.is_logged("decide", str(note.keys["id"]))
        return not decided and not self.index.scanner.exists(note.path)

    def is_users(self, fact: Fact) -> bool:
        """Return whether only the user may end a memory (`X9`, `X23`).

        Its note is pinned, or was not created by engram, or a user edited or restored it.
        """
        is_foreign = fact.id not in self.creation_times()
        is_touched = any(self.is_logged(what, fact.id) for what in ("edit", "restore"))
        return fact.pinned or is_foreign or is_touched

    def user_claim(self, fact: Fact) -> str | None:
        """Return why no pass may contradict a memory, or None (`X23`).

        A memory is claimed by a user who confirmed, restored or edited it.
        """
        if fact.verification == "user_confirmed":
            return "a person confirmed it"
        if self.is_logged("restore", fact.id):
            return "a person restored it"
        return "a person edited it" if self.is_logged("edit", fact.id) else None

    def creation_times(self) -> Mapping[str, str]:
        """Return when engram created each memory, by id, from the action log.

        Memories written by a user or another program are missing. The log is read again
        only after another process changed it; while it cannot be read, the last result
        is returned.
        """
        stat = self._log_stat()
        if stat != self._creation_times_stat:
            with suppress(EngramError):
                self._creation_times = self.vault.creation_times()
                self._creation_times_stat = stat
        return self._creation_times

    def _log_stat(self) -> Stat | None:
        try:
            return stat_of((self.vault.root / ACTIONS).lstat())
        except OSError:
            return None

    def update_hashes(self) -> None:
        """Write the list of hashes if it differs from the index (`C5`).

        Call it after the index has read changes by users or other programs; `write` and
        `index_written` update the list themselves.
        """
        catalog = self.index.catalog
        self._write_auxiliary(
            HASHES,
            lambda: self.vault.seed_hashes(set(catalog.active_hashes().values())),
        )

    def _write_auxiliary(self, path: str, write: Callable[[], object]) -> None:
        """Write a log or a derived file; report a failure to `health`, raise nothing."""
        try:
            write()
        except EngramError as fault:
            self.health.report(path, str(fault))
        else:
            self.health.clear(path)

    def path_of(self, fact: Fact, taken: Collection[str]) -> str:
        """Return an unused path for the note of a new fact (`C7`).

        `taken` are paths planned for other notes.
        """
        planned = {path.rpartition("/")[2].casefold() for path in taken}
        return facts.fact_path(
            fact,
            self.settings.zone,
            folder="review" if fact.status == "review" else "facts",
            pattern=self.settings.file_name,
            taken=lambda path: (
                path.rpartition("/")[2].casefold() in planned
                or self._is_taken(path, fact)
            ),
        )

    def _is_taken(self, path: str, fact: Fact) -> bool:
        """Return whether another note has this path, or the name that links use for it.

        The note at `path` may belong to `fact` itself, if it was written but not
        indexed.
        """
        name = PurePosixPath(path).name
        if {*self.index.catalog.fact_ids_by_name(name)} - {fact.id}:
            return True

        paths = (path, path.replace("facts/", "archive/", 1))
        limits = self.settings.policy.files
        return any(
            frontmatter.read(self.vault.read(one), limits).keys.get("id") != fact.id
            for one in paths
            if self.index.scanner.exists(one)
        )

    def body(self, path: str) -> str:
        """Return the body of a note."""
        return frontmatter.read(self.vault.read(path), self.settings.policy.files).body

    def confirmed(self, fact: Fact) -> Fact:
        """Return a fact that was stated again: a speculation has no expiry (`C17`)."""
        tier = tier_of(fact.confidence, self.settings.policy.extraction)
        if fact.expires and not fact.pinned and tier == "speculative":
            return replace(fact, expires=None)
        return fact


def empty_trash(
    note_writer: NoteWriter, now: datetime, *, dry_run: bool
) -> dict[str, object]:
    """Remove the files in `.trash/` for good (rows C16, X8).

    Returns the removed paths, and by path the error of each file that stays.
    """
    vault, policy = note_writer.vault, note_writer.settings.policy.files
    paths = vault.trash_paths()
    failures: dict[str, str] = {}
    rows: list[dict[str, object]] = []
    for path in () if dry_run else paths:
        try:
            memory = frontmatter.read(vault.read(path), policy).keys.get("id")
            vault.erase(path)
        except EngramError as fault:
            failures[path] = str(fault)
            continue
        if isinstance(memory, str):
            rows.append(action_row(now, "purge", memory, "the user emptied the trash"))

    note_writer.log_actions(rows)
    removed = [path for path in paths if path not in failures]
    return {"removed": removed, "failures": failures, "dry_run": dry_run}


def _unlinked(path: str, names: Iterable[str], policy: FilePolicy, raw: bytes) -> bytes:
    for name in names:
        raw = blocks.apply_block_edit(
            raw, BlockEdit(path, "its note was deleted", unlink=name), policy
        )
    return raw


def reversed_row(
    now: datetime, action: str, memory: str, why: str
) -> dict[str, object]:
    """Return the log row of an earlier action that a user reversed (`C21`)."""
    failed = {"outcome": "failed", "reversed": True}
    return action_row(now, action, memory, why) | failed


def action_row(
    now: datetime, action: str, memory: str, why: str, by: str = "user"
) -> dict[str, object]:
    """Return a row of the action log for an applied action (rows A32, C22).

    `by` is the name of the actor: `user`, `engram`, or an extractor.
    """
    return {
        "at": now.isoformat(timespec="seconds"),
        "action": action,
        "outcome": "applied",
        "memory": memory,
        "reason": redact(why).text,
        "by": by,
    }


DIFF_LINES = 200
"""Maximum number of lines of a difference in a note."""
COMPARED_LINES = 5000
"""Maximum number of lines of a file that are compared; time grows with the square."""


class ConflictNotes:
    """Writes review notes for conflicts of the catalogue. For the writer thread."""

    def __init__(self, vault: Vault, index: Index, settings: Settings) -> None:
        self.vault = vault
        self.index = index
        self.settings = settings
        self._waiting: list[Conflict] = []

    def found(self, conflicts: Iterable[Conflict]) -> None:
        """Add conflicts that a scan found; they wait until their note is written.

        A scan reports each conflict only once. A copy of a review note is left alone: a
        note about it would be copied and conflict in turn.
        """
        self._waiting += [
            one for one in conflicts if not one.path.startswith(f"{reviews.FOLDER}/")
        ]

    def ask(self, now: datetime) -> None:
        """Write the notes of the waiting conflicts. Raises EngramError."""
        while self._waiting:
            conflict = self._waiting[0]
            path = _note_path(conflict)
            if not self.vault.exists(path) and self.vault.exists(conflict.path):
                keys = {
                    "id": ulid(now, path),
                    "category": PLAIN,
                    "kind": "note",
                    "created": time_text(now, self.settings.zone),
                    "status": "review",
                    "confidence": 0.0,
                    "importance": 0.5,
                    "end_reason": conflict.why,
                }
                note = Create(path, keys, self._difference(conflict), conflict.why)
                self.index.wrote(changes.write(self.vault, [note]))
            del self._waiting[0]

    def _difference(self, conflict: Conflict) -> str:
        """Return the body of a note: the difference between the two files.

        It is escaped, so that no editor runs or renders a part of it.
        """
        words = f"`{printable(conflict.path)}` is not indexed: {conflict.why}."
        other = conflict.other or self._original(conflict.path)
        lines = self._lines(other) if other else []
        if not lines:
            return escape(f"{words} Correct the file, or delete it.\n")
        diff = unified_diff(
            lines,
            self._lines(conflict.path),
            printable(other),
            printable(conflict.path),
            lineterm="",
        )
        quoted = "\n".join(islice(diff, DIFF_LINES))
        return escape(
            f"{words} Keep one of the two and delete the other.\n\n~~~diff\n{quoted}\n~~~\n"
        )

    def _lines(self, path: str) -> list[str]:
        """Return the lines of a file; none if it is missing or cannot be read."""
        try:
            raw = self.vault.read(path)
        except EngramError:
            return []
        return plain_text(raw.decode(errors="replace")).splitlines()[:COMPARED_LINES]

    def _original(self, copy: str) -> str:
        """Return the path of the memory that a sync tool copied to `copy`, or ''."""
        try:
            raw = self.vault.read(copy)
        except EngramError:
            return ""
        fact = self.index.catalog.fact(
            str(frontmatter.read(raw, self.settings.policy.files).keys.get("id"))
        )
        return fact.path if fact and fact.path != copy else ""


def _note_path(conflict: Conflict) -> str:
    text = f"{conflict.path} {conflict.other} {conflict.why}"
    stem = slug(note_name(conflict.path), 60)
    name = f"{reviews.CONFLICT_PREFIX}{stem}-{content_hash(text)[:8]}"
    return f"{reviews.FOLDER}/{name}.md"
