"""Plots as SVG: bars of signals, a heat strip of days, a curve, a neighbourhood."""

from __future__ import annotations

import math
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from engram.serve.web.html import Html, shortened, tag

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

LEVELS = 4
BEND = 0.32
"""How far an edge bends: 0.5 is straight, 0 passes through the middle."""
CELL, GAP = 11, 3
WEEKDAYS = 7
MONTHS = [
    "Jan",
    "Feb",
    "Mar",
    "Apr",
    "May",
    "Jun",
    "Jul",
    "Aug",
    "Sep",
    "Oct",
    "Nov",
    "Dec",
]


def bar(share: float, *, name: str = "bar") -> Html:
    """Return a horizontal bar that is filled by `share` (0–1)."""
    width = f"{100 * min(1.0, max(0.0, share)):.1f}%"
    return tag(
        "svg",
        tag("rect", width="100%", height="100%", rx=2, class_="track"),
        tag("rect", width=width, height="100%", rx=2, class_="fill"),
        class_=name,
        aria_hidden="true",
    )


def heat_strip(
    counts: Mapping[str, int], last: date, weeks: int, href: Callable[[str], str]
) -> Html:
    """Return a year of days, a column for each week; a day with entries is a link."""
    first = last - timedelta(days=last.weekday() + WEEKDAYS * (weeks - 1))
    most = max(counts.values(), default=1)
    cells: list[Html] = []
    labels: list[Html] = []
    for number in range((last - first).days + 1):
        when = first + timedelta(days=number)
        x, y = (number // WEEKDAYS) * (CELL + GAP), number % WEEKDAYS * (CELL + GAP)
        if when.day == 1:
            label_x = x if y == 0 else x + CELL + GAP
            labels.append(tag("text", MONTHS[when.month - 1], x=label_x, y=10))
        cells.append(_cell(when.isoformat(), counts, most, (x, y + 18), href))
    width = weeks * (CELL + GAP)
    return tag(
        "svg",
        *labels,
        *cells,
        viewBox=f"0 0 {width} {18 + WEEKDAYS * (CELL + GAP)}",
        width=width,
        class_="heat",
        role="group",
        aria_label="Memories by day",
    )


def _cell(
    name: str,
    counts: Mapping[str, int],
    most: int,
    place: tuple[int, int],
    href: Callable[[str], str],
) -> Html:
    count = counts.get(name, 0)
    level = math.ceil(LEVELS * math.log1p(count) / math.log1p(most)) if count else 0
    rect = {"x": place[0], "y": place[1], "width": CELL, "height": CELL, "rx": 2}
    if not count:
        return tag("rect", **rect, class_="h0")
    words = f"{name}: {count}"
    inner = tag("rect", tag("title", words), **rect, class_=f"h{level}")
    return tag("a", inner, href=href(name), tabindex="-1", aria_label=words)


def curve(values: Sequence[float], label: str, marks: Sequence[str]) -> Html:
    """Return values from 0 to 1 at equal steps as a line above labelled marks."""
    width, height = 640, 120
    step = width / max(1, len(values) - 1)
    points = [
        f"{number * step:.1f},{height - value * height:.1f}"
        for number, value in enumerate(values)
    ]
    line = " ".join(points)
    ends = len(marks) - 1 or 1
    words = [
        tag(
            "text",
            mark,
            x=f"{width * number / ends:.0f}",
            y=height + 20,
            text_anchor="start" if not number else "end" if number == ends else "middle",
        )
        for number, mark in enumerate(marks)
    ]  # fmt: skip
    return tag(
        "svg",
        tag("title", label),
        *[
            tag("line", x1=0, x2=width, y1=y, y2=y, class_="grid")
            for y in (0, height // 2, height)
        ],
        tag("polygon", points=f"0,{height} {line} {width},{height}", class_="area"),
        tag("polyline", points=line, class_="line"),
        *words,
        viewBox=f"-2 -6 {width + 4} {height + 30}",
        class_="curve",
        role="img",
    )


def neighbourhood(
    nodes: Sequence[Mapping[str, Any]],
    edges: Sequence[Mapping[str, Any]],
    href: Callable[[str], str],
) -> Html:
    """Return a graph: the first node in the middle, the others in rings around it.

    A node has `id`, `name`, `kind` and `distance`; an edge `source`, `target`, `type`
    and `confidence`.
    """
    places = _places(nodes, edges)
    size = max((max(abs(x), abs(y)) for x, y in places.values()), default=60) + 90
    paths = [
        _path(edge, places[edge["source"]], places[edge["target"]])
        for edge in edges
        if edge["source"] in places and edge["target"] in places
    ]
    dots = [
        _dot(number, node, places[node["id"]], href)
        for number, node in enumerate(nodes)
    ]
    return tag(
        "svg",
        tag("g", *paths),
        tag("g", *dots),
        viewBox=f"{-size:.0f} {-size:.0f} {2 * size:.0f} {2 * size:.0f}",
        class_="graph",
        role="group",
        aria_label="Neighbourhood",
    )


def _path(
    edge: Mapping[str, Any], start: tuple[float, float], end: tuple[float, float]
) -> Html:
    """Return an edge that bends towards the middle."""
    x, y = ((start[0] + end[0]) * BEND, (start[1] + end[1]) * BEND)
    return tag(
        "path",
        tag("title", f"{edge['type']} {edge['confidence']:.2f}"),
        d=f"M{start[0]:.0f} {start[1]:.0f}Q{x:.0f} {y:.0f} {end[0]:.0f} {end[1]:.0f}",
        class_=f"e{min(3, int(4 * edge['confidence']))}",
    )


def _dot(
    number: int,
    node: Mapping[str, Any],
    place: tuple[float, float],
    href: Callable[[str], str],
) -> Html:
    """Return a node with its number in the list; entities and the first have a name."""
    x, y = place
    is_entity = node["kind"] == "entity"
    at = {"x": f"{x:.0f}", "text_anchor": "middle"}
    words = None
    if is_entity or not number:
        words = tag(
            "text", brief(node["name"], 26), class_="name", **_name_position(x, y)
        )
    count = (
        tag("text", number, y=f"{y + 4:.0f}", **at)
        if number and not is_entity
        else None
    )
    return tag(
        "a",
        tag("title", shortened(node["name"], 200)),
        tag(
            "circle",
            cx=f"{x:.0f}",
            cy=f"{y:.0f}",
            r=9 if is_entity or not number else 11,
            class_=node["kind"] if number else "first",
        ),
        count,
        words,
        href=href(node["id"]),
    )


def _name_position(x: float, y: float) -> dict[str, str]:
    """Return the position of a node's name: on the side away from the middle."""
    if abs(x) <= abs(y) or not x:
        up = y <= 0
        return {
            "x": f"{x:.0f}",
            "y": f"{y - 16 if up else y + 25:.0f}",
            "text_anchor": "middle",
        }
    side = 15 if x > 0 else -15
    return {
        "x": f"{x + side:.0f}",
        "y": f"{y + 5:.0f}",
        "text_anchor": "start" if x > 0 else "end",
    }


def brief(words: str, most: int) -> str:
    """Return the beginning of a text, with an ellipsis if it was cut."""
    plain = " ".join(words.split())
    return plain if len(plain) <= most else f"{plain[: most - 1].rstrip()}…"


def _places(
    nodes: Sequence[Mapping[str, Any]], edges: Sequence[Mapping[str, Any]]
) -> dict[str, tuple[float, float]]:
    """Return the place of each node: a ring for each distance, near its parent."""
    ties: dict[str, list[str]] = {}
    for edge in edges:
        ties.setdefault(edge["source"], []).append(edge["target"])
        ties.setdefault(edge["target"], []).append(edge["source"])
    angles: dict[str, float] = {}
    places: dict[str, tuple[float, float]] = {}
    radius = 0.0
    for ring in sorted({node["distance"] for node in nodes}):
        names = [node["id"] for node in nodes if node["distance"] == ring]
        if not ring:
            angles |= dict.fromkeys(names, 0.0)
            places |= dict.fromkeys(names, (0.0, 0.0))
            continue

        parents = {name: _parent_angle(ties.get(name, ()), angles) for name in names}
        names.sort(key=parents.__getitem__)
        if ring == 1:
            names = _spread(
                names, {one["id"] for one in nodes if one["kind"] == "entity"}
            )
        # a node takes 30 units of the ring; the names of entities need more
        radius = max(radius + 110, len(names) * 30 / math.tau)
        for number, name in enumerate(names):
            angle = math.tau * number / len(names) - math.pi / 2
            angles[name] = angle
            places[name] = (radius * math.cos(angle), radius * math.sin(angle))
    return places


def _spread(names: Sequence[str], apart: Collection[str]) -> list[str]:
    """Return the names in an order that spaces those of `apart` evenly."""
    rest = [name for name in names if name not in apart]
    step = len(names) / max(1, len(names) - len(rest))
    for number, name in enumerate(one for one in names if one in apart):
        rest.insert(round(number * step), name)
    return rest


def _parent_angle(tied: Sequence[str], angles: Mapping[str, float]) -> float:
    return min((angles[one] for one in tied if one in angles), default=0.0)
