"""Why one state takes the place of another that was told before it.

`replacement` applies the rules: "I've moved to Augsburg" takes the place of "The user
lives in Munich", "Our dog died" that of "The user has a dog". For the rules of change
in `core` and for recall, which shows what holds now.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from engram.core.language.dates import latest, next_beginning
from engram.core.language.state_subjects import USER, bare, names_same
from engram.core.language.state_table import PEOPLE
from engram.core.language.state_words import reading_of
from engram.core.language.words import words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engram.core.language.states import State

SINGLE = frozenset(
    """
    address age car date diet dose email employer favourite figure home job name
    nickname partner phone return role schedule study thing weight
    """.split()  # a table of words reads better as lines  # noqa: SIM905
)
"""Attributes with one value at a time, as far as words of change tell."""

REPLACED_BY_VALUE = frozenset(
    {"age", "date", "diet", "dose", "favourite", "figure", "home", "weight"}
)
"""Those of which a mere later value replaces the one before.

A second teacher, job or phone may be one more of them.
"""

FIXED = frozenset({"birthday", "birthplace", "origin"})
"""Attributes that never change: another value is a contradiction, or a correction."""

ENDS_WITH_LIFE = frozenset(
    """
    address age car date debt diet dose eats email employer figure habit home illness
    job like medication partner pet phone pregnant study thing weight
    """.split()  # a table of words reads better as lines  # noqa: SIM905
)
"""Attributes of a person or an animal that end with its death."""


ENDED_BY_DEATH = frozenset({"pet", "partner"})
"""Attributes whose value is a person or an animal, and that end with its death."""


def replacement(new: State, old: State) -> str:
    """Why `new`, said later, takes the place of `old`; '' where it does not (`A7`).

    Another value of an attribute that has one at a time, the end of the same state or
    its opposite, and the death of its subject. An addition replaces nothing.
    """
    if new.attribute == "alive":
        return _ended_by_death(new, old)
    if {new.attribute, old.attribute} == {"diet", "eats"} and new.change:
        new, old = _as_eaten(new), _as_eaten(old)
    if not _same_subject(new, old) or new.attribute != old.attribute:
        return ""
    if new.over != old.over:
        return _ended_or_begun(new, old)
    return "" if new.over or new.addition else _another_value(new, old)


def left_workplace(new: State, old: State, text: str) -> str:
    """Why leaving a workplace ends a job whose statement, `text`, names the workplace.

    "I quit the restaurant" ends "The user is a waitress in a restaurant"; '' if not.
    """
    if (new.attribute, old.attribute) != ("employer", "job") or not new.over:
        return ""
    if old.over or not new.value or not names_same(new.subject, old.subject):
        return ""
    told = set(words(text))
    is_there = all(any(word.startswith(one) for word in told) for one in new.value)
    return "no longer holds: job" if is_there else ""


def ends_one_of_several(new: State, old: State, text: str) -> str:
    """Why one of several values that `text` names is over; '' if none is.

    "I'm not allergic to eggs any more" after "The user is allergic to nuts and eggs".
    """
    is_end = new.over and not old.over and old.listed and new.value
    if not is_end or new.attribute != old.attribute or not _same_subject(new, old):
        return ""
    is_named = _roots(new.value) <= _roots(words(text))
    return f"no longer holds: {_spoken(new)}" if is_named else ""


_NEVER = datetime.max.replace(tzinfo=UTC)


def state_time(state: State, told_at: datetime) -> datetime:
    """When a state that was told at `told_at` began or ended, at the latest.

    "I moved to Berlin in 2010" tells a change of 2010, also if it was said in 2027. A
    planned state begins on its day: in a week or a month that is named at its end.
    """
    if state.planned:
        begun = latest(state.dated, told_at)
        return next_beginning(state.dated, told_at) or begun or _NEVER
    if not state.dated:
        return told_at
    return latest(state.dated, told_at) or told_at


def has_begun(
    state: State, told_at: datetime, valid_from: datetime | None, now: datetime
) -> bool:
    """Whether a state told at `told_at` holds by `now`, or is only planned by then.

    `valid_from` is the day of a plan, where the statement that tells it has one.
    """
    if not state.planned:
        return True
    return (valid_from or state_time(state, told_at)) <= now


def is_fixed(state: State) -> bool:
    """Whether the attribute of a state never changes."""
    return state.attribute.partition(" ")[0] in FIXED


def _ended_or_begun(new: State, old: State) -> str:
    """Why a state ends or holds again; '' where the two have different values."""
    name = _spoken(new)
    if new.addition and not new.over:
        return ""
    if new.over and old.listed and new.value:
        return ""  # the others may hold
    if new.over:
        return f"no longer holds: {name}" if _is_within(old, new) else ""
    is_same = _is_within(old, new) and _is_within(new, old)
    return f"holds again: {name}" if is_same or not old.value else ""


def _as_eaten(state: State) -> State:
    """A diet as what is not eaten: a vegetarian eats no meat."""
    if state.attribute != "diet":
        return state
    value = reading_of(state.language).not_eaten(state.value)
    if not value:
        return state
    return replace(state, attribute="eats", value=value, over=not state.over)


def _another_value(new: State, old: State) -> str:
    """Why a value ends another one of an attribute that has one at a time."""
    name = _spoken(new)
    kind = name.partition(" ")[0]
    if kind not in SINGLE or not (new.value and old.value):
        return ""
    if not (new.change or kind in REPLACED_BY_VALUE) or _contains(new.value, old.value):
        return ""
    if kind in {"dose", "figure"} and _other_units(new.value, old.value):
        return ""
    if kind == "age" and int(new.value[0]) < int(old.value[0]):
        return ""
    # One place has two names in two languages: only words of change tell another.
    certain = new.language == old.language or new.change or new.value[0].isdigit()
    return f"another {name}" if certain else ""


def _spoken(state: State) -> str:
    """The attribute of a state as words."""
    return state.attribute.replace("_", " ")


def _same_subject(one: State, other: State) -> bool:
    """Whether two subjects are one; of a figure, whosever it is."""
    if one.attribute == "schedule":
        return is_same_event(one.subject, other.subject)
    if one.attribute == "date" and one.change:
        return is_same_event(bare(one.subject), bare(other.subject))
    if one.attribute.partition(" ")[0] in {"figure", "date"}:
        return bare(one.subject) == bare(other.subject)
    return names_same(one.subject, other.subject)


def is_same_event(one: Iterable[str], other: Iterable[str]) -> bool:
    """Whether words name an event that others name in more detail: pottery class."""
    short, long = _roots(one), _roots(other)
    return bool(short) and short <= long


def _ended_by_death(new: State, old: State) -> str:
    """Whether `old` is a state of who died, or the possession of them."""
    if not new.over or old.over or new.subject == (USER,):
        return ""
    who = set(bare(new.subject)) | set(new.value)
    own = set(bare(old.subject))
    name = old.attribute.partition(" ")[0]
    if name in ENDS_WITH_LIFE and own == who:
        return "the death of its subject"
    # "Our dog Rex" may be the user's dog, "Tom's dog" is not.
    named = set(old.value)
    is_named = who <= named or (new.subject[0] == USER and named <= who)
    if name in ENDED_BY_DEATH and old.value and is_named:
        return "the death of its subject"
    return ""


def _is_within(old: State, new: State) -> bool:
    """Whether what `new` says covers the value of `old`.

    "No coffee" covers "four cups of coffee", and no word covers everything; "no jazz
    concerts" does not cover "jazz". Daniel is Daniel Okafor, and the other way round.
    """
    if not new.value or not old.value:
        return not new.value
    if new.attribute.partition(" ")[0] in PEOPLE:
        return _contains(new.value, old.value)
    return _roots(new.value) <= _roots(old.value)


_ENDINGS = (
    "ing", "es", "ed", "en", "er", "ir", "ar", "s", "e", "t", "n", "r", "o", "a",
)  # fmt: skip
_LEAST_ROOT = 2
_MOST_ROOT = 3


def _roots(words: Iterable[str]) -> set[str]:
    """The words without the endings of verbs and plurals: smoke, smokes, smoking."""
    return {_root(word) for word in words}


def _root(word: str) -> str:
    for ending in _ENDINGS:
        least = _LEAST_ROOT if ending in {"ing", "es"} else _MOST_ROOT
        if word.endswith(ending) and len(word) - len(ending) >= least:
            root = word.removesuffix(ending)
            return root[:-1] if root[-1:] == root[-2:-1] else root
    return word


_SIGN_OF = {"€": "euro", "$": "dollar", "£": "pound", "¥": "yen", "%": "percent"}
_WORD = re.compile(r"[^\W\d_]+")


def _other_units(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether two figures are in other units: 60 square metres and 5 minutes."""
    first, second = _units(one), _units(other)
    return bool(first and second) and first.isdisjoint(second)


def _units(value: tuple[str, ...]) -> set[str]:
    text = " ".join(value)
    words = [*_WORD.findall(text), *(_SIGN_OF[one] for one in text if one in _SIGN_OF)]
    return _roots(words)


def _contains(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    first, second = set(one), set(other)
    return first <= second or second <= first
