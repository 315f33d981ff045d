"""What a sentence says: the same in any person, and nothing of other people."""

from __future__ import annotations

import pytest

from engram.core.language.paraphrase import fingerprints, from_row, restates

SAME = {
    "The user weighs 82 kg.": (
        "I weigh 82 kilos.",
        "You weigh 82 kilos, so a brisk walk burns about 300 kcal.",
        "Since you weigh 82 kg, take two.",
        "weight: 82 kg",
        "I'm 82 kg now",
        "I stepped on the scales: I weigh 82 kilos.",
        "82 kilos!",
    ),
    "My ex-husband is called Ralph.": (
        "The user's ex-husband is called Ralph.",
        "By the way, since your ex-husband Ralph is in town, shall we plan around him?",
        "ex-husband: Ralph",
    ),
    "My therapist is Dr. Vos.": (
        "How was it with your therapist Vos?",
        "therapist: Vos",
        "my therapist is dr. vos",
    ),
    "Just between us: I'm seeing a therapist because of panic attacks.": (
        "The user is seeing a therapist because of panic attacks.",
        "How is therapy for your panic attacks going?",
        "You have panic attacks.",
    ),
    "The user lives in Berlin.": (
        "I live in Berlin.",
        "Since you moved to Berlin, do you like it?",
        "home: Berlin",
        "Anna and I live in Berlin.",
    ),
    "I'm a vegetarian.": (
        "You are vegetarian, so no steak.",
        "The user is a vegetarian.",
    ),
    "The user is allergic to nuts.": (
        "Since you have a nut allergy, no cake.",
        "nut allergy",
    ),
    "Mon ex s'appelle Bastien.": (
        "Ton ex Bastien a appelé ?",
        "L'ex de la personne s'appelle Bastien.",
    ),
    "J'habite à Nantes.": (
        "La personne habite à Nantes.",
        "Comme tu vis à Nantes, c'est près.",
    ),
    "Ich wiege 82 Kilo.": (
        "Du wiegst 82 kg, also geh langsam.",
        "Gewicht: 82 kg",
        "Der Nutzer wiegt 82 kg.",
    ),
    "Ich wohne in Leipzig.": (
        "Da du in Leipzig wohnst, ist es nah.",
        "Der Nutzer wohnt in Leipzig.",
    ),
    "我对花生过敏。": (
        "因为你对花生过敏，我选了别的零食。",
        "用户对花生过敏",
        "你有花生过敏吗？",
    ),
    "我叫王梅。": ("你叫王梅吗？", "用户叫王梅。"),
    "我住在北京。": ("你住在北京，对吗？",),
    "猫の名前はモチです。": ("モチという猫", "猫のモチは元気ですか？"),
}
OTHER = {
    "The user weighs 82 kg.": (
        "I bought 82 kg of cement.",
        "I weigh 81 kilos.",
        "My brother weighs 82 kg.",
        "Anna weighs 82 kg.",
        "room 82",
    ),
    "My ex-husband is called Ralph.": (
        "Ralph Vos plays piano",
        "I have an ex-husband.",
        "My husband is ill.",
    ),
    "My therapist is Dr. Vos.": (
        "Ralph Vos plays piano.",
        "A therapist helps.",
        "I'm looking for a therapist.",
    ),
    "Just between us: I'm seeing a therapist because of panic attacks.": (
        "Anna sees a therapist because of panic attacks.",
        "Panic on the streets of London.",
    ),
    "The user lives in Berlin.": (
        "My sister lives in Berlin.",
        "Anna lives in Berlin.",
        "I met Anna, who lives in Berlin.",
        "Berlin is big.",
        "I live in Hamburg.",
    ),
    "I'm a vegetarian.": ("Tell me about vegetarian food.", "I love vegetarian food."),
    "The user is allergic to nuts.": (
        "I'm allergic to cats.",
        "Nuts are healthy.",
        "My son is allergic to nuts.",
    ),
    "I decided to buy the red boat.": (
        "I decided to buy the blue boat.",
        "I decided to buy the red car.",
    ),
    "My favourite singer is Adele.": (
        "Who is my favourite singer?",
        "Adele has a new album.",
    ),
    "Mon ex s'appelle Bastien.": (
        "Bastien joue du piano.",
        "Mon chien s'appelle Filou.",
    ),
    "J'habite à Nantes.": ("Mon frère Luc habite à Nantes.",),
    "Ich wohne in Leipzig.": ("Meine Schwester wohnt in Leipzig.",),
    "我对花生过敏。": ("花生很好吃。", "我对猫毛过敏。"),
    "我叫王梅。": ("你好，王梅！",),
    "我住在北京。": ("我妹妹住在北京。",),
    "猫の名前はモチです。": ("猫が好きです。",),
}


def pairs(table):
    return [(one, other) for one, others in table.items() for other in others]


def is_said(statement, sentence):
    return any(restates(known, sentence) for known in fingerprints(statement))


# row: X8
@pytest.mark.parametrize(
    ("statement", "sentence"), [*pairs(SAME), *((one, one) for one in SAME | OTHER)]
)
def test_a_sentence_that_says_it_is_known_in_any_person(statement, sentence):
    assert is_said(statement, sentence)


# row: X8
@pytest.mark.parametrize(("statement", "sentence"), pairs(OTHER))
def test_a_sentence_of_somebody_or_something_else_is_not_taken_for_it(
    statement, sentence
):
    assert not is_said(statement, sentence)


# row: X8
def test_a_gist_is_kept_without_its_words_and_means_the_same_when_read_back():
    """All that can be read of it are hashes and marks."""
    (known,) = fingerprints("My therapist is Dr. Vos.")
    assert from_row(known.row()) == known
    assert not {"therap", "therapist", "vos"} & set(
        str(known.row()).replace("'", " ").split()
    )
    for broken in (None, [], {}, {"names": 1}, {"words": "therapist"}):
        assert from_row(broken) is None


def test_a_sentence_without_a_word_of_its_own_has_no_gist():
    assert fingerprints("I am here with you.") == ()
    assert fingerprints("") == ()
