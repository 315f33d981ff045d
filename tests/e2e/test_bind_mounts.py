"""A vault that is mounted at a second place."""

from __future__ import annotations

import os
import subprocess

import pytest

from engram.errors import LockedError
from tests.fakes.machine import ID, Machine


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_a_bind_mount_is_the_same_place(machine):
    machine.do("stats")
    bound = machine.root / "bound"
    bound.mkdir()
    if subprocess.run(
        ["mount", "--bind", str(machine.vault), str(bound)], check=False
    ).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        assert machine.leaf(bound) == ID
        assert machine.do("status", bound)["place"] == ""
        holder = machine.open(bound)
        with pytest.raises(LockedError):
            machine.open()
        holder.close()
    finally:
        subprocess.run(["umount", str(bound)], check=True)
    assert machine.leaf() == ID
