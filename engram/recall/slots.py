"""The facts that give the value which a question asks for, looked up (rows E5, X30)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from engram.core import personas, ranking
from engram.core.attributes import attribute
from engram.core.language.states import (
    USER,
    State,
    names_same,
    of_owner,
    state_asked_for,
)
from engram.recall.hits import recallable
from engram.recall.topics import is_over

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from engram.core.records import Fact
    from engram.index.database import Unit
    from engram.recall.request import RankedCandidates, RecallSearch

_NEAR = {
    "job": "employer",
    "employer": "job",
    "address": "home",
    "dose": "medication",
    "illness": "medication",
    "eats": "diet",
}
"""The attribute that answers if the value of the requested one is unknown."""


def with_slot(search: RecallSearch, candidates: RankedCandidates) -> RankedCandidates:
    """Put the facts first that give the attribute for which the question asks.

    They gain the weight `answers` in the score, and by themselves score above all
    others. Facts that give it for the user are left out if another subject is meant.
    If the last value has ended and no other holds, the answer says since when, and
    what told it and what ended it come first.
    """
    words = search.sources.names.owner_words()
    wanted = state_asked_for(search.question.text, words)
    if wanted is None or wanted.over or "fact" not in search.request.kinds:
        return candidates
    kind, _, rest = wanted.attribute.partition(" ")
    near = f"{_NEAR[kind]} {rest}".strip() if kind in _NEAR else ""
    asked: list[str] = []
    for name in filter(None, (wanted.attribute, near)):
        keys, others = _in_slot(search, wanted, name, words)
        slots = [slot for slot in candidates.slots if slot.key not in others]
        candidates = replace(candidates, slots=slots)
        if units := recallable(search.index, keys, search.request, Counter()):
            return _with_answers(search, candidates, units)
        asked += keys
    ended, until = _last_ended(search, asked)
    if ended is None or attribute(kind).thing:
        return candidates
    told = [*ended.superseded_by, ended.source]
    units = recallable(search.index, told, search.request, Counter())
    day = until.astimezone(search.settings.zone).date()
    absence = f"no {rest or kind} since {day.isoformat()}"
    return replace(_with_answers(search, candidates, units), absence=absence)


def _with_answers(
    search: RecallSearch, candidates: RankedCandidates, units: Mapping[str, Unit]
) -> RankedCandidates:
    """Put units above all candidates, since they answer the question."""
    slots = {slot.key: slot for slot in candidates.slots}
    best = max((slot.own for slot in slots.values()), default=0.0) or 1.0
    gain = search.settings.policy.recall.answers
    for key in units:
        slot = slots.get(key) or ranking.RankedSlot(key, 0.0, {})
        slots[key] = ranking.RankedSlot(
            key,
            slot.score + gain,
            {**slot.parts, "answers": gain},
            slot.own + 2 * best,
            1,
            slot.nudge,
        )
    ordered = sorted(slots.values(), key=lambda slot: (-slot.score, slot.key))
    return replace(candidates, slots=ordered, units={**candidates.units, **units})


def _last_ended(
    search: RecallSearch, keys: Sequence[str]
) -> tuple[Fact | None, datetime]:
    """Return the fact of a slot that ended last, and when; None if there is none.

    There is none if a value still holds that the question may not return, as one said
    in the running session, or if the user has spoken since and the turn is not read
    yet. What was forgotten or was never true is not told (row X30).
    """
    index, now = search.index, search.request.now
    facts = [
        fact
        for fact in index.facts(keys)
        if personas.sees(search.request.persona, fact.persona)
        and index.visible(fact) is not None
    ]
    holds = any(
        fact.status in {"active", "archived"} and not is_over(fact, now)
        for fact in facts
    )
    ended = [
        (one.valid_until or now, one.id, one) for one in facts if is_over(one, now)
    ]
    until, _, last = max(ended, default=(now, "", None))
    said_since = any(
        one.turn.role == "user" and one.turn.occurred_at > until
        for one in index.waiting()
    )
    return None if holds or said_since else last, until


def _in_slot(
    search: RecallSearch, wanted: State, attribute: str, own: frozenset[str]
) -> tuple[list[str], frozenset[str]]:
    """Return the facts about the subject of the question, and others about the user.

    The age of the user does not answer the question for the age of their mother.
    """
    found: list[str] = []
    others: list[str] = []
    for key, subject, value in search.index.catalog.in_slot(attribute):
        if not value:
            continue
        told = of_owner(tuple(subject.split()), own)
        of_user = told == (USER,)
        if wanted.subject == (USER,):
            same = of_user
        else:
            same = names_same(told, wanted.subject)
        if same or search.question.names.issuperset(told):
            found.append(key)
        elif of_user:
            others.append(key)
    return found, frozenset(others)
