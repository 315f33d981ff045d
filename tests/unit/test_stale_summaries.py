"""What is taken back leaves no trace in what was derived from it (rows X2, X6, X8)."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from engram.config import ModelSettings
from engram.core.sessions import STATE_FILE
from engram.errors import ConflictError
from engram.vault import frontmatter
from tests.fakes.openai_server import FakeServer, facts_from, prompt_text

TENT = "I bought a tent for Norway."
SECRET = "My neighbour Zelda is a locksmith."
LATER = "I play the cello on Mondays."


def observe(memory, *texts, session="camp", **more):
    for number, text in enumerate(texts):
        turn = {"id": f"{session}{number}", "session": session, "text": text} | more
        memory.call("observe", {"turns": [turn]})


def sum_up(memory, clock):
    clock.advance(hours=3)
    for cadence in ("talk", "nightly"):
        memory.call("consolidate", {"cadence": cadence})


def surfaces(memory, word):
    """Where a person or a chatbot meets a word, but for the conversation itself."""
    found = {
        name: json.dumps(memory.call(name, params))
        for name, params in (
            ("context", {}),
            ("sessions", {}),
            ("digest", {}),
            ("entities", {}),
            ("list", {}),
        )
    }
    found["recall"] = json.dumps(memory.call("recall", {"query": word})["hits"])
    for path in memory.settings.vault.rglob("*.md"):
        # a forgotten note stays on disk and is shown nowhere
        if path.parts[-3] not in {"facts", "boxes", ".trash"}:
            found[path.name] = path.read_text().partition("## Conversation")[0]
    found |= {path.name: path.read_text() for path in _states(memory)}
    return sorted(name for name, text in found.items() if word in text)


def _states(memory):
    path = memory.settings.vault / STATE_FILE
    return [path] if path.exists() else []


def note_of(memory, name="camp"):
    (path,) = memory.settings.vault.glob(f"sessions/*/*{name}*.md")
    return path


def keys_of(memory, name="camp"):
    return frontmatter.read(note_of(memory, name).read_bytes()).keys


def delete(memory, name):
    memory.call("withdraw", {"session": "camp", "id": name})


def edit(memory, name):
    turn = {"id": name, "session": "camp", "text": "My neighbour is nice."}
    memory.call("observe", {"turns": [turn]})


def forget(memory, name):
    for hit in memory.call("recall", {"query": SECRET, "kinds": ["fact"]})["hits"]:
        if "Zelda" in hit["text"]:
            memory.call("forget", {"id": hit["id"]})


# row: X2
# row: E11
@pytest.mark.parametrize("take_back", [delete, edit, forget])
def test_a_summary_is_made_anew_from_what_remains(memory, clock, take_back):
    observe(memory, TENT, SECRET, LATER)
    sum_up(memory, clock)
    assert "Zelda" in memory.call("context", {})["text"]
    take_back(memory, "camp1")
    assert not surfaces(memory, "Zelda")
    sum_up(memory, clock)
    told = json.dumps(memory.call("sessions", {}))
    assert "tent" in told or "cello" in told
    assert not surfaces(memory, "Zelda")


# row: X23
@pytest.mark.parametrize("where", ["key", "block"])
def test_the_words_of_a_person_in_a_summary_stay(memory, clock, where):
    observe(memory, TENT, SECRET)
    sum_up(memory, clock)
    path = note_of(memory)
    line = "%%\nuser: My neighbour" if where == "block" else "user: My neighbour"
    old = line if line in path.read_text() else "I bought a tent for Norway."
    path.write_text(path.read_text().replace(old, f"{old} (my own words)", 1))
    memory.files.rescan(None)
    before = path.read_bytes()
    delete(memory, "camp1")
    sum_up(memory, clock)
    assert path.read_bytes() == before


# row: X6
def test_an_old_summary_goes_though_its_record_is_gone(memory, clock):
    """The state keeps the records of the latest conversations only."""
    observe(memory, TENT, SECRET)
    sum_up(memory, clock)
    (memory.settings.vault / STATE_FILE).unlink()
    delete(memory, "camp1")
    assert not surfaces(memory, "Zelda")


# row: X2
def test_a_summary_that_cannot_be_removed_is_shown_no_more(memory, clock, monkeypatch):
    observe(memory, TENT, SECRET)
    sum_up(memory, clock)
    write = memory.note_writer.write

    def refuse(changes, *more):
        if any(one.path.startswith("sessions/") for one in changes):
            raise ConflictError("a person edits it")
        return write(changes, *more)

    with monkeypatch.context() as patch:
        patch.setattr(memory.note_writer, "write", refuse)
        delete(memory, "camp1")
    assert "Zelda" in note_of(memory).read_text().partition("## Conv")[0]
    assert "Zelda" not in memory.call("context", {})["text"]
    assert "Zelda" not in json.dumps(memory.call("sessions", {}))
    sum_up(memory, clock)
    assert "tent" in memory.call("context", {})["text"]
    assert not surfaces(memory, "Zelda")


def answers(body):
    asked = prompt_text(body)
    if "running summary" in asked:
        return {"summary": "They speak."}
    if "sum up a conversation" in asked:
        told = "A locksmith lives next door." if "Zelda" in asked else "A tent."
        return {
            "one_liner": told,
            "what_mattered": [],
            "open_loops": [],
            "commitments": [],
            "people": [],
            "tone": "calm",
            "episodes": [told],
        }
    return facts_from(body)


# row: A27
def test_what_a_model_told_of_hidden_words_goes_and_comes_back(opened, settings, clock):
    """A paraphrase shares no word with them."""
    with FakeServer() as fake:
        fake.script(answers)
        talks = replace(
            settings.policy.sessions, rolling_model_turns=4, session_model_turns=4
        )
        policy = replace(settings.policy, sessions=talks)
        memory = opened(model=ModelSettings("fake", fake.url), policy=policy)
        observe(memory, TENT, SECRET, LATER, "I had soup.", "It rained.")
        sum_up(memory, clock)
        assert "locksmith" in keys_of(memory)["one_liner"]
        (episode,) = memory.settings.vault.glob("episodes/*/*.md")
        told = "recall", {"query": "Who lives next door?"}
        assert "locksmith lives" in json.dumps(memory.call(*told))
        delete(memory, "camp1")
        assert "locksmith lives" not in json.dumps(memory.call(*told))
        assert episode.exists()
        sum_up(memory, clock)
        assert keys_of(memory)["one_liner"] == "A tent."
        key = f"{note_of(memory).stem}#^t2"
        memory.call("update", {"id": key, "status": "active"})
        assert "locksmith lives" in json.dumps(memory.call(*told))


# -- people and relations --------------------------------------------------------------

TOM = "My friend Tom lives in Oslo."


def people(memory):
    return sorted(row["name"] for row in memory.call("entities", {})["entities"])


def edges(memory):
    store = memory.reconciler.entity_writer.edges
    return sorted(
        (edge.source, edge.label, edge.target)
        for edge in store.all()
        if edge.type == "relation"
    )


# row: X6
# row: B1
def test_people_and_relations_go_with_their_only_support_and_come_back(memory):
    observe(memory, TENT, TOM)
    before, ties = people(memory), edges(memory)
    assert {"Tom", "Oslo"} <= set(before)
    assert ties
    notes = {
        path: path.read_text() for path in memory.settings.vault.glob("entities/*/*")
    }
    delete(memory, "camp1")
    assert not {"Tom", "Oslo"} & set(people(memory))
    assert not edges(memory)
    assert not list(memory.settings.vault.glob("entities/people/Tom.md"))
    key = f"{note_of(memory).stem}#^t2"
    memory.call("update", {"id": key, "status": "active"})
    assert (people(memory), edges(memory)) == (before, ties)
    assert notes == {
        path: path.read_text() for path in memory.settings.vault.glob("entities/*/*")
    }


# row: X6
def test_after_a_crash_the_next_request_tidies_up(memory):
    observe(memory, TOM, TENT)
    turns = [memory.index.unit(f"{note_of(memory).stem}#^t1")]
    memory.reconciler.turn_edits.withdraw(turns, memory.clock(), "deleted")
    assert "Tom" in people(memory)  # as if it had ended here
    delete(memory, "camp1")
    assert "Tom" not in people(memory)
