"""Groups of related words, by which a question finds a text in other words (row X13).

Section `[synonyms]` of the language files has some hundred groups of everyday topics in
each language. A word before the colon of its group is a synonym of every other word of
the group; the words after the colon are narrower: an instrument may be a guitar, but a
guitar is no other instrument. Verbs and adjectives that combine with every noun are
left out, since they would match everything.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from engram.core.language import languages
from engram.core.language.words import content, fold, words

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

_MARKS = dict.fromkeys(range(0x300, 0x370))


def synonyms(word: str, code: str = "en") -> tuple[str, ...]:
    """Return the synonyms of `word` in a language, () if there are none.

    Both are in the form that `content` returns. A word may lack its accents. Without a
    `code` the word may be of any language.

    >>> synonyms("jewelry")
    ('bracelet', 'earrings', 'necklace', 'ring')
    """
    if not code:
        every = (synonyms(word, one) for one in languages.section("synonyms"))
        return tuple(sorted(set().union(*every)))
    groups = _groups(code)
    if code != "en":
        return groups.get(word) or groups.get(_without_accents(word), ())
    return groups.get(word) or groups.get(word.removesuffix("s"), ())


def synonyms_of(
    text: str, text_words: Sequence[str], code: str
) -> dict[str, tuple[str, ...]]:
    """Return the synonyms of each of the words of a question.

    The language of a short question may be detected wrongly; if its language has no
    synonyms, all languages are searched. In a script without blanks a group is found by
    the characters of the text, and belongs to the first word that contains some of
    them.
    """
    found = {word: synonyms(word, code) for word in text_words}
    if code != "en" and not any(found.values()):
        found = {word: synonyms(word, "") for word in text_words}
    if text.isascii():
        return found
    folded = fold(text)
    for head, others in _unspaced():
        if head in folded:
            for word in text_words:
                if word in head or head in word:
                    found[word] = (*found[word], *others)
                    break
    return found


@cache
def _groups(code: str) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, set[str]] = {}
    if code in languages.unspaced():
        return MappingProxyType({})
    for broader, narrower in _listed(code):
        others = {*content(broader, code), *content(narrower, code)}
        for head in broader if code != "en" else content(broader, code):
            for form in {head, head if code == "en" else _without_accents(head)}:
                found.setdefault(form, set()).update(others)
    return _sorted(found)


@cache
def _unspaced() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the heads of scripts without blanks with their groups, longest first.

    A `_` in a head represents a blank.
    """
    found: dict[str, set[str]] = {}
    for code in languages.unspaced():
        for broader, narrower in _listed(code):
            others = {pair for word in (*broader, *narrower) for pair in _pairs(word)}
            for head in broader:
                found.setdefault(head.replace("_", " "), set()).update(others)
    groups = _sorted(found).items()
    return tuple(sorted(groups, key=lambda row: (-len(row[0]), row[0])))


def _pairs(word: str) -> Collection[str]:
    """Return the index words of a word of the table, without pairs of hiragana."""
    pairs = words(word)
    strong = [pair for pair in pairs if not all("ぁ" <= sign <= "ん" for sign in pair)]
    return strong or pairs


def _listed(code: str) -> Iterable[tuple[list[str], list[str]]]:
    """Yield the groups of a language: the words before the colon and those after it."""
    for listed in languages.section("synonyms").get(code, {}).values():
        for group in languages.entries(fold(listed)):
            broader, _, narrower = group.partition(":")
            yield broader.split(), narrower.split()


def _sorted(found: Mapping[str, set[str]]) -> Mapping[str, tuple[str, ...]]:
    return MappingProxyType(
        {head: tuple(sorted(others - {head})) for head, others in found.items()}
    )


def _without_accents(word: str) -> str:
    plain = unicodedata.normalize("NFD", word).translate(_MARKS)
    return unicodedata.normalize("NFC", plain)
