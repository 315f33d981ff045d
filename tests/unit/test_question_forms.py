"""How questions ask: for several, about the past; and texts that state nothing."""

import pytest

from engram.core.language.question_forms import (
    asks_about_past,
    asks_for_several,
    is_courtesy,
    states_nothing,
)

# one question that lists, counts, orders and compares in English and German
SEVERAL = """
Which cities did she visit?
How many concerts did I go to?
In what order did I read the books?
Is Anna older than Ben?
Welche Städte hat sie besucht?
Wie viele Konzerte habe ich besucht?
In welcher Reihenfolge habe ich die Bücher gelesen?
Ist Anna älter als Ben?
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

PAST = """
Where did I live before?
What was my first job?
Wo habe ich früher gewohnt?
""".strip().splitlines()


@pytest.mark.parametrize("question", SEVERAL)
def test_questions_that_list_count_order_or_compare_want_several(question):
    assert asks_for_several(question)


@pytest.mark.parametrize("question", ONE)
def test_questions_for_one_thing_do_not(question):
    assert not asks_for_several(question)


@pytest.mark.parametrize("question", PAST)
def test_questions_about_an_earlier_time_ask_about_the_past(question):
    assert asks_about_past(question)


@pytest.mark.parametrize("question", ONE)
def test_questions_in_the_present_do_not(question):
    assert not asks_about_past(question)


@pytest.mark.parametrize(
    "text",
    [
        "What should I cook tonight?",
        "what should i watch tonight something not too heavy",
        "Kannst du mir helfen? Was soll ich kochen?",
        "Noted. How can I help you today?",
        "By the way, what is my dog called?",
        "Weißt du, wo ich wohne?",
    ],
)
def test_questions_and_courtesies_state_nothing(text):
    assert states_nothing(text)


@pytest.mark.parametrize(
    "text",
    [
        "I have guests. What should I cook?",
        "",
        "My dog is called Rex.",
        "My boat is called Selkie, what paint suits it?",
        "Mein Boot heißt Selkie, welche Farbe passt dazu?",
    ],
)
def test_a_statement_beside_a_question_states_something(text):
    assert not states_nothing(text)


@pytest.mark.parametrize(
    "text",
    [
        "Nice to meet you, Lena!",
        "You're welcome! Let me know if you need anything else.",
        "Great to hear that, Tom!",
        "Got it, I'll remember that.",
        "Schön, dich kennenzulernen, Lena!",
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
