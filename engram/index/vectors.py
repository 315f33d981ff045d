"""The vectors of texts, on disk: derived, keyed by model, dimension and the text itself (row X20).

Blocks of up to 1,024 vectors, each a file of its own, written whole, with a checksum, and mapped into memory;
the last one grows with what comes. A file that is damaged is dropped, and its texts are embedded again.
Vectors of another model or dimension stay where they are until this one's are complete.
"""

from __future__ import annotations

import hashlib
import re
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from engram.index.segments import DamagedError, pack, unpack
from engram.vault import files

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from engram.index.segments import Floats, Ints

Matrix = NDArray[np.float32]

VERSION = "1"
"""Of the files: raise it when what stands in them changes."""

_EACH = 1024
_NAME = re.compile(r"([0-9a-f]{16})-([0-9]+)-([0-9]+)\.vec")
_FLOAT = np.dtype(np.float32)


def digest(text: str) -> int:
    """The key of a text: 64 bits of its SHA-256. That two of a million texts share one has a chance of 3e-8."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:8])


def cosines(parts: Sequence[Matrix], vector: bytes) -> Floats:
    """The cosine of `vector` to the vector at each place; all have one dimension."""
    query = np.frombuffer(vector, _FLOAT)
    return np.concatenate([np.zeros(0, _FLOAT), *(part @ query for part in parts)]).astype(np.float64)


def best(values: Floats, places: NDArray[Any], k: int) -> NDArray[Any]:
    """Those of `places` that hold the `k` highest values, and all that equal the last of them."""
    if len(places) <= k or k <= 0:
        return places
    least = np.partition(values[places], -k)[-k]
    highest: NDArray[Any] = places[values[places] >= least]
    return highest


@dataclass(slots=True)
class _Block:
    """The file `number`: so many places from `first` on, each with its key and vector."""

    number: int
    first: int
    keys: NDArray[np.uint64]
    matrix: Matrix


class Vectors:
    """Vectors of one model, by the digest of their text. Every public method is safe to call from any thread.

    `tag` names the model and whatever else makes its vectors unlike others. A vector is the bytes of 32-bit
    floats, at length 1. `dimension` is 0 until one is known; a vector of another one turns the store to it.
    `generation` changes whenever places given before do not hold any more; `lock` keeps it still.
    """

    def __init__(self, folder: Path, tag: str) -> None:
        self._folder = folder
        self._stem = hashlib.sha256(tag.encode()).hexdigest()[:16]
        self.lock = threading.RLock()
        self.generation = 0
        self.dimension = 0
        files.make_folders(folder)
        self._open(self._latest())

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, key: int) -> bool:
        return key in self._places

    def places(self, keys: Collection[int]) -> Ints:
        """The place of each key's vector, -1 where there is none; it holds as long as the generation."""
        with self.lock:
            return np.fromiter((self._places.get(key, -1) for key in keys), np.int32, len(keys))

    def missing(self, keys: Collection[int]) -> list[int]:
        """The keys without a vector, each once, in order."""
        return [key for key in dict.fromkeys(keys) if key not in self._places]

    def put(self, pairs: Mapping[int, bytes]) -> None:
        """Keep these vectors, all of one length; the ones that are known stay as they are."""
        with self.lock:
            for size in {len(vector) for vector in pairs.values()}:
                self.turn_to(size // _FLOAT.itemsize)
            fresh = self.missing(pairs)
            while fresh:
                block = self._growing()
                chunk, fresh = fresh[: _EACH - len(block.keys)], fresh[_EACH - len(block.keys) :]
                rows = np.frombuffer(b"".join(pairs[key] for key in chunk), _FLOAT).reshape(-1, self.dimension)
                self._places.update(
                    zip(chunk, range(block.first + len(block.keys), len(self) + len(chunk)), strict=True)
                )
                block.keys = np.concatenate([block.keys, np.array(chunk, np.uint64)])
                block.matrix = np.concatenate([block.matrix, rows])
                self._write(block)

    def turn_to(self, dimension: int) -> None:
        """From now on vectors have this dimension; those that are known of it are taken up again."""
        with self.lock:
            if dimension != self.dimension:
                self._open(dimension)

    def fits(self, vector: bytes) -> bool:
        """Whether `vector` has the dimension of the store."""
        return len(vector) == self.dimension * _FLOAT.itemsize

    def matrices(self) -> list[Matrix]:
        """All vectors by their places, in parts that no later change touches."""
        with self.lock:
            return [block.matrix for block in self._blocks]

    def search(self, vector: bytes, k: int, allowed: Collection[int] | None = None) -> list[tuple[int, float]]:
        """The `k` keys nearest to `vector` with their cosines, best first, ties by key; `allowed` None: of all."""
        if not self.fits(vector):
            return []
        with self.lock:
            found = cosines(self.matrices(), vector)
            keys = np.concatenate([np.zeros(0, np.uint64), *(block.keys for block in self._blocks)])
            wanted = np.arange(len(keys)) if allowed is None else self.places(sorted(allowed))
        wanted = best(found, wanted[wanted >= 0], k)
        order = np.lexsort((keys[wanted], -found[wanted]))[:k]
        return [(int(keys[place]), float(found[place])) for place in wanted[order].tolist()]

    def matrix(self, keys: Collection[int]) -> Matrix:
        """The vectors of those of `keys` that have one, a row for each."""
        with self.lock:
            rows = [self._row(self._places[key]) for key in keys if key in self._places]
        return np.array(rows, _FLOAT).reshape(len(rows), self.dimension)

    def keep(self, living: Collection[int]) -> None:
        """Let go of every vector whose text is not among the `living`."""
        with self.lock:
            for block in list(self._blocks):
                rows = [row for row, key in enumerate(block.keys.tolist()) if key in living]
                if not rows:
                    self._drop(block.number)
                    self._blocks.remove(block)
                elif len(rows) < len(block.keys):
                    block.keys, block.matrix = block.keys[rows], block.matrix[rows]
                    self._write(block)
            self._number()

    def drop_others(self) -> None:
        """Remove the files of other models and dimensions."""
        for path in self._folder.iterdir():
            name = _NAME.fullmatch(path.name)
            if name and name.group(1, 2) != (self._stem, str(self.dimension)):
                files.remove(path)

    def _row(self, place: int) -> Matrix:
        block = next(block for block in reversed(self._blocks) if block.first <= place)
        row: Matrix = block.matrix[place - block.first]
        return row

    # -- on disk --------------------------------------------------------------------------------------

    def _latest(self) -> int:
        """The dimension of the file that was written last, 0 if there is none."""
        found = [
            (path.stat().st_mtime_ns, name) for path in self._folder.iterdir() if (name := _NAME.fullmatch(path.name))
        ]
        return int(max(own)[1]) if (own := [(when, name[2]) for when, name in found if name[1] == self._stem]) else 0

    def _open(self, dimension: int) -> None:
        """Take up what the files of this dimension hold."""
        self.dimension = dimension
        self._blocks: list[_Block] = []
        names = (_NAME.fullmatch(path.name) for path in self._folder.iterdir())
        for number in sorted(
            int(name[3]) for name in names if name and name.group(1, 2) == (self._stem, str(dimension))
        ):
            try:
                self._blocks.append(self._read(number))
            except DamagedError:
                self._drop(number)
        self._number()

    def _number(self) -> None:
        """Give out the places anew."""
        self.generation += 1
        self._places: dict[int, int] = {}
        first = 0
        for block in self._blocks:
            block.first = first
            self._places.update(zip(block.keys.tolist(), range(first, first + len(block.keys)), strict=True))
            first += len(block.keys)

    def _growing(self) -> _Block:
        """The block that still has room."""
        last = self._blocks[-1] if self._blocks else None
        if last is None or len(last.keys) >= _EACH:
            number, first = (last.number + 1, last.first + len(last.keys)) if last else (0, 0)
            self._blocks.append(_Block(number, first, np.zeros(0, np.uint64), np.zeros((0, self.dimension), _FLOAT)))
        return self._blocks[-1]

    def _write(self, block: _Block) -> None:
        """Write the block's file; a full block is mapped from it and leaves the memory."""
        arrays: dict[str, NDArray[Any]] = {"keys": block.keys, "vectors": block.matrix.reshape(-1)}
        files.write_derived(self._path(block.number), pack(self._version, {}, arrays))
        if len(block.keys) == _EACH:
            block.matrix = self._read(block.number).matrix

    def _read(self, number: int) -> _Block:
        """The block as its file holds it; DamagedError."""
        _, arrays = unpack(self._path(number), self._version)
        return _Block(number, 0, arrays["keys"], arrays["vectors"].reshape(-1, self.dimension))

    def _drop(self, number: int) -> None:
        files.remove(self._path(number))

    def _path(self, number: int) -> Path:
        return self._folder / f"{self._stem}-{self.dimension}-{number:05}.vec"

    @property
    def _version(self) -> str:
        return f"vectors-{VERSION}/{self._stem}/{self.dimension}"
