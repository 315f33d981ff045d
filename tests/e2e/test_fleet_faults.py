"""Daemons that are killed and stopped at random lose no turn and store none twice.

The full size is in `benchmarks/bench_fleet.py`, whose code this is.
"""

from __future__ import annotations

import pytest

from benchmarks.bench_fleet import Plan, run
from benchmarks.fleet_machine import HONEST
from benchmarks.fleet_verdict import LAWS
from tests.postgres import UnavailableServerError, server

SMALL = Plan(
    daemons=2,
    vaults=3,
    turns=45,
    clients=3,
    seed=3,
    lease=2.0,
    pause=(0.5, 1.0),
    stops=(1.2, 1.4),
    healthy=1,
    rate=9.0,
    questions=6,
)


# row: X15
def test_no_turn_is_lost_or_stored_twice_whoever_is_killed(tmp_path):
    """Two daemons, each of a host of its own, on the vaults that they share."""
    try:
        with server(*HONEST) as dsn:
            verdict = run(SMALL, dsn, tmp_path)
    except UnavailableServerError as reason:
        pytest.skip(f"no PostgreSQL here: {reason}")
    assert verdict.counts["killed"]
    assert verdict.counts["stopped"]
    assert verdict.counts["acknowledged"] == SMALL.turns
    assert verdict.counts["leases taken"] > SMALL.vaults
    assert verdict.counts["questions compared"] == SMALL.questions
    broken = {law: verdict.faults[law] for law in LAWS if verdict.faults.get(law)}
    assert not broken, "\n".join(verdict.lines())
