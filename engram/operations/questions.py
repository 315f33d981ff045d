"""The questions for the user: a few new ones a week, one a day by a chatbot.

(Row X9.) The notes in `review/` contain every question, and an unanswered one changes
nothing. `questions.json` in the state folder records when each was first shown; if it
is lost, the week begins anew.
"""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from datetime import datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Annotated, Any

from engram.core.language.injection import instruction
from engram.errors import EngramError
from engram.operations.signature import operation
from engram.vault import disk, reviews

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from engram.core.policy import ReviewPolicy
    from engram.core.records import Fact
    from engram.operations.cases import CaseReader, ReviewCase


STATE = "questions.json"
HANDED = "handed"
_ASKED_AT_ONCE = (reviews.FORGET, reviews.FORGET[1:], reviews.HOLD, ())
"""Answers of cases outside the budget.

These are requests of the user, held runs, and files to be edited.
"""


class Questions:
    """The operation `review`, and the question in a context. For any thread."""

    def __init__(self, cases: CaseReader, clock: Callable[[], datetime]) -> None:
        self.cases = cases
        self.clock = clock
        self.settings = cases.settings
        self._lock = threading.Lock()

    @operation("Review", "GET /v1/review", name="review", own_command=True)
    def listed(
        self,
        *,
        all: Annotated[bool, "list every case, not only three new ones a week"] = False,
        id: Annotated[
            str | None,
            "id, unambiguous prefix of the id, or path of the only case to list",
        ] = None,
    ) -> dict[str, Any]:
        """List the cases that wait for a decision. Shows doubtful memories and
        conflicts by subject, each with its evidence and the possible answers; at most
        three new ones a week, the rest waits.

        With `all` every case, with `id` that one. `waiting` counts the cases not
        listed.
        """
        if id:
            return self.cases.listed(id)
        open_cases = self.cases.open_cases()
        order = by_subject([(one.id, one.subject) for one in open_cases])
        if not all:
            with self._lock:
                order = self._admit(open_cases, order)
        by_id = {one.id: one for one in open_cases}
        chosen = [by_id[one] for one in order]
        waiting = len(open_cases) - len(chosen)
        return {**self.cases.as_json(chosen), "waiting": waiting}

    def hand_out(self, persona: str | None, fits: Callable[[str], bool]) -> str:
        """Return one question for a chatbot as a line, or '' (`E18`).

        At most one a day, about memories that the persona may know.
        """
        with self._lock:
            today = f"{self.clock().astimezone(self.settings.zone):%Y-%m-%d}"
            if self._read().get(HANDED) == today:
                return ""
            open_cases = [one for one in self.cases.open_cases() if one.memories]
            order = by_subject([(one.id, one.subject) for one in open_cases])
            by_id = {one.id: one for one in open_cases}
            for case in (by_id[one] for one in order):
                line = self._line(case, persona)
                if line and fits(line) and self._admit(open_cases, [case.id]):
                    self._write(self._read() | {HANDED: today})
                    return line
        return ""

    def _line(self, case: ReviewCase, persona: str | None) -> str:
        private = any(fact.persona not in {None, persona} for fact in case.memories)
        answers = reviews.CONFLICT if len(case.memories) > 1 else reviews.DOUBT
        if private or case.problem or case.choices != answers:
            return ""
        text = question_text(case.memories, self.settings.zone)
        choices = ", ".join(case.choices)
        return f"- {text} (question {case.id}; answers: {choices})" if text else ""

    def _admit(self, cases: Sequence[ReviewCase], order: Sequence[str]) -> list[str]:
        """Return the ids that may be shown, and record the new ones."""
        now, policy = self.clock(), self.settings.policy.review
        state = self._read()
        first_shown = {
            name: datetime.fromisoformat(at)
            for name, at in state.items()
            if name != HANDED
        }
        free = {one.id for one in cases if one.choices in _ASKED_AT_ONCE}
        limited = [one for one in order if one not in free]
        shown = free | set(admitted(limited, first_shown, now, policy))
        new = shown - free - first_shown.keys()
        if new:
            since = now - timedelta(days=policy.days)
            listed = {one.id for one in cases} | {HANDED}
            old = {
                name: at
                for name, at in state.items()
                if name in listed or first_shown[name] > since
            }
            self._write(old | dict.fromkeys(sorted(new), now.isoformat()))
        return [one for one in order if one in shown]

    def _read(self) -> dict[str, str]:
        try:
            found = json.loads(disk.read(self.settings.state / STATE))
            for name, at in found.items():
                datetime.fromisoformat(at)
                str(name)
        except (EngramError, ValueError, TypeError, AttributeError):
            return {}
        return {str(name): str(at) for name, at in found.items()}

    def _write(self, state: dict[str, str]) -> None:
        """Write the state; if that fails, a question may be shown or asked again."""
        content = json.dumps(state, indent=1, sort_keys=True).encode() + b"\n"
        with suppress(EngramError):
            disk.write_derived(self.settings.state / STATE, content)


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
