"""Changes of state through the write path (A7, A10; law 7)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.fakes.sentences import rows
from tests.unit.conftest import START


def say(sim, text, *, day, role="user", at=None):
    """A turn of a session of its own, heard on a day; `at` is when it was said."""
    sim.advance(START + timedelta(days=day))
    turn = {"text": text, "role": role, "session": f"day-{day}"}
    if at:
        turn["occurred_at"] = at.isoformat()
    sim.call("observe", turns=[turn], standing="chat")
    sim.advance(START + timedelta(days=day, hours=6))


def asked(sim, question, k=3):
    return sim.call("recall", query=question, k=k)["hits"]


# row: A7
@pytest.mark.parametrize(
    ("before", "after", "old"),
    rows("changes", "a_change_of_state_ends_the_old_one_the_same_day"),
)
def test_a_change_of_state_ends_the_old_one_the_same_day(
    simulation, notes, before, after, old
):
    say(simulation, before, day=0)
    assert notes()[old].get("status", "active") == "active"

    say(simulation, after, day=20)
    assert notes()[old].get("status", "active") == "superseded"


def test_a_change_that_the_turn_takes_back_ends_nothing(simulation, notes):
    say(simulation, "I live in Munich.", day=0)
    say(simulation, "I moved to Berlin but moved back after a week.", day=20)

    assert notes()["The user lives in Munich."].get("status", "active") == "active"
    assert "Munich" in asked(simulation, "Where do I live?")[0]["text"]


def test_an_older_turn_does_not_bring_a_state_back(simulation, notes):
    say(simulation, "I've moved to Augsburg.", day=20)
    say(simulation, "I live in Munich.", day=21, at=START)

    assert notes()["The user lives in Munich."].get("status", "active") == "superseded"


def test_the_old_words_rank_below_the_new_ones_and_are_past(simulation, notes):
    say(simulation, "I live in Munich.", day=0)
    say(simulation, "I've moved to Augsburg.", day=20)

    first, *others = asked(simulation, "Where do I live?")
    assert "Augsburg" in first["text"]
    assert not first["ended"]
    assert [one["ended"] for one in others if "Munich" in one["text"]] == ["2027-01-31"]
    text = simulation.call("recall", query="Where do I live?", k=3)["text"]
    assert "was, until 2027-01-31: I live in Munich." in text


def test_a_turn_that_also_tells_what_holds_is_partly_over(simulation):
    say(simulation, "I live in Munich with my wife Marta.", day=0)
    say(simulation, "I've moved to Augsburg.", day=20)

    text = simulation.call("recall", query="Where do I live?", k=3)["text"]
    over = "over since 2027-01-31: “The user lives in Munich with their wife Marta.”"
    assert f"- [user, {over}] I live in Munich with my" in text


def test_an_earlier_day_finds_the_state_of_then(simulation, notes):
    say(simulation, "I live in Munich.", day=0)
    say(simulation, "I've moved to Augsburg.", day=20)

    then = (START + timedelta(days=10)).isoformat()
    answer = simulation.call("recall", query="Where do I live?", as_of=then)
    assert "Munich" in answer["hits"][0]["text"]


# row: X23
def test_a_note_written_by_hand_is_probably_over_and_ends_only_with_a_tick(
    simulation, notes, tmp_path
):
    note = tmp_path / "vault" / "facts" / "home.md"
    note.parent.mkdir(exist_ok=True)
    note.write_text("I live in Munich.\n")
    simulation.files_changed()
    simulation.advance(START + timedelta(days=2))
    say(simulation, "I've moved to Augsburg.", day=20)

    first, *others = asked(simulation, "Where do I live?")
    assert "Augsburg" in first["text"]
    old = next(one for one in others if one["path"] == "facts/home.md")
    assert (old["ended"], old["certain"]) == ("2027-01-31", False)
    assert note.read_text() == "I live in Munich.\n"
    cases = simulation.call("review")["cases"]
    assert len([one for one in cases if "Munich" in str(one)]) == 1


def test_an_undone_change_leaves_the_old_state_active(simulation, notes):
    say(simulation, "I live in Munich.", day=0)
    say(simulation, "I've moved to Augsburg.", day=20)

    old = notes()["The user lives in Munich."]
    simulation.call("update", id=old["id"], status="active")
    assert notes()["The user lives in Munich."].get("status", "active") == "active"


def test_what_the_user_asked_to_keep_ranks_above_old_words(simulation):
    say(simulation, "I always put my spare key under the mat.", day=0)
    say(simulation, "My spare key was with Mrs Bauer for a while.", day=10)
    simulation.advance(START + timedelta(days=20))
    simulation.call("remember", text="The spare key is under the blue flower pot.")
    simulation.advance(START + timedelta(days=60))

    assert "flower pot" in asked(simulation, "Where is my spare key?")[0]["text"]


# row: A7
@pytest.mark.parametrize(
    ("before", "plan", "old", "question"),
    [
        (
            "My boss is called Samuel Okafor.",
            "From February my boss is Ingrid Sommer.",
            "The user's boss is called Samuel Okafor.",
            "Who is my boss?",
        ),
        (
            "I live in Munich.",
            "We're moving to Hamburg on 1 February.",
            "The user lives in Munich.",
            "Where do I live?",
        ),
    ],
)
def test_a_plan_ends_a_state_on_its_day(simulation, notes, before, plan, old, question):
    say(simulation, before, day=0)
    say(simulation, plan, day=1)
    simulation.advance(START + timedelta(days=10))
    assert notes()[old].get("status", "active") == "active"
    assert not asked(simulation, question)[0].get("ended")

    simulation.advance(START + timedelta(days=25))
    assert notes()[old].get("status", "active") == "superseded"
    hits = {hit["text"]: hit for hit in asked(simulation, question, k=5)}
    assert all(hit.get("ended") for text, hit in hits.items() if text in {old, before})
