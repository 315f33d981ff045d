"""Vectors in fewer bits, and their comparison (rows D12, D13).

A rarely used vector may be stored in 8, 4 or 2 bits a number: the minimum and the
maximum as 32-bit floats, then for each number the nearest of 2^bits even steps between
them, packed from the low bits up and filled with zeros.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]
Packed = NDArray[np.uint8]
Means = NDArray[np.floating[Any]]
Spread = float | NDArray[np.floating[Any]]

WHOLE = 32
"""The bits of a number in full precision."""

PRECISIONS = (8, 4, 2)
"""The possible bits of a packed number."""

_HEADER = 8
_FLOAT = np.dtype("<f4")


def size(dimension: int, bits: int) -> int:
    """Return the bytes of a vector (row D12): `4·d` whole, else `8 + ⌈d·bits/8⌉`.

    At 384 numbers: 1536, 392, 200 and 104.
    """
    return (
        dimension * _FLOAT.itemsize
        if bits == WHOLE
        else _HEADER + -(-dimension * bits // 8)
    )


def quantise(vectors: Matrix, bits: int) -> Packed:
    """Pack one vector, or one in each row, in 8, 4 or 2 bits a number (row D12).

    The numbers must be finite; they are rounded to the nearest step.
    """
    low = vectors.min(axis=-1, keepdims=True)
    high = vectors.max(axis=-1, keepdims=True)
    top, step = _steps(low, high, bits)
    codes = np.rint(
        (vectors - low.astype(np.float64)) / np.where(step > 0, step, 1)
    ).clip(0, top)
    each, dimension = 8 // bits, vectors.shape[-1]
    filled = np.zeros((*vectors.shape[:-1], -(-dimension // each), each), np.uint8)
    filled.reshape(*vectors.shape[:-1], filled.shape[-2] * each)[..., :dimension] = (
        codes
    )
    places = filled << _shifts(bits)
    header = np.concatenate([low, high], axis=-1).astype(_FLOAT).view(np.uint8)
    return np.concatenate([header, np.bitwise_or.reduce(places, axis=-1)], axis=-1)


def dequantise(packed: Packed, bits: int, dimension: int) -> Matrix:
    """Unpack the result of `quantise`; each number is at most half a step off (D12).

    The length of the vectors is not exactly 1. Raises ValueError for bytes of another
    size.
    """
    if packed.shape[-1] != size(dimension, bits):
        message = f"{packed.shape[-1]} bytes are no vector of {dimension} numbers of {bits} bits"
        raise ValueError(message)
    ends = _ends(packed)
    low, high = ends[..., :1], ends[..., 1:]
    top, step = _steps(low, high, bits)
    codes = (packed[..., _HEADER:, None] >> _shifts(bits)) & np.uint8(top)
    codes = codes.reshape(*packed.shape[:-1], codes.shape[-2] * codes.shape[-1])[
        ..., :dimension
    ]
    return np.asarray(low + codes * step, np.float32)


def packed(vectors: Matrix, bits: int) -> Packed:
    """Pack as `quantise` does, but without loss of length along a vector.

    The ends are moved so that rounding errors are orthogonal to the vector, and its dot
    product with a third vector is right on average (row D12). Otherwise every packed
    vector would seem farther away than it is, in 2 bits by an eighth.
    """
    found = quantise(vectors, bits)
    along = np.sum(
        dequantise(found, bits, vectors.shape[-1]) * vectors, axis=-1, keepdims=True
    )
    factor = np.sum(vectors**2, axis=-1, keepdims=True) / np.where(along > 0, along, 1)
    found[..., :_HEADER] = (_ends(found) * factor).astype(_FLOAT).view(np.uint8)
    return found


def similarity(query: Matrix, rows: Packed, bits: int) -> NDArray[np.float64]:
    """Return the similarity of packed vectors to a whole one, on the scale of cosines.

    It is `c − ½·r²·(d² − d₀²)`, which subtracts half of the uncertainty's contribution
    to the squared distance of Fisher and Rao (row D13). c is the dot product; d is the
    distance with the given deviations, d₀ that between whole vectors, for vectors that
    are `√(2 − 2c)` apart, equally in all numbers, where r counts as 1; `r = √(2·ln(n +
    1) / n)` is about the largest absolute value of n numbers. Equal bits thus rank like
    c, and of two copies the one in more bits is nearer to their own vector.
    """
    near, dimension = _dots(query, rows, bits), len(query)
    reach = np.sqrt(2 * np.log(dimension + 1) / dimension)
    gap = np.sqrt(np.maximum(0, 2 - 2 * near) / dimension)[:, None] / reach
    origin, sure = np.zeros((1, 1)), spread(WHOLE)
    added = (
        fisher_rao(origin, sure, gap, spread(bits)) ** 2
        - fisher_rao(origin, sure, gap, sure) ** 2
    )
    return np.asarray(near - reach**2 * dimension * added / 2, np.float64)


def _dots(query: Matrix, rows: Packed, bits: int) -> NDArray[np.float64]:
    """Return the dot product of `query` with each packed vector, without unpacking."""
    ends, codes = _ends(rows).astype(np.float64), rows[:, _HEADER:]
    top, step = _steps(ends[:, :1], ends[:, 1:], bits)
    filled = np.zeros((codes.shape[1], 8 // bits), np.float32)
    filled.reshape(-1)[: len(query)] = query
    steps = np.zeros(len(rows), np.float32)
    for place, shift in enumerate(_shifts(bits)):
        steps += ((codes >> shift) & np.uint8(top)).astype(np.float32) @ filled[
            :, place
        ].copy()
    return np.asarray(ends[:, 0] * query.sum() + step[:, 0] * steps, np.float64)


def spread(bits: int, own: float = 1.0) -> float:
    """Return the standard deviation of a number in `bits` bits (row D13).

    It is `√(own² + Δ²/12)` with `Δ = 2/2^bits`; `own` is the deviation of a whole
    number, above 0, on a scale from −1 to 1.
    """
    step = 0.0 if bits == WHOLE else 2.0 / 2**bits
    return float(np.sqrt(own**2 + step**2 / 12))


def fisher_rao(
    mu_a: Means, sd_a: Spread, mu_b: Means, sd_b: Spread
) -> NDArray[np.float64]:
    """Return the geodesic distance of Gaussians without correlation (row D13).

    It is `√Σ d²` with `d = √2·arcosh(1 + ((μa−μb)² + 2(σa−σb)²) / (4σaσb))`; standard
    deviations are above 0, one for all numbers or one for each. The result has one
    distance for each row. Equal ones: 0; means 1 apart at σ 1: .980; σ 1 and 2: .980.
    """
    first, second = np.asarray(sd_a, np.float64), np.asarray(sd_b, np.float64)
    apart = np.subtract(mu_a, mu_b, dtype=np.float64)
    beyond = (apart**2 + 2 * (first - second) ** 2) / (4 * first * second)
    # arcosh of 1 + beyond, exact near 0 too
    arcosh = np.log1p(beyond + np.sqrt(beyond * (beyond + 2)))
    return np.asarray(np.sqrt(2 * np.sum(arcosh**2, axis=-1)), np.float64)


def _ends(rows: Packed) -> Matrix:
    """Return minimum and maximum of each packed vector."""
    return np.ascontiguousarray(rows[..., :_HEADER]).view(_FLOAT)


def _steps(low: Means, high: Means, bits: int) -> tuple[int, NDArray[np.float64]]:
    """Return the highest step and the step widths. Raises ValueError for other bits."""
    if bits not in PRECISIONS:
        message = f"numbers are cut down to {', '.join(map(str, PRECISIONS))} bits, not to {bits}"
        raise ValueError(message)
    top = 2**bits - 1
    return top, (high.astype(np.float64) - low) / top


def _shifts(bits: int) -> Packed:
    return np.arange(0, 8, bits, dtype=np.uint8)
