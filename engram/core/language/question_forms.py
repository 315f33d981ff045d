"""How a question asks: for all of a kind, or by the time of an event."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from engram.core.language import languages
from engram.core.language.words import fold

_BEFORE, _SINCE = "before_event", "since_event"


@dataclass(frozen=True, slots=True)
class EventTime:
    """A time that a question names by an event: `words`, "before the move".

    `event` is "the move"; `before` is false for the time from the event on.
    """

    words: str
    event: str
    before: bool


def asks_for_several(question: str) -> bool:
    """Return whether a question lists, counts, orders or compares.

    `asks_for_several("Which cities did she visit?")`, not "Where does she live?".
    """
    return bool(_of_all_languages("several").search(fold(question)))


def event_time(question: str) -> EventTime | None:
    """Return the time that a question names by an event, or None.

    "What did I eat before the move?" does; "before or after the move" compares.
    """
    for key in (_BEFORE, _SINCE):
        if found := _of_all_languages(key).search(question):
            event = next(filter(None, found.groups()), "").strip()
            return EventTime(found.group().strip(), event, key == _BEFORE)
    return None


def is_courtesy(text: str) -> bool:
    """Return whether a text is nothing but courtesies.

    "Nice to meet you, Lena! How can I help you today?" is.
    """
    if len(text) > _LONGEST or not text.strip():
        return False
    return bool(_courtesies().fullmatch(" ".join(text.split())))


_LONGEST = 300
"""The most characters of a text of courtesies."""


@cache
def _courtesies() -> re.Pattern[str]:
    """One courtesy after another, each with the name of who is spoken to, or signs."""
    one = languages.any_pattern("questions", "courtesies")
    return re.compile(
        rf"(?:\W*\b(?i:{one})(?:,? (?-i:[A-ZÀ-Ý][\w'’-]*)){{0,2}}(?:\W+|$))+"
    )


@cache
def _of_all_languages(key: str) -> re.Pattern[str]:
    return re.compile(languages.any_pattern("questions", key), re.IGNORECASE)
