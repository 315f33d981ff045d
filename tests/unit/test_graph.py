"""Ties between memories: how they are made, how they fade, where activation goes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.core.graph import (
    inhibit,
    positions,
    refine,
    reinforce,
    similarity_edges,
    spread_activation,
    weighted_edges,
)
from engram.core.policy import LinkPolicy
from engram.core.records import Edge, Fact
from tests.size import examples

POLICY = LinkPolicy()
NOW = datetime(2026, 3, 4, tzinfo=UTC)
SHARES = st.floats(0, 1)


def ago(days):
    return NOW - timedelta(days=days)


def tie(source, target, kind="similar", confidence=1.0, **more):
    return Edge(source, target, kind, confidence=confidence, reinforced=NOW, **more)


# row: A13
def test_a_memory_is_tied_to_its_three_nearest_that_are_no_duplicates():
    """0.40 ≤ s < 0.85, and each pair stands in one order."""
    near = [
        ("a", 0.85),
        ("b", 0.84),
        ("z", 0.5),
        ("c", 0.40),
        ("d", 0.41),
        ("e", 0.39),
        ("m", 0.8),
        ("b", 0.8),
    ]
    made = similarity_edges("m", near, NOW, POLICY)
    assert [(edge.source, edge.target, edge.type) for edge in made] == [
        ("b", "m", "similar"),
        ("m", "z", "similar"),
        ("d", "m", "similar"),
    ]
    assert {(edge.confidence, edge.reinforced) for edge in made} == {(1.0, NOW)}


def test_reinforcing_adds_a_twentieth_unless_told_otherwise():
    """And an edge that was never anchored does not fade before."""
    again = reinforce(Edge("a", "b", "time", confidence=0.5), NOW, POLICY)
    assert (again.confidence, again.reinforced) == (0.55, NOW)


def spread_over(seeds, edges, policy):
    """Activation where all ties are known from the beginning."""
    return spread_activation(
        seeds, lambda _nodes: weighted_edges(edges, NOW, policy), policy
    )


EDGES = st.lists(
    st.builds(
        lambda ends, kind, confidence: tie(*ends, kind, confidence),
        st.lists(st.sampled_from("abcdefgh"), min_size=2, max_size=2, unique=True),
        st.sampled_from(["similar", "entity", "time", "causal", "relation"]),
        SHARES,
    ),
    max_size=20,
)


# row: C34
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("I moved, because of this I sold it.", True),
        ("As a result, the plan changed", True),
        ("THEREFORE we wait", True),
        ("For that reason I stay", True),
        ("It rained, which is why I stayed", True),
        ("Deswegen bleibe ich", True),
        ("Par conséquent, je reste", True),
        ("所以我留下", True),
        ("Because I like it", False),
        ("the seasons and reasons why", False),
    ],
)
def test_a_statement_that_names_its_cause_is_caused(text, told):
    """In its place in the conversation, after what led to it."""
    last = positions(Fact("f", text, source="2026-11-20-talk#^t3"))[-1]
    assert last.cause is told


# row: C34
def test_causes_lead_to_effects_only_and_faint_or_ended_ties_nowhere():
    """All other ties go both ways."""
    plain = LinkPolicy(rounds=0, inhibition=0)
    edges = [tie("a", "b", "causal"), tie("c", "a", "causal"), tie("d", "a", "entity")]
    assert set(spread_over({"a": 1.0}, edges, plain)) == {"b", "d"}
    faint = [
        tie("a", "b", "time", 0.19),
        tie("a", "c", "time", 0.2),
        tie("a", "d", "relation", valid_until=NOW),
    ]
    assert set(spread_over({"a": 1.0}, faint, plain)) == {"c"}
    old = [Edge("a", "b", "time", confidence=0.3, reinforced=ago(300))]
    assert spread_over({"a": 1.0}, old, plain) == {}


# row: C34
@examples(100)
@given(edges=EDGES, seeds=st.dictionaries(st.sampled_from("abc"), SHARES, min_size=1))
def test_activation_stays_in_range_and_off_the_seeds(edges, seeds):
    """Nothing is activated from nothing."""
    found = spread_over(seeds, edges, POLICY)
    assert not seeds.keys() & found.keys()
    assert all(
        0 <= value <= 0.7 * max(seeds.values()) + 1e-9 for value in found.values()
    )


# row: C34
@examples(100)
@given(
    scores=st.dictionaries(st.sampled_from("abcdef"), SHARES, min_size=1),
    weighted_edges=st.dictionaries(
        st.sampled_from("abcdef"),
        st.dictionaries(st.sampled_from("abcdefx"), st.floats(0.2, 1), max_size=4),
        max_size=6,
    ),
)
def test_refinement_moves_activation_and_makes_none(scores, weighted_edges):
    """A node that leads nowhere keeps its share, so the sum stays."""
    after = refine(scores, weighted_edges, POLICY)
    assert after.keys() == scores.keys()
    assert sum(after.values()) == pytest.approx(sum(scores.values()))
    assert all(value >= 0 for value in after.values())


# row: C34
@examples(100)
@given(scores=st.dictionaries(st.integers(0, 20), SHARES, min_size=1))
def test_inhibition_keeps_the_order_and_the_strongest(scores):
    """It only widens the gaps."""
    after = inhibit(scores, POLICY)
    best = max(scores, key=scores.__getitem__)
    assert after[best] == scores[best]
    assert all(after[node] <= value for node, value in scores.items())
    for one, two in pairwise(sorted(scores, key=scores.__getitem__)):
        assert after[one] <= after[two]
