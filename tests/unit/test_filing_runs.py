"""What a statement ends as it is filed is a run: listed, explained and taken back (X6)."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from engram.errors import StorageError
from engram.pipeline.write import NoteWriter
from engram.serve.output import shown
from tests.unit.conftest import START

LIVES, MOVED = "The user lives in Munich.", "The user has moved to Augsburg."


def say(sim, text, *, day):
    """A turn of a session of its own, heard on a day."""
    sim.advance(START + timedelta(days=day))
    sim.call("observe", turns=[{"text": text, "session": f"day-{day}"}])
    sim.advance(START + timedelta(days=day, hours=6))


def moved(sim):
    say(sim, "I live in Munich.", day=0)
    say(sim, "I've moved to Augsburg.", day=40)


def filing_runs(sim):
    return [run for run in sim.call("runs")["runs"] if run["cadence"] == "filing"]


def told(sim):
    hits = sim.call("recall", query="Where do I live?", k=4)["hits"]
    return {hit["text"]: hit.get("ended") for hit in hits}


# row: X6
def test_an_end_by_a_rule_is_a_run_that_is_listed_explained_and_taken_back(
    simulation, notes
):
    moved(simulation)
    (run,) = filing_runs(simulation)
    assert (run["counts"], run["can_be_undone"]) == ({"ended by rule": 1}, True)
    listed = shown("runs", simulation.call("runs"))
    assert f"{run['id']} · 2027-02-20T09:15 · filing · 1 fact ended by rule" in listed
    assert LIVES in listed
    old = notes()[LIVES]
    decisions = simulation.call("why", id=old["id"])["decisions"]
    assert [(row["action"], row.get("run")) for row in decisions] == [
        ("store", None),
        ("supersede", run["id"]),
    ]

    tried = simulation.call("undo", id=run["id"], dry_run=True)
    assert str(old["path"]).endswith(tried["actions"][-1]["path"])
    assert notes()[LIVES].get("status", "active") == "superseded"
    simulation.call("undo", id=run["id"])
    after = notes()
    assert (
        after[LIVES].get("status", "active")
        == after[MOVED].get("status", "active")
        == "active"
    )
    assert "superseded_by" not in after[LIVES]
    assert "supersedes" not in after[MOVED]
    assert told(simulation)[LIVES] == ""
    back = simulation.call("why", id=old["id"])["decisions"][2]
    assert (back["action"], back["by"]) == ("restore", "user")


# row: C21
def test_undo_reverses_the_end_of_the_memory_and_none_that_it_caused(
    simulation, notes, tmp_path
):
    moved(simulation)
    run, old = filing_runs(simulation)[0]["id"], notes()[LIVES]["id"]
    log = tmp_path / "vault" / "state" / "memory-actions.jsonl"
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    (ended,) = (row for row in rows if row["action"] == "supersede")
    caused = ended | {"action": "weaken", "memory": "another", "met": old}
    log.write_text(log.read_text() + json.dumps(caused) + "\n")
    simulation.call("undo", id=run)
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    assert [row["action"] for row in rows if row.get("reversed")] == ["supersede"]


# row: X6
def test_what_was_taken_back_is_not_ended_again_by_the_same_words(simulation, notes):
    """Not by a night, not by the same turn or the same words, and no question asks."""
    moved(simulation)
    simulation.call("undo", id=filing_runs(simulation)[0]["id"])
    simulation.advance(START + timedelta(days=45))
    simulation.call(
        "observe",
        turns=[
            {
                "text": "I've moved to Augsburg.",
                "session": "day-40",
                "occurred_at": (START + timedelta(days=40)).isoformat(),
            }
        ],
    )
    say(simulation, "I've moved to Augsburg.", day=46)
    simulation.advance(START + timedelta(days=60))
    assert notes()[LIVES].get("status", "active") == "active"
    assert simulation.call("review")["cases"] == []
    assert "1 Feb" not in str(told(simulation))
    assert len(filing_runs(simulation)) == 1


# row: X6
def test_equal_statements_become_one_after_an_undo(simulation, notes):
    """The user said it again while the first one counted as over."""
    moved(simulation)
    say(simulation, "I live in Munich.", day=80)
    first, second = filing_runs(simulation)[::-1]
    assert second["counts"] == {"ended by rule": 1}
    simulation.call("undo", id=first["id"])
    active = [
        fact
        for fact in simulation._memory.index.catalog.facts()
        if fact.status == "active" and fact.text == LIVES
    ]
    assert len(active) == 1


# row: C21
def test_an_undo_is_logged_as_the_failure_of_the_end(simulation, notes):
    moved(simulation)
    simulation.call("undo", id=filing_runs(simulation)[0]["id"])
    log = simulation._memory.vault.actions_of(notes()[LIVES]["id"])
    (wrong,) = (row for row in log if row["outcome"] == "failed")
    assert (wrong["action"], wrong["by"]) == ("supersede", "user")
    assert "undid run" in wrong["reason"]


def test_a_statement_that_ends_nothing_is_no_run(simulation):
    say(simulation, "I live in Munich.", day=0)
    say(simulation, "I love dark chocolate.", day=3)
    assert filing_runs(simulation) == []


# row: X18
def test_a_filing_that_failed_half_way_is_one_run_for_each_try(
    simulation, notes, monkeypatch
):
    """The second try ends nothing more, so the run of the first takes it back."""
    say(simulation, "I live in Munich.", day=0)
    simulation.advance(START + timedelta(days=40))
    write = NoteWriter.write

    def once(self, changes, rows, *more):
        if any(row["action"] == "supersede" for row in rows):
            monkeypatch.undo()
            raise StorageError("the disk is full")
        write(self, changes, rows, *more)

    monkeypatch.setattr(NoteWriter, "write", once)
    simulation.call("observe", turns=[{"text": "I've moved to Augsburg."}])
    simulation.advance(START + timedelta(days=41))
    assert notes()[MOVED].get("status", "active") == "active"
    (run,) = filing_runs(simulation)
    assert run["failures"] == {"filing": "it was interrupted"}
    simulation.call("undo", id=run["id"])
    assert notes()[LIVES].get("status", "active") == "active"


# row: X6
@pytest.mark.parametrize("how", ["moved", "edited"])
def test_a_statement_ends_a_note_that_a_person_has_just_changed(simulation, notes, how):
    """No scan came between, so the vault is read again before anything is written."""
    say(simulation, "I live in Munich.", day=0)
    path = simulation._memory.settings.vault / notes()[LIVES]["path"]
    if how == "moved":
        path.rename(path.with_name("where I live.md"))
    else:
        path.write_text(path.read_text() + "\nWritten by hand.\n")
    made = simulation.call("remember", text=MOVED)
    assert made["verdict"] == "created"
    after = notes()
    assert (
        after[LIVES].get("status", "active"),
        after[MOVED].get("status", "active"),
    ) == ("superseded", "active")
    runs = {run["id"]: run["counts"] for run in simulation.call("runs")["runs"]}
    assert runs[made["run"]] == {"remember": 1}
    if how == "edited":
        assert "Written by hand." in path.read_text()
