"""The reasons why one state replaces an earlier one.

`replacement` applies the rules: "I've moved to Augsburg" replaces "The user lives in
Munich", "Our dog died" replaces "The user has a dog". The rules of change in `core` use
it, and so does recall, which shows present states.
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
"""Attributes with one value at a time, provided that words report a change."""

REPLACED_BY_VALUE = frozenset(
    {"age", "date", "diet", "dose", "favourite", "figure", "home", "weight"}
)
"""Attributes of which any later value replaces the earlier one.

A second teacher, job or phone may be an additional one.
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
    """Return why `new`, a later state, replaces `old`, or '' (`A7`).

    The reasons are another value of a single-valued attribute, the end of the same
    state or its opposite, and the death of its subject. An addition replaces nothing.
    """
    if new.attribute == "alive":
        return _ended_by_death(new, old)
    if {new.attribute, old.attribute} == {"diet", "eats"} and new.change:
        new, old = _as_avoided_food(new), _as_avoided_food(old)
    if not _same_subject(new, old) or new.attribute != old.attribute:
        return ""
    if new.over != old.over:
        return _ended_or_begun(new, old)
    return "" if new.over or new.addition else _another_value(new, old)


def left_workplace(new: State, old: State, text: str) -> str:
    """Return why leaving the workplace that `text` names ends a job, or ''.

    "I quit the restaurant" ends "The user is a waitress in a restaurant", the `text` of
    the job.
    """
    if (new.attribute, old.attribute) != ("employer", "job") or not new.over:
        return ""
    if old.over or not new.value or not names_same(new.subject, old.subject):
        return ""
    text_words = set(words(text))
    is_there = all(
        any(word.startswith(one) for word in text_words) for one in new.value
    )
    return "no longer holds: job" if is_there else ""


def ends_one_of_several(new: State, old: State, text: str) -> str:
    """Return why one of several values that `text` names is over, or ''.

    "I'm not allergic to eggs any more" after "The user is allergic to nuts and eggs".
    """
    is_end = new.over and not old.over and old.listed and new.value
    if not is_end or new.attribute != old.attribute or not _same_subject(new, old):
        return ""
    is_named = _roots(new.value) <= _roots(words(text))
    return f"no longer holds: {_attribute_name(new)}" if is_named else ""


_NEVER = datetime.max.replace(tzinfo=UTC)


def state_time(state: State, told_at: datetime) -> datetime:
    """Return the latest time at which a state stated at `told_at` began or ended.

    "I moved to Berlin in 2010" is a change of 2010, even if it was stated in 2027. A
    planned state begins on its day, and for a week or a month on the last day.
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
    """Return whether a state holds by `now`, or is only planned.

    It was stated at `told_at`. `valid_from` is the day of a plan, if the statement has
    one.
    """
    if not state.planned:
        return True
    return (valid_from or state_time(state, told_at)) <= now


def is_fixed(state: State) -> bool:
    """Return whether the value of an attribute never changes."""
    return state.attribute.partition(" ")[0] in FIXED


def _ended_or_begun(new: State, old: State) -> str:
    """Return why a state ends or holds again; '' if the two have different values."""
    name = _attribute_name(new)
    if new.addition and not new.over:
        return ""
    if new.over and old.listed and new.value:
        return ""  # the others may still hold
    if new.over:
        return f"no longer holds: {name}" if _is_within(old, new) else ""
    is_same = _is_within(old, new) and _is_within(new, old)
    return f"holds again: {name}" if is_same or not old.value else ""


def _as_avoided_food(state: State) -> State:
    """Return a diet in terms of avoided food: a vegetarian eats no meat."""
    if state.attribute != "diet":
        return state
    value = reading_of(state.language).not_eaten(state.value)
    if not value:
        return state
    return replace(state, attribute="eats", value=value, over=not state.over)


def _another_value(new: State, old: State) -> str:
    """Return why a value ends another one of a single-valued attribute."""
    name = _attribute_name(new)
    kind = name.partition(" ")[0]
    if kind not in SINGLE or not (new.value and old.value):
        return ""
    if not (new.change or kind in REPLACED_BY_VALUE) or _contains(new.value, old.value):
        return ""
    if kind in {"dose", "figure"} and _other_units(new.value, old.value):
        return ""
    if kind == "age" and int(new.value[0]) < int(old.value[0]):
        return ""
    # A place may have different names in two languages: only words of change make it
    # another one.
    certain = new.language == old.language or new.change or new.value[0].isdigit()
    return f"another {name}" if certain else ""


def _attribute_name(state: State) -> str:
    """Return the attribute of a state as words."""
    return state.attribute.replace("_", " ")


def _same_subject(first: State, second: State) -> bool:
    """Return whether two subjects are the same; figures need no owner."""
    if first.attribute == "schedule":
        return is_same_event(first.subject, second.subject)
    if first.attribute == "date" and first.change:
        return is_same_event(bare(first.subject), bare(second.subject))
    if first.attribute.partition(" ")[0] in {"figure", "date"}:
        return bare(first.subject) == bare(second.subject)
    return names_same(first.subject, second.subject)


def is_same_event(first: Iterable[str], second: Iterable[str]) -> bool:
    """Return whether `first` names the event that `second` names in more detail."""
    short, long = _roots(first), _roots(second)
    return bool(short) and short <= long


def _ended_by_death(new: State, old: State) -> str:
    """Return why `old`, a state of a dead being or its possession, ended, or ''."""
    if not new.over or old.over or new.subject == (USER,):
        return ""
    dead = set(bare(new.subject)) | set(new.value)
    own = set(bare(old.subject))
    name = old.attribute.partition(" ")[0]
    if name in ENDS_WITH_LIFE and own == dead:
        return "the death of its subject"
    # "Our dog Rex" may be the user's dog, "Tom's dog" is not.
    values = set(old.value)
    is_named = dead <= values or (new.subject[0] == USER and values <= dead)
    if name in ENDED_BY_DEATH and old.value and is_named:
        return "the death of its subject"
    return ""


def _is_within(old: State, new: State) -> bool:
    """Return whether the value of `new` covers the value of `old`.

    "No coffee" covers "four cups of coffee", and an empty value covers every value; "no
    jazz concerts" does not cover "jazz". Daniel is Daniel Okafor, in both directions.
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
    """Return the words without endings of verbs and plurals: smokes gives smok."""
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


def _other_units(left: tuple[str, ...], right: tuple[str, ...]) -> bool:
    """Return whether two figures are in other units: 60 square metres and 5 minutes."""
    first, second = _units(left), _units(right)
    return bool(first and second) and first.isdisjoint(second)


def _units(value: tuple[str, ...]) -> set[str]:
    text = " ".join(value)
    words = [
        *_WORD.findall(text),
        *(_SIGN_OF[word] for word in text if word in _SIGN_OF),
    ]
    return _roots(words)


def _contains(left: tuple[str, ...], right: tuple[str, ...]) -> bool:
    first, second = set(left), set(right)
    return first <= second or second <= first
