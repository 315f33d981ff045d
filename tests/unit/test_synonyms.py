"""The table of words that tell of the same thing."""

from __future__ import annotations

from engram.core.language.synonyms import synonyms
from engram.core.language.words import content, words


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


# row: X13
def test_every_entry_is_one_word_that_an_index_keeps():
    """A phrase or a stop word would be found by nobody."""
    known = {"instrument"}
    for _ in range(9):
        known |= (
            {other for word in known for other in synonyms(word)}
            | set(synonyms("job"))
            | set(synonyms("family"))
        )
    assert len(known) > 50
    for word in known:
        assert words(word) == [word]
        assert content([word], "en") == [word]
