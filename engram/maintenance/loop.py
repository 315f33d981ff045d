"""Maintenance operations: due and requested runs, undo, forecast (rows X6, X10, X24).

The writer thread reads and writes the vault. A model is called between two jobs of the
writer, in the thread of the caller, so that no other work waits for it.
"""

from __future__ import annotations

import threading
from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from engram.core import actions, jsonl
from engram.core.actions import Eligibility
from engram.errors import BudgetSpentError, ConflictError, EngramError, ModelError
from engram.maintenance.report import Action, Report, RunInterruptedError
from engram.maintenance.schedule import CADENCES, Cadence, Schedule
from engram.vault.runs import RUNS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from engram.config import Settings
    from engram.extraction.extract import Extractor
    from engram.llm.answers import Answer
    from engram.maintenance.passes.view import ModelQuestion, Pass
    from engram.maintenance.run import Maintenance
    from engram.pipeline.entity_removal import EntityRemoval
    from engram.pipeline.executor import Executor
    from engram.pipeline.imports import ImportLog, ImportRuns

UNREADABLE = "some answers could not be read"
UNANSWERED = "some questions were not answered"
LAST = "last"
"""The name of the latest run for `undo`."""
LONG_AGO = datetime.min.replace(tzinfo=UTC)


class MaintenanceLoop:
    """The maintenance of one vault, and the schedule of its runs.

    `consolidate` and `tend` may be called from any thread except the writer's;
    `executor` runs their jobs in the writer thread.
    """

    def __init__(
        self,
        maintenance: Maintenance,
        schedule: Schedule,
        extractor: Extractor,
        settings: Settings,
        clock: Callable[[], datetime],
        executor: Executor,
        imports: ImportRuns,
        entity_removal: EntityRemoval,
    ) -> None:
        self.maintenance = maintenance
        self.entity_removal = entity_removal
        self.imports = imports
        self.schedule = schedule
        self.extractor = extractor
        self.settings = settings
        self.clock = clock
        self.as_writer = executor.run_as_writer
        self.model_place = executor.model_place
        self._waiting_work = executor.waiting_work
        self._given_up: Counter[Cadence] = Counter()
        self._one_run = threading.Lock()
        self._sessions_after = LONG_AGO

    # -- runs --------------------------------------------------------------------------

    def consolidate(
        self, cadence: Cadence, *, dry_run: bool, only: str | None
    ) -> dict[str, Any]:
        """Make a run, or its pass `only`; with `dry_run` return its plan.

        A whole run counts as the scheduled one; one that gave way to other work is
        begun again. Raises BadRequestError for
        an unknown pass.
        """
        report = self._run(cadence, dry_run=dry_run, only=only)
        while self._given_up[cadence] and not self._waiting_work(gives_way=False):
            report = self._run(cadence, dry_run=dry_run, only=only)
        if not dry_run and only is None:
            self._record_run(cadence, None, report)
        return report.as_json()

    def tend(self) -> list[Report]:
        """Make the due runs and return their reports; failures go to `health`.

        Session summaries wait for a while after a model failed on them.
        """
        reports = []
        for cadence, only in self.as_writer(self._due):
            report = self._run(cadence, only=only, is_due=True)
            reports.append(report)
            self._record_run(cadence, only, report)
        return reports

    def next_due(self) -> datetime:
        """Return when a run may be due by the clock; now, if one is due already.

        The daemon checks every minute and does not need it. A simulation skips the
        minutes in between.
        """
        now = self.clock()
        if self._due():
            return now
        times = [
            self.schedule.next(now),
            self.schedule.edits_follow,
            self.maintenance.snapshot.session_reader.next_over(now),
            self._sessions_after if self._sessions_after > now else None,
        ]
        return min(when for when in times if when)

    def _due(self) -> list[tuple[Cadence, str | None]]:
        """Return the cadences that are due; `redate` is due alone after edits."""
        now = self.clock()
        ready = (
            now >= self._sessions_after
            and self.maintenance.index.scanner.generation
            and not self.maintenance.freeze.reason()
        )
        sessions = (
            len(self.maintenance.snapshot.session_reader.due(now)) if ready else 0
        )
        due: list[tuple[Cadence, str | None]] = [
            (cadence, None) for cadence, _ in self.schedule.due(now, sessions)
        ]
        follow = self.schedule.edits_follow
        if follow and follow <= now and ("nightly", None) not in due:
            due.append(("nightly", "redate"))
        return due

    def _record_run(self, cadence: Cadence, only: str | None, report: Report) -> None:
        """Record that a run was made; a frozen or stopped run remains due."""
        if report.frozen:
            return
        if only:
            record = self.schedule.record_redate
        else:
            record = partial(self.schedule.record_run, cadence)
        self.as_writer(lambda: record(self.clock()))

    def _run(
        self,
        cadence: Cadence,
        *,
        dry_run: bool = False,
        only: str | None = None,
        is_due: bool = False,
    ) -> Report:
        """Make a run after a model has answered its questions; one run at a time.

        If the run `is_due` by schedule, its questions may wait until there are more.
        """
        with self._one_run:
            fault = ""
            interruption = self._interruption(cadence)
            try:
                if self.settings.model:
                    fault = self._ask_model(
                        cadence, only, interruption, may_wait=is_due
                    )
                report: Report = self.as_writer(
                    lambda: self.maintenance.run(
                        cadence, dry_run=dry_run, only=only, interruption=interruption
                    )
                )
            except RunInterruptedError as why:
                self._given_up[cadence] += 1
                now = self.clock()
                return Report("", cadence, now, now, frozen=why.what, dry_run=dry_run)
            self._given_up[cadence] = 0
            if cadence == "talk" and fault not in {"", UNREADABLE}:
                seconds = self.settings.policy.model.retry_most_seconds
                self._sessions_after = self.clock() + timedelta(seconds=seconds)
            self._report_health(report, fault)
            return report

    def _interruption(self, cadence: Cadence) -> Callable[[], str]:
        """Return a check that returns why a run must be given up now, or ''.

        A run ends when the process stops. A run of the whole vault also gives way to
        other work of the writer, but only a few times in a row.
        """
        most = self.settings.policy.consolidation.gives_way
        gives_way = cadence != "talk" and self._given_up[cadence] < most
        return partial(self._waiting_work, gives_way=gives_way)

    def _report_health(self, report: Report, fault: str) -> None:
        """Report the failures of a run until a run succeeds."""
        problems = [f"{name}: {why}" for name, why in report.failures.items()]
        problems += [fault] if fault else []
        part = "conversations" if report.name == "talk" else "consolidation"
        self.maintenance.note_writer.health.report(part, "; ".join(problems))

    def retell(self) -> None:
        """Remove generated text about withdrawn statements at once (`B13`).

        Never raises EngramError: the next run tries again.
        """
        try:
            self.entity_removal.tidy(self.clock())
            failures = self.maintenance.run("nightly", only="cleanup").failures
        except EngramError as fault:
            failures = {"cleanup": str(fault)}
        if failures:
            problem = "; ".join(failures.values())
            self.maintenance.note_writer.health.report("consolidation", problem)

    # -- questions ---------------------------------------------------------------------

    def _ask_model(
        self,
        cadence: Cadence,
        only: str | None,
        interruption: Callable[[], str],
        *,
        may_wait: bool,
    ) -> str:
        """Have the questions of a run answered, as far as model and budget allow.

        Answers lead to further questions, so it asks in rounds, each question once.
        Returns why questions are left, or ''.
        """
        policy = self.settings.policy.consolidation
        asked: set[str] = set()
        fault = ""
        for _ in range(policy.rounds):
            questions: Sequence[ModelQuestion] = self.as_writer(
                lambda: self.maintenance.questions(cadence, only, interruption)
            )
            fresh = [one for one in questions if one.key not in asked]
            if may_wait:
                fresh = self._ripe(fresh)
            fresh = fresh[: policy.questions]
            if not fresh or fault not in {"", UNREADABLE}:
                break
            asked |= {one.key for one in fresh}
            fault = self._budget_refusal() or self._answer(fresh) or fault
        return fault

    def _ripe(self, questions: Sequence[ModelQuestion]) -> list[ModelQuestion]:
        """Return the questions that are urgent or need not wait any longer (`X24`)."""
        from engram.llm import maintenance_tasks  # noqa: F401
        from engram.llm.answers import TASKS

        counts: Counter[str] = Counter()
        for one in questions:
            if not TASKS[one.task].urgent:
                counts[one.task] += TASKS[one.task].items(one.material)
        enough = {task: least for task in counts if (least := TASKS[task].enough)}
        ready = self.as_writer(
            lambda: self.schedule.ready(counts, self.clock(), enough)
        )
        return [one for one in questions if one.task in ready or TASKS[one.task].urgent]

    def _budget_refusal(self) -> str:
        """Return why no model may be called now, or '' (rows C22, X24)."""
        policy = self.settings.policy
        used = self.extractor.spend.today(self.clock()).tokens
        tokens = max(0, policy.model.tokens_per_day - used)
        known = Eligibility()
        return actions.ruling("summarize_node", known, policy.actions, tokens=tokens)[1]

    def _answer(self, questions: Sequence[ModelQuestion]) -> str:
        """Have each question answered; return why some are not, or ''."""
        from engram.llm import maintenance_tasks  # noqa: F401

        policy = self.settings.policy.model
        failed, unreadable = 0, False
        for one, found in self._answers(questions):
            if not isinstance(found, ModelError):
                store = self.maintenance.snapshot.answers.store
                self.as_writer(partial(store, one.key, found))
                continue
            if not found.retryable:  # another attempt would give an invalid reply too
                record = self.maintenance.snapshot.record_answer_failure
                self.as_writer(partial(record, one.key, found.what))
                unreadable = True
                continue
            failed += 1
            if isinstance(found, BudgetSpentError) or failed >= policy.attempts:
                return str(found)
        if failed:
            return UNANSWERED
        return UNREADABLE if unreadable else ""

    def _answers(
        self, questions: Sequence[ModelQuestion]
    ) -> Iterator[tuple[ModelQuestion, Answer | ModelError]]:
        """Yield each question with its answer; questions of a task share one call."""
        from engram.llm.answers import TASKS, answer_together, is_small

        policy, named = self.settings.policy.model, self.settings.model
        small_model = named.small if named else ""
        groups: dict[tuple[str, bool, int], list[ModelQuestion]] = {}
        for number, one in enumerate(questions):
            small = bool(small_model) and is_small(one.task, one.material, policy)
            key = (one.task, small, 0 if TASKS[one.task].together else number)
            groups.setdefault(key, []).append(one)
        for (task, small, _), group in groups.items():
            for start in range(0, len(group), policy.together):
                some = group[start : start + policy.together]
                materials = [one.material for one in some]
                try:
                    model = self.extractor.model(small=small)
                    with self.model_place():
                        found = [*answer_together(model, task, materials, policy)]
                except ModelError as fault:
                    found = [fault] * len(some)
                yield from zip(some, found, strict=True)

    # -- other operations --------------------------------------------------------------

    def undo(self, id: str, *, dry_run: bool) -> dict[str, Any]:
        """Undo a run (`X6`), an import, or the undo of an import.

        The id `last` stands for the latest change that was not undone: a decision of
        the user, an import, or a statement that ended others; not a scheduled run.
        Raises ConflictError if that is an import, whose undo has to be meant.
        """
        if id == LAST:
            logs = [log for log in self.imports.logs() if log.turns and not log.undone]
            imports = {log.run: log for log in logs}
            id = max(imports, default="")
            made = jsonl.rows(self.maintenance.snapshot.read(RUNS), newest_first=True)
            runs = (
                str(row.get("id")) for row in made if row.get("cadence") not in CADENCES
            )
            id = max(id, self.maintenance.history.first_undoable(runs))
            if (log := imports.get(id)) and not dry_run:
                counts = (f"{number} {name}" for name, number in log.counts.items())
                raise ConflictError(
                    f"the latest change is the import of {log.file}",
                    where=" and ".join(counts),
                    fix=f"`engram undo {id}` takes it back as a whole.",
                )
        if found := self.imports.find(id):
            return self._undo_import(*found, dry_run=dry_run).as_json()
        return self.maintenance.undo(id, dry_run=dry_run).as_json()

    def _undo_import(
        self,
        log: ImportLog,
        back: bool,  # noqa: FBT001
        *,
        dry_run: bool,
    ) -> Report:
        """Undo an import, or with `back` the undo of one."""
        now = self.clock()
        carry_out = self.imports.redo if back else self.imports.undo
        done = carry_out(log, now, dry_run=dry_run)
        if not dry_run:
            self.retell()
        verb = "restore" if back else "withdraw"
        why = f"a user undid import {log.run}"
        turns = [
            Action(verb, "", path, path, f"{why}: {count} turns")
            for path, count in done.turns.items()
        ]
        memories = [
            Action("undo", name, path, path, why)
            for name, path in done.memories.items()
        ]
        return Report(
            run="" if dry_run else done.run,
            name="undo",
            started=now,
            ended=self.clock(),
            actions=(*turns, *memories),
            dry_run=dry_run,
        )

    def requested(
        self, name: str, passes: Sequence[Pass], *, dry_run: bool, ask: bool = False
    ) -> dict[str, Any]:
        """Make a run of passes that a user requested; with `ask` a model may be called.

        Without `ask` it is for the writer thread, else for any other thread.
        """
        if not ask:
            return self.maintenance.requested(name, passes, dry_run=dry_run).as_json()
        with self._one_run:
            questions: Sequence[ModelQuestion] = self.as_writer(
                lambda: self.maintenance.requested_questions(passes)
            )
            fault = ""
            if questions:
                fault = self._budget_refusal() or self._answer(questions)
            report: Report = self.as_writer(
                lambda: self.maintenance.requested(name, passes, dry_run=dry_run)
            )
        return report.as_json() | ({"model": fault} if fault else {})
