"""How a text speaks: asking, counting, telling of oneself."""

from __future__ import annotations

import pytest

from engram.index.manner import manner


@pytest.mark.parametrize("text", ["Really?", "Really? \n", "真的？", "حقا؟"])
def test_a_text_that_ends_with_a_question_mark_asks(text):
    """That of any script."""
    assert manner(text)["asks"]
    assert not manner(text + " Yes.")["asks"]


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
    assert manner(text)["counted"] is held


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
        ("", False),
    ],
)
def test_one_tells_of_oneself_in_a_sentence_that_is_no_question(text, told):
    """What one asks is not yet told."""
    assert manner(text)["telling"] is told


def test_a_long_text_without_an_end_is_no_burden():
    """The sentences are found in one pass."""
    assert not manner("word " * 200_000)["telling"]
