"""A bound on the CPU time of a block."""

from __future__ import annotations

import gc
import time
from contextlib import contextmanager


@contextmanager
def cpu_below(seconds, about=""):
    """Fail if the block takes `seconds` of CPU time or more.

    The garbage collector waits while the block runs: its work grows with everything
    that the process holds, not with the block.
    """
    collects = gc.isenabled()
    gc.disable()
    began = time.process_time()
    try:
        yield
        took = time.process_time() - began
    finally:
        if collects:
            gc.enable()
    assert took < seconds, f"{took:.2f} s of CPU time {about}"
