"""Turns on their way in: known ids, places, the buffer, a disk that refuses, a restart."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from engram.errors import (
    BadRequestError,
    BusyError,
    ConflictError,
    ModelError,
    StorageError,
    UnavailableError,
)
from engram.ingest.requests import turn_from
from engram.vault import syscalls


def turn(number, text="The tide is high.", **more):
    return {
        "id": f"m{number}",
        "session": "coffee plans",
        "role": "user",
        "text": text,
        **more,
    }


def observe(memory, *turns):
    return memory.call("observe", {"turns": list(turns)})


def held_back(memory):
    """As the daemon has it: turns wait until somebody looks."""
    memory.executor.attended = True
    return memory


def work(memory):
    """One round of the daemon's work, in this thread."""
    for batch in memory.pipeline.due(memory.clock()):
        memory.pipeline.file(batch, memory.pipeline.distil(batch))


def sessions(memory):
    return sorted((memory.settings.vault / "sessions").rglob("*.md"))


@pytest.fixture
def waiting(memory):
    return held_back(memory)


@pytest.fixture
def refusing(monkeypatch):
    """A switch: from now on no sync succeeds."""

    class Refusing(syscalls.Syscalls):
        def fdatasync(self, _descriptor):
            raise OSError(5, "Input/output error")

    def switch(on):
        monkeypatch.setattr(syscalls, "SYS", Refusing() if on else syscalls.Syscalls())

    yield switch
    monkeypatch.undo()


# row: X18
def test_eight_threads_with_the_same_turn_store_one(waiting):
    """All are answered with the same place, after the one commit."""
    start = threading.Barrier(8)

    def send(_):
        start.wait()
        return observe(waiting, turn(1), turn(2))

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(send, range(8)))
    assert sum(answer["stored"] for answer in answers) == 2
    assert sum(answer["duplicates"] for answer in answers) == 14
    assert len({tuple(answer["keys"]) for answer in answers}) == 1
    work(waiting.queue.hurry() and waiting)
    assert sessions(waiting)[0].read_text().count("^t") == 2


def test_the_same_turn_twice_in_one_request_is_one_turn(waiting):
    """And with another text it is refused."""
    answer = observe(waiting, turn(1), turn(1))
    assert (answer["stored"], answer["duplicates"], len(set(answer["keys"]))) == (
        1,
        1,
        1,
    )
    with pytest.raises(ConflictError):
        observe(waiting, turn(2, "One."), turn(2, "Two."))
    assert waiting.queue.counts()["waiting_turns"] == 1


# row: X18
def test_a_failed_sync_acknowledges_nobody_and_the_second_try_works(waiting, refusing):
    """Also those are told who waited for somebody else's commit of the same turn."""
    refusing(on=True)
    start = threading.Barrier(4)

    def send(_):
        start.wait()
        with pytest.raises(StorageError):
            observe(waiting, turn(1))
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(send, range(4)))
    assert not waiting.call("recall", {"query": "tide"})["hits"]
    refusing(on=False)
    assert observe(waiting, turn(1))["stored"] == 1
    assert observe(waiting, turn(1))["duplicates"] == 1


def test_a_turn_that_was_refused_is_one_turn_after_a_restart(waiting, opened, refusing):
    """Its line may have reached the journal all the same."""
    refusing(on=True)
    with pytest.raises(StorageError):
        observe(waiting, turn(1))
    refusing(on=False)
    observe(waiting, turn(1))
    later = held_back(opened())
    work(later)
    assert sessions(later)[0].read_text().count("The tide is high.") == 1


# row: E14
def test_sessions_of_two_personas_are_two_files(waiting):
    """The same name of a conversation, kept apart, and so is what is recalled of it."""
    observe(
        waiting,
        turn(1, "The tide is high.", persona="Kapitän", private=True),
        turn(2, "The tide is low.", persona="Bootsmann", private=True),
    )
    waiting.queue.hurry()
    work(waiting)
    assert len(sessions(waiting)) == 2
    answer = waiting.call("recall", {"query": "tide", "persona": "Kapitän"})
    assert [hit["text"] for hit in answer["hits"]] == ["The tide is high."]
    assert not waiting.call("recall", {"query": "tide"})["hits"]


def test_an_id_that_only_the_vault_knows_is_waited_for(memory, opened, settings, clock):
    """Before a new catalogue has read the vault, nobody can tell a new turn from a
    known one.
    """
    from engram.memory import VaultMemory

    observe(memory, turn(1))
    memory.close()
    memory.close = lambda: None
    for path in settings.cache.rglob("*"):
        path.unlink()
    later = VaultMemory(settings, clock=clock, steady=clock.steady)
    later.start()
    try:
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(observe, later, turn(1))
            later.catch_up()
            assert answer.result(60)["duplicates"] == 1
    finally:
        later.close()


@pytest.mark.parametrize(
    "moment", ["2026-11-20T21:14:05", "2026-11-20T20:14:05Z", 1795205645, 1795205645.9]
)
def test_a_time_may_be_local_have_an_offset_or_be_a_number(settings, clock, moment):
    """All of these are the same second."""
    said = turn_from(
        {"text": "Hello.", "occurred_at": moment}, clock(), settings, "fresh"
    )
    assert said.occurred_at.isoformat() == "2026-11-20T21:14:05+01:00"


def test_a_turn_that_is_too_long_is_refused(settings, clock):
    """In bytes, with what to do about it."""
    with pytest.raises(BadRequestError, match="Split"):
        turn_from(
            {"text": "ä" * (settings.policy.journal.turn_bytes // 2 + 1)},
            clock(),
            settings,
            "fresh",
        )


@pytest.mark.parametrize(
    "moment",
    ["0001-01-01", "1899-12-31", "9990-01-02", "9999-12-31T23:59:59", -1e11, 1e12],
)
def test_a_time_that_no_calendar_reckons_with_is_refused_everywhere(memory, moment):
    """In a turn, in a question and in a wish; the next turn of the conversation is
    taken all the same.
    """
    with pytest.raises(BadRequestError, match="1900"):
        observe(memory, turn(1, occurred_at=moment))
    if isinstance(moment, str):
        for name, wish in (
            ("recall", "as_of"),
            ("recall", "now"),
            ("remember", "expires"),
        ):
            with pytest.raises(BadRequestError, match="1900"):
                memory.call(
                    name,
                    {
                        "query" if name == "recall" else "text": "Anna drinks tea.",
                        wish: moment,
                    },
                )
    assert observe(memory, turn(2))["stored"] == 1


# row: X11
def test_a_secret_in_a_name_is_taken_out(waiting, settings, clock):
    """The session names the file; ids that differ in what was taken out stay two."""
    secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
    names = {"session": f"key {secret}", "speaker": secret, "persona": secret}
    first = turn_from({"text": "One.", "id": secret, **names}, clock(), settings, "x")
    second = turn_from(
        {"text": "Two.", "id": secret[:-1], **names}, clock(), settings, "x"
    )
    assert "abcdef" not in repr((first, second))
    assert first.id != second.id
    observe(waiting, {"text": "One.", **names})
    assert (
        waiting.call("flush", {"session": names["session"], "background": True})[
            "flushed"
        ]
        == 1
    )


def parked(memory, *turns):
    """The turns, filed and parked after the model failed."""
    observe(memory, *turns)
    memory.queue.hurry()
    for batch in memory.pipeline.due(memory.clock()):
        memory.pipeline.file(batch, ModelError("the model is away"))


# row: X8
def test_a_session_file_deleted_while_its_batch_is_parked_stays_deleted(waiting, clock):
    """The batch is settled, for nothing of it is left."""
    parked(waiting, turn(1, "My name is Mira."))
    sessions(waiting)[0].unlink()
    waiting.files.rescan(None)
    time.sleep(waiting.settings.policy.files.settle_most_seconds + 0.1)
    waiting.files.rescan(None)
    clock.advance(days=1)
    work(waiting)
    assert not sessions(waiting)
    assert not any(waiting.queue.counts().values())


def test_more_turns_than_can_ever_wait_are_refused_for_good(opened, settings):
    """Not with a time to come back, for it would never come."""
    policy = replace(
        settings.policy, journal=replace(settings.policy.journal, queue_turns=10)
    )
    memory = held_back(opened(policy=policy))
    with pytest.raises(BadRequestError, match="10 new turns"):
        observe(memory, *(turn(n) for n in range(11)))
    assert observe(memory, *(turn(n) for n in range(10)))["stored"] == 10
    with pytest.raises(BusyError):
        observe(memory, turn(11))
    assert observe(memory, *(turn(n) for n in range(10)), turn(1))["duplicates"] == 11


# row: X20
def test_places_that_are_no_longer_kept_in_mind_are_found_again(opened, settings):
    """Whether a file holds them or only the journal; no block and no name is given
    twice.
    """
    policy = replace(
        settings.policy, buffer=replace(settings.policy.buffer, conversations=2)
    )
    memory = held_back(opened(policy=policy))
    names = ("Coffee plans", "coffee: plans", "COFFEE PLANS!", "tea", "tea?")
    keys = []
    for number in range(3):
        for name in names:
            keys += observe(
                memory, turn(number, f"Wave {number} of {name}.", session=name)
            )["keys"]
            assert len(memory.intake._places) <= 2
        if number == 1:
            memory.queue.hurry()
            work(memory)
    assert len(set(keys)) == len(keys) == 15
    assert len({key.partition("#")[0] for key in keys}) == 5
    assert {key.rpartition("^")[2] for key in keys[-5:]} == {"t3"}
    memory.queue.hurry()
    work(memory)
    assert [path.read_text().count("> Wave") for path in sessions(memory)] == [3] * 5


def damage(memory):
    """Overwrite the catalogue under the open database, its head excepted; what it has
    in memory goes too.
    """
    rows = memory.index.catalog.database
    rows.query("PRAGMA wal_checkpoint(TRUNCATE)")
    rows.query("PRAGMA cache_size = 0")
    rows.query("PRAGMA shrink_memory")
    with rows.path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(rows.path.stat().st_size - 4096))


# row: X20
def test_a_turn_is_not_stored_twice_when_the_catalogue_is_found_damaged_meanwhile(
    waiting,
):
    """Who asks for the turn finds the damage; until the vault is read again turns are
    refused.
    """
    observe(waiting, turn(1))
    waiting.queue.hurry()
    work(waiting)
    damage(waiting)
    known = waiting.index.scanner.generation
    assert known
    for _ in range(2):
        with pytest.raises(UnavailableError):
            observe(waiting, turn(1))
        assert not waiting.index.scanner.generation
        assert not waiting.ready
    waiting.files.rescan([])
    assert observe(waiting, turn(1), turn(2))["duplicates"] == 1
    assert not set(waiting.intake._pending) - {"coffee plans"}
    assert observe(waiting, turn(3))["keys"][0].endswith("#^t3")


# row: X20
@pytest.mark.parametrize("paths", [None, ["sessions"]])
def test_a_scan_that_finds_the_catalogue_damaged_reads_everything(waiting, paths):
    """Whatever it was asked to look at."""
    observe(waiting, turn(1))
    waiting.queue.hurry()
    work(waiting)
    waiting.files.rescan([])
    damage(waiting)
    waiting.files.rescan(paths)
    assert waiting.index.scanner.generation
    assert observe(waiting, turn(1))["duplicates"] == 1


def test_a_fault_nobody_foresaw_holds_up_one_batch_and_no_other(
    waiting, clock, monkeypatch
):
    """Nobody has it any more: it is given back, tried again soon, and the others go on."""
    honest = waiting.note_writer.file_turns

    def trips(turns):
        if turns[0].turn.session == "odd":
            raise ValueError("odd")
        return honest(turns)

    monkeypatch.setattr(waiting.note_writer, "file_turns", trips)
    observe(waiting, turn(1, session="a"), turn(1, session="odd"), turn(1, session="z"))
    waiting.queue.hurry()
    with pytest.raises(ValueError, match="odd"):
        work(waiting)
    assert waiting.queue.counts()["distilling_turns"] == 0
    assert waiting.pipeline.next_due() == clock()
    work(waiting)
    assert len(sessions(waiting)) == 2
    assert waiting.queue.counts()["parked_turns"] == 1
    monkeypatch.undo()
    clock.advance(minutes=1)
    work(waiting)
    assert len(sessions(waiting)) == 3
    assert not any(waiting.queue.counts().values())


# row: A1
def test_a_batch_that_was_filed_and_not_settled_is_filed_again_without_a_trace(
    memory, clock, monkeypatch
):
    """The journal's disk refused: the vault and the action log stay as they were."""
    memory.call("remember", {"text": "The user lives in Berlin."})

    def refused(_seqs):
        raise StorageError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(memory.journal, "settle", refused)
        observe(memory, turn(1, "I live in Berlin. My name is Mira."))

    def kept():  # a flush closes the box of the conversation, once
        named = memory.settings.vault.rglob("*")
        paths = [
            path
            for path in named
            if path.is_file() and not {"boxes", "traces"} & {*path.parts}
        ]
        return {
            path: path.read_bytes()
            for path in paths
            if path.name not in {"open-boxes.jsonl", "traces.json"}
        }

    before = kept()
    # the session and the action log
    assert sum(b"I live in Berlin" in raw for raw in before.values()) == 2
    clock.advance(minutes=1)
    memory.call("flush", {})
    assert kept() == before
    assert not any(memory.queue.counts().values())


# -- sent again ------------------------------------------------------------------------


def unnamed(*texts, session="coffee plans", **more):
    return [{"text": text, "session": session, **more} for text in texts]


# row: A8
@pytest.mark.parametrize("filed", [False, True])
def test_a_client_that_sends_a_turn_without_an_id_again_at_once_adds_nothing(
    memory, clock, filed
):
    """Whether it was filed meanwhile or still waits."""
    if not filed:
        held_back(memory)
    (key,) = observe(memory, *unnamed("The tide is high."))["keys"]
    clock.advance(seconds=4)
    again = observe(memory, *unnamed("The tide is high."))
    assert (again["keys"], again["stored"], again["duplicates"]) == ((key,), 0, 1)
    assert memory.index.counts()["turns"] + len(memory.index.waiting()) == 1


# row: A8
def test_a_request_that_was_cut_off_is_sent_again_with_more(waiting, clock):
    first = observe(waiting, *unnamed("yes", "Which one?", "yes"))
    assert first["stored"] == 3
    clock.advance(seconds=2)
    again = observe(waiting, *unnamed("yes", "Which one?", "yes", "The blue one."))
    assert (again["keys"][:3], again["stored"]) == (first["keys"], 1)


# row: A8
@pytest.mark.parametrize(
    ("more", "seconds"),
    [
        ({}, 120),
        ({"session": "another"}, 2),
        ({"role": "assistant"}, 2),
        ({"persona": "coach"}, 2),
        ({"id": "m2"}, 2),
        ({"text": "yes!"}, 2),
    ],
)
def test_what_is_said_again_in_earnest_is_another_turn(waiting, clock, more, seconds):
    """Minutes later, elsewhere, by another speaker, or under an id."""
    observe(waiting, {"text": "yes", "session": "chat"})
    clock.advance(seconds=seconds)
    assert observe(waiting, {"text": "yes", "session": "chat", **more})["stored"] == 1


# row: X1
def test_a_conversation_whose_file_cannot_be_parsed_goes_on_in_another(opened):
    """A person kept both sides of a conflict by hand; the file stays as they left it."""
    memory = opened()
    observe(memory, turn(1))
    memory.call("flush", {})
    (path,) = sessions(memory)
    kept = path.read_text().replace("\nended:", "\nended: 2026-11-20T21:00:00\nended:")
    path.write_text(kept)
    observe(memory, turn(2, "My brother Tom plays chess."), turn(3))
    memory.call("flush", {})
    memory = opened()
    observe(memory, turn(4))
    memory.call("flush", {})
    assert path.read_text() == kept
    (other,) = {*sessions(memory)} - {path}
    assert other.read_text().count("> [!user]") == 3
    assert not memory.call("status", {})["parked_turns"]
    hits = memory.call("recall", {"query": "Tom chess", "kinds": ["turn"]})["hits"]
    assert [one["text"] for one in hits] == ["My brother Tom plays chess."]
