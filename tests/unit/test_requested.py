"""What a person asks for by a command: digest, merge and synthesize (A34, A35)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from engram.errors import BadRequestError, ConflictError, NotFoundError
from tests.fakes.judging import judging


@pytest.fixture
def tell(simulation):
    def tell(*texts, session="main"):
        turns = [{"text": text, "session": session} for text in texts]
        simulation.call("observe", turns=turns)
        simulation.advance(simulation.now + timedelta(minutes=40))
        simulation.call("flush")

    return tell


def memories(simulation, **more):
    rows = simulation.call("list", limit=200, **more)["memories"]
    return {row["text"]: row["id"] for row in rows}


def tree(folder):
    notes = {"facts", "entities", "archive", ".trash"}
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in folder.rglob("*.md")
        if path.relative_to(folder).parts[0] in notes
    }


# row: A35
def test_a_digest_tells_what_was_learned_changed_and_is_due(simulation, tell):
    tell("I live in Berlin.")
    simulation.advance(simulation.now + timedelta(days=20))
    tell("I moved to Munich.", "I promise to call Anna tomorrow.", "I like oat milk.")
    digest = simulation.call("digest")
    assert "Munich" in str(digest["learned"])
    assert "Berlin" not in str([row["text"] for row in digest["learned"]])
    assert [("Berlin" in row["was"]) for row in digest["changed"]] == [True]
    assert "Anna" in str(digest["due"])
    assert digest["text"].startswith("Learned (")
    assert "before: " in digest["text"]
    simulation.advance(simulation.now + timedelta(days=8))
    later = simulation.call("digest")
    assert later["learned"] == later["changed"] == []
    assert "Munich" in simulation.call("digest", since="2 weeks ago")["text"]
    with pytest.raises(BadRequestError):
        simulation.call("digest", since="sometime")


# row: A35
def test_a_digest_shows_nothing_forgotten_or_of_another_persona(simulation, tell):
    tell("I like oat milk.", "My PIN for the gym is 4711.")
    simulation.call("remember", text="Carla is tired.", persona="coach")
    (milk,) = [one for text, one in memories(simulation).items() if "milk" in text]
    simulation.call("forget", id=milk)
    digest = simulation.call("digest")
    assert "milk" not in str(digest)
    assert "Carla" not in str(digest)
    assert "Carla" in str(simulation.call("digest", persona="coach"))


# row: A34
def test_two_names_of_one_person_become_one(simulation, tell, tmp_path):
    tell("My colleague Katharina plays chess.", "My friend Kathi has a boat.")
    before = tree(tmp_path / "vault")
    made = simulation.call("merge", id="Katharina", other="Kathi")
    (row,) = simulation.call("entities", name="Kathi")["entities"]
    assert row["name"] == "Katharina"
    assert "Kathi" in row["aliases"]
    assert row["memories"] >= 2
    simulation.call("undo", id=made["run"])
    assert tree(tmp_path / "vault") == before


# row: A34
def test_what_cannot_be_one_is_refused(simulation):
    one = simulation.call("remember", text="Anna drinks tea.")["id"]
    own = simulation.call("remember", text="Anna drinks rum.", persona="coach")["id"]
    with pytest.raises(BadRequestError):
        simulation.call("merge", id=one, other=one)
    with pytest.raises(ConflictError):
        simulation.call("merge", id=one, other=own)
    with pytest.raises(NotFoundError):
        simulation.call("merge", id=one, other="Nobody")


# row: A35
def test_one_note_is_concluded_from_several_and_names_them(simulation, tell, tmp_path):
    tell("My sister Anna lives in Porto.", "Anna is a nurse.", "Anna plays the cello.")
    known = memories(simulation)
    tried = simulation.call("synthesize", about="Anna", dry_run=True)
    assert len(tried["actions"]) == 1
    assert memories(simulation) == known
    made = simulation.call("synthesize", about="Anna")
    (text,) = memories(simulation).keys() - known.keys()
    assert text.startswith("Anna: ")
    assert "Porto" in text
    note = simulation._memory.index.catalog.find_fact(memories(simulation)[text])
    assert note.origin == "synthesized"
    assert note.derived_from
    assert set(note.derived_from) <= set(known.values())
    again = simulation.call("synthesize", about="Anna")
    assert again["actions"] == ()
    simulation.call("undo", id=made["run"])
    assert memories(simulation) == known
    with pytest.raises(NotFoundError):
        simulation.call("synthesize", about="Zenobia")


# row: A35
def test_a_model_writes_the_note_and_its_failure_leaves_a_list(asked_keeping, running):
    memory = asked_keeping.memory
    for text in ("Anna lives in Porto.", "Anna is a nurse."):
        memory.call("remember", {"text": text})
    judging(running, fold={"text": "Anna is a nurse in Porto.", "from": [1, 2]})
    memory.call("synthesize", {"about": "Anna"})
    rows = memory.call("list", {"limit": 50})["memories"]
    assert "Anna is a nurse in Porto." in [row["text"] for row in rows]
