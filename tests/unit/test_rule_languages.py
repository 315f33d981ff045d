"""German, French and Spanish forms of the offline extractor: what is ahead, and whose
people are named.
"""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from engram.core.policy import ExtractionPolicy
from engram.core.records import Turn
from engram.extraction.rules.engine import extract

NOW = datetime(2026, 11, 21, 21, 14, tzinfo=ZoneInfo("Europe/Berlin"))  # a Saturday


def facts(text):
    return extract([Turn("t1", "s1", "user", text, NOW)], ExtractionPolicy()).candidates


TO_DO = [
    (
        "Mein Pass läuft im März 2027 ab.",
        "Der Pass der Person läuft im März 2027 ab (2027-03).",
        "2027-03-01",
    ),
    (
        "Die Miete ist am 1. Dezember fällig.",
        "Die Miete ist am 1. Dezember fällig (2026-12-01).",
        "2026-12-01",
    ),
    (
        "Mein Termin bei Dr. Vogel ist am 3. Dezember um 9 Uhr.",
        "Der Termin der Person bei Dr. Vogel ist am 3. Dezember um 9 Uhr (2026-12-03).",
        "2026-12-03",
    ),
    (
        "Am 3. Dezember habe ich einen Termin beim Augenarzt.",
        "Die Person hat einen Termin beim Augenarzt (2026-12-03).",
        "2026-12-03",
    ),
    (
        "Ich habe am 3. Dezember um 9 Uhr einen Termin beim Augenarzt.",
        "Die Person hat am 3. Dezember um 9 Uhr einen Termin beim Augenarzt (2026-12-03).",
        "2026-12-03",
    ),
    (
        "Im Mai fahren wir nach Italien.",
        "Die Person und andere fahren nach Italien (2027-05).",
        "2027-05-01",
    ),
    (
        "Der Klempner kommt am Freitag.",
        "Der Klempner kommt am Freitag (2026-11-27).",
        "2026-11-27",
    ),
    (
        "Ich rufe morgen Anna an",
        "Die Person ruft morgen Anna an (2026-11-22).",
        "2026-11-22",
    ),
    (
        "Ich rufe am Freitag meine Oma an.",
        "Die Person ruft am Freitag die Oma an (2026-11-27).",
        "2026-11-27",
    ),
    (
        "Ich muss mich bis Ende des Monats anmelden.",
        "Die Person muss sich bis Ende des Monats anmelden (2026-11-30).",
        "2026-11-30",
    ),
    (
        "Ich habe morgen einen Arzttermin.",
        "Die Person hat morgen einen Arzttermin (2026-11-22).",
        "2026-11-22",
    ),
    (
        "Ich treffe nächste Woche Anna.",
        "Die Person trifft nächste Woche Anna (2026-11-23/2026-11-29).",
        "2026-11-23",
    ),
    (
        "Ich verspreche, Anna am Freitag anzurufen.",
        "Die Person verspricht, Anna am Freitag anzurufen (2026-11-27).",
        "2026-11-27",
    ),
    (
        "Erinnere mich bitte daran, am Freitag die Blumen zu gießen.",
        "Die Person will erinnert werden: am Freitag die Blumen zu gießen (2026-11-27).",
        "2026-11-27",
    ),
    (
        "Erinner mich morgen an den Zahnarzttermin.",
        "Die Person will erinnert werden: morgen an den Zahnarzttermin (2026-11-22).",
        "2026-11-22",
    ),
]


# row: X13
# row: X14
@pytest.mark.parametrize(
    ("text", "statement", "due"), TO_DO, ids=[case[0] for case in TO_DO]
)
def test_what_is_ahead_is_a_promise_with_its_day_in_figures(text, statement, due):
    """The words stay those of the speaker, so the day stands behind them as ISO 8601
    has it.
    """
    (one,) = facts(text)
    assert (one.category, one.text) == ("commitment", statement)
    assert (one.when.start.date().isoformat() if one.when else None) == due
    assert one.quote in text


# row: X13
@pytest.mark.parametrize(
    ("text", "statements"),
    [
        (
            "Ich heiße Jonas und wohne in Ulm.",
            ["Die Person heißt Jonas.", "Die Person wohnt in Ulm."],
        ),
        ("Ich bin Lehrerin.", ["Die Person ist Lehrerin."]),
        ("Mein Tierarzt ist nett.", []),
        ("Gestern habe ich Kuchen gebacken.", []),
        ("Heute habe ich keine Lust.", []),
        ("Ich mag keinen Rosenkohl.", ["Die Person mag keinen Rosenkohl."]),
        ("Ich vertrage keine Laktose.", ["Die Person verträgt keine Laktose."]),
        (
            "Ich spiele jeden Mittwoch Volleyball.",
            ["Die Person spielt jeden Mittwoch Volleyball."],
        ),
    ],
)
def test_what_newcomers_say_of_themselves(text, statements):
    found = facts(text)
    assert [one.text for one in found] == statements
    assert all(one.when is None for one in found)


# row: X2
@pytest.mark.parametrize(
    "text",
    [
        "Mein Termin war gestern.",
        "Der Klempner kommt jeden Freitag.",
        "Die Suppe ist fertig.",
        "Mi tarjeta caducó en enero.",
        "El fontanero viene todos los viernes.",
        "La vie est belle vendredi.",
        "Le plombier vient tous les vendredis.",
        "L'idraulico viene ogni venerdì.",
        "O encanador vem toda sexta-feira.",
        "De loodgieter komt elke vrijdag.",
        "Если мой паспорт истекает в марте, я не поеду.",
        "Ich rufe ihn morgen an.",
        "Ich rufe dich morgen an.",
        "Ich muss morgen nicht arbeiten gehen.",
        "Ich muss das bis Freitag machen.",
        "Ich muss noch viel lernen.",
        "Ich muss noch warten.",
        "Ich werde morgen wahrscheinlich Anna besuchen.",
        "Wenn es morgen regnet, muss ich den Bus nehmen.",
        "Muss ich morgen die Steuer abgeben?",
        "Er sagt, ich muss morgen zum Arzt.",
        "„Ich rufe morgen Anna an“, sagte er.",
        "Erinnere mich daran, was ich gesagt habe.",
        "Kannst du mich daran erinnern, was wir gestern besprochen haben?",
        "Erinnerst du dich daran, mich gestern angerufen zu haben?",
        "Ich habe gestern einen Termin gehabt.",
        "Ich bin müde und mein Vater Probleme hat.",
        "Meine Mutter Freitag operiert wird.",
        "Ich bin immer Zweiter.",
        "Je dois l'appeler demain.",
        "Je dois demander à Paul de m'aider demain.",
        "Peux-tu me rappeler ce que j'ai dit ?",
        "Mon frère et moi habitons à Lyon.",
        "Tengo que llamarlo el viernes.",
        "Voy a ver qué pasa mañana.",
        "Recuérdame qué dije.",
    ],
)
def test_what_is_open_others_or_of_nobody_named_is_no_promise(text):
    """Doubt, denial, questions, quotations, pronouns that nobody can follow."""
    assert facts(text) == ()


def test_between_two_people_nobody_is_asked_to_remind():
    text = "Erinner mich morgen an den Zahnarzttermin."
    people = [
        Turn("a", "s1", "assistant", "Hallo!", NOW, "Ben"),
        Turn("b", "s1", "user", text, NOW, "Eva"),
    ]
    assert extract(people, ExtractionPolicy()).candidates == ()


# row: X8
@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("Just kidding, I actually love jazz.", "The user loves jazz."),
        ("War nur Spaß, ich liebe Kino.", "Die Person liebt Kino."),
        ("I own a tiger, just kidding.", None),
    ],
)
def test_what_is_true_beside_the_joke_that_is_taken_back_is_read(text, statement):
    """The part that takes back is no statement, whatever stands before it is none."""
    assert [one.text for one in facts(text)] == ([statement] if statement else [])


# row: X13
@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("My blood group is B positive.", "The user's blood group is B positive."),
        ("My blood type is O-.", "The user's blood type is O-."),
        ("Meine Blutgruppe ist A positiv.", "Die Blutgruppe der Person ist A positiv."),
        ("My blood group is -", None),
    ],
)
def test_a_blood_group_is_a_fact_of_health(text, statement):
    """In an emergency somebody asks for it."""
    assert [one.text for one in facts(text)] == ([statement] if statement else [])


# row: B1
@pytest.mark.parametrize(
    ("text", "kin", "name"),
    [
        ("Meine Schwester heißt Clara.", "sister", "Clara"),
    ],
)
def test_a_relative_with_a_name_is_a_person_with_a_relation(text, kin, name):
    found = extract([Turn("t1", "s1", "user", text, NOW)], ExtractionPolicy())
    (relation,) = found.relations
    assert (relation.subject, relation.type, relation.object) == ("owner", kin, name)
    assert found.types == {name: "person"}


def test_a_pet_with_a_name_is_no_person():
    found = extract(
        [Turn("t1", "s1", "user", "Mein Hund heißt Rex.", NOW)], ExtractionPolicy()
    )
    assert found.relations == ()
    assert found.types == {"Rex": "animal"}


# row: X2
@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("Meine Mutter hat Diabetes.", "Die Mutter der Person hat Diabetes."),
    ],
)
def test_the_health_of_a_relative_is_a_fact(text, statement):
    assert [one.text for one in facts(text)] == [statement]


@pytest.mark.parametrize(
    "text",
    [
        "Ist mein Sohn allergisch gegen Nüsse?",
        "Vielleicht ist mein Sohn allergisch gegen Nüsse.",
        "Mein Sohn ist nicht allergisch gegen Nüsse.",
        "Si mi hijo es alérgico a las nueces, no vamos.",
    ],
)
def test_a_guess_about_the_health_of_a_relative_is_none(text):
    assert not [one for one in facts(text) if "llerg" in one.text or "lérg" in one.text]
