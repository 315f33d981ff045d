"""Words: the same on both sides, in any script."""

from __future__ import annotations

import pytest

from engram.core.language.words import (
    IRREGULAR,
    language,
    words,
)


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


def test_irregular_forms_lead_home_in_one_step():
    """No form stands for a form, or two questions for one thing would part."""
    assert not [form for form, home in IRREGULAR.items() if home in IRREGULAR]
