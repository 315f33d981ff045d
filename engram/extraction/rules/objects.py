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
    TITLED_NAME,
    pattern_of,
    pattern_with_case,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from engram.core.language.dates import Span
    from engram.core.language.languages import LazyPattern
    from engram.core.records import Interval

_TRAIL = re.compile(
    r"(?:[\s.!,;:~*)]|[\u2600-\u27bf\U0001f000-\U0001faff\ufe0f]"
    rf"|\b(?:{languages.any_pattern('extraction', 'fillers')})(?=[\s.!,;]*$))+$",
    re.IGNORECASE,
)


def bare(text: str, start: int, end: int) -> str:
    """Return `text[start:end]` without closing signs and fillers, such as `lol`."""
    return _TRAIL.sub("", text[start:end])


_AND_DOES = pattern_of("and_does")
_AFTER_NAME = pattern_with_case("after_name")


def shortened(object_kind: str, raw: str) -> str:
    """Return `raw` without the words after a place or a name.

    `Gothenburg and laughs at me` becomes `Gothenburg`.
    """
    if object_kind == "place":
        return _AND_DOES.split(raw, maxsplit=1)[0]
    return (
        _AFTER_NAME.split(raw, maxsplit=1)[0]
        if object_kind in {"name", "person"}
        else raw
    )


_YOU = pattern_of("second_person")
_DANGLING = pattern_of("dangling")
_POINTING = pattern_of("pointing")
_SHOWN = pattern_with_case("shown")
_EVAL = pattern_of("evaluation")
_PLACE = pattern_with_case("place")
_UNTIED = pattern_of("outside")
_APART = pattern_of("own_clause")
_UNFINISHED_SPAN = pattern_with_case("unfinished_span")
_UNREAD = pattern_with_case("unresolved_date")


def is_apart(words: str) -> bool:
    """Return whether `words` contain a clause that a following date could modify."""
    return _APART.search(words) is not None


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


def is_whole(raw: str) -> bool:
    """Return whether `raw` is short and complete, and has no word for the listener."""
    return (
        not _YOU.search(raw)
        and not _DANGLING.search(raw)
        and len(raw.split()) <= _LONGEST
    )


def is_pointing(words: str) -> bool:
    """Return whether `words` begin with a reference to something outside them."""
    return _POINTING.match(words) is not None


_LONGEST = 26
_TAIL = pattern_with_case("trait_tail")
_HOLLOW = pattern_of("hollow")
_REMINDER = pattern_of("reminder")
"""A request for a reminder: of an action, or of a thing with a time; no question."""
_JOINED = pattern_with_case("joined")
NAME_ONLY = re.compile(rf"{TITLED_NAME}(?: [^\W\d_a-z][\w'-]+)?\Z")
_PERSON = re.compile(
    rf"{TITLED_NAME}(?: [^\W\d_a-z][\w'-]+)?(?:{pattern_of('after_person').pattern})?\Z"
)
_FORMS: Mapping[str, re.Pattern[str] | LazyPattern] = {
    "number": pattern_of("number"),
    "name": NAME_ONLY,
    "person": _PERSON,
    "place": _PLACE,
}


def fits(object_kind: str, raw: str, when: Interval | None, spoken: datetime) -> bool:
    """Return whether the object `raw` is of the kind `object_kind`.

    `when` is the time of its clause, `spoken` that of the turn.
    """
    if object_kind == "order":
        return bool(raw)
    if object_kind == "trait":
        return not raw or _TAIL.match(raw) is not None
    if object_kind == "reminder":
        match = _REMINDER.match(raw)
        return match is not None and (
            when.end > spoken if when else match["do"] is not None
        )
    if object_kind in _FORMS:
        return _FORMS[object_kind].match(raw) is not None
    if not raw:
        return object_kind == "any"
    return (
        not _JOINED.match(raw)
        and not is_pointing(raw)
        and _fits_open(object_kind, raw, when, spoken)
    )


def _fits_open(
    object_kind: str, raw: str, when: Interval | None, spoken: datetime
) -> bool:
    """Return whether open words are a thing to like, a title, or an event."""
    long_enough = len(raw.split()) >= 2
    if object_kind == "thing":
        return not _SHOWN.match(raw) and len(raw.split()) <= 16
    if object_kind == "title":
        return not _EVAL.match(raw)
    if object_kind == "event":
        return (
            when is not None
            and when.start <= spoken
            and long_enough
            and not _HOLLOW.match(raw)
        )
    if object_kind == "ahead":
        return (
            when is not None
            and when.end > spoken
            and (long_enough or raw.casefold() == when.words.casefold())
            and not raw.startswith(("not ", "never "))
        )
    return True
