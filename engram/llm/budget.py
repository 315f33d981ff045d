"""The daily budget of model calls and tokens (row X24)."""

from __future__ import annotations

import json
import threading
from dataclasses import asdict, astuple, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from engram.errors import BudgetSpentError, NotFoundError
from engram.vault import disk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from pathlib import Path

    from engram.core.policy import ModelPolicy


@dataclass(frozen=True, slots=True)
class TaskSpend:
    """Calls and tokens of one task; `cached` are a part of `tokens_in`."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cached: int = 0

    def __add__(self, other: TaskSpend) -> TaskSpend:
        """Return the sum of both."""
        return TaskSpend(*map(sum, zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True, slots=True)
class DailySpend:
    """Calls, tokens and failures of one day; `date` is its ISO date on the clock.

    `tasks` are the answered calls by task.
    """

    date: str = ""
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    failures: int = 0
    tasks: Mapping[str, TaskSpend] = field(default_factory=dict)

    @property
    def tokens(self) -> int:
        """The number of tokens in both directions."""
        return self.tokens_in + self.tokens_out


class Budget:
    """The spend of today. Thread-safe.

    `load` returns the mapping last passed to `save`, or an empty one; invalid values
    count as zero. `save` is called after every change, with the lock held.
    """

    def __init__(
        self,
        load: Callable[[], Mapping[str, Any]] | None = None,
        save: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        self._save = save
        self._day = _day_from(load() if load else {})
        self._lock = threading.Lock()

    def today(self, now: datetime) -> DailySpend:
        """Return the spend on the date of `now`."""
        with self._lock:
            return self._at(now)

    def take(self, now: datetime, policy: ModelPolicy, tokens: int) -> None:
        """Reserve one call and the `tokens` of its prompt.

        Raises BudgetSpentError, and reserves nothing, if that would exceed the limits.
        """
        with self._lock:
            day = self._at(now)
            if day.calls + 1 > policy.calls_per_day:
                raise _spent(
                    f"{day.calls} of {policy.calls_per_day} model calls",
                    "model.calls_per_day",
                )
            if day.tokens + tokens > policy.tokens_per_day:
                raise _spent(
                    f"{day.tokens} of {policy.tokens_per_day} model tokens",
                    "model.tokens_per_day",
                )
            self._put(
                replace(day, calls=day.calls + 1, tokens_in=day.tokens_in + tokens)
            )

    def settle(
        self, now: datetime, reserved: int, used: TaskSpend, task: str = ""
    ) -> None:
        """Replace the reserved tokens by the used ones, for `task`."""
        with self._lock:
            day, tasks = self._at(now), {}
            if task:
                tasks = {task: day.tasks.get(task, TaskSpend()) + used}
            self._put(
                replace(
                    day,
                    tokens_in=max(0, day.tokens_in - reserved) + used.tokens_in,
                    tokens_out=day.tokens_out + used.tokens_out,
                    tasks={**day.tasks, **tasks},
                )
            )

    def fail(self, now: datetime) -> None:
        """Count a failed call."""
        with self._lock:
            day = self._at(now)
            self._put(replace(day, failures=day.failures + 1))

    def _at(self, now: datetime) -> DailySpend:
        date = now.date().isoformat()
        return self._day if self._day.date == date else DailySpend(date)

    def _put(self, day: DailySpend) -> None:
        self._day = day
        if self._save:
            self._save(asdict(day))


def ledger(path: Path) -> Budget:
    """Return the budget with its spend in the file `path`."""

    def load() -> dict[str, Any]:
        try:
            saved: dict[str, Any] = json.loads(disk.read(path))
        except (NotFoundError, ValueError):
            return {}
        return saved if isinstance(saved, dict) else {}

    return Budget(load, lambda day: disk.write_derived(path, json.dumps(day).encode()))


def _spent(what: str, key: str) -> BudgetSpentError:
    return BudgetSpentError(
        f"Today's budget is spent: {what}",
        fix=f"The batch waits until tomorrow; raise {key} to go on.",
    )


def _day_from(saved: Mapping[str, Any]) -> DailySpend:
    rest = dict(saved)
    date, tasks = rest.pop("date", None), rest.pop("tasks", {})
    names = {one.name for one in fields(DailySpend)} - {"date", "tasks"}
    if not isinstance(date, str) or rest.keys() != names or not _are_counts(rest):
        return DailySpend()
    if not isinstance(tasks, dict):
        tasks = {}
    known = {one.name for one in fields(TaskSpend)}
    by_task = {
        str(name): TaskSpend(**row)
        for name, row in tasks.items()
        if isinstance(row, dict) and row.keys() == known and _are_counts(row)
    }
    return DailySpend(date, **rest, tasks=by_task)


def _are_counts(row: Mapping[str, Any]) -> bool:
    return all(type(count) is int and count >= 0 for count in row.values())
