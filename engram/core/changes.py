"""Changes of state: the known facts that a new statement ends (A7, A10; law 7).

"I've moved to Augsburg" ends "The user lives in Munich", however similar the words are.
The rule table of `language.states` reads both statements; these pure rules tell which
state ends another.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from engram.core.attributes import attribute
from engram.core.categories import category_of
from engram.core.language.dates import latest, next_beginning
from engram.core.language.states import (
    USER,
    State,
    bare_subject,
    names_same,
    without_times,
)
from engram.core.language.topics import is_denied
from engram.core.language.words import content, root
from engram.core.text import normalise

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engram.core.records import Fact

RULE = "rule of states"
"""The suffix of the reason for a change that the rule table decided."""

LATER = timedelta(hours=12)
"""A statement without a word of change ends only states older than this."""

DEATH = "alive"
"""The attribute of a state that ends others of its subject."""

SEVERAL = frozenset({"employer", "job"})
"""Attributes of which a person may have several values; "I quit" ends one of them."""


@dataclass(frozen=True, slots=True)
class Change:
    """The state `new` ends the state `old`; `why` is the reason."""

    new: State
    old: State
    why: str


def change(
    new: Iterable[State],
    said_at: datetime,
    old: Sequence[State],
    told_at: datetime | None,
    *,
    corrects: bool = False,
) -> Change | None:
    """Return the change by the first `new` state that ends one of the `old`, or None.

    The new states are said at `said_at`, the old ones were told at `told_at`. Words of
    change end the old state at once. Another value without such words ends only a state
    that is older than `LATER`, because a person may name two homes in one breath. A
    change dated before the statement of the old state ends nothing. With `corrects` the
    old value was wrong, whenever it was told.
    """
    is_later = told_at is None or said_at - told_at > LATER
    for state in new:
        begun = state_time(state, said_at) if state.dated else None
        is_past = bool(told_at and begun and begun < told_at)
        is_change = not is_past and (state.change or is_later)
        ends = is_change and not attribute(state.attribute).fixed
        for other in old:
            why = replacement(state, other) if ends or corrects else ""
            if why or (corrects and _is_corrected(state, other)):
                return Change(state, other, why or f"another {state.attribute}")
    return None


def _is_corrected(new: State, old: State) -> bool:
    """Return whether two states give different values of which only one can hold.

    Of several pets, only one that differs in its name alone is corrected.
    """
    if new.over or old.over or new.addition:
        return False
    row = attribute(new.attribute)
    is_renamed = len(new.value) > 1 and new.value[:-1] == old.value[:-1]
    is_one = row.single or row.fixed or row.named or is_renamed
    if not is_one or new.attribute != old.attribute:
        return False
    return _same_subject(new, old) and not (_covers(new, old) or _covers(old, new))


def is_unclear(made: Change, others: Sequence[Change]) -> bool:
    """Return whether words without a value ("I quit") may end any of several values.

    "Training moved to Friday" may refer to either child, another name to either son.
    The end of one of several values of a statement does not end the others.
    """
    row = attribute(made.new.attribute)
    if row.thing:
        return len({one.old.subject for one in others}) > 1
    is_name = row.named and not row.single
    if not is_name and (made.new.value or made.new.attribute not in SEVERAL):
        return False
    values = {
        frozenset(one.old.value)
        for one in others
        if one.old.attribute == made.old.attribute and one.old.value
    }
    return any(not one <= two and not two <= one for one in values for two in values)


def state_in_slot(fact: Fact, names: frozenset[str]) -> State | None:
    """Return the value that a fact gives in its own slot, as a model or a person named it.

    `names` are the folded words of the user's names. A promise, and a statement about a
    later day, plan the value.
    """
    if not (fact.attribute and fact.value):
        return None
    value = tuple(normalise(fact.value).split())
    named = tuple(normalise(fact.about[0]).split()) if fact.about else (USER,)
    subject = (USER,) if names.issuperset(named) or named == value else named
    is_later = fact.valid_from and fact.created and fact.valid_from > fact.created
    planned = bool(is_later) or category_of(fact.category).promise
    return State("", subject, fact.attribute, value, change=planned, planned=planned)


# -- one state and another -------------------------------------------------------------


def slot_of(state: State) -> str:
    """Return a name that is equal for states of which one may replace the other.

    A state of `DEATH` may replace any other.
    """
    return "eats" if state.attribute == "avoids" else state.attribute


def replacement(new: State, old: State) -> str:
    """Return why `new`, a later state, replaces `old`, or '' (`A7`).

    The reasons are another value of a single-valued attribute, the end of the same
    state or its opposite, and the death of its subject. An addition replaces nothing.
    """
    if new.attribute == DEATH:
        return _ended_by_death(new, old)
    if not _same_subject(new, old):
        return ""
    if {new.attribute, old.attribute} == {"eats", "avoids"}:
        is_opposite = not (new.over or old.over) and _covers(new, old)
        return f"no longer holds: {old.attribute}" if is_opposite else ""
    if new.attribute != old.attribute:
        return ""
    name = new.attribute
    if new.over:
        is_same = not old.over and _covers(new, old)
        return f"no longer holds: {name}" if is_same else ""
    if new.addition:
        return ""
    if old.over:
        is_same = attribute(name).deed or _covers(new, old)
        is_same = is_same and _covers(old, new)
        return f"holds again: {name}" if is_same else ""
    return f"another {name}" if _is_another_value(new, old) else ""


def _is_another_value(new: State, old: State) -> bool:
    """Return whether a value ends another one of a single-valued attribute."""
    row = attribute(new.attribute)
    if row.deed and new.change and not _covers(new, old):
        # "we close on Tuesdays now"
        return _stems(without_times(new), new) == _stems(without_times(old), new)
    first, second = set(new.value), set(old.value)
    if not row.single or not (first and second):
        return False
    if first <= second or second <= first:
        return False  # Berlin, Berlin Kreuzberg
    if new.attribute == "age" and int(new.value[0]) < int(old.value[0]):
        return False
    # "I live in Graz" says nothing of the plan to move
    return new.change or (row.replaced and not old.planned)


def _covers(new: State, old: State) -> bool:
    """Return whether the value of `new` covers that of `old`.

    "No coffee" covers "four cups of coffee", and no value covers every value. One of
    several values covers none of the others, and of a deed only its verb and object
    are covered: "the gym" covers "goes to the gym" and not "eats lunch at the gym".
    """
    if not new.value:
        return True
    if old.listed or is_denied(" ".join(old.value)):
        return False
    told, named = [*old.value], [*new.value]
    if attribute(old.attribute).deed:
        told, named = (content(words, new.language) for words in (told, named))
        told = told[: len(named) + 1]
    return _stems(named, new) <= _stems(told, new)


def _stems(words: Sequence[str], state: State) -> frozenset[str]:
    code = state.language
    return frozenset(root(word, code) for word in content(words, code) or words)


def _same_subject(new: State, old: State) -> bool:
    """Return whether two subjects are the same; things need no owner."""
    if not attribute(new.attribute).thing:
        return names_same(new.subject, old.subject)
    first, second = set(bare_subject(new.subject)), set(bare_subject(old.subject))
    return first == second or (new.change and bool(first) and first <= second)


def _ended_by_death(new: State, old: State) -> str:
    """Return why `old`, a state of a dead being or its possession, ended, or ''."""
    if old.over or new.subject == (USER,):
        return ""
    dead = set(bare_subject(new.subject))
    row, owned = attribute(old.attribute), set(old.value)
    is_its_own = row.mortal and set(bare_subject(old.subject)) == dead
    # "Our dog Rex" may be the user's dog, "Tom's dog" is not.
    is_named = dead <= owned or (new.subject[0] == USER and owned <= dead)
    is_theirs = row.name in {"pet", "partner"} and bool(owned) and is_named
    return "the death of its subject" if is_its_own or is_theirs else ""


def state_time(state: State, told_at: datetime) -> datetime | None:
    """Return the latest time at which a state stated at `told_at` began or ended.

    "I moved to Berlin in 2010" is a change of 2010, even if it was stated in 2027. A
    planned state begins on its day, and for a week or a month on the last day; without
    a day it has no time.
    """
    begun = latest(state.dated, told_at) if state.dated else None
    if state.planned:
        return next_beginning(state.dated, told_at) or begun
    return begun or told_at


def is_replaced(states: Iterable[State], later: Iterable[State]) -> bool:
    """Return whether states of a later statement replace one of `states`."""
    earlier = tuple(states)
    return any(
        replacement(newer, state)
        for newer in later
        for state in earlier
        if not newer.planned
    )


def share_state(some: Iterable[State], others: Iterable[State]) -> bool:
    """Return whether two statements state the same."""
    told = {(one.subject, one.attribute, one.value, one.over) for one in some}
    return any(
        (one.subject, one.attribute, one.value, one.over) in told for one in others
    )
