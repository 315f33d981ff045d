"""The schedule of maintenance: by the clock or by what happened, also after a sleep.

Dates are local, instants are compared: a clock change neither skips a night nor doubles
it, and one run makes up for nights during which the machine slept.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Literal

from engram.errors import NotFoundError
from engram.vault import disk

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import tzinfo
    from pathlib import Path

    from engram.core.policy import ConsolidationPolicy

Cadence = Literal["talk", "light", "nightly", "weekly"]
CADENCES: tuple[Cadence, ...] = ("talk", "light", "nightly", "weekly")
TIMED: tuple[Cadence, ...] = ("nightly", "weekly")
"""Those that are due by the clock."""
_WEEK = 7


def due(
    last: datetime | None,
    now: datetime,
    cadence: Cadence,
    zone: tzinfo,
    events: int,
    policy: ConsolidationPolicy,
) -> str | None:
    """Return why a run is due at `now`, or None.

    talk: `events` conversations got 4 turns or fell silent (rows E9, E10). light: 3
    batches since the last run, and 10 minutes (`C12`). nightly: 25 new memories, or
    03:00 has passed since the last. weekly: Sunday 02:00 has. A last run after `now`
    was dated by a wrong clock and does not count.
    """
    if cadence == "talk":
        return f"{events} conversations have more to tell" if events else None
    if cadence == "light":
        enough = events >= policy.light_extractions
        if not enough or _is_too_early(last, now, policy):
            return None
        return f"{events} batches since the last"
    if cadence == "nightly" and events >= policy.nightly_facts:
        return f"{events} memories since the last"
    if last is None or last > now:
        return "it has never run"
    latest = _moment(now, cadence, zone, policy)
    if last >= latest:
        return None
    return f"it was to run at {latest.astimezone(zone):%Y-%m-%d %H:%M}"


def _is_too_early(
    last: datetime | None, now: datetime, policy: ConsolidationPolicy
) -> bool:
    """Return whether a light run has to wait after the last one."""
    rest = timedelta(minutes=policy.light_minutes)
    return last is not None and timedelta() <= now - last < rest


def following(
    now: datetime, cadence: Cadence, zone: tzinfo, policy: ConsolidationPolicy
) -> datetime | None:
    """Return the next moment, in UTC, at which a run is due by the clock.

    None for a cadence that the clock does not start.
    """
    if cadence not in TIMED:
        return None
    step = timedelta(days=1 if cadence == "nightly" else _WEEK)
    return _moment(now, cadence, zone, policy, step)


def _moment(
    now: datetime,
    cadence: Cadence,
    zone: tzinfo,
    policy: ConsolidationPolicy,
    ahead: timedelta = timedelta(),
) -> datetime:
    """Return the last moment of a cadence up to `now`, plus `ahead` days, in UTC.

    An hour that a clock change leaves out is replaced by the next one; of an hour that
    comes twice the first counts.
    """
    hour = policy.nightly_hour if cadence == "nightly" else policy.weekly_hour
    day = now.astimezone(zone).date()
    step = timedelta(days=1)
    if cadence == "weekly":
        day -= timedelta(days=(day.weekday() - policy.weekly_day) % _WEEK)
        step = timedelta(days=_WEEK)
    if datetime.combine(day, time(hour), zone).astimezone(UTC) > now:
        day -= step
    return datetime.combine(day + ahead, time(hour), zone).astimezone(UTC)


class Schedule:
    """The last run of each cadence and the events since, in the file `path`.

    Belongs to the one writer; the file may be lost, which costs one run too many.
    """

    def __init__(self, path: Path, zone: tzinfo, policy: ConsolidationPolicy) -> None:
        self.path = path
        self.zone = zone
        self.policy = policy
        self.last: dict[Cadence, datetime] = {}
        self.events: dict[Cadence, int] = dict.fromkeys(CADENCES, 0)
        self.waiting: dict[str, datetime] = {}
        self._load()

    def filed(self, memories: int) -> None:
        """Count a batch with this number of new memories."""
        self.events["light"] += 1
        self.events["nightly"] += memories

    def due(self, now: datetime, sessions: int = 0) -> list[tuple[Cadence, str]]:
        """Return the cadences that are due, in the order to run them, with reasons.

        `sessions` conversations have turns that no summary covers.
        """
        events = {**self.events, "talk": sessions}
        found: list[tuple[Cadence, str]] = []
        for cadence in CADENCES:
            last = self.last.get(cadence)
            why = due(last, now, cadence, self.zone, events[cadence], self.policy)
            if why:
                found.append((cadence, why))
        return found

    def ready(
        self, questions: Mapping[str, int], now: datetime, enough: Mapping[str, int]
    ) -> set[str]:
        """Return the tasks whose questions are to be asked now, of those given.

        Ten questions of a task are, or `enough`; fewer wait for more, two weeks at
        most. So many small calls become few (`X24`). Raises StorageError.
        """
        policy, wait = self.policy, dict(self.waiting)
        patience = timedelta(days=policy.patience_days)
        ready: set[str] = set()
        for task, number in questions.items():
            since = wait.setdefault(task, now)
            # a time to come is of a wrong clock
            is_enough = number >= enough.get(task, policy.patience)
            if is_enough or not timedelta() <= now - since < patience:
                ready.add(task)
                del wait[task]
        if wait != self.waiting:
            self.waiting = wait
            self.save()
        return ready

    def next(self, now: datetime) -> datetime:
        """Return when the clock makes the next run due."""
        times = (following(now, one, self.zone, self.policy) for one in CADENCES)
        return min(when for when in times if when)

    def light_after(self, now: datetime) -> datetime | None:
        """Return when a light run with enough batches may be made, if it is too early
        `now`; None otherwise (`C12`).
        """
        last = self.last.get("light")
        if last is None or self.events["light"] < self.policy.light_extractions:
            return None
        if not _is_too_early(last, now, self.policy):
            return None
        return last + timedelta(minutes=self.policy.light_minutes)

    def record_run(self, cadence: Cadence, now: datetime) -> None:
        """Record a run of this cadence in the file. Raises StorageError."""
        self.last[cadence] = now
        self.events[cadence] = 0
        self.save()

    def save(self) -> None:
        """Write the file. Raises StorageError."""
        last = {
            name: when.astimezone(UTC).isoformat() for name, when in self.last.items()
        }
        waiting = {task: when.isoformat() for task, when in self.waiting.items()}
        state = {"last": last, "events": self.events, "waiting": waiting}
        disk.make_folders(self.path.parent)
        disk.write_derived(self.path, json.dumps(state).encode())

    def _load(self) -> None:
        try:
            known = json.loads(disk.read(self.path))
            last = {
                name: datetime.fromisoformat(known["last"][name])
                for name in CADENCES
                if name in known["last"]
            }
            events = {name: int(known["events"].get(name, 0)) for name in CADENCES}
            waiting = {
                task: datetime.fromisoformat(when)
                for task, when in known.get("waiting", {}).items()
            }
        except (NotFoundError, ValueError, TypeError, KeyError, AttributeError):
            return
        if all(when.tzinfo for when in (*last.values(), *waiting.values())):
            self.last, self.events, self.waiting = last, events, waiting
