"""What a simulated year leaves, as text: the listing of its tree, the table by month,
the plot.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from engram.vault import frontmatter

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from benchmarks.year_played import Month

STAGES = ("core", "active", "validated", "candidate", "stale")
OVER = ("superseded", "invalidated", "forgotten", "pruned")
COLOURS = {
    "core": "#1b5e3a",
    "active": "#2f8f5b",
    "validated": "#62b889",
    "candidate": "#a9d8bd",
    "stale": "#d9c58b",
    "archived": "#b9bec7",
    "over": "#7d838d",
}
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_BAR, _GAP, _HIGH, _LEFT, _TOP, _BELOW = 34, 14, 240, 46, 16, 62
_STEPS = 4


def listing(vault: Path) -> list[str]:
    """A line for each folder: how many notes, of which status, and a hash of their
    names and bytes.

    It tells two trees apart and says nothing of what was said.
    """
    held: defaultdict[str, list[Path]] = defaultdict(list)
    for path in sorted(vault.rglob("*")):
        if path.is_file():
            below = path.relative_to(vault)
            held[below.parent.as_posix()].append(path)
    return [_folder(vault, folder, paths) for folder, paths in sorted(held.items())]


def _folder(vault: Path, folder: str, paths: Iterable[Path]) -> str:
    digest, statuses, count = hashlib.sha256(), Counter[str](), 0
    for path in paths:
        raw = path.read_bytes()
        digest.update(
            f"{path.relative_to(vault).as_posix()}\n{len(raw)}\n".encode() + raw
        )
        count += 1
        if path.suffix == ".md":
            statuses[str(frontmatter.read(raw).keys.get("status") or "")] += 1
    told = ", ".join(
        f"{status} {number}" for status, number in sorted(statuses.items()) if status
    )
    return "  ".join(
        filter(None, [folder, f"{count} files", told, digest.hexdigest()[:16]])
    )


def table(months: Sequence[Month]) -> str:
    """Memories at the end of each month, and its calls of the model."""
    head = ["Month", *map(str.title, STAGES), "Archived", "Over", "Calls"]
    rows = [head, ["---"] * len(head)]
    for month in months:
        stages = [month.stage[name] for name in STAGES]
        numbers = [*stages, month.status["archived"], over(month), month.calls.total()]
        rows.append([month.name, *map(str, numbers)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def over(month: Month) -> int:
    """Memories that another replaced, or that a person or time ended."""
    return sum(month.status[name] for name in OVER)


def plot(months: Sequence[Month]) -> str:
    """A bar for each month: what is active by stage, above it what is archived and
    over.
    """
    bars = [_parts(month) for month in months]
    most = max(sum(bar.values()) for bar in bars) or 1
    step = max(1, -(-most // _STEPS // 10) * 10)
    top = max(step * _STEPS, most)
    wide = _LEFT + len(bars) * (_BAR + _GAP) + _GAP
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {_TOP + _HIGH + _BELOW}"',
        'font-family="sans-serif" font-size="10" role="img">',
        "<title>Memories at the end of each month</title>",
        f'<rect width="{wide}" height="{_TOP + _HIGH + _BELOW}" fill="#ffffff"/>',
    ]
    for value in range(0, top + 1, step):
        y = _y(value, top)
        out.append(
            f'<line x1="{_LEFT}" x2="{wide - _GAP}" y1="{y}" y2="{y}" stroke="#e3e5e8"/>'
        )
        out.append(
            f'<text x="{_LEFT - 6}" y="{y + 3}" text-anchor="end" fill="#555">{value}</text>'
        )
    for place, (month, bar) in enumerate(zip(months, bars, strict=True)):
        x, height = _LEFT + _GAP + place * (_BAR + _GAP), 0
        for name, count in bar.items():
            if count:
                low, high = _y(height, top), _y(height + count, top)
                shape = (
                    f'x="{x}" y="{high}" width="{_BAR}" height="{round(low - high, 1)}"'
                )
                out.append(
                    f'<rect {shape} fill="{COLOURS[name]}"><title>{month.name}: {name} {count}</title></rect>'
                )
            height += count
        out.append(
            f'<text x="{x + _BAR / 2}" y="{_TOP + _HIGH + 14}" text-anchor="middle">{month.name[2:]}</text>'
        )
    x = _LEFT
    for name, colour in COLOURS.items():
        out.append(
            f'<rect x="{x}" y="{_TOP + _HIGH + 34}" width="10" height="10" fill="{colour}"/>'
        )
        out.append(f'<text x="{x + 14}" y="{_TOP + _HIGH + 43}">{name}</text>')
        x += 24 + 6 * len(name)
    return "\n".join([*out, "</svg>", ""])


def _parts(month: Month) -> dict[str, int]:
    return {name: month.stage[name] for name in STAGES} | {
        "archived": month.status["archived"],
        "over": over(month),
    }


def _y(value: int, top: int) -> float:
    return round(_TOP + _HIGH * (1 - value / top), 1)
