"""Resolve expressions of time against the moment of speaking (rows X13, X14).

A closed grammar over the lexicons of `date_words`: every token has a class letter, and
the rules of `date_values` are patterns over the string of letters, so the cost is
linear in the text. An ambiguous expression gives no interval.

Conventions. Weeks start on Monday; days, weeks, months and years are those of the local
calendar, so a day of a clock change has 23 or 25 hours. `last Friday` is the most
recent one before today (spoken on a Friday: seven days before). `next Friday` is the
Friday of next week; in the other languages, where the phrase may also mean the coming
one, it is resolved only when both are the same day. `this Friday` is the one of this
week, unless the sentence has another direction. `last weekend` is that of last week;
`last summer` the latest that has ended, `next summer` the first that has not begun, by
meteorological seasons (southern zones known); `this summer` is the current one, else
the direction decides. `two weeks ago` is a calendar week. A weekday, a month or a date
without a year is resolved only in a sentence about the past or the future, and a date
without a year only if it is at least six weeks away on the other side of today;
`03/04/2026` needs a zone that decides the order. `by the end of` a month or a year is
its last day; the end of a week, Friday for some and Sunday for others, is not resolved.
`before July`, spoken before it, is the last day before; `by July` is that month.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from engram.core.language.date_tense import (
    DateContext,
    Token,
    direction,
    has_duty,
    is_annual,
    is_rescheduled,
    is_unreal,
    may_begin,
)
from engram.core.language.date_values import DAY, GRAMMAR, RULES, DateMatch, within
from engram.core.language.date_words import (
    LEXICONS,
    TOKEN,
    Lexicon,
    Value,
    tokens,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from engram.core.records import Interval


MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


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
    lexicon = _lexicon_of(set(tokens(text)))
    return (
        tuple(_once(text, [*_scan(text, when, lexicon, lean)], when)) if lexicon else ()
    )


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
    parts = date.split("/") if date[:4].isdigit() else [date]
    ranges = [
        resolve(
            f"{'from' if ' to ' in part else 'in'} {part}"
            if len(part) < 10 or part is date
            else part,
            when,
        )
        for part in map(_numbered_month, parts)
    ]
    if all(ranges):
        first, last = ranges[0][0], ranges[-1][0]
        is_range = len(parts) > 1 and named.granularity not in {"hour", "minute"}
        size = named.granularity if is_range else first.granularity
        yield replace(named, start=first.start, end=last.end, granularity=size)


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
    return _lexicon_of(seen) is not None


def _lexicon_of(seen: set[str]) -> Lexicon | None:
    """Return the lexicon of the language of a text with the tokens `seen`.

    It is the one with most of the text's function words and words of time; None if the
    text has no expression of time in it.
    """
    numbers = [word for word in seen if word[0].isdigit()]
    if not numbers and ANCHORS.isdisjoint(seen):
        return None
    best = max(
        LEXICONS,
        key=lambda one: len(one.small_words & seen) + 2 * len(one.anchors & seen),
    )
    if not best.anchors.isdisjoint(seen):
        return best
    is_dated = any(len(word) >= 8 for word in numbers)
    return best if is_dated or (numbers and not best.leads.isdisjoint(seen)) else None


@lru_cache(maxsize=1 << 6)
def _read(text: str, lexicon: Lexicon) -> tuple[Token, ...]:
    """Return a text as classified tokens; the longest phrase wins."""
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
            if "ordinal_dot" in lexicon.flags and text[end : end + 1] == ".":
                entry = ("X", word) if _DAY_DOT_MONTH.fullmatch(word) else entry
        out.append(Token(*entry, start, end, word))
        place += size
    return tuple(_joined(out) if "unspaced" in lexicon.flags else out)


_DAY_DOT_MONTH = re.compile(r"\d{1,2}\.\d{1,2}")
"""`28.11.`, with the dot that follows."""
_SIGNED = {
    **dict.fromkeys(("月", "月份"), ("b", 12)),
    **dict.fromkeys(("日", "号", "號"), ("n", 31)),
}
"""Signs after a number that make it a month or a day, and the last one."""


def _joined(row: list[Token]) -> list[Token]:
    """Return the tokens with `3月` as a month and `5日` as a day of one."""
    out = row[:1]
    for token, after in zip(row[1:], [*row[2:], None], strict=False):
        letter, most = _SIGNED.get(token.word, ("", 0))
        number = out[-1]
        is_counted = after is not None and after.letter in "af"  # 三日前
        if (
            token.letter != "u"
            or number.letter not in "nw"
            or not 1 <= int(str(number.value)) <= most
            or is_counted
            or (letter == "n" and (len(out) < 2 or out[-2].letter != "b"))
        ):
            out.append(token)
        else:
            out[-1] = Token(letter, number.value, number.start, token.end, token.word)
    return out


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
    for letter in ("D", "t"):
        if found := match.group(letter):
            return letter, found
    digits = match.group("n") or ""
    if match.group().endswith(".") and "ordinal_dot" not in lexicon.flags:
        return ".", ""
    if len(digits) == 4 and 1900 <= int(digits) < 2200:
        return "y", int(digits)
    return ("n", int(digits)) if 1 <= len(digits) <= 3 else (".", "")


def _scan(
    text: str,
    when: datetime,
    lexicon: Lexicon,
    lean: int,
) -> Iterator[Span]:
    """Yield the expressions of time of a text in one language."""
    row = _read(text, lexicon)
    letters = "".join(token.letter for token in row)
    for found in GRAMMAR.finditer(letters):
        rule, _, maker = RULES[(found.lastindex or 1) - 1]
        context = DateContext(text, row, *found.span(), lexicon)
        if rule == "stretch" and (moved := _moved_to(context)):
            context, rule, maker = moved, "", RULES[-1][2]
        if maker is None or is_unreal(context) or _is_no_date(rule, context):
            continue
        interval = maker(_match(context, when, lean))
        if interval is None:
            continue
        if _is_before(context, interval, when):
            day = interval.start - DAY
            interval = replace(
                interval, start=day, end=interval.start, granularity="day"
            )
        first, last, interval = _narrowed(row, letters, context, interval)
        while row[first].letter in _NOT_OF_THE_TIME:
            first += 1
        start, end = row[first].start, row[last - 1].end
        if row[first].letter in "RE":  # its `by` precedes the day
            start += len(row[first].word)
            start += text[start] == " "
        words, role = text[start:end], _role(context)
        yield Span(start, end, replace(interval, words=words, role=role))


def _moved_to(context: DateContext) -> DateContext | None:
    """Return the second day alone if an appointment was moved from one to the other.

    `moved from Tuesday to Thursday` is not a range of days.
    """
    places = range(context.first + 1, context.last)
    place = next(place for place in places if context.row[place].letter in "TLr")
    second = replace(context, first=place)
    return second if is_rescheduled(second) else None


_NOT_OF_THE_TIME = "qrLSFTx"
"""Letters of words before a time that are not part of it."""


def _is_no_date(rule: str, context: DateContext) -> bool:
    """Return whether the words around a match of `rule` show that it is no date.

    Examples are `in 2000 words`, `Sunday roast`, `the 3rd floor`, `Christmas music`.
    """
    row, last = context.row, context.last
    after = [token.word for token in row[last : last + 2] if token.letter != ","]
    number = next((word for word in after if word[0].isdigit()), "")
    if number and row[last - 1].letter in "ny" and after[0] in {"-", "–"}:
        return True  # May 26-27
    if row[last - 1].letter == "b" and number.isdigit() and after[0] == number:
        return len(number) > 2  # January 1200
    if rule == "number":
        return _is_no_day(context)
    refuses = _REFUSED.get(rule)
    return bool(refuses and context.lexicon.tense and refuses(context))


def _is_amount(context: DateContext) -> bool:
    """Return whether a year is a number of things: `in 2000 words`."""
    return context.lead == "i" and _is_before_noun(context, names=False)


def _is_no_day(context: DateContext) -> bool:
    """Return whether a number is no day of a month: `on the 3rd floor`, `by 15`."""
    return not _is_ordinal(context, context.first) or _is_before_noun(context)


def _is_no_stretch(context: DateContext) -> bool:
    """Return whether two numbers are no days: `from 9 to 5`, `12 to 15 euros`."""
    places = range(context.first, context.last)
    letters = [context.row[place].letter for place in places]
    if "b" in letters or "k" in letters:
        return False
    ordinal = [
        _is_ordinal(context, place)
        for place in places
        if letters[place - context.first] == "n"
    ]
    return not all(ordinal) or _is_before_noun(context)


def _is_no_month(context: DateContext) -> bool:
    """Return whether a month may be a name or modify a noun: `photos from May`."""
    if context.lead in "Tc":
        return not is_rescheduled(context)
    return context.lead == "F" and (not context.opens() or direction(context) <= 0)


def _is_no_holiday(context: DateContext) -> bool:
    if context.lead in "gH":
        return not context.opens() or _is_before_noun(context)
    return "bare_weekdays" not in context.lexicon.flags and _is_before_noun(context)


def _is_no_weekday(context: DateContext) -> bool:
    """Return whether a weekday is no time: `the Saturday market`, `a Sunday roast`."""
    if context.lead not in "gk" or "bare_weekdays" in context.lexicon.flags:
        return False
    if context.lead == "g":
        return _is_before_noun(context)
    is_time = context.opens() or (direction(context) > 0 and _is_after_verb(context))
    return not is_time or _is_before_noun(context)


def _is_before_noun(context: DateContext, *, names: bool = True) -> bool:
    """Return whether a noun follows that the time may modify: `Sunday roast`."""
    if context.last >= len(context.row):
        return False
    after = context.row[context.last]
    if after.letter in "ubse" or after.word == "of":
        return True
    is_word = after.letter == "." and after.word[0].isalpha()
    is_capital = context.text[after.start].isupper()
    if "ordinal_dot" in context.lexicon.flags:  # nouns are capitalised
        return is_word and is_capital
    is_noun = after.word.strip("'") not in context.lexicon.function_words
    return is_word and is_noun and (names or not is_capital)


def _is_ordinal(context: DateContext, first: int) -> bool:
    """Return whether the first number is a day of a month: `12th`, `Friday 12`."""
    row = context.row
    while row[first].letter != "n":
        if row[first].letter == "k":
            return True
        first += 1
    value, word = int(str(row[first].value)), row[first].word
    dot = "ordinal_dot" in context.lexicon.flags and (
        "." in context.text[row[first].start : row[first].end + 1]
    )
    return 1 <= value <= 31 and (dot or not word.rstrip(".").isdigit())


def _is_after_verb(context: DateContext) -> bool:
    """Return whether a weekday follows a verb or its object: `see you Monday`."""
    tense = context.lexicon.tense
    left, _ = context.sentence()
    said = context.text[context.row[left].start : context.row[context.first].start]
    return tense is not None and any(
        found.end() == len(said.rstrip())
        for found in tense.forms["present_forms"].finditer(said)
    )


_REFUSED: Mapping[str, Callable[[DateContext], bool]] = {
    "year": _is_amount,
    "stretch": _is_no_stretch,
    "month": _is_no_month,
    "holiday": _is_no_holiday,
    "weekday": _is_no_weekday,
}
"""The further checks of a rule in the languages with a tense."""


def _role(context: DateContext) -> Literal["", "since", "until"]:
    """Return `since` or `until` if the time is a beginning or an end, else ''."""
    row, first, last = context.row, context.first, context.last
    before = row[first - 1].letter if first else ""
    after = row[last].letter if last < len(row) else ""
    letters = {token.letter for token in row[first:last]} | {before}
    if "T" in letters or (letters & {"F", "S"} and not letters.isdisjoint("LEr")):
        return ""
    if letters & {"q", "S"} or after == "Q" or row[first].letter == "F":
        return "since"
    is_end = bool(letters & {"L", "E"}) or after == "M"
    return "until" if is_end and not has_duty(context) else ""


def _is_before(context: DateContext, interval: Interval, when: datetime) -> bool:
    """Return whether a longer time is named as an end, as in `before July`."""
    if interval.start <= when or interval.end - interval.start <= _LONGEST_DAY:
        return False
    return any(
        token.letter == "h" or (token.letter == "r" and token.value == -1)
        for token in context.row[max(0, context.first - 1) : context.last]
    )


_LONGEST_DAY = timedelta(hours=25)


def _match(context: DateContext, when: datetime, lean: int) -> DateMatch:
    """Return the tokens of a time with the direction of the sentence around them."""
    row = context.row[context.first : context.last]
    letters = {token.letter for token in row}
    after = context.row[context.last : context.last + 1]
    due = letters & set("rLh") or (after and after[0].letter in "MN")
    if not lean:
        lean = -1 if "q" in letters else direction(context)
    # `I sent it by March` may be of either year
    if due and not letters & {"F", "a"}:
        lean = int(lean >= 0)
    elif "S" in letters and not lean and may_begin(context):
        lean = 1  # what starts is ahead
    if letters & {"b", "H"} and not letters & {"k", "u"} and is_annual(context):
        lean = 0
    return DateMatch(row, when, context.lexicon, lean)


_CLOCK_AFTER = re.compile(r"g?@?t|[ig]{0,2}p")
_CLOCK_BEFORE = re.compile(r"@?t[cg]?$")


def _narrowed(
    row: Sequence[Token], letters: str, context: DateContext, interval: Interval
) -> tuple[int, int, Interval]:
    """Return a day, narrowed to the part of the day or the clock time next to it."""
    first, last = context.first, context.last
    if interval.granularity == "day" and interval.end - interval.start <= _LONGEST_DAY:
        if after := _CLOCK_AFTER.match(letters, last):
            if narrow := within(interval, row[after.end() - 1]):
                return first, after.end(), narrow
        elif before := _CLOCK_BEFORE.search(letters[max(0, first - 3) : first]):
            place = first - len(before.group())
            if narrow := within(interval, row[place + before.group().index("t")]):
                return place, last, narrow
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


def in_figures(interval: Interval) -> str:
    """Return a time in ISO 8601.

    Examples are `2026-11-27`, `2026-11-30/2026-12-06` and `2026-11`.
    """
    start, last = interval.start, interval.end - timedelta(microseconds=1)
    form = {"year": "%Y", "month": "%Y-%m", "season": "%Y-%m"}.get(
        interval.granularity, "%Y-%m-%d"
    )
    # a night belongs to the day on which it begins; the hour is already in the words
    if interval.granularity in {"hour", "minute"}:
        last = start
    first, until = start.strftime(form), last.strftime(form)
    return first if first == until else f"{first}/{until}"


@lru_cache(maxsize=1 << 8)
def named_dates(text: str, when: datetime) -> tuple[tuple[str, str], ...]:
    """Return the words of each time in `text` that is not a full date, with its date.

    `when` is the local time of the text. A date that the text already contains is
    omitted.
    """
    beginning = text[:_LONGEST]
    found = [
        (interval.words, in_figures(interval)) for interval in resolve(beginning, when)
    ]
    return tuple(
        (words, date)
        for words, date in found
        if not FULL_YEAR.search(words) and date not in beginning
    )


FULL_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
"""A pattern of a year; words with a year are a full date."""
_LONGEST = 4000
"""The number of characters of a text in which dates are searched."""
