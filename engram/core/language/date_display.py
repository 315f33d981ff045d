"""Dates after the words that name them: `on Friday (2026-11-27)` (row X14)."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

from engram.core.language.dates import has_time_expression, resolve

if TYPE_CHECKING:
    from datetime import datetime

    from engram.core.records import Interval

_FULL = re.compile(r"(?<!\d)\d{4}(?!\d)")
"""A pattern of a year; words with a year are a full date."""
_LONGEST = 4000
"""The number of characters of a text in which dates are searched."""


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


def named_dates(text: str, when: datetime) -> tuple[tuple[str, str], ...]:
    """Return the words of each time in `text` that is not a full date, with its date.

    `when` is the local time of the text. A date that the text already contains is
    omitted.
    """
    beginning = text[:_LONGEST]
    if not has_time_expression(beginning):
        return ()
    found = [
        (interval.words, in_figures(interval)) for interval in resolve(beginning, when)
    ]
    return tuple(
        (words, date)
        for words, date in found
        if not _FULL.search(words) and date not in beginning
    )
