"""The seeds' own formulas beside ours, and the laws of fading."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.core.decay import (
    LAWS,
    LAYERS,
    after_recall,
    anchor_salience,
    curve,
    effective_confidence,
    half_life,
    heat_inputs,
    heat_score,
    recency,
    remaining_share,
    retention,
    salience,
    vitals,
)
from engram.core.graph import edge_confidence
from engram.core.policy import CURVES, DecayPolicy, LinkPolicy, Policy
from engram.core.records import Edge, Fact, Usage
from tests.size import examples

THEN = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
POLICY = Policy()
FACT = Fact("F", "Anna moved.", kind="episode", created=THEN)
SAMPLES = 2000
RUNS = examples(200)


def moments(seed):
    """Random moments of the next three years, with the days until then, from a source
    that is always the same.
    """
    random = Random(seed)
    for _ in range(SAMPLES):
        gone = timedelta(microseconds=random.randrange(3 * 365 * 86_400_000_000))
        yield random, THEN + gone, gone / DAY


# row: A25
def test_confidence_is_the_formula_of_seed_a():
    """`confidence · 0.5 ^ (days / (30 · stability))`"""
    for random, now, days in moments("A25"):
        confidence, stability = random.random(), random.uniform(1, 5)
        fact, usage = replace(FACT, confidence=confidence), Usage(stability=stability)
        theirs = confidence * 0.5 ** (days / (30 * stability))
        assert abs(effective_confidence(fact, usage, now, POLICY) - theirs) < 1e-12


# row: A15
def test_recency_is_the_formula_of_seed_a():
    """`exp(−0.023 · days)`"""
    for _, now, days in moments("A15"):
        assert (
            abs(recency(THEN, now, math.log(2) / 0.023) - math.exp(-0.023 * days))
            < 1e-12
        )


def seed_b_rate(access, gradient, confidence):
    """The rate of the nightly job, with its three cases for a candidate."""
    base = 0.02 / (1 + access**gradient)
    if access == 0 and confidence < 0.8:
        return base * (1 + (1 - confidence) * 2)
    return 0.0 if access == 0 else base


# row: B6
def test_salience_is_the_formula_of_seed_b():
    """`salience · exp(−rate · days)`, candidates and others."""
    for random, now, days in moments("B6"):
        access, gradient = random.choice((0, 0, 1, 2, 5, 30)), random.uniform(0.1, 3)
        confidence, held = random.random(), random.random()
        usage = Usage(
            access=access,
            gradient=gradient,
            salience=held,
            last_access=THEN if access else None,
        )
        theirs = held * math.exp(-seed_b_rate(access, gradient, confidence) * days)
        assert (
            abs(
                salience(replace(FACT, confidence=confidence), usage, now, POLICY)
                - theirs
            )
            < 1e-12
        )


# row: B2
# row: B7
def test_a_life_of_recalls_goes_as_seed_b_writes_it():
    """Faded since the last application, raised, counted, and the gradient moved, recall
    by recall.
    """
    for random, _, _ in moments("B7"):
        confidence, usage, now = random.random(), Usage(), THEN
        held, access, gradient, last_gap, last = 0.5, 0, 1.0, 0.0, None
        for _ in range(random.randrange(8)):
            gap = random.choice(
                (
                    timedelta(minutes=random.randrange(1, 999)),
                    random.randrange(1, 200) * DAY,
                )
            )
            now, days, relevance = now + gap, gap / DAY, random.random()
            usage = after_recall(
                replace(FACT, confidence=confidence), usage, now, relevance, POLICY
            )
            held = min(
                1.0,
                held * math.exp(-seed_b_rate(access, gradient, confidence) * days)
                + 0.05
                + 0.05 * relevance,
            )
            if last:
                gradient += 0.1 if days > last_gap else -0.05 if days < last_gap else 0
                gradient, last_gap = min(3, max(0.1, gradient)), days
            access, last = access + 1, now
            assert abs(usage.salience - held) < 1e-12
            assert abs(usage.gradient - gradient) < 1e-12
            assert (usage.access, usage.last_access, usage.gap_days) == (
                access,
                last,
                last_gap,
            )


# row: C25
# row: C26
def test_heat_is_the_formula_of_seed_c():
    """.25·confidence + .30·access + .20·recency + .15·importance + .10·feedback − .20
    if disputed.
    """
    for random, now, days in moments("C26"):
        confidence, importance, feedback = (
            random.random(),
            random.random(),
            random.uniform(-1, 1),
        )
        access, disputed = random.randrange(40), random.random() < 0.3
        tier = (
            1
            if confidence >= 0.95
            else 0.8
            if confidence >= 0.7
            else 0.6
            if confidence >= 0.4
            else 0.35
        )
        fact = replace(
            FACT,
            confidence=confidence,
            importance=importance,
            verification="disputed" if disputed else "",
        )
        usage = Usage(access=access, last_access=THEN)
        parts = (
            0.25 * tier
            + 0.30 * min(1, math.log(1 + access) / math.log(21))
            + 0.20 * max(0, 1 - days / 90)
            + 0.15 * importance
            + 0.10 * (feedback + 1) / 2
        )
        theirs = min(1, max(0, parts - (0.2 if disputed else 0)))
        assert abs(heat_score(fact, usage, now, POLICY, feedback) - theirs) < 1e-12


# row: C34
def test_a_tie_fades_as_the_maintenance_of_seed_c_would_have_it():
    """Run at any times, each run charging whole windows and moving the anchor by them;
    we only read.
    """
    for random, _, _ in moments("C34"):
        confidence, days = (
            random.random(),
            sorted(random.uniform(0, 1500) for _ in range(random.randrange(1, 5))),
        )
        held, since = confidence, 0.0
        for day in days:
            windows = math.ceil((day - since - 90) / 90)
            if windows > 0 and held > 0.1:
                held, since = max(0.1, held - 0.1 * windows), since + 90 * windows
        edge = Edge("F1", "F2", "entity", confidence=confidence, reinforced=THEN)
        assert (
            abs(edge_confidence(edge, THEN + days[-1] * DAY, LinkPolicy()) - held)
            < 1e-12
        )


# row: D4
# row: D5
# row: D6
def test_retention_is_the_formula_of_seed_d():
    """Its three modes, its trust and its reinforcement by access."""
    for random, now, days in moments("D4"):
        trust, access, mode = (
            random.random(),
            random.randrange(500),
            random.choice(tuple(CURVES)),
        )
        tau = days * (1 + 2 * (1 - trust)) / 30
        theirs = {
            "l2": 2**-tau,
            "huber": 2**-tau
            if tau <= 0.5
            else max(0, 2**-0.5 * (1 - math.log(2) * (tau - 0.5))),
            "elastic": 0.3 * max(0, 1 - tau / 2) + 0.7 * 2**-tau,
        }[mode]
        assert abs(curve(mode, tau) - theirs) < 1e-12
        policy = replace(
            POLICY,
            decay=DecayPolicy(
                bend=CURVES[mode].bend, linear_share=CURVES[mode].linear_share
            ),
        )
        found = retention(
            FACT, Usage(access=access, last_access=THEN), now, trust, policy
        )
        assert (
            abs(found - min(1, theirs + min(0.3, 0.05 * math.log(1 + access)))) < 1e-12
        )


shares = st.floats(0, 1)
times = st.integers(-(10**9), 10**9).map(
    lambda seconds: THEN + timedelta(seconds=seconds)
)
facts = st.builds(
    Fact,
    id=st.just("F"),
    text=st.just("Anna moved."),
    category=st.sampled_from(("fact", "skill", "moment")),
    kind=st.sampled_from(("episode", "note")),
    created=st.none() | times,
    status=st.sampled_from(("active", "archived")),
    confidence=shares,
    importance=shares,
    pinned=st.booleans(),
    layer=st.sampled_from(("", *LAYERS)),
    verification=st.sampled_from(("", "disputed")),
)
usages = st.builds(
    Usage,
    access=st.integers(0, 10**6),
    last_access=st.none() | times,
    confirmations=st.integers(0, 9),
    evidence_at=st.none() | times,
    stability=st.floats(1, 5),
    salience=shares,
    salience_at=st.none() | times,
    gap_days=st.floats(0, 10**4),
    gradient=st.floats(0.01, 10),
)
policies = st.sampled_from(
    [
        replace(
            POLICY, decay=DecayPolicy(bend=form.bend, linear_share=form.linear_share)
        )
        for form in CURVES.values()
    ]
)


# row: A25
# row: B6
# row: D4
@RUNS
@given(facts, usages, times, times, shares, st.floats(-1, 1), policies)
def test_left_alone_nothing_gets_better(
    fact, usage, one, other, trust, feedback, policy
):
    """Every value is 0–1; later none of them is higher, and decay is not lower. Pinned,
    all stay as they are.
    """
    early, late = (
        vitals(fact, usage, now, trust, policy, feedback)
        for now in sorted((one, other))
    )
    for name in ("confidence", "salience", "retention", "heat"):
        assert 0 <= getattr(late, name) <= getattr(early, name) <= 1
    assert 0 <= early.decay <= late.decay <= 1
    assert early == late or not fact.pinned


# row: D4
@RUNS
@given(st.sampled_from(tuple(CURVES)), st.floats(0, 10**6), st.floats(0, 10**6))
def test_every_curve_falls_from_one_to_nothing(kind, one, other):
    """Never rising, and below 1e-6 after 20 half-lives."""
    assert 0 <= curve(kind, max(one, other)) <= curve(kind, min(one, other)) <= 1
    assert curve(kind, 20 + one) < 1e-6


# row: B10
@RUNS
@given(facts, usages, times, st.integers(1, 40), shares)
def test_thirty_nights_are_one_run_after_thirty_days(fact, usage, now, nights, trust):
    """Salience anchored anew every night, or twice a night, is what one reading makes
    of it; nothing else changes.
    """
    fact = replace(fact, created=fact.created or THEN)
    nightly, last = usage, now + nights * DAY
    for night in range(nights + 1):
        nightly = anchor_salience(fact, nightly, now + night * DAY, POLICY)
        assert anchor_salience(fact, nightly, now + night * DAY, POLICY) == nightly
    once, often = (vitals(fact, seen, last, trust, POLICY) for seen in (usage, nightly))
    assert math.isclose(often.salience, once.salience, abs_tol=1e-9)
    assert replace(often, salience=0.0) == replace(once, salience=0.0)


# row: B2
# row: A19
@RUNS
@given(facts, usages, times, shares, shares)
def test_a_recall_is_only_ever_good_for_a_memory(fact, usage, now, relevance, trust):
    """One more, later, stabler, worth more at that moment; the more relevant the
    better.
    """
    before, after = usage, after_recall(fact, usage, now, relevance, POLICY)
    assert after.access == before.access + 1
    assert after.last_access == max(now, before.last_access or now)
    assert before.stability <= after.stability <= 5
    assert 0.1 <= after.gradient <= 3 or not before.last_access
    assert after.salience <= after_recall(fact, usage, now, 1.0, POLICY).salience <= 1
    worth = [vitals(fact, seen, now, trust, POLICY) for seen in (before, after)]
    for name in ("confidence", "salience", "retention", "heat"):
        assert getattr(worth[0], name) <= getattr(worth[1], name)
    assert worth[1].decay <= worth[0].decay


# row: A25
@RUNS
@given(st.sampled_from(tuple(LAWS)), facts, usages, times, times, shares)
def test_what_does_not_fade_keeps_everything(law, fact, usage, one, other, trust):
    """A half-life is above 0 and may be ∞: then all remains, at any time."""
    halved = half_life(law, fact, usage, trust, POLICY)
    assert halved > 0
    left = [
        remaining_share(law, fact, usage, now, trust, POLICY) for now in (one, other)
    ]
    assert left == [1.0, 1.0] or halved < math.inf


# row: C25
@RUNS
@given(facts, usages, times, st.floats(allow_nan=False))
def test_inputs_are_shares(fact, usage, now, feedback):
    """Each of the five, whatever comes in."""
    assert all(
        0 <= part <= 1 for part in heat_inputs(fact, usage, now, POLICY, feedback)
    )


# row: B6
@pytest.mark.parametrize("law", LAWS)
def test_a_half_is_left_after_a_half_life(law):
    """By every law that halves."""
    fact, usage = (
        replace(FACT, confidence=0.6, kind="episode"),
        Usage(stability=2.0),
    )
    halved = half_life(law, fact, usage, 0.7, POLICY)
    left = remaining_share(law, fact, usage, THEN + halved * DAY, 0.7, POLICY)
    assert left == pytest.approx(
        curve("huber" if LAWS[law].uses_policy_curve else "l2", 1), abs=1e-9
    )
