"""Forms of questions: for several answers, or with the time of an event."""

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
        if match := _of_all_languages(key).search(question):
            event = next(filter(None, match.groups()), "").strip()
            return EventTime(match.group().strip(), event, key == _BEFORE)
    return None


def is_courtesy(text: str) -> bool:
    """Return whether a text consists of courtesies.

    "Nice to meet you, Lena! How can I help you today?" does.
    """
    if len(text) > _LONGEST or not text.strip():
        return False
    return bool(_courtesies().fullmatch(" ".join(text.split())))


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
def _of_all_languages(key: str) -> re.Pattern[str]:
    return re.compile(languages.any_pattern("questions", key), re.IGNORECASE)
