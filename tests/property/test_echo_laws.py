"""Laws of masking: nothing that was not handed out is lost, every position stays, time
is linear.
"""

import random

from hypothesis import given
from hypothesis import strategies as st

from engram.core.language.echo import masked, shingles, unfenced
from engram.core.policy import EchoPolicy
from tests.size import examples

POLICY = EchoPolicy()
WORDS = (
    "the",
    "a",
    "of",
    "in",
    "to",
    "anna",
    "ben",
    "mira",
    "tea",
    "milk",
    "oat",
    "dog",
    "boat",
    "lisbon",
    "porto",
)
WORDS += ("likes", "has", "saw", "12", "not's", "über", "茶", "绿茶", "東京")
ENDS = (". ", "! ", "?\n", "\n", "; ")


def sentence(chance):
    return " ".join(chance.choices(WORDS, k=chance.randint(1, 9)))


def runs(text, length=5):
    """The runs of words of a sentence, the plain way."""
    said = text.split()
    return {
        tuple(said[start : start + length]) for start in range(len(said) - length + 1)
    } or {tuple(said)}


# row: X7
def test_ten_thousand_texts_never_lose_a_sentence_that_was_not_handed_out():
    """A sentence that shares no run with what was handed out is kept to the letter."""
    chance = random.Random(7)
    kept = lost = 0
    for _ in range(10000):
        handed = [sentence(chance) for _ in range(2)]
        said = [sentence(chance) for _ in range(3)] + handed[:1]
        chance.shuffle(said)
        known = shingles("".join(one + chance.choice(ENDS) for one in handed), POLICY)
        text, places = "", []
        for one in said:
            places.append(len(text))
            text += one + chance.choice(ENDS)
        result = masked(text, known, POLICY)
        assert len(result) == len(text)
        shared = set().union(*map(runs, handed))
        for one, start in zip(said, places, strict=True):
            if not any("茶" in word or "東" in word for word in one.split()):
                same = result[start : start + len(one)] == one
                if not runs(one) & shared:
                    assert same, (text, result)
                    kept += 1
                elif len(one.split()) >= POLICY.least:
                    lost += not same
    assert kept > 10000
    assert lost > 3000


MARKS = [
    "<memory-notes 0a1b2c3d>",
    "</memory-notes 0a1b2c3d>",
    "<memory-notes ffffffff>",
    "</memory-notes ffffffff>",
]


@examples(200)
@given(
    st.lists(
        st.sampled_from([*MARKS, "&lt;memory-notes 0a1b2c3d&gt;", *WORDS, "\n", "> "])
        | st.text(max_size=5)
    )
)
def test_every_position_stays(parts):
    """Masks are as long as what they hide, and a line break stays one."""
    text = " ".join(parts)
    for result in (unfenced(text), masked(text, shingles(text, POLICY), POLICY)):
        assert len(result) == len(text)
        assert all(
            new in {old, " ", "\n"} for old, new in zip(text, result, strict=True)
        )
        assert all(
            new == "\n" for old, new in zip(text, result, strict=True) if old == "\n"
        )


@examples(200)
@given(st.text(max_size=80))
def test_masking_twice_is_masking_once(text):
    known = shingles(text, POLICY)
    once = masked(text, known, POLICY)
    assert masked(once, known, POLICY) == once
    assert unfenced(unfenced(text)) == unfenced(text)
