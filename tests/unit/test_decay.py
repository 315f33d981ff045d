"""What a memory is worth, by every worked example of the four seeds, and what use makes
of it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from engram.core.decay import (
    LAWS,
    after_confirmation,
    after_evidence,
    after_recall,
    anchor_salience,
    curve,
    decay_score,
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
from engram.core.lifecycle import (
    departure,
    prune_reason,
    revival_reason,
    stage,
    tier_value,
)
from engram.core.policy import CURVES, DecayPolicy, Policy
from engram.core.records import Fact, Usage, Vitals

THEN = datetime(2026, 1, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
POLICY = Policy()
UNUSED = Usage()
EPISODE = Fact(
    "F",
    "Anna sang.",
    kind="episode",
    created=THEN,
    confidence=0.6,
    source="2026-01-01-talk#^t1",
    origin="rules",
)
NOTE = replace(EPISODE, kind="note", text="Anna lives in Oslo.")
SKILL, CODE = replace(NOTE, category="skill"), replace(NOTE, layer="codebase")


def in_mode(mode):
    form = CURVES[mode]
    return replace(
        POLICY, decay=DecayPolicy(bend=form.bend, linear_share=form.linear_share)
    )


def used(access, gradient=1.0, salience=0.5, **more):
    """As of `THEN`, recalled so often."""
    return Usage(
        access=access,
        last_access=THEN,
        salience=salience,
        salience_at=THEN,
        gradient=gradient,
        **more,
    )


def by_salience(fact, usage, now):
    """The vitals as seed B has them, where confidence does not fade."""
    return replace(vitals(fact, usage, now, 1.0, POLICY), confidence=fact.confidence)


def first_day(below, value_on):
    """The first whole day after `THEN` on which the value is below the limit."""
    return next(
        (day for day in range(2000) if value_on(THEN + day * DAY) < below), None
    )


# -- seed A: confidence ----------------------------------------------------------------


# row: A25
@pytest.mark.parametrize(("stability", "days"), [(1.0, 30), (3.0, 90), (5.0, 150)])
def test_confidence_halves_in_thirty_days_times_stability(stability, days):
    """A's table; .6 is .3 after 30 days at stability 1."""
    usage = Usage(stability=stability)
    assert half_life("confidence", NOTE, usage, 1.0, POLICY) == days
    assert effective_confidence(
        NOTE, usage, THEN + days * DAY, POLICY
    ) == pytest.approx(0.3, abs=1e-15)


# row: A25
@pytest.mark.parametrize(("below", "days"), [(0.10, 77.5), (0.05, 107.5)])
def test_a_belief_left_alone_is_stale_and_prunable_when_the_seed_says(below, days):
    """.6 passes .10 after 77.5 days and .05 after 107.5."""
    before, after = (
        effective_confidence(NOTE, UNUSED, THEN + (days + slack) * DAY, POLICY)
        for slack in (-0.1, 0.1)
    )
    assert after < below < before


# row: A24
# row: A24
def test_the_faded_confidence_is_what_a_person_prunes_by():
    """On day 108, not on day 107, by the rule of the lifecycle."""
    found = [
        prune_reason(
            EPISODE, vitals(EPISODE, UNUSED, THEN + day * DAY, 1.0, POLICY), 0.05
        )
        for day in (107, 108)
    ]
    assert found == [None, "confidence below 0.05"]


# row: A19
def test_forty_recalls_reach_the_greatest_stability():
    """By .1 each; the next adds nothing."""
    usage = UNUSED
    for number in range(1, 42):
        usage = after_recall(NOTE, usage, THEN + number * DAY, 0.0, POLICY)
        assert usage.stability == pytest.approx(min(5.0, 1 + number / 10), abs=1e-9)
    assert (usage.access, usage.stability, usage.last_access) == (
        41,
        5.0,
        THEN + 41 * DAY,
    )


# row: A25
def test_new_evidence_starts_the_clock_of_confidence_again():
    """Reinforced, said again or edited, and never set back by what is older."""
    late = after_evidence(UNUSED, THEN + 60 * DAY)
    assert effective_confidence(NOTE, late, THEN + 90 * DAY, POLICY) == pytest.approx(
        0.3, abs=1e-15
    )
    assert after_evidence(late, THEN) == late
    assert (
        effective_confidence(NOTE, after_evidence(UNUSED, THEN - DAY), THEN, POLICY)
        == 0.6
    )
    assert after_confirmation(UNUSED, THEN + 60 * DAY) == replace(late, confirmations=1)


# row: A25
def test_what_has_no_known_age_does_not_fade():
    """A note without a date may be of today; from its first recall on its salience has
    an age.
    """
    undated = replace(EPISODE, created=None)
    assert vitals(undated, UNUSED, THEN, 0.5, POLICY) == vitals(
        EPISODE, UNUSED, THEN, 0.5, POLICY
    )
    usage = after_recall(undated, UNUSED, THEN, 0.0, POLICY)
    assert salience(undated, usage, THEN + DAY, POLICY) < usage.salience


# row: A15
def test_recency_is_a_half_after_its_half_life():
    """A's own rate makes .5016 of it after 30 days; what is yet to come is recent."""
    assert recency(THEN, THEN + 14 * DAY, 14) == 0.5
    assert recency(THEN, THEN + 30 * DAY, math.log(2) / 0.023) == pytest.approx(
        0.5016, abs=5e-5
    )
    assert recency(THEN + DAY, THEN, 30) == 1.0


# -- seed B: salience ------------------------------------------------------------------


# row: B5
def test_a_new_memory_has_the_initial_values():
    """Neither up nor down: .5, never recalled, gradient 1."""
    assert Usage() == Usage(0, None, 0, None, 1.0, 0.5, None, 0.0, 1.0)
    assert salience(NOTE, UNUSED, THEN, POLICY) == 0.5


# row: B9
def test_the_plain_rate_halves_in_34_66_days():
    """.02 a day; the seed rounds to 35, 70 and 105 days for a half, a quarter and an
    eighth.
    """
    plain = DecayPolicy().salience_days
    assert plain == pytest.approx(34.66, abs=0.005)
    assert [math.exp2(-days / plain) for days in (35, 70, 105)] == pytest.approx(
        [0.5, 0.25, 0.125], abs=0.005
    )
    assert half_life("salience", NOTE, used(1), 1.0, POLICY) == pytest.approx(2 * plain)


# row: B9
@pytest.mark.parametrize(
    ("confidence", "rate"),
    [(0.5, 0.04), (0.4, 0.044), (0.7, 0.032), (0.0, 0.06), (0.75, 0.03), (0.8, 0.0)],
)
def test_what_nobody_recalled_fades_by_its_confidence(confidence, rate):
    """The rates of the seed's examples; from .8 there is none."""
    found = math.log(2) / half_life(
        "salience", replace(NOTE, confidence=confidence), UNUSED, 1.0, POLICY
    )
    assert found == pytest.approx(rate, abs=1e-15)


# row: B9
@pytest.mark.parametrize(
    ("days", "left", "told"), [(17, 0.507, 0.5), (35, 0.247, 0.25)]
)
def test_half_a_confidence_halves_the_half_life(days, left, told):
    """At .5 the seed's rounded figures hold: a half after 17 days, a quarter after 35."""
    fact = replace(NOTE, confidence=0.5)
    found = salience(fact, UNUSED, THEN + days * DAY, POLICY) / salience(
        fact, UNUSED, THEN, POLICY
    )
    assert found == pytest.approx(left, abs=5e-4)
    assert found == pytest.approx(told, abs=0.01)


# row: B9
@pytest.mark.parametrize("confidence", [0.0, 0.4, 0.79, 0.8, 1.0])
def test_nobody_fades_by_the_plain_rate(confidence):
    """The seed has one active at .4, never recalled, halve in 35 days, and a one-off
    mention too.

    But never recalled is a candidate: faster than that or not at all; and one recall
    makes the rate .01.
    """
    plain = DecayPolicy().salience_days
    fact = replace(NOTE, confidence=confidence)
    unused = half_life("salience", fact, UNUSED, 1.0, POLICY)
    assert unused == math.inf if confidence >= 0.8 else unused < 0.71 * plain
    assert math.log(2) / half_life(
        "salience", fact, used(1), 1.0, POLICY
    ) == pytest.approx(0.01)
    assert salience(
        fact, used(1, salience=1.0), THEN + 35 * DAY, POLICY
    ) == pytest.approx(0.705, abs=5e-4)


# row: B9
@pytest.mark.parametrize(
    ("days", "left", "told"),
    [(35, 0.944, 0.95), (70, 0.891, 0.90)],
)
def test_five_recalls_at_gradient_one_and_a_half(days, left, told):
    """Rate .001642. The seed tells .0015, ×.95 and ×.90, which its formula only comes
    near to.
    """
    usage = used(5, 1.5, salience=1.0)
    rate = math.log(2) / half_life("salience", NOTE, usage, 1.0, POLICY)
    assert rate == pytest.approx(0.001642, abs=5e-7)
    assert rate != pytest.approx(0.0015, abs=1e-4)
    found = salience(NOTE, usage, THEN + days * DAY, POLICY)
    assert found == pytest.approx(left, abs=5e-4)
    assert found != pytest.approx(told, abs=5e-3)


# row: B9
@pytest.mark.parametrize(
    ("confidence", "day", "told"),
    [(0.4, 89, 50), (0.5, 98, None), (0.75, 131, None), (0.8, None, None)],
)
def test_the_day_on_which_a_candidate_is_gone(confidence, day, told):
    """The seed tells about 50 days for .4; its formula takes 88.9. At .8 it is never
    gone.
    """
    fact = replace(NOTE, confidence=confidence)
    assert first_day(0.01, lambda now: salience(fact, UNUSED, now, POLICY)) == day
    assert day != told or day is None


# row: B9
def test_a_doubtful_memory_is_halved_before_the_day_the_seed_tells():
    """At .4 salience .25 is reached after 15.8 days, not 17; the plain rate would reach
    .01 after 195.6, not 100.
    """
    halved = half_life("salience", replace(NOTE, confidence=0.4), UNUSED, 1.0, POLICY)
    assert halved == pytest.approx(15.75, abs=0.005)
    assert DecayPolicy().salience_days * math.log2(0.5 / 0.01) == pytest.approx(
        195.6, abs=0.05
    )


# row: B6
def test_confidence_counts_only_until_the_first_recall():
    """Then .4 fades as .9 does."""
    now = THEN + 35 * DAY
    assert salience(replace(NOTE, confidence=0.4), used(1), now, POLICY) == salience(
        replace(NOTE, confidence=0.9), used(1), now, POLICY
    )


# row: B10
def test_a_missed_or_a_repeated_night_changes_nothing():
    """Anchored anew for 30 nights it is what one reading makes of it; `*=` by the days
    since access would not be.
    """
    nightly, compounded = UNUSED, 0.5
    for night in range(1, 31):
        now = THEN + night * DAY
        nightly = anchor_salience(NOTE, nightly, now, POLICY)
        compounded *= math.exp(-0.02 * 1.8 * night)
    once = salience(NOTE, UNUSED, THEN + 30 * DAY, POLICY)
    assert salience(NOTE, nightly, THEN + 30 * DAY, POLICY) == pytest.approx(
        once, abs=1e-9
    )
    assert compounded < 1e-7 < once


# row: B2
@pytest.mark.parametrize(
    ("relevance", "gain"),
    [(0.0, 0.05), (0.5, 0.075), (1.0, 0.1), (7.0, 0.1), (-1.0, 0.05)],
)
def test_a_recall_adds_what_its_relevance_is_worth(relevance, gain):
    """From .05 to .1, on top of what is left, and it is held from now on."""
    now = THEN + 10 * DAY
    usage = after_recall(NOTE, UNUSED, now, relevance, POLICY)
    assert usage.salience == pytest.approx(
        salience(NOTE, UNUSED, now, POLICY) + gain, abs=1e-15
    )
    assert (usage.access, usage.last_access, usage.salience_at) == (1, now, now)


# row: B2
def test_salience_never_exceeds_one():
    """However often it is recalled."""
    assert after_recall(NOTE, used(3, salience=0.97), THEN, 1.0, POLICY).salience == 1.0


# row: B7
@pytest.mark.parametrize(
    ("before", "gap", "gradient"),
    [(0.0, 3, 1.1), (3.0, 5, 1.1), (5.0, 3, 0.95), (3.0, 3, 1.0), (3.0, 0, 0.95)],
)
def test_recalls_that_move_apart_slow_the_fading(before, gap, gradient):
    """Longer than the last gap + .1, shorter − .05, the same nothing; the gap is kept."""
    usage = after_recall(NOTE, used(2, gap_days=before), THEN + gap * DAY, 0.0, POLICY)
    assert (usage.gap_days, usage.gradient) == (gap, gradient)


# row: B7
def test_the_first_recall_has_no_gap():
    """There is no recall before it from which to count."""
    usage = after_recall(NOTE, UNUSED, THEN + 9 * DAY, 0.0, POLICY)
    assert (usage.gap_days, usage.gradient) == (0.0, 1.0)


# row: B7
@pytest.mark.parametrize(
    ("gradient", "before", "kept"), [(3.0, 1.0, 3.0), (0.12, 9.0, 0.1), (0.1, 9.0, 0.1)]
)
def test_the_gradient_stays_within_bounds(gradient, before, kept):
    """From .1 to 3: a negative one would turn the law round."""
    assert (
        after_recall(
            NOTE, used(4, gradient, gap_days=before), THEN + 5 * DAY, 0.0, POLICY
        ).gradient
        == kept
    )


# row: B7
def test_a_gradient_out_of_bounds_is_read_as_the_nearest():
    """It may come from a file that somebody else wrote."""
    assert half_life("salience", NOTE, used(7, 50.0), 1.0, POLICY) == half_life(
        "salience", NOTE, used(7, 3.0), 1.0, POLICY
    )


# row: B3
def test_a_recall_from_the_archive_begins_anew():
    """What had faded to nothing starts from the initial .5, is active again, and does
    not go back the next night.
    """
    old = replace(EPISODE, status="archived", end_reason="salience below 0.01")
    now = THEN + 300 * DAY
    usage = after_recall(old, UNUSED, now, 1.0, POLICY)
    assert usage.salience == pytest.approx(0.6)
    worth = vitals(old, usage, now, 1.0, POLICY)
    assert (
        revival_reason(
            old, after_evidence(usage, now), replace(worth, confidence=0.6), now, POLICY
        )
        == "recalled again"
    )
    assert after_recall(old, used(1, salience=0.7), THEN, 0.0, POLICY).salience == 0.75
    assert after_recall(EPISODE, UNUSED, now, 1.0, POLICY).salience < 0.11


# row: B16
def test_what_is_kept_forever_has_full_salience():
    """Whatever it was; when the pin goes it fades from then on."""
    now = THEN + 1000 * DAY
    pinned = replace(EPISODE, pinned=True)
    assert salience(pinned, used(1, salience=0.1), now, POLICY) == 1.0
    let_go = anchor_salience(pinned, UNUSED, now, POLICY)
    assert salience(EPISODE, let_go, now, POLICY) == 1.0
    assert salience(EPISODE, let_go, now + 60 * DAY, POLICY) < 1.0


# -- seed B's scenarios ----------------------------------------------------------------


# row: B20
@pytest.mark.parametrize("relevance", [0.0, 0.5, 1.0])
def test_a_topic_read_every_three_days_becomes_core(relevance):
    """Its salience rises to 1 and stays there; it is active at the first recall and
    core at the tenth, in 30 days.
    """
    usage, stages, values = UNUSED, [], []
    for number in range(1, 41):
        now = THEN + 3 * number * DAY
        usage = after_recall(NOTE, usage, now, relevance, POLICY)
        stages.append(
            stage(NOTE, usage, vitals(NOTE, usage, now, 1.0, POLICY), POLICY)[0]
        )
        values.append(usage.salience)
    assert stages == ["active"] * 9 + ["core"] * 31
    assert values == sorted(values)
    assert values[13:] == [1.0] * 27


# row: B8
# row: B20
@pytest.mark.parametrize(("confidence", "day"), [(0.4, 89), (0.79, 138)])
def test_what_was_mentioned_once_is_put_away(confidence, day):
    """An episode that nobody recalls, the less sure the earlier."""
    fact = replace(EPISODE, confidence=confidence)

    def archived_on(day):
        now = THEN + day * DAY
        return departure(fact, UNUSED, by_salience(fact, UNUSED, now), now, POLICY)

    assert archived_on(day - 1) is None
    assert archived_on(day) == ("archive", "a moment, salience below 0.01")


# row: B20
def test_a_topic_of_the_seasons_comes_and_goes():
    """Two recalls every three months: for more than a year salience stays between .3
    and .6, the memory active.
    """
    sure, usage, now = replace(NOTE, confidence=0.9), UNUSED, THEN
    low, high, stages = [], [], []
    for _ in range(5):
        now += 90 * DAY
        low.append(salience(sure, usage, now, POLICY))
        for _ in range(2):
            now += DAY
            usage = after_recall(sure, usage, now, 0.0, POLICY)
        high.append(usage.salience)
        stages.append(stage(sure, usage, by_salience(sure, usage, now), POLICY)[0])
    assert stages == ["active"] * 4 + ["core"]
    assert 0.3 < min(low) < max(high) < 0.6
    assert all(after > before for before, after in zip(low, high, strict=True))
    assert all(after < before for before, after in zip(high, low[1:], strict=False))


# row: B20
def test_a_sure_candidate_waits_for_its_first_recall():
    """At .9 it keeps its .5 for years; once recalled it fades like any other."""
    sure = replace(NOTE, confidence=0.9)
    years = THEN + 3000 * DAY
    assert salience(sure, UNUSED, years, POLICY) == 0.5
    usage = after_recall(sure, UNUSED, years, 1.0, POLICY)
    assert usage.salience == pytest.approx(0.6)
    assert salience(
        sure, usage, years + 2 * DecayPolicy().salience_days * DAY, POLICY
    ) == pytest.approx(0.3)


# row: B20
def test_what_is_said_again_is_no_candidate_for_the_archive():
    """Nobody recalled it yet, but it is said every 80 days: its salience begins again
    with each evidence.
    """
    usage = UNUSED
    for number in range(1, 10):
        usage = after_confirmation(usage, THEN + 80 * number * DAY)
    assert (
        salience(replace(NOTE, confidence=0.4), usage, THEN + 730 * DAY, POLICY) > 0.3
    )


# row: B6
def test_a_law_that_changes_does_not_reach_back():
    """Anchored before its confidence falls, a sure memory of long ago begins to fade
    now.
    """
    sure, now = replace(NOTE, confidence=0.85), THEN + 400 * DAY
    held = anchor_salience(sure, UNUSED, now, POLICY)
    assert salience(replace(sure, confidence=0.65), UNUSED, now, POLICY) < 0.01
    assert salience(replace(sure, confidence=0.65), held, now, POLICY) == 0.5


# -- seed C: heat and decay ------------------------------------------------------------


# row: C25
@pytest.mark.parametrize(
    ("change", "usage", "days", "found"),
    [
        ({}, UNUSED, 0, (0.6, 0.0, 1.0, 0.5, 0.5)),
        ({"confidence": 0.95}, UNUSED, 45, (1.0, 0.0, 0.5, 0.5, 0.5)),
        ({"confidence": 0.7}, UNUSED, 90, (0.8, 0.0, 0.0, 0.5, 0.5)),
        ({"confidence": 0.39}, UNUSED, 900, (0.35, 0.0, 0.0, 0.5, 0.5)),
        ({"importance": 0.9}, used(20), 9, (0.6, 1.0, 0.9, 0.9, 0.5)),
        ({}, used(500), 0, (0.6, 1.0, 1.0, 0.5, 0.5)),
        ({}, Usage(evidence_at=THEN + 81 * DAY), 90, (0.6, 0.0, 0.9, 0.5, 0.5)),
        ({"pinned": True}, UNUSED, 900, (0.6, 0.0, 1.0, 1.0, 0.5)),
    ],
)
def test_what_heat_and_tier_are_made_of(change, usage, days, found):
    """Confidence by tier, recalls, how lately it was touched, importance, feedback; a
    pin keeps them up.
    """
    assert heat_inputs(
        replace(NOTE, **change), usage, THEN + days * DAY, POLICY
    ) == pytest.approx(found, abs=1e-12)


# row: C25
@pytest.mark.parametrize(
    ("feedback", "part"),
    [(-1, 0.0), (0, 0.5), (0.5, 0.75), (1, 1.0), (-3, 0.0), (3, 1.0)],
)
def test_feedback_is_neutral_at_a_half(feedback, part):
    """From −1 to 1 it counts for 0 to 1."""
    assert heat_inputs(NOTE, UNUSED, THEN, POLICY, feedback)[4] == part


# row: C26
def test_heat_is_the_weighted_sum():
    """.25·.6 + .20·1 + .15·.5 + .10·.5 of a new memory; a tenth of it more for praise,
    a fifth less for dispute.
    """
    assert heat_score(NOTE, UNUSED, THEN, POLICY) == pytest.approx(0.475)
    assert heat_score(NOTE, UNUSED, THEN, POLICY, 1.0) == pytest.approx(0.525)
    assert heat_score(
        replace(NOTE, verification="disputed"), UNUSED, THEN, POLICY
    ) == pytest.approx(0.275)
    coldest = replace(NOTE, confidence=0.1, importance=0.0, verification="disputed")
    assert heat_score(coldest, UNUSED, THEN + 90 * DAY, POLICY, -1.0) == 0.0
    hottest = replace(NOTE, confidence=1.0, importance=1.0)
    assert heat_score(hottest, used(20), THEN, POLICY, 1.0) == 1.0


# row: C29
def test_the_tier_weighs_the_same_inputs():
    """As they come; .24·.6 + .20·1 + .20·.5 + .10·.5 of a new memory."""
    assert tier_value(
        NOTE, heat_inputs(NOTE, UNUSED, THEN, POLICY), POLICY
    ) == pytest.approx(0.494)


# row: C26
@pytest.mark.parametrize(
    ("confidence", "told"), [(0.95, 0.694), (0.7, 0.741), (0.4, 0.789), (0.1, 0.848)]
)
def test_decay_goes_all_the_way(confidence, told):
    """Seed C's own sum stops at `told`, so its .85 never archives; ours is what
    retention has lost.
    """
    tier = heat_inputs(replace(EPISODE, confidence=confidence), UNUSED, THEN, POLICY)[0]
    coldest = 0.25 * tier + 0.15 * 0.5 + 0.10 * 0.5
    saturated = (
        0.30 + 0.25 + 0.20 * (1 - tier) + 0.10 * (1 - 0) / 2 + 0.15 * (1 - coldest)
    )
    assert saturated == pytest.approx(told, abs=1e-3)
    fact = replace(EPISODE, confidence=confidence)
    assert decay_score(fact, UNUSED, THEN, 1.0, POLICY) == 0.0
    assert decay_score(fact, UNUSED, THEN + 60 * DAY, 1.0, POLICY) == 1.0


# row: C26
def test_what_lasts_is_stale_by_its_stability():
    """A note keeps all that it retains, but 46 days after the last touch it is stale,
    with stability 3 after 137.
    """

    def stale_from(usage):
        days = range(400)
        return next(
            day
            for day in days
            if decay_score(NOTE, usage, THEN + day * DAY, 1.0, POLICY) >= 0.65
        )

    assert retention(NOTE, UNUSED, THEN + 400 * DAY, 0.4, POLICY) == 1.0
    assert [stale_from(usage) for usage in (UNUSED, Usage(stability=3.0))] == [46, 137]
    assert stale_from(Usage(evidence_at=THEN + 10 * DAY)) == 56
    read = replace(used(1), last_access=THEN + 20 * DAY)
    assert [
        stale_from(usage) for usage in (read, after_evidence(read, THEN + 10 * DAY))
    ] == [
        66,
        66,
    ]
    assert stale_from(after_evidence(read, THEN + 30 * DAY)) == 76


# row: C24
def test_vitals_are_all_readings_at_once():
    """Of one moment, with the trust and the feedback that are known."""
    now, usage = THEN + 12 * DAY, used(3, 1.2)
    assert vitals(EPISODE, usage, now, 0.7, POLICY, -0.5) == Vitals(
        confidence=effective_confidence(EPISODE, usage, now, POLICY),
        salience=salience(EPISODE, usage, now, POLICY),
        retention=retention(EPISODE, usage, now, 0.7, POLICY),
        decay=decay_score(EPISODE, usage, now, 0.7, POLICY),
        heat=heat_score(EPISODE, usage, now, POLICY, -0.5),
    )


# -- seed D: retention -----------------------------------------------------------------


# row: D1
@pytest.mark.parametrize(
    ("fact", "days"),
    [
        (EPISODE, 30),
        (replace(NOTE, layer="working"), 30),
        (NOTE, math.inf),
        (SKILL, math.inf),
        (CODE, math.inf),
        (replace(EPISODE, layer="semantic"), math.inf),
    ],
)
def test_only_episodes_are_forgotten(fact, days):
    """Half-life 30 days; what is semantic, procedural or codebase stays."""
    assert half_life("retention", fact, UNUSED, 1.0, POLICY) == days
    assert (retention(fact, UNUSED, THEN + 400 * DAY, 1.0, POLICY) == 1.0) is (
        days == math.inf
    )


# row: D4
@pytest.mark.parametrize(
    ("kind", "tau", "left"),
    [
        ("l2", 1, 0.5),
        ("l2", 2, 0.25),
        ("huber", 0.5, 0.7071),
        ("huber", 1, 0.4620),
        ("huber", 1.942, 0.0003),
        ("huber", 1.943, 0.0),
        ("huber", 50, 0.0),
        ("elastic", 1, 0.5),
        ("elastic", 2, 0.175),
        ("elastic", 4, 0.04375),
    ],
)
def test_the_three_curves(kind, tau, left):
    """A half after one half-life, but for huber, which has left the exponential by
    then.
    """
    assert curve(kind, tau) == pytest.approx(left, abs=5e-5)
    assert curve(kind, 0) == 1.0


# row: D4
def test_huber_forgets_what_is_old_faster():
    """The seed calls it robust; a tangent lies below its curve, and 58 days leave
    nothing of an episode.
    """
    assert all(curve("huber", tau / 10) < curve("l2", tau / 10) for tau in range(6, 40))
    assert all(curve("huber", tau / 10) == curve("l2", tau / 10) for tau in range(6))
    zero = 0.5 + 1 / math.log(2)
    assert zero == pytest.approx(1.94, abs=0.005)
    assert (
        first_day(1e-9, lambda now: retention(EPISODE, UNUSED, now, 1.0, POLICY))
        == math.ceil(30 * zero)
        == 59
    )
    assert (
        first_day(1e-9, lambda now: retention(EPISODE, UNUSED, now, 1.0, in_mode("l2")))
        is not None
    )


# row: D5
def test_a_recall_begins_retention_anew():
    """From the last access it counts, from creation or later evidence only before the
    first.
    """
    now = THEN + 40 * DAY
    read = replace(used(1), last_access=THEN + 30 * DAY)
    gain = 0.05 * math.log(2)
    assert retention(EPISODE, read, now, 1.0, POLICY) == pytest.approx(
        curve("huber", 10 / 30) + gain
    )
    assert retention(EPISODE, after_evidence(read, now), now, 1.0, POLICY) == retention(
        EPISODE, read, now, 1.0, POLICY
    )
    assert retention(
        EPISODE, after_evidence(UNUSED, THEN + 30 * DAY), now, 1.0, POLICY
    ) == curve("huber", 10 / 30)


# row: D4
@pytest.mark.parametrize("mode", CURVES)
def test_a_mode_is_the_curve_of_that_name(mode):
    """And huber is what stands in the policy."""
    now = THEN + 40 * DAY
    assert retention(EPISODE, UNUSED, now, 1.0, in_mode(mode)) == curve(mode, 40 / 30)
    assert (in_mode(mode) == POLICY) is (mode == "huber")


# row: D5
@pytest.mark.parametrize(
    ("access", "gain"),
    [(0, 0.0), (1, 0.0347), (20, 0.1522), (402, 0.2999), (403, 0.3), (10**9, 0.3)],
)
def test_recalls_hold_on_to_what_is_left(access, gain):
    """`.05·ln(1 + n)`, at most .3, in every mode, and never above 1."""
    for mode in CURVES:
        late = retention(EPISODE, used(access), THEN + 90 * DAY, 1.0, in_mode(mode))
        assert late == pytest.approx(curve(mode, 3) + gain, abs=5e-5)
        assert retention(EPISODE, used(access), THEN, 1.0, in_mode(mode)) == 1.0


# row: D6
@pytest.mark.parametrize(
    ("trust", "faster"),
    [(1.0, 1.0), (0.7, 1.6), (0.6, 1.8), (0.5, 2.0), (0.4, 2.2), (0.0, 3.0)],
)
def test_what_nobody_vouches_for_fades_faster(trust, faster):
    """The seed tells three times for what was extracted; that takes a trust of 0, and
    .5 makes it twice.
    """
    assert half_life("retention", EPISODE, UNUSED, trust, POLICY) == pytest.approx(
        30 / faster
    )
    assert half_life("confidence", EPISODE, UNUSED, trust, POLICY) == 30


# row: D8
@pytest.mark.parametrize("law", LAWS)
def test_what_is_pinned_never_fades(law):
    """By no law, at no age, with no trust."""
    pinned = replace(EPISODE, pinned=True, confidence=0.1)
    assert half_life(law, pinned, UNUSED, 0.0, POLICY) == math.inf
    assert remaining_share(law, pinned, UNUSED, THEN + 10_000 * DAY, 0.0, POLICY) == 1.0


# row: D8
def test_a_pinned_memory_is_always_worth_the_same():
    """After a hundred years as on the first day."""
    pinned = replace(EPISODE, pinned=True)
    found = {
        vitals(pinned, UNUSED, THEN + days * DAY, 0.4, POLICY)
        for days in (0, 1, 100, 36500)
    }
    assert len(found) == 1
    assert found.pop() == Vitals(
        confidence=0.6, salience=1.0, retention=1.0, decay=0.0, heat=pytest.approx(0.55)
    )


# -- time ------------------------------------------------------------------------------


# row: B10
def test_nothing_grows_before_its_anchor():
    """A clock that was set back gives what was anchored, and bumps keep the later
    anchor.
    """
    before = THEN - 100 * DAY
    assert vitals(EPISODE, used(2, salience=0.7), before, 1.0, POLICY) == vitals(
        EPISODE, used(2, salience=0.7), THEN, 1.0, POLICY
    )
    usage = after_recall(
        EPISODE, used(2, salience=0.7, gap_days=1.0), before, 1.0, POLICY
    )
    assert usage == replace(
        used(3, 0.95, salience=pytest.approx(0.8)), stability=1.1, gap_days=0.0
    )


# row: B10
def test_fading_goes_by_time_and_not_by_the_wall_clock():
    """Two times of one zone lie an hour further apart than their clocks say when summer
    time ends between them.
    """
    zone = ZoneInfo("Europe/Berlin")
    fact = replace(EPISODE, created=datetime(2026, 10, 25, 1, 30, tzinfo=zone))
    now = datetime(2026, 10, 25, 3, 30, tzinfo=zone)
    assert effective_confidence(fact, UNUSED, now, POLICY) == effective_confidence(
        fact, UNUSED, now.astimezone(UTC), POLICY
    )
    assert effective_confidence(fact, UNUSED, now, POLICY) == 0.6 * math.exp2(
        -3 / 24 / 30
    )
