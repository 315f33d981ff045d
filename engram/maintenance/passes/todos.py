"""Promises that are kept, given up, or become a habit (row E16).

Nothing is deleted here.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from engram.core import todos
from engram.core.categories import PLAIN, category_of
from engram.core.markdown import read_block
from engram.core.records import Edit
from engram.core.sessions import SPINE_FILE
from engram.maintenance.passes.generated_text import link_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from engram.core.records import Fact, FiledTurn
    from engram.core.sessions import SessionView
    from engram.maintenance.passes import PassView, Step

_TICKED = re.compile(r"^- \[[xX]\] .*\[\[([^\[\]|#]+)\]\][ \t]*$", re.MULTILINE)


def ticked(view: PassView, now: datetime) -> list[Step]:
    """A promise whose box somebody ticked in the spine is kept: that is a person's
    word.
    """
    page = (
        read_block(view.read(SPINE_FILE).decode(errors="replace"), "open_loops") or ""
    )
    names = {found[1].strip() for found in _TICKED.finditer(page)}
    return [
        _settled(one.fact, todos.FULFILLED, now, "you ticked it", view)
        for one in (view.active() if names else ())
        if link_name(one.fact) in names and todos.is_open(one.fact)
    ]


def promises(view: PassView, now: datetime) -> list[Step]:
    """Settle promises by what the user says: kept, a habit, or past their end.

    Only words of the user in a chat count, for a promise made before them in a
    conversation that the persona knows. They are compared with what was open when they
    were said, so that a second run changes nothing.
    """
    held = {one.fact.id: one.fact for one in view.active() if _counts(one.fact)}
    found = {
        fact.id: _settled(fact, todos.EXPIRED, now, "its time is over", view)
        for fact in held.values()
        if _is_over(fact, now)
    }
    for talk, filed in _heard(view):
        known = [fact for fact in held.values() if fact.persona in {None, talk.persona}]
        habit = _habit(known, filed, view)
        if habit and habit.id not in found:
            keys = {"category": PLAIN, "tags": [*habit.tags, todos.HABIT]}
            why = f"done again and again, as said in {filed.key}"
            found[habit.id] = Edit(habit.path, habit.sha, keys, why)
            continue
        when = filed.turn.occurred_at
        open_then = [
            fact for fact in known if _was_open(fact, filed) and fact.id not in found
        ]
        kept = todos.fulfilled_promise(
            filed.turn.text, open_then, view.policy.todos.overlap
        )
        if kept and todos.is_open(kept):
            why = f"kept, as said in {filed.key}"
            found[kept.id] = _settled(kept, todos.FULFILLED, when, why, view)
            held[kept.id] = replace(kept, done=when, tags=(*kept.tags, todos.FULFILLED))
    return [*found.values()]


def _is_over(fact: Fact, now: datetime) -> bool:
    """Return whether a promise is open, and its time has passed."""
    until = fact.valid_until
    return todos.is_open(fact) and until is not None and until <= now


def _habit(known: Iterable[Fact], filed: FiledTurn, view: PassView) -> Fact | None:
    """Return the first open promise that a turn says is done again and again."""
    for fact in known:
        promise = category_of(fact.category).promise and todos.is_open(fact)
        if promise and _habitual(fact, filed, view):
            return fact
    return None


def _counts(fact: Fact) -> bool:
    return (
        todos.is_open(fact)
        or category_of(fact.category).promise
        or fact.done is not None
    )


def _was_open(fact: Fact, filed: FiledTurn) -> bool:
    """Whether a promise had been made when a turn was said, in other words, and was not
    settled before it.
    """
    said = filed.turn.occurred_at
    made = (
        fact.created is not None
        and fact.created < said
        and filed.key not in {fact.source, *fact.also}
    )
    return made and (
        todos.is_open(fact) or (fact.done is not None and fact.done >= said)
    )


def _heard(view: PassView) -> Iterator[tuple[SessionView, FiledTurn]]:
    """What users said in the talks that are looked at, the oldest first."""
    said = [
        (talk, filed)
        for talk in view.talks
        for filed in talk.turns[: talk.filed]
        if filed.turn.role == "user" and filed.turn.origin == "chat"
    ]
    return iter(sorted(said, key=lambda one: (one[1].turn.occurred_at, one[1].key)))


def _habitual(fact: Fact, filed: FiledTurn, view: PassView) -> bool:
    """Whether a turn, near in time to a promise, says that it is done again and again."""
    policy = view.policy.todos
    near = fact.created and abs(filed.turn.occurred_at - fact.created) <= timedelta(
        hours=policy.recurring_hours
    )
    return bool(near) and todos.is_repeated(filed.turn.text, fact, policy.overlap)


def _settled(fact: Fact, tag: str, when: datetime, why: str, view: PassView) -> Edit:
    done = f"{when.astimezone(view.zone):%Y-%m-%dT%H:%M:%S}"
    return Edit(
        fact.path,
        fact.sha,
        {"tags": [*fact.tags, tag], "done": done, "end_reason": why},
        why,
    )
