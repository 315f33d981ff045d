"""What lies beside a statement: words, vectors and a model's verdict, on a real index
and a real socket.
"""

from __future__ import annotations

import gc
import json
import weakref
from dataclasses import replace

import pytest

from engram.config import EmbeddingSettings, ModelSettings
from engram.core.records import Fact
from engram.pipeline.plan import WritePlan
from tests.fakes.batches import batch_of, by_text, every, held_back, rows, tell, texts
from tests.fakes.openai_server import FakeServer, fact, hang, prompt_text, status

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


def understood(memory, fake, text, *verdicts, **more):
    """The user says so; the model states it in the same words and then gives its
    verdicts; what became of it.
    """
    words = f"{text} I thought I had better mention that."
    batch = batch_of(memory, words, **more)
    fake.script(
        {"facts": [fact("t1", text, text)], "entities": [], "relations": []},
        *(verdicts or ({},)),
    )
    return memory.pipeline.file(batch, memory.pipeline.distil(batch))


def embedded(memory):
    while memory.embed():
        pass


def verdict(relation, index=1):
    return {"relation": relation, "index": index}


def questions(fake):
    """What the model was asked to compare."""
    return [prompt_text(body) for body in fake.asked][1:]


# -- a model judges --------------------------------------------------------------------


# row: A7
# row: A9
# row: A11
def test_the_model_is_asked_once_and_its_verdict_is_carried_out(asking, fake):
    """It sees the statement and what is near, and answers by number."""
    memory = asking()
    tell(memory, BERLIN)
    understood(memory, fake, MUNICH, verdict("contradicts"))
    (question,) = questions(fake)
    assert f'1. "{BERLIN}"' in question
    assert f'"{MUNICH}"' in question
    assert fake.asked[1]["temperature"] == 0
    assert (texts(memory), texts(memory, "invalidated")) == ([MUNICH], [BERLIN])


# row: A8
# row: A9
def test_what_the_model_calls_the_same_becomes_one_note(asking, fake, clock):
    """In the newer words, unless the memory is protected."""
    memory = asking()
    old, new = "The choir sings in the hall.", "The choir sings in the big hall."
    tell(memory, old)
    clock.advance(days=1)
    understood(memory, fake, new, verdict("same"))
    (kept,) = every(memory)
    assert (kept.text, kept.confidence) == (new, 0.6)
    assert f"- until 2026-11-21: {old}\n" in memory.vault.read(kept.path).decode()


# row: A9
@pytest.mark.parametrize(
    ("answer", "asked"),
    [
        (verdict("independent", 0), 1),
        (verdict("contradicts", 7), 2),
        (verdict("contradicts", 0), 2),
        ("I do not know.", 2),
        ({"relation": 3}, 2),
    ],
)
def test_a_verdict_that_names_nothing_changes_nothing(asking, fake, answer, asked):
    """Both stay. Where the answer cannot be used, the model is asked once more."""
    memory = asking()
    tell(memory, BERLIN)
    understood(memory, fake, MUNICH, answer)
    assert texts(memory) == [BERLIN, MUNICH]
    assert len(questions(fake)) == asked


# row: A9
@pytest.mark.parametrize(
    ("answer", "warning"),
    [
        ("I do not know.", "the verdict cannot be read"),
        (
            verdict("contradicts", 7),
            "the verdict names no statement that was shown",
        ),
        (verdict("independent", 0), None),
    ],
)
def test_why_shows_that_a_verdict_could_not_be_used(asking, fake, answer, warning):
    """The statement is new; its decision says why it was not compared."""
    memory = asking()
    tell(memory, BERLIN)
    (created,) = understood(memory, fake, MUNICH, answer).created
    stored = memory.call("why", {"id": created})["decisions"][0]
    assert (stored["action"], stored.get("warning")) == ("store", warning)


# row: A9
@pytest.mark.parametrize("again", ["at once", "after a restart"])
def test_a_pair_that_the_model_told_apart_is_not_asked_about_again(asking, fake, again):
    """Another pair is; and an answer that could not be read is kept for none."""
    memory = asking()
    tell(memory, BERLIN)
    for fact_id in understood(memory, fake, MUNICH, verdict("independent", 0)).created:
        (memory.settings.vault / memory.index.catalog.find_fact(fact_id).path).unlink()
    if again == "after a restart":
        memory = asking()
    memory.files.rescan(None, accept_deletions=True)
    fake.requests.clear()
    understood(memory, fake, MUNICH)
    assert questions(fake) == []
    fake.requests.clear()
    understood(memory, fake, "Anna lives in Rome.", "I do not know.")
    assert len(questions(fake)) == 2
    assert {row["action"] for row in rows(memory) if "pair" in row} == {"apart"}


# row: A9
# row: X2
@pytest.mark.parametrize("fault", [status(500), status(401), status(429)])
def test_a_model_that_fails_to_judge_costs_no_fact(asking, fake, fault):
    """The statement is filed without a verdict."""
    memory = asking()
    tell(memory, BERLIN)
    understood(memory, fake, MUNICH, fault)
    assert texts(memory) == [BERLIN, MUNICH]


# row: A9
def test_nothing_near_asks_nothing(asking, fake):
    """No call is spent."""
    memory = asking()
    tell(memory, "The moon is far away.")
    understood(memory, fake, MUNICH)
    assert questions(fake) == []


# row: A9
# row: C12
def test_a_verdict_on_what_changed_meanwhile_is_void(asking, fake):
    """Between question and filing a person forgot the old memory: the new one is simply
    kept.
    """
    memory = asking()
    (old,) = tell(memory, BERLIN).created
    batch = batch_of(memory, f"{MUNICH} I thought I had better mention that.")
    fake.script({"facts": [fact("t1", MUNICH, MUNICH)]}, verdict("contradicts"))
    outcome = memory.pipeline.distil(batch)
    memory.call("forget", {"id": old})
    memory.pipeline.file(batch, outcome)
    assert (texts(memory), by_text(memory, BERLIN).superseded_by) == ([MUNICH], ())


# -- meaning ---------------------------------------------------------------------------


# row: A7
# row: A6
def test_a_paraphrase_reaches_the_judge_by_its_meaning(asking, fake):
    """On a calibrated scale that puts the two where a judgement is wanted."""
    memory = asking(calibrated=[(-1, -1), (0.8, 0.7), (1, 0.85)])
    tell(memory, BEACH)
    embedded(memory)
    understood(memory, fake, OCEAN, verdict("same"))
    assert f'1. "{BEACH}"' in questions(fake)[0]
    assert texts(memory) == [OCEAN]


# row: A7
def test_on_a_calibrated_scale_what_means_the_same_is_one_memory(asking, fake):
    """Whatever a model would say of it."""
    memory = asking(calibrated=[(-1, -1), (0.8, 0.86), (1, 1)])
    tell(memory, BEACH)
    embedded(memory)
    understood(memory, fake, OCEAN, verdict("independent", 0))
    assert texts(memory) == [BEACH]
    assert by_text(memory, BEACH).confidence == 0.6


# row: A7
def test_words_that_tell_two_facts_apart_beat_any_vector(asking, fake):
    """Another value of one attribute is never the same, however near its vector is."""
    memory = asking(calibrated=[(-1, -1), (0.1, 0.99), (1, 1)])
    tell(memory, BERLIN)
    embedded(memory)
    understood(memory, fake, MUNICH, verdict("independent", 0))
    assert texts(memory) == [BERLIN, MUNICH]


# row: A7
def test_numbers_that_are_not_calibrated_merge_nothing(asking, fake):
    """They are not even looked up."""
    memory = asking(embeddings=True)
    tell(memory, BEACH)
    embedded(memory)
    understood(memory, fake, OCEAN)
    assert (texts(memory), questions(fake)) == (sorted((BEACH, OCEAN)), [])
    assert not memory.index.semantic.vector(OCEAN)


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


# row: A6
def test_a_statement_is_embedded_once(asking, fake):
    """All of a batch in one call, and none that is known."""
    memory = asking(calibrated=[(-1, -1), (1, 1)])
    tell(memory, BEACH)
    embedded(memory)
    fake.requests.clear()
    for _ in range(2):
        memory.reconciler.comparison.embed_new(
            [BEACH, OCEAN, MUNICH, OCEAN], memory.embedding.vectors
        )
    assert [request.body["input"] for request in fake.requests] == [[OCEAN, MUNICH]]


# -- neighbours ------------------------------------------------------------------------


def weighed(memory, text, when=None, plan=None, **more):
    fact = Fact("", text, created=memory.clock(), **more)
    return memory.reconciler.comparison.near(fact, when or memory.clock(), plan)


# row: A7
def test_the_nearest_come_first_and_five_are_compared(held):
    """Whatever else shares a word."""
    for place in ["Porto", "Rome", "Oslo", "Bern", "Lyon", "Turin", "Malmö"]:
        tell(held, f"Anna painted her wooden boat red in {place}.")
    tell(held, "A boat is a ship.")
    near = weighed(held, "Anna painted her wooden boat blue in Oslo.")
    assert near[0].fact.text == "Anna painted her wooden boat red in Oslo."
    assert [one.similarity for one in near] == sorted(
        (one.similarity for one in near), reverse=True
    )
    assert len(near) == 8
    few = replace(
        held.settings.policy, dedup=replace(held.settings.policy.dedup, pool=3)
    )
    held.reconciler.comparison.neighbours.settings = replace(held.settings, policy=few)
    assert len(weighed(held, "Anna painted her wooden boat blue in Oslo.")) == 3


# row: A7
def test_only_what_could_be_recalled_is_compared(held, clock):
    """Not what is over, forgotten, or waits for a person; what was ended is seen, for a
    crash may have left it so.
    """
    tell(held, "Anna loves tea.", lifetime="week")
    again = "Anna really loves tea."
    assert [one.visible for one in weighed(held, again)] == [True]
    clock.advance(days=8)
    assert [one.visible for one in weighed(held, again)] == [False]
    (anew,) = tell(held, "Anna loves tea.").created
    held.call("forget", {"id": anew})
    tell(held, "Anna truly loves tea.", quote="")
    assert weighed(held, again) == ()


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


# row: A7
def test_a_batch_meets_its_own_statements_as_they_will_stand(held):
    """New ones are seen, and known ones as they are left."""
    tell(held, BERLIN)
    plan = WritePlan(held.settings, held.clock(), held.note_writer)
    new = Fact("01KBH2Q0M6T4W2Y0B7C5D9E1FX", MUNICH, created=held.clock())
    plan.add(plan.with_path(new), "new", "", asking=False)
    assert {
        near.fact.text for near in weighed(held, "Anna lives in Rome.", plan=plan)
    } == {BERLIN, MUNICH}


# row: E5
def test_the_same_slot_is_compared_from_further_away(asking, fake):
    """Two habits of one person are judged where two statements of different kinds are
    not.
    """
    habit = {"about": ("Anna",), "tags": ("habit",)}
    memory = asking()
    tell(memory, "Anna drinks tea with milk every morning.", **habit)
    ladder, new = (
        memory.reconciler.comparison,
        Fact("", "Anna drinks coffee with sugar every morning.", about=("Anna",)),
    )
    assert [one.same_slot for one in ladder.near(new, memory.clock())] == [False]
    tagged = replace(new, tags=("habit",))
    assert [one.same_slot for one in ladder.near(tagged, memory.clock())] == [True]


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


# row: X20
def test_a_rebuilt_index_lets_the_old_one_go(held):
    """The ladder reads the index that there is."""
    tell(held, BERLIN)
    weighed(held, MUNICH)
    old = weakref.ref(held.index.lexical)
    held.call("reindex", {})
    assert weighed(held, MUNICH)[0].conflict == "another home"
    gc.collect()
    assert old() is None
