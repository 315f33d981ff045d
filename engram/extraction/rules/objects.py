"""Tests of the object: the words after the part that a rule matched (rows X2, C3).

An object is refused if it addresses the listener, ends prematurely, refers to something
outside it, or contains a date of another clause. Each kind of object, which a rule
names, has its own test.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engram.core.language import languages
from engram.extraction.rules.table import (
    pattern_of,
    pattern_with_case,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.core.language.dates import Span

_TRAIL = re.compile(
    r"(?:[\s.!,;:~*)]|[\u2600-\u27bf\U0001f000-\U0001faff\ufe0f]"
    rf"|\b(?:{languages.any_pattern('rules', 'fillers')})(?=[\s.!,;]*$))+$",
    re.IGNORECASE,
)


def bare(text: str, start: int, end: int) -> str:
    """Return `text[start:end]` without closing signs and fillers, such as `lol`."""
    return _TRAIL.sub("", text[start:end])


_YOU = pattern_of("second_person")
_DANGLING = pattern_of("dangling")
_REFUSED = pattern_of("refused")
_POINTING = pattern_of("pointing")
_SHOWN = pattern_with_case("shown")
_UNTIED = pattern_of("outside")
_APART = pattern_of("own_clause")
_UNFINISHED_SPAN = pattern_with_case("unfinished_span")
_UNREAD = pattern_with_case("unresolved_date")


def is_untied(raw: str, start: int, dates: Sequence[Span], *, is_annual: bool) -> bool:
    """Return whether `raw` refers outside itself, or has a date of another clause.

    It begins at `start`. `it` after `and` may refer inside; a birthday, which
    `is_annual`, needs no year.
    """
    for date in dates:
        first, last = max(0, date.start - start), max(0, date.end - start)
        if _APART.search(raw[:first]):
            return True
        raw = raw[:first] + "x" * (last - first) + raw[last:]
    if (not is_annual and _UNREAD.search(raw)) or _UNFINISHED_SPAN.search(raw):
        return True
    match = _UNTIED.search(raw)
    return match is not None and not (
        match.group().casefold() == "it" and " and " in raw[: match.start()]
    )


def is_whole(raw: str, language: str = "en") -> bool:
    """Return whether `raw` is short and complete, and has no word for the listener."""
    return (
        not _YOU.search(raw)
        and not (_DANGLING if language == "en" else _REFUSED).search(raw)
        and len(raw.split()) <= _LONGEST
    )


def is_pointing(words: str) -> bool:
    """Return whether `words` begin with a reference to something outside them."""
    return _POINTING.match(words) is not None


def is_shown(raw: str, value: str) -> bool:
    """Return whether a value in `raw` is something that was shown: `the photo`."""
    return f"the {value}" in raw and _SHOWN.match(f"the {value}") is not None


_LONGEST = 26
