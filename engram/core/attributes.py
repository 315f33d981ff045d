"""The attributes of which statements give a value, one row each (rows A7, E5, X31).

A fact may have an attribute and a value: `home` and `Graz`. With its subject they are
its slot. All properties that depend on the attribute are fields of its row: whether a
later value ends an earlier one, whether it lasts (law 1), whether it belongs to what a
chatbot needs to know about the user. A model may give further names; these have the
properties of `Attribute()`.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute with all properties of the facts that give its value."""

    name: str = ""
    lasts: str = ""
    """The standing attribute of law 1 to which it belongs, or ''."""
    single: bool = False
    """It has one value at a time: words of change end the earlier value."""
    replaced: bool = False
    """Any later value ends the earlier one, also without words of change."""
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
    daily: bool = False
    """It may hold for a time of the day only ("no coffee after noon")."""
    about: str = ""
    """The heading under which the user's profile shows it; '' for none."""


_ROWS = (
    Attribute("name", "name", named=True, person=True, mortal=False, about="name"),
    Attribute(
        "nickname", "name", single=True, named=True, person=True, mortal=False,
        about="name",
    ),
    Attribute("age", "birthday", single=True, replaced=True, about="birthday"),
    Attribute("birthday", "birthday", fixed=True, mortal=False, about="birthday"),
    Attribute(
        "home", "home", single=True, replaced=True, named=True, about="home"
    ),
    Attribute("origin", "home", fixed=True, named=True, mortal=False, about="home"),
    Attribute("address", "home", single=True, about="home"),
    Attribute("phone", "contact", single=True),
    Attribute("email", "contact", single=True),
    Attribute("employer", "work", single=True, named=True, about="work"),
    Attribute("job", "work", single=True, about="work"),
    Attribute("study", "study", single=True, about="work"),
    Attribute(
        "partner", "family", single=True, named=True, person=True, about="family"
    ),
    Attribute("kin", "family", named=True, person=True, mortal=False, about="family"),
    Attribute(
        "role", "family", single=True, named=True, person=True, mortal=False
    ),
    Attribute("pet", "family", about="pet"),
    Attribute("alive", "family", mortal=False),
    Attribute("health", "health", about="health"),
    Attribute("pregnant", "health", single=True, about="health"),
    Attribute("allergy", "health", daily=True, about="health"),
    Attribute("medication", "health", about="health"),
    Attribute("dose", "health", single=True, replaced=True, about="health"),
    Attribute("weight", "health", single=True, replaced=True),
    Attribute("diet", "diet", single=True, replaced=True, daily=True, about="diet"),
    Attribute("avoids", "diet", daily=True, about="diet"),
    Attribute("work", "work", about="work"),
    Attribute("family", "family", about="family"),
    Attribute("contact", "contact"),
    Attribute("possession", "possession"),
    Attribute("account", "account", mortal=False),
    Attribute("how-to", "how-to", mortal=False),
    Attribute("car", "possession", single=True, named=True),
    Attribute("favourite", single=True, replaced=True, mortal=False),
    Attribute("like", daily=True),
    Attribute("eats", daily=True),
    Attribute("habit", daily=True),
    Attribute("date", single=True, replaced=True, thing=True),
    Attribute("schedule", single=True, thing=True),
    Attribute("figure", single=True, replaced=True, thing=True),
)  # fmt: skip

ATTRIBUTES = MappingProxyType({row.name: row for row in _ROWS})
"""The rows by name; `docs/contributing.md` says how to add one."""

_OTHER = Attribute()


def attribute(name: str) -> Attribute:
    """Return the row of an attribute; "favourite colour" has the row of `favourite`."""
    return ATTRIBUTES.get(name.partition(" ")[0], _OTHER)
