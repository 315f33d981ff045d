"""What many tests share: a clock that is passed in, a vault of its own, a memory on it."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import hypothesis
import pytest

from engram import config
from engram.memory import VaultMemory
from tests import semantic
from tests.fakes.world import World
from tests.postgres import UnavailableServerError, server
from tests.size import FULL, PART

# The same commit gives the same result each time; new examples are tried at full size.
hypothesis.settings.register_profile(
    "repeatable", derandomize=True, max_examples=100 // PART
)
if not FULL:
    hypothesis.settings.load_profile("repeatable")

RAM_DISK = "/dev/shm"
RAM_DISK_BYTES = 4 * 1024**3
"""Free bytes that a RAM disk needs, so that the tests do not fill it."""


def pytest_configure():
    """Let recall compare words alone, so that it answers the same everywhere.

    Keep temporary folders on a RAM disk if there is one: the tests sync files tens of
    thousands of times. At full size they stay on the disk.
    """
    semantic.hide()
    if FULL or "TMPDIR" in os.environ or not os.access(RAM_DISK, os.W_OK):
        return
    if shutil.disk_usage(RAM_DISK).free >= RAM_DISK_BYTES:
        os.environ["TMPDIR"] = RAM_DISK
        tempfile.tempdir = None


def pytest_collection_modifyitems(items):
    """Let each worker of pytest-xdist begin with its share of the slow tests.

    The workers get equal runs of the list and take from each other what is left at
    their ends, which shall be quick. The tests of a file stay together, with what they
    share.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers == 1:
        return
    quick = [item for item in items if item.path.parent.name == "unit"]
    slow = defaultdict(list)
    for item in items:
        if item.path.parent.name != "unit":
            slow[item.path].append(item)
    runs = [[] for _ in range(workers)]
    for number, path in enumerate(slow):
        runs[number % workers] += slow[path]
    length, rest = divmod(len(items), workers)
    for number, run in enumerate(runs):
        missing = max(0, length + (number >= workers - rest) - len(run))
        run.extend(quick[:missing])
        del quick[:missing]
    items[:] = [item for run in (*runs, quick) for item in run]


def pytest_collection_finish():
    """Spare the garbage collector the thousands of collected tests: they stay to the
    end, and each full collection would look at all of them.
    """
    gc.collect()
    gc.freeze()


class Clock:
    """A clock that stands still until it is told to advance; `steady` goes with it, but
    for a jump.
    """

    def __init__(self, now: datetime) -> None:
        self.now = now
        self._jumped = timedelta()

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **by: float) -> None:
        self.now += timedelta(**by)

    def jump(self, **by: float) -> None:
        """Somebody sets the clock."""
        self.now += timedelta(**by)
        self._jumped += timedelta(**by)

    def steady(self) -> float:
        return (self.now - self._jumped).timestamp()


@pytest.fixture(scope="session")
def postgres():
    """The connection string of a PostgreSQL server; skips where none can run."""
    try:
        with server() as dsn:
            yield dsn
    except UnavailableServerError as reason:
        pytest.skip(f"no PostgreSQL here: {reason}")


@pytest.fixture
def clock():
    return Clock(datetime(2026, 11, 20, 20, 0, tzinfo=UTC))


DEVICE = "a1b2c3d4e5f60718"


def name_device(state):
    """Give the device with this state folder the same name in each test."""
    state.mkdir(parents=True, exist_ok=True)
    if not (state / "device").exists():
        (state / "device").write_text(DEVICE)


@pytest.fixture
def settings(tmp_path):
    """Settings for an empty vault with every folder below `tmp_path`."""
    vault = tmp_path / "vault"
    vault.mkdir(mode=0o700)
    (vault / "engram.toml").write_text(
        'id = "01KBH2Q0M6T4W2Y0B7C5D9E1FX"\nzone = "Europe/Berlin"\n'
    )
    loaded = config.load(
        vault, {"ENGRAM_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}
    )
    files = replace(loaded.policy.files, quiet_seconds=0, settle_most_seconds=0.05)
    return replace(loaded, policy=replace(loaded.policy, files=files))


@pytest.fixture
def opened(settings, clock):
    """A function that starts a memory on the vault, as after a restart; the last one is
    closed at the end.
    """
    running: list[VaultMemory] = []

    def start(**changes) -> VaultMemory:
        while running:
            running.pop().close()
        changed = replace(settings, **changes)
        name_device(changed.state)
        memory = VaultMemory(changed, clock=clock, steady=clock.steady)
        memory.start()
        memory.catch_up()
        running.append(memory)
        return memory

    yield start
    while running:
        running.pop().close()


@pytest.fixture
def memory(opened):
    return opened()


@pytest.fixture
def world(tmp_path):
    """A vault, the command line and at most one daemon, which does not outlive it."""
    made = World(tmp_path)
    yield made
    made.end()


def pytest_addoption(parser):
    """`--update-golden` writes the golden trees anew; read the difference before you
    commit it.
    """
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden trees anew"
    )
