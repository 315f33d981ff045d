"""What is seen of memories in use: recalled, confirmed, given new evidence (rows A19,
B2, B4, B7, C17, D5, D7).

Recall only leaves word, which costs its thread next to nothing; it is counted when
somebody needs it, and written by the one writer. What was not written yet is lost in a
crash: some minutes of use, never a word of anybody's.
"""

from __future__ import annotations

import threading
from collections import deque
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from engram.core import actions, decay
from engram.core.records import Fact
from engram.core.text import content_hash
from engram.vault.facts import is_derived_id
from engram.vault.usage import ALL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import tzinfo

    from engram.core.policy import Policy
    from engram.core.records import Hit, Usage
    from engram.index.search import Index
    from engram.vault.usage import UsageLog


def uncounted(as_of: datetime | None, *, explain: bool) -> str | None:
    """Why an answer is no use of the memories in it, or None if it is (`A19`).

    A question about the past tells nothing about what matters now, and who has recall
    explained looks at the machine. To `show` a memory, or to ask `why`, is no recall at
    all.
    """
    if as_of:
        return "a question about the past"
    return "an explanation" if explain else None


class UsageTracker:
    """Takes note of use, in any thread; `flush`, `refresh` and `compact` belong to the
    one writer.
    """

    def __init__(self, usage_log: UsageLog, index: Index, policy: Policy) -> None:
        self.usage_log = usage_log
        self.index = index
        self.policy = policy
        self._waiting: deque[tuple[datetime, list[tuple[str, float]]]] = deque(
            maxlen=policy.usage.waiting
        )
        self._lock = threading.Lock()

    def usage_of(self, memory: str) -> Usage:
        """How the memory was used, with all that was recalled until now; `usage_log.usage_of`
        is without what waits.
        """
        self.settle()
        return self.usage_log.usage_of(memory)

    def recalled(self, hits: Sequence[Hit], now: datetime) -> None:
        """These were handed out: each fact among them counts, those that stand behind a
        hit do not (`A19`, `B2`).

        The relevance of a hit is its score over the best one's, 0–1.
        """
        best = max((hit.score for hit in hits), default=0.0)
        if used := [
            (hit.key, _share(hit.score, best)) for hit in hits if hit.kind == "fact"
        ]:
            self._waiting.append((now, used))
        if len(self._waiting) == self._waiting.maxlen:
            self.settle()

    def confirmed(self, memory: str, now: datetime) -> None:
        """The same statement was heard again (`C17`)."""
        with self._lock:
            self.usage_log.record(
                {memory: decay.after_confirmation(self.usage_log.usage_of(memory), now)}
            )

    def attested(self, memory: str, now: datetime, at: datetime | None = None) -> None:
        """There is new evidence for it, reinforced now or edited by a person at `at`
        (`A8`, `X3`).
        """
        when = min(at or now, now)  # a file may come with a date from the future
        with self._lock:
            self.usage_log.record(
                {memory: decay.after_evidence(self.usage_log.usage_of(memory), when)}
            )

    def anchored(self, fact: Fact, now: datetime) -> None:
        """What it is worth is kept before its law changes, as by a pin that comes or
        goes (`D8`).
        """
        with self._lock:
            self.usage_log.record(
                {
                    fact.id: decay.anchor_salience(
                        fact, self.usage_log.usage_of(fact.id), now, self.policy
                    )
                }
            )

    def feedback(self, log: bytes, now: datetime) -> dict[str, float]:
        """What became lately of the memories of each category, as the action log tells,
        −1…1 (`C30`).
        """
        rows = actions.parse_log(log, self.policy.actions.prior_events)
        known = self.index.units(list({str(row.get("memory")) for row in rows}))

        def like(memory: str) -> str | None:
            fact = known.get(memory)
            return fact.category if isinstance(fact, Fact) else None

        return actions.feedback(rows, like, now, self.policy.actions)

    def settle(self) -> None:
        """Count what was recalled so far, in the order in which it was; nothing before
        the log was read.
        """
        if not self._waiting or not self.usage_log.loaded:
            return
        with self._lock:
            answers = [self._waiting.popleft() for _ in range(len(self._waiting))]
            known = self.index.units(
                list({memory for _, hits in answers for memory, _ in hits})
            )
            after: dict[str, Usage] = {}
            for now, hits in answers:
                for memory, relevance in hits:
                    fact = known.get(memory)
                    if isinstance(fact, Fact):
                        usage = after.get(memory) or self.usage_log.usage_of(memory)
                        after[memory] = decay.after_recall(
                            fact, usage, now, relevance, self.policy
                        )
                        # it begins anew, and comes back with the next night (`B3`)
                        if fact.status == "archived":
                            after[memory] = decay.after_evidence(after[memory], now)
            self.usage_log.record(after)

    def flush(self) -> int:
        """Write down what was seen, durably; how many lines. Raises EngramError, after
        which nothing is lost.
        """
        self.settle()
        return self.usage_log.flush()

    def refresh(self, now: datetime, *, restore: bool = True) -> None:
        """Take in what other devices wrote; where no device says when the log began, it
        begins now.

        Raises EngramError.
        """
        self.usage_log.refresh(now, restore=restore)
        if self.usage_log.first_met(ALL) is None:
            self.usage_log.record_met({ALL: now})

    def meet(
        self,
        facts: Iterable[Fact],
        births: Mapping[str, str],
        now: datetime,
        zone: tzinfo,
        *,
        filed: bool = False,
    ) -> None:
        """Write down when engram first met the notes of these memories, where nothing
        says so yet (law 5 of the model).

        `births` are the times of their rows in the action log, by id. A memory that
        engram heard and wrote within `decay.late_days` keeps its own date; one that it
        wrote later, as in an import, was met when it was written; any other is met now.
        A note without an id is known again by its words. What the log tells is not
        written down twice, unless the memories are `filed` just now.
        """
        late, found, told = (
            timedelta(days=self.policy.decay.late_days),
            dict[str, datetime](),
            dict[str, datetime](),
        )
        for fact in facts:
            if fact.status == "review" or self.usage_log.first_met(fact.id) is not None:
                continue
            if born := births.get(fact.id):
                when = _time(born)
                if when and not (fact.created and when - fact.created <= late):
                    # the clock may have been set back since
                    told[fact.id] = min(when, now)
                continue
            words = (
                f"text {content_hash(fact.text)[:16]}"
                if is_derived_id(fact, zone)
                else ""
            )
            found[fact.id] = (words and self.usage_log.first_met(words)) or now
            if words:
                found[words] = found[fact.id]
        self.usage_log.record_met(found)
        self.usage_log.record_met(told, written=not filed)

    def compact(self, now: datetime) -> int:
        """Write our own file anew if it holds mostly superseded lines; the bytes that
        saves. Raises EngramError.
        """
        self.flush()
        return self.usage_log.compact(now)


def _time(text: str) -> datetime | None:
    """The time of a row of the log, None where it is none."""
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def _share(score: float, best: float) -> float:
    return min(1.0, max(0.0, score / best)) if best > 0 else 0.0
