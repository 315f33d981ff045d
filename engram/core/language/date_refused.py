"""Words that look like a time but are none, judged by the words around them (row X14).

Examples are `in 2000 words`, `Sunday roast`, `the 3rd floor`, `Christmas music`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engram.core.language.date_direction import STOPS, direction, is_rescheduled
from engram.core.language.date_words import COUNTED_NOUNS, STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from engram.core.language.date_direction import DateContext
    from engram.core.language.date_values import Token
    from engram.core.language.date_words import Lexicon

_ARTICLES = re.compile(
    r"(?:\b(?:le|el|del|au|al|ao|il|día|dia|zum|am|dem|den|do))$", re.IGNORECASE
)
"""The words required before a day without an ordinal sign."""
_IS = frozenset(
    [
        "is",
        "was",
        "are",
        "were",
        "ist",
        "war",
        "sind",
        "est",
        "était",
        "es",
        "era",
        "è",
        "são",
        "é",
    ]
)
_OF = frozenset(["de", "d'", "di", "del", "do", "da", "des", "du"])
_OBJECTS = frozenset(
    ["you", "him", "her", "it", "them", "us", "me", "there", "home", "back", "again"]
)
_HABITS = frozenset(["mornings", "afternoons", "evenings", "nights"])
_VERBS = frozenset(
    [
        "meet",
        "starts",
        "start",
        "begins",
        "begin",
        "due",
        "leave",
        "leaves",
        "come",
        "comes",
        "arrive",
        "arrives",
    ]
)
_CELEBRATED = frozenset(
    ["spend", "spending", "celebrate", "celebrating", "host", "hosting"]
)
_AFTER_DURATION = frozenset("ほくぐ间間半余ぶ多左来來内內")
"""Signs after a number that make it a number of months, not the name of one."""
_PLACES = frozenset("楼樓线線门門房院店机機室车車码碼位班栋棟")
_SUBJECT_SIGNS = frozenset("がのも")
_BESIDE = frozenset(
    [
        "vor",
        "nach",
        "after",
        "following",
        "après",
        "después",
        "tras",
        "dopo",
        "após",
        "po",
        "na",
        "после",
    ]
)
"""Words before a day that is only a reference to another day."""
_STREETS = frozenset(
    ["road", "street", "avenue", "lane", "drive", "square", "close", "crescent"]
)
_RELATIVE = frozenset({"weekday_by_lean", "holiday", "day_of_month", "yearless"})
_YEARLY = frozenset({"year", "yearless", "date"})
_MONTHS = frozenset({"month", "month_by_lean", "yearless"})


def is_refused(rule: str, context: DateContext, lexicon: Lexicon) -> bool:
    """Return whether the words around a match of `rule` show that it is no date."""
    row, last = context.row, context.last
    if rule in _YEARLY and _is_amount(row, last):
        return True
    if rule in _MONTHS and _is_no_year(row, last):
        return True
    if rule in _RELATIVE and _is_of_another_day(context):
        return True
    if rule == "weekday_by_lean" and is_rescheduled(context, lexicon):
        return False  # moved to Thursday
    refuses = _BY_RULE.get(rule)
    return refuses is not None and refuses(context, lexicon)


def _is_amount(row: Sequence[Token], after: int) -> bool:
    """Return whether the digits before `after` are an amount or begin a range.

    Examples are `in 2000 words` and `May 26-27`.
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
    """Return whether the number at `after` is neither a day nor a plausible year.

    An example is `in January 1200`.
    """
    ahead = [token.word for token in row[after : after + 2] if token.letter != ","]
    return bool(ahead) and ahead[0].isdigit() and len(ahead[0]) > 2


def _is_in_word(context: DateContext, _: Lexicon) -> bool:
    """Return whether a date in figures is part of a word: `v2.5.2026`."""
    start = context.row[context.first].start
    return start > 0 and context.text[start - 1].isalpha()


def _is_duration(context: DateContext, _: Lexicon) -> bool:
    """Return whether months are counted and not named: `一月ほど`, about a month."""
    row, last = context.row, context.last
    return last < len(row) and row[last].word[:1] in _AFTER_DURATION


def _is_time_spent(context: DateContext, lexicon: Lexicon) -> bool:
    """Return whether things may be counted in the time: `17 poems in two weeks`."""
    row, first, last = context.row, context.first, context.last
    if row[first].letter != "i" or direction(context, lexicon) > 0:
        return False
    left, right = context.clause(lexicon.tense_of(context.text))
    return any(
        token.word[0].isdigit() or (token.letter == "w" and token.value != 1)
        for token in (*row[left:first], *row[last:right])
    )


def _is_foreign(context: DateContext, lexicon: Lexicon) -> bool:
    """Return whether a word is a common one of another language: German `hier`."""
    word = context.row[context.last - 1].word
    words = context.words(*context.sentence())
    own = sum(common in lexicon.function_words for common in words)
    return any(
        word in stop and sum(common in stop for common in words) > own
        for code, stop in STOP_WORDS.items()
        if code != lexicon.name
    )


def _is_of_another_day(context: DateContext) -> bool:
    """Return whether a day only locates another day, or is part of a name."""
    row, first, last = context.row, context.first, context.last
    if first and row[first - 1].word in _BESIDE:
        return True
    return last < len(row) and row[last].word in _STREETS


def _opens(row: Sequence[Token], place: int) -> bool:
    """Return whether a time begins its clause; elsewhere it may modify a noun."""
    return place == 0 or row[place - 1].word in STOPS or row[place - 1].letter == ","


def _is_before_noun(context: DateContext, lexicon: Lexicon) -> bool:
    """Return whether a noun follows that the time may modify: `Sunday roast`."""
    if context.last >= len(context.row):
        return False
    after = context.row[context.last]
    if after.letter in "ubse" or after.word == "of":
        return True
    is_word = after.letter == "." and after.word[0].isalpha()
    if lexicon.ordinal_dot:  # nouns are capitalised
        return is_word and context.text[after.start].isupper()
    return is_word and after.word.strip("'") not in lexicon.function_words


def _is_no_month(context: DateContext, lexicon: Lexicon) -> bool:
    """Return whether a month may be a name or modify a noun: `photos from May`."""
    row, first = context.row, context.first
    if row[first].letter == "T":
        return not is_rescheduled(context, lexicon)
    if row[first].letter == "F":
        return not _opens(row, first) or direction(context, lexicon) <= 0
    return row[first].letter == "c" and lexicon.name != "ru"


def _is_no_weekday(context: DateContext, lexicon: Lexicon) -> bool:
    """Return whether a weekday is one of many or modifies another word."""
    row, first = context.row, context.first
    after = row[context.last].word if context.last < len(row) else ""
    if lexicon.family == "cjk":  # 日曜日は may be any Sunday
        return after == "は" and direction(context, lexicon) >= 0
    if after in _HABITS or (after in _IS and row[first].letter in "gk"):
        return True  # on Tuesday evenings; Monday is my day off
    if row[first].letter != "k" or lexicon.bare_weekdays:
        return False
    return _is_no_bare_weekday(context, lexicon)


def _is_no_bare_weekday(context: DateContext, lexicon: Lexicon) -> bool:
    """Return whether a weekday without a preposition is no time: `Sunday roast`.

    It is a time after a verb (`we leave Monday`), after an object at the end (`see you
    Monday`) and at the beginning of a clause.
    """
    row, first, last = context.row, context.first, context.last
    before = row[first - 1].word if first else ""
    at_end = last >= len(row) or row[last].word in STOPS
    if before in _OBJECTS and at_end:
        return False
    follows = before in _VERBS or _opens(row, first)
    return not follows or _is_before_noun(context, lexicon)


def _is_no_holiday(context: DateContext, lexicon: Lexicon) -> bool:
    row, first, last = context.row, context.first, context.last
    after = row[last].word if last < len(row) else ""
    if lexicon.family == "cjk":
        return after in _SUBJECT_SIGNS
    if after in _IS or (first and row[first - 1].word in _OF):
        return True
    if lexicon.name == "en" and _is_before_noun(context, lexicon):
        return True
    if first and row[first - 1].word in _CELEBRATED:
        return False
    return row[first].letter in "gH" and not _opens(row, first)


def _is_no_day(context: DateContext, lexicon: Lexicon) -> bool:
    """Return whether a number is no day of a month: `on the 3rd floor`, `by 15`."""
    row, first, last = context.row, context.first, context.last
    number = next(token for token in row[first:last] if token.letter == "n")
    if not 1 <= int(str(number.value)) <= 31:
        return True
    if lexicon.family == "cjk":
        return last < len(row) and row[last].word in _PLACES
    if row[last - 1].letter == "n" and (
        _is_before_noun(context, lexicon) or _is_amount(row, last)
    ):
        return True
    if not number.word.rstrip(".").isdigit() or any(
        token.letter == "k" for token in row[first:last]
    ):
        return False
    before = context.text[: number.start].rstrip()
    has_article = _ARTICLES.search(before) is not None
    dotted = "." in context.text[number.start : number.end + 1]
    return not has_article or (lexicon.ordinal_dot and not dotted)


def _is_no_range_of_days(context: DateContext, lexicon: Lexicon) -> bool:
    """Return whether two numbers are no days, as in `from 9 to 5`, `12 to 15 euros`.

    With a month next to them they are days; otherwise both need an ordinal or an
    article.
    """
    row, first, last = context.row, context.first, context.last
    if any(token.letter == "b" for token in row[first:last]):
        return False
    if _is_before_noun(context, lexicon) or _is_amount(row, last):
        return True
    return any(
        token.word.rstrip(".").isdigit()
        and not (lexicon.ordinal_dot and token.word.endswith("."))
        and not _RANGE_ARTICLES.search(context.text[: token.start].rstrip())
        for token in row[first:last]
        if token.letter == "n"
    )


_RANGE_ARTICLES = re.compile(
    r"\b(?:du|au|del|al|dal|do|ao|el|il|dia|día)$", re.IGNORECASE
)
"""Words before a day of a month that is one end of a range."""


_BY_RULE: Mapping[str, Callable[[DateContext, Lexicon], bool]] = {
    "numeric": _is_in_word,
    "ahead": _is_time_spent,
    "day": _is_foreign,
    "month_by_number": _is_duration,
    "month_by_lean": _is_no_month,
    "weekday_by_lean": _is_no_weekday,
    "holiday": _is_no_holiday,
    "day_of_month": _is_no_day,
    "range_of_days": _is_no_range_of_days,
}
"""The further checks that refuse a match, by rule."""
