"""The places of plots: a heat strip of days, a curve, a neighbourhood."""

from __future__ import annotations

import math
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any
from unicodedata import east_asian_width

from engram.serve.web.markup import brief

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LEVELS = 4
STEP = 14
"""Pixels from one day of the strip to the next."""
WEEKDAYS, WEEKS = 7, 53
WIDTH, HEIGHT = 640, 120
COLUMNS = ((10, 22), (205, 34), (480, 34))
"""Left edge of each column of a neighbourhood, and the characters of a name there."""
WIDE = (*COLUMNS[:1], (205, 74), COLUMNS[-1])
"""The same for a neighbourhood without a last column."""
ROW = 26
LETTER = 6.8
"""Approximate width of a Latin letter of a name, in pixels."""


def first_day(last: date) -> date:
    """Return the first day of a strip, a Monday."""
    return last - timedelta(days=last.weekday() + WEEKDAYS * (WEEKS - 1))


def heat_strip(counts: Mapping[str, int], last: date) -> dict[str, Any]:
    """Return a year of days, a column for each week: cells with places and levels."""
    first = first_day(last)
    most = max(counts.values(), default=1)
    cells, months = [], []
    for number in range((last - first).days + 1):
        when = first + timedelta(days=number)
        week, weekday = divmod(number, WEEKDAYS)
        if when.day == 1:
            x = (week + (weekday > 0)) * STEP
            months.append({"name": f"{when:%b}", "x": x})
        count = counts.get(when.isoformat(), 0)
        level = math.ceil(LEVELS * math.log1p(count) / math.log1p(most))
        cells.append(
            {"day": when.isoformat(), "count": count, "level": level if count else 0}
            | {"x": week * STEP, "y": weekday * STEP + 18}
        )
    size = {"width": WEEKS * STEP, "height": 18 + WEEKDAYS * STEP}
    return {"cells": cells, "months": months, **size}


def curve(values: Sequence[float]) -> str:
    """Return the points of values from 0 to 1 at equal steps."""
    step = WIDTH / max(1, len(values) - 1)
    return " ".join(
        f"{number * step:.1f},{HEIGHT - value * HEIGHT:.1f}"
        for number, value in enumerate(values)
    )


def neighbourhood(
    nodes: Sequence[Mapping[str, Any]], edges: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return a graph in columns: the first node, its neighbours, and theirs.

    A node has `id`, `name`, `kind` and `distance`; an edge `source`, `target`, `type`
    and `confidence`. An edge begins after the name of its node on the left.
    """
    ties: dict[str, list[str]] = {}
    for edge in edges:
        ties.setdefault(edge["source"], []).append(edge["target"])
        ties.setdefault(edge["target"], []).append(edge["source"])
    by_column: list[list[Mapping[str, Any]]] = [[] for _ in COLUMNS]
    for node in nodes:
        by_column[min(node["distance"], len(COLUMNS) - 1)].append(node)
    most = max(map(len, by_column))
    placed: dict[str, dict[str, Any]] = {}
    alone = not by_column[-1]
    for (x, letters), column in zip(WIDE if alone else COLUMNS, by_column, strict=True):
        above = {key: one["y"] for key, one in placed.items()}
        column.sort(
            key=lambda node: min(
                (above[one] for one in ties.get(node["id"], ()) if one in above),
                default=0,
            )
        )
        top = (most - len(column)) * ROW / 2 + ROW
        for number, node in enumerate(column):
            name = brief(node["name"], letters)
            wide = sum(1 + (east_asian_width(one) in "WF") for one in name)
            placed[node["id"]] = {
                **node,
                "short": name,
                "x": x,
                "y": round(top + number * ROW),
                "end": x + 18 + round(wide * LETTER),
            }
    paths = [
        {**edge, "d": _path(placed[edge["source"]], placed[edge["target"]])}
        for edge in edges
        if edge["source"] in placed and edge["target"] in placed
    ]
    return {"nodes": list(placed.values()), "edges": paths, "height": (most + 1) * ROW}


def _path(source: Mapping[str, Any], target: Mapping[str, Any]) -> str:
    """Return an edge as a curve; within a column it bends to the left."""
    left, right = sorted((source, target), key=lambda node: int(node["x"]))
    if left["x"] == right["x"]:
        bend = left["x"] - min(60, 12 + abs(left["y"] - right["y"]) // 6)
        return (
            f"M{left['x']} {left['y']}C{bend} {left['y']} {bend} {right['y']}"
            f" {right['x']} {right['y']}"
        )
    middle = max(left["end"], (left["end"] + right["x"]) // 2)
    return (
        f"M{left['end']} {left['y']}C{middle} {left['y']} {middle} {right['y']}"
        f" {right['x'] - 6} {right['y']}"
    )
