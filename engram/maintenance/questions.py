"""Upkeep: the vault put in order when it is due or asked for, taken back, looked ahead
(rows X6, X10, X24).

What reads or writes the vault is done by the writer; models are asked in between, by
whoever called, so that nothing else waits for them.
"""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from engram.core import actions, jsonl
from engram.core.actions import Eligibility
from engram.errors import BadRequestError, BudgetSpentError, EngramError, ModelError
from engram.maintenance.schedule import CADENCES
from engram.maintenance.snapshot import RUNS
from engram.pipeline.write import purged

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engram.config import Settings
    from engram.extraction.extract import Extractor
    from engram.maintenance.passes import ModelQuestion
    from engram.maintenance.report import Report
    from engram.maintenance.run import Maintenance
    from engram.maintenance.schedule import Cadence, Schedule
    from engram.pipeline.executor import Executor

UNREAD = "some answers could not be read"
LONG_AGO = datetime.min.replace(tzinfo=UTC)
POINTS = 31
"""Points of a curve, as many as fit beside each other on a terminal."""


class MaintenanceLoop:
    """The verbs about the vault as a whole. `consolidate` and `tend` may be called from
    any thread, not the writer's.

    `executor` has a job done by the one writer.
    """

    def __init__(
        self,
        order: Maintenance,
        schedule: Schedule,
        extractor: Extractor,
        settings: Settings,
        clock: Callable[[], datetime],
        executor: Executor,
    ) -> None:
        self.order = order
        self.schedule = schedule
        self.extractor = extractor
        self.settings = settings
        self.clock = clock
        self.as_writer = executor.run_as_writer
        self._one = threading.Lock()
        self._talks_after = LONG_AGO

    def consolidate(
        self, cadence: str, *, dry_run: bool, only: str | None
    ) -> dict[str, Any]:
        """Make a run, or one pass of it; with `dry_run` say what it would do. A whole
        one counts as the one due.
        """
        known = next((one for one in CADENCES if one == cadence), None)
        if known is None:
            raise BadRequestError(
                f"there is no cadence {cadence!r}", fix=f"Use: {', '.join(CADENCES)}."
            )
        report = self._made(known, dry_run=dry_run, only=only)
        if not dry_run and only is None:
            self._ran(known, report)
        return report.as_json()

    def tend(self, *, busy: bool) -> list[Report]:
        """Make the runs that are due; a light one waits while there are turns to
        distil. What failed is in `health`.

        Talks wait a while after a model could not tell of them.
        """
        reports = []
        for cadence, _why in self.as_writer(self._due):
            if busy and cadence == "light":
                continue
            report = self._made(cadence)
            reports.append(report)
            self._ran(cadence, report)
        return reports

    def _ran(self, cadence: Cadence, report: Report) -> None:
        """What was frozen is still due."""
        if not report.frozen:
            self.as_writer(partial(self.schedule.ran, cadence, self.clock()))

    def next_due(self) -> datetime:
        """When a run may become due next by time alone: now, if one is due that was not
        made.

        The daemon need not know, it looks every minute; a simulation skips the minutes
        in between.
        """
        now = self.clock()
        if self._due():
            return now
        times = [
            self.schedule.next(now),
            self.schedule.rested(now),
            self.order.snapshot.talks.next_over(now),
        ]
        times += [self._talks_after] if self._talks_after > now else []
        return min(filter(None, times))

    def _due(self) -> list[tuple[Cadence, str]]:
        now = self.clock()
        ready = (
            now >= self._talks_after
            and self.order.index.scanner.generation
            and not self.order.freeze.reason()
        )
        self.schedule.events["talk"] = (
            len(self.order.snapshot.talks.due(now)) if ready else 0
        )
        return self.schedule.due(now)

    def _made(
        self, cadence: Cadence, *, dry_run: bool = False, only: str | None = None
    ) -> Report:
        """A run, one at a time. Its questions are answered first, as far as there is a
        model and a budget.

        Each is asked once: what no answer could be read to is told, and left to the
        next run.
        """
        with self._one:
            fault, asked, policy = "", set[str](), self.settings.policy.consolidation
            for _ in range(policy.rounds if self.settings.model else 0):
                open_asks: Sequence[ModelQuestion] = self.as_writer(
                    lambda: self.order.questions(cadence, only)
                )
                asks = [ask for ask in open_asks if ask.key not in asked][
                    : policy.questions
                ]
                if not asks or fault not in {"", UNREAD}:
                    break
                asked |= {ask.key for ask in asks}
                fault = self._barred() or self._answered(asks) or fault
            report: Report = self.as_writer(
                lambda: self.order.run(cadence, dry_run=dry_run, only=only)
            )
            if fault not in {"", UNREAD} and cadence == "talk":
                rest = timedelta(seconds=self.settings.policy.model.retry_most_seconds)
                self._talks_after = self.clock() + rest
            self._told(report, fault)
            return report

    def _barred(self) -> str:
        """Why a model is not asked now, or '' (rows C22, X24)."""
        policy = self.settings.policy
        left = max(
            0,
            policy.model.tokens_per_day
            - self.extractor.spend.today(self.clock()).tokens,
        )
        return actions.ruling(
            "summarize_node", Eligibility(), policy.actions, tokens=left
        )[1]

    def _answered(self, asks: Sequence[ModelQuestion]) -> str:
        """Have the questions answered; why it ended before the last one, or ''."""
        from engram.llm import merges, portraits, summaries  # noqa: F401
        from engram.llm.answers import answer, is_small

        failed, unread, policy = 0, False, self.settings.policy.model
        for ask in asks:
            try:
                model = self.extractor.model(
                    small=is_small(ask.task, ask.material, policy)
                )
                said = answer(model, ask.task, ask.material, policy)
            except ModelError as fault:
                if not fault.retryable:  # it will never have the form
                    self.as_writer(
                        partial(
                            self.order.snapshot.failed.__setitem__, ask.key, fault.what
                        )
                    )
                    unread = True
                    continue
                failed += 1
                if isinstance(fault, BudgetSpentError) or failed >= policy.attempts:
                    return str(fault)
                continue
            self.as_writer(partial(self.order.snapshot.answers.keep, ask.key, said))
        return (
            "some questions were not answered" if failed else UNREAD if unread else ""
        )

    def _told(self, report: Report, fault: str) -> None:
        """Report what failed in a run until a run succeeds."""
        words = "; ".join(
            [
                *(f"{name}: {what}" for name, what in report.failures.items()),
                *filter(None, [fault]),
            ]
        )
        part = "talks" if report.cadence == "talk" else "consolidation"
        self.order.note_writer.health.report(part, words)

    def retell(self) -> None:
        """What is told of a memory that a person took back goes with it, and not only
        in the night (`B13`).

        Never raises EngramError: what they asked for is done, and the next run tries
        this again.
        """
        try:
            failures = self.order.run("light", only="cleanup").failures
        except EngramError as fault:
            failures = {"cleanup": str(fault)}
        if failures:
            self.order.note_writer.health.report(
                "consolidation", "; ".join(failures.values())
            )

    def runs(self, last: int) -> dict[str, Any]:
        """The latest runs, the last one first: what each did, and whether it can be
        taken back.
        """
        kept = set(self.order.history.runs())
        rows = []
        for row in jsonl.rows(self.order.snapshot.read(RUNS), newest_first=True):
            rows.append(row | {"can_be_undone": row.get("id") in kept})
            if len(rows) == last:
                break
        return {"runs": rows}

    def undo(self, id: str, *, dry_run: bool) -> dict[str, Any]:  # noqa: A002
        """Take a run back (X6)."""
        return self.order.undo(id, dry_run=dry_run).as_json()

    def prune(self, threshold: float | None, *, dry_run: bool) -> dict[str, Any]:
        """Give up what nobody can rely on any more: a person asks for it, and can take
        it back (`A24`).
        """
        least = (
            self.settings.policy.lifecycle.prune_confidence
            if threshold is None
            else threshold
        )
        return self.order.prune(least, dry_run=dry_run).as_json()

    def purge(self, *, trash: bool, dry_run: bool) -> dict[str, Any]:
        """Remove for good what was put aside in `.trash/`, or with `dry_run` list it;
        nothing else does (C16, X8).
        """
        if not trash:
            raise BadRequestError(
                "nothing was named that is to be purged",
                fix="Use --trash to empty `.trash/`.",
            )
        return purged(self.order.note_writer, self.clock(), dry_run=dry_run)

    def forecast(self, days: int, *, curve: bool) -> dict[str, Any]:
        """What will become of memories that nobody touches, with `curve` how they fade
        until then (X10).
        """
        return {
            "days": days,
            "coming": self.order.forecast(days, POINTS if curve else 0),
        }
