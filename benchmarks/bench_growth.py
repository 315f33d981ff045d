"""How the costs of a vault grow with its notes, as a table and a plot.

    python benchmarks/bench_growth.py [--sizes 1000,10000,100000] [--plot growth.svg]

Each step at each size runs in a process of its own, so that memory and caches are its
own. The vaults are those of `bench_speed.py`. A million notes take one to two hours and
10 GB of disk.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import material
from figures import quantile, seconds_of
from speed_reading import build, parse_all, rss
from speed_recall import ask, times

from engram.memory import VaultMemory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from engram.config import Settings

    Figures = dict[str, float]

QUESTIONS = 60
ROWS = {
    "parse": "read + hash + parse of a note, ms",
    "index": "cold index of a note, ms",
    "cache": "index on disk, MB",
    "first": "start to first recall, ms elapsed",
    "scan": "scan of the rest, s",
    "recall": "recall, p50, ms",
    "late": "recall, p95, ms",
    "context": "first context, ms",
    "again": "context after a write, ms",
    "remember": "remember, ms",
    "memory": "memory after the recalls, MB",
}
"""The rows of the table by the names of their figures; times are CPU unless said."""
_WIDE, _HIGH, _LEFT, _TOP, _RIGHT, _BELOW = 520, 300, 50, 16, 190, 34
_COLOURS = {
    "parse": "#555555",
    "index": "#1b5e3a",
    "first": "#62b889",
    "recall": "#b5651d",
    "again": "#c9a227",
    "remember": "#2f6f8f",
    "memory": "#8a4fae",
}
"""The figures of the plot."""


def main() -> None:
    parser = argparse.ArgumentParser(description="costs by the number of notes")
    parser.add_argument("--sizes", default="1000,10000,100000", help="notes")
    parser.add_argument("--plot", type=Path, help="write a plot to this file")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    wish = parser.parse_args()
    sizes = list(map(int, wish.sizes.split(",")))
    if wish.step:
        root = wish.folder
        settings = material.settings(root / "vault", root / "home")
        print(json.dumps(STEPS[wish.step](settings, sizes[0])))
        return
    found = {size: measured(size) for size in sizes}
    print("\n".join(table(found)))
    if wish.plot:
        wish.plot.write_text(plot(found))


def measured(size: int) -> Figures:
    """The figures of a vault of this size."""
    figures: Figures = {}
    with tempfile.TemporaryDirectory(prefix="engram-growth-") as folder:
        for step in STEPS:
            command = [sys.executable, __file__, "--step", step, "--folder", folder]
            done = subprocess.run(
                [*command, "--sizes", str(size)],
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            )
            figures |= json.loads(done.stdout)
            print(f"{size:,} {step}: {done.stdout.strip()}", file=sys.stderr)
    return figures


def make(settings: Settings, size: int) -> Figures:
    """Write the vault."""
    material.vault(settings.vault, size)
    return {}


def index(settings: Settings, size: int) -> Figures:
    """Index it from nothing, beside the yardstick."""
    spent = seconds_of(lambda: build(settings), time.process_time)
    paths = [str(path) for path in settings.vault.rglob("*") if path.is_file()]
    parsed = seconds_of(lambda: parse_all(paths), time.process_time)
    cached = sum(
        path.stat().st_size for path in settings.cache.rglob("*") if path.is_file()
    )
    return {
        "parse": parsed / size * 1e3,
        "index": spent / size * 1e3,
        "cache": cached / 1e6,
    }


def use(settings: Settings, _size: int) -> Figures:
    """Start from the snapshot and recall, with caches of texts emptied."""
    writer = material.Writer(3)
    first, *questions = [writer.question() for _ in range(2 * QUESTIONS + 1)]
    memory = VaultMemory(settings)
    start = seconds_of(memory.start) + seconds_of(lambda: ask(memory, first))
    scan = seconds_of(memory.catch_up, time.process_time)
    _, recalls = times(memory, questions)
    resident = rss(os.getpid())

    def called(name: str, **params: str) -> float:
        spent = seconds_of(lambda: memory.call(name, params), time.process_time)
        return spent * 1e3

    context = called("context", query="Where is the key?")
    for number in range(5):  # the first ones compile the rules
        remembered = called("remember", text=f"The key {number} is in the cellar.")
    again = called("context", query="Where is the spare key?")
    memory.close()
    return {
        "first": start * 1e3,
        "scan": scan,
        "recall": statistics.median(recalls) * 1e3,
        "late": quantile(recalls, 0.95) * 1e3,
        "context": context,
        "again": again,
        "remember": remembered,
        "memory": resident,
    }


STEPS = {"make": make, "index": index, "use": use}


def table(found: Mapping[int, Figures]) -> list[str]:
    """The figures as a table, a column for each size."""
    lines = [
        f"| | {' | '.join(f'{size:,}' for size in found)} |",
        "|---" * (len(found) + 1) + "|",
    ]
    for name, title in ROWS.items():
        cells = [shown(figures[name]) for figures in found.values()]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return lines


def shown(figure: float) -> str:
    """The figure with three digits that count."""
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.3g}"


def plot(found: Mapping[int, Figures]) -> str:
    """A line for each figure, on logarithmic axes."""
    sizes = list(found)
    values = [found[size][name] for size in sizes for name in _COLOURS]
    low, high = (
        math.floor(math.log10(min(values))),
        math.ceil(math.log10(max(values))),
    )

    def at(size: int, value: float) -> tuple[float, float]:
        across = math.log10(size / sizes[0]) / (math.log10(sizes[-1] / sizes[0]) or 1)
        up = (math.log10(value) - low) / (high - low)
        return round(_LEFT + across * _WIDE, 1), round(_TOP + (1 - up) * _HIGH, 1)

    wide, tall = _LEFT + _WIDE + _RIGHT, _TOP + _HIGH + _BELOW
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {tall}"',
        'font-family="sans-serif" font-size="10" role="img">',
        "<title>Costs by the number of notes</title>",
        f'<rect width="{wide}" height="{tall}" fill="#ffffff"/>',
    ]
    for power in range(low, high + 1):
        _, y = at(sizes[0], 10.0**power)
        lines += [
            f'<line x1="{_LEFT}" x2="{_LEFT + _WIDE}" y1="{y}" y2="{y}" stroke="#e3e5e8"/>',
            f'<text x="{_LEFT - 6}" y="{y + 3}" text-anchor="end">{10.0**power:g}</text>',
        ]
    for size in sizes:
        x, _ = at(size, 10.0**low)
        lines.append(
            f'<text x="{x}" y="{tall - 16}" text-anchor="middle">{size:,}</text>'
        )
    return "\n".join([*lines, *curves(found, at), "</svg>", ""])


def curves(
    found: Mapping[int, Figures], at: Callable[[int, float], tuple[float, float]]
) -> Sequence[str]:
    """The lines, each with its name where it ends, one below another."""
    last = max(found)
    ends = sorted(_COLOURS, key=lambda name: at(last, found[last][name])[1])
    lines, below = [], 0.0
    for name in ends:
        colour = _COLOURS[name]
        places = [at(size, figures[name]) for size, figures in found.items()]
        points = " ".join(f"{x},{y}" for x, y in places)
        below = max(places[-1][1] + 3, below + 12)
        lines += [
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>',
            f'<text x="{places[-1][0] + 6}" y="{below}" fill="{colour}">{ROWS[name]}</text>',
        ]
    return lines


if __name__ == "__main__":
    main()
