"""Why one state takes the place of another that was told before it.

`replacement` applies the rules: "I've moved to Augsburg" takes the place of "The user
lives in Munich", "Our dog died" that of "The user has a dog". For the rules of change
in `core` and for recall, which shows what holds now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.core.language.state_subjects import USER, bare, names_same
from engram.core.language.state_table import NAMED

if TYPE_CHECKING:
    from engram.core.language.states import State

SINGLE = frozenset(
    """
    address age car date diet email employer favourite figure home job name nickname
    partner phone role thing weight
    """.split()  # a table of words reads better as lines  # noqa: SIM905
)
"""Attributes with one value at a time."""

FIXED = frozenset({"birthday", "birthplace", "origin"})
"""Attributes that never change: another value is a contradiction, or a correction."""

ENDS_WITH_LIFE = frozenset(
    """
    address age car date diet eats email employer figure habit home job like partner
    pet phone study thing weight
    """.split()  # a table of words reads better as lines  # noqa: SIM905
)
"""Attributes of a person or an animal that end with its death."""


def replacement(new: State, old: State) -> str:
    """Why `new`, said later, takes the place of `old`; '' where it does not (`A7`).

    Another value of an attribute that has one at a time, the end of the same state or
    its opposite, and the death of its subject.
    """
    if new.attribute == "alive":
        return _ended_by_death(new, old)
    if not _same_subject(new, old) or new.attribute != old.attribute:
        return ""
    if new.over != old.over:
        return _ended_or_begun(new, old)
    return "" if new.over else _another_value(new, old)


def is_fixed(state: State) -> bool:
    """Whether the attribute of a state never changes."""
    return state.attribute.partition(" ")[0] in FIXED


def _ended_or_begun(new: State, old: State) -> str:
    """Why a state ends or holds again; '' where the two have different values."""
    if new.value and old.value and not _is_same_value(new, old):
        return ""
    name = _spoken(new)
    return f"no longer holds: {name}" if new.over else f"holds again: {name}"


def _another_value(new: State, old: State) -> str:
    """Why a value ends another one of an attribute that has one at a time."""
    name = _spoken(new)
    if name.partition(" ")[0] not in SINGLE or _contains(new.value, old.value):
        return ""
    # One place has two names in two languages: only words of change tell another.
    certain = new.language == old.language or new.change or new.value[0].isdigit()
    return f"another {name}" if certain else ""


def _spoken(state: State) -> str:
    """The attribute of a state as words."""
    return state.attribute.replace("_", " ")


def _same_subject(one: State, other: State) -> bool:
    """Whether two subjects are one; of a figure, whosever it is."""
    if one.attribute.partition(" ")[0] in {"figure", "date"}:
        return bare(one.subject) == bare(other.subject)
    return names_same(one.subject, other.subject)


def _ended_by_death(new: State, old: State) -> str:
    """Whether `old` is a state of who died, or the possession of them."""
    if not new.over or old.over or new.subject == (USER,):
        return ""
    who = set(bare(new.subject)) | set(new.value)
    own = set(bare(old.subject))
    name = old.attribute.partition(" ")[0]
    if name in ENDS_WITH_LIFE and own == who:
        return "the death of its subject"
    is_named = _contains(tuple(who), old.value)
    if name in {"pet", "partner"} and old.value and is_named:
        return "the death of its subject"
    return ""


def _is_same_value(one: State, other: State) -> bool:
    """Whether two values are one: of a proper name all words of the shorter one.

    Daniel Okafor is not Daniel Brandt, but "four cups of coffee" is coffee.
    """
    if one.attribute.partition(" ")[0] in NAMED:
        return _contains(one.value, other.value)
    return _overlap(one.value, other.value)


def _overlap(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return not set(one).isdisjoint(other)


def _contains(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    first, second = set(one), set(other)
    return first <= second or second <= first
