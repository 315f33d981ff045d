"""The people in a clause: names, relations to the speaker, pronouns (rows X2, B1).

A pronoun stays if the statement itself names its person, and otherwise refuses the
statement; a leading `he` or `she` is the only person named before.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.core.language import languages
from engram.core.language.states import USER
from engram.extraction.rules.table import (
    NAME,
    TITLED_NAME,
    pattern_of,
    pattern_with_case,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from engram.core.language.states import State

_NAMED = pattern_with_case("named")


def names(words: str) -> tuple[str, ...]:
    """Return the names of people and animals in a clause."""
    return tuple(
        name
        for match in _NAMED.finditer(words)
        for name in re.findall(TITLED_NAME, match[1])
    )


_NO_NAME = pattern_of("never_names")
_A_NAME = re.compile(NAME)
_POSSESSED = re.compile(r"'s$")


@dataclass(frozen=True, slots=True)
class NamedSubject:
    """A named person or animal that a clause is about, up to `end`.

    `kin` is their relation to the speaker (`sister`), or ''.
    """

    name: str
    kin: str
    end: int
    is_known: bool = False


_KIN_NAMED = pattern_of("kin_named")
_KIN_LISTED = pattern_of("kin_listed")
_KIN_CALLED = pattern_of("kin_called")
_IS_KIN = pattern_of("is_kin")
_OPENING = pattern_with_case("opening_name")
_ONE_OF = pattern_of("one_of")


def leading_person(text: str, start: int, end: int) -> NamedSubject | None:
    """Return the person at the beginning of `text[start:end]`, or None.

    Examples are `My sister Anna …` and `Anna …`.
    """
    found = _KIN_NAMED.match(text, start, end)
    kin = found["kin"] if found else ""
    found = found or _ONE_OF.match(text, start, end) or _OPENING.match(text, start, end)
    if found is None or _is_many(kin):
        return None
    name = _POSSESSED.sub("", found["name"])
    if any(_NO_NAME.match(word) for word in name.split()):
        return None
    return NamedSubject(name, kin, found.start("name") + len(name))


_GIVING = pattern_of("giving")
"""A verb after which a capital may begin a thing: `I bought my mother Swiss chocolate`.
"""
_FURTHER = re.compile(r" (?!I\b)[^\W\d_a-z]")


def people_mentioned(text: str, start: int, end: int) -> Iterator[NamedSubject]:
    """Yield the relatives, friends and animals after the beginning of a clause.

    The clause is `text[start:end]`, such as `I went with my sister Anna`, or
    `our kids Ben and Ada sleep`, where a list may also be at its beginning.
    """
    for match in _KIN_NAMED.finditer(text, start + 1, end):
        name = _POSSESSED.sub("", match["name"])
        is_name = not _is_many(match["kin"]) and not any(
            _NO_NAME.match(word) for word in name.split()
        )
        is_longer = _FURTHER.match(text, match.end()) is not None
        if is_name and not is_longer and not _GIVING.search(text, start, match.start()):
            yield NamedSubject(name, match["kin"], match.end())
    for match in _KIN_LISTED.finditer(text, start, end):
        kin = match["kin"].casefold()
        kin = _SINGULAR.get(kin, kin.removesuffix("s"))
        for name in re.split(r"\s*,?\s+and\s+|\s*,\s+", match["names"]):
            if not _NO_NAME.match(name):
                yield NamedSubject(name, kin, match.end())


_SINGULAR = {
    "children": "child",
    "grandchildren": "grandchild",
    "grandkids": "grandchild",
    "kids": "child",
}


def relatives(texts: Iterable[str]) -> frozenset[str]:
    """Return the names that `texts` introduce as relatives or friends of the speaker.

    `my sister Anna`, `Anna is my sister`.
    """
    found = (
        kin_match
        for text in texts
        for pattern in (_KIN_NAMED, _KIN_CALLED, _IS_KIN)
        for kin_match in pattern.finditer(text)
    )
    return frozenset(_POSSESSED.sub("", kin_match["name"]) for kin_match in found)


def _is_many(kin: str) -> bool:
    return kin.casefold() in {"children", "kids", "fish"} or (
        kin.endswith("s") and not kin.endswith("boss")
    )


# Relations.


@dataclass(frozen=True, slots=True)
class RelationHint:
    """A relation in a statement: the `subject`'s `type` is `object`.

    `kinds` are the types of the named entities; `ended` is true if it no longer holds.
    """

    subject: str
    type: str
    object: str
    kinds: tuple[tuple[str, str], ...]
    ended: bool = False


_LED = re.compile(rf"{NAME}(?: {NAME})?(?!\w)")
_KIN_OF = pattern_of("kin_of")
_AGE_OF_KIN = pattern_of("age_of_kin")


_RELATIONS = {
    "home": ("lives_in", "place"),
    "employer": ("works_at", "org"),
    "partner": ("partner", "person"),
    "kin": ("", "person"),
    "role": ("", "person"),
}
"""The relation that a value of an attribute shows, and the type of its object; '' is
that of the kind, such as `sister`.
"""


def relation_shown(state: State, person: str, words: str) -> RelationHint | None:
    """Return the relation that a state shows if both sides are named (`B1`).

    `person` is the subject, '' for the speaker; `words` are those of the clause: `my
    boss is called Ben` gives `RelationHint("", "boss", "Ben", …)`.
    """
    name, _, kind = state.attribute.partition(" ")
    is_own = state.subject == (USER,) or bool(person)
    led = _LED.match(state.written)
    if name not in _RELATIONS or not is_own or led is None or not _is_name(led[0]):
        return None
    if state.listed:
        return None
    relation, type_ = _RELATIONS[name]
    if name == "partner":
        found = _BOND.search(words)
        relation = _BONDS.get(found[0].casefold(), found[0]) if found else relation
    relation = relation or _relation_of(kind)
    kinds = ((led[0], type_), *(((person, "person"),) if person else ()))
    return RelationHint(person, relation.casefold(), led[0], kinds, ended=state.over)


_BOND = pattern_of("bond")
_BONDS = {"married": "spouse", "engaged": "fiance", "dating": "partner"}


def _relation_of(kind: str) -> str:
    """Return the English name of a relation, without words such as `older`."""
    bare_kind = _AGE_OF_KIN.sub("", kind.casefold())
    return languages.all_pairs("rules", "kin").get(bare_kind, bare_kind)


def kinship_hint(speaker: str, kin: str, name: str) -> RelationHint | None:
    """Return a relation to the speaker; None for animals and for several people."""
    match = _KIN_OF.fullmatch(kin)
    kind = match["kin"] if match else kin
    relation = _relation_of(kind)
    is_kin = match is not None or relation != kind.casefold()
    if not is_kin or _is_many(kind) or not _is_name(name):
        return None
    return RelationHint(speaker, relation, name, ((name, "person"),))


def _is_name(name: str) -> bool:
    return _LED.fullmatch(name) is not None and not any(
        _NO_NAME.match(word) for word in name.split()
    )


# Pronouns.

_PRONOUN = pattern_of("pronoun")
_ANYBODY = pattern_of("anybody")
_SEVERAL = pattern_of("several")
_PERSON = pattern_of("person")
_SITE = pattern_with_case("site")
_SHE = pattern_of("female_kin")
_HE = pattern_of("male_kin")


def has_open_pronoun(raw: str, head: str) -> bool:
    """Return whether a pronoun of `raw` stands for somebody who is not named in it.

    `head` is the clause up to `raw`. `met Anna and her dog` has none.
    """
    for found in _PRONOUN.finditer(raw):
        ahead = f"{head} {raw[: found.start()]}"
        is_named = (found["one"] and _ANYBODY.search(ahead)) or (
            found["many"] and _SEVERAL.search(raw[: found.start()])
        )
        if not is_named and not (found["thing"] and found.start() > 0):
            return True
    return False


_SENTENCE = pattern_with_case("sentence_start")
_KIN_OF_NAME = pattern_with_case("kin_of_name")
_OF_KIN = pattern_of("is_kin_of")


def amid(text: str) -> str:
    """Return `text` without the first words of sentences, always capitalised."""
    return _SENTENCE.sub(" ", text)


def person_meant(pronoun: str, before: str, earlier: str) -> str:
    """Return the person to whom `he` or `she` refers, or ''.

    It is the only fitting one in `before`, else in `earlier`. `person_meant("She", "My
    boss is called Ingrid.", "") == "Ingrid"`.
    """
    people = _people(before)
    if not people and not _A_NAME.search(amid(before)):
        people = _people(earlier)
    if len(people) != 1:
        return ""
    ((name, kin),) = people.items()
    unfit = _SHE if pronoun.casefold() == "he" else _HE
    return (
        "" if name.startswith("their ") or unfit.search(kin) or _is_many(kin) else name
    )


def _people(before: str) -> dict[str, str]:
    """Return the people named in `before`, with their relation to the speaker.

    The result is empty if a further name may be that of a person.
    """
    people: dict[str, str] = {}
    read = 0
    for match in _PERSON.finditer(before):
        if match["kin"]:
            if match.start() >= read:
                people[match["known"] or f"their {match['kin']}"] = match["kin"]
            continue
        name = _POSSESSED.sub("", match["name"] or match["doer"])
        if not any(_NO_NAME.match(word) for word in name.split()):
            of_kin = _OF_KIN.match(before, match.end())
            people[name] = of_kin["kin"] if of_kin else people.get(name, "")
            read = of_kin.end() if of_kin else read
    return {} if _has_other_name(_KIN_OF_NAME.sub("", before), people) else people


def _has_other_name(text: str, people: Iterable[str]) -> bool:
    """Return whether a text has a name that is neither one of `people` nor a place."""
    known = set(" ".join((*people, *_SITE.findall(text))).split())
    words = {
        _POSSESSED.sub("", word)
        for name in _A_NAME.findall(text)
        for word in name.split()
    }
    return any(word not in known and not _NO_NAME.match(word) for word in words)
