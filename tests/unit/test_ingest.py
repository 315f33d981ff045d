"""Turns on their way in: known ids, places, the buffer, a disk that refuses, a restart."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from engram.errors import BadRequestError, ConflictError, StorageError
from engram.ingest import turn_from
from engram.vault import syscalls


def turn(number, text="The tide is high.", **more):
    return {"id": f"m{number}", "session": "coffee plans", "role": "user", "text": text, **more}


def observe(memory, *turns):
    return memory.call("observe", {"turns": list(turns)})


def held_back(memory):
    """As the daemon has it: turns wait until somebody looks."""
    memory.on_turns = lambda: None
    return memory


def work(memory):
    """One round of the daemon's work, in this thread."""
    for batch in memory.due(memory.clock()):
        memory.file(batch, memory.distil(batch))


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
    work(waiting.intake.hurry() and waiting)
    assert sessions(waiting)[0].read_text().count("^t") == 2


def test_the_same_turn_twice_in_one_request_is_one_turn(waiting):
    """And with another text it is refused."""
    answer = observe(waiting, turn(1), turn(1))
    assert (answer["stored"], answer["duplicates"], len(set(answer["keys"]))) == (1, 1, 1)
    with pytest.raises(ConflictError):
        observe(waiting, turn(2, "One."), turn(2, "Two."))
    assert waiting.intake.counts()["waiting_turns"] == 1


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
    observe(waiting, turn(1, "The tide is high.", persona="Kapitän"), turn(2, "The tide is low.", persona="Bootsmann"))
    waiting.intake.hurry()
    work(waiting)
    assert len(sessions(waiting)) == 2
    answer = waiting.call("recall", {"query": "tide", "persona": "Kapitän"})
    assert [hit["text"] for hit in answer["hits"]] == ["The tide is high."]
    assert not waiting.call("recall", {"query": "tide"})["hits"]


# row: X1
def test_a_session_file_is_continued_after_so_many_turns(opened, settings):
    """500 by default; the rest goes on in a file of its own."""
    policy = replace(settings.policy, buffer=replace(settings.policy.buffer, session_turns=12))
    memory = held_back(opened(policy=policy))
    answer = observe(memory, *(turn(n, f"Wave number {n}.") for n in range(30)))
    stems = [key.partition("#")[0] for key in answer["keys"]]
    assert [stems.count(stem) for stem in dict.fromkeys(stems)] == [12, 12, 6]
    assert settings.policy.buffer.session_turns == 500


# row: X20
def test_a_turn_after_a_restart_does_not_take_the_place_of_one_that_waits(waiting, opened):
    """What only the journal holds has its block already."""
    first = observe(waiting, turn(1), turn(2, "The tide is low."))
    later = held_back(opened())
    second = observe(later, turn(3, "The tide turns."), {"text": "Other.", "session": "Coffee: plans", "id": "x"})
    assert len({*first["keys"], *second["keys"]}) == 4
    assert second["keys"][0] == f"{first['keys'][0].partition('#')[0]}#^t3"
    later.intake.hurry()
    work(later)
    text = "".join(path.read_text() for path in sessions(later))
    assert all(words in text for words in ("is high", "is low", "turns", "Other."))


# row: X20
def test_a_turn_behind_a_filed_and_a_waiting_one_comes_last(waiting, opened):
    """The file holds the first, the journal the second."""
    observe(waiting, turn(1))
    waiting.intake.hurry()
    work(waiting)
    observe(waiting, turn(2, "The tide is low."))
    later = held_back(opened())
    (key,) = observe(later, turn(3, "The tide turns."))["keys"]
    assert key.endswith("#^t3")


def test_an_id_that_only_the_vault_knows_is_waited_for(memory, opened, settings, clock):
    """Before a new catalogue has read the vault, nobody can tell a new turn from a known one."""
    from engram.memory import Memory

    observe(memory, turn(1))
    memory.close()
    memory.close = lambda: None
    for path in settings.cache.rglob("*"):
        path.unlink()
    later = Memory(settings, clock=clock)
    later.start()
    try:
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(observe, later, turn(1))
            later.warm()
            assert answer.result(10)["duplicates"] == 1
    finally:
        later.close()


def test_taking_up_after_a_restart_counts_as_a_try(waiting, opened):
    """Durably: a turn that kills the process must not do so for ever."""
    observe(waiting, turn(1))
    for tries in (1, 2):
        later = held_back(opened())
        (batch,) = later.due(later.clock())
        assert batch.attempts == tries


def test_a_disk_that_refuses_to_count_does_not_hold_the_batch_back(waiting, opened, refusing):
    """Otherwise the turns would be in nobody's hands."""
    observe(waiting, turn(1, "My name is Mira."))
    later = held_back(opened())
    refusing(on=True)
    (batch,) = later.due(later.clock())
    refusing(on=False)
    later.file(batch, later.distil(batch))
    assert later.intake.counts()["distilling_turns"] == 0


def test_flush_of_one_conversation_leaves_the_others(waiting):
    """Nobody else's turns are hurried."""
    observe(waiting, turn(1), turn(2, session="other"))
    wanted = waiting.intake.hurry("other")
    (batch,) = waiting.due(waiting.clock())
    assert (batch.turns[0].session, len(wanted), batch.why) == ("other", 1, "asked for")
    assert not waiting.intake.wait(wanted, 0.01)
    waiting.file(batch, waiting.distil(batch))
    assert waiting.intake.wait(wanted, 0.01)


def test_a_long_backlog_is_cut_into_batches(waiting):
    """Twenty turns at once, in the order they were said."""
    observe(waiting, *(turn(n, f"Wave {n}.") for n in range(45)))
    batches = waiting.due(waiting.clock())
    assert [len(batch.turns) for batch in batches] == [20, 20, 5]
    assert [said.id for batch in batches for said in batch.turns] == [f"m{n}" for n in range(45)]


# row: C1
def test_what_an_assistant_says_of_itself_is_no_reason_to_hurry(waiting):
    """Only the user's words are scanned."""
    observe(waiting, turn(1, "I always prefer metric units.", role="assistant"))
    assert waiting.due(waiting.clock()) == []


ODD = (
    "two  blanks", " ends with a blank ", "a\r\nb\rc", "tab\there", "nul\0here", "\ud800 alone", "> quoted\n> twice",
    "^t7", "%% comment %%", "~~~\ncode\n~~~", "line\n\n\nline\n", "\u2028 separator", "ﬁne", "é", "<b>bold</b>",
)  # fmt: skip


@pytest.mark.parametrize("text", ODD)
def test_a_turn_sent_again_after_it_was_filed_is_the_same_turn(memory, text):
    """Whatever its text holds: what is read back equals what came in."""
    observe(memory, turn(1, text))
    answer = observe(memory, turn(1, text))
    assert (answer["stored"], answer["duplicates"]) == (0, 1)


@pytest.mark.parametrize("name", ["a  b", " a ", "a\nb", "%%", "x|chat", "[[a]]", "#^t1", "ä/ö", "a" * 500])
def test_an_id_and_a_session_come_back_as_they_were(memory, name):
    """Ids of other programs are of any form."""
    one = turn(1) | {"id": name, "session": name, "speaker": name}
    observe(memory, one)
    assert observe(memory, one)["duplicates"] == 1


def test_a_turn_is_given_what_it_lacks(settings, clock):
    """An id, the main session, the user's role, the time of the clock in the vault's zone."""
    said = turn_from({"text": "Hello."}, clock(), settings, "fresh")
    assert (said.id, said.session, said.role, said.origin) == ("fresh", "main", "user", "chat")
    assert said.occurred_at == clock()
    assert said.occurred_at.tzinfo == settings.zone


@pytest.mark.parametrize("moment", ["2026-11-20T21:14:05", "2026-11-20T20:14:05Z", 1795205645, 1795205645.9])
def test_a_time_may_be_local_have_an_offset_or_be_a_number(settings, clock, moment):
    """All of these are the same second."""
    said = turn_from({"text": "Hello.", "occurred_at": moment}, clock(), settings, "fresh")
    assert said.occurred_at.isoformat() == "2026-11-20T21:14:05+01:00"


@pytest.mark.parametrize("moment", ["soon", "", 1e20, float("nan"), [], {}, "2026-13-01", True])
def test_a_time_that_is_none_is_refused(settings, clock, moment):
    """With an example of one."""
    with pytest.raises(BadRequestError, match="ISO 8601"):
        turn_from({"text": "Hello.", "occurred_at": moment}, clock(), settings, "fresh")


def test_a_turn_that_is_too_long_is_refused(settings, clock):
    """In bytes, with what to do about it."""
    with pytest.raises(BadRequestError, match="Split"):
        turn_from({"text": "ä" * (settings.policy.journal.turn_bytes // 2 + 1)}, clock(), settings, "fresh")


def test_only_the_user_may_name_an_origin(settings, clock):
    """What a tool or an import sends is marked by its standing, not by its word."""
    raw = {"text": "Hello.", "origin": "chat"}
    assert turn_from(raw, clock(), settings, "fresh", "import").origin == "import"
    assert turn_from(raw | {"origin": "import"}, clock(), settings, "fresh").origin == "import"
