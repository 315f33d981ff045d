"""Words for time become intervals of the local calendar, or nothing."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.core.language.date_words import TOKEN, tokens
from engram.core.language.dates import has_time_expression, in_words, resolve, spans
from tests.size import examples

BERLIN = ZoneInfo("Europe/Berlin")
SATURDAY = datetime(2026, 11, 21, 21, 14, tzinfo=BERLIN)


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


ENGLISH = [
    ("today", "2026-11-21", "2026-11-22", "day"),
    ("yesterday", "2026-11-20", "2026-11-21", "day"),
    ("tomorrow", "2026-11-22", "2026-11-23", "day"),
    ("the day before yesterday", "2026-11-19", "2026-11-20", "day"),
    ("the day after tomorrow", "2026-11-23", "2026-11-24", "day"),
    ("two days ago", "2026-11-19", "2026-11-20", "day"),
    ("a week ago", "2026-11-09", "2026-11-16", "week"),
    ("3 weeks ago", "2026-10-26", "2026-11-02", "week"),
    ("five months ago", "2026-06-01", "2026-07-01", "month"),
    ("ten years ago", "2016-01-01", "2017-01-01", "year"),
    ("in three days", "2026-11-24", "2026-11-25", "day"),
    ("2 weeks from now", "2026-11-30", "2026-12-07", "week"),
    ("last week", "2026-11-09", "2026-11-16", "week"),
    ("this week", "2026-11-16", "2026-11-23", "week"),
    ("next week", "2026-11-23", "2026-11-30", "week"),
    ("the week before last", "2026-11-02", "2026-11-09", "week"),
    ("last month", "2026-10-01", "2026-11-01", "month"),
    ("next month", "2026-12-01", "2027-01-01", "month"),
    ("last year", "2025-01-01", "2026-01-01", "year"),
    ("last Friday", "2026-11-20", "2026-11-21", "day"),
    ("I will call her on Saturday", "2026-11-28", "2026-11-29", "day"),
    ("last Saturday", "2026-11-14", "2026-11-15", "day"),
    ("next Friday", "2026-11-27", "2026-11-28", "day"),
    ("this past Monday", "2026-11-16", "2026-11-17", "day"),
    ("this coming Monday", "2026-11-23", "2026-11-24", "day"),
    ("Friday of next week", "2026-11-27", "2026-11-28", "day"),
    ("last weekend", "2026-11-14", "2026-11-16", "weekend"),
    ("this weekend", "2026-11-21", "2026-11-23", "weekend"),
    ("next weekend", "2026-11-28", "2026-11-30", "weekend"),
    ("last summer", "2026-06-01", "2026-09-01", "season"),
    ("next winter", "2026-12-01", "2027-03-01", "season"),
    ("the summer of 2021", "2021-06-01", "2021-09-01", "season"),
    ("last May", "2026-05-01", "2026-06-01", "month"),
    ("the Friday before last", "2026-11-13", "2026-11-14", "day"),
    ("on the Tuesday after next", "2026-12-01", "2026-12-02", "day"),
    ("the weekend after next", "2026-12-05", "2026-12-07", "weekend"),
    ("the May after next", "2028-05-01", "2028-06-01", "month"),
    ("the May before last", "2025-05-01", "2025-06-01", "month"),
    ("the summer after next", "2028-06-01", "2028-09-01", "season"),
    ("the winter before last", "2024-12-01", "2025-03-01", "season"),
    ("I saw her on Friday", "2026-11-20", "2026-11-21", "day"),
    ("I will see her on Friday", "2026-11-27", "2026-11-28", "day"),
    ("by Friday", "2026-11-27", "2026-11-28", "day"),
    ("by the end of the month", "2026-11-30", "2026-12-01", "day"),
    ("by the end of next month", "2026-12-31", "2027-01-01", "day"),
    ("before the end of January", "2027-01-31", "2027-02-01", "day"),
    ("by the end of February 2028", "2028-02-29", "2028-03-01", "day"),
    ("until the end of next May", "2027-05-31", "2027-06-01", "day"),
    ("by the end of the year", "2026-12-31", "2027-01-01", "day"),
    ("by the end of 2027", "2027-12-31", "2028-01-01", "day"),
    ("by the end of the day", "2026-11-21", "2026-11-22", "day"),
    ("I'll do it by the end of Friday", "2026-11-27", "2026-11-28", "day"),
    ("I promise to call on Friday", "2026-11-27", "2026-11-28", "day"),
    ("remind me on Friday", "2026-11-27", "2026-11-28", "day"),
    ("I need it on Friday", "2026-11-27", "2026-11-28", "day"),
    ("I needed it on Friday", "2026-11-20", "2026-11-21", "day"),
    ("he died on Friday", "2026-11-20", "2026-11-21", "day"),
    ("I stay until Thursday", "2026-11-26", "2026-11-27", "day"),
    ("20 November 2026", "2026-11-20", "2026-11-21", "day"),
    ("the 20th of November, 2026", "2026-11-20", "2026-11-21", "day"),
    ("November 20th, 2026", "2026-11-20", "2026-11-21", "day"),
    ("Friday, 20 November 2026", "2026-11-20", "2026-11-21", "day"),
    ("we met on Nov 20", "2026-11-20", "2026-11-21", "day"),
    ("November 2026", "2026-11-01", "2026-12-01", "month"),
    ("I moved in May", "2026-05-01", "2026-06-01", "month"),
    ("I will move in May", "2027-05-01", "2027-06-01", "month"),
    ("in 2019", "2019-01-01", "2020-01-01", "year"),
    ("since 2019", "2019-01-01", "2020-01-01", "year"),
    ("since March 1st, 2022", "2022-03-01", "2022-03-02", "day"),
    ("until 5 May 2024", "2024-05-05", "2024-05-06", "day"),
    ("before Friday, 20 November 2026", "2026-11-20", "2026-11-21", "day"),
    ("by March 2022", "2022-03-01", "2022-04-01", "month"),
    ("I have to pay by March", "2027-03-01", "2027-04-01", "month"),
    ("I have to pay before March", "2027-02-28", "2027-03-01", "day"),
    ("it is due before July 2027", "2027-06-30", "2027-07-01", "day"),
    ("I must finish before next week", "2026-11-22", "2026-11-23", "day"),
    ("I must finish before next weekend", "2026-11-27", "2026-11-28", "day"),
    ("I want to retire before 2030", "2029-12-31", "2030-01-01", "day"),
    ("I must pay before Friday", "2026-11-27", "2026-11-28", "day"),
    ("I lived there before 2019", "2019-01-01", "2020-01-01", "year"),
    ("I moved in 2021. It was hot", "2021-01-01", "2022-01-01", "year"),
    ("2026-11-20", "2026-11-20", "2026-11-21", "day"),
    ("20.11.2026", "2026-11-20", "2026-11-21", "day"),
    ("23/11/2026", "2026-11-23", "2026-11-24", "day"),
    ("this morning", "2026-11-21T05:00", "2026-11-21T12:00", "hour"),
    ("tonight", "2026-11-21T18:00", "2026-11-22T00:00", "hour"),
    ("last night", "2026-11-20T18:00", "2026-11-21T06:00", "hour"),
    ("yesterday evening", "2026-11-20T18:00", "2026-11-21T00:00", "hour"),
    ("tomorrow at 5pm", "2026-11-22T17:00", "2026-11-22T18:00", "hour"),
    ("at 17:30 tomorrow", "2026-11-22T17:30", "2026-11-22T17:31", "minute"),
    ("an hour ago", "2026-11-21T20:00", "2026-11-21T21:00", "hour"),
]

OTHERS = [
    ("gestern", "2026-11-20"),
    ("vorgestern", "2026-11-19"),
    ("vor drei Tagen", "2026-11-18"),
    ("letzte Woche", "2026-11-09"),
    ("letzten Freitag", "2026-11-20"),
    ("nächsten Monat", "2026-12-01"),
    ("übernächsten Dienstag", "2026-12-01"),
    ("vorletzten Freitag", "2026-11-13"),
    ("übernächste Woche", "2026-11-30"),
    ("übernächsten Monat", "2027-01-01"),
    ("übernächsten Mai", "2028-05-01"),
    ("vorletzten Mai", "2025-05-01"),
    ("übernächsten Sommer", "2028-06-01"),
    ("übernächstes Wochenende", "2026-12-05"),
    ("bis Ende übernächsten Mai", "2028-05-31"),
    ("am 20. November 2026", "2026-11-20"),
    ("im Mai 2024", "2024-05-01"),
    ("seit dem 1. März 2022", "2022-03-01"),
    ("bis Ende des Monats", "2026-11-30"),
    ("bis Ende Januar", "2027-01-31"),
    ("ich muss vor dem 3. Mai fertig sein", "2027-05-03"),
    ("ich muss vor Juli fertig sein", "2027-06-30"),
    ("ich muss bis Juli fertig sein", "2027-07-01"),
    ("wir wollen vor 2030 umziehen", "2029-12-31"),
    ("je dois payer avant juillet", "2027-06-30"),
    ("je dois payer d'ici juillet", "2027-07-01"),
    ("tengo que pagar antes de julio", "2027-06-30"),
    ("devo pagare prima di luglio", "2027-06-30"),
    ("devo pagare entro luglio", "2027-07-01"),
    ("ik moet vóór juli betalen", "2027-06-30"),
    ("ik wil kaartjes voor juli kopen", "2027-07-01"),
    ("tenho de pagar antes de julho", "2027-06-30"),
    ("ich rufe am Freitag Anna an", "2026-11-27"),
    ("avant la fin du mois prochain", "2026-12-31"),
    ("je dois partir vendredi", "2026-11-27"),
    ("antes de fin de año", "2026-12-31"),
    ("hier", "2026-11-20"),
    ("il y a deux mois", "2026-09-01"),
    ("la semaine dernière", "2026-11-09"),
    ("vendredi dernier", "2026-11-20"),
    ("dans trois jours", "2026-11-24"),
    ("le 5 mai 2024", "2024-05-05"),
    ("ayer", "2026-11-20"),
    ("hace dos años", "2024-01-01"),
    ("el mes pasado", "2026-10-01"),
    ("el lunes pasado", "2026-11-16"),
    ("el lunes antepasado", "2026-11-09"),
    ("el mayo antepasado", "2025-05-01"),
    ("el 5 de mayo de 2024", "2024-05-05"),
    ("l'altro ieri", "2026-11-19"),
    ("tre giorni fa", "2026-11-18"),
    ("la settimana scorsa", "2026-11-09"),
    ("5 maggio 2024", "2024-05-05"),
    ("anteontem", "2026-11-19"),
    ("há três dias", "2026-11-18"),
    ("no mês passado", "2026-10-01"),
    ("5 de maio de 2024", "2024-05-05"),
    ("eergisteren", "2026-11-19"),
    ("eervorige dinsdag", "2026-11-10"),
    ("eervorige maand", "2026-09-01"),
    ("twee weken geleden", "2026-11-02"),
    ("volgende maand", "2026-12-01"),
    ("5 mei 2024", "2024-05-05"),
    ("昨日", "2026-11-20"),
    ("三日前", "2026-11-18"),
    ("先週の金曜日", "2026-11-13"),
    ("来月", "2026-12-01"),
    ("2024年5月5日", "2024-05-05"),
    ("昨天", "2026-11-20"),
    ("两个月前", "2026-09-01"),
    ("上周五", "2026-11-13"),
    ("去年3月", "2025-03-01"),
    ("三年后", "2029-01-01"),
]

OPEN = [
    "03/04/26",
    "Nov 20",
    "on Friday",
    "My birthday is on May 3",
    "I was born on May 3",
    "every Friday",
    "by the end of the week",
    "by the end of next week",
    "by the end of summer",
    "I lived there until March",
    "I sent it by Friday",
    "I lived there until the end of March",
    "I promised to call on Friday",
    "un vendredi",
    "bis zum Ende der Woche",
    "I had a lazy Sunday",
    "I got it in the Black Friday sale",
    "I came back from an Easter Sunday service",
    "on a Friday",
    "a few weeks ago",
    "in 2000 words",
    "we founded it in January 1200",
    "we founded it in January 900",
    "we founded it on 5 January, 1200",
    "we founded it last January 12000",
    "in the 1990s",
    "the past month",
    "over the last year",
    "May 2 come",
    "we may come",
    "one day",
    "a week from Friday",
    "two weeks before last Christmas",
    "winter 2024",
    "31 February 2026",
    "Friday, 21 November 2026",
    "I planted it on February 26-27",
    "it feels like yesterday",
    "version 2026.1",
    "Guten Morgen",
    "le lundi",
    "los lunes",
    "毎日",
    "12:30",
    "",
]


# row: X14
@pytest.mark.parametrize(
    ("text", "start", "end", "granularity"), ENGLISH, ids=[case[0] for case in ENGLISH]
)
def test_english_words_stand_for_an_interval(text, start, end, granularity):
    """Spoken on Saturday 21 November 2026 at 21:14 in Berlin."""
    assert day(text) == (start, end, granularity)


# row: X13
@pytest.mark.parametrize(("text", "start"), OTHERS, ids=[case[0] for case in OTHERS])
def test_other_languages_stand_for_the_same(text, start):
    """German, French, Spanish, Italian, Portuguese, Dutch, Japanese, Chinese."""
    assert day(text)[0] == start


# row: X14
@pytest.mark.parametrize("text", OPEN)
def test_what_is_open_stays_open(text):
    """An ambiguous, vague or impossible expression gives no interval."""
    assert resolve(text, SATURDAY) == ()


# row: X14
MOVED = """
My dentist appointment moved to Thursday at 10.
My dentist appointment moved from Tuesday to Thursday at 10.
The meeting was rescheduled to Thursday.
They changed my appointment to Thursday.
Der Zahnarzttermin wurde auf Donnerstag verschoben.
Le rendez-vous est reporté à jeudi.
Mi cita se ha cambiado al jueves.
L'appuntamento è stato spostato a giovedì.
De afspraak is verplaatst naar donderdag.
A consulta foi adiada para quinta-feira.
Приём перенесли на четверг.
予約は木曜日に変更になりました。
我的预约改到星期四了。
"""


# row: X14
@pytest.mark.parametrize("text", MOVED.strip().splitlines())
def test_what_was_moved_to_a_day_is_ahead(text):
    when = datetime(2027, 2, 8, 9, tzinfo=UTC)  # a Monday
    assert [one.start.day for one in resolve(text, when)] == [11]


# row: X14
@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("They changed the locks on Thursday.", 4),
        ("We moved the sofa to the living room on Thursday.", 4),
        ("We were away from Tuesday to Thursday.", 2),
    ],
)
def test_what_was_done_on_a_day_is_past(text, day):
    when = datetime(2027, 2, 8, 9, tzinfo=UTC)
    assert [one.start.day for one in resolve(text, when)] == [day]


# row: X14
@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("We're in Porto from the 12th to the 15th.", (2, 12), (2, 16)),
        ("I was in Porto from the 2nd to the 4th.", (2, 2), (2, 5)),
        ("I'm away from the 27th to the 3rd.", (2, 27), (3, 4)),
        ("Wir sind vom 12. bis 15. in Rom.", (2, 12), (2, 16)),
        ("The fair was moved from the 12th to the 15th of March.", (3, 15), (3, 16)),
        ("The fair has been postponed to June.", (6, 1), (7, 1)),
        ("We moved the fair from May to June.", (6, 1), (7, 1)),
        ("Am Freitag haben sie den Termin verschoben.", (2, 5), (2, 6)),
        ("Der Termin am Freitag ist verschoben.", (2, 12), (2, 13)),
    ],
)
def test_days_of_a_stretch_and_of_what_was_moved(text, start, end):
    """A stretch of days may name no month; of what was moved the new time counts."""
    when = datetime(2027, 2, 8, 9, tzinfo=UTC)  # a Monday
    found = [
        ((one.start.month, one.start.day), (one.end.month, one.end.day))
        for one in resolve(text, when)
    ]
    assert found == [(start, end)]


# row: X14
@pytest.mark.parametrize(
    "text",
    [
        "It's open from 9 to 5.",
        "The price rose from 12 to 15 euros.",
        "I teach from the 3rd to the 5th grade.",
        "We went from 3rd to 5th place.",
        "They come from the 12th to the 15th century.",
        "This leads to June.",
    ],
)
def test_other_numbers_and_months_are_no_stretch_of_days(text):
    assert resolve(text, datetime(2027, 2, 8, 9, tzinfo=UTC)) == ()


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


def test_the_weekday_after_next_is_open_where_the_next_one_is():
    monday = SATURDAY - timedelta(days=5)
    assert not resolve("nächsten Freitag", monday)
    assert not resolve("übernächsten Freitag", monday)
    assert day("the Friday after next", monday)[0] == "2026-12-04"


def test_this_friday_is_of_this_week_unless_the_sentence_looks_the_other_way():
    """On Wednesday it is ahead; on Saturday it needs a direction."""
    assert day("this Friday", WEEK[2])[0] == "2026-11-20"
    assert resolve("this Friday", WEEK[5]) == ()
    assert day("I will leave this Friday", WEEK[5])[0] == "2026-11-27"
    assert day("I left this Friday", WEEK[5])[0] == "2026-11-20"


def test_months_cross_years_and_leap_days():
    """`last month` in January, a leap day, and a month that is longer than the one
    before.
    """
    assert day("last month", datetime(2026, 1, 31, tzinfo=UTC))[0] == "2025-12-01"
    assert day("yesterday", datetime(2028, 3, 1, tzinfo=UTC))[0] == "2028-02-29"
    assert day("a month ago", datetime(2026, 3, 31, tzinfo=UTC)) == (
        "2026-02-01",
        "2026-03-01",
        "month",
    )


def test_a_day_of_a_clock_change_has_its_own_length():
    """Berlin, 29 March 2026: 23 hours from midnight to midnight."""
    (found,) = resolve("yesterday", datetime(2026, 3, 30, 9, tzinfo=BERLIN))
    assert found.end.astimezone(UTC) - found.start.astimezone(UTC) == timedelta(
        hours=23
    )
    assert found.start.utcoffset() == timedelta(hours=1)


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


FEBRUARY = datetime(2026, 2, 10, 12, tzinfo=BERLIN)


# row: X14
@pytest.mark.parametrize(
    "text",
    [
        "I proposed last week and the wedding party 18th of june",
        "We found the dress, Anna's wedding on the 18th of june",
        "Wir haben das Kleid gefunden, Annas Hochzeit am 18. Juni",
        "Nous avons trouvé la robe, mariage d'Anna le 18 juin",
    ],
)
def test_the_past_of_one_clause_does_not_move_the_day_of_another(text):
    assert all(one.end <= FEBRUARY for one in resolve(text, FEBRUARY)[:-1])
    assert datetime(2025, 6, 18, tzinfo=BERLIN) not in {
        one.start for one in resolve(text, FEBRUARY)
    }


# row: X14
@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("The hall was taken on the 28th.", []),
        ("Der Saal war am 28. belegt.", []),
        ("The hall was taken on the 12th.", ["2026-11-12"]),
        ("I was away from the 25th to the 28th.", []),
        ("I was away from the 5th to the 8th.", ["2026-11-05"]),
    ],
)
def test_a_past_day_without_a_month_is_one_of_this_month(text, dates):
    """A later day of the month may be of the last month or of this one: no date."""
    assert [f"{one.start:%Y-%m-%d}" for one in resolve(text, SATURDAY)] == dates


# row: X14
@pytest.mark.parametrize(
    "text",
    [
        "If I were rich I'd fly to Tahiti tomorrow haha",
        "I would leave on Friday if I had the money.",
        "I wish the exam was tomorrow.",
        "Wenn ich reich wäre, würde ich morgen nach Tahiti fliegen.",
        "Si j'étais riche, je partirais demain à Tahiti.",
        "Si fuera rico, volaría a Tahití mañana.",
        "Se fossi ricco, partirei domani per Tahiti.",
        "Se eu fosse rico, ia amanhã para o Taiti.",
        "Als ik rijk was, zou ik morgen naar Tahiti vliegen.",
        "Если бы я был богат, я бы завтра улетел.",
        "明日休みだったらいいのに。",
        "要是明天放假就好了。",
    ],
)
def test_a_wish_or_an_unmet_condition_has_no_date(text):
    assert resolve(text, SATURDAY) == ()


# row: X14
@pytest.mark.parametrize(
    "text",
    [
        "I wish you a nice birthday tomorrow.",
        "I'd like to book a table for tomorrow.",
        "If it rains we stay at home tomorrow.",
        "Könntest du mich morgen erinnern?",
        "Je voudrais réserver pour demain.",
    ],
)
def test_a_polite_request_and_an_open_condition_keep_their_date(text):
    assert [f"{one.start:%Y-%m-%d}" for one in resolve(text, SATURDAY)] == [
        "2026-11-22"
    ]


# row: X14
@pytest.mark.parametrize(
    "text",
    [
        "I wrote 17 poems in two weeks.",
        "17 poems in two weeks!",
        "17 Gedichte in zwei Wochen!",
        "Das Buch gelesen en deux semaines",
        "J'ai lu le livre en deux semaines.",
        "Un libro in due settimane.",
    ],
)
def test_a_time_in_which_things_were_counted_or_done_is_no_day_ahead(text):
    assert resolve(text, SATURDAY) == ()


# row: X14
@pytest.mark.parametrize(
    ("text", "words", "start"),
    [
        ("Letztes Jahr im Mai waren wir da", "Letztes Jahr im Mai", "2025-05-01"),
        ("Im Mai letzten Jahres waren wir da", "Im Mai letzten Jahres", "2025-05-01"),
        ("We were there last year in May", "last year in May", "2025-05-01"),
        ("L'an dernier en mai on y était", "an dernier en mai", "2025-05-01"),
        ("El año pasado en mayo fuimos", "año pasado en mayo", "2025-05-01"),
        ("Last year on May 3 we left", "Last year on May 3", "2025-05-03"),
        ("Letzten Monat am 5. war ich da", "Letzten Monat am 5.", "2026-10-05"),
        ("Next year at Easter we go", "Next year at Easter", "2027-03-28"),
        ("去年3月5日", "去年3月5日", "2025-03-05"),
    ],
)
def test_a_day_or_a_month_beside_a_named_unit_lies_in_it(text, words, start):
    (found,) = resolve(text, SATURDAY)
    assert (found.words.removeprefix("L'"), f"{found.start:%Y-%m-%d}") == (words, start)


# row: X14
@pytest.mark.parametrize(
    "text",
    [
        "Donnerstag in einer Woche habe ich einen Termin.",
        "Ich habe in zwei Wochen am Donnerstag einen Termin.",
        "I have an appointment on Thursday in two weeks.",
        "J'ai rendez-vous jeudi en huit.",
        "Giovedì tra due settimane ho la visita.",
    ],
)
def test_a_weekday_with_a_count_of_weeks_is_not_this_week(text):
    assert resolve(text, SATURDAY) == ()


# row: X14
@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Ich fliege in vierzehn Tagen nach Rom.", "2026-12-05"),
        ("Dans quinze jours je pars.", "2026-12-06"),
        ("I have an exam in twelve days.", "2026-12-03"),
    ],
)
def test_a_count_of_days_that_is_ahead_is_a_day(text, day):
    assert [f"{one.start:%Y-%m-%d}" for one in resolve(text, SATURDAY)] == [day]


VOCABULARY = st.sampled_from(
    sorted(
        {word for case in (*ENGLISH, *OTHERS) for word in case[0].split()}
        | {",", "every", "."}
    )
)


# row: X14
@examples(300)
@given(st.lists(VOCABULARY, max_size=25), st.integers(7300, 43800))
def test_any_words_give_lawful_intervals(words, days):
    """Intervals are half-open, in the speaker's zone, apart from each other, with
    literal words.
    """
    text, when = (
        " ".join(words),
        datetime(1970, 1, 1, 12, 30, tzinfo=BERLIN) + timedelta(days=days),
    )
    found = spans(text, when)
    for one in found:
        assert one.interval.start < one.interval.end
        assert one.interval.start.tzinfo is BERLIN
        assert text[one.start : one.end] == one.interval.words
    assert all(left.end <= right.start for left, right in pairwise(found))
    assert not found or has_time_expression(text)


@given(st.text("aAsdhMnpPrt 0129-/.:,'_`\n?"))
def test_ascii_has_the_tokens_of_any_text(text):
    """It is read with a simpler pattern, which must find the same."""
    assert list(tokens(text)) == [found[0].casefold() for found in TOKEN.finditer(text)]


def test_a_text_without_time_is_known_at_once():
    """The cheap look says no."""
    assert not has_time_expression("I like hiking and the sea.")
    assert has_time_expression("I went hiking yesterday.")


@pytest.mark.parametrize(
    "pump",
    [
        "last ",
        "the day before ",
        "20 of ",
        "in a week ",
        "一",
        "1",
        "2026-",
        "1/",
        "Friday ",
    ],
)
def test_reading_is_linear(pump):
    """Twice the text takes about twice the time (with room for noise)."""

    def seconds(text):
        best = 60.0
        for _ in range(5):
            began = time.process_time()
            resolve(text, SATURDAY)
            best = min(best, time.process_time() - began)
        return best

    seconds(pump)
    assert (
        seconds(pump * (8000 // len(pump)))
        < 4 * seconds(pump * (4000 // len(pump))) + 0.02
    )
