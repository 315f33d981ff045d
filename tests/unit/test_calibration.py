"""The scale of similarity: monotone, calibrated on a model's own spread, silent where
it knows nothing.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.core.calibration import Scale, calibrate, nominal
from engram.core.policy import SimilarityPolicy
from tests.size import examples

POLICY = SimilarityPolicy()
CUTS = (
    POLICY.floor,
    POLICY.episode,
    POLICY.link,
    POLICY.related,
    POLICY.grey,
    POLICY.close,
    POLICY.same,
    POLICY.duplicate,
)


def model(unrelated, spread, count=20_000):
    """Cosines of pairs as a model gives them that puts the unrelated at `unrelated`."""
    chance = random.Random(7)
    return [min(chance.gauss(unrelated, spread), 1.0) for _ in range(count)]


def test_the_cut_points_are_those_of_the_seeds():
    """In order, and all of them."""
    assert CUTS == (0.20, 0.30, 0.40, 0.60, 0.70, 0.80, 0.85, 0.92)


@pytest.mark.parametrize(
    "samples",
    [
        [],
        [0.1] * 5000,
        model(0.1, 0.1, 999),
        model(0.97, 0.01),
        [float("nan")] * 5000,
        [0.0] * 4000 + [0.5] * 1000,
    ],
    ids=["none", "all alike", "too few", "no room", "no numbers", "steps"],
)
def test_where_nothing_can_be_said_the_scale_is_uncalibrated(samples):
    """Too few pairs, or a model that hardly tells texts apart."""
    assert calibrate(samples) == Scale()


@examples(60)
@given(
    st.lists(st.floats(-1, 1), min_size=20, max_size=200),
    st.lists(st.floats(-1.1, 1.1), min_size=2, max_size=20),
)
def test_a_scale_is_monotone_whatever_it_was_made_from(samples, raws):
    """More alike never counts for less, and similarity stays between -1 and 1."""
    scale = calibrate(samples * 50)
    values = [nominal(raw, scale) for raw in sorted(raws)]
    assert values == sorted(values)
    assert all(-1 <= value <= 1 for value in values)
