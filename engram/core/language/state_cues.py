"""Cue words: the possible attributes of a text, found without any pattern.

A text without a cue of an attribute has no state of it. `states` skips most sentences
this way, and the index searches for statements by their cues.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from engram.core.language import languages
from engram.core.language.state_table import KEY, cues_of, rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_WORD = re.compile(r"\w+")
_DIGIT = re.compile(r"\d")
_HEAD = 3
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class _Cue:
    """A cue of an attribute in a language: its first word, and the phrase if longer."""

    word: str
    phrase: str
    language: str
    attribute: str
    needs_digit: bool


@cache
def cues(attribute: str) -> tuple[str, ...]:
    """Return the cue words of an attribute in all languages, for a search.

    The kind of a favourite or a figure is a further cue: `cues("favourite colour")` has
    `colour`.
    """
    name, _, kind = attribute.partition(" ")
    found = [
        cue
        for section in languages.section(KEY).values()
        for cue in cues_of(section).get(name, ())
    ]
    return tuple(dict.fromkeys([*kind.split(), *found]))


def attributes_named(text: str) -> dict[str, set[str]]:
    """Return the attributes, by language, with a cue at the beginning of a word."""
    found: dict[str, set[str]] = defaultdict(set)
    folded = text.casefold()
    for cue in _cues_in(folded):
        found[cue.language].add(cue.attribute)
    if not text.isascii() and _UNSPACED.search(text):
        for phrase, code, name in _cues_unspaced():
            if phrase in folded:
                found[code].add(name)
    return found


def _cues_in(folded: str) -> Iterator[_Cue]:
    """Yield the cues of languages with blanks that begin a word of a folded text."""
    has_digit = _DIGIT.search(folded) is not None
    heads = _cue_heads()
    for word in set(_WORD.findall(folded)):
        for cue in heads.get(word[:_HEAD], ()):
            if (
                word.startswith(cue.word)
                and (len(cue.word) >= _HEAD or word == cue.word)
                and (has_digit or not cue.needs_digit)
                and (not cue.phrase or cue.phrase in folded)
            ):
                yield cue


@cache
def _cue_heads() -> Mapping[str, Sequence[_Cue]]:
    """Return the cues of the languages with blanks by the first letters of words."""
    found: dict[str, dict[_Cue, None]] = defaultdict(dict)
    for code, section in languages.section(KEY).items():
        if code in languages.unspaced():
            continue
        for name, listed in cues_of(section).items():
            telling = [row for row in rows()[code] if name in row.attributes]
            needs_digit = bool(telling) and all(row.needs_digit for row in telling)
            for phrase in listed:
                word = _WORD.findall(phrase)[0]
                longer = phrase if phrase != word else ""
                cue = _Cue(word, longer, code, name, needs_digit)
                found[word[:_HEAD]][cue] = None
    return {head: tuple(listed) for head, listed in found.items()}


@cache
def _cues_unspaced() -> Sequence[tuple[str, str, str]]:
    """Return language, attribute and cue of the languages without blanks."""
    return tuple(
        (cue, code, name)
        for code, section in languages.section(KEY).items()
        if code in languages.unspaced()
        for name, listed in cues_of(section).items()
        for cue in listed
    )
