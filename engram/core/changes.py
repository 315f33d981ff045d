"""Changes of state: the known facts that a new statement ends (A7, A10; law 7).

"I've moved to Augsburg" ends "The user lives in Munich", however similar the words are.
The rule table of `language.states` reads both statements; the rules here decide
which facts end, and whether a person has to agree. All functions are pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from engram.core.attributes import attribute
from engram.core.categories import category_of
from engram.core.language.dates import latest, next_beginning
from engram.core.language.states import USER, State, bare_subject, names_same
from engram.core.language.topics import tells_name
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

_NAME_WORDS = 3
"""The largest number of words of a name."""
_END = " .!"


@dataclass(frozen=True, slots=True)
class EndedFact:
    """A known fact that a new statement ends, and the reason.

    `is_unclear` is true if the statement may refer to another fact.
    """

    fact: Fact
    why: str
    is_unclear: bool = False


def ended_facts(
    new: Sequence[State],
    said_at: datetime,
    known: Iterable[tuple[Fact, Sequence[State]]],
) -> list[EndedFact]:
    """Return the known facts that the states of a statement made at `said_at` end.

    Words of change end the old state at once. Another value without such words ends
    only a state that is older than `LATER`, because a person may name two homes in one
    breath. A change dated before the statement of the old state ends nothing. Words
    without a value ("I quit") are unclear if more than one value is known.
    """
    found: list[tuple[Fact, _Change]] = []
    for fact, states in known:
        change = _change(new, said_at, states, fact)
        if change and fact.status == "active":
            found.append((fact, change))

    changes = [change for _, change in found]
    return [
        EndedFact(fact, f"{change.why} ({RULE})", _is_unclear(change, changes))
        for fact, change in found
    ]


@dataclass(frozen=True, slots=True)
class _Change:
    """The state `new` ends the state `old`; `why` is the reason."""

    new: State
    old: State
    why: str


def _change(
    new: Iterable[State],
    said_at: datetime,
    old: Sequence[State],
    fact: Fact,
) -> _Change | None:
    """Return the change by the first `new` state that ends a state of `fact`, or None.

    A change that is older than the statement of the old state ends nothing.
    """
    told_at = fact.created
    is_later = told_at is None or said_at - told_at > LATER
    for state in new:
        if attribute(state.attribute).fixed or not (state.change or is_later):
            continue
        if told_at and state_time(state, said_at) < told_at and state.dated:
            continue
        for other in old:
            why = replacement(state, other)
            if why and not _grows_too_fast(state, other, said_at, told_at):
                return _Change(state, other, why)
    return None


def _grows_too_fast(
    new: State, old: State, said_at: datetime, told_at: datetime | None
) -> bool:
    """Return whether an age is too high to be the same person's, as with two sons."""
    if new.attribute != "age" or not told_at:
        return False
    years = (said_at - told_at).days / 365
    return int(new.value[0]) - int(old.value[0]) > years + 2


def _is_unclear(change: _Change, others: Sequence[_Change]) -> bool:
    """Return whether words without a value ("I quit") may end any of several values.

    "Training moved to Friday" may refer to either child. The end of one of several
    values of a statement does not end the others.
    """
    if attribute(change.new.attribute).thing:
        return len({one.old.subject for one in others}) > 1
    if change.new.value or change.new.attribute not in SEVERAL:
        return False
    values = {
        frozenset(one.old.value)
        for one in others
        if one.old.attribute == change.old.attribute and one.old.value
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
        is_same = _covers(new, old) and _covers(old, new)
        return f"holds again: {name}" if is_same else ""
    return f"another {name}" if _is_another_value(new, old) else ""


def _is_another_value(new: State, old: State) -> bool:
    """Return whether a value ends another one of a single-valued attribute."""
    row, first, second = attribute(new.attribute), set(new.value), set(old.value)
    if not row.single or not (first and second):
        return False
    if first <= second or second <= first:
        return False  # Berlin, Berlin Kreuzberg
    if new.attribute == "age" and int(new.value[0]) < int(old.value[0]):
        return False
    return new.change or row.replaced


def _covers(new: State, old: State) -> bool:
    """Return whether the value of `new` covers that of `old`.

    "No coffee" covers "four cups of coffee", and no value covers every value. One of
    several values covers none of the others.
    """
    if not new.value:
        return True
    return not old.listed and set(new.value) <= set(old.value)


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


def state_time(state: State, told_at: datetime) -> datetime:
    """Return the latest time at which a state stated at `told_at` began or ended.

    "I moved to Berlin in 2010" is a change of 2010, even if it was stated in 2027. A
    planned state begins on its day, and for a week or a month on the last day.
    """
    if state.planned:
        begun = latest(state.dated, told_at)
        return next_beginning(state.dated, told_at) or begun or NEVER
    return (latest(state.dated, told_at) if state.dated else None) or told_at


NEVER = datetime.max.replace(tzinfo=UTC)
"""The time of a planned state without a day."""


def is_replaced(states: Iterable[State], later: Iterable[State]) -> bool:
    """Return whether states of a later statement replace one of `states`."""
    earlier = tuple(states)
    return any(
        replacement(newer, state)
        for newer in later
        for state in earlier
        if not newer.planned
    )


def names_differ(new: str, old: str) -> bool:
    """Return whether two statements end with different names of the same being.

    >>> names_differ("The user's son is called Tim.", "The user's son is called Max.")
    True
    >>> names_differ("The user works with Ben.", "The user works with Ada.")
    False
    """
    new_words, old_words = new.rstrip(_END).split(), old.rstrip(_END).split()
    same = 0
    for new_word, old_word in zip(new_words, old_words, strict=False):
        if new_word.casefold() != old_word.casefold():
            break
        same += 1
    values = new_words[same:], old_words[same:]
    states_name = tells_name(" ".join(new_words[:same]))
    return states_name and all(
        0 < len(value) <= _NAME_WORDS and all(word[0].isupper() for word in value)
        for value in values
    )


def is_ended(
    new: Sequence[State], known: Iterable[tuple[Fact, Sequence[State]]]
) -> bool:
    """Return whether a known fact with one of these states has ended."""
    same = {
        (state_.subject, state_.attribute, state_.value, state_.over) for state_ in new
    }
    return any(
        (state_.subject, state_.attribute, state_.value, state_.over) in same
        for fact, states in known
        if fact.status in {"superseded", "invalidated"}
        for state_ in states
    )
