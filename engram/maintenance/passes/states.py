"""The announced ends of memories (A7), and the times that edited words name (X14).

Filing a statement ends older states at once, or schedules the end for the day that it
announces. This pass closes them after that day.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.core import todos
from engram.core.categories import PLAIN, category_of
from engram.core.decide import is_called_off, is_scheduled
from engram.core.records import Edit, Fact
from engram.maintenance.passes.view import ChangeGroup, PassView, Step

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime, tzinfo

CALLED_OFF = "the plan that would end it was called off"
ANNOUNCED = "the day came on which it was announced to end"


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
    """End memories on their announced day, unless the plan was called off (`A7`)."""
    return list(_announced(view, now))


def _announced(view: PassView, now: datetime) -> Iterator[Step]:
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
