"""Groups of related words, by which a question finds a text in other words (row X13).

Section `[synonyms]` of the English and the German file has groups of everyday topics;
in other languages the vectors of the index do it. A word before the colon of its group
is a synonym of every other word of the group; the words after the colon are narrower:
an instrument may be a guitar, but a guitar is no other instrument. Verbs and adjectives
that combine with every noun are left out, since they would match everything.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from engram.core.language import languages
from engram.core.language.words import content, fold

if TYPE_CHECKING:
    from collections.abc import Mapping


def synonyms(word: str, code: str = "en") -> tuple[str, ...]:
    """Return the synonyms of `word` in a language, () if there are none.

    Both are in the form that `words.content` returns.

    >>> synonyms("phone")
    ('android', 'iphone', 'mobile', 'smartphone')
    """
    groups = _groups(code)
    if code == "en":
        return groups.get(word) or groups.get(word.removesuffix("s"), ())
    return groups.get(word, ())


@cache
def _groups(code: str) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, set[str]] = {}
    for listed in languages.section("synonyms").get(code, {}).values():
        for group in languages.entries(fold(listed)):
            broader, _, narrower = group.partition(":")
            heads = content(broader.split(), code)
            others = {*heads, *content(narrower.split(), code)}
            for head in [*heads, *(broader.split() if code != "en" else [])]:
                found.setdefault(head, set()).update(others)
    return {head: tuple(sorted(others - {head})) for head, others in found.items()}
