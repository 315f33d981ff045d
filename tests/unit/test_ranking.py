"""Ranking: what is asked, and one list of facts and turns."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.core.ranking import (
    PRESETS,
    Preset,
    Scored,
    UnitSignals,
    VectorMatch,
    fuse,
    parse_question,
    rank,
)
from tests.size import examples

NOW = datetime(2026, 11, 21, 15, tzinfo=UTC)
PLAIN = Preset(1.0, 0.0, 0.0, 30)


def scored(key, score, **parts):
    return Scored(key, score, parts or {"text": score})


# The question.


def test_a_question_of_stop_words_keeps_them():
    """An empty search helps nobody."""
    assert parse_question("who was it?", NOW).words == ("who", "was", "it")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("When did she move?", True),
        ("What day was the concert?", True),
        ("How long has she lived there?", True),
        ("Wann ist das Konzert?", True),
        ("¿Cuándo es el concierto?", True),
        ("Who came along?", False),
        ("What time-saving trick did she know?", True),
        ("Where is whenever?", False),
    ],
)
def test_asking_when_is_noticed(text, wanted):
    """By a word for when, or by asking for a day, a year, a length of time."""
    assert parse_question(text, NOW).wants_time is wanted


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("What did you recommend for the trip?", "assistant"),
        ("Can you remind me of the name of that restaurant?", "assistant"),
        ("In our previous conversation, which book came first?", "assistant"),
        ("Was hast du mir empfohlen?", "assistant"),
        ("¿Qué libro me recomendaste?", "assistant"),
        ("Remind me what I told you about my knee", "user"),
        ("What is my new internet plan?", "user"),
        ("Wo ist mein Schlüssel?", "user"),
        ("Where does Anna live?", ""),
        ("Can you recommend a book?", ""),
    ],
)
def test_the_side_a_question_is_about_is_told(text, role):
    """What the assistant said, what the user said of themselves, or neither."""
    assert parse_question(text, NOW).about_role == role


def test_words_that_say_how_one_asks_are_faint():
    """They count, but not as much as what is asked for."""
    question = parse_question(
        "I was wondering, do you remember the name of the guitar?", NOW
    )
    assert question.faint == {"wondering", "remember"}
    assert parse_question("On which day do I still sing these days?", NOW).faint == {
        *("day", "days", "still")
    }
    assert {"name", "guitar"} <= set(question.words)


# One list.


# row: C28
def test_a_turn_with_a_doubted_fact_is_lowered_with_it():
    """The words of what is disputed do not stand above what replaced them."""
    units = {
        "t": UnitSignals("t"),
        "F": UnitSignals("F", source="t", nudge=-0.12),
        "G": UnitSignals("G", source="t", nudge=0.05),
    }
    slots = rank(
        [Scored("t", 2.0, {}, 0b11), Scored("F", 1.0, {}, 0b1), Scored("G", 1.0, {})],
        units,
        NOW,
        PLAIN,
    )
    assert {slot.key: slot.score for slot in slots} == pytest.approx(
        {"t": 0.88, "G": 0.55, "F": 0.38}
    )


# row: C28
def test_a_fact_fits_a_question_though_more_words_near_its_turn_match():
    """The neighbours of a turn raise its score, and its fact has the answer."""
    units = {"t": UnitSignals("t"), "F": UnitSignals("F", source="t")}
    found = [Scored("t", 2.0, {}, 0b1), Scored("F", 1.0, {}, 0b11, fit=1.0)]
    (slot,) = rank(found, units, NOW, PLAIN)
    assert (slot.key, slot.score, slot.fit) == ("F", 1.0, 1.0)


# row: A15
def test_the_relevance_of_the_preset_of_beliefs_is_the_cosine():
    """Not the rank among others; without a vector the words count, at most as the
    nearest. The parts sum to the score, and the default preset still mixes both.
    """
    words = [scored("A", 8.0), scored("B", 4.0), scored("C", 2.0)]
    near = [VectorMatch("A", 0.3, 0.3), VectorMatch("B", 0.8, 0.8)]
    mixed = fuse(words, 8.0, near, 0.35, 0.2)
    units = {key: UnitSignals(key) for key in "ABC"}
    slots = {slot.key: slot for slot in rank(mixed, units, NOW, PRESETS["belief"])}
    assert slots["A"].parts["vector"] == pytest.approx(0.5 * 0.3)
    assert slots["B"].parts["vector"] == pytest.approx(0.5 * 0.8)
    relevance = sum(slots["C"].parts.get(name, 0.0) for name in ("text", "vector"))
    assert 0 < relevance <= 0.5 * 0.8
    assert all(
        slot.score == pytest.approx(sum(slot.parts.values())) for slot in slots.values()
    )
    assert next(iter(slots)) == "B"
    (best, *_) = rank(mixed, units, NOW)
    assert set(best.parts) == {"text", "vector"}


# Words and meaning.


# row: A14
def test_a_word_of_many_weighs_less_against_meaning_than_all_of_them():
    """(1 − w)·(words/whole)² + w·meaning: the best of bad matches by words does not count
    as much as one with every word of the question. The parts sum to the score.
    """
    found = [scored("a", 2.0, text=1.5, session=0.5)._replace(own=1.5)]
    near = [VectorMatch("a", 0.1, 0.2), VectorMatch("c", 0.6, 0.5)]
    weak = {one.key: one for one in fuse(found, 8.0, near, 0.75, 0.2)}
    assert list(weak) == ["c", "a"]
    assert weak["a"].score == pytest.approx(0.25 * (2 / 8) ** 2 + 0.75 * 0.2)
    assert weak["a"].own == pytest.approx(0.25 * 1.5 / 8 + 0.75 * 0.1)
    assert weak["a"].parts.keys() == {"text", "session", "vector"}
    strong = fuse(found, 1.0, near, 0.75, 0.2)
    assert strong[0].key == "a"
    assert all(
        one.score == pytest.approx(sum(one.parts.values()))
        for one in (*weak.values(), *strong)
    )


# row: A17
def test_the_floor_holds_for_what_only_meaning_found():
    """.20 is enough; what words found stays however far it is."""
    found = [scored("far", 1.0)]
    near = [
        VectorMatch("far", -0.5, -0.5),
        VectorMatch("below", 0.199, 0.9),
        VectorMatch("on", 0.2, 0.2),
    ]
    assert sorted(one.key for one in fuse(found, 2.0, near, 0.35, 0.2)) == ["far", "on"]


# row: A17
def test_a_similarity_below_the_floor_covers_nothing_of_the_question():
    """A turn that only stands beside one that fits is no hit because of it."""
    found = [scored("aye", 1.0), scored("fits", 2.0)]
    near = [VectorMatch("aye", 0.1, 0.3), VectorMatch("fits", 0.6, 0.6)]
    fits = {one.key: one.fit for one in fuse(found, 2.0, near, 0.35, 0.2)}
    assert fits == {"aye": 0.0, "fits": 0.6}


@examples(60)
@given(
    st.lists(st.floats(0.001, 100), max_size=6),
    st.lists(st.one_of(st.none(), st.floats(-1, 1.5)), max_size=8),
    st.floats(0, 0.99),
)
def test_every_mixed_score_can_be_merged(words, worths, weight):
    """Scores are finite and the best is above 0, or merging would divide by it; nothing
    that words found is lost.
    """
    found = [scored(f"w{n}", score) for n, score in enumerate(words)]
    near = [
        VectorMatch(f"w{n}" if n % 2 else f"v{n}", worth, worth)
        for n, worth in enumerate(worths)
    ]
    together = fuse(found, 2.0, near, weight, 0.2)
    assert {one.key for one in together} >= {one.key for one in found}
    slots = rank(together, {one.key: UnitSignals(one.key) for one in together}, NOW)
    assert all(0 <= slot.score < float("inf") for slot in slots)
