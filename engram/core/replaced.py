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
    """Return why a later one of the facts replaces another, by the id of that one.

    A fact that tells several states is replaced only where all of them are. `names` are
    the folded words of the owner's names. A fact that a person brought back, at the
    time in `restored`, is replaced only by what was said after that.
    """
    told: dict[str, list[State]] = {}
    groups: defaultdict[str, list[tuple[State, datetime]]] = defaultdict(list)
    times: dict[str, datetime] = {}
    for fact in facts:
        at = fact.valid_from or fact.created
        found = [one for one in states(fact.text, names) if at and not one.planned]
        if at and found:
            told[fact.id], times[fact.id] = list(found), at
            for state in found:
                groups[state.attribute].append((state, state_time(state, at)))

    reasons = {}
    for name, known in told.items():
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
