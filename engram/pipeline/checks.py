"""The cheap checks of a candidate before any comparison (rows C5, C22, X8, X17, X27).

They need no search and no model. They find candidates that are filed already, trivial,
without a quotation, repeated in the same words, outdated, not allowed, or removed by
the user.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.core import actions, changes, dedup, trust
from engram.core.actions import Eligibility
from engram.core.classify import is_trivial
from engram.core.dedup import Verdict
from engram.core.language.keep_requests import REMEMBER_TAG
from engram.core.language.secrets import is_redacted
from engram.core.text import content_hash
from engram.core.trust import containment_reason
from engram.ingest.requests import NOT_KEPT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.config import Settings
    from engram.core.actions import Action
    from engram.core.records import Fact
    from engram.pipeline.candidates import Statement
    from engram.pipeline.compare import Comparison
    from engram.pipeline.evidence import EvidenceReader
    from engram.pipeline.plan import WritePlan

OUTDATED = "the user said that it is over"


@dataclass(frozen=True, slots=True)
class CheapChecks:
    """Checks the candidates of one plan."""

    settings: Settings
    comparison: Comparison
    evidence: EvidenceReader
    plan: WritePlan

    def screen(
        self,
        fact: Fact,
        statement: Statement,
        *,
        filed: bool,
        rows: Sequence[Mapping[str, object]],
    ) -> Verdict:
        """Return the verdict of the checks without comparison (C5, X8, X17, X27).

        The verdict `create` means that the candidate passed. `filed` is true if the
        note of the candidate exists; `rows` are the rows that an earlier attempt at the
        batch wrote to the action log.
        """
        # An earlier attempt confirmed a fact, or a user has removed the note since.
        if rows and not filed:
            met = [
                str(row["met"])
                for row in rows
                if row.get("met") and row.get("memory") == fact.id
            ]
            return Verdict("skip", dedup.ALREADY_FILED, met[0] if met else "")

        digest = content_hash(fact.text)
        verdict = dedup.check(
            trivial=is_trivial(fact.text, self.settings.policy.importance),
            grounded=bool(statement.quote),
            filed=filed,
            duplicate=self.plan.duplicate_id(
                digest, fact.persona, statement.turn.occurred_at
            ),
        )
        if verdict.action != "create":
            return verdict
        if REMEMBER_TAG in fact.tags and is_redacted(fact.text):
            return Verdict("skip", NOT_KEPT)
        if self._is_outdated(fact, statement):
            return Verdict("skip", OUTDATED)
        if denied := self._denied(fact):
            return Verdict("skip", denied)
        return self.contain(fact, statement)

    def _denied(self, fact: Fact) -> str:
        """Return the reason why a fact may not be stored, or '' (`C22`).

        The rules would defer a statement of low trust. It may be stored as a
        speculation, which expires unless it is confirmed (`C17`).
        """
        known = Eligibility(fact.confidence, "candidate", fact.importance, "extraction")
        action: Action = "store_episode" if fact.kind == "episode" else "store_note"
        ruling, why = actions.ruling(action, known, self.settings.policy.actions)
        return why if ruling == "deny" else ""

    def _is_outdated(self, fact: Fact, statement: Statement) -> bool:
        """Whether another source repeats a state that the user has ended.

        An assistant that repeats an old note does not make the state current again
        (`X7`).
        """
        if trust.source_class(statement.attributed) == "user":
            return False
        stated = self.comparison.states.states_of(fact.text)
        related = self.comparison.facts_with_states(
            fact, stated, statement.turn, self.plan
        ).values()
        known = [(old, self.comparison.states.states_of(old.text)) for old in related]
        if not changes.is_ended(stated, known):
            return False
        return any(
            trust.fact_class(one, self.evidence.turns(one)) == "user"
            for one in changes.successors(stated, known)
        )

    def contain(self, fact: Fact, statement: Statement) -> Verdict:
        """Return `review` for a statement that its source may not make, else `create`.

        A statement that the user has removed before is reviewed too (`X8`, `X27`).
        """
        if self.plan.has_tombstone(content_hash(fact.text)):
            return Verdict("review", dedup.REMOVED_BEFORE)
        policy = self.settings.policy.trust
        turn, quote = statement.turn, statement.quote
        owner = self.comparison.states.owner_names()
        if why := containment_reason(fact, turn, quote, policy, owner):
            return Verdict("review", why)
        return Verdict("create", "new")
