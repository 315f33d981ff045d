"""The lexical scale: what may merge two memories, what must be judged, what stays
apart.
"""

from __future__ import annotations

from collections import Counter

import pytest

from engram.core.language.similarity import compared, statement
from engram.index.stems import stems_of
from tests.unit.statement_pairs import pairs

PAIRS = pairs()


def taken(text):
    return statement(text, stems_of)


def zone(one, other):
    value = compared(taken(one), taken(other)).similarity
    return (
        "same"
        if value > 0.85
        else "grey"
        if value >= 0.70
        else "near"
        if value >= 0.40
        else "far"
    )


ZONES = Counter((label, zone(one, other)) for label, one, other in PAIRS)


def of(label):
    return sum(count for (name, _), count in ZONES.items() if name == label)


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
def test_contradictions_are_in_the_grey_zone():
    """At least 95 in 100 of those in the table, so that they are judged."""
    assert ZONES["contradicts", "grey"] >= 0.95 * of("contradicts")


def test_what_is_related_is_mostly_not_judged():
    """At most one in five related pairs costs a verdict, and none that has only the
    person in common.
    """
    assert ZONES["related", "grey"] <= 0.2 * of("related")
    assert ZONES["unrelated", "far"] == of("unrelated")


# row: X8
def test_a_conflict_that_words_show_is_one():
    """No pair that can be true together is called a conflict; at least 95 in 100 that
    cannot are.
    """
    clashes = [
        (label, one, other)
        for label, one, other in PAIRS
        if compared(taken(one), taken(other)).conflict
    ]
    assert [clash for clash in clashes if clash[0] != "contradicts"] == []
    assert len(clashes) >= 0.95 * of("contradicts")


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Anna lives in Berlin.", "Anna lives in Munich.", (0.78, "another home")),
        ("Anna likes tea.", "Anna likes coffee.", (0.6, "shared words")),
        (
            "Anna drinks coffee",
            "Anna doesn't drink coffee any more",
            (0.78, "says the opposite"),
        ),
        (
            "Anna loves oat milk.",
            "Anna really loves oat-milk",
            (0.95, "the same but for emphasis"),
        ),
        ("ANNA loves oat milk!", "Anna loves oat milk", (1.0, "the same words")),
        (
            "Anna works at Siemens",
            "Anna worked at Siemens",
            (0.8, "the same but for inflection or small words"),
        ),
        ("The club has 2 old cats", "The club has 3 old cats", (0.69, "other numbers")),
        ("Anna loves Ben", "Ben loves Anna", (0.69, "another order")),
        (
            "Anna's sister lives in Rome",
            "Anna lives in Rome",
            (0.69, "another owner"),
        ),
    ],
)
def test_the_reason_is_told(one, other, expected):
    """A number and why."""
    found = compared(taken(one), taken(other))
    assert (found.similarity, found.why) == expected


@pytest.mark.parametrize(
    "text", ["", "!!!", "👍", "的", "the", "n't", "'s", "ß" * 5000, "a " * 3000]
)
def test_any_text_can_be_compared(text):
    """With itself it is the same; with a sentence it is not."""
    assert compared(taken(text), taken(text)).similarity == 1.0
    assert compared(taken(text), taken("Anna lives in Berlin")).similarity < 0.4


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Anna lives in Berlin", "Anna lives in Berlin Kreuzberg"),
        ("Anna lives in Munich", "Anna wohnt in Berlin"),
        ("Anna lives in Munich", "Ben lives in Berlin"),
        ("Anna works at Siemens", "Anna works as a nurse"),
    ],
)
def test_a_finer_value_or_another_tongue_is_no_conflict(one, other):
    """Neither is a table of two owners or two attributes."""
    assert compared(taken(one), taken(other)).conflict == ""
