"""The batteries are tested: each defect, put in on purpose, is found by one of them."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

import pytest
from batteries import fail_everywhere, kill_everywhere, tear_everywhere
from editors import Meddling, open_everywhere, saves_everywhere
from harness import FULL, Bench, BrokenPromiseError, Seam, installed
from links import links_everywhere
from power import cut_power
from scenarios import FilesWork, FilingWork, JournalWork

from engram.vault import disk, syscalls


class NoSync:
    """Bytes are not synced."""

    def fsync(self, descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            super().fsync(descriptor)

    def fdatasync(self, descriptor):
        pass


class NoFolderSync:
    """Names are not synced."""

    def fsync(self, descriptor):
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            super().fsync(descriptor)


class FailureAsEmpty:
    """A failed write or sync is taken for one that had nothing to do."""

    def write(self, descriptor, content):
        with suppress(OSError):
            return super().write(descriptor, content)
        return len(content)

    def fdatasync(self, descriptor):
        with suppress(OSError):
            super().fdatasync(descriptor)


class FollowsLinks(Seam):
    """Names are followed wherever they lead."""

    def open(self, name, flags, mode=0o600, folder=None):
        return super().open(name, flags & ~os.O_NOFOLLOW, mode, folder)


class AsksNobody(Meddling):
    """Every file is taken for one that nobody has open."""

    def real(self, call):
        return True if call.name == "has_no_writer" else super().real(call)


class AckFirst(FilingWork):
    """The promise comes before the deed."""

    def run(self, root, ack):
        for number in range(2 * self.rounds):
            ack(f"stored {number}")
        super().run(root, lambda _item: None)


class CheckpointFirst(FilingWork):
    """The journal lets go before the notes are there."""

    def file(self, root, journal, batch):
        journal.settle([seq for seq, _ in batch], "filed")
        self.write(root, batch)


def in_place(path, content, pending=None):
    """Create a file under its own name, byte by byte."""
    descriptor = syscalls.SYS.open(str(path), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    syscalls.write_all(descriptor, content)
    syscalls.SYS.fsync(descriptor)
    syscalls.SYS.close(descriptor)


def replace_in_place(path, content, expected, pending=None):
    """Rewrite a file under its own name."""
    if disk.sha256(disk.read(path)) == expected:
        in_place(path, content)


def blind_rename(path, content, expected, pending=None):
    """Look, then rename over whatever stands there by now."""
    if disk.sha256(disk.read(path)) == expected:
        disk.write_derived(path, content)


def add_unsynced(self, content):
    """Write a line and say that it is on the disk."""
    syscalls.write_all(self._descriptor, content)
    self.size += len(content)


@pytest.mark.parametrize("defect", [NoSync, NoFolderSync])
@pytest.mark.parametrize(
    "work", [FilesWork(2), JournalWork(3), FilingWork(2)], ids=lambda work: work.name
)
def test_a_missing_sync_is_found_by_the_power_cut(arena, work, defect):
    """Kills alone cannot find it."""
    bench = Bench.prepare(work, arena, defect)
    kill_everywhere(bench, None if FULL else 12)
    with pytest.raises(BrokenPromiseError):
        cut_power(bench, per_cut=4)


def test_an_acknowledgement_before_the_sync_is_found_by_the_power_cut(
    arena, monkeypatch
):
    """The log says yes and leaves the bytes in memory."""
    monkeypatch.setattr(disk.AppendFile, "add", add_unsynced)
    with pytest.raises(BrokenPromiseError, match="lost"):
        cut_power(Bench.prepare(JournalWork(3), arena), per_cut=4)


def test_an_acknowledgement_before_the_write_is_found_by_a_kill(arena):
    """The caller is told before anything is written."""
    with pytest.raises(BrokenPromiseError, match="lost"):
        kill_everywhere(Bench.prepare(AckFirst(2), arena))


def test_a_checkpoint_before_the_notes_is_found_by_a_kill(arena):
    """The journal is settled first."""
    with pytest.raises(BrokenPromiseError, match="lost"):
        kill_everywhere(Bench.prepare(CheckpointFirst(2), arena))


@pytest.mark.parametrize("battery", [kill_everywhere, tear_everywhere])
def test_writing_in_place_is_found_by_a_kill_and_by_a_torn_write(
    arena, battery, monkeypatch
):
    """A note is written under its own name."""
    monkeypatch.setattr(disk, "write_new", in_place)
    with pytest.raises(BrokenPromiseError, match="not whole"):
        battery(Bench.prepare(FilesWork(1), arena))


def test_a_failure_taken_for_nothing_to_do_is_found_by_errno(arena):
    """Errors of write and sync are swallowed."""
    with pytest.raises(BrokenPromiseError):
        fail_everywhere(Bench.prepare(JournalWork(2), arena, FailureAsEmpty))


@pytest.mark.parametrize("defect", [blind_rename, replace_in_place])
def test_overwriting_a_person_is_found_by_saves_during_a_rewrite(
    arena, defect, monkeypatch
):
    """The hash is looked at, and then the file is overwritten."""
    monkeypatch.setattr(disk, "replace", defect)
    with pytest.raises(AssertionError, match="lost"):
        saves_everywhere(
            arena / "note.md", "renaming" if defect is blind_rename else "in-place"
        )


def test_dropping_the_displaced_file_unseen_is_found_by_a_writer_that_has_it_open(
    arena,
):
    """Nobody asks who still has the file open."""
    with pytest.raises(AssertionError, match="lost"):
        open_everywhere(arena / "note.md", AsksNobody)


def test_following_a_link_is_found_by_links_that_lead_out(arena):
    """Opens follow symlinks."""
    with installed(FollowsLinks()), pytest.raises(AssertionError):
        links_everywhere(arena)
