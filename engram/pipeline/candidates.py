"""Facts and action-log rows made from candidates.

Pure functions over values, for the reconciler. A candidate is one statement that an
extractor found in a turn.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from engram.core import trust
from engram.core.categories import category_of
from engram.core.classify import event_end, importance_of, is_end, kind_of, tier_of
from engram.core.entities import lifetime_end
from engram.core.language.keep_requests import REMEMBER_TAG, asked_to_keep
from engram.core.lifecycle import protection
from engram.core.personas import fact_persona
from engram.core.records import (
    HIGH,
    Candidate,
    Fact,
    FactLinks,
    FiledTurn,
    Interval,
    Turn,
)
from engram.core.todos import LOOPS, lapsed
from engram.core.user_facts import standing_attribute
from engram.pipeline.forgetting import FORGOTTEN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engram.core.decide import Decision
    from engram.core.policy import Policy

LOGGED_ACTIONS = {
    "create": "store",
    "confirm": "confirm",
    "review": "review",
    "skip": "discard",
}
"""The action in the log for each action of a decision."""


@dataclass(frozen=True, slots=True)
class Said:
    """The source of a candidate: the turn and the words quoted from it.

    `attributed` is the turn with the origin of the quote (`trust.turn_as_evidence`): a
    text that the user only passes on does not count as the user's. `links` and `sort`
    are those of the candidate.
    """

    turn: Turn
    quote: str
    attributed: Turn
    links: FactLinks | None = None
    sort: str = ""


def candidate_fact(
    candidate: Candidate,
    quoted: Turn,
    source: FiledTurn,
    fact_id: str,
    extractor: str,
    about: Iterable[str],
    policy: Policy,
    now: datetime,
) -> Fact:
    """Return the record of a new fact (rows A12, B19, C4, C6, C10, C17, D6, X14).

    `quoted` is the turn with the quote, `source` the same turn as evidence
    (`Said.attributed`). `about` are the names of the entities in the form that
    links use.
    """
    turn = source.turn
    source_class = trust.source_class(turn)
    category = category_of(candidate.category).name
    if source_class != "assistant":  # which may promise something itself (`E16`)
        category = trust.permitted_category(category, source_class)
    kind = _kind(candidate, category)
    confidence = round(
        trust.cap_confidence(candidate.confidence, source_class, policy.trust), 2
    )
    importance = candidate.importance
    if importance is None:
        importance, _ = importance_of(
            candidate.text, category, candidate.tags, policy.importance
        )

    when = candidate.when
    ends = is_end(category, when)
    fact = Fact(
        id=fact_id,
        text=candidate.text,
        category=category,
        kind=kind,
        created=turn.occurred_at,
        confidence=confidence,
        importance=round(importance, 2),
        about=tuple(about),
        attribute=candidate.attribute,
        value=candidate.value,
        tags=_tags(candidate, turn),
        source=source.key,
        origin=extractor.partition("/")[0],
        valid_from=when.start if when and not ends else None,
        valid_until=_valid_until(candidate, kind, turn),
        event_end=_event_end(candidate, category, kind),
        dated_by=candidate.dated_by,
        persona=fact_persona(category, quoted),
        sensitivity="normal" if quoted.sensitive_to is None else HIGH,
    )
    fact = lapsed(fact, now, policy.todos.past_days)
    # A guessed lifetime never ends a protected fact.
    if protection(fact):
        return fact
    return replace(fact, expires=_expires(candidate, turn, confidence, policy))


def _kind(candidate: Candidate, category: str) -> str:
    """Return the kind of a candidate by its words and the model's sort (`C6`).

    A candidate that a model calls an event is an episode, unless it is a permanent
    attribute. A candidate that a model calls a lasting attribute or a state is a note,
    even if its words name the day on which the state began: "gave up coffee on Sunday".
    """
    is_state = candidate.sort in {"lasting", "state"}
    if is_state and not category_of(category).momentary:
        return "note"
    text, name = candidate.text, candidate.attribute
    if candidate.sort == "event" and not standing_attribute(text, name):
        return "episode"
    return kind_of(text, category, candidate.tags, candidate.when, name=name)[0]


def _valid_until(candidate: Candidate, kind: str, turn: Turn) -> datetime | None:
    """Return the end of a state as stated in the words, found by rules or by a model."""
    if is_end(candidate.category, candidate.when):
        return _last_moment(candidate.when, turn)
    holds = kind == "note" and not category_of(candidate.category).promise
    if holds and candidate.sort in {"lasting", "state"}:
        return _last_moment(candidate.until, turn)
    return None


def _event_end(candidate: Candidate, category: str, kind: str) -> datetime | None:
    """Return the end of an event; the last day named by a model may be later."""
    words = f"{candidate.text} {candidate.quote}"
    end = event_end(words, category, kind, candidate.when)
    if end and candidate.until:
        return max(end, candidate.until.end)
    return end


def _last_moment(when: Interval | None, turn: Turn) -> datetime | None:
    """Return the last second of the interval of a state; None if it is past."""
    if when is None or when.end <= turn.occurred_at:
        return None
    return when.end - timedelta(seconds=1)


def _tags(candidate: Candidate, turn: Turn) -> tuple[str, ...]:
    """Return the tags; a statement that the user asked to keep has `REMEMBER_TAG`.

    Only the user has loops (`E15`).
    """
    if trust.source_class(turn) in trust.OTHERS:
        return tuple(tag for tag in candidate.tags if tag not in LOOPS)
    by_user = turn.role == "user"
    if REMEMBER_TAG in candidate.tags or not by_user:
        return candidate.tags
    if asked_to_keep(turn.text, candidate.quote):
        return (*candidate.tags, REMEMBER_TAG)
    return candidate.tags


def _expires(
    candidate: Candidate, turn: Turn, confidence: float, policy: Policy
) -> datetime | None:
    """Return when the fact expires, None for never; a speculation always does (`C17`).

    The fact does not expire before the day that it is about. A guessed lifetime never
    ends a lasting attribute, nor a state to which a model gives a lifetime of a year,
    such as a job or a habit.
    """
    extraction = policy.extraction
    end = lifetime_end(candidate.lifetime, turn.occurred_at, extraction)
    is_year = candidate.lifetime == "year"
    if candidate.sort == "lasting" or (candidate.sort == "state" and is_year):
        end = None
    if tier_of(confidence, extraction) == "speculative":
        deadline = turn.occurred_at + timedelta(days=extraction.speculative_days)
        end = min(end or deadline, deadline)
    last = candidate.until or candidate.when
    if end is None or last is None or last.end <= end:
        return end
    days = (last.end - turn.occurred_at) // timedelta(days=1) + 1
    return turn.occurred_at + timedelta(days=days)


def log_row(
    now: datetime,
    fact_id: str,
    candidate: Candidate,
    turn_key: str,
    decision: Decision,
    extractor: str,
) -> dict[str, object]:
    """Return a row of the action log: decision, reason and evidence (A32, C22)."""
    row: dict[str, object] = {
        "at": now.isoformat(timespec="seconds"),
        "action": LOGGED_ACTIONS[decision.action],
        "outcome": "applied",
        "memory": fact_id,
    }
    if decision.met and not decision.destination:
        row["met"] = decision.met
    row |= {"reason": decision.why, "turn": turn_key}
    # The log does not repeat a text that the user asked to forget.
    if decision.why != FORGOTTEN:
        row["quote"] = candidate.quote
    return row | {"by": extractor}
