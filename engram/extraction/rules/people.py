"""The people whom a clause names, and how they are related to the speaker (X2, B1)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engram.core.language import languages
from engram.core.language.states import USER, State
from engram.extraction.rules.table import NAME, SPEAKERS, TITLED_NAME, pattern_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_NO_NAME = pattern_of("never_names")
_NAMED = pattern_of("named")
_AND = re.compile(r"\s*(?:,\s+and|,|\sand)\s+")


def names(words: str) -> tuple[str, ...]:
    """Return the names of people and animals in a clause."""
    return tuple(
        name
        for match in _NAMED.finditer(words)
        for name in re.findall(TITLED_NAME, match[1])
    )


@dataclass(frozen=True, slots=True)
class Relative:
    """A named relative, friend or animal of the speaker: `my sister Anna`.

    `kin` is the relation (`sister`). The words are `text[start:end]`, with the name at
    their end.
    """

    name: str
    kin: str
    start: int
    end: int
    language: str = ""


_RELATIVE = {code: pattern_of("relative", code) for code in SPEAKERS}
_BEFORE_RELATIVE = pattern_of("before_relative")


def relatives(text: str, start: int, end: int) -> Iterator[Relative]:
    """Yield the relatives whom `text[start:end]` names.

    They stand at its beginning or after a preposition (`I went with my sister Anna`),
    because after a verb the name may be that of a thing (`I bought my mother Swiss
    chocolate`). `Our sons Nico and Paul` are two.
    """
    for code, pattern in _RELATIVE.items():
        for match in pattern.finditer(text, start, end):
            before = text[start : match.start()]
            if before and not _BEFORE_RELATIVE.search(before):
                continue
            kin = match["kin"]
            listed = _AND.split(match["names"].removesuffix("'s"))
            if is_many(kin) and len(listed) == 1:
                continue
            for name in filter(is_name, listed if is_many(kin) else listed[:1]):
                stop = text.find(name, match.start("names")) + len(name)
                yield Relative(name, _singular(kin), match.start(), stop, code)


def person_meant(text: str, before: int, start: int, end: int) -> Relative | None:
    """Return the relative whom a leading `he` or `she` of `text[start:end]` means.

    It is the only person of whom the words from `before` on have spoken.
    """
    pronoun = _HE_OR_SHE.match(text, start, end)
    found = [*relatives(text, before, start)] if pronoun else []
    if pronoun is None or len(found) != 1:
        return None
    one = found[0]
    if _ANYBODY.search(f"{text[before : one.start]} {text[one.end : start]}"):
        return None
    return replace(one, start=start, end=pronoun.end())


def known_relatives(texts: Iterable[str]) -> frozenset[str]:
    """Return the names of the relatives in texts."""
    return frozenset(
        one.name for text in texts for one in relatives(text, 0, len(text))
    )


def animals(text: str) -> list[str]:
    """Return the names of animals in a statement.

    >>> animals("The user has a cat named Oskar."), animals("The dog is old.")
    (['Oskar'], [])
    """
    found = (name for match in _ANIMAL.finditer(text) for name in match.groups())
    return list(dict.fromkeys(filter(None, found)))


_ANIMAL = pattern_of("animal")


def is_many(kin: str) -> bool:
    """Return whether a word for relatives means several: `sons`."""
    return kin.endswith(("s", "children")) and not kin.endswith("boss")


def _singular(kin: str) -> str:
    if not is_many(kin):
        return kin
    return "child" if kin.endswith(("kids", "children")) else kin.removesuffix("s")


def is_of_he_or_she(sentence: str) -> bool:
    """Return whether a sentence begins with `he` or `she`."""
    return _HE_OR_SHE.match(sentence) is not None


def is_name(words: str) -> bool:
    """Return whether words may be a name: no weekday, month or language."""
    return _LED.fullmatch(words) is not None and not any(
        _NO_NAME.match(word) for word in words.split()
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


_LED = re.compile(rf"{TITLED_NAME}(?: {NAME})?(?!\w)")
_KIN = pattern_of("kin")
_AGE_OF_KIN = pattern_of("age_of_kin")
_BOND = pattern_of("bond")
_BONDS = {"married": "spouse", "engaged": "fiance", "dating": "partner"}
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
    if name not in _RELATIONS or not is_own or led is None or not is_name(led[0]):
        return None
    if state.listed:
        return None
    relation, type_ = _RELATIONS[name]
    if name == "partner" and (bond := _BOND.search(words)):
        relation = _BONDS.get(bond[0].casefold(), bond[0])
    relation = relation or _relation_of(kind)
    kinds = ((led[0], type_), *(((person, "person"),) if person else ()))
    return RelationHint(person, relation.casefold(), led[0], kinds, ended=state.over)


def _relation_of(kind: str) -> str:
    """Return the English name of a relation, without words such as `older`."""
    bare_kind = _AGE_OF_KIN.sub("", kind.casefold())
    return languages.all_pairs("rules", "kin").get(bare_kind, bare_kind)


def kinship_hint(speaker: str, kin: str, name: str) -> RelationHint | None:
    """Return a relation to the speaker; None for animals."""
    relation = _relation_of(kin)
    is_kin = _KIN.fullmatch(kin) is not None or relation != kin.casefold()
    if not is_kin or not is_name(name):
        return None
    return RelationHint(speaker, relation, name, ((name, "person"),))


# Pronouns.

_PRONOUN = pattern_of("pronoun")
_ANYBODY = pattern_of("anybody")
_HE_OR_SHE = pattern_of("he_or_she")


def has_open_pronoun(words: str) -> bool:
    """Return whether a pronoun stands for somebody whom the words do not name before.

    `met Anna and her dog` has none, `visit her tomorrow` has one.
    """
    return any(
        not _ANYBODY.search(words, 0, found.start())
        for found in _PRONOUN.finditer(words)
    )
