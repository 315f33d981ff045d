"""Names and types of entities, and the equality of names (A20, C13, E2, E5, B1)."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from datetime import datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING

from engram.core.language.languages import LazyPattern
from engram.core.language.words import STOP, words
from engram.core.records import ENTITY_TYPES, Entity, Turn
from engram.core.text import normalise

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from engram.core.policy import ExtractionPolicy

OWNER = "owner"
"""The display name of the vault's owner if none is known; the ref is `person:owner`."""

OWNER_ALIAS = "the user"
"""The alias that marks the note of a person as the owner's."""

ALIAS = "alias"
"""The relation that adds another name to an entity."""

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
"""Relations to one target at a time: a new one ends the old one (row B1)."""

COUPLE_RELATIONS = frozenset(
    {"partner", "spouse", "husband", "wife", "fiance", "girlfriend", "boyfriend"}
)
"""Relations of any type that end together, as in `we broke up`."""

LIFETIMES = ("week", "month", "year", "forever")
"""The possible lifetimes of a memory (row B19)."""

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
_NO_LABEL = LazyPattern(r"[^\w]+|_+")
_ORG = LazyPattern(
    r"\b(?:inc|llc|ltd|plc|corp|co|gmbh|ag|kg|e\.v|s\.a|srl|s\.p\.a|bv|oy|ab|university|universität|université"
    r"|universidad|università|universidade|hochschule|institute|institut|bank|hospital|foundation|ministry)\.?$"
    r"|^(?:university|université|universidad|università|universidade|bank|ministry) (?:of|de|di|do|da)\b",
    re.IGNORECASE,
)


@lru_cache(8192)
def name_key(name: str) -> str:
    """Return the normal form of a name, equal for all its spellings (`C13`, `E2`).

    Letters of any script become lower case, all other characters `_`. Accents and word
    order count: Müller and Muller may be two people, and so may `Müller, Anna`, unless
    an alias joins them. `+` and `#` stay, so C, C++ and C# are three.

    >>> name_key("Anna  Müller"), name_key("ANNA-MÜLLER"), name_key("John O'Doe")
    ('anna_müller', 'anna_müller', 'john_o_doe')
    """
    plain = normalise(name)
    signs = (" " if sign in "_-" or _is_punctuation(sign) else sign for sign in plain)
    return "_".join("".join(signs).split()) or plain


def entity_ref(entity_type: str, name: str) -> str:
    """Return `<type>:<slug>`, the ref of an entity in edges and slots (`E2`).

    >>> entity_ref("person", "John Doe")
    'person:john_doe'
    """
    return f"{entity_type}:{name_key(name)}"


def is_owner(name: str) -> bool:
    """Return whether `name` means the owner: `the user`, `owner`, `me` (`A20`)."""
    return name_key(name) in _OWNERS


def is_assistant(name: str) -> bool:
    """Return whether `name` means the assistant, which is no entity."""
    return name_key(name) in {"assistant", "the_assistant"}


class EntityNames:
    """Entities by name and alias; each has a place, such as the path of its note.

    A name takes precedence over an alias. An ambiguous name or alias refers to no
    entity: two people may share a first name, and Anna is Anna Müller only by an alias
    (`C13`).

    The entity with an alias such as `the user` is the owner. `given` are the names of
    the owner in the configuration.
    """

    def __init__(self, given: Iterable[str] = ()) -> None:
        self._entities: dict[str, Entity] = {}
        self._names: defaultdict[str, set[str]] = defaultdict(set)
        self._aliases: defaultdict[str, set[str]] = defaultdict(set)
        self._given = tuple(given)
        self._owners: set[str] = set()
        self._owner_names: tuple[str, ...] | None = None
        self._owner_keys: frozenset[str] | None = None
        self._beings: frozenset[str] | None = None

    def put(self, place: str, entity: Entity) -> None:
        """Add the entity at `place`, replacing an earlier entity there."""
        self.drop(place)
        self._entities[place] = entity
        self._names[name_key(entity.name)].add(place)
        for alias in entity.aliases:
            self._aliases[name_key(alias)].add(place)
        if any(map(is_owner, entity.aliases)):
            self._owners.add(place)

    def drop(self, place: str) -> None:
        """Remove the entity at `place`, if there is one."""
        entity = self._entities.pop(place, None)
        self._owners.discard(place)
        self._owner_names = self._owner_keys = self._beings = None
        if entity is not None:
            self._names[name_key(entity.name)].discard(place)
            for alias in entity.aliases:
                self._aliases[name_key(alias)].discard(place)

    def called(self, name: str) -> list[Entity]:
        """Return all entities with this name; aliases do not count."""
        return [
            self._entities[place]
            for place in sorted(self._names.get(name_key(name), ()))
        ]

    def one(self, name: str) -> Entity | None:
        """Return the only entity with this name or alias, or None. Thread-safe."""
        places = tuple(
            self._names.get(name_key(name)) or self._aliases.get(name_key(name)) or ()
        )
        return self._entities.get(places[0]) if len(places) == 1 else None

    def owner(self) -> Entity | None:
        """Return the entity of the owner, or None.

        The first of several counts. Without an alias such as `the user`, the configured
        names decide.
        """
        places = sorted(self._owners)
        if places:
            return self._entities.get(places[0])
        named = (self.one(name) for name in self._given)
        return next(
            (entity for entity in named if entity and entity.type == "person"), None
        )

    def owner_words(self) -> frozenset[str]:
        """Return the folded words of the owner's names."""
        return frozenset(
            word for name in self.owner_names() for word in normalise(name).split()
        )

    def owner_names(self) -> tuple[str, ...]:
        """Return the names of the owner: the configured ones, then those of their note.

        A name in the note that another entity also has is left out.
        """
        if self._owner_names is None:
            self._owner_names = self._names_of_owner()
        return self._owner_names

    def _names_of_owner(self) -> tuple[str, ...]:
        places = sorted(self._owners)
        entities = [
            self._entities[place] for place in places if place in self._entities
        ]
        if not entities and (named := self.owner()):
            entities = [named]
        noted = (
            name
            for entity in entities
            for name in (entity.name, *entity.aliases)
            if not is_owner(name)
            and all(other_entity in entities for other_entity in self.called(name))
        )
        return tuple(dict.fromkeys((*self._given, *noted)))

    def is_owner(self, name: str) -> bool:
        """Return whether `name` is `the user` or another name of the owner (`A20`)."""
        keys = self._owner_keys
        if keys is None:
            keys = self._owner_keys = frozenset(map(name_key, self.owner_names()))
        return is_owner(name) or name_key(name) in keys

    def beings(self) -> frozenset[str]:
        """Return the names of all persons and animals but the owner. Thread-safe."""
        found = self._beings
        if found is None:
            found = self._beings = frozenset(
                name
                for entity in list(self._entities.values())
                if entity.type in {"person", "animal"}
                for name in (entity.name, *entity.aliases)
                if not self.is_owner(name)
            )
        return found

    def all(self) -> tuple[Entity, ...]:
        """Return all entities in the order of their places."""
        return tuple(entity for _, entity in sorted(self._entities.items()))


def is_of_owner(turn: Turn, names: EntityNames) -> bool:
    """Return whether the owner is the speaker of a turn.

    The owner speaks every turn with the role user, also under another label. In a
    group, the label must be a name of the owner.
    """
    if turn.role != "user":
        return False
    return not turn.group or not turn.speaker or names.is_owner(turn.speaker)


def subjects(
    text: str, about: Iterable[str], turn: Turn, names: EntityNames
) -> list[str]:
    """Return the names that a statement is about, without the owner's label (`A20`).

    A statement without a name is about the known person or animal with whose name its
    `text` begins, else about another speaker of a group.
    """
    stated = list(about) or _leading_name(text, names)
    if turn.speaker and is_of_owner(turn, names):
        label = name_key(turn.speaker)
        return [name for name in stated if name_key(name) != label]
    return stated or ([turn.speaker] if turn.group and turn.speaker else [])


def _leading_name(text: str, names: EntityNames) -> list[str]:
    """Return the known name at the beginning of a text, without a possessive 's."""
    spoken = _POSSESSIVE.sub("", text).split()
    for length in range(_NAME_WORDS, 0, -1):
        name = " ".join(spoken[:length]).strip(",.:;!?")
        entity = names.one(name) if name[:1].isupper() else None
        if entity and entity.type in {"person", "animal"}:
            return [entity.name] if names_subject(words(name), [name]) else []
    return []


_POSSESSIVE = LazyPattern(r"['’]s\b")
_NAME_WORDS = 3


def entity_type_of(name: str, hint: str = "") -> str:
    """Return the type of an entity (`B1`): a valid `hint`, else a type by the name.

    The hint is the extractor's, or `person` for a speaker. An organisation is
    recognised by the form of its name; all others are concepts, because further guesses
    from a name would be wrong too often. The user moves the note or sets its type.

    >>> entity_type_of("University of Porto"), entity_type_of("Anna", "person")
    ('org', 'person')
    """
    if hint in ENTITY_TYPES:
        return hint
    if _ORG.search(" ".join(name.split())):
        return "org"
    return "concept"


def relation_label(words_of_it: str) -> str:
    """Return the type of a relation as one lower-case word with `_`, or ''.

    >>> relation_label("Works at")
    'works_at'
    """
    return (
        _NO_LABEL.sub("_", normalise(words_of_it)).strip("_")
        if any(map(str.isalnum, words_of_it))
        else ""
    )


def names_subject(query_words: Sequence[str], names: Iterable[str]) -> bool:
    """Return whether the query contains a name or an alias of the subject (`A20`).

    `query_words` are the query's `words`, without possessive 's. The owner never
    matches, nor does a name that consists of stop words, which every question contains.
    """
    return any(
        _contains_phrase(words(name), query_words)
        for name in names
        if not is_owner(name)
    )


def lifetime_end(
    lifetime: str, stated_at: datetime, policy: ExtractionPolicy
) -> datetime | None:
    """Return the end of a memory with this lifetime, or None (`B19`).

    It is 7, 30 or 365 days after `stated_at` for week, month and year.
    """
    days: Mapping[str, float] = {
        "week": policy.week_days,
        "month": policy.month_days,
        "year": policy.year_days,
    }
    return stated_at + timedelta(days=days[lifetime]) if lifetime in days else None


def _is_punctuation(sign: str) -> bool:
    return sign != "#" and unicodedata.category(sign)[0] == "P"


def _contains_phrase(name: Sequence[str], query: Sequence[str]) -> bool:
    if not name or all(word in STOP["en"] for word in name):
        return False
    return any(
        list(query[start : start + len(name)]) == list(name)
        for start in range(len(query) - len(name) + 1)
    )
