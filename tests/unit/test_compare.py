"""What lies beside a statement, by words and by vectors, on a real index and a real
socket.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from engram.config import EmbeddingSettings, ModelSettings
from engram.core.records import Fact
from engram.pipeline.plan import WritePlan
from tests.fakes.batches import batch_of, by_text, held_back, rows, tell, texts
from tests.fakes.openai_server import FakeServer, fact, hang, status

BEACH, OCEAN = (
    "The tea is in the house by the beach.",
    "The beverage is in the flat by the ocean.",
)
"""One meaning in two wordings: the fake vectors are near, the words are not."""
BERLIN, MUNICH = "Anna lives in Berlin.", "Anna lives in Munich."
DIMENSION = 256


@pytest.fixture(scope="module")
def running():
    with FakeServer(dimension=DIMENSION) as fake:
        yield fake


@pytest.fixture
def fake(running):
    running.script()
    running.script_embeddings()
    running.requests.clear()
    return running


@pytest.fixture
def held(memory):
    return held_back(memory)


@pytest.fixture
def asking(opened, fake):
    """A memory with a model, and with embeddings if it is told so; `calibrated` says
    what their numbers mean.
    """

    def start(*, embeddings=False, calibrated=None):
        memory = opened()
        if calibrated:
            scale = {"model": "fake", "dimension": DIMENSION, "points": calibrated}
            (memory.settings.state / "calibration.json").write_text(json.dumps(scale))
        vectors = (
            EmbeddingSettings("fake", fake.url) if embeddings or calibrated else None
        )
        return held_back(
            opened(model=ModelSettings("fake", fake.url), embeddings=vectors)
        )

    return start


def understood(memory, fake, text):
    """The user says so, and the model states it in the same words."""
    words = f"{text} I thought I had better mention that."
    batch = batch_of(memory, words)
    told = [fact("t1", text, text)]
    fake.script({"facts": told, "entities": [], "relations": []})
    return memory.pipeline.file(batch, memory.pipeline.distil(batch))


def embedded(memory):
    while memory.embed():
        pass


# -- meaning ---------------------------------------------------------------------------


# row: A6
# row: A7
def test_on_a_calibrated_scale_what_means_the_same_is_one_memory(asking, fake):
    memory = asking(calibrated=[(-1, -1), (0.8, 0.86), (1, 1)])
    tell(memory, BEACH)
    embedded(memory)
    understood(memory, fake, OCEAN)
    assert texts(memory) == [BEACH]
    assert by_text(memory, BEACH).confidence == 0.6


# row: A7
def test_words_that_tell_two_facts_apart_beat_any_vector(asking, fake):
    """Another value of one attribute is never the same, however near its vector is."""
    memory = asking(calibrated=[(-1, -1), (0.1, 0.99), (1, 1)])
    tell(memory, BERLIN)
    embedded(memory)
    understood(memory, fake, MUNICH)
    assert texts(memory) == [BERLIN, MUNICH]


# row: A6
@pytest.mark.parametrize("fault", [status(500), status(401), hang()])
def test_without_vectors_facts_are_filed_all_the_same(asking, fake, fault):
    """The embedding model is away; words still tell what they can."""
    memory = asking(calibrated=[(-1, -1), (1, 1)])
    patient = memory.settings.policy
    memory.embedding._settings = replace(
        memory.settings,
        policy=replace(patient, vectors=replace(patient.vectors, timeout_seconds=0.2)),
    )
    tell(memory, BERLIN)
    embedded(memory)
    fake.script_embeddings(fault)
    understood(memory, fake, "Anna really lives in Berlin.")
    understood(memory, fake, OCEAN)
    assert texts(memory) == [BERLIN, OCEAN]
    assert by_text(memory, BERLIN).confidence == 0.6


# -- neighbours ------------------------------------------------------------------------


def weighed(memory, text, when=None, plan=None, **more):
    fact = Fact("", text, created=memory.clock(), **more)
    return memory.reconciler.comparison.near(fact, when or memory.clock(), plan)


# row: E14
def test_a_persona_sees_its_own_and_what_everybody_knows(held):
    """And nobody sees what is a persona's alone."""
    tell(held, BERLIN)
    tell(held, MUNICH, persona="Kapitän", private=True)
    seen = {
        persona: {
            near.fact.text
            for near in weighed(held, "Anna lives in Rome.", persona=persona)
        }
        for persona in (None, "Kapitän", "Smutje")
    }
    assert seen == {None: {BERLIN}, "Kapitän": {BERLIN, MUNICH}, "Smutje": {BERLIN}}


# row: A13
def test_nothing_is_tied_to_what_is_over(held):
    """Nor to what says the same, nor to itself."""
    tell(held, "Anna painted her wooden boat red in Porto.")
    (gone,) = tell(held, "Anna painted her wooden boat red in Rome.").created
    held.call("forget", {"id": gone})
    (new,) = tell(held, "Anna painted her wooden boat red in Oslo.").created
    ends = {frozenset((row["from"], row["to"])) for row in rows(held, "edges.jsonl")}
    assert frozenset((new, gone)) not in ends
    assert (
        held.reconciler.comparison.similarity_edges(
            held.index.catalog.fact(gone),
            WritePlan(held.settings, held.clock(), held.note_writer),
        )
        == ()
    )
