"""Recalled text is known again, by its fence and by its words."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from engram.core.language.echo import HandedOut, masked, shingles, unfenced
from engram.core.policy import EchoPolicy
from engram.core.records import SearchHit
from engram.recall.formatting import fenced
from tests.fakes.sentences import rows

POLICY = EchoPolicy()
WHEN = datetime(2026, 3, 2, tzinfo=UTC)
STATEMENTS = (
    "Anna switched to oat milk in March",
    "Mira is vegan",
    "Bens Schwester Judith wohnt seit zwei Jahren in Porto",
    "米拉住在里斯本的一座老房子里，每天早上喝绿茶",
)
HITS = [
    SearchHit(
        f"k{n}", "fact", text, "f.md", 1.0, when=WHEN, speaker="Mira", category="fact"
    )
    for n, text in enumerate(STATEMENTS)
]
BLOCK = fenced(HITS, "0a1b2c3d")
HANDED = shingles(BLOCK, POLICY)


def left(text):
    """What is still to be read, without blanks."""
    return " ".join(text.split())


# row: X7
@pytest.mark.parametrize(
    ("text", "rest"),
    rows("echo", "a_block_ends_where_it_must"),
)
def test_a_block_ends_where_it_must(text, rest):
    """At its own end, which text inside cannot forge; else at any end; else with the
    text.
    """
    assert left(unfenced(text)) == rest


# row: X7
def test_a_pasted_block_without_its_fence_leaves_no_statement():
    """Line by line; at most the label before it is left."""
    lines = "\n".join(BLOCK.split("\n")[1:-1])
    for own in (False, True):
        assert not [
            word
            for word in left(masked(lines, HANDED, POLICY, own=own)).split()
            if word not in {"-", "[fact]"} and len(word) > 2
        ]


# row: X7
def test_a_person_who_corrects_what_was_recalled_is_heard():
    """One word of their own keeps the statement whole; a model's echo of it is masked."""
    text = "No, Anna switched to oat milk in April."
    assert masked(text, HANDED, POLICY, own=True) == text
    assert left(masked(text, HANDED, POLICY)) == "No, April."


# row: X7
def test_a_model_that_weaves_a_memory_into_its_answer_adds_only_the_rest():
    text = "Since Anna switched to oat milk in March, an oat latte would please her."
    assert (
        left(masked(text, HANDED, POLICY)) == "Since , an oat latte would please her."
    )


def test_what_stood_on_both_sides_of_a_mask_is_not_one_sentence():
    text = "I live with Anna switched to oat milk in March in Berlin."
    before, after = masked(text, HANDED, POLICY).split("\n")
    assert (before.strip(), after.strip()) == ("I live with", "in Berlin.")


# row: X7
def test_what_was_handed_out_survives_a_restart():
    """As JSON in which no word can be read; what is damaged is left out."""
    known, again = HandedOut(POLICY), HandedOut(POLICY)
    known.note("one", BLOCK)
    saved = json.dumps(known.dump())
    assert "vegan" not in saved
    again.load(json.loads(saved) | {"two": "no base64!", "three": "AAA=", "four": 7})
    assert again.of("one") == HANDED
    assert set(again.dump()) == {"one"}


def test_memory_of_what_was_handed_out_is_bounded():
    """The latest sessions, of each the latest texts and shingles."""
    known = HandedOut(EchoPolicy(texts=2, sessions=3, shingles=10))
    for session in "abcd":
        for number in range(5):
            known.note(
                session, f"this is text number {number} of the session {session}"
            )
    assert known.of("a") == frozenset()
    assert known.of("d") == {
        shingle
        for number in (3, 4)
        for shingle in shingles(
            f"this is text number {number} of the session d", POLICY
        )
    }
    known.note("d", " ".join(f"w{number}" for number in range(100)))
    assert len(known.of("d")) == 10
    assert len(known.dump()) <= 3
