"""Features of a text besides its words: questions, numbers, times, first person."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engram.core.language.date_words import LEXICONS
from engram.core.language.dates import ANCHORS, has_time_expression
from engram.core.language.topics import QUESTION_MARKS, is_question
from engram.core.language.words import FIRST_PERSON, POSSESSIVE, of_oneself

if TYPE_CHECKING:
    from collections.abc import Sequence

_NUMBER_WORDS = frozenset(
    phrase
    for lexicon in LEXICONS
    for phrase, (letter, value) in lexicon.phrases.items()
    # in most languages the word for one is also an article
    if letter == "w" and isinstance(value, int) and value > 1
)
_SIGNAL_WORDS = ANCHORS | _NUMBER_WORDS | FIRST_PERSON
_SENTENCE = re.compile(r"[^.!?。！？؟\n]+[.!?。！？؟\n]?")
_WORD = re.compile(r"\w+")
_DIGIT = re.compile(r"\d")
_FIRST_PERSON_CJK = re.compile(r"[我私僕]")
_SIMPLE = re.compile(r"[\0-&(-^a-\x7f]*")
"""ASCII without `'`, `_` and `` ` ``, for which `words` equals the matches of `_WORD`.
"""


def text_features(text: str, words: Sequence[str]) -> dict[str, bool]:
    """Return the features of `text`, whose `words` are known.

    `asks`: it ends as a question. `timed`: it may name a time. `counted`: it has digits
    or a number word from two on. `telling`: it is about its speaker.
    """
    alike, digits = _SIMPLE.fullmatch(text) is not None, _DIGIT.search(text) is not None
    signal_words = _SIGNAL_WORDS.intersection(
        words if alike else _WORD.findall(text.casefold())
    )
    bare = alike and not digits and "-" not in text
    unspaced = not alike and _FIRST_PERSON_CJK.search(text) is not None
    own = FIRST_PERSON.intersection(signal_words)
    return {
        "asks": is_question(text),
        "timed": not ANCHORS.isdisjoint(signal_words)
        if bare
        else has_time_expression(text),
        "counted": digits or not _NUMBER_WORDS.isdisjoint(signal_words),
        "telling": (unspaced or bool(own)) and _is_about_speaker(text, own),
    }


def _is_about_speaker(text: str, own: frozenset[str]) -> bool:
    """Return whether a sentence that is no question is about its speaker.

    `own` are the words of the first person in `text`. "I have three cats. Any advice?"
    has such a sentence; "What should I do?" and "My sister has three cats." do not.
    """
    statements = text
    if any(mark in text for mark in QUESTION_MARKS):
        statements = " ".join(
            found for found in _SENTENCE.findall(text) if not is_question(found)
        )
    elif not own or not own <= POSSESSIVE:
        return True
    return of_oneself(statements.casefold()) or bool(
        _FIRST_PERSON_CJK.search(statements)
    )
