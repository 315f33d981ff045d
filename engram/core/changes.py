"""Changes of state: which known facts a new statement ends (A7, A10; model §0.7).

"I've moved to Augsburg" ends "The user lives in Munich" whatever the likeness of the
words. The closed table of `language.states` reads both; the rules here say which facts
end, and whether a person has to agree. All functions are pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from engram.core.dedup import Effect, is_event
from engram.core.language.states import is_fixed, replacement

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from datetime import datetime

    from engram.core.dedup import Evidence
    from engram.core.language.states import State
    from engram.core.records import Fact

RULE = "rule of states"
"""Named in the reason of a change that the closed table decided."""

LATER = timedelta(hours=12)
"""A statement without a word of change ends another one that is older than this."""


@dataclass(frozen=True, slots=True)
class EndedFact:
    """A known fact that a new statement ends, and the reason."""

    fact: Fact
    why: str


def ended_facts(
    new: Sequence[State],
    said_at: datetime,
    known: Iterable[tuple[Fact, Sequence[State]]],
) -> list[EndedFact]:
    """The known facts that the states of a statement said at `said_at` end.

    Words that tell a change end the old state at once; another value alone only where
    the old one is older than `LATER`, for a person may name two homes in one breath.
    What happened stays (`C33`).
    """
    ended = []
    for fact, states in known:
        if fact.status != "active" or is_event(fact):
            continue
        why = _reason(new, states, is_later=_is_later(fact, said_at))
        if why:
            ended.append(EndedFact(fact, f"{why} ({RULE})"))
    return ended


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
        and any(replacement(later, state) for later in states for state in new)
    ]


def _is_later(fact: Fact, said_at: datetime) -> bool:
    return fact.created is None or said_at - fact.created > LATER


def _reason(new: Iterable[State], old: Sequence[State], *, is_later: bool) -> str:
    """Why one of the `old` states ends; '' if none does."""
    for state in new:
        if is_fixed(state) or not (state.change or is_later):
            continue
        for other in old:
            if why := replacement(state, other):
                return why
    return ""


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
        if not barred and one.fact.id not in guarded and remaining > 0:
            found.append(Effect("supersede", one.fact, one.why))
            remaining -= 1
        elif not asked:
            found.append(Effect("ask", one.fact, one.why))
            asked = True
    return tuple(found)
