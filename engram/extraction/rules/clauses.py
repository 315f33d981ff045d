"""The clauses of a turn, each with its context (rows X2, X14)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engram.core.language.dates import Span, in_words, resolve
from engram.core.language.sentences import clauses
from engram.extraction.rules.table import pattern_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from engram.core.records import Interval, Turn


@dataclass(frozen=True, slots=True)
class ClauseSpeaker:
    """The speaker of a turn, the subject of its statements.

    `to_bot` is true if an assistant listens; `known` are the names of relatives.
    """

    name: str
    to_bot: bool
    share: float
    known: frozenset[str]

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

    `before` is the start of the sentence before its own. `earlier` is the preceding
    turn, with the names in the reply to it, for pronouns. `is_task` is true if the turn
    asks for a text, in which people may be invented, `is_asked` if it answers a
    question for the name.
    """

    turn: Turn
    speaker: ClauseSpeaker
    text: str
    start: int = 0
    end: int = 0
    before: int = 0
    corrects: bool = False
    dates: tuple[Span, ...] = ()
    lead: TimePrefix | None = None
    earlier: str = ""
    is_task: bool = False
    is_asked: bool = False

    @property
    def words(self) -> str:
        """The words of the clause."""
        return self.text[self.start : self.end]

    def when(self) -> Interval | None:
        """Return the only time it names, or None."""
        if self.dates or not self.lead:
            return self.dates[0].interval if len(self.dates) == 1 else None
        return self.lead.interval


_CORRECTS = pattern_of("corrects")
_LEAD = pattern_of("clause_filler")
_FROM = pattern_of("from_date")
_AFTER_DATE = pattern_of("after_date")
"""The particle that belongs to a date before it, in scripts without blanks."""

_DAY = re.compile(r"\b\d{1,2}\b")


_AGE = re.compile(
    r"\b([A-ZÀ-Þ][\w'-]*)( \(\d{1,2}(?: (?:years? old|yrs?|Jahre?(?: alt)?|ans|años|anni|anos|jaar))?\))"
)
"""An age in brackets after a name, as in `Anna (38)`."""


def without_ages(text: str) -> str:
    """Return a text of the same length with blanks for ages in brackets."""
    return _AGE.sub(lambda match: match[1] + " " * len(match[2]), text)


def clauses_of(sentence: Clause) -> Iterator[Clause]:
    """Yield the clauses of a sentence, without fillers and dates before them."""
    dates, lead = sentence.dates, sentence.lead
    corrects = _CORRECTS.match(sentence.text, sentence.start, sentence.end) is not None
    for start, end in clauses(sentence.text, sentence.start, sentence.end):
        own_dates = tuple(
            date for date in dates if start <= date.start and date.end <= end
        )
        clause = _begun(
            replace(
                sentence,
                start=start,
                end=end,
                dates=own_dates,
                lead=lead,
                corrects=corrects,
            )
        )
        is_lead = clause.lead is not None and clause.start >= clause.end
        # a time in brackets belongs to the words before: `Bristol (since 2019)`
        is_aside = sentence.text.startswith(")", end)
        lead = clause.lead if is_lead and not is_aside else None
        if not is_lead:
            yield clause


def _begun(clause: Clause) -> Clause:
    """Return the clause without fillers; a leading date becomes its `lead`."""
    start, lead = clause.start, clause.lead
    for _ in range(6):
        if dated := _dated(clause, start):
            start, lead = dated
            if particle := _AFTER_DATE.match(clause.text, start, clause.end):
                start = particle.end()
            while start < clause.end and clause.text[start] in ", 、，":
                start += 1
        elif match := _LEAD.match(clause.text, start, clause.end):
            start = match.end()
        else:
            break
    dates = tuple(date for date in clause.dates if date.start >= start)
    return replace(clause, start=start, dates=dates, lead=lead)


def _dated(clause: Clause, start: int) -> tuple[int, TimePrefix] | None:
    """Return the end of the time at `start`, and the time, or None.

    `from December` refers to the next December.
    """
    match = _FROM.match(clause.text, start, clause.end)
    place, word = start, ""
    if match:
        place = match.start("month") if match["month"] else match.end()
        word = "since" if match["word"].casefold() == "since" else "from"

    date = next((date for date in clause.dates if date.start in {start, place}), None)
    if date:
        preposition, words = in_words(date.interval)
        return date.end, TimePrefix(date.interval, f"{word or preposition} {words}")
    if not match or not match["month"] or word != "from":
        return None

    interval = _future(match["month"], clause.turn.occurred_at)
    if interval is None:
        return None
    return match.end(), TimePrefix(interval, f"from {in_words(interval)[1]}")


def _future(month: str, said_at: datetime) -> Interval | None:
    """Return the next time that `month` names, such as `December` or `3 May`."""
    preposition = "on" if _DAY.search(month) else "in"
    intervals = resolve(f"It will be {preposition} {month}", said_at)
    return replace(intervals[0], words=month) if len(intervals) == 1 else None
