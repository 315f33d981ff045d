"""The schedule of maintenance: by the clock or after turns, also after a suspend.

Dates are local, instants are compared: a clock change neither skips nor doubles a
night, and one run makes up for the nights during which the machine was suspended.

The passes of each cadence are here too. A pass is named by its function; the name is
also the action in the log, the key in the counts of a run, and the argument of
`engram consolidate --pass`.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import TYPE_CHECKING, Literal

from engram.errors import BadRequestError, NotFoundError
from engram.maintenance.passes import (
    bridges,
    entities,
    insight,
    lifecycle,
    merge,
    profiles,
    sessions,
    stories,
    todos,
)
from engram.vault import disk

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from engram.core.policy import ConsolidationPolicy
    from engram.maintenance.passes.view import Pass


Cadence = Literal["talk", "nightly", "weekly"]
CADENCES: tuple[Cadence, ...] = ("talk", "nightly", "weekly")
TIMED: tuple[Cadence, ...] = ("nightly", "weekly")
"""Cadences that are due by the clock."""
PORTIONED_PASSES = frozenset({"archive", "expire"})
"""Passes that archive or remove a bounded number of memories in each run.

Every other pass is held as a whole.
"""
_WEEK = 7


def due(
    last: datetime | None,
    now: datetime,
    cadence: Cadence,
    zone: tzinfo,
    sessions: int,
    policy: ConsolidationPolicy,
) -> str | None:
    """Return why a run is due at `now`, or None.

    talk: `sessions` conversations got 4 turns or ended (rows E9, E10). nightly: 03:00
    has passed since the last run. weekly: Sunday 02:00 has passed. A last run after
    `now` was dated by a wrong clock and does not count.
    """
    if cadence == "talk":
        return f"{sessions} conversations have new turns" if sessions else None
    if last is None or last > now:
        return "it has never run"
    latest = _moment(now, cadence, zone, policy)
    if last >= latest:
        return None
    return f"it was scheduled for {latest.astimezone(zone):%Y-%m-%d %H:%M}"


def following(
    now: datetime, cadence: Cadence, zone: tzinfo, policy: ConsolidationPolicy
) -> datetime | None:
    """Return the next moment, in UTC, at which the clock starts a run.

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

    An hour that a clock change skips is replaced by the next one; of an hour that
    occurs twice the first counts.
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
    """The last run of each cadence, in the file `path`.

    For the writer thread. If the file is lost, one run too many is made.
    """

    def __init__(self, path: Path, zone: tzinfo, policy: ConsolidationPolicy) -> None:
        self.path = path
        self.zone = zone
        self.policy = policy
        self.last: dict[Cadence, datetime] = {}
        self.waiting: dict[str, datetime] = {}
        self.edits_follow: datetime | None = None
        self._load()

    def edited(self, follow: datetime) -> None:
        """Have the pass `redate` run at `follow`: a user edited the time of a memory."""
        self.edits_follow = max(self.edits_follow or follow, follow)

    def due(self, now: datetime, sessions: int = 0) -> list[tuple[Cadence, str]]:
        """Return the cadences that are due, in the order to run them, with reasons.

        `sessions` conversations have turns that no summary covers.
        """
        found: list[tuple[Cadence, str]] = []
        for cadence in CADENCES:
            last = self.last.get(cadence)
            why = due(last, now, cadence, self.zone, sessions, self.policy)
            if why:
                found.append((cadence, why))
        return found

    def ready(
        self, questions: Mapping[str, int], now: datetime, enough: Mapping[str, int]
    ) -> set[str]:
        """Return the tasks whose questions are asked now.

        A task is ready with ten questions, or with `enough`; fewer wait for more, six
        weeks at most. So many small calls become a few (`X24`). Raises StorageError.
        """
        policy, wait = self.policy, dict(self.waiting)
        patience = timedelta(days=policy.patience_days)
        ready: set[str] = set()
        for task, number in questions.items():
            since = wait.setdefault(task, now)
            # a time in the future comes from a wrong clock
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

    def record_redate(self, now: datetime) -> None:
        """Record that memories have the times of all edits up to `now`."""
        if self.edits_follow and self.edits_follow <= now:
            self.edits_follow = None

    def record_run(self, cadence: Cadence, now: datetime) -> None:
        """Record a run of this cadence in the file. Raises StorageError."""
        self.last[cadence] = now
        if cadence == "nightly":
            self.record_redate(now)
        self.save()

    def save(self) -> None:
        """Write the file. Raises StorageError."""
        last = {
            name: when.astimezone(UTC).isoformat() for name, when in self.last.items()
        }
        waiting = {task: when.isoformat() for task, when in self.waiting.items()}
        state = {"last": last, "waiting": waiting}
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
            waiting = {
                task: datetime.fromisoformat(when)
                for task, when in known.get("waiting", {}).items()
            }
        except (NotFoundError, ValueError, TypeError, KeyError, AttributeError):
            return
        if all(when.tzinfo for when in (*last.values(), *waiting.values())):
            self.last, self.waiting = last, waiting


NIGHTLY: tuple[Pass, ...] = (
    lifecycle.promote,
    lifecycle.archive,
    lifecycle.revive,
    lifecycle.tier,
    lifecycle.precision,
    lifecycle.redate,
    lifecycle.end_states,
    lifecycle.ask_fallen,
    merge.merge,
    merge.compare,
    insight.cluster,
    insight.fold,
    insight.principles,
    insight.integrate,
    entities.unite,
    entities.retire,
    entities.subjects,
    entities.describe,
    entities.relate,
    lifecycle.expire,
    entities.cards,
    insight.drift,
    stories.storylines,
    sessions.spine,
    profiles.profile,
    profiles.identity,
    entities.cleanup,
    lifecycle.topics,
    lifecycle.logs,
)
WEEKLY: tuple[Pass, ...] = (
    stories.macros,
    bridges.bridges,
    insight.probe,
    entities.cleanup,
    insight.guidelines,
    lifecycle.edges,
)
TALK: tuple[Pass, ...] = (
    todos.ticked,
    todos.promises,
    sessions.rolling,
    sessions.episodes,
    sessions.summary,
)
"""Passes after turns: they read only the conversations that changed, and promises."""
ASKED: tuple[Pass, ...] = (merge.reflect,)
"""Passes that run only if a caller names them."""
PASSES: Mapping[Cadence, tuple[Pass, ...]] = {
    "talk": TALK,
    "nightly": (*TALK, *NIGHTLY),
    "weekly": WEEKLY,
}
"""The passes of each cadence, in the order in which they run (rows C34, D9)."""


def passes_of(cadence: Cadence, only: str | None) -> tuple[Pass, ...]:
    """Return the passes of a cadence, or the one named `only`.

    Raises BadRequestError for an unknown name.
    """
    if only is None:
        return PASSES[cadence]
    every = (*PASSES.values(), ASKED)
    known = {one.__name__: one for passes in every for one in passes}
    if only not in known:
        names = ", ".join(known)
        raise BadRequestError(f"there is no pass {only!r}", fix=f"Use one of: {names}.")
    return (known[only],)


def cadence_of(name: str) -> Cadence | None:
    """Return the first cadence that has a pass of this name, or None."""
    for cadence in CADENCES:
        if any(one.__name__ == name for one in PASSES[cadence]):
            return cadence
    return None
