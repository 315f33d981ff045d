"""Edited, regenerated and deleted messages, turns off the record, the feed of changes."""

from __future__ import annotations

from contextlib import suppress
from itertools import count

import pytest

from engram.errors import (
    BadRequestError,
    ConflictError,
    NotFoundError,
    StorageError,
)


def observe(memory, *turns, **more):
    return memory.call("observe", {"turns": list(turns), **more})


def turn(name, text, **more):
    return {"id": name, "session": "s", "text": text, **more}


def found(memory, query, **more):
    hits = memory.call("recall", {"query": query, **more})["hits"]
    return [hit["text"] for hit in hits]


def active(memory):
    return {row["text"] for row in memory.call("list", {})["memories"]}


# row: X2
@pytest.mark.parametrize("waiting", [False, True])
def test_an_edit_back_to_earlier_words_counts_too(memory, monkeypatch, waiting):
    """Whatever the user says last can be recalled, and a repetition adds nothing."""
    if waiting:
        monkeypatch.setattr(memory.pipeline, "drain", lambda: None)
    for drink in ("tea", "coffee", "tea", "coffee", "tea"):
        answer = observe(memory, turn("m1", f"I love {drink}."))
        assert answer["stored"] == 1
    assert observe(memory, turn("m1", "I love tea."))["duplicates"] == 1
    monkeypatch.undo()
    memory.call("flush", {})
    (fact,) = active(memory)
    assert "tea" in fact
    assert found(memory, "what do I love", kinds=["turn"]) == ["I love tea."]


def test_an_old_conversation_that_is_imported_twice_stays_as_it_is(memory):
    at = "2024-03-02T10:00:00Z"
    for _ in range(2):
        for drink in ("tea", "coffee"):
            observe(memory, turn("m1", f"I love {drink}.", occurred_at=at))
    assert len(memory.index.versions("s", "m1")) == 2
    (fact,) = active(memory)
    assert "coffee" in fact


@pytest.mark.parametrize("filed", [False, True])
def test_of_edits_that_wait_together_the_last_one_counts(memory, monkeypatch, filed):
    """They are extracted in one batch, perhaps with the first words."""
    if filed:
        observe(memory, turn("m1", "I love tea."))
    monkeypatch.setattr(memory.pipeline, "drain", lambda: None)
    for drink in ("tea", "milk", "water", "cocoa"):
        observe(memory, turn("m1", f"I love {drink}."))
    monkeypatch.undo()
    memory.call("flush", {})
    (fact,) = active(memory)
    assert "cocoa" in fact


def test_what_is_to_be_kept_is_not_hidden_without_a_question(memory, clock):
    """The script runs again within minutes; or the user edited the message away."""
    observe(memory, turn("1", "Remember that I am allergic to peanuts."))
    clock.advance(minutes=5)
    for text in ("The weather is fine today.", "Tell me a joke!"):
        observe(memory, turn("1", text))
    assert any("peanuts" in text for text in active(memory))
    (case,) = memory.call("review", {})["cases"]
    assert "allergic to peanuts" in case["text"]
    memory.call("decide", {"id": case["id"], "decision": "forget"})
    assert not any("peanuts" in text for text in active(memory))
    assert not found(memory, "allergic peanuts")


def test_what_an_edited_message_had_ended_holds_again(memory, clock):
    observe(memory, turn("m1", "I live in Lisbon."))
    clock.advance(days=3)
    observe(memory, turn("m2", "I moved to Porto."))
    assert not any("Lisbon" in text for text in active(memory))
    observe(memory, turn("m2", "I went to Porto for the weekend."))
    assert any("Lisbon" in text for text in active(memory))


def test_what_another_turn_says_too_or_a_person_confirmed_stays(memory, clock):
    observe(memory, turn("m1", "I am allergic to peanuts."))
    clock.advance(days=1)
    observe(memory, turn("m2", "I am allergic to peanuts."))
    observe(memory, turn("m1", "Never mind."))
    assert any("peanuts" in text for text in active(memory))

    observe(memory, turn("m3", "I love sailing."))
    (sailing,) = [
        row for row in memory.call("list", {})["memories"] if "sailing" in row["text"]
    ]
    memory.call("confirm", {"id": sailing["id"]})
    observe(memory, turn("m3", "Never mind that."))
    assert any("sailing" in text for text in active(memory))


@pytest.mark.parametrize(
    ("more", "standing"),
    [({"role": "assistant"}, "chat"), ({}, "tool"), ({"persona": "Coach"}, "chat")],
)
def test_nobody_edits_the_words_of_others(memory, more, standing):
    observe(memory, turn("m1", "I love tea."))
    with pytest.raises(ConflictError, match="m1"):
        memory.call(
            "observe", {"turns": [turn("m1", "I love coffee.", **more)]}, standing
        )
    assert len(active(memory)) == 1


def test_words_that_a_person_changed_in_the_file_win(memory):
    """A client that repeats its history does not undo the edit."""
    observe(memory, turn("m1", "The code of the shed is 4711 hearts."))
    (path,) = memory.settings.vault.glob("sessions/*/*.md")
    path.write_text(path.read_text().replace("4711 hearts", "a secret"))
    memory.call("reindex", {})
    answer = observe(memory, turn("m1", "The code of the shed is 4711 hearts."))
    assert (answer["stored"], answer["duplicates"]) == (0, 1)
    assert found(memory, "code of the shed", kinds=["turn"]) == [
        "The code of the shed is a secret."
    ]


# row: X9
@pytest.mark.parametrize("unread", [False, True])
def test_an_edit_of_a_message_that_a_person_changed_in_the_file_keeps_both(
    memory, unread
):
    """Also where the file was changed just before the program wrote to it."""
    first = "The door of the shed shows 4711 hearts. I live in Rome."
    observe(memory, turn("m1", first))
    (path,) = memory.settings.vault.glob("sessions/*/*.md")
    path.write_text(path.read_text().replace("4711 hearts", "a secret"))
    if unread:
        memory.files.look_due = float("inf")
    else:
        memory.call("reindex", {})
    edit = turn("m1", "I am allergic to penicillin and I live in Rome.")
    answer = observe(memory, edit)
    assert (answer["stored"], answer["duplicates"]) == (1, 0)
    memory.files.look_due = 0.0
    assert any("penicillin" in text for text in active(memory))
    turns = found(memory, "door of the shed, Rome", kinds=["turn"])
    assert "The door of the shed shows a secret. I live in Rome." in turns
    for again in (turn("m1", first), edit):
        assert observe(memory, again)["duplicates"] == 1
    assert "4711 hearts" not in str(found(memory, "door of the shed 4711 hearts"))


# row: X9
@pytest.mark.parametrize("what", ["block", "file"])
def test_a_turn_that_a_person_removed_from_the_file_is_not_sent_back(memory, what):
    said = turn("m1", "The gate code is green."), turn("m2", "I live in Rome.")
    observe(memory, *said)
    (path,) = memory.settings.vault.glob("sessions/*/*.md")
    text = path.read_text()
    if what == "file":
        path.unlink()
    else:
        start, end = text.index("> [!user]"), text.index("^t1") + len("^t1\n\n")
        path.write_text(text[:start] + text[end:])
    memory.files.rescan_settled(None)
    gone = ["The gate code is green."]
    for _ in range(2):
        assert observe(memory, *said)["duplicates"] == 2
        assert found(memory, "gate code", kinds=["turn"]) != gone
        memory.call("reindex", {})
    # other words are another turn, and the block may be put back
    assert observe(memory, turn("m1", "The gate is red."))["stored"] == 1
    assert "The gate is red." in found(memory, "gate", kinds=["turn"])


def test_what_a_deleted_message_had_settled_is_open_again(memory, clock):
    observe(memory, turn("m1", "I'll call the bank on Monday."))
    clock.advance(hours=1)
    observe(memory, turn("m2", "I called the bank."))
    assert not memory.call("todos", {})["todos"]
    memory.call("withdraw", {"id": "m2", "session": "s"})
    (promise,) = memory.call("todos", {})["todos"]
    assert "bank" in promise["text"]


@pytest.mark.parametrize("place", range(1, 5))
def test_what_a_failure_cut_short_is_withdrawn_later(memory, clock, monkeypatch, place):
    """The disk fails at each step in turn."""
    observe(memory, turn("m1", "I live in Lisbon."))
    clock.advance(days=3)
    observe(memory, turn("m2", "I moved to Porto. I love tea."))
    write = memory.vault.rewrite
    steps = count(1)

    def fails(*args):
        if next(steps) == place:
            raise StorageError("no space left")
        return write(*args)

    monkeypatch.setattr(memory.vault, "rewrite", fails)
    with suppress(StorageError):
        memory.call("withdraw", {"id": "m2", "session": "s"})
    monkeypatch.undo()
    memory.call("withdraw", {"id": "m2", "session": "s"})
    (fact,) = active(memory)
    assert "Lisbon" in fact
    assert next(steps) > place


def test_a_hit_is_withdrawn_by_its_own_id_and_said_again_it_is_learned_anew(
    memory, clock
):
    observe(memory, turn("m1", "I am allergic to peanuts."))
    (hit,) = memory.call("recall", {"query": "peanuts", "kinds": ["turn"]})["hits"]
    memory.call("withdraw", {"id": hit["key"]})
    assert not active(memory)
    clock.advance(minutes=5)
    observe(memory, turn("m9", "I am allergic to peanuts."))
    assert any("peanuts" in text for text in active(memory))
    with pytest.raises(NotFoundError, match="no such turn"):
        memory.call("withdraw", {"id": "nope"})


def test_off_the_record_nothing_is_stored(memory):
    secret = turn("m1", "I plan a surprise for Ada.", record=False)
    answer = observe(memory, secret, turn("m2", "The gate is green."))
    assert (answer["stored"], answer["off_record"]) == (1, 1)
    answer = observe(memory, turn("m3", "Ada gets a kite."), record=False)
    assert (answer["stored"], answer["off_record"]) == (0, 1)
    assert not any("Ada" in text for text in found(memory, "Ada surprise kite"))
    roots = (memory.settings.vault, memory.settings.state, memory.settings.cache)
    raw = b"".join(
        path.read_bytes()
        for root in roots
        for path in root.rglob("*")
        if path.is_file()
    )
    assert b"surprise for Ada" not in raw
    assert b"a kite" not in raw
    with pytest.raises(BadRequestError):
        observe(memory, turn("m4", "x", record="no"))


def changes(memory, since, caller="chat", **more):
    rows, more_follows = [], True
    while more_follows:
        page = memory.call("changes", {"since": since, "limit": 2, **more}, caller)
        assert not page["reset"]
        rows += page["changes"]
        since, more_follows = page["next"], page["more"]
    return {row["id"]: row for row in rows}, since


def test_a_client_follows_the_changes_from_mark_to_mark(memory):
    start = memory.call("changes", {})
    assert start["changes"] == []
    tea = memory.call("remember", {"text": "Anna drinks tea."})["id"]
    memory.call("remember", {"text": "Ben plans a party.", "persona": "Coach"})
    rows, mark = changes(memory, start["next"])
    assert (rows[tea]["text"], rows[tea]["current"]) == ("Anna drinks tea.", True)
    # what is private to another persona says nothing
    assert "party" not in str(rows)
    assert changes(memory, mark) == ({}, mark)

    memory.call("forget", {"id": tea})
    rows, _ = changes(memory, mark)
    assert rows[tea] == {"id": tea, "kind": "fact", "change": "removed"}
    own, _ = changes(memory, start["next"], persona="Coach")
    assert "party" in str(own)


def written(memory, name, text, *keys):
    """A person writes a note."""
    path = memory.settings.vault / f"facts/2026-11-01/{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["---", *keys, "---", text, ""]), "utf-8")
    memory.files.rescan(None)


# row: B17
def test_a_client_is_told_of_turns_that_become_sensitive_and_open_again(memory, clock):
    """With the memory that rests on them, and the versions of an edited message."""
    mark = memory.call("changes", {})["next"]
    observe(memory, turn("m1", "I drink coffee."), turn("m2", "I love jazz."))
    clock.advance(minutes=1)
    observe(memory, turn("m1", "I drink tea."))
    memory.call("flush", {})
    rows, mark = changes(memory, mark)
    said = [key for key, row in rows.items() if row["kind"] == "turn"]
    (tea,) = [key for key in said if rows[key].get("text") == "I drink tea."]
    (coffee,) = [key for key in said if rows[key]["change"] == "removed"]
    (jazz,) = {*said} - {tea, coffee}

    source = f'source: "[[{coffee}]]"'
    written(memory, "secret", "The user is ill.", source, "sensitivity: high")
    rows, mark = changes(memory, mark)
    assert {rows[key]["change"] for key in (tea, coffee)} == {"removed"}
    assert jazz not in rows
    written(memory, "secret", "The user is quite ill.", source, "sensitivity: high")
    rows, mark = changes(memory, mark)
    assert tea not in rows

    written(memory, "secret", "The user is ill.", source)
    rows, mark = changes(memory, mark)
    assert rows[tea]["text"] == "I drink tea."

    written(memory, "secret", "The user is ill.", source, "sensitivity: high")
    _, mark = changes(memory, mark)
    (memory.settings.vault / "facts/2026-11-01/secret.md").unlink()
    memory.files.rescan_settled(None)
    rows, _ = changes(memory, mark)
    assert rows[tea]["change"] == "changed"


# row: B17
def test_a_client_is_told_of_a_conversation_that_becomes_sensitive(memory):
    observe(memory, turn("m1", "My sister Anna lives in Porto."))
    memory.call("flush", {})
    copy, mark = changes(
        memory, memory.call("changes", {})["next"].split(":")[0] + ":0"
    )
    known = [key for key, row in copy.items() if row["kind"] in {"turn", "fact"}]
    assert len(known) > 1
    (path,) = memory.settings.vault.glob("sessions/*/*.md")
    text = path.read_text("utf-8")
    for level in ("high", "normal"):
        front = f"\nsensitivity: {level}\n---\n"
        path.write_text(text.replace("\n---\n", front, 1), "utf-8")
        memory.files.rescan(None)
        rows, mark = changes(memory, mark)
        change = "removed" if level == "high" else "changed"
        assert {rows[key]["change"] for key in known} == {change}


def test_a_mark_of_another_index_asks_for_a_new_copy(memory):
    mark = memory.call("changes", {})["next"]
    for unknown in ("x:1", "7", f"{mark}9999", ""):
        assert memory.call("changes", {"since": unknown})["reset"]
