"""Connections to the database of an index, and its schema: numbered migrations (`X15`)."""

from __future__ import annotations

import re
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram.config import without_password
from engram.errors import ConfigError, UnavailableError

if TYPE_CHECKING:
    from psycopg import Connection

try:
    import psycopg
    from psycopg.types.string import TextLoader
except ImportError as fault:  # pragma: no cover - the extra is missing
    raise ConfigError(
        "the index is in PostgreSQL, but its driver is not installed",
        where="postgres",
        fix="`pip install 'engram-md[postgres]'` installs it.",
    ) from fault

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["RETRY_SECONDS", "SEARCH_PATH", "connect", "database_faults", "psycopg"]

SEARCH_PATH = "SET search_path TO engram, public"
_LIMITS = (
    "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; "
    "SET tcp_keepalives_count = 3; SET idle_session_timeout = 0; "
    "SET idle_in_transaction_session_timeout = 0"
)
"""The server drops a client whose host vanished after 25 seconds, and no other."""
_OPTIONS: dict[str, str | int] = {
    "application_name": "engram",
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
"""Keepalive settings that detect a vanished server after about fifteen seconds."""
RETRY_SECONDS = 2
FIX = "The vault is complete without it; check that the server runs, then try again."


def connect(dsn: str) -> psycopg.Connection[Any]:
    """Return a connection in autocommit mode. Raises psycopg.Error."""
    parsed = psycopg.conninfo.conninfo_to_dict(dsn)
    # values in the connection string take precedence
    options = {name: value for name, value in _OPTIONS.items() if name not in parsed}
    dsn = psycopg.conninfo.make_conninfo(dsn, **options)
    connection = psycopg.connect(dsn, autocommit=True)
    connection.adapters.register_loader("json", TextLoader)
    connection.execute(f"{SEARCH_PATH}; {_LIMITS}".encode())
    return connection


@contextmanager
def database_faults(dsn: str) -> Iterator[None]:
    """Raise an error of the database as UnavailableError, without the password."""
    try:
        yield
    except psycopg.Error as fault:
        message = str(fault).strip().partition("\n")[0]
        raise UnavailableError(
            f"the index in PostgreSQL cannot be used: {message}",
            where=without_password(dsn),
            fix=FIX,
            retry_after=RETRY_SECONDS,
        ) from fault


MIGRATIONS = Path(__file__).parent / "migrations"
ROLE = "engram_vault"
"""The role of each transaction if that of the connection ignores row security."""
_MIGRATING = 0x656E6772
"""The advisory lock of the process that changes the schema."""


def migrate(connection: Connection[Any]) -> None:
    """Bring the schema to the newest version, one numbered file after another.

    Each file is a separate transaction, so an interrupted migration can be continued. A
    backup contains no roles, so they are created again after a restore. Raises
    ConfigError for a schema of a newer engram.
    """
    names = sorted(path.name for path in MIGRATIONS.glob("*.sql"))
    if _known(connection) == (names, True):
        return
    connection.execute("SELECT pg_advisory_lock(%s)", (_MIGRATING,))
    try:
        connection.execute(SEARCH_PATH)
        for statement in _PREPARE:
            connection.execute(statement)
        known, is_protected = _known(connection)
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
                _protect(connection)
                connection.execute("INSERT INTO migration VALUES (%s)", (name,))
        if known == names and not is_protected:
            with connection.transaction():
                _protect(connection)
    finally:
        with suppress(psycopg.Error):
            connection.execute("SELECT pg_advisory_unlock(%s)", (_MIGRATING,))


def vector_version(connection: Connection[Any]) -> tuple[int, ...]:
    """Return the version of pgvector in this database."""
    row = connection.execute(
        "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
    ).fetchone()
    return tuple(int(part) for part in re.findall(r"\d+", row[0])) if row else ()


def _known(connection: Connection[Any]) -> tuple[list[str], bool]:
    """Return the applied migrations, in order, and whether the role has rights.

    A role that is subject to row security needs no other role.
    """
    with suppress(psycopg.errors.UndefinedTable):
        found = connection.execute(_KNOWN).fetchone()
        assert found
        return found[0], found[1]
    return [], False


def _protect(connection: Connection[Any]) -> None:
    for statement in _PROTECT:
        connection.execute(statement)


_KNOWN = """
SELECT array(SELECT name FROM engram.migration ORDER BY name), EXISTS (
    SELECT FROM pg_roles WHERE rolname = current_user AND NOT (rolsuper OR rolbypassrls)
    OR rolname = 'engram_vault' AND has_schema_privilege(oid, 'engram', 'USAGE')
)
"""
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
        IF to_regclass('owner') IS NOT NULL THEN
            REVOKE ALL ON owner FROM engram_vault;
        END IF;
    EXCEPTION WHEN undefined_object THEN NULL;
    END $$
    """,
)
