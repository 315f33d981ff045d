"""States among the candidates: answers to the question, and past states (law 7).

"Where do I live?" asks for a state. Units with that state come first, and units with
the same attribute of another person come last. A unit whose state a later unit replaces
ranks below that unit and is shown as past. Nothing is written; a note of a user that a
later statement contradicts is shown as probably over.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from engram.core.language.state_changes import (
    ENDED_BY_DEATH,
    SINGLE,
    has_begun,
    is_same_event,
    replacement,
    state_time,
)
from engram.core.language.state_subjects import USER, bare, names_same
from engram.core.language.states import person_named, state_asked_for, states
from engram.core.ranking import RankedSlot
from engram.core.records import Fact, FiledTurn

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from engram.core.language.states import State
    from engram.index.database import Unit
    from engram.index.filters import SearchFilter
    from engram.index.states import StateSearch

ENDED = ("superseded", "invalidated")
"""Statuses of facts that are over."""

_LEAST = 12
"""Minimum number of candidates that are arranged."""
_ANSWERS = 12
"""Number of units that are searched for by the requested state."""
_NEAR = {
    "job": "employer",
    "employer": "job",
    "address": "home",
    "dose": "medication",
    "illness": "medication",
    "eats": "diet",
}
"""The attribute to use if the requested one is unknown."""
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_RELATED = 2
"""Words of a subject like `my sister`."""
_STEP = 0.001
"""Difference of the scores of a unit and the one that it replaces."""


@dataclass(frozen=True, slots=True)
class PastState:
    """The end of a unit's state at `until`.

    `successor` is the key of the unit that replaces it, or ''. `certain` is false for
    the note of a user that a later statement contradicts.
    """

    until: datetime | None
    successor: str
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The slots in their new order, the units that were added, and the past states."""

    slots: Sequence[RankedSlot]
    units: Mapping[str, Unit] = field(default_factory=dict)
    past: Mapping[str, PastState] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _StatedState:
    """A state of a unit, and when it was stated or, if known, began.

    A plan replaces only states from before the plan, at `planned_at`.
    """

    key: str
    state: State
    at: datetime
    certain: bool
    planned_at: datetime | None = None

    def is_newer(self, old: _StatedState) -> bool:
        """Return whether this state was stated, or began, later than `old`."""
        return self.at > old.at and (not self.planned_at or self.planned_at > old.at)


@dataclass(frozen=True, slots=True)
class StateQuery:
    """A question that may ask for a state, and where its answers are searched for.

    `names` are the folded words of the user's names. `may` returns whether a unit may
    be recalled. `weight` is added to the score of an answer.
    """

    search: StateSearch
    query: str
    where: SearchFilter
    names: Collection[str]
    may: Callable[[Unit], bool]
    weight: float
    now: datetime

    def arrange(
        self, slots: Sequence[RankedSlot], units: Mapping[str, Unit], number: int
    ) -> Arrangement:
        """Arrange the first `number` candidates, and a few more.

        `units` has the records that were read already.
        """
        wanted = self._with_name(state_asked_for(self.query, self.names))
        first = slots[: max(number, _LEAST)]
        read = self._read(first, units)
        wanted, added = self._wanted(wanted, read)
        stated = self._stated({**read, **added})
        if wanted:
            later = self._replacing(wanted, stated, {**read, **added})
            added |= later
            stated += self._stated(later)
        past = self._replaced(stated, wanted)
        if wanted:
            past = self._of_ended_facts(wanted, read) | past

        successors = {one.successor for one in past.values()}
        missing = successors - read.keys() - added.keys() - {""}
        if missing:
            added |= self._recallable(self.search.index.units(sorted(missing)))
        if not added and not past and not wanted:
            return Arrangement(slots)

        rows = [*first, *(RankedSlot(key, 0.0, {}) for key in added)]
        if wanted:
            rows = [self._weighed(row, stated, wanted, past) for row in rows]
        listed = {row.key for row in rows}
        rest = [slot for slot in slots[len(first) :] if slot.key not in listed]
        rows = _above_past(rows, past)
        if wanted:
            rows = _newest_first(rows, stated, wanted, past)
        return Arrangement([*rows, *rest], added, past)

    def past(self, units: Mapping[str, Unit]) -> dict[str, PastState]:
        """Return the units whose state a later statement replaces, by key."""
        states = [state for unit in units.values() for state in self._states(unit)]
        found = self._recallable(self.search.units(states, self.where, _ANSWERS))
        past = self._replaced(self._stated({**found, **units}), None)
        return {key: one for key, one in past.items() if key in units}

    def _wanted(
        self, wanted: State | None, known: Mapping[str, Unit]
    ) -> tuple[State | None, dict[str, Unit]]:
        """Return the requested state, or a near one if it is unknown, and its answers.

        A question for the user's job is answered by the place of work if only that is
        known.
        """
        if wanted is None:
            return None, {}
        near = _NEAR.get(wanted.attribute.partition(" ")[0])
        asked_for = [wanted, *([replace(wanted, attribute=near)] if near else ())]
        for one in asked_for:
            added = self._answers(one, known)
            if added or any(self._tells(unit, one) for unit in known.values()):
                return one, added
        return wanted, {}

    # -- reading -----------------------------------------------------------------------

    def _with_name(self, wanted: State | None) -> State | None:
        """Return the requested state, with the name of `my sister` if it is known."""
        if wanted is None or len(wanted.subject) != _RELATED:
            return wanted
        kind = wanted.subject[1]
        named = [
            replace(wanted, subject=wanted.subject[:1], attribute=f"{relation} {kind}")
            for relation in ("kin", "role")
        ]
        found = self._recallable(self.search.units(named, self.where, _ANSWERS))
        people = {
            name
            for unit in found.values()
            for state in self._states(unit)
            if (name := person_named(state, wanted.subject))
        }
        if len(people) != 1:
            return wanted
        return replace(wanted, subject=(*wanted.subject, *people.pop()))

    def _read(
        self, slots: Sequence[RankedSlot], units: Mapping[str, Unit]
    ) -> dict[str, Unit]:
        unread = [slot.key for slot in slots if slot.key not in units]
        read = self.search.index.units(unread) if unread else {}
        both = {**units, **read}
        return {slot.key: both[slot.key] for slot in slots if slot.key in both}

    def _answers(self, wanted: State, known: Collection[str]) -> dict[str, Unit]:
        """Return units with the requested state that are not among the candidates."""
        found = self.search.units([wanted], self.where, _ANSWERS)
        return {
            key: unit
            for key, unit in self._recallable(found).items()
            if key not in known and self._tells(unit, wanted)
        }

    def _replacing(
        self, wanted: State, stated: Sequence[_StatedState], known: Collection[str]
    ) -> dict[str, Unit]:
        """Return the units that end an answer by another attribute: "Rex died"."""
        answers = [one.state for one in stated if _is_asked(one.state, wanted)]
        named = [replace(one, attribute="") for one in answers if one.value]
        if wanted.attribute not in ENDED_BY_DEATH or not named:
            return {}
        found = self._recallable(self.search.units(named, self.where, _ANSWERS))
        return {
            key: unit
            for key, unit in found.items()
            if key not in known
            and any(
                replacement(new, old) for new in self._states(unit) for old in answers
            )
        }

    def _recallable(self, units: Mapping[str, Unit]) -> dict[str, Unit]:
        return {key: unit for key, unit in units.items() if self.may(unit)}

    def _states(self, unit: Unit) -> tuple[State, ...]:
        """Return the states of a unit that have begun; of a turn those of the user."""
        if isinstance(unit, Fact):
            own_text, at, valid_from = unit.text, unit.created, unit.valid_from
        elif isinstance(unit, FiledTurn) and self.search.is_of_owner(unit.turn):
            own_text, at, valid_from = unit.turn.text, unit.turn.occurred_at, None
        else:
            return ()
        found = states(own_text, self.names)
        at = at or _LONG_AGO
        return tuple(one for one in found if has_begun(one, at, valid_from, self.now))

    def _tells(self, unit: Unit, wanted: State) -> bool:
        return any(_is_asked(one, wanted) for one in self._states(unit))

    def _stated(self, units: Mapping[str, Unit]) -> list[_StatedState]:
        """Return the states of the units with the times at which they were stated."""
        return [
            _stated_state(key, unit, state, at)
            for key, unit in units.items()
            if (at := _time(unit)) is not None
            for state in self._states(unit)
        ]

    # -- past states -------------------------------------------------------------------

    def _replaced(
        self, stated: Sequence[_StatedState], wanted: State | None
    ) -> dict[str, PastState]:
        """Return the units whose state a later unit replaces.

        If a unit has several states, the one that the question asks for decides; if it
        asks for none, such a unit is not past.
        """
        past: dict[str, PastState] = {}
        for old in stated:
            if wanted and not _is_of_kind(old.state, wanted):
                continue
            if not wanted and not _is_alone(old, stated):
                continue
            newer = [
                new
                for new in stated
                if new.is_newer(old) and replacement(new.state, old.state)
            ]
            if newer and (restored := self._restored_at(old.key)):
                newer = [new for new in newer if new.at > restored]
            if newer:
                last = max(newer, key=lambda one: one.at)
                past[old.key] = PastState(last.at, last.key, old.certain)
        return past

    def _restored_at(self, key: str) -> datetime | None:
        """Return when a user restored the fact of a key, or the fact from that turn."""
        restored = self.search.index.tombstones.restored
        if not restored or key in restored:
            return restored.get(key)
        facts = self.search.index.units(list(restored)).values()
        resting = (
            restored[fact.id]
            for fact in facts
            if isinstance(fact, Fact) and key in {fact.source, *fact.also}
        )
        return max(resting, default=None)

    def _of_ended_facts(
        self, wanted: State, known: Mapping[str, Unit]
    ) -> dict[str, PastState]:
        """Return the turns that support an ended fact with the requested state."""
        turns = {key for key, unit in known.items() if isinstance(unit, FiledTurn)}
        if not turns:
            return {}
        where = replace(self.where, kinds=("fact",), statuses=(*ENDED, "active"))
        past: dict[str, PastState] = {}
        for unit in self.search.units([wanted], where, _ANSWERS).values():
            if not isinstance(unit, Fact) or not self._tells(unit, wanted):
                continue
            if unit.status == "active" and not (
                unit.valid_until and unit.valid_until <= self.now
            ):
                continue
            successor = unit.superseded_by[-1] if unit.superseded_by else ""
            for key in turns.intersection((unit.source, *unit.also)):
                past[key] = PastState(unit.valid_until, successor)
        return past

    # -- scores ------------------------------------------------------------------------

    def _weighed(
        self,
        slot: RankedSlot,
        stated: Iterable[_StatedState],
        wanted: State,
        past: Collection[str],
    ) -> RankedSlot:
        """Return the slot with the part of its score for its state."""
        same = [
            one.state
            for one in stated
            if one.key == slot.key and _is_of_kind(one.state, wanted)
        ]
        if any(_is_asked(one, wanted) for one in same):
            share = 1.0 if (slot.key in past) is wanted.over else 0.5
            return _with_part(slot, "answers", self.weight * share)
        if same and wanted.subject == (USER,):
            return _with_part(slot, "another", -self.weight)
        return slot


def _time(unit: Unit) -> datetime | None:
    """Return when a unit was stated; a note without a date counts as old."""
    if isinstance(unit, Fact):
        return unit.valid_from or unit.created or _LONG_AGO
    return unit.turn.occurred_at if isinstance(unit, FiledTurn) else None


def _stated_state(key: str, unit: Unit, state: State, at: datetime) -> _StatedState:
    """Return the state with its times; a plan in the past began on its day."""
    if not state.planned:
        return _StatedState(key, state, state_time(state, at), _is_ours(unit))
    told_at = (unit.created or at) if isinstance(unit, Fact) else at
    begins = unit.valid_from if isinstance(unit, Fact) else None
    begins = begins or state_time(state, told_at)
    return _StatedState(key, state, begins, _is_ours(unit), told_at)


def _is_ours(unit: Unit) -> bool:
    """Return whether a unit is a turn, or a fact that was not written by hand."""
    return not isinstance(unit, Fact) or bool(unit.source or unit.origin)


def _is_asked(state: State, wanted: State) -> bool:
    """Return whether a state is the one that a question asks for."""
    if not _is_of_kind(state, wanted):
        return False
    if state.attribute == "schedule":
        asked_for = bare(wanted.subject)
        return is_same_event(state.subject, asked_for) or is_same_event(
            asked_for, state.subject
        )
    return names_same(state.subject, wanted.subject)


def _is_of_kind(state: State, wanted: State) -> bool:
    """Return whether a state has the requested attribute, or gives its time."""
    if state.attribute == "schedule" and wanted.attribute == "date":
        return True
    return state.attribute == wanted.attribute


def _is_alone(old: _StatedState, stated: Iterable[_StatedState]) -> bool:
    """Return whether a unit has no other state."""
    return all(one.state == old.state for one in stated if one.key == old.key)


def _newest_first(
    slots: list[RankedSlot],
    stated: Iterable[_StatedState],
    wanted: State,
    past: Collection[str],
) -> list[RankedSlot]:
    """Return the slots, with the latest answer above the other answers.

    Only for an attribute with one value at a time, and a question for the present. Of
    states stated at the same time, a current one is above a past one.
    """
    if wanted.over or wanted.attribute.partition(" ")[0] not in SINGLE:
        return slots
    told_at = {
        one.key: (one.at, not one.state.over)
        for one in stated
        if one.key not in past and _is_asked(one.state, wanted)
    }
    answers = [slot for slot in slots if slot.key in told_at]
    last = max(answers, key=lambda slot: told_at[slot.key], default=None)
    best = max((slot.score for slot in answers if slot is not last), default=0.0)
    if last is None or last.score > best:
        return slots
    first = _with_part(last, "answers", best - last.score + _STEP)
    others = (slot for slot in slots if slot is not last)
    return sorted([first, *others], key=lambda slot: (-slot.score, slot.key))


def _with_part(slot: RankedSlot, name: str, value: float) -> RankedSlot:
    return slot._replace(
        score=slot.score + value,
        parts={**dict(slot.parts), name: slot.parts.get(name, 0.0) + value},
    )


def _above_past(
    slots: Iterable[RankedSlot], past: Mapping[str, PastState]
) -> list[RankedSlot]:
    """Return the slots by score, each successor above the unit that it replaces."""
    by_key = {slot.key: slot for slot in slots}
    for key, one in past.items():
        old, new = by_key.get(key), by_key.get(one.successor)
        if old and new and old.score >= new.score:
            by_key[new.key] = _with_part(new, "replaces", old.score - new.score + _STEP)
    return sorted(by_key.values(), key=lambda slot: (-slot.score, slot.key))
