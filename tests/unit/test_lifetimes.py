"""What a model guesses of the lifetime of a memory, through filing and the nights."""

from __future__ import annotations

import pytest

from engram.config import ModelSettings
from tests.fakes.openai_server import fact
from tests.fakes.scribe import scribe, task_of


@pytest.fixture
def told(opened, running, clock):
    """File one turn of 20 November 2026 with these facts, and return the memory."""

    def tell(text, *facts):
        reply = {"facts": list(facts)}
        running.script(lambda b: reply if task_of(b) == "extract" else scribe(b))
        memory = opened(model=ModelSettings("m", running.url, api="chat"))
        memory.call("observe", {"turns": [{"id": "t1", "session": "s", "text": text}]})
        memory.call("flush", {})
        return memory

    return tell


def nights(memory, clock, days):
    for _ in range(days):
        clock.advance(days=1)
        memory.maintenance_loop.tend()


def held(memory, query):
    """The statement is active and found, or it is not."""
    active = {one["text"] for one in memory.call("list", {"limit": 50})["memories"]}
    hits = memory.call("recall", {"query": query, "kinds": ["fact"]})["hits"]
    found = {hit["text"] for hit in hits}
    return bool(active & found)


# row: B19
# row: X14
def test_a_present_for_the_third_of_december_is_not_over_on_the_first(told, clock):
    """Whatever the model guesses, and whatever it takes it for."""
    said = "I still want a wooden train for Kaya by 3 December, she loves trains."
    for sort, category in (("plan", "fact"), ("event", "fact"), ("", "preference")):
        memory = told(
            said,
            fact(
                "t1",
                "I still want a wooden train for Kaya by 3 December",
                "The user wants a wooden train for Kaya by 3 December.",
                category=category,
                sort=sort,
                lifetime="week",
                when_words="by 3 December",
                when="2026-12-03",
            ),
        )
        nights(memory, clock, 12)
        assert f"{clock():%m-%d}" >= "12-01"
        assert held(memory, "wooden train for Kaya"), sort
        memory.close()
        clock.advance(days=-12)


# row: B19
# row: C17
@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("The user is allergic to peanuts.", {"sort": "state"}),
        ("The user lives in Leipzig.", {"sort": "state"}),
        ("The user has decided to sell the boat.", {"category": "decision"}),
        ("The user repairs church organs.", {"sort": "state", "lifetime": "year"}),
        ("The user goes climbing on Mondays.", {"sort": "state", "lifetime": "year"}),
        ("The user dislikes green tea.", {"sort": "lasting"}),
    ],
)
def test_a_guessed_lifetime_never_ends_what_lasts(told, clock, text, more):
    said = f"By the way, {text} That is how it is with me."
    given = {"lifetime": "week", "category": "fact"} | more
    memory = told(said, fact("t1", text, text, **given))
    nights(memory, clock, 9)
    assert held(memory, text)
    clock.advance(days=400)
    memory.maintenance_loop.tend()
    assert held(memory, text)


# row: B19
def test_a_state_of_the_week_ends_after_it(told, clock):
    """The guess of a model holds for what is neither lasting nor dated."""
    text = "The lift in the user's house is out of order."
    memory = told(
        f"Sorry for being late. {text} I had to walk up to the sixth floor.",
        fact("t1", text, text, sort="state", lifetime="week", category="fact"),
    )
    assert held(memory, "lift out of order")
    nights(memory, clock, 8)
    assert not held(memory, "lift out of order")
