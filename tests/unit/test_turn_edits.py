"""Edited, regenerated and deleted messages, turns off the record, the feed of changes."""

from __future__ import annotations

import pytest

from engram.errors import BadRequestError, ConflictError, NotFoundError
from engram.memory import Memory


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
def test_an_edited_message_takes_its_old_words_and_what_rested_on_them_along(memory):
    observe(memory, turn("m1", "I am allergic to peanuts. I love jazz."))
    assert any("peanuts" in text for text in active(memory))
    answer = observe(memory, turn("m1", "I am allergic to walnuts. I love jazz."))
    assert (answer["stored"], answer["replaced"]) == (1, 1)
    assert not any("peanuts" in text for text in active(memory))
    assert any("walnuts" in text for text in active(memory))
    assert any("jazz" in text for text in active(memory))
    assert not any("peanuts" in text for text in found(memory, "allergic peanuts"))
    # no byte of the conversation is lost
    said = "".join(
        path.read_text() for path in memory.settings.vault.glob("sessions/*/*.md")
    )
    assert "peanuts" in said


def test_an_old_id_for_a_new_message_takes_nothing_away(memory):
    """A script that counts its messages from 1 in each run repeats its ids."""
    observe(
        memory,
        turn("m1", "I am allergic to peanuts.", occurred_at="2026-03-02T10:00:00Z"),
    )
    answer = observe(
        memory, turn("m1", "I love jazz.", occurred_at="2026-03-04T10:00:00Z")
    )
    assert (answer["stored"], answer["replaced"]) == (1, 0)
    assert any("peanuts" in text for text in active(memory))
    assert any("jazz" in text for text in active(memory))


def test_the_same_edit_again_is_stored_once(memory):
    observe(memory, turn("m1", "I love tea."))
    for text in ("I love coffee.", "I love coffee.", "I love tea."):
        answer = observe(memory, turn("m1", text))
    assert (answer["stored"], answer["duplicates"]) == (0, 1)
    (fact,) = active(memory)
    assert "coffee" in fact


def test_the_last_of_several_edits_counts(memory):
    for drink in ("tea", "coffee", "cocoa"):
        observe(memory, turn("m1", f"I love {drink}."))
    (fact,) = active(memory)
    assert "cocoa" in fact
    assert found(memory, "what do I love", kinds=["turn"]) == ["I love cocoa."]


def test_an_edit_before_its_first_words_were_read_leaves_only_the_last(
    memory, monkeypatch
):
    """Both versions are extracted in one batch."""
    monkeypatch.setattr(memory.pipeline, "drain", lambda: None)
    observe(memory, turn("m1", "I love tea."))
    observe(memory, turn("m1", "I love cocoa."))
    monkeypatch.undo()
    memory.call("flush", {})
    (fact,) = active(memory)
    assert "cocoa" in fact


def test_a_regenerated_answer_replaces_the_first_one(memory):
    said = {"role": "assistant"}
    observe(memory, turn("a1", "The ferry to Sark sails at nine.", **said))
    observe(memory, turn("a1", "The ferry to Sark sails at ten.", **said))
    assert found(memory, "ferry to Sark") == ["The ferry to Sark sails at ten."]


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


def test_the_id_of_an_edit_cannot_be_forged(memory):
    """A turn whose id only looks like an edit replaces nothing."""
    observe(memory, turn("m1", "I love tea."))
    observe(memory, turn("m1 edit-000000000000", "I love coffee."))
    assert len(active(memory)) == 2


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


def test_an_edit_is_carried_out_after_a_crash(memory, settings, clock, monkeypatch):
    observe(memory, turn("m1", "I love tea."))
    monkeypatch.setattr(memory.pipeline, "drain", lambda: None)
    observe(memory, turn("m1", "I love cocoa."))
    monkeypatch.undo()
    memory.close()
    memory.close = lambda: None
    again = Memory(settings, clock=clock, steady=clock.steady)
    again.start()
    try:
        again.catch_up()
        again.call("flush", {})
        (fact,) = active(again)
        assert "cocoa" in fact
    finally:
        again.close()


def test_a_deleted_message_goes_with_what_rested_on_it_and_can_be_restored(memory):
    observe(
        memory,
        turn("m1", "I am allergic to peanuts."),
        turn("m2", "Peanuts are on sale today.", role="assistant"),
    )
    gone = memory.call("withdraw", {"id": "m1", "session": "s"})
    assert len(gone["turns"]) == len(gone["memories"]) == 1
    assert not active(memory)
    # the same words of others stay, unlike after `forget`
    assert found(memory, "peanuts") == ["Peanuts are on sale today."]
    assert memory.call("withdraw", {"id": "m1", "session": "s"})["memories"] == []
    memory.call("update", {"id": gone["turns"][0], "status": "active"})
    assert any("peanuts" in text for text in active(memory))
    assert "I am allergic to peanuts." in found(memory, "peanuts", kinds=["turn"])


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


def test_a_question_off_the_record_is_no_use(memory, clock):
    made = memory.call("remember", {"text": "The gate is green."})
    clock.advance(days=1)
    memory.call("recall", {"query": "gate", "record": False})
    memory.call("context", {"query": "gate", "record": False})
    assert not memory.call("show", {"id": made["id"]})["usage"].get("recalls")
    memory.call("recall", {"query": "gate", "session": "x"})
    usage = memory.call("show", {"id": made["id"]})["usage"]
    assert usage["last_access"].startswith("2026-11-21")


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


def test_a_mark_of_another_index_asks_for_a_new_copy(memory):
    mark = memory.call("changes", {})["next"]
    for unknown in ("x:1", "7", f"{mark}9999", ""):
        assert memory.call("changes", {"since": unknown})["reset"]
