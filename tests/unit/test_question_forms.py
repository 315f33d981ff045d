"""How questions ask, in six languages: for several, and by the time of an event."""

import pytest

from engram.core.language.question_forms import (
    asks_for_several,
    event_time,
    is_courtesy,
)

# one question that lists, counts, orders and compares in each language
SEVERAL = """
Which cities did she visit?
How many concerts did I go to?
In what order did I read the books?
Is Anna older than Ben?
Welche Städte hat sie besucht?
Wie viele Konzerte habe ich besucht?
In welcher Reihenfolge habe ich die Bücher gelesen?
Ist Anna älter als Ben?
Quelles villes a-t-elle visitées ?
Combien de concerts ai-je vus ?
Dans quel ordre ai-je lu les livres ?
Anna est-elle plus âgée que Ben ?
¿Cuáles ciudades visitó?
¿Cuántos conciertos vi?
¿En qué orden leí los libros?
¿Tiene Anna más hermanos que Ben?
Quali città ha visitato?
Quanti concerti ho visto?
In che ordine ho letto i libri?
Anna ha più fratelli di Ben?
Quais cidades ela visitou?
Quantos concertos eu vi?
Em que ordem li os livros?
Anna tem mais irmãos que Ben?
""".strip().splitlines()

ONE = """
Where does she live?
What is my sister's name?
When is the appointment?
Wo wohnt sie?
Wie heißt meine Schwester?
Où habite-t-elle ?
Comment s'appelle ma sœur ?
¿Dónde vive?
¿Cómo se llama mi hermana?
Dove abita?
Come si chiama mia sorella?
Onde ela mora?
Como se chama minha irmã?
""".strip().splitlines()

EVENTS = [
    ("What did I cook before the move?", "the move", True),
    ("Where have I worked since I changed jobs?", "I changed jobs", False),
    ("After our wedding, where did we live?", "our wedding", False),
    ("Was habe ich vor dem Umzug gegessen?", "dem Umzug", True),
    ("Was mache ich, seit ich den Job gewechselt habe?", "ich den Job", False),
    ("Que faisais-je avant le déménagement ?", "le déménagement", True),
    ("Où ai-je travaillé depuis le mariage ?", "le mariage", False),
    ("¿Qué hacía antes de la mudanza?", "la mudanza", True),
    ("¿Qué hago desde la boda?", "boda", False),
    ("Cosa facevo prima del trasloco?", "trasloco", True),
    ("Cosa faccio da quando ho cambiato lavoro?", "ho cambiato", False),
    ("O que eu fazia antes da mudança?", "mudança", True),
    ("O que faço desde o casamento?", "casamento", False),
]


@pytest.mark.parametrize("question", SEVERAL)
def test_questions_that_list_count_order_or_compare_want_several(question):
    assert asks_for_several(question)


@pytest.mark.parametrize("question", ONE)
def test_questions_for_one_thing_do_not(question):
    assert not asks_for_several(question)


# row: X14
@pytest.mark.parametrize(("question", "event", "before"), EVENTS)
def test_a_time_may_be_named_by_an_event(question, event, before):
    found = event_time(question)
    assert found is not None
    assert found.event.startswith(event)
    assert found.before is before


@pytest.mark.parametrize(
    "question",
    [
        "Did I call her before or after the wedding?",
        "What did we do last spring?",
        "Have we met before?",
        "Der Hund sitzt vor mir",
        "What is on the shelf?",
    ],
)
def test_other_questions_name_no_event(question):
    assert event_time(question) is None


@pytest.mark.parametrize(
    "text",
    [
        "Nice to meet you, Lena!",
        "You're welcome! Let me know if you need anything else.",
        "Great to hear that, Tom!",
        "Got it, I'll remember that.",
        "Schön, dich kennenzulernen, Lena!",
        "Enchanté, Lena !",
        "Mucho gusto, Lena.",
        "Piacere di conoscerti, Lena!",
        "Muito prazer, Lena!",
    ],
)
def test_courtesies_tell_nothing(text):
    assert is_courtesy(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Nice! You should try the ramen place on 5th.",
        "Congratulations on the new job at Siemens!",
        "Noted: Lena lives in Ulm.",
        "Sure, Toby is a lovely name.",
        "I have noted that the meeting is on Monday.",
        "Klar, der Termin ist am Montag.",
        "Gracias, la cita es el lunes.",
    ],
)
def test_what_tells_something_is_no_courtesy(text):
    assert not is_courtesy(text)
