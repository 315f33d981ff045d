"""A year of the daemon on a clock of its own: its turns, its nights, and what a person
does now and then.

The daemon is the real one with its threads, its socket and its watcher; the model is a
server on this machine. Only the minute at which it looks what is due is given by the
clock: each thing that becomes due is due at its own time, and the clock stands still
until it is done. So the same year makes the same vault, byte for byte.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from engram import config
from engram.vault.template import create_vault, shipped
from tests.fakes.answers import ID
from tests.fakes.openai_server import FakeServer
from tests.fakes.stepped import SteppedDaemon

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import Self

    from benchmarks.year_model import YearModel
    from engram.config import Settings

YEAR = timedelta(days=365)
EVENING = timedelta(hours=20)
SILENCE = timedelta(minutes=31)
DEVICE = "0123456789abcdef"
DEEDS = {5: "pin", 9: "confirm", 12: "edit", 17: "correct", 20: "forget", 24: "dispute"}
"""What a person does on which days of a month."""
FEW = 10
"""Memories below which a person has nothing to put right."""


@dataclass(frozen=True, slots=True)
class Said:
    """A turn as a chatbot hands it in, and when."""

    at: datetime
    turn: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Month:
    """The memories at the end of a month, and the model calls of the month."""

    name: str
    status: Counter[str]
    stage: Counter[str]
    calls: Counter[str]


@dataclass(frozen=True, slots=True)
class Played:
    """A year that is over: the vault, how many turns, from when to when, the months,
    questions by task, findings.
    """

    vault: Path
    turns: int
    began: datetime
    ended: datetime
    months: tuple[Month, ...]
    calls: Counter[str]
    findings: tuple[str, ...]


def played(
    folder: Path,
    model: YearModel,
    said: Sequence[Said],
    questions: Sequence[str],
    zone: str,
    length: timedelta = YEAR,
) -> Played:
    """These turns at their times, and on until a year after the first; the vault stands
    in `folder`.
    """
    first = said[0].at
    with Year(folder, model, first - timedelta(seconds=1), zone) as year:
        year.play(said, first + length, questions)
        findings = year.call("doctor")["findings"]
        found = [json.dumps(one) for one in findings if one["level"] != "notice"]
        found += [
            f"{name}: {fault}"
            for name, fault in {
                **year.memory.health.problems(),
                **year.daemon.faults(),
            }.items()
        ]
    months = tuple(year.months)
    heard = sum(one.at < first + length for one in said)
    return Played(
        year.settings.vault,
        heard,
        first,
        first + length,
        months,
        Counter(model.calls),
        tuple(found),
    )


@dataclass
class Year:
    """One vault, its daemon and its clock."""

    folder: Path
    model: YearModel
    began: datetime
    zone: str = "UTC"
    months: list[Month] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._fake = FakeServer()
        self._fake.script(self.model)
        self._fake.__enter__()
        self.settings = _settings(self.folder, self._fake.url, self.zone)
        self._stepped = SteppedDaemon(self.settings, self.began).__enter__()
        self.memory, self.daemon, self.call = (
            self._stepped.memory,
            self._stepped.daemon,
            self._stepped.call,
        )
        self._touched = set[str]()
        self._counted = Counter[str]()
        return self

    def __exit__(self, *_: object) -> None:
        self._stepped.__exit__()
        self._fake.__exit__()

    @property
    def now(self) -> datetime:
        """The time of the daemon."""
        return self._stepped.now

    # -- time --------------------------------------------------------------------------

    def play(
        self, said: Sequence[Said], until: datetime, questions: Sequence[str] = ()
    ) -> None:
        """Every turn at its time, and what is due until the last moment."""
        turns = iter(sorted(said, key=lambda one: one.at))
        turn = next(turns, None)
        self._heard = self.now
        evening = self._evening(self.now)
        asked = 0
        while self.now < until:
            times = [
                until,
                evening,
                self.memory.maintenance_loop.schedule.next(self.now),
                self._month_ends(),
                *self._ticks(),
            ]
            times += [turn.at] if turn else []
            self._stepped.step(max(min(times), self.now))
            if turn and turn.at <= self.now:
                self.call("observe", turns=[turn.turn])
                self._heard = self.now
                turn = next(turns, None)
            if evening <= self.now:
                evening = self._evening(self.now)
                if questions:
                    self.call("recall", query=questions[asked % len(questions)])
                    asked += 1
                self._by_hand()
            self._stepped.settle()
            if self._at_midnight() and self.now.astimezone(self.settings.zone).day == 1:
                self._count()

    def _evening(self, after: datetime) -> datetime:
        local = after.astimezone(self.settings.zone)
        day = local.replace(hour=0, minute=0, second=0, microsecond=0)
        return next(
            at.astimezone(UTC)
            for at in (day + EVENING, day + EVENING + timedelta(days=1))
            if at > after
        )

    def _month_ends(self) -> datetime:
        local = self.now.astimezone(self.settings.zone).replace(
            hour=0, minute=0, second=0, microsecond=0, day=1
        )
        return (local + timedelta(days=32)).replace(day=1).astimezone(UTC)

    def _at_midnight(self) -> bool:
        local = self.now.astimezone(self.settings.zone)
        return (local.hour, local.minute, local.second) == (0, 0, 0)

    def _ticks(self) -> Iterator[datetime]:
        """When the daemon would see that something is due: a batch, a box, the end of a
        talk, light order.
        """
        due = self.memory.pipeline.next_due()
        if due:
            yield max(due, self.now + timedelta(seconds=1))
        for minutes in range(11, 66, 11):
            tick = self._heard + timedelta(minutes=minutes)
            if tick > self.now:
                yield tick
                break

    # -- people ------------------------------------------------------------------------

    def _by_hand(self) -> None:
        """On some days of a month a person does something to a memory that nobody
        touched yet.
        """
        local = self.now.astimezone(self.settings.zone)
        if not (deed := DEEDS.get(local.day)):
            return
        facts = [
            one
            for one in self.memory.index.catalog.facts("")
            if one.id not in self._touched
        ]
        facts = [
            one for one in facts if one.status == "active" and one.origin == "model"
        ]
        if len(facts) < FEW:
            return
        chosen = sorted(facts, key=lambda fact: fact.id)[
            local.month * 7919 % len(facts)
        ]
        self._touched.add(chosen.id)
        if deed == "edit":
            path = self.settings.vault / chosen.path
            path.write_text(
                path.read_text().replace(
                    f"\n{chosen.text}\n", f"\n{chosen.text} That matters to me.\n"
                )
            )
            self.daemon.background.files_changed({path})
        elif deed == "correct":
            self.call(
                "correct",
                id=chosen.id,
                text=f"{chosen.text.rstrip('.')}, as far as I know.",
            )
        elif deed == "pin":
            self.call("update", id=chosen.id, pinned=True)
        else:
            self.call(deed, id=chosen.id)

    # -- counts ------------------------------------------------------------------------

    def _count(self) -> None:
        facts = self.memory.index.catalog.facts("")
        view = self.memory.maintenance_loop.maintenance.snapshot.view(self.now)
        local = (self.now - timedelta(days=1)).astimezone(self.settings.zone)
        calls = Counter(self.model.calls)
        self.months.append(
            Month(
                f"{local:%Y-%m}",
                Counter(fact.status for fact in facts),
                Counter(view.stage(one, self.now) for one in view.active()),
                calls - self._counted,
            )
        )
        self._counted = calls


def _settings(folder: Path, url: str, zone: str) -> Settings:
    vault = folder / "vault"
    create_vault(vault, ID, shipped("vault_template"))
    (vault / "engram.toml").write_text(f'id = "{ID}"\nzone = "{zone}"\n')
    env = {"ENGRAM_HOME": str(folder / "home"), "HOME": str(folder)}
    env |= {
        "ENGRAM_MODEL": "recorded",
        "ENGRAM_BASE_URL": url,
        "ENGRAM_API_KEY": "none",
        "ENGRAM_EMBEDDINGS_MODEL": config.OFF,
    }
    loaded = config.load(vault, env)
    loaded.state.mkdir(parents=True)
    (loaded.state / "device").write_text(f"{DEVICE}\n")
    policy = replace(
        loaded.policy,
        files=replace(loaded.policy.files, quiet_seconds=0),
        serve=replace(loaded.policy.serve, workers=1),
        consolidation=replace(loaded.policy.consolidation, look_seconds=3600),
    )
    return replace(loaded, policy=policy)
