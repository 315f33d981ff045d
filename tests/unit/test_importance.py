"""Surprise at writing, and the nine factors."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engram.core.importance import (
    ImportanceInputs,
    Surprise,
    activation,
    after_surprise,
    composite_importance,
    surprise,
)
from engram.core.policy import DedupPolicy, SimilarityPolicy

POLICY, CUTS = DedupPolicy(), SimilarityPolicy()
MOST = ImportanceInputs(1.0, 1.0, "semantic", 1.0, 10**9, 0.0, 0.0, 10**9)


# row: D3
@pytest.mark.parametrize(
    ("similarities", "score", "gain", "duplicate"),
    [
        ((), 1.0, 0.15, False),
        ((0.65,), 0.5, 0.0, False),
        ((0.0,) * 5, 0.9985, 0.2991, False),
        ((1.0,) * 5, 0.0293, -0.2824, True),
        ((0.92, 0.0), 0.8699, 0.0, True),
        ((0.919, 0.0), 0.8705, 0.2223, False),
        ((0.65,) * 5 + (0.0,) * 20, 0.5, 0.0, False),
    ],
)
def test_surprise_is_the_mean_distance_of_the_nearest(
    similarities, score, gain, duplicate
):
    """Up to five of them; nothing stored is a surprise, but a modest one."""
    assert surprise(similarities, POLICY, CUTS) == Surprise(score, gain, duplicate)


# row: D3
@pytest.mark.parametrize(
    ("before", "gain", "after"), [(0.5, 0.3, 0.8), (0.9, 0.3, 1.0), (0.1, -0.3, 0.05)]
)
def test_importance_stays_within_bounds_after_a_surprise(before, gain, after):
    """From .05 to 1."""
    assert after_surprise(before, gain, POLICY) == after


# row: D2
def test_eight_factors_reach_seventy_six_hundredths():
    """As the row says, without the ACT-R term; with it, .84 at most."""
    assert composite_importance(MOST, POLICY) == pytest.approx(0.759)
    assert composite_importance(
        replace(MOST, ages=(0.0,) * 10**4), POLICY
    ) == pytest.approx(0.839, abs=1e-4)


# row: D2
@pytest.mark.parametrize(
    ("ages", "expected"),
    [((), 0.0), ((1.0,), 0.5), ((4.0, 4.0), 0.5), ((1.0, 1.0, 1.0), 0.75)],
)
def test_activation_is_the_squashed_base_level(ages, expected):
    """One use yesterday is worth as much as two of four days ago."""
    assert activation(ages, POLICY) == expected
