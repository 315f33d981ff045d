"""Words for time become intervals of the local calendar, or nothing."""

from __future__ import annotations

import calendar
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import write_dates
from engram.core.language.date_values import nth_weekday
from engram.core.language.date_words import TOKEN, tokens
from engram.core.language.dates import (
    has_time_expression,
    in_figures,
    in_words,
    named_dates,
    resolve,
    spans,
)
from engram.core.reading import with_named_dates
from engram.core.records import Interval

BERLIN = ZoneInfo("Europe/Berlin")
SATURDAY = datetime(2026, 11, 21, 21, 14, tzinfo=BERLIN)
WEDNESDAY = datetime(2026, 11, 18, 21, 14, tzinfo=BERLIN)
YEARS_LATER = datetime(2031, 3, 4, 12, tzinfo=BERLIN)


def day(text, when=SATURDAY):
    """The single interval of `text` as start and end, to the day or to the minute."""
    found = resolve(text, when)
    assert len(found) == 1, (text, found)
    form = (
        "%Y-%m-%d"
        if found[0].granularity not in {"minute", "hour"}
        else "%Y-%m-%dT%H:%M"
    )
    return (
        found[0].start.strftime(form),
        found[0].end.strftime(form),
        found[0].granularity,
    )


def test_the_words_are_kept():
    """The interval holds the text's own words, and their place is theirs."""
    text = "We went there Last  Friday, remember"
    (span,) = spans("I saw them Last Friday, remember", SATURDAY)
    assert span.interval.words == "Last Friday"
    assert "I saw them Last Friday, remember"[span.start : span.end] == "Last Friday"
    assert resolve(text, SATURDAY)[0].words == "Last  Friday"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I moved in 2021. It was hot", "in 2021"),
        ("Ich war im April 2021. Dann nicht mehr", "im April 2021"),
        ("I left in March 2021.Then I came back", "in March 2021"),
        ("Am 3. Mai war ich da", "Am 3. Mai"),
    ],
)
def test_a_full_stop_belongs_to_a_day_number_alone(text, words):
    """The stop that ends a sentence is no part of the year before it."""
    assert [span.interval.words for span in spans(text, SATURDAY)] == [words]


WEEK = [
    datetime(2026, 11, 16, 12, tzinfo=BERLIN) + timedelta(days=step)
    for step in range(7)
]


@pytest.mark.parametrize("when", WEEK, ids=[f"{when:%A}" for when in WEEK])
def test_last_friday_is_the_latest_before_today(when):
    """Spoken on a Friday it is seven days before."""
    (found,) = resolve("last Friday", when)
    assert found.start.weekday() == 4
    assert 1 <= (when.date() - found.start.date()).days <= 7


@pytest.mark.parametrize("when", WEEK, ids=[f"{when:%A}" for when in WEEK])
def test_next_friday_is_in_next_week(when):
    """From any day of the week it is the same Friday."""
    assert day("next Friday", when)[0] == "2026-11-27"


def test_next_weekday_elsewhere_only_when_clear():
    """German `nächsten Freitag` on a Monday may be either; on a Saturday both are one."""
    assert resolve("nächsten Freitag", WEEK[0]) == ()
    assert day("nächsten Freitag")[0] == "2026-11-27"


def test_this_friday_is_of_this_week_unless_the_sentence_looks_the_other_way():
    """On Wednesday it is ahead; on Saturday it needs a direction."""
    assert day("this Friday", WEEK[2])[0] == "2026-11-20"
    assert resolve("this Friday", WEEK[5]) == ()
    assert day("I will leave this Friday", WEEK[5])[0] == "2026-11-27"
    assert day("I left this Friday", WEEK[5])[0] == "2026-11-20"


def test_seasons_turn_in_the_south():
    """`last summer` in Sydney began in December."""
    (found,) = resolve(
        "last summer", datetime(2026, 7, 1, tzinfo=ZoneInfo("Australia/Sydney"))
    )
    assert (found.start.year, found.start.month) == (2025, 12)


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        ("Europe/Berlin", (4, 3)),
        ("America/New_York", (3, 4)),
        ("Asia/Tokyo", None),
        ("UTC", None),
    ],
)
def test_numeric_dates_need_a_zone_that_decides(zone, expected):
    """03/04/2026 is March or April by the zone, else nobody's."""
    found = resolve("03/04/2026", datetime(2026, 11, 21, tzinfo=ZoneInfo(zone)))
    assert ([(one.start.month, one.start.day) for one in found] or [None]) == [expected]


def test_a_date_without_a_year_is_open_near_the_other_side():
    """`on March 10th`, looking back in February, is last year's or a slip."""
    assert (
        resolve("I went there on March 10th", datetime(2026, 2, 22, tzinfo=UTC)) == ()
    )
    assert (
        day("I went there on March 10th", datetime(2026, 5, 22, tzinfo=UTC))[0]
        == "2026-03-10"
    )


def test_in_n_days_looking_back_is_a_duration():
    """`I read it in three days` names no date."""
    assert resolve("I finished it in three days", SATURDAY) == ()


def test_a_naive_time_is_refused():
    """Without a zone nothing can be resolved."""
    with pytest.raises(ValueError, match="zone"):
        resolve("yesterday", datetime(2026, 11, 21))  # noqa: DTZ001


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("yesterday", ("on", "20 November 2026")),
        ("last week", ("in", "the week of 9 November 2026")),
        ("last month", ("in", "October 2026")),
        ("in 2019", ("in", "2019")),
        ("last summer", ("in", "the summer of 2026")),
        ("next winter", ("in", "the winter of 2026/27")),
        ("last weekend", ("on", "the weekend of 14 November 2026")),
        ("from 4 to 8 December 2026", ("from", "4 to 8 December 2026")),
        ("vom 28. Mai bis 2. Juni 2027", ("from", "28 May to 2 June 2027")),
        (
            "from 30 December to 2 January 2027",
            ("from", "30 December to 2 January 2027"),
        ),
        ("last night", ("on", "the night of 20 November 2026")),
        ("tomorrow at 5pm", ("at", "17:00 on 22 November 2026")),
    ],
)
def test_an_interval_can_be_said(text, said):
    """English words for a resolved date."""
    assert in_words(resolve(text, SATURDAY)[0]) == said


# row: X14
@pytest.mark.parametrize(
    "words",
    [
        "from 4 to 8 December 2026",
        "from 28 May to 2 June 2027",
        "from 30 December to 2 January 2027",
        "next weekend",
    ],
)
def test_a_span_that_is_shown_beside_its_words_is_read_back(words):
    """It stays the same span in a later year, whose words alone would be another one."""
    (named,) = resolve(f"We are away {words}.", SATURDAY)
    shown = f"We are away {words} ({in_words(named)[1]})."
    (again,) = resolve(shown, datetime(2031, 3, 4, 12, tzinfo=BERLIN))
    assert (again.start, again.end) == (named.start, named.end)
    assert in_words(again) == in_words(named)


@given(st.text("aAsdhMnpPrt 0129-/.:,'_`\n?"))
def test_ascii_has_the_tokens_of_any_text(text):
    """It is read with a simpler pattern, which must find the same."""
    assert list(tokens(text)) == [found[0].casefold() for found in TOKEN.finditer(text)]


def test_a_text_without_time_is_known_at_once():
    """The cheap look says no."""
    assert not has_time_expression("I like hiking and the sea.")
    assert has_time_expression("I went hiking yesterday.")


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


def test_german_here_is_not_french_yesterday():
    """A common word of the language of the sentence is no time of another."""
    assert resolve("Ich wohne hier in Köln.", SATURDAY) == ()
    assert len(resolve("Je l'ai vu hier.", SATURDAY)) == 1


def test_spans_do_not_overlap_in_the_table(table):
    """Each span has its own words."""
    for row in table:
        found = spans(row.text, row.when)
        assert all(row.text[one.start : one.end] == one.interval.words for one in found)


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
        ("this January", SATURDAY, []),
        ("We move this January.", SATURDAY, ["2027-01-01T00 month"]),
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


EDGES = """
2027-02-28  in a year from tomorrow           2028-03-01
2027-02-28  a year from tomorrow              2028-03-01
2027-02-28  tomorrow                          2027-03-01
2028-02-28  tomorrow                          2028-02-29
2028-02-28  a year from tomorrow              2029-02-28
2028-03-01  yesterday                         2028-02-29
2028-02-27  the day after tomorrow            2028-02-29
2028-02-27  übermorgen                        2028-02-29
2028-02-24  a week from tomorrow              2028-03-03
2028-02-27  three days after tomorrow         2028-03-02
2027-06-01  a month after 31 January          2028-02-29
2027-06-01  three months from 30 November     2028-02-29
2027-06-01  two years from Friday             2029-06-04
2027-06-01  in two weeks from Monday          2027-06-21
2027-06-01  we meet on 29 February            2028-02-29
2027-11-23  in 100 days                       2028-03-02
2027-12-30  in two days                       2028-01-01
2027-03-27  tomorrow                          2027-03-28
2027-03-28  30 days from today                2027-04-27
2027-10-30  in two days                       2027-11-01
"""


@pytest.mark.parametrize("row", EDGES.strip().splitlines())
def test_days_at_the_edges_of_months_leap_years_and_summer_time(row):
    told, text, meant = row[:10], row[10:-10].strip(), row[-10:]
    when = datetime.fromisoformat(f"{told}T23:30").replace(tzinfo=BERLIN)
    following = datetime.fromisoformat(meant).date() + timedelta(days=1)
    assert day(text, when) == (meant, str(following), "day")
