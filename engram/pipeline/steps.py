"""The steps of one candidate, cheapest first.

`CandidateSteps.file` takes a candidate of an extraction through these steps and enters
the outcome into a `WritePlan`. `pipeline/apply.py` writes the plan.

1. The speaker, subject, kind and end of the statement: `candidate_fact`.
2. The cheap checks (`core/decide.py`, `screen`): is it forgotten, filed already,
   trivial, without a quotation, a repetition, or not allowed for its source.
3. The known facts that are near or in the same slot: `pipeline/gather.py`.
4. The decision, a pure function of these values: `core/decide.py`.
5. The new fact, the changes of known facts and the rows of the action log are entered.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engram.core import actions, trust
from engram.core.actions import Eligibility
from engram.core.classify import is_trivial
from engram.core.decide import (
    ALREADY_FILED,
    REMOVED_BEFORE,
    SAME_WORDS,
    Decision,
    decide,
    is_scheduled,
    screen,
)
from engram.core.entities import subjects
from engram.core.importance import after_surprise
from engram.core.language.dates import next_beginning
from engram.core.language.keep_requests import REMEMBER_TAG
from engram.core.language.privacy import turn_of_words
from engram.core.language.quotations import narrowed
from engram.core.language.secrets import is_redacted
from engram.core.records import Fact, FactLinks
from engram.core.text import content_hash, ulid
from engram.core.trust import containment_reason
from engram.ingest.requests import NOT_KEPT
from engram.pipeline.candidates import Said, candidate_fact, log_row
from engram.pipeline.compare import pair_of
from engram.pipeline.forgetting import FORGOTTEN
from engram.pipeline.gather import Gatherer
from engram.pipeline.write import action_row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from engram.core.actions import Action
    from engram.core.changes import EndedFact
    from engram.core.decide import Effect, Known, Statement
    from engram.core.importance import Surprise
    from engram.core.records import Candidate, Extraction, FactEnd, FiledTurn, Turn
    from engram.ingest.queue import Batch
    from engram.pipeline.compare import Comparison
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
    action: str
    why: str
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
        links, sort = candidate.links, candidate.sort
        said = Said(filed.turn, quote, attributed, opinion, links, corrects, sort)
        earlier = self.note_writer.vault.actions_of(fact.id) if batch.attempts else []

        evidence = replace(filed, turn=attributed)
        if self.forgetting.is_forgotten(fact, evidence):
            decision = Decision("", FORGOTTEN)
        else:
            self.forgetting.lift_stated([(evidence, fact.text)], plan.now)
            decision = self._decide(plan, fact, said, earlier)
        if decision.why != ALREADY_FILED and not earlier:
            plan.rows += self._log_rows(
                plan, extraction, candidate, fact, filed, decision
            )
        elif self._is_log_row_missing(fact.id):
            row = action_row(
                plan.now, "create", fact.id, ALREADY_FILED, extraction.extractor
            )
            plan.rows.append(row)
        memory = fact.id if decision.destination else decision.met or fact.id
        return CandidateResult(candidate.turn_id, decision.action, decision.why, memory)

    def remember(
        self, plan: WritePlan, fact: Fact, turn: Turn, *, may_change: bool
    ) -> Decision | None:
        """Decide on a statement that a caller asks to keep (A1, A7).

        `turn` is its source. A statement that does not come from the user is contained
        as in a batch (`X27`). Its importance does not depend on how new it is. Returns
        None, and enters nothing, if it changes known facts and may not.
        """
        gatherer, said = self._gatherer(plan), Said(turn, turn.text, turn)
        source = trust.source_class(turn)
        contained = ""
        if source != "user":
            policy = self.note_writer.settings.policy.trust
            confidence = trust.cap_confidence(fact.confidence, source, policy)
            origin = trust.AGENT if source == "assistant" else source
            fact = replace(fact, confidence=confidence, origin=origin)
            contained = self._contained(plan, fact, said)
        near = self.comparison.near(fact, turn.occurred_at, plan)
        plan.neighbours[fact.id] = near
        new = replace(gatherer.statement(fact, said), contained=contained)
        policies = self.note_writer.settings.policy
        decision = decide(new, gatherer.known(new, said, near), policies)
        if decision.changes and not may_change:
            return None
        return self._enter(plan, fact, said, decision)

    def end_known(
        self, plan: WritePlan, extractor: str, end: FactEnd, filed: FiledTurn
    ) -> None:
        """End a known fact by words of the user that state no new fact (`A10`).

        If only the user may end the fact, a note in `review/` asks. It shows the words
        instead of a newer statement.
        """
        filed = replace(filed, turn=turn_of_words(filed.turn, end.quote))
        attributed = trust.turn_as_evidence(filed.turn, end.quote)
        said_at = attributed.occurred_at
        links = FactLinks(ends=(end.fact_id,))
        said = Said(filed.turn, end.quote, attributed, links=links)
        words = Fact(
            ulid(said_at, f"{extractor}\n{filed.key}\nended\n{end.fact_id}"),
            end.quote,
            created=said_at,
            source=filed.key,
            origin=extractor.partition("/")[0],
            persona=filed.turn.private_to,
            valid_from=next_beginning(end.quote, said_at),
        )
        old = plan.fact(end.fact_id)
        if old is None or self.note_writer.index.unit(words.id) is not None:
            return
        gatherer = self._gatherer(plan)
        new = replace(gatherer.statement(words, said), states=(), ends=True)
        known = [replace(gatherer.one(old, new, said), relation="ends")]
        decision = decide(new, known, self.note_writer.settings.policy)
        plan.refused.update(decision.refused)
        for effect in decision.effects:
            if effect.action == "ask":
                words = plan.with_path(replace(words, status="review"))
                quotes = {words.id: end.quote, old.id: gatherer.quote(old)}
                plan.apply(effect, words, quotes)
                plan.add(words, effect.why, end.quote, asking=False)
            elif effect.action == "settle":
                plan.settle(effect, said_at)
            else:
                plan.end(effect, said_at)
            names = {"ask": "review", "supersede": "invalidate"}
            action = names.get(effect.action, effect.action)
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

    def _decide(
        self,
        plan: WritePlan,
        fact: Fact,
        said: Said,
        earlier: Sequence[Mapping[str, object]],
    ) -> Decision:
        """Decide on a new fact and enter the decision.

        `earlier` are the rows that an earlier attempt at the batch wrote to the action
        log.
        """
        policy = self.note_writer.settings.policy
        new = self._checked(plan, fact, said, earlier)
        if decision := screen(new, policy.dedup):
            return self._enter(plan, fact, said, decision)
        gatherer = self._gatherer(plan)
        if said.corrects:
            old = gatherer.one(said.corrects.fact, new, said)
            known: Sequence[Known] = (replace(old, relation="corrects"),)
        else:
            near = self.comparison.near(fact, new.said_at, plan)
            surprise = self.comparison.surprise(near)
            plan.neighbours[fact.id], plan.surprises[fact.id] = near, surprise
            importance = after_surprise(fact.importance, surprise.gain, policy.dedup)
            fact = replace(fact, importance=importance)
            known = gatherer.known(new, said, near)
        return self._enter(plan, fact, said, decide(new, known, policy))

    def _checked(
        self,
        plan: WritePlan,
        fact: Fact,
        said: Said,
        earlier: Sequence[Mapping[str, object]],
    ) -> Statement:
        """Return a fact as a statement with the results of the cheap checks."""
        gatherer, policy = self._gatherer(plan), self.note_writer.settings.policy
        new = gatherer.statement(fact, said)
        filed = self.note_writer.index.unit(fact.id) is not None
        # An earlier attempt confirmed a fact, or a user has removed the note since.
        own = [row for row in earlier if row.get("memory") == fact.id]
        met = [str(row["met"]) for row in own if row.get("met")]
        digest, when = content_hash(fact.text), said.turn.occurred_at
        twin = plan.fact(plan.duplicate_id(digest, fact.persona, when) or "")
        is_secret = REMEMBER_TAG in fact.tags and is_redacted(fact.text)
        return replace(
            new,
            filed=filed or bool(earlier),
            met=met[0] if met and not filed else "",
            trivial=is_trivial(fact.text, policy.importance),
            repeated=gatherer.one(twin, new, said) if twin else None,
            grounded=bool(said.quote),
            refused=NOT_KEPT if is_secret else self._denied(fact),
            contained=self._contained(plan, fact, said),
        )

    def _denied(self, fact: Fact) -> str:
        """Return the reason why a fact may not be stored, or '' (`C22`).

        The rules would defer a statement of low trust. It may be stored as a
        speculation, which expires unless it is confirmed (`C17`).
        """
        known = Eligibility(fact.confidence, "candidate", fact.importance, "extraction")
        action: Action = "store_episode" if fact.kind == "episode" else "store_note"
        policy = self.note_writer.settings.policy.actions
        ruling, why = actions.ruling(action, known, policy)
        return why if ruling == "deny" else ""

    def _contained(self, plan: WritePlan, fact: Fact, said: Said) -> str:
        """Return why a statement has to wait in review, or '' (`X8`, `X27`).

        Its source may not make it, or the user has removed it before.
        """
        if plan.has_tombstone(content_hash(fact.text)):
            return REMOVED_BEFORE
        policy = self.note_writer.settings.policy.trust
        owner = self.comparison.states.owner_names()
        return containment_reason(fact, said.turn, said.quote, policy, owner) or ""

    def _enter(
        self, plan: WritePlan, fact: Fact, said: Said, decision: Decision
    ) -> Decision:
        """Enter a decision: the new fact and the changes of known facts."""
        gatherer = self._gatherer(plan)
        plan.refused.update(decision.refused)
        fact = self._finished(plan, fact, decision)
        if decision.destination not in {"", "active"}:
            fact = replace(fact, status=decision.destination, end_reason=decision.why)
        if successor := plan.fact(decision.met) if decision.destination else None:
            until = gatherer.ended_at(successor, said.turn.occurred_at)
            fact = replace(fact, superseded_by=(successor.id,), valid_until=until)
            if not gatherer.keeps_bytes(successor, said.turn):
                plan.add_predecessor(successor, fact)
        if decision.destination:
            fact = plan.with_path(fact)

        for effect in decision.effects:
            fact = plan.apply(effect, fact, self._quotes(gatherer, effect, fact, said))
            if effect.action != "confirm" and decision.why != SAME_WORDS:
                old_id = effect.fact.id
                row = action_row(
                    plan.now, effect.action, old_id, effect.why, fact.origin
                )
                turn = {"turn": fact.source} if effect.action == "settle" else {}
                plan.rows.append(row | {"met": fact.id} | turn)
        if decision.destination:
            has_case = any(effect.action == "ask" for effect in decision.effects)
            asking = decision.destination == "review" and not has_case
            plan.add(fact, decision.why, said.quote, asking=asking)
        return decision

    @staticmethod
    def _quotes(
        gatherer: Gatherer, effect: Effect, fact: Fact, said: Said
    ) -> dict[str, str]:
        """Return the words behind two facts, by id, if the user is asked about them."""
        if effect.action != "ask":
            return {}
        old = effect.fact
        return {fact.id: said.quote, old.id: gatherer.quote(old)}

    @staticmethod
    def _finished(plan: WritePlan, fact: Fact, decision: Decision) -> Fact:
        """Return a fact whose predecessors were changed before the process ended.

        They name it already; their rows in the action log are missing.
        """
        ended = {"invalidated": "invalidate", "superseded": "supersede"}
        for old in decision.finished:
            other = "schedule" if is_scheduled(old) else "weaken"
            action = ended.get(old.status, other)
            row = action_row(plan.now, action, old.id, old.end_reason, fact.origin)
            plan.rows.append(row | {"met": fact.id})
        names = tuple(old.id for old in decision.finished)
        return replace(fact, supersedes=names) if names else fact

    def _gatherer(self, plan: WritePlan) -> Gatherer:
        return Gatherer(self.note_writer, self.comparison, plan)

    # -- rows of the action log --------------------------------------------------------

    def _log_rows(
        self,
        plan: WritePlan,
        extraction: Extraction,
        candidate: Candidate,
        fact: Fact,
        filed: FiledTurn,
        decision: Decision,
    ) -> Iterator[dict[str, object]]:
        """Yield the rows about a candidate: the decision, and pairs judged different."""
        row = log_row(
            plan.now, fact.id, candidate, filed.key, decision, extraction.extractor
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
