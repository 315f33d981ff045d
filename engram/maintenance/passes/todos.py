"""Promises that a user ticks, that expire, or that become a habit (row E16)."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from engram.core import todos
from engram.core.categories import PLAIN, category_of
from engram.core.markdown import read_block
from engram.core.records import Edit, Fact, FiledTurn
from engram.core.sessions import SPINE_FILE
from engram.core.text import note_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engram.maintenance.passes.view import PassView, Step

_TICKED = re.compile(
    r"^- \[[xX]\] .*\[\[([^\[\]|#]+)(?:\|\d+)?\]\][ \t]*$", re.MULTILINE
)


def ticked(view: PassView, now: datetime) -> list[Step]:
    """Settle the promises whose box a user ticked in the persona summary."""
    summary = view.read(SPINE_FILE).decode(errors="replace")
    block = read_block(summary, "open_loops") or ""
    names = {match[1].strip() for match in _TICKED.finditer(block)}
    if not names:
        return []
    return [
        _settled(one.fact, todos.FULFILLED, now, "you ticked it", view)
        for one in view.active()
        if note_name(one.fact.path) in names and todos.is_open(one.fact)
    ]


def promises(view: PassView, now: datetime) -> list[Step]:
    """Cancel promises whose time is over; turn repeated ones into habits.

    Promises that a turn keeps or cancels are settled when it is filed
    (`pipeline/promises.py`). Only turns of the user in a chat count. A private turn
    makes no habit of a promise that another persona knows.
    """
    promised = [one.fact for one in view.active() if todos.is_open(one.fact)]
    edits = {
        fact.id: _settled(fact, todos.EXPIRED, now, todos.TIME_OVER, view)
        for fact in promised
        if fact.valid_until is not None and fact.valid_until <= now
    }
    for filed in _user_turns(view):
        visible = [fact for fact in promised if _may_settle(filed, fact)]
        habit = _habit(visible, filed, view)
        if habit and habit.id not in edits:
            edits[habit.id] = _as_habit(habit, filed)
    return list(edits.values())


def _as_habit(fact: Fact, filed: FiledTurn) -> Edit:
    keys = {"category": PLAIN, "tags": [*fact.tags, todos.HABIT]}
    why = f"done repeatedly, as stated in {filed.key}"
    return Edit(fact.path, fact.sha, keys, why)


def _may_settle(filed: FiledTurn, fact: Fact) -> bool:
    """Return whether a turn may settle a promise.

    A private turn settles no promise that another persona knows.
    """
    return filed.turn.private_to in {None, fact.persona}


def _habit(known: Iterable[Fact], filed: FiledTurn, view: PassView) -> Fact | None:
    """Return the first open promise that is done repeatedly according to a turn."""
    for fact in known:
        promise = category_of(fact.category).promise and todos.is_open(fact)
        if promise and _habitual(fact, filed, view):
            return fact
    return None


def _user_turns(view: PassView) -> list[FiledTurn]:
    """Return the turns of the user in the conversations of the view, oldest first.

    Turns of a group keep no promise of the owner.
    """
    turns = [
        filed
        for talk in view.sessions
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
    return Edit(fact.path, fact.sha, todos.settled_keys(fact, tag, done, why), why)
