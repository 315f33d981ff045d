"""A vault that was copied, moved, swapped or put back: each folder has the state that
is its own.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat

import pytest

from engram.errors import LockedError, NotFoundError
from engram.memory import VaultMemory
from engram.serve import socket_client
from engram.vault import syscalls
from tests.fakes.machine import ID, Machine


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def told(vault):
    return "".join(path.read_text() for path in sorted(vault.glob("sessions/*/*.md")))


def stones(vault):
    path = vault / "state/tombstones.jsonl"
    return path.read_text() if path.exists() else ""


def test_a_copy_is_named_and_the_original_is_not(machine):
    machine.do("stats")
    copy = machine.copy()
    words = f"this folder is a copy of {machine.vault}; it has its own state"
    assert machine.do("status", copy)["place"] == words
    assert machine.do("status", copy)["place"] == words, "also the second time"
    doctor = machine.do("doctor", copy)
    assert [
        (one["level"], one["what"])
        for one in doctor["findings"]
        if one["code"] == "place"
    ] == [("notice", words)]
    assert machine.do("status")["place"] == ""


def test_a_moved_vault_keeps_its_journal_its_name_in_the_usage_log_and_what_can_be_undone(
    machine,
):
    machine.tell()
    state = machine.settings().state
    device = (state / "device").read_text()
    moved = machine.root / "elsewhere" / "vault"
    moved.parent.mkdir()
    machine.vault.rename(moved)
    assert machine.settings(moved).state == state
    assert "was last at" in machine.do("status", moved)["place"]
    assert machine.do("status", moved)["place"] == "", "said once"
    machine.do("flush", moved)
    assert "barn" in told(moved)
    assert (state / "device").read_text() == device


def test_a_note_deleted_by_hand_in_a_moved_vault_is_a_deletion(machine):
    """Moved within one file system the folder is the same one, and what it lacks a
    person took out.
    """
    known = machine.do("remember", text="Anna prefers oat milk.")
    moved = machine.root / "moved"
    machine.vault.rename(moved)
    (moved / known["path"]).unlink()
    (moved / "notes.md").write_text("so that not all is gone\n")
    memory = machine.open(moved)
    memory.files.rescan_settled(None)
    memory.close()
    assert "deleted" in stones(moved)


def test_a_vault_moved_to_another_disk_keeps_its_state_and_loses_no_note(machine):
    """There it has another inode, as a copy has; the path it came from is empty."""
    machine.tell()
    moved = machine.copy("disk")
    shutil.rmtree(machine.vault)
    assert machine.leaf(moved) == ID
    machine.do("flush", moved)
    assert "barn" in told(moved)
    assert stones(moved) == ""


def test_a_disk_that_comes_back_finds_a_state_of_its_own_and_no_turn_is_lost(machine):
    """While it was away its copy took over, with the turns that waited; then the disk's
    vault is called the copy.
    """
    machine.tell()
    copy = machine.copy("disk")
    away = machine.root / "unmounted"
    machine.vault.rename(away)
    assert "was last at" in machine.do("status", copy)["place"]
    machine.do("flush", copy)
    assert "barn" in told(copy)
    away.rename(machine.vault)
    assert (
        machine.do("status")["place"]
        == f"this folder is a copy of {copy}; it has its own state"
    )
    assert machine.leaf() != machine.leaf(copy) == ID
    assert stones(machine.vault) == stones(copy) == ""


def test_a_backup_put_back_in_place_of_the_vault_keeps_its_turns_and_lacks_nothing(
    machine,
):
    """What was told since the backup is gone from the folder, but nobody deleted it."""
    machine.do("remember", text="Anna prefers oat milk.")
    backup = machine.copy("backup")
    machine.do("remember", text="Ben plays the violin.")
    machine.tell()
    shutil.rmtree(machine.vault)
    shutil.copytree(backup, machine.vault)
    assert machine.leaf() == ID
    memory = machine.open()
    memory.files.rescan_settled(None)
    memory.close()
    assert stones(machine.vault) == ""
    machine.do("flush")
    assert "barn" in told(machine.vault)


def test_a_copy_that_is_put_in_the_originals_place_keeps_its_own_state_and_so_does_the_original(
    machine,
):
    copy = machine.copy()
    machine.tell()
    machine.tell(copy, "The copy heard of a green gate.")
    old = machine.root / "old"
    machine.vault.rename(old)
    copy.rename(machine.vault)
    assert "stood here before" in machine.do("status")["place"]
    machine.do("flush")
    machine.do("flush", old)
    assert "green gate" in told(machine.vault)
    assert "barn" not in told(machine.vault)
    assert "barn" in told(old)
    assert "green gate" not in told(old)


def test_a_copy_never_opened_that_is_put_in_the_originals_place_takes_the_turns_over(
    machine,
):
    """They were told to this path, and nothing else tells whose they are."""
    machine.tell()
    copy = machine.copy()
    machine.vault.rename(machine.root / "old")
    copy.rename(machine.vault)
    machine.do("flush")
    assert "barn" in told(machine.vault)
    assert machine.do("status", machine.root / "old")["place"].startswith(
        "this folder is a copy of"
    )


def test_two_copies_that_take_a_free_state_at_once_do_not_share_it(machine):
    """Both read that the vault is gone; the first one takes its state, the second one
    is told to look again.
    """
    machine.tell()
    one, other = machine.copy("one"), machine.copy("other")
    shutil.rmtree(machine.vault)
    first, second = (
        VaultMemory(machine.settings(one)),
        VaultMemory(machine.settings(other)),
    )
    first.start()
    with pytest.raises(LockedError):
        second.start()
    first.close()
    with pytest.raises(LockedError, match="acquired this state"):
        second.start()
    assert machine.leaf(other) != ID
    assert machine.waiting(other) == 0


def test_the_folder_itself_is_locked_whatever_home_the_other_one_has(machine, tmp_path):
    memory = machine.open()
    machine.env["ENGRAM_HOME"] = str(tmp_path / "another-home")
    with pytest.raises(
        LockedError, match=rf"process {os.getpid()} owns this vault .{machine.vault}"
    ):
        machine.open()
    assert (machine.vault / "engram.toml").read_text(), "reading is free"
    memory.close()
    machine.open().close()


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EBADF, errno.EOPNOTSUPP])
def test_a_file_system_that_cannot_lock_folders_is_a_fault_that_is_told(
    machine, monkeypatch, code
):
    class Networked(syscalls.Syscalls):
        def lock(self, descriptor):
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                raise OSError(code, os.strerror(code))
            super().lock(descriptor)

    monkeypatch.setattr(syscalls, "SYS", Networked())
    memory = machine.open()
    assert "cannot lock folders" in memory.call("status", {})["faults"]["lock"]
    with pytest.raises(LockedError):
        machine.open()
    memory.close()


def test_a_folder_put_in_the_vaults_place_while_it_is_open_is_not_written(machine):
    """Neither notes of ours nor tombstones for what it lacks."""
    memory = machine.open()
    memory.call("remember", {"text": "Anna prefers oat milk."})
    copy = machine.copy()
    shutil.rmtree(copy / "facts")
    old = machine.root / "old"
    machine.vault.rename(old)
    copy.rename(machine.vault)
    before = sorted(
        (path, path.stat().st_mtime_ns) for path in machine.vault.rglob("*")
    )
    for attempt in (
        lambda: memory.files.rescan(None),
        lambda: memory.call("remember", {"text": "Ben plays the violin."}),
    ):
        with pytest.raises(NotFoundError):
            attempt()
    memory.close()
    assert (
        sorted((path, path.stat().st_mtime_ns) for path in machine.vault.rglob("*"))
        == before
    )


def test_a_socket_path_of_a_copy_with_a_long_home_can_be_used(machine, tmp_path):
    long = tmp_path / ("h" * 120)
    machine.env["ENGRAM_HOME"] = str(long)
    machine.do("stats")
    copy = machine.copy()
    from engram.daemon import sockets

    path = machine.settings(copy).socket
    with sockets.listen_unix(path):
        assert len(os.fsencode(path)) > socket_client.LONGEST_ADDRESS
        assert socket_client.answers(str(path))
