"""Daemons that are killed, suspended and cut off lose no turn and store none twice."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.fakes.world import ROOT
from tests.postgres import GIVEN


# row: X15
def test_no_turn_is_lost_or_stored_twice_whoever_is_killed(postgres):
    """The demonstration of `make demo-fleet`, at a small size."""
    done = subprocess.run(
        [
            *(sys.executable, ROOT / "examples" / "demo_fleet.py"),
            *("--daemons", "2", "--turns", "150", "--clients", "2", "--pause", "0.8"),
        ],
        env={**os.environ, GIVEN: postgres},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stdout + done.stderr
    for fault in ("killed", "suspended", "cut off"):
        assert f"   {fault}: " in done.stdout
    assert "150 turns acknowledged" in done.stdout
