"""The writes of a run: recorded for undo, applied, logged and committed.

The bytes that a run replaces are durable in the undo history before the first file
changes. Methods return the failures, by path or part, and raise EngramError only if
their docstring says so.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from engram.core.records import Create
from engram.errors import ConflictError, EngramError
from engram.maintenance.plan import INCOMPLETE
from engram.maintenance.report import counts
from engram.pipeline.run_log import RUNS
from engram.pipeline.write import action_row
from engram.vault import disk, reviews
from engram.vault import undo as vault_undo
from engram.vault.store import ACTIONS, HASHES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from engram.maintenance.overlay import PlannedWrite
    from engram.maintenance.report import Action
    from engram.pipeline.entities import EntityWriter
    from engram.pipeline.write import NoteWriter
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
        self.history = note_writer.runs.history
        self.clock = clock
        self.usage_path = usage_path
        self.git = git

    def apply(
        self,
        run: str,
        cadence: str,
        now: datetime,
        writes: Sequence[PlannedWrite],
        actions: Sequence[Action],
        failures: Mapping[str, str],
    ) -> Failures:
        """Write the files of a run and record it; `failures` are those of its plan."""
        failed: Failures = {}
        if writes:
            replaced = {write.step.was: write.raw for write in writes}
            try:
                self.history.record(run, [write.step for write in writes], replaced)
            except EngramError as fault:
                return {"history": str(fault)}
            failed = self._write(run, now, writes, actions)
            self._log_failures(run, now, actions, failed)
            self.entity_writer.reread(path for write in writes for path in write.paths)
        if writes or failures:
            applied = [one for one in actions if one.path not in failed]
            failed |= self.record(run, cadence, now, applied, {**failures, **failed})
        if writes:
            self.history.mark_finished(run)
            done = [f"{name} {number}" for name, number in counts(actions).items()]
            failed |= self.commit(run, f"{cadence}, {', '.join(done)}", writes)
        return failed

    def _write(
        self,
        run: str,
        now: datetime,
        writes: Sequence[PlannedWrite],
        actions: Iterable[Action],
    ) -> Failures:
        """Write the state first, then the notes, in batches."""
        rows = _log_rows(run, now, writes, actions)
        incomplete: set[str] = set()
        failed = self.put([write for write in writes if write.change is None])
        for batch in self._batches([write for write in writes if write.change]):
            try:
                self._write_notes(batch, rows)
            except (
                EngramError
            ):  # index the written notes, and try the others one by one
                for write in batch:
                    if write.key in incomplete:
                        failed[write.place] = INCOMPLETE
                    elif why := self._write_alone(write, rows):
                        failed[write.place] = why
                        incomplete |= write.group
        return failed

    def _write_notes(self, batch: Sequence[PlannedWrite], rows: LogRows) -> None:
        changes = [write.change for write in batch if write.change is not None]
        logged = [row for write in batch for row in rows.get(write.key, ())]
        ready = {write.place: write.new for write in batch}
        self.note_writer.write(changes, logged, ready)

    def _write_alone(self, write: PlannedWrite, rows: LogRows) -> str:
        """Write one note, unless it was written before; return the error, or ''."""
        try:
            settled = vault_undo.settle_steps(self.vault, [write.step])
            if settled:
                self.note_writer.index_written(settled, ())
                self.note_writer.log_actions(list(rows.get(write.key, ())))
            else:
                self._write_notes([write], rows)
        except EngramError as fault:
            return str(fault)
        return ""

    def put(self, writes: Sequence[PlannedWrite]) -> Failures:
        """Write files as planned, durably, in batches."""
        failed: Failures = {}
        for batch in self._batches(writes):
            failed |= self._put_batch(batch)
        return failed

    def _put_batch(self, batch: Sequence[PlannedWrite]) -> Failures:
        written: dict[str, bytes] = {}
        unsure: list[str] = []
        failed: Failures = {}
        pending = disk.DeferredSyncs()
        for write in batch:
            try:
                written |= vault_undo.apply_step(
                    self.vault, write.step, write.new, pending
                )
            except EngramError as fault:
                failed[write.place] = str(fault)
                standing = vault_undo.settle_steps(self.vault, [write.step])
                written |= standing
                # a rescan finds the edit of a user
                if not isinstance(fault, ConflictError):
                    unsure += [path for path in write.paths if path not in standing]
        for finish in (
            partial(disk.sync, pending),
            partial(self.note_writer.index_written, written, unsure),
        ):
            try:
                finish()
            except EngramError as fault:
                every = dict.fromkeys((write.place for write in batch), str(fault))
                failed = every | failed
        return failed

    def _batches(
        self, writes: Sequence[PlannedWrite]
    ) -> Iterator[Sequence[PlannedWrite]]:
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
        append, done = self.note_writer.runs.append, counts(actions)
        try:
            append(run, cadence, now, self.clock(), done, failures)
        except EngramError as fault:
            return {RUNS: str(fault)}
        return {}

    def commit(
        self, run: str, subject: str, writes: Iterable[PlannedWrite]
    ) -> Failures:
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
        run = self.history.unfinished()
        if not run:
            return
        try:
            steps = self.history.load(run).steps
            self.index.wrote(vault_undo.settle_steps(self.vault, steps))
        except EngramError as fault:
            self.note_writer.health.report("history", str(fault))
        self.record(run, "", self.clock(), (), {"run": "it was interrupted"})
        self.history.mark_finished(run)


def _log_rows(
    run: str,
    now: datetime,
    writes: Iterable[PlannedWrite],
    actions: Iterable[Action],
) -> dict[str, list[Mapping[str, object]]]:
    """Return the rows of the action log by the key of the note that they belong to."""
    rows: dict[str, list[Mapping[str, object]]] = {}
    for write in writes:
        change = write.change
        if isinstance(change, Create) and change.keys.get("kind") != reviews.KIND:
            why = f"made in a run: {change.why}"
            row = action_row(now, "create", write.key, why, by="engram") | {"run": run}
            rows[write.key] = [row]
    for one in actions:
        row = action_row(now, one.name, one.memory, one.why, by="engram") | {"run": run}
        rows.setdefault(one.memory, []).append(row)
    return rows
