"""The attributes of which statements give a value, one row each (rows A7, E5, X31).

A fact may have an attribute and a value: `home` and `Graz`. With its subject they are
its slot. All properties that depend on the attribute are fields of its row: whether a
later value ends an earlier one, whether it lasts (law 1), whether it belongs to what a
chatbot needs to know about the user. A model may give further names; these have the
properties of `Attribute()`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from engram.core.language import languages
from engram.core.text import normalise


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute with all properties of the facts that give its value."""

    name: str = ""
    lasts: str = ""
    """The standing attribute of law 1 to which it belongs, or ''."""
    about: str = ""
    """The heading under which the user's profile shows it; '' for none."""
    category: str = "fact"
    """The category of a statement that gives it (row C3)."""
    tags: tuple[str, ...] = ()
    sure: bool = True
    """The rules rarely err about it; else their confidence is lower (row X2)."""
    single: bool = False
    """It has one value at a time: words of change end the earlier value."""
    replaced: bool = False
    """Any later value ends the earlier one, also without words of change."""
    several: bool = False
    """Another value is no contradiction: a person may have two jobs."""
    fixed: bool = False
    """Its value never changes: another value is a contradiction or a correction."""
    named: bool = False
    """Its value is a proper name."""
    person: bool = False
    """Its value is the name of a person."""
    mortal: bool = True
    """It ends with the death of its subject."""
    thing: bool = False
    """Its subject may be a thing: a price, the day of an appointment."""
    deed: bool = False
    """Its value is an activity of its subject, with the times of the activity."""
    daily: bool = False
    """It may hold for a time of the day only ("no coffee after noon")."""
    slot: bool = True
    """It has a value that a question may ask for; a promise or an event has none."""


def _row(name: str, flags: str = "", **values: Any) -> Attribute:
    return Attribute(name, **{**values, **dict.fromkeys(flags.split(), True)})


_BOND: dict[str, Any] = {"category": "relationship", "tags": ("relationship",)}
_HEALTH: dict[str, Any] = {"lasts": "health", "about": "health", "tags": ("health",)}
_DIET: dict[str, Any] = {"lasts": "diet", "about": "diet", "tags": ("diet",)}
_TASTE: dict[str, Any] = {"category": "preference", "tags": ("preference",)}
_AHEAD: dict[str, Any] = {"category": "commitment", "slot": False}

_ROWS = (
    _row("name", "named person", lasts="name", about="name", mortal=False),
    _row(
        "nickname", "single named person", lasts="name", about="name", mortal=False,
        category="preference",
    ),
    _row("age", "single replaced", lasts="birthday", about="birthday"),
    _row(
        "birthday", "fixed", lasts="birthday", about="birthday", mortal=False,
        tags=("birthday",),
    ),
    _row("home", "single replaced named", lasts="home", about="home"),
    _row("origin", "fixed", lasts="home", about="home", mortal=False),
    _row("address", "single", lasts="home", about="home"),
    _row("phone", "single", lasts="contact"),
    _row("email", "single", lasts="contact"),
    _row("contact", lasts="contact"),
    _row("employer", "single named", lasts="work", about="work"),
    _row("job", "single several", lasts="work", about="work"),
    _row("work", lasts="work", about="work"),
    _row("study", "single", lasts="study", about="work"),
    _row("partner", "single named person", lasts="family", about="family", **_BOND),
    _row("kin", "named person", lasts="family", about="family", mortal=False, **_BOND),
    _row("role", "single named person", lasts="family", mortal=False, **_BOND),
    _row("family", lasts="family", about="family", **_BOND),
    _row("pet", lasts="family", about="pet", category="relationship", tags=("pet",)),
    _row("alive", lasts="family", mortal=False),
    _row("health", **_HEALTH),
    _row("pregnant", "single", **_HEALTH),
    _row("allergy", "daily", **_HEALTH),
    _row("medication", **_HEALTH),
    _row("dose", "single replaced", **_HEALTH),
    _row("weight", "single replaced", lasts="health", tags=("health",)),
    _row("diet", "single replaced daily", **_DIET),
    _row("avoids", "daily", **_DIET),
    _row("car", "single named", lasts="possession", sure=False),
    _row("possession", lasts="possession"),
    _row("account", lasts="account", mortal=False),
    _row("how-to", lasts="how-to", mortal=False),
    _row("favourite", "single replaced", mortal=False, **_TASTE),
    _row("like", "daily", sure=False, **_TASTE),
    _row("eats", "daily", sure=False, **_TASTE),
    _row("habit", "deed", sure=False),
    _row("skill", category="skill"),
    _row("trouble", tags=("friction",), sure=False),
    _row("date", "single replaced thing", sure=False),
    _row("schedule", "single thing", sure=False),
    _row("figure", "single replaced thing", sure=False),
    _row("detail", "single replaced", sure=False),
    _row("wish", about="wish", mortal=False, slot=False),
    _row("promise", sure=False, **_AHEAD),
    _row("duty", sure=False, **_AHEAD),
    _row("reminder", **_AHEAD),
    _row("decision", category="decision", slot=False),
    _row("goal", tags=("goal",), sure=False, slot=False),
    _row("event", category="moment", sure=False, slot=False),
)  # fmt: skip

ATTRIBUTES = MappingProxyType({row.name: row for row in _ROWS})
"""The rows by name; `docs/contributing.md` says how to add one."""

_OTHER = Attribute()


def attribute(name: str) -> Attribute:
    """Return the row of an attribute; "favourite colour" has the row of `favourite`."""
    return ATTRIBUTES.get(name.partition(" ")[0], _OTHER)


def standing_by_words(text: str) -> str:
    """Return the standing attribute of law 1 that the words of a text name, or ''.

    It serves statements without an attribute, such as imports in a language without
    rules: `我对花生过敏` gives health. The words are in section `[standing]` of the
    language files; they may name too much, because a lost allergy cannot be restored.
    """
    return next(_words().found(normalise(text)), "")


@cache
def _words() -> languages.Screen[str]:
    """Return the words of each standing attribute in all languages."""
    listed: dict[str, tuple[list[str], list[str]]] = {}
    for code, rows in languages.section("standing").items():
        for name, words in rows.items():
            spaced = code not in languages.unspaced()
            listed.setdefault(name, ([], []))[spaced].append(words)
    return languages.Screen(
        (name, languages.LazyPattern(one))
        for name, (signs, spaced) in listed.items()
        for one in (*signs, rf"\b(?:{'|'.join(spaced) or '(?!)'})")
    )
