"""From text to the stems the index stores, by language and script (row X13)."""

from __future__ import annotations

from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

import Stemmer

from engram.core.language.date_words import LEXICONS
from engram.core.language.words import ANY_STOP, STOP, capitalised, content, language

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LANGUAGES = tuple(STOP)
"""The languages a text can be taken for; the index stores their places."""

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


class _Stems(dict[str, str]):
    """The stem of each word met in texts of a language, '' for a stop word: few words
    make most of all texts.
    """

    def __init__(self, code: str) -> None:
        self._code = code
        super().__init__()

    def __missing__(self, word: str) -> str:
        if len(self) >= _REMEMBERED:
            self.clear()
        stem = self[word] = "".join(stemmed(content([word], self._code), self._code))
        return stem


_REMEMBERED = 20_000
_KNOWN = {code: _Stems(code) for code in LANGUAGES}


SMALL = "="
"""Before a stop word, the term under which every unit that holds it is filed."""

NAMED = "^"
"""Before a stop word, the term of the units in which it is capitalised: it may be
somebody's name (`Will`, `Else`).
"""


def analysed(found: Sequence[str]) -> tuple[list[str], int]:
    """The stems of a unit's words without stop words, and its language as a place in
    `LANGUAGES`.

    What it remembers is not safe to share: callers hold the lock of their index.
    """
    code = language(found) or "en"
    return list(filter(None, map(_KNOWN[code].__getitem__, found))), LANGUAGES.index(
        code
    )


def small_terms(text: str, found: Sequence[str], code: int) -> list[str]:
    """The terms of the stop words of `text`, whose words are `found` in the language at
    `code` of `LANGUAGES`.

    Each word once: they are looked up only where a question turns on them, and never
    count for the length of a unit. `set(small_terms("Will is here", ["will", "is",
    "here"], 0)) == {"=here", "=is", "=will", "^will"}`
    """
    small = STOP[LANGUAGES[code]].intersection(found)
    if not small:
        return []
    return [
        *map(_SMALL_TERMS.__getitem__, small),
        *(NAMED + word for word in capitalised(text) & small),
    ]


_SMALL_TERMS = {word: SMALL + word for word in ANY_STOP}


def stemmed(found: list[str], code: str) -> list[str]:
    """Stems by the language; a word of a script that has its own stemmer goes to that
    one.

    The stemmers are not safe to share: callers hold the lock of their index.
    """
    stemmer = _STEMMERS.get(code)
    stems: list[str] = stemmer.stemWords(found) if stemmer else found
    return [
        stem if stem.isascii() else _by_script(stem, word)
        for stem, word in zip(stems, found, strict=True)
    ]


def _by_script(stem: str, word: str) -> str:
    for first, last, code in _SCRIPTS:
        if first <= word[0] <= last:
            own: str = _STEMMERS[code].stemWord(word)
            return own
    return stem


@lru_cache(4096)
def date_word(word: str) -> tuple[str, int]:
    """The part of a date `word` can name, with its value; ("", 0) for none.

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
