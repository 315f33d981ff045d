"""Vectors in fewer bits: how near they stay to what they were, and how they compare."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.index.quantize import (
    PRECISIONS,
    dequantise,
    fisher_rao,
    quantise,
    spread,
)
from tests.size import examples

RUNS = examples(100)
numbers = st.floats(-1e6, 1e6, width=32)


def units(count, dimension, seed=7):
    found = (
        np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    )
    return found / np.linalg.norm(found, axis=-1, keepdims=True)


# row: D12
def test_bytes_that_cannot_be_such_vectors_are_refused():
    """A wrong length or number of bits is told, not guessed at."""
    packed = quantise(units(1, 9)[0], 4)
    with pytest.raises(
        ValueError, match="13 bytes are no vector of 11 numbers of 4 bits"
    ):
        dequantise(packed, 4, 11)
    with pytest.raises(ValueError, match="not to 3"):
        quantise(units(1, 9), 3)


# row: D13
@RUNS
@given(st.integers(0, 10**6), st.integers(1, 400), st.sampled_from(PRECISIONS))
def test_a_float_copy_beats_its_own_quantised_copy(seed, dimension, bits):
    """Also where the cut-down copy has not lost anything but its certainty."""
    (vector,) = units(1, dimension, seed)
    copy = dequantise(quantise(vector, bits), bits, dimension)
    whole = fisher_rao(vector, spread(32), vector, spread(32))
    assert whole == 0
    assert fisher_rao(vector, spread(32), copy, spread(bits)) > whole
    assert fisher_rao(vector, spread(32), vector, spread(bits)) > whole


# row: D13
def test_fewer_bits_are_less_certain():
    """A step of 2/2^bits adds a twelfth of its square to the variance; nothing is added
    to whole numbers.
    """
    assert spread(32) == 1.0
    assert spread(2) == pytest.approx((1 + 0.25 / 12) ** 0.5)
    assert spread(32) < spread(8) < spread(4) < spread(2)
