"""The steps of one candidate, cheapest first.

`CandidateSteps.file` takes a candidate of an extraction through these steps and enters
the outcome into a `WritePlan`. `pipeline/apply.py` writes the plan.

1. The speaker, subject, kind and end of the statement: `candidate_fact`.
2. The cheap checks: is it forgotten, filed already, trivial, without a quotation, or
   not allowed for its source.
3. The known facts that are near or in the same slot: `pipeline/gather.py`.
4. The decision, a pure function of these values: `core/decide.py`.
5. The new fact, the changes of known facts and the rows of the action log are entered.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engram.core import todos, trust
from engram.core.decide import (
    ALREADY_FILED,
    SAME_WORDS,
    Decision,
    Effect,
    Statement,
    decide,
    is_scheduled,
)
from engram.core.entities import subjects
from engram.core.importance import Surprise, after_surprise
from engram.core.language.dates import next_beginning
from engram.core.language.privacy import turn_of_words
from engram.core.language.quotations import narrowed
from engram.core.records import (
    Candidate,
    Extraction,
    Fact,
    FactEnd,
    FactLinks,
    FiledTurn,
    Turn,
)
from engram.core.text import ulid
from engram.pipeline.candidates import Said, candidate_fact, log_row
from engram.pipeline.forgetting import FORGOTTEN, Forgetting
from engram.pipeline.gather import Gatherer
from engram.pipeline.write import NoteWriter, action_row

if TYPE_CHECKING:
    from datetime import datetime

    from engram.ingest.queue import Batch
    from engram.pipeline.compare import Comparison
    from engram.pipeline.entities import EntityWriter
    from engram.pipeline.plan import WritePlan


@dataclass(frozen=True, slots=True)
class CandidateResult:
    """The outcome of one candidate; `memory` is the id of the fact, new or known."""

    turn_id: str
    action: str
    why: str
    memory: str


class CandidateSteps:
    """Decides on the statements of a batch and enters the decisions into its plan."""

    def __init__(
        self,
        plan: WritePlan,
        note_writer: NoteWriter,
        entity_writer: EntityWriter,
        comparison: Comparison,
        forgetting: Forgetting,
    ) -> None:
        self.plan = plan
        self.note_writer = note_writer
        self.entity_writer = entity_writer
        self.comparison = comparison
        self.forgetting = forgetting
        self.gatherer = Gatherer(note_writer, comparison, plan)
        self.policy = note_writer.settings.policy
        # the ids of the memories of the batch, by the texts of their statements
        self._memories: dict[str, str] = {}

    def file(
        self,
        batch: Batch,
        extraction: Extraction,
        candidate: Candidate,
        filed: FiledTurn,
        ordinal: int,
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
        fact = self._fact(extraction, candidate, filed, attributed, ordinal)
        fact = replace(fact, because=self._premises(fact, candidate.links))
        said = Said(filed.turn, quote, attributed, candidate.links, candidate.sort)
        earlier = self.note_writer.vault.actions_of(fact.id) if batch.attempts else []

        evidence = replace(filed, turn=attributed)
        if self.forgetting.is_forgotten(fact, evidence):
            decision = Decision("", FORGOTTEN)
        else:
            self.forgetting.lift_stated([(evidence, fact.text)], self.plan.now)
            new = self.gatherer.checked(fact, said, earlier)
            decision = self._enter(said, *self._decide(new, said))
        if decision.why != ALREADY_FILED and not earlier:
            row = self._log_row(extraction, candidate, fact, filed, decision)
            self.plan.rows.append(row)
        elif self._is_log_row_missing(fact.id):
            now, by = self.plan.now, extraction.extractor
            row = action_row(now, "create", fact.id, ALREADY_FILED, by)
            self.plan.rows.append(row)
        memory = fact.id if decision.destination else decision.met or fact.id
        self._memories[candidate.text] = memory
        return CandidateResult(candidate.turn_id, decision.action, decision.why, memory)

    def remember(self, fact: Fact, turn: Turn) -> Decision:
        """Decide on a statement that a caller asks to keep (A1, A7).

        `turn` is its source. A statement that does not come from the user is contained
        as in a batch (`X27`). Its importance does not depend on how new it is.
        """
        said, source = Said(turn, turn.text, turn), trust.source_class(turn)
        contained = ""
        if source != "user":
            confidence = trust.cap_confidence(
                fact.confidence, source, self.policy.trust
            )
            origin = trust.AGENT if source == "assistant" else source
            fact = replace(fact, confidence=confidence, origin=origin)
            contained = self.gatherer.containment(fact, said)
        new = replace(self.gatherer.statement(fact, said), contained=contained)
        return self._enter(said, *self._decide(new, said, weighed=True))

    def end_known(self, extractor: str, end: FactEnd, filed: FiledTurn) -> None:
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
        old = self.plan.fact(end.fact_id)
        if old is None or self.note_writer.index.unit(words.id) is not None:
            return
        new = replace(self.gatherer.statement(words, said), states=(), ends=True)
        known = [replace(self.gatherer.one(old, new, said), relation="ends")]
        self._enter(said, words, decide(new, known, self.policy))

    # -- the steps ---------------------------------------------------------------------

    def _fact(
        self,
        extraction: Extraction,
        candidate: Candidate,
        filed: FiledTurn,
        attributed: Turn,
        ordinal: int,
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
            self.policy,
            self.plan.now,
        )

    def _premises(self, fact: Fact, links: FactLinks | None) -> tuple[str, ...]:
        """Return the ids of the memories that a statement names as its grounds (`X29`).

        They hold now: a memory that the statement ends is none.
        """
        if links is None:
            return ()
        named = (
            self._memories.get(one[1:], "") if one.startswith("=") else one
            for one in links.because
        )
        gone = {fact.id, *links.replaces, *links.ends}
        found = filter(None, map(self.plan.fact, filter(None, named)))
        ids = (one.id for one in found if one.status == "active")
        return tuple(dict.fromkeys(one for one in ids if one not in gone))

    def _decide(
        self, new: Statement, said: Said, *, weighed: bool = False
    ) -> tuple[Fact, Decision]:
        """Return a new fact, and the decision on it.

        Unless it is `weighed` already, its importance depends on how new it is (`D3`).
        """
        fact = new.fact
        if new.filed or new.trivial:
            return fact, decide(new, (), self.policy)
        near = self.comparison.near(fact, new.said_at, self.plan)
        self.plan.neighbours[fact.id] = near
        if not weighed:
            surprise = self.comparison.surprise(near)
            self.plan.surprises[fact.id] = surprise
            importance = after_surprise(
                fact.importance, surprise.gain, self.policy.dedup
            )
            fact = replace(fact, importance=importance)
        known = self.gatherer.known(new, said, near)
        return fact, decide(new, known, self.policy)

    def _enter(self, said: Said, fact: Fact, decision: Decision) -> Decision:
        """Enter a decision: the new fact and the changes of known facts."""
        plan, gatherer = self.plan, self.gatherer
        plan.refused.update(decision.refused)
        fact = self._finished(fact, decision)
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
            by = fact if decision.destination else plan.fact(decision.met)
            fact = self._carried_out(effect, fact, by, said)
            if effect.action != "confirm" and decision.why != SAME_WORDS:
                plan.rows.append(_effect_row(plan.now, effect, fact, by, said))
        if decision.destination:
            has_case = any(effect.action == "ask" for effect in decision.effects)
            asking = decision.destination == "review" and not has_case
            plan.add(fact, decision.why, said.quote, asking=asking)
        elif known := plan.fact(decision.met):
            by_user = trust.source_class(said.attributed) == "user"
            if by_user and not gatherer.keeps_bytes(known, said.turn):
                plan.told_again[known.id] = said.turn.occurred_at
        return decision

    def _carried_out(
        self, effect: Effect, fact: Fact, by: Fact | None, said: Said
    ) -> Fact:
        """Enter an effect of the statement `fact`; return the fact changed.

        `by` is what holds instead: the statement, or the known fact that it repeats, or
        None for words that only end something.
        """
        plan, gatherer, old = self.plan, self.gatherer, effect.fact
        if by is None:
            said_at = said.attributed.occurred_at.astimezone(plan.settings.zone)
            plan.end(effect, todos.deed_at(said.quote, said_at), turn=fact.source)
            return fact
        quotes: dict[str, str] = {}
        if effect.action == "ask":
            quotes = {by.id: said.quote, old.id: gatherer.quote(old)}
        if by is fact or old.id == by.id:
            return plan.apply(effect, fact, quotes)
        plan.apply(effect, by, quotes)
        ended = by.id in plan.latest(old).superseded_by
        if ended and not gatherer.keeps_bytes(by, said.turn):
            plan.add_predecessor(plan.latest(by), old)
        return fact

    def _finished(self, fact: Fact, decision: Decision) -> Fact:
        """Return a fact whose predecessors were changed before the process ended.

        They name it already; their rows in the action log are missing.
        """
        for old in decision.finished:
            other = "schedule" if is_scheduled(old) else "weaken"
            action = "supersede" if old.status == "superseded" else other
            now, why = self.plan.now, old.end_reason
            row = action_row(now, action, old.id, why, fact.origin)
            self.plan.rows.append(row | {"met": fact.id})
        names = tuple(old.id for old in decision.finished)
        return replace(fact, supersedes=names) if names else fact

    # -- rows of the action log --------------------------------------------------------

    def _log_row(
        self,
        extraction: Extraction,
        candidate: Candidate,
        fact: Fact,
        filed: FiledTurn,
        decision: Decision,
    ) -> dict[str, object]:
        """Return the row of the action log about a candidate."""
        now, by = self.plan.now, extraction.extractor
        row = log_row(now, fact.id, candidate, filed.key, decision, by)
        row |= _surprise_row(self.plan.surprises.get(fact.id))
        if warning := extraction.warnings.get(fact.text):
            row["warning"] = warning
        return row

    def _is_log_row_missing(self, fact_id: str) -> bool:
        """Return whether a crash prevented the log row of a note that was written."""
        written = self.note_writer.index.catalog.fact(fact_id) is not None
        return written and fact_id not in self.note_writer.creation_times()


def _effect_row(
    now: datetime, effect: Effect, fact: Fact, by: Fact | None, said: Said
) -> dict[str, object]:
    """Return the row of the action log about a change of a known fact."""
    action = effect.action if by or effect.action != "supersede" else "invalidate"
    row = action_row(now, action, effect.fact.id, effect.why, fact.origin)
    if by:
        row["met"] = fact.id
    if not by or effect.action == "settle":
        row["turn"] = fact.source
    return row if by else row | {"quote": said.quote}


def _surprise_row(surprise: Surprise | None) -> dict[str, object]:
    """Return the novelty of a statement in the form of the action log (`D3`)."""
    if surprise is None:
        return {}
    rounded: dict[str, object] = {
        "surprise": round(surprise.score, 2),
        "gain": round(surprise.gain, 2),
    }
    return rounded | ({"duplicate": True} if surprise.duplicate else {})
