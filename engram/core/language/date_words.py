"""The words for time in each language, by token class (rows X13, X14).

Section `[dates]` of the language files lists words and short phrases by class; this
module gives each a class letter and a value. A value is a number, a unit, a unit with
an offset (`week:-1`), or hours (`12:18`), with an offset of days before them
(`0:18:24`: today from 18 to 24). English and German have a section `[tense]` besides:
there the sentence decides whether a time is past or future; in the other languages only
a time that directs itself is resolved.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.core.language import languages
from engram.core.language.languages import LazyPattern
from engram.core.language.words import PAST_FORMS, STOP

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
    "from": "F",  # the start of a stretch
    "beside": "A",  # after another time
    "within": "i",  # before a number or a year: `in`; 0 for a duration
    "since": "q",  # seit
    "since_after": "Q",  # から
    "starting": "S",  # ab
    "until": "L",  # bis: end of a state
    "until_after": "M",  # まで
    "by": "r",  # spätestens: due date; before = -1: the day before
    "by_after": "N",  # までに
    "until_the_end_of": "E",  # bis ende
    "by_the_end_of": "R",  # vor ende
    "range_to": "T",  # from Monday to Friday
    "on": "c",  # am
    "toward": "x",  # für
    "at": "@",  # um
    "every": "v",  # a habit
    "copula": "=",  # a subject before it is no time
    "glue": "g",  # `the`, `of`
    "not_dates": "-",  # phrases that only look like a time
}
"""The letter of each other class.

`n` is a number, `y` a year, `X` a day and a month in figures, `D` a date in figures,
`t` a clock time; a comma has the letter `,` and any other word `.`.
"""

_ANCHORS = "dWPukbsemzaBhHp"
"""Classes of which an expression without a number needs one word."""

_CJK_SIGNS = "\u3005\u3040-\u30ff\u3400-\u9fff"
_NUMERIC = r"(?<![A-Za-z])(?:\d{4}(?P<ymd>[-/.])\d{1,2}(?P=ymd)\d{1,2}(?![\d/])|\d{1,2}(?P<dmy>[-/.])\d{1,2}(?P=dmy)\d{4}(?![\d/]))"
_CLOCK = rf"(?i:{languages.any_pattern('dates', 'clock')})"
_ORDINALS = languages.any_pattern("dates", "ordinals")
_COUNT = rf"(?P<n>\d+)(?i:{_ORDINALS}|(?<!\d{{3}})\.(?=\ ?[A-Za-zäöü]))?"
_WORD = rf"[^\W\d_{_CJK_SIGNS}]+(?:-[^\W\d_{_CJK_SIGNS}]+)*['’]?"
_SINGLE = rf"[{_CJK_SIGNS}]|[^\w\ ]"
_NUMBER = (
    rf"(?P<D>{_NUMERIC})|(?P<t>{_CLOCK})|\d+(?:[.,:/]\d+)+|\d+['’]?(?i:s)\b|{_COUNT}"
)
TOKEN = LazyPattern(rf"{_WORD}|{_NUMBER}|{_SINGLE}")
"""A token of a text.

It is a numeric date, a clock time, a number, one CJK sign, a word or one other sign. A
word ends with an elision.
"""

# The matches of `TOKEN` in lower-case ASCII text without digits.
_ASCII_WORD, _ASCII_SINGLE = "[a-z]+(?:-[a-z]+)*'?", r"[^\w ]"
_ASCII_TOKEN = LazyPattern(rf"{_ASCII_WORD}|{_NUMBER}|{_ASCII_SINGLE}")
_NO_NUMBER = LazyPattern(rf"{_WORD}|{_SINGLE}")
_NO_NUMBER_ASCII = LazyPattern(rf"{_ASCII_WORD}|{_ASCII_SINGLE}", re.ASCII)
_DIGIT = LazyPattern(r"\d")


@dataclass(frozen=True, slots=True)
class Tense:
    """The words and forms that show the direction of a sentence in one language.

    The words are single tokens; the forms are patterns. `not_evidence` contains a form
    that is not a past. The time of a `reported` event differs from that of the report.
    An `undirected` sentence may be about any time, such as a habit. With a `duty` a day
    is a deadline. A clause ends at a word of `conjunctions`; an event `toward` a day is
    before it.
    """

    words: Mapping[str, frozenset[str]]
    forms: Mapping[str, LazyPattern]

    def has(self, key: str, words: Iterable[str]) -> bool:
        """Return whether one of the words is in the list `key`."""
        return not self.words[key].isdisjoint(words)

    def shows(self, key: str, text: str) -> bool:
        """Return whether the text has a form of the pattern `key`."""
        return self.forms[key].search(text) is not None


STOPS = frozenset(".!?;。！？；\n")
_COMMAS = frozenset(",，、:：–—")
_TENSE_WORDS = (
    *("past", "future", "present", "not_past", "reported", "conjunctions", "annual"),
)
_TENSE_FORMS = (
    *("past_forms", "present_forms", "not_evidence", "undirected"),
    *("duty", "rescheduled"),
)


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """The words for time of one language, or of the languages that share their signs.

    `phrases` maps tokens joined by blanks to their class letter and value; `heads` are
    their first tokens, `reach` the number of tokens of the longest. A text can contain
    an expression only if it has one of `anchors`, or one of `leads` and a number.
    `unreal` is a pattern of a wish or an unmet condition.
    """

    name: str
    phrases: Mapping[str, tuple[str, Value]]
    heads: frozenset[str]
    reach: int
    anchors: frozenset[str]
    leads: frozenset[str]
    function_words: frozenset[str]
    small_words: frozenset[str]
    unreal: LazyPattern
    tense: Tense | None
    flags: frozenset[str]
    """`ordinal_dot`: `20.` is a day. `unspaced`: no blanks between words.

    `bare_weekdays`: a weekday without an article is a certain day anywhere in a
    sentence. `next_weekday_is_next_week`: `next Friday` is never the coming one.
    `rolling`: `the past week` is not a calendar week.
    """


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
    phrases: dict[str, tuple[str, Value]] = {",": (",", "")}
    for key, (letter, first) in _NUMBERED.items():
        for number, spellings in enumerate(_listed(section, key), first):
            phrases |= dict.fromkeys(spellings.split("/"), (letter, number))

    weekdays = [day for day, (letter, _) in phrases.items() if letter == "k"]
    for word in section.get("kinds_of_weekday", "").split():  # `a Friday` is no date
        phrases |= {f"{word} {day}": ("-", "") for day in weekdays}
    for part in section.get("weekday_endings", "").split():  # Montagabend
        phrases |= {f"{day}{part}": phrases[day] for day in weekdays}

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


def _lexicon(codes: list[str], sections: Mapping[str, Mapping[str, str]]) -> Lexicon:
    """Return the lexicon of the languages `codes`."""
    own = [sections[code] for code in codes]
    phrases = {key: entry for one in own for key, entry in _phrases(one).items()}
    unspaced = languages.unspaced().issuperset(codes)
    unreal = "|".join(languages.pattern(one["unreal"]) for one in own)
    tense = languages.section("tense").get(codes[0])

    def heads(letters: str) -> frozenset[str]:
        return frozenset(
            max(phrase.split(), key=len) if letter in "Hp" else phrase.split()[0]
            for phrase, (letter, _) in phrases.items()
            if letter in letters
        )

    return Lexicon(
        codes[0],
        phrases,
        heads=frozenset(phrase.split()[0] for phrase in phrases),
        reach=max(len(phrase.split()) for phrase in phrases),
        anchors=heads("dWPukHp" if unspaced else _ANCHORS),
        leads=(leads := heads("iqrcLSEFT")),
        function_words=STOP[codes[0]],
        small_words=STOP[codes[0]] | leads,
        unreal=LazyPattern(unreal),
        tense=_tense(codes[0], tense) if tense else None,
        flags=frozenset(own[0].get("flags", "").split())
        | ({"unspaced"} if unspaced else set()),
    )


def _tense(code: str, section: Mapping[str, str]) -> Tense:
    words = {key: frozenset(section.get(key, "").split()) for key in _TENSE_WORDS}
    words["conjunctions"] |= STOPS | _COMMAS
    if code == "en":
        words["past"] |= PAST_FORMS - words["reported"]
    past = "|".join(sorted(PAST_FORMS))
    forms = {
        key: LazyPattern(
            languages.pattern(section.get(key, "(?!)")).replace("<PAST>", past)
        )
        for key in _TENSE_FORMS
    }
    return Tense(words, forms)


def _lexicons() -> tuple[Lexicon, ...]:
    sections = languages.section("dates")
    unspaced = languages.unspaced()
    own = [[code] for code in sections if code not in unspaced]
    together = [code for code in sections if code in unspaced]
    return tuple(_lexicon(codes, sections) for codes in (*own, together))


LEXICONS = _lexicons()
"""The lexicons, English first; the first lexicon that parses a phrase is used."""
