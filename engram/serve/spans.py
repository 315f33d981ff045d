"""Output for people: spans of days as `9–15 November 2026`, reasons of `recall`."""

from __future__ import annotations

import re

AHEAD = {"stale": "ranks lower"}
"""Words for coming changes of unused memories whose names may alarm."""
LEFT_OUT = {
    "status": "replaced, ended or waiting for a decision",
    "forgotten": "forgotten or corrected",
}
"""Words for the reasons for which `recall` leaves a memory out."""
_SPAN = re.compile(
    r"(?<![\w/-])(\d{4})-(0[1-9]|1[0-2])-([0-3]\d)/(\d{4})-(0[1-9]|1[0-2])-([0-3]\d)(?![\w/-])"
)


def in_words(text: str) -> str:
    """Return a text with its spans of days in words; notes and JSON have figures.

    >>> in_words("He was away last week (2026-11-09/2026-11-15).")
    'He was away last week (9–15 November 2026).'
    >>> in_words("2026-11-30/2026-12-06, 2026-12-28/2027-01-03")
    '30 November – 6 December 2026, 28 December 2026 – 3 January 2027'
    """
    return _SPAN.sub(_written, text) if "/" in text else text


def _written(found: re.Match[str]) -> str:
    from calendar import (
        month_name,  # loading it would slow each call of the command line
    )

    year, month, day, last_year, last_month, last_day = map(int, found.groups())
    until = f"{last_day} {month_name[last_month]} {last_year}"
    if (year, month) == (last_year, last_month):
        return f"{day}–{until}"
    first = f"{day} {month_name[month]}"
    return f"{first} – {until}" if year == last_year else f"{first} {year} – {until}"
