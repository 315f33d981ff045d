"""Questions that name their time by an event that is remembered."""

from datetime import UTC, datetime

import pytest


@pytest.fixture
def talked(memory):
    """A year of turns of the user, with a move in June."""

    def say(day, text, role="user"):
        turn = {"text": text, "role": role, "session": f"talk-{day}"}
        turn["occurred_at"] = f"2026-{day}T10:00:00+00:00"
        memory.call("observe", {"turns": [turn]})

    say("03-02", "On Sundays I cooked lentil soup for the neighbours.")
    say("06-10", "We moved to Augsburg today.")
    say("09-05", "On Sundays I cook fish soup by the river.")
    memory.call("flush", {})
    return memory


def asked(memory, query):
    now = datetime(2026, 11, 1, tzinfo=UTC).isoformat()
    return memory.call("recall", {"query": query, "now": now, "explain": True})


# row: X14
def test_before_and_after_an_event_count_from_its_day(talked):
    before = asked(talked, "What soup did I cook before the move?")
    assert "lentil" in before["hits"][0]["text"]
    assert "2026-06-10" in before["time"]
    after = asked(talked, "What soup have I cooked since we moved?")
    assert "fish" in after["hits"][0]["text"]
    assert after["hits"][0]["parts"]["span"] > 0


def test_an_event_that_is_not_remembered_is_ignored_and_said(talked):
    answer = asked(talked, "What soup did I cook before the earthquake?")
    assert answer["time"].endswith("ignored: no memory has a date for it")
    assert {"lentil", "fish"} <= set(answer["text"].split())


def test_a_question_without_an_event_says_nothing_of_it(talked):
    assert "time" not in asked(talked, "What soup did I cook?")


# row: C28
def test_a_courtesy_of_the_assistant_is_no_hit(memory):
    turns = [
        {"text": "Hi, I'm Lena and I keep bees.", "role": "user"},
        {"text": "Nice to meet you, Lena!", "role": "assistant"},
    ]
    memory.call("observe", {"turns": [one | {"session": "a"} for one in turns]})
    answer = memory.call("recall", {"query": "Lena", "explain": True})
    assert "bees" in answer["text"]
    assert "Nice to meet you" not in answer["text"]
    assert answer["filtered"]["a mere courtesy"] == 1
