"""When the vault is put in order: by the clock or by what happened, also after a sleep
(design of the model §5).

Dates are local, instants are compared: a clock change neither skips a night nor doubles
it, and nights that were slept through are made up for by one run.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Literal

from engram.errors import NotFoundError
from engram.vault import disk

if TYPE_CHECKING:
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
    """Why a run is due at `now`, or None; `events` are batches filed (light) or new
    memories since the last one.

    Talk: a conversation got 4 turns or fell silent, `events` of them (rows E9, E10).
    Light: 3 batches, and 10 minutes since the last (`C12`). Nightly: 25 memories, or
    03:00 has passed since the last. Weekly: Sunday 02:00 has. A last run from after
    `now` was dated by a wrong clock and does not count.
    """
    if cadence == "talk":
        return f"{events} conversations have more to tell" if events else None
    enough = {"light": policy.light_extractions, "nightly": policy.nightly_facts}.get(
        cadence
    )
    early = (
        cadence == "light"
        and last
        and timedelta() <= now - last < timedelta(minutes=policy.light_minutes)
    )
    if enough is not None and events >= enough and not early:
        return (
            f"{events} {'batches' if cadence == 'light' else 'memories'} since the last"
        )
    if cadence == "light":
        return None
    turn = _turn(now, cadence, zone, policy)
    if last is None or last > now:
        return "it has never run"
    return (
        f"it was to run at {turn.astimezone(zone):%Y-%m-%d %H:%M}"
        if last < turn
        else None
    )


def following(
    now: datetime, cadence: Cadence, zone: tzinfo, policy: ConsolidationPolicy
) -> datetime | None:
    """The next moment after `now` at which a run is due by the clock, in UTC; None for
    others.
    """
    if cadence not in TIMED:
        return None
    step = timedelta(days=1 if cadence == "nightly" else _WEEK)
    return _turn(now, cadence, zone, policy, step)


def _turn(
    now: datetime,
    cadence: Cadence,
    zone: tzinfo,
    policy: ConsolidationPolicy,
    ahead: timedelta = timedelta(),
) -> datetime:
    """The last moment of this cadence up to `now`, or so many days `ahead` of it, in
    UTC.

    An hour that a clock change leaves out is the one that takes its place; of one that
    comes twice it is the first.
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
    """What is due, kept in the file `path` across restarts. Belongs to the one writer."""

    def __init__(self, path: Path, zone: tzinfo, policy: ConsolidationPolicy) -> None:
        self.path = path
        self.zone = zone
        self.policy = policy
        self.last: dict[Cadence, datetime] = {}
        self.events: dict[Cadence, int] = dict.fromkeys(CADENCES, 0)
        self._load()

    def filed(self, memories: int) -> None:
        """A batch was filed that brought so many new memories."""
        self.events["light"] += 1
        self.events["nightly"] += memories

    def due(self, now: datetime) -> list[tuple[Cadence, str]]:
        """The cadences that are due, in the order in which to run them, and why."""
        asked = (
            (
                cadence,
                due(
                    self.last.get(cadence),
                    now,
                    cadence,
                    self.zone,
                    self.events[cadence],
                    self.policy,
                ),
            )
            for cadence in CADENCES
        )
        return [(cadence, why) for cadence, why in asked if why]

    def next(self, now: datetime) -> datetime:
        """When something is due by the clock next."""
        return min(
            filter(
                None,
                (
                    following(now, cadence, self.zone, self.policy)
                    for cadence in CADENCES
                ),
            )
        )

    def rested(self, now: datetime) -> datetime | None:
        """When a light run that has enough batches may be made, if it is too early
        `now`; None otherwise (`C12`).
        """
        last = self.last.get("light")
        if last is None or self.events["light"] < self.policy.light_extractions:
            return None
        rested = last + timedelta(minutes=self.policy.light_minutes)
        return rested if last <= now < rested else None

    def ran(self, cadence: Cadence, now: datetime) -> None:
        """A run of this cadence was made; written down. Raises StorageError."""
        self.last[cadence] = now
        self.events[cadence] = 0
        self.save()

    def save(self) -> None:
        """Write down what is known; lost, it costs a run too many. Raises StorageError."""
        last = {
            name: when.astimezone(UTC).isoformat() for name, when in self.last.items()
        }
        disk.make_folders(self.path.parent)
        disk.write_derived(
            self.path, json.dumps({"last": last, "events": self.events}).encode()
        )

    def _load(self) -> None:
        try:
            known = json.loads(disk.read(self.path))
            last = {
                name: datetime.fromisoformat(known["last"][name])
                for name in CADENCES
                if name in known["last"]
            }
            events = {name: int(known["events"].get(name, 0)) for name in CADENCES}
        except (NotFoundError, ValueError, TypeError, KeyError, AttributeError):
            return
        if all(when.tzinfo for when in last.values()):
            self.last, self.events = last, events
