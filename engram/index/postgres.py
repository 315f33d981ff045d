"""The rows of an index in PostgreSQL, shared by the vaults of many machines (`X15`).

The schema `engram` has one table for all vaults; row-level security limits each
connection to the rows of the vault in `engram.vault`. All rows are derived: if the
database is lost, they are filled again from the vault.
"""

from __future__ import annotations

import os
import re
import secrets
import socket
import threading
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any

from engram.index.connections import database_faults, psycopg
from engram.index.lease import LeaseKeeper
from engram.index.schema import ROLE, vector_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from engram.index.protocol import RowTransaction, VectorStore

_FENCE = "SELECT fence, process, until > clock_timestamp() FROM lease"
"""The query for the values that `LeaseKeeper.check` compares, for the current vault."""

_IGNORES_ROW_SECURITY = (
    "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
)

TABLES = (
    "meta",
    "file",
    "unit",
    "strand",
    "evidence",
    "slot",
    "removed",
    "user_change",
    "session",
    "problem",
)
"""The tables of a vault's catalogue; a scan fills empty ones."""


class PostgresStore:
    """The rows of one vault, over the connections that all vaults of a process share.

    `dsn` is a connection string of libpq. `vault` names the rows, `stamp` their format:
    rows with another stamp are replaced. Without a `keeper` the store creates one.
    Raises LockedError while another process has the vault, or if `state` and `kernel`
    do not permit taking it (`LeaseKeeper.take`).

    On closing, `clean` is true if no turn waits in the journal of this process.
    """

    def __init__(
        self,
        dsn: str,
        vault: str,
        stamp: str,
        *,
        keeper: LeaseKeeper | None = None,
        state: str = "",
        kernel: str = "",
    ) -> None:
        self.dsn = dsn
        self.vault = vault
        self.stamp = stamp
        self.keeper = keeper or LeaseKeeper(dsn)
        self._is_alone = keeper is None
        self._connections = self.keeper.connections
        self.lock = threading.RLock()
        self.generation = ""
        self.changes = 0
        self._written = 0
        self._open: psycopg.RawCursor[Any] | None = None
        try:
            self.lease = self.keeper.take(vault, state=state, kernel=kernel)
        except BaseException:
            self._close_own()
            raise
        self.clean = self.lease.was_clean
        try:
            with self._faults():
                self._begin = self._begin_statement()
            if self.setting("stamp") == stamp:
                self.generation = self.setting("generation")
            else:
                self.start_over()
        except BaseException:
            self.close()
            raise

    @property
    def lost(self) -> bool:
        """Whether another process is known to have taken the vault."""
        return self.lease.lost

    @property
    def is_owned(self) -> bool:
        """Whether the next owner sees records that are written to the journal now.

        A single process has the journal to itself, and continues without the database.
        """
        return self.lease.is_valid() if self.keeper.address else not self.lost

    @property
    def fence(self) -> int:
        """The fence of this process's lease on the vault."""
        return self.lease.fence

    def shown_lease(self) -> dict[str, Any]:
        """Return this process's lease on the vault, for `status`."""
        return {
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "address": self.keeper.address,
            "fence": self.lease.fence,
            "seconds_left": round(self.lease.seconds_left(), 1),
        }

    def query(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query. Raises StorageError."""
        with self.lock, self._faults():
            if self._open:
                return _run(self._open, sql, values).fetchall()
            with self._transaction(self._begin) as cursor:
                return _run(cursor, sql, values).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[RowTransaction]:
        """Open a transaction for the block.

        During the block no other process can take the vault. Raises StorageError, and
        LockedError if another process has taken it.
        """
        with self.lock, self._faults():
            self.changes += 1
            try:
                with self._transaction(f"{self._begin}; {_FENCE} FOR KEY SHARE") as db:
                    self.keeper.check(self.lease, _last_rows(db), renew=False)
                    self._open = db
                    opened = PostgresTransaction(db)
                    yield opened
                    self._open = None
                self._written += opened.rows
                if self._written > ROWS_PER_ANALYSIS:
                    self._analyse()
            finally:
                self._open = None
                self.changes += 1

    def _analyse(self) -> None:
        """Update the statistics of the planner, if the role may do so.

        They are missing for a database that was just filled, and the planner chooses
        badly until autovacuum runs.
        """
        self._written = 0
        with suppress(psycopg.Error), self._connections.use() as connection:
            connection.execute("ANALYZE unit, file, strand")

    def check_owner(self) -> None:
        """Raise LockedError if another process took the vault since it was opened.

        Raises StorageError if the database cannot be queried.
        """
        with self.lock, self._faults():
            if self._open:
                found = self._open.execute(_FENCE).fetchall()
            else:
                with self._connections.use() as connection:
                    cursor = psycopg.RawCursor(connection)
                    # in one round trip
                    cursor.execute(f"{self._begin}; {_FENCE}; COMMIT".encode())
                    found = _last_rows(cursor)
        self.keeper.check(self.lease, found)

    def setting(self, name: str) -> str:
        """Return a value of the table `meta`, or ''."""
        found = self.query("SELECT value FROM meta WHERE name = ?", (name,))
        return str(found[0][0]) if found else ""

    def set_setting(self, name: str, value: str) -> None:
        """Store a value in the table `meta`."""
        with self.transaction() as db:
            db.execute(
                "INSERT INTO meta VALUES (?, ?) "
                "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                (name, value),
            )

    def vectors(self, folder: Path, tag: str) -> VectorStore:
        """Return the vector store of a model, after moving the vectors in `folder`."""
        from engram.index.postgres_vectors import PostgresVectors

        vectors = PostgresVectors(self, tag)
        vectors.take_over(folder)
        return vectors

    def make_vector_index(self, dimension: int) -> None:
        """Create the HNSW index of a dimension if the role may; else scans are used."""
        with suppress(psycopg.Error), self._connections.use() as connection:
            connection.execute(
                f"CREATE INDEX IF NOT EXISTS hnsw_{dimension} ON embedding USING hnsw "
                f"((numbers::vector({dimension})) vector_cosine_ops) "
                f"WHERE dimension = {dimension}".encode()
            )

    def start_over(self) -> None:
        """Delete the rows of the vault, and start another generation."""
        generation = secrets.token_hex(8)
        with self.transaction() as db:
            for table in TABLES:
                db.execute(f"DELETE FROM {table}", ())  # noqa: S608
            rows = (("stamp", self.stamp), ("generation", generation))
            db.executemany("INSERT INTO meta VALUES (?, ?)", rows)
        self.generation = generation

    def finish_copy(self, generation: str) -> None:
        """Record that the rows are those of a whole vault, with this generation.

        A lexical snapshot of that generation stays valid.
        """
        with self.transaction() as db:
            db.execute("DELETE FROM meta WHERE name IN ('copying', 'generation')", ())
            rows = (("complete", "yes"), ("generation", generation))
            db.executemany("INSERT INTO meta VALUES (?, ?)", rows)
        self.generation = generation

    def close(self) -> None:
        """Let other processes take the vault; the rows stay."""
        with self.lock:
            self.keeper.release(self.lease, clean=self.clean)
            self._close_own()

    def _close_own(self) -> None:
        if self._is_alone:
            self.keeper.close()

    # -- transactions ------------------------------------------------------------------

    def _begin_statement(self) -> str:
        """Return the statements that begin a transaction for this vault alone.

        A role that ignores row security is replaced by one that does not.
        """
        with self._connections.use() as connection:
            row = connection.execute(_IGNORES_ROW_SECURITY).fetchone()
            version = vector_version(connection)
        lines = [
            psycopg.sql.SQL("BEGIN"),
            psycopg.sql.SQL("SET LOCAL engram.vault = {}").format(
                psycopg.sql.Literal(self.vault)
            ),
        ]
        # so that an index over all vaults finds enough vectors of this one
        if version >= (0, 8):
            lines.append(
                psycopg.sql.SQL("SET LOCAL hnsw.iterative_scan = strict_order")
            )
        if row is None or row[0]:
            lines.append(
                psycopg.sql.SQL("SET LOCAL ROLE {}").format(
                    psycopg.sql.Identifier(ROLE)
                )
            )
        return psycopg.sql.SQL("; ").join(lines).as_string()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[psycopg.RawCursor[Any]]:
        with (
            self._connections.use() as connection,
            psycopg.RawCursor(connection) as cursor,
        ):
            try:
                cursor.execute(begin.encode())
                yield cursor
                cursor.execute("COMMIT")
            except BaseException:
                with suppress(psycopg.Error):
                    connection.execute("ROLLBACK")
                raise

    def _faults(self) -> AbstractContextManager[None]:
        return database_faults(self.dsn)


class PostgresTransaction:
    """An open transaction, for statements in the SQL of `IndexStore`.

    `rows` counts the rows of `executemany`.
    """

    def __init__(self, cursor: psycopg.RawCursor[Any]) -> None:
        self._cursor = cursor
        self.rows = 0

    def execute(
        self, sql: str, values: Sequence[Any] = (), /
    ) -> psycopg.RawCursor[Any]:
        """Execute a statement with the values of its `?` marks."""
        return _run(self._cursor, sql, values)

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> None:
        """Execute a statement once for each row of values.

        Insertions are done in groups of `ROWS_AT_ONCE` rows, which is several times
        faster.
        """
        values = [_storable(row) for row in rows]
        self.rows += len(values)
        insertion = _INSERTION.fullmatch(sql)
        if insertion and len(values) >= ROWS_AT_ONCE:
            head, row, tail = insertion.groups()
            many = translated(head + ", ".join([row] * ROWS_AT_ONCE) + tail)
            while len(values) >= ROWS_AT_ONCE:
                some, values = values[:ROWS_AT_ONCE], values[ROWS_AT_ONCE:]
                self._cursor.execute(many, list(chain.from_iterable(some)))
        self._cursor.executemany(translated(sql), values)


ROWS_AT_ONCE = 100
ROWS_PER_ANALYSIS = 10_000
_INSERTION = re.compile(r"(\s*INSERT INTO .*VALUES )(\((?:\?, )*\?\))(.*)", re.DOTALL)


def _last_rows(cursor: psycopg.RawCursor[Any]) -> list[tuple[Any, ...]]:
    """Return the rows of the last of several statements that has any."""
    found: list[tuple[Any, ...]] = []
    while True:
        if cursor.description:
            found = cursor.fetchall()
        if not cursor.nextset():
            return found


def _run(
    cursor: psycopg.RawCursor[Any], sql: str, values: Sequence[object]
) -> psycopg.RawCursor[Any]:
    return cursor.execute(translated(sql), _storable(values))


def _storable(values: Sequence[Any]) -> list[Any]:
    """Return the values without the character NUL, which PostgreSQL cannot store."""
    return [
        value.replace("\0", "\ufffd")
        if isinstance(value, str) and "\0" in value
        else value
        for value in values
    ]


_DIALECT = (
    (
        r"SELECT value FROM json_each\((\?\d?)\)",
        r"SELECT value FROM json_array_elements_text(\1::json)",
    ),
    (r"\bjson_array\(", "json_build_array("),
    (r"\bjson_group_array\(", "json_agg("),
    (r" IS \?", " IS NOT DISTINCT FROM ?"),
    (r"\bON CONFLICT \((\w+)\)", r"ON CONFLICT (vault, \1)"),
    (r"\?(\d)", r"$\1"),
)
"""The differences from SQLite's SQL, as patterns with their replacements."""


@lru_cache(500)
def translated(sql: str) -> bytes:
    """Return a statement of the catalogue in the SQL of PostgreSQL."""
    for pattern, replacement in _DIALECT:
        sql = re.sub(pattern, replacement, sql)
    first, *others = sql.split("?")
    parts = (f"${number}{part}" for number, part in enumerate(others, 1))
    return (first + "".join(parts)).encode()
