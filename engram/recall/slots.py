"""The facts that give the value which a question asks for, looked up (row E5)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from engram.core import ranking
from engram.core.language.states import USER, names_same, state_asked_for
from engram.recall.hits import recallable

if TYPE_CHECKING:
    from engram.core.language.states import State
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
    """
    words = search.sources.names.owner_words()
    wanted = state_asked_for(search.question.text, words)
    if wanted is None or wanted.over or "fact" not in search.request.kinds:
        return candidates
    kind, _, rest = wanted.attribute.partition(" ")
    keys, others = _in_slot(search, wanted, wanted.attribute, words)
    if not keys and kind in _NEAR:
        near = f"{_NEAR[kind]} {rest}".strip()
        keys, others = _in_slot(search, wanted, near, words)
    candidates = replace(
        candidates, slots=[slot for slot in candidates.slots if slot.key not in others]
    )
    units = recallable(search.index, keys, search.request, Counter())

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
        told = tuple(subject.split())
        of_user = told == (USER,) or own.issuperset(told)
        if wanted.subject == (USER,):
            same = of_user
        else:
            same = names_same(told, wanted.subject)
        if same or search.question.names.issuperset(told):
            found.append(key)
        elif of_user:
            others.append(key)
    return found, frozenset(others)
