"""The categories of facts, one row each (row C3).

All properties that depend on the category of a fact are fields of its row; no other
module lists names of categories. The one exception is the gain in importance,
`ImportancePolicy.<name>`, because users may read and set numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal


@dataclass(frozen=True, slots=True)
class Category:
    """A category with all properties of its facts."""

    name: str
    aliases: tuple[str, ...] = ()
    """Names of this category in the formats of other systems."""
    tagged: tuple[str, ...] = ()
    """Further names in other formats; such a name is also added as a tag."""
    kind: Literal["note", "episode", ""] = ""
    """The kind of its facts; '' if the words of the fact decide (row C6)."""
    protected: bool = False
    """Its facts are never archived or removed by a rule (law 1)."""
    layer: Literal["procedural", ""] = ""
    """The layer of its facts; '' if the kind decides (row D1)."""
    needs_steps: bool = False
    """Whether only a text of several steps gets that `layer`."""
    promise: bool = False
    """Its facts are promises, each with a to-do (row E16)."""
    corrects: bool = False
    """Its facts correct earlier statements (row A10)."""
    taste: bool = False
    """Its facts are preferences; one that names a day fades (law 2)."""
    momentary: bool = False
    """Its facts fade and are archived (law 2)."""
    dated: bool = False
    """A time in the words is that of the event, not the beginning of a state (row X14).
    """
    troubles: bool = False
    """Its facts may report a recurring trouble (row E15)."""
    relates_people: bool = False
    """The names in a fact are people; the fact states a relation between them."""
    only_user: bool = False
    """Only the user can state such a fact about themselves (row X27)."""
    not_from_outside: bool = False
    """Only a statement of the user becomes such a fact (row X27)."""
    correctable: bool = False
    """A fact becomes a correction if its turn corrects an earlier statement (row C3).
    """
    profile: bool = False
    """The user's profile lists its facts (row C15)."""
    spine: Literal["profile", "projects", "people", "open_loops", ""] = ""
    """The section for its facts in the persona summary (row E12).

    '' puts a fact about the user into the section of the profile.
    """


_ROWS = (
    Category(
        "fact",
        aliases=("factual",),
        tagged=("insight", "friction", "habit"),
        troubles=True,
        correctable=True,
        profile=True,
    ),
    Category(
        "preference",
        kind="note",
        protected=True,
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
        corrects=True,
        profile=True,
        spine="profile",
    ),
    Category("entity", kind="note", profile=True),
    Category(
        "decision",
        aliases=("architectural",),
        kind="note",
        protected=True,
        only_user=True,
        spine="projects",
    ),
    Category(
        "relationship",
        kind="note",
        protected=True,
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
        promise=True,
        dated=True,
        only_user=True,
        not_from_outside=True,
        spine="open_loops",
    ),
    Category(
        "moment",
        kind="episode",
        momentary=True,
        dated=True,
        troubles=True,
    ),
    Category(
        "skill",
        aliases=("procedural", "procedure"),
        kind="note",
        protected=True,
        layer="procedural",
        correctable=True,
        profile=True,
        spine="profile",
    ),
)

CATEGORIES = {row.name: row for row in _ROWS}
"""The categories by name, in the order in which they are offered to a model."""

INSIGHT = "insight"
"""The tag of a fact that another system labels an insight (row A16)."""

PLAIN = _ROWS[0].name
"""The category of a statement that fits no other category."""


_BY_NAME = MappingProxyType(
    {row.name: (row.name, "") for row in _ROWS}
    | {name: (row.name, "") for row in _ROWS for name in row.aliases}
    | {name: (row.name, name) for row in _ROWS for name in row.tagged}
)


def category_named(name: str) -> tuple[str, str] | None:
    """Return the category with this name, and the tag that the name adds (`A31`).

    The name may be one of another system: `architectural` is a decision, and `insight`
    is a fact with the tag `insight`. An unknown name gives None.
    """
    return _BY_NAME.get(name.strip().casefold())


def category_of(name: str) -> Category:
    """Return the row of a category, or that of a plain fact for an unknown name."""
    return CATEGORIES.get(name, CATEGORIES[PLAIN])
