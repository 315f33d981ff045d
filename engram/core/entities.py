"""Who and what memories are about: names, types, and when two writings mean one (rows
A20, C13, E2, E5, B1).
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING

from engram.core.categories import category_of
from engram.core.language.words import STOP, words
from engram.core.records import ENTITY_TYPES
from engram.core.text import normalise

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from engram.core.policy import ExtractionPolicy
    from engram.core.records import Entity

OWNER = "owner"
"""The name of the person whose memory this is, where none is known; their ref is
`person:owner`.
"""

ALIAS = "alias"
"""The relation that gives an entity another name, by which it is known from then on."""

EXCLUSIVE_RELATIONS = frozenset(
    {
        "works_at",
        "lives_in",
        "partner",
        "spouse",
        "husband",
        "wife",
        "fiance",
        "girlfriend",
        "boyfriend",
        "boss",
    }
)
"""Relations that hold to one at a time: a new one ends the old (row B1)."""

COUPLE_RELATIONS = frozenset(
    {"partner", "spouse", "husband", "wife", "fiance", "girlfriend", "boyfriend"}
)
"""Relations that end together, whatever the two were called and by whom: `we broke up`.
"""

LIFETIMES = ("week", "month", "year", "forever")
"""How long an extractor may say that a memory holds (row B19)."""

_OWNERS = frozenset(
    {
        "owner",
        "the_owner",
        "user",
        "the_user",
        "general",
        "i",
        "me",
        "myself",
        "speaker",
        "the_speaker",
    }
)
_FACTS = ("friction", "habit")
_AREAS = {"person": "people", "project": "project"}
_NO_LABEL = re.compile(r"[^\w]+|_+")
_ORG = re.compile(
    r"\b(?:inc|llc|ltd|plc|corp|co|gmbh|ag|kg|e\.v|s\.a|srl|s\.p\.a|bv|oy|ab|university|universität|université"
    r"|universidad|università|universidade|hochschule|institute|institut|bank|hospital|foundation|ministry)\.?$"
    r"|^(?:university|université|universidad|università|universidade|bank|ministry) (?:of|de|di|do|da)\b",
    re.IGNORECASE,
)


@lru_cache(8192)
def name_key(name: str) -> str:
    """The form in which two writings of one name are equal (`C13`, `E2`): lower case,
    all else than words to `_`.

    Letters of any script. Accents and word order count: Müller and Muller may be two
    people, and so may `Müller, Anna`, until a person says by an alias that they are
    one. `+` and `#` stay, so C, C++ and C# are three.

    >>> name_key("Anna  Müller"), name_key("ANNA-MÜLLER"), name_key("John O'Doe")
    ('anna_müller', 'anna_müller', 'john_o_doe')
    """
    plain = normalise(name)
    signs = (" " if sign in "_-" or _is_punctuation(sign) else sign for sign in plain)
    return "_".join("".join(signs).split()) or plain


def entity_ref(entity_type: str, name: str) -> str:
    """`<type>:<slug>`, by which edges and slots name an entity (`E2`).

    >>> entity_ref("person", "John Doe")
    'person:john_doe'
    """
    return f"{entity_type}:{name_key(name)}"


def is_owner(name: str) -> bool:
    """Whether `name` only says that the owner of the memory is meant: `the user`,
    `owner`, `me` (`A20`).
    """
    return name_key(name) in _OWNERS


class EntityNames:
    """Entities by what they are called; each stands at a place, such as the path of its
    note.

    A name beats an alias. Two entities of one name, or one alias of two, are nobody:
    two people may share a first name, and Anna is never taken for Anna Müller unless an
    alias says so (`C13`).
    """

    def __init__(self) -> None:
        self._held: dict[str, Entity] = {}
        self._names: defaultdict[str, set[str]] = defaultdict(set)
        self._aliases: defaultdict[str, set[str]] = defaultdict(set)

    def put(self, place: str, entity: Entity) -> None:
        """Take in the entity at `place`, instead of what stood there."""
        self.drop(place)
        self._held[place] = entity
        self._names[name_key(entity.name)].add(place)
        for alias in entity.aliases:
            self._aliases[name_key(alias)].add(place)

    def drop(self, place: str) -> None:
        """Forget the entity at `place`, if there is one."""
        entity = self._held.pop(place, None)
        if entity is not None:
            self._names[name_key(entity.name)].discard(place)
            for alias in entity.aliases:
                self._aliases[name_key(alias)].discard(place)

    def called(self, name: str) -> list[Entity]:
        """All whose own name this is."""
        return [
            self._held[place] for place in sorted(self._names.get(name_key(name), ()))
        ]

    def one(self, name: str) -> Entity | None:
        """The one entity that goes by `name`, or None where there is none or more than
        one. Safe from any thread.
        """
        places = tuple(
            self._names.get(name_key(name)) or self._aliases.get(name_key(name)) or ()
        )
        return self._held.get(places[0]) if len(places) == 1 else None

    def all(self) -> tuple[Entity, ...]:
        """Every entity, in the order of their places."""
        return tuple(entity for _, entity in sorted(self._held.items()))


def find_entity(name: str, entities: Iterable[Entity]) -> Entity | None:
    """The one of `entities` that goes by `name` or has it as an alias, or None
    (`EntityNames`).
    """
    names = EntityNames()
    for place, entity in enumerate(entities):
        names.put(str(place), entity)
    return names.one(name)


def entity_type_of(name: str, hint: str = "") -> str:
    """What type of entity `name` is (`B1`): the hint if it is a type, an organisation
    by its form, else a concept.

    The hint is what an extractor said, or `person` for somebody who speaks. Guessing
    more from a name alone would be wrong too often; a person moves the note or sets its
    type.

    >>> entity_type_of("University of Porto"), entity_type_of("Anna"), entity_type_of("Anna", "person")
    ('org', 'concept', 'person')
    """
    if hint in ENTITY_TYPES:
        return hint
    return "org" if _ORG.search(" ".join(name.split())) else "concept"


def relation_label(words_of_it: str) -> str:
    """The type of a relation as one word: lower case, all else than letters and digits
    to `_`; '' if none is left.

    >>> relation_label("Works at")
    'works_at'
    """
    return (
        _NO_LABEL.sub("_", normalise(words_of_it)).strip("_")
        if any(map(str.isalnum, words_of_it))
        else ""
    )


def slot_key(
    category: str, entity_type: str, primary: str, tags: Sequence[str] = ()
) -> str:
    """`type|entityType|primaryRef|factType`, a key to compare memories under, never
    their identity (`E5`, `E1`, `E3`).

    `primary` is the ref of the first entity, '' for the owner; type is profile, people
    or project.

    >>> slot_key("preference", "person", "person:anna")
    'people|person|person:anna|preference'
    """
    kind = next((tag for tag in _FACTS if tag in tags), category_of(category).slot)
    if not primary or primary == entity_ref("person", OWNER):
        return f"profile|person|{entity_ref('person', OWNER)}|{kind}"
    return f"{_AREAS.get(entity_type, 'people')}|{entity_type}|{primary}|{kind}".lower()


def names_subject(query_words: Sequence[str], names: Iterable[str]) -> bool:
    """Whether the query names the subject, by a name or an alias (`A20`).

    `query_words` are the query's `words`, which have lost their possessive 's. The
    owner never matches, nor does a name of stop words alone, which every question
    holds.
    """
    return any(
        _stands(words(name), query_words) for name in names if not is_owner(name)
    )


def lifetime_end(
    lifetime: str, said: datetime, policy: ExtractionPolicy
) -> datetime | None:
    """When a memory ends that is said to hold for a week, a month or a year: 7, 30, 365
    days on (`B19`); else None.
    """
    days: Mapping[str, float] = {
        "week": policy.week_days,
        "month": policy.month_days,
        "year": policy.year_days,
    }
    return said + timedelta(days=days[lifetime]) if lifetime in days else None


def outdated_reason(
    described: datetime | None, told: Iterable[datetime], edited: datetime | None = None
) -> str | None:
    """Why the description of an entity, written at `described`, is out of date, or None
    (`B12`).

    `told` are the times at which something was filed about it, `edited` the last time
    anybody else wrote its note. It follows from what there is, so nothing has to be
    marked, or can be marked wrongly.
    """
    latest = max(told, default=None)
    if latest and (described is None or latest > described):
        return "something was told since"
    return (
        "its note was edited" if edited and described and edited > described else None
    )


def _is_punctuation(sign: str) -> bool:
    return sign != "#" and unicodedata.category(sign)[0] == "P"


def _stands(name: Sequence[str], query: Sequence[str]) -> bool:
    if not name or all(word in STOP["en"] for word in name):
        return False
    return any(
        list(query[start : start + len(name)]) == list(name)
        for start in range(len(query) - len(name) + 1)
    )
