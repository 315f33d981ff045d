"""The interval of a matched expression of time: local calendar arithmetic (row X14).

`RULES` is the grammar: patterns over token classes (`date_words`), each with the
function that makes its range or returns None if that is unclear. Most expressions are
names, such as a month, a day and a weekday: `_named` selects the one of their
occurrences that the year, a unit beside it, `last` or `next`, or the direction of the
sentence singles out. `dates` describes the conventions.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Literal

from engram.core.language.languages import LazyPattern
from engram.core.records import Interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from engram.core.language.date_tense import Token
    from engram.core.language.date_words import Lexicon, Value

Granularity = Literal[
    "minute", "hour", "day", "weekend", "week", "month", "season", "year"
]
DAY = timedelta(days=1)
_FIRST_YEAR, _LAST_YEAR = 1000, 9000
_CLEAR_DAYS = 322
"""The largest distance of a date without a year.

A date farther away is less than six weeks away on the other side of today.
"""
_YEAR_DAYS, _NEAR_DAYS = 365, 62
"""How far a weekday and a date that agree are searched, with and without a month."""

_CANADA = LazyPattern("America/(?:Toronto|Vancouver|Montreal)")
_SOUTH = LazyPattern(
    "Australia/|Pacific/Auckland|Africa/Johannesburg"
    "|America/(?:Argentina|Buenos_Aires|Sao_Paulo|Santiago|Montevideo)"
)
"""Zones whose summer begins in December."""
_MONTH_FIRST = LazyPattern(
    "America/(?:New_York|Chicago|Denver|Los_Angeles|Phoenix|Detroit|Anchorage|Indiana/)"
    "|Pacific/Honolulu|US/"
)
"""Zones in which 03/04 is the fourth of March."""
_DAY_FIRST = LazyPattern("Europe/|Australia/|Pacific/Auckland|Asia/Kolkata|Africa/")
"""Zones in which 03/04 is the third of April."""


@dataclass(frozen=True, slots=True)
class DateMatch:
    """One matched expression: its tokens, the moment of speaking, the direction.

    `lean` is -1 if the sentence is about the past, 1 for the future, 0 if that is
    unclear.
    """

    tokens: Sequence[Token]
    when: datetime
    lexicon: Lexicon
    lean: int

    @property
    def today(self) -> date:
        """The local day on which the words were spoken."""
        return self.when.date()

    @property
    def zone(self) -> str:
        """The key of the time zone, '' for a fixed offset."""
        return str(getattr(self.when.tzinfo, "key", ""))

    def all(self, letters: str) -> list[Value]:
        """Return the values of the tokens of a class."""
        return [token.value for token in self.tokens if token.letter in letters]

    def has(self, letters: str) -> bool:
        """Return whether there is a token of a class."""
        return any(token.letter in letters for token in self.tokens)

    def number(self, letters: str) -> int | None:
        """Return the first number of a class, or None."""
        return next((int(str(value)) for value in self.all(letters)), None)

    def offset(self) -> int:
        """Return the offset: last -1, this 0, next 1; before last -2, after next 2."""
        return self.number("mzB") or 0

    def unit(self) -> str:
        """Return the unit, '' without one."""
        return str(next(iter(self.all("u")), ""))

    def part(self, first: int, last: int | None = None) -> DateMatch:
        """Return the tokens `first:last` as a match."""
        return replace(self, tokens=self.tokens[first:last])

    def days(self, start: date, end: date, size: Granularity = "day") -> Interval:
        """Return the local days from `start` up to `end`."""
        tz = self.when.tzinfo
        first, last = (datetime.combine(one, time(), tz) for one in (start, end))
        return Interval(first, last, size, "")

    def day(self, day: date | None) -> Interval | None:
        """Return the local day."""
        return self.days(day, day + DAY) if day else None

    def month(self, year: int, month: int, months: int = 1) -> Interval | None:
        """Return the months; a `month` outside 1–12 carries into the year."""
        first = year * 12 + month - 1
        years = (first // 12, (first + months) // 12)
        if years[0] < _FIRST_YEAR or years[1] > _LAST_YEAR:
            return None
        start, end = (
            date(one // 12, one % 12 + 1, 1) for one in (first, first + months)
        )
        size: Granularity = {1: "month", 3: "season"}.get(months, "year")  # type: ignore[assignment]
        return self.days(start, end, size)

    def day_from(self, day: date, count: int) -> Interval | None:
        """Return the day that is so many units away, in a short month the last one."""
        match self.unit():
            case "day":
                return self.day(day + count * DAY)
            case "week":
                return self.day(day + 7 * count * DAY)
            case "month" | "year" as unit:
                months = count * (12 if unit == "year" else 1)
                month = self.month(day.year, day.month + months)
                if month:
                    last = month.end.date() - DAY
                    return self.day(last.replace(day=min(day.day, last.day)))
        return None

    def season(self, year: int, season: int) -> Interval | None:
        """Return the season that begins in `year`: winter 0 in December, spring 1.

        Seasons are shifted by half a year in southern zones.
        """
        season = (season + 2) % 4 if _SOUTH.match(self.zone) else season
        return self.month(year, season * 3 or 12, 3)

    def unit_at(self, unit: str, offset: int) -> Interval | None:
        """Return the day, week, weekend, month or year that is `offset` units away."""
        today = self.today
        monday = today + timedelta(days=7 * offset - today.weekday())
        match unit:
            case "day":
                return self.day(today + offset * DAY)
            case "week":
                return self.days(monday, monday + 7 * DAY, "week")
            case "weekend":
                return self.days(monday + 5 * DAY, monday + 7 * DAY, "weekend")
            case "month":
                return self.month(today.year, today.month + offset)
            case "year":
                return self.month(today.year + offset, 1, 12)
        return None


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


def _holiday(year: int, value: Value, zone: str) -> date | None:
    if isinstance(value, tuple):
        rule, offset = str(value[0]), timedelta(days=int(value[1]))
        if rule == "easter":
            return easter(year) + offset
        if rule == "thanksgiving" and not _CANADA.match(zone):
            return nth_weekday(year, 11, 4, 3)
        return None
    month, day = (int(part) for part in str(value).split("-"))
    return date(year, month, day)


def _calendar_day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


# -- names: a month, a day of it, a weekday, a season, a holiday --------------------------


def _occurrences(match: DateMatch, years: Iterable[int]) -> list[Interval]:
    """Return what the names of a match may mean in some years, in order."""
    return [one for year in years for one in _in_year(match, year) if one]


def _in_year(match: DateMatch, year: int) -> Iterable[Interval | None]:
    month, number, weekday = (match.number(letter) for letter in "bnk")
    nth = match.number("om")
    for value in match.all("X"):  # 28.11.
        number, month = (int(part) for part in str(value).split("."))
    for value in match.all("H"):
        return [match.day(_holiday(year, value, match.zone))]
    if match.has("s"):
        return [match.season(year, match.number("s") or 0)]
    if month and number is None and weekday is None:
        return [match.month(year, month)]

    months = [month] if month else range(1, 13)
    days: Iterable[date | None]
    if number is not None:
        days = [_calendar_day(year, one, number) for one in months]
    elif nth and weekday is not None:
        days = [nth_weekday(year, one, nth, weekday) for one in months]
    else:
        days = (date(year, 1, 1) + step * DAY for step in range(366))
    return [
        match.day(day)
        for day in days
        if day and (weekday is None or day.weekday() == weekday)
    ]


def _named(match: DateMatch) -> Interval | None:
    """Return the range of named days or months.

    `20 November 2026`, `last May`, `this summer`, `on Saturday the 5th`, `im Mai`.
    """
    year = match.number("y")
    if year and not match.has("bnHs"):
        return match.month(year, 1, 12)
    if not match.has("bnXHsy"):
        return _weekday(match)
    found = _occurrences(match, [year] if year else _years_near(match))
    if year:
        found = [one for one in found if (one.end - DAY).year == year]
        return found[0] if len(found) == 1 else None
    if match.has("k") and match.has("nX"):
        return _agreed(match, found)
    if match.has("n") and not match.has("b"):
        return _day_of_month(match, found)
    if match.has("mzB") and not match.has("o"):
        return _nth_away(match, found, match.offset())
    current = [one for one in found if one.start <= match.when < one.end]
    if match.has("j") and current:
        return current[0]
    return _nearest(match, found, match.lean)


def _years_near(match: DateMatch) -> range:
    """Return the years around today in which a name without a year is searched."""
    most = 3 if match.has("mzB") else 1
    return range(match.today.year - most, match.today.year + most + 1)


def _agreed(match: DateMatch, found: Sequence[Interval]) -> Interval | None:
    """Return the only near day with a weekday and a date, as `Saturday the 5th`."""
    most = _YEAR_DAYS if match.has("bX") else _NEAR_DAYS
    near = [
        one
        for one in found
        if (away := _away(one, match)) * match.lean >= 0 and abs(away) <= most
    ]
    return near[0] if len(near) == 1 else None


def _away(day: Interval, match: DateMatch) -> int:
    return (day.start.date() - match.today).days


def _nth_away(
    match: DateMatch, found: Sequence[Interval], offset: int
) -> Interval | None:
    """Return the latest that has ended for -1, the first that has not begun for 1."""
    if offset < 0:
        ended = [one for one in found if one.end <= match.when]
        return ended[offset]
    return [one for one in found if one.start > match.when][offset - 1]


def _nearest(match: DateMatch, found: Sequence[Interval], lean: int) -> Interval | None:
    """Return the nearest on one side of today; None if a day is nearly a year away.

    Today itself counts as ahead; for the past it is unclear.
    """
    if lean > 0:
        near = next((one for one in found if one.end.date() > match.today), None)
    elif lean < 0:
        near = next((one for one in reversed(found) if one.start <= match.when), None)
    else:
        return None
    if near is None or near.granularity != "day":
        return near
    away = abs(_away(near, match))
    return near if away <= _CLEAR_DAYS and (away or lean > 0) else None


def _day_of_month(match: DateMatch, found: Sequence[Interval]) -> Interval | None:
    """Return the range of `on the 12th`; a past one is of this month, else unclear."""
    ahead = (match.number("n") or 0) - match.today.day
    is_clear = match.lean and ahead and (match.lean > 0 or ahead < 0)
    return _nearest(match, found, match.lean) if is_clear else None


def _weekday(match: DateMatch) -> Interval | None:
    """Return the range of `last Friday`, `this Friday`, `next Friday`, `on Friday`.

    `next Friday` is in the next week, provided that all readings agree on it; `before
    last` and `after next` are a week further away. A plan for the weekday of today is
    for next week; for the past it is unclear.
    """
    weekday, today, lean = match.number("k") or 0, match.today, match.lean
    in_week = today + timedelta(days=weekday - today.weekday())
    before = today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1)
    coming = today + timedelta(days=(weekday - today.weekday() - 1) % 7 + 1)
    offset = match.offset()
    if offset < 0:
        return match.day(before + 7 * (offset + 1) * DAY)
    if match.has("z"):
        return match.day(coming)
    if offset > 0:
        is_next_week = coming == in_week + 7 * DAY
        flags = match.lexicon.flags
        agreed = "next_weekday_is_next_week" in flags or is_next_week
        return match.day(in_week + 7 * offset * DAY) if agreed else None
    if match.has("j") and (in_week - today).days * (lean or 1) >= 0:
        return match.day(in_week)
    if lean > 0:
        return match.day(coming)
    is_clear = lean and in_week != today and not match.has("j")
    return match.day(before) if is_clear else None


def _weekend(match: DateMatch) -> Interval | None:
    """Return the Saturday and Sunday of last, this or next week.

    `this weekend` in a past sentence on a weekday is unclear.
    """
    offset, is_weekday = match.offset(), match.today.weekday() < 5
    if not offset and match.lean < 0 and is_weekday:
        return None
    if match.has("z") and offset > 0:
        offset = int(not is_weekday)
    return match.unit_at("weekend", offset)


def _inside(match: DateMatch) -> Interval | None:
    """Return the named day or month that lies in a unit.

    Examples are `June 27 next year`, `letztes Jahr im Mai`, `Friday of next week` and
    `去年3月5日`. None if no day of the unit, or more than one, has that name.
    """
    letters = [token.letter for token in match.tokens]
    if "W" in letters:
        place = letters.index("W")
        outer = _unit(match.part(place, place + 1))
        rest = match.tokens[place + 1 :]
        rest = [  # 上周五
            token._replace(letter="k", value=int(str(token.value)) - 1)
            if token.letter == "w"
            else token
            for token in rest
        ]
    else:
        place = letters.index("u")
        first = place - 1 if place and letters[place - 1] in "mjz" else place
        last = place + 1 if first < place else place + 2
        outer = _unit(match.part(first, last))
        rest = [*match.tokens[:first], *match.tokens[last:]]
    if outer is None:
        return None
    years = range(outer.start.year, (outer.end - DAY).year + 1)
    found = [
        one
        for one in _occurrences(replace(match, tokens=rest), years)
        if outer.start <= one.start and one.end <= outer.end
    ]
    return found[0] if len(found) == 1 else None


def _nth(match: DateMatch) -> Interval | None:
    """Return the range of `the second Tuesday in March`, `the last Monday of May`."""
    if not match.has("o") and match.offset() != -1:
        return None
    if match.has("u"):
        return _inside(match)
    named = replace(match, tokens=[one for one in match.tokens if one.letter != "j"])
    if match.has("y"):
        return _named(named)
    return _nearest(match, _occurrences(named, _years_near(match)), match.lean)


def _stretch(match: DateMatch) -> Interval | None:
    """Return the range of `from December 3 to 7`, `from Wednesday to Friday`.

    None without a direction, for a working week, which may be any, for one that begins
    today, and for past days of another month.
    """
    year, lean = match.number("y"), match.lean

    def is_meant(start: Interval, end: Interval) -> bool:
        if year:
            return end.start.year == year
        if lean > 0:
            return start.start.date() >= match.today
        return lean < 0 and end.start <= match.when

    found = [days for days in _stretches(match) if is_meant(*days)]
    if not found:
        return None
    start, end = found[0 if year or lean > 0 else -1]
    is_clear = _is_clear_stretch(match, start, end)
    return Interval(start.start, end.end, "day", "") if is_clear else None


def _is_clear_stretch(match: DateMatch, start: Interval, end: Interval) -> bool:
    away = abs(_away(start, match))
    if match.has("k"):
        days = start.start.weekday(), end.start.weekday()
        return away > 0 and not (match.lean > 0 and days in _WORK)
    if match.has("b"):
        return bool(match.number("y")) or away <= _CLEAR_DAYS
    return match.lean > 0 or start.start.month == match.today.month


def _stretches(match: DateMatch) -> list[tuple[Interval, Interval]]:
    """Return the first and the last day of what a stretch may mean, in order."""
    letters = [token.letter for token in match.tokens]
    place = next(place for place, one in enumerate(letters) if place and one in "TLr")
    first, last = match.part(0, place), match.part(place)
    if first.has("k") != last.has("k"):
        return []
    year = match.number("y")
    years = (year - 1, year) if year else _years_near(match)
    starts, ends = _occurrences(first, years), _occurrences(last, years)
    if first.has("bk"):  # the first end after each start
        days = [one.start for one in ends]
        places = [(one, bisect_right(days, one.start)) for one in starts]
        return [(one, ends[place]) for one, place in places if place < len(ends)]
    days = [one.start for one in starts]
    places = [(one, bisect_left(days, one.start)) for one in ends]
    return [(starts[place - 1], one) for one, place in places if place]


_WORK = {(0, 4), (0, 5), (0, 6)}
"""The weekdays of a working week, which may be any."""


# -- other expressions ---------------------------------------------------------------------


def _end(match: DateMatch) -> Interval | None:
    """Return the last day of `by the end of the month` or `by the end of January`.

    None for a week, a season or the past.
    """
    if match.lean < 0 or match.has("se") or match.unit() == "week":
        return None
    if match.unit() == "day":
        return match.day(match.today)
    make = _unit if match.has("u") else _day if match.has("d") else _named
    whole = make(replace(match, lean=1))
    return match.day((whole.end - DAY).date()) if whole else None


def _counted(match: DateMatch) -> Interval | None:
    """Return the day, calendar week, month or year at a distance: `three weeks ago`.

    `in three days` in a past sentence is a duration.
    """
    is_ahead = not match.has("ah")
    if is_ahead and (match.lean < 0 or 0 in match.all("i")):  # en deux semaines
        return None
    count = (match.number("nw") or 0) * (1 if is_ahead else -1)
    if match.unit() != "hour":
        return match.unit_at(match.unit(), count)
    moment = match.when.astimezone(UTC) + timedelta(hours=count)
    start = moment.astimezone(match.when.tzinfo).replace(
        minute=0, second=0, microsecond=0
    )
    return Interval(start, start + timedelta(hours=1), "hour", "")


def _around(match: DateMatch) -> Interval | None:
    """Return the week or the weekend of a day: `the week of 9 November 2026`."""
    day = _named(
        replace(match, tokens=[one for one in match.tokens if one.letter != "e"])
    )
    unit = "weekend" if match.has("e") else match.unit()
    return replace(match, when=day.start).unit_at(unit, 0) if day else None


def _shifted(match: DateMatch) -> Interval | None:
    """Return the day at a distance from another: `a year from tomorrow`.

    `Donnerstag in einer Woche` is a week after the coming one or the one of next week;
    it is resolved if both are the same day.
    """
    sign = -1 if match.has("ah") else 1
    count = sign * (match.number("nw") or 1)
    if match.unit() != "week" and not match.has("FA"):
        return None
    if match.has("d"):
        return match.day_from(match.today + (match.number("d") or 0) * DAY, count)
    if not match.has("k"):
        at = next(place for place, one in enumerate(match.tokens) if one.letter in "FA")
        named = _named(replace(match.part(at), lean=1))
        return match.day_from(named.start.date(), count) if named else None
    base = _weekday(replace(match, lean=sign))
    if base is None:
        return None
    day = match.day_from(base.start.date(), count)
    week = match.unit_at(match.unit(), count)
    is_clear = match.has("F") or (day and week and week.start <= day.start < week.end)
    return day if is_clear else None


def _unit(match: DateMatch) -> Interval | None:
    """Return the range of `last week` or `先週`; English `the past week` is rolling."""
    for value in match.all("W"):
        assert isinstance(value, tuple)
        return match.unit_at(str(value[0]), int(value[1]))
    letters = "".join(token.letter for token in match.tokens)
    if match.unit() == "day":  # the last day
        return None
    if "rolling" in match.lexicon.flags and ("z" in letters or letters == "gmu"):
        return None
    return match.unit_at(match.unit(), match.offset())


def _day(match: DateMatch) -> Interval | None:
    return match.day(match.today + (match.number("d") or 0) * DAY)


def _part(match: DateMatch) -> Interval | None:
    """Return the range of `this morning` or `last night`, hours of a nearby day."""
    if match.offset() > 0:
        return None
    day = match.today + match.offset() * DAY
    value = match.all("Pp")[0]
    assert isinstance(value, tuple)
    if len(value) == 3:
        day += int(value[0]) * DAY
    return _hours(match.days(day, day + DAY), value)


def _hours(day: Interval, value: Value) -> Interval:
    assert isinstance(value, tuple)
    begin, until = (timedelta(hours=int(one)) for one in value[-2:])
    return Interval(day.start + begin, day.start + until, "hour", "")


def _numeric(match: DateMatch) -> Interval | None:
    """Return the range of `2026-11-20` or `20.11.2026`.

    `03/04/2026` has a range only if the zone decides which number is the month.
    """
    text = str(match.all("D")[0])
    parts = re.split(r"[-/.]", text)
    first, second, third = map(int, parts)
    if len(parts[0]) == 4:
        found = _calendar_day(first, second, third)
    elif "." in text or _DAY_FIRST.match(match.zone) or first > 12:
        found = _calendar_day(third, second, first)
    elif _MONTH_FIRST.match(match.zone) or second > 12 or first == second:
        found = _calendar_day(third, first, second)
    else:
        found = None
    return (
        match.day(found) if found and _FIRST_YEAR <= found.year <= _LAST_YEAR else None
    )


def within(day: Interval, token: Token) -> Interval | None:
    """Return `day` narrowed to the hours or the clock time of `token`, or None."""
    if token.letter == "p":
        return _hours(day, token.value)
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
    if match[2]:
        return Interval(start, start + timedelta(minutes=1), "minute", "")
    return Interval(start, start + timedelta(hours=1), "hour", "")


# -- grammar -------------------------------------------------------------------------------

_LEAD = "[iqrLSFcxh]?g?"
_DATE = "(?:ng{0,2}b|bg?n)"  # 20th of November, November 20
_NAME = f"(?:{_DATE}|[bHsX])"
_UNIT = "(?:[mjz]u|um)"  # last year, l'an dernier
_ENDPOINT = "(?:k|bg?n|ng{0,2}b?)"
RULES: Sequence[tuple[str, str, Callable[[DateMatch], Interval | None] | None]] = (
    (
        "skip",
        r"v[gmjnwzo]{0,3}[kubsepWdPH](?:[igc]{0,2}b)?|c?g?kv",
        None,
    ),  # every Friday
    ("skip", r"g?[kH]=", None),  # Monday is my day off
    (
        "skip",
        rf"Ag?[mjz]?(?:[kH]|{_DATE}(?!,?g?y)|n(?!g{{0,2}}b))",
        None,
    ),  # after Friday
    # from Wednesday to Friday, vom 3. bis 7. Dezember
    ("stretch", rf"[FS]g?{_ENDPOINT}[TLr]g?{_ENDPOINT}(?:,?g?y)?", _stretch),
    # a week from Friday, tomorrow week, Donnerstag in einer Woche
    (
        "shifted",
        rf"i?[nw]u[FA]g?(?:[dk]|{_DATE}(?:,?g?y)?)|[cx]?g?[dk](?:u(?![am])|i[nw]u)",
        _shifted,
    ),
    ("shifted", r"(?:[nw]u[af]|[ih][nw]u)c?g?[dk]", _shifted),  # a week ago yesterday
    ("skip", r"[nwg]u[rLFA]g?[mjz]?[kdbpDH]|[nw]uB", None),  # two days before Christmas
    # by the end of next month, by the end of May 2027
    ("end", r"[RE]g?[jmz]?(?:[usekd][jmz]?|b[jmz]?(?:,?g?y)?|y)", _end),
    # the second Tuesday in March, the last Monday of next month
    ("nth", r"c?g?[om]k[igcLS]{0,2}(?:b(?:,?g?y)?|[mjz]u(?!u))", _nth),
    ("skip", r"okg?", None),  # the second Tuesday
    # June 27 next year, im Mai letzten Jahres, on the 12th of last month
    ("inside", rf"{_LEAD}c?g?{_NAME},?[gi]{{0,2}}{_UNIT}", _inside),
    ("inside", rf"(?:[crLSFq]g?n|c?g?k,?)[gi]{{0,2}}{_UNIT}", _inside),
    # last year in May, letztes Jahr am 3. Mai, last month on the 5th, 上周五
    ("inside", rf"g?{_UNIT},?(?:[icgqxr@]{{0,3}}{_NAME}|c?g?k|cg?n(?!u))", _inside),
    ("inside", rf"Wg?(?:{_DATE}|[kbn]|w(?!u))", _inside),
    # Friday, 20 November 2026; in May 2024; the summer of 2021; the 20th of November
    ("named", rf"{_LEAD}(?:[mjz]?k,?c?g{{0,2}})?(?:{_DATE}|[bs]),?g?yu?", _named),
    ("named", rf"{_LEAD}yu?bn?", _named),  # 2024年5月5日
    ("named", rf"{_LEAD}(?:[mjz]?k,?c?g{{0,2}})?{_DATE}(?!u)", _named),
    # the week of 9 November 2026
    ("around", rf"g?[ue]g(?:{_DATE})(?:,?g?y)?", _around),
    ("counted", r"[nw]ua|[ih][nw]u|[nw]uf", _counted),  # three weeks ago
    # at Easter 2027
    ("holiday", r"[cx@irRLSEq]?g?[mjz]?H(?:,?g?y|[mz](?![uks]))?", _named),
    (
        "number",
        r"[crLSFqxTh]?g?[mjz]?kc?,?c?g{0,2}n|[crLSFq]g?n(?!u)",
        _named,
    ),  # on the 12th
    ("named", r"[crLSq]g?X", _named),  # am 28.11.
    ("day", r"g?d", _day),
    ("part", r"P|[jm]p", _part),  # tonight, this morning
    ("numeric", r"[crLSqx]?D", _numeric),
    ("year", r"[iqrLSh]g?yu?|c?g?yu(?![afnw])", _named),  # since 2019, в 2019 году
    (
        "unit",
        r"W(?![nw]u)|g?mu|[jz]u|um|g?uB",
        _unit,
    ),  # last week, the week before last
    # next Friday, vendredi dernier, the Friday before last
    (
        "named",
        r"[cxrLSiq]?(?:[mjz]k|[mjz][bs]|g?(?:[kbs][mz]|[kbs]B(?![kbsuednw])))",
        _named,
    ),
    ("weekend", r"[cxrLS]?g?(?:[mjz]e|em|eB)", _weekend),
    ("month", r"[iqrLSFTch]g?b", _named),  # in May, postponed to May
    ("weekday", r"[crqLSFxTh]{0,2}g?k", _named),  # on Friday
)
"""The rules in order of preference at one position: name, pattern, maker.

A rule without a maker consumes text that must not be parsed as a date.
"""
GRAMMAR = LazyPattern("|".join(f"({pattern})" for _, pattern, _ in RULES))
