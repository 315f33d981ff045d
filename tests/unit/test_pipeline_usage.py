"""What counts as use of a memory, and that all of it is counted, once."""

from __future__ import annotations

import math
import threading
from dataclasses import replace
from datetime import timedelta

import pytest

from engram.core.policy import UsagePolicy
from engram.core.records import SearchHit, Usage
from engram.pipeline.usage import UsageTracker, not_counted_reason
from engram.vault.usage import UsageLog, device_of

LONG_AGO = timedelta(days=9)


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


@pytest.fixture
def coffee(memory):
    return memory.call("remember", {"text": "Ben drinks coffee"})["id"]


def hit(key, score=1.0, kind="fact"):
    return SearchHit(key, kind, "words", "path", score)


# row: A19
# row: B2
def test_every_fact_that_is_handed_out_counts_one_recall(
    usage_tracker, clock, tea, coffee
):
    """Salience gains by relevance, which the best of the answer has in full."""
    usage_tracker.record_recall([hit(tea, 0.8), hit(coffee, 0.2)], clock())
    assert (
        usage_tracker.usage_of(tea).access,
        usage_tracker.usage_of(tea).salience,
    ) == (
        1,
        pytest.approx(0.6),
    )
    assert (
        usage_tracker.usage_of(coffee).access,
        usage_tracker.usage_of(coffee).salience,
    ) == (
        1,
        pytest.approx(0.5625),
    )
    clock.advance(days=1)
    now = clock()
    usage_tracker.record_recall([hit(coffee, 0.2), hit("turn", 0.8, "turn")], now)
    faded = 0.5625 * math.exp(-0.02 / 2)
    assert usage_tracker.usage_of(coffee).salience == pytest.approx(
        faded + 0.05 + 0.05 / 4
    ), "measured by a turn that was better"
    assert (
        usage_tracker.usage_of(coffee).last_access,
        usage_tracker.usage_of(coffee).stability,
    ) == (now, pytest.approx(1.2))
    assert usage_tracker.usage_of(tea).access == 1


# row: A19
def test_of_an_answer_the_first_five_relevant_facts_count(memory, clock):
    """What is far below the best, or far down, was handed out and not used."""
    usage_tracker = begun(memory, clock)
    names = [
        memory.call("remember", {"text": f"Room {n} is on floor {n}."})["id"]
        for n in range(7)
    ]
    hits = [hit(name, 1 - n / 10) for n, name in enumerate(names)]
    usage_tracker.record_recall(hits, clock())
    counts = [usage_tracker.usage_of(name).access for name in names]
    assert counts == [1, 1, 1, 1, 1, 0, 0]
    usage_tracker.record_recall([hit(names[0]), hit(names[6], 0.2)], clock())
    assert usage_tracker.usage_of(names[6]).access == 0


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
def test_turns_notes_and_what_is_gone_count_nothing(usage_tracker, clock, tea):
    """Only facts have a life of their own; one that was deleted meanwhile has none."""
    usage_tracker.record_recall(
        [hit("2026-11-20-talk#^t1", kind="turn"), hit("notes/a.md", kind="note")],
        clock(),
    )
    usage_tracker.record_recall([hit("01KBH2Q0M6T4W2Y0B7C5D9E1FX")], clock())
    usage_tracker.record_recall([], clock())
    usage_tracker.flush()
    assert replace(usage_tracker.usage_of(tea), met=None) == Usage()


# row: A19
def test_of_several_facts_from_one_turn_those_that_are_shown_are_used(
    memory, usage_tracker, clock
):
    """Each fact is a hit of its own; what no answer showed counts nothing."""
    said = "I live in Berlin. My sister Anna works in Berlin. I love tea."
    memory.call("observe", {"turns": [{"session": "s", "role": "user", "text": said}]})
    facts = [
        row[0]
        for row in memory.index.catalog.database.query(
            "SELECT key FROM unit WHERE kind = 'fact'"
        )
    ]
    rows = memory.call("recall", {"query": "Who lives or works in Berlin?"})["hits"]
    usage_tracker.record_recall(
        [hit(row["key"], row["score"], row["kind"]) for row in rows], clock()
    )
    shown = {row["key"] for row in rows if row["kind"] == "fact"}
    assert 1 < len(shown) < len(facts)
    assert {fact for fact in facts if usage_tracker.usage_of(fact).access} == shown


# row: A19
def test_a_look_at_the_past_and_an_explanation_are_no_use(clock):
    """The reason says why; an ordinary question has none."""
    assert not_counted_reason(None, explain=False) is None
    assert not_counted_reason(clock(), explain=False) == "a question about the past"
    assert not_counted_reason(None, explain=True) == "an explanation"


# row: C17
def test_a_confirmation_counts_and_is_evidence(usage_tracker, clock, tea):
    """Heard again: one more, as of now; recalls are untouched."""
    usage_tracker.record_recall([hit(tea)], clock())
    usage_tracker.record_confirmation(tea, clock())
    clock.advance(days=2)
    usage_tracker.record_confirmation(tea, clock())
    usage = usage_tracker.usage_of(tea)
    assert (usage.access, usage.confirmations, usage.evidence_at) == (1, 2, clock())


# row: A8
def test_an_edit_is_evidence_of_its_own_time(usage_tracker, clock, tea):
    """Of the time the file was saved, unless that lies ahead or before newer evidence."""
    usage_tracker.record_evidence(tea, clock(), clock() - LONG_AGO)
    met = usage_tracker.usage_of(tea).met
    assert usage_tracker.usage_of(tea) == Usage(evidence_at=clock() - LONG_AGO, met=met)
    usage_tracker.record_evidence(tea, clock(), clock() - 2 * LONG_AGO)
    assert usage_tracker.usage_of(tea) == Usage(evidence_at=clock() - LONG_AGO, met=met)
    usage_tracker.record_evidence(tea, clock(), clock() + LONG_AGO)
    assert usage_tracker.usage_of(tea) == Usage(evidence_at=clock(), met=met)


def test_whoever_asks_counts_when_too_many_wait(memory, clock, tea):
    """A process that nobody flushes keeps no growing list."""
    usage_tracker = begun(memory, clock, waiting=3)
    for _ in range(10):
        usage_tracker.record_recall([hit(tea)], clock())
    assert usage_tracker.usage_log.usage_of(tea).access == 9
    assert usage_tracker.usage_of(tea).access == 10


def test_no_use_is_lost_between_threads(memory, usage_tracker, clock, tea, coffee):
    """Six threads recall and look while the writer flushes and confirms; every one of
    them is counted.
    """

    def ask():
        for _ in range(200):
            usage_tracker.record_recall([hit(tea), hit(coffee, 0.5)], clock())
            usage_tracker.usage_of(coffee)

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        usage_tracker.record_confirmation(tea, clock())
        usage_tracker.flush()
        usage_tracker.refresh(clock())
    for thread in threads:
        thread.join()
    usage_tracker.flush()
    for held in (usage_tracker, begun(memory, clock)):
        assert (
            held.usage_of(tea).access,
            held.usage_of(tea).confirmations,
            held.usage_of(coffee).access,
        ) == (1200, 20, 1200)
