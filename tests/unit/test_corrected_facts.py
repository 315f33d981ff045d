"""A value that the user corrects is replaced the same day, and can be taken back (A10)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from engram.core.decide import CORRECTED_BY_USER
from engram.testing import Simulation
from tests.fakes.sentences import rows

START = datetime(2027, 1, 11, 9, tzinfo=UTC)


@pytest.fixture
def sim(tmp_path):
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "engram.toml").write_text("")
    with Simulation(vault, at=START, home=tmp_path / "home") as simulation:
        yield simulation


def say(sim, *texts, session="talk", apart=20, **more):
    """Turns of one session, some minutes apart; a batch is filed in between."""
    for text in texts:
        sim.call("observe", turns=[{"text": text, "session": session, **more}])
        sim.advance(sim.now + timedelta(minutes=apart))


def facts(sim, status="active"):
    return [
        fact.text for fact in sim._memory.index.catalog.facts() if fact.status == status
    ]


def hits(sim, question, **limits):
    found = sim.call("recall", query=question, k=5, **limits)["hits"]
    return {hit["text"]: hit["ended"] for hit in found}


# row: A10
@pytest.mark.parametrize("apart", [1, 20])
@pytest.mark.parametrize(
    ("said", "correction", "statement"),
    rows("corrected_facts", "the_right_value_takes_the_place_of_the_wrong_one"),
)
def test_the_right_value_takes_the_place_of_the_wrong_one(
    sim, said, correction, statement, apart
):
    """Whether a batch holds both turns or each its own."""
    say(sim, said, correction, apart=apart)
    sim.advance(sim.now + timedelta(minutes=30))
    assert facts(sim) == [statement]
    found = hits(sim, said)
    assert statement in found
    assert said not in found


# row: X14
@pytest.mark.parametrize(
    ("said", "correction", "statement", "day"),
    [
        (
            "My dentist appointment is tomorrow at 3 pm.",
            "Sorry, it's at 4, not 3.",
            (
                "The user's dentist appointment is tomorrow at 4 pm"
                " (16:00 on 12 January 2027)."
            ),
            12,
        ),
        (
            "Mira's recital is tomorrow in Porto.",
            "I meant Lisbon, not Porto.",
            "Mira's recital is tomorrow (12 January 2027) in Lisbon.",
            12,
        ),
        (
            "Mira's recital (the third since 2019) is on Wednesday.",
            "It's Tuesday, not Wednesday.",
            "Mira's recital (the third since 2019) is on Tuesday (12 January 2027).",
            12,
        ),
    ],
)
def test_dates_count_from_the_day_of_the_statement(
    sim, said, correction, statement, day
):
    """Though midnight has passed; other words in brackets stay."""
    sim.advance(START.replace(hour=23, minute=50))
    say(sim, said, correction)
    sim.advance(sim.now + timedelta(minutes=30))
    assert facts(sim) == [statement]
    (fact,) = (
        fact for fact in sim._memory.index.catalog.facts() if fact.status == "active"
    )
    assert (fact.valid_from.year, fact.valid_from.day) == (2027, day)


# row: X6
@pytest.mark.parametrize("apart", [1, 20])
def test_undoing_the_run_brings_the_old_statement_and_its_turn_back(sim, apart):
    say(sim, "I work at Siemens.", "I meant Bosch, not Siemens.", apart=apart)
    sim.advance(sim.now + timedelta(minutes=30))
    assert facts(sim) == ["The user works at Bosch."]
    (run,) = (run for run in sim.call("runs")["runs"] if run["cadence"] == "filing")
    assert run["counts"] == {"ended by rule": 1}
    every = sim._memory.index.catalog.facts()
    (old,) = (fact for fact in every if fact.status == "superseded")
    assert old.end_reason == CORRECTED_BY_USER
    assert sim.call("why", id=old.id)["decisions"][-1]["run"] == run["id"]
    sim.call("undo", id=run["id"])
    assert sorted(facts(sim)) == [
        "The user works at Bosch.",
        "The user works at Siemens.",
    ]
    turns = hits(sim, "Where do I work?", kinds=["turn"])
    assert turns["I work at Siemens."] == ""


# row: A10
def test_weeks_later_only_the_subject_finds_the_fact(sim):
    say(sim, "My sister's name is Anna.", "My boss is called Anna.")
    sim.advance(START + timedelta(days=30))
    say(sim, "It's Hannah, not Anna.", session="later")
    assert facts(sim, "superseded") == []
    say(sim, "Sorry, my sister's name is Hannah, not Anna.", session="later")
    assert facts(sim, "superseded") == ["The user's sister's name is Anna."]
    assert "The user's sister's name is Hannah." in facts(sim)


# row: A10
@pytest.mark.parametrize(
    "words",
    [
        "Maybe it's Tuesday, not Wednesday.",
        "Is it Tuesday, not Wednesday?",
        "Tom says it's Tuesday, not Wednesday.",
        "I like Tuesdays, not Wednesdays.",
        "It's Thursday, not Friday.",
        "It's a dance, not a promise.",
        "I wish it was Tuesday, not Wednesday.",
    ],
)
def test_other_words_correct_nothing(sim, words):
    say(sim, "Remember that the recital is on Wednesday.", "I like jazz.")
    before = facts(sim)
    say(sim, words)
    sim.advance(sim.now + timedelta(minutes=30))
    assert set(before) <= set(facts(sim))
    assert facts(sim, "superseded") == []


def test_of_two_statements_with_the_value_none_is_guessed(sim):
    say(sim, "I live in Porto and my sister lives in Porto.", "It's Lisbon, not Porto.")
    sim.advance(sim.now + timedelta(minutes=30))
    assert facts(sim, "superseded") == []


# row: X23
def test_a_note_that_a_person_edited_is_asked_about(sim, tmp_path):
    say(sim, "I work at Siemens.")
    (path,) = (tmp_path / "vault" / "facts").rglob("*.md")
    path.write_text(path.read_text().replace("works at", "works for"))
    sim.files_changed()
    say(sim, "I meant Bosch, not Siemens.")
    assert "The user works for Siemens." in facts(sim)
    assert len(sim.call("review")["cases"]) == 1


def promise(sim, words):
    (found,) = [row for row in sim.call("todos")["todos"] if words in row["text"]]
    return found


# row: A7
def test_a_job_that_ended_on_a_day_is_over_from_that_day(sim):
    say(sim, "I work at Arla in Leeds, I do the early shift.")
    sim.advance(sim.now + timedelta(days=7))
    say(sim, "I quit Arla on Friday, I could not take it any more.", session="later")
    assert facts(sim, "superseded") == ["The user works at Arla in Leeds."]
    found = hits(sim, "Do I still work at Arla?")
    assert all(ended for text, ended in found.items() if "work" in text)
    assert any("quit Arla" in text and not ended for text, ended in found.items())


# row: A7
def test_a_job_is_over_from_the_day_on_which_it_was_to_end(sim):
    say(sim, "I work at Arla in Leeds.")
    sim.advance(sim.now + timedelta(days=7))
    say(sim, "My last day at Arla is on Friday.", session="later")
    assert "The user works at Arla in Leeds." in facts(sim)
    assert not any(hits(sim, "Where do I work?").values())
    sim.advance(sim.now + timedelta(days=10))
    assert facts(sim, "superseded") == ["The user works at Arla in Leeds."]
    assert any(ended for text, ended in hits(sim, "Where do I work?").items())
