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
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from engram.core.language.date_values import (
    DAY,
    MAKERS,
    DateMatch,
    DateRange,
    Token,
    within,
)
from engram.core.language.date_words import (
    ANNUAL,
    BEFORE_MONTH_OR_VERB,
    COUNTED_NOUNS,
    LEXICONS,
    MONTH_OR_VERB,
    NOT_PAST,
    TOKEN,
    Lexicon,
    Value,
    tokens,
)
from engram.core.records import Interval

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime


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


def spans(text: str, when: datetime) -> tuple[Span, ...]:
    """As `resolve`, with the place of the words; spans do not overlap (`X14`)."""
    if when.tzinfo is None:
        message = "a time of speaking needs a zone"
        raise ValueError(message)
    found = [
        span
        for lexicon in _lexicons_for(set(tokens(text)))
        for span in _scan(text, when, lexicon)
    ]
    taken = bytearray(len(text))
    out = []
    for start, end, interval in sorted(found, key=lambda one: one[0] - one[1]):
        if not any(taken[start:end]):
            taken[start:end] = b"x" * (end - start)
            if interval is not None:
                out.append(Span(start, end, interval))
    return tuple(sorted(out, key=lambda span: span.start))


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
    out: list[Token] = []
    place = 0
    while place < len(raw):
        found, word = raw[place]
        size, entry = _phrase(
            [word for _, word in raw[place : place + lexicon.reach]], lexicon
        )
        start, end = found.start(), raw[place + size - 1][0].end()
        if entry is None:
            entry = _plain(found, lexicon)
        if word in MONTH_OR_VERB and text[start].islower() and not _in_date(raw, place):
            entry = (".", "")
        out.append(Token(entry[0], entry[1], start, end, word))
        place += size
    return out


def _in_date(raw: Sequence[tuple[re.Match[str], str]], place: int) -> bool:
    """Return whether `may` in lower case is a month, by its neighbours."""
    before = raw[place - 1][1] if place else ""
    after = raw[place + 1][1] if place + 1 < len(raw) else ""
    return before in BEFORE_MONTH_OR_VERB or (after.isdigit() and len(after) == 4)


def _phrase(
    ahead: Sequence[str], lexicon: Lexicon
) -> tuple[int, tuple[str, Value] | None]:
    if ahead[0] in lexicon.heads:
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


# The rules, in order of preference at one place. A rule without a maker swallows what
# must not be read. The letters are those of `date_words._CLASSES`.
_WEEKDAY_BEFORE = r"(?:[mjz]?k,?g?)?"  # last Friday, the
_BEFORE_LAST = "B(?![kbsuednw])"  # not the beginning of `after next week`
_HABIT = r"v[gmjnwz]{0,3}[kubsepWdP]"  # every other Friday
_FROM_ANOTHER_TIME = r"[nw]u[rF]g?[mjz]?[kdbpD]"  # a week from Friday
_AGO_ON_A_DAY = r"[nw]ua(?:[mz]?k|d)"  # a week ago yesterday
_COUNT_BEFORE_LAST = r"[nw]uB"  # two weeks before last
_COMMON = (
    ("skip", f"{_HABIT}|{_FROM_ANOTHER_TIME}|{_AGO_ON_A_DAY}|{_COUNT_BEFORE_LAST}"),
    # by the end of next month, by the end of May 2027
    ("end", r"Rg?[jmz]?(?:[use][jmzB]?|b[jmz]?(?:,?g?y)?|y)"),
    # since Friday, 20 November 2026; on November 20, 2026
    ("date", rf"[iqr]?g?{_WEEKDAY_BEFORE}c?g?(?:ng{{0,2}}b,?g?y|bg?n,?y)"),
    ("month_of_year", r"[iqr]?g?b,?g?y"),  # in May 2024
    ("season_of_year", r"[iq]?g?sg?y"),  # the summer of 2021
    # the 20th of November; Friday, November 20
    ("yearless", rf"[rq]?g?{_WEEKDAY_BEFORE}c?g?(?:ng{{0,2}}b|bg?n)(?!u)"),
    ("ago", r"[nw]ua|h[nw]u"),  # three weeks ago, vor drei Wochen
    ("ahead", r"i[nw]u|[nw]uf"),  # in three weeks, three weeks from now
    ("weekday_of_week", r"c?g?k,?g?[mj]u|[mj]uc?g?k"),  # on Friday of next week
    ("day", r"g?d"),  # yesterday
    ("part", r"P"),  # tonight
    ("numeric", r"[cr]?D"),  # on 2026-11-20
    ("year", r"[iqr]g?y"),  # since 2019
)
_PREFIX = (
    ("skip", r"gmu"),  # the last week
    ("unit", r"[mjz]u|g?uB"),  # last week, the week before last
    # on next Friday, the Friday before last
    ("weekday", rf"[cr]?[mjz]k|[cr]?g?k{_BEFORE_LAST}"),
    ("month", rf"i?[mjz]b|i?g?b{_BEFORE_LAST}"),  # in this May, the May after next
    ("season", rf"i?[mjz]s|i?g?s{_BEFORE_LAST}"),  # last summer, the summer before last
    ("weekend", r"c?[mjz]e|c?g?eB"),  # on this weekend, the weekend after next
)
_EITHER = (
    ("unit", r"[jm]u|um"),  # cette semaine, semaine dernière
    ("weekday", r"c?g?(?:[jm]k|km)"),  # ce vendredi, vendredi dernier
    ("month", r"[ig]?(?:[jm]b|bm)"),  # este mayo, mayo pasado
    ("season", r"g?(?:[jm]s|sm)"),  # cet été, l'été dernier
    ("weekend", r"c?g?(?:[jm]e|em)"),  # ce week-end, le week-end prochain
)
_OPEN = (
    ("month_by_lean", r"[iqr]g?b"),  # in May
    ("weekday_by_lean", r"[crqR]?g?k"),  # on Friday
)
_SIGNS = (
    ("skip", r"v[nw]?u"),  # 毎週
    ("date", r"yununu"),  # 2024年5月5日
    ("month_of_year", r"yunu(?!a|f)"),  # 2024年5月
    ("year", r"yu(?![af])"),  # 2024年
    ("yearless", r"nunu(?![af])"),  # 5月5日
    ("ago", r"[nw]ua"),  # 三日前
    ("ahead", r"[nw]uf"),  # 三年后
    ("weekday_of_week", r"Wg?[kw](?!u)|Wu"),  # 先週の金曜日, 上周五
    ("of_named", r"W[nw]u(?:[nw]u)?"),  # 去年3月5日
    ("unit", r"W"),  # 来月
    ("day", r"d"),  # 昨日
    ("part", r"P"),  # 今晩
    ("numeric", r"D"),  # 2026-11-20
)


def _grammar(rules: Sequence[tuple[str, str]]) -> re.Pattern[str]:
    return re.compile(
        "|".join(
            f"(?P<{name}_{place}>{pattern})"
            for place, (name, pattern) in enumerate(rules)
        )
    )


_GRAMMAR = {
    "germanic": _grammar((*_COMMON, *_PREFIX, *_OPEN)),
    "romance": _grammar((*_COMMON, *_EITHER, *_OPEN)),
    "cjk": _grammar(_SIGNS),
}


def _scan(
    text: str, when: datetime, lexicon: Lexicon
) -> Iterator[tuple[int, int, Interval | None]]:
    """The expressions of one language as start, end and interval.

    The interval is None for words that must not be read as time in any language.
    """
    row = _read(text, lexicon)
    letters = "".join(token.letter for token in row)
    yield from ((token.start, token.end, None) for token in row if token.letter == "-")
    for found in _GRAMMAR[lexicon.family].finditer(letters):
        rule = (found.lastgroup or "").rpartition("_")[0]
        first, last = found.span()
        if rule == "skip":
            yield row[first].start, row[last - 1].end, None
            continue
        if _is_refused(rule, row, first, last, lexicon):
            continue
        interval = MAKERS[rule](_match(row, first, last, when, lexicon))
        if interval is None:
            if rule == "date":
                yield row[first].start, row[last - 1].end, None
            continue
        first, last, interval = _narrowed(row, letters, first, last, interval)
        while row[first].letter in "qr":
            first += 1
        start, end = row[first].start, row[last - 1].end
        if row[first].letter == "R":  # its `by` stays before the day
            start += len(row[first].word)
            start += text[start] == " "
        yield (
            start,
            end,
            Interval(
                interval.start, interval.end, interval.granularity, text[start:end]
            ),
        )


def _is_refused(
    rule: str, row: Sequence[Token], first: int, last: int, lexicon: Lexicon
) -> bool:
    """Return whether the tokens around a match of `rule` show that it is no date."""
    if rule in {"year", "yearless", "date"} and _is_amount(row, last):
        return True
    if rule in {"month", "month_by_lean", "yearless"} and _is_no_year(row, last):
        return True
    if rule != "weekday_by_lean" or row[first].letter != "k":
        return False
    return not lexicon.bare_weekdays and not _opens(row, first)


def _is_amount(row: Sequence[Token], after: int) -> bool:
    """Whether the digits before `after` count things or begin a range.

    `in 2000 words`, `May 26-27`.
    """
    if after >= len(row):
        return False
    ranged = (
        row[after].word in {"-", "–"}
        and after + 1 < len(row)
        and row[after + 1].letter in "ny"
    )
    return ranged or row[after].word in COUNTED_NOUNS


def _is_no_year(row: Sequence[Token], after: int) -> bool:
    """Whether the number at `after` is neither a day nor a plausible year.

    `in January 1200`.
    """
    ahead = [token.word for token in row[after : after + 2] if token.letter != ","]
    return bool(ahead) and ahead[0].isdigit() and len(ahead[0]) > 2


def _opens(row: Sequence[Token], place: int) -> bool:
    """Return whether a bare weekday begins its clause; else it may describe a day."""
    return place == 0 or row[place - 1].word in _STOPS or row[place - 1].letter == ","


def _match(
    row: Sequence[Token], first: int, last: int, when: datetime, lexicon: Lexicon
) -> DateMatch:
    """The tokens `first:last` with the direction of the sentence around them."""
    left, right = first, last
    while left and first - left < _WINDOW and row[left - 1].word not in _STOPS:
        left -= 1
    while right < len(row) and right - last < _WINDOW and row[right].word not in _STOPS:
        right += 1
    words = [token.word for token in row[left:right]]
    letters = {token.letter for token in row[first:last]}
    lean = -1 if "q" in letters else _lean(words, lexicon)
    if "r" in letters:  # `I sent it by March` may be of either year
        lean = int(lean >= 0)
    return DateMatch(
        row[first:last], when, lexicon, lean, annual=not ANNUAL.isdisjoint(words)
    )


def _lean(words: Sequence[str], lexicon: Lexicon) -> int:
    """-1 if the words look back, 1 if ahead (as the present does), 0 if unclear."""
    back = any(word in lexicon.past or _is_past_form(word, lexicon) for word in words)
    ahead = not lexicon.future.isdisjoint(words)
    if back or ahead:
        return ahead - back
    return int(not lexicon.present.isdisjoint(words))


_WINDOW = 40
"""Tokens each side that say whether a sentence looks back or ahead."""
_STOPS = frozenset(".!?;。！？\n")


def _is_past_form(word: str, lexicon: Lexicon) -> bool:
    """An English word in -ed that is a past tense."""
    return (
        bool(lexicon.past_ending)
        and len(word) > 4
        and word.endswith(lexicon.past_ending)
        and word not in NOT_PAST
    )


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


MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


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
