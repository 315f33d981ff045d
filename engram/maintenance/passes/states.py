"""The ends of states that a later memory of the user replaced (A7; law 7).

Filing a statement ends the older ones at once. This pass finds what filing could not:
a note that a person wrote by hand ("I've moved to Augsburg"), and an older one that
was imported or came to the vault later.
"""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING

from engram.core import changes
from engram.core.language.state_changes import has_begun
from engram.core.language.states import states
from engram.core.records import Edit
from engram.core.text import normalise
from engram.maintenance.passes import ChangeGroup, NewCase
from engram.maintenance.passes.groups import seeds

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from engram.core.changes import EndedFact
    from engram.core.language.states import State
    from engram.core.records import Fact
    from engram.maintenance.passes import MemoryState, PassView, Step

_DAY = len("2027-01-31")
"""The beginning of the key of a turn is its day."""

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


def end_states(view: PassView, now: datetime) -> list[Step]:
    """End memories whose state a later memory of the user replaced.

    Of a note that only a person may change, they are asked. A note without a date may
    be old, so it ends others only with words of change ("I've moved").
    """
    names = {word for name in view.owner for word in normalise(name).split()}
    left = view.policy.insight.contradictions
    steps: list[Step] = []
    ended: set[str] = set()
    for newer in _newest(view, now):
        told = _told(newer, names, now)
        older = _earlier(view, newer, told) if told else {}
        known = [(one.fact, states(one.fact.text, names)) for one in older.values()]
        for end in changes.ended_facts(told, _told_at(newer), known):
            if end.fact.id in ended or len(ended) >= left:
                continue
            ended.add(end.fact.id)
            steps.append(_ended(view, newer, older[end.fact.id], end, now))
    return steps


def _told(one: MemoryState, names: Collection[str], now: datetime) -> list[State]:
    """The states by which a memory may end others now."""
    told = states(one.fact.text, names)
    undated = one.foreign and not one.fact.created
    at, planned_for = _told_at(one), one.fact.valid_from
    return [
        state
        for state in told
        if (state.change or not undated) and has_begun(state, at, planned_for, now)
    ]


def _earlier(
    view: PassView, newer: MemoryState, told: Sequence[State]
) -> dict[str, MemoryState]:
    """The memories that may tell the same states and were told before `newer`.

    A plan ends only what was told before the plan, and not again since.
    """
    if not any(state.planned for state in told):
        return _older(view, newer, _told_at(newer))
    planned_at = newer.fact.created or _told_at(newer)
    return _not_said_since(_older(view, newer, planned_at), newer.fact)


def _older(
    view: PassView, newer: MemoryState, said_at: datetime
) -> dict[str, MemoryState]:
    """The memories that may tell the same state and were told before, by id."""
    found = (view.memories.get(fact.id) for fact in view.reader.same_state(newer.fact))
    return {
        one.fact.id: one
        for one in found
        if one
        and one.fact.status == "active"
        and one.fact.id != newer.fact.id
        and one.fact.persona == newer.fact.persona
        and newer.fact.id not in one.fact.superseded_by
        and _told_at(one) < said_at
    }


def _not_said_since(
    older: dict[str, MemoryState], plan: Fact
) -> dict[str, MemoryState]:
    """Those that the user did not say again on a day after that of the plan.

    "I still live in Munich" means that the plan to move was given up.
    """
    day = plan.source[:_DAY]
    return {
        name: one
        for name, one in older.items()
        if all(key[:_DAY] <= day for key in one.fact.also)
    }


def _newest(view: PassView, now: datetime) -> list[MemoryState]:
    """The memories that the user told last, the latest first.

    What is planned counts from its day on. A light run does not know who said a memory
    (`MemoryState.said_by`), so the reader is asked.
    """
    told = [one for one in seeds(view) if _told_at(one) <= now]
    told.sort(key=lambda one: (_told_at(one), one.fact.id), reverse=True)
    own = (one for one in told if view.reader.said_by(one.fact) == "user")
    return list(islice(own, view.policy.insight.newest))


def _told_at(one: MemoryState) -> datetime:
    """When a memory was told: its date, else when engram first met it."""
    return one.fact.valid_from or one.fact.created or one.usage.met or _LONG_AGO


def _ended(
    view: PassView,
    newer: MemoryState,
    older: MemoryState,
    end: EndedFact,
    now: datetime,
) -> Step:
    """The change that ends a memory, or the question where a person must agree."""
    new, old, why = newer.fact, older.fact, end.why
    if older.kept or old.pinned or end.is_unclear:
        return NewCase(new, old, why)

    until = (new.valid_from or new.created or now).astimezone(view.zone)
    keys = {
        "status": "superseded",
        "superseded_by": [*old.superseded_by, new.id],
        "end_reason": why,
        "valid_until": f"{until:%Y-%m-%dT%H:%M:%S}",
    }
    edits = [Edit(old.path, old.sha, keys, f"{why}: {new.path}")]
    if not newer.kept:
        links = {"supersedes": [*new.supersedes, old.id]}
        edits.insert(0, Edit(new.path, new.sha, links, f"it replaces {old.path}"))
    return ChangeGroup(tuple(edits))
