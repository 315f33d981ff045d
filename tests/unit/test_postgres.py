"""The index in PostgreSQL: whose rows are seen, how the schema grows, what a loss costs.

What it shares with the index in files is in `test_index_contract.py`.
"""

from __future__ import annotations

import secrets
import sys
from contextlib import closing, suppress
from dataclasses import replace

import psycopg
import pytest

from engram.errors import ConfigError, LockedError, StorageError
from engram.index import postgres as module
from engram.index.database import open_store
from engram.index.postgres import PostgresStore

TOLD = (
    "Anna owns a lighthouse in Porto.",
    "The ferry to Cacilhas leaves at noon.",
    "The user is allergic to peanuts.",
)


@pytest.fixture
def stored(settings, postgres):
    """Settings with the index in PostgreSQL, under an id of its own."""
    return replace(
        settings, postgres=postgres, place=None, vault_id=secrets.token_hex(8)
    )


@pytest.fixture
def told(opened, stored):
    memory = opened(postgres=stored.postgres, place=None, vault_id=stored.vault_id)
    for text in TOLD:
        memory.call("remember", {"text": text})
    return memory


def reopened(opened, stored):
    return opened(postgres=stored.postgres, place=None, vault_id=stored.vault_id)


def answers(memory):
    return [
        [hit["text"] for hit in memory.call("recall", {"query": question})["hits"]]
        for question in ("lighthouse", "Which ferry leaves?", "allergic")
    ]


def administrator(dsn):
    return closing(psycopg.connect(dsn, autocommit=True))


# -- tenants ---------------------------------------------------------------------------


# row: X15
def test_a_vault_sees_and_writes_its_own_rows_alone(postgres, told):
    """Whatever the statement: the rule is in the database, not in the program."""
    with closing(PostgresStore(postgres, "another", "s")) as other:
        assert other.query("SELECT count(*) FROM unit") == [(0,)]
        with other.transaction() as db:
            db.execute("DELETE FROM unit", ())
            db.execute("UPDATE file SET sha = ''", ())
        with pytest.raises(StorageError, match="row-level security"):
            other.query(
                "INSERT INTO meta (name, value, vault) VALUES ('a', 'b', ?) "
                "RETURNING name",
                (told.settings.vault_id,),
            )
    assert told.index.counts()["facts"] == len(TOLD)
    assert all(answers(told))


# row: X15
def test_each_transaction_has_a_role_that_row_security_binds(told):
    store = told.index.catalog.database
    bypasses = store.query(
        "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
    )
    assert bypasses == [(False,)]
    tables = store.query(
        "SELECT relname FROM pg_class WHERE relnamespace = 'engram'::regnamespace "
        "AND relkind = 'r' AND NOT (relrowsecurity AND relforcerowsecurity)"
    )
    assert tables == [("migration",)]


def test_a_vault_that_another_process_has_open_is_refused(postgres, told):
    with pytest.raises(LockedError, match="another process has the index"):
        PostgresStore(postgres, told.settings.vault_id, "s")


# -- the schema ------------------------------------------------------------------------


@pytest.fixture
def empty(postgres):
    """A database without a schema."""
    name = f"d{secrets.token_hex(6)}"
    with administrator(postgres) as admin:
        admin.execute(f"CREATE DATABASE {name}")
        yield psycopg.conninfo.make_conninfo(postgres, dbname=name)
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


def made(dsn):
    with administrator(dsn) as admin:
        return admin.execute("SELECT name, made FROM engram.migration").fetchall()


def test_an_interrupted_migration_goes_on_where_it_was(empty, tmp_path, monkeypatch):
    for number in (1, 2, 3):
        (tmp_path / f"000{number}.sql").write_text(
            f"CREATE TABLE t{number} (vault text, n int)"
        )
    broken = tmp_path / "0002.sql"
    broken.write_text("CREATE TABLE t2 (vault text); CREATE TABLE t1 (n int)")
    monkeypatch.setattr(module, "MIGRATIONS", tmp_path)
    with administrator(empty) as admin:
        with pytest.raises(psycopg.errors.DuplicateTable):
            module.migrate(admin)
        first = made(empty)
        broken.write_text("CREATE TABLE t2 (vault text)")
        module.migrate(admin)
        module.migrate(admin)
    assert made(empty)[:1] == first
    assert [name for name, _ in made(empty)] == ["0001.sql", "0002.sql", "0003.sql"]


def test_a_database_of_a_newer_program_is_left_alone(empty):
    PostgresStore(empty, "v", "s").close()
    with administrator(empty) as admin:
        admin.execute("INSERT INTO engram.migration VALUES ('9999_later.sql')")
    with pytest.raises(ConfigError, match="a newer engram made this database"):
        PostgresStore(empty, "v", "s")


# -- loss ------------------------------------------------------------------------------


# row: X15
def test_a_lost_database_is_made_again_from_the_vault(opened, stored, told):
    before = answers(told)
    assert all(before)
    told.close()
    told.close = lambda: None
    with administrator(stored.postgres) as admin:
        admin.execute("DROP SCHEMA engram CASCADE")
    later = reopened(opened, stored)
    assert answers(later) == before
    assert later.index.counts()["facts"] == len(TOLD)


# row: X15
def test_a_restarted_server_is_found_again(stored, told):
    before = answers(told)
    with administrator(stored.postgres) as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'engram'"
        )
    with suppress(StorageError):  # the first question may notice it
        told.index.catalog.fact_ids()
    assert answers(told) == before
    told.call("remember", {"text": "Anna sold the boat."})


def test_a_server_that_is_away_is_told_without_its_password(stored):
    dsn = "postgresql://me:secret@127.0.0.1:1/x"
    with pytest.raises(StorageError) as fault:
        PostgresStore(dsn, "v", "s")
    assert "127.0.0.1" in fault.value.where
    assert "secret" not in str(fault.value)


def test_without_the_extra_the_fault_says_what_to_install(stored, monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "engram.index.postgres")
    with pytest.raises(ConfigError, match=r"pip install engram\[postgres\]"):
        open_store(stored)


# row: X15
def test_other_places_change_no_answer(opened, stored, settings, told):
    """The same vault, with its index in PostgreSQL and in files."""
    before = answers(told)
    assert answers(opened(postgres="")) == before
    assert answers(reopened(opened, stored)) == before
