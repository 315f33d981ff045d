"""What may be done to a memory by itself, and what the log of actions teaches."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from engram import config
from engram.core import actions
from engram.core.actions import Eligibility
from engram.core.policy import ActionPolicy, Policy
from engram.errors import ConfigError
from engram.serve import output
from tests.fakes.keeping import Keeping

POLICY = ActionPolicy()
NOW = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
SOUND = Eligibility(0.9, "active", 0.5, "extraction")


def row(action, memory="M", days=0.0, **more):
    return {
        "at": (NOW - timedelta(days=days)).isoformat(),
        "action": action,
        "memory": memory,
        **more,
    }


# -- what may be done ------------------------------------------------------------------


# row: C22
@pytest.mark.parametrize(
    "said",
    [
        None,
        {},
        {"confidence": 0.9, "stage": "active", "importance": 0.5},
        {
            "confidence": 0.9,
            "stage": "active",
            "importance": 0.5,
            "source": "manual",
            "more": 1,
        },
        {"confidence": 1.1, "stage": "active", "importance": 0.5, "source": "manual"},
        {"confidence": True, "stage": "active", "importance": 0.5, "source": "manual"},
        {"confidence": "0.9", "stage": "active", "importance": 0.5, "source": "manual"},
        {"confidence": 0.9, "stage": "gone", "importance": 0.5, "source": "manual"},
        {"confidence": 0.9, "stage": "active", "importance": 0.5, "source": "nobody"},
    ],
)
def test_an_eligibility_without_the_form_counts_for_nothing(said):
    assert actions.eligibility_of(said) == Eligibility(0.0, "candidate", 0.0, "unknown")


# row: C22
def test_what_the_log_says_of_a_proposal_counts_only_in_its_form():
    """Anybody may write in the log: of what has not the form nothing is believed."""
    one = actions.propose("update_note", replace(SOUND, stage="stale"), POLICY)
    assert actions.checked_row({"action": "update_note", **one.row})["ruling"] == "deny"
    assert (
        actions.checked_row({"action": "update_note", **one.row})["eligibility"][
            "stage"
        ]
        == "stale"
    )
    planted = {
        "action": "erase_all",
        "ruling": "please",
        "eligibility": {"confidence": 7},
    }
    assert actions.checked_row(planted) == {
        "action": "discard",
        "ruling": "deny",
        "eligibility": {
            "confidence": 0.0,
            "stage": "candidate",
            "importance": 0.0,
            "source": "unknown",
        },
    }
    assert actions.checked_row(row("store")) == row("store")


# row: C22
def test_an_eligibility_with_the_form_is_read():
    said = {"confidence": 0.9, "stage": "active", "importance": 1, "source": "manual"}
    assert actions.eligibility_of(said) == Eligibility(0.9, "active", 1.0, "manual")


# row: C22
@pytest.mark.parametrize(
    ("action", "known", "more", "verdict"),
    [
        ("summarize_node", SOUND, {"tokens": 0}, "defer"),
        ("summarize_node", SOUND, {"tokens": 1}, "allow"),
        ("store_note", SOUND, {"tokens": 0}, "allow"),
        ("discard", replace(SOUND, importance=0.8), {}, "deny"),
        ("discard", replace(SOUND, importance=0.79), {}, "allow"),
        ("update_note", replace(SOUND, stage="stale"), {}, "deny"),
        ("create_artifact", replace(SOUND, stage="archived"), {}, "deny"),
        ("link_graph", replace(SOUND, stage="stale"), {}, "deny"),
        ("store_note", replace(SOUND, stage="stale"), {}, "allow"),
        ("store_note", replace(SOUND, confidence=0.34), {}, "defer"),
        ("store_note", replace(SOUND, confidence=0.35), {}, "allow"),
        ("store_note", replace(SOUND, confidence=0.34, source="unknown"), {}, "allow"),
        ("discard", replace(SOUND, confidence=0.34), {}, "allow"),
        ("update_note", replace(SOUND, stage="stale", confidence=0.1), {}, "deny"),
    ],
)
def test_the_first_rule_that_fits_decides(action, known, more, verdict):
    assert actions.ruling(action, known, POLICY, **more)[0] == verdict


# -- guidelines ------------------------------------------------------------------------


def advised(*rows):
    return {one.action: one for one in actions.advice(rows, POLICY)}


# row: C21
def test_the_suggestion_is_the_formula_of_the_seed():
    """Six of ten failed: −.024; two proved good and one poor: +.02; the rest of
    nobody's doing.
    """
    rows = [
        row("store", f"M{n}", outcome="failed" if n < 6 else "applied")
        for n in range(10)
    ]
    rows += [row("confirm", "M0"), row("keep", "M1"), row("forget", "M2")]
    one = advised(*rows)["store"]
    assert (one.total, one.good, one.poor) == (10, 2, 1)
    assert one.delta == round(0.12 * (4 - 6) / 10 + 0.06 * (2 - 1) / 3, 4)
    assert one.certainty == "low"


# row: C21
@pytest.mark.parametrize(
    ("good", "poor", "delta", "certainty"),
    [(5, 0, 0.15, "high"), (0, 5, 0.06, "medium"), (1, 4, 0.084, "medium")],
)
def test_a_suggestion_is_clamped_and_labelled(good, poor, delta, certainty):
    rows = [row("store", f"M{n}") for n in range(5)]
    rows += [row("keep", f"M{n}") for n in range(good)] + [
        row("drop", f"M{good + n}") for n in range(poor)
    ]
    one = advised(*rows)["store"]
    assert (one.delta, one.certainty) == (delta, certainty)


# row: C21
def test_what_a_person_took_back_is_done_less():
    """Its row says that the action before it failed; it is no event of its own."""
    rows = [row("supersede", f"M{n}", met="N", run="R") for n in range(5)]
    rows += [row("store", f"M{n}") for n in range(5)]
    wrong = {"outcome": "failed", "reversed": True}
    for number in range(5):
        rows.append(row("supersede", f"M{number}", **wrong))
        rows += [row("correct", f"M{number}"), row("store", f"M{number}", **wrong)]
    raw = b"\n".join(json.dumps(one).encode() for one in rows)
    found = advised(*actions.parse_log(raw, POLICY.events))
    ended, stored = found["supersede"], found["store"]
    assert (ended.total, ended.delta, ended.certainty) == (5, -0.15, "high")
    assert (stored.total, stored.delta, stored.certainty) == (5, -0.15, "high")
    text = actions.guidelines(actions.parse_log(raw, POLICY.events), POLICY)
    assert "- supersede: do less (-0.15, high certainty, 5 events" in text
    unreversed = [one for one in rows if "reversed" not in one]
    assert advised(*unreversed)["store"].delta > 0


# row: C21
def test_only_the_latest_events_count_and_none_of_a_run():
    raw = b"\n".join(
        json.dumps(one).encode()
        for one in [
            *[row("old")] * 9,
            *[row("store")] * POLICY.events,
            row("merge", run="R"),
            {"action": 7},
        ]
    )
    rows = actions.parse_log(raw + b"\nno json\n[1]\n", POLICY.events)
    assert set(advised(*rows)) == {"store"}


# row: C21
def test_guidelines_are_written_once_for_the_same_events(memory):
    """With distributions and suggestions; a run adds nothing to them."""
    keeping = Keeping(memory)
    names = keeping.plant(*(keeping.made(f"Anna saw bird {n}.") for n in range(6)))
    at = keeping.clock().isoformat()
    keeping.memory.vault.log_actions(
        [
            {"at": at, "action": "store", "outcome": "applied", "memory": name}
            for name in names
        ]
    )
    keeping.memory.call("update", {"id": names[0], "pinned": True})
    keeping.run("weekly")
    path = keeping.root / actions.GUIDELINES_FILE
    text = path.read_text()
    assert text.startswith(
        "# Compression guidelines\n\nGenerated: 2026-11-20T20:00:00+00:00\nEvents: 7\n"
    )
    assert "- store: 6" in text
    assert (
        "- store: do more (+0.15, high certainty, 6 events, 1 proved good, 0 poor)"
        in text
    )
    assert "- pin: hold, only 1 events" in text
    keeping.clock.advance(days=8)
    keeping.run("weekly")
    assert path.read_text() == text


# row: C30
def test_show_and_forecast_say_what_became_of_a_memorys_like(memory):
    keeping = Keeping(memory)
    name, other = (
        keeping.fact("Anna plays the violin."),
        keeping.fact("Anna likes tea.", category="preference"),
    )
    keeping.used(name, days=1)
    before = memory.call("show", {"id": name})["worth"]
    dropped = keeping.fact("Anna is a pilot.")
    memory.call("forget", {"id": dropped})
    after = memory.call("show", {"id": name})["worth"]
    assert (before["feedback"], after["feedback"]) == (0.0, -1.0)
    assert after["heat"] == pytest.approx(before["heat"] - 0.05, abs=0.002)
    assert memory.call("show", {"id": other})["worth"]["feedback"] == 0.0
    coming = memory.call("forecast", {"days": 365})
    (row,) = [row for row in coming["coming"] if row["id"] == name][:1]
    assert (row["feedback"], row["heat"]) == (-1.0, after["heat"])
    assert "feedback -1.00" in output.shown("forecast", coming)


# row: C22
def test_what_is_switched_off_is_denied_before_all_else():
    policy = replace(ActionPolicy(), disabled=("summarize_node", "store_note"))
    sure = Eligibility(1.0, "active", 1.0, "manual")
    for action in policy.disabled:
        ruled, why = actions.ruling(action, sure, policy, tokens=0)
        assert (ruled, "switched off" in why) == ("deny", True)
    assert actions.ruling("store_episode", sure, policy)[0] == "allow"


# row: C22
def test_stores_are_ruled_too(opened):
    """What is heard is then stored no more, and `why` tells it; what a person asks to
    keep is.
    """
    policy = Policy()
    off = replace(policy.actions, disabled=("store_note",))
    memory = opened(policy=replace(policy, actions=off))
    turn = {"text": "I live in Dresden.", "session": "s", "role": "user"}
    memory.call("observe", {"turns": [turn]})
    memory.call("flush", {})
    assert memory.index.catalog.facts() == []
    rows = (memory.settings.vault / "state/memory-actions.jsonl").read_text()
    assert "store_note is switched off in the configuration" in rows
    assert "Dresden" in str(memory.call("recall", {"query": "Dresden"})["hits"])
    memory.call("remember", {"text": "I live in Dresden."})
    assert len(memory.index.catalog.facts()) == 1


# row: C22
def test_an_unknown_action_in_the_configuration_is_refused(tmp_path):
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "engram.toml").write_text('id = "x"\ndisabled_actions = ["store_notes"]\n')
    with pytest.raises(ConfigError, match="unknown 'store_notes'"):
        config.load(vault, {"HOME": str(tmp_path)})
    (vault / "engram.toml").write_text('id = "x"\ndisabled_actions = ["store_note"]\n')
    loaded = config.load(vault, {"HOME": str(tmp_path)})
    assert loaded.policy.actions.disabled == ("store_note",)
