"""The steps of one candidate, cheapest first.

`CandidateSteps.file` takes a candidate of an extraction through these steps and enters
the outcome into a `WritePlan`. `pipeline/apply.py` writes the plan.

1. The speaker, subject, kind and end of the statement: `candidate_fact`.
2. The cheap checks: is it forgotten, filed already, trivial, without a quotation, a
   repetition, outdated, or not allowed for its source: `pipeline/checks.py`.
3. The search for known facts that are near or state the same: `pipeline/compare.py`.
4. The decision: is it the same as one of them, a contradiction, or new, and how do they
   change: `pipeline/decide.py`, and `pipeline/linked.py` for the opinion of a model.
   The pure rules of steps 2 to 4 are in `core/dedup.py` and `core/changes.py`.
5. The new fact, the changes of known facts and the rows of the action log are entered.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engram.core import trust
from engram.core.changes import OVER, EndedFact
from engram.core.dedup import ALREADY_FILED, Verdict
from engram.core.entities import subjects
from engram.core.language.privacy import turn_of_words
from engram.core.language.quotations import narrowed
from engram.core.records import Fact
from engram.core.text import ulid
from engram.pipeline.candidates import Statement, candidate_fact, log_row
from engram.pipeline.checks import CheapChecks
from engram.pipeline.compare import pair_of
from engram.pipeline.decide import Decider
from engram.pipeline.evidence import EvidenceReader
from engram.pipeline.forgetting import FORGOTTEN
from engram.pipeline.linked import LinkDecider
from engram.pipeline.write import action_row

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from engram.core.importance import Surprise
    from engram.core.records import Candidate, Extraction, FactEnd, FiledTurn, Turn
    from engram.ingest.queue import Batch
    from engram.pipeline.compare import Comparison
    from engram.pipeline.decide import Resolution
    from engram.pipeline.entities import EntityWriter
    from engram.pipeline.forgetting import Forgetting
    from engram.pipeline.plan import WritePlan
    from engram.pipeline.write import NoteWriter

APART = "apart"
"""The action in the log for two statements that a model judged to be different."""
APART_REASON = "a model found that they make different statements"


@dataclass(frozen=True, slots=True)
class CandidateResult:
    """The outcome of one candidate; `memory` is the id of the fact, new or known."""

    turn_id: str
    verdict: Verdict
    memory: str


@dataclass(frozen=True, slots=True)
class CandidateSteps:
    """Decides on candidates and enters the decisions into a plan."""

    note_writer: NoteWriter
    entity_writer: EntityWriter
    comparison: Comparison
    forgetting: Forgetting

    def file(
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

        `ordinal` is its number, from 0, among the candidates of its turn. The id of the
        fact is made from extractor, turn and ordinal, so that the next attempt finds
        its note.
        """
        quote = narrowed(filed.turn.text, candidate.quote, candidate.text)
        candidate = replace(candidate, quote=quote)
        filed = replace(filed, turn=turn_of_words(filed.turn, quote))
        attributed = trust.turn_as_evidence(filed.turn, quote)
        fact = self._fact(extraction, candidate, filed, attributed, ordinal, plan.now)
        opinion = extraction.opinions.get(fact.text)
        statement = Statement(
            filed.turn, candidate.quote, attributed, opinion, candidate.links, corrects
        )
        vault, index = self.note_writer.vault, self.note_writer.index
        earlier = vault.actions_of(fact.id) if batch.attempts else []

        evidence = replace(filed, turn=attributed)
        if self.forgetting.is_forgotten(fact, evidence):
            verdict = Verdict("skip", FORGOTTEN)
        else:
            self.forgetting.lift_stated([(evidence, fact.text)], plan.now)
            is_filed = index.unit(fact.id) is not None
            checks = self._checks(plan)
            verdict = checks.screen(fact, statement, filed=is_filed, rows=earlier)
        verdict = self._enter(plan, fact, statement, verdict)
        if verdict.why != ALREADY_FILED and not earlier:
            plan.rows += self._log_rows(
                plan, extraction, candidate, fact, filed, verdict
            )
        elif self._is_log_row_missing(fact.id):
            row = action_row(
                plan.now, "create", fact.id, ALREADY_FILED, extraction.extractor
            )
            plan.rows.append(row)
        return CandidateResult(candidate.turn_id, verdict, verdict.match or fact.id)

    def remember(self, plan: WritePlan, fact: Fact, turn: Turn) -> Verdict:
        """Decide on a statement that a caller asks to keep (A1, A7).

        `turn` is its source. A statement that does not come from the user is contained
        as in a batch (`X27`).
        """
        statement = Statement(turn, turn.text, turn)
        source_class = trust.source_class(turn)
        if source_class == "user":
            resolution = self._decider(plan).decide(fact, statement, surprise=False)
            return self._enter_resolution(plan, resolution)

        policy = self.note_writer.settings.policy.trust
        confidence = trust.cap_confidence(fact.confidence, source_class, policy)
        origin = trust.AGENT if source_class == "assistant" else source_class
        fact = replace(fact, confidence=confidence, origin=origin)
        verdict = self._checks(plan).contain(fact, statement)
        return self._enter(plan, fact, statement, verdict)

    def end_known(
        self, plan: WritePlan, extractor: str, end: FactEnd, filed: FiledTurn
    ) -> None:
        """End a known fact by words of the user that state no new fact (`A10`).

        If only the user may end the fact, a note in `review/` asks. It shows the words
        instead of a newer statement.
        """
        filed = replace(filed, turn=turn_of_words(filed.turn, end.quote))
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
        if self.note_writer.index.unit(words.id) is not None:
            return

        linked = [EndedFact(old, OVER)]
        decided = by_links.decide(linked, words, statement, tells_change=True)
        for effect in decided.effects:
            if effect.action == "ask":
                words = plan.with_path(replace(words, status="review"))
                quotes = {words.id: end.quote}
                plan.apply(effect, words, quotes)
                plan.add(words, effect.why, end.quote, asking=False)
            elif effect.action == "settle":
                plan.settle(effect, attributed.occurred_at)
            else:
                plan.end(old, effect.why, attributed.occurred_at)
            actions = {"ask": "review", "settle": "settle"}
            action = actions.get(effect.action, "invalidate")
            row = action_row(plan.now, action, old.id, effect.why, extractor)
            plan.rows.append(row | {"turn": filed.key, "quote": end.quote})

    # -- the steps ---------------------------------------------------------------------

    def _fact(
        self,
        extraction: Extraction,
        candidate: Candidate,
        filed: FiledTurn,
        attributed: Turn,
        ordinal: int,
        now: datetime,
    ) -> Fact:
        """Return a candidate as a fact, with kind, confidence tier, end and subject.

        `attributed` is the turn as evidence: that of the author of the quoted words.
        """
        seed = f"{extraction.extractor}\n{filed.key}\n{ordinal}"
        names = self.entity_writer.names
        about = subjects(candidate.text, candidate.about, filed.turn, names)
        return candidate_fact(
            candidate,
            filed.turn,
            replace(filed, turn=attributed),
            ulid(attributed.occurred_at, seed),
            extraction.extractor,
            self.entity_writer.link_names(about),
            self.note_writer.settings.policy,
            now,
        )

    def _enter(
        self, plan: WritePlan, fact: Fact, statement: Statement, verdict: Verdict
    ) -> Verdict:
        """Enter the verdict of the cheap checks; compare a fact that passed them."""
        decider = self._decider(plan)
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
        """Enter the result of a comparison: the new fact and changes of known facts."""
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
                turn = {"turn": fact.source} if effect.action == "settle" else {}
                plan.rows.append(row | {"met": fact.id} | turn)
        if not destination:
            return Verdict("confirm", why, resolution.effects[0].fact.id)

        has_case = any(effect.action == "ask" for effect in resolution.effects)
        in_review = destination == "review"
        quote = resolution.quotes[fact.id]
        plan.add(fact, why, quote, asking=in_review and not has_case)
        return Verdict("review" if in_review else "create", why)

    def _evidence(self, plan: WritePlan) -> EvidenceReader:
        return EvidenceReader(self.note_writer, plan)

    def _checks(self, plan: WritePlan) -> CheapChecks:
        settings = self.note_writer.settings
        return CheapChecks(settings, self.comparison, self._evidence(plan), plan)

    def _decider(self, plan: WritePlan) -> Decider:
        settings = self.note_writer.settings
        return Decider(settings, self.comparison, self._evidence(plan), plan)

    # -- rows of the action log --------------------------------------------------------

    def _log_rows(
        self,
        plan: WritePlan,
        extraction: Extraction,
        candidate: Candidate,
        fact: Fact,
        filed: FiledTurn,
        verdict: Verdict,
    ) -> Iterator[dict[str, object]]:
        """Yield the rows about a candidate: its verdict, and pairs judged different."""
        row = log_row(
            plan.now, fact.id, candidate, filed.key, verdict, extraction.extractor
        )
        row |= _surprise_row(plan.surprises.get(fact.id))
        if warning := extraction.warnings.get(fact.text):
            row["warning"] = warning
        yield row
        yield from self._apart_rows(plan.now, fact, extraction)

    def _apart_rows(
        self, now: datetime, fact: Fact, extraction: Extraction
    ) -> Iterator[dict[str, object]]:
        """Yield a log row for each known fact that a model judged to differ (`A9`).

        The model is not asked about these pairs again.
        """
        for known in self.note_writer.facts(extraction.apart.get(fact.text, ())):
            row = action_row(now, APART, fact.id, APART_REASON, extraction.extractor)
            pair = sorted(pair_of(fact.text, known.text))
            yield row | {"met": known.id, "pair": pair}
            self.comparison.record_judged(fact.text, known.text)

    def _is_log_row_missing(self, fact_id: str) -> bool:
        """Return whether a crash prevented the log row of a note that was written."""
        written = self.note_writer.index.catalog.fact(fact_id) is not None
        return written and fact_id not in self.note_writer.creation_times()


def _surprise_row(surprise: Surprise | None) -> dict[str, object]:
    """Return the novelty of a statement in the form of the action log (`D3`)."""
    if surprise is None:
        return {}
    rounded: dict[str, object] = {
        "surprise": round(surprise.score, 2),
        "gain": round(surprise.gain, 2),
    }
    return rounded | ({"duplicate": True} if surprise.duplicate else {})
