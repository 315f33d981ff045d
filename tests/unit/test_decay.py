"""What a memory is worth, by every worked example of the four seeds, and what use makes
of it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from engram.core.decay import (
    after_evidence,
    after_recall,
    decay_score,
    half_life,
    retention,
    salience,
    vitals,
)
from engram.core.lifecycle import (
    stage,
)
from engram.core.policy import Policy
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


# -- seed B: salience ------------------------------------------------------------------


# row: B5
def test_a_new_memory_has_the_initial_values():
    """Neither up nor down: .5, never recalled, gradient 1."""
    assert Usage() == Usage(0, None, 0, None, 1.0, 0.5, None, 0.0, 1.0)
    assert salience(NOTE, UNUSED, THEN, POLICY) == 0.5


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


# -- seed C: heat and decay ------------------------------------------------------------


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
