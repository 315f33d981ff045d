"""Imports as runs: listed, counted, taken back, gone on with (rows X6, X28)."""

from __future__ import annotations

import json

import pytest

from engram.core.records import ImportedMemory
from engram.errors import BadRequestError, ConflictError, ForbiddenError
from engram.ingest.importers import read_export
from engram.serve.commands import run as run_command
from engram.serve.observe import feed

SAID = (
    "My sister Anna is allergic to peanuts.",
    "I work as a marine biologist in Lisbon.",
    "My dog is called Biscuit.",
)


def file_of(tmp_path, said=SAID, name="chat.jsonl"):
    path = tmp_path / name
    rows = [
        {"id": f"m{number}", "session": "old", "text": text, "time": "2026-03-02T18:15"}
        for number, text in enumerate(said)
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def imported(memory, path, items=None):
    """Import a file as the command does; its result."""
    begun = {"file": path.name, "source": path.read_text()}
    run = memory.call("begin_import", begun)["run"]
    items = items or read_export(path, memory.settings.zone)
    return feed(items, memory.call, 0, run)


def found(memory, query):
    return [hit["text"] for hit in memory.call("recall", {"query": query})["hits"]]


def notes(memory):
    vault = memory.settings.vault
    paths = [*vault.glob("facts/**/*.md"), *vault.glob("entities/**/*.md")]
    return {path.relative_to(vault).as_posix(): path.read_bytes() for path in paths}


# row: X28
def test_an_import_is_listed_counted_and_taken_back(memory, tmp_path):
    memory.call("remember", {"text": "Carla likes tea."})
    run = imported(memory, file_of(tmp_path))["run"]
    row = next(row for row in memory.call("runs", {})["runs"] if "file" in row)
    assert (row["id"], row["cadence"], row["file"]) == (run, "import", "chat.jsonl")
    assert row["counts"] == {"turns": 3}
    assert row["can_be_undone"]
    assert found(memory, "peanuts")

    planned = memory.call("undo", {"id": run, "dry_run": True})
    assert planned["counts"]["undo"] >= 1
    assert found(memory, "peanuts")
    done = memory.call("undo", {"id": run[:20]})
    assert done["actions"] == planned["actions"]
    for query in ("peanuts", "marine biologist", "Biscuit"):
        assert not found(memory, query)
    assert found(memory, "tea")
    runs = memory.call("runs", {})["runs"]
    row = next(row for row in runs if "file" in row)
    undo = next(row for row in runs if row["cadence"] == "undo")
    assert undo["id"] == done["run"]
    assert (undo["cadence"], row["can_be_undone"]) == ("undo", False)
    with pytest.raises(ConflictError, match="already"):
        memory.call("undo", {"id": run})


# row: X8
def test_an_import_is_taken_back_by_its_id_only(memory, tmp_path):
    """Not by one undo too many."""
    run = imported(memory, file_of(tmp_path))["run"]
    memory.call("forget", {"id": memory.call("list", {})["memories"][0]["id"]})
    memory.call("undo", {})
    with pytest.raises(ConflictError, match="the import of chat") as fault:
        memory.call("undo", {})
    assert (fault.value.where, run in fault.value.fix) == ("3 turns", True)
    assert memory.call("undo", {"dry_run": True})["counts"]["withdraw"]
    assert found(memory, "peanuts")


def test_what_the_user_said_too_stays(memory, tmp_path):
    memory.call("observe", {"turns": [{"text": SAID[0], "session": "mine"}]})
    run = imported(memory, file_of(tmp_path))["run"]
    memory.call("undo", {"id": run})
    assert found(memory, "peanuts")
    assert not found(memory, "Biscuit")


def test_an_undo_is_taken_back(memory, tmp_path):
    """The notes are as before: of the memories, and of whom they are about."""
    run = imported(memory, file_of(tmp_path))["run"]
    before = notes(memory)
    assert any(path.startswith("entities/") for path in before)
    undo = memory.call("undo", {"id": run})["run"]
    assert not any(path.startswith("entities/") for path in notes(memory))
    back = memory.call("undo", {"id": undo})
    assert {one["name"] for one in back["actions"]} == {"restore", "undo"}
    assert notes(memory) == before
    (row,) = memory.call("runs", {})["runs"]
    assert row["can_be_undone"]
    memory.call("undo", {"id": back["run"]})
    assert not found(memory, "peanuts")


def test_what_was_taken_back_is_imported_again_also_from_a_newer_export(
    opened, tmp_path
):
    memory = opened()
    first = imported(memory, file_of(tmp_path))["run"]
    memory.call("undo", {"id": first})
    memory = opened()
    newer = file_of(tmp_path, [*SAID, "I play the cello."], "newer.jsonl")
    result = imported(memory, newer)
    assert (result["stored"], result["duplicates"]) == (4, 0)
    for query in ("peanuts", "Biscuit", "cello"):
        assert found(memory, query)
    active = memory.call("list", {"status": "active"})["memories"]
    assert any("peanuts" in row["text"] for row in active)
    memory.call("undo", {"id": result["run"]})
    assert not found(memory, "Biscuit")


def test_an_unknown_run_is_refused_and_nothing_is_stored(memory):
    memory.call("begin_import", {"file": "x", "source": "x"})
    for run, kind in (("01KBH2Q0M6", BadRequestError), ("../x", ForbiddenError)):
        with pytest.raises(kind):
            memory.call("observe", {"turns": [{"text": SAID[0]}], "run": run})
    assert not found(memory, "peanuts")


def test_the_command_names_the_run_and_undo_takes_it(
    opened, tmp_path, monkeypatch, capsys
):
    settings = opened().settings
    opened().close()
    monkeypatch.setenv("ENGRAM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ENGRAM_VAULT", str(settings.vault))
    assert run_command(["import", str(file_of(tmp_path)), "--json"]) == 0
    run = json.loads(capsys.readouterr().out)["run"]
    assert run_command(["runs"]) == 0
    assert f"{run} · " in (shown := capsys.readouterr().out)
    assert "import of chat.jsonl · turns 3" in shown
    named = ["--vault", str(settings.vault)]
    assert run_command([*named, "undo", run]) == 0
    assert "withdraw: sessions/" in (shown := capsys.readouterr().out)
    hint = f"`engram --vault {settings.vault} undo "
    assert f"\n{hint}" in shown
    assert run_command([*named, "undo", run]) != 0
    assert f"to do: {hint}" in capsys.readouterr().err
    assert run_command(["runs"]) == 0
    assert "turns 3 · undone" in capsys.readouterr().out
    assert run_command(["recall", "peanuts"]) == 0
    assert "Anna" not in capsys.readouterr().out


# row: X28
def test_the_report_counts_what_the_run_brought(memory, tmp_path):
    """Also where the vault held memories before, and after an undo."""
    memory.call("remember", {"text": "Carla likes tea."})
    path = file_of(tmp_path)
    first = imported(memory, path)
    held = memory.call("list", {})["total"]
    assert first["facts"] == held - 1 > 0
    assert imported(memory, path)["facts"] == 0
    memory.call("undo", {"id": first["run"]})
    again = imported(memory, path)
    assert (again["stored"], again["facts"]) == (3, held - 1)
    assert again["run"] != first["run"]


# row: X28
def test_memories_that_are_imported_again_are_told_as_restored(memory, tmp_path):
    path = tmp_path / "list.txt"
    path.write_text("whatever")
    items = [ImportedMemory("a", "Anna is allergic to peanuts.")]
    first = imported(memory, path, items)
    memory.call("undo", {"id": first["run"]})
    again = imported(memory, path, items)
    assert again["memories"] == {"restored": 1}
    assert again["facts"] == 1
    memory.call("undo", {"id": again["run"]})
    assert not found(memory, "peanuts")
