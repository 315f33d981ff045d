"""The runs of maintenance: planned, applied, undone, forecast (rows X6, X10, X22, X23).

A run is planned as a whole on a snapshot of the vault, within limits that protect the
user from surprises. Its writes are then recorded for undo and applied. A dry run ends
before that. A second run at the same instant changes no byte.
"""

from __future__ import annotations

import gc
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from engram.errors import ConflictError, EngramError
from engram.maintenance.forecast import forecast
from engram.maintenance.holds import Holds, PlanWithHolds, path_of
from engram.maintenance.passes import lifecycle
from engram.maintenance.plan import RunPlan
from engram.maintenance.report import Action, Progress, Report, counts
from engram.maintenance.schedule import Cadence, cadence_of, passes_of
from engram.maintenance.snapshot import Snapshot
from engram.pipeline.forgetting import Forgetting
from engram.pipeline.turn_edits import TurnEdits
from engram.pipeline.write import NoteWriter, action_row, reversed_row
from engram.vault import frontmatter, reviews
from engram.vault.changes import RecordedRun, Write, plan_undo, settle
from engram.vault.runs import DECISION, FILING, RUNS, UNDO
from engram.vault.store import ACTIONS, HASHES

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

    from engram.core.actions import Proposal
    from engram.core.records import VectorStorage
    from engram.maintenance.clock import FreezeGuard
    from engram.maintenance.passes.view import ModelQuestion, Pass
    from engram.maintenance.report import Interruption
    from engram.pipeline.compare import Comparison
    from engram.pipeline.entities import EntityWriter
    from engram.pipeline.usage import UsageTracker
    from engram.vault.git import Git

    LogRows = Mapping[str, Sequence[Mapping[str, object]]]
    Failures = dict[str, str]


ENDED = ("status", "superseded_by")
"""The keys of the front matter that say that a memory is over."""


@contextmanager
def _without_cycle_collection() -> Iterator[None]:
    """Switch the cycle collector off: a view has no cycles and takes long to walk."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class Maintenance:
    """The runs of one vault. For the writer thread.

    `freeze` returns the reason to postpone runs, if the clock is in doubt or many files
    are missing. `git` is the repository of the vault, or None if commits are switched
    off.
    """

    def __init__(
        self,
        note_writer: NoteWriter,
        usage_tracker: UsageTracker,
        entity_writer: EntityWriter,
        comparison: Comparison,
        clock: Callable[[], datetime],
        freeze: FreezeGuard,
        git: Git | None = None,
    ) -> None:
        settings = note_writer.settings
        self.note_writer = note_writer
        self.vault = note_writer.vault
        self.index = note_writer.index
        self.usage_tracker = usage_tracker
        self.edges = entity_writer.edges
        self.clock = clock
        self.freeze = freeze
        self.progress = Progress(clock)
        self.snapshot = Snapshot(
            note_writer, usage_tracker, entity_writer, comparison, self.progress
        )
        self.holds = Holds(self.vault, settings.zone, ask=settings.holds == "ask")
        self.history = note_writer.runs
        self.entity_writer = entity_writer
        self.git = git

    # -- runs --------------------------------------------------------------------------

    def run(
        self,
        cadence: Cadence,
        *,
        dry_run: bool = False,
        only: str | None = None,
        interruption: Interruption | None = None,
    ) -> Report:
        """Make a run of this cadence, or of its pass `only` (rows X6, X10).

        With `dry_run` the report says what the run would do. `interruption` returns why
        the run must be given up; RunInterruptedError is then raised.
        """
        passes = passes_of(cadence, only)
        return self._run(
            cadence, cadence, passes, dry_run=dry_run, interruption=interruption
        )

    def prune(self, threshold: float, *, dry_run: bool = False) -> Report:
        """Prune unprotected memories below an effective confidence of 0–1 (`A24`).

        The command is a request of the user, so no change is held.
        """
        return self.requested("prune", (lifecycle.pruning(threshold),), dry_run=dry_run)

    def requested(
        self, name: str, passes: Sequence[Pass], *, dry_run: bool = False
    ) -> Report:
        """Make a run of passes that a user requested; no change is held."""
        return self._run("nightly", name, passes, dry_run=dry_run, may_hold=False)

    @_without_cycle_collection()
    def requested_questions(self, passes: Sequence[Pass]) -> list[ModelQuestion]:
        """Return the questions that such a run would ask a model now."""
        if self._not_now():
            return []
        plan = self._empty_plan("nightly", self.clock())
        plan.plan(passes)
        return list(plan.questions.values())

    @_without_cycle_collection()
    def questions(
        self,
        cadence: Cadence,
        only: str | None = None,
        interruption: Interruption | None = None,
    ) -> list[ModelQuestion]:
        """Return the questions that a run would ask a model now.

        The answers belong into `snapshot.answers` and may lead to more questions.
        Raises RunInterruptedError.
        """
        if self._not_now():
            return []
        passes = passes_of(cadence, only)
        with self.progress.planning(cadence, interruption):
            plan = self._plan_with_holds(cadence, passes, self.clock()).plan
        return list(plan.questions.values())

    @_without_cycle_collection()
    def answer_hold(self, pass_name: str, *, apply: bool) -> None:
        """Apply the actions of a held pass, planned anew, or reject them (law 6).

        It is a run with its own id, which can be undone. Raises ConflictError if it
        cannot be made now; the review note then remains.
        """
        cadence = cadence_of(pass_name)
        waiting = self.holds.waiting().get(pass_name)
        if apply and cadence and waiting:
            now = self.clock()
            if why := self._not_now():
                message = f"memories cannot be changed now: {why}"
                raise ConflictError(message, where=path_of(pass_name))
            plan = self._empty_plan(cadence, now, frozenset(waiting))
            plan.plan(passes_of(cadence, pass_name))
            failures = self._flush_usage(now, compact=False)
            report = self._finish(PlanWithHolds(plan), cadence, now, failures)
            if report.failures:
                message = "; ".join(report.failures.values())
                raise ConflictError(message, where=path_of(pass_name))
        self.holds.answered(pass_name, rejected=not apply)

    def recover(self) -> None:
        """Finish an interrupted run; call it before the first scan.

        Otherwise the scan would take the writes of the run for edits by a user.
        """
        run = self.history.unfinished()
        if not run:
            return
        try:
            self.index.wrote(settle(self.vault, self.history.load(run).steps))
        except EngramError as fault:
            self.note_writer.health.report("history", str(fault))
        self._record(run, "", self.clock(), (), {"run": "it was interrupted"})

    # -- plan --------------------------------------------------------------------------

    @_without_cycle_collection()
    def _run(
        self,
        cadence: Cadence,
        name: str,
        passes: Sequence[Pass],
        *,
        dry_run: bool,
        may_hold: bool = True,
        interruption: Interruption | None = None,
    ) -> Report:
        """Make a run called `name` on the view of this cadence.

        With `may_hold` changes beyond the limits of a run are held. Raises
        RunInterruptedError before anything is written.
        """
        now = self.clock()
        if why := self._not_now():
            return Report("", name, now, now, frozen=why, dry_run=dry_run)
        failures: dict[str, str] = {}
        if not dry_run:
            compact = cadence in {"nightly", "weekly"}
            failures = self._flush_usage(now, compact=compact)
        with self.progress.planning(name, interruption):
            if may_hold:
                result = self._plan_with_holds(cadence, passes, now)
            else:
                result = PlanWithHolds(self._empty_plan(cadence, now))
                result.plan.plan(passes)
        return self._finish(result, name, now, failures, dry_run=dry_run)

    def _not_now(self) -> str:
        """Return why no run may be made now, or ''."""
        if why := self.freeze.reason():
            return why
        return "" if self.index.scanner.generation else "the vault is still being read"

    def _plan_with_holds(
        self, cadence: Cadence, passes: Sequence[Pass], now: datetime
    ) -> PlanWithHolds:
        empty = self._empty_plan(cadence, now)
        return self.holds.apply_limits(lambda plan: plan.plan(passes), empty, passes)

    def _empty_plan(
        self, cadence: Cadence, now: datetime, approved: Collection[str] | None = None
    ) -> RunPlan:
        """Return an empty plan; with `approved` only these memories may change."""
        closed = self.holds.closed() if approved is None else {}
        view = self.snapshot.view(now, cadence)
        view = replace(view, closed=closed, approved=approved)
        quiet = self.snapshot.quiet(now)
        return RunPlan(view, now, quiet, self.note_writer)

    # -- apply -------------------------------------------------------------------------

    def _finish(
        self,
        planned: PlanWithHolds,
        name: str,
        now: datetime,
        failures: dict[str, str],
        *,
        dry_run: bool = False,
    ) -> Report:
        """Apply a plan, unless it is a `dry_run`, and return the report."""
        plan = planned.plan
        writes = plan.writes(self.edges)
        failures |= plan.failures
        run = self.history.new_id(now, name)
        if not dry_run:
            failures |= self._apply(run, name, now, writes, plan.actions, failures)
            failures |= self._store_vectors(plan.stored)
            failures |= self._start_usage(plan, now)
            self._log_rejections(run, now, plan.rejections)
        return Report(
            run=run if writes else "",
            name=name,
            started=now,
            ended=self.clock(),
            actions=tuple(plan.actions),
            deferred=plan.deferred,
            left_alone=dict(plan.left_alone),
            failures=failures,
            unanswered=dict(Counter(one.task for one in plan.questions.values())),
            findings=tuple(plan.findings.values()),
            held=planned.held,
            held_actions=planned.held_actions,
            dry_run=dry_run,
        )

    def _apply(
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
                self.history.record(run, writes)
            except EngramError as fault:
                return {"history": str(fault)}
            failed = self._put(writes, _log_rows(run, now, writes, actions))
            self._log_failures(run, now, actions, failed)
            self.entity_writer.reread(path for write in writes for path in write.paths)
        if writes or failures:
            applied = [one for one in actions if one.path not in failed]
            failed |= self._record(run, cadence, now, applied, {**failures, **failed})
        if writes:
            done = [f"{name} {number}" for name, number in counts(actions).items()]
            failed |= self._commit(run, f"{cadence}, {', '.join(done)}", writes)
        return failed

    def _put(self, writes: Sequence[Write], rows: LogRows) -> Failures:
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

    def _record(
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
            self.history.finish(run, cadence, times, done, failures)
        except EngramError as fault:
            return {RUNS: str(fault)}
        return {}

    def _commit(self, run: str, subject: str, writes: Iterable[Write]) -> Failures:
        """Commit the files of a run, and the logs that belong to it."""
        if self.git is None:
            return {}
        paths = [path for write in writes for path in write.paths]
        logs = [ACTIONS, RUNS, HASHES, self.usage_tracker.usage_log.path]
        try:
            self.git.commit([*paths, *logs], subject, "consolidate", run)
        except EngramError as fault:
            return {"git": str(fault)}
        return {}

    def _flush_usage(self, now: datetime, *, compact: bool) -> dict[str, str]:
        """Write the usage of memories and read that of other machines (`A19`)."""
        try:
            self.usage_tracker.flush()
            self.usage_tracker.refresh(now)
            if compact:
                self.usage_tracker.compact(now)
        except EngramError as fault:
            return {"usage": str(fault)}
        return {}

    def _start_usage(self, plan: RunPlan, now: datetime) -> dict[str, str]:
        """Record the first usage of new memories, and anchor changed confidences.

        The salience of a memory whose confidence changed decays from this value (rows
        A10, B6).
        """
        first = plan.first_usage.items()
        written = {
            name: usage for name, usage in first if self.index.catalog.fact(name)
        }
        try:
            self.usage_tracker.usage_log.record(written)
            for fact in plan.reweighed.values():
                self.usage_tracker.anchor_salience(fact, now)
            self.usage_tracker.flush()
        except EngramError as fault:
            return {"usage": str(fault)}
        return {}

    def _store_vectors(self, stored: Mapping[str, VectorStorage]) -> dict[str, str]:
        """Change the precision of vectors; they are derived, so undo ignores them."""
        try:
            if self.index.semantic:
                self.index.semantic.store(self.index.lexical, stored)
        except EngramError as fault:
            return {"vectors": str(fault)}
        return {}

    def _log_rejections(
        self, run: str, now: datetime, rejections: Mapping[tuple[str, str], Proposal]
    ) -> None:
        """Log rejected proposals that are not in the action log yet (`C22`)."""
        rows: list[dict[str, object]] = []
        for (memory, action), proposal in rejections.items():
            known = {"action": action, "reason": proposal.why} | proposal.row
            logged = self.vault.actions_of(memory)
            if not any(known.items() <= row.items() for row in logged):
                row = action_row(now, action, memory, proposal.why, by="engram")
                rows.append(row | {"outcome": "skipped", "run": run} | proposal.row)
        self.note_writer.log_actions(rows)

    # -- undo --------------------------------------------------------------------------

    def undo(self, run_id: str, *, dry_run: bool = False) -> Report:
        """Undo a run byte for byte, except for later changes by a user (`X6`).

        `run_id` may be an unambiguous beginning of the id. The undo is a run itself,
        and can be undone. A restored memory counts as edited by the user, so no run
        archives it again. Raises NotFoundError, ConflictError.
        """
        now, recorded = self.clock(), self._recorded_run(run_id)
        undone = recorded.cadence.removeprefix(f"{UNDO} ")
        if undone != recorded.cadence and self._recorded_run(undone).hidden:
            raise ConflictError(
                "this undo showed again what was forgotten",
                where=recorded.run,
                fix="Use `engram forget` again.",
            )
        writes, stays = plan_undo(self.vault, recorded)
        run = self.history.new_id(now, UNDO)
        why = f"a user undid run {recorded.run}"
        actions = [
            Action("undo", write.key, write.before, write.after, why)
            for write in writes
        ]
        actions += [Action("restore", key, key, key, why) for key in recorded.hidden]
        actions += [Action("withdraw", key, key, key, why) for key in recorded.told]
        failures: dict[str, str] = {}
        if actions and not dry_run:
            self.history.record(run, writes, f"{UNDO} {recorded.run}")
            failures |= self._put(writes, {})
            is_filing = recorded.cadence == FILING
            self._log_undo(run, now, writes, actions, failures, recorded.cadence)
            if recorded.cadence == DECISION:
                self._settle_decision(recorded, [one.key for one in writes], now, why)
            if is_filing:
                self._settle_filing(now, writes, why)
                failures |= self.run("nightly", only="merge").failures
            failures |= self._record(run, "undo", now, actions, failures)
            failures |= self._commit(run, f"undo {recorded.run}", writes)
        return Report(
            run=run if actions else "",
            name="undo",
            started=now,
            ended=self.clock(),
            actions=tuple(actions),
            deferred=stays,
            failures=failures,
            dry_run=dry_run,
        )

    def _log_undo(
        self,
        run: str,
        now: datetime,
        writes: Sequence[Write],
        actions: Sequence[Action],
        failures: Mapping[str, str],
        cadence: str,
    ) -> None:
        """Log an undo; a restored memory counts as edited by the user.

        Exceptions are the statement that had ended it in a filing, and a memory about
        which the user is asked again. `cadence` is that of the run.
        """
        is_filing = cadence == FILING
        keys = ENDED if is_filing else (*ENDED, "supersedes")
        restored = {write.key for write in writes if _is_restored(write, keys)}
        restored = set() if cadence == DECISION else restored
        verb = "restore" if is_filing else "edit"
        rows: list[dict[str, object]] = []
        for one in actions:
            if one.memory and one.path not in failures:
                name = verb if one.memory in restored else "undo"
                rows.append(action_row(now, name, one.memory, one.why) | {"run": run})
                if is_filing and one.memory in restored:
                    rows += self._reversed(now, one.memory, one.why)
        self.note_writer.log_actions(rows)

    def _reversed(
        self, now: datetime, memory: str, why: str
    ) -> list[dict[str, object]]:
        """Return the log row that reverses the last end of a memory, if any (`C21`)."""
        ends = ("supersede", "invalidate", "schedule", "weaken")
        own = (row for row in self.vault.actions_of(memory) if row["memory"] == memory)
        last = [action for row in own if (action := str(row["action"])) in ends][-1:]
        return [reversed_row(now, action, memory, why) for action in last]

    def _settle_decision(
        self,
        recorded: RecordedRun,
        memories: Sequence[str],
        now: datetime,
        why: str,
    ) -> None:
        """Show what a decision hid, and withdraw the turns that it filed."""
        forgetting = Forgetting(self.note_writer)
        forgetting.restore_all([*memories, *recorded.hidden], now, why)
        edits = TurnEdits(self.note_writer, forgetting)
        edits.withdraw(self.index.turns(recorded.told), now, why)

    def _settle_filing(self, now: datetime, writes: Sequence[Write], why: str) -> None:
        """Prevent new ends of the memories that the undo of a filing restored."""
        catalog = self.index.catalog
        restored = filter(None, map(catalog.fact, (one.key for one in writes)))
        facts = [fact for fact in restored if fact.status == "active"]
        forgetting = Forgetting(self.note_writer)
        for fact in facts:
            forgetting.restore(fact.id, now, why)
        forgetting.allow_again(facts, now, always=True)
        rows = []
        for write in writes:
            named = frontmatter.read(write.raw).keys.get("superseded_by")
            for newer in named if isinstance(named, list) else ():
                pair = reviews.case_id(str(newer), write.key)
                rows.append(action_row(now, "decide", pair, why))
        self.note_writer.log_actions(rows)

    def _recorded_run(self, run_id: str) -> RecordedRun:
        return self.history.load(self.history.find(run_id))

    # -- forecast ----------------------------------------------------------------------

    def forecast(self, days: int, points: int = 0) -> list[dict[str, Any]]:
        """Return the coming changes of unused memories within `days` days (`X10`)."""
        now = self.clock()
        return forecast(self.snapshot.view(now), now, days, points)


def _is_restored(write: Write, keys: Iterable[str]) -> bool:
    """Return whether an undo moves a memory, gives one back or changes such a key."""
    if not write.after or write.before != write.after:
        return bool(write.after)
    was, now = frontmatter.read(write.raw).keys, frontmatter.read(write.new).keys
    return any(was.get(key) != now.get(key) for key in keys)


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
