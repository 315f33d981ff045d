"""Surprise at the time of writing, and importance by nine factors (rows D2, D3)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from engram.core.policy import DedupPolicy, SimilarityPolicy
    from engram.core.records import Fact, Usage

_DAY = 86400.0


@dataclass(frozen=True, slots=True)
class Surprise:
    """The novelty of a statement, 0–1, its gain in importance, and a duplicate flag."""

    score: float
    gain: float
    duplicate: bool


def surprise(
    similarities: Sequence[float],
    policy: DedupPolicy,
    cuts: SimilarityPolicy,
    *,
    novelty: bool = True,
) -> Surprise:
    """Return the surprise of a statement among its nearest memories (`D3`).

    `score = 1 / (1 + e^(−10·(d − .35)))` with `d` the mean distance `1 − similarity` of
    the nearest five, or of all if there are fewer; `gain = (score − .5)·.6`. Without
    any: score 1, gain .15. A similarity of .92 makes it a `duplicate`, which gains
    nothing. `novelty` is False for similarities of words alone, which can identify
    known statements but not new ones: the gain is then at most 0.
    """
    nearest = sorted(similarities, reverse=True)[: policy.neighbours]
    if nearest:
        distance = 1 - sum(nearest) / len(nearest)
        score = 1 / (
            1
            + math.exp(
                -policy.surprise_steepness * (distance - policy.surprise_midpoint)
            )
        )
        gain = (score - 0.5) * policy.surprise_span
    else:
        score, gain = 1.0, policy.surprise_empty
    duplicate = bool(nearest) and nearest[0] >= cuts.duplicate
    kept = gain if novelty and not duplicate else min(gain, 0.0)
    return Surprise(round(score, 4), round(kept, 4), duplicate)


def after_surprise(importance: float, gain: float, policy: DedupPolicy) -> float:
    """Return the importance after the surprise, within .05–1 (`D3`)."""
    return round(min(1.0, max(policy.least_importance, importance + gain)), 4)


def after_mentions(importance: float, mentions: int, policy: DedupPolicy) -> float:
    """Return the importance, 0–1, after repetitions of a statement (`E14`).

    The stored base importance does not change (`D2`).
    """
    return round(min(1.0, importance + policy.mention_gain * math.log1p(mentions)), 4)


@dataclass(frozen=True, slots=True)
class ImportanceInputs:
    """The inputs of `composite_importance`; all may be 0, as at the time of writing.

    `importance` and `trust` are 0–1, `valence` −1…1; `recalls` in `span_days` days, the
    last one `idle_days` ago; `ages` are the known ages of the uses, also of
    confirmations, in days.
    """

    importance: float
    trust: float
    layer: str = ""
    valence: float = 0.0
    recalls: int = 0
    span_days: float = 0.0
    idle_days: float = 0.0
    confirmations: int = 0
    ages: tuple[float, ...] = ()


def importance_inputs(
    fact: Fact, usage: Usage, trust: float, layer: str, now: datetime
) -> ImportanceInputs:
    """Return the inputs for a memory of this layer at `now` (`D2`).

    `trust` is its source's, 0–1. Dates are known only for the first use, the last one
    and the latest evidence. The valence is not known.
    """
    known = list(
        dict.fromkeys(
            when
            for when in (fact.created, usage.last_access, usage.evidence_at)
            if when
        )
    )
    ages = tuple(max(0.0, (now - when).total_seconds() / _DAY) for when in known)
    last = (
        ages[known.index(usage.last_access)]
        if usage.last_access
        else min(ages, default=0.0)
    )
    return ImportanceInputs(
        importance=fact.importance,
        trust=trust,
        layer=layer,
        recalls=usage.access,
        span_days=max(ages, default=0.0) - last,
        idle_days=last,
        confirmations=usage.confirmations,
        ages=ages,
    )


def composite_importance(use: ImportanceInputs, policy: DedupPolicy) -> float:
    """Return the importance by nine factors, 0–1 (`D2`).

    `.25·base + .12·min(1, .1·ln(1+recalls)) + .12·2^(−idle/30) + .08·.3·|valence| +
    .08·min(1, recalls/(span+1)) + .15·layer + .10·trust + .10·min(.2,
    .05·ln(1+confirmations)) + .08·activation`, where the layer gives working 0,
    episodic .1, semantic .3, procedural .2. The sum of the first eight is at most .76.
    The stored base importance is never overwritten.
    """
    layers = {
        "episodic": policy.layer_episodic,
        "semantic": policy.layer_semantic,
        "procedural": policy.layer_procedural,
    }
    parts = (
        policy.weigh_base * use.importance,
        policy.weigh_access * min(1.0, policy.access_step * math.log1p(use.recalls)),
        policy.weigh_recency
        * math.exp2(-max(0.0, use.idle_days) / policy.recency_days),
        policy.weigh_emotion * policy.emotion_share * min(1.0, abs(use.valence)),
        policy.weigh_stability * min(1.0, use.recalls / (max(0.0, use.span_days) + 1)),
        policy.weigh_layer * layers.get(use.layer, 0.0),
        policy.weigh_trust * use.trust,
        policy.weigh_confirmation
        * min(
            policy.confirmation_most,
            policy.confirmation_step * math.log1p(use.confirmations),
        ),
        policy.weigh_activation * activation(use.ages, policy),
    )
    return round(min(1.0, sum(parts)), 6)


def activation(ages: Sequence[float], policy: DedupPolicy) -> float:
    """Return the base-level activation of ACT-R, mapped to 0–1 (`D2`).

    It is `1 / (1 + e^(−B))` with `B = ln Σ age^(−½)`. Ages are in days, at least
    `least_use_days`. Without a use it is 0; one use a day ago gives .5.
    """
    strength: float = sum(max(age, policy.least_use_days) ** -0.5 for age in ages)
    return strength / (1 + strength)
