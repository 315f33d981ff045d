"""A process that lost its vault to another, and goes on.

Two memories on one vault and one state folder, on a file system without locks: as two
daemons on two machines that share their folders.
"""

from __future__ import annotations

import errno
import os
import secrets
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial

import pytest

from engram.core.records import FiledTurn, Turn
from engram.errors import (
    EngramError,
    LockedError,
    MisdirectedError,
    UnavailableError,
)
from engram.memory import VaultMemory
from engram.vault import syscalls
from engram.vault.git import Git
from tests.postgres import cut_off, refuses

TOLD = "Anna owns a lighthouse in Porto."


class Network(syscalls.Syscalls):
    """A file system that cannot lock. Before the next call of the kind `before`, once,
    `event` happens.
    """

    before = ""
    event = None

    def lock(self, _descriptor):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    def _meet(self, call):
        if call == self.before:
            self.before = ""
            self.event()

    def rename(self, old, new, folder, to, flags=0):
        if new.endswith(".md"):
            self._meet("rename")
        super().rename(old, new, folder, to, flags)

    def link(self, old, new, folder):
        self._meet("link")
        super().link(old, new, folder)

    def fdatasync(self, descriptor):
        self._meet("sync")
        super().fdatasync(descriptor)
        self._meet("synced")


@pytest.fixture
def network(monkeypatch):
    disk = Network()
    monkeypatch.setattr(syscalls, "SYS", disk)
    return disk


@pytest.fixture
def daemons(settings, postgres, clock, network, tmp_path):
    """Start a memory on the vault as another daemon, with a cache of its own."""
    vault_id = secrets.token_hex(8)
    made = []

    def start(address="http://a:1", **changes):
        memory = VaultMemory(
            replace(
                settings,
                postgres=postgres,
                address=address,
                place=None,
                vault_id=vault_id,
                cache=tmp_path / f"cache-{len(made)}",
                **changes,
            ),
            clock=clock,
            steady=clock.steady,
        )
        memory.start()
        made.append(memory)
        memory.catch_up()
        return memory

    yield start
    for memory in reversed(made):
        with suppress(EngramError):
            memory.close()


@contextmanager
def no_database(memory):
    """Let the database be out of reach for the block."""
    store, dsn = memory.store, memory.store.dsn
    cut_off(store)
    store.dsn = "host=127.0.0.1 port=1 connect_timeout=1"
    yield
    store.dsn = dsn


def notes(memory, folder="facts"):
    return {
        path.name: path.read_text()
        for path in (memory.settings.vault / folder).rglob("*.md")
    }


def turn(name, text):
    return {"turns": [{"id": name, "session": "s", "text": text}]}


# row: X15
def test_a_late_change_of_a_note_overwrites_no_newer_one(daemons, network):
    """It was checked in time, and published after the other had changed the note."""
    first = daemons()
    told = first.call("remember", {"text": TOLD})
    newer = b"\nIt was built in 1901.\n"

    def happen():
        cut_off(first.store)
        second = daemons("http://b:1")
        second.vault.rewrite(told["path"], lambda raw: raw + newer)

    network.before, network.event = "rename", happen
    with pytest.raises(EngramError):
        first.call("update", {"id": told["id"], "pinned": True})
    [note] = notes(first).values()
    assert newer.decode() in note
    assert "pinned" not in note
    with pytest.raises(MisdirectedError) as fault:
        first.call("update", {"id": told["id"], "pinned": True})
    assert fault.value.where == "http://b:1"


# row: X15
@pytest.mark.parametrize("before", ["sync", "synced"])
def test_a_turn_is_not_acknowledged_once_another_may_have_the_vault(
    daemons, network, before
):
    """Not even where its journal was written: the other has read it before."""
    first = daemons()
    first.executor.attended = True
    first.call("observe", turn("a", "Porto has a late ferry."))
    seconds = []

    def happen():
        cut_off(first.store)
        seconds.append(daemons("http://b:1"))

    network.before, network.event = before, happen
    with pytest.raises(UnavailableError) as fault:
        first.call("observe", turn("b", "The ferry is green."))
    assert fault.value.retry_after
    [second] = seconds
    second.call("observe", turn("b", "The ferry is green."))
    second.call("observe", turn("c", "The ferry leaves at noon."))
    with suppress(EngramError):
        first.pipeline.drain()
    first.close()
    second.close()
    third = daemons("http://c:1")
    third.call("flush", {})
    [session] = notes(third, "sessions").values()
    for text in ("Porto has a late ferry.", "ferry is green", "ferry leaves at noon"):
        assert session.count(text) == 1


# row: X15
def test_a_former_owner_removes_no_segment_and_makes_none(daemons):
    first = daemons()
    first.executor.attended = True
    first.call("observe", turn("a", "Porto has a late ferry."))
    cut_off(first.store)
    second = daemons("http://b:1")
    second.executor.attended = True
    second.call("observe", turn("b", "The ferry is green."))
    folder = first.settings.state / "journal"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    refuses(lambda: first.journal.settle([1]))
    with pytest.raises(LockedError):
        first.journal.rewrite(lambda _: True)
    first.close()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert not second.store.lost


# row: X15
def test_a_segment_that_was_made_too_late_is_stepped_over(daemons):
    memory = daemons()
    memory.executor.attended = True
    newest = memory.journal._newest
    (memory.settings.state / "journal" / f"{newest + 1:08}.jsonl").write_bytes(b"")
    assert memory.call("observe", turn("a", "Porto has a late ferry."))["stored"] == 1


# row: X15
def test_a_former_owner_makes_no_commit(daemons, settings):
    subprocess.run(["git", "init", "-q", settings.vault], check=True)
    first = daemons()
    first.call("remember", {"text": TOLD})
    git = Git.open(settings.vault, settings.state / "x")
    before = git.stamp()
    first.executor.attended = True
    first.call("remember", {"text": "The boat is red."})
    cut_off(first.store)
    second = daemons("http://b:1")
    first.between_operations()
    first.close()
    assert git.stamp() == before
    second.call("remember", {"text": "The boat is new."})
    assert git.stamp() != before


# row: X15
def test_without_the_database_nothing_is_written_and_afterwards_all_is_filed_once(
    daemons, caplog
):
    """The same process goes on if no other had the vault meanwhile, and says so."""
    memory = daemons()
    memory.executor.attended = True
    memory.call("observe", turn("a", "Porto has a late ferry."))
    before = notes(memory, "sessions")
    with no_database(memory):
        for _ in range(2):
            with pytest.raises(UnavailableError) as fault:
                memory.call("observe", turn("b", "The ferry is green."))
            assert fault.value.retry_after
        with suppress(EngramError):
            memory.pipeline.drain()
        assert notes(memory, "sessions") == before
        assert "is not written" in caplog.text
    caplog.set_level("INFO")
    memory.call("observe", turn("b", "The ferry is green."))
    assert "the database answers again" in caplog.text
    memory.close()
    memory = daemons()
    memory.call("flush", {})
    assert memory.journal.is_empty
    [session] = notes(memory, "sessions").values()
    assert session.count("Porto has a late ferry.") == 1
    assert session.count("The ferry is green.") == 1


# row: X15
def test_a_vault_with_turns_in_a_journal_elsewhere_is_refused(daemons, tmp_path):
    """Until they are filed where they are; then the vault may go anywhere."""
    first = daemons()
    first.executor.attended = True
    first.call("observe", turn("a", "Porto has a late ferry."))
    first.close()
    with pytest.raises(LockedError, match="may wait in the state folder of"):
        daemons("http://b:1", state=tmp_path / "elsewhere")
    again = daemons()
    again.call("flush", {})
    again.close()
    other = daemons("http://b:1", state=tmp_path / "elsewhere")
    [hit, *_] = other.call("recall", {"query": "late ferry"})["hits"]
    assert hit["text"] == "Porto has a late ferry."


OPENED = """\
import sys; from pathlib import Path; from dataclasses import replace
from engram import config; from engram.memory import VaultMemory
vault, home, dsn, name = sys.argv[1:]
given = {'ENGRAM_HOME': home, 'HOME': home}
settings = replace(config.load(Path(vault), given), postgres=dsn,
    place=None, vault_id=name)
memory = VaultMemory(settings); memory.start(); memory.catch_up()
memory.executor.attended = True
turn = {'id': 'w', 'text': 'Porto has a late ferry.'}
memory.call('observe', {'turns': [turn]})
print('told', flush=True); sys.stdin.read()
"""
"""Opens the vault in a process of its own, and acknowledges a turn."""


@pytest.fixture
def opened_stored(opened, stored):
    """A function that opens that vault here."""
    return partial(
        opened, postgres=stored.postgres, place=None, vault_id=stored.vault_id
    )


# row: X15
def test_a_suspended_process_keeps_its_vault_and_a_killed_one_loses_it_at_once(
    stored, opened_stored, network
):
    """Its turn is there for the next owner."""
    home = stored.state.parents[1]
    told = (stored.vault, home, stored.postgres, stored.vault_id)
    with subprocess.Popen(
        [sys.executable, "-c", OPENED, *told],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout.readline() == b"told\n"
        process.send_signal(signal.SIGSTOP)
        with pytest.raises(LockedError, match=str(process.pid)):
            opened_stored()
        process.send_signal(signal.SIGKILL)
        process.wait()
        memory = _when_free(opened_stored)
    [hit, *_] = memory.call("recall", {"query": "late ferry"})["hits"]
    assert hit["text"] == "Porto has a late ferry."


def _when_free(opened):
    last = time.monotonic() + 5
    while True:
        try:
            return opened()
        except LockedError:
            if time.monotonic() > last:
                raise
            time.sleep(0.02)


# row: X15
def test_what_a_former_owner_writes_too_late_hides_no_turn_of_its_successor(daemons):
    """It was stopped between the check and the write of its first records."""
    first = daemons()
    cut_off(first.store)
    second = daemons("http://b:1")
    second.executor.attended = True
    second.call("observe", turn("a", "Porto has a late ferry."))
    first.journal._check_owner = lambda: None
    late = Turn("b", "s", "user", "Not acknowledged.", first.clock_guard.clock(), "")
    [number] = first.journal.append([FiledTurn(late, "late", "t1")])
    first.journal.settle([number])
    cut_off(second.store)
    third = daemons("http://c:1")
    waiting = [filed.turn.text for _, filed in third.journal.unfiled().turns]
    assert waiting == ["Porto has a late ferry."]


# row: X15
def test_who_waits_for_the_same_sync_is_told_when_to_come_back(daemons):
    memory = daemons()
    memory.executor.attended = True

    def lost():
        raise UnavailableError(
            "another process may have it", retry_after=2, fix="Wait."
        )

    memory.journal._check_owner = lost
    with pytest.raises(UnavailableError) as fault:
        memory.call("observe", turn("a", "Porto has a late ferry."))
    assert fault.value.retry_after == 2
