"""The direction of a sentence, past or future: the tense around a time (row X14).

English and German list the words and forms of their past and their future (`Tense`).
The direction is unclear if a sentence has neither, or if it denies an event.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from engram.core.language.date_words import STOPS, Lexicon, Tense, Value, tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

_WINDOW = 40
"""Tokens on each side of a time that may show the direction of its sentence."""
_PREPOSITIONS = frozenset("crqLRSExgiFT@h")
"""Letters of the words before a time that belong to it grammatically."""
_NEAR = 2
"""The most tokens between a report and a time that may be that of the report."""


class Token(NamedTuple):
    """A word of the text, `text[start:end]`, with its class letter and value."""

    letter: str
    value: Value
    start: int
    end: int
    word: str


@dataclass(frozen=True, slots=True)
class DateContext:
    """The sentence around the tokens `first:last` of a text."""

    text: str
    row: Sequence[Token]
    first: int
    last: int
    lexicon: Lexicon

    @property
    def lead(self) -> str:
        """The letter of the first token of the time."""
        return self.row[self.first].letter

    @property
    def before(self) -> str:
        """The word before the time, or ''."""
        return self.row[self.first - 1].word if self.first else ""

    @property
    def after(self) -> str:
        """The word after the time, or ''."""
        return self.row[self.last].word if self.last < len(self.row) else ""

    def opens(self) -> bool:
        """Return whether the time begins its clause; else it may modify a noun."""
        return not self.before or self.before in STOPS or self.before == ","

    def around(self, ends: frozenset[str]) -> tuple[int, int]:
        """Return the tokens up to one of `ends`, at most `_WINDOW` on each side."""
        left, right, words = self.first, self.last, self.row
        least, most = left - _WINDOW, min(right + _WINDOW, len(words))
        while left > max(least, 0) and words[left - 1].word not in ends:
            left -= 1
        while right < most and words[right].word not in ends:
            right += 1
        return left, right

    def sentence(self) -> tuple[int, int]:
        """Return the tokens of the sentence."""
        return self.around(STOPS)

    def clause(self) -> tuple[int, int]:
        """Return the tokens up to a comma or a conjunction on each side."""
        assert self.lexicon.tense
        return self.around(self.lexicon.tense.words["conjunctions"])

    def others(self, left: int, right: int) -> list[Token]:
        """Return the tokens except those of the time itself."""
        return [*self.row[left : self.first], *self.row[self.last : right]]

    def part(self, left: int, right: int, sign: str = " ") -> str:
        """Return the text of the tokens with `sign` in place of the time."""
        first = self.first
        if sign != " ":
            while self.row[first].letter in _PREPOSITIONS and first < self.last - 1:
                first += 1
        before = self.text[self.row[left].start : self.row[first].start]
        after = self.text[self.row[self.last - 1].end : self.row[right - 1].end]
        return f"{before}{sign}{after}".strip()


def direction(context: DateContext) -> int:
    """Return -1 for the past, 1 for the future or the present, 0 if it is unclear."""
    tense = context.lexicon.tense
    if tense is None:
        return 0
    whole, clause = context.sentence(), context.clause()
    if is_rescheduled(context):
        return 1
    if tense.shows("undirected", context.part(*whole)):
        return 0
    found = _evidence(context, tense, *clause)
    if found is None and clause != whole:
        found = _evidence(context, tense, *whole)
        if context.part(*clause):  # not as `On Friday, I left`
            found = max(found or 0, 0)  # the past is that of another event
    return found or 0


def is_unreal(context: DateContext) -> bool:
    """Return whether the sentence is a wish or an unmet condition."""
    return bool(context.lexicon.unreal.search(context.part(*context.sentence())))


def is_rescheduled(context: DateContext) -> bool:
    """Return whether an appointment was moved to the time, which is therefore ahead."""
    tense = context.lexicon.tense
    return tense is not None and tense.shows(
        "rescheduled", context.part(*context.sentence(), "§")
    )


def may_begin(context: DateContext) -> bool:
    """Return whether a clause may state a beginning.

    It does if it has words besides the time, and the sentence has no past form.
    """
    tense = context.lexicon.tense
    if tense is None:
        return True
    whole = context.part(*context.sentence())
    if _looks_back(whole, tense):
        return False
    return bool(context.part(*context.clause()))


def has_duty(context: DateContext) -> bool:
    """Return whether the sentence states that something is due."""
    tense = context.lexicon.tense
    part = context.part(*context.sentence())
    return tense is not None and tense.shows("duty", part)


def is_annual(context: DateContext) -> bool:
    """Return whether the sentence is about a birthday or another anniversary."""
    tense = context.lexicon.tense
    around = context.others(*context.sentence())
    return tense is not None and tense.has("annual", (one.word for one in around))


def _evidence(context: DateContext, tense: Tense, left: int, right: int) -> int | None:
    """Return the direction of some tokens around the time, None without evidence."""
    words = [token.word for token in context.others(left, right)]
    part = context.part(left, right)
    future = tense.has("future", words)
    bare = tense.forms["not_evidence"].sub(" ", part)
    if _looks_back(bare, tense):
        return 0 if future else -1
    ahead = future or tense.has("present", words) or tense.shows("present_forms", part)
    toward = context.row[max(context.first - 1, 0) : context.first + 1]
    if any(one.letter == "x" for one in toward) and tense.has("not_past", words):
        return 1  # I booked a table for Tuesday
    if tense.has("reported", words):
        before = [token.word for token in context.row[left : context.first]]
        is_near = tense.has("reported", before[-_NEAR - 1 :])
        return (0 if is_near else 1) if ahead else -1
    return 1 if ahead else None


def _looks_back(part: str, tense: Tense) -> bool:
    """Return whether a text has a word or a form of the past."""
    return tense.has("past", tokens(part)) or any(
        found.group().casefold() not in tense.words["not_past"]
        for found in tense.forms["past_forms"].finditer(part[:1].lower() + part[1:])
    )
