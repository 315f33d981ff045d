"""Reconciliation of a batch: a decision on each candidate, and one plan of writes.

`Reconciler.file` takes the extraction of a batch of turns. First it hides the
statements that the user takes back. Then `CandidateSteps` (`pipeline/steps.py`) decides
on each candidate and enters the decision into a `WritePlan`. Finally `PlanWriter`
(`pipeline/apply.py`) writes the plan. Filing a batch a second time, as after a crash,
changes nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from engram.core import trust
from engram.core.records import Candidate, Extraction, Fact, Turn
from engram.errors import ConflictError, NotFoundError
from engram.pipeline.apply import PlanWriter
from engram.pipeline.boxes import BoxWriter
from engram.pipeline.compare import Comparison
from engram.pipeline.entities import EntityWriter
from engram.pipeline.entity_removal import EntityRemoval
from engram.pipeline.forgetting import Forgetting
from engram.pipeline.imports import ImportRuns
from engram.pipeline.owner import OwnerNames
from engram.pipeline.plan import Case, WritePlan
from engram.pipeline.privacy import (
    keep_private,
    with_borrowed_privacy,
    with_sensitivity,
)
from engram.pipeline.promises import PromiseSettler
from engram.pipeline.retraction import Retraction
from engram.pipeline.steps import CandidateResult, CandidateSteps
from engram.pipeline.turn_edits import TurnEdits
from engram.pipeline.write import NoteWriter, action_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from engram.core.decide import Decision
    from engram.ingest.queue import Batch
    from engram.pipeline.usage import UsageTracker


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The outcome of a batch.

    Ids of the new facts, of the known facts that were confirmed, and of the facts that
    wait in review; numbers of skipped candidates by reason.
    """

    created: tuple[str, ...] = ()
    confirmed: tuple[str, ...] = ()
    review: tuple[str, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AskedFact:
    """A statement that a caller asks to keep, its source, and what the rules found."""

    fact: Fact
    turn: Turn
    found: Extraction


@dataclass(frozen=True, slots=True)
class KeptFact:
    """The decision on such a statement, and the notes in review that it led to."""

    fact: Fact
    decision: Decision
    cases: tuple[Case, ...]


class Reconciler:
    """Files batches and single statements. For the writer thread.

    `comparison` may be used from any thread.
    """

    def __init__(self, note_writer: NoteWriter, usage_tracker: UsageTracker) -> None:
        self.note_writer = note_writer
        self.usage_tracker = usage_tracker
        self.vault = note_writer.vault
        self.index = note_writer.index
        self.settings = note_writer.settings
        self.entity_writer = EntityWriter(self.vault, self.settings)
        self.owner_names = OwnerNames(self.entity_writer, self.index)
        owner_names = self.entity_writer.names.owner_names
        self.box_writer = BoxWriter(
            self.vault, self.index, self.settings, note_writer.health, owner_names
        )
        self.comparison = Comparison(self.index, self.settings, owner_names)
        self.forgetting = Forgetting(note_writer)
        self.retraction = Retraction(
            note_writer, self.forgetting, self.comparison.states
        )
        self.turn_edits = TurnEdits(note_writer, self.forgetting)
        self.entity_removal = EntityRemoval(self.entity_writer, self.index)
        self.imports = ImportRuns(self.turn_edits)
        self.promises = PromiseSettler(note_writer)
        self.plan_writer = PlanWriter(
            note_writer,
            usage_tracker,
            self.entity_writer,
            self.box_writer,
            self.comparison,
        )

    # -- batches -----------------------------------------------------------------------

    def file(self, batch: Batch, extraction: Extraction, now: datetime) -> BatchResult:
        """Write the facts that were extracted from a batch (rows A1, C5, C7, X8, X17).

        The turns of the batch are in their session file already. Raises EngramError;
        the batch can then be filed again.
        """
        keep_private(self.note_writer, batch, now)
        batch = with_sensitivity(self.note_writer, batch)
        batch = with_borrowed_privacy(self.note_writer, batch, extraction)
        turns = {item.filed.turn.id: item.filed for item in batch.waiting}
        self.forgetting.lift_restated(turns.values(), now)
        numbered = list(_numbered(extraction.candidates))
        withdrawn = self.retraction.apply(turns.values(), now)
        self.turn_edits.drop(turns.values(), withdrawn)
        if withdrawn.sentences:
            extraction = withdrawn.without(extraction, turns)
            self.forgetting.lift_restated(turns.values(), now)

        plan = WritePlan(self.settings, now, self.note_writer)
        public = [turn for turn in batch.turns if not turn.private]
        plan.rows += self.owner_names.learn(extraction, public, now)
        kept = [one for one in numbered if one[0] in extraction.candidates]
        steps = self._steps(plan)
        results = [
            steps.file(batch, extraction, one, turns[one.turn_id], ordinal)
            for one, ordinal in kept
        ]
        for end in extraction.ended:
            steps.end_known(extraction.extractor, end, turns[end.turn_id])
        self.promises.enter(map(withdrawn.remaining, turns.values()), plan)
        plan.ask_what_rests_on_ended()
        plan.leave_out_broken()
        self.plan_writer.write(plan)
        self.plan_writer.write_related(plan, batch, extraction, results)

        by_action: dict[str, list[str]] = {}
        skipped = Counter(extraction.dropped)
        for result in results:
            by_action.setdefault(result.action, []).append(result.memory)
            if result.action == "skip":
                skipped[result.why] += 1
        skipped.update(plan.refused)
        created = tuple(by_action.get("create", ()))
        self._start_decay(created, now)
        return BatchResult(
            created,
            _confirmed(results),
            tuple(by_action.get("review", ())),
            skipped,
        )

    def _steps(self, plan: WritePlan) -> CandidateSteps:
        return CandidateSteps(
            plan,
            self.note_writer,
            self.entity_writer,
            self.comparison,
            self.forgetting,
        )

    def _start_decay(self, created: Sequence[str], now: datetime) -> None:
        """Record when the decay of new facts starts (`B6`).

        The decay of a fact that was stated long ago, as in an import, starts now,
        because the fact could not be recalled before. It is written at once: a crash
        would lose it.
        """
        late = timedelta(days=self.settings.policy.decay.late_filing_days)
        facts = self.index.facts(created)
        old = [fact for fact in facts if fact.created and now - fact.created > late]
        for fact in old:
            self.usage_tracker.record_evidence(fact.id, now)
        created_at, zone = self.note_writer.creation_times(), self.settings.zone
        self.usage_tracker.record_first_met(facts, created_at, now, zone, filed=True)
        if old:
            self.usage_tracker.flush()

    # -- single statements -------------------------------------------------------------

    def remember(self, asked: Iterable[AskedFact], now: datetime) -> list[KeptFact]:
        """File statements that callers ask to keep, together (A1, A7, `X9`).

        The facts keep their importance. A statement that does not come from the user is
        contained as in a batch (`X27`). If a note was edited or moved since the last
        scan, all are decided on again.
        """
        plan, statements = WritePlan(self.settings, now, self.note_writer), []
        kept: list[KeptFact] = []
        with self.entity_writer.expecting():
            for one in asked:
                statements.append(one)
                kept.append(self._planned(plan, one))
                new = [one.fact] if plan.is_new(one.fact) else []
                self.entity_writer.expect(new, one.found.types, now)
            try:
                self.plan_writer.check(plan)
            except (ConflictError, NotFoundError):
                self.note_writer.scan_all()
                plan = WritePlan(self.settings, now, self.note_writer)
                kept = [self._planned(plan, one) for one in statements]
            self._write_asked(plan, statements)
        return kept

    def _write_asked(self, plan: WritePlan, asked: Sequence[AskedFact]) -> None:
        plan.ask_what_rests_on_ended()
        self.plan_writer.write_unrepeatable(plan)
        types = dict[str, str]()
        for one in reversed(asked):
            types |= one.found.types
        relations = [
            relation
            for one in asked
            if trust.source_class(one.turn) == "user"
            for relation in one.found.relations
        ]
        extraction = Extraction((), "user", relations=tuple(relations), types=types)
        ids = [one.fact.id for one in asked]
        turns = [one.turn for one in asked]
        self.plan_writer.write_entities(plan, ids, turns, extraction)

    def _planned(self, plan: WritePlan, one: AskedFact) -> KeptFact:
        """Plan the filing of a statement; each may end as many facts as a batch."""
        fact, cases = one.fact, plan.cases
        plan.ended = 0
        decision = self._steps(plan).remember(fact, one.turn)
        row = action_row(plan.now, "store", fact.id, "asked to remember")
        if decision.action == "confirm":
            row |= {"action": "confirm", "met": decision.met}
        elif decision.action == "review":
            row |= {"action": "review", "reason": decision.why}
        plan.rows.append(row)
        new = tuple(case for case in plan.cases if case not in cases)
        return KeptFact(fact, decision, new)


def _confirmed(results: Sequence[CandidateResult]) -> tuple[str, ...]:
    """Return the ids of confirmed facts, once for each turn that repeats them (`A8`)."""
    created = {(one.turn_id, one.memory) for one in results if one.action == "create"}
    confirmed = dict.fromkeys(
        (one.turn_id, one.memory) for one in results if one.action == "confirm"
    )
    return tuple(memory for turn, memory in confirmed if (turn, memory) not in created)


def _numbered(candidates: Sequence[Candidate]) -> Iterator[tuple[Candidate, int]]:
    """Yield each candidate with its number, from 0, among those of its turn."""
    numbers: Counter[str] = Counter()
    for candidate in candidates:
        yield candidate, numbers[candidate.turn_id]
        numbers[candidate.turn_id] += 1
