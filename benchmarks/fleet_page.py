"""Print what a fleet costs and needs; write it into docs/scale.md with its plot.

    python benchmarks/fleet_page.py              the tables, from what was measured last
    python benchmarks/fleet_page.py --update     and write docs/scale.md and docs/scale.svg

What is measured anew comes from `fleet_costs.py --keep` and `bench_fleet.py --calm`.
"""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import fleet_tables
from benchmarks.fleet_simulation import FOLDER, MEASURED, Costs, checked, needed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Point = tuple[float, float]

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, PLOT = DOCS / "scale.md", DOCS / "scale.svg"
TOLD = (200, 1_000, 100_000)
DRAWN = (200, 1_000, 5_000, 20_000, 100_000)


def check(costs: Costs) -> list[str]:
    """The table of what was predicted and measured with 200 vaults."""
    table = ["| | predicted | measured | off by |", "|---|---:|---:|---:|"]
    for what, expected, found in checked(costs):
        off = expected / found - 1 if found else math.nan
        table.append(f"| {what} | {expected:,.0f} | {found:,.0f} | {off:+.0%} |")
    return table


# -- the plot --------------------------------------------------------------------------

STYLE = """
text { font: 11px sans-serif; fill: #24292f } .small { font-size: 10px; fill: #57606a }
.grid { stroke: #d0d7de } .full { stroke: #8c959f; stroke-dasharray: 4 3 }
polyline { fill: none; stroke-width: 2 }
.a { stroke: #0969da; fill: #0969da } .b { stroke: #bc4c00; fill: #bc4c00 }
.c { stroke: #1a7f37; fill: #1a7f37 } .d { stroke: #8250df; fill: #8250df }
.e { stroke: #bf3989; fill: #bf3989 } text.a, text.b, text.c, text.d, text.e { stroke: none }
polyline.a, polyline.b, polyline.c, polyline.d, polyline.e { fill: none }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .small { fill: #9198a1 } .grid { stroke: #3d444d }
.a { stroke: #58a6ff; fill: #58a6ff } .b { stroke: #f0883e; fill: #f0883e }
.c { stroke: #3fb950; fill: #3fb950 } .d { stroke: #bc8cff; fill: #bc8cff }
.e { stroke: #f778ba; fill: #f778ba }
}
"""
WIDE, HIGH, LEFT, TOP, GAP, NAMES, LEAST = 300, 230, 46, 44, 70, 128, 13


class Panel:
    """A plot with two logarithmic axes, whose upper left corner is at `left`, TOP."""

    def __init__(
        self, left: float, title: str, x: Point, y: Point, names: tuple[str, str]
    ) -> None:
        self.left, self.x, self.y = left, x, y
        below = TOP + HIGH
        self.out = [
            f'<text x="{left}" y="{TOP - 22}" font-weight="bold">{title}</text>',
            f'<text class="small" x="{left}" y="{TOP - 8}">{names[1]}</text>',
            (
                f'<text class="small" x="{left + WIDE / 2}" y="{below + 32}" '
                f'text-anchor="middle">{names[0]}</text>'
            ),
        ]
        for value in decades(x):
            place = self.at((value, y[0]))[0]
            self.out.append(
                f'<line class="grid" x1="{place}" x2="{place}" y1="{TOP}" y2="{below}"/>'
                f'<text class="small" x="{place}" y="{below + 15}" '
                f'text-anchor="middle">{value:,.0f}</text>'
            )
        for value in decades(y):
            place = self.at((x[0], value))[1]
            self.out.append(
                f'<line class="grid" x1="{left}" x2="{left + WIDE}" y1="{place}" y2="{place}"/>'
                f'<text class="small" x="{left - 5}" y="{place + 4}" '
                f'text-anchor="end">{short(value)}</text>'
            )

    def at(self, point: Point) -> Point:
        """Where a point is."""
        across, up = (
            math.log(value / low) / math.log(high / low)
            for value, (low, high) in zip(point, (self.x, self.y), strict=True)
        )
        return round(self.left + WIDE * across, 1), round(TOP + HIGH * (1 - up), 1)

    def lines(self, named: Mapping[str, Sequence[Point]]) -> None:
        """Draw lines, with their names behind their ends, apart from each other."""
        ends = []
        for colour, (name, points) in zip("abcde", named.items(), strict=False):
            places = [self.at((x, max(y, self.y[0]))) for x, y in points]
            joined = " ".join(f"{x},{y}" for x, y in places)
            self.out.append(f'<polyline class="{colour}" points="{joined}"/>')
            self.out += [
                f'<circle class="{colour}" cx="{x}" cy="{y}" r="2.5"/>'
                for x, y in places
            ]
            ends.append((places[-1][1], colour, name))
        last = -math.inf
        for place, colour, name in sorted(ends):
            last = max(place + 4, last + LEAST)
            self.out.append(
                f'<text class="{colour}" x="{self.left + WIDE + 7}" y="{last}">{name}</text>'
            )

    def limit(self, value: float) -> None:
        """Draw a line at a value."""
        place = self.at((self.x[0], value))[1]
        self.out.append(
            f'<line class="full" x1="{self.left}" x2="{self.left + WIDE}" '
            f'y1="{place}" y2="{place}"/>'
        )


def short(value: float) -> str:
    """A power of ten for a reader."""
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def decades(span: Point) -> list[float]:
    """The powers of ten between two values."""
    first, last = (math.log10(value) for value in span)
    return [10.0**one for one in range(math.ceil(first), math.floor(last) + 1)]


def plot(costs: Costs, found: Sequence[Mapping[str, Any]]) -> str:
    """Costs by the size of a vault, and how full a database is by the number of vaults."""
    sizes = [float(one["notes"]) for one in costs.sizes]

    def of(path: str) -> list[Point]:
        return [(size, float(costs.at(path, size))) for size in sizes]

    left = Panel(
        LEFT,
        "CPU time by the size of a vault",
        (sizes[0] * 0.8, sizes[-1] * 1.25),
        (1, 10_000),
        ("notes", "milliseconds of engram"),
    )
    left.lines(
        {
            "nightly run": of("nightly.engram_ms"),
            "opening": of("daemon.warm_open.engram_ms"),
            "a turn": of("daemon.turn.engram_ms"),
            "a question": of("daemon.recall.engram_ms"),
        }
    )
    right = Panel(
        LEFT + WIDE + GAP + NAMES,
        "One database and its files, by the number of vaults",
        (found[0]["vaults"] * 0.8, found[-1]["vaults"] * 1.25),
        (0.01, 1000),
        ("vaults", "percent of what one server can do"),
    )
    right.limit(100)
    names = {
        "CPU of the database": "CPU",
        "connections": "connections",
        "transactions": "transactions",
        "storage of the database": "storage",
        "syncs of the shared files": "syncs of files",
    }
    right.lines(
        {
            shown: [(one["vaults"], 100 * one["shares"][name]) for one in found]
            for name, shown in names.items()
        }
    )
    wide, high = 2 * (WIDE + NAMES) + LEFT + GAP, TOP + HIGH + 44
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" role="img">',
            "<title>What a fleet costs and needs</title>",
            f"<style>{STYLE}</style>",
            *left.out,
            *right.out,
            "</svg>\n",
        )
    )


# -- the page --------------------------------------------------------------------------


def fill(text: str, name: str, lines: Sequence[str]) -> str:
    """Replace what stands between `<!-- name -->` and the next `<!-- end -->`."""
    inside = "\n".join((f"<!-- {name} -->", *lines, "<!-- end -->"))
    pattern = rf"<!-- {name} -->.*?<!-- end -->"
    new, times = re.subn(pattern, lambda _: inside, text, flags=re.DOTALL)
    if times != 1:
        raise SystemExit(f"{PAGE} has {times} places for {name}")
    return new


def main(words: Sequence[str]) -> int:
    kept = json.loads((FOLDER / "costs.json").read_text())
    costs = Costs(kept)
    found = {vaults: needed(vaults, costs) for vaults in sorted({*TOLD, *DRAWN})}
    parts = {
        "costs": fleet_tables.costs(kept["sizes"]),
        "needs": fleet_tables.needs([found[one] for one in TOLD]),
    }
    if MEASURED.exists():
        parts["check"] = check(costs)
    for lines in parts.values():
        print(*lines, "", sep="\n")
    if "--update" in words:
        text = PAGE.read_text()
        for name, lines in parts.items():
            text = fill(text, name, lines)
        PAGE.write_text(text)
        PLOT.write_text(plot(costs, [found[one] for one in DRAWN]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
