"""What of the ranked hits an answer holds: as many as its tokens allow."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from engram.core.excerpts import count_tokens
from engram.core.policy import RecallPolicy
from engram.core.ranking import parse_question
from engram.core.records import SearchHit
from engram.recall.formatting import fenced
from engram.recall.selection import select

NOW = datetime(2026, 11, 21, 15, tzinfo=UTC)
POLICY = RecallPolicy()


def hit(key, text, kind="turn", **more):
    return SearchHit(key, kind, text, "", 1.0, provenance="user", source=key, **more)


def selected(hits, budget, k=50, question="words?"):
    return select(hits, parse_question(question, NOW), POLICY, k, budget).hits


# row: X24
@pytest.mark.parametrize("budget", [80, 120, 500, 2000])
@pytest.mark.parametrize("length", [10, 400, 5000])
def test_an_answer_never_costs_more_than_its_budget(budget, length):
    """With its fence and its days, however long the units are."""
    text = "A sentence of words. " * (length // 20 + 1)
    hits = [hit(f"t{n}", f"{text}{n}", when=NOW - timedelta(days=n)) for n in range(40)]
    chosen = selected(hits, budget)
    assert chosen
    shown = fenced(chosen, "0" * 8)
    assert count_tokens(shown, POLICY) <= budget
    if length >= 400:
        assert count_tokens(shown, POLICY) >= 0.8 * budget


def test_a_long_answer_of_an_assistant_takes_no_place_from_others():
    """It is cut while others wait, unless the question asks for it."""
    long = "Some advice on the garden. " * 100
    hits = [
        hit(f"t{n}", f"{n} {long}", role="assistant", said_by="assistant")
        for n in range(12)
    ]
    own = hit("own", "I planted roses.")
    chosen = selected([*hits, own], 1400)
    assert "own" in [one.key for one in chosen]
    assert len(chosen) == 13
    asked = selected([*hits, own], 1400, question="What advice did you give me?")
    assert len(asked) < 8
    assert asked[0].tokens > 3 * POLICY.assistant_tokens


def test_hits_are_read_in_the_order_of_time():
    """Days with their names; an answer follows its question; the best hit is first in
    the list, not in the text.
    """
    monday = NOW - timedelta(days=5)
    hits = [
        hit("b#^t2", "Fine, thanks.", when=NOW),
        hit("a#^t9", "Old words.", when=monday),
        hit("b#^t1", "How are the roses?", when=NOW),
        hit("note", "Of no day.", "note"),
    ]
    chosen = selected(hits, 500)
    assert [one.key for one in chosen] == [one.key for one in hits]
    assert fenced(chosen, "0" * 8).splitlines()[2:-1] == [
        "Monday, 2026-11-16:",
        "- [user] Old words.",
        "Saturday, 2026-11-21:",
        "- [user] How are the roses?",
        "- [user] Fine, thanks.",
        "Undated:",
        "- [user] Of no day.",
    ]


def test_no_budget_gives_no_hits():
    """Rather nothing than a stump."""
    assert selected([hit("a", "words")], 5) == ()


def test_a_turn_that_a_fact_quotes_whole_is_not_shown_again():
    """A fact shows the words of its turn, so the turn below it has nothing to add."""
    words = "I call Ben on Friday, and I drink no milk."
    fact = hit("f", "The user drinks no milk.", "fact", said=words)
    turn = hit("t", words)
    other = hit("u", "I like tea.")
    fact = replace(fact, source="t")
    assert [one.key for one in selected([fact, turn, other], 2000, k=2)] == ["f", "u"]
    assert [one.key for one in selected([turn, fact, other], 2000)] == ["t", "f", "u"]


def test_a_turn_that_a_fact_quotes_in_part_is_shown():
    long = "I drink no milk. " + "The garden was full of roses in the spring. " * 60
    fact = replace(hit("f", "The user drinks no milk.", "fact", said=long), source="t")
    shown = selected([fact, hit("t", long)], 1000)
    assert [one.key for one in shown] == ["f", "t"]
