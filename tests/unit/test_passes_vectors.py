"""Hot and cold, and vectors in fewer bits, through real runs on a vault whose vectors
come over a real socket.
"""

from __future__ import annotations

from array import array

import pytest

from engram.config import EmbeddingSettings
from engram.core.records import VectorStorage
from engram.index.filters import SearchFilter
from tests.fakes.keeping import Keeping
from tests.fakes.openai_server import FakeServer, vector

DIMENSION = 256
FACTS = SearchFilter(("fact",))
DULL = {"kind": "note", "importance": 0.2, "confidence": 0.5}
"""What turns cold when nobody recalls it, and is retained whole for all that."""


@pytest.fixture(scope="module")
def running():
    with FakeServer(dimension=DIMENSION) as fake:
        yield fake


@pytest.fixture
def fake(running):
    running.script_embeddings()
    running.requests.clear()
    return running


@pytest.fixture
def keeping(opened, fake):
    return Keeping(opened(embeddings=EmbeddingSettings("fake", fake.url)))


def embedded(keeping):
    while keeping.memory.embed():
        pass


def stored(keeping):
    index = keeping.memory.index
    return index.semantic.storage(index.lexical)


def bits(keeping):
    return {name: one.bits for name, one in stored(keeping).items()}


def told(report):
    return {
        one.name: one.why for one in report.actions if one.name in {"tier", "precision"}
    }


def files(keeping):
    """The files of the vectors and their bytes."""
    return {
        path.name: path.read_bytes()
        for path in (keeping.memory.settings.cache / "vectors").iterdir()
    }


def found(keeping, text, k=10):
    """Which facts are near to a text by meaning, and how near."""
    index = keeping.memory.index
    asked = array("f", vector(text, DIMENSION)).tobytes()
    return index.semantic.similar(index.lexical, asked, FACTS, k)


# row: D12
def test_what_is_recalled_again_gets_its_vector_from_the_model_again(keeping, fake):
    """Until then it is found by what is left of it; nothing else is asked for, and no
    night asks twice.
    """
    text = "Anna saw a red car."
    name = keeping.fact(text, days=60)
    keeping.fact("Ben baked bread.", days=60)
    embedded(keeping)
    keeping.run()
    ((_, worn),) = found(keeping, text, 1)
    assert worn < 1 - 1e-4
    keeping.used(name)
    fake.requests.clear()
    assert told(keeping.run())["precision"] == "1 in 32 bits"
    assert told(keeping.run()) == {}
    assert found(keeping, text, 1) == [(name, worn)]
    embedded(keeping)
    assert [request.body["input"] for request in fake.requests] == [[text]]
    assert found(keeping, text, 1) == [(name, pytest.approx(1.0, abs=1e-6))]
    assert sorted(bits(keeping).values()) == [2, 32]
    assert told(keeping.run()) == {}


# row: C29
def test_a_tier_is_remembered_between_its_two_limits(keeping, opened):
    """Recalled a little it stays cold, also after a restart, and recalled much it is
    hot; lost, all begins hot.
    """
    name = keeping.fact("Anna saw a red car.", days=100, **DULL)
    embedded(keeping)
    keeping.run()
    keeping.used(name, access=2)
    keeping.run()
    again = Keeping(opened(embeddings=keeping.memory.settings.embeddings))
    assert stored(again)[name] == VectorStorage(8, "cold")
    again.fact("Ben moved.", days=1)
    again.used(name, access=30)
    again.clock.advance(hours=1)
    path = again.root / again.seen(name).path
    path.write_text(path.read_text().replace("importance: 0.2", "importance: 0.9"))
    again.memory.files.rescan(None)
    assert told(again.run()) == {"tier": "1 turn hot", "precision": "1 in 32 bits"}
    embedded(again)
    assert stored(again)[name] == VectorStorage(32, "hot")


# row: C29
def test_a_list_of_the_cold_that_is_lost_costs_nothing_but_itself(keeping, opened):
    """Everything is hot until the next night finds out."""
    name = keeping.fact("Anna saw a red car.", days=100, **DULL)
    embedded(keeping)
    keeping.run()
    (keeping.memory.settings.cache / "vectors" / "cold.txt").unlink()
    again = Keeping(opened(embeddings=keeping.memory.settings.embeddings))
    assert stored(again)[name] == VectorStorage(8, "hot")
    assert told(again.run()) == {"tier": "1 turn cold"}
    assert stored(again)[name] == VectorStorage(8, "cold")
