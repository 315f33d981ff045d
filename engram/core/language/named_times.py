"""Parse a time that is a text of its own, such as the value of an option (row X13).

The functions take a text and the present time, and return the beginning and the end of
the named time. In a sentence, a weekday or a date without a year needs a tense; here
the caller states whether the past or the future is meant.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import datetime, timedelta

from engram.core.language import dates
from engram.core.language.date_words import LEXICONS, Lexicon

_YEAR_OR_MONTH = re.compile(r"(\d{4})(?:-(0[1-9]|1[0-2]))?")
_AMOUNT = re.compile(r"(?P<before>\D*?)(?P<n>\d{1,4})\s*(?P<unit>[^\W\d_]+)")
_SHORT_UNITS = {"h": "hour", "d": "day", "w": "week", "mo": "month", "y": "year"}
"""Units as in options of other programs; `m` may be a minute or a month."""
_MONTHS = {"month": 1, "year": 12}
_DAYS = {"day": 1, "week": 7}
_DAY = timedelta(days=1)


def named_time(
    text: str, now: datetime, *, ahead: bool = False
) -> tuple[datetime, datetime] | None:
    """Return beginning and end of the time that the whole text names, or None.

    `ahead` selects the direction of a weekday, a month or an amount from `now`, an
    aware time: on 23 November 2026, `3d` begins on 20 November, and with `ahead` on 26
    November.
    """
    plain = text.strip()
    if plain.casefold() == "now":
        return now, now
    if match := _YEAR_OR_MONTH.fullmatch(plain):
        return _year_or_month(int(match[1]), int(match[2] or 0), now)
    spans = dates.spans(plain, now, lean=1 if ahead else -1)
    if len(spans) == 1 and not _has_more(plain, spans[0]):
        return spans[0].interval.start, spans[0].interval.end
    match = _AMOUNT.fullmatch(plain.casefold())
    return _amount(match, now, ahead=ahead) if match else None


def _has_more(text: str, span: dates.Span) -> bool:
    """Return whether the text has words besides the span, except `since` and `on`."""
    around_span = text[: span.start].casefold().split(), text[span.end :].split()
    return bool(around_span[1]) or not any(
        _lead(around_span[0], lexicon) for lexicon in LEXICONS
    )


def _year_or_month(
    year: int, month: int, now: datetime
) -> tuple[datetime, datetime] | None:
    if not 1900 <= year < 2200:
        return None
    start = datetime(year, month or 1, 1, tzinfo=now.tzinfo)
    return start, _months_later(start, 1 if month else 12)


def _amount(
    match: re.Match[str], now: datetime, *, ahead: bool
) -> tuple[datetime, datetime] | None:
    """Return the moment that is some units from now, or the day of it."""
    unit = _unit(match["unit"], match["before"].split())
    if not unit:
        return None
    number = int(match["n"]) * (1 if ahead else -1)
    try:
        if unit == "hour":
            moment = now + timedelta(hours=number)
            return moment, moment
        day = now.replace(hour=0, minute=0, second=0, microsecond=0)
        if unit in _MONTHS:
            day = _months_later(day, number * _MONTHS[unit])
        else:
            day += timedelta(days=number * _DAYS[unit])
        return day, day + _DAY
    except (OverflowError, ValueError):
        return None


def _unit(word: str, before: list[str]) -> str:
    """Return the unit of time that a word names after the words `before`, or ''."""
    if short := _SHORT_UNITS.get(word):
        return "" if before else short
    for lexicon in LEXICONS:
        letter, value = lexicon.phrases.get(word, ("", ""))
        if letter == "u" and _lead(before, lexicon):
            return str(value)
    return ""


def _lead(words: list[str], lexicon: Lexicon) -> bool:
    """Return whether the words only introduce a time: `in the last`, `since`."""
    return all(
        letter in "qSicgmz" and value not in {1, 2}
        for letter, value in (lexicon.phrases.get(word, ("?", "")) for word in words)
    )


def _months_later(day: datetime, months: int) -> datetime:
    """Return the same day `months` months later, or the last day of a shorter month."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    last = monthrange(year, month + 1)[1]
    return day.replace(year=year, month=month + 1, day=min(day.day, last))
