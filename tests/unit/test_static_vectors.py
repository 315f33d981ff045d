"""Meaning without a server, on the real table of the extra `semantic` (row A14)."""

import numpy as np
import pytest

from engram.config import STATIC_TABLE, EmbeddingSettings
from engram.core.policy import VectorPolicy
from engram.errors import ConfigError
from engram.index import static_vectors
from engram.index.static_vectors import StaticEmbedder, is_installed

needs_table = pytest.mark.skipif(
    not is_installed(), reason="engram[semantic] is not installed here"
)


def cosine(one, other):
    return float(np.frombuffer(one, np.float32) @ np.frombuffer(other, np.float32))


# row: A14
@needs_table
@pytest.mark.parametrize(
    ("question", "near", "far"),
    [
        ("adopted my first pet", "Meet Toby, my puppy!", "The train left at nine."),
        ("What is her profession?", "She works as a nurse.", "It rained in Rome."),
        ("car repair", "The garage fixed my vehicle.", "We baked bread."),
    ],
)
def test_other_words_of_the_same_meaning_are_near(question, near, far):
    one, other, third = StaticEmbedder(VectorPolicy()).embed([question, near, far])
    assert cosine(one, other) > cosine(one, third)


@needs_table
def test_each_text_has_a_vector_of_length_one():
    """Also an empty one, one of nothing but signs, and one that is very long."""
    embedder = StaticEmbedder(VectorPolicy())
    texts = ["tea", "", "…", "日本語", "word " * 100_000]
    vectors = embedder.embed(texts)
    assert [len(one) // 4 for one in vectors] == [VectorPolicy().static_dimension] * 5
    assert all(cosine(one, one) == pytest.approx(1, abs=1e-5) for one in vectors)
    assert embedder.question("tea") == vectors[0]


# row: A14
@needs_table
def test_a_memory_is_recalled_by_its_meaning_without_a_server(memory_with_table):
    here = memory_with_table
    for text in (
        "Toby is a puppy that we got in May.",
        "The boiler was serviced on Monday.",
        "Karin bought tickets for the opera.",
    ):
        here.call("remember", {"text": text})
    while here.embed():
        pass
    answer = here.call("recall", {"query": "young dog", "explain": True})
    assert "Toby" in answer["hits"][0]["text"]
    assert "vector" in answer["hits"][0]["parts"]
    assert answer["note"] == ""


@needs_table
def test_word_vectors_only_rank(memory_with_table):
    """`I like tea` and `I hate tea` are near to each other, so they decide nothing."""
    semantic = memory_with_table.index.semantic
    object.__setattr__(semantic, "_calibration_data", calibrated(semantic))
    assert semantic.scale.calibrated
    assert not semantic.may_decide
    assert "ranking only" in memory_with_table.call("status", {})["embeddings"]
    findings = memory_with_table.call("doctor", {})["findings"]
    (told,) = [one["what"] for one in findings if one["code"] == "embeddings"]
    assert told.startswith("The embedding model answers (128 dimensions)")


def calibrated(semantic):
    points = [(-1.0, -1.0), (1.0, 1.0)]
    dimension = semantic.vectors.dimension
    return {"model": STATIC_TABLE, "dimension": dimension, "points": points}


@pytest.fixture
def memory_with_table(opened):
    return opened(embeddings=EmbeddingSettings(STATIC_TABLE))


def test_without_the_table_words_answer_and_say_why(opened, monkeypatch):
    monkeypatch.setattr(static_vectors, "find_spec", lambda _name: None)
    assert not is_installed()
    with pytest.raises(ConfigError, match=r"not installed.*engram\[semantic\]"):
        StaticEmbedder(VectorPolicy())
    here = opened(embeddings=EmbeddingSettings(STATIC_TABLE))
    here.call("remember", {"text": "Toby is a puppy."})
    answer = here.call("recall", {"query": "puppy"})
    assert "Toby" in answer["hits"][0]["text"]
    findings = here.call("doctor", {})["findings"]
    told = [one["what"] for one in findings if one["code"] == "embeddings"]
    assert told
    assert all("engram[semantic]" in what for what in told)
