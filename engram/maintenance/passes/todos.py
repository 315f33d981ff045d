"""Promises that are fulfilled, expire, or become a habit (row E16). Deletes nothing."""

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
    from collections.abc import Iterable
    from datetime import datetime

    from engram.core.records import Fact, FiledTurn
    from engram.maintenance.passes import PassView, Step

_TICKED = re.compile(r"^- \[[xX]\] .*\[\[([^\[\]|#]+)\]\][ \t]*$", re.MULTILINE)


def ticked(view: PassView, now: datetime) -> list[Step]:
    """Settle the promises whose box a person ticked in the persona summary."""
    summary = view.read(SPINE_FILE).decode(errors="replace")
    block = read_block(summary, "open_loops") or ""
    names = {match[1].strip() for match in _TICKED.finditer(block)}
    if not names:
        return []
    return [
        _settled(one.fact, todos.FULFILLED, now, "you ticked it", view)
        for one in view.active()
        if link_name(one.fact) in names and todos.is_open(one.fact)
    ]


def promises(view: PassView, now: datetime) -> list[Step]:
    """Settle promises that expired, or that a turn of the user fulfils or repeats.

    Only turns of the user in a chat count, for promises made earlier; a private turn
    settles no promise that another persona knows. A turn is compared with the promises
    that were open when it was said, so that a second run changes nothing.
    """
    promised = {one.fact.id: one.fact for one in view.active() if _counts(one.fact)}
    edits = {
        fact.id: _settled(fact, todos.EXPIRED, now, "its time is over", view)
        for fact in promised.values()
        if _is_over(fact, now)
    }
    for filed in _user_turns(view):
        visible = [one for one in promised.values() if _may_settle(filed, one)]
        habit = _habit(visible, filed, view)
        if habit and habit.id not in edits:
            edits[habit.id] = _as_habit(habit, filed)
            continue
        candidates = [fact for fact in visible if fact.id not in edits]
        fulfilled = _fulfilled(candidates, filed, view)
        if fulfilled:
            when = filed.turn.occurred_at
            why = f"kept, as said in {filed.key}"
            edits[fulfilled.id] = _settled(fulfilled, todos.FULFILLED, when, why, view)
            tags = (*fulfilled.tags, todos.FULFILLED)
            promised[fulfilled.id] = replace(fulfilled, done=when, tags=tags)
    return list(edits.values())


def _as_habit(fact: Fact, filed: FiledTurn) -> Edit:
    """Return the edit that turns a promise into a habit."""
    keys = {"category": PLAIN, "tags": [*fact.tags, todos.HABIT]}
    why = f"done again and again, as said in {filed.key}"
    return Edit(fact.path, fact.sha, keys, why)


def _fulfilled(
    promises: Iterable[Fact], filed: FiledTurn, view: PassView
) -> Fact | None:
    """Return the promise that a turn fulfils; None if that one is not open any more."""
    open_then = [fact for fact in promises if _was_open(fact, filed)]
    overlap = view.policy.todos.overlap
    fulfilled = todos.fulfilled_promise(filed.turn.text, open_then, overlap)
    return fulfilled if fulfilled and todos.is_open(fulfilled) else None


def _may_settle(filed: FiledTurn, fact: Fact) -> bool:
    """Whether a turn may settle a promise: any where the turn is everybody's, else one
    that no other persona knows.
    """
    return filed.turn.private_to in {None, fact.persona}


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
    """Return whether a memory is an open or settled promise."""
    return (
        todos.is_open(fact)
        or category_of(fact.category).promise
        or fact.done is not None
    )


def _was_open(fact: Fact, filed: FiledTurn) -> bool:
    """Return whether a promise was made, by another turn, and open before a turn."""
    when = filed.turn.occurred_at
    made = (
        fact.created is not None
        and fact.created < when
        and filed.key not in {fact.source, *fact.also}
    )
    return made and (
        todos.is_open(fact) or (fact.done is not None and fact.done >= when)
    )


def _user_turns(view: PassView) -> list[FiledTurn]:
    """Return the turns of the user in the conversations of the view, oldest first.

    What is said in a group keeps no promise of the owner.
    """
    turns = [
        filed
        for talk in view.talks
        for filed in talk.turns[: talk.filed]
        if filed.turn.role == "user"
        and filed.turn.origin == "chat"
        and not (filed.turn.group and filed.turn.speaker)
    ]
    return sorted(turns, key=lambda one: (one.turn.occurred_at, one.key))


def _habitual(fact: Fact, filed: FiledTurn, view: PassView) -> bool:
    """Return whether a turn soon after a promise says that it is done regularly."""
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
