"""The laws of `engram.vault.disk`."""

from __future__ import annotations

import errno
import os
import stat
import time

import pytest

from engram.errors import (
    ConflictError,
    ForbiddenError,
    NotFoundError,
    StorageError,
)
from engram.vault import disk as vault_disk
from engram.vault import syscalls
from engram.vault.syscalls import Syscalls

SHA_OLD = vault_disk.sha256(b"old\n")


class Refusing(Syscalls):
    """A disk that answers one kind of call with an error."""

    def __init__(self, name, code, flags=None):
        self.name, self.code, self.flags = name, code, flags

    def __getattribute__(self, name):
        if name == object.__getattribute__(self, "name"):
            return object.__getattribute__(self, "refuse")
        return object.__getattribute__(self, name)

    def refuse(self, *args, **_named):
        if self.flags is not None and args[-1] != self.flags:
            return Syscalls.rename(self, *args)
        raise OSError(self.code, os.strerror(self.code))


@pytest.fixture
def disk(monkeypatch):
    """Put a disk in place of the real one."""
    return lambda *args: monkeypatch.setattr(syscalls, "SYS", Refusing(*args))


@pytest.fixture
def note(tmp_path):
    path = tmp_path / "note.md"
    path.write_bytes(b"old\n")
    return path


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    "relative",
    [
        "",
        "/etc/passwd",
        "..",
        "../a",
        "a/../b",
        "a//b",
        "a/",
        "./a",
        "a/.",
        "a\0b",
        "a/\0",
        "\udfff/a",
        "a" * 300,
        "x/" * 3000,
    ],
)
def test_a_path_that_does_not_stay_inside_is_forbidden(tmp_path, relative):
    """Absolute, climbing, empty, unencodable and overlong names are refused."""
    with pytest.raises(ForbiddenError):
        vault_disk.safe_join(tmp_path, relative)


def test_reading_has_a_limit_and_takes_only_files(note, tmp_path):
    """A larger file, a folder, a pipe and a missing file are told apart."""
    assert vault_disk.read(note, 4) == b"old\n"
    with pytest.raises(vault_disk.OversizedError):
        vault_disk.read(note, 3)
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "."):
        with pytest.raises(ForbiddenError):
            vault_disk.read(tmp_path / name)
    with pytest.raises(NotFoundError):
        vault_disk.read(tmp_path / "none.md")


def test_new_files_and_folders_are_private(tmp_path):
    """0600 and 0700, whatever the umask."""
    vault_disk.make_folders(tmp_path / "a/b")
    vault_disk.write_new(tmp_path / "a/b/c.md", b"x")
    modes = [
        stat.S_IMODE((tmp_path / name).stat().st_mode)
        for name in ("a", "a/b", "a/b/c.md")
    ]
    assert modes == [0o700, 0o700, 0o600]


def test_a_new_file_never_replaces_another(note):
    """The other bytes stay, and nothing of ours is left; the same bytes are no fault."""
    with pytest.raises(ConflictError):
        vault_disk.write_new(note, b"new\n")
    vault_disk.write_new(note, b"old\n")
    assert note.read_bytes() == b"old\n"
    assert names(note.parent) == ["note.md"]


# row: X17
def test_a_rewrite_keeps_the_mode_and_leaves_nothing_behind(note):
    """The note has our bytes and its own mode."""
    note.chmod(0o640)
    assert vault_disk.replace(note, b"new\n", SHA_OLD) is None
    assert (
        note.read_bytes(),
        stat.S_IMODE(note.stat().st_mode),
        names(note.parent),
    ) == (b"new\n", 0o640, ["note.md"])


def test_a_rewrite_of_a_changed_note_is_refused_with_their_bytes(note):
    """The person's text stays and is handed over."""
    note.write_bytes(b"theirs\n")
    with pytest.raises(vault_disk.ChangedError) as refused:
        vault_disk.replace(note, b"new\n", SHA_OLD)
    assert (refused.value.theirs, note.read_bytes(), names(note.parent)) == (
        b"theirs\n",
        b"theirs\n",
        ["note.md"],
    )


def test_a_note_that_somebody_has_open_for_writing_is_not_rewritten(note):
    """It is put back, so that the words still to come reach it."""
    with note.open("ab") as writer:
        with pytest.raises(vault_disk.ChangedError):
            vault_disk.replace(note, b"new\n", SHA_OLD)
        writer.write(b"more\n")
    assert note.read_bytes() == b"old\nmore\n"


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOSYS])
def test_a_rewrite_works_where_files_cannot_be_exchanged(note, disk, code):
    """Link and two renames take the place of the exchange."""
    disk("rename", code, 2)
    vault_disk.replace(note, b"new\n", SHA_OLD)
    assert (note.read_bytes(), names(note.parent)) == (b"new\n", ["note.md"])


def test_a_new_file_works_where_a_rename_cannot_refuse_to_replace(tmp_path, disk, note):
    """A link takes its place, and still replaces nothing."""
    disk("rename", errno.EINVAL, 1)
    vault_disk.write_new(tmp_path / "new.md", b"new\n")
    with pytest.raises(ConflictError):
        vault_disk.write_new(note, b"new\n")
    assert names(tmp_path) == ["new.md", "note.md"]


def test_where_nobody_can_tell_writers_the_displaced_file_waits(note, monkeypatch):
    """It is dropped after a time of grace at rest, unless a word came into it."""
    monkeypatch.setattr(Syscalls, "has_no_writer", lambda _self, _descriptor: None)
    now = time.time()
    with note.open("ab") as writer:
        hidden = vault_disk.replace(note, b"new\n", SHA_OLD)
        assert vault_disk.settle(hidden, now, grace=10).state == "open"
        writer.write(b"more\n")
    assert vault_disk.settle(hidden, now + 60, grace=10) == vault_disk.Leftover(
        "theirs", b"old\nmore\n"
    )
    vault_disk.remove(hidden)
    hidden = vault_disk.replace(note, b"newer\n", vault_disk.sha256(b"new\n"))
    assert vault_disk.settle(hidden, now + 60, grace=10).state == "gone"
    assert names(note.parent) == ["note.md"]


def test_a_writer_that_comes_at_the_last_moment_is_seen(note, monkeypatch):
    """The displaced file is looked at once more before it is dropped."""
    answers = iter([True, False, True, True])
    monkeypatch.setattr(
        Syscalls, "has_no_writer", lambda _self, _descriptor: next(answers)
    )
    with pytest.raises(vault_disk.ChangedError):
        vault_disk.replace(note, b"new\n", SHA_OLD)
    assert (note.read_bytes(), names(note.parent)) == (b"old\n", ["note.md"])


def test_a_rewrite_that_cannot_be_verified_is_taken_back(note, disk):
    """The old bytes stand there again and nothing of ours is left."""
    disk("has_no_writer", errno.EIO)
    with pytest.raises(StorageError):
        vault_disk.replace(note, b"new\n", SHA_OLD)
    assert note.read_bytes() == b"old\n"


def test_a_move_replaces_nothing(note, tmp_path):
    """Both files stay when the name is taken."""
    (tmp_path / "b.md").write_bytes(b"b\n")
    with pytest.raises(ConflictError):
        vault_disk.move(note, tmp_path / "b.md")
    vault_disk.make_folders(tmp_path / "archive")
    vault_disk.move(note, tmp_path / "archive/note.md")
    assert (tmp_path / "archive/note.md").read_bytes() == b"old\n"
    with pytest.raises(NotFoundError):
        vault_disk.move(note, tmp_path / "c.md")


# row: X3
def test_a_moved_file_that_a_person_had_changed_is_put_back(note, tmp_path):
    """What arrived is looked at; their bytes stand at the old place."""
    vault_disk.make_folders(tmp_path / "archive")
    with pytest.raises(vault_disk.ChangedError) as fault:
        vault_disk.move(
            note, tmp_path / "archive/note.md", expected=vault_disk.sha256(b"older\n")
        )
    assert (fault.value.theirs, note.read_bytes(), names(tmp_path / "archive")) == (
        b"old\n",
        b"old\n",
        [],
    )
    vault_disk.move(note, tmp_path / "archive/note.md", expected=SHA_OLD)
    assert not note.exists()


def test_a_move_works_where_a_rename_cannot_refuse_to_replace(note, tmp_path, disk):
    """An empty file holds the name in the other folder; a taken name is still refused."""
    vault_disk.make_folders(tmp_path / "archive")
    (tmp_path / "archive/b.md").write_bytes(b"b\n")
    disk("rename", errno.EINVAL, 1)
    with pytest.raises(ConflictError):
        vault_disk.move(note, tmp_path / "archive/b.md")
    vault_disk.move(note, tmp_path / "archive/note.md")
    assert (tmp_path / "archive/note.md").read_bytes() == b"old\n"
    assert names(tmp_path / "archive") == ["b.md", "note.md"]
    disk("rename", errno.EINVAL)
    with pytest.raises(StorageError):
        vault_disk.move(tmp_path / "archive/note.md", note)
    assert (names(tmp_path), names(tmp_path / "archive")) == (
        ["archive"],
        ["b.md", "note.md"],
    )


def test_appending_after_a_torn_line_starts_a_new_one(tmp_path):
    """The torn line keeps its bytes and the new line is whole."""
    log = tmp_path / "log.jsonl"
    vault_disk.append(log, b"1\n")
    with log.open("ab") as torn:
        torn.write(b'{"ha')
    vault_disk.append(log, b"2\n", set())
    assert log.read_bytes() == b'1\n{"ha\n2\n'


def test_a_batch_syncs_each_folder_once(tmp_path, monkeypatch):
    """Three new files in one folder cost three syncs of files and one of the folder."""
    synced = []
    real = Syscalls.fsync
    monkeypatch.setattr(
        Syscalls,
        "fsync",
        lambda self, descriptor: (synced.append(1), real(self, descriptor)),
    )
    with vault_disk.DeferredSyncs() as pending:
        for name in "abc":
            vault_disk.write_new(tmp_path / name, b"x", pending)
    assert len(synced) == 4


def test_a_file_that_stood_there_already_is_synced_before_it_counts(note, monkeypatch):
    """Somebody else may have written it a moment ago: its bytes are synced beside ours
    and the folder.
    """
    synced = []
    real = Syscalls.fsync
    monkeypatch.setattr(
        Syscalls,
        "fsync",
        lambda self, descriptor: (synced.append(1), real(self, descriptor)),
    )
    vault_disk.write_new(note, b"old\n")
    assert len(synced) == 3
