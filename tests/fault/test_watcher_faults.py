"""Watcher and catalogue together while the vault is turned upside down: the index
equals a cold rebuild.
"""

from __future__ import annotations

import os
import queue
import shutil
import subprocess
import threading
import time
from datetime import UTC
from pathlib import Path

import pytest

from engram.core.policy import FilePolicy
from engram.index.catalog import Catalog
from engram.index.database import key_of, open_database
from engram.index.scan import Scanner
from engram.vault.watcher import Watcher

pytestmark = pytest.mark.filterwarnings("ignore:Callback with id:RuntimeWarning")

POLICY = FilePolicy(
    settle_seconds=0.1,
    settle_most_seconds=0.5,
    watch_check_seconds=0.2,
    vanished_notes=1000000,
)
FULL = os.environ.get("ENGRAM_FAULT") == "full"
PATIENCE = 120.0


def contents(catalog):
    return sorted(
        ((key_of(unit), unit) for unit in catalog.since("").added),
        key=lambda pair: pair[0],
    )


def opened(root, cache):
    database = open_database(root, cache, UTC, POLICY)
    return Scanner(Catalog(database, POLICY), root, UTC, POLICY)


class Living:
    """A vault with a watch whose batches one writer thread takes in, as the daemon
    does.
    """

    def __init__(self, root, cache):
        self.root, self.cache, self.batches = root, cache, queue.Queue()
        self.told = []
        self.scanner = opened(root, cache)
        self.catalog = self.scanner.catalog
        self.scanner.scan()
        self.watch = Watcher(root, self.batches.put, POLICY)
        self.watch.start()
        self.writer = threading.Thread(target=self.write)
        self.writer.start()

    def write(self):
        while (batch := self.batches.get()) != "stop":
            self.told.append(batch)
            if pending := self.scanner.scan(batch).pending:
                again = {self.root / path for path in pending}
                threading.Timer(
                    POLICY.settle_most_seconds, self.batches.put, [again]
                ).start()

    def stop(self):
        self.watch.stop()
        time.sleep(POLICY.settle_most_seconds)
        self.batches.put("stop")
        self.writer.join()
        self.catalog.close()

    def equals_a_cold_rebuild(self):
        """Within one reconcile: no further push is given, only time."""
        cold = opened(self.root, self.cache.with_name(f"cold-{time.monotonic_ns()}"))
        cold.scan()
        expected = contents(cold.catalog)
        cold.catalog.close()
        end = time.monotonic() + PATIENCE
        while (found := contents(self.catalog)) != expected and time.monotonic() < end:
            time.sleep(0.1)
        return found == expected


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "vault"
    for n in range(300):
        note = folder / "facts" / f"2026-11-{n % 20 + 1:02}" / f"fact-{n}.md"
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(f"---\nid: F{n}\n---\nFact number {n}.\n")
    return folder


@pytest.fixture
def living(root, tmp_path):
    living = Living(root, tmp_path / "cache")
    yield living
    living.stop()


def git(root, *words):
    who = (
        "-c",
        "user.name=x",
        "-c",
        "user.email=x@example.org",
        "-c",
        "advice.detachedHead=false",
    )
    subprocess.run(
        ["git", "-C", str(root), *who, *words], check=True, capture_output=True
    )


# row: X20
def test_git_checkout_rebase_and_stash_under_the_watcher(living, root):
    """200 files changed by git at once, there and back: the catalogue follows."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "one")
    git(root, "checkout", "-q", "-b", "other")
    for n, note in enumerate(sorted(root.glob("facts/*/*.md"))[:200]):
        if n % 4:
            note.write_text(note.read_text() + f"Changed in the other branch, {n}.\n")
        else:
            note.unlink()
    git(root, "commit", "-q", "-a", "-m", "two")
    assert living.equals_a_cold_rebuild()
    git(root, "checkout", "-q", "main")
    assert living.equals_a_cold_rebuild()
    assert living.catalog.counts()["facts"] == 300
    (root / "facts" / "2026-11-20" / "fact-19.md").write_text(
        "---\nid: F19\n---\nMine.\n"
    )
    git(root, "commit", "-q", "-a", "-m", "three")
    git(root, "rebase", "-q", "other")
    assert living.equals_a_cold_rebuild()
    (root / "facts" / "2026-11-02" / "fact-1.md").write_text(
        "---\nid: F1\n---\nStashed.\n"
    )
    git(root, "stash", "-q")
    assert living.equals_a_cold_rebuild()
    git(root, "stash", "pop", "-q")
    assert living.equals_a_cold_rebuild()
    assert None in living.told


# row: X20
def test_thousands_of_files_unpacked_into_one_folder_are_all_found(living, root):
    """5,000 files (40,000 in the full run) appear faster than they can be read."""
    number = 40_000 if FULL else 5_000
    folder = root / "notes"
    folder.mkdir()
    for n in range(number):
        (folder / f"{n}.md").write_text(f"Note number {n}.\n")
    assert living.equals_a_cold_rebuild()
    assert living.catalog.counts()["notes"] == number


# row: X20
def test_an_overflow_of_the_kernels_queue_means_everything(living, root):
    """While nobody reads, more happens than the kernel remembers; afterwards all is
    looked at.
    """
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if most > 50_000 and not FULL:
        pytest.skip(f"the kernel remembers {most} events; set ENGRAM_FAULT=full")
    with living.watch._queue._lock:
        # the reader may have taken a good part before it waited
        for n in range(2 * most):
            with (root / "facts" / f"{n % 7}.md").open("a") as note:
                note.write(f"Line {n}.\n" if n % 100 == 0 else "")
    (root / "facts" / "last.md").write_text("The last one.\n")
    assert living.equals_a_cold_rebuild()
    assert None in living.told
    (root / "facts" / "after.md").write_text("Seen after the overflow.\n")
    assert living.equals_a_cold_rebuild()


# row: X20
def test_a_vault_that_is_unmounted_and_mounted_again_loses_nothing(living, root):
    """The root goes and comes back with an edit in it."""
    root.rename(root.with_name("elsewhere"))
    time.sleep(4 * POLICY.watch_check_seconds)
    assert living.catalog.counts()["facts"] == 300
    (root.with_name("elsewhere") / "facts" / "2026-11-01" / "fact-0.md").write_text(
        "---\nid: F0\n---\nEdited away.\n"
    )
    root.with_name("elsewhere").rename(root)
    assert living.equals_a_cold_rebuild()
    assert living.catalog.find_fact("F0").text == "Edited away."


# row: X20
def test_the_cache_may_be_wiped_while_running(living, root, tmp_path):
    """The open catalogue goes on; the next start rebuilds it."""
    expected = contents(living.catalog)
    shutil.rmtree(tmp_path / "cache")
    assert contents(living.catalog) == expected
    again = opened(root, tmp_path / "cache")
    again.scan()
    assert contents(again.catalog) == expected
    again.catalog.close()


# row: X20
def test_a_catalogue_damaged_while_running_heals(living, root, tmp_path):
    """Pages overwritten under an open database: the next scan or the one after it has
    everything again.
    """
    expected = contents(living.catalog)
    living.catalog.database.query("PRAGMA wal_checkpoint(TRUNCATE)")
    living.catalog.database.query("PRAGMA shrink_memory")
    database = tmp_path / "cache" / "catalogue.db"
    with database.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(database.stat().st_size - 4096))
    note = root / "facts" / "2026-11-01" / "fact-0.md"
    note.write_text(note.read_text() + "More.\n")
    note.write_text(note.read_text().removesuffix("More.\n"))
    living.batches.put(None)
    assert living.equals_a_cold_rebuild()
    assert [key for key, _ in contents(living.catalog)] == [key for key, _ in expected]


def test_a_tree_that_never_rests_is_still_taken_in(living, root):
    """A file written all the time delays the others by `settle_most_seconds`, not for
    ever.
    """
    stop = threading.Event()

    def restless():
        while not stop.is_set():
            (root / "notes.md").write_text(str(time.monotonic()))
            time.sleep(0.02)

    writer = threading.Thread(target=restless)
    writer.start()
    try:
        (root / "facts" / "new.md").write_text("---\nid: NEW\n---\nFound meanwhile.\n")
        end = time.monotonic() + 10
        while living.catalog.unit("NEW") is None and time.monotonic() < end:
            time.sleep(0.05)
        assert living.catalog.unit("NEW") is not None
    finally:
        stop.set()
        writer.join()
