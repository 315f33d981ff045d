"""The one way to change the vault."""

from __future__ import annotations

import errno
import os
import stat
from datetime import UTC, datetime, timedelta

import pytest

from engram.core.forgetting import removed_keys
from engram.core.records import Move
from engram.errors import ConflictError, StorageError
from engram.vault import changes, disk, store, syscalls
from engram.vault.store import RETRIES, Vault

NOTE = b"---\nid: 01KBH2Q0M6T4W2Y0B7C5D9E1FX\nstatus: active\n---\nAnna drinks tea.\n"


@pytest.fixture
def vault(tmp_path):
    (tmp_path / "engram.toml").touch()
    return Vault(tmp_path)


@pytest.fixture
def note(vault):
    vault.create("facts/x.md", NOTE)
    return vault.root / "facts" / "x.md"


# row: X3
def test_a_rewrite_is_made_again_on_a_persons_newer_bytes(vault, note):
    """The patch sees their version, and both changes stand."""
    seen = []

    def patch(raw):
        seen.append(raw)
        if len(seen) < 3:
            note.write_bytes(raw + b"A person's line %d.\n" % len(seen))
        return raw + b"Ours.\n"

    held = vault.rewrite("facts/x.md", patch)
    assert (
        note.read_bytes()
        == held
        == NOTE + b"A person's line 1.\nA person's line 2.\nOurs.\n"
    )
    assert len(seen) == 3


# row: X3
def test_a_person_who_never_stops_is_left_alone(vault, note):
    """After some tries their bytes stand and the caller is told."""

    def patch(raw):
        note.write_bytes(raw + b"More.\n")
        return raw + b"Ours.\n"

    with pytest.raises(ConflictError, match="being edited"):
        vault.rewrite("facts/x.md", patch)
    assert note.read_bytes() == NOTE + b"More.\n" * RETRIES


def test_a_name_that_a_person_took_is_not_written_over(vault, note):
    """The same bytes again are no fault, since a replay writes them."""
    vault.create("facts/x.md", NOTE)
    with pytest.raises(ConflictError):
        vault.create("facts/x.md", b"Other words.\n")
    assert note.read_bytes() == NOTE


# row: X8
def test_a_restored_statement_leaves_buried_what_another_forgotten_one_came_from(vault):
    """The turn of both is back when both are; words edited in between do not matter."""
    vault.add_tombstones(
        [
            {"hash": "a", "turn": "t", "memory": "m1"},
            {"hash": "b", "turn": "t", "memory": "m2"},
        ]
    )
    vault.add_tombstones([{"hash": "a", "turn": "t", "memory": "m1", "restored": True}])
    assert removed_keys(vault.tombstone_rows()) == {"b", "t"}
    vault.add_tombstones(
        [{"hash": "edited", "turn": "t", "memory": "m2", "restored": True}]
    )
    assert removed_keys(vault.tombstone_rows()) == {"b"}


# row: X3
def test_a_leftover_that_cannot_be_finished_holds_nothing_up(vault, note):
    """It is told, and the next one is finished."""
    odd = vault.root / "facts" / ".engram-0000000000000000.a.b.c.tmp"
    odd.symlink_to(note)
    late = vault.root / "facts" / ".engram-1111111111111111.a.b.c.tmp"
    late.write_bytes(b"Late words.\n")
    again = Vault(vault.root)
    saved = again.settle_leftovers(datetime.now(UTC) + timedelta(days=1), 60)
    assert [again.read(path) for path in saved] == [b"Late words.\n"]
    assert list(again.unsettled) == ["facts/.engram-0000000000000000.a.b.c.tmp"]
    odd.unlink()
    assert again.settle_leftovers(datetime.now(UTC), 60) == []
    assert not again.unsettled


# row: A32
def test_the_log_tells_what_happened_to_a_memory(vault):
    """As itself, or as the one that another met; oldest first."""
    vault.log_actions(
        [
            {"memory": "m1", "action": "store"},
            {"memory": "m2", "action": "store", "reason": "like m1"},
        ]
    )
    vault.log_actions([{"memory": "m3", "met": "m1", "action": "confirm"}])
    assert [row["action"] for row in vault.actions_of("m1")] == ["store", "confirm"]
    assert vault.actions_of("m9") == []


# row: C5
def test_the_hash_list_is_made_to_hold_exactly_the_active_facts(vault):
    """Written only when it has to be."""
    listed = vault.root / "state" / "fact-hashes.txt"
    assert vault.seed_hashes({"b", "a"})
    vault.add_hashes(["c"])
    assert not vault.seed_hashes({"a", "b", "c"})
    assert vault.seed_hashes({"a"})
    assert listed.read_text().splitlines()[1:] == ["a"]
    listed.write_bytes(b"\xff\n")
    assert vault.seed_hashes({"a"})
    assert listed.read_text().splitlines()[1:] == ["a"]


# -- moves -----------------------------------------------------------------------------


def moved(keys=None, body=None, to="archive/2026-11-20/x.md"):
    return Move("facts/x.md", disk.sha256(NOTE), to, keys or {}, "why", body)


def test_only_so_many_own_writes_are_kept_in_mind(vault, monkeypatch):
    """The latest."""
    monkeypatch.setattr(store, "MOST_OWN", 2)
    for name in "abc":
        vault.create(f"facts/{name}.md", NOTE)
    vault.rewrite("facts/b.md", lambda raw: raw + b"Again.\n")
    vault.create("facts/d.md", NOTE)
    assert list(vault.own_writes) == ["facts/b.md", "facts/d.md"]


# row: X3
def test_a_move_is_refused_where_a_person_changed_the_note_or_took_the_place(
    vault, note
):
    """Nothing is changed then, nor where the note cannot be patched."""
    vault.create("archive/2026-11-20/x.md", b"Theirs.\n")
    with pytest.raises(ConflictError, match="taken"):
        changes.write(vault, [moved({"status": "archived"})])
    assert note.read_bytes() == NOTE
    note.write_bytes(NOTE + b"More.\n")
    with pytest.raises(ConflictError, match="changed since"):
        changes.write(vault, [moved(to="archive/y.md")])
    flow = b"---\n{id: x, status: active}\n---\nWords.\n"
    note.write_bytes(flow)
    with pytest.raises(ConflictError, match="lines"):
        changes.write(
            vault,
            [
                Move(
                    "facts/x.md",
                    disk.sha256(flow),
                    "archive/y.md",
                    {"status": "archived"},
                    "why",
                )
            ],
        )
    assert note.read_bytes() == flow
    assert vault.notes("archive") == ["archive/2026-11-20/x.md"]


class Saving(syscalls.Syscalls):
    """A person saves the note in the moment before the rename with that number."""

    def __init__(self, number, save):
        self.left, self.save = number, save

    def rename(self, *args):
        self.left -= 1
        if self.left == -1:
            self.save()
        super().rename(*args)


# row: X3
@pytest.mark.parametrize("number", range(4))
def test_a_person_who_saves_during_a_move_loses_nothing(
    vault, note, number, monkeypatch
):
    """Their words stand in the note at its old place, and the plan is refused; or they
    came too late for it.
    """
    there = vault.root / "archive/2026-11-20/x.md"
    theirs = NOTE + b"A person's line.\n"

    def save():
        (note if note.exists() else there).write_bytes(theirs)

    monkeypatch.setattr(syscalls, "SYS", Saving(number, save))
    try:
        changes.write(vault, [moved({"status": "archived"})])
    except ConflictError:
        assert note.read_bytes() == theirs
        assert not there.exists()
    else:
        assert number > 2
        assert b"archived" in there.read_bytes()


@pytest.mark.parametrize("failing", ["exchange", "fsync"])
def test_a_move_that_cannot_be_finished_is_taken_back(
    vault, note, failing, monkeypatch
):
    """A full disk after the rename: the note stands where it was, unpatched."""

    class Full(syscalls.Syscalls):
        renamed = False

        def rename(self, old, new, folder, to, flags=0):
            if flags == syscalls.EXCHANGE and failing == "exchange":
                raise OSError(errno.ENOSPC, "full")
            super().rename(old, new, folder, to, flags)
            self.renamed = True

        def fsync(self, descriptor):
            if (
                self.renamed
                and failing == "fsync"
                and stat.S_ISREG(os.fstat(descriptor).st_mode)
            ):
                raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(syscalls, "SYS", Full())
    with pytest.raises(StorageError):
        changes.write(vault, [moved({"status": "archived"})])
    assert note.read_bytes() == NOTE
    assert vault.notes("archive") == []
    assert not list(disk.leftovers(vault.root))
