"""Write the plan of a batch: notes, action log, entities, edges and boxes.

The writes are ordered so that a crash loses nothing. After a crash a batch is filed
again; a single statement is not, so it has an order of its own.
"""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.vault import changes
from engram.vault.runs import FILING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from engram.core.records import Change, Edge, Extraction, Fact, Turn
    from engram.ingest.queue import Batch
    from engram.pipeline.boxes import BoxWriter, Stretch
    from engram.pipeline.compare import Comparison
    from engram.pipeline.entities import EntityWriter
    from engram.pipeline.plan import WritePlan
    from engram.pipeline.steps import CandidateResult
    from engram.pipeline.usage import UsageTracker
    from engram.pipeline.write import NoteWriter

ENDS = frozenset({"supersede", "invalidate", "schedule", "weaken"})
"""The actions in the log by which a statement ends or weakens a known fact."""


@dataclass(frozen=True, slots=True)
class PlanWriter:
    """Writes the plans of batches and of single statements. For the writer thread."""

    note_writer: NoteWriter
    usage_tracker: UsageTracker
    entity_writer: EntityWriter
    box_writer: BoxWriter
    comparison: Comparison

    def write(self, plan: WritePlan) -> None:
        """Write the plan of a batch, which is filed again if the process ends here.

        The order is: tombstones, changes of known facts, questions, new notes. A fact
        whose note exists is not filed again, so its note is written last.
        """
        with self._as_run(plan):
            self._write_tombstones(plan)
            self._write_changes(plan, plan.updates, plan.notes)

    def check(self, plan: WritePlan) -> None:
        """Raise if a note was edited or moved after its change was planned.

        Raises ConflictError or NotFoundError; nothing has been written then.
        """
        changes.plan(self.note_writer.vault, plan.updates)

    def write_unrepeatable(self, plan: WritePlan) -> None:
        """Write a plan that is not made again after a crash.

        No known fact ends before its successor exists, so new notes are written first.
        """
        with self._as_run(plan):
            self.note_writer.write(plan.notes, [])
            self._write_tombstones(plan)
            self._write_changes(plan, [], plan.updates)

    @contextmanager
    def _as_run(self, plan: WritePlan) -> Iterator[None]:
        """Record the ends of known facts as a run, which can be undone (`X6`)."""
        runs = self.note_writer.runs
        ends = () if self.note_writer.decision else plan.ends()
        if not ends:
            yield
            return
        run = runs.new_id(plan.now, FILING)
        runs.record(run, ends, FILING)
        ended = set(plan.contradicted.values())
        for row in plan.rows:
            if row["memory"] in ended and row["action"] in ENDS:
                row["run"] = run
        failure = "it was interrupted"
        try:
            yield
            failure = ""
        finally:
            counts = Counter(plan.contradictions)
            self.note_writer.finish_run(run, plan.now, counts, failure)

    def _write_tombstones(self, plan: WritePlan) -> None:
        if plan.tombstones:
            self.note_writer.index.tombstones.add(plan.tombstones)

    def _write_changes(
        self, plan: WritePlan, first: Sequence[Change], second: Sequence[Change]
    ) -> None:
        """Write the changes in two steps, and the log rows with the second one.

        Salience decays by confidence, so it is anchored with the facts as they were
        before the write (`A10`, `B6`).
        """
        before = self.note_writer.index.facts(plan.confidence_changes)
        self.note_writer.write(first, [])
        self.note_writer.write(second, plan.rows)
        for fact in before:
            self.usage_tracker.anchor_salience(fact, plan.now)

    # -- entities, edges and boxes -----------------------------------------------------

    def write_related(
        self,
        plan: WritePlan,
        batch: Batch,
        extraction: Extraction,
        results: Sequence[CandidateResult],
    ) -> None:
        """Write entity notes, relations and edges, and fill the conversation's box.

        A fact in review gets only the entities that it links to. Skipped candidates are
        included: an earlier attempt may have ended after it wrote their notes.
        """
        facts = self.note_writer.index.facts([result.memory for result in results])
        memories = {fact.id: fact for fact in facts if fact.status != "review"}
        turns, keys = batch.turns, {item.filed.key for item in batch.waiting}
        from_batch = [fact for fact in memories.values() if fact.source in keys]
        edges = self._edges(from_batch, plan)
        self.entity_writer.write(facts, extraction, turns, plan.now, edges)
        self.box_writer.add(
            turns[0].session,
            turns[0].persona,
            self._stretches(batch, results, memories),
            plan.now,
            {turn.speaker for turn in turns},
        )

    def write_entities(
        self,
        plan: WritePlan,
        ids: Iterable[str],
        turns: Sequence[Turn],
        found: Extraction,
    ) -> None:
        """Write entity notes and edges of facts that a caller asked to keep.

        `turns` are their sources.
        """
        facts = self.note_writer.index.facts(ids)
        self.entity_writer.write(
            facts, found, turns, plan.now, self._edges(facts, plan)
        )

    def _edges(self, facts: Sequence[Fact], plan: WritePlan) -> Iterator[Edge]:
        """Yield the edges from new facts to similar ones (`A13`)."""
        for fact in facts:
            yield from self.comparison.similarity_edges(fact, plan)

    def _stretches(
        self,
        batch: Batch,
        results: Sequence[CandidateResult],
        memories: Mapping[str, Fact],
    ) -> Iterator[Stretch]:
        """Yield the memories of each stretch of turns and the time of its last turn."""
        for turns in batch.stretches(
            self.note_writer.settings.policy.buffer.batch_turns
        ):
            turn_ids = {turn.id for turn in turns}
            ids = dict.fromkeys(
                result.memory for result in results if result.turn_id in turn_ids
            )
            facts = [memories[fact_id] for fact_id in ids if fact_id in memories]
            yield facts, turns[-1].occurred_at
