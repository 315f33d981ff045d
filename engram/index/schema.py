"""The schema of the tables in PostgreSQL: numbered migrations and row security."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram.errors import ConfigError
from engram.index.connections import SEARCH_PATH, psycopg

if TYPE_CHECKING:
    from psycopg import Connection

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
