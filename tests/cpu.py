"""Bounds on the CPU time of a block, and on its growth."""

from __future__ import annotations

import gc
import time
from contextlib import contextmanager
from statistics import median


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
    """The time that a text takes in this thread: the median of some tries, for single
    tries are slow or quick by chance.
    """
    return median(_once(work, text) for _ in range(5))


def _once(work, text):
    start = time.thread_time()
    work(text)
    return time.thread_time() - start


def assert_linear(work, pump, chars):
    """Fail if twice the text, which is made to be slow, takes more than two and a half
    times the time, as the medians of three to 21 tries.
    """
    text = pump * (chars // len(pump))
    once, twice = [], []
    for tries in range(1, 22):
        once.append(_once(work, text))
        twice.append(_once(work, text * 2))
        if tries > 2 and median(twice) <= 2.5 * max(median(once), 1e-4):
            return
    raise AssertionError((once, twice))
