"""A statement that was replaced and is made again: no silent rival (A7, A10)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.fakes.sentences import rows


def later(sim, days=1):
    sim.advance(sim.now + timedelta(days=days))


def say(sim, *texts, **more):
    """Say each text in a conversation of its own, a day apart."""
    for number, text in enumerate(texts):
        turn = {"id": f"{number} {text}", "session": f"day {number}", "text": text}
        sim.call("observe", turns=[turn | more])
        sim.call("flush")
        later(sim)


def active(sim):
    return sorted(row["text"] for row in sim.call("list", status="active")["memories"])


# row: A7
# row: A10
@pytest.mark.parametrize(
    ("said", "left"),
    rows("said_again", "the_latest_words_of_the_user_count"),
)
def test_the_latest_words_of_the_user_count(simulation, said, left):
    say(simulation, *said)
    assert active(simulation) == [left]
    assert not simulation.call("review")["cases"]


# row: A7
def test_what_is_remembered_again_replaces_its_correction(simulation):
    known = simulation.call("remember", text="The hint is the blue house.")
    later(simulation)
    simulation.call("correct", id=known["id"], text="The hint is the green house.")
    later(simulation)
    simulation.call("remember", text="The hint is the blue house.")
    assert active(simulation) == ["The hint is the blue house."]
    run = simulation.call("runs")["runs"][0]["id"]
    simulation.call("undo", id=run)
    assert "The hint is the green house." in active(simulation)


# row: X27
def test_an_import_that_repeats_the_old_state_replaces_nothing(simulation):
    say(simulation, "I drive a Golf.", "I drive a Tesla now.")
    old = {"origin": "import", "occurred_at": "2026-12-01T10:00:00"}
    say(simulation, "I drive a Golf.", **old)
    assert "The user drives a Tesla." in active(simulation)


# row: A10
def test_another_one_replaces_nothing(simulation):
    """Several dogs are possible; nothing says it was wrong."""
    say(simulation, "My dog is called Rex.", "My dog is called Max.")
    assert len(active(simulation)) == 2


# row: X23
def test_a_restored_memory_ends_by_an_answer_only(simulation):
    say(simulation, "I live in Rome.")
    (known,) = simulation.call("list")["memories"]
    simulation.call("forget", id=known["id"])
    simulation.call("update", id=known["id"], status="active")
    say(simulation, "I moved to Oslo.")
    assert known["text"] in active(simulation)
    assert simulation.call("review")["cases"]
