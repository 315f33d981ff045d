"""The rows of an index in PostgreSQL, shared by the vaults of many machines (`X15`).

The schema `engram` has one table for all vaults; row-level security shows each
connection the rows of the vault in `engram.vault` alone. All of it is derived: where the
database is lost, it is filled again from the vault.
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
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram.config import without_password
from engram.errors import ConfigError, LockedError, StorageError

try:
    import psycopg
    from psycopg import sql
    from psycopg.types.string import TextLoader
except ImportError as fault:  # pragma: no cover - the extra is missing
    raise ConfigError(
        "the index is in PostgreSQL, but its driver is not installed",
        where="postgres",
        fix="`pip install engram[postgres]` installs it.",
    ) from fault

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from engram.index.protocol import RowTransaction, VectorStore

SCHEMA = "engram"
_SEARCH_PATH = f"SET search_path TO {SCHEMA}, public"
_KEEPALIVE = (
    "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; "
    "SET tcp_keepalives_count = 3"
)
"""A host that vanished loses its vaults after about half a minute."""
_FENCE = "SELECT fence FROM lease"
_TAKE = (
    "INSERT INTO lease (fence, holder) VALUES (1, ?) ON CONFLICT ON CONSTRAINT lease_pkey "
    "DO UPDATE SET fence = lease.fence + 1, holder = excluded.holder, taken = now() "
    "RETURNING fence"
)
ROLE = "engram_vault"
"""The role of each transaction where that of the connection ignores row security."""

TABLES = (
    "meta",
    "file",
    "unit",
    "strand",
    "removed",
    "user_change",
    "session",
    "problem",
)
"""The tables of a vault's catalogue; what is empty here is filled by a scan."""

MIGRATIONS = Path(__file__).parent / "migrations"
FIX = "The vault is complete without it; check that the server runs, then try again."
_MIGRATING = 0x656E6772
"""The advisory lock of the process that changes the schema."""


class PostgresStore:
    """The rows of one vault, over one connection that all threads share.

    `dsn` is a connection string of libpq. `vault` names the rows, `stamp` says how they
    are written: rows under another stamp are replaced. Raises LockedError while another
    process has the vault open. Each process that opens it gets a greater number, its
    fence; a process whose number is no longer the greatest has lost the vault.
    """

    def __init__(self, dsn: str, vault: str, stamp: str) -> None:
        self.dsn = dsn
        self.vault = vault
        self.stamp = stamp
        self.lock = threading.RLock()
        self.generation = ""
        self.changes = 0
        self.lost = False
        self._written = 0
        self._open: psycopg.RawCursor[Any] | None = None
        with self._faults():
            self._connect()
        try:
            with self._faults():
                migrate(self._connection)
                self._begin = self._begin_statement()
            self.fence = self._next_fence()
            if self.setting("stamp") == stamp:
                self.generation = self.setting("generation")
            else:
                self.start_over()
        except BaseException:
            self.close()
            raise

    def query(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query. Raises StorageError."""
        with self.lock, self._faults():
            if self._open:
                return _run(self._open, sql, values).fetchall()
            try:
                return self._query(sql, values)
            except psycopg.OperationalError:
                if not self._connection.closed:
                    raise
                self._reconnect()
                return self._query(sql, values)

    def _query(self, sql: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        with self._transaction() as cursor:
            return _run(cursor, sql, values).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[RowTransaction]:
        """Open a transaction, which ends with the block. Raises StorageError."""
        with self.lock, self._faults():
            self.changes += 1
            try:
                if self._connection.closed:
                    self._reconnect()
                with self._transaction() as cursor:
                    self._open = cursor
                    opened = PostgresTransaction(cursor)
                    yield opened
                    self._open = None
                self._written += opened.rows
                if self._written > ROWS_PER_ANALYSIS:
                    self._analyse()
            finally:
                self._open = None
                self.changes += 1

    def _analyse(self) -> None:
        """Let the planner see what was written, where this role may: it knows nothing of
        a database that was just filled, and chooses badly until autovacuum looks.
        """
        self._written = 0
        with suppress(psycopg.Error):
            self._connection.execute("ANALYZE unit, file, strand")

    def check_owner(self) -> None:
        """Raise LockedError if another process took the vault since it was opened here.

        Raises StorageError where that cannot be asked.
        """
        self._check_fence(self.query(_FENCE))

    def _check_fence(self, found: list[tuple[Any, ...]]) -> None:
        if found != [(self.fence,)]:
            self.lost = True
            raise LockedError(
                "another process took this vault meanwhile",
                where=without_password(self.dsn),
                fix="This one writes nothing any more; what it has not filed is in its journal. Start it again.",
            )

    def _next_fence(self) -> int:
        holder = f"{socket.gethostname()} {os.getpid()}"
        found = self.query(_TAKE, (holder,))
        return int(found[0][0])

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
        """Return the vectors of a model; those in `folder` are moved here first."""
        from engram.index.postgres_vectors import PostgresVectors

        vectors = PostgresVectors(self, tag)
        vectors.take_over(folder)
        return vectors

    def make_vector_index(self, dimension: int) -> None:
        """Make the HNSW index of a dimension, where this role may; else a scan answers."""
        with self.lock, suppress(psycopg.Error):
            self._connection.execute(
                f"CREATE INDEX IF NOT EXISTS hnsw_{dimension} ON embedding USING hnsw "
                f"((numbers::vector({dimension})) vector_cosine_ops) "
                f"WHERE dimension = {dimension}".encode()
            )

    def start_over(self) -> None:
        """Delete the rows of the vault, and name what follows by another generation."""
        generation = secrets.token_hex(8)
        with self.transaction() as db:
            for table in TABLES:
                db.execute(f"DELETE FROM {table}", ())  # noqa: S608
            rows = (("stamp", self.stamp), ("generation", generation))
            db.executemany("INSERT INTO meta VALUES (?, ?)", rows)
        self.generation = generation

    def finish_copy(self, generation: str) -> None:
        """Record that the rows are those of a whole vault, under this generation.

        A lexical snapshot of that generation stays valid.
        """
        with self.transaction() as db:
            db.execute("DELETE FROM meta WHERE name IN ('copying', 'generation')", ())
            rows = (("complete", "yes"), ("generation", generation))
            db.executemany("INSERT INTO meta VALUES (?, ?)", rows)
        self.generation = generation

    def close(self) -> None:
        """Close the connection; the rows stay."""
        with self.lock, suppress(psycopg.Error):
            self._connection.close()

    # -- the connection ----------------------------------------------------------------

    def _connect(self) -> None:
        """Connect, and take the vault's lock, which lasts as long as the connection."""
        self._connection = psycopg.connect(
            self.dsn, autocommit=True, connect_timeout=10, application_name="engram"
        )
        self._connection.adapters.register_loader("json", TextLoader)
        self._connection.execute(f"{_SEARCH_PATH}; {_KEEPALIVE}")
        taken = self._connection.execute(
            "SELECT pg_try_advisory_lock(hashtextextended(%s, 0))",
            (f"{SCHEMA}:{self.vault}",),
        ).fetchone()
        if taken != (True,):
            self._connection.close()
            raise LockedError(
                "another process has the index of this vault",
                where=without_password(self.dsn),
                fix="Stop the daemon that owns the vault, on whichever machine it runs.",
            )

    def _reconnect(self) -> None:
        """Connect again after the server was away; LockedError if the vault is lost."""
        try:
            self._connect()
        except LockedError:
            self.lost = True
            raise
        self._check_fence(self._query(_FENCE, ()))

    def _begin_statement(self) -> str:
        """Return the statements that begin a transaction for this vault alone.

        A role that ignores row security is replaced by one that does not.
        """
        row = self._connection.execute(
            "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
        ).fetchone()
        lines = [
            sql.SQL("BEGIN"),
            sql.SQL("SET LOCAL engram.vault = {}").format(sql.Literal(self.vault)),
        ]
        # so that an index of all vaults finds enough vectors of this one
        if _vector_version(self._connection) >= (0, 8):
            lines.append(sql.SQL("SET LOCAL hnsw.iterative_scan = strict_order"))
        if row is None or row[0]:
            lines.append(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(ROLE)))
        return sql.SQL("; ").join(lines).as_string(self._connection)

    @contextmanager
    def _transaction(self) -> Iterator[psycopg.RawCursor[Any]]:
        with psycopg.RawCursor(self._connection) as cursor:
            cursor.execute(self._begin.encode())
            try:
                yield cursor
                cursor.execute("COMMIT")
            except BaseException:
                with suppress(psycopg.Error):
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Raise a fault of the database as StorageError, without the password."""
        try:
            yield
        except psycopg.Error as fault:
            what = str(fault).strip().partition("\n")[0]
            raise StorageError(
                f"the index in PostgreSQL cannot be used: {what}",
                where=without_password(self.dsn),
                fix=FIX,
            ) from fault


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
        """Carry out a statement with the values of its `?` marks."""
        return _run(self._cursor, sql, values)

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> None:
        """Carry out a statement once for each row of values.

        Insertions are of `ROWS_AT_ONCE` rows, which is several times faster.
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
    """Return the values without the character 0, which no text in PostgreSQL has."""
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
"""What PostgreSQL calls otherwise than SQLite, as patterns with their replacements."""


@lru_cache(500)
def translated(sql: str) -> bytes:
    """Return a statement of the catalogue as PostgreSQL reads it."""
    for pattern, replacement in _DIALECT:
        sql = re.sub(pattern, replacement, sql)
    first, *others = sql.split("?")
    parts = (f"${number}{part}" for number, part in enumerate(others, 1))
    return (first + "".join(parts)).encode()


# -- the schema ------------------------------------------------------------------------


def migrate(connection: psycopg.Connection[Any]) -> None:
    """Bring the schema to the newest version, one numbered file after another.

    Each is a transaction of its own, so an interrupted migration goes on where it was.
    Raises ConfigError for a schema that a newer engram made.
    """
    names = sorted(path.name for path in MIGRATIONS.glob("*.sql"))
    known = _known(connection)
    if known == names:
        return
    connection.execute("SELECT pg_advisory_lock(%s)", (_MIGRATING,))
    try:
        connection.execute(_SEARCH_PATH)
        for statement in _PREPARE:
            connection.execute(statement)
        known = _known(connection)
        if newer := [name for name in known if name not in names]:
            raise ConfigError(
                f"a newer engram made this database ({newer[-1]})",
                where="postgres",
                fix="Install that version on this machine too.",
            )
        for name in names[len(known) :]:
            with connection.transaction():
                text = (MIGRATIONS / name).read_text("utf-8")
                connection.execute(text.encode())
                for statement in _PROTECT:
                    connection.execute(statement)
                connection.execute("INSERT INTO migration VALUES (%s)", (name,))
    finally:
        with suppress(psycopg.Error):
            connection.execute("SELECT pg_advisory_unlock(%s)", (_MIGRATING,))


def _vector_version(connection: psycopg.Connection[Any]) -> tuple[int, ...]:
    """Return the version of pgvector in this database."""
    row = connection.execute(
        "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
    ).fetchone()
    return tuple(int(part) for part in re.findall(r"\d+", row[0])) if row else ()


def _known(connection: psycopg.Connection[Any]) -> list[str]:
    """Return the names of the migrations that were made, in order."""
    with suppress(psycopg.errors.UndefinedTable):
        rows = connection.execute("SELECT name FROM engram.migration ORDER BY name")
        return [name for (name,) in rows]
    return []


_PREPARE = (
    "CREATE SCHEMA IF NOT EXISTS engram",
    """
    CREATE TABLE IF NOT EXISTS engram.migration (
        name text PRIMARY KEY, made timestamptz NOT NULL DEFAULT now()
    )
    """,
    # where this role may not make another, its own rows are protected all the same
    """
    DO $$ BEGIN
        CREATE ROLE engram_vault NOLOGIN NOBYPASSRLS;
    EXCEPTION WHEN duplicate_object OR insufficient_privilege OR unique_violation THEN
        NULL;
    END $$
    """,
    """
    DO $$ BEGIN
        GRANT engram_vault TO CURRENT_USER;
    EXCEPTION WHEN undefined_object OR insufficient_privilege THEN NULL;
    END $$
    """,
)
_PROTECT = (
    """
    DO $$ DECLARE name text; BEGIN
        FOR name IN
            SELECT table_name FROM information_schema.columns
            WHERE table_schema = 'engram' AND column_name = 'vault'
        LOOP
            EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
            EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
            EXECUTE format('DROP POLICY IF EXISTS own_rows ON %I', name);
            EXECUTE format(
                'CREATE POLICY own_rows ON %I '
                'USING (vault = current_setting(''engram.vault'', true)) '
                'WITH CHECK (vault = current_setting(''engram.vault'', true))', name
            );
        END LOOP;
    END $$
    """,
    """
    DO $$ BEGIN
        GRANT USAGE ON SCHEMA engram TO engram_vault;
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA engram
            TO engram_vault;
        GRANT USAGE ON ALL SEQUENCES IN SCHEMA engram TO engram_vault;
        REVOKE INSERT, UPDATE, DELETE ON migration FROM engram_vault;
    EXCEPTION WHEN undefined_object THEN NULL;
    END $$
    """,
)
