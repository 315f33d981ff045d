"""The lock of a vault, held against another process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from engram.errors import LockedError
from engram.vault import locks


def test_a_second_process_is_refused_with_the_pid_of_the_first(tmp_path):
    """Until the holder lets go or ends."""
    path = tmp_path / "lock"
    program = "import sys; from pathlib import Path; from engram.vault import locks; locks.lock(Path(sys.argv[1]))"
    held = locks.lock(path)
    with pytest.raises(LockedError, match=str(os.getpid())):
        locks.lock(path)
    assert (
        b"LockedError"
        in subprocess.run(
            [sys.executable, "-c", program, path], capture_output=True, check=False
        ).stderr
    )
    held.release()
    locks.lock(path).release()
