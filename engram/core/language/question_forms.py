"""Forms of questions: for several answers, or about the past; and courtesies."""

from __future__ import annotations

import re
from functools import cache

from engram.core.language import languages, topics
from engram.core.language.languages import LazyPattern, Screen
from engram.core.language.retraction import withdrawals
from engram.core.language.sentences import before_question, sentences
from engram.core.language.words import ANY_STOP, fold, named, words


def asks_for_several(question: str) -> bool:
    """Return whether a question lists, counts, orders or compares.

    `asks_for_several("Which cities did she visit?")`, not "Where does she live?".
    """
    return any(_forms("several").found(fold(question)))


def asks_about_past(question: str) -> bool:
    """Return whether a question is about an earlier time, not about the present.

    `asks_about_past("Where did I live before?")`, not "Where do I live?".
    """
    return any(_forms("past").found(question))


def is_courtesy(text: str) -> bool:
    """Return whether a text has only words of courtesy, stop words and an addressee.

    "Nice to meet you, Lena!" does; "Noted: Lena lives in Ulm." does not.
    """
    found = words(_ADDRESSEE.sub(r"\1", text))
    rest = set(found) - _courtesies()
    if len(rest) == len(set(found)) or not rest <= ANY_STOP:
        return False
    return rest.isdisjoint(named(text, found, lambda _name: False, alone=False))


def states_nothing(text: str) -> bool:
    """Return whether a text has only courtesies, questions and wishes to forget.

    "What should I cook tonight?" does, "I have guests, what should I cook?" does not.
    """
    found = [text[start:end] for start, end in sentences(text)]
    return bool(found) and all(map(_states_nothing, found))


def _states_nothing(sentence: str) -> bool:
    wishes = withdrawals(sentence)
    forgets = any(not wish.untrue and not wish.unsure for wish in wishes)
    stated = sentence[: before_question(sentence, 0, len(sentence))]
    if len(set(words(stated)) - ANY_STOP - _courtesies()) >= _TELLING:
        sentence = stated
    return forgets or is_question(sentence) or is_courtesy(sentence)


_TELLING = 2
"""The least number of words, besides those of courtesy, that state something."""


def is_question(sentence: str) -> bool:
    """Return whether a sentence ends or begins as a question."""
    return topics.is_question(sentence) or bool(_begins_as_question().match(sentence))


@cache
def _begins_as_question() -> re.Pattern[str]:
    words = languages.any_pattern("questions", "begins")
    return re.compile(rf"\W*(?:{words})(?!\w)", re.IGNORECASE)


_ADDRESSEE = re.compile(r"(^\w+|,) [A-ZÀ-Ý][\w'’-]*")
"""A name after the first word or a comma."""


@cache
def _courtesies() -> frozenset[str]:
    listed = languages.texts("questions", "courtesies").values()
    return frozenset(words(" ".join(listed)))


@cache
def _forms(key: str) -> Screen[str]:
    """Return the patterns of a key by language."""
    return Screen(
        (code, LazyPattern(languages.pattern(text), re.IGNORECASE))
        for code, text in languages.texts("questions", key).items()
    )
