"""How many review questions a person is asked, and in which words (row X9)."""

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
    shown: Mapping[str, datetime],
    now: datetime,
    policy: ReviewPolicy,
) -> list[str]:
    """Return which of the waiting questions a person is shown, in their order.

    Those that were shown before stay; new ones are at most `questions` in `days` days,
    whether the earlier ones were answered or not. `shown` has the time of each
    question's first showing, of answered ones too.
    """
    since = now - timedelta(days=policy.days)
    left = policy.questions - sum(since < at <= now for at in shown.values())
    chosen: list[str] = []
    for one in waiting:
        if one in shown:
            chosen.append(one)
        elif left > 0:
            chosen.append(one)
            left -= 1
    return chosen


def by_subject(cases: Sequence[tuple[str, str]]) -> list[str]:
    """Return the ids of the pairs (id, subject), with those of one subject together.

    Subjects come in the order of their first question.

    >>> by_subject([("a", "Mia"), ("b", ""), ("c", "Mia")])
    ['a', 'c', 'b']
    """
    subjects = list(dict.fromkeys(subject for _, subject in cases))
    ranked = sorted(cases, key=lambda case: subjects.index(case[1]))
    return [one for one, _ in ranked]


def question_text(memories: Sequence[Fact], zone: tzinfo) -> str:
    """Return a doubt or a conflict as one question in plain words, or ''.

    '' where a chatbot must not ask: a statement reads like an instruction. The newer
    memory of a conflict comes first.
    """
    if not memories or any(instruction(fact.text) for fact in memories):
        return ""
    shown = [_quoted(fact, zone) for fact in memories]
    if len(memories) == 1:
        return f"Is this right: {shown[0]}?"
    return f"Which is true now: {shown[0]} (newer), or {shown[1]} (older), or both?"


def _quoted(fact: Fact, zone: tzinfo) -> str:
    text = " ".join(fact.text.split()).rstrip(".")
    if fact.created is None:
        return f"“{text}”"
    day = fact.created.astimezone(zone)
    return f"“{text}”, told on {day.day} {day:%B %Y}"
