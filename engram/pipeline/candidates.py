"""Candidates as records: the fact that one becomes, and its row of the action log.

Pure functions over values, for the reconciler. A candidate is one statement that an
extractor found in a turn.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from engram.core import trust
from engram.core.categories import PLAIN, category_of
from engram.core.classify import event_end, importance_of, kind_of, tier_of
from engram.core.entities import lifetime_end
from engram.core.language.permanent_attributes import REMEMBER_TAG, asked_to_keep
from engram.core.lifecycle import protection
from engram.core.records import Fact
from engram.pipeline.forgetting import FORGOTTEN

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from engram.core.dedup import Verdict
    from engram.core.policy import Policy
    from engram.core.records import Candidate, FiledTurn, Turn

LOGGED_ACTIONS = {
    "create": "store",
    "confirm": "confirm",
    "review": "review",
    "skip": "discard",
}
"""The action in the log for each action of a verdict."""


@dataclass(frozen=True, slots=True)
class Statement:
    """The words that a candidate rests on.

    `quote` are the words in `turn`. `attributed` is that turn as it counts for them
    (`trust.turn_as_evidence`): words that the user only passes on are not the user's. `opinion` is
    the relation that a model saw to a known fact, and the id of that fact.
    """

    turn: Turn
    quote: str
    attributed: Turn
    opinion: tuple[str, str] | None = None


def candidate_fact(
    candidate: Candidate,
    source: FiledTurn,
    fact_id: str,
    extractor: str,
    about: Iterable[str],
    policy: Policy,
) -> Fact:
    """The record of a new fact (rows A12, B19, C4, C6, C10, C17, D6, X14).

    `source` is the turn as it counts for the quoted words; `about` are the names of
    the entities as links use them.
    """
    turn = source.turn
    source_class = trust.source_class(turn)
    category = _category(candidate, source_class)
    kind = kind_of(candidate.text, category, candidate.tags, candidate.when)[0]
    confidence = round(
        trust.cap_confidence(candidate.confidence, source_class, policy.trust), 2
    )
    importance = candidate.importance
    if importance is None:
        importance, _ = importance_of(
            candidate.text, category, candidate.tags, policy.importance
        )

    fact = Fact(
        id=fact_id,
        text=candidate.text,
        category=category,
        kind=kind,
        created=turn.occurred_at,
        confidence=confidence,
        importance=round(importance, 2),
        about=tuple(about),
        tags=_tags(candidate, turn),
        source=source.key,
        origin=extractor.partition("/")[0],
        valid_from=candidate.when.start if candidate.when else None,
        event_end=event_end(
            f"{candidate.text} {candidate.quote}", category, kind, candidate.when
        ),
        persona=turn.persona,
    )
    # A guessed lifetime never ends what is to stay.
    if protection(fact):
        return fact
    return replace(fact, expires=_expires(candidate, turn, confidence, policy))


def _category(candidate: Candidate, source_class: str) -> str:
    """The category, unless words of this source may not become it (`X27`)."""
    category = category_of(candidate.category)
    if category.not_from_outside and trust.restriction(category.name, source_class):
        return PLAIN
    return category.name


def _tags(candidate: Candidate, turn: Turn) -> tuple[str, ...]:
    """The tags, with the one for what the user asked to keep."""
    own = turn.role == "user" and turn.origin != "tool"
    if REMEMBER_TAG in candidate.tags or not own:
        return candidate.tags
    if asked_to_keep(turn.text, candidate.quote):
        return (*candidate.tags, REMEMBER_TAG)
    return candidate.tags


def _expires(
    candidate: Candidate, turn: Turn, confidence: float, policy: Policy
) -> datetime | None:
    """When the fact ends by itself; a speculation also when nobody confirms it (`C17`)."""
    extraction = policy.extraction
    ends = lifetime_end(candidate.lifetime, turn.occurred_at, extraction)
    if tier_of(confidence, extraction) != "speculative":
        return ends

    unconfirmed = turn.occurred_at + timedelta(days=extraction.speculative_days)
    return min(ends or unconfirmed, unconfirmed)


def log_row(
    now: datetime,
    fact_id: str,
    candidate: Candidate,
    turn_key: str,
    verdict: Verdict,
    extractor: str,
) -> dict[str, object]:
    """The row of the action log: the decision, its reason, its evidence (A32, C22)."""
    row: dict[str, object] = {
        "at": now.isoformat(timespec="seconds"),
        "action": LOGGED_ACTIONS[verdict.action],
        "outcome": "applied",
        "memory": fact_id,
    }
    if verdict.met:
        row["met"] = verdict.met
    row |= {"reason": verdict.why, "turn": turn_key}
    # Forgotten words are not quoted either.
    if verdict.why != FORGOTTEN:
        row["quote"] = candidate.quote
    return row | {"by": extractor}
