"""The simulation behaves as the daemon does, on a clock of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from engram import config
from engram.errors import LockedError, NotFoundError
from engram.testing import Simulation
from tests.fakes.answers import ID
from tests.fakes.openai_server import FakeServer
from tests.fakes.stepped import SteppedDaemon, wait_for

FRIDAY = datetime(2026, 3, 6, 8, 0, 20, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
DEVICE = "0123456789abcdef\n"


@pytest.fixture
def begin(tmp_path):
    """Make a vault and a simulation of it; the last one is closed at the end."""
    running = []

    def start(at=FRIDAY, name="vault", **env):
        vault = planted(tmp_path / name)
        running.append(Simulation(vault, at=at, home=tmp_path / f"{name}-home", env=env))
        return running[-1]

    yield start
    for sim in running:
        sim.close()


def planted(vault):
    vault.mkdir(exist_ok=True)
    (vault / "engram.toml").write_text(f'id = "{ID}"\nzone = "Europe/Berlin"\n')
    return vault


def say(world, text, **more):
    world.call("observe", turns=[{"id": f"said {text}", "text": text, "session": "talk", **more}])


def notes(vault):
    return {path.relative_to(vault).as_posix(): path.read_text("utf-8") for path in vault.rglob("*.md")}


def facts(vault):
    return "".join(text for path, text in notes(vault).items() if path.startswith("facts/"))


def runs(vault):
    return [line for path in vault.glob("state/*runs*.jsonl") for line in path.read_text("utf-8").splitlines()]


# -- as the daemon ------------------------------------------------------------------------------------------


class Stepped(SteppedDaemon):
    """The daemon with the two verbs of a simulation, looking at each minute in which something may be due."""

    def call(self, name, **params):
        answer = super().call(name, **params)
        self.settle()
        return answer

    def advance(self, until):
        said = self.now
        while (moment := self._next(said)) <= until:
            self.step(moment)
        self.now = max(self.now, until)

    def _next(self, said):
        """Each of the daemon's minutes for two hours, then those of the nights, and when a batch or a box is due."""
        busy = self.now < said + timedelta(hours=2)
        wanted = self.now + timedelta(microseconds=1) if busy else self.memory.upkeep.agenda.next(self.now)
        tick = FRIDAY + -((FRIDAY - wanted) // MINUTE) * MINUTE
        due = self.memory.next_due()
        return min(tick, max(due, self.now + timedelta(seconds=1))) if due else tick

    def files_changed(self):
        missing = self.memory.index.catalog._missing
        self.daemon.background.changed(None)
        self.rest()
        self.now += timedelta(seconds=2)
        wait_for(lambda: not self.memory.index.catalog._missing or missing is None)
        self.rest()
        self.advance(self.now + timedelta(seconds=58))


@contextmanager
def daemon(folder):
    home = folder / "daemon-home"
    env = {"ENGRAM_HOME": str(home), "HOME": str(home), "TZ": "UTC"}
    settings = config.load(planted(folder / "daemon"), env)
    settings.state.mkdir(parents=True)
    (settings.state / "device").write_text(DEVICE)
    with Stepped(settings, FRIDAY) as stepped:
        yield stepped


@contextmanager
def simulation(folder):
    state = folder / "sim-home" / "state" / ID
    state.mkdir(parents=True)
    (state / "device").write_text(DEVICE)
    with Simulation(planted(folder / "sim"), at=FRIDAY, home=folder / "sim-home") as sim:
        yield sim


def five_days(world, vault):
    """A script that meets each thing which the daemon does by itself; what is in the vault after each part."""

    def at(day, clock, *, hands=False):
        world.advance(datetime.fromisoformat(f"2026-03-{day:02}T{clock}:00+01:00").astimezone(UTC))
        if hands:
            return lambda path: os.utime(path, (world.now.timestamp(), world.now.timestamp()))
        return None

    at(6, "10:00")
    say(world, "Hi! My name is Mira and I live in Berlin.")
    say(world, "Nice to meet you, Mira!", role="assistant")
    yield notes(vault)
    for number in range(5):
        at(6, f"10:0{number + 1}")
        say(world, f"The tram in Porto was number {number} and it was yellow.")
    yield notes(vault)
    at(6, "12:30")
    say(world, "Anna's sister has a cat.")
    at(6, "12:44")
    yield notes(vault)
    at(6, "12:46")
    yield notes(vault)
    say(world, "I need to call the bank tomorrow.")
    world.call("remember", text="The spare key is under the blue pot.")
    at(7, "09:00")
    yield notes(vault)
    say(world, "I called the bank, all settled.", session="morning")
    at(7, "11:00")
    touch = at(7, "18:00", hands=True)
    key = next(path for path in vault.glob("facts/**/*.md") if "blue pot" in path.read_text("utf-8"))
    key.write_text(key.read_text("utf-8").replace("blue pot", "red pot"), "utf-8")
    touch(key)
    own = vault / "facts" / "boat.md"
    own.write_text("The boat is moored at berth 27.\n", "utf-8")
    touch(own)
    world.files_changed()
    yield notes(vault)
    at(8, "10:00", hands=True)
    own.unlink()
    world.files_changed()
    yield notes(vault)
    say(world, "I live in Munich now, I moved last week.", session="news")
    for number in range(3):
        say(world, f"Bernd has {number + 2} brothers.", session="news", persona="Coach")
    world.call("flush")
    yield notes(vault)
    at(10, "12:00")
    yield notes(vault)


# row: C2
# row: D9
# row: E9
def test_the_same_script_makes_the_same_notes_as_with_the_daemon(tmp_path):
    """Byte for byte, after each part: at once, by five, by age, boxes, silence, nights, a week, hands, a flush."""
    with simulation(tmp_path) as sim:
        simulated = list(five_days(sim, tmp_path / "sim"))
        ran = runs(tmp_path / "sim")
    with daemon(tmp_path) as stepped:
        real = list(five_days(stepped, tmp_path / "daemon"))
        assert runs(tmp_path / "daemon") == ran
    for number, (ours, theirs) in enumerate(zip(simulated, real, strict=True)):
        assert ours == theirs, number
    assert len(ran) > 3
    assert "Munich" in "".join(simulated[-1].values())
