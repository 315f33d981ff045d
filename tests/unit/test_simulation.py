"""The simulation behaves as the daemon does, on a clock of its own."""

from __future__ import annotations

import os
import re
import threading
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from engram import config
from engram.errors import NotFoundError
from engram.pipeline.process import TurnPipeline
from engram.pipeline.reconcile import Reconciler
from engram.testing import Simulation
from tests.conftest import name_device
from tests.fakes.answers import ID
from tests.fakes.openai_server import FakeServer, status
from tests.fakes.stepped import SteppedDaemon, wait_for

FRIDAY = datetime(2026, 3, 6, 8, 0, 20, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def begin(tmp_path):
    """Make a vault and a simulation of it; the last one is closed at the end."""
    running = []

    def start(at=FRIDAY, name="vault", **env):
        vault = planted(tmp_path / name)
        name_device(tmp_path / f"{name}-home" / "state" / ID)
        running.append(
            Simulation(vault, at=at, home=tmp_path / f"{name}-home", env=env)
        )
        return running[-1]

    yield start
    for sim in running:
        sim.close()


def planted(vault):
    vault.mkdir(exist_ok=True)
    (vault / "engram.toml").write_text(f'id = "{ID}"\nzone = "Europe/Berlin"\n')
    return vault


def say(world, text, **more):
    world.call(
        "observe",
        turns=[{"id": f"said {text}", "text": text, "session": "talk", **more}],
    )


def notes(vault):
    return {
        path.relative_to(vault).as_posix(): path.read_text("utf-8")
        for path in vault.rglob("*.md")
    }


def facts(vault):
    return "".join(
        text for path, text in notes(vault).items() if path.startswith("facts/")
    )


def runs(vault):
    return [
        line
        for path in vault.glob("state/*runs*.jsonl")
        for line in path.read_text("utf-8").splitlines()
    ]


# -- as the daemon ---------------------------------------------------------------------


class Stepped(SteppedDaemon):
    """The daemon with the two verbs of a simulation, looking at each minute in which
    something may be due.
    """

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
        """Each of the daemon's minutes for two hours, then those of the nights, and
        when a batch or a box is due.
        """
        busy = self.now < said + timedelta(hours=2)
        wanted = (
            self.now + timedelta(microseconds=1)
            if busy
            else self.memory.maintenance_loop.schedule.next(self.now)
        )
        tick = FRIDAY + -((FRIDAY - wanted) // MINUTE) * MINUTE
        due = self.memory.pipeline.next_due()
        return min(tick, max(due, self.now + timedelta(seconds=1))) if due else tick

    def files_changed(self):
        missing = self.memory.index.scanner._missing
        self.daemon.background.files_changed(None)
        self.rest()
        self.now += timedelta(seconds=2)
        wait_for(lambda: not self.memory.index.scanner._missing or missing is None)
        self.rest()
        self.advance(self.now + timedelta(seconds=58))


@contextmanager
def daemon(folder):
    home = folder / "daemon-home"
    env = {"ENGRAM_HOME": str(home), "HOME": str(home), "TZ": "UTC"}
    settings = config.load(planted(folder / "daemon"), env)
    name_device(settings.state)
    with Stepped(settings, FRIDAY) as stepped:
        yield stepped


@contextmanager
def simulation(folder):
    name_device(folder / "sim-home" / "state" / ID)
    with Simulation(
        planted(folder / "sim"), at=FRIDAY, home=folder / "sim-home"
    ) as sim:
        yield sim


def five_days(world, vault):
    """A script that meets each thing which the daemon does by itself; what is in the
    vault after each part.
    """

    def at(day, clock, *, hands=False):
        world.advance(
            datetime.fromisoformat(f"2026-03-{day:02}T{clock}:00+01:00").astimezone(UTC)
        )
        if hands:
            return lambda path: os.utime(
                path, (world.now.timestamp(), world.now.timestamp())
            )
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
    key = next(
        path
        for path in vault.glob("facts/**/*.md")
        if "blue pot" in path.read_text("utf-8")
    )
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
    """Byte for byte, after each part: at once, by five, by age, boxes, silence, nights,
    a week, hands, a flush.
    """
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


# -- on its own clock ------------------------------------------------------------------


# row: D9
def test_each_night_comes_once_at_its_local_hour_also_where_the_clocks_change(begin):
    """Berlin goes to summer time on 29 March 2026, when the hour from two to three is
    left out.
    """
    sim, ran = begin(datetime(2026, 3, 27, 12, tzinfo=UTC)), []
    schedule = sim._memory.maintenance_loop.schedule
    known = schedule.record_run
    schedule.record_run = lambda cadence, now: (
        ran.append(f"{cadence} {now:%d %H:%M}"),
        known(cadence, now),
    )
    sim.advance(datetime(2026, 3, 31, 12, tzinfo=UTC))
    assert ran[:2] == ["nightly 27 12:01", "weekly 27 12:01"]  # they have never run
    assert ran[2:] == [
        "nightly 28 02:00",
        "nightly 29 01:00",
        "weekly 29 01:00",
        "nightly 30 01:00",
        "nightly 31 01:00",
    ]


def test_no_thread_is_started_and_nothing_sleeps(begin, tmp_path, monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda _seconds: pytest.fail("it sleeps"))
    before = threading.active_count()
    sim = begin()
    say(sim, "I live in Berlin.")
    sim.call("flush")
    next((tmp_path / "vault").glob("facts/**/*.md")).unlink()
    sim.files_changed()
    sim.advance(FRIDAY + timedelta(days=3))
    assert threading.active_count() == before
    assert sim.call("stats")["facts"] == 0


def test_time_does_not_go_back_and_has_a_zone(begin, tmp_path):
    sim = begin()
    sim.advance(FRIDAY - timedelta(days=1))
    assert sim.now == FRIDAY
    with pytest.raises(ValueError, match="zone"):
        sim.advance(datetime(2027, 1, 1))  # noqa: DTZ001
    with pytest.raises(ValueError, match="zone"):
        Simulation(tmp_path, at=datetime(2027, 1, 1), home=tmp_path)  # noqa: DTZ001


def test_a_folder_that_is_no_vault_is_refused(tmp_path):
    with pytest.raises(NotFoundError):
        Simulation(tmp_path, at=FRIDAY, home=tmp_path / "home")


# row: X2
def test_a_model_that_is_away_is_asked_again_at_its_time(begin):
    """The wait is the policy's, on the clock of the simulation; meanwhile `status`
    tells of it.
    """
    with FakeServer() as model:
        model.script(status(503), '{"facts": []}')
        sim = begin(ENGRAM_MODEL="m", ENGRAM_BASE_URL=model.url, ENGRAM_API_KEY="none")
        say(sim, "I live in Berlin, and I have done so for many years.")
        sim.advance(sim.now + timedelta(seconds=20))  # for a reply
        assert "model" in sim.call("status")["faults"]
        asked = len(model.requests)
        assert sim.call("stats")["parked_turns"] == 1
        sim.advance(FRIDAY + timedelta(hours=2))
        assert len(model.requests) > asked
        assert "model" not in sim.call("status")["faults"]
        assert sim.call("stats")["parked_turns"] == 0


# row: X2
def test_a_batch_that_cannot_be_filed_is_tried_ever_more_rarely_and_says_so(
    begin, monkeypatch
):
    """Its turns stay findable; once it can be filed it is, and all says that."""
    tries, extracted = [], []
    distil = TurnPipeline.distil
    sim = begin()

    def broken(*_):
        tries.append(sim.now)
        raise ValueError("private words")

    def counted(*given):
        extracted.append(sim.now)
        return distil(*given)

    with monkeypatch.context() as patch:
        patch.setattr(Reconciler, "file", broken)
        patch.setattr(TurnPipeline, "distil", counted)
        say(sim, "I live in Berlin, and I have done so for many years.")
        sim.advance(FRIDAY + timedelta(days=30))
        pauses = [later - sooner for sooner, later in pairwise(tries)]
        assert [pause.total_seconds() for pause in pauses[:3]] == [30, 60, 120]
        assert set(pauses[7:]) == {timedelta(hours=1)}
        assert len(extracted) == 1
        (blocked,) = sim.call("stats")["blocked"]
        assert (blocked["state"], blocked["turns"]) == ("stuck", 1)
        assert "ValueError" in blocked["reason"]
        assert "since 2026-03-06 09:00" in blocked["reason"]
        assert re.search(r"tried again at 2026-04-05 1\d:", blocked["reason"])
        assert "private" not in blocked["reason"]
        assert sim.call("status")["faults"]["filing"] == blocked["reason"]
        (found,) = (
            row for row in sim.call("doctor")["findings"] if row["code"] == "stuck"
        )
        assert blocked["reason"] in found["what"]
        assert sim.call("recall", query="Where do I live?")["hits"]

    sim.call("flush")
    assert sim.call("stats")["facts"] == 1
    assert sim.call("stats")["blocked"] == []
    assert sim.call("status")["faults"] == {}


def test_work_that_fails_stands_in_the_faults_until_it_succeeds(begin, tmp_path):
    """A run that cannot be made is tried again, ever less often."""
    sim = begin()
    tried = []
    maintenance_loop = sim._memory.maintenance_loop
    tend = maintenance_loop.tend

    def broken():
        tried.append(sim.now)
        raise ValueError("x")

    maintenance_loop.tend = broken
    sim.advance(FRIDAY + timedelta(days=2))
    assert "consolidate" in sim.call("status")["faults"]
    assert 20 < len(tried) < 100
    maintenance_loop.tend = tend
    sim.advance(FRIDAY + timedelta(days=3))
    assert sim.call("status")["faults"] == {}


def test_what_waits_is_distilled_when_it_is_closed(begin, tmp_path):
    with begin() as sim:
        say(sim, "Anna's sister has a cat.")
    sim.close()
    assert "cat" in "".join(notes(tmp_path / "vault").values())


def test_the_example_of_the_page_for_users_holds(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "testing.md").read_text("utf-8")
    names = {}
    exec(page.partition("```python\n")[2].partition("```")[0], names)
    names["test_an_allergy_is_known_a_year_later"](tmp_path)
