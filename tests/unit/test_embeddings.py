"""Embeddings with the real client on a real socket: what is sent, what is believed,
what happens when it fails.
"""

from __future__ import annotations

import math
import time
from array import array
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from engram.config import EmbeddingSettings
from engram.core.policy import Policy
from engram.core.records import FiledTurn, Turn
from engram.errors import BadRequestError, BudgetSpentError, ModelError
from engram.index.filters import SearchFilter
from engram.index.search import Index
from engram.llm.budget import Budget, ledger
from engram.llm.embeddings import ServerEmbedder
from engram.pipeline import embed as pipeline_embed
from engram.pipeline.embed import EmbeddingWorker, embed_some
from engram.recall import search
from engram.recall.request import request_for
from engram.vault import sessions
from engram.vault.store import Vault
from tests.fakes.openai_server import (
    Reply,
    garbage,
    hang,
    shape,
    status,
)

NOW = datetime(2026, 11, 20, 20, tzinfo=UTC)
KEY = "sk-canary-0123456789"
POLICY = replace(Policy(), vectors=replace(Policy().vectors, timeout_seconds=5.0))
IMPATIENT = replace(POLICY, vectors=replace(POLICY.vectors, question_seconds=0.3))
SLACK = 20.0
"""Seconds that a loaded machine may add to a timeout."""


@pytest.fixture
def fake(running):
    running.script_embeddings()
    running.requests.clear()
    running.dimension = 256
    return running


def embedder(fake, policy=POLICY, spend=None, key=KEY):
    return ServerEmbedder(
        EmbeddingSettings("e", fake.url, key), policy, spend or Budget(), lambda: NOW
    )


def numbers(vector):
    return array("f", vector).tolist()


def rows(*vectors):
    return shape(
        {
            "data": [
                {"index": n, "embedding": vector} for n, vector in enumerate(vectors)
            ]
        }
    )


# What is sent and what comes back


# Faults. Reply and whether the same batch may succeed later, by name.

FAULTS = {
    "bad request": (status(400, "input is wrong"), False),
    "too long": (status(413), False),
    "rate limit": (status(429, "slow down", retry_after=7), True),
    "a list": (shape([]), True),
    "no vectors": (shape({"data": []}), True),
    "too few vectors": (rows([1.0]), True),
    "too many vectors": (rows([1.0], [1.0], [1.0]), True),
    "items of another type": (shape({"data": ["a", "b"]}), True),
    "numbered twice": (shape({"data": [{"index": 0, "embedding": [1.0]}] * 2}), True),
    "numbered by words": (
        shape(
            {
                "data": [
                    {"index": "0", "embedding": [1.0]},
                    {"index": [], "embedding": [1]},
                ]
            }
        ),
        True,
    ),
    "no list": (rows("AAAA", "AAAA"), True),
    "an empty vector": (rows([], []), True),
    "words for numbers": (rows(["1"], ["2"]), True),
    "null for a number": (rows([1.0, None], [1.0, 2.0]), True),
    "huge integer": (rows([10**400], [1]), True),
    "NaN": (
        Reply(
            raw=b'{"data": [{"index": 0, "embedding": [NaN]}, {"index": 1, "embedding": [1]}]}'
        ),
        True,
    ),
    "infinite": (
        Reply(
            raw=b'{"data": [{"index": 0, "embedding": [1e999]}, {"index": 1, "embedding": [1]}]}'
        ),
        True,
    ),
    "zeros": (rows([0.0, 0.0], [1.0, 0.0]), True),
    "two dimensions": (rows([1.0], [1.0, 0.0]), True),
    "endless vector": (rows([1.0] * 9000, [1.0] * 9000), True),
    "usage of another type": (shape({"data": [], "usage": "lots"}), True),
}


# row: A6
@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_is_a_model_error_that_names_the_place(fake, name):
    """What a server can do wrong gives no vector, and says whether to come back."""
    reply, retryable = FAULTS[name]
    fake.script_embeddings(reply)
    spend = Budget()
    with pytest.raises(ModelError) as caught:
        embedder(fake, spend=spend).embed(["one", "two"])
    assert caught.value.retryable is retryable
    assert fake.url.removeprefix("http://").removesuffix("/v1") in caught.value.where
    assert KEY not in str(caught.value)
    assert (spend.today(NOW).calls, spend.today(NOW).failures) == (1, 1)


def test_batches_of_two_dimensions_are_no_answer(fake):
    """The model changed between two calls."""

    def growing(body):
        fake.dimension += 1

    fake.script_embeddings(growing)
    policy = replace(POLICY, vectors=replace(POLICY.vectors, texts=1))
    with pytest.raises(ModelError, match="differ in length"):
        embedder(fake, policy).embed(["a", "b"])


# The budget


# row: X24
def test_embeddings_use_only_their_share_of_the_day(fake):
    """Half of the calls here; the rest is the language model's."""
    policy = replace(POLICY, model=replace(POLICY.model, calls_per_day=4))
    spend = Budget()
    one = embedder(fake, policy, spend)
    one.embed(["tea"])
    one.question("snow")
    with pytest.raises(BudgetSpentError):
        one.embed(["more"])
    assert (len(fake.requests), spend.today(NOW).calls) == (2, 2)
    spend.take(NOW, policy.model, 1)


@pytest.mark.parametrize("raw", [b"", b"[]", b"nonsense", b"{}"])
def test_a_ledger_is_kept_in_a_file_and_a_damaged_one_begun_anew(tmp_path, raw):
    """Extraction and embedding share it."""
    path = tmp_path / "spend.json"
    path.write_bytes(raw)
    ledger(path).take(NOW, POLICY.model, 5)
    assert ledger(path).today(NOW).calls == 1


# With an index


WORDS = (
    "Anna likes a warm beverage before bed.",
    "The tide is high in Porto.",
    "My flat is near the station.",
    "The keeper paints a lighthouse.",
    "Bread needs flour and salt.",
)


@pytest.fixture
def world(settings, fake):
    """An index over a conversation in a vault, and its embedding model."""

    class World:
        def __init__(self, policy=POLICY, name="e"):
            model = EmbeddingSettings(name, fake.url)
            quiet = replace(policy, files=replace(policy.files, racy_seconds=0))
            self.settings = replace(settings, policy=quiet, embeddings=model)
            self.index = Index(self.settings, Vault(self.settings.vault))
            self.seconds = 0.0
            self.embedding = EmbeddingWorker(
                self.settings, model, Budget(), lambda: NOW, lambda: self.seconds
            )

        def say(self, *texts, note="2026-11-20-talk"):
            turns = [
                FiledTurn(Turn(f"u{n}", "talk", "user", text, NOW), note, f"t{n}")
                for n, text in enumerate(texts, 1)
            ]
            path = self.settings.vault / sessions.path(note)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(sessions.new_session(turns, self.settings.zone))
            self.index.scan(None)

        def recall(self, query, **wishes):
            ask = request_for(self.settings, NOW, query, **wishes)
            embed = self.embedding.question
            return search.recall(
                self.index, self.settings, ask, mark="m", complete=True, embed=embed
            )

        def fill(self, limit=100):
            return embed_some(self.index, self.embedding, limit)

    settings.cache.mkdir(parents=True)
    settings.state.mkdir(parents=True)
    made = []

    def start(*args, **more):
        while made:
            made.pop().index.close()
        made.append(World(*args, **more))
        return made[-1]

    yield start
    made.pop().index.close()


def texts(answer):
    return [hit.text for hit in answer.hits]


# row: A15
def test_beliefs_are_ranked_by_their_cosine(world):
    """Half of it is in the score, whatever the words say."""
    here = world()
    here.say(*WORDS)
    here.fill()
    hits = here.recall("Any drinks?", preset="belief").hits
    vector = here.embedding.question("Any drinks?", 9.0)()
    near = here.index.near(vector, SearchFilter(), 9, [hit.key for hit in hits])
    cosines = {one.key: one.similarity for one in near}
    assert hits[0].text == WORDS[0]
    for hit in hits:
        cosine = max(0.0, cosines[hit.key])
        assert hit.parts["vector"] == pytest.approx(0.5 * cosine)
        assert hit.rank == pytest.approx(sum(hit.parts.values()))


def test_the_question_is_sent_without_the_speakers_name(world, fake):
    """Words find the speaker; a name would draw all she said near."""
    here = world()
    turn = Turn("u1", "talk", "user", "I paint lighthouses.", NOW, speaker="Anna")
    here.index.add_turns([FiledTurn(turn, "2026-11-20-talk", "t1")])
    here.fill()
    here.recall("What does Anna paint?")
    assert fake.requests[-1].body["input"] == ["What does paint?"]


# row: A14
@pytest.mark.parametrize(
    "reply", [status(401), status(500), garbage(), hang(), rows([math.pi])]
)
def test_recall_falls_back_to_words_and_says_so(world, fake, reply):
    """Hits and scores are those of an index without vectors; the fault is no error."""
    here = world(IMPATIENT)
    here.say(*WORDS)
    here.fill()
    plain = search.recall(
        here.index,
        here.settings,
        request_for(here.settings, NOW, "lighthouse"),
        mark="m",
        complete=True,
    )
    fake.script_embeddings(reply)
    answer = here.recall("lighthouse")
    assert answer.mode == "words"
    assert answer.note.startswith("vectors not used: ")
    assert (answer.hits, answer.text) == (plain.hits, plain.text)
    assert here.recall("zeppelin").note.startswith(
        "nothing in memory fits the question; vectors not used"
    )


# row: A14
def test_a_model_that_hangs_delays_one_answer_not_all(world, fake):
    """After a fault it rests; then it is asked again."""
    here = world(IMPATIENT)
    here.say(*WORDS)
    here.fill()
    fake.script_embeddings(hang())
    began = time.monotonic()
    here.recall("lighthouse")
    assert time.monotonic() - began < SLACK
    asked = len(fake.requests)
    assert "vectors not used" in here.recall("tide").note
    assert len(fake.requests) == asked
    fake.script_embeddings()
    here.seconds += here.settings.policy.vectors.rest_seconds
    assert here.recall("tide").note == ""


def test_a_wrong_address_is_told_and_is_no_error(world):
    """As with any other fault of the model."""
    here = world()
    here.say(*WORDS)
    here.fill()
    wrong = EmbeddingSettings("e", "http://example.org/v1")
    here.embedding = EmbeddingWorker(here.settings, wrong, Budget(), lambda: NOW)
    assert "embeddings.base_url is plain http" in here.recall("tide").note


def test_until_enough_is_embedded_words_decide_and_no_call_is_made(world, fake):
    """Half of all units is enough."""
    here = world()
    here.say(*WORDS)
    assert (
        here.recall("tide").note
        == "vectors not used: 0 of 5 memories are embedded so far; the others are"
        " embedded while a daemon runs"
    )
    here.fill(2)
    assert "2 of 5" in here.recall("tide").note
    assert all(len(request.body["input"]) == 2 for request in fake.requests)
    here.fill(1)
    assert here.recall("tide").note == ""


# row: X18
def test_a_turn_said_just_now_is_found_though_it_has_no_vector(world):
    """It counts as the average does, and is not pushed out by those that have one."""
    here = world()
    here.say(*WORDS)
    here.fill()
    turn = Turn("w", "later", "user", "A zeppelin over the tide.", NOW)
    here.index.add_turns([FiledTurn(turn, "2026-11-20-later", "t1")])
    assert texts(here.recall("zeppelin"))[0] == turn.text


# Filling


def test_filling_goes_on_where_it_stopped_and_ends(world, fake):
    """So many a call, each text once, none twice after a restart."""
    here = world()
    here.say(*WORDS, WORDS[0])
    assert [here.fill(4), here.fill(4), here.fill(4)] == [4, 1, 0]
    assert here.index.semantic.coverage(here.index.lexical) == (6, 6)
    again = world()
    assert again.fill() == 0
    assert sorted(
        text for request in fake.requests for text in request.body["input"]
    ) == sorted(WORDS)


def test_a_text_too_long_is_shortened_and_the_others_are_embedded(world, fake):
    """A batch is parted, the long text halved until the model takes it."""

    def small_context(body):
        return (
            status(400, "maximum context length")
            if any(len(text) > 300 for text in body["input"])
            else None
        )

    fake.script_embeddings(small_context)
    here = world()
    here.say(*WORDS, "long " * 200)
    assert here.fill() == 6
    assert here.fill() == 0


def test_a_text_that_is_refused_for_good_is_let_lie(world, fake):
    """It does not keep the others from being embedded, nor is it asked for without end."""

    def picky(body):
        return (
            status(400, "not this")
            if any("salt" in text for text in body["input"])
            else None
        )

    fake.script_embeddings(picky)
    here = world()
    here.say(*WORDS)
    assert (here.fill(), here.fill()) == (4, 0)
    here.say(*WORDS, "More salt.")
    with pytest.raises(ModelError):
        here.fill()


def test_calibration_reads_the_users_own_facts_and_is_kept(world):
    """Per model and dimension, by itself once there are pairs enough; with few facts
    nothing may merge.
    """
    here = world()
    assert not pipeline_embed.calibrate(here.index)["calibrated"]
    assert pipeline_embed.calibrate_when_due(here.index) is None
    folder = here.settings.vault / "facts"
    folder.mkdir()
    subjects = (
        "Anna",
        "Ben",
        "Carla",
        "the cat",
        "the garden",
        "our boat",
        "grandmother",
        "the choir",
    )
    deeds = (
        "likes tea",
        "lives in Porto",
        "sings on Sundays",
        "fears thunder",
        "paints the lighthouse",
        "needs rest",
    )
    for subject in subjects:
        for deed in deeds:
            (folder / f"{subject} {deed}.md").write_text(
                f"{subject} {deed} every {len(deed)} days.\n"
            )
    here.index.scan(None)
    here.fill()
    told = pipeline_embed.calibrate_when_due(here.index)
    assert pipeline_embed.calibrate_when_due(here.index) is None
    assert (told["calibrated"], told["facts"], told["pairs"], told["model"]) == (
        True,
        48,
        1128,
        "e",
    )
    found = here.index.semantic.scale
    again = world()
    assert again.index.semantic.scale == found
    assert found.calibrated
    assert not world(name="another").index.semantic.scale.calibrated


def test_without_a_model_there_is_nothing_to_embed(settings):
    """And nothing on disk."""
    settings.cache.mkdir(parents=True)
    index = Index(settings, Vault(settings.vault))
    assert (
        index.semantic,
        index.unembedded(5),
        index.near(b"", SearchFilter(), 1, []),
    ) == (None, [], ())
    assert not (settings.cache / "vectors").exists()
    with pytest.raises(BadRequestError):
        pipeline_embed.calibrate(index)
    index.close()
