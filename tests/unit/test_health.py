"""The doctor on a real vault: each thing that failed is named once, with what to do."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest

from engram.config import EmbeddingSettings, ModelSettings
from engram.operations import health
from engram.operations.health import closed_folders
from tests.fakes.openai_server import status


def found(memory, code):
    """Where it is, and what, of each finding of a code; each says what to do."""
    findings = [
        finding
        for finding in memory.call("doctor", {})["findings"]
        if finding["code"] == code
    ]
    assert all(finding["fix"] for finding in findings)
    return [(finding["where"], finding["what"]) for finding in findings]


# row: C3
def test_a_batch_that_is_held_up_is_named_with_its_conversation_and_why(
    opened, running
):
    """Parked, also after a restart, when no other fault tells of it; stuck; dead."""
    running.script(*[status(500)] * 20)
    memory = opened(model=ModelSettings("fake", running.url))
    for number in range(2):
        text = (
            f"My name is Mira and I work as a marine biologist in Lisbon, day {number}."
        )
        memory.call(
            "observe",
            {"turns": [{"id": f"m{number}", "session": "tide", "text": text}]},
        )
    where = "sessions/2026-11-20/2026-11-20-tide_a1b2c3.md"
    ((place, what),) = found(memory, "parked")
    assert place == where
    assert what.startswith("2 turns: ")
    assert "500" in what
    memory = opened()
    assert memory.health.problems() == {}
    assert found(memory, "parked") == [(where, what)]
    first, second = (batch for _, batch, _ in memory.queue.blocked)
    later = memory.clock() + timedelta(hours=1)
    memory.queue.put(first, "stuck", until=later, reason="the disk is full.")
    memory.intake.give_up(second, "no key")
    assert found(memory, "parked") == []
    assert found(memory, "stuck") == [(where, "1 turn: the disk is full.")]
    assert found(memory, "dead-letter") == [(where, "1 turn: no key")]
    memory.call("flush", {})
    memory.queue.drop(first)
    assert memory.call("doctor", {})["healthy"]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_vault_that_cannot_be_written_is_not_healthy(memory, settings, monkeypatch):
    """The rights are those of a user who may read it and no more."""
    assert found(memory, "read-only") == []
    settings.vault.chmod(0o755)
    child = os.fork()
    if child == 0:
        try:
            os.chdir(settings.vault)  # the folders above are root's alone
            os.setuid(65534)
            os._exit(0 if closed_folders(Path())[0] == Path() else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    monkeypatch.setattr(health, "closed_folders", lambda vault: [vault])
    ((where, what),) = found(memory, "read-only")
    assert where == str(settings.vault)
    assert "cannot be written" in what
    assert not memory.call("doctor", {})["healthy"]


def test_a_note_that_may_not_be_read_any_more_is_named(memory, settings):
    """Its last version stays known; a change of rights leaves its stat alone, so that
    no scan tells of it.
    """
    path = memory.call("remember", {"text": "Anna drinks tea."})["path"]
    memory.call("remember", {"text": "Ben drinks milk."})
    assert memory.call("doctor", {})["healthy"]
    (settings.vault / path).chmod(0)
    if os.access(settings.vault / path, os.R_OK):
        pytest.skip("root reads everything")
    memory.files.rescan(None)
    assert found(memory, "unreadable") == [(path, "the file cannot be read")]
    (settings.vault / path).chmod(0o600)
    folder = (settings.vault / path).parent
    folder.chmod(0)
    memory.files.rescan(None)
    assert folder.relative_to(settings.vault).as_posix() in dict(
        found(memory, "unreadable")
    )
    folder.chmod(0o700)
    memory.files.rescan(None)
    assert memory.call("doctor", {})["healthy"]


# row: X24
def test_the_models_are_asked_whether_they_answer(opened, running):
    """With the form of the API that works; a fault is named with its cause."""
    running.script("{}")
    running.script_embeddings()
    memory = opened(
        model=ModelSettings("fake", running.url, api="chat"),
        embeddings=EmbeddingSettings("e", running.url),
    )

    def said():
        rows = memory.call("doctor", {})["findings"]
        return {one["code"]: (one["level"], one["what"]) for one in rows}

    assert "answers (chat/schema)" in said()["model"][1]
    assert said()["embeddings"][0] == "notice"
    assert "ranking only" in memory.call("status", {})["meaning"]
    running.script(status(401, "Incorrect API key"))
    running.script_embeddings(status(404))
    assert said()["model"][0] == said()["embeddings"][0] == "error"
    assert "refused the key" in said()["model"][1]


# row: A14
def test_without_a_daemon_a_memory_gets_its_vector_at_once(opened, running):
    """Also what was imported; a server that is away delays nothing twice."""
    running.script_embeddings()
    memory = opened(embeddings=EmbeddingSettings("e", running.url))
    memory.call("remember", {"text": "The key lies under the third stone."})
    assert memory.index.unembedded(9) == []
    running.script_embeddings(*[status(500)] * 9)
    for text in ("The cat sleeps in the barn.", "The barn needs a new roof."):
        memory.call("remember", {"text": text})
    assert len(memory.index.unembedded(9)) == 2
    assert "embeddings" in memory.call("status", {})["faults"]
