"""The context that the daemon makes at its start, so that nobody waits for the first."""

from engram.daemon.background import Background
from engram.errors import Health


def first_context(memory):
    Background(memory, None, Health()).first_context()


def test_it_works_on_an_empty_vault(memory):
    first_context(memory)


def test_it_counts_as_no_use_and_stores_nothing(memory):
    turn = {"text": "I live in Augsburg.", "session": "a", "role": "user"}
    memory.call("observe", {"turns": [turn]})
    memory.call("flush", {})
    hits = memory.call("recall", {"query": "Augsburg", "record": False})["hits"]
    facts = [hit["id"] for hit in hits if hit["kind"] == "fact"]
    before = [memory.usage_tracker.usage_of(one) for one in facts]
    counts = memory.index.counts()
    first_context(memory)
    assert facts
    assert [memory.usage_tracker.usage_of(one) for one in facts] == before
    assert memory.index.counts() == counts
