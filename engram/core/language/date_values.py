"""The interval of a matched expression of time: local calendar arithmetic (row X14).

There is one function for each rule of the grammar; it returns the range of its
expression, or None if that is unclear. `dates` describes the conventions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import TYPE_CHECKING, Literal

from engram.core.language.date_words import (
    DAY_FIRST,
    MONTH_FIRST,
    SOUTH,
    Lexicon,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Granularity = Literal[
    "minute", "hour", "day", "weekend", "week", "month", "season", "year"
]
DAY = timedelta(days=1)
_FIRST_YEAR, _LAST_YEAR = 1000, 9000


@dataclass(frozen=True, slots=True)
class Token:
    """A word of the text, `text[start:end]`, with its class letter and value."""

    letter: str
    value: Value
    start: int
    end: int
    word: str


@dataclass(frozen=True, slots=True)
class DateRange:
    """An interval without its words: local dates, `end` exclusive."""

    start: datetime
    end: datetime
    granularity: Granularity


@dataclass(frozen=True, slots=True)
class DateMatch:
    """One matched expression: its tokens, the moment of speaking, the direction.

    `lean` is -1 if the sentence is about the past, 1 for the future, 0 if that is
    unclear; `annual` is true if it is about a birthday or another anniversary.
    """

    tokens: Sequence[Token]
    when: datetime
    lexicon: Lexicon
    lean: int
    annual: bool

    @property
    def today(self) -> date:
        """The local day on which the words were spoken."""
        return self.when.date()

    def all(self, letters: str) -> list[Value]:
        """Return the values of the tokens of a class."""
        return [token.value for token in self.tokens if token.letter in letters]

    def number(self, letters: str) -> int:
        """Return the first number of a class."""
        value = self.all(letters)[0]
        assert isinstance(value, int)
        return value

    def offset(self) -> int:
        """Return the offset: last -1, this 0, next 1; before last -2, after next 2."""
        found = [token for token in self.tokens if token.letter in "mzB"]
        return int(str(found[0].value)) if found else 0

    def month_offset(self) -> int:
        """Return the offset of the month in `the last Monday of next month`."""
        found = [token for token in self.tokens if token.letter in "mjz"]
        return int(str(found[-1].value)) if found[-1].letter != "j" else 0


# Ranges of the local calendar.


def _at(day: date, tz: tzinfo | None, hour: int = 0) -> datetime:
    return datetime.combine(day, time(), tz) + timedelta(hours=hour)


def days_range(
    start: date, end: date, when: datetime, granularity: Granularity = "day"
) -> DateRange:
    """Return the local days from `start` up to `end`."""
    return DateRange(_at(start, when.tzinfo), _at(end, when.tzinfo), granularity)


def day_range(day: date, when: datetime) -> DateRange:
    """Return the local day."""
    return days_range(day, day + DAY, when, "day")


def _week(monday: date, when: datetime) -> DateRange:
    return days_range(monday, monday + 7 * DAY, when, "week")


def _month(year: int, month: int, when: datetime) -> DateRange | None:
    """Return the month; a `month` outside 1–12 carries into the year."""
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    if not _FIRST_YEAR <= year <= _LAST_YEAR:
        return None
    return days_range(
        date(year, month, 1), date(year + month // 12, month % 12 + 1, 1), when, "month"
    )


def _year(year: int, when: datetime) -> DateRange | None:
    if not _FIRST_YEAR <= year <= _LAST_YEAR:
        return None
    return days_range(date(year, 1, 1), date(year + 1, 1, 1), when, "year")


def _season(year: int, season: int, when: datetime) -> DateRange | None:
    """Return the season that begins in `year`: winter 0 in December, spring 1 in March.

    Seasons are shifted by half a year in southern zones.
    """
    if zone_name(when).startswith(SOUTH):
        season = (season + 2) % 4
    first = _month(year, season * 3 or 12, when)
    last = _month(year, (season * 3 or 12) + 2, when)
    return DateRange(first.start, last.end, "season") if first and last else None


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def zone_name(when: datetime) -> str:
    """Return the key of the time zone, '' for a fixed offset."""
    return str(getattr(when.tzinfo, "key", ""))


def calendar_day(year: int, month: int, day: int) -> date | None:
    """Return the day, or None if it is not in the calendar."""
    try:
        return date(year, month, day)
    except ValueError:
        return None


# One maker for each rule of the grammar.


def _full_date(match: DateMatch) -> DateRange | None:
    """Return the range of a date such as `20 November 2026` or `2026年11月20日`."""
    numbers = [int(str(value)) for value in match.all("nb")]
    if match.all("b"):
        month, day = match.number("b"), match.number("n")
    elif match.all("uU") == ["year", "month", "day"]:
        month, day = numbers
    else:
        return None
    return _agreed(match, calendar_day(match.number("y"), month, day))


def _agreed(match: DateMatch, day: date | None) -> DateRange | None:
    """Return the day, or None if a weekday next to it contradicts it.

    `Friday, 20 November 2026` agrees.
    """
    named = match.all("k")
    return (
        day_range(day, match.when)
        if day and (not named or day.weekday() == named[0])
        else None
    )


def _month_of_year(match: DateMatch) -> DateRange | None:
    if match.all("b") and match.all("u") not in ([], ["year"]):
        return None
    if not match.all("b") and (
        match.all("u") != ["year", "month"] or not 1 <= match.number("n") <= 12
    ):
        return None
    return _month(match.number("y"), match.number("bn"), match.when)


def _season_of_year(match: DateMatch) -> DateRange | None:
    """Return the range of `summer 2024`; None for a season that spans two years."""
    found = _season(match.number("y"), match.number("s"), match.when)
    return found if found and (found.end - DAY).year == found.start.year else None


def _yearless(match: DateMatch) -> DateRange | None:
    """Return the range of `Nov 20` if the direction is known; not an anniversary."""
    values = [int(str(value)) for value in match.all("nb")]
    if match.all("uU") not in ([], ["month", "day"]) or match.annual:
        return None
    if match.all("X"):  # 28.11.
        day, month = (int(part) for part in str(match.all("X")[0]).split("."))
    else:
        month, day = (
            (match.number("b"), match.number("n")) if match.all("b") else values
        )
    if match.all("k"):
        return _agreed_day(match, month, day)
    found = nearest(match, lambda year: calendar_day(year, month, day), match.lean)
    return day_range(found, match.when) if found else None


def nearest(
    match: DateMatch, in_year: Callable[[int], date | None], lean: int
) -> date | None:
    """Return the day nearest to today on one side; None if it is nearly a year away.

    Today itself counts as ahead; for the past it is unclear.
    """
    for step in range(9) if lean else ():
        found = in_year(match.today.year + step * lean)
        away = (found - match.today).days * lean if found else -1
        if away >= 0:
            is_clear = away <= CLEAR_DAYS and (away or lean > 0)
            return found if is_clear else None
    return None


def _agreed_day(match: DateMatch, month: int, day: int) -> DateRange | None:
    """Return the range of `Friday, April 16` in the nearest year with that weekday."""
    days = [calendar_day(match.today.year + step, month, day) for step in (-1, 0, 1)]
    near = [
        found
        for found in days
        if found
        and found.weekday() == match.number("k")
        and (found - match.today).days * match.lean >= 0
        and abs((found - match.today).days) < _AGREED_DAYS
    ]
    return day_range(near[0], match.when) if len(near) == 1 else None


_AGREED_DAYS = 366
CLEAR_DAYS = 322
"""The largest distance of a date without a year.

A date farther away is less than six weeks away on the other side of today.
"""


def _month_by_lean(match: DateMatch) -> DateRange | None:
    """Return the range of `in May` or `三月` if the direction is known.

    `三个月` is a duration.
    """
    is_duration = not match.all("b") and match.tokens[-1].word != "月"
    if match.annual or not match.lean or is_duration:
        return None
    return _nearest_month(match, match.lean)


def _nearest_month(match: DateMatch, lean: int) -> DateRange | None:
    month = match.number("bnw")
    if not 1 <= month <= 12:
        return None
    passed = (month - match.today.month) * lean < 0
    return _month(match.today.year + lean * passed, month, match.when)


def _end(match: DateMatch) -> DateRange | None:
    """Return the last day of `by the end of the month` or `by the end of January`.

    None for a week, a season or the past.
    """
    whole: DateRange | None = None
    if match.lean < 0:
        return None
    if match.all("Z"):
        return _end_by_signs(match)
    if match.all("b"):
        named = (
            _month_of_year
            if match.all("y")
            else _month_named
            if match.all("jmz")
            else _month_ahead
        )
        whole = named(match)
    elif match.all("u") in (["day"], ["month"], ["year"]):
        whole = unit_at(str(match.all("u")[0]), match.offset(), match.when)
    elif match.all("y"):
        whole = _year_named(match)
    return day_range((whole.end - DAY).date(), match.when) if whole else None


def _end_by_signs(match: DateMatch) -> DateRange | None:
    """Return the last day of `十二月底` or `下个月底`."""
    if match.all("W"):
        unit, offset = unit_and_offset(match.all("W")[0])
        whole = unit_at(unit, offset, match.when) if unit != "week" else None
    elif match.all("u") == ["month"]:
        whole = _nearest_month(match, 1)
    else:
        return None
    return day_range((whole.end - DAY).date(), match.when) if whole else None


def _month_ahead(match: DateMatch) -> DateRange | None:
    return _nearest_month(match, 1)


def _counted(match: DateMatch, sign: int) -> DateRange | None:
    """Return the day, calendar week, month or year at a distance: `three weeks ago`."""
    count, unit, when = sign * match.number("nw"), match.all("u")[0], match.when
    if unit == "hour":
        moment = (when.astimezone(UTC) + timedelta(hours=count)).astimezone(when.tzinfo)
        start = moment.replace(minute=0, second=0, microsecond=0)
        return DateRange(start, start + timedelta(hours=1), "hour")
    if unit == "day":
        return day_range(match.today + count * DAY, when)
    return unit_at(str(unit), count, when)


def unit_at(unit: str, offset: int, when: datetime) -> DateRange | None:
    """Return the day, week, weekend, month or year that is `offset` units away."""
    today = when.date()
    if unit == "day":
        return day_range(today + offset * DAY, when)
    if unit == "week":
        return _week(_monday(today) + 7 * offset * DAY, when)
    if unit == "weekend":
        saturday = _monday(today) + timedelta(days=5 + 7 * offset)
        return days_range(saturday, saturday + 2 * DAY, when, "weekend")
    if unit == "month":
        return _month(today.year, today.month + offset, when)
    return _year(today.year + offset, when) if unit == "year" else None


def _ago(match: DateMatch) -> DateRange | None:
    return _counted(match, -1)


def _ahead(match: DateMatch) -> DateRange | None:
    """Return the range of `in three days`; None for a duration, as in a past sentence."""
    is_duration = match.lean < 0 or 0 in match.all("i")  # en deux semaines
    return None if is_duration else _counted(match, 1)


def _unit(match: DateMatch) -> DateRange | None:
    """Return the range of `last week` or `先週`.

    The result is None for `this past week` in English, a rolling window.
    """
    if match.all("W"):
        unit, offset = unit_and_offset(match.all("W")[0])
        return unit_at(unit, offset, match.when)
    if match.all("z") and match.lexicon.rolling_nearest:
        return None
    unit = str(match.all("u")[0])
    return (
        None if unit in {"hour", "day"} else unit_at(unit, match.offset(), match.when)
    )


def unit_and_offset(value: Value) -> tuple[str, int]:
    """Return the unit and its distance in the value of `先週`."""
    assert isinstance(value, tuple)
    return str(value[0]), int(value[1])


def _weekday(match: DateMatch) -> DateRange | None:
    """Return the range of `last Friday`, `this Friday`, `next Friday`.

    `next Friday` is in the next week, provided that all readings agree on it; `before
    last` and `after next` are a week further away.
    """
    weekday, today = match.number("k"), match.today
    in_week = _monday(today) + timedelta(days=weekday)
    before = today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1)
    coming = today + timedelta(days=(weekday - today.weekday() - 1) % 7 + 1)
    offset = match.offset()
    if offset < 0:
        return day_range(before + 7 * (offset + 1) * DAY, match.when)
    if match.all("z"):
        return day_range(coming, match.when)
    if offset > 0:
        is_next_week = coming == in_week + 7 * DAY
        agreed = match.lexicon.next_weekday_is_next_week or is_next_week
        return day_range(in_week + 7 * offset * DAY, match.when) if agreed else None
    if in_week < today and match.lean >= 0:
        return day_range(coming, match.when) if match.lean else None
    return (
        None if in_week > today and match.lean < 0 else day_range(in_week, match.when)
    )


def _weekday_by_lean(match: DateMatch) -> DateRange | None:
    """Return the range of `on Friday` in a sentence with a direction.

    A plan for the weekday of today is for next week; for the past it is unclear.
    """
    ahead = (match.number("k") - match.today.weekday()) % 7
    if match.lean > 0:
        ahead = ahead or 7
    if not match.lean or not ahead:
        return None
    return day_range(
        match.today + timedelta(days=ahead if match.lean > 0 else ahead - 7),
        match.when,
    )


def _month_named(match: DateMatch) -> DateRange | None:
    """Return the range of `last May`, `this May` or `next May`.

    `last May` is the latest that has ended, `next May` the first to begin, `this May`
    the one of this year; `before last` and `after next` are a year further away.
    """
    month, today, years = match.number("b"), match.today, match.offset()
    if years < 0 and month < today.month:
        years += 1
    elif years > 0 and month > today.month:
        years -= 1
    return _month(today.year + years, month, match.when)


def _season_named(match: DateMatch) -> DateRange | None:
    """Return the range of `last summer`, `this summer` or `next summer`.

    `last summer` has ended, `next summer` has not begun; `this summer` is clear within
    it or by the direction. `before last` and `after next` are a year further away.
    """
    seasons = [
        season
        for step in range(-3, 4)
        if (season := _season_of(match, match.today.year + step))
    ]
    ended = [candidate for candidate in seasons if candidate.end <= match.when]
    current = [
        candidate
        for candidate in seasons
        if candidate.start <= match.when < candidate.end
    ]
    ahead = [candidate for candidate in seasons if candidate.start > match.when]

    offset = match.offset()
    if not offset:
        if current:
            return current[0]
        offset = match.lean
    if offset < 0:
        return ended[offset] if len(ended) >= -offset else None
    if offset > 0:
        return ahead[offset - 1] if len(ahead) >= offset else None
    return None


def _season_of(match: DateMatch, year: int) -> DateRange | None:
    return _season(year, match.number("s"), match.when)


def _weekend(match: DateMatch) -> DateRange | None:
    """Return the Saturday and Sunday of last, this or next week.

    `this weekend` in a past sentence on a weekday is unclear.
    """
    offset = match.offset()
    if not offset and match.lean < 0 and match.today.weekday() < 5:
        return None
    if match.all("z") and offset > 0:
        offset = 0 if match.today.weekday() < 5 else 1
    return unit_at("weekend", offset, match.when)


def _named_day(match: DateMatch) -> DateRange | None:
    return day_range(match.today + match.number("d") * DAY, match.when)


def _part(match: DateMatch) -> DateRange | None:
    """Return the range of `this morning` or `last night`, hours of a nearby day."""
    value = match.all("P")[0]
    assert isinstance(value, tuple)
    day = match.today + int(value[0]) * DAY
    begin, until = _numbers(value)
    return DateRange(
        _at(day, match.when.tzinfo, begin),
        _at(day, match.when.tzinfo, until),
        "hour",
    )


def _numeric(match: DateMatch) -> DateRange | None:
    """Return the range of `2026-11-20` or `20.11.2026`.

    `03/04/2026` has a range only if the zone decides which number is the month.
    """
    text = str(match.all("D")[0])
    first, second, third = (int(part) for part in re.split(r"[-/.]", text))
    if len(re.split(r"[-/.]", text)[0]) == 4:
        found = calendar_day(first, second, third)
    elif "." in text or zone_name(match.when).startswith(DAY_FIRST) or first > 12:
        found = calendar_day(third, second, first)
    elif (
        zone_name(match.when).startswith(MONTH_FIRST) or second > 12 or first == second
    ):
        found = calendar_day(third, first, second)
    else:
        found = None
    return (
        day_range(found, match.when)
        if found and _FIRST_YEAR <= found.year <= _LAST_YEAR
        else None
    )


def _year_named(match: DateMatch) -> DateRange | None:
    return _year(match.number("y"), match.when)


def within(day: DateRange, token: Token) -> DateRange | None:
    """Return `day` narrowed to the hours or the clock time of `token`, or None."""
    if token.letter == "p":
        begin, until = _numbers(token.value)
        return DateRange(
            day.start + timedelta(hours=begin),
            day.start + timedelta(hours=until),
            "hour",
        )
    match = re.match(
        r"(\d{1,2})(?::|h|uhr)?(\d{2})?\s?([ap])?", str(token.value).casefold()
    )
    if match is None:
        return None
    hour, minute, half = int(match[1]), int(match[2] or 0), match[3]
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    if hour > 23 or minute > 59:
        return None
    start = day.start + timedelta(hours=hour, minutes=minute)
    return (
        DateRange(start, start + timedelta(minutes=1), "minute")
        if match[2]
        else DateRange(start, start + timedelta(hours=1), "hour")
    )


def _numbers(value: Value) -> tuple[int, int]:
    assert isinstance(value, tuple)
    return int(value[-2]), int(value[-1])


VALUE_MAKERS: Mapping[str, Callable[[DateMatch], DateRange | None]] = {
    "end": _end,
    "date": _full_date,
    "month_of_year": _month_of_year,
    "season_of_year": _season_of_year,
    "yearless": _yearless,
    "day_dot_month": _yearless,
    "ago": _ago,
    "ahead": _ahead,
    "day": _named_day,
    "part": _part,
    "numeric": _numeric,
    "year": _year_named,
    "unit": _unit,
    "weekday": _weekday,
    "month": _month_named,
    "season": _season_named,
    "weekend": _weekend,
    "month_by_lean": _month_by_lean,
    "month_by_number": _month_by_lean,
    "weekday_by_lean": _weekday_by_lean,
}
