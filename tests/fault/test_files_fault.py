"""Files, filing, moves and the journal under every battery. `ENGRAM_FAULT=full` runs
them at full size.
"""

from __future__ import annotations

import pytest
from batteries import (
    fail_everywhere,
    kill_everywhere,
    kill_forks,
    kill_twice,
    tear_everywhere,
)
from harness import FULL, Bench
from links import links_everywhere
from power import cut_power
from scenarios import FilesWork, FilingWork, JournalWork, MovesWork

WORKS = [
    FilesWork(4, "abc") if FULL else FilesWork(2),
    FilingWork(12 if FULL else 3),
    MovesWork(4 if FULL else 2),
    JournalWork(12 if FULL else 4),
]


@pytest.fixture(params=WORKS, ids=lambda work: work.name)
def bench(request, arena):
    return Bench.prepare(request.param, arena)


# row: X1
def test_a_kill_at_any_call_loses_nothing_acknowledged(bench, covered):
    """Virtual kills before and after every changing call."""
    covered("kill (virtual)", bench.scenario.name, kill_everywhere(bench))


def test_a_process_that_really_ends_loses_nothing_acknowledged(bench, covered):
    """A sample of the same points in forked processes with real syncs."""
    covered("kill (forked)", bench.scenario.name, kill_forks(bench, 30 if FULL else 6))


def test_an_error_at_any_call_is_told_and_heals(bench, covered):
    """Six errors, once and for good, at every call they may come from."""
    covered("errno", bench.scenario.name, fail_everywhere(bench, None if FULL else 60))


def test_a_torn_or_short_write_is_no_half_file(bench, covered):
    """Each write cut at three places, with and without the end of the process."""
    covered("torn and short writes", bench.scenario.name, tear_everywhere(bench))


def test_a_kill_during_recovery_is_recovered_from(bench, covered):
    """Pairs of a kill and a kill in the recovery."""
    covered(
        "kill in recovery (pairs)",
        bench.scenario.name,
        kill_twice(bench, 800 if FULL else 24),
    )


def test_a_power_cut_at_any_call_loses_nothing_acknowledged(bench, covered):
    """The states that the syncs made so far allow."""
    covered(
        "power cut (states)",
        bench.scenario.name,
        cut_power(bench, per_cut=20 if FULL else 2),
    )


def test_no_function_follows_a_link_out(tmp_path, covered):
    """Links as the file and as its folder, for each function."""
    covered("links that lead out", "files", links_everywhere(tmp_path))
