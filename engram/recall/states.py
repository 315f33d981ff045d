"""States among the candidates: what answers the question, and what is over (law §0.7).

"Where do I live?" asks for a state. Units that tell it lead, those that tell the same
of another person come last. A unit whose state a later one replaces ranks below that
one and is shown as past. Nothing is written: a person's note that a later statement
contradicts is only probably over.
"""

from __future__ import annotations

from collections import ChainMap
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from engram.core.language.states import USER, asked, replacement, states
from engram.core.records import Fact, FiledTurn
from engram.index.states import StateSearch

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from engram.core.language.states import State
    from engram.core.policy import RecallPolicy
    from engram.core.ranking import RankedSlot
    from engram.index.database import Unit
    from engram.index.filters import SearchFilter

ENDED = ("superseded", "invalidated")
"""Statuses of facts whose turns are past too."""


@dataclass(frozen=True, slots=True)
class PastState:
    """That a unit tells a state which ended at `until`; `by` is the key of its successor.

    `certain` is false for the note of a person that a later statement contradicts.
    """

    until: datetime | None
    by: str
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Arranged:
    """The slots in their new order, the units added, and what is past, by key."""

    slots: tuple[RankedSlot, ...]
    units: dict[str, Unit]
    past: dict[str, PastState]


@dataclass(frozen=True, slots=True)
class _Told:
    """A state that a unit tells, and when it was told."""

    key: str
    state: State
    at: datetime


class StateArranger:
    """Arranges the candidates of one question by the states that they tell.

    `may` says whether a unit may be recalled, `is_foreign` whether the note of a fact
    is only a person's to change. `names` are the folded words of the user's names.
    """

    def __init__(
        self,
        search: StateSearch,
        policy: RecallPolicy,
        names: Collection[str],
        may: Callable[[str, Unit], bool],
        is_foreign: Callable[[Fact], bool],
    ) -> None:
        self.search = search
        self.policy = policy
        self.names = names
        self.may = may
        self.is_foreign = is_foreign

    def arrange(
        self,
        query: str,
        slots: Sequence[RankedSlot],
        units: Mapping[str, Unit],
        where: SearchFilter,
        number: int,
    ) -> Arranged:
        """Arrange the first slots, at least those of the `number` best ones."""
        wanted = asked(query, self.names)
        first = list(slots[: max(number * _WINDOW, _LEAST)])
        read = self.search.index.units([s.key for s in first if s.key not in units])
        shown = {
            slot.key: ChainMap(dict(units), read)[slot.key]
            for slot in first
            if slot.key in units or slot.key in read
        }
        added = self._answers(wanted, where, shown) if wanted else {}
        told = list(self._told({**shown, **added}))
        past = self._past(told, wanted) | self._of_ended_facts(
            shown, told, wanted, where
        )
        successors = {one.by for one in past.values()} - shown.keys() - added.keys()
        added |= self._recallable(self.search.index.units(sorted(successors)))

        scores = {slot.key: slot.score for slot in first}
        rows = [*first, *(_empty_slot(slots, key) for key in added)]
        parts = {
            slot.key: self._adjustment(slot.key, told, wanted, past) for slot in rows
        }
        rows = [_adjusted(slot, parts[slot.key]) for slot in rows]
        rows = _below_successors(rows, past)
        rest = [slot for slot in slots if slot.key not in scores and slot.key not in added]
        return Arranged((*rows, *rest), added, past)

    # -- reading -----------------------------------------------------------------------

    def _answers(
        self, wanted: State, where: SearchFilter, known: Mapping[str, Unit]
    ) -> dict[str, Unit]:
        """The units that tell the state asked for and are not among the candidates."""
        found = self.search.units([wanted], where, _ANSWERS)
        new = {key: unit for key, unit in found.items() if key not in known}
        return {
            key: unit
            for key, unit in self._recallable(new).items()
            if any(_answers(one, wanted) for one in self._states(unit))
        }

    def _recallable(self, units: Mapping[str, Unit]) -> dict[str, Unit]:
        return {key: unit for key, unit in units.items() if self.may(key, unit)}

    def _told(self, units: Mapping[str, Unit]) -> Iterator[_Told]:
        for key, unit in units.items():
            at = _time(unit)
            if at is not None:
                for state in self._states(unit):
                    yield _Told(key, state, at)

    def _states(self, unit: Unit) -> tuple[State, ...]:
        """The states of a unit; of a turn those that the user tells."""
        if isinstance(unit, Fact):
            return states(unit.text, self.names)
        if isinstance(unit, FiledTurn) and unit.turn.role == "user":
            return states(unit.turn.text, self.names)
        return ()

    # -- what is past ------------------------------------------------------------------

    def _past(
        self, told: Sequence[_Told], wanted: State | None
    ) -> dict[str, PastState]:
        """The units whose state a later unit replaces.

        Of several states in one unit those count that the question asks for, or all.
        """
        past: dict[str, PastState] = {}
        for old in told:
            if wanted and old.state.attribute != wanted.attribute:
                continue
            newer = [
                new
                for new in told
                if new.at > old.at and replacement(new.state, old.state)
            ]
            if newer and (wanted or _is_alone(old, told)):
                new = max(newer, key=lambda one: one.at)
                unit = self.search.index.units([old.key]).get(old.key)
                certain = not (isinstance(unit, Fact) and self.is_foreign(unit))
                past[old.key] = PastState(new.at, new.key, certain)
        return past

    def _of_ended_facts(
        self,
        shown: Mapping[str, Unit],
        told: Sequence[_Told],
        wanted: State | None,
        where: SearchFilter,
    ) -> dict[str, PastState]:
        """The turns that told a fact which has ended, as far as the question asks for it.

        A turn that tells another state than the one asked for is not past.
        """
        turns = [key for key, unit in shown.items() if isinstance(unit, FiledTurn)]
        if not turns:
            return {}
        ended = self._ended_facts(wanted, where, turns)
        past: dict[str, PastState] = {}
        for key in turns:
            active = {
                turn
                for unit in shown.values()
                if isinstance(unit, Fact)
                for turn in (unit.source, *unit.also)
            }
            for fact in ended.get(key, ()):
                if key in active and not wanted:
                    continue
                by = fact.superseded_by[-1] if fact.superseded_by else ""
                past[key] = PastState(fact.valid_until, by)
        return past

    def _ended_facts(
        self, wanted: State | None, where: SearchFilter, turns: Collection[str]
    ) -> dict[str, list[Fact]]:
        """The facts that ended, by the turns that told them."""
        over = replace(where, kinds=("fact",), statuses=ENDED)
        if wanted is None:
            return {}
        found: dict[str, list[Fact]] = {}
        for unit in self.search.units([wanted], over, _ANSWERS).values():
            if not isinstance(unit, Fact):
                continue
            if not any(_answers(one, wanted) for one in self._states(unit)):
                continue
            for key in (unit.source, *unit.also):
                if key in turns:
                    found.setdefault(key, []).append(unit)
        return found

    # -- scores ------------------------------------------------------------------------

    def _adjustment(
        self,
        key: str,
        told: Sequence[_Told],
        wanted: State | None,
        past: Mapping[str, PastState],
    ) -> dict[str, float]:
        """The parts that are added to the score of a unit."""
        if wanted is None:
            return {}
        own = [one.state for one in told if one.key == key]
        same = [one for one in own if one.attribute == wanted.attribute]
        if any(_answers(one, wanted) for one in same):
            return {"answers": self.policy.answers / (2 if key in past else 1)}
        if same and wanted.subject == (USER,):
            return {"another": -self.policy.answers}
        return {}


_WINDOW = 2
_LEAST = 12
_ANSWERS = 12


def _time(unit: Unit) -> datetime | None:
    if isinstance(unit, Fact):
        return unit.valid_from or unit.created
    return unit.turn.occurred_at if isinstance(unit, FiledTurn) else None


def _answers(state: State, wanted: State) -> bool:
    """Whether a state is the one that a question asks for."""
    return state.attribute == wanted.attribute and state.subject == wanted.subject


def _is_alone(old: _Told, told: Sequence[_Told]) -> bool:
    """Whether a unit tells no other state."""
    return all(one.state == old.state for one in told if one.key == old.key)


def _empty_slot(slots: Sequence[RankedSlot], key: str) -> RankedSlot:
    """A slot for a unit that the words of the question did not find."""
    return slots[0]._replace(key=key, score=0.0, parts={}) if slots else _NO_SLOT(key)


def _NO_SLOT(key: str) -> RankedSlot:
    from engram.core.ranking import RankedSlot

    return RankedSlot(key, 0.0, {})


def _adjusted(slot: RankedSlot, parts: Mapping[str, float]) -> RankedSlot:
    if not parts:
        return slot
    score = slot.score + sum(parts.values())
    return slot._replace(score=score, parts={**slot.parts, **parts})


def _below_successors(
    slots: Sequence[RankedSlot], past: Mapping[str, PastState]
) -> list[RankedSlot]:
    """The slots by their scores, each past one below the one that replaces it."""
    by_key = {slot.key: slot for slot in slots}
    for key, one in past.items():
        slot, successor = by_key.get(key), by_key.get(one.by)
        if slot and successor and slot.score >= successor.score:
            gain = slot.score - successor.score + _STEP
            by_key[one.by] = _adjusted(successor, {"replaces": gain})
    return sorted(by_key.values(), key=lambda slot: (-slot.score, slot.key))


_STEP = 0.001
