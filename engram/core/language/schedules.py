"""Events on the same days each week: "pottery class on Tuesdays" (A7).

`schedule_of` parses a clause with the patterns `recurring` and `moved` in section
`[states]` of the language files. In `states` such an event is the attribute `schedule`:
its subject are the words for the event, its value the days.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from engram.core.language import languages
from engram.core.language.words import content
from engram.core.language.words import words as words_of

_KEY = "states"
_MOST_WORDS = 5
_HOLE = "<DAYS>"


@dataclass(frozen=True, slots=True)
class WeeklyEvent:
    """A weekly event: its words, its `days`, and whether these are new (`change`)."""

    subject: tuple[str, ...]
    days: tuple[str, ...]
    change: bool


@dataclass(frozen=True, slots=True)
class _Patterns:
    """The patterns of a language: the days, and a whole clause with new days."""

    days: re.Pattern[str]
    moved: tuple[re.Pattern[str], ...]
    doing: frozenset[str]


def schedule_of(clause: str, code: str) -> WeeklyEvent | None:
    """Return the weekly event in a folded clause, or None.

    None if the event has more than a few words, or if no day of each week is named.
    """
    patterns = _patterns().get(code)
    found = patterns.days.search(clause) if patterns else None
    if not patterns or not found:
        return None
    for pattern in patterns.moved:
        if moved := pattern.fullmatch(clause):
            return _event(moved["what"], moved["days"], patterns, change=True)
    rest = f"{clause[: found.start()]} {clause[found.end() :]}"
    return _event(rest, found.group(), patterns, change=False)


def _event(
    event_words: str, days: str, patterns: _Patterns, *, change: bool
) -> WeeklyEvent | None:
    subject = tuple(
        word
        for word in content(words_of(event_words), "en")
        if word not in patterns.doing and not word.isdigit()
    )
    weekdays = tuple(dict.fromkeys(_WEEKDAY.findall(days)))
    if not subject or len(subject) > _MOST_WORDS or not weekdays:
        return None
    return WeeklyEvent(subject, weekdays, change)


_WEEKDAY = re.compile(r"\w+day(?=s?\b)")


@cache
def _patterns() -> dict[str, _Patterns]:
    found = {}
    for code, section in languages.section(_KEY).items():
        if days := languages.pattern(section.get("recurring", "")):
            moved = languages.entries(section.get("moved", ""))
            found[code] = _Patterns(
                re.compile(days),
                tuple(re.compile(pattern.replace(_HOLE, days)) for pattern in moved),
                frozenset(section.get("doing", "").split()),
            )
    return found
