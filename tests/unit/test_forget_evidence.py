"""Forgetting a memory reaches every turn that it rests on (X8), and a dry run tells what
else rests on them.
"""

from __future__ import annotations

import pytest

from engram.vault.store import TOMBSTONES
from tests.fakes.keeping import Keeping

OURS = {"origin": "rules", "kind": "note", "confidence": 0.6}


@pytest.fixture
def said(memory, clock):
    """Say something in a session; the key of its turn."""

    def say(text, session="talk"):
        clock.advance(minutes=1)
        turn = {"text": text, "role": "user", "session": session}
        (key,) = memory.call("observe", {"turns": [turn]})["keys"]
        memory.call("flush", {})
        return key

    return say


def recalled(memory, query):
    hits = memory.call("recall", {"query": query, "k": 20, "archive": True})["hits"]
    return [hit["text"] for hit in hits]


# row: X8
def test_the_turns_that_only_the_log_names_are_forgotten_too(memory, said):
    """A note names so many sources only."""
    first = said("The garden gate squeaks.")
    later = said("That noisy thing at the hedge again, you know.")
    keeping = Keeping(memory)
    (name,) = keeping.plant(
        keeping.made("The garden gate squeaks.", days=3, source=first, **OURS)
    )
    row = {"at": memory.clock().isoformat(), "action": "confirm", "memory": name}
    row |= {"turn": later, "quote": "That noisy thing at the hedge again", "by": "llm"}
    memory.note_writer.log_actions([row | {"outcome": "applied"}])
    memory.call("forget", {"id": name})
    assert "noisy" not in str(recalled(memory, "noisy hedge"))


# row: X8
def test_a_dry_run_tells_the_turns_and_what_else_rests_on_them(memory, said):
    turn = said("I live in Dresden and I work at Siemens.")
    facts = {fact.text: fact.id for fact in memory.index.catalog.facts()}
    assert len(facts) == 2
    (home,) = (name for text, name in facts.items() if "Dresden" in text)
    (work,) = (name for text, name in facts.items() if "Siemens" in text)
    found = memory.call("forget", {"id": home, "dry_run": True})
    assert found["turns"] == [turn]
    assert [one["id"] for one in found["shared"]] == [work]
    assert found["dry_run"]
    assert memory.index.catalog.fact(home).status == "active"
    assert not (memory.settings.vault / TOMBSTONES).exists()
    assert "Dresden" in str(recalled(memory, "Dresden"))

    memory.call("forget", {"id": home})
    assert "Dresden" not in str(recalled(memory, "Dresden"))
    assert memory.index.catalog.fact(work).status == "active"
    whole = memory.call("forget", {"id": turn, "dry_run": True})
    assert [one["id"] for one in whole["shared"]] == [work]


# row: X8
def test_what_other_memories_were_read_in_stays_in_a_turn(memory, said):
    """A turn that says the memory in other words, which nothing quotes."""
    turn = said("The thing at the hedge again, you know. My cat is called Pixel.")
    keeping = Keeping(memory)
    (name,) = keeping.plant(
        keeping.made("The garden gate squeaks.", days=3, source=turn, **OURS)
    )
    hides = memory.call("forget", {"id": name})["hides"]
    assert hides["turns"] == [turn]
    assert "hedge" not in str(recalled(memory, "hedge"))
    (shown,) = memory.call("session", {"id": turn.partition("#")[0]})["turns"]
    assert shown["text"] == "[…] My cat is called Pixel."


# row: X8
def test_the_reply_that_repeats_what_is_forgotten_is_hidden_too(memory, clock):
    """Its other sentences stay, and both come back."""
    turns = [
        ("user", "My daughter Nora is allergic to walnuts."),
        (
            "assistant",
            "Your daughter Nora is allergic to walnuts. The market opens at nine.",
        ),
    ]
    rows = [{"text": text, "role": role, "session": "talk"} for role, text in turns]
    memory.call("observe", {"turns": rows})
    memory.call("flush", {})
    clock.advance(minutes=1)
    listed = memory.call("list", {})["memories"]
    (known,) = [one["id"] for one in listed if "walnuts" in one["text"]]

    memory.call("forget", {"id": known})
    assert not [text for text in recalled(memory, "walnuts Nora") if "walnut" in text]
    assert any("opens at nine" in text for text in recalled(memory, "market opens"))
    memory.call("update", {"id": known, "status": "active"})
    assert [text for text in recalled(memory, "walnuts") if "Your daughter" in text]
