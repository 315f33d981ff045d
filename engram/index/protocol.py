"""What an index needs of the place where it keeps its rows.

`CatalogDatabase` (`database.py`) keeps them in a SQLite file in the cache of one machine.
Whatever satisfies `IndexStore` passes the same tests (`test_index_contract.py`); the
catalogue, the scan and the search above it do not know which one they use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager


class RowCursor(Protocol):
    """The rows that a statement found."""

    def fetchone(self) -> Any:
        """Return the next row, None after the last."""

    def fetchall(self) -> list[Any]:
        """Return all rows that are left."""

    def __iter__(self) -> Iterator[Any]: ...


class RowTransaction(Protocol):
    """An open transaction; its statements see each other's changes."""

    def execute(self, sql: str, values: Sequence[Any] = ..., /) -> RowCursor:
        """Carry out a statement with the values of its `?` marks."""

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> object:
        """Carry out a statement once for each row of values."""


class IndexStore(Protocol):
    """The derived rows of one vault: its files, units, strands, sessions and changes.

    Statements are in the SQL that SQLite and PostgreSQL share, with SQLite's marks and
    its functions `instr`, `json_each`, `json_array` and `json_group_array`. One vault never sees the rows of another. All methods may be
    called from any thread, and raise StorageError.
    """

    @property
    def lock(self) -> AbstractContextManager[Any]:
        """Held while several queries must see the same rows."""

    @property
    def generation(self) -> str:
        """The name of these rows; an emptied store has another."""

    @property
    def changes(self) -> int:
        """A number that differs after each transaction, for caches."""

    def query(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""

    def transaction(self) -> AbstractContextManager[RowTransaction]:
        """Open a transaction, which ends with the block."""

    def setting(self, name: str) -> str:
        """Return a value that was set, or ''."""

    def set_setting(self, name: str, value: str) -> None:
        """Store a value by name."""

    def start_over(self) -> None:
        """Empty the store, under another generation."""

    def close(self) -> None:
        """End the connection; the rows stay."""
