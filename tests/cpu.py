"""Bounds on the CPU time of a block, and on its growth."""

from __future__ import annotations

import gc
import statistics
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


def seconds(work, text):
    """The time that a text takes in this thread, whatever else the machine does."""
    times = []
    for _ in range(3):
        start = time.thread_time()
        work(text)
        times.append(time.thread_time() - start)
    return statistics.median(times)


def assert_linear(work, pump, chars):
    """Fail if twice the text, which is made to be slow, takes more than two and a half
    times the time.
    """
    text = pump * (chars // len(pump))
    ratios = []
    for _ in range(4):
        ratios.append(seconds(work, text * 2) / max(seconds(work, text), 1e-4))
        if ratios[-1] <= 2.5:
            return
    raise AssertionError(ratios)
