"""Laws of the lexical scale."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engram.core.language.similarity import compared, statement
from engram.index.stems import stems_of
from tests.size import examples

WORDS = (
    *(
        "Anna",
        "Ben",
        "lives",
        "in",
        "Berlin",
        "Munich",
        "loves",
        "hates",
        "not",
        "never",
        "tea",
        "oat-milk",
        "really",
    ),
    *(
        "2",
        "three",
        "C++",
        "wohnt",
        "nicht",
        "habite",
        "n'aime",
        "pas",
        "安娜",
        "不喜欢",
        "アンナは",
        "живёт",
        "favourite",
    ),
)
texts = st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join) | st.text(
    max_size=40
)
RUNS = examples(300)


def taken(text):
    return statement(text, stems_of)


@RUNS
@given(texts, texts)
def test_similarity_is_symmetric_and_a_share(one, other):
    """Between 0 and 1, whichever comes first; so are its guards."""
    first, second = taken(one), taken(other)
    assert 0 <= compared(first, second).similarity <= 1
    assert compared(first, second) == compared(second, first)


@RUNS
@given(texts)
def test_a_statement_is_the_same_as_itself(text):
    """In any case and with any sentence punctuation."""
    found = compared(taken(text), taken(text))
    assert (found.similarity, found.distinct) == (1.0, "")


@RUNS
@given(texts, texts)
def test_what_words_tell_apart_is_never_the_same(one, other):
    """A guard that speaks keeps the pair below the cut of reinforcement."""
    first, second = taken(one), taken(other)
    found = compared(first, second)
    assert not (found.distinct and found.similarity > 0.85)


@RUNS
@given(
    st.lists(st.sampled_from(WORDS[:14]), min_size=1, max_size=8),
    st.sampled_from(("walnut", "Oslo", "17")),
)
def test_a_word_more_is_never_the_same(found, more):
    """Whatever is added may be what matters."""
    assert (
        compared(taken(" ".join(found)), taken(" ".join([*found, more]))).similarity
        <= 0.85
    )
