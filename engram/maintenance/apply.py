"""The writes of a run: recorded for undo, applied, logged and committed.

The bytes that a run replaces are durable in the undo history before the first file
changes. Methods return the failures, by path or part, and raise EngramError only if
their docstring says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.errors import EngramError
from engram.maintenance.report import counts
from engram.pipeline.write import action_row
from engram.vault import frontmatter, reviews
from engram.vault.changes import settle
from engram.vault.runs import RUNS
from engram.vault.store import ACTIONS, HASHES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from engram.maintenance.report import Action
    from engram.pipeline.entities import EntityWriter
    from engram.pipeline.write import NoteWriter
    from engram.vault.changes import Write
    from engram.vault.git import Git

    LogRows = Mapping[str, Sequence[Mapping[str, object]]]
    Failures = dict[str, str]


class RunWriter:
    """Carries out the writes of runs. For the writer thread.

    `git` is the repository of the vault, or None if commits are switched off.
    `usage_path` is the file of the usage log, which is committed with a run.
    """

    def __init__(
        self,
        note_writer: NoteWriter,
        entity_writer: EntityWriter,
        clock: Callable[[], datetime],
        usage_path: str,
        git: Git | None,
    ) -> None:
        self.note_writer = note_writer
        self.vault = note_writer.vault
        self.index = note_writer.index
        self.entity_writer = entity_writer
        self.runs = note_writer.runs
        self.clock = clock
        self.usage_path = usage_path
        self.git = git

    def apply(
        self,
        run: str,
        cadence: str,
        now: datetime,
        writes: Sequence[Write],
        actions: Sequence[Action],
        failures: Mapping[str, str],
    ) -> Failures:
        """Write the files of a run and record it; `failures` are those of its plan."""
        failed: Failures = {}
        if writes:
            try:
                self.runs.record(run, writes)
            except EngramError as fault:
                return {"history": str(fault)}
            failed = self.put(writes, _log_rows(run, now, writes, actions))
            self._log_failures(run, now, actions, failed)
            self.entity_writer.reread(path for write in writes for path in write.paths)
        if writes or failures:
            applied = [one for one in actions if one.path not in failed]
            failed |= self.record(run, cadence, now, applied, {**failures, **failed})
        if writes:
            done = [f"{name} {number}" for name, number in counts(actions).items()]
            failed |= self.commit(run, f"{cadence}, {', '.join(done)}", writes)
        return failed

    def put(self, writes: Sequence[Write], rows: LogRows) -> Failures:
        """Write files as planned, durably, in batches; log the `rows` of their keys."""
        failed: Failures = {}
        for batch in self._batches(writes):
            faults = self.note_writer.put(batch, every=True).failed
            failed |= {path: str(fault) for path, fault in faults.items()}
            done = [write for write in batch if write.place not in failed]
            logged = [row for write in done for row in rows.get(write.key, ())]
            self.note_writer.log_actions(logged)
        return failed

    def _batches(self, writes: Sequence[Write]) -> Iterator[Sequence[Write]]:
        """Yield groups of writes whose folders are made durable together."""
        size = self.note_writer.settings.policy.consolidation.together
        return (writes[start : start + size] for start in range(0, len(writes), size))

    def _log_failures(
        self,
        run: str,
        now: datetime,
        actions: Iterable[Action],
        failed: Mapping[str, str],
    ) -> None:
        extra = {"outcome": "failed", "run": run}
        self.note_writer.log_actions(
            [
                action_row(now, one.name, one.memory, failed[one.path], by="engram")
                | extra
                for one in actions
                if one.memory and one.path in failed
            ]
        )

    def record(
        self,
        run: str,
        cadence: str,
        now: datetime,
        actions: Iterable[Action],
        failures: Mapping[str, str],
    ) -> Failures:
        """Append the line about a run to `state/runs.jsonl`."""
        times, done = (now, self.clock()), counts(actions)
        try:
            self.runs.finish(run, cadence, times, done, failures)
        except EngramError as fault:
            return {RUNS: str(fault)}
        return {}

    def commit(self, run: str, subject: str, writes: Iterable[Write]) -> Failures:
        """Commit the files of a run, and the logs that belong to it."""
        if self.git is None:
            return {}
        paths = [path for write in writes for path in write.paths]
        logs = [ACTIONS, RUNS, HASHES, self.usage_path]
        try:
            self.git.commit([*paths, *logs], subject, "consolidate", run)
        except EngramError as fault:
            return {"git": str(fault)}
        return {}

    def recover(self) -> None:
        """Finish an interrupted run; call it before the first scan.

        Otherwise the scan would take the writes of the run for edits by a user.
        """
        run = self.runs.unfinished()
        if not run:
            return
        try:
            self.index.wrote(settle(self.vault, self.runs.load(run).steps))
        except EngramError as fault:
            self.note_writer.health.report("history", str(fault))
        self.record(run, "", self.clock(), (), {"run": "it was interrupted"})


def _log_rows(
    run: str,
    now: datetime,
    writes: Iterable[Write],
    actions: Iterable[Action],
) -> dict[str, list[Mapping[str, object]]]:
    """Return the rows of the action log by the key of the note that they belong to."""
    notes = {write.key: write for write in writes if write.why}
    rows: dict[str, list[Mapping[str, object]]] = {key: [] for key in notes}
    for key, note in notes.items():
        if (
            not note.before
            and frontmatter.read(note.new).keys.get("kind") != reviews.KIND
        ):
            why = f"made in a run: {note.why}"
            row = action_row(now, "create", key, why, by="engram")
            rows[key].append(row | {"run": run})
    for one in actions:
        if one.memory in notes:
            row = action_row(now, one.name, one.memory, one.why, by="engram")
            rows[one.memory].append(row | {"run": run})
    return rows
