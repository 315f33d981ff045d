"""The clauses of a turn, each with its context (rows X2, X14)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engram.core.language.dates import Span, in_words
from engram.core.language.sentences import clauses, sentences
from engram.extraction.rules.table import pattern_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.core.records import Interval, Turn


@dataclass(frozen=True, slots=True)
class ClauseSpeaker:
    """The speaker of a turn, the subject of its statements, '' without a name.

    `to_bot` is true if an assistant listens; `known` are the names of relatives.
    `speaks_of_self` is true if the conversation is about the speaker.
    """

    name: str
    to_bot: bool
    share: float
    known: frozenset[str] = frozenset()
    speaks_of_self: bool = False

    @property
    def possessive(self) -> str:
        """The possessive of the speaker, within a sentence."""
        name = self.name or "the user"
        return f"{name}'" if name.endswith("s") else f"{name}'s"


@dataclass(frozen=True, slots=True)
class TimePrefix:
    """A time named before a clause, with its preposition (`in May 2026`)."""

    interval: Interval
    words: str


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause: `text[start:end]` of the masked turn, with its context.

    `sentence` is the start of its sentence, `before` that of the sentence before.
    `is_task` is true if the turn asks for a text, in which people may be invented,
    `is_asked` if it answers a question for the name.
    """

    turn: Turn
    speaker: ClauseSpeaker
    text: str
    start: int = 0
    end: int = 0
    sentence: int = 0
    before: int = 0
    corrects: bool = False
    dates: tuple[Span, ...] = ()
    lead: TimePrefix | None = None
    is_task: bool = False
    is_asked: bool = False

    @property
    def words(self) -> str:
        """The words of the clause."""
        return self.text[self.start : self.end]

    @property
    def opens(self) -> bool:
        """Whether only fillers precede it in its sentence."""
        first = next(clauses(self.text, self.sentence, self.end), None)
        return first is not None and self.start < first[1]

    @property
    def is_ahead(self) -> bool:
        """Whether the only time it names lies ahead."""
        when = self.when()
        return when is not None and when.end > self.turn.occurred_at

    def when(self) -> Interval | None:
        """Return the only time it names, or None."""
        if self.dates or not self.lead:
            return self.dates[0].interval if len(self.dates) == 1 else None
        return self.lead.interval

    def cut(self, start: int, end: int, lead: TimePrefix | None = None) -> Clause:
        """Return the part from `start` to `end`, with the dates in it, after `lead`."""
        dates = tuple(
            date for date in self.dates if start <= date.start and date.end <= end
        )
        return replace(self, start=start, end=end, dates=dates, lead=lead)


_CORRECTS = pattern_of("corrects")
_LEAD = pattern_of("clause_filler")
_FROM = pattern_of("from_date")
_AGE = re.compile(
    r"\b([A-ZÀ-Þ][\w'-]*)( \(\d{1,2}(?: (?:years? old|yrs?|Jahre?(?: alt)?))?\))"
)
"""An age in brackets after a name, as in `Anna (38)`."""


def without_ages(text: str) -> str:
    """Return a text of the same length with blanks for ages in brackets."""
    return _AGE.sub(lambda match: match[1] + " " * len(match[2]), text)


def clauses_of(whole: Clause, start: int, end: int, before: int) -> Iterator[Clause]:
    """Yield the clauses of a sentence, without fillers and dates before them.

    A date that is all of a clause is the time of the next: `Last week, I moved`.
    """
    corrects = _CORRECTS.match(whole.text, start, end) is not None
    sentence = replace(whole, sentence=start, before=before, corrects=corrects)
    lead: TimePrefix | None = None
    for first, last in clauses(whole.text, start, end):
        clause = _begun(sentence.cut(first, last, lead))
        is_lead = clause.lead is not None and clause.start >= clause.end
        # a time in brackets belongs to the words before: `Bristol (since 2019)`
        is_aside = whole.text.startswith(")", last)
        lead = clause.lead if is_lead and not is_aside else None
        if not is_lead:
            yield clause


def sentences_of(whole: Clause) -> Iterator[tuple[int, int, int]]:
    """Yield the start and the end of each sentence, and the start of the one before."""
    before = 0
    for start, end in sentences(whole.text):
        yield start, end, before
        before = start


def _begun(clause: Clause) -> Clause:
    """Return the clause without fillers; a leading date becomes its `lead`."""
    start, lead = clause.start, clause.lead
    for _ in range(6):
        prefix = _FROM.match(clause.text, start, clause.end)
        places = {start, prefix.end() if prefix else start}
        date = next((date for date in clause.dates if date.start in places), None)
        if date:
            preposition, words = in_words(date.interval)
            word = prefix["word"].casefold() if prefix else preposition
            lead = TimePrefix(date.interval, f"{word} {words}")
            start = date.end
            while start < clause.end and clause.text[start] in ", ":
                start += 1
        elif filler := _LEAD.match(clause.text, start, clause.end):
            start = filler.end()
        else:
            break
    if (start, lead) == (clause.start, clause.lead):
        return clause
    return clause.cut(start, clause.end, lead)
