"""How a text speaks, whatever it speaks of: whether it asks, holds a number or a time,
tells of who says it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engram.core.language.date_words import LEXICONS
from engram.core.language.dates import ANCHORS, has_time_expression
from engram.core.language.words import FIRST_PERSON, POSSESSIVE, of_oneself

if TYPE_CHECKING:
    from collections.abc import Sequence

_NUMBER_WORDS = frozenset(
    phrase
    for lexicon in LEXICONS
    for phrase, (letter, value) in lexicon.phrases.items()
    # one is an article in most languages
    if letter == "w" and isinstance(value, int) and value > 1
)
_SAID = ANCHORS | _NUMBER_WORDS | FIRST_PERSON
_ASKING = ("?", "？", "؟")
_SENTENCE = re.compile(r"[^.!?。！？؟\n]+[.!?。！？؟\n]?")
_WORD = re.compile(r"\w+")
_DIGIT = re.compile(r"\d")
_SELF_UNSPACED = re.compile(r"[我私僕]")
_ALIKE = re.compile(r"[\0-&(-^a-\x7f]*")
"""ASCII without `'`, `_` and `` ` ``: `core.words` finds in it what `_WORD` would find.
"""


def manner(text: str, words: Sequence[str]) -> dict[str, bool]:
    """How `text`, whose `words` are known, speaks.

    Whether it `asks`, may name a time (`timed`), holds a number (`counted`: digits or a
    word from two on; "a cat" does not), is `telling` of who says it.
    """
    alike, digits = _ALIKE.fullmatch(text) is not None, _DIGIT.search(text) is not None
    said = _SAID.intersection(words if alike else _WORD.findall(text.casefold()))
    bare = alike and not digits and "-" not in text
    unspaced = not alike and _SELF_UNSPACED.search(text) is not None
    own = FIRST_PERSON.intersection(said)
    return {
        "asks": _asks(text),
        "timed": not ANCHORS.isdisjoint(said) if bare else has_time_expression(text),
        "counted": digits or not _NUMBER_WORDS.isdisjoint(said),
        "telling": (unspaced or bool(own)) and _tells_of_self(text, own),
    }


def _asks(text: str) -> bool:
    """Whether `text` ends as a question."""
    return text.rstrip().endswith(_ASKING)


def _tells_of_self(text: str, own: frozenset[str]) -> bool:
    """Whether `text`, with the words `own` of the first person, tells of who says it in
    a sentence that is no question.

    "I have three cats. Any advice?" does; "What should I do?" does not, nor does "My
    sister has three cats."
    """
    told = text
    if any(mark in text for mark in _ASKING):
        told = " ".join(found for found in _SENTENCE.findall(text) if not _asks(found))
    elif not own or not own <= POSSESSIVE:
        return True
    return of_oneself(told.casefold()) or bool(_SELF_UNSPACED.search(told))
