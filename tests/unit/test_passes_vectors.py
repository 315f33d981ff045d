"""Hot and cold, and vectors in fewer bits, through real runs on a vault whose vectors
come over a real socket.
"""

from __future__ import annotations

from array import array

import pytest

from engram.config import EmbeddingSettings
from engram.core.records import VectorStorage
from engram.index.filters import SearchFilter
from engram.maintenance.passes import lifecycle
from engram.maintenance.passes.view import PassView, VectorPrecision
from tests.fakes.keeping import Keeping
from tests.fakes.openai_server import FakeServer, vector
from tests.fakes.pass_views import after

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
def test_a_night_keeps_vectors_in_the_bits_that_retention_leaves_their_memory(keeping):
    """Episodes of 5, 15, 25 and 60 days, and a note, which is retained; all are found
    by meaning as before.
    """
    ages = {
        "Anna saw a red car.": (5, 32),
        "Ben baked bread.": (20, 8),
        "Carl lost a boat.": (35, 4),
        "Dora won a race.": (60, 2),
    }
    names = {text: keeping.fact(text, days=days) for text, (days, _) in ages.items()}
    note = keeping.fact("Ella plays the piano.", days=60, kind="note")
    embedded(keeping)
    assert set(bits(keeping).values()) == {32}
    assert told(keeping.run())["precision"] == "1 in 2 bits, 1 in 4 bits, 1 in 8 bits"
    assert bits(keeping) == {
        note: 32,
        **{names[text]: left for text, (_, left) in ages.items()},
    }
    assert {text: found(keeping, text, 1)[0][0] for text in ages} == names
    assert [
        hit["key"]
        for hit in keeping.memory.call("recall", {"query": "race", "kinds": ["fact"]})[
            "hits"
        ]
    ] == [names["Dora won a race."]]


# row: D12
# row: X22
def test_a_second_night_at_the_same_instant_packs_nothing(keeping, opened):
    """Nor does one after a restart; and a dry run tells what is to come and does not do
    it.
    """
    keeping.fact("Anna saw a red car.", days=40)
    keeping.fact("Ben reads in the garden.", days=100, **DULL)
    embedded(keeping)
    before = files(keeping)
    plan = told(keeping.run(dry_run=True))
    assert files(keeping) == before
    assert (
        told(keeping.run())
        == plan
        == {"tier": "1 turn cold", "precision": "1 in 4 bits, 1 in 8 bits"}
    )
    later = files(keeping)
    assert later != before
    assert told(keeping.run()) == {}
    again = Keeping(opened(embeddings=keeping.memory.settings.embeddings))
    assert (told(again.run()), files(again)) == ({}, later)


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
def test_what_is_worth_little_turns_cold_and_nothing_is_hidden_by_it(keeping):
    """After 14 days, and it has 8 bits though all of it is retained; its note stays as
    it is and is recalled.
    """
    name = keeping.fact("Anna saw a red car.", days=100, **DULL)
    keeping.fact("Ben saw a boat.", days=100, pinned=True, **DULL)
    keeping.fact("Carl saw a train.", days=13, **DULL)
    embedded(keeping)
    before = keeping.tree()
    report = keeping.run(only="tier")
    assert told(report) == {"tier": "1 turn cold"}
    assert (report.run, keeping.tree()) == ("", before)
    assert stored(keeping)[name] == VectorStorage(32, "cold")
    keeping.run()
    assert stored(keeping)[name] == VectorStorage(8, "cold")
    assert sorted(bits(keeping).values()) == [8, 32, 32]
    hit = keeping.memory.call(
        "recall", {"query": "red car", "kinds": ["fact"], "explain": True}
    )["hits"][0]
    assert (hit["key"], "vector" in hit["parts"]) == (name, True)


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


# row: D13
def test_of_two_copies_the_one_in_more_bits_is_nearer(keeping):
    """The same meaning in other words: alike as long as both are whole, and then by
    what each has kept.
    """
    old, new = (
        "The tea is in the house by the beach.",
        "The beverage is in the flat by the ocean.",
    )
    names = [keeping.fact(old, days=60), keeping.fact(new, days=1)]
    other = keeping.fact("Ben baked bread.", days=60)
    embedded(keeping)
    whole = dict(found(keeping, old))
    assert whole[names[0]] == pytest.approx(whole[names[1]], abs=1e-6)
    keeping.run()
    near = dict(found(keeping, old))
    assert list(near) == [names[1], names[0], other]
    assert near[names[1]] == whole[names[1]]
    assert 0.99 < near[names[0]] < 1 - 1e-4
    answer = keeping.memory.call(
        "recall", {"query": "drinks at the sea", "kinds": ["fact"]}
    )
    assert {hit["key"] for hit in answer["hits"]} >= set(names)


# row: C29
def test_what_went_for_good_in_the_meantime_is_passed_over(memory):
    """The view knows of a vector whose memory is not there."""
    policy, zone = memory.settings.policy, memory.settings.zone
    view = PassView(policy, zone, {}, stored={"F": VectorStorage()})
    assert (
        lifecycle.tier(view, memory.clock())
        == lifecycle.precision(view, memory.clock())
        == []
    )
    assert after(view, VectorPrecision({"F": VectorStorage(2)}, "")).stored == {
        "F": VectorStorage(2)
    }
