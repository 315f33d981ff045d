"""Words: the language of a text is a vote of its stop words."""

from hypothesis import given
from hypothesis import strategies as st

from engram.core.language.date_words import TOKEN, tokens
from engram.core.language.words import STOP, language, words
from tests.size import examples

WORDS = sorted({"quartz", "jazz"}.union(*STOP.values()))


# row: X13
@examples(300)
@given(st.lists(st.sampled_from(WORDS), max_size=12))
def test_the_language_is_that_of_most_words(found):
    """Each word that tells anything alone counts for every language it is a stop word
    of; English is first.
    """
    telling = [word for word in found if language([word])]
    counts = {
        code: sum(word in stop for word in telling) for code, stop in STOP.items()
    }
    best = max(counts, key=counts.__getitem__)
    assert language(found) == (best if counts[best] else "")


# row: X13
@examples(300)
@given(st.text(st.characters(max_codepoint=127), max_size=60))
def test_plain_letters_give_the_words_that_any_script_gives(text):
    """The short way for ASCII is the long way, taken for a text with one foreign letter
    behind it.
    """
    assert words(f"{text}\n") == words(f"{text}\n ж")[:-1]


PARTS = ("5", "10:30", "2026-11-22", "pm", "a.m.", "uhr", "\x1c", "\x1f")


# row: X13
# row: X14
@examples(300)
@given(
    st.lists(
        st.characters(max_codepoint=127) | st.sampled_from(PARTS), max_size=12
    ).map("".join)
)
def test_plain_letters_give_the_tokens_that_any_script_gives(text):
    """Dates and times too, whatever control signs stand between them."""
    assert list(tokens(text)) == [found[0].casefold() for found in TOKEN.finditer(text)]
