"""The date of a fact: the words of the turn, and the model's own reading of them (X14).

Where both can be read they must agree, or the fact has no date and its log row says so.
Where only the model reads a date, it is taken if it is plausibly before or after the
turn.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from engram.core.categories import category_of
from engram.core.language.date_display import in_figures
from engram.core.language.dates import YEAR, resolve
from engram.core.language.sentences import sentences
from engram.core.records import Interval
from engram.llm.spans import span

if TYPE_CHECKING:
    from engram.core.records import Turn
    from engram.llm.replies.extraction import FactReply

BY_MODEL = "model"
"""Who read a date that the words alone do not tell."""
_MOST_YEARS = 130
_DAY = timedelta(days=1)
_ISO = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d):(\d\d)\S*)?)?)?")


@dataclass(frozen=True, slots=True)
class FactDates:
    """The dates of a fact, and its text with the date beside the words.

    `by` is `BY_MODEL` where only the model reads `when`, `doubt` says why there is no
    date though one was named.
    """

    text: str
    when: Interval | None = None
    until: Interval | None = None
    by: str = ""
    doubt: str = ""


def read_dates(item: FactReply, shown: str, turn: Turn, category: str) -> FactDates:
    """Return the dates of a fact; `shown` is the part of its turn the model saw."""
    said = span(shown, item.when_words)
    if not said:
        return FactDates(item.text)
    is_plan = category_of(category).promise or item.sort == "plan"
    by_words = _by_words(said, shown, turn, is_plan=category_of(category).promise)
    by_model = _interval(item.when, said, turn)
    if by_model and not _is_plausible(by_model, category, turn, is_plan=is_plan):
        by_model = None
    if by_words and by_model and not _overlap(by_words, by_model):
        readings = (
            f"{in_figures(by_words)} by the words, {in_figures(by_model)} by the model"
        )
        return FactDates(item.text, doubt=f"two dates for “{said}”: {readings}")

    when = by_words or (by_model and _with_role(by_model, said, turn))
    until = _until(item, said, turn, by_words)
    if when is None:
        return FactDates(item.text, until=until)
    text = _with_date(item.text, when, said, turn.occurred_at)
    return FactDates(text, when, until, "" if by_words else BY_MODEL)


def date_of_relation(iso: str, turn: Turn) -> Interval | None:
    """Return the day, month or year that a model names, within a life of the turn."""
    found = _interval(iso, "", turn)
    far = found and abs(found.start.year - turn.occurred_at.year) > _MOST_YEARS
    return None if far else found


def _with_role(when: Interval, said: str, turn: Turn) -> Interval:
    """Return a time that only the model reads with its role: "from January" begins."""
    leads = said.split(maxsplit=1)[0], said.rsplit(maxsplit=1)[0]
    days = f"{when.start:%Y-%m-%d}", f"{when.start:%d %B %Y}"
    is_start = any(
        found.role == "since"
        for lead in leads
        for day in days
        for found in resolve(f"{lead} {day}", turn.occurred_at)
    )
    return replace(when, role="since") if is_start else when


def _by_words(said: str, shown: str, turn: Turn, *, is_plan: bool) -> Interval | None:
    """Return the time that the words of a turn mean.

    The words around them, up to a comma, say whether "on Tuesday" is past or to come. A
    promise is to come: a past date for it is a wrong reading.
    """
    at = shown.find(said)
    for start, end in sentences(shown):
        if start <= at < end:
            part = _between_commas(shown[start:end], at - start, len(said))
            for found in resolve(part, turn.occurred_at):
                is_past = found.end <= turn.occurred_at
                if found.words and found.words in said and not (is_plan and is_past):
                    return found
    alone = resolve(said, turn.occurred_at)
    return alone[0] if alone else None


def _between_commas(sentence: str, at: int, length: int) -> str:
    """Return the part of a sentence with the words at `at`; the whole if they stand
    alone.
    """
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
    found = _ISO.fullmatch(iso.strip())
    if not found:
        return None
    zone = turn.occurred_at.tzinfo
    year, month, day, hour, minute = (
        int(part) if part else None for part in found.groups()
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
    """Return whether a plan is ahead, a moment past, and the year one of a life."""
    said = turn.occurred_at
    today = said.replace(hour=0, minute=0, second=0, microsecond=0)
    if abs(when.start.year - said.year) > _MOST_YEARS:
        return False
    if is_plan:
        return when.end > today
    return not category_of(category).momentary or when.start < today + _DAY


def _overlap(one: Interval, other: Interval) -> bool:
    """Return whether two readings share a local day."""
    moment = timedelta(microseconds=1)
    return (
        one.start.date() <= (other.end - moment).date()
        and other.start.date() <= (one.end - moment).date()
    )


def _until(
    item: FactReply, said: str, turn: Turn, by_words: Interval | None
) -> Interval | None:
    """Return the last day of what is said, as the model reads the words.

    Words that mean another day are no evidence of it.
    """
    last = _interval(item.until, said, turn)
    if last is None or last.end <= turn.occurred_at:
        return None
    if by_words and not item.when and not _overlap(by_words, last):
        return None
    return last


def _with_date(text: str, when: Interval, said: str, spoken: datetime) -> str:
    """Return a statement with its date in brackets, after the words that name it.

    Nothing is added where a year stands in the words or in the statement.
    """
    if YEAR.search(when.words) or YEAR.search(text):
        return text
    figures = f" ({in_figures(when)})"
    for words in (when.words, said):
        place = text.casefold().find(words.casefold())
        end = place + len(words)
        if place >= 0 and len(text) == len(text.casefold()):
            return text[:end] + figures + text[end:]
    for found in resolve(text, spoken):
        if found.start == when.start and found.words in text:
            return text.replace(found.words, found.words + figures, 1)
    body = text.rstrip(".!。！ ")
    return body + figures + text[len(body) :]
