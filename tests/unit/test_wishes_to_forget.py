"""A wish to forget in a chat is carried out or asked about, and never handed out (A26)."""

from __future__ import annotations

from datetime import timedelta

import pytest

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
