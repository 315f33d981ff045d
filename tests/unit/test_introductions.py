"""The name that speakers give themselves, and what else they say in the same breath."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engram.core.policy import Policy
from engram.core.records import Turn
from engram.extraction.rules import engine

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
    [
        ("Hi! I'm Jonas.", "Jonas"),
        ("I'm Jonas, I'm 34, I live in Munich.", "Jonas"),
        ("Hi, I'm Jonas, can you help me with a cake?", "Jonas"),
        ("Hello, Jonas here. I need a recipe.", "Jonas"),
        ("Hi, this is Jonas Keller.", "Jonas Keller"),
        ("My name's Jonas Keller, but I live abroad.", "Jonas Keller"),
        ("No, my name is Jonas.", "Jonas"),
        ("Call me Jo.", "Jo"),
        ("People call me Kit.", "Kit"),
        ("I'm Robin. I live in York.", "Robin"),
        ("Hi, I'm Christian, I'm 34.", "Christian"),
        ("Hallo, ich heiße Katrin Vogel und ich wohne in Erfurt.", "Katrin Vogel"),
        ("Ich heiße Peter.", "Peter"),
        ("Hallo, ich bin Peter.", "Peter"),
        ("Hi, ich bin die Katrin, 41, aus Erfurt.", "Katrin"),
        ("Du kannst mich Jo nennen.", "Jo"),
        ("Hi, I'm Mei. 我住在上海。", "Mei"),
    ],
)
def test_an_introduction_gives_a_name(text, name):
    assert own_names(text) == [name]
    assert any(name in one for one in texts(text))


# row: A20
@pytest.mark.parametrize(
    "text",
    [
        "Hi, I'm tired.",
        "Hi, I'm German.",
        "Hi, I'm Gemini.",
        "I'm Jonas's boss.",
        "I'm not Jonas.",
        "Am I Jonas?",
        "My name is Anna, right?",
        "My name isn't Jonas.",
        "My character's name is Jonas.",
        "If I'm Jonas, who are you?",
        "Imagine I'm Jonas.",
        '"I\'m Jonas," he said.',
        "He said his name is Jonas.",
        "My dog's name is Rex.",
        "Call me tomorrow.",
        "Call me a taxi.",
        "Call me Monday.",
        "Ich bin müde.",
        "Ich bin Lehrerin.",
        "Ich bin Deutscher.",
        "Ich bin der Chef.",
        "Hallo, ich bin Student aus Köln.",
    ],
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


def test_in_a_group_a_label_that_is_no_persons_name_names_the_speaker():
    assert texts("I live in Porto.", speaker="ana_99", group=True) == [
        "Ana_99 lives in Porto."
    ]
    assert texts("I live in Porto.", speaker="ana_99") == ["The user lives in Porto."]


# row: X2
@pytest.mark.parametrize(
    ("text", "statements"),
    [
        (
            "My sister Eva is a dentist and lives in Porto.",
            ["Eva is the user's sister.", "Eva is a dentist.", "Eva lives in Porto."],
        ),
        (
            "My birthday is on 3 May and Eva's birthday is on 9 November.",
            ["The user's birthday is on 3 May.", "Eva's birthday is on 9 November."],
        ),
        ("My mother runs a bakery.", ["The user's mother runs a bakery."]),
        (
            "I drive a Skoda, my best friend Felix drives a Tesla.",
            [
                "The user drives a Skoda.",
                "Felix is the user's best friend.",
                "Felix drives a Tesla.",
            ],
        ),
    ],
)
def test_each_thing_of_one_sentence_is_a_fact(text, statements):
    assert texts(text) == statements


# row: X2
@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "I'm Mona, 52, from Derby.",
            [
                "The user's name is Mona.",
                "The user is 52 (as of 11 January 2027).",
                "The user is from Derby.",
            ],
        ),
        (
            "Hi, I'm Olga, freelance translator, based in Lyon.",
            [
                "The user's name is Olga.",
                "The user is a freelance translator.",
                "The user is based in Lyon.",
            ],
        ),
        (
            "Servus, ich bin der Toni, 44, aus Passau.",
            [
                "Die Person heißt Toni.",
                "Die Person ist 44.",
                "Die Person ist aus Passau.",
            ],
        ),
        ("Hi, I'm Olga, my sister, 30, is ill.", ["The user's name is Olga."]),
        ("Hi, I'm Olga, 20 minutes late again.", ["The user's name is Olga."]),
        ("Hi, I'm Olga, from accounting.", ["The user's name is Olga."]),
        ("I'm fine, 52 people came.", []),
    ],
)
def test_age_home_and_job_may_follow_the_name(text, told):
    assert texts(text) == told
