"""The name that speakers give themselves, and what else they say in the same breath."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engram.core.policy import Policy
from engram.core.records import Turn
from engram.extraction.rules import engine
from tests.fakes.sentences import rows

AT = datetime(2027, 1, 11, 9, 0, tzinfo=UTC)


def extracted(*said: str, speaker: str = "", group: bool = False):
    """What the rules find; `A:` marks the words of an assistant."""
    turns = []
    for number, text in enumerate(said):
        role = "assistant" if text.startswith("A: ") else "user"
        words = text.removeprefix("A: ")
        label = speaker if role == "user" else ""
        turns.append(Turn(f"t{number}", "s", role, words, AT, label, group=group))
    return engine.extract(turns, Policy().extraction)


def texts(*said: str, **more) -> list[str]:
    return [one.text for one in extracted(*said, **more).candidates]


def own_names(*said: str, **more) -> list[str]:
    found = extracted(*said, **more).relations
    return [one.object for one in found if one.type == "alias"]


# row: A20
@pytest.mark.parametrize(
    ("text", "name"),
    rows("introductions", "an_introduction_gives_a_name"),
)
def test_an_introduction_gives_a_name(text, name):
    assert own_names(text) == [name]
    assert any(name in one for one in texts(text))


# row: A20
@pytest.mark.parametrize(
    "text",
    rows("introductions", "what_looks_like_an_introduction_gives_no_name"),
)
def test_what_looks_like_an_introduction_gives_no_name(text):
    assert own_names(text) == []


# row: A20
def test_the_answer_to_a_question_for_the_name_is_one():
    assert own_names("A: What's your name?", "Jonas.") == ["Jonas"]
    assert own_names("A: Wie heißt du?", "Katrin.") == ["Katrin"]
    assert own_names("A: What is your dog's name?", "Rex.") == []


def test_the_name_of_the_label_is_nothing_new():
    assert own_names("Hi, I'm Jonas.", speaker="Jonas Keller") == []
    assert own_names("Hi, I'm Jonas.", speaker="Dave") == ["Jonas"]


# row: X2
@pytest.mark.parametrize(
    ("text", "statements"),
    rows("introductions", "each_thing_of_one_sentence_is_a_fact"),
)
def test_each_thing_of_one_sentence_is_a_fact(text, statements):
    assert texts(text) == statements


# row: X2
@pytest.mark.parametrize(
    ("text", "told"),
    rows("introductions", "age_home_and_job_may_follow_the_name"),
)
def test_age_home_and_job_may_follow_the_name(text, told):
    assert texts(text) == told
