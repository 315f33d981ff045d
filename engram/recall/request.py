"""A question and its limits, as used by all steps of a recall (rows X1, X5, X24)."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from engram.core.entities import EntityNames
from engram.core.records import ALL_PERSONAS, Edge, Fact, Usage
from engram.errors import BadRequestError
from engram.index.filters import SearchFilter

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from engram.config import Settings
    from engram.core import ranking
    from engram.index.database import Unit
    from engram.index.search import Index

KINDS = ("fact", "turn", "note")


REMEMBERED_STATUSES = ("active", "archived", "superseded", "invalidated")


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """A question and its limits.

    `running` are the stems of the session files in which the question is asked:
    statements of that session are known to the caller and not returned. `quotas` are
    the numbers of facts and of episodes (turns and notes on conversations) that come
    first; others follow if places are left (`A29`).
    """

    query: str
    k: int
    budget: int
    running: Collection[str] = ()
    persona: str | None = None
    kinds: Sequence[str] = KINDS
    preset: str = "balanced"
    now: datetime = field(kw_only=True)
    as_of: datetime | None = field(default=None, kw_only=True)
    archive: bool = field(default=False, kw_only=True)
    without_stale: bool = field(default=False, kw_only=True)
    quotas: Mapping[str, int] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class RecallSources:
    """Sources of a search besides notes and turns.

    `names` has the entities and their aliases. `edges` returns the edges of some keys
    (`C34`), `usage` the usage of a memory, `seconds_left` the seconds left for the
    answer (`X24`), and `kept` the reason why a user protects a memory, or None.
    """

    names: EntityNames = field(default_factory=EntityNames)
    edges: Callable[[Collection[str]], Iterable[Edge]] = field(default=lambda _ends: ())
    usage: Callable[[str], Usage] = field(default=lambda _name: Usage())
    seconds_left: Callable[[], float] = field(default=lambda: math.inf)
    kept: Callable[[Fact], str | None] = field(default=lambda _fact: None)


def request_for(
    settings: Settings, now: datetime, query: str, **limits: Any
) -> RecallRequest:
    """Return the request with the defaults of the policy filled in.

    `limits` are further fields of `RecallRequest`; None means the default. Raises
    BadRequestError for an invalid request.
    """
    policy = settings.policy.recall
    if not query.strip():
        raise BadRequestError("the query is empty", fix="Give the words to search for.")
    defaults: dict[str, Any] = {"k": policy.k, "budget": policy.budget, "kinds": KINDS}
    chosen = {name: value for name, value in limits.items() if value is not None}
    question = question_of(settings, query)
    return RecallRequest(question, now=now, **(defaults | chosen))


def question_of(settings: Settings, text: str) -> str:
    """Return the text to search for: beginning and end of a text that is too long.

    A question is usually before or after a pasted text.
    """
    most = settings.policy.recall.question_characters
    if len(text) <= most:
        return text
    return f"{text[: most // 2]}\n{text[-most // 2 :]}"


def time_limit(settings: Settings, milliseconds: int | None) -> float:
    """Return the time limit of an answer in seconds (`X24`)."""
    return (milliseconds or settings.policy.recall.milliseconds) / 1000


def search_filter(request: RecallRequest) -> SearchFilter:
    """Return the kinds, statuses, persona and day by which the index filters."""
    statuses: tuple[str, ...] = ("active",)
    if request.as_of:
        statuses = REMEMBERED_STATUSES
    elif request.archive:
        statuses = ("active", "archived")

    as_of = request.as_of.timestamp() if request.as_of else None
    persona = None if request.persona == ALL_PERSONAS else request.persona or ""
    return SearchFilter(request.kinds, statuses, persona, as_of)


class TimeLimit:
    """The time limit of an answer, and the steps that it caused to be skipped (`X24`).

    `steps` has the milliseconds that each completed step took (`X4`).
    """

    def __init__(self, seconds_left: Callable[[], float]) -> None:
        self._seconds_left = seconds_left
        self._skipped: list[str] = []
        self._last = time.perf_counter()
        self.steps: dict[str, float] = {}

    def end(self, step: str) -> None:
        """Record that a step has ended."""
        now = time.perf_counter()
        self.steps[step] = self.steps.get(step, 0.0) + 1000 * (now - self._last)
        self._last = now

    def out_of_time_for(self, step: str) -> bool:
        """Return whether time is up; if so, record that `step` is skipped."""
        late = self._seconds_left() <= 0
        if late and step not in self._skipped:
            self._skipped.append(step)
        return late

    def note(self) -> str:
        """Return a sentence that names the skipped steps, or ''."""
        if not self._skipped:
            return ""
        return f"time was up; skipped: {', '.join(self._skipped)}"


@dataclass(frozen=True, slots=True)
class RecallSearch:
    """The parts that the steps of one search use."""

    index: Index
    settings: Settings
    request: RecallRequest
    question: ranking.Question
    sources: RecallSources
    embed: Callable[[str], Callable[[], bytes]] | None
    limit: TimeLimit


@dataclass(frozen=True, slots=True)
class RankedCandidates:
    """The result of one search: units by key, and slots, best first.

    `filtered` counts the units that were left out, by reason. `unused_reason` is the
    reason why vectors were not used, or ''; `by_meaning` is true if they were. A turn or a note may be missing from
    `units`: its record is read only if it is returned. `related` are the keys of units
    reached from the best facts by relations. `merged` counts, by turn, the units
    without a slot of their own: a turn represented by one of its facts, or a further
    fact of the same turn. `absence` says since when the value that the question asks
    for has no successor, or is ''.
    """

    request: RecallRequest
    units: dict[str, Unit]
    slots: Sequence[ranking.RankedSlot]
    filtered: Counter[str]
    unused_reason: str
    by_meaning: bool
    merged: Counter[str]
    related: Collection[str] = ()
    absence: str = ""
