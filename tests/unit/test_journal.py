"""The laws of `engram.vault.journal`."""

from __future__ import annotations

import errno
import os
import threading
import time
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.core.policy import JournalPolicy
from engram.core.records import FiledTurn, Turn
from engram.errors import StorageError
from engram.vault import syscalls
from engram.vault.journal import DeadLetter, Journal, ParkedBatch
from engram.vault.syscalls import Syscalls
from tests.size import examples

WHEN = datetime(2026, 11, 20, 21, 14, 5, tzinfo=timezone(timedelta(hours=1)))


def turn(number, text="tea"):
    return FiledTurn(
        Turn(f"id-{number}", "talk", "user", text, WHEN),
        "2026-11-20-talk",
        f"t{number}",
    )


@pytest.fixture
def opened(tmp_path):
    """Open the journal anew, as after a restart; the journal and its backlog."""
    made = []

    def reopen(segment_bytes=100000):
        for old in made:
            old.close()
        journal = Journal(
            tmp_path / "journal", JournalPolicy(segment_bytes=segment_bytes)
        )
        made.append(journal)
        return journal, journal.replay()

    yield reopen
    for journal in made:
        journal.close()


def segments(tmp_path):
    return sorted(path.name for path in (tmp_path / "journal").iterdir())


class Faulty(Syscalls):
    """A disk whose data syncs fail while `broken`, and which counts them."""

    broken = False
    synced = 0
    seconds = 0.0
    """How long a sync takes at least."""

    def fdatasync(self, descriptor):
        self.synced += 1
        time.sleep(self.seconds)
        if self.broken:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        super().fdatasync(descriptor)


@pytest.fixture
def disk(monkeypatch):
    faulty = Faulty()
    monkeypatch.setattr(syscalls, "SYS", faulty)
    return faulty


def test_parked_batches_and_dead_letters_are_kept(opened):
    """With their tries and reasons; a parked turn is one of the turns, a dead one is
    not.
    """
    journal, _ = opened()
    one, two, three, four = journal.append([turn(number) for number in range(1, 5)])
    journal.park([one, two], 1, WHEN, "no answer")
    journal.park([one, two], 2, WHEN + timedelta(hours=1), "no answer again")
    journal.give_up([three], 6, "poison")
    for _ in range(2):
        journal, queue = opened()
        assert queue.parked == (
            ParkedBatch((one, two), 2, WHEN + timedelta(hours=1), "no answer again"),
        )
        assert queue.dead == (DeadLetter(((three, turn(3)),), 6, "poison"),)
        assert [seq for seq, _ in queue.turns] == [one, two, four]
    journal.park([three], 0, WHEN, "tried again by hand")
    assert opened()[1].dead == ()


def test_a_settled_segment_is_removed_and_numbers_go_on(opened, tmp_path):
    """The open segment stays; a number is not given twice."""
    journal, _ = opened(segment_bytes=200)
    seqs = [journal.append([turn(number)])[0] for number in range(6)]
    assert len(segments(tmp_path)) > 2
    for seq in reversed(seqs):
        journal.settle([seq])
    assert len(segments(tmp_path)) == 1
    journal, queue = opened()
    assert queue.turns == ()
    assert journal.append([turn(9)])[0] > max(seqs)


def test_a_dead_letter_does_not_keep_every_segment(opened, tmp_path):
    """It is written again, so that old segments can go, and is the same after a
    restart.
    """
    journal, _ = opened(segment_bytes=400)
    (dead,) = journal.append([turn(0)])
    journal.give_up([dead], 6, "poison")
    for number in range(1, 60):
        journal.settle(journal.append([turn(number)]))
        assert len(segments(tmp_path)) <= 6
    journal, queue = opened()
    assert (queue.turns, queue.dead) == (
        (),
        (DeadLetter(((dead, turn(0)),), 6, "poison"),),
    )


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_torn_tail_is_told_and_the_rest_counts(opened, tmp_path, cut):
    """The fault names the segment and the byte; nothing is removed by reading."""
    journal, _ = opened()
    journal.append([turn(1)])
    whole = (tmp_path / "journal/00000001.jsonl").stat().st_size
    journal.append([turn(2)])
    path = tmp_path / "journal/00000001.jsonl"
    path.write_bytes(path.read_bytes()[:-cut])
    before = path.read_bytes()
    journal, queue = opened()
    assert [filed for _, filed in queue.turns] == [turn(1)]
    (problem,) = queue.problems
    assert (problem.code, problem.path, str(whole) in problem.message) == (
        "journal-torn",
        "00000001.jsonl",
        True,
    )
    journal.append([turn(3)])
    assert path.read_bytes() == before
    assert len(opened()[1].turns) == 2


def test_a_damaged_line_is_told_and_its_segment_is_never_removed(opened, tmp_path):
    """The other lines count; when they are settled the segment is set aside."""
    journal, _ = opened()
    for number in range(3):
        journal.append([turn(number)])
    path = tmp_path / "journal/00000001.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1].replace(b"tea", b"tee")
    path.write_bytes(b"".join(lines))
    journal, queue = opened()
    assert [filed for _, filed in queue.turns] == [turn(0), turn(2)]
    assert [
        (each.code, str(len(lines[0])) in each.message) for each in queue.problems
    ] == [("journal-damage", True)]
    journal.settle([seq for seq, _ in queue.turns])
    assert (tmp_path / "journal/00000001.damaged").read_bytes() == b"".join(lines)
    assert [problem.code for problem in opened()[1].problems] == ["journal-kept"]


@given(st.binary(max_size=200), st.integers(0, 400))
@examples(60)
def test_no_bytes_stop_a_replay(tmp_path_factory, noise, at):
    """Whatever stands in a segment, the lines that are whole come back."""
    folder = tmp_path_factory.mktemp("journal")
    journal = Journal(folder, JournalPolicy())
    journal.replay()
    journal.append([turn(1), turn(2), turn(3)])
    journal.close()
    path = folder / "00000001.jsonl"
    raw = path.read_bytes()
    path.write_bytes(raw[:at] + noise + raw[at:])
    found = [filed for _, filed in Journal(folder, JournalPolicy()).replay().turns]
    assert all(filed in {turn(1), turn(2), turn(3)} for filed in found)
    assert len(found) >= 2


def test_a_failed_sync_acknowledges_nothing_and_the_next_try_has_a_new_segment(
    opened, disk, tmp_path
):
    """The fault is seen as long as it lasts; afterwards there is one turn."""
    journal, _ = opened()
    journal.append([turn(1)])
    disk.broken = True
    for _ in range(2):
        with pytest.raises(StorageError):
            journal.append([turn(2)])
        assert "disk failed" in journal.degraded
    assert [filed for _, filed in journal.unfiled().turns] == [turn(1)]
    disk.broken = False
    journal.append([turn(2)])
    assert (journal.degraded, len(segments(tmp_path))) == ("", 3)
    assert [filed for _, filed in opened()[1].turns] == [turn(1), turn(2)]


# row: X20
def test_sixty_four_clients_share_syncs(opened, disk):
    """At least 20 turns a sync, every turn stored once under its own number."""
    journal, _ = opened()
    disk.seconds = 0.005  # as on a disk; in memory a sync is over before the next turn

    def client(name):
        for number in range(20):
            journal.append([turn(f"{name}-{number}")])

    clients = [threading.Thread(target=client, args=(name,)) for name in range(64)]
    for each in clients:
        each.start()
    for each in clients:
        each.join()
    assert 64 * 20 / disk.synced >= 20
    _, queue = opened()
    assert (
        len({filed.turn.id for _, filed in queue.turns})
        == 64 * 20
        == len({seq for seq, _ in queue.turns})
    )


def test_settling_by_one_thread_while_others_store_loses_nothing(opened):
    """Segments are closed, carried and removed under four clients."""
    journal, _ = opened(segment_bytes=2000)
    kept = []

    def client(name):
        for number in range(60):
            seqs = journal.append([turn(f"{name}-{number}")])
            if number % 10:
                journal.settle(seqs)
            else:
                kept.append(f"id-{name}-{number}")

    clients = [threading.Thread(target=client, args=(name,)) for name in range(4)]
    for each in clients:
        each.start()
    for each in clients:
        each.join()
    held = sorted(filed.turn.id for _, filed in journal.unfiled().turns)
    assert (
        held == sorted(kept) == sorted(filed.turn.id for _, filed in opened()[1].turns)
    )
