"""The rows and vectors of an index in PostgreSQL, shared by many machines (`X15`).

The schema `engram` has one table for all vaults; row-level security limits each
connection to the rows of the vault in `engram.vault`. All rows are derived: if the
database is lost, they are filled again from the vault.
"""

from __future__ import annotations

import logging
import re
import secrets
import threading
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from copy import copy
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from engram.errors import LockedError, UnavailableError
from engram.index.connections import (
    RETRY_SECONDS,
    ROLE,
    connect,
    database_faults,
    migrate,
    psycopg,
    vector_version,
)
from engram.index.owner import VaultOwner
from engram.index.quantize import WHOLE
from engram.index.vectors import Matrix, best

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Collection,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )
    from datetime import datetime
    from pathlib import Path

    from numpy.typing import NDArray

    from engram.index.columns import Floats, Ints
    from engram.index.protocol import RowTransaction, VectorStore

log = logging.getLogger("engram.postgres")

_FLOAT = np.dtype(np.float32)
_SENT = np.dtype(">f4")
_HEAD = 4
"""The number of bytes before the numbers of a vector in the server's format."""
MOST_INDEXED = 2_000
"""The largest dimension for which pgvector creates an HNSW index."""
_SIGN = 1 << 63

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
        self._length = float(np.linalg.norm(np.frombuffer(vector, _FLOAT)))

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
        """Return the cosines of the vectors at these places, times the own length."""
        found = self._vectors.cosines(self._vector, places.tolist())
        near = np.array([found.get(place, 0.0) for place in places.tolist()])
        return self._length * near


def _text(vector: bytes) -> str:
    return str(np.frombuffer(vector, _FLOAT).tolist())


def _signed(key: int) -> int:
    return key - (1 << 64) if key >= _SIGN else key


def _unsigned(key: int) -> int:
    return key % (1 << 64)
