"""Decisions on known facts that a model named when it extracted a statement (A9, A10).

The model is given numbered facts. Its answer about them is an opinion: the rules of
`core.changes` decide, with the evidence of both sides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engram.core import changes, dedup
from engram.core.dedup import Effect, Neighbour, Verdict
from engram.core.lifecycle import hidden_reason

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from datetime import datetime

    from engram.core.changes import EndedFact, LinkedChanges
    from engram.core.records import Fact, FactLinks
    from engram.pipeline.candidates import Statement
    from engram.pipeline.decide import Decider

SAME = "says the same (read by a model)"


@dataclass(frozen=True, slots=True)
class LinkDecider:
    """Decides on the links of statements, for one plan."""

    decider: Decider

    def verdict(
        self, verdict: Verdict, neighbours: Iterable[Neighbour], statement: Statement
    ) -> Verdict:
        """Return the verdict of the comparison as changed by the links.

        A fact that the statement ends is not one that it repeats. A fact that the model
        calls the same is repeated, unless the words distinguish the two.
        """
        links = statement.links
        if links is None:
            return verdict
        over = {*links.replaces, *links.ends}
        near = tuple(one for one in verdict.neighbours if one.fact.id not in over)
        if near != verdict.neighbours:
            verdict = replace(verdict, neighbours=near)
            if not near or verdict.match in over:
                verdict = Verdict("create", "it changes a known fact")

        same = self._same(links, neighbours, statement.turn.occurred_at)
        if same is None or verdict.action == "reinforce":
            return verdict
        return Verdict("reinforce", SAME, same.fact.id, (same,))

    def _same(
        self, links: FactLinks, neighbours: Iterable[Neighbour], said_at: datetime
    ) -> Neighbour | None:
        """Return the fact that the model calls the same, as a neighbour."""
        known = next((one for one in neighbours if one.fact.id == links.same), None)
        if known is None:
            fact = self.active(links.same, said_at)
            return Neighbour(fact, 0.0) if fact else None
        told_apart = known.conflict or known.distinct
        if told_apart or self.active(links.same, said_at) is None:
            return None
        return known

    def changes(
        self,
        new: Fact,
        statement: Statement,
        over: Collection[str],
        *,
        tells_change: bool,
    ) -> LinkedChanges:
        """Return the effects of a new fact's links on known facts.

        The facts in `over` end already. The plan counts refusals.
        """
        links = statement.links
        if links is None:
            return changes.LinkedChanges()
        why_by_id = dict.fromkeys(links.ends, changes.OVER)
        why_by_id |= dict.fromkeys(links.replaces, changes.REPLACED)
        said_at = statement.turn.occurred_at
        linked = [
            changes.EndedFact(fact, why)
            for name, why in why_by_id.items()
            if name not in over and (fact := self.active(name, said_at))
        ]
        decided = self.decide(linked, new, statement, tells_change=tells_change)
        effects = [*decided.effects, *self._supported(links, new, statement)]
        return replace(decided, effects=tuple(effects))

    def decide(
        self,
        linked: Sequence[EndedFact],
        new: Fact,
        statement: Statement,
        *,
        tells_change: bool,
    ) -> LinkedChanges:
        """Return the effects on facts that a model considers ended."""
        decider = self.decider
        policy = decider.settings.policy
        read = decider.evidence.with_confirmations
        facts = [read(Neighbour(one.fact, 0.0)).fact for one in linked]
        olds = [
            replace(one, fact=fact) for one, fact in zip(linked, facts, strict=True)
        ]
        decided = changes.linked_changes(
            olds,
            new,
            decider.evidence_for(new, statement.attributed, facts),
            {old.id for old in facts if decider.is_guarded(old, statement.turn)},
            policy.ladder,
            words=statement.quote,
            tells_change=tells_change,
            doubtful=new.confidence < policy.extraction.implied
            and statement.attributed.role == "user",
        )
        decider.plan.refused.update(decided.refused)
        return decided

    def _supported(
        self, links: FactLinks, new: Fact, statement: Statement
    ) -> Iterable[Effect]:
        """Yield reinforcements of the facts that the user's words support."""
        decider = self.decider
        if statement.attributed.role != "user":
            return
        for name in links.supports:
            fact = self.active(name, statement.turn.occurred_at)
            if fact is None or decider.is_guarded(fact, statement.turn):
                continue
            policy = decider.settings.policy.ladder
            effect = dedup.repeated(fact, new.source, policy, changes.SUPPORTED)
            effect = decider.capped(effect, statement.attributed)
            if effect.action != "confirm":
                yield effect

    def active(self, fact_id: str, said_at: datetime) -> Fact | None:
        """Return a fact as the plan leaves it, if recall would return it at a time."""
        fact = self.decider.plan.fact(fact_id) if fact_id else None
        if fact is None or fact.status != "active":
            return None
        return fact if hidden_reason(fact, said_at) is None else None
