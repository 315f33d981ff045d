"""Words: the same on both sides, in any script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.core.language.words import (
    IRREGULAR,
    STOP,
    content,
    fold,
    language,
    of_oneself,
    words,
)
from engram.index.stems import unit_stems


# row: X13
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Anna's naïve café", ["anna", "naïve", "café"]),
        (
            "ﬁne Ｆｕｌｌ-width STRASSE Straße",
            ["fine", "full", "width", "strasse", "strasse"],
        ),
        ("don’t stop, we'll see; it's 10%", ["don't", "stop", "we", "see", "it", "10"]),
        (
            "mustn't l'amour d’accord O'Brien",
            ["must", "l", "amour", "d", "accord", "o", "brien"],
        ),
        ("snake_case v1.2 C++", ["snake", "case", "v1", "2", "c"]),
        ("हिन्दी की किताब", ["हिन्दी", "की", "किताब"]),
        ("العربيّة", ["العربيّة"]),
        ("Привет, мир", ["привет", "мир"]),
        ("", []),
        ("… !?", []),
    ],
)
def test_words_are_folded_runs_of_letters_and_digits(text, found):
    """Compatibility forms, case, punctuation and possessives make no difference; marks
    belong to words.
    """
    assert words(text) == found


# row: X13
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("我喜欢绿茶", ["我喜", "喜欢", "欢绿", "绿茶"]),
        ("茶", ["茶"]),
        ("買ったiPhone", ["買っ", "った", "iphone"]),
        ("커피는", ["커피", "피는"]),
    ],
)
def test_scripts_without_blanks_give_overlapping_pairs(text, found):
    """Each pair of neighbouring characters is a word, so any word of two or more is
    found.
    """
    assert words(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("What does Anna do for a living?", "work"),
        ("She’s earning a living.", "work"),
        ("Anna paints for a living – жаль", "work"),
        ("a sofa for a living room", "living"),
        ("to make a living will", "living"),
    ],
)
def test_what_one_does_for_a_living_is_work(text, found):
    """It has nothing to do with where one lives."""
    assert {"work", "living"}.intersection(words(text)) == {found}


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("I live in Berlin", True),
        ("My car is an old Volvo", True),
        ("My sister and I live in Berlin", True),
        ("My older sister lives in Porto", False),
        ("Our neighbours' cat", False),
        ("Meine Schwester wohnt in Porto", False),
        ("Моя сестра живёт в Порту", False),
        ("Anna lives in Porto", False),
    ],
)
def test_what_is_told_of_somebody_of_ones_own_is_not_told_of_oneself(text, own):
    """Whose sister she is does not make it the speaker's home."""
    assert of_oneself(fold(text)) is own


def test_singles_add_the_characters_behind_the_pairs():
    """What is stored answers a question of one character too."""
    assert words("绿茶 tea 水", singles=True) == ["绿茶", "绿", "茶", "tea", "水"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("What did she say about the trip?", "en"),
        ("Das ist nicht mein Kaffee", "de"),
        ("me gusta el café con leche por la mañana", "es"),
        ("je ne bois pas de thé avec du lait", "fr"),
        ("ik wil niet naar het strand", "nl"),
        ("Что ты пьешь утром и вечером", "ru"),
        ("Kaffee", ""),
        ("Hey Gina! me too", "en"),
        ("", ""),
    ],
)
def test_the_language_is_told_by_stop_words_alone(text, code):
    """One foreign stop word proves nothing; no stop word at all says so."""
    assert language(words(text)) == code


def test_stop_words_stand_in_the_form_words_gives():
    """A stop word that `words` would never give could never be dropped."""
    for code, stop in STOP.items():
        wrong = [word for word in stop if words(word) != [word]]
        assert not wrong, code


def test_content_drops_stop_words_of_its_own_language_alone():
    """German `die` is dropped from German, kept in English; irregular English comes
    home.
    """
    assert content(words("die Katze"), "de") == ["katze"]
    assert content(words("they die"), "en") == ["die"]
    assert content(words("the children went and bought mice"), "en") == [
        "child",
        "go",
        "buy",
        "mouse",
    ]
    assert content(words("children"), "") == ["child"]


def test_irregular_forms_lead_home_in_one_step():
    """No form stands for a form, or two questions for one thing would part."""
    assert not [form for form, home in IRREGULAR.items() if home in IRREGULAR]


# row: X13
@pytest.mark.parametrize(("verb", "noun"), [("lives", "life"), ("leaves", "leaf")])
def test_what_somebody_does_is_no_irregular_plural(verb, noun):
    """`Anna lives in Porto` says nothing of her life, and who leaves is no leaf."""
    assert content([verb, "mums"], "en") == [verb, "mother"]
    assert not {*unit_stems(["anna", verb, "porto"])[0]} & {*unit_stems([noun])[0]}


# row: X13
@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_has_the_words_of_any_text(text):
    """It is split without a pattern; a letter beyond it, which must change no word,
    sends it the other way.
    """
    assert words(text) == words(f"{text} é")[:-1]
