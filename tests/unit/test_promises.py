"""What is said to be done, and which promise it means (row E16)."""

from __future__ import annotations

import pytest

from engram.core import todos
from engram.core.language.promises import agenda, says_duty
from engram.core.records import Fact
from tests.fakes.sentences import rows

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
ESSAY = "The user's essay is due on 30 April 2027."
CARDS = "The user promised Lena to have 120 wedding cards delivered by 6 March 2027."
DRAFT = "The user promised Ada they would review her draft."
LOAN_DE = "Die Rate ist am Montag fällig (2027-03-08)."

EN = [BANK, PHOTOS, BIKE, TAX, PASSPORT, TABLE, MILK, TWO, ESSAY, CARDS, DRAFT]
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
    ("The photos are sent.", PHOTOS),
    ("The cards have been delivered, all of them.", CARDS),
    ("Ada's draft is reviewed.", DRAFT),
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


KEPT_NONE = rows("promises", "kept_none")


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
    rows("promises", "what_cancels_nothing"),
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
    rows("promises", "a_question_for_what_is_to_be_done_names_its_days"),
)
def test_a_question_for_what_is_to_be_done_names_its_days(question, days):
    assert agenda(question) == days


@pytest.mark.parametrize(
    "question",
    rows("promises", "what_is_no_question_for_promises"),
)
def test_what_is_no_question_for_promises(question):
    assert agenda(question) is None


# row: E16
@pytest.mark.parametrize(
    "text",
    rows("promises", "who_has_something_to_do_says_a_duty"),
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
