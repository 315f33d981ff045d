"""The lexical scale: what may merge two memories, what must be judged, what stays
apart.
"""

from __future__ import annotations

import pytest

from engram.core.language.similarity import compared, statement
from engram.index.stems import stems_of
from tests.fakes.sentences import rows, tables

PAIRS = [
    (label, *pair)
    for label, listing in tables("statement_pairs").items()
    for pair in listing
]


def taken(text):
    return statement(text, stems_of)


def test_the_table_is_large_enough():
    """At least 150 pairs."""
    assert len(PAIRS) >= 150


# row: A7
# row: X13
@pytest.mark.parametrize(
    ("one", "other"),
    [pair[1:] for pair in PAIRS if pair[0] not in {"same", "paraphrased"}],
)
def test_two_facts_are_never_taken_for_one(one, other):
    """Nothing that says something else reaches the cut of reinforcement, in seven
    languages.
    """
    assert compared(taken(one), taken(other)).similarity <= 0.85


# row: A7
@pytest.mark.parametrize(
    ("one", "other"), [pair[1:] for pair in PAIRS if pair[0] == "same"]
)
def test_a_restatement_is_the_same(one, other):
    """Articles, emphasis, contractions, spelled numbers and the place of a phrase tell
    nothing apart.
    """
    found = compared(taken(one), taken(other))
    assert found.similarity > 0.85
    assert found.distinct == ""


# row: A7
def test_what_cannot_be_true_together_is_distinct():
    """At least 95 in 100 of the contradictions in the table."""
    contradictions = [pair[1:] for pair in PAIRS if pair[0] == "contradicts"]
    told = [
        compared(taken(one), taken(other)).distinct for one, other in contradictions
    ]
    assert sum(map(bool, told)) >= 0.95 * len(told)


def test_what_has_only_the_person_in_common_is_far_apart():
    pairs_apart = [pair[1:] for pair in PAIRS if pair[0] == "unrelated"]
    assert all(compared(taken(a), taken(b)).similarity < 0.4 for a, b in pairs_apart)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    rows("similarity", "the_reason_is_told"),
)
def test_the_reason_is_told(one, other, expected):
    """A number and why."""
    found = compared(taken(one), taken(other))
    assert [found.similarity, found.why] == expected


@pytest.mark.parametrize(
    "text", ["", "!!!", "👍", "的", "the", "n't", "'s", "ß" * 5000, "a " * 3000]
)
def test_any_text_can_be_compared(text):
    """With itself it is the same; with a sentence it is not."""
    assert compared(taken(text), taken(text)).similarity == 1.0
    assert compared(taken(text), taken("Anna lives in Berlin")).similarity < 0.4
