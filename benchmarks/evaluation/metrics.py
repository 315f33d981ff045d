"""Metrics of retrieval, and bootstrap intervals over questions.

A ranking is a list of ids of turns or sessions, best first; the evidence is a non-empty
set of such ids. Means are over questions, and intervals contain 95 % of the means of
resampled questions.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engram.core.language.words import content, words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

DEPTHS = (1, 3, 5, 10, 20, 50)
GAIN_DEPTH = 10
_DATE = re.compile(r" \(\d{4}[\d/-]*\)")
RESAMPLES, OUTSIDE = 2000, 0.05
"""Resamples of the bootstrap, and the share of them outside the interval."""


@dataclass(frozen=True, slots=True)
class MeanInterval:
    """A mean with the bounds of its interval."""

    mean: float
    low: float
    high: float


def ranking_scores(
    ranked: Sequence[str], evidence: AbstractSet[str]
) -> dict[str, float]:
    """Return the metrics of a ranking, by name.

    `recall@k` is the share of the evidence among the first k, `all@k` is 1 if all of it
    is there, `any@k` is 1 if some is, `mrr` is the reciprocal rank of the first, and
    `ndcg@10` the discounted gain of the first ten relative to the best possible.
    """
    found = [place for place, one in enumerate(ranked[: DEPTHS[-1]]) if one in evidence]
    scores: dict[str, float] = {}
    for depth in DEPTHS:
        count = sum(place < depth for place in found)
        scores[f"recall@{depth}"] = count / len(evidence)
        scores[f"all@{depth}"] = float(count == len(evidence))
        scores[f"any@{depth}"] = float(count > 0)
    scores["mrr"] = 1 / (found[0] + 1) if found else 0.0
    best = _gain(range(min(GAIN_DEPTH, len(evidence))))
    scores["ndcg@10"] = _gain([one for one in found if one < GAIN_DEPTH]) / best
    return scores


def _gain(places: Sequence[int]) -> float:
    return sum(1 / math.log2(place + 2) for place in places)


def word_share(text: str, answer: str) -> float:
    """Return the share of the words of the right answer that are in a text."""
    text_words = set(words(text))
    wanted = content(words(answer), "en")
    return sum(word in text_words for word in wanted) / max(len(wanted), 1)


def shown_whole(text: str, turns: Sequence[str]) -> float:
    """Return the share of turns that are in a text from their first to their last word.

    The dates that recall writes after the words for a time do not count.
    """
    flat, *spoken = (
        f" {' '.join(words(_DATE.sub('', one)))} " for one in (text, *turns)
    )
    return sum(one in flat for one in spoken) / len(turns)


def bootstrap(
    rows: Sequence[Mapping[str, float]], seed: int = 7
) -> dict[str, MeanInterval]:
    """Return the mean of each metric with its percentile interval.

    `rows` are those of the questions, all with the same metrics. For one question the
    interval is its value.
    """
    if not rows:
        return {}
    names = list(rows[0])
    table = np.array([[row[name] for name in names] for row in rows], dtype=float)
    means = table.mean(axis=0)
    low = high = means
    if len(rows) > 1:
        chance = np.random.default_rng(seed)
        each = np.full(len(rows), 1 / len(rows))
        times = chance.multinomial(len(rows), each, size=RESAMPLES)
        some = times @ table / len(rows)
        low, high = np.quantile(some, (OUTSIDE / 2, 1 - OUTSIDE / 2), axis=0)
    return {
        name: MeanInterval(float(means[at]), float(low[at]), float(high[at]))
        for at, name in enumerate(names)
    }


def paired(
    before: Sequence[Mapping[str, float]],
    after: Sequence[Mapping[str, float]],
    seed: int = 7,
) -> dict[str, MeanInterval]:
    """Return the difference `after` − `before` of each common metric.

    Both have the rows of the same questions in the same order, and a resample takes the
    same questions of both.
    """
    rows = [
        {name: new[name] - old[name] for name in new if name in old}
        for old, new in zip(before, after, strict=True)
    ]
    return bootstrap(rows, seed)
