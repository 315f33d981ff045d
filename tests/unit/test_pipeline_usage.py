"""What counts as use of a memory, and that all of it is counted, once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engram.core.policy import UsagePolicy
from engram.core.records import SearchHit
from engram.pipeline.usage import UsageTracker, not_counted_reason
from engram.vault.usage import UsageLog, device_of


@pytest.fixture
def usage_tracker(memory, clock):
    return begun(memory, clock)


def begun(memory, clock, **numbers):
    usage_tracker = unread(memory, **numbers)
    usage_tracker.refresh(clock())
    return usage_tracker


def unread(memory, **numbers):
    policy = replace(memory.settings.policy, usage=UsagePolicy(**numbers))
    return UsageTracker(
        UsageLog(memory.vault, device_of(memory.settings.state), policy.usage),
        memory.index,
        policy,
    )


@pytest.fixture
def tea(memory):
    return memory.call("remember", {"text": "Anna prefers green tea"})["id"]


def hit(key, score=1.0, kind="fact"):
    return SearchHit(key, kind, "words", "path", score)


# row: A19
def test_a_memory_counts_once_while_a_conversation_goes_on(usage_tracker, clock, tea):
    """An hour of talk with the memory in each context is one use; tomorrow's is one."""
    for _ in range(6):
        usage_tracker.record_recall([hit(tea)], clock(), "talk")
        clock.advance(minutes=20)
    assert usage_tracker.usage_of(tea).access == 1
    usage_tracker.record_recall([hit(tea)], clock(), "other talk")
    clock.advance(days=1)
    usage_tracker.record_recall([hit(tea)], clock(), "talk")
    assert usage_tracker.usage_of(tea).access == 3


# row: A19
def test_a_look_at_the_past_and_an_explanation_are_no_use(clock):
    """The reason says why; an ordinary question has none."""
    assert not_counted_reason(None, explain=False) is None
    assert not_counted_reason(clock(), explain=False) == "a question about the past"
    assert not_counted_reason(None, explain=True) == "an explanation"


def test_whoever_asks_counts_when_too_many_wait(memory, clock, tea):
    """A process that nobody flushes keeps no growing list."""
    usage_tracker = begun(memory, clock, waiting=3)
    for _ in range(10):
        usage_tracker.record_recall([hit(tea)], clock())
    assert usage_tracker.usage_log.usage_of(tea).access == 9
    assert usage_tracker.usage_of(tea).access == 10
