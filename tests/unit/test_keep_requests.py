"""What a user asks to remember, in whatever words, becomes a memory (law 1)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engram.core.language.keep_requests import words_to_keep
from engram.core.policy import ExtractionPolicy
from engram.core.records import Turn
from engram.extraction.rules.engine import extract

ASKED = {
    "Don't forget: my papers are with the lawyer.": "The user's papers are with the lawyer",
    "Remember this please: the fuse box is behind the coats.": "The fuse box is behind the coats",
    "Could you remember that the bins go out on Mondays?": "The bins go out on Mondays",
    "Note to self: the boiler needs two turns.": "The boiler needs two turns",
    "The diary has the lock's number, please remember that.": "The diary has the lock's number",
    "Gran can't climb stairs. Please don't forget that.": "Gran can't climb stairs",
    "Tom reacts to penicillin, please always remember that.": "Tom reacts to penicillin",
    "Tom reacts to penicillin, never ever forget that.": "Tom reacts to penicillin",
    "Tom verträgt kein Penicillin, denk bitte immer daran.": "Tom verträgt kein Penicillin",
    "Tom ne supporte pas la pénicilline, ne l'oublie jamais.": "Tom ne supporte pas la pénicilline",
    "Tom no tolera la penicilina, recuérdalo siempre.": "Tom no tolera la penicilina",
    "Tom non tollera la penicillina, ricordatelo sempre.": "Tom non tollera la penicillina",
    "Tom verdraagt geen penicilline, vergeet dat nooit.": "Tom verdraagt geen penicilline",
    "O Tom não tolera penicilina, lembra-te sempre disso.": "O Tom não tolera penicilina",
    "Тому нельзя пенициллин, никогда не забывай об этом.": "Тому нельзя пенициллин",
    "Please remember this. The stopcock is under the sink.": "The stopcock is under the sink",
    "Important: the dog must not eat grapes.": "The dog must not eat grapes",
    "For the record, I want to be cremated.": "they want to be cremated",
    "Remember this: it hangs behind the door.": "it hangs behind the door",
    "Remember that Tom's dentist is Dr. Vogel.": "Tom's dentist is Dr. Vogel",
    "Please remember that the landlord is Mr. Adams. Thanks!": "The landlord is Mr. Adams",
    "Remember that the practice is on St. James Street.": "The practice is on St. James Street",
    "Merk dir: der Tierarzt ist Dr. med. Vogel, Hauptstr. 5.": "Der Tierarzt ist Dr. med. Vogel, Hauptstr. 5",
    "Ricordati che il veterinario è il dott. Bianchi.": "Il veterinario è il dott. Bianchi",
    "Recuerda que la veterinaria es la Dra. Ruiz.": "La veterinaria es la Dra. Ruiz",
    "Onthoud dat de dierenarts dhr. de Vries is.": "De dierenarts dhr. de Vries is",
    "Запомни: ветеринар на ул. Ленина, д. 5, кв. 12.": "Ветеринар на ул. Ленина, д. 5, кв. 12",
    "Merk dir bitte: der Schlüssel liegt bei Frau Krause.": "Der Schlüssel liegt bei Frau Krause",
    "Der Zähler ist im Keller, vergiss das bitte nicht.": "Der Zähler ist im Keller",
    "N'oublie pas que la clé est chez Mme Petit.": "La clé est chez Mme Petit",
    "Le plombier passe le mardi, retiens-le.": "Le plombier passe le mardi",
    "No olvides que el seguro está con Mapfre.": "El seguro está con Mapfre",
    "Ricordati che il contatore è in cantina.": "Il contatore è in cantina",
    "Lembra-te que a chave está com a vizinha.": "A chave está com a vizinha",
    "Onthoud dat de sleutel bij de buren ligt.": "De sleutel bij de buren ligt",
    "Не забудь, что ключ лежит у соседки.": "Ключ лежит у соседки",
    "予備の鍵は母の家にあると覚えておいてください。": "予備の鍵は母の家にある",
    "请记住，备用钥匙在邻居那里。": "备用钥匙在邻居那里",
    "The library book has to go back by 3 December. Don't let me forget.": "The library book has to go back by 3 December",
    "Morgen kommt der Klempner, erinner mich dran.": "Morgen kommt der Klempner",
    "Rappelle-moi d'appeler Paul demain.": "Appeler Paul demain",
    "Acuérdame de llamar a Ana mañana.": "Llamar a Ana mañana",
    "예비 열쇠는 이모네에 있다고 기억해 줘.": "예비 열쇠는 이모네에 있다",
}
NOT_ASKED = [
    "We danced all night, I will always remember that.",
    "She said she would never forget that.",
    "Do you remember the film about whales?",
    "Remember to call Tom.",
    "I remember that summer well.",
    "Remember me?",
    "Don't forget to feed the cat.",
    "Keep it in mind.",
    "I always forget that the shop closes early.",
    "我还记得那个夏天。",
    "私の名前を覚えていますか？",
    "Weißt du noch, wie wir in Rom waren?",
]


def candidates(text):
    turn = Turn(
        id="t1",
        session="s",
        role="user",
        text=text,
        occurred_at=datetime(2027, 2, 8, 9, tzinfo=UTC),
    )
    return extract([turn], ExtractionPolicy()).candidates


def statements(text):
    return [one.text for one in candidates(text)]


# row: C3
@pytest.mark.parametrize("text", ASKED)
def test_what_the_user_asks_to_keep_becomes_a_statement(text):
    found = statements(text)
    assert len(found) == 1
    assert ASKED[text] in found[0]


def test_what_the_user_asks_to_be_reminded_of_is_a_promise():
    (promise,) = candidates("My lease ends on Friday, remind me please.")
    assert promise.category == "commitment"


@pytest.mark.parametrize("text", NOT_ASKED)
def test_a_question_a_duty_or_a_recollection_asks_to_keep_nothing(text):
    assert words_to_keep(text) == []
    assert statements(text) == []


def test_each_line_of_a_list_to_keep_is_a_statement():
    text = "Remember the following:\nThe alarm code is in the blue folder.\nThe plumber is called Ray Holt."
    assert len(statements(text)) == 2


def test_a_request_is_one_statement_where_a_rule_reads_it_too():
    assert statements("Please remember that I'm allergic to nuts.") == [
        "The user is allergic to nuts."
    ]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (
            "Remember that the vet of our cat Pixel isn't Mira, it's Dr. Horvat.",
            "The vet of their cat Pixel isn't Mira, it's Dr. Horvat.",
        ),
        (
            "Remember that my friend Tom still has my drill.",
            "The user's friend Tom still has their drill.",
        ),
    ],
)
def test_what_is_said_of_a_relative_is_kept_beside_the_relation(text, kept):
    relation, said = statements(text)
    assert "is the user's" in relation
    assert said == kept


def test_a_mention_alone_is_one_statement():
    assert statements("Remember my sister Anna.") == ["Anna is the user's sister."]


# row: C3
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Please remember that the shed key is at Ann's and that the well is dry.",
            ["The shed key is at Ann's.", "The well is dry."],
        ),
        (
            "Remember that I live in York, and that my rent is due on the 3rd.",
            ["The user lives in York.", "The user's rent is due on the 3rd (3 "],
        ),
        (
            "Retiens que la clé est chez Ann et que le puits est à sec.",
            ["La clé est chez Ann.", "Le puits est à sec."],
        ),
        (
            "Remember that Tom and that friend of his come on Sundays.",
            ["Tom and that friend of his come on Sundays."],
        ),
    ],
)
def test_each_of_several_things_to_keep_is_a_statement(text, expected):
    found = statements(text)
    assert len(found) == len(expected)
    assert all(
        one.startswith(begin) for one, begin in zip(found, expected, strict=True)
    )
