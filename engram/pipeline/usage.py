"""Counts of the uses of memories (rows A19, B2, B4, B7, C17, D5, D7).

A use is a recall, a confirmation or new evidence. Recall only appends to a queue, so an
answer does not wait. The queue is counted before the next read of a usage, and the
writer thread writes the counts. A crash loses the counts of some minutes and no text.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from engram.core import actions, decay
from engram.core.records import Fact, SearchHit, Usage
from engram.core.text import content_hash
from engram.vault.facts import is_derived_id
from engram.vault.usage import ALL, UsageLog

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from engram.core.policy import Policy
    from engram.index.search import Index


def not_counted_reason(as_of: datetime | None, *, explain: bool) -> str | None:
    """Return why the memories in an answer do not count as used, or None (`A19`).

    A question about the past does not show what matters now, and an explained recall is
    a test of the search. The operations `show` and `why` do not recall.
    """
    if as_of:
        return "a question about the past"
    return "an explanation" if explain else None


_OTHERS = frozenset(("assistant", "tool", "import"))
"""Source classes of words that a use ranks higher but does not keep alive (law 4)."""


class _Use(NamedTuple):
    """A memory in an answer; `ranks_only` is true if others than the user stated it."""

    memory: str
    relevance: float
    ranks_only: bool


class UsageTracker:
    """Records the use of memories. May be called from any thread.

    `flush`, `refresh` and `compact` are for the writer thread.
    """

    def __init__(self, usage_log: UsageLog, index: Index, policy: Policy) -> None:
        self.usage_log = usage_log
        self.index = index
        self.policy = policy
        self._waiting: deque[tuple[datetime, list[_Use]]] = deque(
            maxlen=policy.usage.waiting
        )
        self._returned: dict[tuple[str, str], datetime] = {}  # oldest first
        self._lock = threading.Lock()

    def usage_of(self, memory: str) -> Usage:
        """Return the usage of a memory, including every recall until now.

        `usage_log.usage_of` does not include the recalls in the queue.
        """
        self.count_waiting()
        return self.usage_log.usage_of(memory)

    def record_recall(
        self, hits: Sequence[SearchHit], now: datetime, session: str = ""
    ) -> None:
        """Record that the facts among `hits` were returned (`A19`, `B2`, law 4).

        The relevance of a hit is its score divided by the best score, 0–1. The first
        five facts of an answer count, except those of low relevance, and each counts
        once in a `session`. A call without a session counts as a new
        one. Statements of others than the user are ranked higher by a use, but not kept
        alive.
        """
        policy = self.policy.usage
        best = max((hit.score for hit in hits), default=0.0)
        facts = (
            _Use(hit.key, _share(hit.score, best), hit.said_by in _OTHERS)
            for hit in hits
            if hit.kind == "fact"
        )
        relevant = (one for one in facts if one.relevance >= policy.least_relevance)
        used = [
            one
            for one in islice(relevant, policy.hits)
            if self._is_new_in(session, one.memory, now)
        ]
        if used:
            self._waiting.append((now, used))
        if len(self._waiting) == self._waiting.maxlen:
            self.count_waiting()

    def _is_new_in(self, session: str, memory: str, now: datetime) -> bool:
        """Mark a memory as returned to a session; return whether it was not before."""
        if not session:
            return True
        gap = timedelta(minutes=self.policy.buffer.session_gap_minutes)
        with self._lock:
            last = self._returned.pop((session, memory), None)
            self._returned[session, memory] = now
            while len(self._returned) > self.policy.usage.waiting:
                self._returned.pop(next(iter(self._returned)))
        return last is None or now - last > gap

    def record_confirmation(self, memory: str, now: datetime) -> None:
        """Record that the statement of a memory was made again (`C17`)."""
        with self._lock:
            usage = decay.after_confirmation(self.usage_log.usage_of(memory), now)
            self.usage_log.record({memory: usage})

    def record_evidence(
        self, memory: str, now: datetime, at: datetime | None = None
    ) -> None:
        """Record new evidence for a memory (`A8`, `X3`).

        `at` is the time of a user's edit; it defaults to `now`.
        """
        when = min(at or now, now)  # a file may have a date in the future
        with self._lock:
            usage = decay.after_evidence(self.usage_log.usage_of(memory), when)
            self.usage_log.record({memory: usage})

    def anchor_salience(self, fact: Fact, now: datetime) -> None:
        """Store the salience of a fact before its half-life changes, as by a pin (`D8`)."""
        with self._lock:
            before = self.usage_log.usage_of(fact.id)
            usage = decay.anchor_salience(fact, before, now, self.policy)
            self.usage_log.record({fact.id: usage})

    def feedback(self, log: bytes, now: datetime) -> dict[str, float]:
        """Return how recent actions rate the memories of each category (`C30`).

        `log` is the content of the action log; the values are −1…1, by category.
        """
        rows = actions.parse_log(log, self.policy.actions.prior_events)
        units = self.index.units(list({str(row.get("memory")) for row in rows}))

        def category(memory: str) -> str | None:
            fact = units.get(memory)
            return fact.category if isinstance(fact, Fact) else None

        return actions.feedback(rows, category, now, self.policy.actions)

    def count_waiting(self) -> None:
        """Count the queued recalls in order, once the usage log has been read."""
        if not self._waiting or not self.usage_log.loaded:
            return
        with self._lock:
            answers = [self._waiting.popleft() for _ in range(len(self._waiting))]
            recalled = {use.memory for _, uses in answers for use in uses}
            units = self.index.units(list(recalled))
            counted: dict[str, Usage] = {}
            for now, uses in answers:
                for use in uses:
                    fact = units.get(use.memory)
                    if isinstance(fact, Fact):
                        before = counted.get(use.memory) or self.usage_log.usage_of(
                            use.memory
                        )
                        counted[use.memory] = self._after_use(fact, before, now, use)
            self.usage_log.record(counted)

    def _after_use(self, fact: Fact, usage: Usage, now: datetime, use: _Use) -> Usage:
        after = decay.after_recall(fact, usage, now, use.relevance, self.policy)
        if use.ranks_only:
            return replace(usage, stability=after.stability)
        if fact.status == "archived":
            # Its decay starts again. The next nightly run makes it active (`B3`).
            return decay.after_evidence(after, now)
        return after

    def flush(self) -> int:
        """Write the counts durably; return the number of lines.

        Raises EngramError; the counts are then written by the next call.
        """
        self.count_waiting()
        return self.usage_log.flush()

    def refresh(self, now: datetime, *, restore: bool = True) -> None:
        """Read the counts that other devices wrote. Raises EngramError.

        If no device recorded the start of the usage log, it starts now.
        """
        self.usage_log.refresh(now, restore=restore)
        if self.usage_log.first_met(ALL) is None:
            self.usage_log.record_met({ALL: now})

    def record_first_met(
        self,
        facts: Iterable[Fact],
        creation_times: Mapping[str, str],
        now: datetime,
        zone: tzinfo,
        *,
        filed: bool = False,
    ) -> None:
        """Record when the notes of facts were first read or created (law 5).

        `creation_times` are the times in the action log, by id. A fact that was created
        within `decay.late_filing_days` of its own date keeps that date. One created
        later, as in an import, was met at its creation; a note that is not in the log
        is met now. A note without an id is identified by its text. Times that the log
        contains are written to the usage log only for facts that were `filed` just now.
        """
        late = timedelta(days=self.policy.decay.late_filing_days)
        met_now: dict[str, datetime] = {}
        met_at_creation: dict[str, datetime] = {}
        for fact in facts:
            if fact.status == "review" or self.usage_log.first_met(fact.id) is not None:
                continue

            if logged := creation_times.get(fact.id):
                when = _time(logged)
                if when and not (fact.created and when - fact.created <= late):
                    # The clock may have been set back since then.
                    met_at_creation[fact.id] = min(when, now)
            elif is_derived_id(fact, zone):
                text_key = f"text {content_hash(fact.text)[:16]}"
                met_now[fact.id] = self.usage_log.first_met(text_key) or now
                met_now[text_key] = met_now[fact.id]
            else:
                met_now[fact.id] = now
        self.usage_log.record_met(met_now)
        self.usage_log.record_met(met_at_creation, written=not filed)

    def compact(self, now: datetime) -> int:
        """Rewrite the file of this device if most of its lines are superseded.

        Returns the number of bytes saved. Raises EngramError.
        """
        self.flush()
        return self.usage_log.compact(now)


def _time(text: str) -> datetime | None:
    """Return the time in a row of the log, or None if it is not a time."""
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def _share(score: float, best: float) -> float:
    return min(1.0, max(0.0, score / best)) if best > 0 else 0.0
