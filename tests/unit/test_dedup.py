"""The rungs of the ladder, in their order, and what follows from a verdict."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.core.dedup import (
    Evidence,
    Judgement,
    Neighbour,
    Verdict,
    check,
    decide,
    is_event,
    is_own_change,
    is_user_backed,
    merge,
    reinforced_confidence,
    repeated,
    session_count,
    verdict_by_similarity,
    weakened_confidence,
)
from engram.core.policy import DedupPolicy, SimilarityPolicy
from engram.core.records import Fact
from tests.size import examples

POLICY, CUTS = DedupPolicy(), SimilarityPolicy()
THEN = datetime(2026, 3, 4, tzinfo=UTC)
NOTHING = {
    "filed": False,
    "trivial": False,
    "duplicate": None,
    "grounded": True,
}
RUNGS = [
    ({"filed": True}, Verdict("skip", "already filed")),
    ({"trivial": True}, Verdict("skip", "trivial")),
    ({"duplicate": "F1"}, Verdict("confirm", "same statement", "F1")),
    ({"grounded": False}, Verdict("review", "no evidence in the turn")),
]
OLD = Fact(
    "F1",
    "Anna lives in Berlin",
    confidence=0.6,
    importance=0.5,
    source="a#^t1",
    origin="rules",
)
CLAIM = Evidence("b#^t1", from_user=True, remaining=5)
SAME, AGAINST, BESIDE = (
    Judgement("same", 1),
    Judgement("contradicts", 1),
    Judgement("independent"),
)


def near(similarity, fact=OLD, **more):
    return Neighbour(fact, similarity, **more)


def related(*neighbours, model=True):
    return verdict_by_similarity(neighbours, CUTS, model=model)


def judged(judgement, fact=OLD, claim=CLAIM, **more):
    return decide(related(near(0.75, fact, **more)), claim, POLICY, judgement)


def unjudged(fact=OLD, claim=CLAIM):
    return decide(
        related(
            near(0.78, fact, conflict="another home", distinct="another home"),
            model=False,
        ),
        claim,
        POLICY,
    )


def effect_actions(decision):
    return [effect.action for effect in decision.effects]


# row: C5
# row: X8
# row: X17
@pytest.mark.parametrize(("rung", "verdict"), RUNGS)
def test_each_rung_decides_alone(rung, verdict):
    """One reason is enough."""
    assert check(**NOTHING | rung) == verdict


def test_the_first_rung_that_holds_decides():
    """Whatever else is true: all 16 cases."""
    for chosen in product([False, True], repeat=len(RUNGS)):
        held = [rung for rung, holds in zip(RUNGS, chosen, strict=True) if holds]
        given = dict(NOTHING)
        for rung, _ in held:
            given |= rung
        assert check(**given) == (held[0][1] if held else Verdict("create", "new"))


# row: A7
@pytest.mark.parametrize(
    ("similarity", "action"),
    [
        (0.86, "reinforce"),
        (0.85, "judge"),
        (0.70, "judge"),
        (0.69, "create"),
        (0.0, "create"),
    ],
)
def test_the_best_neighbour_decides_the_rung(similarity, action):
    """Both cuts belong to the grey zone."""
    assert related(near(similarity)).action == action


def test_without_neighbours_a_statement_is_new():
    """An empty store."""
    assert related() == Verdict("create", "new")


# row: A7
@pytest.mark.parametrize(
    "status", ["archived", "superseded", "invalidated", "pruned", "forgotten", "review"]
)
def test_only_active_facts_are_compared(status):
    """So tea, then coffee, then tea again works."""
    assert related(near(0.99, replace(OLD, status=status))).action == "create"


# row: E5
@pytest.mark.parametrize(
    ("similarity", "action"), [(0.69, "judge"), (0.40, "judge"), (0.39, "create")]
)
def test_the_same_slot_forces_a_comparison_and_is_never_identity(similarity, action):
    """From .40 on; two facts about John of one category both survive."""
    verdict = related(near(similarity, same_slot=True))
    assert verdict.action == action
    assert decide(verdict, CLAIM, POLICY, BESIDE).destination == "active"


# row: A7
def test_what_words_tell_apart_is_judged_and_not_reinforced():
    """A vector that puts Berlin beside Munich does not merge them."""
    apart = near(0.97, distinct="other names")
    assert related(apart).action == "judge"
    assert related(apart, model=False).action == "create"
    assert related(apart, near(0.9, replace(OLD, id="F2"))).match == "F2"


# row: A9
def test_all_grey_neighbours_are_judged_together_nearest_first():
    """One question; ties in the order of the ids."""
    found = related(
        *(
            near(score, replace(OLD, id=name))
            for score, name in ((0.7, "C"), (0.8, "B"), (0.8, "A"))
        )
    )
    assert [one.fact.id for one in found.neighbours] == ["A", "B", "C"]
    assert found.match == "A"


# row: A8
@pytest.mark.parametrize(
    ("before", "after"), [(0.6, 0.7), (0.95, 1.0), (1.0, 1.0), (0.0, 0.1)]
)
def test_a_reinforcement_adds_a_tenth(before, after):
    """And no more than certainty."""
    assert reinforced_confidence(before, POLICY) == after


# row: A8
def test_a_reinforcement_writes_no_new_fact():
    """The old one gains confidence; the shell adds the evidence."""
    decision = decide(related(near(0.9)), CLAIM, POLICY)
    (effect,) = decision.effects
    assert (decision.destination, effect.action, effect.confidence) == (
        "",
        "reinforce",
        0.7,
    )


# row: X27
def test_one_turn_reinforces_once():
    """What it says again only confirms."""
    for fact in (replace(OLD, source=CLAIM.source), replace(OLD, also=(CLAIM.source,))):
        assert effect_actions(decide(related(near(0.9, fact)), CLAIM, POLICY)) == [
            "confirm"
        ]


# row: A10
def test_a_contradiction_of_three_sessions_weakens_and_coexists():
    """Both stay active."""
    (effect,) = (
        decision := judged(AGAINST, replace(OLD, also=("b#^t1", "c#^t9")))
    ).effects
    assert (decision.destination, effect.action, effect.confidence) == (
        "active",
        "weaken",
        0.4,
    )


# row: A10
@pytest.mark.parametrize(
    ("before", "after"), [(0.6, 0.4), (0.25, 0.1), (0.1, 0.1), (0.05, 0.05), (1.0, 0.8)]
)
def test_a_weakened_fact_keeps_a_tenth(before, after):
    """And never gains."""
    assert weakened_confidence(before, POLICY) == after


# row: A10
@pytest.mark.parametrize(
    ("source", "also", "count"),
    [
        ("", (), 0),
        ("a#^t1", (), 1),
        ("a#^t1", ("a#^t2", "a#^t3"), 1),
        ("a#^t1", ("b#^t1", "c#^t1"), 3),
    ],
)
def test_support_is_counted_in_sessions(source, also, count):
    """Three turns of one conversation are one episode."""
    assert session_count(replace(OLD, source=source, also=also)) == count


# row: A11
def test_a_contradiction_of_fewer_invalidates():
    """The new one is written, the old one ended."""
    decision = judged(AGAINST, replace(OLD, also=("b#^t1",)))
    assert (decision.destination, effect_actions(decision)) == (
        "active",
        ["invalidate"],
    )
    assert not decision.effects[0].add_tombstone


# row: A9
@pytest.mark.parametrize(
    "answer", [None, BESIDE, Judgement("contradicts", 2), Judgement("same", 0)]
)
def test_a_judgement_that_names_nothing_changes_nothing(answer):
    """Missing, independent, or out of range."""
    decision = judged(answer)
    assert (decision.destination, decision.effects) == ("active", ())


# row: E5
def test_the_same_in_other_words_is_rewritten_and_nothing_is_lost():
    """Newer text, united evidence, the higher importance."""
    decision = judged(SAME)
    assert (decision.destination, effect_actions(decision)) == ("", ["rewrite"])
    new = Fact(
        "F2",
        "Anna's home is Berlin",
        importance=0.7,
        source="b#^t1",
        about=("Anna", "Berlin"),
        tags=("home",),
    )
    whole = merge(replace(OLD, about=("Anna",), also=("c#^t2",)), new)
    assert (whole.id, whole.text, whole.importance) == ("F1", new.text, 0.7)
    assert (whole.source, whole.also, whole.about) == (
        "a#^t1",
        ("c#^t2", "b#^t1"),
        ("Anna", "Berlin"),
    )
    assert merge(whole, new) == whole


def test_only_younger_words_of_the_user_replace_the_text():
    """Older evidence and other sources reinforce."""
    for claim in (
        replace(CLAIM, from_user=False),
        replace(CLAIM, newer=frozenset({"F1"})),
        replace(CLAIM, barred={"F1": "x"}),
    ):
        assert effect_actions(judged(SAME, claim=claim)) == ["reinforce"]


# row: X8
def test_a_correction_supersedes_and_buries():
    """Also what three sessions said, and what happened."""
    correction = replace(CLAIM, correction=True)
    for old in (
        OLD,
        replace(OLD, also=("b#^t1", "c#^t1")),
        replace(OLD, kind="episode", valid_from=THEN),
    ):
        (effect,) = judged(AGAINST, old, correction).effects
        assert (effect.action, effect.add_tombstone) == ("supersede", True)


# row: X8
def test_without_a_model_only_the_users_correction_retires():
    """A conflict that words show; everybody else waits for a person."""
    assert effect_actions(unjudged(claim=replace(CLAIM, correction=True))) == [
        "supersede"
    ]
    assert effect_actions(
        unjudged(claim=replace(CLAIM, correction=True, from_user=False))
    ) == ["ask"]


# row: X9
def test_without_a_model_a_conflict_asks_and_both_stay():
    """The user's own words are active beside the old ones; others wait."""
    for claim, place in (
        (CLAIM, "active"),
        (replace(CLAIM, from_user=False), "review"),
        (replace(CLAIM, barred={"F1": "x"}), "review"),
    ):
        decision = unjudged(claim=claim)
        assert (
            decision.destination,
            effect_actions(decision),
            decision.effects[0].why,
        ) == (
            place,
            ["ask"],
            "another home",
        )


# row: A6
def test_without_a_model_and_a_conflict_it_is_created():
    """Near is no reason to ask a person."""
    verdict = related(near(0.8), model=False)
    assert verdict.action == "create"
    assert decide(verdict, CLAIM, POLICY).destination == "active"


HELD = [
    {"verification": "user_confirmed"},
    {"origin": "user"},
    {"origin": "edited"},
    {"pinned": True},
]


# row: X23
@pytest.mark.parametrize("held", HELD)
def test_what_a_person_stands_by_is_never_changed(held):
    """Agreement confirms, contradiction and correction ask."""
    fact = replace(OLD, **held)
    assert is_user_backed(fact)
    assert effect_actions(decide(related(near(0.95, fact)), CLAIM, POLICY)) == [
        "confirm"
    ]
    assert effect_actions(judged(SAME, fact)) == ["confirm"]
    for claim in (CLAIM, replace(CLAIM, correction=True)):
        assert effect_actions(judged(AGAINST, fact, claim)) == ["ask"]
        assert effect_actions(unjudged(fact, claim)) == ["ask"]


# row: X27
def test_a_lower_source_waits_with_its_reason():
    """It takes nobody's place."""
    decision = judged(
        AGAINST,
        claim=replace(CLAIM, from_user=False, barred={"F1": "an import does not"}),
    )
    assert (decision.destination, decision.why, effect_actions(decision)) == (
        "review",
        "an import does not",
        ["ask"],
    )


# row: X27
def test_a_batch_retires_no_more_than_its_share():
    """Then it asks; to weaken costs nothing."""
    for claim in (
        replace(CLAIM, remaining=0),
        replace(CLAIM, remaining=0, correction=True),
    ):
        decision = judged(AGAINST, claim=claim)
        assert (decision.destination, effect_actions(decision)) == ("active", ["ask"])
    assert effect_actions(
        judged(
            AGAINST, replace(OLD, also=("b#^1", "c#^1")), replace(CLAIM, remaining=0)
        )
    ) == ["weaken"]


# row: C33
# row: C12
def test_older_evidence_ends_nothing_younger():
    """An old export says what was true then; it is kept as superseded."""
    claim = replace(CLAIM, newer=frozenset({"F1"}))
    for decision in (judged(AGAINST, claim=claim), unjudged(claim=claim)):
        assert (decision.destination, decision.superseded_by, decision.effects) == (
            "superseded",
            "F1",
            (),
        )


# row: C33
@pytest.mark.parametrize("event", [{"valid_from": THEN}, {"category": "moment"}])
def test_what_happened_stays_as_it_is(event):
    """Episodes are not ended by later facts, nor rewritten."""
    fact = replace(OLD, kind="episode", **event)
    assert is_event(fact)
    assert not is_event(replace(fact, kind="note"))
    decision = judged(AGAINST, fact)
    assert (decision.destination, decision.effects) == ("active", ())
    assert effect_actions(judged(SAME, fact)) == ["reinforce"]


FACTS = st.builds(
    Fact,
    id=st.just("F1"),
    text=st.just("x"),
    kind=st.sampled_from(("note", "episode")),
    category=st.sampled_from(("fact", "moment")),
    confidence=st.floats(0, 1),
    source=st.sampled_from(("", "a#^t1", "b#^t1")),
    also=st.sets(st.sampled_from(("b#^t1", "c#^t1", "d#^t1"))).map(tuple),
    origin=st.sampled_from(("", "rules", "user", "edited")),
    pinned=st.booleans(),
    verification=st.sampled_from(("", "user_confirmed")),
    valid_from=st.sampled_from((None, THEN)),
)
CLAIMS = st.builds(
    Evidence,
    source=st.just("b#^t1"),
    from_user=st.booleans(),
    correction=st.booleans(),
    barred=st.sampled_from((None, {"F1": "barred"})),
    newer=st.sampled_from((frozenset(), frozenset({"F1"}))),
    remaining=st.integers(0, 5),
)


@examples(400)
@given(
    FACTS,
    CLAIMS,
    st.floats(0, 1),
    st.sampled_from(("", "another home")),
    st.booleans(),
    st.sampled_from((None, SAME, AGAINST, BESIDE)),
)
def test_whatever_happens_nothing_is_lost(
    fact, claim, similarity, conflict, model, answer
):
    """A candidate has a file of its own or lives on in another; no barred, older or
    limited evidence changes a fact.
    """
    verdict = related(
        near(similarity, fact, conflict=conflict, distinct=conflict), model=model
    )
    decision = decide(
        verdict, claim, POLICY, answer if verdict.action == "judge" else None
    )
    found = set(effect_actions(decision))
    assert decision.destination or found & {"confirm", "reinforce", "rewrite"}
    ends = {"invalidate", "supersede"}
    assert sum(one in ends for one in effect_actions(decision)) <= claim.remaining
    if is_user_backed(fact):
        assert found <= {"confirm", "ask"}
    if claim.barred or claim.newer:
        assert found <= {"confirm", "reinforce", "ask"}
    assert all(
        0 <= effect.confidence <= 1
        for effect in decision.effects
        if effect.confidence is not None
    )


BERLIN = Fact(
    "A",
    "Anna lives in Berlin.",
    source="talk#^t1",
    also=("more#^t2",),
    about=("Anna",),
    confidence=0.5,
)
HEIR = "01KBH2Q0M6T4W2Y0B7C5D9E1FX"


# row: X23
@pytest.mark.parametrize(
    ("changed", "ours"),
    [
        ({"also": ("more#^t2", "again#^t1"), "confidence": 0.6, "expires": None}, True),
        ({"superseded_by": (HEIR,), "confidence": 0.3}, True),
        (
            {
                "superseded_by": (HEIR,),
                "status": "invalidated",
                "end_reason": "another home",
            },
            True,
        ),
        ({"supersedes": (HEIR,), "sha": "ff"}, True),
        (
            {"superseded_by": ("fact-anna-lives-in-munich",), "status": "superseded"},
            False,
        ),
        ({"also": ("more#^t2", "again#^t1"), "text": "Anna lives in Bonn."}, False),
        ({"also": ("more#^t2", "again#^t1"), "about": ("Ben",)}, False),
        ({"also": ()}, False),
        ({"also": ("again#^t1",)}, False),
        ({"status": "invalidated", "end_reason": "she moved"}, False),
        ({"confidence": 0.9}, False),
        ({"sha": "ff"}, False),
    ],
)
def test_a_change_is_ours_where_nobody_else_writes_such_a_thing(changed, ours):
    """More evidence, or an heir by its id, and what we write along with it."""
    assert is_own_change(BERLIN, replace(BERLIN, **changed)) is ours


# row: A8
@pytest.mark.parametrize(
    ("changes", "again", "action"),
    [
        ({}, "talk-3#^t1", "reinforce"),
        ({}, "talk-1#^t1", "confirm"),
        ({}, "talk-2#^t7", "confirm"),
        ({"pinned": True}, "talk-3#^t1", "confirm"),
        ({"origin": "user"}, "talk-3#^t1", "confirm"),
        ({"verification": "user_confirmed"}, "talk-3#^t1", "confirm"),
        ({"also": tuple(f"t#^t{n}" for n in range(19))}, "talk-3#^t1", "confirm"),
    ],
)
def test_the_same_words_again_are_a_source_once(changes, again, action):
    given = {"source": "talk-1#^t1", "also": ("talk-2#^t7",), "confidence": 0.5}
    fact = Fact("1", "Anna loves tea.", **(given | changes))
    effect = repeated(fact, again, POLICY)
    assert effect.action == action
    assert effect.confidence == (0.6 if action == "reinforce" else None)
