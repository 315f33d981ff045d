"""Forms of questions: for several answers, or about the past; and courtesies."""

from __future__ import annotations

import re
from functools import cache

from engram.core.language import languages
from engram.core.language.sentences import sentences
from engram.core.language.words import fold


def asks_for_several(question: str) -> bool:
    """Return whether a question lists, counts, orders or compares.

    `asks_for_several("Which cities did she visit?")`, not "Where does she live?".
    """
    folded = fold(question)
    return any(one.search(folded) for one in _of_all_languages("several"))


def asks_about_past(question: str) -> bool:
    """Return whether a question is about an earlier time, not about the present.

    `asks_about_past("Where did I live before?")`, not "Where do I live?".
    """
    return any(one.search(question) for one in _of_all_languages("past"))


def is_courtesy(text: str) -> bool:
    """Return whether a text consists of courtesies.

    "Nice to meet you, Lena! How can I help you today?" does.
    """
    if len(text) > _LONGEST or not text.strip():
        return False
    return bool(_courtesies().fullmatch(" ".join(text.split())))


def states_nothing(text: str) -> bool:
    """Return whether a text consists of courtesies or of questions.

    "What should I cook tonight?" does, "I have guests. What should I cook?" does not.
    """
    if is_courtesy(text):
        return True
    found = [text[start:end] for start, end in sentences(text)]
    return bool(found) and all(map(is_question, found))


def is_question(sentence: str) -> bool:
    """Return whether a sentence ends or begins as a question."""
    return sentence.rstrip().endswith(QUESTION_MARKS) or bool(
        _begins_as_question().match(sentence)
    )


QUESTION_MARKS = ("?", "？", "؟")


@cache
def _begins_as_question() -> re.Pattern[str]:
    words = languages.any_pattern("questions", "begins")
    return re.compile(rf"\W*(?:{words})(?!\w)", re.IGNORECASE)


_LONGEST = 300
"""The most characters of a text that is checked for courtesies."""


@cache
def _courtesies() -> re.Pattern[str]:
    """Return a pattern of courtesies, each with the name of the addressee, or signs."""
    courtesy = languages.any_pattern("questions", "courtesies")
    return re.compile(
        rf"(?:\W*\b(?i:{courtesy})(?:,? (?-i:[A-ZÀ-Ý][\w'’-]*)){{0,2}}(?:\W+|$))+"
    )


@cache
def _of_all_languages(key: str) -> tuple[re.Pattern[str], ...]:
    """Return a pattern a language: one alternation of all takes four times as long."""
    found = map(languages.pattern, languages.texts("questions", key).values())
    return tuple(re.compile(one, re.IGNORECASE) for one in found)
