"""The rules of the date grammar: patterns over token classes (row X14)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# The rules, in order of preference at one position. A rule without a maker consumes
# text that must not be parsed as a date. The letters are those of
# `date_words._CLASSES`.
_WEEKDAY_BEFORE = r"(?:[mjz]?k,?g?)?"  # last Friday, the
_BEFORE_LAST = "B(?![kbsuednw])"  # not the beginning of `after next week`
_HABIT = r"v[gmjnwzo]{0,3}[kubsepWdPH](?:[igc]{0,2}b)?"  # every other Friday
_FROM_ANOTHER_TIME = r"[nwg]u[rFL]g?[mjz]?[kdbpDH]"  # a week from Friday
# tomorrow week, Donnerstag in einer Woche
_COUNTED_FROM_A_DAY = r"[cx]?g?[mjz]?[dk](?:u(?![am])|i[nw]u)"
# a week ago yesterday, in zwei Wochen am Donnerstag
_COUNT_AND_A_DAY = r"(?:[nw]u[af]|[ih][nw]u)c?g?(?:[mz]?k|d)"
_COUNT_BEFORE_LAST = r"[nw]uB"  # two weeks before last
_DAY_AND_MONTH = r"(?:ng{0,2}b|bg?n)"  # 20th of November, November 20
_BEFORE = "[iqrLSFcx]?"
_PART = f"(?:{_DAY_AND_MONTH}|b|H)"
_UNIT = "(?:[mj]u|um)"  # last year, l'an dernier
_COMMON = (
    ("range_of_weekdays", r"Fg?kg?[TLr]g?k"),  # from Wednesday to Friday
    # from December 3 to 7, vom 3. bis 7. Dezember
    ("range_of_days", r"[FS]g?(?:bg?n|ng{0,2}b?)[TLr]g?(?:bg?n|ng{0,2}b?)(?:,?g?y)?"),
    (
        "skip",
        f"{_HABIT}|{_COUNTED_FROM_A_DAY}|{_FROM_ANOTHER_TIME}|{_COUNT_AND_A_DAY}|{_COUNT_BEFORE_LAST}",
    ),
    # by the end of next month, by the end of May 2027
    ("end", r"[RE]g?[jmz]?(?:[use][jmzB]?|b[jmz]?(?:,?g?y)?|y)"),
    # the second Tuesday in March, the last Monday of next month
    ("nth_weekday", r"c?g?[om]k[igcLS]{0,2}(?:b(?:,?g?y)?|[mjz]u(?=$|[^u]))"),
    ("skip", r"ok|okg"),  # the second Tuesday
    # June 27 next year, im Mai letzten Jahres, on the 12th of last month
    (
        "of_named_unit",
        rf"(?:{_BEFORE}g?c?g?{_PART},?|[crLSFq]g?n)[gi]{{0,2}}{_UNIT}",
    ),
    # last year in May, letztes Jahr am 3. Mai, last month on the 5th
    ("of_named_unit", rf"g?{_UNIT},?(?:[icgqxr@]{{0,3}}{_PART}|cg?n(?!u))"),
    # since Friday, 20 November 2026; on November 20, 2026
    ("date", rf"{_BEFORE}g?{_WEEKDAY_BEFORE}c?g?(?:ng{{0,2}}b,?g?y|bg?n,?y)"),
    ("month_of_year", rf"(?:h|{_BEFORE}g?)b,?g?yu?"),  # in May 2024
    ("season_of_year", r"[iqLS]?g?sg?y"),  # the summer of 2021
    # the 20th of November; Friday, November 20
    ("yearless", rf"{_BEFORE}g?{_WEEKDAY_BEFORE}c?g?{_DAY_AND_MONTH}(?!u)"),
    ("ago", r"[nw]ua|h[nw]u"),  # three weeks ago, vor drei Wochen
    ("ahead", r"i[nw]u|[nw]uf"),  # in three weeks, three weeks from now
    ("of_named_unit", r"c?g?k,?g?[mj]u|[mj]uc?g?k"),  # on Friday of next week
    ("holiday", r"[cx@irRLSEq]?g?[mjz]?H(?:,?g?y|[mz](?![uks]))?"),  # at Easter 2027
    ("day_of_month", r"[crLSFq]?g?[mjz]?kc?,?c?g{0,2}n"),  # Saturday the 5th
    ("day_of_month", r"[crLSFq]g?n"),  # on the 12th
    ("day_dot_month", r"[crLSq]g?X"),  # am 28.11.
    ("day", r"g?d"),  # yesterday
    ("unit", r"W"),  # неделю назад
    ("part", r"P"),  # tonight
    ("numeric", r"[crLSqx]?D"),  # on 2026-11-20
    ("year", r"[iqrLSh]g?yu?|cg?yu"),  # since 2019, в 2019 году
)
_PREFIX = (
    ("skip", r"gmu"),  # the last week
    ("unit", r"[mjz]u|g?uB"),  # last week, the week before last
    # on next Friday, the Friday before last
    ("weekday", rf"[crLSx]?[mjz]k|[crLSx]?g?k{_BEFORE_LAST}"),
    ("month", rf"[iqLS]?[mjz]b|[iqLS]?g?b{_BEFORE_LAST}"),  # in this May
    ("season", rf"i?[mjz]s|i?g?s{_BEFORE_LAST}"),  # last summer, the summer before last
    ("weekend", r"c?[mjz]e|c?g?eB"),  # on this weekend, the weekend after next
)
_EITHER = (
    ("unit", r"[jm]u|um"),  # cette semaine, semaine dernière
    ("weekday", r"[cx]?g?(?:[jm]k|km)"),  # ce vendredi, vendredi dernier
    ("month", r"[igqc]?g?(?:[jm]b|bm)"),  # este mayo, mayo pasado
    ("season", r"g?(?:[jm]s|sm)"),  # cet été, l'été dernier
    ("weekend", r"c?g?(?:[jm]e|em)"),  # ce week-end, le week-end prochain
)
_OPEN = (
    ("month_by_lean", r"[iqrLSFTch]g?b"),  # in May, vor Mai, postponed to May
    ("weekday_by_lean", r"[crqLRSEx]{0,2}g?k"),  # on Friday
)
_SIGNS = (
    ("skip", r"v[nw]?[uk]|-g?k"),  # 毎週
    ("end", r"(?:[nw]u|W)g?Z"),  # 十二月底
    ("date", r"yunun[uU]"),  # 2024年5月5日
    ("month_of_year", r"yunu(?!a|f)"),  # 2024年5月
    ("year", r"yu(?![af])"),  # 2024年
    ("yearless", r"nun(?:U|u(?![af]))"),  # 5月5日
    ("month_by_number", r"[nw]u(?![afnw])"),  # 三月
    ("ago", r"[nw]ua"),  # 三日前
    ("ahead", r"[nw]uf"),  # 三年后
    ("of_named_unit", r"Wg?[kw](?!u)|Wu"),  # 先週の金曜日, 上周五
    ("of_named_unit", r"W[nw]u(?:[nw][uU])?"),  # 去年3月5日
    ("day_of_month", r"nU"),  # 15号
    ("holiday", r"H"),  # 元旦
    ("unit", r"W"),  # 来月
    ("day", r"d"),  # 昨日
    ("part", r"P"),  # 今晩
    ("numeric", r"D"),  # 2026-11-20
    ("weekday_by_lean", r"k"),  # 周五
)


def _grammar(rules: Sequence[tuple[str, str]]) -> re.Pattern[str]:
    return re.compile(
        "|".join(
            f"(?P<{name}_{place}>{pattern})"
            for place, (name, pattern) in enumerate(rules)
        )
    )


GRAMMAR = {
    "germanic": _grammar((*_COMMON, *_PREFIX, *_OPEN)),
    "romance": _grammar((*_COMMON, *_EITHER, *_OPEN)),
    "cjk": _grammar(_SIGNS),
}
"""The rules of each family of languages as one pattern over the letters of tokens."""
