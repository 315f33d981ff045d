"""Stems of words by language and script, in the form of the lexical index (X13)."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

import Stemmer

from engram.core.language import languages
from engram.core.language.date_words import LEXICONS
from engram.core.language.words import ANY_STOP, STOP, capitalised, content, language

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LANGUAGES = tuple(STOP)
"""The languages that can be detected; the index stores positions in this tuple."""

STEMMER_VERSION: str = Stemmer.version()

MONTH, WEEKDAY, YEAR, DAY = "b", "k", "year", "day"
"""The parts of a date that a word can name: January is 1, Monday 0."""

_STEMMERS = {
    code: Stemmer.Stemmer(name)
    for code, name in (
        ("en", "english"),
        ("de", "german"),
        ("fr", "french"),
        ("es", "spanish"),
        ("it", "italian"),
        ("pt", "portuguese"),
        ("nl", "dutch"),
        ("ru", "russian"),
        ("el", "greek"),
        ("ar", "arabic"),
        ("hi", "hindi"),
    )
}
_SCRIPTS = (
    ("\u0370", "\u03ff", "el"),
    ("\u0400", "\u04ff", "ru"),
    ("\u0600", "\u06ff", "ar"),
    ("\u0900", "\u097f", "hi"),
)
_DATE_WORDS: Mapping[str, tuple[str, int]] = MappingProxyType(
    {
        phrase: (letter, value)
        for lexicon in LEXICONS
        for phrase, (letter, value) in lexicon.phrases.items()
        if letter in {MONTH, WEEKDAY} and isinstance(value, int)
    }
)


class _StemCache(dict[str, str]):
    """The stems of words in a language, "" for stop words."""

    def __init__(self, code: str) -> None:
        self._code = code
        super().__init__()

    def __missing__(self, word: str) -> str:
        if len(self) >= _CACHED:
            self.clear()
        stem = self[word] = "".join(stems_of(content([word], self._code), self._code))
        return stem


_CACHED = 20_000
_CACHES = {code: _StemCache(code) for code in LANGUAGES}


STOP_WORD = "="
"""Prefix of the term for units with this stop word."""

CAPITALISED = "^"
"""Prefix of the term for a capitalised stop word, which may be a name (`Will`, `Else`).
"""


def unit_stems(tokens: Sequence[str]) -> tuple[list[str], int]:
    """Return the stems of a unit without stop words, and its language.

    The language is a position in `LANGUAGES`. Not thread-safe: callers hold the lock of
    their index.
    """
    code = language(tokens) or "en"
    stems = list(filter(None, map(_CACHES[code].__getitem__, tokens)))
    return stems, LANGUAGES.index(code)


def stop_word_terms(text: str, tokens: Sequence[str], code: int) -> list[str]:
    """Return the terms of the stop words of `text`, each once.

    `tokens` are its words, `code` is the position of its language in `LANGUAGES`. Only
    questions about stop words use these terms; they do not count for the length of a
    unit. `set(stop_word_terms("Will is here", ["will", "is", "here"], 0)) == {"=here",
    "=is", "=will", "^will"}`
    """
    small = STOP[LANGUAGES[code]].intersection(tokens)
    if not small:
        return []
    return [
        *map(_STOP_WORD_TERMS.__getitem__, small),
        *(CAPITALISED + word for word in capitalised(text) & small),
    ]


_STOP_WORD_TERMS = {word: STOP_WORD + word for word in ANY_STOP}


def stems_of(tokens: list[str], code: str) -> list[str]:
    """Return stems by language; a word in another script gets its own stemmer.

    A Latin stem has no accents, and an ordinal number is its number: `noël` is found by
    `noel`, the 23rd by 23. Not thread-safe: callers hold the lock of their index.
    """
    stemmer = _STEMMERS.get(code)
    stems: list[str] = stemmer.stemWords(tokens) if stemmer else tokens
    return [
        stem if stem.isascii() and not stem[:1].isdigit() else _plain(stem, word)
        for stem, word in zip(stems, tokens, strict=True)
    ]


@lru_cache(20_000)
def stem_of(word: str, code: str) -> str:
    """Return the stem of a word of a question; not thread-safe, like `stems_of`."""
    return stems_of([word], code)[0]


def _plain(stem: str, word: str) -> str:
    if word[0] < _AFTER_LATIN:
        if ordinal := _ORDINAL.fullmatch(word):
            return ordinal[1]
        letters = unicodedata.normalize("NFKD", stem)
        return "".join(sign for sign in letters if not unicodedata.combining(sign))
    for first, last, code in _SCRIPTS:
        if first <= word[0] <= last:
            own: str = _STEMMERS[code].stemWord(word)
            return own
    return stem


_AFTER_LATIN = "\u0250"
_ORDINAL = re.compile(rf"(\d+)(?:{languages.any_pattern('dates', 'ordinals')})")


@lru_cache(4096)
def date_word(word: str) -> tuple[str, int]:
    """Return the part of a date that `word` can name with its value, else ("", 0).

    `date_word("may") == (MONTH, 5)`, `date_word("2023") == (YEAR, 2023)`,
    `date_word("7") == (DAY, 7)`
    """
    if word in _DATE_WORDS:
        return _DATE_WORDS[word]
    if not word.isdecimal():
        return "", 0
    number = int(word)
    if len(word) == 4:
        return YEAR, number
    return (DAY, number) if 1 <= number <= 31 else ("", 0)
