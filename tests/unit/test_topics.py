"""The newest of a topic first, the slot of a question, and turns beside their facts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from engram.testing import Simulation

BEGIN = datetime(2026, 3, 2, 9, tzinfo=UTC)


@pytest.fixture
def told(tmp_path):
    """A function that tells turns, a day apart; it returns the vault's simulation."""
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "engram.toml").write_text('id = "01TESTTESTTEST"\nzone = "UTC"\n')
    with Simulation(vault, at=BEGIN, home=tmp_path / "home") as simulation:

        def tell(*texts):
            for day, text in enumerate(texts, 1):
                turn = {"session": f"s{day}", "text": text, "role": "user"}
                simulation.call("observe", turns=[turn])
                simulation.advance(BEGIN + timedelta(days=day))
            return simulation

        yield tell


def recalled(simulation, query, **wishes):
    return simulation.call("recall", query=query, **wishes)["hits"]


# row: E5
def test_what_is_told_of_the_user_answers_no_question_for_another(told):
    simulation = told("I'm Helen, 58. I look after my mum, Jean, she's 84.")
    mum = recalled(simulation, "how old is Mum?")
    assert not any(hit["text"].startswith("The user is 58") for hit in mum)
    assert "84" in mum[0]["text"] + mum[0]["said"]
    assert "58" in recalled(simulation, "how old am I?")[0]["text"]


def test_of_two_doses_the_newer_is_first_and_the_older_is_over(told):
    simulation = told(
        "I take 500 mg of metformin.", "The doctor raised my metformin to 1000 mg."
    )
    first, second = recalled(simulation, "how much metformin do I take?")
    assert "1000" in first["text"]
    assert "500" in second["text"]
    assert second["ended"]


def test_a_value_from_a_later_day_is_not_the_present_one(told):
    simulation = told("My boss is called Karin.", "From December my boss is Eva.")
    assert "Karin" in recalled(simulation, "who is my boss?")[0]["text"]


# row: X24
def test_the_turn_stands_whole_beside_its_fact(told):
    rest = " ".join(
        f"and the {n}th lamp cost a little more than that" for n in range(12)
    )
    text = f"I live in Graz. The lamps were cheap {rest}. It was originally $500!"
    simulation = told(text)
    answer = simulation.call("recall", query="where do I live?")
    assert answer["hits"][0]["kind"] == "fact"
    assert "was originally $500!" in answer["text"]


def test_how_another_person_is_called_is_not_the_name_of_the_user(told):
    simulation = told("j'ai un nouveau copain, il s'appelle antoine", "il fait beau")
    hits = recalled(simulation, "comment je m'appelle ?", kinds=["fact"])
    assert not any("La personne s'appelle" in hit["text"] for hit in hits)


# row: X30
def test_what_ended_without_a_successor_is_answered_as_over_since_its_day(told):
    simulation = told("I work at Stripe.", "I quit Stripe.", "I like tea.")
    answer = simulation.call("recall", query="where do I work?")
    assert "no employer since 2026-03-03" in answer["text"]
    first, second = answer["hits"][:2]
    assert {first["text"], second["text"]} >= {"The user quit Stripe."}
    assert "2026-03-03" in {first["ended"], second["ended"]}

    simulation.call(
        "observe",
        turns=[{"session": "n", "role": "user", "text": "I work at Monzo now."}],
    )
    question = {"query": "where do I work?", "session": "n"}
    assert "no employer" not in simulation.call("recall", **question)["text"]
    simulation.call("flush")
    assert "no employer" not in simulation.call("recall", **question)["text"]


def test_nothing_is_said_of_a_value_that_was_forgotten(told):
    simulation = told("I work at Stripe.", "I quit Stripe.")
    (gone,) = simulation.call("list", status="superseded")["memories"]
    simulation.call("forget", id=gone["id"])
    answer = simulation.call("recall", query="where do I work?")
    assert "no employer" not in answer["text"] + answer["note"]
