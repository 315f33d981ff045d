"""What a person marks as highly sensitive is given to no model and to no other persona
(B17).
"""

from __future__ import annotations

import json
from datetime import UTC

import pytest

from engram.config import EmbeddingSettings, ModelSettings
from engram.core.decide import Known
from engram.core.policy import Policy
from engram.core.records import Fact
from engram.errors import BadRequestError, ForbiddenError
from engram.maintenance.passes import groups
from engram.maintenance.passes.view import MemoryState, PassView, VaultReader
from tests.fakes.openai_server import fact, status
from tests.fakes.scribe import task_of

SECRET = "The user takes lithium for a bipolar disorder."
WORDS = "lithium"


def say(memory, text, **more):
    memory.call("observe", {"turns": [{"text": text, "session": "talk", **more}]})
    memory.call("flush", {})


def texts(memory, query=WORDS, standing="chat", **asked):
    answer = memory.call("recall", {"query": query, "k": 9, **asked}, standing)
    return "\n".join(hit["text"] for hit in answer["hits"])


def remembered(memory, text=SECRET, **more):
    return memory.call("remember", {"text": text, **more})["id"]


def set_key(memory, path, line):
    """A person adds a line to the front matter of a note."""
    note = memory.settings.vault / path
    text = note.read_text("utf-8")
    note.write_text(text.replace("\n---\n", f"\n{line}\n---\n", 1), "utf-8")
    memory.files.rescan(None)


# row: B17
def test_a_highly_sensitive_memory_is_the_owners_alone(memory):
    """Neither the memory nor the turn that told it; also after the index is made anew."""
    name = remembered(memory)
    assert WORDS in texts(memory, persona="Coach")

    answer = memory.call("sensitivity", {"id": name, "level": "high"})
    assert (answer["sensitivity"], answer["known_to"]) == ("high", "the owner alone")
    for _ in range(2):
        assert not texts(memory, persona="Coach")
        assert not texts(memory)
        assert WORDS in texts(memory, standing="owner")
        assert WORDS not in memory.call("context", {"query": WORDS})["text"]
        assert not memory.call("list", {})["memories"]
        memory.call("reindex", {})


# row: B17
def test_a_persona_that_the_note_names_may_know(memory):
    name = remembered(memory, persona="Doctor")
    memory.call("sensitivity", {"id": name, "level": "high"})
    assert WORDS in texts(memory, persona="Doctor")
    assert not texts(memory, persona="Coach")


# row: B17
def test_front_matter_sets_it_and_every_view_shows_it(memory):
    """It is no edit of the statement, and it changes no clock."""
    name = remembered(memory)
    before = memory.call("show", {"id": name})
    set_key(memory, before["memory"]["path"], "sensitivity: high")
    after = memory.call("show", {"id": name})
    assert before["memory"]["sensitivity"] == "normal"
    assert after["memory"]["sensitivity"] == "high"
    assert "persona" not in after["memory"]
    assert memory.call("why", {"id": name})["memory"]["sensitivity"] == "high"
    assert after["worth"] == before["worth"]
    (row,) = memory.call("list", {}, "owner")["memories"]
    assert (row["sensitivity"], row["persona"]) == ("high", None)


# row: B17
def test_only_the_owner_opens_it_again(memory):
    name = remembered(memory)
    memory.call("sensitivity", {"id": name, "level": "high"})
    with pytest.raises(ForbiddenError, match="owner's command line"):
        memory.call("sensitivity", {"id": name, "level": "low"})
    memory.call("sensitivity", {"id": name, "level": "low"}, "owner")
    assert WORDS in texts(memory)
    with pytest.raises(BadRequestError, match="low, normal, high"):
        memory.call("sensitivity", {"id": name, "level": "secret"})


# row: B17
def test_what_is_said_again_makes_no_open_copy(memory):
    name = remembered(memory)
    memory.call("sensitivity", {"id": name, "level": "high"})
    assert remembered(memory) == name
    assert not texts(memory)


# row: B17
def test_a_correction_stays_as_sensitive(memory):
    name = remembered(memory)
    memory.call("sensitivity", {"id": name, "level": "high"})
    new = memory.call(
        "correct", {"id": name, "text": "The user takes lithium no more."}
    )
    assert memory.call("show", {"id": new["id"]})["memory"]["sensitivity"] == "high"
    assert not texts(memory)


# row: B17
def test_a_highly_sensitive_conversation_hides_its_turns_and_their_memories(memory):
    say(memory, "My doctor Paula Weiss says that I am pregnant.", persona="Mona")
    assert texts(memory, "pregnant", persona="Chef")
    (path,) = memory.settings.vault.glob("sessions/*/*.md")
    set_key(memory, path.relative_to(memory.settings.vault), "sensitivity: high")
    assert not texts(memory, "pregnant", persona="Chef")
    assert texts(memory, "pregnant", persona="Mona")
    assert "pregnant" in texts(memory, "pregnant", "owner", all_personas=True)


@pytest.fixture
def observed(opened, running):
    """A memory with a language model and an embedding model, on one recorded server."""
    running.script(lambda _: {"facts": [], "entities": [], "relations": []})
    running.script_embeddings()
    running.requests.clear()
    model = ModelSettings("m", running.url)
    return opened(model=model, embeddings=EmbeddingSettings("e", running.url))


def written(memory, name, text, *keys):
    """A person writes a note."""
    front = "".join(f"{key}\n" for key in keys)
    path = memory.settings.vault / f"facts/2026-11-01/{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\n{front}---\n{text}\n", "utf-8")
    memory.files.rescan(None)


def embedded(running):
    return [one.body for one in running.requests if one.path == "/v1/embeddings"]


# row: B17
def test_no_model_is_given_it(observed, running, clock):
    """Not as a known fact, not to be compared, described, summarised or embedded, even
    where the persona in question may know it. What is not sensitive is still shown.
    """
    memory = observed
    open_note = "The user takes the tram to the bipolar conference."
    for number in range(6):
        secret = f"The user takes lithium number {number} against disorders."
        keys = ("persona: Doctor", "sensitivity: high", 'about: ["[[Paula]]"]')
        written(memory, f"secret-{number}", secret, *keys)
    written(memory, "open", open_note, "persona: Doctor")
    running.requests.clear()

    for minute in range(6):
        clock.advance(minutes=1)
        text = f"I took lithium number {minute} against the disorders of my body again."
        say(memory, text, persona="Doctor")
        said = f"I took the tram to the conference again, on my way number {minute}."
        say(memory, said, persona="Doctor")
    for days, cadence in ((1, "talk"), (0, "nightly"), (0, "weekly")):
        clock.advance(days=days)
        memory.call("consolidate", {"cadence": cadence})
    while memory.embed():
        pass

    sent = json.dumps([request.body for request in running.requests])
    assert "takes the tram" in sent
    assert "takes the tram" in json.dumps(embedded(running))
    assert "takes lithium" not in sent


# row: B17
def test_the_turn_behind_it_is_no_context_and_in_no_summary(observed, running, clock):
    memory = observed
    say(memory, "Lithium, since the bipolar disorder came back last spring.")
    (turn,) = memory.call("recall", {"query": WORDS})["hits"]
    keys = ("sensitivity: high", f'source: "[[{turn["id"]}]]"')
    written(memory, "secret", SECRET, *keys)
    assert not texts(memory)
    running.requests.clear()
    for number in range(6):
        clock.advance(minutes=1)
        say(memory, f"What else should I think of before the long trip {number}?")
    clock.advance(days=1)
    memory.call("consolidate", {"cadence": "talk"})
    assert {"extract", "session"} <= {task_of(body) for body in running.asked}
    assert WORDS not in json.dumps([request.body for request in running.requests])


# row: B17
def test_no_group_of_memories_has_it():
    """Groups are merged, folded and generalised by a model."""
    secret = Fact("S", SECRET, persona="Doctor", sensitivity="high")
    plain = Fact("P", "The user takes zinc for a cold.", persona="Doctor")

    class Reader(VaultReader):
        def near(self, fact):
            return [Known(one, 0.9) for one in (secret, plain) if one != fact]

    memories = {one.id: MemoryState(one) for one in (secret, plain)}
    view = PassView(Policy(), UTC, memories, Reader())
    assert [one.fact for one in groups.seeds(view)] == [plain]
    assert not list(groups.neighbours_of(view, memories["P"], 0.5))


# row: B17
def test_a_highly_sensitive_conversation_is_read_by_rules_alone(
    observed, running, clock
):
    memory = observed
    running.script(
        lambda _: {"facts": [fact("t1", "hello")], "entities": [], "relations": []}
    )
    say(memory, "Hello there, this is going to be a long talk about my health.")
    (path,) = memory.settings.vault.glob("sessions/*/*.md")
    set_key(memory, path.relative_to(memory.settings.vault), "sensitivity: high")
    running.requests.clear()
    clock.advance(minutes=1)
    say(memory, "I live in Dresden and I take lithium every day.")
    for number in range(6):
        say(memory, f"The lithium of day {number} makes me feel very tired indeed.")
        clock.advance(minutes=1)
    clock.advance(days=1)
    memory.call("consolidate", {"cadence": "talk"})
    memory.call("consolidate", {"cadence": "nightly"})
    while memory.embed():
        pass
    sent = json.dumps([request.body for request in running.requests])
    assert "lithium" not in sent
    assert "Dresden" in texts(memory, "Dresden", "owner", all_personas=True)
    assert not texts(memory, "Dresden")


def secret_told(memory, running, **more):
    """The user tells a secret that the model cannot read; a person marks it later."""
    running.script(*[status(400, "unknown model")] * 9)
    text = (
        "I take lithium for a bipolar disorder. I wanted to tell you so that you know"
        " it when we plan the trip to the mountains with my brother next spring."
    )
    say(memory, text, id="m1", occurred_at="2026-11-20T10:00:00Z", **more)
    (turn,) = memory.call("recall", {"query": WORDS, "kinds": ["turn"]})["hits"]
    keys = ("sensitivity: high", f'source: "[[{turn["id"]}]]"')
    written(memory, "secret", SECRET, *keys)
    running.requests.clear()


# row: B17
def test_what_could_not_be_read_before_is_read_by_rules_alone(observed, running):
    """It is tried again when its turn has become sensitive."""
    memory = observed
    secret_told(memory, running)
    assert memory.queue.counts()["parked_turns"] == 1
    memory.call("flush", {})
    assert memory.queue.counts()["parked_turns"] == 0
    assert not running.asked
    assert not texts(memory)


# row: B17
@pytest.mark.parametrize(
    "text",
    [
        "I take lithium for my disorder. Please think of it when we plan the long trip.",
        "Lithium, hm.",
    ],
)
def test_an_edited_message_stays_as_sensitive(observed, running, text, clock):
    """Before it is read, afterwards, and after the index is made anew."""
    memory = observed
    secret_told(memory, running)
    memory.call("flush", {})
    edit = {"id": "m1", "session": "talk", "text": text}
    edit["occurred_at"] = "2026-11-20T10:05:00Z"
    running.script(lambda _: {"facts": [], "entities": [], "relations": []})
    memory.call("observe", {"turns": [edit]})
    assert not texts(memory)
    memory.call("flush", {})
    for number in range(6):
        clock.advance(minutes=1)
        say(memory, f"What else should I think of before the long trip {number}?")
    memory.call("consolidate", {"cadence": "talk"})
    memory.call("reindex", {})
    assert not texts(memory)
    assert WORDS in texts(memory, standing="owner").casefold()
    while memory.embed():
        pass
    questions = [body for body in embedded(running) if body["input"] != [WORDS]]
    assert WORDS not in json.dumps([*running.asked, *questions]).casefold()
