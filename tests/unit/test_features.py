"""How a text speaks: asking, counting, telling of oneself."""

from __future__ import annotations

import pytest

from engram.core.language.words import words
from engram.index.bm25 import text_features


def speaks(text):
    return text_features(text, words(text, singles=True))


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("at 5", True),
        ("Three cats", True),
        ("drei Katzen", True),
        ("٣ قطط", True),
        ("a cat", False),
        ("one of them", False),
        ("often", False),
        ("", False),
    ],
)
def test_a_number_is_a_digit_or_a_word_from_two_on(text, held):
    """One is an article in most languages, and a pronoun in English."""
    assert speaks(text)["counted"] is held


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("I have three cats. Any advice?", True),
        ("Any advice? I've three cats", True),
        ("Ich habe drei Katzen.", True),
        ("我有三只猫。", True),
        ("What should I do?", False),
        ("Cats sleep a lot. Do mine?", False),
        ("Iron is heavy.", False),
        ("My sister has three cats.", False),
        ("My sister has three cats. Do I?", False),
        ("My sister has three cats, I have none.", True),
        ("", False),
    ],
)
def test_one_tells_of_oneself_in_a_sentence_that_is_no_question(text, told):
    """What one asks is not yet told."""
    assert speaks(text)["telling"] is told
