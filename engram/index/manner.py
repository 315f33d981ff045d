"""How a text speaks, whatever it speaks of: whether it asks, holds a number, tells of who says it."""

from __future__ import annotations

import re

from engram.core.date_words import LEXICONS
from engram.core.words import FIRST_PERSON

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


def asks(text: str) -> bool:
    """Whether `text` ends as a question."""
    return text.rstrip().endswith(_ASKING)


def holds_number(text: str) -> bool:
    """Whether `text` holds digits or a word for a number from two on.

    `holds_number("I have three cats")` and `holds_number("at 5")`; not `holds_number("a cat")`.
    """
    return bool(_DIGIT.search(text)) or not _NUMBER_WORDS.isdisjoint(_WORD.findall(text.casefold()))


def tells_of_self(text: str) -> bool:
    """Whether a sentence of `text` that is no question speaks in the first person.

    `tells_of_self("I have three cats. Any advice?")`; not `tells_of_self("What should I do?")`.
    """
    told = " ".join(found for found in _SENTENCE.findall(text) if not asks(found))
    return not FIRST_PERSON.isdisjoint(_WORD.findall(told.casefold())) or bool(_SELF_UNSPACED.search(told))
