"""Candidates become notes: a decision on each, and one plan of writes for all.

`Reconciler.file` takes the extraction of a batch of turns. It asks the `Decider` about
each candidate and enters the decision into a `WritePlan`. Then it writes the plan, the
entity notes and edges of the facts, and the box of the conversation. Filing a batch a
second time, as after a crash, changes nothing.
"""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from engram.core import trust
from engram.core.changes import OVER, EndedFact
from engram.core.dedup import ALREADY_FILED, Verdict
from engram.core.entities import subjects
from engram.core.records import Extraction, Fact, FactEnd
from engram.core.text import ulid
from engram.pipeline.boxes import BoxWriter
from engram.pipeline.candidates import Statement, candidate_fact, log_row
from engram.pipeline.compare import Comparison, pair_of
from engram.pipeline.corrections import Corrections
from engram.pipeline.decide import Decider
from engram.pipeline.entities import EntityWriter
from engram.pipeline.evidence import EvidenceReader
from engram.pipeline.forgetting import FORGOTTEN, Forgetting
from engram.pipeline.linked import LinkDecider
from engram.pipeline.owner import OwnerNames
from engram.pipeline.plan import WritePlan
from engram.pipeline.privacy import keep_private, with_borrowed_privacy
from engram.pipeline.promises import PromiseSettler
from engram.pipeline.retraction import Retraction
from engram.pipeline.write import action_row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from engram.core.importance import Surprise
    from engram.core.records import Candidate, Change, Edge, FiledTurn, Turn
    from engram.ingest.queue import Batch
    from engram.pipeline.boxes import Stretch
    from engram.pipeline.decide import Resolution
    from engram.pipeline.plan import Case
    from engram.pipeline.usage import UsageTracker
    from engram.pipeline.write import NoteWriter

ENDS = frozenset({"supersede", "invalidate", "weaken"})
"""The actions in the log by which a statement ends or weakens a known fact."""
FIRST_CORRECTED = 1000
"""The number of the first statement of a batch that the user corrects."""
APART = "apart"
"""The action in the log for two statements that a model judged to differ."""
APART_REASON = "a model found that they say different things"


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The outcome of a batch.

    Ids of new facts, of known facts that were confirmed, and of facts that wait in
    review; numbers of skipped candidates by reason.
    """

    created: tuple[str, ...] = ()
    confirmed: tuple[str, ...] = ()
    review: tuple[str, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CandidateResult:
    """The outcome of one candidate; `memory` is the id of the fact, new or known."""

    turn_id: str
    verdict: Verdict
    memory: str


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
        self.box_writer = BoxWriter(
            self.vault, self.index, self.settings, note_writer.health
        )
        self.comparison = Comparison(
            self.index,
            self.settings,
            self.entity_writer.ref_of,
            self.entity_writer.names.owner_names,
            lambda: self.vault.logged_pairs(APART),
        )
        self.forgetting = Forgetting(note_writer)
        self.retraction = Retraction(note_writer, self.forgetting)
        self.promises = PromiseSettler(note_writer)
        self.corrections = Corrections(self.retraction)

    # -- batches -----------------------------------------------------------------------

    def file(self, batch: Batch, extraction: Extraction, now: datetime) -> BatchResult:
        """Write the facts that were extracted from a batch (rows A1, C5, C7, X8, X17).

        The turns of the batch are in their session file already. Raises EngramError;
        then the batch can be filed again.
        """
        keep_private(self.note_writer, batch, now)
        batch = with_borrowed_privacy(self.note_writer, batch, extraction)
        turns = {item.filed.turn.id: item.filed for item in batch.waiting}
        self.forgetting.lift_restated(turns.values(), now)
        numbered = list(_numbered(extraction.candidates))
        withdrawn = self.retraction.apply(turns.values(), now)
        if withdrawn.sentences:
            extraction = withdrawn.without(extraction, turns)
            self.forgetting.lift_restated(turns.values(), now)

        plan = WritePlan(self.settings, now, self.note_writer)
        public = [turn for turn in batch.turns if not turn.private]
        plan.rows += self.owner_names.learn(extraction, public, now)
        kept = [one for one in numbered if one[0] in extraction.candidates]
        planned = list(self._plan_candidates(plan, batch, extraction, kept, turns))
        extraction = replace(extraction, candidates=tuple(one for one, _ in planned))
        results = [result for _, result in planned]
        for end in [*_ends_of_known(extraction, results), *extraction.ended]:
            self._plan_end(plan, extraction.extractor, end, turns[end.turn_id])
        plan.leave_out_broken()
        self._write(plan)
        self._write_related(plan, batch, extraction, results)
        self.promises.apply(map(withdrawn.left, turns.values()), now)

        by_action: dict[str, list[str]] = {}
        skipped = Counter(extraction.dropped)
        for result in results:
            by_action.setdefault(result.verdict.action, []).append(result.memory)
            if result.verdict.action == "skip":
                skipped[result.verdict.why] += 1
        skipped.update(plan.refused)
        created = tuple(by_action.get("create", ()))
        self._start_decay(created, now)
        return BatchResult(
            created,
            _confirmed(results),
            tuple(by_action.get("review", ())),
            skipped,
        )

    def _plan_candidates(
        self,
        plan: WritePlan,
        batch: Batch,
        extraction: Extraction,
        numbered: Sequence[tuple[Candidate, int]],
        turns: Mapping[str, FiledTurn],
    ) -> Iterator[tuple[Candidate, CandidateResult]]:
        """Decide on every candidate, then on what the user corrects.

        A correction replaces the candidates that were read in its own sentence.
        """
        decide = partial(self._plan_candidate, plan, batch, extraction)
        requests = self.corrections.requests(turns.values())
        for candidate, ordinal in numbered:
            if not any(request.covers(candidate) for request in requests):
                filed = turns[candidate.turn_id]
                yield candidate, decide(candidate, filed, ordinal)
        for number, request in enumerate(requests):
            found = self.corrections.carried_out(request, plan)
            if found:
                ordinal = FIRST_CORRECTED + number
                result = decide(found.candidate, request.turn, ordinal, found.ended)
                yield found.candidate, result
                self.corrections.hide(request, found, plan)
                continue
            for candidate, ordinal in numbered:
                if request.covers(candidate):
                    yield candidate, decide(candidate, request.turn, ordinal)

    def _plan_candidate(
        self,
        plan: WritePlan,
        batch: Batch,
        extraction: Extraction,
        candidate: Candidate,
        filed: FiledTurn,
        ordinal: int,
        corrects: EndedFact | None = None,
    ) -> CandidateResult:
        """Decide on one candidate and enter the decision into the plan.

        `ordinal` is its number among the candidates of its turn. The id of the fact is
        made of extractor, turn and ordinal, so that the next attempt finds its note.
        """
        attributed = trust.turn_as_evidence(filed.turn, candidate.quote)
        source = replace(filed, turn=attributed)
        seed = f"{extraction.extractor}\n{filed.key}\n{ordinal}"
        fact = candidate_fact(
            candidate,
            filed.turn,
            source,
            ulid(attributed.occurred_at, seed),
            extraction.extractor,
            self.entity_writer.link_names(
                subjects(candidate.about, filed.turn, self.entity_writer.names)
            ),
            self.settings.policy,
        )
        opinion = extraction.opinions.get(fact.text)
        statement = Statement(
            filed.turn, candidate.quote, attributed, opinion, candidate.links, corrects
        )
        earlier = self.vault.actions_of(fact.id) if batch.attempts else []

        decider = self._decider(plan)
        if self.forgetting.is_forgotten(fact, source):
            verdict = Verdict("skip", FORGOTTEN)
        else:
            verdict = decider.screen(
                fact,
                statement,
                filed=self.index.unit(fact.id) is not None,
                rows=earlier,
            )
        verdict = self._enter(plan, decider, fact, statement, verdict)

        if verdict.why != ALREADY_FILED and not earlier:
            row = log_row(
                plan.now, fact.id, candidate, filed.key, verdict, extraction.extractor
            )
            row |= _surprise_row(plan.surprises.get(fact.id))
            if warning := extraction.warnings.get(fact.text):
                row["warning"] = warning
            plan.rows.append(row)
            plan.rows += self._apart_rows(plan.now, fact, extraction)
        elif self._is_log_row_missing(fact.id):
            row = action_row(
                plan.now, "create", fact.id, ALREADY_FILED, extraction.extractor
            )
            plan.rows.append(row)
        return CandidateResult(candidate.turn_id, verdict, verdict.match or fact.id)

    def _plan_end(
        self, plan: WritePlan, extractor: str, end: FactEnd, filed: FiledTurn
    ) -> None:
        """End a known fact by words of the user that give no new fact (`A10`).

        Of a fact that only a person may end a note in `review/` asks, with the words in
        the place of a newer statement.
        """
        attributed = trust.turn_as_evidence(filed.turn, end.quote)
        statement = Statement(filed.turn, end.quote, attributed)
        by_links = LinkDecider(self._decider(plan))
        old = by_links.active(end.fact_id, filed.turn.occurred_at)
        if old is None:
            return
        seed = f"{extractor}\n{filed.key}\nended\n{end.fact_id}"
        words = Fact(
            ulid(attributed.occurred_at, seed),
            end.quote,
            created=attributed.occurred_at,
            source=filed.key,
            origin=extractor.partition("/")[0],
            persona=filed.turn.private_to,
        )
        if self.index.unit(words.id) is not None:
            return

        linked = [EndedFact(old, OVER)]
        decided = by_links.decide(linked, words, statement, tells_change=True)
        for effect in decided.effects:
            if effect.action == "ask":
                words = plan.with_path(replace(words, status="review"))
                quotes = {words.id: end.quote}
                plan.apply(effect, words, quotes)
                plan.add(words, effect.why, end.quote, asking=False)
            else:
                plan.end(old, effect.why, attributed.occurred_at)
            action = "review" if effect.action == "ask" else "invalidate"
            row = action_row(plan.now, action, old.id, effect.why, extractor)
            plan.rows.append(row | {"turn": filed.key, "quote": end.quote})

    def _decider(self, plan: WritePlan) -> Decider:
        evidence = EvidenceReader(self.note_writer, plan)
        return Decider(self.settings, self.comparison, evidence, plan)

    def _is_log_row_missing(self, fact_id: str) -> bool:
        """Whether a crash came between the write of a note and its row of the log."""
        written = self.index.catalog.fact(fact_id) is not None
        return written and fact_id not in self.note_writer.creation_times()

    def _apart_rows(
        self, now: datetime, fact: Fact, extraction: Extraction
    ) -> Iterator[dict[str, object]]:
        """Yield a log row for each known fact that a model judged to differ (`A9`).

        The model is not asked about these pairs again.
        """
        for known in self._facts(extraction.apart.get(fact.text, ())):
            row = action_row(now, APART, fact.id, APART_REASON, extraction.extractor)
            pair = sorted(pair_of(fact.text, known.text))
            yield row | {"met": known.id, "pair": pair}
            self.comparison.record_judged(fact.text, known.text)

    def _start_decay(self, created: Sequence[str], now: datetime) -> None:
        """Record when the decay of new facts starts (`B6`).

        A fact that was said long ago, as in an import, decays from now on: it could not
        be recalled before. That is written at once, because a crash would lose it.
        """
        late = timedelta(days=self.settings.policy.decay.late_filing_days)
        facts = self._facts(created)
        old = [fact for fact in facts if fact.created and now - fact.created > late]
        for fact in old:
            self.usage_tracker.record_evidence(fact.id, now)
        created_at, zone = self.note_writer.creation_times(), self.settings.zone
        self.usage_tracker.record_first_met(facts, created_at, now, zone, filed=True)
        if old:
            self.usage_tracker.flush()

    # -- single statements -------------------------------------------------------------

    def remember(
        self, fact: Fact, turn: Turn, row: Mapping[str, object]
    ) -> tuple[Verdict, list[Case]]:
        """File a statement that a caller asks to keep; `turn` is its source (A1, A7).

        Returns the verdict, and the notes in review that it led to (`X9`). `fact` keeps
        its importance. A statement that does not come from the user is contained as in
        a batch (`X27`). `row` is the row of the action log.
        """
        now = datetime.fromisoformat(str(row["at"]))
        plan = WritePlan(self.settings, now, self.note_writer)
        statement = Statement(turn, turn.text, turn)
        decider = self._decider(plan)

        source_class = trust.source_class(turn)
        if source_class == "user":
            resolution = decider.decide(fact, statement, surprise=False)
            verdict = self._enter_resolution(plan, resolution)
        else:
            policy = self.settings.policy.trust
            confidence = trust.cap_confidence(fact.confidence, source_class, policy)
            fact = replace(fact, confidence=confidence, origin=source_class)
            verdict = decider.contain(fact, statement)
            verdict = self._enter(plan, decider, fact, statement, verdict)

        changed: dict[str, object] = {}
        if verdict.action == "confirm":
            changed = {"action": "confirm", "met": verdict.match}
        elif verdict.action == "review":
            changed = {"action": "review", "reason": verdict.why}
        plan.rows.append({**row, **changed})

        self._write_unrepeatable(plan)
        facts = self._facts([fact.id])
        extraction = Extraction((), "user")
        edges = self._edges(facts, plan)
        self.entity_writer.write(facts, extraction, [turn], plan.now, edges)
        return verdict, plan.cases

    # -- entering decisions into the plan ----------------------------------------------

    def _enter(
        self,
        plan: WritePlan,
        decider: Decider,
        fact: Fact,
        statement: Statement,
        verdict: Verdict,
    ) -> Verdict:
        """Enter the verdict of the cheap checks; compare a fact that passed them."""
        if verdict.action == "create":
            return self._enter_resolution(plan, decider.decide(fact, statement))

        if verdict.action == "confirm":
            if known := plan.fact(verdict.match):
                plan.apply(decider.repeat(known, fact, statement), fact, {})
        elif verdict.action == "review":
            doubtful = replace(fact, status="review", end_reason=verdict.why)
            plan.add(
                plan.with_path(doubtful), verdict.why, statement.quote, asking=True
            )
        return verdict

    def _enter_resolution(self, plan: WritePlan, resolution: Resolution) -> Verdict:
        """Enter the result of a comparison: the new fact, and changes of known facts."""
        fact, destination, why = resolution.fact, resolution.destination, resolution.why
        plan.neighbours[fact.id] = resolution.neighbours
        plan.rows += resolution.rows
        if resolution.successor:
            plan.add_predecessor(resolution.successor, fact)
        if destination:
            fact = plan.with_path(fact)

        for effect in resolution.effects:
            fact = plan.apply(effect, fact, resolution.quotes)
            if effect.action != "confirm":
                old_id = effect.fact.id
                row = action_row(
                    plan.now, effect.action, old_id, effect.why, fact.origin
                )
                plan.rows.append(row | {"met": fact.id})
        if not destination:
            return Verdict("confirm", why, resolution.effects[0].fact.id)

        has_case = any(effect.action == "ask" for effect in resolution.effects)
        in_review = destination == "review"
        quote = resolution.quotes[fact.id]
        plan.add(fact, why, quote, asking=in_review and not has_case)
        return Verdict("review" if in_review else "create", why)

    # -- writing the plan --------------------------------------------------------------

    def _write(self, plan: WritePlan) -> None:
        """Write the plan of a batch, which is filed again if the process ends here.

        The order is: tombstones, changes of known facts, questions, new notes.
        A fact whose note exists is not filed again, so its note is written last.
        """
        with self._as_run(plan):
            self._write_tombstones(plan)
            self._write_changes(plan, plan.updates, plan.notes)

    def _write_unrepeatable(self, plan: WritePlan) -> None:
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
        runs, ended = self.note_writer.runs, set(plan.contradicted.values())
        run = runs.begin_filing(plan)
        if not run:
            yield
            return
        for row in plan.rows:
            if row["memory"] in ended and row["action"] in ENDS:
                row["run"] = run
        failure = "it was cut short"
        try:
            yield
            failure = ""
        finally:
            self.note_writer.finish_run(run, plan, failure)

    def _write_tombstones(self, plan: WritePlan) -> None:
        if plan.tombstones:
            self.index.tombstones.add(plan.tombstones)

    def _write_changes(
        self, plan: WritePlan, first: Sequence[Change], second: Sequence[Change]
    ) -> None:
        """Write the changes in two steps, and the log rows with the second one.

        Salience decays by confidence, so it is anchored with the facts as they were
        before the write (`A10`, `B6`).
        """
        before = self._facts(plan.confidence_changes)
        self.note_writer.write(first, [])
        self.note_writer.write(second, plan.rows)
        for fact in before:
            self.usage_tracker.anchor_salience(fact, plan.now)

    # -- entities, edges and boxes -----------------------------------------------------

    def _write_related(
        self,
        plan: WritePlan,
        batch: Batch,
        extraction: Extraction,
        results: Sequence[CandidateResult],
    ) -> None:
        """Write entity notes, relations and edges, and fill the box of the conversation.

        A fact in review gets only the entities that it links to. Skipped candidates are
        included: an earlier attempt may have ended after it wrote their notes.
        """
        facts = self._facts([result.memory for result in results])
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
        """Yield the memories of each stretch of turns, with the time of its last turn."""
        for turns in batch.stretches(self.settings.policy.buffer.batch_turns):
            turn_ids = {turn.id for turn in turns}
            ids = dict.fromkeys(
                result.memory for result in results if result.turn_id in turn_ids
            )
            facts = [memories[fact_id] for fact_id in ids if fact_id in memories]
            yield facts, turns[-1].occurred_at

    def _facts(self, ids: Sequence[str]) -> list[Fact]:
        """Return the facts with these ids that are in the vault, each once."""
        facts = map(self.index.catalog.fact, dict.fromkeys(ids))
        return [fact for fact in facts if fact]


def _surprise_row(surprise: Surprise | None) -> dict[str, object]:
    """Return how new a statement was, as the action log keeps it for audit (`D3`)."""
    if surprise is None:
        return {}
    kept: dict[str, object] = {
        "surprise": round(surprise.score, 2),
        "gain": round(surprise.gain, 2),
    }
    return kept | ({"duplicate": True} if surprise.duplicate else {})


def _confirmed(results: Sequence[CandidateResult]) -> tuple[str, ...]:
    """The ids of confirmed facts, once for each turn that says it again (`A8`)."""
    created = {
        (one.turn_id, one.memory) for one in results if one.verdict.action == "create"
    }
    confirmed = dict.fromkeys(
        (one.turn_id, one.memory) for one in results if one.verdict.action == "confirm"
    )
    return tuple(memory for turn, memory in confirmed if (turn, memory) not in created)


def _ends_of_known(
    extraction: Extraction, results: Sequence[CandidateResult]
) -> Iterator[FactEnd]:
    """Yield the ends that statements tell which say again what is known."""
    for candidate, result in zip(extraction.candidates, results, strict=True):
        if candidate.links and result.verdict.action == "confirm":
            for fact_id in (*candidate.links.replaces, *candidate.links.ends):
                if fact_id != result.memory:
                    yield FactEnd(fact_id, candidate.turn_id, candidate.quote)


def _numbered(candidates: Sequence[Candidate]) -> Iterator[tuple[Candidate, int]]:
    """Yield each candidate with its number, from 0, among those of its turn."""
    numbers: Counter[str] = Counter()
    for candidate in candidates:
        yield candidate, numbers[candidate.turn_id]
        numbers[candidate.turn_id] += 1
