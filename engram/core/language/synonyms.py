"""Groups of related words, by which a question finds a text in other words (row X13).

A few hundred groups of what people say about their lives, in section `[synonyms]` of
the language files, by topic. A word before the colon of its group may stand for any
other word of the group; the words after the colon are narrower: an instrument may be a
guitar, a guitar is no other instrument. Verbs and adjectives that go with everything
are left out, since they match everything.
"""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from engram.core.language import languages
from engram.core.language.words import content

if TYPE_CHECKING:
    from collections.abc import Mapping


def synonyms(word: str) -> tuple[str, ...]:
    """The words that may stand for `word`, in the form `content` gives; () if none.

    >>> synonyms("jewelry")
    ('bracelet', 'earrings', 'necklace', 'ring')
    """
    groups = _groups()
    return groups.get(word) or groups.get(word.removesuffix("s"), ())


@cache
def _groups() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, set[str]] = {}
    for code, topics in languages.section("synonyms").items():
        for listed in topics.values():
            for group in languages.entries(listed):
                broader, _, narrower = group.partition(":")
                heads = content(broader.split(), code)
                for head in heads:
                    words = found.setdefault(head, set())
                    words.update(heads, content(narrower.split(), code))

    return MappingProxyType(
        {head: tuple(sorted(words - {head})) for head, words in found.items()}
    )
