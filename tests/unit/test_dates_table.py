"""The table of dates in ten languages, and what holds for every time that is read."""

from __future__ import annotations

import calendar
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from benchmarks import write_dates
from engram.core.language.date_display import in_figures, named_dates
from engram.core.language.date_named import easter, nth_weekday
from engram.core.language.dates import resolve, spans
from engram.core.reading import with_named_dates

BERLIN = ZoneInfo("Europe/Berlin")
SATURDAY = datetime(2026, 11, 21, 21, 14, tzinfo=BERLIN)
YEARS_LATER = datetime(2031, 3, 4, 12, tzinfo=BERLIN)


@pytest.fixture(scope="module")
def table():
    return list(write_dates.rows())


# row: X14
def test_a_sentence_has_its_date_or_none(table):
    """A wrong date would be worse than none; every row here is right."""
    wrong = [(row.text, row.found) for row in table if row.found != row.date]
    assert wrong == []


# row: X21
def test_the_table_is_as_large_and_as_mixed_as_promised(table):
    """At least 200 sentences in eight languages, at least 40 of them without a date."""
    assert len(table) >= 200
    assert len({row.language for row in table}) >= 8
    assert sum(not row.date for row in table) >= 40
    assert sum(row.date.startswith(("<", ">")) for row in table) >= 20


# row: X14
def test_words_stay_and_a_date_beside_them_is_not_shifted(table):
    """Without the brackets the text is what it was; with them it means the same later."""
    assert [row.text for row in table if not _is_shown_and_read_back(row)] == []


def _is_shown_and_read_back(row):
    dates = named_dates(row.text, row.when)
    shown = with_named_dates(row.text, dates)
    bare = shown
    for _, date in dates:
        bare = bare.replace(f" ({date})", "", 1)
    again = [in_figures(one) for one in resolve(shown, YEARS_LATER)]
    return (
        bare == row.text
        and named_dates(shown, row.when) == ()
        and (not dates or again == [date for _, date in dates])
    )


# row: X14
def test_a_date_that_the_text_has_elsewhere_is_not_shown_again():
    text = "Die Person ist letzte Woche nach Weimar gezogen (2026-11-09/2026-11-15)."
    assert named_dates(text, SATURDAY) == ()


# row: X14
@pytest.mark.parametrize("day", range(7))
@pytest.mark.parametrize(
    "weekday",
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
)
def test_the_tense_decides_the_side_of_a_weekday(weekday, day):
    """A weekday said on itself is a week ahead for a plan and open for what is past."""
    when = SATURDAY + timedelta(days=day)
    (ahead,) = resolve(f"We will eat out on {weekday}.", when)
    assert 0 < (ahead.start.date() - when.date()).days <= 7
    assert f"{ahead.start:%A}" == weekday
    behind = resolve(f"We ate out on {weekday}.", when)
    assert len(behind) == (f"{when:%A}" != weekday)
    assert all(-7 < (one.start.date() - when.date()).days < 0 for one in behind)


def test_easter_is_a_sunday_in_spring():
    """Known days, and the bounds of the calendar."""
    assert [f"{easter(year):%m-%d}" for year in (2024, 2025, 2026, 2027, 2038)] == [
        "03-31",
        "04-20",
        "04-05",
        "03-28",
        "04-25",
    ]
    for year in range(1900, 2200):
        found = easter(year)
        assert found.weekday() == calendar.SUNDAY
        assert (3, 22) <= (found.month, found.day) <= (4, 25)


def test_the_nth_weekday_of_a_month():
    """The fifth is not in every month."""
    assert f"{nth_weekday(2027, 3, 2, calendar.TUESDAY)}" == "2027-03-09"
    assert f"{nth_weekday(2026, 8, -1, calendar.MONDAY)}" == "2026-08-31"
    assert nth_weekday(2026, 2, 5, calendar.MONDAY) is None


# row: X14
@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("I'm there until Friday.", "until"),
        ("I have until Friday to pay.", ""),
        ("I won't be back until Friday.", ""),
        ("I'll send it by Friday.", ""),
        ("I've been ill since Monday.", "since"),
        ("From December 3 I work from home.", "since"),
        ("Ich bin bis Freitag krank.", "until"),
        ("Ich muss das bis Freitag schaffen.", ""),
    ],
)
def test_an_end_is_told_from_a_deadline(text, role):
    """`until` ends what is said, `by` is when it is due."""
    assert [one.role for one in resolve(text, SATURDAY)] == [role]


# row: X14
@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("We met on Friday (30 October 2026).", ("2026-10-30",)),
        ("It was last week (the week of 9 November 2026).", ("2026-11-09",)),
        ("Wir sind nächsten Monat (2026-12) weg.", ("2026-12-01",)),
        ("He was away last weekend (2026-11-14/2026-11-15).", ("2026-11-14",)),
        ("I moved last year (2025).", ("2025-01-01",)),
        ("We will ski next winter (the winter of 2026/27).", ()),
    ],
)
def test_a_date_in_brackets_is_the_date_of_its_words(text, days):
    """It is one time, whenever it is read."""
    for when in (SATURDAY, YEARS_LATER):
        assert tuple(f"{one.start:%Y-%m-%d}" for one in resolve(text, when)) == days


@pytest.mark.parametrize(
    ("text", "when", "shown"),
    [
        (
            "The recital is on Saturday the 5th.",
            SATURDAY,
            "Saturday the 5th (2026-12-05).",
        ),
        ("I slept badly last night.", SATURDAY, "last night (2026-11-20)."),
        ("We met in May 2024.", SATURDAY, "in May 2024."),
        # 23:30 on Friday in UTC is Saturday in Berlin
        (
            "See you tomorrow.",
            datetime(2026, 11, 20, 23, 30, tzinfo=UTC),
            "(2026-11-22).",
        ),
    ],
)
def test_a_date_is_shown_beside_its_words(text, when, shown):
    """A full date needs none."""
    local = when.astimezone(BERLIN)
    assert with_named_dates(text, named_dates(text, local)).endswith(shown)


def test_german_here_is_not_french_yesterday():
    """A common word of the language of the sentence is no time of another."""
    assert resolve("Ich wohne hier in Köln.", SATURDAY) == ()
    assert len(resolve("Je l'ai vu hier.", SATURDAY)) == 1


def test_spans_do_not_overlap_in_the_table(table):
    """Each span has its own words."""
    for row in table:
        found = spans(row.text, row.when)
        assert all(row.text[one.start : one.end] == one.interval.words for one in found)
