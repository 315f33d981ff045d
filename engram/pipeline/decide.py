"""Decisions on the known facts near a new statement (rows A7-A13, D3, X23, X27).

`Decider` reads the index, the action log and the plan so far, and changes none of them:
`decide` returns a `Resolution`, which `CandidateSteps` enters into the plan. The rules
themselves are in `core.dedup`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engram.core import changes, dedup, lifecycle, trust
from engram.core.categories import category_of
from engram.core.changes import EndedFact
from engram.core.dedup import Decision, Evidence, Judgement, Verdict
from engram.core.entities import name_key
from engram.core.language.states import in_context
from engram.core.lifecycle import hidden_reason
from engram.core.records import Fact
from engram.core.text import content_hash
from engram.pipeline.linked import LinkDecider
from engram.pipeline.write import action_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from engram.config import Settings
    from engram.core.dedup import Effect, Neighbour
    from engram.core.language.states import State
    from engram.core.records import Turn
    from engram.pipeline.candidates import Statement
    from engram.pipeline.compare import Comparison
    from engram.pipeline.evidence import EvidenceReader
    from engram.pipeline.plan import WritePlan

_ENDS = frozenset({"invalidate", "supersede"})
_ENDED = frozenset({"invalidated", "superseded"})
CORRECTED = "corrected (rule)"
SAID_AGAIN = "the statement that it had replaced was made again (rule)"
OTHER_PERSONAS = "other personas know the old fact too"


@dataclass(frozen=True, slots=True)
class Resolution:
    """The decision on a candidate that was compared with the known facts.

    `fact` is the new fact with its status; it gets a note unless `destination` is ''.
    `effects` change known facts; `quotes` are the quotes behind the new and those
    facts, by id. `successor` is a known fact that supersedes the new one. `rows` are
    rows of the action log that a crash prevented from being written.
    """

    fact: Fact
    destination: str
    why: str
    neighbours: Sequence[Neighbour]
    quotes: Mapping[str, str]
    effects: Sequence[Effect] = ()
    successor: Fact | None = None
    rows: Sequence[dict[str, object]] = ()


@dataclass(frozen=True, slots=True)
class Decider:
    """Decides on the candidates of one plan."""

    settings: Settings
    comparison: Comparison
    evidence: EvidenceReader
    plan: WritePlan

    # -- repetition --------------------------------------------------------------------

    def repeat(self, known: Fact, fact: Fact, statement: Statement) -> Effect:
        """Return the effect of a repeated statement on a known fact (`A8`).

        A note that a user wrote or edited gets no keys for it.
        """
        confirmed = self.evidence.as_confirmed_if_guarded(known, statement.turn)
        if self.plan.is_foreign(known):
            confirmed = replace(confirmed, verification="user_confirmed")
        effect = dedup.repeated(confirmed, fact.source, self.settings.policy.ladder)
        effect = replace(effect, fact=known)
        return self.capped(effect, statement.attributed)

    # -- comparison --------------------------------------------------------------------

    def decide(
        self, fact: Fact, statement: Statement, *, surprise: bool = True
    ) -> Resolution:
        """Decide on a new fact by its neighbours (rows A7-A13, D3).

        With `surprise` the importance of the fact depends on how new it is (`D3`).
        """
        if statement.corrects:
            return self._corrected(fact, statement, statement.corrects)
        compared = self.comparison.compare(
            fact,
            statement.turn.occurred_at,
            model=self.settings.model is not None,
            plan=self.plan,
        )
        neighbours = compared.neighbours
        if surprise:
            fact = replace(fact, importance=compared.importance)
            self.plan.surprises[fact.id] = compared.surprise

        states = self._states(fact, statement)
        related = self.comparison.facts_with_states(
            fact, states, statement.turn, self.plan
        )
        known_facts = {near.fact.id: near.fact for near in neighbours} | related
        predecessors = [
            old for old in known_facts.values() if fact.id in old.superseded_by
        ]
        if predecessors:
            return self._complete(fact, statement, predecessors, neighbours)

        by_links = LinkDecider(self)
        verdict = by_links.verdict(compared.verdict, neighbours, statement)
        verdict, judgement = self._verdict(statement, verdict)
        known = [near.fact for near in verdict.neighbours]
        decision = dedup.decide(
            verdict,
            self.evidence_for(fact, statement.attributed, known),
            self.settings.policy.ladder,
            judgement,
        )
        if _asks_another_persona(decision, statement.turn):
            decision = replace(decision, why=OTHER_PERSONAS)
        resolution = self._resolve(fact, statement, decision, neighbours)
        if resolution.destination != "active":
            return resolution
        resolution = self._with_changes(resolution, statement, states, related.values())
        if resolution.destination != "active":
            return resolution
        return self._with_links(resolution, statement, states)

    def _corrected(
        self, fact: Fact, statement: Statement, ended: EndedFact
    ) -> Resolution:
        """Resolve a statement by which the user corrects a value of a known fact.

        The wrong statement is not restored automatically (`X8`). If only the user may
        change the known fact, a question is asked.
        """
        old, turn = ended.fact, statement.turn
        claim = self.evidence_for(fact, statement.attributed, [old])
        guarded = {old.id} if self.is_guarded(old, turn) else set()
        effects = [
            replace(one, add_tombstone=one.action == "supersede")
            for one in changes.effects([ended], claim, guarded)
        ]
        quotes = {fact.id: statement.quote, old.id: self.evidence.quote(old)}
        return Resolution(fact, "active", ended.why, (), quotes, effects)

    # -- changes of state --------------------------------------------------------------

    def _states(self, fact: Fact, statement: Statement) -> tuple[State, ...]:
        """Return the states that a statement expresses, in its own or quoted words.

        A planned state ends another one on its day, in a maintenance run.
        """
        of_owner = self.comparison.states.is_of_owner(statement.attributed)
        words = (fact.text, statement.quote) if of_owner else (fact.text,)
        stated = self.comparison.states.states_of(*words)
        if of_owner:
            stated = in_context(stated, statement.turn.text, statement.quote)
        return tuple(one for one in stated if not one.planned)

    def _with_changes(
        self,
        resolution: Resolution,
        statement: Statement,
        states: Sequence[State],
        related: Iterable[Fact],
    ) -> Resolution:
        """Return the resolution with the ends of facts whose state is over (`A7`).

        They replace a question about the same facts. If the comparison of the words
        already ends a fact, that end is used.
        """
        said_at = statement.turn.occurred_at
        over = {one.fact.id for one in resolution.effects if one.action in _ENDS}
        known = [
            (old, self.comparison.states.states_of(old.text))
            for old in related
            if old.id not in over and hidden_reason(old, said_at) is None
        ]
        for successor in changes.successors(states, known):
            if self._is_stated_after(successor, said_at):
                decision = Decision(
                    "superseded", dedup.NEWER_KNOWN, superseded_by=successor.id
                )
                neighbours = resolution.neighbours
                return self._resolve(resolution.fact, statement, decision, neighbours)

        ended = changes.ended_facts(states, said_at, known)
        near = (self.plan.latest(one.fact) for one in resolution.neighbours)
        settled = over | {one.fact.id for one in ended}
        rivals = {one.id: one for one in (*related, *near) if one.id not in settled}
        ended += self._rivals(resolution.fact, rivals)
        if not ended:
            return resolution

        olds = [one.fact for one in ended]
        claim = self.evidence_for(resolution.fact, statement.attributed, olds)
        guarded = {old.id for old in olds if self.is_guarded(old, statement.turn)}
        return self._with_effects(resolution, changes.effects(ended, claim, guarded))

    def _rivals(self, fact: Fact, near: Mapping[str, Fact]) -> list[EndedFact]:
        """Return the near facts that contradict the latest words of the user.

        These are facts that once replaced the same statement, and a fact with another
        name that the statement corrects. With several such facts it is unclear which
        one is meant.
        """
        active = [one for one in near.values() if one.status == "active"]
        again = [
            EndedFact(one, SAID_AGAIN) for one in active if self._replaced(one, fact)
        ]
        if again or not category_of(fact.category).corrects:
            return again
        others = [one for one in active if changes.names_differ(fact.text, one.text)]
        return [EndedFact(one, CORRECTED, len(others) > 1) for one in others]

    def _replaced(self, known: Fact, fact: Fact) -> bool:
        """Return whether a fact replaced the statement of `fact`, maybe indirectly."""
        digest, seen = content_hash(fact.text), {known.id}
        later = [known]
        for one in later:
            units = self.comparison.index.units(sorted({*one.supersedes} - seen))
            seen |= units.keys()
            for old in units.values():
                if not isinstance(old, Fact) or dedup.is_merged(old, one):
                    continue
                if old.status in _ENDED and content_hash(old.text) == digest:
                    return True
                later.append(old)
        return False

    def _with_links(
        self, resolution: Resolution, statement: Statement, states: Sequence[State]
    ) -> Resolution:
        """Return the resolution with the effects of a model's links (`A9`)."""
        fact, ends = resolution.fact, _ENDS | {"weaken"}
        tells_change = category_of(fact.category).corrects or any(
            state.over or state.change for state in states
        )
        over = {one.fact.id for one in resolution.effects if one.action in ends}
        decided = LinkDecider(self).changes(
            fact, statement, over, tells_change=tells_change
        )
        return self._with_effects(resolution, decided.effects)

    def _with_effects(
        self, resolution: Resolution, effects: Sequence[Effect]
    ) -> Resolution:
        """Return the resolution with further effects, one for each known fact."""
        if not effects:
            return resolution
        decided = {effect.fact.id for effect in effects}
        kept = [one for one in resolution.effects if one.fact.id not in decided]
        quotes = {one.fact.id: self.evidence.quote(one.fact) for one in effects}
        return replace(
            resolution,
            why=effects[0].why,
            effects=(*kept, *effects),
            quotes={**resolution.quotes, **quotes},
        )

    def _is_stated_after(self, fact: Fact, said_at: datetime) -> bool:
        """Return whether a known fact has a source that is later than `said_at`."""
        turns = self.evidence.turns(fact)
        return any(turn.occurred_at > said_at for turn in turns)

    def is_guarded(self, old: Fact, turn: Turn) -> bool:
        """Return whether only the user may end a known fact.

        That is the fact of a pinned, edited or hand-written note, and a fact that other
        personas know if `turn` is private. In a group it is the statement of another
        speaker.
        """
        if self.plan.is_new(old):
            return False
        if not self.comparison.states.is_of_owner(turn) and self._is_of_another(
            old, turn
        ):
            return True
        return old.pinned or self.evidence.only_user_may_end(old, turn)

    def _is_of_another(self, old: Fact, turn: Turn) -> bool:
        """Return whether a user of a group, who speaks now, did not tell a fact."""
        if turn.role != "user" or not turn.group:
            return False
        key = name_key(turn.speaker)
        return not any(
            name_key(told.speaker) == key for told in self.evidence.turns(old)
        )

    def _complete(
        self,
        fact: Fact,
        statement: Statement,
        predecessors: Sequence[Fact],
        neighbours: Sequence[Neighbour],
    ) -> Resolution:
        """Resolve the successor of facts that were changed before the process ended.

        The facts name `fact` already; their rows in the action log are missing.
        """
        actions = {"invalidated": "invalidate", "superseded": "supersede"}
        rows = []
        for old in predecessors:
            action = actions.get(old.status, "weaken")
            row = action_row(self.plan.now, action, old.id, old.end_reason, fact.origin)
            rows.append(row | {"met": fact.id})

        reasons = [old.end_reason for old in predecessors if old.end_reason]
        fact = replace(fact, supersedes=tuple(old.id for old in predecessors))
        why = reasons[0] if reasons else "new"
        quotes = {fact.id: statement.quote}
        return Resolution(fact, "active", why, neighbours, quotes, rows=rows)

    def _verdict(
        self, statement: Statement, verdict: Verdict
    ) -> tuple[Verdict, Judgement | None]:
        """Return the verdict with protected neighbours, and the model's judgement.

        The judgement is about one of the neighbours of the verdict; it may be None.
        """
        grey = [
            replace(
                near,
                fact=self.evidence.as_confirmed_if_guarded(near.fact, statement.turn),
            )
            for near in verdict.neighbours
        ]
        judgement = _judgement(grey, statement.opinion)
        if judgement and judgement.relation == "contradicts":
            number = judgement.index - 1
            grey[number] = self.evidence.with_confirmations(grey[number])

        # No model can have seen the facts that are new in this batch.
        if verdict.action == "judge" and judgement is None:
            unseen = [near for near in grey if self.plan.is_new(near.fact)]
            cuts = self.settings.policy.similarity
            by_words = dedup.verdict_by_similarity(unseen, cuts, model=False)
            if by_words.action == "review":
                return by_words, None
        return replace(verdict, neighbours=tuple(grey)), judgement

    def evidence_for(self, fact: Fact, turn: Turn, known: Sequence[Fact]) -> Evidence:
        """Compare the evidence of a new fact with that of known facts (X8, X23, X27).

        `turn` is the attributed turn of the new fact. The quotes of protected facts are
        compared too (law 12).
        """
        policy = self.settings.policy
        source_class = trust.source_class(turn)
        barred: dict[str, str] = {}
        newer: set[str] = set()
        for old in known:
            turns = self.evidence.turns(old)
            old_class = trust.fact_class(old, turns)
            if why := trust.supersede_refusal(source_class, old_class, policy.trust):
                barred[old.id] = why
            if any(one.occurred_at > turn.occurred_at for one in turns):
                newer.add(old.id)
        protected = [old for old in known if self._is_protected(old)]
        says_more = self.comparison.neighbours.says_more
        return Evidence(
            source=fact.source,
            from_user=turn.role == "user" and source_class != "tool",
            correction=category_of(fact.category).corrects,
            barred=barred,
            newer=frozenset(newer),
            remaining=policy.ladder.supersessions - self.plan.ended,
            protected=frozenset(old.id for old in protected),
            exceeded=frozenset(
                old.id for old in protected if says_more(fact.text, old.text)
            ),
        )

    def _is_protected(self, fact: Fact) -> bool:
        claim = self.evidence.note_writer.user_claim(fact)
        return lifecycle.protection(fact, claim) is not None

    # -- the result --------------------------------------------------------------------

    def _resolve(
        self,
        fact: Fact,
        statement: Statement,
        decision: Decision,
        neighbours: Sequence[Neighbour],
    ) -> Resolution:
        """Return the decision with its quotes and with capped confidences."""
        effects = [
            self.capped(effect, statement.attributed) for effect in decision.effects
        ]
        quotes = {fact.id: statement.quote}
        for effect in effects:
            quotes[effect.fact.id] = self.evidence.quote(effect.fact)

        successor = None
        if decision.destination not in {"", "active"}:
            fact = replace(fact, status=decision.destination, end_reason=decision.why)
            successor = self.plan.fact(decision.superseded_by)
        if successor:
            fact = self._preceding(fact, successor, statement.turn.occurred_at)
            if dedup.is_user_backed(
                self.evidence.as_confirmed_if_guarded(successor, statement.turn)
            ):
                successor = None  # its note is not changed
        return Resolution(
            fact,
            decision.destination,
            decision.why,
            neighbours,
            quotes,
            effects,
            successor,
        )

    def _preceding(self, fact: Fact, successor: Fact, said_at: datetime) -> Fact:
        """Return a fact with a known successor; it ends when the successor was stated."""
        later = [
            turn.occurred_at
            for turn in self.evidence.turns(successor)
            if turn.occurred_at > said_at
        ]
        until = min(later, default=None)
        return replace(fact, superseded_by=(successor.id,), valid_until=until)

    def capped(self, effect: Effect, turn: Turn) -> Effect:
        """Limit the confidence of a reinforcement to the cap of its sources (D6, X27).

        A source that the fact already has only confirms it.
        """
        if effect.action not in {"reinforce", "rewrite"} or effect.confidence is None:
            return effect
        turns = self.evidence.turns(effect.fact)
        if trust.independent_sources([*turns, turn]) <= trust.independent_sources(
            turns
        ):
            return replace(effect, action="confirm")

        classes = (trust.fact_class(effect.fact, turns), trust.source_class(turn))
        best = min(classes, key=trust.SOURCE_CLASSES.index)
        capped = trust.cap_confidence(
            effect.confidence, best, self.settings.policy.trust
        )
        return replace(effect, confidence=max(effect.fact.confidence, capped))


def _judgement(
    grey: Sequence[Neighbour], opinion: tuple[str, str] | None
) -> Judgement | None:
    """Return a model's opinion with the number of the neighbour, or None."""
    relation, known = opinion or ("", "")
    for number, near in enumerate(grey, 1):
        if near.fact.id == known and relation == "same":
            return Judgement("same", number)
        if near.fact.id == known and relation == "contradicts":
            return Judgement("contradicts", number)
    return None


def _asks_another_persona(decision: Decision, turn: Turn) -> bool:
    """Return whether private words ask about a fact that other personas know."""
    return any(
        effect.action == "ask" and turn.private_to not in {None, effect.fact.persona}
        for effect in decision.effects
    )
