"""Words for time become intervals, against the moment they were spoken (rows X13, X14).

A closed grammar over the lexicons of `date_words`: every token has a class letter, and
the rules are patterns over the string of letters, so the cost is linear in the text. An
ambiguous expression gives no interval.

Conventions. Weeks start on Monday; days, weeks, months and years are those of the local
calendar, so a day of a clock change has 23 or 25 hours. `last Friday` is the most
recent one before today (spoken on a Friday: seven days before). `next Friday` is the
Friday of next week; in the other languages, where the phrase may also mean the coming
one, it is resolved only when both are the same day. `this Friday` is the one of this
week, unless the sentence points the other way. `last weekend` is that of last week;
`last summer` the latest that has ended, `next summer` the first that has not begun, by
meteorological seasons (southern zones known). `two weeks ago` is a calendar week. A
weekday, a month or a date without a year needs a sentence that looks back or ahead, and
a date without a year is left open where the other side of today is less than six weeks
away; `03/04/2026` needs a zone that decides. `by the end of` a month or a year is its
last day; the end of a week, Friday for some and Sunday for others, is left open.
`before July`, said ahead of it, is the last day before; `by July` is that month.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from engram.core.language.date_direction import (
    DateContext,
    direction,
    has_duty,
    is_rescheduled,
    may_begin,
)
from engram.core.language.date_grammar import GRAMMAR
from engram.core.language.date_named import NAMED_MAKERS
from engram.core.language.date_refused import is_refused
from engram.core.language.date_values import (
    DAY,
    VALUE_MAKERS,
    DateMatch,
    DateRange,
    Token,
    day_range,
    within,
)
from engram.core.language.date_words import (
    ANNUAL,
    ANNUAL_SIGNS,
    BEFORE_MONTH_OR_VERB,
    LEXICONS,
    MONTH_OR_VERB,
    TOKEN,
    Lexicon,
    Value,
    tokens,
)
from engram.core.records import Interval

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime


MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)

MAKERS = {**VALUE_MAKERS, **NAMED_MAKERS}
"""One maker for each rule of the grammar."""


@dataclass(frozen=True, slots=True)
class Span:
    """The span of an interval's words: `text[start:end]`."""

    start: int
    end: int
    interval: Interval


def resolve(text: str, when: datetime) -> tuple[Interval, ...]:
    """Return the intervals of the time expressions of `text`, in order (`X14`).

    `when`, the time of the statement, is aware (else ValueError); the intervals are
    half-open and in its zone. Stated on Saturday 21 November 2026, `yesterday` is [20
    November 00:00, 21 November 00:00).
    """
    return tuple(span.interval for span in spans(text, when))


def spans(text: str, when: datetime, *, lean: int = 0) -> tuple[Span, ...]:
    """As `resolve`, with the place of the words; spans do not overlap (`X14`).

    `lean` is -1 for a text about the past, 1 for one about the future, 0 if its own
    words decide.
    """
    if when.tzinfo is None:
        message = "a time of speaking needs a zone"
        raise ValueError(message)
    found = [
        span
        for lexicon in _lexicons_for(set(tokens(text)))
        for span in _scan(text, when, lexicon, lean)
    ]
    taken = bytearray(len(text))
    out = []
    for start, end, interval in sorted(found, key=lambda one: one[0] - one[1]):
        if not any(taken[start:end]):
            taken[start:end] = b"x" * (end - start)
            if interval is not None:
                out.append(Span(start, end, interval))
    out.sort(key=lambda span: span.start)
    return tuple(_once(text, out, when))


_BESIDE = re.compile(
    r"\.? \((?P<date>\d{4}(?:-\d\d(?:-\d\d)?)?(?:/\d{4}-\d\d(?:-\d\d)?)?"
    rf"|(?:[A-Za-z0-9: ]{{1,30}} )?(?:\d{{1,2}} )?(?:{'|'.join(MONTHS)}) \d{{4}}"
    r"|the [a-z]+ of \d{4}(?:/\d\d)?)\)"
)
"""A date in brackets after the words that name it."""


def without_written_dates(text: str) -> str:
    """Return `text` without the dates in brackets; other words in brackets stay."""
    return _BESIDE.sub(lambda found: found.group().partition(" ")[0], text)


def written_dates_blanked(text: str) -> str:
    """Return `text` in the same length with blanks for the dates in brackets."""
    if "(" not in text:
        return text
    return _BESIDE.sub(
        lambda found: found.group().partition(" ")[0].ljust(len(found.group())), text
    )


def _once(text: str, found: Sequence[Span], when: datetime) -> Iterator[Span]:
    """The spans; where a date stands beside its words, that date alone (`X14`).

    So a text that is read years later means what it meant when it was written.
    """
    end = 0
    for span in found:
        if span.start < end:
            continue
        beside = _BESIDE.match(text, span.end)
        if beside is None:
            yield span
            continue
        end = beside.end()
        words = text[span.start : end]
        for interval in _written(beside["date"], span.interval, when):
            yield Span(span.start, end, replace(interval, words=words))


def _written(date: str, named: Interval, when: datetime) -> Iterator[Interval]:
    """The interval of a date in brackets; none if it names none."""
    if not date[:4].isdigit():
        for there in resolve(date, when)[:1]:
            days = 7 if "week of" in date else 2 if "weekend of" in date else 0
            end = there.start + days * DAY if days else there.end
            size = named.granularity if days else there.granularity
            yield replace(there, end=end, granularity=size, role=named.role)
        return
    ranges = [
        resolve(f"in {part}" if len(part) < 10 else part, when)
        for part in map(_numbered_month, date.split("/"))
    ]
    if all(ranges):
        first, last = ranges[0][0], ranges[-1][0]
        size = first.granularity if named.granularity in _CLOCK else named.granularity
        yield replace(named, start=first.start, end=last.end, granularity=size)


_CLOCK = frozenset({"hour", "minute"})


def _numbered_month(date: str) -> str:
    """`2026-11` as `November 2026`."""
    year, _, month = date.partition("-")
    is_month = len(date) == 7 and 1 <= int(month) <= 12
    return f"{MONTHS[int(month) - 1]} {year}" if is_month else date


YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
"""A year in figures, which alone is no time expression."""


def latest(text: str, when: datetime) -> datetime | None:
    """The last moment that a text said at `when` dates, at most `when`; None if none.

    A year in figures is enough: "2010 nach Berlin".
    """
    ends = [one.end for one in resolve(text, when)]
    ends = ends or [
        when.replace(year=int(year) + 1, month=1, day=1) for year in YEAR.findall(text)
    ]
    return min(max(ends), when) if ends else None


def next_beginning(text: str, when: datetime) -> datetime | None:
    """The first day that a text said at `when` plans for, None if it names no such day.

    Of a longer time it is the end, unless the words say that it begins something.
    """
    ahead = [one for one in resolve(text, when) if one.end > when]
    days = (
        one.start if one.role == "since" or one.granularity == "day" else one.end
        for one in ahead
    )
    return min(days, default=None)


_DIGITS = frozenset("0123456789")
ANCHORS = frozenset[str]().union(*(one.anchors for one in LEXICONS))
"""Words of which a text without digits holds one if it names a time."""


def has_time_expression(text: str) -> bool:
    """Return whether `text` may contain a time expression.

    It is cheap, and never False where `resolve` finds one.
    """
    seen: set[str] = set()
    for word in tokens(text):
        if word in ANCHORS:
            return True
        seen.add(word)
    return not (text.isascii() and _DIGITS.isdisjoint(text)) and bool(
        _lexicons_for(seen)
    )


def _lexicons_for(seen: set[str]) -> list[Lexicon]:
    """The lexicons of which `seen` holds a word that an expression needs."""
    numbers = [word for word in seen if word[0].isdigit()]
    if not numbers and ANCHORS.isdisjoint(seen):
        return []
    found = [
        one
        for one in LEXICONS
        if not one.anchors.isdisjoint(seen)
        or (numbers and not one.years.isdisjoint(seen))
    ]
    numeric = any(len(word) >= 8 for word in numbers)
    return found if found or not numeric else [LEXICONS[0]]


def _read(text: str, lexicon: Lexicon) -> list[Token]:
    """`text` as classified tokens; the longest phrase wins."""
    raw = [
        (found, found.group().casefold().replace("’", "'"))
        for found in TOKEN.finditer(text)
    ]
    words = [word for _, word in raw]
    out: list[Token] = []
    place = 0
    while place < len(raw):
        found, word = raw[place]
        size, entry = 1, None
        if word in lexicon.heads:
            size, entry = _phrase(words[place : place + lexicon.reach], lexicon)
        start, end = found.start(), raw[place + size - 1][0].end()
        if entry is None:
            entry = _plain(found, lexicon)
            if (
                lexicon.ordinal_dot
                and _DAY_DOT_MONTH.fullmatch(word)
                and text[end : end + 1] == "."
            ):
                entry = ("X", word)
        if word in MONTH_OR_VERB and text[start].islower() and not _in_date(raw, place):
            entry = (".", "")
        out.append(Token(entry[0], entry[1], start, end, word))
        place += size
    return out


_DAY_DOT_MONTH = re.compile(r"\d{1,2}\.\d{1,2}")
"""`28.11.`, with the dot that follows."""


def _in_date(raw: Sequence[tuple[re.Match[str], str]], place: int) -> bool:
    """Return whether `may` in lower case is a month, by its neighbours."""
    before = raw[place - 1][1] if place else ""
    after = raw[place + 1][1] if place + 1 < len(raw) else ""
    return before in BEFORE_MONTH_OR_VERB or (after.isdigit() and len(after) == 4)


def _phrase(
    ahead: Sequence[str], lexicon: Lexicon
) -> tuple[int, tuple[str, Value] | None]:
    for size in range(len(ahead), 0, -1):
        entry = lexicon.phrases.get(" ".join(ahead[:size]))
        if entry is not None:
            return size, entry
    return 1, None


def _plain(found: re.Match[str], lexicon: Lexicon) -> tuple[str, Value]:
    """Class and value of a token that is no phrase: date, time, number or nothing."""
    if found.group("D"):
        return "D", found.group("D")
    if found.group("t"):
        return "t", found.group("t")
    digits = found.group("n")
    if (
        not digits
        or len(digits) > 4
        or (found.group().endswith(".") and not lexicon.ordinal_dot)
    ):
        return ".", ""
    if len(digits) == 4:
        return ("y", int(digits)) if 1900 <= int(digits) < 2200 else (".", "")
    return "n", int(digits)


def _scan(
    text: str, when: datetime, lexicon: Lexicon, lean: int
) -> Iterator[tuple[int, int, Interval | None]]:
    """The expressions of one language as start, end and interval.

    The interval is None for words that must not be read as time in any language.
    """
    row = _read(text, lexicon)
    letters = "".join(token.letter for token in row)
    yield from ((token.start, token.end, None) for token in row if token.letter == "-")
    for found in GRAMMAR[lexicon.family].finditer(letters):
        rule = (found.lastgroup or "").rpartition("_")[0]
        first, last = found.span()
        if rule == "skip":
            yield row[first].start, row[last - 1].end, None
            continue
        rule, context = _moved_to(rule, DateContext(text, row, first, last), lexicon)
        first = context.first
        if is_refused(rule, context, lexicon):
            continue
        match = _match(context, when, lexicon, lean)
        interval = MAKERS[rule](match)
        if interval is None:
            if rule in _SWALLOWED:
                yield row[first].start, row[last - 1].end, None
            continue
        if _is_before(context, interval, when):
            interval = day_range((interval.start - DAY).date(), when)
        role = _role(context, lexicon)
        first, last, interval = _narrowed(row, letters, first, last, interval)
        while row[first].letter in _NOT_OF_THE_TIME:
            first += 1
        start, end = row[first].start, row[last - 1].end
        if row[first].letter in "RE":  # its `by` stays before the day
            start += len(row[first].word)
            start += text[start] == " "
        yield (
            start,
            end,
            Interval(
                interval.start,
                interval.end,
                interval.granularity,
                text[start:end],
                role,
            ),
        )


def _moved_to(
    rule: str, context: DateContext, lexicon: Lexicon
) -> tuple[str, DateContext]:
    """Return the second day alone where something was moved from one to the other.

    `moved from Tuesday to Thursday` names no stretch of days.
    """
    if rule == "range_of_weekdays":
        second = replace(context, first=context.last - 1)
        if is_rescheduled(second, lexicon):
            return "weekday_by_lean", second
    return rule, context


_SWALLOWED = frozenset(
    {"date", "yearless", "nth_weekday", "date_of_named_year", "day_of_month"}
)
"""Rules whose words must not be read by another if they name no day."""
_NOT_OF_THE_TIME = "qrLSFx"
"""Letters of words before a time that are no part of it."""
_RANGE_FROM = frozenset({"from", "von", "vom", "du", "del"})


def _role(context: DateContext, lexicon: Lexicon) -> Literal["", "since", "until"]:
    """Whether the time is a beginning or an end of what is said."""
    row, first, last = context.row, context.first, context.last
    before = row[first - 1].letter if first else ""
    after = row[last].letter if last < len(row) else ""
    letters = {token.letter for token in row[first:last]} | {before}
    if "T" in letters or ("F" in letters and not letters.isdisjoint("LEr")):
        return ""
    if letters & {"q", "S"} or after == "Q" or row[first].word in _RANGE_FROM:
        return "since"
    is_end = bool(letters & {"L", "E"}) or after == "M"
    return "until" if is_end and not has_duty(context, lexicon) else ""


def _is_before(context: DateContext, interval: DateRange, when: datetime) -> bool:
    """Whether a longer time is named as what lies behind a day: `before July`."""
    if interval.start <= when or interval.end - interval.start <= _LONGEST_DAY:
        return False
    row = context.row[max(0, context.first - 1) : context.last]
    return any(
        token.letter == "h" or (token.letter == "r" and token.value == -1)
        for token in row
    )


_LONGEST_DAY = timedelta(hours=25)


def _match(
    context: DateContext, when: datetime, lexicon: Lexicon, lean: int
) -> DateMatch:
    """The tokens of a time with the direction of the sentence around them."""
    row, first, last = context.row, context.first, context.last
    letters = {token.letter for token in row[first:last]}
    if not lean:
        lean = -1 if "q" in letters else direction(context, lexicon)
    # `I sent it by March` may be of either year
    if letters & {"r", "L", "h"} and not letters & {"F"}:
        lean = int(lean >= 0)
    elif "S" in letters and not lean and may_begin(context, lexicon):
        lean = 1  # what starts is ahead
    sentence = context.sentence()
    annual = not ANNUAL.isdisjoint(context.words(*sentence))
    if lexicon.family == "cjk":
        annual = any(word in context.part(*sentence) for word in ANNUAL_SIGNS)
    return DateMatch(row[first:last], when, lexicon, lean, annual=annual)


_CLOCK_AFTER = re.compile(r"g?@?t|[ig]{0,2}p")
_CLOCK_BEFORE = re.compile(r"@?t[cg]?$")


def _narrowed(
    row: Sequence[Token], letters: str, first: int, last: int, interval: DateRange
) -> tuple[int, int, DateRange]:
    """A day with a part of the day or a clock time beside it is narrowed to that."""
    if interval.granularity != "day" or interval.end - interval.start > DAY:
        return first, last, interval
    if after := _CLOCK_AFTER.match(letters, last):
        narrow = within(interval, row[after.end() - 1])
        return (first, after.end(), narrow) if narrow else (first, last, interval)
    if before := _CLOCK_BEFORE.search(letters[max(0, first - 3) : first]):
        narrow = within(
            interval, row[first - len(before.group()) + before.group().index("t")]
        )
        return (
            (first - len(before.group()), last, narrow)
            if narrow
            else (first, last, interval)
        )
    return first, last, interval


def day_in_words(moment: datetime) -> str:
    """The local day of `moment`: `21 November 2026`."""
    return f"{moment.day} {MONTHS[moment.month - 1]} {moment.year}"


def in_words(interval: Interval) -> tuple[str, str]:
    """An interval as English words: the preposition and the date (`X14`).

    `("on", "20 November 2026")`, `("in", "the week of 16 November 2026")`, `("in", "the
    summer of 2026")`.
    """
    start = interval.start
    day = day_in_words(start)
    if interval.granularity == "minute":
        return "at", f"{start:%H:%M} on {day}"
    if interval.granularity == "hour":
        return _hours_in_words(interval, day)
    if interval.granularity == "day":
        whole = interval.end - start <= timedelta(hours=25)
        return "on", day if whole else f"the weekend of {day}"
    if interval.granularity == "week":
        return "in", f"the week of {day}"
    if interval.granularity == "season":
        return _season_in_words(interval)
    return (
        "in",
        f"{MONTHS[start.month - 1]} {start.year}"
        if interval.granularity == "month"
        else str(start.year),
    )


def _season_in_words(interval: Interval) -> tuple[str, str]:
    first, last = interval.start, interval.end - DAY
    years = (
        str(first.year)
        if first.year == last.year
        else f"{first.year}/{last.year % 100:02}"
    )
    if named := re.search(
        r"spring|summer|autumn|fall|winter", interval.words, re.IGNORECASE
    ):
        return "in", f"the {named.group().lower()} of {years}"
    return (
        "between",
        f"{MONTHS[first.month - 1]} {first.year} and {MONTHS[last.month - 1]} {last.year}",
    )


def _hours_in_words(interval: Interval, day: str) -> tuple[str, str]:
    start = interval.start
    if interval.end - start <= timedelta(hours=1):
        return "at", f"{start:%H:%M} on {day}"
    part = {5: "morning", 12: "afternoon"}.get(
        start.hour,
        "night"
        if interval.end.date() > start.date() and interval.end.hour
        else "evening",
    )
    return "on", f"the {part} of {day}"
