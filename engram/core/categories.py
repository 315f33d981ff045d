"""The categories of facts, one row each (row C3).

Everything that depends on the category of a fact is a field of its row; no other module
lists names of categories. Only how much a category adds to importance is a number of
its own, `ImportancePolicy.<name>`, because users may read and set numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Category:
    """One category, and what follows from it.

    `aliases` are names of the category in the formats of other systems; `tagged` are
    further ones that also become a tag. `kind` is note or episode, or '' where the
    words of the fact decide (row C6).

    A `protected` fact never leaves by itself (law 1). `artifact` is the type under
    which its exact words are kept, or '' if they are not (row C9). `slot` is the fact
    type in its slot (row E5). `layer` is procedural, or '' where `kind` decides the
    layer (row D1); with `needs_steps` only if the text has several steps.

    The rest are flags: it is a promise, with a to-do (row E16); it corrects an earlier
    statement (row A10); it is a taste, which passes if its words name a day (law 2); it
    is momentary and fades out (law 2); the time in its words is when it happens, not
    when it begins (row X14); it may report a recurring trouble (row E15); its names are
    people whom it relates to each other; only the user can say it of themselves, or
    nothing from outside may become one (row X27); it turns into a correction when the
    turn corrects an earlier one (row C3).

    `profile` says whether the user's profile lists it (row C15). `spine` is its section in the persona summary, ''
    for the profile section if it is about the user (row E12).
    """

    name: str
    aliases: tuple[str, ...] = ()
    tagged: tuple[str, ...] = ()
    kind: Literal["note", "episode", ""] = ""
    protected: bool = False
    artifact: str = ""
    slot: str = ""
    layer: Literal["procedural", ""] = ""
    needs_steps: bool = False
    promise: bool = False
    corrects: bool = False
    taste: bool = False
    momentary: bool = False
    dated: bool = False
    troubles: bool = False
    relates_people: bool = False
    only_user: bool = False
    not_from_outside: bool = False
    correctable: bool = False
    profile: bool = False
    spine: Literal["profile", "projects", "people", "open_loops", ""] = ""


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
        artifact="correction",
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
        artifact="decision",
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
        artifact="constraint",
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
        artifact="commitment",
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

PLAIN = _ROWS[0].name
"""The category of a statement that belongs to no other."""


def category_of(name: str) -> Category:
    """The row of a category; the row of a plain fact for any other word."""
    return CATEGORIES.get(name, CATEGORIES[PLAIN])
