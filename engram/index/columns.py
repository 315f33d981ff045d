"""The data of the lexical index in memory and on disk.

Postings have two segments: a frozen one, CSR arrays mapped from the snapshot file, and
a delta of later additions. Row 0 is empty: links without a target lead to it, so that
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
"""Row numbers as array indexes.

Indexing with another integer type converts it each time, at three times the cost.
"""
Bytes = NDArray[np.uint8]

COLUMNS = {
    **dict.fromkeys(("alive", "asks", "timed", "counted", "telling", "idle"), "?"),
    **dict.fromkeys(("kind", "status", "role", "voice", "language"), "u1"),
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
"""The columns of a unit; times in epoch seconds, NaN if unknown."""

_FREEZE_FROM = 20_000
"""The number of postings from which a new frozen segment is faster than the delta."""

_MAGIC = b"engram-lexical"
_ALIGN = 64


class DamagedError(Exception):
    """A snapshot is incomplete, or was written by another version."""


class StringTable:
    """Strings as small numbers; 0 is the empty string."""

    def __init__(self, known: Iterable[str] = ("",)) -> None:
        self.all = list(known)
        self._codes = {name: code for code, name in enumerate(self.all)}

    def code(self, name: str) -> int:
        """Return the number of `name`; a new name gets the next one."""
        found = self._codes.get(name)
        if found is None:
            found = self._codes[name] = len(self.all)
            self.all.append(name)
        return found

    def find(self, name: str) -> int:
        """Return the number of `name`, or -1."""
        return self._codes.get(name, -1)


class Columns(dict[str, NDArray[Any]]):
    """One array for each name of `COLUMNS`, all of one length."""

    @classmethod
    def empty(cls, size: int) -> Columns:
        """Return `size` rows of zeros."""
        return cls({name: np.zeros(size, kind) for name, kind in COLUMNS.items()})

    @property
    def room(self) -> int:
        """The capacity in rows."""
        return len(self["alive"])

    def part(self, rows: Ints | slice) -> Columns:
        """Return only these rows."""
        return Columns({name: values[rows] for name, values in self.items()})

    def grown(self, size: int) -> Columns:
        """Return a copy with a capacity of `size` rows, but no fewer than now."""
        larger = Columns.empty(size)
        for name, values in self.items():
            larger[name][: len(values)] = values
        return larger


class ColumnStore:
    """The units: keys, columns, and the order of turns in their threads."""

    def __init__(self) -> None:
        self.keys: list[str] = [""]
        self.by_key: dict[str, int] = {}
        self.columns = Columns.empty(256)
        self._last: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.by_key)

    @property
    def size(self) -> int:
        """The number of rows in use, with dead rows and row 0."""
        return len(self.keys)

    def add(self, key: str, values: Mapping[str, Any]) -> int:
        """Add a row for a new key, linked into its thread, and return its number."""
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
        """Unlink the row of `key`, mark it as dead and return its number."""
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
        """Link `row` into its thread by position.

        The search for its position begins at the end: one step for a new turn.
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
        """Return a copy that is independent of later changes."""
        twin = ColumnStore()
        twin.keys, twin.by_key = list(self.keys), dict(self.by_key)
        twin.columns, twin._last = (
            self.columns.part(slice(self.size)).grown(self.size),
            dict(self._last),
        )
        return twin

    def rows_by_key(self) -> Ints:
        """Return the live rows in the order of their keys."""
        return np.array([self.by_key[key] for key in sorted(self.by_key)], np.int32)

    def compacted(self, order: Ints) -> tuple[ColumnStore, Ints]:
        """Return a copy with only the rows of `order`.

        Also returns the new number of each old row, 0 for those left out.
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
        """Return the rows of a snapshot, all live, with some capacity to grow."""
        rows = cls()
        rows.keys, rows.columns = keys, columns.grown(columns.room * 9 // 8 + 256)
        rows.by_key = dict(zip(keys[1:], range(1, len(keys)), strict=True))
        ends = np.flatnonzero((columns["after"] == 0) & (columns["thread"] > 0))
        rows._last = dict(
            zip(columns["thread"][ends].tolist(), ends.tolist(), strict=True)
        )
        return rows


class _TermCodes(dict[str, int]):
    """Terms as small numbers; a new term gets the next one."""

    def __missing__(self, term: str) -> int:
        code = self[term] = len(self)
        return code


class Postings:
    """The rows that contain a term, with the number of occurrences."""

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
        self._new: dict[int, array[int]] = {}
        self._new_count = 0

    @cached_property
    def terms(self) -> _TermCodes:
        """The number of each term; those of a snapshot are read on first access."""
        return _TermCodes(zip(self._spelled.tobytes().decode().split(), count()))

    @property
    def spelled(self) -> Bytes:
        """The terms in the form of a snapshot: one text, separated by blanks."""
        return np.frombuffer(" ".join(self.terms).encode(), np.uint8)

    def add(self, row: int, terms: Sequence[str]) -> None:
        """Add the terms of the latest row; `settle` makes them findable."""
        self._new[row] = array("i", map(self.terms.__getitem__, terms))
        self._new_count += len(terms)

    def settle(self) -> None:
        """Make added terms findable.

        A few postings join the delta; many make a new frozen segment together with all
        others.
        """
        arrived, fresh = self._new, self._new_count
        self._new, self._new_count = {}, 0
        if fresh > max(_FREEZE_FROM, len(self.rows) // 4):
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
        """Merge all postings into one frozen segment, in order of arrival by term."""
        row_codes = np.repeat(
            np.array(list(arrived), np.int64),
            [len(terms) for terms in arrived.values()],
        )
        term_codes = np.concatenate(
            [np.asarray(terms, np.int64) for terms in arrived.values()]
        )
        pairs, times = np.unique(term_codes << 32 | row_codes, return_counts=True)
        fresh = (pairs >> 32, pairs & 0xFFFFFFFF, times)
        parts = zip(self.all_postings(), fresh, strict=True)
        codes, rows, counts = (
            np.concatenate([had, new.astype(np.int32)]) for had, new in parts
        )
        order = np.argsort(codes, kind="stable")
        self._frozen, self._delta = len(self.terms), {}
        self.starts = np.zeros(self._frozen + 1, np.int32)
        np.cumsum(np.bincount(codes, minlength=self._frozen), out=self.starts[1:])
        self.rows, self.counts = rows[order], counts[order]

    def of(self, term: str) -> tuple[Ints, Ints]:
        """Return rows and counts of `term`, including dead rows."""
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

    def all_postings(self) -> tuple[Ints, Ints, Ints]:
        """Return every posting of both segments: terms, rows, counts."""
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
        """Return a copy that is independent of later additions."""
        twin = Postings(None, self.starts, self.rows, self.counts)
        twin.terms, twin._frozen = _TermCodes(self.terms), self._frozen
        twin._delta = {
            code: (rows[:], counts[:]) for code, (rows, counts) in self._delta.items()
        }
        return twin

    def compacted(self, renumbered: Ints) -> Postings:
        """Return one frozen segment of the live rows, terms in alphabetical order.

        `renumbered` has the new number of each row, 0 for the dead.
        """
        codes, rows, counts = self.all_postings()
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
        twin.terms = _TermCodes(zip((names[code] for code in used), count()))
        return twin

    def document_counts(
        self, rank: Ints, without: tuple[str, ...] = ()
    ) -> dict[str, int]:
        """Return the number of documents of each term, in order of first appearance.

        That order is by `rank` of the row (0: dead), then by name. Terms that begin
        with one of `without` are left out.
        """
        codes, rows, _ = self.all_postings()
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
    """Return a snapshot as bytes.

    It consists of a line with version and checksum, the tables as JSON, and the arrays.
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
    """Return the tables and the mapped arrays of the snapshot `path`.

    Raises DamagedError if version or checksum differ.
    """
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as fault:  # missing or empty
        raise DamagedError from fault
    end = mapped.find(b"\n", 0, 4096)
    line = mapped[: max(end, 0)].split()
    payload = memoryview(mapped)[end + 1 :]
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
