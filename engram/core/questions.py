"""The number and the wording of the review questions for a person (row X9)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from engram.core.language.injection import instruction

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime, tzinfo

    from engram.core.policy import ReviewPolicy
    from engram.core.records import Fact


def admitted(
    waiting: Iterable[str],
    first_shown: Mapping[str, datetime],
    now: datetime,
    policy: ReviewPolicy,
) -> list[str]:
    """Return the waiting questions to show to a person, in their order.

    Questions shown before stay; new ones are limited to `questions` in `days` days,
    whether the earlier ones were answered or not. `first_shown` maps each question,
    also an answered one, to the time at which it was first shown.
    """
    since = now - timedelta(days=policy.days)
    left = policy.questions - sum(since < at <= now for at in first_shown.values())
    chosen: list[str] = []
    for question in waiting:
        if question in first_shown:
            chosen.append(question)
        elif left > 0:
            chosen.append(question)
            left -= 1
    return chosen


def by_subject(cases: Sequence[tuple[str, str]]) -> list[str]:
    """Return the ids of the pairs (id, subject), grouped by subject.

    Subjects are in the order of their first question.

    >>> by_subject([("a", "Mia"), ("b", ""), ("c", "Mia")])
    ['a', 'c', 'b']
    """
    subjects = list(dict.fromkeys(subject for _, subject in cases))
    ranked = sorted(cases, key=lambda case: subjects.index(case[1]))
    return [one for one, _ in ranked]


def question_text(memories: Sequence[Fact], zone: tzinfo) -> str:
    """Return a doubt or a conflict as one question in plain words, or ''.

    '' means that a chatbot must not ask, because a statement reads like an instruction.
    The newer memory of a conflict is first.
    """
    if not memories or any(instruction(fact.text) for fact in memories):
        return ""
    quotes = [_quoted(fact, zone) for fact in memories]
    if len(memories) == 1:
        return f"Is this right: {quotes[0]}?"
    return f"Which is true now: {quotes[0]} (newer), or {quotes[1]} (older), or both?"


def _quoted(fact: Fact, zone: tzinfo) -> str:
    text = " ".join(fact.text.split()).rstrip(".")
    if fact.created is None:
        return f"“{text}”"
    day = fact.created.astimezone(zone)
    return f"“{text}”, told on {day.day} {day:%B %Y}"
