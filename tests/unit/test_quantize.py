"""Vectors in fewer bits: how near they stay to what they were, and how they compare."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from engram.index.quantize import (
    PRECISIONS,
    dequantise,
    fisher_rao,
    quantise,
    size,
    spread,
)
from tests.size import examples

RUNS = examples(100)
FIDELITY = {8: 0.9999, 4: 0.97, 2: 0.59}
numbers = st.floats(-1e6, 1e6, width=32)
vectors = st.integers(1, 40).flatmap(
    lambda dimension: arrays(np.float32, dimension, elements=numbers)
)


def units(count, dimension, seed=7):
    found = (
        np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    )
    return found / np.linalg.norm(found, axis=-1, keepdims=True)


def cosine(one, other):
    return (
        np.sum(one * other, axis=-1)
        / np.linalg.norm(one, axis=-1)
        / np.linalg.norm(other, axis=-1)
    )


# row: D12
@pytest.mark.parametrize(
    "dimension", [1, 2, 3, 4, 5, 6, 7, 9, 31, 383, 384, 385, 1536, 3073]
)
@pytest.mark.parametrize("bits", PRECISIONS)
def test_every_vector_stays_near_to_what_it_was(bits, dimension):
    """The worst of many reaches the seed's fidelity, in any dimension."""
    before = units(200 if dimension < 1000 else 20, dimension)
    packed = quantise(before, bits)
    assert packed.shape == (len(before), size(dimension, bits))
    assert cosine(before, dequantise(packed, bits, dimension)).min() >= FIDELITY[bits]


# row: D12
@RUNS
@given(vectors, st.sampled_from(PRECISIONS))
def test_no_number_is_more_than_half_a_step_off(vector, bits):
    """The least and the greatest number come back as they were, a vector of one value
    altogether.
    """
    after = dequantise(quantise(vector, bits), bits, len(vector))
    step = (float(vector.max()) - float(vector.min())) / (2**bits - 1)
    assert (
        np.abs(after.astype(np.float64) - vector).max()
        <= step / 2 + 1e-6 * np.abs(vector).max()
    )
    ends = [after.min(), after.max()], [vector.min(), vector.max()]
    assert np.allclose(*ends, rtol=0, atol=1e-6 * np.abs(vector).max())


# row: D12
@RUNS
@given(vectors, st.sampled_from(PRECISIONS))
def test_packing_what_was_packed_changes_nothing(vector, bits):
    """So a vector is not worn down by being read and written."""
    once = dequantise(quantise(vector, bits), bits, len(vector))
    assert np.array_equal(dequantise(quantise(once, bits), bits, len(once)), once)


# row: D12
def test_a_row_of_many_is_packed_as_it_would_be_alone():
    """In the same bytes; none gives none."""
    rows = units(5, 10)
    for bits in PRECISIONS:
        packed = quantise(rows, bits)
        assert [quantise(row, bits).tobytes() for row in rows] == [
            one.tobytes() for one in packed
        ]
        assert np.array_equal(
            dequantise(packed[2], bits, 10), dequantise(packed, bits, 10)[2]
        )
        assert dequantise(quantise(rows[:0], bits), bits, 10).shape == (0, 10)


# row: D12
def test_the_bytes_are_the_ends_and_then_the_steps_from_the_low_bits_up():
    """What stands on disk is read elsewhere; -1, -1/3, 1/3 and 1 are the four steps,
    and the rest is filled.
    """
    vector = np.array([-1, -0.4, 0.4, 1, 1], np.float32)
    packed = quantise(vector, 2).tobytes()
    assert packed[:8] == b"\x00\x00\x80\xbf\x00\x00\x80\x3f"
    assert packed[8:] == bytes([0b11100100, 0b00000011])


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
def test_the_distance_of_two_gaussians_is_the_known_one():
    """Alike 0; means 1 apart at 1: .980; deviations 1 and 2: .980; dimensions add up
    like sides of a triangle.
    """
    zero, one = np.zeros(1, np.float32), np.ones(1, np.float32)
    assert fisher_rao(zero, 1.0, zero, 1.0) == 0
    assert fisher_rao(zero, 1.0, one, 1.0) == pytest.approx(0.980, abs=0.0005)
    assert fisher_rao(zero, 1.0, zero, 2.0) == pytest.approx(0.980, abs=0.0005)
    both = fisher_rao(
        np.array([0, 0], np.float32),
        np.array([1.0, 1.0]),
        np.array([1, 0], np.float32),
        [1.0, 2.0],
    )
    assert both == pytest.approx(0.9803 * 2**0.5, abs=0.0005)
    assert fisher_rao(zero, 1.0, np.array([[0], [1]], np.float32), 1.0).shape == (2,)


# row: D13
@RUNS
@given(
    arrays(np.float32, (3, 4), elements=st.floats(-4, 4, width=32)),
    arrays(np.float64, (3, 4), elements=st.floats(0.1, 4)),
)
def test_the_distance_is_one(means, deviations):
    """As far one way as the other, never below 0, and no way round is shorter."""
    ab, ba, bc, ac = (
        fisher_rao(means[i], deviations[i], means[j], deviations[j])
        for i, j in ((0, 1), (1, 0), (1, 2), (0, 2))
    )
    assert ab == pytest.approx(ba)
    assert 0 <= ac <= ab + bc + 1e-9


# row: D13
@pytest.mark.parametrize("bits", [32, *PRECISIONS])
def test_equal_bits_rank_like_plain_distance(bits):
    """The fewest bits too: the ten nearest of a thousand are the same, in the same
    order.
    """
    query, known = units(1, 384, seed=1)[0], units(1000, 384)
    held = known if bits == 32 else dequantise(quantise(known, bits), bits, 384)
    plain = np.linalg.norm(held - query, axis=-1)
    bent = fisher_rao(query, spread(bits), held, spread(bits))
    assert np.argsort(plain)[:10].tolist() == np.argsort(bent)[:10].tolist()


# row: D13
@RUNS
@given(st.integers(0, 10**6), st.integers(2, 50), st.sampled_from([32, *PRECISIONS]))
def test_what_is_plainly_nearer_is_nearer(seed, dimension, bits):
    """At equal bits; only what differs by less than the bend of the largest gap may
    change places.
    """
    query, one, other = units(3, dimension, seed).astype(np.float64)
    near, far = sorted((one, other), key=lambda held: np.sum((query - held) ** 2))
    gaps = np.maximum((query - near) ** 2, (query - far) ** 2).max() / 4
    if np.sum((query - near) ** 2) < np.sum((query - far) ** 2) * (1 - gaps / 6):
        width = spread(bits)
        assert fisher_rao(query, width, near, width) < fisher_rao(
            query, width, far, width
        )


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
