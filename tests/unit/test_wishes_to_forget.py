"""A wish to forget in a chat is carried out or asked about, and never handed out (A26)."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from engram.vault.store import ACTIONS

PLAIN = (
    (("Sam is my brother.", "can u forget everything about sam pls"), "Sam"),
    (("My ex is called Ralph.", "FORGET RALPH!"), "Ralph"),
    (("I met Sam. He hates coriander.", "forget everything about Sam"), "coriander"),
    (("Rubén vive en Oslo.", "olvida todo lo de Rubén porfa"), "Rubén"),
    (("I'm allergic to walnuts. Please delete that from your memory.",), "walnuts"),
    (("I'm allergic to walnuts.", "Please delete that from your memory."), "walnuts"),
    (("Alice writes from alice@acme.io.", "Please forget alice@acme.io."), "acme"),
    (("Our room is number 7781.", "please forget 7781"), "7781"),
)


@pytest.fixture
def say(simulation):
    def said(*texts, session="talk"):
        for text in texts:
            turn = {"role": "user", "text": text, "session": session}
            simulation.call("observe", turns=[turn])
            simulation.call("flush")
            simulation.advance(simulation.now + timedelta(minutes=2))

    return said


def shown(simulation, query):
    hits = simulation.call("recall", query=query, k=50, archive=True)["hits"]
    return [hit["text"] for hit in hits]


# row: A26
@pytest.mark.parametrize(("said", "word"), PLAIN)
def test_a_wish_that_names_something_known_is_carried_out(simulation, say, said, word):
    say(*said)
    for query in (*said, word):
        found = shown(simulation, query)
        assert not [text for text in found if word.casefold() in text.casefold()]
    assert simulation.call("review")["cases"] == []


# row: A26
def test_a_wish_that_names_a_code_leaves_a_longer_code(simulation, say):
    say("My number is MRN-456789.", "Please forget MRN-45678.")
    assert "My number is MRN-456789." in shown(simulation, "number MRN-456789")


# row: A26
def test_a_wish_about_nothing_known_is_asked_about_once(simulation, say):
    wish = "Please forget everything about the lighthouse."
    say(wish)
    (case,) = simulation.call("review")["cases"]
    assert case["choices"] == ["leave"]
    note = (simulation._memory.settings.vault / case["path"]).read_text()
    assert "Forget all" not in note
    assert shown(simulation, wish) == []


# row: X8
@pytest.mark.parametrize(
    "again",
    [
        "I take 20 mg of citalopram.",
        "By the way, I take 20 mg of citalopram.",
        "I checked: I take 20 mg of citalopram.",
        "Please remember that I take 20 mg of citalopram.",
    ],
)
def test_what_the_user_says_anew_after_forgetting_comes_back(simulation, say, again):
    say("Please remember that I take 20 mg of citalopram.")
    (memory,) = simulation.call("list")["memories"]
    simulation.call("forget", id=memory["id"])
    assert shown(simulation, "citalopram") == []
    simulation.advance(simulation.now + timedelta(days=1))
    say(again, session="later")
    assert [one for one in shown(simulation, "citalopram") if "20 mg" in one]
    (logged,) = {
        row["memory"]
        for row in map(
            json.loads,
            (simulation._memory.settings.vault / ACTIONS).read_text().splitlines(),
        )
        if row["action"] == "lift"
    }
    assert logged == memory["id"]
    assert simulation.call("list")["memories"]
