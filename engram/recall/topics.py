"""The newest of a topic first, and what is over below what replaced it (law 7).

Of the leading hits, those nearly as good as the best, the newest is shown first: it
tells the present state. The others follow, marked as said before. A question about the
past keeps the order of relevance. What is over ranks below what replaced it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from engram.core.categories import category_of
from engram.core.language.question_forms import is_question
from engram.core.language.words import ANY_STOP, words
from engram.core.records import Fact

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from engram.core.ranking import RankedSlot
    from engram.index.bm25 import UnitOrigin
    from engram.index.database import Unit
    from engram.index.search import Index
    from engram.recall.request import RankedCandidates, RecallSearch


ENDED = ("superseded", "invalidated")
"""Statuses of facts that are over."""


@dataclass(frozen=True, slots=True)
class PastState:
    """The end of a unit's state at `until`.

    `successor` is the key of the unit that replaces it, or ''. `certain` is false for
    the note of a user that a later statement contradicts. `part` is the statement that
    is over of a turn that also states what still holds, else ''.
    """

    until: datetime | None
    successor: str = ""
    certain: bool = True
    part: str = ""


def with_newest_first(
    search: RecallSearch, candidates: RankedCandidates
) -> tuple[RankedCandidates, frozenset[str]]:
    """Put the candidates on the topic first, newest first; return the earlier ones.

    On the topic are the best `leading` candidates whose own words and meaning score at
    least the share `topic` of the best, told by the user, or by the speaker of the best
    one in a group. The keys returned are those told before the newest. The other presets
    have a weight of their own for recency. A question about one of several speakers and
    a search for bare words keep the order of relevance.
    """
    policy, slots = search.settings.policy.recall, candidates.slots
    if not slots or _keeps_order(search):
        return candidates, frozenset()

    least = policy.topic * max(slot.own for slot in slots)
    near = [slot for slot in slots if slot.own >= least > 0 and not _is_doubted(slot)]
    near = sorted(near, key=lambda slot: (-slot.own, slot.key))[: policy.leading]
    origins = search.index.lexical.origins([slot.key for slot in near])
    topic = [
        slot
        for slot in _of_one_voice(near, origins, candidates.units)
        if not _is_ahead(candidates.units.get(slot.key), search.request.now)
    ]
    if not topic:
        return candidates, frozenset()

    topic.sort(key=lambda slot: (-origins[slot.key].when, -slot.score))
    last = origins[topic[0].key].when
    earlier = frozenset(one.key for one in topic if origins[one.key].when < last)
    return replace(candidates, slots=_with_first(topic, slots)), earlier


def _keeps_order(search: RecallSearch) -> bool:
    """Return whether relevance alone decides, whatever was said last."""
    question = search.question
    if question.about_past or search.index.lexical.naming(question):
        return True
    is_balanced = search.request.preset == "balanced"
    return not is_balanced or _are_bare_words(question.text)


def _with_first(
    topic: Sequence[RankedSlot], slots: Sequence[RankedSlot]
) -> list[RankedSlot]:
    """Return the slots with those on the topic first; the best scores go to the first."""
    on_topic = {slot.key for slot in topic}
    rest = [slot for slot in slots if slot.key not in on_topic]
    least = rest[0].score if rest else 0.0
    scores = sorted((max(least, slot.score) for slot in topic), reverse=True)
    return [*map(_at_score, topic, scores), *rest]


def _are_bare_words(text: str) -> bool:
    """Return whether a text names words to search for and asks no question."""
    return not is_question(text) and ANY_STOP.isdisjoint(words(text))


def _is_doubted(slot: RankedSlot) -> bool:
    """Return whether a slot is a stale, archived or disputed memory (`C28`)."""
    return slot.nudge <= _DOUBT


_DOUBT = -0.05
"""Nudge of a memory that is doubted; a mere candidate has a smaller one."""


def _is_ahead(unit: Unit | None, now: datetime) -> bool:
    """Return whether a unit tells a state that has not begun yet.

    An event or a promise of a later day counts: the statement about it holds now.
    """
    if not isinstance(unit, Fact) or unit.kind == "episode":
        return False
    if unit.valid_from is None or category_of(unit.category).promise:
        return False
    return unit.valid_from > now


def _of_one_voice(
    slots: Sequence[RankedSlot],
    origins: Mapping[str, UnitOrigin],
    units: Mapping[str, Unit],
) -> list[RankedSlot]:
    """Return the slots that the user told, about the same subjects as the first one."""
    told = [slot for slot in slots if slot.key in origins]
    told = [slot for slot in told if origins[slot.key].role in {"", "user"}]
    if not told:
        return []
    speaker = origins[told[0].key].speaker
    about = _about(units.get(told[0].key))
    return [
        slot
        for slot in told
        if origins[slot.key].speaker == speaker
        and (not about or about & (_about(units.get(slot.key)) or about))
    ]


def _about(unit: Unit | None) -> frozenset[str]:
    return frozenset(unit.about) if isinstance(unit, Fact) else frozenset()


def past_states(
    index: Index,
    keys: Iterable[str],
    now: datetime,
    asked: Collection[str] = (),
) -> dict[str, PastState]:
    """Return the units that are over: turns, and memories that a question doubts.

    A turn is over if ended facts rest on it, a part of it if an active one does too:
    then the one with the most of the words `asked` for counts. A memory is probably
    over if the user was asked whether a newer one replaced it.
    """
    found: dict[str, PastState] = {}
    resting = index.catalog.resting_on(list(keys))
    others = index.lexical.not_holding(chain.from_iterable(resting.values()), now)
    some = {key: ids for key, ids in resting.items() if not others.isdisjoint(ids)}
    units = index.catalog.units(list(chain.from_iterable(some.values())))
    for key, ids in some.items():
        facts = [one for one in map(units.get, ids) if isinstance(one, Fact)]
        if case := next((one for one in facts if _asks_whether_over(one, key)), None):
            newer = index.catalog.unit(case.derived_from[0])
            if isinstance(newer, Fact) and _holds_already(newer, now):
                found[key] = PastState(case.created, newer.id, certain=False)
        elif "#^" in key:
            shown = [one for one in facts if index.visible(one) is not None]
            if past := _past_turn(shown, now, asked):
                found[key] = past
    return found


def _holds_already(fact: Fact, now: datetime) -> bool:
    return fact.status == "active" and not _is_ahead(fact, now)


def _past_turn(
    facts: Sequence[Fact], now: datetime, asked: Collection[str]
) -> PastState | None:
    """Return how far a turn is over on which these facts rest; None if none has ended.

    What replaced a part of it matters if the question fits no other part as well.
    """

    def fit(fact: Fact) -> int:
        return len({*words(fact.text)}.intersection(asked))

    ended = [fact for fact in facts if is_over(fact, now)]
    if not ended:
        return None
    last = max(ended, key=lambda fact: (fit(fact), fact.valid_until or now, fact.id))
    others = [one for one in facts if one.status == "active" and one not in ended]
    is_meant = all(fit(last) > fit(other) for other in others)
    successor = "".join(last.superseded_by[-1:]) if is_meant else ""
    part = " ".join(last.text.split()) if others else ""
    return PastState(last.valid_until, successor, part=part)


def _asks_whether_over(case: Fact, memory: str) -> bool:
    """Return whether a note asks if a memory, the older of two, is over."""
    is_open = case.status == "review" and case.kind == "review"
    return is_open and case.derived_from[1:] == (memory,)


def is_over(fact: Fact, now: datetime) -> bool:
    """Return whether what a fact states has ended."""
    ended = fact.valid_until is not None and fact.valid_until <= now
    return fact.status in ENDED or (fact.status == "active" and ended)


def _at_score(slot: RankedSlot, score: float) -> RankedSlot:
    if score == slot.score:
        return slot
    return slot._replace(
        score=score, parts={**dict(slot.parts), "newest": score - slot.score}
    )
