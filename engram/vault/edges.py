"""The edges of the memory graph that are in no note: `state/edges.jsonl`.

(Rows A13, B1, C34.) The file is append-only and merged by union. Each line has an id
and a time, and the last line of an id counts. Edges that follow from front matter (a
shared entity, the order of a conversation) are derived, and stored only after they were
reinforced.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from engram.core import jsonl
from engram.core.records import EDGE_TYPES, Edge
from engram.core.relations import DAY
from engram.vault import disk
from engram.vault.paths import Stat, stat_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from engram.vault.store import Vault

EDGES = "state/edges.jsonl"
_DAY = re.compile(DAY)


@dataclass(frozen=True, slots=True)
class EdgeRow:
    """A stored edge; `unlisted` until the note of its source lists it.

    `trust` is the trust in its sources, 0–1 (`D6`). A `withdrawn` edge is based on
    hidden words, and connects nothing.
    """

    edge: Edge
    unlisted: bool = False
    trust: float = 1.0
    withdrawn: bool = False


def edge_id(edge: Edge) -> str:
    """Return the id of an edge, 16 hex digits.

    It is a hash of its type, ends, label and start.
    """
    since = edge.valid_from.timestamp() if edge.valid_from else ""
    parts = (edge.type, edge.source, edge.target, edge.label, str(since))
    return disk.sha256("\n".join(parts).encode("utf-8", "replace"))[:16]


class EdgeStore:
    """The edges of one vault, in memory and in their file; for the writer only."""

    def __init__(self, vault: Vault) -> None:
        self.vault = vault
        self.lines: dict[str, EdgeRow] = {}
        self.withdrawn: dict[str, EdgeRow] = {}
        self._by_source: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
        self._by_end: dict[str, tuple[str, ...]] = {}
        self._stat: Stat | None = None

    def refresh(self) -> None:
        """Read the file again if another program changed it; skip foreign lines."""
        if (stat := self._stat_now()) == self._stat:
            return
        found = _lines(self.vault.read(EDGES)) if stat is not None else {}
        self.lines, self.withdrawn, self._stat = {}, {}, stat
        self._by_source.clear()
        self._by_end = {}
        self._take_in(found)

    def all(self) -> tuple[Edge, ...]:
        """Return every edge, also ended ones, in the order of their first lines."""
        return tuple(line.edge for line in self.lines.values())

    def at(self, ends: Iterable[str]) -> tuple[Edge, ...]:
        """Return the edges with an end in `ends`. Thread-safe."""
        by_end, lines = self._by_end, self.lines
        names = dict.fromkeys(name for end in ends for name in by_end.get(end, ()))
        return tuple(line.edge for name in names if (line := lines.get(name)))

    def same_relation(self, edge: Edge) -> dict[str, EdgeRow]:
        """Return the rows with the `relation_key` of `edge`, by id."""
        return {
            name: self.lines[name]
            for name in sorted(self._by_source.get(relation_key(edge), ()))
            if name in self.lines
        }

    def unlisted(self) -> dict[str, EdgeRow]:
        """Return the rows that the note of their source does not list yet, by id."""
        return {name: line for name, line in self.lines.items() if line.unlisted}

    def append(self, lines: Iterable[EdgeRow]) -> None:
        """Append the rows that are new or changed, durably."""
        fresh = {
            name: line
            for line in lines
            if self.lines.get(name := edge_id(line.edge)) != line
        }
        if not fresh:
            return
        self.vault.append(EDGES, _raw(fresh))
        self._take_in(fresh)
        self._stat = self._stat_now()

    def with_edges(self, edges: Iterable[Edge]) -> bytes:
        """Return the content of the file with lines for these edges appended."""
        raw = self.vault.read(EDGES) if self.vault.exists(EDGES) else b""
        known = ((edge_id(edge), edge) for edge in edges)
        lines = {
            name: replace(self.lines.get(name) or EdgeRow(edge), edge=edge)
            for name, edge in known
        }
        return raw + (b"" if not raw or raw.endswith(b"\n") else b"\n") + _raw(lines)

    def compact(self) -> int:
        """Remove all but the last line of each id, and return the saved bytes.

        It is never called automatically.
        """
        if not self.vault.exists(EDGES):
            return 0
        before = len(self.vault.read(EDGES))
        return before - len(self.vault.rewrite(EDGES, lambda raw: _raw(_lines(raw))))

    def _take_in(self, lines: Mapping[str, EdgeRow]) -> None:
        self.lines |= lines
        for name, line in lines.items():
            self.withdrawn.pop(name, None)
            if line.withdrawn:
                self.withdrawn[name] = self.lines.pop(name)
        for name, line in lines.items():
            self._by_source[relation_key(line.edge)].add(name)
            for end in (line.edge.source, line.edge.target):
                if name not in (known := self._by_end.get(end, ())):
                    self._by_end[end] = (*known, name)

    def _stat_now(self) -> Stat | None:
        try:
            return stat_of((self.vault.root / EDGES).lstat())
        except FileNotFoundError:
            return None


def relation_key(edge: Edge) -> tuple[str, str, str]:
    """Return the key of edges that may exclude each other.

    It consists of type, label and name of the source.
    """
    return edge.type, edge.label, edge.source.partition(":")[2] or edge.source


def _lines(raw: bytes) -> dict[str, EdgeRow]:
    return dict(filter(None, map(_edge_row, jsonl.rows(raw))))


def _raw(lines: Mapping[str, EdgeRow]) -> bytes:
    return jsonl.encode(_row(name, line) for name, line in lines.items())


def _row(name: str, line: EdgeRow) -> dict[str, object]:
    edge = line.edge
    row: dict[str, object] = {
        "id": name,
        "at": _text(edge.reinforced),
        "type": edge.type,
        "from": edge.source,
        "to": edge.target,
        "label": edge.label,
        "confidence": round(edge.confidence, 4),
        "valid_from": _text(edge.valid_from),
        "valid_until": _text(edge.valid_until),
        "since": edge.since,
        "until": edge.until,
        "attitude": edge.attitude,
        "proximity": edge.proximity,
        "owed": line.unlisted,
        "trust": line.trust if line.trust < 1 else None,
        "withdrawn": line.withdrawn,
    }
    return {
        key: value
        for key, value in row.items()
        if key == "confidence" or value not in {None, "", False}
    }


def _edge_row(row: Mapping[str, Any]) -> tuple[str, EdgeRow] | None:
    """Return the id and the edge of a row, or None if the row is no edge."""
    if row.get("type") not in EDGE_TYPES:
        return None
    if not all(
        isinstance(row.get(key), str) and row[key] for key in ("id", "from", "to")
    ):
        return None
    confidence, trust = row.get("confidence", 1.0), row.get("trust", 1.0)
    if not _is_share(confidence) or not _is_share(trust):
        return None
    edge = Edge(
        row["from"],
        row["to"],
        row["type"],
        label=row["label"] if isinstance(row.get("label"), str) else "",
        confidence=float(confidence),
        reinforced=_time(row.get("at")),
        valid_from=_time(row.get("valid_from")),
        valid_until=_time(row.get("valid_until")),
        attitude=_level(row.get("attitude")),
        proximity=_level(row.get("proximity")),
        since=_day(row.get("since")),
        until=_day(row.get("until")),
    )
    return row["id"], EdgeRow(
        edge,
        unlisted=row.get("owed") is True,
        trust=float(trust),
        withdrawn=row.get("withdrawn") is True,
    )


def _is_share(value: Any) -> bool:
    return (
        not isinstance(value, bool)
        and isinstance(value, int | float)
        and 0 <= value <= 1
    )


def _text(when: datetime | None) -> str:
    return when.isoformat() if when else ""


def _time(value: Any) -> datetime | None:
    try:
        when = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return when if when.tzinfo else None


def _day(value: Any) -> str:
    return value if isinstance(value, str) and _DAY.fullmatch(value) else ""


def _level(value: Any) -> int | None:
    return (
        value
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 5
        else None
    )
