"""The vectors of texts on disk, by model, dimension and text; derived (row X20).

A block has up to 1,024 vectors of one precision in a file with a checksum, which is
mapped into memory. A damaged file is dropped, and its texts are embedded again. Vectors
of another model or dimension stay until those of this one are complete.

A vector in fewer bits than needed (row D12) is `worn`: it is used unchanged until the
model has embedded its text again.
"""

from __future__ import annotations

import hashlib
import re
import threading
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from engram.index import quantize
from engram.index.columns import DamagedError, Floats, Ints, pack, unpack
from engram.index.quantize import WHOLE
from engram.vault import disk

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

Matrix = NDArray[np.float32]
Part = tuple[int, NDArray[Any]]
"""The bits of a number, and vectors of that precision: a matrix, or packed."""

VERSION = "1"
"""Version of the files; raise it when their content changes."""

BLOCK_SIZE = 1024
"""The number of places in a block."""

_NAME = re.compile(r"([0-9a-f]{16})-([0-9]+)-([0-9]+)(?:-([248]))?\.vec")
_FLOAT = np.dtype(np.float32)


def digest(text: str) -> int:
    """Return the key of a text: 64 bits of its SHA-256.

    The probability that two of a million texts share one is 3e-8.
    """
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:8])


def part(key: int, number: int) -> int:
    """Return the key of a sentence of the text with this key; 0 is the text itself."""
    return (key + number) % (1 << 64)


def cosines(parts: Sequence[Part], vector: bytes) -> Floats:
    """Return the cosine of `vector` to the vector at each place, 0 for empty places.

    For packed vectors it is `quantize.similarity`, on the same scale (row D13). The
    coordinates of a model for other languages, which are 0, are not read.
    """
    query = np.frombuffer(vector, _FLOAT)
    used = np.flatnonzero(query)
    span = slice(used[0], used[-1] + 1) if len(used) else slice(0)
    found = np.zeros(len(parts) * BLOCK_SIZE)
    for number, (bits, rows) in enumerate(parts):
        near = (
            rows[:, span] @ query[span]
            if bits == WHOLE
            else quantize.similarity(query, rows, bits)
        )
        found[number * BLOCK_SIZE : number * BLOCK_SIZE + len(rows)] = near
    return found


def best(values: Floats, places: NDArray[Any], k: int) -> NDArray[Any]:
    """Return the `places` of the `k` highest values, and of ties with the last."""
    if len(places) <= k or k <= 0:
        return places
    least = np.partition(values[places], -k)[-k]
    highest: NDArray[Any] = places[values[places] >= least]
    return highest


class Cosines:
    """The comparison of one vector with others, independent of later changes."""

    def __init__(self, parts: Sequence[Part], vector: bytes) -> None:
        self._parts = parts
        self._vector = vector

    @cached_property
    def values(self) -> Floats:
        """The cosine of the vector at each place."""
        return cosines(self._parts, self._vector)

    def nearest(self, places: NDArray[Any], k: int) -> NDArray[Any]:
        """Return the indices in `places` of the `k` nearest and of ties."""
        return best(self.values[places], np.arange(len(places)), k)

    def at(self, places: NDArray[Any]) -> Floats:
        """Return the cosines of the vectors at these places."""
        found: Floats = self.values[places]
        return found


@dataclass(slots=True, eq=False)
class _VectorBlock:
    """The vectors of one file, at places from `first` on, with their keys."""

    number: int
    bits: int
    first: int
    keys: NDArray[np.uint64]
    rows: NDArray[Any]


class Vectors:
    """The vectors of one model, by the digest of their text.

    `tag` identifies the model with its options. A vector is the bytes of 32-bit floats,
    at length 1; `dimension` is 0 until one is known. `generation` changes when places
    become invalid; hold `lock` to prevent that. `worn` maps the keys of vectors to
    embed again to the bits they need. Every public method is thread-safe.
    """

    packs = True
    """Whether vectors may be stored in fewer bits."""

    def __init__(self, folder: Path, tag: str) -> None:
        self._folder = folder
        self._stem = hashlib.sha256(tag.encode()).hexdigest()[:16]
        self.lock = threading.RLock()
        self.generation = 0
        self.dimension = 0
        disk.make_folders(folder)
        self._open(self._latest_dimension())

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, key: int) -> bool:
        return key in self._places

    def places(self, keys: Collection[int]) -> Ints:
        """Return the place of the vector of each key, -1 for none."""
        with self.lock:
            return np.fromiter(
                (self._places.get(key, -1) for key in keys), np.int32, len(keys)
            )

    def missing(self, keys: Collection[int]) -> list[int]:
        """Return the keys without a vector, each once, in order."""
        return [key for key in dict.fromkeys(keys) if key not in self._places]

    def put(self, pairs: Mapping[int, bytes]) -> None:
        """Store vectors of one length; known ones are not replaced unless worn."""
        with self.lock:
            for size in {len(vector) for vector in pairs.values()}:
                self.set_dimension(size // _FLOAT.itemsize)
            if renewed := self.worn.keys() & pairs.keys():
                self._remove(renewed)
            if fresh := self.missing(pairs):
                rows = np.frombuffer(
                    b"".join(pairs[key] for key in fresh), _FLOAT
                ).reshape(-1, self.dimension)
                self._add(WHOLE, np.array(fresh, np.uint64), rows)

    def store(self, bits_by_key: Mapping[int, int]) -> None:
        """Store the vectors of these keys with this number of bits (row D12).

        One that has fewer becomes worn. The lock is released between blocks, for
        searches.
        """
        with self.lock:
            blocks = list(self._blocks)
        for block in blocks:
            with self.lock:
                if block in self._blocks:
                    self._store(block, bits_by_key)
        with self.lock:
            self._remove_empty_blocks()

    def _store(self, block: _VectorBlock, bits_by_key: Mapping[int, int]) -> None:
        rows: dict[int, list[int]] = {}
        for row, key in enumerate(block.keys.tolist()):
            bits = bits_by_key.get(key, 0)
            if bits > block.bits:
                self.worn[key] = bits
            elif bits:
                self.worn.pop(key, None)
                if bits < block.bits:
                    rows.setdefault(bits, []).append(row)
        for bits, some in rows.items():
            matrix = self._unpacked(block.bits, block.rows[some])
            self._add(bits, block.keys[some], quantize.packed(matrix, bits))
        if rows:
            self._keep_rows(
                block,
                np.setdiff1d(
                    np.arange(len(block.keys)), np.concatenate(list(rows.values()))
                ),
            )

    def bits(self) -> NDArray[np.uint8]:
        """Return by place the bits of each vector; for a worn one, those it needs."""
        with self.lock:
            found = np.repeat(
                np.array([block.bits for block in self._blocks], np.uint8), BLOCK_SIZE
            )
            for key, bits in self.worn.items():
                found[self._places[key]] = bits
            return found

    def set_dimension(self, dimension: int) -> None:
        """Use vectors of this dimension from now on, and open the known ones."""
        with self.lock:
            if dimension != self.dimension:
                self._open(dimension)

    def fits(self, vector: bytes) -> bool:
        """Return whether `vector` has the dimension of the store."""
        return len(vector) == self.dimension * _FLOAT.itemsize

    def compare(self, vector: bytes) -> Cosines:
        """Return the comparison of a vector with all others."""
        return Cosines(self.parts(), vector)

    def parts(self) -> list[Part]:
        """Return all vectors by place, in parts that later changes do not affect."""
        with self.lock:
            return [(block.bits, block.rows) for block in self._blocks]

    def matrix(self, keys: Collection[int]) -> Matrix:
        """Return the vectors of `keys`, a row for each that has one.

        The length of unpacked vectors is slightly above 1.
        """
        with self.lock:
            rows = [self._row(self._places[key]) for key in keys if key in self._places]
        return np.array(rows, _FLOAT).reshape(len(rows), self.dimension)

    def keep(self, living: Collection[int]) -> None:
        """Remove all vectors whose key is not in `living`."""
        with self.lock:
            self._remove(self._places.keys() - living)

    def drop_others(self) -> None:
        """Remove the files of other models and dimensions."""
        for path in self._folder.iterdir():
            name = _NAME.fullmatch(path.name)
            if name and name.group(1, 2) != (self._stem, str(self.dimension)):
                disk.remove(path)

    def _row(self, place: int) -> Matrix:
        block = self._blocks[place // BLOCK_SIZE]
        row: Matrix = self._unpacked(block.bits, block.rows[place % BLOCK_SIZE])
        return row

    def _unpacked(self, bits: int, rows: NDArray[Any]) -> Matrix:
        return (
            rows if bits == WHOLE else quantize.dequantise(rows, bits, self.dimension)
        )

    # -- blocks ------------------------------------------------------------------------

    def _add(self, bits: int, keys: NDArray[np.uint64], rows: NDArray[Any]) -> None:
        """Assign a place to each of these vectors."""
        while len(keys):
            block = self._block_with_room(bits)
            room, begin = BLOCK_SIZE - len(block.keys), block.first + len(block.keys)
            block.keys = np.concatenate([block.keys, keys[:room]])
            block.rows = np.concatenate([block.rows, rows[:room]])
            self._set_places(keys[:room], begin)
            self._write(block)
            keys, rows = keys[room:], rows[room:]

    def _block_with_room(self, bits: int) -> _VectorBlock:
        """Return the block of this precision with the most free places."""
        block = min(
            (candidate for candidate in self._blocks if candidate.bits == bits),
            key=lambda candidate: len(candidate.keys),
            default=None,
        )
        if block is None or len(block.keys) == BLOCK_SIZE:
            number = (
                max((candidate.number for candidate in self._blocks), default=-1) + 1
            )
            size = quantize.size(self.dimension, bits)
            rows = (
                np.zeros((0, size), np.uint8)
                if bits != WHOLE
                else np.zeros((0, self.dimension), _FLOAT)
            )
            block = _VectorBlock(
                number,
                bits,
                len(self._blocks) * BLOCK_SIZE,
                np.zeros(0, np.uint64),
                rows,
            )
            self._blocks.append(block)
        return block

    def _remove(self, keys: Collection[int]) -> None:
        """Remove the vectors of these keys."""
        for slot in {self._places[key] // BLOCK_SIZE for key in keys}:
            block = self._blocks[slot]
            left = [
                row for row, key in enumerate(block.keys.tolist()) if key not in keys
            ]
            self._keep_rows(block, np.array(left, np.intp))
        for key in keys:
            del self._places[key]
            self.worn.pop(key, None)
        self._remove_empty_blocks()

    def _keep_rows(self, block: _VectorBlock, rows: NDArray[Any]) -> None:
        """Remove all other rows of a block."""
        self.generation += 1
        block.keys, block.rows = block.keys[rows], block.rows[rows]
        self._set_places(block.keys, block.first)
        if len(rows):
            self._write(block)
            block.rows = self._read(block.number, block.bits).rows

    def _remove_empty_blocks(self) -> None:
        """Remove empty blocks and assign places anew."""
        if empty := [block for block in self._blocks if not len(block.keys)]:
            for block in empty:
                self._drop(block.number, block.bits)
                self._blocks.remove(block)
            self._renumber()

    # -- on disk -----------------------------------------------------------------------

    def _latest_dimension(self) -> int:
        """Return the dimension of the newest file, 0 if there is none."""
        found = [
            (path.stat().st_mtime_ns, name)
            for path in self._folder.iterdir()
            if (name := _NAME.fullmatch(path.name))
        ]
        own = [(when, name[2]) for when, name in found if name[1] == self._stem]
        return int(max(own)[1]) if own else 0

    def _open(self, dimension: int) -> None:
        """Read the files of this dimension.

        A vector that is in two of them, after a crash, counts once.
        """
        self.dimension = dimension
        self.worn: dict[int, int] = {}
        self._blocks: list[_VectorBlock] = []
        known: set[int] = set()
        names = (_NAME.fullmatch(path.name) for path in self._folder.iterdir())
        own = (
            name
            for name in names
            if name and name.group(1, 2) == (self._stem, str(dimension))
        )
        for number, bits in sorted(
            (int(name[3]), int(name[4] or WHOLE)) for name in own
        ):
            try:
                block = self._read(number, bits)
            except DamagedError:
                self._drop(number, bits)
                continue
            rows = [
                row for row, key in enumerate(block.keys.tolist()) if key not in known
            ]
            if len(rows) < len(block.keys):
                block.keys, block.rows = block.keys[rows], block.rows[rows]
            known.update(block.keys.tolist())
            self._blocks.append(block)
        self._renumber()

    def _renumber(self) -> None:
        """Assign places to all vectors anew."""
        self.generation += 1
        self._places: dict[int, int] = {}
        for slot, block in enumerate(self._blocks):
            block.first = slot * BLOCK_SIZE
            self._set_places(block.keys, block.first)

    def _set_places(self, keys: NDArray[np.uint64], first: int) -> None:
        places = range(first, first + len(keys))
        self._places.update(zip(keys.tolist(), places, strict=True))

    def _write(self, block: _VectorBlock) -> None:
        """Write the file of a block; a full block is mapped from it."""
        arrays: dict[str, NDArray[Any]] = {
            "keys": block.keys,
            "vectors": block.rows.reshape(-1),
        }
        disk.write_derived(
            self._path(block.number, block.bits),
            pack(self._version(block.bits), {}, arrays),
        )
        if len(block.keys) == BLOCK_SIZE:
            block.rows = self._read(block.number, block.bits).rows

    def _read(self, number: int, bits: int) -> _VectorBlock:
        """Read a block from its file. Raises DamagedError."""
        _, arrays = unpack(self._path(number, bits), self._version(bits))
        width = self.dimension if bits == WHOLE else quantize.size(self.dimension, bits)
        return _VectorBlock(
            number, bits, 0, arrays["keys"], arrays["vectors"].reshape(-1, width)
        )

    def _drop(self, number: int, bits: int) -> None:
        disk.remove(self._path(number, bits))

    def _path(self, number: int, bits: int) -> Path:
        packed = "" if bits == WHOLE else f"-{bits}"
        return self._folder / f"{self._stem}-{self.dimension}-{number:05}{packed}.vec"

    def _version(self, bits: int) -> str:
        packed = "" if bits == WHOLE else f"/{bits}"
        return f"vectors-{VERSION}/{self._stem}/{self.dimension}{packed}"
