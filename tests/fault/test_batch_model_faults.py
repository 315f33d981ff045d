"""What a model server can do wrong while turns become memories: nothing is lost, it is
seen, and it is tried again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from harness import FULL
from ledger import facts_of, turns_filed
from test_model_faults import FAULTS

from engram.config import ModelSettings
from engram.errors import ModelError
from tests.fakes.openai_server import FakeServer, facts_from

SAID = (
    "I work as a marine biologist at the harbour of Lisbon.",
    "I work as a senior marine biologist at the harbour of Lisbon.",
    "I live in a small white house above the river.",
)


@pytest.fixture
def told(opened, settings):
    """A memory with a model whose answers a test scripts: it tries a batch three times."""
    with FakeServer() as server:
        model = replace(settings.policy.model, attempts=3, timeout_seconds=30.0)
        chat = ModelSettings("m", server.url, api="chat", api_key="k")
        yield opened(model=chat, policy=replace(settings.policy, model=model)), server


def say(memory, number):
    memory.call(
        "observe",
        {"turns": [{"id": f"s{number}", "session": "talk", "text": SAID[number]}]},
    )
    memory.call("flush", {})


def work(memory, clock):
    """What the daemon's writer does, hours later."""
    clock.advance(hours=9)
    for batch in memory.pipeline.due(clock()):
        try:
            outcome = memory.pipeline.distil(batch)
        except ModelError as fault:
            outcome = fault
        memory.pipeline.file(batch, outcome)


def where(memory):
    counts = memory.queue.counts()
    return {name: number for name, number in counts.items() if number}


# row: X2
# row: C3
@pytest.mark.parametrize("name", list(FAULTS)[:: 1 if FULL else 20])
def test_a_model_that_fails_loses_no_turn_and_no_fact(told, clock, name, covered):
    """A failed batch waits, is a dead letter in the end, and is read."""
    memory, server = told
    reply, retryable = FAULTS[name]
    server.script(*[facts_from] * 50)
    say(memory, 0)
    say(memory, 1)
    known = {fact.text for fact in facts_of(memory.settings.vault)}
    assert len(known) == 2
    server.script(*[reply] * 50)
    say(memory, 2)
    assert where(memory) == {"parked_turns" if retryable else "dead_turns": 1}
    assert memory.call("status", {})["faults"]["model"]
    hits = memory.call(
        "recall", {"query": "the house above the river", "kinds": ["turn"]}
    )["hits"]
    assert SAID[2] in [hit["text"] for hit in hits]
    for _ in range(memory.settings.policy.model.attempts):
        work(memory, clock)
    assert where(memory) == {"dead_turns": 1}
    assert "dead-letter" in {
        finding["code"] for finding in memory.call("doctor", {})["findings"]
    }
    server.script(*[facts_from] * 50)
    memory.call("flush", {})
    assert where(memory) == {}
    assert "model" not in memory.call("status", {})["faults"]
    assert turns_filed(memory.settings.vault) == Counter({"s0": 1, "s1": 1, "s2": 1})
    now = [fact.text for fact in facts_of(memory.settings.vault)]
    assert known < set(now)
    assert len(now) == len(set(now))
    assert any("white house" in text for text in now)
    covered("model faults while turns are read", "extract", 1)
