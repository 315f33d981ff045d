"""What is said to be done, and which promise it means (row E16)."""

from __future__ import annotations

import pytest

from engram.core import todos
from engram.core.language.promises import agenda, says_duty
from engram.core.records import Fact

BANK = "The user has to call the bank tomorrow (2 March 2027)."
PHOTOS = "The user will send Mira the photos in the week of 1 March 2027."
BIKE = "The user promised their mum to fix her bike on Saturday (6 March 2027)."
TAX = "The user has to hand in their tax return by 31 May 2027."
PASSPORT = "The user wants to be reminded to renew their passport before 30 June 2027."
TABLE = "The user wants to book a table for Friday (12 March 2027) at the Thai place."
MILK = "The user needs to buy milk."
TWO = "The user plans to call Anna and write to Ben on 6 July 2027."
BANK_DE = "Die Person muss morgen die Bank anrufen (2027-02-02)."
EXAMS_DE = "Die Person will bis Freitag die Klassenarbeiten korrigieren (2027-02-05)."
INSURANCE_DE = "Die Person muss die Versicherung anrufen."
RENT_DE = "Die Person will daran erinnert werden, die Miete zu überweisen."
BOOK_DE = "Die Person verspricht, der Oma das Buch zurückzubringen."
HEATING_DE = "Die Person muss bis Montag die Heizung bezahlen (2027-02-08)."
ESSAY = "The user's essay is due on 30 April (30 April 2027)."
LOAN_DE = "Die Rate ist am Montag fällig (2027-03-08)."

EN = [BANK, PHOTOS, BIKE, TAX, PASSPORT, TABLE, MILK, TWO, ESSAY]
DE = [BANK_DE, EXAMS_DE, INSURANCE_DE, RENT_DE, BOOK_DE, LOAN_DE, HEATING_DE]


def promised(*texts):
    return [Fact(f"P{n}", text, "commitment") for n, text in enumerate(texts)]


def settled(text, context="", promises=(*EN, *DE)):
    found = todos.settlements(text, promised(*promises), context)
    return [(fact.text, one.tag) for one in found for fact in one.promises]


KEPT = [
    ("I called the bank, all settled.", BANK),
    ("I've finally called the bank!", BANK),
    ("Called the bank this morning.", BANK),
    ("Just phoned the bank.", BANK),
    ("Ok, I rang the bank yesterday.", BANK),
    ("I managed to call the bank.", BANK),
    ("The bank is called, phew.", BANK),
    ("I sent Mira the photos.", PHOTOS),
    ("Passport renewed, finally.", PASSPORT),
    ("ESSAY SUBMITTED!!!", ESSAY),
    ("Die Heizung ist erledigt.", HEATING_DE),
    ("Die Heizung habe ich bezahlt.", HEATING_DE),
    ("I've handed in my essay.", ESSAY),
    ("I finally finished the essay.", ESSAY),
    ("Ich habe die Rate überwiesen.", LOAN_DE),
    ("I've sent the photos to Mira.", PHOTOS),
    ("Sent Mira the photos.", PHOTOS),
    ("I fixed mum's bike on Saturday.", BIKE),
    ("I got her bike fixed.", BIKE),
    ("I finished fixing her bike.", BIKE),
    ("I finally handed in my tax return.", TAX),
    ("My tax return is handed in.", TAX),
    ("We submitted the tax return today.", TAX),
    ("The tax return is done!", TAX),
    ("I renewed my passport.", PASSPORT),
    ("I got my passport renewed last week.", PASSPORT),
    ("I booked a table at the Thai place.", TABLE),
    ("I've reserved a table at the Thai place for Friday.", TABLE),
    ("I bought milk.", MILK),
    ("I got the milk.", MILK),
    ("Picked up milk on the way home.", MILK),
    ("I called Anna and wrote to Ben.", TWO),
    ("Ich habe die Bank angerufen.", BANK_DE),
    ("Gestern habe ich die Bank angerufen.", BANK_DE),
    ("Die Bank habe ich heute angerufen.", BANK_DE),
    ("Hab die Bank endlich angerufen!", BANK_DE),
    ("Bank angerufen!", BANK_DE),
    ("Ich rief gestern die Bank an.", BANK_DE),
    ("Die Klassenarbeiten sind korrigiert, endlich!", EXAMS_DE),
    ("Ich habe alle Klassenarbeiten korrigiert.", EXAMS_DE),
    ("Versicherung angerufen.", INSURANCE_DE),
    ("Ich habe die Miete überwiesen.", RENT_DE),
    ("Die Miete ist bezahlt.", RENT_DE),
    ("Ich habe der Oma das Buch zurückgebracht.", BOOK_DE),
]


# row: E16
@pytest.mark.parametrize(("text", "promise"), KEPT)
def test_a_promise_is_kept_by_words_that_name_what_was_done_and_to_what(text, promise):
    assert settled(text) == [(promise, "fulfilled")]


KEPT_NONE = [
    "Mira sent.",
    "I printed my essay.",
    "I read her essay.",
    "I started my essay.",
    "Ich habe die Rate vergessen.",
    "Die Heizung ist kaputt.",
    "Mira's parcel sent.",
    "Was the passport renewed?",
    "I finished my dinner.",
    "I finished the book, finally.",
    "I called the dentist today.",
    "I called the bank's lawyer.",
    "I walked past the bank.",
    "Did I call the bank?",
    "I haven't called the bank yet.",
    "I almost called the bank.",
    "I tried to call the bank.",
    "I called the bank but nobody answered.",
    "I will have called the bank by noon.",
    "If I called the bank, they would laugh.",
    "I wanted to call the bank.",
    "Anna called the bank.",
    "She called the bank for me.",
    "I should have called the bank.",
    "I'm calling the bank now.",
    'My boss said: "I called the bank."',
    "I dreamt that I called the bank.",
    "I sent Paul the photos.",
    "I sent Mira an email.",
    "I fixed my bike.",
    "I booked a table at the Italian.",
    "I called Anna.",
    "I bought bread.",
    "I lost my passport.",
    "I forgot to renew my passport.",
    "Done!",
    "All sorted.",
    "Ich habe mein Abendessen fertig.",
    "Ich habe die Bank noch nicht angerufen.",
    "Ich muss die Bank anrufen.",
    "Habe ich die Bank angerufen?",
    "Anna hat die Bank angerufen.",
    "Ich habe den Zahnarzt angerufen.",
    "Ich wollte die Bank anrufen.",
    "Ich habe versucht, die Bank anzurufen.",
    "Wenn ich die Bank angerufen habe, gehe ich essen.",
]


# row: E16
@pytest.mark.parametrize("text", KEPT_NONE)
def test_what_means_another_thing_or_is_not_done_keeps_no_promise(text):
    assert settled(text) == []


CANCELLED = [
    ("I don't need to call the bank any more.", BANK),
    ("I no longer have to call the bank.", BANK),
    ("No need to call the bank anymore.", BANK),
    ("I don't have to call the bank.", BANK),
    ("I won't fix mum's bike on Saturday after all, she bought a new one.", BIKE),
    ("I've decided not to renew my passport.", PASSPORT),
    ("You can drop the reminder to renew my passport.", PASSPORT),
    ("I'm not going to buy milk after all.", MILK),
    ("Die Bank muss ich nicht mehr anrufen.", BANK_DE),
    ("Ich muss die Bank doch nicht anrufen.", BANK_DE),
    ("Ich brauche die Klassenarbeiten nicht mehr zu korrigieren.", EXAMS_DE),
]


# row: E16
@pytest.mark.parametrize(("text", "promise"), CANCELLED)
def test_a_promise_that_is_not_needed_any_more_is_cancelled(text, promise):
    assert settled(text) == [(promise, "expired")]


@pytest.mark.parametrize(
    "text",
    [
        "I don't have to call the bank today.",
        "I don't need to call the bank now.",
        "I don't call the bank any more, I write to them.",
        "Anna doesn't need to call the bank any more.",
        "Do I still need to call the bank?",
        "I don't need to call the dentist any more.",
        "I won't call the bank before noon.",
        "Maybe I don't need to call the bank any more.",
        "I hope I don't have to call the bank any more?",
        "I no longer work at the bank.",
        "Ich muss die Bank nicht heute anrufen.",
        "Ich muss den Zahnarzt nicht mehr anrufen.",
        "Er muss die Bank nicht mehr anrufen.",
    ],
)
def test_what_cancels_nothing(text):
    assert settled(text) == []


EVENT = "The user has a dinner with Paul on 5 March 2027."


# row: E16
@pytest.mark.parametrize(
    ("text", "promise", "tags"),
    [
        ("The dinner with Paul is off.", EVENT, ["expired"]),
        ("The dinner is cancelled.", EVENT, ["expired"]),
        ("The concert is off.", EVENT, []),
        ("I called the dinner with Paul off.", EVENT, ["expired"]),
        ("The tax return is off.", TAX, []),
        (
            "Die Prüfung ist abgesagt.",
            "Die Person hat am Montag eine Prüfung.",
            ["expired"],
        ),
    ],
)
def test_an_event_that_is_off_is_cancelled(text, promise, tags):
    assert [tag for _, tag in settled(text, promises=[promise])] == tags


ROME = "The user is flying to Rome on 3 April 2027 with Anna."
WEDDING = "The user and others plan to get married next summer (the summer of 2027)."


# row: E16
@pytest.mark.parametrize(
    ("text", "promise", "why"),
    [
        ("The dinner with Paul was moved to Friday.", EVENT, todos.MOVED),
        ("We postponed the dinner with Paul.", EVENT, todos.MOVED),
        ("The Rome trip is off.", ROME, todos.CANCELLED),
        ("Our flight to Rome got cancelled.", ROME, todos.CANCELLED),
        ("We've postponed the wedding to 2029.", WEDDING, todos.MOVED),
        ("We moved the sofa to the living room.", ROME, None),
        ("I've moved to York.", WEDDING, None),
        ("The Paris trip is off.", ROME, None),
        (
            "Die Prüfung wurde auf Donnerstag verschoben.",
            "Die Person hat am Montag eine Prüfung.",
            todos.MOVED,
        ),
    ],
)
def test_an_event_that_was_moved_is_not_due_at_its_old_time(text, promise, why):
    found = todos.settlements(text, promised(promise))
    assert [one.why for one in found] == [why] * bool(why)


# row: E16
@pytest.mark.parametrize(
    ("text", "context", "kept"),
    [
        ("I rang them.", "I need to call the bank tomorrow.", [BANK]),
        ("Yes, I called them this morning.", "Did you call the bank?", [BANK]),
        ("Done!", "Did you call the bank?", [BANK]),
        ("It's done.", "Don't forget to renew your passport.", [PASSPORT]),
        ("Erledigt.", "Hast du die Bank angerufen?", [BANK_DE]),
        ("Erledigt.", "Du musst noch die Bank anrufen.", [BANK_DE]),
        ("I rang them.", "How was your day?", []),
        ("Done!", "How was your day?", []),
        ("Done!", "Did you visit the bank?", []),
        ("I rang them.", "The dentist moved.", []),
        ("Not done yet.", "Did you call the bank?", []),
        ("I called it off.", "I'm having dinner with Paul on Friday.", [EVENT]),
        ("I called it off.", "How was your day?", []),
    ],
)
def test_a_pronoun_and_a_bare_done_need_what_was_said_before(text, context, kept):
    found = settled(text, context, (*EN, *DE, EVENT))
    assert [name for name, _ in found] == kept


def test_two_promises_that_a_report_may_mean_are_asked_about():
    loan, card = (
        "The user has to call the bank about the loan.",
        "The user has to call the bank about the card.",
    )
    (found,) = todos.settlements("I called the bank.", promised(loan, card))
    assert (found.asks, len(found.promises)) == (True, 2)
    assert settled("I called the bank about the card.", promises=[loan, card]) == [
        (card, "fulfilled")
    ]


# row: E16
@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("what do I have to do today?", "today"),
        ("What do I need to do tomorrow?", "tomorrow"),
        ("What do I have to do this week?", "week"),
        ("What do I have to do?", ""),
        ("what's on my to-do list", ""),
        ("What is due today?", "today"),
        ("Do I have anything to do today?", "today"),
        ("What's on my agenda for tomorrow?", "tomorrow"),
        ("What did I promise?", ""),
        ("Hey, what should I do today?", "today"),
        ("What are my open tasks?", ""),
        ("Was muss ich heute machen?", "today"),
        ("Was muss ich morgen noch erledigen?", "tomorrow"),
        ("Was habe ich diese Woche zu tun?", "week"),
        ("Was steht heute an?", "today"),
        ("Was ist noch offen?", ""),
        ("Was habe ich versprochen?", ""),
        ("Qu'est-ce que j'ai à faire aujourd'hui ?", "today"),
        ("Qu'est-ce que je dois faire demain ?", "tomorrow"),
        ("Que dois-je faire cette semaine ?", "week"),
        ("¿Qué tengo que hacer hoy?", "today"),
        ("¿Qué tengo pendiente?", ""),
        ("¿Qué tengo que hacer esta semana?", "week"),
        ("Cosa devo fare oggi?", "today"),
        ("O que tenho de fazer hoje?", "today"),
        ("Wat moet ik vandaag doen?", "today"),
        ("今日やることは？", "today"),
        ("今日やること", "today"),
        ("明日の予定は？", "tomorrow"),
        ("今天要做什么？", "today"),
        ("明天我要做什么", "tomorrow"),
        ("这周有什么安排？", "week"),
        ("¿Qué me queda por hacer?", ""),
        ("¿Qué me falta?", ""),
        ("J'ai quoi à faire ?", ""),
        ("Qu'est-ce qu'il me reste à faire ?", ""),
        ("Was liegt noch an?", ""),
        ("Hab ich noch was offen?", ""),
        ("Cosa mi resta da fare?", ""),
        ("O que me falta fazer?", ""),
        ("Wat staat er nog open?", ""),
        ("Что мне осталось сделать?", ""),
        ("今やらなきゃいけないことは？", ""),
        ("我还有什么事没做？", ""),
        ("할 일이 뭐야?", ""),
    ],
)
def test_a_question_for_what_is_to_be_done_names_its_days(question, days):
    assert agenda(question) == days


@pytest.mark.parametrize(
    "question",
    [
        "What do I like?",
        "What did I do today?",
        "What do I have to do with the old bike?",
        "What does Anna have to do today?",
        "What do you have to do today?",
        "What is the capital of France?",
        "What have I got in the fridge?",
        "Where do I have to go?",
        "What do I have?",
        "Why do I have to do this?",
        "Was mag ich?",
        "Was habe ich gestern gemacht?",
        "Was muss Anna heute machen?",
        "Qu'est-ce que j'aime ?",
        "¿Qué me gusta?",
        "¿Qué hice hoy?",
        "¿Qué tengo?",
        "Wat vind ik leuk?",
        "今日は何を食べた？",
        "今天吃了什么？",
        "你今天要做什么？",
        "¿Qué me falta por ver de la serie?",
        "Woran denke ich gerade?",
        "J'ai quoi comme voiture ?",
        "Cosa mi piace?",
        "我喜欢做什么？",
        "趣味は何ですか？",
        "무슨 일을 해요?",
    ],
)
def test_what_is_no_question_for_promises(question):
    assert agenda(question) is None


# row: E16
@pytest.mark.parametrize(
    "text",
    [
        "I have to renew my passport by Friday.",
        "Ich muss noch die Miete überweisen.",
        "Muss noch zum Zahnarzt.",
        "Je dois appeler le plombier demain.",
        "Faut que je rende mon dossier.",
        "Tengo que renovar el DNI antes del 20 de marzo.",
        "Me falta pagar el recibo de la luz.",
        "Devo rinnovare la patente entro venerdì.",
        "Preciso de pagar o IMI até sexta.",
        "Rappelle moi d'appeler Luc.",
        "Acuérdame de llamar al banco.",
        "Erinner mich dran, den Vertrag zu kündigen.",
        "Ik moet voor vrijdag mijn rijbewijs verlengen.",
        "Мне нужно до пятницы оплатить страховку.",
        "金曜日までにレポートを提出しなければなりません。",
        "周五之前要交房租。",
        "금요일까지 보고서를 제출해야 해요.",
    ],
)
def test_who_has_something_to_do_says_a_duty(text):
    assert says_duty(text)


@pytest.mark.parametrize(
    "text",
    [
        "You have to see this film.",
        "I have to say, I love it.",
        "Do I have to renew it?",
        "Ich muss sagen, das war gut.",
        "Ya no tengo que ir al médico.",
        "Mi hermano tiene que renovar el DNI.",
        "Il mio capo deve partire.",
        "レポートを提出しました。",
        "房租涨了。",
    ],
)
def test_what_is_no_duty_of_the_speaker(text):
    assert not says_duty(text)
