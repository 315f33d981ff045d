"""The direction of a sentence, past or future: the tense around a time (row X14).

Each language lists the words and forms of its past and its future (`TenseWords`). The
direction is unclear if a sentence has neither, or if it denies an event.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.core.language.date_words import tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engram.core.language.date_values import Token
    from engram.core.language.date_words import Lexicon, TenseWords
    from engram.core.language.languages import LazyPattern

STOPS = frozenset(".!?;。！？；\n")
_COMMAS = frozenset(",，、:：–—")
_WINDOW = 40
"""Tokens on each side of a time that may show the direction of its sentence."""
_PREPOSITIONS = frozenset("crqLRSExgiFT@h")
"""Letters of the words before a time that belong to it grammatically."""
_NEAR = 2
"""The most tokens between a report and a time that may be that of the report."""


@dataclass(frozen=True, slots=True)
class DateContext:
    """The sentence around the tokens `first:last` of a text."""

    text: str
    row: Sequence[Token]
    first: int
    last: int

    def sentence(self) -> tuple[int, int]:
        """Return the tokens of the sentence, at most `_WINDOW` on each side."""
        return self._around(STOPS)

    def clause(self, tense: TenseWords) -> tuple[int, int]:
        """Return the tokens up to a comma or a conjunction on each side."""
        return self._around(STOPS | _COMMAS | tense.conjunctions)

    def _around(self, ends: frozenset[str]) -> tuple[int, int]:
        left, right = self.first, self.last
        while (
            left and self.first - left < _WINDOW and self.row[left - 1].word not in ends
        ):
            left -= 1
        while (
            right < len(self.row)
            and right - self.last < _WINDOW
            and self.row[right].word not in ends
        ):
            right += 1
        return left, right

    def words(self, left: int, right: int) -> list[str]:
        """Return the tokens except those of the time itself."""
        row = self.row
        return [
            token.word for token in (*row[left : self.first], *row[self.last : right])
        ]

    def marked(self) -> str:
        """Return the sentence with `§` in place of the time and its preposition."""
        row, (left, right) = self.row, self.sentence()
        first = next(
            (
                place
                for place in range(self.first, self.last)
                if row[place].letter not in _PREPOSITIONS
            ),
            self.first,
        )
        before = self.text[row[left].start : row[first].start]
        after = self.text[row[self.last - 1].end : row[right - 1].end]
        return f"{before}§{after}"

    def part(self, left: int, right: int) -> str:
        """Return the text of the tokens, with a blank for the time itself."""
        row, first, last = self.row, self.first, self.last
        before = self.text[row[left].start : row[first].start] if left < first else ""
        after = (
            self.text[row[last - 1].end : row[right - 1].end] if right > last else ""
        )
        return f"{before} {after}".strip()


def direction(context: DateContext, lexicon: Lexicon) -> int:
    """Return -1 for the past, 1 for the future or the present, 0 if it is unclear."""
    tense = lexicon.tense_of(context.text)
    whole = context.sentence()
    if is_rescheduled(context, lexicon):
        return 1
    if _matches(tense.undirected, context.part(*whole)):
        return 0
    clause = context.clause(tense)
    found = _evidence(context, tense, *clause)
    if found is None and clause != whole:
        found = _evidence(context, tense, *whole)
        if context.part(*clause):  # not as `On Friday, I left`
            found = max(found or 0, 0)  # the past is that of another event
    return found or 0


def is_unreal(context: DateContext, lexicons: Iterable[Lexicon]) -> bool:
    """Return whether the sentence is a wish or an unmet condition in some language."""
    part = context.part(*context.sentence())
    return any(_matches(one.tense_of(context.text).unreal, part) for one in lexicons)


def is_rescheduled(context: DateContext, lexicon: Lexicon) -> bool:
    """Return whether an appointment was moved to the time, which is therefore ahead."""
    moved = lexicon.tense_of(context.text).rescheduled
    return moved is not None and bool(moved.search(context.marked()))


def may_begin(context: DateContext, lexicon: Lexicon) -> bool:
    """Return whether a clause may state a beginning.

    It does if it has words besides the time, and the sentence has no past form.
    """
    tense, whole = lexicon.tense_of(context.text), context.part(*context.sentence())
    if _looks_back(whole, tense) or _matches(tense.maybe_past, whole):
        return False
    return bool(context.part(*context.clause(tense)))


def has_duty(context: DateContext, lexicon: Lexicon) -> bool:
    """Return whether the sentence states that something is due."""
    duty = lexicon.tense_of(context.text).duty
    return duty is not None and bool(duty.search(context.part(*context.sentence())))


def _evidence(
    context: DateContext, tense: TenseWords, left: int, right: int
) -> int | None:
    """Return the direction of some tokens around the time, None without evidence."""
    words, part = context.words(left, right), context.part(left, right)
    bare = tense.not_evidence.sub(" ", part) if tense.not_evidence else part
    back = _looks_back(bare, tense)
    future = not tense.future.isdisjoint(words)
    if back:
        return 0 if future else -1
    if not future and _matches(tense.maybe_past, bare):
        return 0

    present = not tense.present.isdisjoint(words) or _matches(tense.present_forms, part)
    ahead = future or present
    if _is_toward(context) and not tense.not_past.isdisjoint(words):
        return 1  # I booked a table for Tuesday
    if not tense.reported.isdisjoint(words):
        before = [token.word for token in context.row[left : context.first]]
        is_near = not tense.reported.isdisjoint(before[-_NEAR - 1 :])
        return (0 if is_near else 1) if ahead else -1
    return 1 if ahead else None


def _is_toward(context: DateContext) -> bool:
    row, first = context.row, context.first
    return row[first].letter == "x" or (first > 0 and row[first - 1].letter == "x")


def _looks_back(part: str, tense: TenseWords) -> bool:
    """Return whether a text has a word or a form of the past."""
    if not tense.past.isdisjoint(tokens(part)):
        return True
    if tense.past_forms is None:
        return False
    return any(
        match.group().casefold() not in tense.not_past
        for match in tense.past_forms.finditer(part[:1].lower() + part[1:])
    )


def _matches(pattern: LazyPattern | None, part: str) -> bool:
    return pattern is not None and pattern.search(part) is not None
