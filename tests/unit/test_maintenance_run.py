"""The runner: planned whole, checked, kept, applied, told; and what it leaves to
people.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from engram.core.policy import ConsolidationPolicy
from engram.core.records import Create
from engram.errors import StorageError
from engram.maintenance.passes import lifecycle
from engram.maintenance.schedule import (
    PASSES,
    Schedule,
    due,
)
from engram.vault import facts, syscalls
from tests.fakes.keeping import Keeping

BERLIN = ZoneInfo("Europe/Berlin")
POLICY = ConsolidationPolicy()
FADING = {"importance": 0.2, "confidence": 0.9}


def rows(keeping, name="memory-actions"):
    path = keeping.root / "state" / f"{name}.jsonl"
    return (
        [json.loads(line) for line in path.read_text().splitlines()]
        if path.exists()
        else []
    )


def deeds(report):
    return [(one.name, one.memory) for one in report.actions]


# -- a run -----------------------------------------------------------------------------


def test_one_pass_that_fails_stops_no_other(keeping, monkeypatch):
    """It is named, and what the others do stands."""

    def stage(_view, _now):
        raise ZeroDivisionError

    monkeypatch.setitem(PASSES, "nightly", (stage, lifecycle.archive))
    gone = keeping.fact("Anna saw a red car.", days=150, **FADING)
    report = keeping.run()
    assert deeds(report) == [("archive", gone)]
    assert list(report.failures) == ["stage"]
    assert rows(keeping, "runs")[0]["failures"] == dict(report.failures)


# row: X6
# row: X22
def test_a_pass_may_make_a_note_once_and_it_is_taken_back_with_the_run(
    keeping, monkeypatch
):
    """The same note again in the next round is the same note; another pass lets it be."""
    made = keeping.made("Anna likes music.", kind="note", origin="synthesized")
    path, zone = f"facts/2026-11-20/{made.id}.md", keeping.memory.settings.zone
    create = Create(
        path,
        facts.fact_keys(made, zone),
        facts.fact_body(made.text),
        "said in three notes",
    )

    def merge(view, _now):
        return [] if made.id in view.memories else [create]

    def also(view, _now):
        return (
            [] if made.id in view.memories else [replace(create, body="Otherwise.\n")]
        )

    monkeypatch.setitem(PASSES, "nightly", (merge, also, lifecycle.topics))
    before = keeping.tree()
    report = keeping.run()
    assert ("merge", path) in deeds(report)
    assert report.deferred == {path: "it is made in this run"}
    assert keeping.seen(made.id).text == "Anna likes music."
    undone = keeping.order.undo(report.run)
    assert made.id in [one.memory for one in undone.actions]
    assert keeping.tree() == before


def test_what_goes_wrong_beside_the_notes_is_told_and_holds_nothing_up(
    keeping, monkeypatch
):
    """The log of use, the list of runs, and git."""

    def refuse(*_args):
        raise StorageError("the disk is full")

    name = keeping.fact("Anna saw a red car.", days=100, **FADING)
    monkeypatch.setattr(keeping.usage_tracker.usage_log, "flush", refuse)
    keeping.order.git = type("Refusing", (), {"commit": refuse})()
    (keeping.root / "state" / "runs.jsonl").mkdir()
    report = keeping.run()
    assert set(report.failures) == {"usage", "logs", "state/runs.jsonl", "git"}
    assert keeping.seen(name).status == "archived"


def test_several_changes_to_a_note_are_one_write(keeping):
    """What is promoted, and then archived because its day is over."""
    name = keeping.fact(
        "Anna plays the violin.", importance=0.8, expires=keeping.clock()
    )
    keeping.used(name, access=6)
    assert deeds(keeping.run(only=None))[:2] == [("promote", name), ("expire", name)]
    assert (keeping.seen(name).status, keeping.seen(name).layer) == (
        "archived",
        "semantic",
    )
    stem = keeping.seen(name).path.rpartition("/")[2]
    moved = [
        step
        for step in keeping.order.history.load(keeping.order.history.runs()[0]).steps
        if stem in step.after
    ]
    assert [step.after for step in moved] == [keeping.seen(name).path]


# row: D7
def test_a_disk_that_refuses_is_told_and_the_next_run_goes_on(keeping, monkeypatch):
    """What was planned for other notes is done; nothing is half done."""
    names = [
        keeping.fact(f"Anna saw a red car near house {n}.", days=100, **FADING)
        for n in range(3)
    ]
    bad = keeping.seen(names[1]).path.rpartition("/")[2]

    class Refusing(syscalls.Syscalls):
        def rename(self, old, new, folder, to, flags=0):
            if new == bad and folder != to:
                raise OSError(28, "no space")
            super().rename(old, new, folder, to, flags)

    monkeypatch.setattr(syscalls, "SYS", Refusing())
    report = keeping.run()
    assert [keeping.seen(name).status for name in names] == [
        "archived",
        "active",
        "archived",
    ]
    assert list(report.failures) == [keeping.seen(names[1]).path]
    monkeypatch.undo()
    keeping.run()
    assert keeping.seen(names[1]).status == "archived"


def test_what_cannot_be_kept_is_not_done(keeping, monkeypatch):
    """Without the bytes that a run replaces it could not be taken back."""
    keeping.fact("Anna saw a red car.", days=100, **FADING)

    def refuse(*_args):
        raise StorageError("the disk is full")

    before = keeping.tree()
    monkeypatch.setattr(keeping.order.history, "record", refuse)
    assert list(keeping.run().failures) == ["history"]
    assert keeping.tree() == before


# row: X6
def test_a_run_larger_than_the_history_can_be_undone(opened, settings):
    policy = replace(settings.policy.consolidation, history_bytes=65536)
    keeping = Keeping(opened(policy=replace(settings.policy, consolidation=policy)))
    large = keeping.fact("Anna saw a red car. " * 4000, days=120, **FADING)
    before = keeping.everything()
    report = keeping.run(only="archive")
    assert keeping.seen(large).status == "archived"
    keeping.order.undo(report.run)
    assert keeping.seen(large).status == "active"
    assert keeping.everything().keys() >= before.keys()


# -- people go first -------------------------------------------------------------------


# row: X23
@pytest.mark.parametrize("how", ["edit", "confirm"])
def test_what_a_person_edited_or_confirmed_is_theirs(keeping, how):
    """No pass changes a byte of it."""
    name = keeping.fact("Anna saw a red car.", days=400, **FADING)
    path = keeping.root / keeping.seen(name).path
    if how == "edit":
        path.write_text(path.read_text().replace("red", "blue"))
        keeping.memory.files.rescan(None)
    else:
        keeping.memory.call("confirm", {"id": name})
    before = path.read_bytes()
    report = keeping.run()
    assert path.read_bytes() == before
    assert name not in {one.memory for one in report.actions}


# row: X23
def test_a_note_that_changed_unseen_is_put_off(keeping):
    name = keeping.fact("Anna saw a red car.", days=100, **FADING)
    path = keeping.root / keeping.seen(name).path
    path.write_text(path.read_text() + "\nAnd a blue one.\n")
    report = keeping.run()
    assert list(report.deferred.values()) == ["it changed since it was last read"]
    assert path.read_text().endswith("And a blue one.\n")


# -- what was cut short ----------------------------------------------------------------


# row: X6
@pytest.mark.parametrize("cut", [0, 1, 2])
def test_a_run_that_was_cut_short_is_not_taken_for_a_persons_doing(
    keeping, monkeypatch, cut
):
    """Wherever the process ends among the renames: no tombstone, no edit is believed,
    and the next run finishes.
    """
    speculation = {"confidence": 0.3, "expires": keeping.clock() - timedelta(days=70)}
    names = [
        keeping.fact("Anna saw a red car.", days=100, **FADING),
        keeping.fact("Anna is moody.", days=100, **speculation),
    ]
    left = [cut]

    class Ending(syscalls.Syscalls):
        def rename(self, old, new, folder, to, flags=0):
            if new.endswith(".md"):
                left[0] -= 1
                if left[0] < 0:
                    raise SystemExit
            super().rename(old, new, folder, to, flags)

    monkeypatch.setattr(syscalls, "SYS", Ending())
    with pytest.raises(SystemExit):
        keeping.run()
    monkeypatch.undo()
    keeping.memory.index.save = lambda: None  # as after a crash
    again = Keeping(restarted(keeping.memory))
    again.run()
    assert again.memory.index.tombstones.keys == set()
    assert [row for row in rows(again) if row["action"] in {"edit", "forget"}] == []
    assert again.seen(names[0]).status == "archived"
    assert (again.root / ".trash" / "2026-11-20").is_dir()
    again.memory.close()


def restarted(memory):
    """The memory after a restart that finishes what was cut short before it compares
    the vault.
    """
    memory.close()
    fresh = type(memory)(memory.settings, clock=memory.clock)
    fresh.start()
    Keeping(fresh).order.recover()
    fresh.catch_up()
    return fresh


def test_a_damaged_history_stops_no_start(keeping):
    """It is told, and the vault is compared as ever."""
    keeping.fact("Anna saw a red car.", days=100, **FADING)
    report = keeping.run()
    (keeping.order.history.folder / "finished").unlink()
    (keeping.order.history.folder / f"{report.run}.run").write_bytes(b"")
    keeping.order.recover()
    assert "cannot be read" in keeping.memory.health.problems()["history"]
    assert keeping.order.history.unfinished() == ""


def test_a_folder_that_leads_out_of_the_vault_is_not_used(keeping, tmp_path):
    """The note stays where it is, and the others have their turn."""
    (tmp_path / "elsewhere").mkdir()
    (keeping.root / "archive").symlink_to(tmp_path / "elsewhere")
    name = keeping.fact("Anna saw a red car.", days=100, **FADING)
    report = keeping.run()
    assert keeping.seen(name).status == "active"
    assert list(report.deferred) == [keeping.seen(name).path]
    assert list((tmp_path / "elsewhere").iterdir()) == []


# -- looking ahead ---------------------------------------------------------------------


# row: B16
# row: X10
def test_the_forecast_of_what_a_person_wrote_is_what_runs_do(keeping, clock):
    """The end that a note of their own gives ends its recall and moves nothing; an end
    that was guessed is taken from a note that they edited.
    """
    own = keeping.root / "facts" / "passport.md"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text("---\nexpires: 2026-12-01\n---\nThe passport is at the office.\n")
    edited = keeping.fact(
        "Anna is moody.",
        confidence=0.3,
        expires=clock() + timedelta(days=20),
    )
    keeping.memory.call("confirm", {"id": edited})
    keeping.memory.files.rescan(None)
    before = own.read_bytes()
    (row,) = keeping.order.forecast(60)
    assert (row["path"], row["what"], row["at"][:10]) == (
        "facts/passport.md",
        "expired",
        "2026-12-01",
    )

    def recalled():
        hits = keeping.memory.call("recall", {"query": "passport", "kinds": ["fact"]})
        return [hit["text"] for hit in hits["hits"]]

    assert recalled() == ["The passport is at the office."]
    clock.now = datetime.fromisoformat(row["at"]) + timedelta(days=1)
    keeping.run()
    assert recalled() == []
    assert own.read_bytes() == before
    assert keeping.seen(edited).status == "active"


# -- when ------------------------------------------------------------------------------


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN).astimezone(UTC)


# row: C34
@pytest.mark.parametrize(
    ("last", "now", "is_due"),
    [
        ("2026-11-15T02:00", "2026-11-22T01:59", False),
        ("2026-11-15T02:00", "2026-11-22T02:00", True),
        ("2026-03-22T02:00", "2026-03-29T01:59", False),
        ("2026-03-22T02:00", "2026-03-29T03:00", True),
        ("2026-03-29T03:00", "2026-03-29T04:00", False),
    ],
)
def test_a_week_is_due_on_sunday_at_two(last, now, is_due):
    """On the Sunday in spring that has no such hour, when it is over."""
    assert bool(due(at(last), at(now), "weekly", BERLIN, 0, POLICY)) is is_due


# row: X24
def test_questions_wait_for_others_of_their_task_six_weeks_at_most(tmp_path):
    """Also over a restart; with a clock that was wrong they wait for nothing."""
    path, now = tmp_path / "state" / "consolidation.json", at("2026-11-20T12:00")
    schedule = Schedule(path, BERLIN, POLICY)
    enough = {"probe": 5}

    def ready(schedule, days=0, **questions):
        return schedule.ready(questions, now + timedelta(days=days), enough)

    assert ready(schedule, describe=9, compare=10, probe=5) == {"compare", "probe"}
    assert ready(schedule, describe=10, probe=4) == {"describe"}
    assert ready(schedule, describe=1) == set()
    again = Schedule(path, BERLIN, POLICY)
    assert ready(again, 41, describe=2) == ready(again, 41) == set()
    assert ready(again, 42, describe=2) == {"describe"}
    assert ready(again, 43, describe=2) == set()
    assert ready(again, -1, describe=2) == {"describe"}


# row: X31
def test_what_memories_give_is_read_from_the_index(keeping, monkeypatch):
    def refuse(text):
        raise AssertionError(text)

    keeping.fact("The user saw a red car.", kind="note", category="preference")
    monkeypatch.setattr("engram.core.user_facts.states", refuse)
    assert keeping.run(only="profile").failures == {}
