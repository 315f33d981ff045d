"""The index in PostgreSQL: whose rows are seen, how the schema grows, what a loss costs.

What it shares with the index in files is in `test_index_contract.py`.
"""

from __future__ import annotations

import math
import os
import secrets
import subprocess
import sys
from contextlib import closing, suppress
from dataclasses import replace

import psycopg
import pytest

from engram.errors import ConfigError, LockedError, UnavailableError
from engram.index.database import open_store
from engram.index.postgres import PostgresStore
from engram.vault.usage import device_of
from tests.postgres import (
    UnavailableServerError,
    administrator,
    cut_off,
    programs,
    refuses,
    server,
)

TOLD = (
    "Anna owns a lighthouse in Porto.",
    "The ferry to Cacilhas leaves at noon.",
    "The user is allergic to peanuts.",
)


@pytest.fixture
def told(opened, stored):
    memory = opened(postgres=stored.postgres, place=None, vault_id=stored.vault_id)
    for text in TOLD:
        memory.call("remember", {"text": text})
    return memory


def reopened(opened, stored, **changes):
    return opened(
        postgres=stored.postgres, place=None, vault_id=stored.vault_id, **changes
    )


def closed(memory):
    """Close a memory that the fixture would close a second time."""
    memory.close()
    memory.close = lambda: None


def answers(memory):
    return [
        [hit["text"] for hit in memory.call("recall", {"query": question})["hits"]]
        for question in ("lighthouse", "Which ferry leaves?", "allergic")
    ]


# -- tenants ---------------------------------------------------------------------------


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
    assert sorted(tables) == [("migration",), ("owner",)]
    with pytest.raises(UnavailableError, match="permission denied"):
        store.query("SELECT * FROM owner")


def test_a_vault_that_another_process_has_open_is_refused(postgres, told):
    with pytest.raises(
        LockedError, match=f"process {os.getpid()} on .* has this vault"
    ):
        PostgresStore(postgres, told.settings.vault_id, "s")


def test_a_late_thread_does_not_take_a_closed_vault_again(postgres, stored):
    """It would keep the vault from every other daemon until this one ends."""
    store = PostgresStore(postgres, stored.vault_id, "s")
    store.close()
    with pytest.raises(UnavailableError, match="the vault is closed"):
        store.query("SELECT 1")
    PostgresStore(postgres, stored.vault_id, "s").close()


def tree(settings):
    return {
        path: path.read_bytes()
        for path in sorted(settings.vault.rglob("*"))
        if path.is_file()
    }


# row: X15
def test_a_process_that_lost_the_vault_writes_no_file_any_more(opened, stored, told):
    """Its connection was cut off, and another took the vault.

    What it acknowledged before is filed once it has the vault again.
    """
    store = told.index.catalog.database
    told.executor.attended = True
    told.call("observe", {"turns": [{"id": "w", "text": "Porto has a late ferry."}]})
    before = tree(told.settings)
    cut_off(store)
    with (
        closing(
            PostgresStore(
                store.dsn,
                store.vault,
                store.stamp,
                state=device_of(told.settings.state),
            )
        ),
    ):
        refuses(lambda: told.call("remember", {"text": "Too late."}))
    assert store.lost
    with pytest.raises(LockedError, match="has this vault"):
        told.call("remember", {"text": "Too late again."})
    with suppress(LockedError):
        told.pipeline.drain()
    with suppress(LockedError):
        closed(told)
    assert tree(told.settings) == before

    later = reopened(opened, stored)
    assert {fact.text for fact in later.index.catalog.facts()} == set(TOLD)
    [hit, *_] = later.call("recall", {"query": "late ferry"})["hits"]
    assert hit["text"] == "Porto has a late ferry."
    later.call("flush", {})
    assert "late ferry" in b"".join(tree(later.settings).values()).decode()


# -- the schema ------------------------------------------------------------------------


def made(dsn):
    with administrator(dsn) as admin:
        return admin.execute("SELECT name, made FROM engram.migration").fetchall()


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
    closed(told)
    with administrator(stored.postgres) as admin:
        admin.execute("DROP SCHEMA engram CASCADE")
    later = reopened(opened, stored)
    assert answers(later) == before
    assert later.index.counts()["facts"] == len(TOLD)


# row: X15
def test_a_restored_backup_makes_no_edits_of_what_engram_wrote_since(
    opened, stored, empty, postgres
):
    """Rows older than the vault are not believed: the vault is read again."""
    stored = replace(stored, postgres=empty)
    copy = f"b{secrets.token_hex(6)}"
    name = psycopg.conninfo.conninfo_to_dict(empty)["dbname"]
    memory = reopened(opened, stored)
    memory.call("remember", {"text": TOLD[0]})
    closed(memory)
    with administrator(postgres) as admin:
        admin.execute(f"CREATE DATABASE {copy} TEMPLATE {name}")
        memory = reopened(opened, stored)
        old = memory.index.catalog.facts()[0]
        memory.call("update", {"id": old.id, "pinned": True})
        before = answers(memory)
        closed(memory)
        admin.execute(f"DROP DATABASE {name}")
        admin.execute(f"CREATE DATABASE {name} TEMPLATE {copy}")
        admin.execute(f"DROP DATABASE {copy}")
    memory = reopened(opened, stored)
    assert answers(memory) == before
    log = (memory.settings.vault / "state/memory-actions.jsonl").read_text()
    assert "a person edited" not in log
    closed(memory)


# row: X15
def test_a_backup_restored_on_another_server_answers_as_before(
    opened, stored, empty, tmp_path
):
    """With pg_dump and pg_restore, as docs/postgres.md says: the role is made anew."""
    try:
        binaries = programs()
    except UnavailableServerError as reason:
        pytest.skip(str(reason))
    memory = reopened(opened, replace(stored, postgres=empty))
    for text in TOLD:
        memory.call("remember", {"text": text})
    before = answers(memory)
    generation = memory.index.catalog.database.generation
    closed(memory)
    backup = tmp_path / "engram.dump"
    dump = ("--format=custom", "--schema=engram", f"--file={backup}")
    subprocess.run([binaries / "pg_dump", *dump, empty], check=True)
    with server() as other:
        with administrator(other) as admin:
            admin.execute("CREATE EXTENSION vector")
        restore = ("--no-owner", "--no-privileges", f"--dbname={other}", backup)
        subprocess.run([binaries / "pg_restore", *restore], check=True)
        memory = reopened(opened, replace(stored, postgres=other))
        assert memory.index.catalog.database.generation == generation  # not read again
        assert answers(memory) == before
        rows = memory.call("doctor", {})["findings"]
        assert [row["level"] for row in rows if row["code"] == "database"] == ["notice"]
        closed(memory)


# row: X15
def test_a_restarted_server_is_found_again(stored, told):
    before = answers(told)
    with administrator(stored.postgres) as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'engram'"
        )
    with suppress(UnavailableError):  # the first question may notice it
        told.index.catalog.fact_ids()
    assert answers(told) == before
    told.call("remember", {"text": "Anna sold the boat."})


def test_without_the_extra_the_fault_says_what_to_install(stored, monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for name in ("connections", "owner", "postgres"):
        monkeypatch.delitem(sys.modules, f"engram.index.{name}")
    with pytest.raises(ConfigError, match=r"pip install .engram-md\[postgres\]"):
        open_store(stored)


# row: X15
def test_doctor_compares_the_database_with_the_vault(told):
    def found():
        rows = told.call("doctor", {})["findings"]
        return [
            (row["level"], row["what"]) for row in rows if row["code"] == "database"
        ]

    [(level, what)] = found()
    assert level == "notice"
    assert (
        what
        == f"The index in PostgreSQL has the vault's {told.index.counts()['files']} files."
    )
    [fact, other] = told.index.catalog.facts()[:2]
    with told.index.catalog.database.transaction() as db:
        db.execute("UPDATE file SET sha = 'x' WHERE path = ?", (fact.path,))
        db.execute("DELETE FROM file WHERE path = ?", (other.path,))
    assert found() == [
        ("warning", f"1 file not in the index: {other.path}"),
        ("warning", f"1 file in the index as it was before: {fact.path}"),
        ("warning", f"1 file in the index without its file: {other.id}"),
    ]
    told.call("reindex", {})
    assert [level for level, _ in found()] == ["notice"]


def rows_with(dsn, word):
    """The tables in which any row of any vault has this word."""
    with administrator(dsn) as admin:
        tables = admin.execute(
            "SELECT table_name FROM information_schema.tables "
            "WHERE table_schema = 'engram'"
        ).fetchall()
        return [
            table
            for (table,) in tables
            if any(
                word in text
                for (text,) in admin.execute(f"SELECT t::text FROM engram.{table} AS t")
            )
        ]


# row: X12
# row: X15
def test_a_purge_searches_the_rows_of_the_database_too(stored, told):
    """What it proves holds there; words that the user wrote are found there as well."""
    given = told.call("remember", {"text": "Her doctor is called Quetzalbyte."})
    assert "unit" in rows_with(stored.postgres, "Quetzalbyte")
    purged = told.call("purge", {"ids": [given["id"]], "yes": True}, "owner")
    assert purged["clean"]
    searched = purged["searched"]["database"]
    assert searched["rows"] >= len(TOLD)
    assert searched["bytes"] > sum(map(len, TOLD))
    assert rows_with(stored.postgres, "Quetzalbyte") == []

    given = told.call("remember", {"text": "Her dentist is Dr. Zirbelnuss."})
    told.files.look_due = math.inf  # a note that was read before is no trace
    note = stored.vault / "notes/doctors.md"
    note.parent.mkdir(exist_ok=True)
    note.write_text("Ask them: Her dentist is Dr. Zirbelnuss.\n")
    purged = told.call("purge", {"ids": [given["id"]], "yes": True}, "owner")
    assert {one["path"] for one in purged["left"]} >= {
        "notes/doctors.md",
        "engram.unit",
    }


# row: X15
def test_other_places_change_no_answer(opened, stored, settings, told):
    """The same vault, with its index in PostgreSQL and in files."""
    before = answers(told)
    assert answers(opened(postgres="")) == before
    assert answers(reopened(opened, stored)) == before
