"""The list of conversations, their turns, and the history of a memory."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from engram.errors import ForbiddenError, NotFoundError
from engram.testing import Simulation
from tests.fakes.answers import settings_in


def observe(memory, clock, text, session="s", **more):
    clock.advance(seconds=30)
    turn = {"text": text, "session": session, **more}
    memory.call("observe", {"turns": [turn]})


@pytest.fixture
def told(memory, clock):
    """What Mira told of herself and of her sister on two days."""
    observe(memory, clock, "My name is Mira. I live in Lisbon.")
    observe(memory, clock, "My sister Anna lives in Porto.")
    observe(memory, clock, "My sister Anna has a greyhound called Bolt.")
    clock.advance(days=2)
    observe(memory, clock, "I moved to Faro.", session="later")
    return memory


def test_conversations_are_listed_with_turns_that_wait_for_their_file(tmp_path):
    settings = settings_in(tmp_path / "home", tmp_path / "vault")
    begin = datetime(2026, 11, 20, 20, tzinfo=UTC)
    with Simulation(settings.vault, at=begin, home=tmp_path / "home") as sim:

        def say(text, session, role="user"):
            turn = {"text": text, "session": session, "role": role}
            sim.call("observe", turns=[turn])

        say("The heron is back.", "birds")
        sim.advance(begin + timedelta(hours=3))
        say("And gone.", "birds")
        say("The tide is high.", "sea")
        say("Indeed.", "sea", "assistant")
        assert len([*settings.vault.glob("sessions/*/*.md")]) == 1
        rows = sim.call("sessions")["sessions"]
        sea = rows[0]
        assert (sea["session"], sea["turns"]) == ("sea", 2)
        birds = sim.call("sessions", session="birds")["sessions"]
        assert [row["turns"] for row in birds] == [1, 1]
        shown = sim.call("session", id=sea["id"])
        texts = [turn["text"] for turn in shown["turns"]]
        assert texts == ["The tide is high.", "Indeed."]
        assert sim.call("session", id=sea["path"]) == shown
        with pytest.raises(NotFoundError, match="no such conversation"):
            sim.call("session", id="nope")


def test_a_conversation_stays_with_its_persona(memory, clock):
    observe(memory, clock, "I dream of a kite.", session="k", persona="Coach")
    assert memory.call("sessions", {})["sessions"] == []
    (mine,) = memory.call("sessions", {"persona": "Coach"})["sessions"]
    assert memory.call("sessions", {"persona": "Bard"})["sessions"] == []
    assert memory.call("sessions", {"all_personas": True}, "owner")["total"] == 1
    with pytest.raises(ForbiddenError):
        memory.call("sessions", {"all_personas": True})
    # what the user said to one persona every persona knows, the answers it does not
    observe(memory, clock, "Fly it!", session="k", persona="Coach", role="assistant")
    everybody = memory.call("session", {"id": mine["id"]})["turns"]
    assert [turn["text"] for turn in everybody] == ["I dream of a kite."]
    own = memory.call("session", {"id": mine["id"], "persona": "Coach"})["turns"]
    assert len(own) == 2


def test_forgotten_words_are_in_no_list(told, clock):
    (anna,) = [
        row for row in told.call("list", {})["memories"] if "Bolt" in row["text"]
    ]
    told.call("forget", {"id": anna["id"]})
    shown = [
        *(
            told.call("session", {"id": row["id"]})
            for row in told.call("sessions", {})["sessions"]
        ),
        told.call("history", {"id": anna["id"]}),
    ]
    for one in shown:
        assert "greyhound" not in str(one)


# row: C21
def test_the_history_of_a_correction_has_each_decision_once_and_no_failure(told):
    old = told.call("remember", {"text": "I live in Graz."})["id"]
    new = told.call("correct", {"id": old, "text": "I live in Linz."})["id"]
    rows = told.call("history", {"id": new})["decisions"]
    assert sorted((row["action"], row["outcome"], row["of"]) for row in rows) == sorted(
        [
            ("store", "applied", old),
            ("correct", "applied", old),
            ("store", "reversed", old),
            ("store", "applied", new),
        ]
    )
