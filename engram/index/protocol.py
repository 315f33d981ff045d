"""The interface between an index and the store of its rows.

`CatalogDatabase` (`database.py`) stores them in a SQLite file in the cache of one
machine. All implementations of `IndexStore` pass the same tests
(`test_index_contract.py`); the catalogue, the scan and the search are independent of
the implementation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from engram.index.columns import Floats, Ints
    from engram.index.vectors import Matrix


class RowCursor(Protocol):
    """The rows that a statement returned."""

    def fetchone(self) -> Any:
        """Return the next row, None after the last."""

    def fetchall(self) -> list[Any]:
        """Return all rows that are left."""

    def __iter__(self) -> Iterator[Any]: ...


class RowTransaction(Protocol):
    """An open transaction; its statements see each other's changes."""

    def execute(self, sql: str, values: Sequence[Any] = ..., /) -> RowCursor:
        """Execute a statement with the values of its `?` marks."""

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> object:
        """Execute a statement once for each row of values."""


class VectorComparison(Protocol):
    """The comparison of one vector with all others."""

    def nearest(self, places: NDArray[Any], k: int) -> NDArray[Any]:
        """Return the indices in `places` of the `k` nearest and of ties."""

    def at(self, places: NDArray[Any]) -> Floats:
        """Return the cosines of the vectors at these places."""


class VectorStore(Protocol):
    """The vectors of one model, by the digest of their text; see `Vectors`."""

    generation: int
    dimension: int
    worn: dict[int, int]
    packs: bool

    @property
    def lock(self) -> AbstractContextManager[Any]:
        """A lock that keeps places stable."""

    def __len__(self) -> int: ...

    def places(self, keys: Collection[int]) -> Ints:
        """Return the place of the vector of each key, -1 for none."""

    def put(self, pairs: Mapping[int, bytes]) -> None:
        """Store vectors of one length; known ones are not replaced unless worn."""

    def store(self, bits_by_key: Mapping[int, int]) -> None:
        """Store the vectors of these keys with this number of bits."""

    def bits(self) -> NDArray[np.uint8]:
        """Return by place the bits of each vector."""

    def set_dimension(self, dimension: int) -> None:
        """Use vectors of this dimension from now on, and open the known ones."""

    def fits(self, vector: bytes) -> bool:
        """Return whether `vector` has the dimension of the store."""

    def compare(self, vector: bytes) -> VectorComparison:
        """Return the comparison of a vector with all others."""

    def matrix(self, keys: Collection[int]) -> Matrix:
        """Return the vectors of `keys`, a row for each that has one."""

    def keep(self, living: Collection[int]) -> None:
        """Remove all vectors whose key is not in `living`."""

    def drop_others(self) -> None:
        """Remove the vectors of other models and dimensions."""


class IndexStore(Protocol):
    """The derived rows of one vault: its files, units, strands, sessions and changes.

    Statements are in the SQL that SQLite and PostgreSQL share, with SQLite's marks and
    its functions `instr`, `json_each`, `json_array` and `json_group_array`. One vault
    never sees the rows of another. All methods are thread-safe and raise StorageError.
    """

    @property
    def lock(self) -> AbstractContextManager[Any]:
        """A lock under which several queries see the same rows."""

    @property
    def generation(self) -> str:
        """The name of these rows; an emptied store has another."""

    @property
    def changes(self) -> int:
        """A number that differs after each transaction, for caches."""

    @property
    def lost(self) -> bool:
        """Whether another process is known to have taken the vault."""

    @property
    def owner_number(self) -> int:
        """The number of this owner of the vault, larger than those before; 0 in files."""

    clean: bool
    """Whether no turn waits in the journal when the store is closed."""

    due: datetime | None
    """The time at which work of the vault is due when the store is closed."""

    def query(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""

    def transaction(self) -> AbstractContextManager[RowTransaction]:
        """Open a transaction for the block."""

    def setting(self, name: str) -> str:
        """Return a value that was set, or ''."""

    def set_setting(self, name: str, value: str) -> None:
        """Store a value by name."""

    def check_owner(self) -> None:
        """Raise an error unless this process has the vault now.

        It is LockedError if another process took it since it was opened.
        """

    def vectors(self, folder: Path, tag: str) -> VectorStore:
        """Return the vectors of a model; `folder` is for those in files."""

    def start_over(self) -> None:
        """Empty the store, under another generation; vectors stay."""

    def close(self) -> None:
        """End the connection; the rows stay."""
