"""Changes of state: which known facts a new statement ends (A7, A10; law 7).

"I've moved to Augsburg" ends "The user lives in Munich" whatever the likeness of the
words. The closed table of `language.states` reads both; the rules here say which facts
end, and whether a person has to agree. All functions are pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from engram.core import todos
from engram.core.categories import category_of
from engram.core.dedup import Effect, is_event, session_count, weakened_confidence
from engram.core.language.paraphrase import tells_name
from engram.core.language.state_changes import (
    ends_one_of_several,
    is_fixed,
    left_workplace,
    replacement,
    state_time,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from datetime import datetime

    from engram.core.dedup import Evidence
    from engram.core.language.states import State
    from engram.core.policy import DedupPolicy
    from engram.core.records import Fact

RULE = "rule of states"
"""Named in the reason of a change that the closed table decided."""

LATER = timedelta(hours=12)
"""A statement without a word of change ends another one that is older than this."""

SEVERAL = frozenset({"employer", "job"})
"""Attributes of which a person may have several, of which "I quit" ends one."""

_NAME_WORDS = 3
"""The most words of a name."""
_END = " .!"


@dataclass(frozen=True, slots=True)
class EndedFact:
    """A known fact that a new statement ends, and the reason.

    `is_unclear` says that the statement may mean another one.
    """

    fact: Fact
    why: str
    is_unclear: bool = False


def ended_facts(
    new: Sequence[State],
    said_at: datetime,
    known: Iterable[tuple[Fact, Sequence[State]]],
) -> list[EndedFact]:
    """The known facts that the states of a statement said at `said_at` end.

    Words that tell a change end the old state at once; another value alone only where
    the old one is older than `LATER`, for a person may name two homes in one breath.
    A change that is dated before the old one was told ends nothing, and what happened
    stays (`C33`). Words without a value ("I quit") are unclear where more than one
    value is known.
    """
    found: list[tuple[Fact, _Change]] = []
    for fact, states in known:
        if fact.status != "active" or is_event(fact):
            continue
        if change := _change(new, said_at, states, fact):
            found.append((fact, change))

    changes = [change for _, change in found]
    return [
        EndedFact(fact, f"{change.why} ({RULE})", _is_unclear(change, changes))
        for fact, change in found
    ]


@dataclass(frozen=True, slots=True)
class _Change:
    """That the state `new` ends the state `old`, and why."""

    new: State
    old: State
    why: str


def _change(
    new: Iterable[State],
    said_at: datetime,
    old: Sequence[State],
    fact: Fact,
) -> _Change | None:
    """The first of the `new` states that ends one of the `old` ones, which `fact` tells.

    A change that is older than the telling of the old state ends nothing.
    """
    told_at = fact.created
    is_later = told_at is None or said_at - told_at > LATER
    for state in new:
        if is_fixed(state) or not (state.change or is_later):
            continue
        if told_at and state_time(state, said_at) < told_at and state.dated:
            continue
        for other in old:
            why = (
                replacement(state, other)
                or left_workplace(state, other, fact.text)
                or ends_one_of_several(state, other, fact.text)
            )
            if why and not _grows_too_fast(state, other, said_at, told_at):
                return _Change(state, other, why)
    return None


def _grows_too_fast(
    new: State, old: State, said_at: datetime, told_at: datetime | None
) -> bool:
    """Whether an age cannot be that of the same person: one of two sons."""
    if new.attribute != "age" or not told_at:
        return False
    years = (said_at - told_at).days / 365
    return int(new.value[0]) - int(old.value[0]) > years + 2


def _is_unclear(change: _Change, others: Sequence[_Change]) -> bool:
    """Whether words without a value ("I quit") may end any of several values.

    "Training moved to Friday" may mean that of either child. The end of one of several
    values of a statement leaves the others.
    """
    if change.old.listed and change.new.over and change.new.value:
        return True
    if change.new.attribute in {"date", "schedule"}:
        return len({one.old.subject for one in others}) > 1
    if change.new.value or change.new.attribute not in SEVERAL:
        return False
    values = {
        frozenset(one.old.value)
        for one in others
        if one.old.attribute == change.old.attribute and one.old.value
    }
    return any(not one <= two and not two <= one for one in values for two in values)


def successors(
    new: Sequence[State], known: Iterable[tuple[Fact, Sequence[State]]]
) -> list[Fact]:
    """The known facts that end the states of `new` if they were told later.

    An old turn that is imported now does not bring back a state that is over.
    """
    return [
        fact
        for fact, states in known
        if fact.status == "active"
        and any(
            replacement(later, state)
            for later in states
            for state in new
            if not later.planned
        )
    ]


def other_name(new: str, old: str) -> bool:
    """Whether two statements name the same being differently, at their end.

    >>> other_name("The user's son is called Tim.", "The user's son is called Max.")
    True
    >>> other_name("The user works with Ben.", "The user works with Ada.")
    False
    """
    one, other = new.rstrip(_END).split(), old.rstrip(_END).split()
    same = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine.casefold() != theirs.casefold():
            break
        same += 1
    values = one[same:], other[same:]
    told = tells_name(" ".join(one[:same]))
    return told and all(
        0 < len(value) <= _NAME_WORDS and all(word[0].isupper() for word in value)
        for value in values
    )


def is_ended(
    told: Sequence[State], known: Iterable[tuple[Fact, Sequence[State]]]
) -> bool:
    """Whether a known fact that has ended tells one of these states."""
    same = {(one.subject, one.attribute, one.value, one.over) for one in told}
    return any(
        (one.subject, one.attribute, one.value, one.over) in same
        for fact, states in known
        if fact.status in {"superseded", "invalidated"}
        for one in states
    )


def effects(
    ended: Sequence[EndedFact], claim: Evidence, guarded: Collection[str]
) -> tuple[Effect, ...]:
    """What happens to the facts that a statement ends.

    A fact with younger evidence stays. What the user says ends a fact. `guarded` are
    the ids of facts whose notes only a person may change: one of them is asked about,
    and so is a statement of another source, or one after too many changes.
    """
    found: list[Effect] = []
    remaining, asked = claim.remaining, False
    for one in ended:
        if one.fact.id in claim.newer:
            continue
        barred = not claim.from_user or one.fact.id in (claim.barred or {})
        closed = barred or one.is_unclear or one.fact.id in guarded
        if not closed and remaining > 0:
            found.append(Effect("supersede", one.fact, one.why))
            remaining -= 1
        elif not asked:
            found.append(Effect("ask", one.fact, one.why))
            asked = True
    return tuple(found)


# -- by a model ------------------------------------------------------------------------

REPLACED = "something else holds now (read by a model)"
OVER = "it is over (read by a model)"
SUPPORTED = "more likely by what else was said (read by a model)"


@dataclass(frozen=True, slots=True)
class LinkedChanges:
    """What happens to the facts that a model reads as over, and what was refused."""

    effects: tuple[Effect, ...] = ()
    refused: tuple[str, ...] = ()


def linked_changes(
    linked: Sequence[EndedFact],
    new: Fact,
    claim: Evidence,
    guarded: Collection[str],
    policy: DedupPolicy,
    *,
    words: str,
    tells_change: bool,
    doubtful: bool,
) -> LinkedChanges:
    """What happens to the facts that a model reads as over by the statement `new`.

    The first rule that applies counts. What happened stays; what is planned ends only
    another plan; a fact with younger evidence stays; words in doubt end nothing. Who is
    not the user ends only what was said with no more trust, and no note that only a
    person may change (`guarded`); of such a note, and after too many changes, the user
    is asked, once. A promise is settled, by what the `words` of the user say, unless
    another statement takes its place (`E16`). A fact from three sessions is weakened
    where no words tell a change (`A10`); any other ends.
    """
    effects: list[Effect] = []
    refused: list[str] = []
    remaining, asked = claim.remaining, False
    for one in linked:
        fact = one.fact
        closed = fact.id in guarded
        if why := _refusal(fact, new, claim, closed=closed, doubtful=doubtful):
            refused.append(f"known: {why}")
        elif closed or remaining <= 0:
            if not asked:
                effects.append(Effect("ask", fact, one.why))
            asked = True
        elif settled := _settled(one, new, words):
            effects.append(settled)
            remaining -= 1
        elif not tells_change and session_count(fact) >= policy.episodes:
            weakened = weakened_confidence(fact.confidence, policy)
            effects.append(Effect("weaken", fact, one.why, weakened))
        else:
            effects.append(Effect("supersede", fact, one.why))
            remaining -= 1
    return LinkedChanges(tuple(effects), tuple(refused))


def _settled(one: EndedFact, new: Fact, words: str) -> Effect | None:
    """The effect on a promise that was kept or called off, None for any other fact.

    A statement that takes the place of a promise, such as the date of another
    appointment, supersedes it unless the words report what became of it.
    """
    if not todos.is_open(one.fact) or category_of(new.category).promise:
        return None
    tag, why = todos.outcome(words, one.why)
    if why == REPLACED:
        return None
    return Effect("settle", one.fact, why, settled=tag)


def _refusal(
    old: Fact, new: Fact, claim: Evidence, *, closed: bool, doubtful: bool
) -> str:
    """Why a statement may not end a known fact, or ''."""
    is_plan = category_of(old.category).promise
    if is_event(old) and not is_plan and not claim.correction:
        return "what happened stays"
    if _is_ahead(new) and not is_plan:
        return "what is planned ends nothing yet"
    if old.id in claim.newer:
        return "something younger is known"
    if doubtful:
        return "in doubt"
    if old.id in (claim.barred or {}) or (closed and not claim.from_user):
        return "not for this source to end"
    return ""


def _is_ahead(fact: Fact) -> bool:
    """Whether a statement tells what is to come: a promise, or with a later date."""
    later = bool(fact.valid_from and fact.created and fact.valid_from > fact.created)
    return later or category_of(fact.category).promise
