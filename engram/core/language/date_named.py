"""Days that are named by their position in a year or a month (row X14).

They are holidays, `the second Tuesday in March`, `the 12th`, `Saturday the 5th`, and
ranges such as `from December 3 to 7`.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

from engram.core.language.date_values import (
    DAY,
    DateMatch,
    DateRange,
    calendar_day,
    day_range,
    days_range,
    nearest,
    unit_and_offset,
    unit_at,
    zone_name,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from engram.core.language.date_words import Value

    _Names = tuple[Value | None, Value | None, Value | None]

_YEAR = timedelta(days=365)
_NEAR = 62
"""The days on each side of today in which `Saturday the 5th` is searched."""
_LUNAR = "0219 0208 0128 0216 0205 0125 0212 0201 0122 0210 0129 0217 0206 0126 0213 0203 0123 0211 0131 0219 0208"
_LUNAR_NEW_YEAR = {
    year: (int(day[:2]), int(day[2:])) for year, day in enumerate(_LUNAR.split(), 2015)
}
"""Month and day of the Chinese New Year."""
_OTHER_THANKSGIVING = ("America/Toronto", "America/Vancouver", "America/Montreal")


def easter(year: int) -> date:
    """Return Easter Sunday of the Gregorian calendar, by the anonymous algorithm."""
    a, b, c = year % 19, year // 100, year % 100
    d = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    e = (32 + 2 * (b % 4) + 2 * (c // 4) - d - c % 4) % 7
    f = d + e - 7 * ((a + 11 * d + 22 * e) // 451) + 114
    return date(year, f // 31, f % 31 + 1)


def nth_weekday(year: int, month: int, nth: int, weekday: int) -> date | None:
    """Return the n-th weekday of a month, the last for -1; None if there is none."""
    first = date(year, month, 1)
    if nth < 0:
        last = date(year + month // 12, month % 12 + 1, 1) - DAY
        return last - timedelta(days=(last.weekday() - weekday) % 7)
    found = first + timedelta(days=(weekday - first.weekday()) % 7 + 7 * (nth - 1))
    return found if found.month == month else None


def _holiday_in(year: int, value: Value, zone: str) -> date | None:
    if isinstance(value, tuple):
        rule, offset = str(value[0]), timedelta(days=int(value[1]))
        if rule == "easter":
            return easter(year) + offset
        if rule == "lunar" and year in _LUNAR_NEW_YEAR:
            return date(year, *_LUNAR_NEW_YEAR[year]) + offset
        if rule == "thanksgiving" and not zone.startswith(_OTHER_THANKSGIVING):
            return nth_weekday(year, 11, 4, 3)
        return None
    month, day = (int(part) for part in str(value).split("-"))
    return date(year, month, day)


def _holiday(match: DateMatch) -> DateRange | None:
    """Return the range of `on Christmas Eve`, `last Easter`, `New Year's Eve 2027`."""
    value, zone = match.all("H")[0], zone_name(match.when)

    def in_year(year: int) -> date | None:
        return _holiday_in(year, value, zone)

    if match.all("y"):
        found = in_year(match.number("y"))
    elif match.all("j"):
        found = in_year(match.today.year)
    else:
        found = nearest(match, in_year, match.offset() or match.lean)
    return day_range(found, match.when) if found and not match.annual else None


def _nth_weekday(match: DateMatch) -> DateRange | None:
    """Return the range of `the second Tuesday in March` and the like.

    `the last Monday of next month` is another example.
    """
    nth = match.number("o") if match.all("o") else match.offset()
    weekday = match.number("k")
    if nth < -1 or (nth > 0 and not match.all("o")):
        return None

    def in_year(year: int) -> date | None:
        return nth_weekday(year, match.number("b"), nth, weekday)

    if not match.all("b"):
        month = unit_at("month", match.month_offset(), match.when)
        assert month is not None
        found = nth_weekday(month.start.year, month.start.month, nth, weekday)
    elif match.all("y"):
        found = in_year(match.number("y"))
    else:
        found = nearest(match, in_year, match.lean)
    return day_range(found, match.when) if found else None


def _day_of_month(match: DateMatch) -> DateRange | None:
    """Return the range of `on the 12th`, `Saturday the 5th` and the like.

    A past day without a weekday is one of this month; else it is unclear.
    """
    day, today = match.number("n"), match.today
    lean = match.lean or int(bool(match.all("rL")))
    days = [
        candidate
        for candidate in _days_called(day, today)
        if (candidate - today).days * lean >= 0
    ]
    if match.all("k"):
        days = [
            candidate for candidate in days if candidate.weekday() == match.number("k")
        ]
        return day_range(days[0], match.when) if len(days) == 1 else None
    if not lean or not days or day == today.day or (lean < 0 and day > today.day):
        return None
    return day_range(days[0] if lean > 0 else days[-1], match.when)


def _days_called(day: int, today: date) -> list[date]:
    """Return the days with that number in the months around today."""
    near = timedelta(days=_NEAR)
    days = _days_from(today - near, today + near + DAY)
    return [candidate for candidate in days if candidate.day == day]


def _of_named_unit(match: DateMatch) -> DateRange | None:
    """Return the day or the month that lies in a named unit.

    Examples are `June 27 next year`, `letztes Jahr im Mai`, `Friday of next week` and
    `去年3月5日`. None if no day of the unit, or more than one, has that name.
    """
    unit, offset, names = _names_by_signs(match) if match.all("W") else _names(match)
    outer = unit_at(unit, offset, match.when)
    if outer is None:
        return None
    first, end = outer.start.date(), outer.end.date()
    month, day, weekday = names
    days = [
        candidate
        for candidate in _days_from(first, end)
        if month in {None, candidate.month}
        and day in {None, candidate.day}
        and weekday in {None, candidate.weekday()}
    ]
    if match.all("H"):
        found = _holiday_in(first.year, match.all("H")[0], zone_name(match.when))
        days = [found] if found in days else []
    if unit == "year" and month and not day and days:
        return days_range(days[0], days[-1] + DAY, match.when, "month")
    return day_range(days[0], match.when) if len(days) == 1 else None


def _names(match: DateMatch) -> tuple[str, int, _Names]:
    """Return the unit and its distance; the month, day and weekday named in it."""
    month, day, weekday = (next(iter(match.all(one)), None) for one in "bnk")
    return str(match.all("u")[0]), match.offset(), (month, day, weekday)


def _names_by_signs(match: DateMatch) -> tuple[str, int, _Names]:
    """Return the names in `去年3月5日`, `上周五` and `上周日`, which ends in a day."""
    unit, offset = unit_and_offset(match.all("W")[0])
    numbers, units = match.all("nw"), match.all("uU")
    weekday = next(iter(match.all("k")), None)
    if unit == "week":
        weekday = match.number("w") - 1 if numbers else 6 if units else weekday
        return unit, offset, (None, None, weekday)
    named = dict(zip(units, numbers, strict=False))
    return unit, offset, (named.get("month"), named.get("day"), weekday)


def _days_from(first: date, end: date) -> list[date]:
    return [first + timedelta(days=step) for step in range((end - first).days)]


def _range_of_weekdays(match: DateMatch) -> DateRange | None:
    """Return the range of `from Wednesday to Friday`, if the direction is known."""
    first, last = (int(str(value)) for value in match.all("k"))
    ahead = (first - match.today.weekday()) % 7
    is_working_week = first == 0 and last >= 4  # it may be any week
    if not match.lean or not ahead or (is_working_week and match.lean > 0):
        return None
    start = match.today + timedelta(days=ahead if match.lean > 0 else ahead - 7)
    end = start + timedelta(days=(last - first) % 7)
    return _whole(match, start, end)


def _range_of_days(match: DateMatch) -> DateRange | None:
    """Return the range of `from December 3 to 7` or `from the 3rd to the 7th`.

    `from 28 May to 2 June 2027` is another example.
    """
    days, months = match.all("n"), match.all("b")
    if len(days) != 2 or not (match.lean or match.all("y")):
        return None

    def begin(year: int) -> date | None:
        return calendar_day(year, match.number("b"), match.number("n"))

    if match.all("y"):
        is_over_new_year = int(str(months[-1])) < int(str(months[0]))
        start = begin(match.number("y") - is_over_new_year)
    elif months:
        start = nearest(match, begin, match.lean)
    else:
        first = _day_of_month(match)
        start = first.start.date() if first else None
    ahead = _days_from(start + DAY, start + _YEAR) if start else []
    end = next((one for one in ahead if _is_called(one, days[1], months)), None)
    return _whole(match, start, end) if start and end else None


def _is_called(day: date, number: Value, months: Sequence[Value]) -> bool:
    return day.day == number and (not months or day.month == months[-1])


def _whole(match: DateMatch, start: date, end: date) -> DateRange | None:
    """Return the days from `start` to `end`; None for the past if they are not over."""
    if match.lean < 0 and end > match.today:
        return None
    return days_range(start, end + DAY, match.when)


NAMED_MAKERS: Mapping[str, Callable[[DateMatch], DateRange | None]] = {
    "holiday": _holiday,
    "nth_weekday": _nth_weekday,
    "day_of_month": _day_of_month,
    "of_named_unit": _of_named_unit,
    "range_of_weekdays": _range_of_weekdays,
    "range_of_days": _range_of_days,
}
