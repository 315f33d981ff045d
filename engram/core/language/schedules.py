"""What takes place on the same days each week: "pottery class on Tuesdays" (A7).

`schedule_of` reads a clause by the patterns `recurring` and `moved` in section
`[states]` of the language files. For `states`, where it is the attribute `schedule`:
its subject are the words for what takes place, its value the days.
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
    """What takes place (`subject`), its `days`, and whether these are told as new."""

    subject: tuple[str, ...]
    days: tuple[str, ...]
    change: bool


@dataclass(frozen=True, slots=True)
class _Patterns:
    """The patterns of a language: the days, a whole clause that tells new ones."""

    days: re.Pattern[str]
    moved: tuple[re.Pattern[str], ...]
    doing: frozenset[str]


def schedule_of(clause: str, code: str) -> WeeklyEvent | None:
    """The weekly days that a folded clause gives something, or None.

    None where more is named than a few words, or no day of each week.
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
    what: str, days: str, patterns: _Patterns, *, change: bool
) -> WeeklyEvent | None:
    subject = tuple(
        word
        for word in content(words_of(what), "en")
        if word not in patterns.doing and not word.isdigit()
    )
    named = tuple(dict.fromkeys(_WEEKDAY.findall(days)))
    if not subject or len(subject) > _MOST_WORDS or not named:
        return None
    return WeeklyEvent(subject, named, change)


_WEEKDAY = re.compile(r"\w+day(?=s?\b)")


@cache
def _patterns() -> dict[str, _Patterns]:
    found = {}
    for code, section in languages.section(_KEY).items():
        if days := languages.pattern(section.get("recurring", "")):
            moved = languages.entries(section.get("moved", ""))
            found[code] = _Patterns(
                re.compile(days),
                tuple(re.compile(one.replace(_HOLE, days)) for one in moved),
                frozenset(section.get("doing", "").split()),
            )
    return found
