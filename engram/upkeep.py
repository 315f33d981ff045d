"""Upkeep: the vault put in order when it is due or asked for, taken back, looked ahead (rows X6, X10, X24).

What reads or writes the vault is done by the writer; models are asked in between, by whoever called, so that
nothing else waits for them.
"""

from __future__ import annotations

import json
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from engram.agenda import CADENCES
from engram.errors import BadRequestError, BudgetSpentError, ModelError
from engram.sight import RUNS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from engram.agenda import Agenda, Cadence
    from engram.config import Settings
    from engram.consolidate import Consolidation, Report
    from engram.extraction import Extractor
    from engram.passes import Ask

    T = TypeVar("T")

MOST_DAYS = 3650
POINTS = 31
"""Points of a curve, as many as fit beside each other on a terminal."""


class Upkeep:
    """The verbs about the vault as a whole. `consolidate` and `tend` may be called from any thread, not the writer's.

    `as_writer` has a job done by the one writer and gives its result.
    """

    def __init__(
        self,
        order: Consolidation,
        agenda: Agenda,
        extractor: Extractor,
        settings: Settings,
        clock: Callable[[], datetime],
    ) -> None:
        self.order = order
        self.agenda = agenda
        self.extractor = extractor
        self.settings = settings
        self.clock = clock
        self.as_writer: Callable[[Callable[[], Any]], Any] = _at_once
        self._one = threading.Lock()

    def consolidate(self, cadence: str, *, dry_run: bool, only: str | None) -> dict[str, Any]:
        """Make a run; with `dry_run` say what it would do."""
        known = next((one for one in CADENCES if one == cadence), None)
        if known is None:
            raise BadRequestError(f"there is no cadence {cadence!r}", fix=f"Use: {', '.join(CADENCES)}.")
        return self._made(known, dry_run=dry_run, only=only).plain()

    def tend(self, *, busy: bool) -> list[Report]:
        """Make the runs that are due; a light one waits while there are turns to distil. What failed is in `faults`."""
        reports = []
        for cadence, _why in self.as_writer(lambda: self.agenda.due(self.clock())):
            if busy and cadence == "light":
                continue
            report = self._made(cadence)
            reports.append(report)
            if not report.frozen:
                self.as_writer(partial(self.agenda.ran, cadence, self.clock()))
        return reports

    def _made(self, cadence: Cadence, *, dry_run: bool = False, only: str | None = None) -> Report:
        """A run, one at a time. Its questions are answered first, as far as there is a model and a budget."""
        with self._one:
            fault = ""
            for _ in range(self.settings.policy.consolidation.rounds):
                asks: Sequence[Ask] = self.as_writer(lambda: self.order.questions(cadence, only))
                if not asks or self.settings.model is None or fault:
                    break
                fault = self._answered(asks)
            report: Report = self.as_writer(lambda: self.order.run(cadence, dry_run=dry_run, only=only))
            self._told(report, fault)
            return report

    def _answered(self, asks: Sequence[Ask]) -> str:
        """Have the questions answered; why it ended before the last one, or ''."""
        from engram.llm import portraits  # noqa: F401  it makes its questions known
        from engram.llm.answers import answer

        failed = 0
        for ask in asks[: self.settings.policy.consolidation.questions]:
            try:
                said = answer(self.extractor.model(), ask.task, ask.material, self.settings.policy.model)
            except ModelError as fault:
                failed += 1
                if isinstance(fault, BudgetSpentError) or failed >= self.settings.policy.model.attempts:
                    return str(fault)
                continue
            self.as_writer(partial(self.order.sight.answers.keep, ask.key, said))
        return "some questions were not answered" if failed else ""

    def _told(self, report: Report, fault: str) -> None:
        """What is degraded after a run stands in the faults until one succeeds."""
        words = "; ".join([*(f"{name}: {what}" for name, what in report.failures.items()), *filter(None, [fault])])
        faults = self.order.filing.faults
        if words:
            faults["consolidation"] = words
        else:
            faults.pop("consolidation", None)

    def runs(self, last: int) -> dict[str, Any]:
        """The latest runs, the last one first: what each did, and whether it can be taken back."""
        kept = set(self.order.history.runs())
        rows = []
        for line in reversed(self.order.sight.read(RUNS).splitlines()):
            try:
                row = json.loads(line)
            except ValueError:
                continue
            rows.append(row | {"can_be_undone": row.get("id") in kept})
            if len(rows) == last:
                break
        return {"runs": rows}

    def undo(self, id: str, *, dry_run: bool) -> dict[str, Any]:  # noqa: A002  the argument's name is shown to people
        """Take a run back (X6)."""
        return self.order.undo(id, dry_run=dry_run).plain()

    def forecast(self, days: int, *, curve: bool) -> dict[str, Any]:
        """What will become of memories that nobody touches, with `curve` how they fade until then (X10)."""
        if not 0 < days <= MOST_DAYS:
            raise BadRequestError(f"days must be 1 to {MOST_DAYS}")
        return {"days": days, "coming": self.order.forecast(days, POINTS if curve else 0)}


def _at_once(job: Callable[[], T]) -> T:
    """Where no daemon runs, the caller is the writer."""
    return job()
