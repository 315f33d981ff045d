"""Resolve expressions of time against the moment of speaking (rows X13, X14).

A closed grammar over the lexicons of `date_words`: every token has a class letter, and
the rules are patterns over the string of letters, so the cost is linear in the text. An
ambiguous expression gives no interval.

Conventions. Weeks start on Monday; days, weeks, months and years are those of the local
calendar, so a day of a clock change has 23 or 25 hours. `last Friday` is the most
recent one before today (spoken on a Friday: seven days before). `next Friday` is the
Friday of next week; in the other languages, where the phrase may also mean the coming
one, it is resolved only when both are the same day. `this Friday` is the one of this
week, unless the sentence has another direction. `last weekend` is that of last week;
`last summer` the latest that has ended, `next summer` the first that has not begun, by
meteorological seasons (southern zones known). `two weeks ago` is a calendar week. A
weekday, a month or a date without a year is resolved only in a sentence about the past
or the future, and a date without a year only if it is at least six weeks away on the
other side of today; `03/04/2026` needs a zone that decides the order. `by the end of` a
month or a year is its last day; the end of a week, Friday for some and Sunday for
others, is not resolved. `before July`, spoken before it, is the last day before; `by
July` is that month.
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
    is_unreal,
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
"""The maker of each rule of the grammar."""


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
    """Return the intervals of `resolve` with the positions of their words (`X14`).

    Spans do not overlap. `lean` is -1 for a text about the past, 1 for one about the
    future, 0 if its own words decide.
    """
    if when.tzinfo is None:
        message = "a time of speaking needs a zone"
        raise ValueError(message)
    lexicons = _lexicons_for(set(tokens(text)))
    found = [
        span
        for lexicon in lexicons
        for span in _scan(text, when, lexicon, lexicons, lean)
    ]
    covered = bytearray(len(text))
    out = []
    for start, end, interval in sorted(found, key=lambda one: one[0] - one[1]):
        if not any(covered[start:end]):
            covered[start:end] = b"x" * (end - start)
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


def _once(text: str, found: Sequence[Span], when: datetime) -> Iterator[Span]:
    """Yield the spans; of words with a written date, only the span of the date (`X14`).

    A text that is parsed years later thus keeps its original meaning.
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
    """Yield the interval of a date in brackets, if it is a valid date."""
    if not date[:4].isdigit():
        for there in resolve(f"from {date}" if " to " in date else date, when)[:1]:
            length = 7 if "week of" in date else 2 if "weekend of" in date else 0
            end = there.start + length * DAY if length else there.end
            size = named.granularity if length else there.granularity
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
    """Return `2026-11` as `November 2026`."""
    year, _, month = date.partition("-")
    is_month = len(date) == 7 and 1 <= int(month) <= 12
    return f"{MONTHS[int(month) - 1]} {year}" if is_month else date


YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
"""A year in figures; a year alone is no expression of time."""


def latest(text: str, when: datetime) -> datetime | None:
    """Return the last moment that a text of the time `when` dates, or None.

    The moment is at most `when`. A year in figures is enough: "2010 nach Berlin".
    """
    ends = [interval.end for interval in resolve(text, when)]
    ends = ends or [
        when.replace(year=int(year) + 1, month=1, day=1) for year in YEAR.findall(text)
    ]
    return min(max(ends), when) if ends else None


def next_beginning(text: str, when: datetime) -> datetime | None:
    """Return the first planned day in a text of the time `when`, or None.

    For a longer time it is the last day, unless the words state a beginning.
    """
    ahead = [interval for interval in resolve(text, when) if interval.end > when]
    days = (
        interval.start
        if interval.role == "since" or interval.granularity in {"day", "weekend"}
        else interval.end
        for interval in ahead
    )
    return min(days, default=None)


_DIGITS = frozenset("0123456789")
ANCHORS = frozenset[str]().union(*(one.anchors for one in LEXICONS))
"""Words of which every expression of time without digits contains one."""


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


def _lexicons_for(text_tokens: set[str]) -> list[Lexicon]:
    """Return the lexicons with an anchor among the tokens `seen`."""
    numbers = [word for word in text_tokens if word[0].isdigit()]
    if not numbers and ANCHORS.isdisjoint(text_tokens):
        return []
    found = [
        lexicon
        for lexicon in LEXICONS
        if not lexicon.anchors.isdisjoint(text_tokens)
        or (numbers and not lexicon.years.isdisjoint(text_tokens))
    ]
    numeric = any(len(word) >= 8 for word in numbers)
    return found if found or not numeric else [LEXICONS[0]]


def _read(text: str, lexicon: Lexicon) -> list[Token]:
    """Return `text` as classified tokens; the longest phrase wins."""
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


def _plain(match: re.Match[str], lexicon: Lexicon) -> tuple[str, Value]:
    """Return class and value of a single token: date, time, number or none of them."""
    if match.group("D"):
        return "D", match.group("D")
    if match.group("t"):
        return "t", match.group("t")
    digits = match.group("n")
    if (
        not digits
        or len(digits) > 4
        or (match.group().endswith(".") and not lexicon.ordinal_dot)
    ):
        return ".", ""
    if len(digits) == 4:
        return ("y", int(digits)) if 1900 <= int(digits) < 2200 else (".", "")
    return "n", int(digits)


def _scan(
    text: str,
    when: datetime,
    lexicon: Lexicon,
    lexicons: Sequence[Lexicon],
    lean: int,
) -> Iterator[tuple[int, int, Interval | None]]:
    """Yield the expressions of one language as start, end and interval.

    The text may be in any language of `lexicons`, which share some words. The interval is None for words that no language may parse as a time.
    """
    row = _read(text, lexicon)
    letters = "".join(token.letter for token in row)
    yield from ((token.start, token.end, None) for token in row if token.letter == "-")
    for found in GRAMMAR[lexicon.family].finditer(letters):
        rule = (found.lastgroup or "").rpartition("_")[0]
        first, last = found.span()
        context = DateContext(text, row, first, last)
        if rule == "skip" or is_unreal(context, lexicons):
            yield row[first].start, row[last - 1].end, None
            continue
        rule, context = _moved_to(rule, context, lexicon)
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
        if row[first].letter in "RE":  # its `by` precedes the day
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
    """Return the second day alone if an appointment was moved from one to the other.

    `moved from Tuesday to Thursday` is not a range of days.
    """
    if rule == "range_of_weekdays":
        second = replace(context, first=context.last - 1)
        if is_rescheduled(second, lexicon):
            return "weekday_by_lean", second
    if rule == "range_of_days":
        row = context.row
        places = range(context.first + 1, context.last)
        place = next(place for place in places if row[place].letter in _UP_TO)
        second = replace(context, first=place)
        if is_rescheduled(second, lexicon):
            letters = {token.letter for token in row[place : context.last]}
            return "yearless" if "b" in letters else "day_of_month", second
    return rule, context


_UP_TO = "TLr"
"""Letters of the words before the end of a stretch of time."""


_SWALLOWED = frozenset(
    {"date", "yearless", "nth_weekday", "of_named_unit", "day_of_month"}
)
"""Rules whose words no other rule may parse if they name no day."""
_NOT_OF_THE_TIME = "qrLSFTx"
"""Letters of words before a time that are not part of it."""
_RANGE_FROM = frozenset({"from", "von", "vom", "du", "del"})


def _role(context: DateContext, lexicon: Lexicon) -> Literal["", "since", "until"]:
    """Return `since` or `until` if the time is a beginning or an end, else ''."""
    row, first, last = context.row, context.first, context.last
    before = row[first - 1].letter if first else ""
    after = row[last].letter if last < len(row) else ""
    letters = {token.letter for token in row[first:last]} | {before}
    if "T" in letters or (letters & {"F", "S"} and not letters.isdisjoint("LEr")):
        return ""
    if letters & {"q", "S"} or after == "Q" or row[first].word in _RANGE_FROM:
        return "since"
    is_end = bool(letters & {"L", "E"}) or after == "M"
    return "until" if is_end and not has_duty(context, lexicon) else ""


def _is_before(context: DateContext, interval: DateRange, when: datetime) -> bool:
    """Return whether a longer time is named as an end, as in `before July`."""
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
    """Return the tokens of a time with the direction of the sentence around them."""
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
    """Return a day, narrowed to the part of the day or the clock time next to it."""
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
    """Return the local day of `moment`: `21 November 2026`."""
    return f"{moment.day} {MONTHS[moment.month - 1]} {moment.year}"


def in_words(interval: Interval) -> tuple[str, str]:
    """Return an interval as English words: the preposition and the date (`X14`).

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
        last = interval.end - timedelta(microseconds=1)
        one = last.date() == start.date()
        return ("on", day) if one else ("from", _span_in_words(start, last))
    if interval.granularity == "weekend":
        return "on", f"the weekend of {day}"
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


def _span_in_words(first: datetime, last: datetime) -> str:
    """Return two days: `4 to 8 December 2026`, `28 May to 2 June 2027`."""
    is_one_month = (first.year, first.month) == (last.year, last.month)
    begin = day_in_words(first).split()[: 1 if is_one_month else 2]
    return f"{' '.join(begin)} to {day_in_words(last)}"


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
