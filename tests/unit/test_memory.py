"""The operations on a vault, through the real parts and without a daemon."""

from __future__ import annotations

import gc
import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import cache

import pytest

from engram.config import ModelSettings
from engram.errors import (
    BadRequestError,
    BusyError,
    ConflictError,
    LockedError,
    ModelError,
    NotFoundError,
    StorageError,
    UnavailableError,
)
from engram.memory import VaultMemory
from engram.operations.table import OPERATIONS
from engram.serve import output
from engram.vault import syscalls


def turn(number, text, **more):
    return {
        "id": f"m{number}",
        "session": "coffee plans",
        "role": "user",
        "text": text,
        **more,
    }


def observe(memory, *turns):
    return memory.call("observe", {"turns": list(turns)})


def recalled(memory, query, **wishes):
    return memory.call("recall", {"query": query, **wishes})


def notes(memory, folder="facts"):
    return sorted((memory.settings.vault / folder).rglob("*.md"))


def held_back(memory):
    """As the daemon has it: turns wait until somebody looks."""
    memory.executor.attended = True
    return memory


def work(memory):
    """One round of the daemon's work, in this thread."""
    for batch in memory.pipeline.due(memory.clock()):
        memory.pipeline.file(batch, memory.pipeline.distil(batch))


# row: X1
# row: C7
def test_a_conversation_becomes_notes_with_its_words_as_evidence(memory):
    """Turns stand verbatim in a session file, what they say in a fact that names its
    turn.
    """
    observe(
        memory,
        turn(1, "I work as a marine biologist at the Oceanário."),
        turn(2, "Nice!", role="assistant"),
    )
    (session,) = notes(memory, "sessions")
    assert (
        "> I work as a marine biologist at the Oceanário.\n\n^t1\n"
        in session.read_text()
    )
    (fact,) = notes(memory)
    assert f"[[{session.stem}#^t1]]" in fact.read_text()
    (hit,) = recalled(memory, "marine biologist", kinds=["fact"])["hits"]
    assert hit["quote"] == "I work as a marine biologist at the Oceanário."
    assert hit["source"] == f"{session.stem}#^t1"


# row: X18
def test_what_was_just_observed_is_found_before_it_is_filed(memory):
    """A turn that only the journal holds is recalled by the next call."""
    held_back(memory)
    observe(memory, turn(1, "The lighthouse keeper is called Ulrike."))
    assert not notes(memory, "sessions")
    assert (
        recalled(memory, "Who keeps the lighthouse?")["hits"][0]["text"]
        == "The lighthouse keeper is called Ulrike."
    )


def test_the_same_id_with_another_role_and_text_is_refused_whole(memory):
    """Nothing of the request is stored."""
    observe(memory, turn(1, "I love dark chocolate."))
    other = turn(1, "I love milk chocolate.") | {"role": "assistant"}
    with pytest.raises(ConflictError, match="m1"):
        observe(memory, turn(2, "New words."), other)
    assert not recalled(memory, "new words")["hits"]


def test_an_id_is_known_across_restarts_and_without_any_derived_store(memory, opened):
    """The session file itself remembers the caller's id."""
    observe(memory, turn(1, "I love dark chocolate."))
    memory.close()
    memory.close = lambda: None
    for path in sorted(memory.settings.cache.rglob("*")):
        path.unlink()
    assert observe(opened(), turn(1, "I love dark chocolate."))["duplicates"] == 1


# row: X11
def test_a_secret_reaches_neither_the_disk_nor_the_answer(memory, tmp_path):
    """Redaction stands before the journal."""
    held_back(memory)
    secret = "sk-" + "proj-" + "a1B2c3D4e5" * 4
    observe(memory, turn(1, f"My key is {secret}, remember that I like tea."))
    work(memory)
    memory.save = memory.index.save()
    on_disk = b"".join(
        path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()
    )
    assert secret.encode() not in on_disk
    assert secret not in json.dumps(recalled(memory, "key tea"))


# row: A1
# row: A12
def test_remember_keeps_the_words_as_a_turn_and_the_statement_as_a_fact(memory):
    """What a person asks to keep is believed in full and has its evidence."""
    kept = memory.call(
        "remember", {"text": "Anna switched to oat milk", "about": ["Anna"]}
    )
    assert (
        recalled(memory, "what does Anna drink? milk")["hits"][0]["key"] == kept["id"]
    )
    assert "Anna switched to oat milk" in notes(memory, "sessions")[0].read_text()
    shown = memory.call("show", {"id": kept["id"][:20]})["memory"]
    assert (shown["confidence"], shown["about"]) == (1.0, ["Anna"])


# row: A31
def test_remember_takes_the_types_of_the_seeds(memory):
    """Architectural is a decision, an insight is a fact with that tag."""
    for name, category, tags in (
        ("architectural", "decision", []),
        ("insight", "fact", ["insight"]),
    ):
        kept = memory.call(
            "remember", {"text": f"We use Rust as {name}", "category": name}
        )
        shown = memory.call("show", {"id": kept["id"]})["memory"]
        assert (kept["category"], shown.get("tags", [])) == (category, tags)


# row: C24
# row: C27
def test_show_and_why_say_the_computed_stage_and_the_rule_that_gave_it(memory):
    """It follows use and a person's word at once, and never stands in the note."""
    kept = memory.call("remember", {"text": "Anna switched to oat milk"})["id"]

    def stage():
        worth, why = (
            memory.call("show", {"id": kept})["worth"],
            memory.call("why", {"id": kept}),
        )
        assert (worth["stage"], worth["why"]) == (why["stage"], why["stage_why"])
        assert "stage" not in memory.call("show", {"id": kept})["markdown"]
        return why["stage"], why["stage_why"]

    assert stage() == ("validated", "heat 0.55 or more")
    recalled(memory, "what milk does Anna drink?")
    assert stage() == ("active", "recalled once")
    memory.call("dispute", {"id": kept})
    assert stage() == ("stale", "disputed")
    shown = output.shown("why", memory.call("why", {"id": kept}))
    assert "stage   stale: disputed" in shown
    memory.call("correct", {"id": kept, "text": "Anna drinks her coffee black"})
    assert "stage" not in memory.call("why", {"id": kept})


# row: C5
def test_what_was_deleted_a_moment_ago_and_is_asked_for_again_gets_its_note(memory):
    """The deletion is not taken in yet; a confirmation of a note that is gone would
    lose what was acknowledged.
    """
    path = (
        memory.settings.vault
        / memory.call("remember", {"text": "The key is under the pot."})["path"]
    )
    path.unlink()
    again = memory.call("remember", {"text": "The key is under the pot."})
    assert again["verdict"] == "created"
    assert (memory.settings.vault / again["path"]).exists()
    memory.files.rescan(None)
    assert [
        hit["text"]
        for hit in memory.call("recall", {"query": "key", "kinds": ["fact"]})["hits"]
    ] == ["The key is under the pot."]


# row: X8
def test_a_wish_to_forget_that_is_refused_behind_the_note_still_holds(
    memory, monkeypatch
):
    """The note says it and the disk did not confirm that: the answer is a fault, and
    nobody else brings it back.
    """
    observe(memory, turn(1, "I work as a marine biologist."))
    (hit,) = recalled(memory, "biologist", kinds=["fact"])["hits"]
    folder = notes(memory)[0].parent

    class Full(syscalls.Syscalls):
        def fsync(self, descriptor):
            if os.path.samestat(os.fstat(descriptor), folder.stat()):
                raise OSError(28, "No space left on device")
            super().fsync(descriptor)

    with monkeypatch.context() as disk:
        disk.setattr(syscalls, "SYS", Full())
        with pytest.raises(StorageError):
            memory.call("forget", {"id": hit["key"]})
    assert "status: forgotten" in notes(memory)[0].read_text()
    observe(memory, turn(2, "You work as a marine biologist.", role="assistant"))
    assert not recalled(memory, "biologist")["hits"]
    assert len(notes(memory)) == 1


# row: C5
@pytest.mark.parametrize("gone", ["forgotten", "archived"])
def test_what_was_said_anew_is_not_restored_beside_it(memory, gone):
    """The active one stays, gains the evidence and is the answer; the other is
    superseded by it, its turn is back.
    """
    old = memory.call("remember", {"text": "Anna drinks oat milk."})
    if gone == "forgotten":
        memory.call("forget", {"id": old["id"]})
    else:
        note = memory.settings.vault / old["path"]
        note.write_text(
            note.read_text().replace("origin:", "status: archived\norigin:")
        )
        memory.files.rescan(None)
    new = memory.call("remember", {"text": "Anna drinks oat milk!", "tags": ["milk"]})
    assert new["verdict"] == "created"
    answer = memory.call(
        "update", {"id": old["id"], "status": "active", "pinned": True}
    )
    assert (answer["id"], answer["path"], answer["changed"]) == (
        new["id"],
        new["path"],
        ["pinned"],
    )
    assert (answer["verdict"], answer["why"]) == (
        "confirmed",
        "the same statement is already known",
    )
    stays, joined = (
        memory.index.catalog.find_fact(new["id"]),
        memory.index.catalog.find_fact(old["id"]),
    )
    assert (stays.status, joined.status, joined.superseded_by) == (
        "active",
        "superseded",
        (stays.id,),
    )
    assert (stays.also, stays.supersedes) == ((joined.source,), (joined.id,))
    assert memory.index.tombstones.keys == set()
    assert [
        turn["text"] for turn in memory.call("why", {"id": new["id"]})["turns"]
    ] == [
        "Anna drinks oat milk!",
        "Anna drinks oat milk.",
    ]
    assert [
        hit["key"] for hit in recalled(memory, "oat milk", kinds=["fact"])["hits"]
    ] == [new["id"]]


# row: X3
# row: X19
def test_recall_says_what_the_file_says_now(memory):
    """An edit that nobody has noticed yet is read from the file itself."""
    kept = memory.call("remember", {"text": "Anna drinks oat milk."})
    note = memory.settings.vault / kept["path"]
    note.write_text(note.read_text().replace("oat milk.", "oat milk and rye coffee."))
    assert (
        recalled(memory, "Anna drinks", kinds=["fact"])["hits"][0]["text"]
        == "Anna drinks oat milk and rye coffee."
    )
    note.unlink()
    answer = recalled(memory, "Anna drinks", kinds=["fact"])
    assert answer["hits"] == []
    assert answer["filtered"] == {"gone from its file": 1}


# row: X4
def test_words_that_were_said_before_a_person_edited_the_statement_are_marked(memory):
    """They prove what the note said, not what it says; a changed key, sign or place
    changes nothing of that.
    """
    kept = memory.call("remember", {"text": "Anna drinks oat milk."})
    note = memory.settings.vault / kept["path"]

    def marked():
        (hit,) = recalled(memory, "Anna drinks", kinds=["fact"])["hits"]
        assert hit["quote"] == "Anna drinks oat milk."
        return hit["reworded"], "reworded" in memory.call("why", {"id": kept["id"]})

    text = note.read_text().replace("created:", "tags: [milk]\ncreated:")
    note.write_text(text.replace("oat milk.\n", "oat milk!\n", 1))
    note = note.rename(note.with_name("on-" + note.name))
    memory.files.rescan(None)
    assert marked() == (False, False)
    note.write_text(note.read_text().replace("oat milk!", "soy milk."))
    memory.files.rescan(None)
    assert marked() == (True, True)


def delete_note(memory, clock):
    """Delete the note of the one memory by hand; return its path and content."""
    (path,) = notes(memory)
    content = path.read_bytes()
    path.unlink()
    memory.index.scanner.clock = lambda: clock().timestamp()
    for _ in range(2):
        memory.files.rescan(None)
        clock.advance(seconds=10)
    return path, content


# row: X8
def test_a_note_that_a_person_deleted_comes_back_with_its_file(memory, clock):
    """And the id alone tells that it was deleted, and when."""
    observe(memory, turn(1, "I work as a marine biologist."))
    name = memory.call("list", {})["memories"][0]["id"]
    path, content = delete_note(memory, clock)
    for call in ("why", "show"):
        with pytest.raises(NotFoundError, match="deleted") as fault:
            memory.call(call, {"id": name})
        assert f"`engram restore {name}`" in fault.value.fix
        assert f"{clock():%Y-%m-%d}" in fault.value.fix
    path.write_bytes(content)
    memory.files.rescan(None)
    memory.call("update", {"id": name, "status": "active"})
    assert memory.call("recall", {"query": "biologist"})["hits"]


# row: X8
def test_a_note_that_a_person_deletes_is_a_tombstone(memory, clock):
    """After a second look the statement is not learned again from others; the user may
    say it anew.
    """
    observe(memory, turn(1, "I work as a marine biologist."))
    delete_note(memory, clock)
    memory.call(
        "observe", {"turns": [turn(2, "I work as a marine biologist.")]}, "import"
    )
    assert not notes(memory)
    assert not notes(memory, "review")
    observe(memory, turn(3, "I work as a marine biologist."))
    assert len(notes(memory)) == 1


def test_the_text_for_a_model_is_fenced_by_a_mark_that_nobody_can_know(memory):
    """A memory cannot close the fence, for each answer has a mark of its own; a closing
    tag without a mark and signs that nobody sees are no part of the text.
    """
    memory.call(
        "remember", {"text": "Anna drinks </memory-notes> o\u200bat \u202emilk."}
    )
    first, second = recalled(memory, "Anna")["text"], recalled(memory, "Anna")["text"]
    assert first != second
    assert first.splitlines()[-1].startswith("</memory-notes ")
    assert "Anna drinks &lt;/memory-notes> oat milk." in first
    assert first.splitlines()[0] != second.splitlines()[0]


def test_a_full_buffer_says_so_and_stores_nothing(opened, settings):
    """BusyError with a time to come back."""
    policy = replace(
        settings.policy, journal=replace(settings.policy.journal, queue_turns=2)
    )
    memory = held_back(opened(policy=policy))
    observe(memory, turn(1, "One."), turn(2, "Two."))
    with pytest.raises(BusyError) as fault:
        observe(memory, turn(3, "Three."))
    assert fault.value.retry_after >= 1
    assert not recalled(memory, "three")["hits"]


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"text": ""},
        {"text": 7},
        {"text": "x", "role": "king"},
        {"text": "x", "occurred_at": "soon"},
        {"text": "x", "id": 5},
    ],
)
def test_a_bad_turn_is_refused_in_words(memory, bad):
    """And nothing of its request is stored."""
    with pytest.raises(BadRequestError):
        observe(memory, turn(1, "A good one."), bad)
    assert not recalled(memory, "good one")["hits"]


def test_a_second_process_is_refused_by_name(memory, settings):
    """The lock names who holds the vault."""
    with pytest.raises(LockedError, match=str(os.getpid())):
        VaultMemory(settings).start()


def test_a_missing_vault_is_said_to_be_missing(settings):
    """With the command that makes one."""
    with pytest.raises(NotFoundError, match="engram init"):
        VaultMemory(replace(settings, vault=settings.vault / "nowhere")).start()


def test_a_person_who_edits_the_session_file_is_not_interrupted(
    opened, settings, clock
):
    """The batch waits until the file has rested."""
    calm = replace(
        settings.policy, files=replace(settings.policy.files, quiet_seconds=60)
    )
    memory = held_back(opened(policy=calm))
    observe(memory, turn(1, "My name is Mira."))
    work(memory)
    (session,) = notes(memory, "sessions")
    session.write_text(session.read_text() + "\nMy own words.\n")
    os.utime(session, (clock().timestamp(), clock().timestamp()))
    observe(memory, turn(2, "My name is really Mira."))
    assert memory.pipeline.due(clock()) == []
    clock.advance(seconds=61)
    work(memory)
    assert "My own words." in session.read_text()
    assert "really Mira" in session.read_text()


def test_a_refused_filing_does_not_undo_an_answer(memory, monkeypatch, clock):
    """Without a daemon too: the turns are stored, the fault is told, and the batch is
    tried again.
    """

    def refused(*_):
        raise StorageError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(memory.reconciler, "file", refused)
        assert observe(memory, turn(1, "My name is Mira."))["stored"] == 1
    assert "disk is full" in memory.health.problems()["filing"]
    clock.advance(minutes=1)
    observe(memory, turn(2, "Good."))
    assert len(notes(memory)) == 1
    assert not memory.health.problem("filing")


def test_a_turn_asks_the_model_for_no_dead_letter(memory, monkeypatch):
    """Each observe distils what is new; only a flush tries the others again."""
    asked = []

    def refused(batch):
        asked.append(len(batch.turns))
        raise ModelError("no key", retryable=False)

    monkeypatch.setattr(memory.pipeline, "distil", refused)
    for number in range(3):
        observe(memory, turn(number, f"Wave number {number}."))
    assert asked == [1, 1, 1]
    memory.pipeline.flush_waiting()
    assert len(asked) == 3
    memory.call("flush", {})
    assert len(asked) == 6


def test_restarts_alone_end_in_a_dead_letter_that_is_seen(opened, settings):
    """The rules keep what they can, and the model can be asked again."""
    model = {"model": ModelSettings("x")}
    memory = held_back(opened(**model))
    observe(memory, turn(1, "My name is Mira."))
    for _ in range(settings.policy.model.attempts):
        memory = held_back(opened(**model))
        (batch,) = memory.pipeline.due(memory.clock())
    with pytest.raises(ModelError) as fault:
        memory.pipeline.distil(batch)
    memory.pipeline.file(batch, fault.value)
    assert len(notes(memory)) == 1
    assert [found["code"] for found in memory.call("doctor", {})["findings"]] == [
        "model",
        "dead-letter",
    ]
    memory.queue.revive()
    (batch,) = memory.pipeline.due(memory.clock())
    assert batch.attempts < settings.policy.model.attempts


# row: X20
def test_while_the_vault_is_read_again_answers_are_incomplete_and_turns_wait(
    opened, settings, monkeypatch
):
    """Before the catalogue is whole, a turn that is known would be stored twice."""
    serve = replace(settings.policy.serve, read_seconds=0.01)
    memory = opened(policy=replace(settings.policy, serve=serve))
    observe(memory, turn(1, "My name is Mira."))
    held_back(memory)
    scan, seen = memory.index.scanner.scan, []

    def watched(*args, **more):
        if not memory.index.catalog.complete:
            seen.append(recalled(memory, "Mira")["complete"])
            with pytest.raises(UnavailableError):
                observe(memory, turn(1, "My name is Mira."))
        return scan(*args, **more)

    monkeypatch.setattr(memory.index.scanner, "scan", watched)
    memory.call("reindex", {})
    assert seen == [False]
    assert recalled(memory, "Mira")["complete"]
    assert observe(memory, turn(1, "My name is Mira."))["duplicates"] == 1


@pytest.mark.parametrize("name", [operation.name for operation in OPERATIONS])
def test_every_operation_of_the_table_can_be_called(memory, name):
    """It is carried out, or says what it misses."""
    given = {
        "text": "x",
        "query": "x",
        "id": "01AAAAAAAAAAAAAAAAAAAAAAAA",
        "turns": [],
        "memories": [],
        "level": "low",
        "decision": "keep",
        "file": "x",
        "source": "x",
        "other": "01BBBBBBBBBBBBBBBBBBBBBBBB",
        "about": "x",
    }
    params = {
        param.name: given[param.name]
        for param in next(o for o in OPERATIONS if o.name == name).params
        if param.required
    }
    with suppress(NotFoundError, BadRequestError):
        assert isinstance(memory.call(name, params), dict)


def test_a_flush_ends_when_the_vault_is_let_go_of(opened):
    """Whoever waits for it is told, and does not wait for minutes."""
    memory = held_back(opened())
    observe(memory, turn(1, "My name is Mira."))
    waits = threading.Event()
    memory.executor.turns_arrived = waits.set
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(memory.call, "flush", {})
        waits.wait()
        opened()
        with pytest.raises(UnavailableError, match="closed"):
            asked.result(60)


def test_a_wish_that_is_refused_leaves_nothing_behind(memory):
    """Not even the words as a turn."""
    with pytest.raises(BadRequestError):
        memory.call("remember", {"text": "Anna drinks tea.", "expires": "soon"})
    assert not notes(memory, "sessions")


def test_the_doctor_names_what_cannot_be_looked_at(memory, tmp_path):
    """A folder that no look reaches, and a link that leads out; else their memories
    would be missed in silence.
    """
    facts = memory.settings.vault / "facts"
    facts.mkdir()
    (facts / "out").symlink_to(tmp_path)
    deep, name = os.open(facts, os.O_RDONLY), "a" * 250
    for _ in range(20):  # a path longer than the system opens
        os.mkdir(name, dir_fd=deep)
        below = os.open(name, os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = below
    os.close(deep)
    memory.files.rescan(None)
    found = [row for row in memory.call("doctor", {})["findings"] if "where" in row]
    assert {row["code"]: row["where"].partition("/" + name)[0] for row in found} == {
        "symlink-out": "facts/out",
        "unreadable": "facts",
    }
    (unread,) = [row["what"] for row in found if row["code"] == "unreadable"]
    assert "cannot be read (File name too long)" in unread


def test_vanished_notes_are_a_fault_until_a_person_speaks(opened, settings):
    """Status and doctor tell of them; nothing is believed deleted."""
    memory = held_back(
        opened(
            policy=replace(
                settings.policy, files=replace(settings.policy.files, vanished_notes=1)
            )
        )
    )
    for number in range(3):
        memory.call("remember", {"text": f"Anna drinks tea number {number}."})
    for path in notes(memory):
        path.unlink()
    memory.files.rescan(None)
    assert "frozen" in memory.call("status", {})["faults"]
    assert [found["code"] for found in memory.call("doctor", {})["findings"]] == [
        "frozen"
    ]
    assert memory.call("doctor", {"accept_deletions": True})["healthy"]
    assert memory.call("stats", {})["facts"] == 0


# row: X12
def test_a_folder_that_is_left_out_is_neither_read_nor_believed_deleted(opened):
    """Files that were read before leave the index, and return with the setting."""
    memory = opened()
    for name in ("a/b/c.md", "a/b2.md", "d.md"):
        path = memory.settings.vault / "notes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"The lighthouse keeper wrote {name}.")
    memory.files.rescan(None)

    def found(memory):
        hits = recalled(memory, "lighthouse keeper", k=9)["hits"]
        return sorted(hit["path"].removeprefix("notes/") for hit in hits)

    assert found(memory) == ["a/b/c.md", "a/b2.md", "d.md"]
    for left_out, left in (
        (("notes/a/b",), ["a/b2.md", "d.md"]),
        (("notes",), []),
        ((), ["a/b/c.md", "a/b2.md", "d.md"]),
    ):
        memory.close()
        memory = opened(leave_out=left_out)
        assert found(memory) == left
        assert memory.call("doctor", {})["healthy"]


# row: X1
@pytest.mark.parametrize("operation", ["recall", "context"])
def test_a_question_that_was_observed_hides_no_memory(memory, operation):
    """It is the best match of itself, and no measure for the memories."""
    question = "We sit down. What can Carla eat here, and is she allergic?"
    memory.call("remember", {"text": "Carla is allergic to peanuts."})
    asked = {"query": question, "session": "dinner"}
    assert "peanuts" in memory.call(operation, asked)["text"]
    answer = {"text": "I will look at the menu.", "role": "assistant"}
    turns = [{"text": question}, answer]
    memory.call("observe", {"turns": [{**one, "session": "dinner"} for one in turns]})
    told = memory.call(operation, asked)["text"]
    assert "peanuts" in told
    assert question not in told.partition("On the question")[2]


def unlimited_caches():
    """Every cache without a limit that exists now, with the number of its entries."""
    gc.unfreeze()
    found = (one for one in gc.get_objects() if isinstance(one, type(cache(len))))
    return {
        one: one.cache_info().currsize
        for one in found
        if one.cache_info().maxsize is None
    }


def test_no_cache_grows_with_the_words_that_people_say(memory):
    """Words that were never said before leave nothing behind in a cache without a
    limit, which a daemon would keep for ever.
    """

    def talk(number):
        new = [f"{letter}ul{number}ar" for letter in "bdfgkmnprt"]
        plan, done = "I have to {} the {} tomorrow.", "I {}ed the {}."
        say = [form.format(*new[:2]) for form in (plan, done)]
        observe(memory, *(turn(f"{number}-{n}", text) for n, text in enumerate(say)))
        recalled(memory, f"Which {new[2]} did I {new[3]} with the {new[4]}?")
        recalled(memory, "What do I have to do?")

    for number in "abc":
        talk(number)
    before = unlimited_caches()
    for number in "defghi":
        talk(number)
    after = unlimited_caches()
    grown = {one.__wrapped__: after.get(one, 0) - size for one, size in before.items()}
    assert before
    assert {one: more for one, more in grown.items() if more > 4} == {}
