"""The watcher, with real files and real events."""

from __future__ import annotations

import shutil
import threading
import time

import pytest

from engram.core.policy import FilePolicy
from engram.vault.watcher import Watcher, needs_polling

pytestmark = pytest.mark.filterwarnings("ignore:Callback with id:RuntimeWarning")

POLICY = FilePolicy(
    settle_seconds=0.05,
    settle_most_seconds=0.25,
    watch_check_seconds=0.1,
    poll_seconds=0.05,
)
PATIENCE = 15.0


class Told:
    """Collects what a watch tells, and waits for it."""

    def __init__(self):
        self.batches, self.news = [], threading.Condition()

    def __call__(self, paths):
        with self.news:
            self.batches.append(paths)
            self.news.notify_all()

    def paths(self):
        return set().union(*(batch for batch in self.batches if batch is not None))

    def wait(self, enough):
        with self.news:
            return self.news.wait_for(lambda: enough(self), PATIENCE)

    def forget(self):
        with self.news:
            self.batches.clear()


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "vault"
    (folder / "facts").mkdir(parents=True)
    (folder / "facts" / "a.md").write_text("one")
    return folder


@pytest.fixture
def told():
    return Told()


@pytest.fixture
def watch(root, told):
    watch = Watcher(root, told, POLICY)
    watch.start()
    yield watch
    watch.stop()


def in_place(path):
    path.write_text("two")


def atomic(path):
    draft = path.with_name(".draft.tmp")
    draft.write_text("two")
    draft.rename(path)


def vim(path):
    probe = path.with_name("4913")
    probe.touch()
    probe.unlink()
    path.rename(f"{path}~")
    path.write_text("two")
    path.with_name(path.name + "~").unlink()


def delete_and_create(path):
    path.unlink()
    time.sleep(0.02)
    path.write_text("two")


def goutputstream(path):
    draft = path.with_name(".goutputstream-ABC123")
    draft.write_text("two")
    draft.rename(path)


# row: X18
@pytest.mark.parametrize(
    "save", [in_place, atomic, vim, delete_and_create, goutputstream]
)
def test_every_way_of_saving_marks_the_note_and_nothing_else(watch, root, told, save):
    """In place, atomic rename, backup and probe files, delete and create: the note is
    told.
    """
    note = root / "facts" / "a.md"
    save(note)
    assert told.wait(lambda told: told.batches)
    time.sleep(POLICY.settle_most_seconds)
    assert None not in told.batches
    assert told.paths() == {note}


def test_passing_files_are_not_told(watch, root, told):
    """What editors and sync tools leave for a moment is ignored."""
    names = (
        "4913",
        "a.md~",
        ".a.md.swp",
        "#a.md#",
        ".#a.md",
        "a.tmp",
        "x.part",
        "~$a.md",
        "a.png",
    )
    for name in names:
        (root / "facts" / name).write_text("x")
    (root / ".obsidian").mkdir()
    (root / ".obsidian" / "workspace.md").write_text("x")
    for name in names:
        (root / "facts" / name).unlink()
    time.sleep(2 * POLICY.settle_most_seconds)
    assert told.batches == []


def test_a_watch_that_never_started_can_be_stopped(root, told):
    """Stopping is always allowed."""
    Watcher(root, told, POLICY).stop()


@pytest.mark.parametrize("polling", [False, True])
def test_a_root_that_vanishes_and_returns_is_told_as_everything(root, told, polling):
    """The watcher outlives an unmounted vault and sees it come back."""
    watch = Watcher(root, told, POLICY)
    watch.polling = polling
    watch.start()
    try:
        root.rename(root.with_name("elsewhere"))
        assert told.wait(lambda told: None in told.batches)
        told.forget()
        root.with_name("elsewhere").rename(root)
        assert told.wait(lambda told: None in told.batches)
        time.sleep(POLICY.watch_check_seconds)
        told.forget()
        (root / "facts" / "a.md").write_text("two")
        assert told.wait(lambda told: root / "facts" / "a.md" in told.paths())
    finally:
        watch.stop()


def test_a_deleted_root_does_not_end_the_watch(watch, root, told):
    """Deleted and made anew it is another folder, and is watched."""
    shutil.rmtree(root)
    assert told.wait(lambda told: None in told.batches)
    (root / "facts").mkdir(parents=True)
    time.sleep(3 * POLICY.watch_check_seconds)
    assert told.wait(
        lambda told: len([batch for batch in told.batches if batch is None]) >= 1
    )
    told.forget()
    (root / "facts" / "new.md").write_text("two")
    assert told.wait(lambda told: root / "facts" / "new.md" in told.paths())


def test_polling_tells_edits_moves_and_deletions(root, told):
    """Where events do not work the tree is looked at again and again."""
    watch = Watcher(root, told, POLICY)
    watch.polling = True
    watch.start()
    note = root / "facts" / "a.md"
    try:
        note.write_text("two, longer")
        assert told.wait(lambda told: note in told.paths())
        told.forget()
        note.rename(root / "facts" / "b.md")
        assert told.wait(lambda told: {note, root / "facts" / "b.md"} <= told.paths())
        told.forget()
        (root / "facts" / "b.md").unlink()
        assert told.wait(lambda told: root / "facts" / "b.md" in told.paths())
    finally:
        watch.stop()


def test_without_watches_left_the_tree_is_polled(watch, root, told):
    """The system's limit is no reason to miss an edit."""
    watch.out_of_watches()
    assert told.wait(lambda told: None in told.batches)
    time.sleep(3 * POLICY.poll_seconds)
    told.forget()
    (root / "facts" / "a.md").write_text("two, longer")
    assert told.wait(lambda told: root / "facts" / "a.md" in told.paths())
    assert watch.polling


@pytest.mark.parametrize(
    ("kind", "mount", "polling"),
    [
        ("ext4", "/", False),
        ("btrfs", "/home", False),
        ("nfs4", "/home", True),
        ("fuse.sshfs", "/home/anna/My\\040Vault", True),
        ("cifs", "/home/anna", True),
        ("nfs4", "/home/annabel", False),
        ("nfs4", "/mnt", False),
    ],
)
def test_the_file_system_decides_about_polling(tmp_path, kind, mount, polling):
    """The longest mount point above the vault counts; the names in the table are
    escaped.
    """
    mounts = tmp_path / "mounts"
    mounts.write_text(
        f"proc /proc proc rw 0 0\n/dev/sda / ext4 rw 0 0\nwhatever {mount} {kind} rw 0 0\n"
    )
    assert needs_polling("/home/anna/My Vault", mounts) == polling


def test_without_a_mount_table_the_tree_is_polled(tmp_path):
    """Elsewhere than on Linux nothing is known of the file system."""
    assert needs_polling(tmp_path, tmp_path / "missing")
