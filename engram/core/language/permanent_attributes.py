"""Permanent attributes of people, by words (law 1).

A permanent attribute of the user, or of a person or an animal close to them, holds
until a new value replaces it. Section `[permanent_attributes]` of the language files
lists cues for each attribute. The cues favour recall over precision: a moment that is
retained costs a line in a ranking, but a lost allergy cannot be restored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from engram.core.attributes import attribute
from engram.core.language import languages
from engram.core.language.states import states
from engram.core.text import normalise

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_MAIL = re.compile(r"\S@\S+\.\w")


@dataclass(frozen=True, slots=True)
class _Cues:
    """Pairs of a cue and its attribute.

    `words` are cues at the beginning of a word, by their first `_KEY` characters;
    `inside` are those of compound words and `signs` those of scripts without blanks,
    which may occur anywhere.
    """

    words: Mapping[str, Sequence[tuple[str, str]]]
    inside: Sequence[tuple[str, str]]
    signs: Sequence[tuple[str, str]]


_KEY = 4


@cache
def _cues() -> _Cues:
    words: dict[str, list[tuple[str, str]]] = {}
    inside: list[tuple[str, str]] = []
    signs: list[tuple[str, str]] = []

    for code, name, cue in _listed_cues():
        plain = normalise(cue.strip("*"))
        end = "" if cue.endswith("*") else " "
        if code in languages.unspaced():
            signs.append((plain, name))
        elif cue.startswith("*"):
            inside.append((f"{plain}{end}", name))
        else:
            whole = f" {plain}{end}"
            words.setdefault(whole[:_KEY], []).append((whole, name))

    return _Cues(words, inside, signs)


def _listed_cues() -> Iterator[tuple[str, str, str]]:
    """Yield language, attribute and cue of each cue, with its groups expanded."""
    groups = languages.section("permanent_attributes.groups")
    for code, attributes in languages.section("permanent_attributes.cues").items():
        for name, listed in attributes.items():
            for cue in languages.phrases(listed):
                group = _GROUP.search(cue)
                if group is None:
                    yield code, name, cue
                    continue
                for word in languages.phrases(groups[code][group[1]]):
                    yield code, name, cue.replace(group[0], word)


_GROUP = re.compile(r"<(\w+)>")


@lru_cache(maxsize=1 << 14)
def permanent_attribute(text: str) -> str | None:
    """Return the permanent attribute that a statement gives, or None (law 1).

    The result is a `lasts` of `core.attributes`, for any person and in any tense: "The
    user was diagnosed with asthma in 2025" gives health, "Die Person wohnt in Berlin"
    home, `我对花生过敏` health.
    """
    cues, plain = _cues(), f" {normalise(text)} "
    starts = (blank.start() for blank in _BLANK.finditer(plain))
    near = chain.from_iterable(
        cues.words.get(plain[start : start + _KEY], ()) for start in starts
    )
    anywhere = cues.inside if plain.isascii() else chain(cues.inside, cues.signs)
    for cue, name in chain(near, anywhere):
        if cue in plain:
            return name

    if _MAIL.search(text):
        return "contact"
    lasting = (attribute(state.attribute).lasts for state in states(text))
    return next(filter(None, lasting), None)


_BLANK = re.compile(" ")


def names_pet(text: str) -> bool:
    """Return whether a statement names a kind of pet."""
    signs, words = _pets()
    plain = normalise(text)
    return any(sign in plain for sign in signs) or not words.isdisjoint(
        plain.replace("'s ", " ").split()
    )


def pet_words() -> frozenset[str]:
    """Return the words for kinds of pets, in scripts with blanks between words."""
    return _pets()[1]


@cache
def _pets() -> tuple[frozenset[str], frozenset[str]]:
    """Return the kinds of pets: in scripts without blanks, and as words."""
    signs: set[str] = set()
    words: set[str] = set()
    for code, groups in languages.section("permanent_attributes.groups").items():
        listed = map(normalise, languages.phrases(groups.get("pet", "")))
        (signs if code in languages.unspaced() else words).update(filter(None, listed))
    return frozenset(signs), frozenset(words)
