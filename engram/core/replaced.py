"""Statements whose state a later statement replaces (model §0.7)."""

from __future__ import annotations

from collections import defaultdict
from types import MappingProxyType
from typing import TYPE_CHECKING

from engram.core.language.state_changes import replacement, state_time
from engram.core.language.states import states

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from datetime import datetime

    from engram.core.language.states import State
    from engram.core.records import Fact

_DEATH = "alive"


def replaced(
    facts: Iterable[Fact],
    names: Collection[str] = (),
    restored: Mapping[str, datetime] = MappingProxyType({}),
) -> dict[str, str]:
    """Return the reason for each replaced fact, by its id.

    A fact with several states is replaced only if all of them are. `names` are the
    folded words of the owner's names. A fact that a person restored, at the time in
    `restored`, is replaced only by later statements.
    """
    states_of_fact: dict[str, list[State]] = {}
    groups: defaultdict[str, list[tuple[State, datetime]]] = defaultdict(list)
    times: dict[str, datetime] = {}
    for fact in facts:
        at = fact.valid_from or fact.created
        found = [
            stated for stated in states(fact.text, names) if at and not stated.planned
        ]
        if at and found:
            states_of_fact[fact.id], times[fact.id] = list(found), at
            for state in found:
                groups[state.attribute].append((state, state_time(state, at)))

    reasons = {}
    for name, known in states_of_fact.items():
        since = max(times[name], restored.get(name, times[name]))
        why = [
            _reason(state, since, [*groups[state.attribute], *groups[_DEATH]])
            for state in known
        ]
        if all(why):
            reasons[name] = why[0]
    return reasons


def _reason(old: State, at: datetime, others: Iterable[tuple[State, datetime]]) -> str:
    """Return why a later state replaces `old`, or ''."""
    found = (replacement(new, old) for new, when in others if when > at)
    return next(filter(None, found), "")
