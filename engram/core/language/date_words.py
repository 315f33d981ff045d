"""The words for time in each language, by token class (rows X13, X14).

Section `[dates]` of the language files lists words and short phrases by class; this
module gives each a class letter and a value. A value is a number, a unit, a unit with
an offset (`week:-1`), or an offset with hours (`0:18:24`: today from 18 to 24).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.core.language import languages
from engram.core.language.languages import LazyPattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Value = int | str | tuple[int, ...] | tuple[str, int]

_NUMBERED = {
    "weekdays": ("k", 0),  # Monday 0
    "months": ("b", 1),
    "seasons": ("s", 0),  # winter 0
    "numbers": ("w", 1),
    "ordinal_words": ("o", 1),
}
"""Classes whose words have consecutive values: the letter and the first value."""

_CLASSES = {
    "days": "d",  # heute = 0
    "parts_of_a_day_by_offset": "P",  # tonight = 0:18:24
    "parts_of_the_day": "p",  # morning = 5:12
    "units": "u",  # tagen = day
    "units_by_offset": "W",  # 先週 = week:-1
    "last_or_next": "m",  # last = -1, next = 1
    "nearest": "z",  # past = -1, coming = 1
    "before_last_or_after_next": "B",  # before last = -2
    "this": "j",  # diese
    "weekend": "e",  # wochenende
    "holidays": "H",  # christmas eve = 12-24
    "ago_before": "h",  # before the number: `vor`
    "ago_after": "a",  # after it: `ago`
    "from_now": "f",  # from today
    "from_another_time": "F",  # counted from a time the text does not give
    "within": "i",  # before a number or a year: `in`
    "since": "q",  # seit
    "since_after": "Q",  # から
    "starting": "S",  # ab
    "until": "L",  # bis: end of a state
    "until_after": "M",  # まで
    "by": "r",  # spätestens: due date; before = -1: the day before
    "by_after": "N",  # までに
    "until_the_end_of": "E",  # bis ende
    "by_the_end_of": "R",  # vor ende
    "end_sign": "Z",  # 月底
    "range_to": "T",  # from Monday to Friday
    "on": "c",  # am
    "toward": "x",  # für
    "at": "@",  # um
    "every": "v",  # a habit follows
    "day_signs": "U",  # 号
    "glue": "g",  # `the`, `of`
    "not_dates": "-",  # phrases that only look like a time
}
"""The letter of each other class.

`X` is a day and a month in figures; a comma has the letter `,`.
"""

_ANCHORS = "dWPukbsemzaBhH"
"""Classes of which an expression without a number needs one word."""
_CJK_ANCHORS = "dWPukH"

_CJK_SIGNS = "\u3005\u3040-\u30ff\u3400-\u9fff"
_NUMERIC = r"\d{4}(?P<ymd>[-/.])\d{1,2}(?P=ymd)\d{1,2}(?![\d/])|\d{1,2}(?P<dmy>[-/.])\d{1,2}(?P=dmy)\d{4}(?![\d/])"
_CLOCK = rf"(?i:{languages.any_pattern('dates', 'clock')})"
_ORDINALS = languages.any_pattern("dates", "ordinals")
_COUNT = rf"(?P<n>\d+)(?i:{_ORDINALS}|(?<!\d{{3}})\.(?=\ ?[A-Za-zäöü]))?"
_WORD = rf"[^\W\d_{_CJK_SIGNS}]+(?:-[^\W\d_{_CJK_SIGNS}]+)*['’]?"
_SINGLE = rf"[{_CJK_SIGNS}]|[^\w\ ]"
_NUMBER = (
    rf"(?P<D>{_NUMERIC})|(?P<t>{_CLOCK})|\d+(?:[.,:/]\d+)+|\d+['’]?(?i:s)\b|{_COUNT}"
)
TOKEN = re.compile(rf"{_WORD}|{_NUMBER}|{_SINGLE}")
"""A token of a text.

It is a numeric date, a clock time, a number, one CJK sign, a word or one other sign. A
word ends with an elision.
"""

# The matches of `TOKEN` in lower-case ASCII text without digits.
_ASCII_WORD, _ASCII_SINGLE = "[a-z]+(?:-[a-z]+)*'?", r"[^\w ]"
_ASCII_TOKEN = re.compile(rf"{_ASCII_WORD}|{_NUMBER}|{_ASCII_SINGLE}")
_NO_NUMBER = re.compile(rf"{_WORD}|{_SINGLE}")
_NO_NUMBER_ASCII = re.compile(rf"{_ASCII_WORD}|{_ASCII_SINGLE}", re.ASCII)
_DIGIT = re.compile(r"\d")
_KANA = re.compile(r"[\u3040-\u30ff]")


STOP_WORDS = {
    code: frozenset(text.split())
    for code, text in languages.texts("words", "stop").items()
}
"""The most common words of each language."""


@dataclass(frozen=True, slots=True)
class TenseWords:
    """The words and forms that show the direction of a sentence in one language.

    The words are single tokens; the forms are patterns. `maybe_past` may be another
    form, `not_evidence` contains a form that is not a past. The time of a `reported`
    event differs from that of the report. An `undirected` sentence may be about any
    time, such as a habit; an `unreal` one is a wish or an unmet condition. With a
    `duty` a day is a deadline. A clause ends at a word of `conjunctions`; an event
    `toward` a day is before it.
    """

    language: str
    past: frozenset[str]
    future: frozenset[str]
    present: frozenset[str]
    not_past: frozenset[str]
    reported: frozenset[str]
    conjunctions: frozenset[str]
    past_forms: LazyPattern | None
    present_forms: LazyPattern | None
    maybe_past: LazyPattern | None
    not_evidence: LazyPattern | None
    undirected: LazyPattern | None
    unreal: LazyPattern | None
    duty: LazyPattern | None
    rescheduled: LazyPattern | None


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The words for time of one language, or of the languages that share their signs.

    `phrases` maps tokens joined by blanks to their class letter and value; `heads` are
    their first tokens, `reach` the number of tokens of the longest. `family` selects
    the grammar. A text can contain an expression only if it has one of `anchors`, or
    one of `years` and a number. `function_words` may follow a day that is named by its
    number alone.
    """

    name: str
    family: str
    phrases: Mapping[str, tuple[str, Value]]
    heads: frozenset[str]
    reach: int
    anchors: frozenset[str]
    years: frozenset[str]
    function_words: frozenset[str]
    tenses: tuple[TenseWords, ...]
    ordinal_dot: bool = False
    """Whether `20.` is a day."""
    bare_weekdays: bool = False
    """Whether a weekday without an article is a certain day anywhere in a sentence."""
    next_weekday_is_next_week: bool = False
    """Whether `next Friday` is never the coming one."""
    rolling_nearest: bool = False
    """Whether `the past week` is not a calendar week."""

    def tense_of(self, text: str) -> TenseWords:
        """Return the tense words of the language of `text`; kana are Japanese."""
        is_japanese = len(self.tenses) > 1 and _KANA.search(text)
        wanted = "ja" if is_japanese else "zh"
        return next(
            (tense for tense in self.tenses if tense.language == wanted), self.tenses[0]
        )


def tokens(text: str) -> Iterable[str]:
    """Return the tokens of `text`, casefolded, with the plain apostrophe."""
    if not _DIGIT.search(text):
        if text.isascii():
            return _NO_NUMBER_ASCII.findall(text.lower())
        return [
            found.casefold().replace("’", "'") for found in _NO_NUMBER.findall(text)
        ]
    if text.isascii():
        return (found[0] for found in _ASCII_TOKEN.finditer(text.lower()))
    return (found[0].casefold().replace("’", "'") for found in TOKEN.finditer(text))


def _phrases(section: Mapping[str, str]) -> dict[str, tuple[str, Value]]:
    """Return the class letter and value of each phrase of one `[dates]` section."""
    phrases: dict[str, tuple[str, Value]] = {}
    for key, (letter, first) in _NUMBERED.items():
        for number, spellings in enumerate(_listed(section, key), first):
            phrases |= dict.fromkeys(spellings.split("/"), (letter, number))

    weekdays = [spellings.split("/")[0] for spellings in _listed(section, "weekdays")]
    for word in section.get("kinds_of_weekday", "").split():  # `a Friday` is no date
        phrases |= {f"{word} {day}": ("-", "") for day in weekdays}

    for key, letter in _CLASSES.items():
        for entry in _listed(section, key):
            phrase, _, value = entry.partition(" = ")
            phrases[phrase] = (letter, _value(value))

    return {" ".join(tokens(phrase)): entry for phrase, entry in phrases.items()}


def _listed(section: Mapping[str, str], key: str) -> list[str]:
    return languages.phrases(section[key]) if key in section else []


def _value(text: str) -> Value:
    parts = text.split(":")
    if not parts[0].removeprefix("-").isdigit():
        return (parts[0], int(parts[1])) if len(parts) == 2 else text
    return int(text) if len(parts) == 1 else tuple(int(part) for part in parts)


def _lexicon(name: str, sections: Mapping[str, Mapping[str, str]]) -> Lexicon:
    """Return the lexicon of the languages to which the sections belong."""
    first = next(iter(sections.values()))
    phrases: dict[str, tuple[str, Value]] = {",": (",", "")}
    for section in sections.values():
        phrases |= _phrases(section)

    def heads(letters: str) -> frozenset[str]:
        return frozenset(
            phrase.split()[0]
            for phrase, (letter, _) in phrases.items()
            if letter in letters
        )

    def longest(letter: str) -> frozenset[str]:
        return frozenset(
            max(phrase.split(), key=len)
            for phrase, (one, _) in phrases.items()
            if one == letter
        )

    family = first["family"]
    return Lexicon(
        name,
        family,
        phrases,
        heads=frozenset(phrase.split()[0] for phrase in phrases),
        reach=max(len(phrase.split()) for phrase in phrases),
        anchors=heads(_CJK_ANCHORS)
        if family == "cjk"
        else heads(_ANCHORS.replace("H", "")) | longest("H"),
        years=heads("iqrcLSEFT"),
        function_words=STOP_WORDS.get(name, frozenset()),
        tenses=tuple(_tense(code, one) for code, one in sections.items()),
        ordinal_dot="ordinal_dot" in first,
        bare_weekdays="bare_weekdays" in first,
        next_weekday_is_next_week="next_weekday_is_next_week" in first,
        rolling_nearest="rolling_nearest" in first,
    )


def _tense(language: str, section: Mapping[str, str]) -> TenseWords:
    def words(key: str) -> frozenset[str]:
        return frozenset(section.get(key, "").split())

    def forms(key: str) -> LazyPattern | None:
        found = languages.pattern(section.get(key, ""))
        return LazyPattern(found) if found else None

    return TenseWords(
        language,
        past=words("past"),
        future=words("future"),
        present=words("present"),
        not_past=words("not_past"),
        reported=words("reported"),
        conjunctions=words("conjunctions"),
        past_forms=forms("past_forms"),
        present_forms=forms("present_forms"),
        maybe_past=forms("maybe_past"),
        not_evidence=forms("not_evidence"),
        undirected=forms("undirected"),
        unreal=forms("unreal"),
        duty=forms("duty"),
        rescheduled=forms("rescheduled"),
    )


def _lexicons() -> tuple[Lexicon, ...]:
    sections = languages.section("dates")
    cjk = {code: one for code, one in sections.items() if one["family"] == "cjk"}
    own = [
        _lexicon(code, {code: one})
        for code, one in sections.items()
        if one["family"] != "cjk"
    ]
    return (*own, _lexicon("cjk", cjk))


LEXICONS = _lexicons()
"""The lexicons, English first; the first lexicon that parses a phrase is used."""


ANNUAL = languages.all_words("dates", "annual")
"""Words that make a date without a year an anniversary."""

ANNUAL_SIGNS = frozenset(
    word
    for code in languages.unspaced()
    for word in languages.texts("dates", "annual").get(code, "").split()
)
"""The same for languages without blanks between words."""

COUNTED_NOUNS = languages.all_words("dates", "counted_nouns")
"""Nouns after which a number is an amount, not a year or a day."""

MONTH_OR_VERB = languages.all_words("dates", "month_or_verb")
"""Words that, in lower case, are a month only after one of `BEFORE_MONTH_OR_VERB`."""

BEFORE_MONTH_OR_VERB = languages.all_words("dates", "before_month_or_verb")

SOUTH = (
    "Australia/",
    "Pacific/Auckland",
    "Africa/Johannesburg",
    "America/Argentina/",
    "America/Buenos_Aires",
    "America/Sao_Paulo",
    "America/Santiago",
    "America/Montevideo",
)
"""Zones whose summer begins in December."""

MONTH_FIRST = (
    "America/New_York",
    "America/Chicago",
    "America/Denver",
    "America/Los_Angeles",
    "America/Phoenix",
    "America/Detroit",
    "America/Anchorage",
    "America/Indiana/",
    "Pacific/Honolulu",
    "US/",
)
"""Zones in which 03/04 is the fourth of March."""

DAY_FIRST = ("Europe/", "Australia/", "Pacific/Auckland", "Asia/Kolkata", "Africa/")
"""Zones in which 03/04 is the third of April."""
