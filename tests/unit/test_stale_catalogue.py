"""A batch that changes a note which a user has just edited or deleted."""

from __future__ import annotations

from datetime import timedelta

import pytest

from engram.errors import EngramError

SAID = "I decided to buy the boat Amarill."


@pytest.fixture
def memory(opened, clock):
    memory = opened()
    # a watcher reports changed files, and has not reported the next one yet
    memory.executor.attended = True

    def wait(days):
        clock.now += timedelta(days=days)

    memory.wait = wait
    return memory


def file_due(memory):
    """File what is due; return the errors."""
    errors = []
    for batch in memory.pipeline.due(memory.clock()):
        try:
            memory.pipeline.file(batch, memory.pipeline.distil(batch))
        except EngramError as error:
            memory.pipeline.postpone(batch.as_tried(), "filing", error)
            errors.append(error)
    return errors


def say(memory, session):
    memory.call("observe", {"turns": [{"text": SAID, "session": session}]})
    memory.wait(1)
    return file_due(memory)


def the_note(memory):
    (path,) = (memory.settings.vault / "facts").rglob("decision-*.md")
    return path


def test_words_that_were_edited_a_moment_ago_stay_and_the_batch_is_filed(memory):
    assert say(memory, "one") == []
    note = the_note(memory)
    note.write_text(note.read_text().replace("boat Amarill", "green boat Amarill"))
    assert say(memory, "two") == []
    assert "green boat Amarill" in note.read_text()
    assert memory.call("stats", {})["waiting_turns"] == 0


def test_a_note_that_was_broken_a_moment_ago_keeps_its_bytes(memory):
    assert say(memory, "one") == []
    note = the_note(memory)
    broken = note.read_text().replace("---\n", "---\nodd: [one, {two\n", 1)
    note.write_text(broken)
    assert say(memory, "two") == []
    assert note.read_text() == broken


def test_a_note_that_was_deleted_a_moment_ago_loses_no_turn(memory):
    assert say(memory, "one") == []
    the_note(memory).unlink()
    say(memory, "two")
    # the watcher reports it, and the second look finds it gone too
    memory.files.rescan_settled(None)
    memory.wait(1)
    assert file_due(memory) == []
    assert memory.call("stats", {})["waiting_turns"] == 0
    said = [
        path.read_text()
        for path in (memory.settings.vault / "sessions").rglob("*.md")
        if "two" in path.name
    ]
    assert any(SAID in text for text in said)
