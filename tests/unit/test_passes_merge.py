"""Memories that say the same or contradict: merged, compared by a model, left to a
person.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import timedelta

import pytest

from engram.config import ModelSettings
from engram.serve import output
from tests.fakes.judging import every, judging, material, tasks
from tests.fakes.keeping import Keeping
from tests.fakes.openai_server import (
    garbage,
    page,
    prompt_text,
    refusal,
    shape,
    status,
    truncated,
)

OURS = {"origin": "rules", "kind": "note", "confidence": 0.6}
FILLER = [
    "Ben plays chess.",
    "The garden has a pond.",
    "Carla paints boats.",
    "Trains leave at noon.",
]


@pytest.fixture
def fake(silent_model):
    return silent_model


@pytest.fixture
def asking(opened, fake, settings):
    """A vault with a model."""

    def start(**model):
        policy = replace(settings.policy, model=replace(settings.policy.model, **model))
        return Keeping(opened(model=ModelSettings("fake", fake.url), policy=policy))

    return start


def turn(number):
    return f"2026-11-0{number}-talk#^t{number}"


def told(keeping, *texts, **changes):
    """Memories, an hour apart, the first the oldest; each from a conversation of its
    own.
    """
    made = [
        keeping.made(text, days=3 - number / 24, source=turn(number), **OURS | changes)
        for number, text in enumerate(texts, 1)
    ]
    return keeping.plant(*made)


def night(keeping, **more):
    return keeping.memory.call("consolidate", {"cadence": "nightly", **more})


def statuses(keeping, names):
    return [keeping.seen(name).status for name in names]


# -- what says the same ----------------------------------------------------------------


# row: A22
# row: X22
def test_equal_statements_become_one_with_the_evidence_of_all(keeping):
    """The surest stays and is reinforced; the others are superseded, in their place,
    and no file goes.
    """
    names = told(
        keeping,
        "Anna drinks oat milk.",
        "Anna  drinks oat milk!",
        "Anna really drinks oat milk.",
    )
    sure = keeping.fact("Anna drinks oat milk", **OURS | {"confidence": 0.7})
    before = {keeping.seen(name).path for name in names}
    report = night(keeping, only="merge")
    winner = keeping.seen(sure)
    assert statuses(keeping, names) == ["superseded"] * 3
    assert {keeping.seen(name).superseded_by for name in names} == {(sure,)}
    assert {keeping.seen(name).end_reason for name in names} == {
        "says the same as another"
    }
    assert {keeping.seen(name).path for name in names} == before
    assert {winner.source, *winner.also} == {keeping.said(), turn(1), turn(2), turn(3)}
    assert set(winner.supersedes) == set(names)
    assert winner.confidence == 0.8
    assert report["counts"] == {"merge": 4}


def test_what_happened_at_two_times_and_what_two_personas_know_is_not_one(keeping):
    day = keeping.clock()
    names = keeping.plant(
        keeping.made(
            "Anna ran ten miles.", days=1, valid_from=day - timedelta(days=9), **OURS
        ),
        keeping.made(
            "Anna ran ten miles.", days=2, valid_from=day - timedelta(days=2), **OURS
        ),
        keeping.made("Anna is fond of jazz.", days=3, persona="work", **OURS),
        keeping.made("Anna is fond of jazz.", days=4, **OURS),
    )
    night(keeping, only="merge")
    assert statuses(keeping, names) == ["active"] * 4


# row: A22
def test_no_memory_goes_where_the_one_that_stays_cannot_be_written(keeping):
    """All or nothing."""
    names = told(keeping, "Anna drinks oat milk.", "Anna drinks oat milk.")
    strong = keeping.fact("Anna drinks oat milk.", **OURS | {"confidence": 0.9})
    path = keeping.root / keeping.seen(strong).path
    path.write_text(path.read_text() + "\nAnd seen by nobody yet.\n")
    report = night(keeping, only="merge")
    assert statuses(keeping, names) == ["active", "active"]
    assert report["deferred"]


# row: A21
def test_reflect_tells_of_doubles_and_of_what_is_stale_and_changes_nothing(keeping):
    names = told(keeping, "Anna drinks oat milk.", "Anna drinks oat milk.")
    faded = keeping.fact("Anna may like jazz.", days=100, **OURS)
    fresh = keeping.fact("Anna may like rock.", days=70, **OURS)
    before = keeping.everything()
    report = keeping.memory.call("consolidate", {"only": "reflect"})
    assert keeping.everything() == before
    said = {one["memory"]: one["why"] for one in report["findings"]}
    assert set(said) == {next(name for name in names if name in said), faded}
    assert said[faded] == "stale: its confidence has faded to 0.06"
    assert fresh not in said
    assert (report["actions"], report["run"]) == ((), "")


# -- what a model says -----------------------------------------------------------------


def compared(keeping, *texts, **changes):
    """Two memories that are alike, the older first, among others."""
    told(keeping, *FILLER)
    return told(keeping, *texts, **changes)


PORTO, LISBON = "Anna lives in Porto.", "Anna lives in Lisbon."


# row: C12
# row: X9
def test_a_contradiction_in_doubt_waits_for_a_person_and_is_asked_once(asking, fake):
    keeping = asking()
    names = compared(keeping, PORTO, LISBON)
    judging(fake, compare=every("contradicts", 0.89))
    night(keeping, only="compare")
    assert statuses(keeping, names) == ["active", "active"]
    (case,) = keeping.memory.call("review", {})["cases"]
    assert [one["text"] for one in case["statements"]] == [LISBON, PORTO]
    before = keeping.everything()
    night(keeping, only="compare")
    assert keeping.everything() == before
    keeping.memory.call("decide", {"id": case["id"], "decision": "both"})
    keeping.clock.advance(days=1)
    night(keeping, only="compare")
    assert keeping.memory.call("review", {})["cases"] == []


# row: X23
def test_a_model_never_ends_what_a_person_confirmed(asking, fake):
    keeping = asking()
    old, new = compared(keeping, PORTO, LISBON)
    keeping.memory.call("confirm", {"id": old})
    before = (keeping.root / keeping.seen(old).path).read_bytes()
    judging(fake, compare=every("contradicts", 1.0))
    night(keeping, only="compare")
    assert (keeping.root / keeping.seen(old).path).read_bytes() == before
    assert statuses(keeping, [old, new]) == ["active", "active"]
    assert len(keeping.memory.call("review", {})["cases"]) == 1


# row: A10
def test_what_three_conversations_told_is_only_weakened(asking, fake):
    """Once, however often the same is found of it."""
    keeping = asking()
    told(keeping, *FILLER)
    also = (turn(2), turn(3))
    old = keeping.fact(PORTO, days=3, source=turn(1), also=also, **OURS)
    new = keeping.fact(LISBON, days=2, source=turn(4), **OURS)
    judging(fake, compare=every("contradicts", 0.95))
    for only in ("compare", None, "compare"):
        night(keeping, only=only)
        was = keeping.seen(old)
        assert (was.status, was.confidence, was.superseded_by) == (
            "active",
            0.4,
            (new,),
        )


# row: A10
# row: B6
def test_what_is_weakened_has_lost_nothing_until_then(asking, fake, clock):
    """It waits for its first recall while it is sure; from now on it fades, and only
    from now on.
    """
    keeping = asking()
    told(keeping, *FILLER)
    sure = OURS | {"confidence": 0.9}
    old = keeping.fact(PORTO, days=60, source=turn(1), also=(turn(2), turn(3)), **sure)
    keeping.fact(LISBON, days=2, source=turn(4), **sure)
    judging(fake, compare=every("contradicts", 0.95))
    night(keeping, only="compare")
    assert keeping.seen(old).confidence == pytest.approx(0.7)
    assert keeping.memory.call("show", {"id": old})["worth"]["salience"] == 0.5
    clock.advance(days=10)
    faded = 0.5 * math.exp(-0.02 * (1 + 0.3 * 2) * 10)
    assert keeping.memory.call("show", {"id": old})["worth"][
        "salience"
    ] == pytest.approx(faded, abs=1e-3)


# row: C22
def test_nothing_important_is_ended_and_nothing_doubtful_ends(asking, fake):
    """The first is for a person, the second waits."""
    keeping = asking()
    old, new = compared(keeping, PORTO, LISBON, importance=0.8)
    judging(fake, compare=every("contradicts", 1.0))
    night(keeping, only="compare")
    assert statuses(keeping, [old, new]) == ["active", "active"]
    assert len(keeping.memory.call("review", {})["cases"]) == 1
    weak = compared(
        keeping, "Mira owns a violin.", "Mira does not own a violin.", confidence=0.3
    )
    report = night(keeping, only="compare")
    assert statuses(keeping, weak) == ["active", "active"]
    assert any(
        "has to wait: confidence below 0.35" in one["why"] for one in report["findings"]
    )


# row: C22
def test_what_was_refused_is_told_once_by_why(asking, fake):
    keeping = asking()
    old, _ = compared(keeping, PORTO, LISBON, importance=0.8)
    judging(fake, compare=every("contradicts", 1.0))
    night(keeping, only="compare", dry_run=True)
    assert refusals(keeping, old) == []
    night(keeping, only="compare")
    night(keeping, only="compare")
    (one,) = refusals(keeping, old)
    assert (one["action"], one["outcome"], one["ruling"]) == (
        "discard",
        "skipped",
        "deny",
    )
    assert one["reason"] == "importance 0.8 or more"
    assert one["eligibility"]["importance"] == 0.8
    why = keeping.memory.call("why", {"id": old})
    assert "discard · importance 0.8 or more" in output.shown("why", why)
    assert "ruling: deny" in output.shown("why", why, verbose=True)


# row: C22
# row: X24
def test_without_tokens_left_nothing_is_asked(asking, fake):
    keeping = asking(tokens_per_day=0)
    compared(keeping, PORTO, LISBON)
    night(keeping, only="compare")
    assert tasks(fake) == []
    assert keeping.memory.health.problems()["consolidation"] == "no tokens are left"


def refusals(keeping, name):
    return [
        one
        for one in keeping.memory.call("why", {"id": name})["decisions"]
        if "ruling" in one
    ]


# row: C12
def test_what_the_model_calls_the_same_is_one_and_in_doubt_both_stay(asking, fake):
    keeping = asking()
    names = compared(
        keeping,
        "Anna takes the tram to the office.",
        "Anna rides the tram to the office.",
    )
    judging(fake, compare=every("same", 0.8))
    night(keeping, only="compare")
    assert statuses(keeping, names) == ["active", "active"]
    keeping.memory.maintenance_loop.maintenance.snapshot.answers.clear()
    (keeping.root / "state" / "compared.json").unlink()
    judging(fake, compare=every("same", 0.95))
    night(keeping, only="compare")
    assert sorted(statuses(keeping, names)) == ["active", "superseded"]
    (winner,) = [name for name in names if keeping.seen(name).status == "active"]
    assert len({keeping.seen(winner).source, *keeping.seen(winner).also}) == 2


# row: C12
def test_a_verdict_without_its_certainty_is_asked_for_once_more(asking, fake):
    """With the name of the key; the answer that misses a pair is not kept for good."""
    keeping = asking()
    names = compared(keeping, PORTO, LISBON)
    said = iter(["certainty", "confidence"])

    def step(body):
        shown = material(body)["pairs"]
        key = next(said)
        fake.texts.append(prompt_text(body))
        return {
            "verdicts": [
                {"pair": one["pair"], "relation": "contradicts", key: 0.95}
                for one in shown
            ]
        }

    fake.texts = []
    fake.script(step)
    night(keeping, only="compare")
    assert "`confidence`" in fake.texts[1].rpartition("could not be used")[2]
    assert "superseded" in statuses(keeping, names) or len(fake.texts) == 2


# row: C12
@pytest.mark.parametrize(("done", "asked"), [(False, ["compare"]), (True, [])])
def test_a_settled_promise_is_compared_with_nothing(asking, fake, clock, done, asked):
    keeping = asking()
    told(keeping, *FILLER)
    told(keeping, PORTO, category="commitment", done=clock() if done else None)
    told(keeping, LISBON)
    judging(fake, compare=every("independent", 0.9))
    night(keeping, only="compare")
    assert tasks(fake) == asked


# row: X6
def test_a_verdict_on_a_pair_survives_the_undo_of_its_run(asking, fake):
    """It needs no place in the history, and the model is not asked about the pair
    again.
    """
    keeping = asking()
    names = compared(
        keeping,
        "Anna takes the tram to the office.",
        "Anna rides the tram to the office.",
    )
    judging(fake, compare=every("same", 0.95))
    run = night(keeping, only="compare")["run"]
    path = keeping.root / "state" / "compared.json"
    held = path.read_bytes()
    assert sorted(statuses(keeping, names)) == ["active", "superseded"]
    history = keeping.memory.maintenance_loop.maintenance.history
    assert [
        step.after
        for step in history.load(run).steps
        if step.after.startswith("state/")
    ] == []
    undone = keeping.memory.call("undo", {"id": run})
    assert statuses(keeping, names) == ["active", "active"]
    assert undone["deferred"] == {}
    assert path.read_bytes() == held
    night(keeping, only="compare")
    assert tasks(fake) == ["compare"]
    assert statuses(keeping, names) == ["active", "active"]


# row: C12
@pytest.mark.parametrize(
    ("relation", "sure"),
    [("replaces", 1.0), ("", 1.0), ("contradicts", 7), ("same", math.nan)],
)
def test_what_is_no_verdict_in_the_file_of_verdicts_ends_nothing(
    asking, fake, relation, sure
):
    """It may have come with a sync; the pair is asked about again."""
    keeping = asking()
    names = compared(keeping, PORTO, LISBON)
    judging(fake, compare=every("independent", 0.9))
    night(keeping, only="compare")
    path = keeping.root / "state" / "compared.json"
    held = json.loads(path.read_text())
    path.write_text(
        json.dumps({pair: [says, relation, sure] for pair, (says, *_) in held.items()})
    )
    keeping = asking()
    night(keeping, only="compare")
    assert statuses(keeping, names) == ["active", "active"]
    assert json.loads(path.read_text()) == held


# row: A28
def test_contradictions_are_looked_for_in_one_question(asking, fake):
    """What is found goes the way of all contradictions."""
    keeping = asking()
    old, new = told(keeping, PORTO, LISBON)
    boats = (f"Anna painted boat {number} in harbour {number}." for number in range(9))
    told(keeping, *boats)

    def on_homes(shown):
        homes = [one for one in shown["pairs"] if one["newer"]["text"] == LISBON]
        others = [one for one in shown["pairs"] if one not in homes]
        found = every("contradicts", 0.95)({"pairs": homes})["verdicts"]
        apart = every("independent", 0.95)({"pairs": others})["verdicts"]
        return {"verdicts": found + apart}

    judging(fake, compare=on_homes)
    keeping.memory.call("consolidate", {"only": "compare"})
    assert tasks(fake) == ["compare"]
    assert statuses(keeping, [old, new]) == ["superseded", "active"]


# row: C12
@pytest.mark.parametrize(
    "reply",
    [
        garbage(),
        page(),
        status(500),
        refusal(),
        truncated(
            '{"verdicts": [{"pair": 1, "relation": "contradicts", "confidence": 1}]}'
        ),
        shape([1, 2]),
        {"verdicts": "all of them"},
        {"verdicts": [{"pair": 99, "relation": "contradicts", "confidence": 1}]},
        {"verdicts": [{"pair": "1", "relation": "contradicts", "confidence": 1}]},
        {"verdicts": [{"pair": 1, "relation": "delete", "confidence": 1}]},
        {"verdicts": [{"pair": 1, "relation": "contradicts", "confidence": "very"}]},
        {"verdicts": [{"pair": 1, "relation": "contradicts", "confidence": 7}]},
        {"verdicts": [{"pair": 0, "relation": "same", "confidence": 1}] * 10_000},
        {"delete": [1, 2, 3]},
        "",
        "null",
    ],
)
def test_a_bad_reply_changes_no_memory(asking, fake, reply):
    keeping = asking(attempts=1, re_asks=0)
    names = compared(keeping, PORTO, LISBON)
    before = {
        name: (keeping.root / keeping.seen(name).path).read_bytes() for name in names
    }
    fake.script(reply)
    night(keeping, only="compare")
    assert {
        name: (keeping.root / keeping.seen(name).path).read_bytes() for name in names
    } == before
    # what was not judged is asked about again
    assert not (keeping.root / "state" / "compared.json").exists()


# row: X24
def test_a_spent_budget_stops_the_questions_and_is_told(asking, fake):
    keeping = asking(calls_per_day=0)
    compared(keeping, PORTO, LISBON)
    report = night(keeping)
    assert fake.asked == []
    assert report["unanswered"] == {"compare": 1}
    assert keeping.memory.call("status", {})["budget"]["calls_per_day"] == 0
    assert "budget" in keeping.memory.call("status", {})["faults"]["consolidation"]


# row: X27
def test_a_statement_of_less_standing_ends_nothing(asking, fake):
    """What an import says newly waits beside what the user said."""
    keeping = asking()
    told(keeping, *FILLER)
    old = keeping.fact(PORTO, days=3, **OURS)  # without a source it is a person's
    new = keeping.fact(LISBON, days=2, source="2026-11-09-nowhere#^t1", **OURS)
    judging(fake, compare=every("contradicts", 1.0))
    night(keeping, only="compare")
    assert statuses(keeping, [old, new]) == ["active", "active"]
    assert len(keeping.memory.call("review", {})["cases"]) == 1
