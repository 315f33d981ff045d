"""What may be recalled, how far it is trusted, and what becomes of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from engram.core.categories import CATEGORIES
from engram.core.decay import layer_of
from engram.core.lifecycle import (
    archive_reason,
    departure,
    hidden_reason_as_of,
    layer_promotion,
    nudge,
    prune_reason,
    revival_reason,
    stage,
    tier_move,
    tier_value,
    trash_reason,
)
from engram.core.policy import LifecyclePolicy, Policy
from engram.core.records import STATUSES, Fact, Usage, Vitals

NOW = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)
POLICY = Policy()
FACT = Fact(
    "F",
    "Anna drinks tea.",
    created=NOW - 10 * DAY,
    source="2026-11-10-talk#^t1",
    origin="rules",
)
UNUSED = Usage()
FRESH = Vitals(confidence=0.8, salience=0.5, retention=1.0, decay=0.0, heat=0.3)
FADED = Vitals(confidence=0.4, salience=0.2, retention=0.1, decay=0.9, heat=0.1)
OLD = replace(FACT, kind="episode", created=NOW - 90 * DAY - SECOND, importance=0.29)


def limits(**numbers):
    return replace(POLICY, lifecycle=LifecyclePolicy(**numbers))


# row: X5
@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, None),
        ({"created": None}, None),
        ({"created": NOW}, None),
        ({"created": NOW + DAY}, "not yet known"),
        ({"valid_from": NOW + DAY}, "not yet valid"),
        ({"valid_from": NOW}, None),
        ({"valid_until": NOW}, "no longer valid"),
        ({"valid_until": NOW + DAY}, None),
        ({"expires": NOW}, "expired"),
        ({"expires": NOW, "pinned": True}, None),
        ({"expires": NOW + DAY}, None),
        ({"status": "superseded"}, None),
        ({"status": "invalidated"}, None),
        ({"status": "archived"}, None),
        ({"status": "forgotten"}, "forgotten"),
        ({"status": "pruned"}, "pruned"),
        ({"status": "review"}, "review"),
    ],
)
def test_as_of_a_day_counts_what_was_known_and_valid_then(changes, why):
    """Later ends do not matter; what a person removed never returns."""
    assert hidden_reason_as_of(replace(FACT, **changes), NOW) == why


# -- stage -----------------------------------------------------------------------------


# row: B3
# row: C24
# row: C27
@pytest.mark.parametrize(
    ("changes", "usage", "vitals", "expected"),
    [
        ({}, {}, {}, ("candidate", "new")),
        (
            {"status": "archived", "end_reason": "expired"},
            {},
            {},
            ("archived", "expired"),
        ),
        ({"status": "archived", "pinned": True}, {}, {}, ("archived", "archived")),
        (
            {"status": "superseded", "end_reason": "newer"},
            {"access": 50},
            {},
            ("", "newer"),
        ),
        ({"verification": "disputed"}, {"access": 50}, {}, ("stale", "disputed")),
        ({}, {"access": 50}, {"decay": 0.65}, ("stale", "decay 0.65 or more")),
        ({}, {}, {"decay": 0.6499}, ("candidate", "new")),
        ({}, {}, {"confidence": 0.0999}, ("stale", "confidence below 0.1")),
        ({}, {}, {"confidence": 0.10}, ("candidate", "new")),
        (
            {"pinned": True, "verification": "disputed"},
            {},
            {"decay": 1, "confidence": 0},
            ("candidate", "new"),
        ),
        ({}, {"access": 10}, {}, ("core", "recalled 10 times")),
        ({}, {"access": 9}, {}, ("active", "recalled 9 times")),
        (
            {"verification": "user_confirmed"},
            {"access": 1},
            {},
            ("active", "recalled once"),
        ),
        (
            {"verification": "user_confirmed"},
            {},
            {"heat": 0.55},
            ("active", "heat 0.55 or more, user_confirmed"),
        ),
        (
            {"verification": "system_inferred"},
            {},
            {"heat": 0.9},
            ("active", "heat 0.55 or more, system_inferred"),
        ),
        (
            {"verification": "unverified"},
            {},
            {"heat": 0.55},
            ("validated", "heat 0.55 or more"),
        ),
        (
            {"verification": "user_confirmed"},
            {},
            {"heat": 0.5499},
            ("validated", "confirmed by the user"),
        ),
        ({}, {"confirmations": 1}, {}, ("validated", "said 2 times")),
        (
            {"verification": "system_inferred"},
            {},
            {"heat": 0.5499},
            ("candidate", "new"),
        ),
    ],
)
def test_the_first_stage_that_fits_is_the_stage(changes, usage, vitals, expected):
    """From archived over stale, core, active and validated to candidate."""
    assert (
        stage(
            replace(FACT, **changes), Usage(**usage), replace(FRESH, **vitals), POLICY
        )
        == expected
    )


# row: X27
def test_what_is_barred_from_core_stays_active_and_says_why():
    """However often it is recalled; below ten recalls there is nothing to bar."""
    why = "what an import says cannot be core"
    assert stage(FACT, Usage(access=10), FRESH, POLICY, why) == (
        "active",
        f"recalled 10 times; {why}",
    )
    assert stage(FACT, Usage(access=9), FRESH, POLICY, why) == (
        "active",
        "recalled 9 times",
    )


# row: C28
@pytest.mark.parametrize(
    ("name", "points"),
    [
        ("candidate", -0.01),
        ("validated", 0.03),
        ("active", 0.05),
        ("core", 0.08),
        ("stale", -0.06),
        ("archived", -0.08),
        ("", 0.0),
        ("somebody's own word", 0.0),
    ],
)
def test_trust_moves_the_score_a_little_and_a_dispute_more(name, points):
    """What is neither active nor archived has no stage and is not moved; a dispute
    comes on top.
    """
    assert nudge(name, "", POLICY) == points
    assert nudge(name, "disputed", POLICY) == pytest.approx(points - 0.12)


# -- what becomes of it ----------------------------------------------------------------


# row: C18
# row: D11
@pytest.mark.parametrize(
    ("changes", "usage", "vitals", "why"),
    [
        ({}, {"access": 2}, {}, "a moment, old, unimportant, unused, faded"),
        ({"created": NOW - 90 * DAY}, {}, {}, None),
        ({"created": None}, {}, {}, None),
        ({"importance": 0.3}, {}, {}, None),
        ({}, {"access": 3}, {}, None),
        ({}, {}, {"retention": 0.15}, None),
        ({"pinned": True}, {}, {}, None),
        ({"status": "superseded"}, {}, {}, None),
        ({"category": "correction"}, {}, {}, None),
        ({"category": "preference"}, {}, {}, None),
        ({"kind": "note"}, {}, {}, None),
        ({"category": "skill"}, {}, {}, None),
    ],
)
def test_only_what_is_old_unimportant_unused_and_faded_is_archived(
    changes, usage, vitals, why
):
    """Each condition alone keeps a memory, exactly at its limit."""
    assert (
        archive_reason(
            replace(OLD, **changes),
            Usage(**usage),
            replace(FADED, **vitals),
            NOW,
            POLICY,
        )
        == why
    )


# row: C18
def test_a_retention_limit_of_one_leaves_retention_out():
    """Then the seed's four conditions decide alone, also for what has not faded at all."""
    assert archive_reason(OLD, UNUSED, FRESH, NOW, POLICY) is None
    assert (
        archive_reason(OLD, UNUSED, FRESH, NOW, limits(archive_retention=1.0))
        == "a moment, old, unimportant, unused"
    )


# row: B8
def test_what_nobody_remembers_is_archived_at_any_age():
    """Salience below .01; neither a pinned nor a protected memory."""
    young = replace(FACT, kind="episode", importance=0.9)
    gone = replace(FRESH, salience=0.0099)
    assert (
        archive_reason(young, UNUSED, gone, NOW, POLICY)
        == "a moment, salience below 0.01"
    )
    assert (
        archive_reason(young, UNUSED, replace(gone, salience=0.01), NOW, POLICY) is None
    )
    assert (
        archive_reason(replace(young, pinned=True), UNUSED, gone, NOW, POLICY) is None
    )
    assert (
        archive_reason(replace(young, category="decision"), UNUSED, gone, NOW, POLICY)
        is None
    )


# row: A24
@pytest.mark.parametrize(
    ("changes", "confidence", "why"),
    [
        ({}, 0.0499, "confidence below 0.05"),
        ({}, 0.05, None),
        ({"status": "archived"}, 0.01, None),
        ({"pinned": True}, 0.01, None),
        ({"category": "commitment"}, 0.01, None),
        ({"kind": "note"}, 0.01, "confidence below 0.05"),
        ({"text": "Anna is allergic to nuts."}, 0.01, None),
    ],
)
def test_what_nothing_speaks_for_any_more_is_pruned_when_a_person_prunes(
    changes, confidence, why
):
    """Active, with an effective confidence below the threshold, and not protected."""
    fact = replace(FACT, **{"kind": "episode"} | changes)
    assert prune_reason(fact, replace(FRESH, confidence=confidence), 0.05) == why


# row: A24
def test_the_threshold_of_pruning_can_be_set():
    """A person's deed keeps a memory at any threshold."""
    episode = replace(FACT, kind="episode")
    assert prune_reason(episode, FADED, 0.5) == "confidence below 0.5"
    assert prune_reason(episode, FADED, 0.5, user_action="a person edited it") is None


# row: C16
@pytest.mark.parametrize(
    ("changes", "usage", "why"),
    [
        ({"tags": ("fulfilled",)}, {}, "a commitment, fulfilled more than 90 days ago"),
        (
            {"tags": ("home", "State/Expired")},
            {},
            "a commitment, expired more than 90 days ago",
        ),
        ({"tags": ("fulfilled",)}, {"evidence_at": NOW - 90 * DAY}, None),
        (
            {"tags": ("fulfilled",)},
            {"evidence_at": NOW - 91 * DAY},
            "a commitment, fulfilled more than 90 days ago",
        ),
        ({"tags": ("fulfilled",), "done": NOW - 90 * DAY}, {}, None),
        (
            {"tags": ("fulfilled",), "done": NOW - 89 * DAY},
            {"evidence_at": NOW - 400 * DAY},
            None,
        ),
        (
            {"tags": ("fulfilled",), "done": NOW - 91 * DAY},
            {"evidence_at": NOW},
            "a commitment, fulfilled more than 90 days ago",
        ),
        ({"tags": ("fulfilled",), "created": NOW - 90 * DAY}, {}, None),
        ({"tags": ("fulfilled",), "created": None}, {}, None),
        ({"tags": ("fulfilled",), "pinned": True}, {}, None),
        ({"tags": ("fulfilled",), "status": "superseded"}, {}, None),
        ({"tags": ("fulfilled",), "category": "decision"}, {}, None),
        ({"tags": ("open",)}, {}, None),
        ({}, {}, None),
    ],
)
def test_a_resolved_commitment_goes_to_the_trash_ninety_days_after_it_was_settled(
    changes, usage, why
):
    """Where its note does not say when, since it was last said or edited; an unresolved
    one never goes.
    """
    promise = replace(OLD, category="commitment", importance=0.9)
    assert trash_reason(replace(promise, **changes), Usage(**usage), NOW, POLICY) == why


# row: A24
# row: C17
# row: C18
def test_trash_comes_before_the_archive_and_nothing_is_pruned_by_itself():
    """Where several rules would take a memory, the first one's reason is the reason."""
    vitals = replace(FADED, confidence=0.01)
    fact = replace(OLD, confidence=0.3, expires=NOW - DAY)
    assert departure(fact, UNUSED, vitals, NOW, POLICY) == (
        "trash",
        "a speculation, unconfirmed for 30 days",
    )
    assert departure(fact, Usage(confirmations=1), vitals, NOW, POLICY) == (
        "archive",
        "expired",
    )
    unended = replace(fact, expires=None)
    assert departure(unended, UNUSED, vitals, NOW, POLICY) == (
        "archive",
        "a moment, old, unimportant, unused, faded",
    )
    assert (
        departure(replace(unended, importance=0.5), UNUSED, vitals, NOW, POLICY) is None
    )


# row: A26
# row: A30
# row: B18
@pytest.mark.parametrize(
    "status", [status for status in STATUSES if status != "active"]
)
def test_nothing_happens_by_itself_to_what_is_not_active(status):
    """Ends are kept for audit, and only a person forgets."""
    fact = replace(
        OLD,
        status=status,
        expires=NOW,
        confidence=0.01,
        layer="working",
        tags=("fulfilled",),
    )
    nothing = Vitals(0, 0, 0, 1, 0)
    for category in CATEGORIES:
        one = replace(fact, category=category)
        assert (
            departure(one, UNUSED, nothing, NOW, POLICY)
            is layer_promotion(one, Usage(access=9), NOW, POLICY)
            is None
        )


# row: B3
@pytest.mark.parametrize(
    ("changes", "usage", "vitals", "why"),
    [
        ({}, {}, {}, "recalled again"),
        ({"status": "pruned"}, {}, {}, None),
        ({"end_reason": ""}, {}, {}, None),
        ({"superseded_by": ("G",)}, {}, {}, None),
        ({}, {"last_access": None}, {}, None),
        ({"expires": NOW}, {}, {}, None),
        ({"expires": NOW, "pinned": True}, {}, {}, "recalled again"),
        ({"valid_until": NOW}, {}, {}, None),
        ({}, {}, {"salience": 0.0099}, None),
        ({}, {}, {"confidence": 0.0499}, "recalled again"),
    ],
)
def test_a_recall_brings_back_what_was_put_away(changes, usage, vitals, why):
    """Not by a person, not into another memory, not past its end, and not if it had to
    go again at once.
    """
    fact = replace(OLD, status="archived", end_reason="old, unimportant, unused, faded")
    usage = Usage(**{"access": 1, "last_access": NOW, "salience": 0.07} | usage)
    vitals = replace(FRESH, **{"salience": 0.07} | vitals)
    assert revival_reason(replace(fact, **changes), usage, vitals, NOW, POLICY) == why


# -- layers and tiers ------------------------------------------------------------------


# row: D1
@pytest.mark.parametrize(
    ("changes", "layer"),
    [
        ({"kind": "episode"}, "episodic"),
        ({"kind": "note"}, "semantic"),
        ({"category": "skill", "kind": "episode"}, "procedural"),
        (
            {"category": "principle", "text": "Before a release:\n1. test\n2. tag"},
            "procedural",
        ),
        ({"category": "principle", "text": "Test first.\n- always"}, "semantic"),
        ({"category": "fact", "text": "1. tea\n2. milk"}, "semantic"),
        ({"kind": "episode", "layer": "codebase"}, "codebase"),
        ({"kind": "episode", "layer": "somebody's own word"}, "episodic"),
    ],
)
def test_a_layer_follows_from_the_note_unless_the_note_says_one(changes, layer):
    """Steps make a principle a procedure; an unknown word counts as none."""
    assert layer_of(replace(FACT, **changes)) == layer


# row: D7
@pytest.mark.parametrize(
    ("changes", "access", "expected"),
    [
        ({}, 5, ("semantic", "important, recalled 5 times")),
        ({}, 4, None),
        ({"importance": 0.69}, 5, None),
        ({"kind": "note"}, 5, None),
        ({"layer": "episodic"}, 50, None),
        ({"layer": "semantic"}, 50, None),
        ({"status": "archived"}, 50, None),
        ({"layer": "working"}, 0, ("", "30 minutes old")),
        (
            {"layer": "working", "created": NOW - timedelta(minutes=29, seconds=59)},
            1,
            None,
        ),
        ({"layer": "working", "created": NOW}, 2, ("", "recalled 2 times")),
        (
            {"layer": "working", "created": NOW},
            5,
            ("semantic", "important, recalled 5 times"),
        ),
        (
            {"layer": "working", "kind": "note", "created": NOW},
            5,
            ("", "recalled 5 times"),
        ),
    ],
)
def test_layers_rise_by_age_use_and_importance(changes, access, expected):
    """To where they stay, in one step; what a person demoted is not promoted again."""
    fact = replace(
        FACT,
        **{"kind": "episode", "importance": 0.7, "created": NOW - timedelta(minutes=30)}
        | changes,
    )
    assert layer_promotion(fact, Usage(access=access), NOW, POLICY) == expected


# row: C29
def test_the_value_of_a_memory_is_what_its_heat_is_made_of_weighted_otherwise():
    """All of it 1; a correction and a person's word add, a dispute takes; kept within
    0–1.
    """
    inputs = (0.5, 0.4, 0.3, 0.2, 0.5)
    base = 0.24 * 0.5 + 0.26 * 0.4 + 0.20 * 0.3 + 0.20 * 0.2 + 0.10 * 0.5
    assert tier_value(FACT, inputs, POLICY) == pytest.approx(base)
    assert tier_value(
        replace(FACT, category="correction"), inputs, POLICY
    ) == pytest.approx(base + 0.08)
    assert tier_value(
        replace(FACT, verification="user_confirmed"), inputs, POLICY
    ) == pytest.approx(base + 0.05)
    assert tier_value(
        replace(FACT, verification="disputed"), inputs, POLICY
    ) == pytest.approx(base - 0.10)
    assert tier_value(FACT, (1, 1, 1, 1, 1), POLICY) == 1.0
    assert (
        tier_value(replace(FACT, category="correction"), (1, 1, 1, 1, 1), POLICY) == 1.0
    )
    assert (
        tier_value(replace(FACT, verification="disputed"), (0, 0, 0, 0, 0), POLICY)
        == 0.0
    )


# row: C29
@pytest.mark.parametrize(
    ("tier", "worth", "changes", "expected"),
    [
        ("hot", 0.35, {}, ("cold", "value 0.35 or less")),
        ("hot", 0.36, {}, None),
        ("hot", 0.35, {"created": NOW - 14 * DAY + SECOND}, None),
        ("hot", 0.0, {"pinned": True}, None),
        ("cold", 0.69, {}, None),
        ("cold", 0.70, {}, ("hot", "value 0.7 or more")),
        ("cold", 0.0, {"pinned": True}, ("hot", "pinned")),
    ],
)
def test_a_tier_changes_only_beyond_the_far_limit(tier, worth, changes, expected):
    """Between the two limits a memory stays where it is, so it does not go to and fro."""
    fact = replace(FACT, **{"created": NOW - 14 * DAY} | changes)
    assert tier_move(fact, UNUSED, tier, (worth,) * 5, NOW, POLICY) == expected
