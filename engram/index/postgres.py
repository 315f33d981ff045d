"""The rows of an index in PostgreSQL, shared by the vaults of many machines (`X15`).

The schema `engram` has one table for all vaults; row-level security limits each
connection to the rows of the vault in `engram.vault`. All rows are derived: if the
database is lost, they are filled again from the vault.
"""

from __future__ import annotations

import logging
import re
import secrets
import threading
from contextlib import closing, contextmanager, suppress
from copy import copy
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any

from engram.errors import LockedError, UnavailableError
from engram.index.connections import (
    RETRY_SECONDS,
    connect,
    database_faults,
    psycopg,
)
from engram.index.owner import VaultOwner
from engram.index.schema import ROLE, migrate, vector_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from engram.index.protocol import RowTransaction, VectorStore

log = logging.getLogger("engram.postgres")

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
    """The rows of one vault, over the one connection that also locks it.

    `dsn` is a connection string of libpq. `vault` names the rows, `stamp` their format:
    rows with another stamp are replaced. Every statement uses the connection with the
    lock, so rows are written only while no other process can have the vault. Raises
    LockedError if another process has it (`VaultOwner.take`). A lost connection is
    replaced at the next call, if no other process had the vault meanwhile.

    On closing, `clean` is true if no turn waits in the journal of this process, and
    `due` is the time at which work of the vault is due, if it is known.
    """

    def __init__(
        self, dsn: str, vault: str, stamp: str, *, address: str = "", state: str = ""
    ) -> None:
        self.dsn = dsn
        self.vault = vault
        self.stamp = stamp
        self.lock = threading.RLock()
        self.generation = ""
        self.changes = 0
        self.clean = False
        self.due: datetime | None = None
        self._written = 0
        self._fault: LockedError | None = None
        self._closed = False
        self._owner = VaultOwner(dsn, vault, address=address, journal=state)
        with database_faults(dsn):
            self._db = self._connected(self._owner.take)
        try:
            if self.setting("stamp") == stamp:
                self.generation = self.setting("generation")
            else:
                self.start_over()
        except BaseException:
            self.close()
            raise

    @property
    def lost(self) -> bool:
        """Whether another process is known to have had the vault since it was opened."""
        return self._fault is not None

    @property
    def owner_number(self) -> int:
        """The number of this owner of the vault, larger than those of all before."""
        return self._owner.number

    def query(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query. Raises UnavailableError or LockedError."""
        with self._connection() as db, psycopg.RawCursor(db) as cursor:
            return _run(cursor, sql, values).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[RowTransaction]:
        """Open a transaction for the block.

        Raises UnavailableError, and LockedError if another process took the vault.
        """
        with self._connection() as db:
            self.changes += 1
            try:
                with db.transaction(), psycopg.RawCursor(db) as cursor:
                    opened = PostgresTransaction(cursor)
                    yield opened
            finally:
                self.changes += 1
            self._written += opened.rows
            if self._written > ROWS_PER_ANALYSIS:
                self._written = 0
                self._administer("ANALYZE unit, file, strand")

    def _administer(self, statement: str) -> None:
        """Execute a statement as the role of the connection string, if it may.

        Statistics are missing for a database that was just filled, and the planner
        chooses badly until autovacuum runs.
        """
        with suppress(psycopg.Error), closing(connect(self.dsn)) as connection:
            connection.execute(statement.encode())

    def check_owner(self) -> None:
        """Raise an error unless this process has the vault now.

        It is LockedError if another process took it, UnavailableError if the database
        does not answer.
        """
        with self._connection() as db:
            db.execute("SELECT")

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

    def vectors(self, _folder: Path, tag: str) -> VectorStore:
        """Return the vector store of a model."""
        from engram.index.postgres_vectors import PostgresVectors

        return PostgresVectors(self, tag)

    def make_vector_index(self, dimension: int) -> None:
        """Create the HNSW index of a dimension if the role may; else scans are used."""
        self._administer(
            f"CREATE INDEX IF NOT EXISTS hnsw_{dimension} ON embedding USING hnsw "
            f"((numbers::vector({dimension})) vector_cosine_ops) "
            f"WHERE dimension = {dimension}"
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

    def close(self) -> None:
        """Let other processes take the vault; the rows stay."""
        with self.lock, suppress(psycopg.Error), closing(self._db) as connection:
            self._closed = True
            if not (self.lost or connection.closed):
                connection.execute("RESET ROLE")
                self._owner.release(connection, self.due, clean=self.clean)

    # -- the connection ----------------------------------------------------------------

    @contextmanager
    def _connection(self) -> Iterator[psycopg.Connection[Any]]:
        """Use the connection with the lock; make a lost one anew.

        Raises LockedError, always from then on, if another process took the vault.
        """
        with self.lock, database_faults(self.dsn):
            if self._fault:
                raise copy(self._fault)
            if self._closed:  # a thread that is late must not take the vault again
                raise UnavailableError(
                    "the vault is closed", fix="Try again.", retry_after=RETRY_SECONDS
                )
            if self._db.closed:
                try:
                    self._db = self._connected(self._owner.resume)
                except LockedError as fault:
                    self._lose(fault)
                    raise
                log.info("vault %s: the database answers again", self.vault)
            try:
                yield self._db
            except psycopg.errors.UndefinedTable:
                self._lose(LockedError("the tables in the database are gone"))
                raise
            except psycopg.OperationalError as fault:
                if self._db.closed:
                    log.warning("vault %s is not written: %s", self.vault, fault)
                raise

    def _connected(
        self, take: Callable[[psycopg.Connection[Any]], None]
    ) -> psycopg.Connection[Any]:
        """Return a connection that has taken the vault and sees its rows alone."""
        connection = connect(self.dsn)
        try:
            migrate(connection)  # fails if a newer program changed the schema
            take(connection)
            self._limit(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _lose(self, fault: LockedError) -> None:
        self._fault = fault
        log.warning("vault %s is lost: %s", self.vault, fault.what)

    def _limit(self, connection: psycopg.Connection[Any]) -> None:
        """Let the connection see the rows of this vault alone.

        A role that ignores row security is replaced by one that does not.
        """
        sql, row = psycopg.sql, connection.execute(_IGNORES_ROW_SECURITY).fetchone()
        lines: list[psycopg.sql.Composable] = [
            sql.SQL("SET engram.vault = {}").format(sql.Literal(self.vault))
        ]
        # so that an index over all vaults finds enough vectors of this one
        if vector_version(connection) >= (0, 8):
            lines.append(sql.SQL("SET hnsw.iterative_scan = strict_order"))
        if row is None or row[0]:
            lines.append(sql.SQL("SET ROLE {}").format(sql.Identifier(ROLE)))
        connection.execute(sql.SQL("; ").join(lines))


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
