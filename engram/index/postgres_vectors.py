"""The vectors of a vault in PostgreSQL, searched there by pgvector (`X15`).

A vector is identified by the model and the digest of its text, as in `vectors.py`. The
nearest ones come from an HNSW index, or from a scan if the vault has few.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from engram.index.quantize import WHOLE
from engram.index.vectors import best

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from engram.index.columns import Floats, Ints
    from engram.index.postgres import PostgresStore
    from engram.index.vectors import Matrix

_FLOAT = np.dtype(np.float32)
_SENT = np.dtype(">f4")
_HEAD = 4
"""The number of bytes before the numbers of a vector in the server's format."""
MOST_INDEXED = 2_000
"""The largest dimension for which pgvector creates an HNSW index."""
_SIGN = 1 << 63


class PostgresVectors:
    """The vectors of one model and one vault, with the interface of `Vectors`.

    The digests are in memory, the vectors are not. Vectors have all their bits.
    """

    packs = False

    def __init__(self, store: PostgresStore, tag: str) -> None:
        self._store = store
        self._tag = tag
        self.generation = 0
        self.worn: dict[int, int] = {}
        found = store.query(
            "SELECT dimension FROM embedding WHERE tag = ? GROUP BY dimension "
            "ORDER BY count(*) DESC LIMIT 1",
            (tag,),
        )
        self.dimension = 0
        self._places: dict[int, int] = {}
        if found:
            self.set_dimension(int(found[0][0]))

    @property
    def lock(self) -> AbstractContextManager[Any]:
        """A lock that keeps places stable."""
        return self._store.lock

    def __len__(self) -> int:
        return len(self._places)

    def places(self, keys: Collection[int]) -> Ints:
        """Return the place of the vector of each key, -1 for none."""
        with self.lock:
            return np.fromiter(
                (self._places.get(key, -1) for key in keys), np.int32, len(keys)
            )

    def put(self, pairs: Mapping[int, bytes]) -> None:
        """Store vectors of one length; known ones are not replaced."""
        with self.lock:
            for size in {len(vector) for vector in pairs.values()}:
                self.set_dimension(size // _FLOAT.itemsize)
            fresh = [key for key in pairs if key not in self._places]
            with self._store.transaction() as db:
                db.executemany(
                    "INSERT INTO embedding (tag, digest, dimension, numbers) "
                    "VALUES (?, ?, ?, ?::vector) ON CONFLICT DO NOTHING",
                    [
                        (self._tag, _signed(key), self.dimension, _text(pairs[key]))
                        for key in fresh
                    ],
                )
            for key in fresh:
                self._places[key] = len(self._places)

    def store(self, bits_by_key: Mapping[int, int]) -> None:
        """Do nothing, because vectors have all their bits (row D12)."""

    def bits(self) -> NDArray[np.uint8]:
        """Return by place the bits of each vector."""
        return np.full(len(self), WHOLE, np.uint8)

    def set_dimension(self, dimension: int) -> None:
        """Use vectors of this dimension from now on, and look up the known ones."""
        with self.lock:
            if dimension == self.dimension:
                return
            self.dimension = dimension
            if dimension <= MOST_INDEXED:
                self._store.make_vector_index(dimension)
            self._load()

    def _load(self) -> None:
        rows = self._store.query(
            "SELECT digest FROM embedding WHERE tag = ? AND dimension = ? ORDER BY digest",
            (self._tag, self.dimension),
        )
        self.generation += 1
        self._places = {_unsigned(key): place for place, (key,) in enumerate(rows)}

    def fits(self, vector: bytes) -> bool:
        """Return whether `vector` has the dimension of the store."""
        return len(vector) == self.dimension * _FLOAT.itemsize

    def compare(self, vector: bytes) -> NearInDatabase:
        """Return the comparison of a vector with all others."""
        return NearInDatabase(self, vector)

    def matrix(self, keys: Collection[int]) -> Matrix:
        """Return the vectors of `keys`, a row for each that has one."""
        wanted = [key for key in keys if key in self._places]
        rows = self._rows_of("vector_send(numbers)", wanted)
        found = {
            key: np.frombuffer(raw, _SENT, offset=_HEAD).astype(_FLOAT)
            for key, raw in rows
        }
        known = [found[key] for key in wanted if key in found]
        return np.array(known, _FLOAT).reshape(len(known), self.dimension)

    def keep(self, living: Collection[int]) -> None:
        """Remove all vectors whose key is not in `living`."""
        with self.lock:
            removed = [_signed(key) for key in self._places.keys() - set(living)]
            with self._store.transaction() as db:
                db.execute(
                    "DELETE FROM embedding "
                    "WHERE tag = ? AND dimension = ? AND digest = ANY(?)",
                    (self._tag, self.dimension, removed),
                )
            self._load()

    def drop_others(self) -> None:
        """Remove the vectors of other models and dimensions."""
        with self._store.transaction() as db:
            db.execute(
                "DELETE FROM embedding WHERE tag <> ? OR dimension <> ?",
                (self._tag, self.dimension),
            )

    # -- for the search ----------------------------------------------------------------

    def nearest(self, vector: str, number: int) -> list[tuple[int, float]]:
        """Return places and cosines of the `number` vectors nearest to `vector`."""
        kind = f"vector({self.dimension})"
        rows = self._store.query(
            f"SELECT digest, 1 - (numbers::{kind} <=> ?1::{kind}) FROM embedding "  # noqa: S608
            f"WHERE tag = ?2 AND dimension = {self.dimension} "
            f"ORDER BY numbers::{kind} <=> ?1::{kind} LIMIT ?3",
            (vector, self._tag, number),
        )
        found = ((self._places.get(_unsigned(key)), value) for key, value in rows)
        return [(place, value) for place, value in found if place is not None]

    def cosines(self, vector: str, places: Collection[int]) -> dict[int, float]:
        """Return the cosines of the vectors at these places to `vector`."""
        wanted = set(places)
        keys = [key for key, place in self._places.items() if place in wanted]
        value = "1 - (numbers <=> ?2::vector)"
        rows = self._rows_of(value, keys, vector)
        return {self._places[key]: value for key, value in rows}

    def _rows_of(
        self, value: str, keys: Iterable[int], *more: object
    ) -> list[tuple[int, Any]]:
        rows = self._store.query(
            f"SELECT digest, {value} FROM embedding "  # noqa: S608
            f"WHERE tag = ?1 AND dimension = {self.dimension} "
            f"AND digest = ANY(?{2 + len(more)})",
            (self._tag, *more, list(map(_signed, keys))),
        )
        return [(_unsigned(key), found) for key, found in rows]


class NearInDatabase:
    """The comparison of one vector with all others, with the interface of `Cosines`."""

    def __init__(self, vectors: PostgresVectors, vector: bytes) -> None:
        self._vectors = vectors
        self._vector = _text(vector)

    def nearest(self, places: NDArray[Any], k: int) -> NDArray[Any]:
        """Return the indices in `places` of the `k` nearest and of ties.

        The query is repeated with a larger limit until enough of the `places` are
        found.
        """
        number = 2 * k
        while True:
            found = self._vectors.nearest(self._vector, number)
            near = np.array([place for place, _ in found], np.int64)
            positions = np.flatnonzero(np.isin(places, near))
            if len(positions) >= k or number >= len(self._vectors):
                break
            number *= 4
        values = np.zeros(len(self._vectors))
        values[near] = [value for _, value in found]
        return best(values[places], positions, k)

    def at(self, places: NDArray[Any]) -> Floats:
        """Return the cosines of the vectors at these places."""
        found = self._vectors.cosines(self._vector, places.tolist())
        return np.array([found.get(place, 0.0) for place in places.tolist()])


def _text(vector: bytes) -> str:
    return str(np.frombuffer(vector, _FLOAT).tolist())


def _signed(key: int) -> int:
    return key - (1 << 64) if key >= _SIGN else key


def _unsigned(key: int) -> int:
    return key % (1 << 64)
