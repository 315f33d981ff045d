"""The whole path under every battery. `ENGRAM_FAULT=full` runs them at full size.

Of each scenario so many points are taken as the numbers below say: first one of every
site, then others.
"""

from __future__ import annotations

import errno
import shutil
from contextlib import suppress
from pathlib import Path

import pytest
from batteries import (
    fail_everywhere,
    kill_everywhere,
    kill_forks,
    kill_twice,
    tear_everywhere,
)
from harness import FULL, Bench, Failing, installed
from ladders import JudgeWork, LadderWork
from lives import (
    AGES,
    ERRORS,
    HEALED,
    KILLS,
    NEVER,
    OLDER,
    Life,
    any_cache,
    heal_everywhere,
    holds_nothing_up,
    said,
    statements,
    text_of,
)
from nights import NightWork
from power import cut_power
from rooms import read_vault
from works import BacklogWork, DeedsWork, IngestWork, ParkWork, ReindexWork

from engram.errors import EngramError
from engram.vault.store import ACTIONS, HASHES

FORKS = 12 if FULL else 1
TEARS = 32 if FULL else 2
PAIRS = 30 if FULL else 1
CUTS = 90 if FULL else 2
SHARE = 1 if FULL else 40
"""Of the other points of a full run, one in so many."""

WORKS = [
    IngestWork(),
    DeedsWork(caches=("kept", "kept", *OLDER)),
    BacklogWork(),
    ReindexWork(),
    ParkWork(),
    LadderWork(),
    JudgeWork(),
    NightWork(),
]


@pytest.fixture(params=WORKS, ids=lambda work: work.name)
def bench(request, arena):
    return Bench.prepare(request.param, arena)


# row: X1
def test_a_kill_at_any_call_loses_nothing_acknowledged(bench, covered):
    """Virtual kills before and after the changing calls, recovered from with caches of
    any age.
    """
    covered(
        "kill (virtual)", bench.scenario.name, kill_everywhere(bench, KILLS // SHARE)
    )


def test_a_process_that_really_ends_loses_nothing_acknowledged(bench, covered):
    """A sample of the same points in forked processes with real syncs and a real end of
    the database.
    """
    covered("kill (forked)", bench.scenario.name, kill_forks(bench, FORKS))


def test_an_error_at_any_call_is_told_and_recovered_from(bench, covered):
    """Six errors, once and for good, from the start of the process to its end."""
    covered("errno", bench.scenario.name, fail_everywhere(bench, ERRORS // SHARE))


# row: X2
def test_an_error_heals_without_a_restart(bench, covered):
    """Recall answers while the disk refuses; afterwards the same process files
    everything.
    """
    covered(
        "errno",
        f"{bench.scenario.name} healed",
        heal_everywhere(bench, HEALED // SHARE),
    )


def test_a_torn_or_short_write_is_no_half_file(bench, covered):
    """Each write cut at three places, with and without the end of the process."""
    covered("torn and short writes", bench.scenario.name, tear_everywhere(bench, TEARS))


def test_a_kill_during_recovery_is_recovered_from(bench, covered):
    """Pairs of a kill and a kill in the recovery."""
    covered("kill in recovery (pairs)", bench.scenario.name, kill_twice(bench, PAIRS))


def test_a_power_cut_at_any_call_loses_nothing_acknowledged(bench, covered):
    """A sample of the states that the syncs made so far allow."""
    covered(
        "power cut (states)",
        bench.scenario.name,
        cut_power(bench, per_cut=1, most=CUTS),
    )


# row: X20
def test_a_cache_of_any_age_is_understood(bench, covered):
    """Kept, wiped, half written, older, and a snapshot and a catalogue of different
    days.
    """
    ages = AGES if FULL else AGES[WORKS.index(bench.scenario) % 3 :: 3]
    covered("cache (variants)", bench.scenario.name, any_cache(bench, ages))


@pytest.fixture
def life(arena):
    IngestWork().setup(arena)
    life = Life(arena)
    life.begin()
    yield life
    life.drop()


def test_a_refused_snapshot_keeps_no_one_out(life, arena):
    """A memory that cannot save its index when it ends still lets go of the vault."""
    seam = Failing(NEVER, errno.ENOSPC, sticky=True)
    with installed(seam):
        seam.left = 0
        with suppress(EngramError):
            life.end()
    again = Life(arena)
    again.begin()
    again.end()


def test_a_start_that_fails_keeps_no_one_out(life, arena):
    """Whatever call fails, the lock is free for the next try in the same process, and
    no file stays open.

    A vault that was copied begins its catalogue anew.
    """
    life.end()
    held = arena / "copy"
    shutil.copytree(arena, held, ignore=shutil.ignore_patterns("copy"))
    points = range(0, 60, 1 if FULL else 4)
    for point in points:
        failed = Life(held)
        with installed(Failing(point, errno.EIO, sticky=True)), suppress(EngramError):
            failed.memory.start()
            failed.memory.close()
        links = list(Path("/proc/self/fd").iterdir())
        opened = [str(link.readlink()) for link in links if link.is_symlink()]
        assert [path for path in opened if path.startswith(str(held))] == [], (
            f"call {point}"
        )
    for point in points:
        again = Life(arena)
        with installed(Failing(point, errno.EIO, sticky=True)), suppress(EngramError):
            again.memory.start()
            again.memory.close()
    again = Life(arena)
    again.begin()
    again.end()


@pytest.mark.parametrize("path", [ACTIONS, HASHES])
def test_what_only_explains_holds_nothing_up(life, arena, path):
    """The action log or the list of hashes cannot be written: facts are filed, the
    journal lets go, status tells.
    """
    life.end()
    holds_nothing_up(arena, path)


# row: C5
def test_a_catalogue_that_cannot_be_written_makes_no_fact_twice(life, arena):
    """The cache disk refuses for three tries; the fact that was written meanwhile
    stands once.
    """
    life.observe(said("talk", "t1", "t2"), lambda _: None)
    (batch,) = life.memory.pipeline.due(life.now.replace(year=2042))
    database = life.memory.index.catalog.database._db
    database.execute("PRAGMA query_only = ON")
    for _ in range(3):
        with pytest.raises(EngramError):
            life.memory.pipeline.file(batch, life.memory.pipeline.distil(batch))
    database.execute("PRAGMA query_only = OFF")
    life.memory.pipeline.file(batch, life.memory.pipeline.distil(batch))
    texts = [fact.text for fact in read_vault(arena, life.memory.settings).facts]
    assert sorted(texts) == sorted(
        statements(text_of(name))[0] for name in ("t0", "t1", "t2")
    )


# row: X20
def test_nothing_is_filed_before_the_vault_is_known(arena):
    """Without a catalogue, and with one that cannot be made, turns wait; nothing is
    filed twice.
    """
    BacklogWork().setup(arena)
    life = Life(arena)
    life.memory.start()
    assert life.memory.pipeline.due(life.now) == []
    life.memory.catch_up()
    assert life.memory.pipeline.due(life.now)
    life.end()
