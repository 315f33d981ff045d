"""Map the cosines of a model to the nominal scale of the cut points.

Cosines of two models cannot be compared: unrelated sentences have a cosine of .05 in
one model and of .75 in another. A scale maps the raw cosines of a model to nominal
similarities, the unit of the cut points. Until a model is calibrated on the user's own
facts, its similarities are used for ranking only, not for merging or invalidating.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from engram.core.policy import SimilarityPolicy

if TYPE_CHECKING:
    from collections.abc import Sequence

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Scale:
    """Points (raw cosine, nominal similarity), both rising, joined by straight lines.

    Only the similarities of a `calibrated` scale may merge or invalidate facts.
    """

    points: tuple[Point, ...] = ((-1.0, -1.0), (1.0, 1.0))
    calibrated: bool = False


def nominal(raw: float, scale: Scale) -> float:
    """Return the nominal similarity of a raw cosine, monotone and within the scale.

    `nominal(0.8, Scale(((-1, -1), (0.75, 0.2), (1, 1)), True)) == 0.36`
    """
    points = scale.points
    place = min(
        max(bisect_right(points, raw, key=lambda point: point[0]), 1), len(points) - 1
    )
    (left, low), (right, high) = points[place - 1], points[place]
    share = min(max((raw - left) / (right - left), 0.0), 1.0)
    return low + share * (high - low)


def calibrate(
    samples: Sequence[float], policy: SimilarityPolicy | None = None
) -> Scale:
    """Return the scale of a model from the cosines of pairs of the user's own facts.

    Almost all pairs of facts are unrelated, so their quantiles show the cosines that
    the model gives to unrelated texts: 75% of the pairs are below the floor, 90% below
    the episode cut, 97% below the link cut and 99.7% below "one subject". Above that,
    pairs are too rare for quantiles; there the scale is a straight line to 1, the
    cosine of equal texts in every model, and no cut point for merging becomes lower
    than its nominal value. With too few samples, or a model that hardly distinguishes
    texts, the scale is uncalibrated.
    """
    policy = policy or SimilarityPolicy()
    ranked = sorted(sample for sample in samples if math.isfinite(sample))
    if len(ranked) < policy.least_pairs:
        return Scale()
    low = [
        (_quantile(ranked, policy.floor_quantile), policy.floor),
        (_quantile(ranked, policy.episode_quantile), policy.episode),
        (_quantile(ranked, policy.link_quantile), policy.link),
        (_quantile(ranked, policy.related_quantile), policy.related),
    ]
    start, related = low[-1]
    steepness = (1 - start) / (1 - related)
    high = [
        (max(start + (cut - related) * steepness, cut), cut)
        for cut in (policy.grey, policy.close, policy.same, policy.duplicate)
    ]
    points = ((-1.0, -1.0), *low, *high, (1.0, 1.0))
    rising = all(before[0] < after[0] for before, after in pairwise(points))
    return (
        Scale(points, calibrated=True)
        if rising and start <= policy.most_related
        else Scale()
    )


def _quantile(ranked: Sequence[float], share: float) -> float:
    """Return the quantile `share` of the ranked values, interpolated linearly."""
    place = share * (len(ranked) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ranked) - 1)
    return ranked[low] + (place - low) * (ranked[high] - ranked[low])
