"""How a text speaks, whatever it speaks of: whether it asks, holds a number or a time, tells of who says it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engram.core.date_words import LEXICONS
from engram.core.dates import ANCHORS, has_time_expression
from engram.core.words import FIRST_PERSON

if TYPE_CHECKING:
    from collections.abc import Sequence

_NUMBER_WORDS = {
    phrase
    for lexicon in LEXICONS
    for phrase, (letter, value) in lexicon.phrases.items()
    if letter == "w" and isinstance(value, int) and value > 1  # one is an article in most languages
}
_ASKING = ("?", "？", "؟")
_SENTENCE = re.compile(r"[^.!?。！？؟\n]+[.!?。！？؟\n]?")
_WORD = re.compile(r"\w+")
_DIGIT = re.compile(r"\d")
_SELF_UNSPACED = re.compile(r"[我私僕]")
_PLAIN = re.compile(r"[\0-&(-,./:-^a-\x7f]*")
"""ASCII without digits, `'`, `-`, `_`, `` ` ``: however it is split into words, they are the same."""


def manner(text: str, words: Sequence[str]) -> dict[str, bool]:
    """How `text`, whose `words` are known, speaks.

    Whether it `asks`, may name a time (`timed`), holds a number (`counted`), is `telling` of who says it.
    """
    plain = _PLAIN.fullmatch(text) is not None
    found = words if plain else _WORD.findall(text.casefold())
    return {
        "asks": _asks(text),
        "timed": not ANCHORS.isdisjoint(words) if plain else has_time_expression(text),
        "counted": _holds_number(text, found),
        "telling": _tells_of_self(text, found),
    }


def _asks(text: str) -> bool:
    """Whether `text` ends as a question."""
    return text.rstrip().endswith(_ASKING)


def _holds_number(text: str, found: Sequence[str]) -> bool:
    """Whether `text` holds digits or a word for a number from two on.

    "I have three cats" and "at 5" do; "a cat" does not.
    """
    return bool(_DIGIT.search(text)) or not _NUMBER_WORDS.isdisjoint(found)


def _tells_of_self(text: str, found: Sequence[str]) -> bool:
    """Whether a sentence of `text` that is no question speaks in the first person.

    "I have three cats. Any advice?" does; "What should I do?" does not.
    """
    if FIRST_PERSON.isdisjoint(found) and not _SELF_UNSPACED.search(text):
        return False
    if not any(mark in text for mark in _ASKING):
        return True
    told = " ".join(found for found in _SENTENCE.findall(text) if not _asks(found))
    return not FIRST_PERSON.isdisjoint(_WORD.findall(told.casefold())) or bool(_SELF_UNSPACED.search(told))
