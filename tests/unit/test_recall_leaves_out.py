"""What stands beside a match in a conversation and is no answer by itself."""

from __future__ import annotations

import pytest


def told(memory, *texts):
    roles = ("user", "assistant")
    turns = [
        {"session": "s", "role": roles[number % 2], "text": text}
        for number, text in enumerate(texts)
    ]
    memory.call("observe", {"turns": turns})
    memory.call("flush", {})


def recalled(memory, query):
    answer = memory.call("recall", {"query": query})
    return [hit["text"] for hit in answer["hits"]], answer["filtered"]


# row: X24
@pytest.mark.parametrize(
    "text", ["Sounds great, thank you!", "What is the heron called?"]
)
def test_a_courtesy_or_a_question_is_no_hit(memory, text):
    told(memory, text, "The heron at the mill sounds great.", text)
    for query in ("what is the heron called", "sounds great"):
        assert text not in recalled(memory, query)[0]


# row: X24
def test_a_wish_to_forget_is_no_hit(memory):
    told(
        memory,
        "The heron nests at the mill.",
        "Noted.",
        "Please forget that I saw the heron at the lake.",
    )
    assert recalled(memory, "where is the heron")[0] == ["The heron nests at the mill."]


# row: X1
@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("What does the heron at the mill eat?", ""),
        ("Which mill sells organic flour?", "nothing of this fits the question well"),
        ("good night", "nothing in memory fits the question"),
    ],
)
def test_an_answer_says_how_well_it_fits(memory, query, note):
    """A score is the share of the question that a hit covers, whatever the others do."""
    told(memory, "The heron nests at the mill.", "Good to know.")
    answer = memory.call("recall", {"query": query})
    assert answer["note"] == note
    assert all(0 < hit["score"] < 0.8 for hit in answer["hits"])
    if answer["hits"]:
        assert (note in answer["text"].splitlines()) == bool(note)
