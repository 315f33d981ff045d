"""Dates at the edges of the calendar: what names no day is left alone, what leans on
the sentence follows it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from engram.core.language.dates import in_words, resolve
from engram.core.records import Interval

ZONE = ZoneInfo("Europe/Berlin")
SATURDAY = datetime(2026, 11, 21, 21, 14, tzinfo=ZONE)
WEDNESDAY = datetime(2026, 11, 18, 21, 14, tzinfo=ZONE)


def starts(text, when=SATURDAY):
    return [
        f"{found.start:%Y-%m-%dT%H} {found.granularity}"
        for found in resolve(text, when)
    ]


# row: X14
@pytest.mark.parametrize(
    "text",
    [
        "It was on 31 February 2026.",
        "It was in 1200.",
        "It was 3000 years ago.",
        "It was Monday, 22 November 2026.",
        "We will go on February 30.",
        "2026年13月",
        "2026年2月30日",
        "去年13月",
        "去年2月30日",
        "summer of 1200",
    ],
)
def test_what_is_in_no_calendar_is_no_date(text):
    """A wrong date would be worse than none."""
    assert starts(text) == []


# row: X14
@pytest.mark.parametrize("clock", ["25:00", "24:61", "9:75"])
def test_a_wrong_clock_time_leaves_the_day(clock):
    """The day was named all the same."""
    assert starts(f"yesterday at {clock}") == ["2026-11-20T00 day"]


# row: X14
@pytest.mark.parametrize(
    ("text", "when", "found"),
    [
        ("this autumn", SATURDAY, ["2026-09-01T00 season"]),
        ("next spring", SATURDAY, ["2027-03-01T00 season"]),
        ("last winter", SATURDAY, ["2025-12-01T00 season"]),
        ("We will move this spring.", SATURDAY, ["2027-03-01T00 season"]),
        ("We moved this spring.", SATURDAY, ["2026-03-01T00 season"]),
        ("this spring", SATURDAY, []),
        ("this weekend", SATURDAY, ["2026-11-21T00 weekend"]),
        ("We went sailing this weekend.", WEDNESDAY, []),
        ("We will go sailing this weekend.", WEDNESDAY, ["2026-11-21T00 weekend"]),
        ("this January", SATURDAY, ["2026-01-01T00 month"]),
        ("Monday last week", SATURDAY, ["2026-11-09T00 day"]),
        ("Monday last year", SATURDAY, []),
        ("来月31日", SATURDAY, ["2026-12-31T00 day"]),
        ("先月40日", SATURDAY, []),
        ("去年3月", SATURDAY, ["2025-03-01T00 month"]),
    ],
)
def test_this_last_and_next_follow_the_day_and_the_sentence(text, when, found):
    """Where neither says which one is meant, nothing is resolved."""
    assert starts(text, when) == found


# row: X14
@pytest.mark.parametrize(
    ("granularity", "words", "said"),
    [
        ("minute", "at 21:14", ("at", "21:14 on 21 November 2026")),
        ("season", "last winter", ("in", "the winter of 2026")),
        ("season", "el verano pasado", ("between", "November 2026 and November 2026")),
    ],
)
def test_a_time_is_said_in_english_words(granularity, words, said):
    """A season keeps its name where English has it, since its months depend on where
    one lives.
    """
    assert (
        in_words(Interval(SATURDAY, SATURDAY + timedelta(days=2), granularity, words))
        == said
    )
