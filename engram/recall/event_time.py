"""Times that a question gives by an event: "before the move" (row X14).

The event is searched for among the memories with a date or a change of state. Memories
from before it, or from it on, then gain as if the question had given the dates.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from engram.core.language.dates import resolve
from engram.core.language.question_forms import event_time
from engram.core.language.state_changes import state_time
from engram.core.language.states import states
from engram.core.ranking import parse_question
from engram.core.records import Fact, FiledTurn, Interval
from engram.recall.visibility import recallable

if TYPE_CHECKING:
    from datetime import tzinfo

    from engram.core.ranking import Question
    from engram.index.database import Unit
    from engram.index.filters import SearchFilter
    from engram.index.search import Index
    from engram.recall.request import RecallRequest

_CANDIDATES = 12
"""Number of memories among which the event is searched for."""
_BEGINNING = datetime(1970, 1, 2, tzinfo=UTC)
_DAY = timedelta(days=1)


def with_event_time(
    index: Index,
    request: RecallRequest,
    where: SearchFilter,
    question: Question,
    zone: tzinfo,
) -> tuple[Question, str]:
    """Return the question with the span that it gives by an event.

    Also returns, in words, which memory gave the date, or that none did; '' for a
    question that names no event.
    """
    named = event_time(question.text)
    if named is None or question.span is not None or request.as_of:
        return question, ""
    now = request.now.astimezone(zone)
    if resolve(named.event, now):
        return question, ""
    event = parse_question(named.event, now)
    found = _event(index, request, where, event)
    if found is None:
        return question, f"“{named.words}” ignored: no memory has a date for it"

    key, day = found
    start, end = (_BEGINNING, day) if named.before else (day, now + _DAY)
    if start >= end:
        return question, f"“{named.words}” ignored: it is in the future"
    span = Interval(start, end, "day", named.words)
    faint = question.faint.union(set(question.words).intersection(event.words))
    explanation = (
        f"“{named.words}”: {day.astimezone(zone).date().isoformat()}, from {key}"
    )
    return replace(question, span=span, faint=faint), explanation


def _event(
    index: Index, request: RecallRequest, where: SearchFilter, event: Question
) -> tuple[str, datetime] | None:
    """Return the best dated memory with all words of the event, and its day, or None."""
    number = len(set(event.words) - event.faint)
    all_words = sum(1 << 2 * place for place in range(min(number, 31)))
    hits = index.lexical.search(event, where, _CANDIDATES).hits
    keys = [hit.key for hit in hits if hit.matched & all_words == all_words]
    units = recallable(index, keys, request, Counter())
    days = ((key, _day(units[key])) for key in keys if key in units)
    return next(((key, day) for key, day in days if day is not None), None)


def _day(unit: Unit) -> datetime | None:
    """Return the day of the event in a unit; None if it contains no dated event."""
    if isinstance(unit, Fact):
        return unit.valid_from or _day_of_words(unit.text, unit.created)
    if isinstance(unit, FiledTurn):
        return _day_of_words(unit.turn.text, unit.turn.occurred_at)
    return None


def _day_of_words(text: str, told_at: datetime | None) -> datetime | None:
    """Return the day of the first change, or the first date, in a text."""
    if told_at is None:
        return None
    for state in states(text):
        if state.change:
            return state_time(state, told_at)
    dates = resolve(text, told_at)
    return dates[0].start if dates else None
