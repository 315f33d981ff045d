"""What the words after a rule's head must be before the offline extractor believes them
(rows X2, C3).

An object is refused where it speaks to somebody, ends in mid-air, points at what only
the listener sees, or holds a date of another clause; each kind of object has a test of
its own, which a rule names.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engram.core.language import languages
from engram.extraction.rules.table import (
    TITLED_NAME,
    compiled,
    compiled_with_case,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from engram.core.language.dates import Span
    from engram.core.records import Interval

_TRAIL = re.compile(
    r"(?:[\s.!,;:~*)]|[\u2600-\u27bf\U0001f000-\U0001faff\ufe0f]"
    rf"|\b(?:{languages.any_pattern('extraction', 'fillers')})(?=[\s.!,;]*$))+$",
    re.IGNORECASE,
)


def bare(text: str, start: int, end: int) -> str:
    """`text[start:end]` without closing signs and fillers (`by the way`, `please`,
    `lol`).
    """
    return _TRAIL.sub("", text[start:end])


_AND_DOES = compiled("and_does")
_AFTER_NAME = compiled_with_case("after_name")


def shortened(wants: str, raw: str) -> str:
    """`raw` without what a place or a name is joined to: `Gothenburg and laughs at me`
    is `Gothenburg`.
    """
    if wants == "place":
        return _AND_DOES.split(raw, maxsplit=1)[0]
    return _AFTER_NAME.split(raw, maxsplit=1)[0] if wants in {"name", "person"} else raw


_YOU = compiled("second_person")
_DANGLING = compiled("dangling")
_POINTING = compiled("pointing")
_SHOWN = compiled_with_case("shown")
_EVAL = compiled("evaluation")
_PLACE = compiled_with_case("place")
_UNTIED = compiled("outside")
_APART = compiled("own_clause")
_UNFINISHED_SPAN = compiled_with_case("unfinished_span")
_UNREAD = compiled_with_case("unresolved_date")


def is_apart(words: str) -> bool:
    """Whether `words` hold a clause of their own, to which a date behind them would
    seem to belong.
    """
    return _APART.search(words) is not None


def is_untied(raw: str, start: int, dates: Sequence[Span], *, is_annual: bool) -> bool:
    """Whether `raw`, at `start`, means something outside it, or a date of another
    clause or of no known year.

    `it` after `and` may be inside; a birthday, which `is_annual`, needs no year.
    """
    for date in dates:
        first, last = max(0, date.start - start), max(0, date.end - start)
        if _APART.search(raw[:first]):
            return True
        raw = raw[:first] + "x" * (last - first) + raw[last:]
    if (not is_annual and _UNREAD.search(raw)) or _UNFINISHED_SPAN.search(raw):
        return True
    found = _UNTIED.search(raw)
    return found is not None and not (
        found.group().casefold() == "it" and " and " in raw[: found.start()]
    )


def is_whole(raw: str) -> bool:
    """Whether `raw` is of a fitting length, speaks to nobody and does not end in
    mid-air.
    """
    return (
        not _YOU.search(raw)
        and not _DANGLING.search(raw)
        and len(raw.split()) <= _LONGEST
    )


def is_pointing(words: str) -> bool:
    """Whether `words` begin by pointing at something else."""
    return _POINTING.match(words) is not None


_LONGEST = 26
_TAIL = compiled_with_case("trait_tail")
_HOLLOW = compiled("hollow")
_REMINDER = compiled("reminder")
"""What somebody wants to be reminded to do, or about where they name a time; a question
for what is known is none.
"""
_JOINED = compiled_with_case("joined")
NAME_ONLY = re.compile(rf"{TITLED_NAME}(?: [^\W\d_a-z][\w'-]+)?\Z")
_PERSON = re.compile(
    rf"{TITLED_NAME}(?: [^\W\d_a-z][\w'-]+)?(?:{compiled('after_person').pattern})?\Z"
)
_FORMS = {
    "number": compiled("number"),
    "name": NAME_ONLY,
    "greeted": NAME_ONLY,
    "person": _PERSON,
    "place": _PLACE,
}


def fits(wants: str, raw: str, when: Interval | None, spoken: datetime) -> bool:
    """Whether the object `raw` of a clause that names the time `when` passes the test
    `wants`.
    """
    if wants == "order":
        return bool(raw)
    if wants == "trait":
        return not raw or _TAIL.match(raw) is not None
    if wants == "reminder":
        found = _REMINDER.match(raw)
        return found is not None and (
            when.end > spoken if when else found["do"] is not None
        )
    if wants in _FORMS:
        return _FORMS[wants].match(raw) is not None
    if not raw:
        return wants == "any"
    return (
        not _JOINED.match(raw)
        and not is_pointing(raw)
        and _fits_open(wants, raw, when, spoken)
    )


def _fits_open(wants: str, raw: str, when: Interval | None, spoken: datetime) -> bool:
    """Whether open words name a thing to like, a title, what has happened by now or
    what is ahead.
    """
    long_enough = len(raw.split()) >= 2
    if wants == "thing":
        return not _SHOWN.match(raw) and len(raw.split()) <= 16
    if wants == "title":
        return not _EVAL.match(raw)
    if wants == "event":
        return (
            when is not None
            and when.start <= spoken
            and long_enough
            and not _HOLLOW.match(raw)
        )
    if wants == "ahead":
        return (
            when is not None
            and when.end > spoken
            and long_enough
            and not raw.startswith(("not ", "never "))
        )
    return True
