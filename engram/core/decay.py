"""Compute the present worth of a memory by one law of fading (rows A25, B6, D4–D6).

A fading value is stored with the time at which it was measured, its anchor. Its present
value is `value · R(t)`, where `R(t) = curve(t / H)` and `H = base · strength / doubt`.
Reading changes nothing; on use the value is evaluated, raised and anchored again. So
the number of readings does not matter, and the next maintenance run makes up for a
missed one (model §2). The rows of `LAWS` are the parameters of the law for each value.
Edges fade in steps instead: `graph.edge_confidence` (`C34`).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from operator import mul
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from engram.core.categories import category_of
from engram.core.classify import tier_of
from engram.core.policy import CURVES, DecayPolicy, Policy
from engram.core.records import Fact, Usage, Vitals

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

LAYERS = ("working", "episodic", "semantic", "procedural", "codebase")
"""The layers of memory (row D1); only working and episodic memories fade."""

_DAY = 86_400
_STEP = re.compile(r"^\s*(?:\d+[.)]|[-*+])\s", re.MULTILINE)
_PASSING = frozenset({"working", "episodic"})


@dataclass(frozen=True, slots=True)
class FadingLaw:
    """The parameters of a fading value: its anchor, half-life, strength and doubt."""

    clock: Literal["access", "anchor", "touch"]
    """The field of the anchor.

    It is the last access or, before the first access, the last evidence; the anchor of
    salience; or the later of access and evidence.
    """
    half_life_field: str
    """The field of `DecayPolicy` that holds the half-life."""
    strength: Literal["", "stability", "spacing"] = ""
    """The input that lengthens the half-life: stability, or the spacing of recalls."""
    speeded_by: Literal["", "confidence", "trust"] = ""
    """The input that shortens the half-life if it is low."""
    layers: frozenset[str] = frozenset()
    """The layers that fade; empty for all layers."""
    uses_policy_curve: bool = False
    """Whether the policy sets the curve; otherwise the value halves."""


LAWS: Mapping[str, FadingLaw] = MappingProxyType(
    {
        "confidence": FadingLaw("touch", "confidence_days", strength="stability"),
        "salience": FadingLaw(
            "anchor", "salience_days", strength="spacing", speeded_by="confidence"
        ),
        "retention": FadingLaw(
            "access",
            "retention_days",
            speeded_by="trust",
            layers=_PASSING,
            uses_policy_curve=True,
        ),
    }
)
"""The fading values by name.

They are confidence (seed A), which also lowers the rank of lasting memories, salience
(seed B) and retention (seed D).
"""


# -- the law ---------------------------------------------------------------------------


def curve(kind: str, tau: float) -> float:
    """Return the share left after `tau` ≥ 0 half-lives, 0–1 (`D4`).

    `kind` is l2, huber or elastic (else KeyError). `l2 = 2^−τ`; `huber` is the same up
    to δ = .5, then its tangent `max(0, 2^−δ·(1 − ln2·(τ − δ)))`; `elastic = .3·max(0, 1
    − τ/2) + .7·2^−τ`. A tangent lies below its curve: huber forgets old values *faster*
    than l2, completely after 1.94 half-lives.
    """
    return _remaining(tau, CURVES[kind].bend, CURVES[kind].linear_share)


def half_life(
    law: str, fact: Fact, usage: Usage, trust: float, policy: Policy
) -> float:
    """Return the days after which half of a value is left, ∞ if it does not fade.

    `H = base · strength / doubt` (rows A25, B6, D1, D6, D8). The strength is stability
    1–5, spacing `1 + access^gradient`, or 1. The doubt is `1 + 2·(1 − x)`, where x is
    the trust or, before the first recall, the confidence; salience does not fade before
    the first recall if the confidence is at least .8. A pinned memory does not fade.
    Confidence at stability 1, 3, 5: 30, 90, 150 days. Raises KeyError for an unknown
    law.
    """
    row, limits = LAWS[law], policy.decay
    doubt = _doubt(row, fact, usage, trust, limits)
    if fact.pinned or not doubt or (row.layers and layer_of(fact) not in row.layers):
        return math.inf
    base: float = getattr(limits, row.half_life_field)
    return base * _strength(row, usage, limits) / doubt


def remaining_share(
    law: str, fact: Fact, usage: Usage, now: datetime, trust: float, policy: Policy
) -> float:
    """Return the share of a value that is left at `now`, 0–1.

    `R(t) = curve(t / H)`, which never rises with `now`. It is 1 before the anchor, and
    if no anchor is known.
    """
    row, halved = LAWS[law], half_life(law, fact, usage, trust, policy)
    if halved == math.inf:
        return 1.0
    tau = _days(_since(row, fact, usage), now) / halved
    form = policy.decay.curve if row.uses_policy_curve else CURVES["l2"]
    return _remaining(tau, form.bend, form.linear_share)


def recency(when: datetime, now: datetime, half_life: float) -> float:
    """Return the recency of the last access at `when`, 0–1 (rows A15, E7).

    It is `2^(−days/half-life)`. With a half-life of ln2/.023 = 30.14 days it is seed
    A's `exp(−.023·days)`: .5016 after 30 days.
    """
    return math.exp2(-_days(when, now) / half_life)


def _remaining(tau: float, bend: float, linear_share: float) -> float:
    halved = (
        math.exp2(-tau)
        if tau <= bend
        else max(0.0, math.exp2(-bend) * (1 - math.log(2) * (tau - bend)))
    )
    return linear_share * max(0.0, 1 - tau / 2) + (1 - linear_share) * halved


def _strength(row: FadingLaw, usage: Usage, limits: DecayPolicy) -> float:
    if row.strength == "stability":
        return usage.stability
    if row.strength == "spacing" and usage.access:
        return 1 + math.pow(usage.access, _bounded(usage.gradient, limits))
    return 1.0


def _doubt(
    row: FadingLaw, fact: Fact, usage: Usage, trust: float, limits: DecayPolicy
) -> float:
    """Return the factor by which doubt speeds up fading; 0 for no fading."""
    if row.speeded_by == "trust":
        return 1 + limits.doubt * (1 - trust)
    if row.speeded_by == "confidence" and not usage.access:
        return (
            1 + limits.doubt * (1 - fact.confidence)
            if fact.confidence < limits.no_fading_confidence
            else 0.0
        )
    return 1.0


def _since(row: FadingLaw, fact: Fact, usage: Usage) -> datetime | None:
    evidence = _later(fading_start(fact, usage), usage.evidence_at)
    if row.clock == "touch":
        return _later(usage.last_access, evidence)
    return (
        (usage.salience_at if row.clock == "anchor" else None)
        or usage.last_access
        or evidence
    )


def _days(since: datetime | None, now: datetime) -> float:
    """Return the elapsed days, never negative.

    The difference of two times of one zone would ignore clock changes.
    """
    return max(0.0, (now.timestamp() - since.timestamp()) / _DAY) if since else 0.0


def _later(first: datetime | None, second: datetime | None) -> datetime | None:
    return max(first, second) if first and second else first or second


# -- present values --------------------------------------------------------------------


def effective_confidence(
    fact: Fact, usage: Usage, now: datetime, policy: Policy
) -> float:
    """Return the effective confidence at `now`, 0–1 (`A25`, law 4).

    It is `confidence · ½^(days / (30·stability))`. The days count from the last
    evidence or use. An unused memory of .6 is below .10 after 77.5 days and below .05
    after 107.5.
    """
    return fact.confidence * remaining_share(
        "confidence", fact, usage, now, 1.0, policy
    )


def salience(fact: Fact, usage: Usage, now: datetime, policy: Policy) -> float:
    """Return the effective salience at `now`, 0–1 (`B6`).

    It is `salience · e^(−rate·days)` since its anchor, with `rate = .02·doubt / (1 +
    access^gradient)`; 1 for a pinned memory (`B16`). A memory of .5 without recalls is
    below .01 on day 89 at a confidence of .4, on day 131 at .75, and never at .8. After
    5 recalls at gradient 1.5: ×.944 in 35 days, ×.891 in 70.
    """
    return (
        1.0
        if fact.pinned
        else usage.salience * remaining_share("salience", fact, usage, now, 1.0, policy)
    )


def retention(
    fact: Fact, usage: Usage, now: datetime, trust: float, policy: Policy
) -> float:
    """Return the retention of a memory at `now`, 0–1 (rows D4–D6).

    It is `min(1, R + min(.3, .05·ln(1 + access)))`; R counts from the last access;
    `trust` is 0–1. The half-life is 30 days for working and episodic memories, a third
    of that at trust 0; other layers do not fade (`D1`).
    """
    limits = policy.decay
    use = min(limits.most_use, limits.gain_per_recall * math.log1p(usage.access))
    return min(1.0, remaining_share("retention", fact, usage, now, trust, policy) + use)


def heat_inputs(
    fact: Fact, usage: Usage, now: datetime, policy: Policy, feedback: float = 0.0
) -> tuple[float, float, float, float, float]:
    """Return confidence, access, recency, importance and feedback, each 0–1 (`C25`).

    They are the inputs of heat and of tiers: the tier's confidence (1, .8, .6, .35);
    `min(1, ln(1 + access)/ln 21)`; `max(0, 1 − days/90)` since the last access;
    importance; `(feedback + 1)/2` of −1…1. A pinned memory counts as important and new.
    """
    limits = policy.decay
    return (
        getattr(limits, tier_of(fact.confidence, policy.extraction)),
        min(1.0, math.log1p(usage.access) / math.log1p(limits.often)),
        1.0
        if fact.pinned
        else max(
            0.0,
            1
            - _days(_since(LAWS["confidence"], fact, usage), now) / limits.recency_days,
        ),
        1.0 if fact.pinned else fact.importance,
        (min(1.0, max(-1.0, feedback)) + 1) / 2,
    )


def heat_score(
    fact: Fact, usage: Usage, now: datetime, policy: Policy, feedback: float = 0.0
) -> float:
    """Return the heat of a memory, 0–1 (`C26`).

    It is `.25·confidence + .30·access + .20·recency + .15·importance + .10·feedback` of
    `heat_inputs`, .20 less for a disputed memory.
    """
    limits = policy.decay
    weights = (
        limits.heat_confidence,
        limits.heat_access,
        limits.heat_recency,
        limits.heat_importance,
        limits.heat_feedback,
    )
    worth = math.fsum(
        map(mul, weights, heat_inputs(fact, usage, now, policy, feedback))
    )
    return max(
        0.0, worth - (limits.heat_disputed if fact.verification == "disputed" else 0.0)
    )


def decay_score(
    fact: Fact, usage: Usage, now: datetime, trust: float, policy: Policy
) -> float:
    """Return the faded share of a memory at `now`, 0–1 (`C26`).

    It is `1 − retention`. For a lasting memory it is `1 − ½^(days / (30·stability))`
    since the last access, a measure of staleness.
    """
    if layer_of(fact) in _PASSING:
        return 1 - retention(fact, usage, now, trust, policy)
    return 1 - remaining_share("confidence", fact, usage, now, trust, policy)


def vitals(
    fact: Fact,
    usage: Usage,
    now: datetime,
    trust: float,
    policy: Policy,
    feedback: float = 0.0,
) -> Vitals:
    """Return the vitals of a memory at `now`, each 0–1 (rows C24, A25, B6, D4).

    No value rises without use. `trust` is that of the source, 0–1 (`D6`); `feedback` is
    that of the category, −1…1 (`C30`).
    """
    return Vitals(
        confidence=effective_confidence(fact, usage, now, policy),
        salience=salience(fact, usage, now, policy),
        retention=retention(fact, usage, now, trust, policy),
        decay=decay_score(fact, usage, now, trust, policy),
        heat=heat_score(fact, usage, now, policy, feedback),
    )


def fading_start(fact: Fact, usage: Usage) -> datetime | None:
    """Return the time at which the memory began to fade, or None if it is unknown.

    It is its own date, or the time at which engram first read its note if that is
    later.
    """
    if fact.created and usage.met:
        return max(fact.created, usage.met)
    return fact.created or usage.met


def layer_of(fact: Fact) -> str:
    """Return the layer of a memory (`D1`).

    The layer in the note takes precedence; otherwise a skill or a principle with steps
    is procedural, an episode is episodic, and any other memory is semantic.
    """
    if fact.layer in LAYERS:
        return fact.layer
    category = category_of(fact.category)
    if category.layer and (
        not category.needs_steps or len(_STEP.findall(fact.text)) > 1
    ):
        return category.layer
    return "episodic" if fact.kind == "episode" else "semantic"


@dataclass(slots=True)
class StageVitals:
    """The vitals that decide the stage, each computed on first access.

    Recall computes the stage of every candidate, and most stages need only one or two.
    """

    fact: Fact
    usage: Usage
    now: datetime
    trust: float
    policy: Policy

    @property
    def confidence(self) -> float:
        """The effective confidence (`A25`)."""
        return effective_confidence(self.fact, self.usage, self.now, self.policy)

    @property
    def decay(self) -> float:
        """The faded share (`C26`)."""
        return decay_score(self.fact, self.usage, self.now, self.trust, self.policy)

    @property
    def heat(self) -> float:
        """The heat (`C26`)."""
        return heat_score(self.fact, self.usage, self.now, self.policy)


# -- effects of use --------------------------------------------------------------------


def after_recall(
    fact: Fact, usage: Usage, now: datetime, relevance: float, policy: Policy
) -> Usage:
    """Return the usage after a recall at `now` (rows A19, B2, B3, B7).

    `relevance` is 0–1 within its answer. Access + 1; stability + .1, at most 5, after
    40 recalls; salience + .05 + .05·relevance from its present value, at most 1, and
    from at least .5 for an archived memory; anchored at `now`, or at its old anchor if
    that is later.
    """
    limits, anchored = policy.decay, anchor_salience(fact, usage, now, policy)
    worth = (
        max(anchored.salience, limits.revival)
        if fact.status == "archived"
        else anchored.salience
    )
    gap, gradient = _spaced(usage, now, limits)
    return replace(
        anchored,
        access=usage.access + 1,
        last_access=_later(now, usage.last_access),
        stability=round(
            min(policy.usage.most_stability, usage.stability + limits.stability), 9
        ),
        salience=min(
            1.0,
            worth + limits.gain + limits.gain_relevance * min(1.0, max(0.0, relevance)),
        ),
        gap_days=gap,
        gradient=gradient,
    )


def anchor_salience(fact: Fact, usage: Usage, now: datetime, policy: Policy) -> Usage:
    """Return the usage with its present salience, anchored at `now` or later.

    Call it before the law of the memory changes, for example by an unpinning or a lower
    confidence: the fading until then is preserved.
    """
    at = _later(now, _since(LAWS["salience"], fact, usage))
    return replace(usage, salience=salience(fact, usage, now, policy), salience_at=at)


def after_confirmation(usage: Usage, now: datetime) -> Usage:
    """Return the usage after the same statement was repeated (`C17`).

    It adds a confirmation and counts as new evidence.
    """
    return replace(after_evidence(usage, now), confirmations=usage.confirmations + 1)


def after_evidence(usage: Usage, when: datetime) -> Usage:
    """Return the usage with evidence at `when`, unless later evidence exists (`A8`).

    Confidence then fades from `when` on.
    """
    return replace(usage, evidence_at=_later(when, usage.evidence_at))


def _spaced(usage: Usage, now: datetime, limits: DecayPolicy) -> tuple[float, float]:
    """Return the days since the last recall, and the new gradient (`B7`).

    The gradient rises by .1 if the interval grew, and falls by .05 if it shrank.
    """
    if not usage.last_access:
        return usage.gap_days, usage.gradient
    gap = _days(usage.last_access, now)
    step = (
        limits.gradient_gain
        if gap > usage.gap_days
        else -limits.gradient_loss
        if gap < usage.gap_days
        else 0.0
    )
    return gap, round(_bounded(usage.gradient + step, limits), 9)


def _bounded(gradient: float, limits: DecayPolicy) -> float:
    return min(limits.most_gradient, max(limits.least_gradient, gradient))
