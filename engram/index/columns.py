"""How the lexical index lies in memory and on disk.

Two segments answer together: a frozen one, CSR arrays mapped from the snapshot file,
and a delta of what came since. Row 0 is nobody: links that lead nowhere lead there, so
following them needs no test.
"""

from __future__ import annotations

import json
import mmap
import zlib
from array import array
from collections import Counter
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Places = NDArray[np.intp]
"""Row numbers to index arrays with: any other kind of number is converted each time, at
thrice the cost.
"""
Bytes = NDArray[np.uint8]

COLUMNS = {
    **dict.fromkeys(("alive", "asks", "timed", "counted", "telling"), "?"),
    **dict.fromkeys(("kind", "status", "role", "language"), "u1"),
    **dict.fromkeys(
        (
            "persona",
            "speaker",
            "thread",
            "position",
            "before",
            "after",
            "length",
            "day",
        ),
        "i4",
    ),
    "digest": "u8",
    **dict.fromkeys(("when", "created", "valid_from", "valid_until"), "f8"),
}
"""What is known of a unit besides its words; times in epoch seconds, NaN where unknown.
"""

_BULK = 20_000
"""From so many postings on it is cheaper to freeze them than to file each under its
term.
"""

_MAGIC = b"engram-lexical"
_ALIGN = 64


class DamagedError(Exception):
    """The snapshot is not whole, or another version wrote it."""


class StringTable:
    """Strings as small numbers, and back; number 0 is the empty string."""

    def __init__(self, known: Iterable[str] = ("",)) -> None:
        self.all = list(known)
        self._codes = {name: code for code, name in enumerate(self.all)}

    def code(self, name: str) -> int:
        """The number of `name`, given out now if need be."""
        found = self._codes.get(name)
        if found is None:
            found = self._codes[name] = len(self.all)
            self.all.append(name)
        return found

    def find(self, name: str) -> int:
        """The number of `name`, or -1."""
        return self._codes.get(name, -1)


class Columns(dict[str, NDArray[Any]]):
    """An array for each name of `COLUMNS`, all of one length: a question reads few of
    them, at many rows.
    """

    @classmethod
    def empty(cls, size: int) -> Columns:
        """Nothing is known yet of `size` rows."""
        return cls({name: np.zeros(size, kind) for name, kind in COLUMNS.items()})

    @property
    def room(self) -> int:
        """For how many rows there is room."""
        return len(self["alive"])

    def part(self, rows: Ints | slice) -> Columns:
        """These rows alone."""
        return Columns({name: values[rows] for name, values in self.items()})

    def grown(self, size: int) -> Columns:
        """A copy with room for `size` rows, no fewer than there are."""
        larger = Columns.empty(size)
        for name, values in self.items():
            larger[name][: len(values)] = values
        return larger


class ColumnStore:
    """The units: keys, columns, and the order of turns inside their threads."""

    def __init__(self) -> None:
        self.keys: list[str] = [""]
        self.by_key: dict[str, int] = {}
        self.columns = Columns.empty(256)
        self._last: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.by_key)

    @property
    def size(self) -> int:
        """Rows in use, the dead and row 0 included."""
        return len(self.keys)

    def add(self, key: str, values: Mapping[str, Any]) -> int:
        """A new row for `key`, which must not be there; linked into its thread (code 0:
        none).
        """
        row = len(self.keys)
        if row == self.columns.room:
            self.columns = self.columns.grown(2 * row)
        self.keys.append(key)
        self.by_key[key] = row
        for name, value in values.items():
            self.columns[name][row] = value
        self.columns["alive"][row] = True
        if values["thread"]:
            self._link(row, values["thread"])
        return row

    def remove(self, key: str) -> int:
        """The row that `key` had; it is dead and unlinked now."""
        row, columns = self.by_key.pop(key), self.columns
        before, after, thread = (
            int(columns[name][row]) for name in ("before", "after", "thread")
        )
        if before:
            columns["after"][before] = after
        if after:
            columns["before"][after] = before
        elif thread:
            self._last[thread] = before
        columns["alive"][row] = False
        return row

    def _link(self, row: int, thread: int) -> None:
        """Walk back from the thread's end to the place of `row`: one step for a turn
        that was just said.
        """
        columns, after = self.columns, 0
        place = (columns["position"][row], self.keys[row])
        before = self._last.get(thread, 0)
        while before and (columns["position"][before], self.keys[before]) > place:
            before, after = int(columns["before"][before]), before
        columns["before"][row], columns["after"][row] = before, after
        if before:
            columns["after"][before] = row
        if after:
            columns["before"][after] = row
        else:
            self._last[thread] = row

    def copy(self) -> ColumnStore:
        """The same, safe from later changes."""
        twin = ColumnStore()
        twin.keys, twin.by_key = list(self.keys), dict(self.by_key)
        twin.columns, twin._last = (
            self.columns.part(slice(self.size)).grown(self.size),
            dict(self._last),
        )
        return twin

    def by_order_of_keys(self) -> Ints:
        """The living rows, by key: the one order that no history can change."""
        return np.array([self.by_key[key] for key in sorted(self.by_key)], np.int32)

    def folded(self, order: Ints) -> tuple[ColumnStore, Ints]:
        """A copy with the rows of `order` alone, and the new number of each old row (0:
        gone).
        """
        renumbered = np.zeros(self.size, np.int32)
        renumbered[order] = np.arange(1, len(order) + 1)
        columns = self.columns.part(np.concatenate([np.zeros(1, np.int32), order]))
        for link in ("before", "after"):
            columns[link] = renumbered[columns[link]]
        return ColumnStore.of(
            ["", *(self.keys[row] for row in order.tolist())], columns
        ), renumbered

    @classmethod
    def of(cls, keys: list[str], columns: Columns) -> ColumnStore:
        """Rows as a snapshot holds them: all alive; with some room to grow."""
        rows = cls()
        rows.keys, rows.columns = keys, columns.grown(columns.room * 9 // 8 + 256)
        rows.by_key = dict(zip(keys[1:], range(1, len(keys)), strict=True))
        ends = np.flatnonzero((columns["after"] == 0) & (columns["thread"] > 0))
        rows._last = dict(
            zip(columns["thread"][ends].tolist(), ends.tolist(), strict=True)
        )
        return rows


class _Codes(dict[str, int]):
    """Terms as small numbers; who asks for one that is not there gives it the next."""

    def __missing__(self, term: str) -> int:
        code = self[term] = len(self)
        return code


class Postings:
    """Which rows hold a term, and how often: the frozen arrays, the delta, and what is
    not settled yet.
    """

    def __init__(
        self,
        spelled: Bytes | None = None,
        starts: Ints | None = None,
        rows: Ints | None = None,
        counts: Ints | None = None,
    ) -> None:
        self._spelled = np.zeros(0, np.uint8) if spelled is None else spelled
        self.starts = np.zeros(1, np.int32) if starts is None else starts
        self.rows = np.zeros(0, np.int32) if rows is None else rows
        self.counts = np.zeros(0, np.int32) if counts is None else counts
        self._frozen = len(self.starts) - 1
        self._delta: dict[int, tuple[array[int], array[int]]] = {}
        self._arrived: dict[int, array[int]] = {}
        self._fresh = 0

    @cached_property
    def terms(self) -> _Codes:
        """The number of each term. Those of a snapshot are read when the first is asked
        for: a start asks for none.
        """
        return _Codes(zip(self._spelled.tobytes().decode().split(), count()))

    @property
    def spelled(self) -> Bytes:
        """The terms as a snapshot holds them: one text, for a word has no blank."""
        return np.frombuffer(" ".join(self.terms).encode(), np.uint8)

    def add(self, row: int, terms: Sequence[str]) -> None:
        """Row `row`, the latest, holds these terms, each as often as it is named; to be
        found after `settle`.
        """
        self._arrived[row] = array("i", map(self.terms.__getitem__, terms))
        self._fresh += len(terms)

    def settle(self) -> None:
        """File what was added: many postings make a new frozen segment with all there
        are, some join the delta.
        """
        arrived, fresh = self._arrived, self._fresh
        self._arrived, self._fresh = {}, 0
        if fresh > max(_BULK, len(self.rows) // 4):
            self._freeze(arrived)
            return
        for row, terms in arrived.items():
            for code, times in Counter(terms).items():
                lists = self._delta.get(code)
                if lists is None:
                    lists = self._delta[code] = (array("i"), array("i"))
                lists[0].append(row)
                lists[1].append(times)

    def _freeze(self, arrived: Mapping[int, array[int]]) -> None:
        """All postings in one frozen segment, with what arrived; of a term in the order
        in which they came.
        """
        held = np.repeat(
            np.array(list(arrived), np.int64),
            [len(terms) for terms in arrived.values()],
        )
        named = np.concatenate(
            [np.asarray(terms, np.int64) for terms in arrived.values()]
        )
        pairs, times = np.unique(named << 32 | held, return_counts=True)
        fresh = (pairs >> 32, pairs & 0xFFFFFFFF, times)
        parts = zip(self.triples(), fresh, strict=True)
        codes, rows, counts = (
            np.concatenate([had, new.astype(np.int32)]) for had, new in parts
        )
        order = np.argsort(codes, kind="stable")
        self._frozen, self._delta = len(self.terms), {}
        self.starts = np.zeros(self._frozen + 1, np.int32)
        np.cumsum(np.bincount(codes, minlength=self._frozen), out=self.starts[1:])
        self.rows, self.counts = rows[order], counts[order]

    def of(self, term: str) -> tuple[Ints, Ints]:
        """Rows and counts of `term`; rows that have died since are among them."""
        code = self.terms.get(term)
        if code is None:
            return self.rows[:0], self.counts[:0]
        return self._of(code)

    def _of(self, code: int) -> tuple[Ints, Ints]:
        rows, counts = self.rows[:0], self.counts[:0]
        if code < self._frozen:
            part = slice(self.starts[code], self.starts[code + 1])
            rows, counts = self.rows[part], self.counts[part]
        if code in self._delta:
            later_rows, later_counts = self._delta[code]
            fresh = np.array(later_rows, np.int32), np.array(later_counts, np.int32)
            if not len(rows):
                return fresh
            rows, counts = (
                np.concatenate([rows, fresh[0]]),
                np.concatenate([counts, fresh[1]]),
            )
        return rows, counts

    def triples(self) -> tuple[Ints, Ints, Ints]:
        """Every posting of both segments: term, row, count."""
        codes = [
            np.repeat(np.arange(self._frozen, dtype=np.int32), np.diff(self.starts))
        ]
        rows, counts = [self.rows], [self.counts]
        for code, (later_rows, later_counts) in self._delta.items():
            codes.append(np.full(len(later_rows), code, np.int32))
            rows.append(np.array(later_rows, np.int32))
            counts.append(np.array(later_counts, np.int32))
        return np.concatenate(codes), np.concatenate(rows), np.concatenate(counts)

    def copy(self) -> Postings:
        """The same, safe from later additions; the frozen arrays are shared."""
        twin = Postings(None, self.starts, self.rows, self.counts)
        twin.terms, twin._frozen = _Codes(self.terms), self._frozen
        twin._delta = {
            code: (rows[:], counts[:]) for code, (rows, counts) in self._delta.items()
        }
        return twin

    def folded(self, renumbered: Ints) -> Postings:
        """One frozen segment of the rows that live on, terms in alphabetical order."""
        codes, rows, counts = self.triples()
        rows = renumbered[rows]
        living = rows > 0
        codes, rows, counts = codes[living], rows[living], counts[living]
        names = list(self.terms)
        used = sorted(np.unique(codes).tolist(), key=names.__getitem__)
        place = np.zeros(len(names), np.int64)
        place[used] = np.arange(len(used))
        order = np.argsort(place[codes] * (int(renumbered.max(initial=0)) + 1) + rows)
        starts = np.zeros(len(used) + 1, np.int32)
        np.cumsum(np.bincount(place[codes], minlength=len(used)), out=starts[1:])
        twin = Postings(None, starts, rows[order], counts[order])
        twin.terms = _Codes(zip((names[code] for code in used), count()))
        return twin

    def document_counts(
        self, rank: Ints, without: tuple[str, ...] = ()
    ) -> dict[str, int]:
        """Term → documents that hold it, in order of first appearance by `rank` (0:
        dead), then by name.

        Terms that begin with one of `without` are left out.
        """
        codes, rows, _ = self.triples()
        ranks = rank[rows]
        codes, ranks = codes[ranks > 0], ranks[ranks > 0]
        first = np.full(len(self.terms), np.iinfo(np.int32).max, np.int32)
        np.minimum.at(first, codes, ranks)
        documents = np.bincount(codes, minlength=len(self.terms)).tolist()
        present = sorted(zip(first.tolist(), self.terms, documents, strict=True))
        return {
            name: many
            for _, name, many in present
            if many and not name.startswith(without)
        }


def pack(
    version: str, tables: Mapping[str, list[str]], arrays: Mapping[str, NDArray[Any]]
) -> bytes:
    """A snapshot as bytes: one line with version and checksum, the tables as JSON, then
    the arrays.
    """
    layout: dict[str, tuple[str, int, int]] = {}
    pieces: list[bytes] = []
    place = 0
    for name, values in arrays.items():
        raw = np.ascontiguousarray(values).tobytes()
        layout[name] = (values.dtype.str, place, len(values))
        padding = -len(raw) % _ALIGN
        pieces += [raw, bytes(padding)]
        place += len(raw) + padding
    head = json.dumps(
        {"tables": tables, "layout": layout}, separators=(",", ":")
    ).encode("ascii")
    head += b" " * (-len(head) % _ALIGN)
    payload = b"".join([head, *pieces])
    line = b" ".join(
        [
            _MAGIC,
            version.encode("ascii"),
            f"{zlib.crc32(payload):08x} {len(head)}".encode("ascii"),
        ]
    )
    return line + b" " * (-(len(line) + 1) % _ALIGN) + b"\n" + payload


def unpack(
    path: Path, version: str
) -> tuple[dict[str, list[str]], dict[str, NDArray[Any]]]:
    """Tables and mapped arrays of the snapshot `path`; `DamagedError` if they cannot be
    trusted.
    """
    try:
        with path.open("rb") as file:
            held = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as fault:  # absent, or empty
        raise DamagedError from fault
    end = held.find(b"\n", 0, 4096)
    line = held[: max(end, 0)].split()
    payload = memoryview(held)[end + 1 :]
    expected = [
        _MAGIC,
        version.encode("ascii"),
        f"{zlib.crc32(payload):08x}".encode("ascii"),
    ]
    if line[:3] != expected:
        raise DamagedError
    size = int(line[3])
    head = json.loads(bytes(payload[:size]))
    arrays = {
        name: np.frombuffer(payload, np.dtype(kind), count, size + place)
        for name, (kind, place, count) in head["layout"].items()
    }
    return head["tables"], arrays
