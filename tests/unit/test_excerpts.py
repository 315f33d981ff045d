"""Counting tokens, and cutting a text at a sentence or an item of a list."""

from __future__ import annotations

import pytest

from engram.core.excerpts import count_tokens, excerpt
from engram.core.policy import RecallPolicy

POLICY = RecallPolicy()
LIST = (
    "Here are some ideas for your trip:\n\n1. Take the ferry to the island.\n"
    "2. Walk through the old town. It costs 2.50 euros.\n3. Visit the mill.\n"
    "4. Eat at the harbour.\n5. See the lighthouse at dusk.\n"
)


@pytest.mark.parametrize(
    ("word", "limit", "cut"),
    [
        (
            "ferry",
            30,
            "Here are some ideas for your trip:\n\n1. Take the ferry to the island. … (+4 items)",
        ),
        ("mill", 18, "… It costs 2.50 euros.\n3. Visit the mill. … (+2 items)"),
        ("lighthouse", 18, "… 5. See the lighthouse at dusk."),
    ],
)
def test_a_list_is_cut_between_its_items(word, limit, cut):
    """The number of an item stays with it, and those left out after are counted."""
    assert excerpt(LIST, (word,), limit, POLICY) == cut


def test_an_excerpt_meets_other_forms_of_a_word():
    """`recommended` is what the question calls `recommend`."""
    text = "Filler is here. " * 20 + "We recommended the lake. " + "More of it. " * 20
    assert "We recommended the lake." in excerpt(text, ("recommend",), 22, POLICY)


def test_an_endless_sentence_is_cut_at_a_word():
    """There is no better place; of one endless word the beginning is kept."""
    cut = excerpt("tree " * 100, ("tree",), 16, POLICY)
    assert cut.startswith("tree tree")
    assert cut.endswith("tree …")
    for text in ("x" * 500, "茶" * 500, "tree " * 100):
        assert count_tokens(excerpt(text, ("x",), 16, POLICY), POLICY) <= 16
