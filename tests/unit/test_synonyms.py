"""The table of words that tell of the same thing."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engram.core.language import languages
from engram.core.language.synonyms import synonyms
from engram.core.language.words import content, fold, words
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


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("¿qué no puedo comer?", "celíaco"),
        ("¿a que me dedico?", "electricista"),
        ("Que me gusta?", "odio"),
        ("Was darf ich nicht essen?", "Nüsse"),
        ("Habe ich ein Haustier?", "Dackel"),
        ("C'est quoi mon métier ?", "développeur"),
        ("quel est mon metier", "plombier"),
        ("cosa non mi piace?", "detesto"),
        ("que carro tenho?", "peugeot"),
        ("wat mag ik niet eten?", "noten"),
        ("что мне нельзя есть?", "орехи"),
        ("私の職業は?", "看護"),
        ("ペットは?", "猫"),
        ("我不能吃什么?", "花生"),
        ("제 직업이 뭐예요?", "가르"),
        ("Haustiere?", "Katze"),
    ],
)
# row: X13
def test_a_question_in_other_words_looks_for_the_answer(question, told):
    """In each language; accents may be missing, and a lone word is of any language."""
    akin = parse_question(question, datetime(2027, 1, 1, tzinfo=UTC)).akin
    assert fold(told) in set().union(*akin.values())


# row: X13
@pytest.mark.parametrize(
    "code", sorted(languages.section("synonyms").keys() - languages.unspaced())
)
def test_each_entry_of_a_language_is_one_word_that_its_index_keeps(code):
    """A phrase would be found by nobody."""
    listed = " ".join(languages.section("synonyms")[code].values()).replace(":", " ")
    written = set(fold(listed).split())
    assert len(written) > 300
    assert {word for word in written if words(word) != [word]} == set()


# row: X13
def test_a_question_of_stop_words_alone_has_synonyms():
    """To like something is a word that goes with everything, until one asks for it."""
    asked = parse_question("Was mag ich nicht?", datetime(2027, 1, 1, tzinfo=UTC))
    assert asked.words == ("mag",)
    assert "ausstehen" in asked.akin["mag"]
    assert not asked.match_all
