"""The date of a fact: from the words of the turn, and from the model (X14).

If both give a date they must agree, or the fact has no date and its log row states why.
A date from the model alone is accepted if it is plausibly before or after the turn.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from engram.core.categories import category_of
from engram.core.language.dates import YEAR, in_figures, resolve, spans
from engram.core.language.sentences import sentences
from engram.core.records import Interval, Turn
from engram.llm.replies import FactReply, span

BY_MODEL = "model"
"""The source of a date that the words alone do not give."""
_MOST_YEARS = 130
_DAY = timedelta(days=1)
_ISO = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d):(\d\d)\S*)?)?)?")


@dataclass(frozen=True, slots=True)
class FactDates:
    """The dates of a fact, and its text with the date after the words.

    `by` is `BY_MODEL` if `when` comes from the model alone, `doubt` is the reason why a
    named date was not accepted.
    """

    text: str
    when: Interval | None = None
    until: Interval | None = None
    by: str = ""
    doubt: str = ""


def read_dates(item: FactReply, turn_text: str, turn: Turn, category: str) -> FactDates:
    """Return the dates of a fact; `turn_text` is the part of its turn in the prompt.

    A promise for which the model names no date words is due at the one time ahead that
    its quote names.
    """
    time_words = span(turn_text, item.when_words)
    if not time_words and category_of(category).promise:
        time_words = _only_time_ahead(span(turn_text, item.quote), turn)
    if not time_words:
        return FactDates(item.text)
    is_plan = category_of(category).promise or item.sort == "plan"
    by_words = _by_words(
        time_words, turn_text, turn, is_plan=category_of(category).promise
    )
    by_model = _interval(item.when, time_words, turn)
    if by_model and not _is_plausible(by_model, category, turn, is_plan=is_plan):
        by_model = None
    if by_words and by_model and not _agree(by_words, by_model):
        if not _names_day(time_words, by_words, by_model):
            readings = (
                f"{in_figures(by_words)} by the words, "
                f"{in_figures(by_model)} by the model"
            )
            doubt = f"two dates for “{time_words}”: {readings}"
            return FactDates(item.text, doubt=doubt)
        by_words = None

    when = by_words or (by_model and _with_role(by_model, time_words, turn))
    until = _until(item, time_words, turn, by_words)
    if when is None:
        return FactDates(item.text, until=until)
    shown = when
    if until and not by_words and until.end > when.end:
        shown = replace(when, end=until.end)
    text = _with_date(item.text, shown, time_words, turn.occurred_at)
    return FactDates(text, when, until, "" if by_words else BY_MODEL)


def _agree(by_words: Interval, by_model: Interval) -> bool:
    """Return whether two dates have a common day, or the model calculated wrongly.

    "By Friday" is a Friday, whatever the model says; but a Friday of another week may
    be the one that is meant.
    """
    if _overlap(by_words, by_model):
        return True
    is_plain = by_words.granularity == "day" and not _DIGIT.search(by_words.words)
    return is_plain and by_words.start.weekday() != by_model.start.weekday()


_DIGIT = re.compile(r"\d")


def _names_day(time_words: str, by_words: Interval, by_model: Interval) -> bool:
    """Return whether the words have the model's day where they were not understood.

    Of "Tuesday. The 27th" only "Tuesday" is.
    """
    rest = time_words.replace(by_words.words, " ", 1)
    day = by_model.granularity == "day" and str(by_model.start.day)
    return day in re.findall(r"\d+", rest)


def _only_time_ahead(quote: str, turn: Turn) -> str:
    """Return the words of the time ahead in a quote; '' if it names none or several."""
    times = resolve(quote, turn.occurred_at)
    if len(times) != 1 or times[0].end <= turn.occurred_at:
        return ""
    return times[0].words


def date_of_relation(iso: str, turn: Turn) -> Interval | None:
    """Return the day, month or year that a model names, within a life of the turn."""
    found = _interval(iso, "", turn)
    far = found and abs(found.start.year - turn.occurred_at.year) > _MOST_YEARS
    return None if far else found


def _with_role(when: Interval, time_words: str, turn: Turn) -> Interval:
    """Return a time from the model with its role, as "from January" is a beginning."""
    leads = time_words.split(maxsplit=1)[0], time_words.rsplit(maxsplit=1)[0]
    days = f"{when.start:%Y-%m-%d}", f"{when.start:%d %B %Y}"
    is_start = any(
        found.role == "since"
        for lead in leads
        for day in days
        for found in resolve(f"{lead} {day}", turn.occurred_at)
    )
    return replace(when, role="since") if is_start else when


def _by_words(
    time_words: str, text: str, turn: Turn, *, is_plan: bool
) -> Interval | None:
    """Return the time that the words of a turn name, or None.

    The context, up to a comma, decides whether "on Tuesday" is past or future. A
    promise is about the future: a past date for it is wrong.
    """
    at = text.find(time_words)
    for start, end in sentences(text):
        if start <= at < end:
            part = _between_commas(text[start:end], at - start, len(time_words))
            for found in _times(part, turn, is_plan=is_plan):
                is_past = found.end <= turn.occurred_at
                if (
                    found.words
                    and found.words in time_words
                    and not (is_plan and is_past)
                ):
                    return found
    alone = _times(time_words, turn, is_plan=is_plan)
    return alone[0] if alone else None


def _times(text: str, turn: Turn, *, is_plan: bool) -> list[Interval]:
    found = spans(text, turn.occurred_at, lean=int(is_plan))
    return [one.interval for one in found]


def _between_commas(sentence: str, at: int, length: int) -> str:
    """Return the part of a sentence at `at`, or all of it if the words are alone."""
    before = sentence.rfind(",", 0, at) + 1
    after = sentence.find(",", at + length)
    part = sentence[before : after if after >= 0 else len(sentence)]
    words = sentence[at : at + length].split()
    return part if len(part.split()) > len(words) else sentence


def _interval(iso: str, words: str, turn: Turn) -> Interval | None:
    """Return the time of `2026-10`, `2026-10-30`, or `2026-11-13/2026-11-15`."""
    first, _, last = iso.strip().partition("/")
    start = _moment(first, words, turn)
    if start is None or not last:
        return start
    end = _moment(last, words, turn)
    return replace(start, end=end.end) if end and end.end > start.start else None


def _moment(iso: str, words: str, turn: Turn) -> Interval | None:
    match = _ISO.fullmatch(iso.strip())
    if not match:
        return None
    zone = turn.occurred_at.tzinfo
    year, month, day, hour, minute = (
        int(part) if part else None for part in match.groups()
    )
    try:
        start = datetime(
            year or 0, month or 1, day or 1, hour or 0, minute or 0, tzinfo=zone
        )
        if day:
            midnight = start.replace(hour=0, minute=0)
            is_timed = hour is not None
            end = start + timedelta(minutes=1) if is_timed else midnight + _DAY
            return Interval(start, end, "minute" if is_timed else "day", words)
        if month:
            after = start.replace(year=start.year + month // 12, month=month % 12 + 1)
            return Interval(start, after, "month", words)
        return Interval(start, start.replace(year=start.year + 1), "year", words)
    except ValueError:
        return None


def _is_plausible(when: Interval, category: str, turn: Turn, *, is_plan: bool) -> bool:
    """Return whether a plan is in the future, a moment past, and the year plausible."""
    said_at = turn.occurred_at
    today = said_at.replace(hour=0, minute=0, second=0, microsecond=0)
    if abs(when.start.year - said_at.year) > _MOST_YEARS:
        return False
    if is_plan:
        return when.end > today
    return not category_of(category).momentary or when.start < today + _DAY


def _overlap(first: Interval, second: Interval) -> bool:
    moment = timedelta(microseconds=1)
    return (
        first.start.date() <= (second.end - moment).date()
        and second.start.date() <= (first.end - moment).date()
    )


def _until(
    item: FactReply, time_words: str, turn: Turn, by_words: Interval | None
) -> Interval | None:
    """Return the last day of the statement, according to the model, or None.

    Words for another day are no evidence of it.
    """
    last = _interval(item.until, time_words, turn)
    if last is None or last.end <= turn.occurred_at:
        return None
    if by_words and not item.when and not _overlap(by_words, last):
        return None
    return last


def _with_date(text: str, when: Interval, time_words: str, said_at: datetime) -> str:
    """Return a statement with its date in brackets, after the words that name it.

    It is unchanged if the words or the statement contain a year.
    """
    if YEAR.search(when.words) or YEAR.search(text):
        return text
    figures = f" ({in_figures(when)})"
    for words in (when.words, time_words):
        place = text.casefold().find(words.casefold())
        end = place + len(words)
        if place >= 0 and len(text) == len(text.casefold()):
            return text[:end] + figures + text[end:]
    for found in resolve(text, said_at):
        if found.start == when.start and found.words in text:
            return text.replace(found.words, found.words + figures, 1)
    body = text.rstrip(".!。！ ")
    return body + figures + text[len(body) :]
