"""The ends of states that a later memory of the user replaced (A7; law 7).

Filing a statement ends older states at once, or on the day that it announces: this pass
closes them after that day, or lets them go on if the plan was called off. It covers two
other cases: a note that a user wrote by hand ("I've moved to Augsburg"), and an older
memory that was imported or synced later.
"""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING

from engram.core import changes, todos
from engram.core.categories import PLAIN, category_of
from engram.core.decide import is_called_off, is_event, is_scheduled
from engram.core.language.states import states
from engram.core.records import Edit
from engram.core.text import normalise
from engram.maintenance.passes.groups import seeds
from engram.maintenance.passes.view import ChangeGroup, NewCase

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from datetime import tzinfo

    from engram.core.changes import EndedFact
    from engram.core.language.states import State
    from engram.core.records import Fact
    from engram.maintenance.passes.view import MemoryState, PassView, Step

CALLED_OFF = "the plan that would end it was called off"
ANNOUNCED = "the day came on which it was announced to end"

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


def redate(view: PassView, now: datetime) -> list[Step]:  # noqa: ARG001
    """Give memories the time that their words name since a user edited them (X14)."""
    why = "a person edited the day in its words"
    steps: list[Step] = []
    for memory, keys in view.reader.edited_times().items():
        one = view.memories.get(memory)
        if one is None or one.fact.status != "active":
            continue
        if not all(
            _is_at(getattr(one.fact, name), text, view.zone)
            for name, text in keys.items()
        ):
            steps.append(Edit(one.fact.path, one.fact.sha, dict(keys), why))
    return steps


def _is_at(time: datetime | None, text: str, zone: tzinfo) -> bool:
    """Whether a time is the local one that a key gives."""
    return (
        time is not None and f"{time.astimezone(zone):%Y-%m-%dT%H:%M:%S}" == text[:19]
    )


def end_states(view: PassView, now: datetime) -> list[Step]:
    """End memories whose state a later memory of the user replaced.

    A user is asked about notes that only they may change. A note without a date may be
    old, so it ends others only with words of change ("I've moved").
    """
    names = {word for name in view.owner for word in normalise(name).split()}
    remaining = view.policy.insight.contradictions
    steps: list[Step] = list(_announced(view, now))
    ended: set[str] = set()
    for newer in _newest(view, now):
        stated = _effective_states(newer, names, now)
        older = _older(view, newer) if stated else {}
        known = [
            (one.fact, states(one.fact.text, names))
            for one in older.values()
            if not is_event(one.fact)
        ]
        for end in changes.ended_facts(stated, _stated_at(newer), known):
            if end.fact.id in ended or len(ended) >= remaining:
                continue
            ended.add(end.fact.id)
            steps.append(_ended(view, newer, older[end.fact.id], end, now))
    return steps


def _announced(view: PassView, now: datetime) -> Iterator[Step]:
    """Yield the changes of memories that end on an announced day (`A7`)."""
    for one in view.memories.values():
        fact, day = one.fact, one.fact.valid_until
        if day is None or one.kept or not is_scheduled(fact):
            continue
        plans = [view.memories.get(name) for name in fact.superseded_by]
        if all(is_called_off(plan.fact if plan else None, day) for plan in plans):
            keys: dict[str, object] = {"superseded_by": None, "valid_until": None}
            yield Edit(fact.path, fact.sha, keys, CALLED_OFF)
        elif day <= now:
            keys = {"status": "superseded", "end_reason": ANNOUNCED}
            begun = (_begun(plan.fact) for plan in plans if plan and not plan.kept)
            edits = [edit for edit in begun if edit]
            yield ChangeGroup((*edits, Edit(fact.path, fact.sha, keys, ANNOUNCED)))


def _begun(plan: Fact) -> Edit | None:
    """Return the change by which a plan becomes the state that it planned."""
    if not (plan.attribute and category_of(plan.category).promise):
        return None
    keys = {**todos.reopened_keys(plan), "category": PLAIN, "event_end": None}
    return Edit(plan.path, plan.sha, keys, ANNOUNCED)


def _effective_states(
    one: MemoryState, names: Collection[str], now: datetime
) -> list[State]:
    """Return the states by which a memory may end others now."""
    stated = states(one.fact.text, names)
    undated = one.foreign and not one.fact.created
    at, planned_for = _stated_at(one), one.fact.valid_from
    return [
        state
        for state in stated
        if (state.change or not undated)
        and changes.has_begun(state, at, planned_for, now)
    ]


def _older(view: PassView, newer: MemoryState) -> dict[str, MemoryState]:
    """Return the earlier memories that may have the same state, by id."""
    found = (view.memories.get(fact.id) for fact in view.reader.same_state(newer.fact))
    return {
        one.fact.id: one
        for one in found
        if one
        and one.fact.status == "active"
        and one.fact.id != newer.fact.id
        and one.fact.persona == newer.fact.persona
        and newer.fact.id not in one.fact.superseded_by
        and _stated_at(one) < _stated_at(newer)
    }


def _newest(view: PassView, now: datetime) -> list[MemoryState]:
    """Return the memories of the user, the latest first; a plan counts from its day on."""
    stated = [one for one in seeds(view) if _stated_at(one) <= now]
    stated.sort(key=lambda one: (_stated_at(one), one.fact.id), reverse=True)
    own = (one for one in stated if one.said_by == "user")
    return list(islice(own, view.policy.insight.reflected))


def _stated_at(one: MemoryState) -> datetime:
    """Return when a memory was stated: its date, else when engram first met it."""
    return one.fact.valid_from or one.fact.created or one.usage.met or _LONG_AGO


def _is_of_another(view: PassView, new: Fact, old: Fact) -> bool:
    """Return whether only users other than the owner told `new`, and none told `old`."""
    speakers = view.reader.group_speakers(new)
    names = {word for name in view.owner for word in normalise(name).split()}
    if any(names.issuperset(normalise(one).split()) for one in speakers):
        return False
    return bool(speakers) and speakers.isdisjoint(view.reader.group_speakers(old))


def _ended(
    view: PassView,
    newer: MemoryState,
    older: MemoryState,
    end: EndedFact,
    now: datetime,
) -> Step:
    """Return the change that ends a memory, or the question if a user must agree."""
    new, old, why = newer.fact, older.fact, end.why
    if older.kept or old.pinned or end.is_unclear or _is_of_another(view, new, old):
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
