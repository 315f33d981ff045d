"""The categories of facts, one row each (row C3).

Everything that depends on the category of a fact is a field of its row; no other module
lists names of categories. Only how much a category adds to importance is a number of
its own, `ImportancePolicy.<name>`, because users may read and set numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal


@dataclass(frozen=True, slots=True)
class Category:
    """One category, and what follows from it."""

    name: str
    aliases: tuple[str, ...] = ()
    """Its names in the formats of other systems."""
    tagged: tuple[str, ...] = ()
    """Further such names, which also become a tag."""
    kind: Literal["note", "episode", ""] = ""
    """The kind of its facts; '' where their words decide (row C6)."""
    protected: bool = False
    """A fact never leaves by itself (law 1)."""
    slot: str = ""
    """The name of the category in a slot, which is this name and an entity (row E5).

    Facts of two categories with one `slot` share their slots.
    """
    layer: Literal["procedural", ""] = ""
    """The layer of its facts; '' where their kind decides (row D1)."""
    needs_steps: bool = False
    """Only a text of several steps has that `layer`."""
    promise: bool = False
    """A fact is a promise, with a to-do (row E16)."""
    corrects: bool = False
    """A fact corrects an earlier statement (row A10)."""
    taste: bool = False
    """A fact is a taste; it fades if its words name a day (law 2)."""
    momentary: bool = False
    """A fact fades and goes to the archive (law 2)."""
    dated: bool = False
    """The time in the words is when it happens, not when it begins (row X14)."""
    troubles: bool = False
    """A fact may report a recurring trouble (row E15)."""
    relates_people: bool = False
    """The names in a fact are people whom it relates to each other."""
    only_user: bool = False
    """Only the user can say such a fact of themselves (row X27)."""
    not_from_outside: bool = False
    """A statement from outside never becomes such a fact (row X27)."""
    correctable: bool = False
    """A fact becomes a correction if its turn corrects an earlier one (row C3)."""
    profile: bool = False
    """The profile of the user lists such facts (row C15)."""
    spine: Literal["profile", "projects", "people", "open_loops", ""] = ""
    """Its section in the persona summary (row E12).

    With '' a fact about the user is in the section of the profile.
    """


_ROWS = (
    Category(
        "fact",
        aliases=("factual",),
        tagged=("insight", "friction", "habit"),
        slot="fact",
        troubles=True,
        correctable=True,
        profile=True,
    ),
    Category(
        "preference",
        kind="note",
        protected=True,
        slot="preference",
        taste=True,
        only_user=True,
        correctable=True,
        profile=True,
        spine="profile",
    ),
    Category(
        "correction",
        kind="note",
        protected=True,
        slot="fact",
        corrects=True,
        profile=True,
        spine="profile",
    ),
    Category("entity", kind="note", slot="entity", profile=True),
    Category(
        "decision",
        aliases=("architectural",),
        kind="note",
        protected=True,
        slot="decision",
        only_user=True,
        spine="projects",
    ),
    Category(
        "relationship",
        kind="note",
        protected=True,
        slot="relationship",
        relates_people=True,
        correctable=True,
        profile=True,
        spine="people",
    ),
    Category(
        "principle",
        aliases=("meta", "rule"),
        kind="note",
        protected=True,
        slot="principle",
        layer="procedural",
        needs_steps=True,
        only_user=True,
        not_from_outside=True,
        profile=True,
        spine="profile",
    ),
    Category(
        "commitment",
        kind="note",
        protected=True,
        slot="commitment",
        promise=True,
        dated=True,
        only_user=True,
        spine="open_loops",
    ),
    Category(
        "moment",
        kind="episode",
        slot="moment",
        momentary=True,
        dated=True,
        troubles=True,
    ),
    Category(
        "skill",
        aliases=("procedural", "procedure"),
        kind="note",
        protected=True,
        slot="skill",
        layer="procedural",
        correctable=True,
        profile=True,
        spine="profile",
    ),
)

CATEGORIES = {row.name: row for row in _ROWS}
"""The rows by name, in the order in which they are offered."""

INSIGHT = "insight"
"""The tag of a fact that another system noted as a mere insight (row A16)."""

PLAIN = _ROWS[0].name
"""The category of a statement that belongs to no other."""


_BY_NAME = MappingProxyType(
    {row.name: (row.name, "") for row in _ROWS}
    | {name: (row.name, "") for row in _ROWS for name in row.aliases}
    | {name: (row.name, name) for row in _ROWS for name in row.tagged}
)


def category_named(name: str) -> tuple[str, str] | None:
    """Return the category of this name and the tag that the name also gives (`A31`).

    The name may be that of another system: `architectural` is a decision, and `insight`
    a fact with the tag `insight`. None for an unknown name.
    """
    return _BY_NAME.get(name.strip().casefold())


def category_of(name: str) -> Category:
    """The row of a category; the row of a plain fact for any other word."""
    return CATEGORIES.get(name, CATEGORIES[PLAIN])
