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


# row: A7
@pytest.mark.parametrize(
    ("words", "days"),
    [
        ("I quit Arla on Friday, I could not take it any more.", 0),
        ("My last day at Arla is on Friday.", 10),
    ],
)
def test_a_job_is_over_from_the_day_on_which_it_ends(simulation, words, days):
    say(simulation, "I work at Arla in Leeds.")
    later(simulation, 7)
    say(simulation, words, session="later")
    later(simulation, days)
    assert "The user works at Arla in Leeds." not in active(simulation)
    hits = simulation.call("recall", query="Do I still work at Arla?", k=5)["hits"]
    assert any(hit["ended"] for hit in hits if "work at Arla" in hit["text"])
