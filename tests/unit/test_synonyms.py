"""The table of words that tell of the same thing."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engram.core.language import languages
from engram.core.language.synonyms import synonyms
from engram.core.language.words import fold, words
from engram.core.ranking import parse_question


# row: X13
def test_a_word_behind_the_colon_is_narrower():
    """Who asks for an instrument may mean a guitar; who asks for a guitar means no
    violin.
    """
    assert "guitar" in synonyms("instrument")
    assert synonyms("guitar") == ()
    assert "dog" in synonyms("puppy")
    assert "puppy" in synonyms("dog")


# row: X13
def test_a_plural_has_what_its_word_has():
    """And a word is not akin to itself; one that nobody wrote down has nothing."""
    assert synonyms("hospitals") == synonyms("hospital")
    assert "hospital" not in synonyms("hospital")
    assert synonyms("xylograph") == synonyms("") == ()


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("Was darf ich nicht essen?", "Nüsse"),
        ("Habe ich ein Haustier?", "Dackel"),
        ("Haustiere?", "Katze"),
    ],
)
# row: X13
def test_a_question_in_other_words_looks_for_the_answer(question, told):
    """A lone word is of any language."""
    akin = parse_question(question, datetime(2027, 1, 1, tzinfo=UTC)).akin
    assert fold(told) in set().union(*akin.values())


# row: X13
@pytest.mark.parametrize("code", ["de", "en"])
def test_each_entry_of_a_language_is_one_word_that_its_index_keeps(code):
    """A phrase would be found by nobody."""
    listed = " ".join(languages.section("synonyms")[code].values()).replace(":", " ")
    written = set(fold(listed).split())
    assert {word for word in written if words(word) != [word]} == set()


# row: X13
def test_a_question_of_stop_words_alone_has_synonyms():
    """To like something is a word that goes with everything, until one asks for it."""
    asked = parse_question("Was mag ich nicht?", datetime(2027, 1, 1, tzinfo=UTC))
    assert asked.words == ("mag",)
    assert "ausstehen" in asked.akin["mag"]
    assert not asked.match_all
