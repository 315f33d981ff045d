"""A time that stands alone, such as the value of an option (row X13).

In: a text and the time at which it is given. Out: the beginning and the end of what it
names. In a sentence, a weekday or a date without a year needs a tense; here the caller
says whether the past or the future is meant.
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
"""Units as other commands take them; `m` may be a minute or a month."""
_MONTHS = {"month": 1, "year": 12}
_DAYS = {"day": 1, "week": 7}
_DAY = timedelta(days=1)


def named_time(
    text: str, now: datetime, *, ahead: bool = False
) -> tuple[datetime, datetime] | None:
    """Return beginning and end of the time that the whole text names, or None.

    `ahead` says which way a weekday, a month or an amount counts from `now`, an aware
    time: on 23 November 2026, `3d` begins on 20 November, and `ahead` on 26 November.
    """
    plain = text.strip()
    if plain.casefold() == "now":
        return now, now
    if found := _YEAR_OR_MONTH.fullmatch(plain):
        return _year_or_month(int(found[1]), int(found[2] or 0), now)
    spans = dates.spans(plain, now, lean=1 if ahead else -1)
    if len(spans) == 1 and not _has_more(plain, spans[0]):
        return spans[0].interval.start, spans[0].interval.end
    found = _AMOUNT.fullmatch(plain.casefold())
    return _amount(found, now, ahead=ahead) if found else None


def _has_more(text: str, span: dates.Span) -> bool:
    """Return whether there are words beside the span other than `since` or `on`."""
    beside = text[: span.start].casefold().split(), text[span.end :].split()
    return bool(beside[1]) or not any(_lead(beside[0], one) for one in LEXICONS)


def _year_or_month(
    year: int, month: int, now: datetime
) -> tuple[datetime, datetime] | None:
    if not 1900 <= year < 2200:
        return None
    start = datetime(year, month or 1, 1, tzinfo=now.tzinfo)
    return start, _months_later(start, 1 if month else 12)


def _amount(
    found: re.Match[str], now: datetime, *, ahead: bool
) -> tuple[datetime, datetime] | None:
    """Return the moment that is so many units from now, or the day of it."""
    unit = _unit(found["unit"], found["before"].split())
    if not unit:
        return None
    number = int(found["n"]) * (1 if ahead else -1)
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
    """Return the unit of time that a word names after these words, or ''."""
    if short := _SHORT_UNITS.get(word):
        return "" if before else short
    for lexicon in LEXICONS:
        letter, value = lexicon.phrases.get(word, ("", ""))
        if letter == "u" and _lead(before, lexicon):
            return str(value)
    return ""


def _lead(words: list[str], lexicon: Lexicon) -> bool:
    """Return whether words only lead to a time: `in the last`, `since`."""
    return all(
        letter in "qSicgmz" and value not in {1, 2}
        for letter, value in (lexicon.phrases.get(one, ("?", "")) for one in words)
    )


def _months_later(day: datetime, months: int) -> datetime:
    """Return the same day so many months later, or the last one of a shorter month."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    last = monthrange(year, month + 1)[1]
    return day.replace(year=year, month=month + 1, day=min(day.day, last))
