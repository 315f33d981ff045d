"""Changes that users, editors, sync tools and git make to the files of a vault.

A scan has two phases. It compares the files with the catalogue; then the edits and
deletions of users are recorded, and only then the catalogue is updated. So a crash in
between neither loses a deletion nor invents one (rows X3, X8, X9, X20).
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from engram.core import decide
from engram.core.classify import edited_slot, with_new_time
from engram.core.records import Change, Edit, Fact, Move, Problem
from engram.core.turn_versions import text_digest
from engram.errors import ConflictError, NotFoundError
from engram.operations.signature import operation
from engram.pipeline.write import action_row
from engram.vault.formats import time_text
from engram.vault.paths import FilePlace, printable

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from engram.index.diff import Diff, EditedFact
    from engram.maintenance.schedule import Schedule
    from engram.operations.notes import Keys
    from engram.operations.review import ReviewQueue
    from engram.pipeline.commits import CommitLog
    from engram.pipeline.readiness import Readiness
    from engram.pipeline.reconcile import Reconciler

log = logging.getLogger("engram.memory")

LOGGED_PLACES = 20
"""Maximum number of places of new problems in a log line; `engram doctor` lists all."""

FROZEN = (
    "many notes vanished at once; they do not count as deleted until you run "
    "`engram doctor --accept-deletions`"
)
SET_STATUS = "a user set the status"


class FileSync:
    """Compares the files with the catalogue, and records changes by users.

    For the writer thread. `look_due` is the monotonic time after which a process
    without a daemon scans the files again.
    """

    def __init__(
        self,
        reconciler: Reconciler,
        review_queue: ReviewQueue,
        readiness: Readiness,
        commits: CommitLog,
        schedule: Schedule,
    ) -> None:
        self.reconciler = reconciler
        self.note_writer = reconciler.note_writer
        self.vault = reconciler.vault
        self.index = reconciler.index
        self.settings = reconciler.settings
        self.health = self.note_writer.health
        self.usage_tracker = reconciler.usage_tracker
        self.forgetting = reconciler.forgetting
        self.review_queue = review_queue
        self.clock = review_queue.clock
        self.readiness = readiness
        self.commits = commits
        self.schedule = schedule
        self.look_due = time.monotonic()
        self._checked_out = False

    # -- scans -------------------------------------------------------------------------

    def rescan(
        self, paths: Collection[Path] | None, *, accept_deletions: bool = False
    ) -> set[Path]:
        """Index the changes on disk, everywhere or only at and below `paths`.

        Returns the paths that need a second scan after `settle_most_seconds`: missing,
        or still being written. Raises NotFoundError if another folder is at the path of
        the vault.
        """
        if self.vault.was_exchanged:
            raise NotFoundError(
                "another folder is at the path of the vault",
                where=str(self.settings.vault),
                fix="Put the vault back, or start again with the folder that is there.",
            )
        now, began = self.clock(), time.monotonic()
        with self.readiness.reading():
            self.vault.settle_leftovers(now, self.settings.policy.files.quiet_seconds)
            diff = self.index.scan(paths, accept_deletions=accept_deletions)
        self._record_user_changes(diff, now)
        self._schedule_look(diff, began)
        self._report(diff)

        self._checked_out = diff.checked_out
        if diff.checked_out:
            self.reconciler.box_writer.reload()
        # git and sync tools may change the file of tombstones
        if paths is None or diff.checked_out:
            self.index.tombstones.keep()
        if paths is None:
            self.reconciler.entity_writer.refresh()
            self.usage_tracker.refresh(now, restore=not diff.checked_out)
        self._follow(diff, now)
        self.apply_answers(paths)
        self.commits.done("by hand", "record changes made by a user")
        return {self.settings.vault / path for path in diff.pending}

    def rescan_settled(self, paths: Collection[Path] | None) -> None:
        """Scan, and wait for the second scan of files that need one."""
        unsettled = self.rescan(paths)
        if unsettled:
            time.sleep(self.settings.policy.files.settle_most_seconds)
            self.rescan(unsettled)

    @operation("Reindexed", writes=True)
    def reindex(
        self,
    ) -> dict[str, Any]:
        """Rebuild the index from the files of the vault. Shows the seconds it took,
        and counts of memories, turns and files.

        (Row X20.)
        Changes by users are recorded first, because the catalogue with the former state
        of the files is deleted too.
        """
        began = time.monotonic()
        self.rescan_settled(None)
        if self.health.problem("frozen"):
            raise ConflictError(FROZEN, fix="Then run `engram reindex` again.")
        with self.readiness.reading():
            self.index.rebuild()
        self.note_writer.update_hashes()
        return {"seconds": round(time.monotonic() - began, 3), **self.index.counts()}

    def apply_answers(self, paths: Collection[Path] | None) -> None:
        """Carry out the answers ticked in `review/`, everywhere or below `paths` (X9)."""
        problems = self.review_queue.obey(paths)
        self.health.report("review", "; ".join(problems.values()))

    def meet_unrecorded(self) -> None:
        """Record the first meeting of notes that are in no log of engram.

        A crash may have lost the log row of a note that engram wrote. After a checkout
        the logs are those of that commit, so nothing is recorded.
        """
        if self._checked_out:
            return
        created_at = self.note_writer.creation_times()
        first_met = self.usage_tracker.usage_log.first_met
        unknown = [
            fact_id
            for fact_id in self.index.catalog.fact_ids()
            if fact_id not in created_at and first_met(fact_id) is None
        ]
        if unknown:
            self._meet(self.index.facts(unknown), self.clock())

    # -- effects of a scan -------------------------------------------------------------

    def _record_user_changes(self, diff: Diff, now: datetime) -> None:
        """Record the edits and deletions of users, then update the catalogue."""
        if diff.edited:
            self._record_edits(diff.edited, now)
        self.note_writer.log_actions(
            [
                action_row(now, "edit", turn.key, "a user edited the turn")
                | {"was": text_digest(turn.turn.text)}
                for turn in diff.edited_turns
            ]
        )
        if diff.deleted_turns:
            self.forgetting.record_deleted_turns(diff.deleted_turns, now)
        if diff.deleted:
            self.forgetting.record_deletions(diff.deleted, now)
        self.index.scanner.acknowledge(diff)

    def _record_edits(self, edits: Sequence[EditedFact], now: datetime) -> None:
        """Log edits; set or lift tombstones for a status that a user set or removed.

        A change that engram wrote and did not index before it ended is not logged as an
        edit.
        """
        for edit in edits:
            was_forgotten = edit.before.status == "forgotten"
            is_forgotten = edit.after.status == "forgotten"
            if is_forgotten and not was_forgotten:
                self.forgetting.record_forgotten(edit.after, now, SET_STATUS)
            elif was_forgotten and not is_forgotten:
                self.forgetting.restore(edit.after.id, now, SET_STATUS)
            at = self.vault.edited_at(edit.after.path)
            edited_at = datetime.fromtimestamp(at, UTC) if at else None
            self.usage_tracker.record_evidence(edit.after.id, now, edited_at)

        by_user = [
            edit for edit in edits if not decide.is_own_change(edit.before, edit.after)
        ]
        rows = [
            action_row(now, "edit", edit.after.id, "a person edited the note")
            | self._edited_time(edit, now)
            | _edited_slot(edit)
            for edit in by_user
        ]
        self.note_writer.log_actions(rows)
        if any({"valid_from", "slot"} & row.keys() for row in rows):
            quiet = self.settings.policy.files.quiet_seconds
            self.schedule.edited(now + timedelta(seconds=quiet))

    def _edited_time(self, edit: EditedFact, now: datetime) -> dict[str, str]:
        """Return the time keys that follow from edited words, or that a user set.

        {} if neither words nor keys changed the time. The pass `redate` writes the keys
        to the note when it is at rest.
        """
        before, after, zone = edit.before, edit.after, self.settings.zone
        dated = after
        if (before.valid_from, before.event_end) == (after.valid_from, after.event_end):
            dated = with_new_time(after, before.text, now.astimezone(zone))
            if dated == after:
                return {}
        if dated.valid_from is None or dated.event_end is None:
            return {}
        return {
            "valid_from": time_text(dated.valid_from, zone),
            "event_end": time_text(dated.event_end, zone),
        }

    def _follow(self, diff: Diff, now: datetime) -> None:
        """Update the stores that depend on the changed notes."""
        if diff.added or diff.edited or diff.deleted:
            self.note_writer.update_hashes()
        if diff.added:
            self._meet(self.index.catalog.facts_at(diff.added), now)
        self.note_writer.unlink_deleted(diff.deleted)
        self.note_writer.conflicts.found(diff.conflicts)
        self.note_writer.conflicts.ask(now)

    def _meet(self, facts: Collection[Fact], now: datetime) -> None:
        created_at = self.note_writer.creation_times()
        self.usage_tracker.record_first_met(facts, created_at, now, self.settings.zone)

    def _schedule_look(self, diff: Diff, began: float) -> None:
        """Set `look_due` so that scans take at most a share of the time."""
        policy, done = self.settings.policy.files, time.monotonic()
        pause = policy.look_seconds
        if not diff.added and not diff.changed:
            pause = max(pause, (done - began) / policy.look_share)
        self.look_due = done + pause

    def _report(self, diff: Diff) -> None:
        self.health.report("leftover", "; ".join(self.vault.unsettled.values()))
        self.health.report("frozen", FROZEN if diff.frozen else "")
        if diff.problems:
            problems = self._in_words(diff.problems)
            log.warning("%s; `engram doctor` lists them", problems)

    def _in_words(self, problems: Sequence[Problem]) -> str:
        """Return the number of problems by code, with places if content may be logged."""
        counts = Counter(problem.code for problem in problems)
        numbers = ", ".join(
            f"{code} {number}" for code, number in sorted(counts.items())
        )
        words = f"problems in files: {numbers}"
        if not self.settings.log_content:
            return words
        first = problems[:LOGGED_PLACES]
        places = ", ".join(printable(problem.path) for problem in first)
        return f"{words} ({places})"


def _edited_slot(edit: EditedFact) -> dict[str, str]:
    """Return `slot` if a user changed the words of a memory and left its stale value."""
    before, after = edit.before, edit.after
    is_left = (before.attribute, before.value) == (after.attribute, after.value)
    is_stale = is_left and before.text != after.text and edited_slot(after)
    return {"slot": "words"} if is_stale else {}


class NoteEditor:
    """Finds memories and patches their notes. For the writer thread."""

    def __init__(self, files: FileSync) -> None:
        self.files = files
        self.note_writer = files.note_writer
        self.index = files.index
        self.settings = files.settings
        self.clock = files.clock

    def find(self, name: str) -> Fact:
        """Return the memory as it is now in its note, after indexing a new edit.

        `name` is an id, an unambiguous prefix of one, or a path. Raises NotFoundError,
        ConflictError.
        """
        fact = self.index.catalog.find_fact(name)
        if self.index.current(fact, FilePlace(fact.path, fact.sha), {}) is not fact:
            self.files.rescan([self.settings.vault / fact.path])
        return self.index.catalog.find_fact(name)

    def patch(
        self, fact: Fact, keys: Keys, action: str, why: str, *, unarchive: bool = False
    ) -> None:
        """Set front-matter keys; with `unarchive` move an archived note back.

        `action` is the name of the row in the action log. If a user has edited the note
        in the meantime, the patch is applied to the edited version.
        """
        row = action_row(self.clock(), action, fact.id, why)

        def change(fact: Fact) -> Change:
            if unarchive and fact.path.startswith("archive/"):
                path = self.note_writer.path_of(replace(fact, status="active"), ())
                return Move(fact.path, fact.sha, path, keys, why)
            return Edit(fact.path, fact.sha, keys, why)

        try:
            self.note_writer.write([change(fact)], [row])
        except ConflictError:
            self.note_writer.write([change(self.find(fact.id))], [row])

    def try_patch(
        self, fact: Fact, keys: Keys, action: str, why: str, *, unarchive: bool = False
    ) -> str:
        """Patch a memory that the user did not name; return the error or ''.

        A note that a user broke or deleted does not stop the operation on another one.
        """
        try:
            self.patch(fact, keys, action, why, unarchive=unarchive)
        except (ConflictError, NotFoundError) as error:
            return str(error)
        return ""
