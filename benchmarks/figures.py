"""Measuring, and the table: each figure beside its yardstick of the same run, its bar,
and whether it is met.
"""

from __future__ import annotations

import math
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Work = Callable[[], object]
    Clock = Callable[[], float]

WIDTHS = (34, 7, 12, 26, 9, 9)


@dataclass(frozen=True, slots=True)
class Row:
    """One line: `figure` against `bar` in `unit`; where `least`, the bar is to be
    reached, not kept under.

    `seconds` is our own time where the figure is a ratio.
    """

    what: str
    size: str
    ours: str
    yardstick: str
    figure: float
    bar: float
    unit: str = "×"
    least: bool = False
    seconds: float = math.nan

    @property
    def met(self) -> bool:
        """Whether the figure, as it is printed, keeps the bar."""
        shown = round(self.figure, 2)
        return shown >= self.bar if self.least else shown <= self.bar

    def __str__(self) -> str:
        bar = f"{'≥' if self.least else '≤'}{self.bar:g}{self.unit}"
        cells = (
            self.what,
            self.size,
            self.ours,
            self.yardstick,
            f"{self.figure:.3g}{self.unit}",
            bar,
        )
        line = " ".join(
            f"{cell:{'<' if place == 0 else '>'}{WIDTHS[place]}}"
            for place, cell in enumerate(cells)
        )
        return f"{line}  {'met' if self.met else 'MISSED'}"


def headline() -> str:
    """The names of the columns."""
    names = ("", "notes", "ours", "yardstick", "figure", "bar")
    return " ".join(
        f"{name:{'<' if place == 0 else '>'}{WIDTHS[place]}}"
        for place, name in enumerate(names)
    )


def ratio(
    what: str, size: str, ours: float, yardstick: tuple[str, float], bar: float
) -> Row:
    """A row whose figure is `ours` over its yardstick, both in seconds."""
    name, seconds = yardstick
    return Row(
        what,
        size,
        milliseconds(ours),
        f"{name} {milliseconds(seconds)}",
        ours / seconds,
        bar,
        seconds=ours,
    )


def milliseconds(seconds: float) -> str:
    """`12.3 ms`, with three digits that count."""
    digits = 2 if seconds < 0.01 else 1 if seconds < 0.1 else 0
    return f"{seconds * 1e3:.{digits}f} ms"


def seconds_of(work: Work, clock: Clock = time.perf_counter) -> float:
    """How long `work` takes by `clock`."""
    begin = clock()
    work()
    return clock() - begin


def side_by_side(
    ours: Work, yardstick: Work, times: int, clock: Clock = time.perf_counter
) -> tuple[float, float]:
    """The medians of both, measured in turns so that a busy machine slows them alike."""
    pairs = [
        (seconds_of(ours, clock), seconds_of(yardstick, clock)) for _ in range(times)
    ]
    return statistics.median(one for one, _ in pairs), statistics.median(
        two for _, two in pairs
    )


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of `values` lie."""
    return sorted(values)[min(math.ceil(len(values) * share), len(values)) - 1]


def child_cpu(command: Sequence[str], env: Mapping[str, str], times: int) -> float:
    """The median CPU seconds, user and system, of a process."""
    spent = []
    for _ in range(times):
        child = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise SystemExit(f"{command} ended with {child.returncode}")
        spent.append(usage.ru_utime + usage.ru_stime)
    return statistics.median(spent)


def engram(*words: str) -> list[str]:
    """The command line `engram`, run by this Python."""
    return [sys.executable, "-c", "from engram.serve.cli import main; main()", *words]
