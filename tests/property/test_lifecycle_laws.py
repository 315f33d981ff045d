"""Laws of what becomes of a memory."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from engram.core.categories import CATEGORIES
from engram.core.decay import LAYERS
from engram.core.lifecycle import (
    STAGES,
    Forecast,
    departure,
    fading_reason,
    forecast,
    hidden_reason,
    layer_promotion,
    protection,
    revival_reason,
    settlement,
    stage,
    tier_move,
)
from engram.core.policy import Policy
from engram.core.records import STATUSES, Fact, Usage, Vitals
from tests.size import examples

POLICY = Policy()
NOW = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
DAY = timedelta(days=1)
RUNS = examples(300)
AWAY = {"archive": "archived"}
SOURCES = st.sampled_from(
    ("user", "assistant", "interaction", "import", "tool", "dream")
)

shares = st.sampled_from(
    (0.0, 0.0099, 0.01, 0.05, 0.15, 0.3, 0.39, 0.5, 0.65, 0.7, 1.0)
) | st.floats(0, 1)
times = st.sampled_from((-400, -91, -90, -31, -30, -14, -1, 0, 1, 20)).map(
    lambda days: NOW + days * DAY
)
maybe = st.none() | times
facts = st.builds(
    Fact,
    id=st.just("F"),
    text=st.sampled_from(
        (
            "Anna drinks tea.",
            "1. boil\n2. pour",
            "Anna wants tea today.",
            "Anna moved to Porto.",
        )
    ),
    category=st.sampled_from(sorted(CATEGORIES)),
    kind=st.sampled_from(("episode", "episode", "note")),
    created=maybe,
    status=st.sampled_from(("active", "active", "active", *STATUSES)),
    confidence=shares,
    importance=shares,
    tags=st.sampled_from(
        ((), (), ("fulfilled",), ("promise/expired", "home"), ("remember",))
    ),
    source=st.sampled_from(("talk#^t1", "talk#^t1", "")),
    origin=st.sampled_from(("rules", "rules", "user", "synthesized", "")),
    pinned=st.booleans(),
    expires=maybe,
    valid_until=maybe,
    superseded_by=st.sampled_from(((), ("G",))),
    end_reason=st.sampled_from(("", "expired", "faded")),
    layer=st.sampled_from(("", "", *LAYERS)),
    verification=st.sampled_from(("", "user_confirmed", "system_inferred", "disputed")),
)
usages = st.builds(
    Usage,
    access=st.integers(0, 12),
    last_access=maybe,
    confirmations=st.integers(0, 2),
    evidence_at=maybe,
    met=maybe,
)
vitals = st.builds(
    Vitals,
    confidence=shares,
    salience=shares,
    retention=shares,
    decay=shares,
    heat=shares,
)
clocks = times.filter(lambda moment: moment >= NOW)


# row: D8
# row: B16
@RUNS
@given(
    facts,
    usages,
    vitals,
    clocks,
    st.sampled_from(("hot", "cold")),
    st.lists(shares, min_size=5, max_size=5),
)
def test_what_is_pinned_survives_everything(fact, usage, values, now, tier, inputs):
    """It is not let go, put away, given up, called stale or cooled down."""
    kept = replace(fact, pinned=True)
    assert departure(kept, usage, values, now, POLICY) is None
    assert stage(kept, usage, values, POLICY)[0] != "stale"
    assert tier_move(kept, usage, tier, inputs, now, POLICY) in {
        None,
        ("hot", "pinned"),
    }
    assert forecast(kept, usage, lambda _: values, now, 400, POLICY) == ()


# row: C18
# row: C27
@RUNS
@given(
    facts,
    usages,
    vitals,
    clocks,
    SOURCES,
    st.sampled_from((None, "a person edited it")),
)
def test_nothing_that_is_protected_leaves_but_by_an_end_that_was_given_to_it(
    fact, usage, values, now, said_by, kept
):
    """No fading, no speculation; a guessed end is none."""
    taken = departure(
        fact, usage, values, now, POLICY, said_by=said_by, user_action=kept
    )
    if protection(fact, kept):
        assert taken in {None, ("archive", "expired")}
        assert (
            departure(
                replace(fact, expires=None),
                usage,
                values,
                now,
                POLICY,
                said_by=said_by,
                user_action=kept,
            )
            is None
        )
    coming = forecast(
        replace(fact, expires=None),
        usage,
        lambda _: values,
        now,
        400,
        POLICY,
        said_by=said_by,
        user_action=kept,
    )
    assert not protection(fact, kept) or {one.what for one in coming} <= {"stale"}


# row: C18
@RUNS
@given(facts, usages, vitals, clocks, SOURCES)
def test_what_is_not_on_the_list_of_what_fades_stays_active(
    fact, usage, values, now, said_by
):
    """The list is exhaustive: moments, passed plans, speculation, the words of others,
    preferences of the day.
    """
    if not fading_reason(fact, now, POLICY, said_by) and not settlement(fact):
        assert departure(fact, usage, values, now, POLICY, said_by=said_by) in {
            None,
            ("archive", "expired"),
        }


@RUNS
@given(facts, usages, vitals, clocks)
def test_no_memory_is_taken_twice_at_one_instant(fact, usage, values, now):
    """Once put away it is hidden, nothing more becomes of it, and the same instant does
    not bring it back.
    """
    living = replace(fact, status="active", pinned=False)
    taken = departure(living, usage, values, now, POLICY)
    if taken is None or taken[0] == "trash":
        return
    gone = replace(living, status=AWAY[taken[0]], end_reason=taken[1])
    assert hidden_reason(gone, now) == gone.status
    assert (
        departure(gone, usage, values, now, POLICY)
        is layer_promotion(gone, usage, now, POLICY)
        is None
    )
    assert revival_reason(gone, usage, values, now, POLICY) is None


@RUNS
@given(facts, usages, vitals, clocks)
def test_what_is_revived_may_be_recalled_and_stays(fact, usage, values, now):
    """At the instant it comes back no rule takes it away again."""
    put_away = replace(fact, status="archived", end_reason="faded", superseded_by=())
    if revival_reason(put_away, replace(usage, last_access=now), values, now, POLICY):
        back = replace(put_away, status="active", end_reason="")
        assert (
            hidden_reason(back, now)
            is departure(back, usage, values, now, POLICY)
            is None
        )


@RUNS
@given(
    facts,
    usages,
    vitals,
    clocks,
    st.sampled_from(("hot", "cold")),
    st.lists(shares, min_size=5, max_size=5),
)
def test_layer_and_tier_settle_in_one_step(fact, usage, values, now, tier, inputs):
    """What was changed is not changed again at the same instant."""
    assert stage(fact, usage, values, POLICY)[0] in {"", *STAGES}
    if risen := layer_promotion(fact, usage, now, POLICY):
        assert (
            layer_promotion(replace(fact, layer=risen[0]), usage, now, POLICY) is None
        )
    if moved := tier_move(fact, usage, tier, inputs, now, POLICY):
        assert moved[0] != tier
        assert tier_move(fact, usage, moved[0], inputs, now, POLICY) is None


# row: X10
@RUNS
@given(facts, usages, vitals, st.floats(0.5, 500), st.integers(0, 200))
def test_a_forecast_is_what_looking_at_every_day_would_find(
    fact, usage, values, life, days
):
    """As long as vitals fall: the first day it is taken, and the first before that on
    which it goes stale.
    """

    def at(moment):
        left = max(0.0, 1 - (moment - NOW) / DAY / life)
        return Vitals(
            values.confidence * left,
            values.salience * left,
            values.retention * left,
            1 - values.retention * left,
            0,
        )

    expected = []
    for moment in (NOW + day * DAY for day in range(days + 1)):
        if taken := departure(fact, usage, at(moment), moment, POLICY):
            expected.append(Forecast(moment, *taken))
            break
        name, why = stage(fact, usage, at(moment), POLICY)
        if name == "stale" and not expected:
            expected.append(Forecast(moment, name, why))
    if expected and expected[0] == Forecast(NOW, "stale", expected[0].why):
        del expected[0]  # it is so already
    assert forecast(fact, usage, at, NOW, days, POLICY) == tuple(expected)
