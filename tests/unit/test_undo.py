"""Taking back what a run did: byte for byte, nothing of a person's, and the taking back
as well.
"""

from __future__ import annotations

import errno
import json
import os
from datetime import timedelta

import pytest

from engram.errors import ConflictError, NotFoundError, StorageError
from engram.vault import syscalls
from engram.vault.changes import Write, apply
from engram.vault.runs import RunHistory
from engram.vault.store import Vault

FADING = {"importance": 0.2, "confidence": 0.9}
LOG = "state/memory-actions.jsonl"


@pytest.fixture
def filled(keeping):
    """A vault in which a night has something to do for each pass."""
    names = {
        "old": keeping.fact("Anna saw a red car.", days=100, **FADING),
        "doubtful": keeping.fact(
            "Ben is moody.",
            days=90,
            confidence=0.3,
            expires=keeping.clock() - timedelta(days=1),
        ),
        "used": keeping.fact("Anna plays the violin.", importance=0.8),
        "gone": keeping.fact("Ben saw a fog bank.", days=100, **FADING),
        "new": keeping.fact("Anna bought a piano."),
    }
    keeping.used(names["used"], access=6)
    waste = keeping.root / ".trash" / "2026-10-01" / "note.md"
    waste.parent.mkdir(parents=True)
    waste.write_bytes(b"thrown away\r\n")
    old = (keeping.clock() - timedelta(days=100)).isoformat()
    keeping.memory.vault.log_actions(
        [
            {"at": old, "action": "skip", "memory": "X"},
            {"at": old, "action": "edit", "memory": "Y"},
        ]
    )
    return keeping, names


def log_rows(keeping):
    return [json.loads(line) for line in (keeping.root / LOG).read_text().splitlines()]


# row: X6
def test_taking_back_twice_changes_nothing_more(filled):
    keeping, _ = filled
    report = keeping.run()
    keeping.order.undo(report.run)
    before = keeping.everything()
    again = keeping.order.undo(report.run)
    assert (again.run, again.actions) == ("", ())
    assert keeping.everything() == before


# row: X6
# row: X23
def test_what_a_person_changed_since_stays_and_is_named(filled):
    """Edited, deleted, or another file in the old place; all else is taken back."""
    keeping, names = filled
    report = keeping.run()
    edited, deleted = (
        keeping.root / keeping.seen(names[name]).path for name in ("used", "gone")
    )
    edited.write_text(edited.read_text() + "Mine.\n")
    deleted.unlink()
    (step,) = [
        step
        for step in report.actions
        if step.memory == names["old"] and step.name == "archive"
    ]
    (keeping.root / step.path).write_text("Mine too.\n")
    undone = keeping.order.undo(report.run)
    assert set(undone.deferred.values()) == {
        "it was changed since",
        "it is gone",
        "its place is taken",
    }
    assert edited.read_text().endswith("Mine.\n")
    assert (keeping.root / step.path).read_text() == "Mine too.\n"
    assert not deleted.exists()
    assert keeping.seen(names["doubtful"]).status == "active"


# row: X23
def test_what_was_brought_back_is_not_put_away_again_the_next_night(filled):
    """A person has spoken."""
    keeping, names = filled
    report = keeping.run()
    keeping.order.undo(report.run)
    keeping.run()
    status = {
        name: keeping.seen(names[name]).status for name in ("old", "gone", "used")
    }
    assert status == {"old": "active", "gone": "active", "used": "active"}
    assert {
        row["by"]
        for row in log_rows(keeping)
        if row["action"] == "edit" and row["memory"] == names["old"]
    } == {"user"}


# row: X6
def test_a_run_is_found_by_the_beginning_of_its_id(filled):
    keeping, _ = filled
    report = keeping.run()
    with pytest.raises(NotFoundError, match=r"no such run.*`engram runs`"):
        keeping.order.undo("nonsense")
    keeping.clock.advance(seconds=1)
    other = keeping.order.undo(report.run)
    with pytest.raises(ConflictError, match="several runs"):
        keeping.order.undo(report.run[:6])
    assert keeping.order.history.find(other.run[:20].lower()) == other.run


def _history(folder, most=1_000_000):
    return RunHistory(Vault(folder), folder / "history", most)


# row: X6
def test_what_is_kept_has_a_limit_and_the_oldest_goes_first(tmp_path):
    history = _history(tmp_path, 3000)
    for run in "ABC":
        raw = run.encode() * 1000
        history.record(run, [Write("a.md", "a.md", raw, b"")])
    assert history.runs() == ["B", "C"]
    assert sum(path.stat().st_size for path in (tmp_path / "history").iterdir()) <= 3000


@pytest.mark.parametrize(
    "damage",
    [lambda raw: raw[:-1], lambda _: b"", lambda _: b"{}\n", lambda raw: b"x" + raw],
)
def test_a_damaged_run_is_not_taken_back(tmp_path, damage):
    """It says so, and touches nothing."""
    history = _history(tmp_path)
    history.record("A", [Write("a.md", "", b"words", b"")])
    path = tmp_path / "history" / "A.run"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(StorageError, match="cannot be read"):
        history.load("A")


def test_a_step_is_not_done_on_other_bytes(memory):
    """Not to rewrite, not to move, not to remove."""
    memory.vault.create("notes/a.md", b"Mine.")
    for write in (
        Write("notes/a.md", "notes/a.md", b"Ours.", b"More."),
        Write("notes/a.md", "notes/b.md", b"Ours.", b"Ours."),
        Write("notes/a.md", "", b"Ours.", b""),
        Write("", "notes/a.md", b"", b"Ours."),
    ):
        with pytest.raises(ConflictError):
            apply(memory.vault, [write]).check()
    assert memory.vault.read("notes/a.md") == b"Mine."
    assert not memory.vault.exists("notes/b.md")


# row: X6
@pytest.mark.parametrize("cut", range(5))
def test_an_undo_that_was_cut_short_is_finished_by_the_next(filled, monkeypatch, cut):
    """Wherever it ended: with the same words all is back in the end."""
    keeping, _ = filled
    before = keeping.tree()
    report = keeping.run()
    left = [cut]

    class Ending(syscalls.Syscalls):
        def rename(self, old, new, folder, to, flags=0):
            if new.endswith((".md", ".json")):
                left[0] -= 1
                if left[0] < 0:
                    raise SystemExit
            super().rename(old, new, folder, to, flags)

    monkeypatch.setattr(syscalls, "SYS", Ending())
    with pytest.raises(SystemExit):
        keeping.order.undo(report.run)
    monkeypatch.undo()
    keeping.order.recover()
    keeping.order.undo(report.run)
    left = {
        path: raw
        for path, raw in keeping.tree().items()
        if not path.rpartition("/")[2].startswith(".engram-")
    }
    assert left == before


# row: X6
# row: X18
def test_a_note_that_a_refused_undo_left_in_its_old_place_is_recalled_from_there(
    keeping, monkeypatch
):
    """Once it has moved back no path can be opened any more: nobody can say so, and yet
    it is found.
    """
    name = keeping.fact("Anna saw a red car.", days=100, **FADING)
    report = keeping.run()
    path = keeping.seen(name).path
    assert path.startswith("archive/")

    class Exhausted(syscalls.Syscalls):
        moved = False

        def rename(self, old, new, folder, to, flags=0):
            super().rename(old, new, folder, to, flags)
            self.moved = self.moved or new == path.rpartition("/")[2]

        def open(self, name, flags, mode=0o600, folder=None):
            if self.moved and folder is None:
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            return super().open(name, flags, mode, folder)

    with monkeypatch.context() as patch:
        patch.setattr(syscalls, "SYS", Exhausted())
        assert keeping.order.undo(report.run).failures
        assert not (keeping.root / path).exists()
        assert (
            keeping.memory.call("recall", {"query": "Who saw a red car?"})["hits"][0][
                "key"
            ]
            == name
        )
    assert keeping.seen(name).path.startswith("facts/")


# row: X6
def test_an_undo_tells_what_failed_also_where_the_catalogue_cannot_be_written(
    keeping, monkeypatch
):
    """Nothing of it passes for done, and it can be asked for again."""
    first, second = (
        keeping.fact(f"Anna saw {what}.", days=100, **FADING)
        for what in ("a red car", "an owl")
    )
    report, before = keeping.run(only="archive"), len(log_rows(keeping))
    path = keeping.seen(first).path
    database = keeping.memory.index.catalog.database._db

    class Failing(syscalls.Syscalls):
        moved = False

        def rename(self, old, new, folder, to, flags=0):
            super().rename(old, new, folder, to, flags)
            self.moved = self.moved or new == path.rpartition("/")[2]

        def open(self, name, flags, mode=0o600, folder=None):
            if self.moved and str(name).endswith(path.rpartition("/")[2]):
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return super().open(name, flags, mode, folder)

    with monkeypatch.context() as patch:
        patch.setattr(syscalls, "SYS", Failing())
        database.execute("PRAGMA query_only = ON")
        undone = keeping.order.undo(report.run)
        database.execute("PRAGMA query_only = OFF")
    assert "the disk failed" in undone.failures[path]
    assert len(undone.failures) == 2
    assert not [row for row in log_rows(keeping)[before:] if row["action"] == "edit"]
    assert keeping.order.history.unfinished() == ""
    keeping.memory.files.rescan(None)
    keeping.order.undo(report.run)
    assert {keeping.seen(name).status for name in (first, second)} == {"active"}


# row: X8
def test_undo_takes_back_the_latest_change_whatever_it_was(memory):
    """Kept, corrected, pinned and forgotten: each in turn, the latest first."""
    statement = "I live in Berlin and work at Stripe."
    kept = memory.call("remember", {"text": statement})
    corrected = memory.call("correct", {"id": kept["id"], "text": "I live in Hamburg."})
    assert corrected["text"] == "I live in Hamburg and work at Stripe."
    memory.call("update", {"id": corrected["id"], "pinned": True})
    memory.call("forget", {"id": corrected["id"]})

    def shown():
        hits = memory.call("recall", {"query": "Where do I live and work?"})["hits"]
        return {hit["text"] for hit in hits if not hit.get("ended")}

    assert shown() == set()
    memory.call("undo", {})
    assert memory.index.find(corrected["id"]).pinned
    assert shown() == {corrected["text"]}
    memory.call("undo", {})
    assert not memory.index.find(corrected["id"]).pinned
    memory.call("undo", {})
    assert shown() == {statement}
    memory.call("undo", {})
    assert shown() == set()
    with pytest.raises(NotFoundError):
        memory.call("undo", {})


# row: X8
def test_a_forgotten_turn_is_shown_again(memory):
    memory.call("observe", {"turns": [{"text": "Anna rows a boat."}]})
    memory.call("flush", {})
    (turn,) = memory.call("recall", {"query": "boat", "kinds": ["turn"]})["hits"]
    memory.call("forget", {"id": turn["key"]})
    undone = memory.call("undo", {})
    assert memory.call("recall", {"query": "boat"})["hits"]
    with pytest.raises(ConflictError, match="forgotten"):
        memory.call("undo", {"id": undone["run"]})


# row: X8
def test_a_decision_that_writes_a_note_twice_is_taken_back_whole(memory):
    memory.call("observe", {"turns": [{"text": "My sister is called Anna."}]})
    memory.call("flush", {})
    (told,) = memory.call("recall", {"query": "sister", "kinds": ["fact"]})["hits"]
    before = (memory.settings.vault / told["path"]).read_bytes()
    kept = memory.call("remember", {"text": told["text"], "pinned": True})
    assert kept["verdict"] == "confirmed"
    assert memory.index.find(told["id"]).pinned
    assert memory.call("undo", {})["deferred"] == {}
    assert (memory.settings.vault / told["path"]).read_bytes() == before
