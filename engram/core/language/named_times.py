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
from engram.core.language.date_words import LEXICONS

_YEAR_OR_MONTH = re.compile(r"(\d{4})(?:-(0[1-9]|1[0-2]))?")
_AMOUNT = re.compile(
    r"(?:(?:the )?(?:last|past) )?(?P<n>\d{1,4})\s*(?:"
    r"(?P<hours>h|hours?)|(?P<days>d|days?)|(?P<weeks>w|weeks?)"
    r"|(?P<months>mo|months?)|(?P<years>y|years?))"
)
"""Amounts as in options of other programs; `m` may be a minute or a month."""
_LEADS = frozenset[str]().union(*(one.leads for one in LEXICONS))
_DAY = timedelta(days=1)


def named_time(
    text: str, now: datetime, *, ahead: bool = False
) -> tuple[datetime, datetime] | None:
    """Return beginning and end of the time that the whole text names, or None.

    `ahead` selects the direction of a weekday, a month or an amount from `now`, an
    aware time: on 23 November 2026, `3d` begins on 20 November, and with `ahead` on 26
    November.
    """
    plain = text.strip().casefold()
    if plain == "now":
        return now, now
    if match := _YEAR_OR_MONTH.fullmatch(plain):
        return _year_or_month(int(match[1]), int(match[2] or 0), now)
    if match := _AMOUNT.fullmatch(plain):
        return _amount(
            str(match.lastgroup), int(match["n"]) * (1 if ahead else -1), now
        )
    spans = dates.spans(text, now, lean=1 if ahead else -1)
    if len(spans) != 1 or text[spans[0].end :].strip():
        return None
    interval = spans[0].interval
    is_whole = _LEADS.issuperset(text[: spans[0].start].casefold().split())
    return (interval.start, interval.end) if is_whole else None


def _year_or_month(
    year: int, month: int, now: datetime
) -> tuple[datetime, datetime] | None:
    if not 1900 <= year < 2200:
        return None
    start = datetime(year, month or 1, 1, tzinfo=now.tzinfo)
    return start, _months_later(start, 1 if month else 12)


def _amount(unit: str, number: int, now: datetime) -> tuple[datetime, datetime] | None:
    """Return the moment that is some hours from now, or the day of another unit."""
    try:
        if unit == "hours":
            moment = now + timedelta(hours=number)
            return moment, moment
        day = now.replace(hour=0, minute=0, second=0, microsecond=0)
        if unit in {"months", "years"}:
            day = _months_later(day, number * (12 if unit == "years" else 1))
        else:
            day += timedelta(**{unit: number})
        return day, day + _DAY
    except (OverflowError, ValueError):
        return None


def _months_later(day: datetime, months: int) -> datetime:
    """Return the same day `months` months later, or the last day of a shorter month."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    last = monthrange(year, month + 1)[1]
    return day.replace(year=year, month=month + 1, day=min(day.day, last))
