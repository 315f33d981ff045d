"""Which sentences are promises of the user, and which only look like one (row E16)."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from engram.core.policy import Policy
from engram.core.records import Turn
from engram.extraction.rules import engine

MONDAY = datetime(2027, 3, 1, 9, tzinfo=ZoneInfo("Europe/Berlin"))


def categories(text):
    turn = Turn("1", "s", "user", text, MONDAY, speaker="user")
    found = engine.extract([turn], Policy().extraction).candidates
    return [one.category for one in found]


PROMISES = [
    "I promised my mum to fix her bike on Saturday.",
    "I want to book a table for Friday at the Thai place.",
    "I'll send it by Monday.",
    "I have to pay the rent.",
    "I gotta water the plants.",
    "I must finish the report.",
    "I've got to renew my passport.",
    "Remind me to water the plants.",
    "Don't let me forget to call Ben tomorrow.",
    "I still need to reply to Paul.",
    "I will call the insurance tomorrow.",
    "I'm going to call Anna and write to Ben tomorrow.",
    "I have to take my car to the garage on Monday.",
    "Ich muss Milch kaufen.",
    "Ich muss noch die Miete überweisen.",
    "Ich will einen Tisch reservieren.",
    "Ich habe meiner Mutter versprochen, das Fahrrad zu reparieren.",
    "Erinnere mich daran, den Müll rauszubringen.",
    "I have to drop off the parcel by Friday.",
    "Ich muss morgen die Bank anrufen.",
    "Must return the library books.",
    "Have to book the ferry before Easter.",
    "I promised Ruth I'd water her plants.",
    "I've promised my boss that I would send the slides.",
    "muss bis Freitag den Strom bezahlen",
]


# row: E16
@pytest.mark.parametrize("text", PROMISES)
def test_a_duty_a_promise_and_a_wish_to_be_reminded_are_promises(text):
    """With a day or without one."""
    assert categories(text) == ["commitment"]


NO_PROMISES = [
    "Marta is getting married on Saturday.",
    "My sister is getting married on Saturday.",
    "My brother moves to Berlin next week.",
    "Devo rispondere sempre a tutti.",
    "Devo pagare le bollette ogni mese.",
    "Devo andare.",
    "Tenho de pagar a renda todo dia.",
    "Preciso ir embora.",
    "Ik moet elke dag melk kopen.",
    "Ik moet lachen.",
    "Мне нужно каждый день покупать хлеб.",
    "Мне надо идти.",
    "I will probably be tired.",
    "Must be nice.",
    "Must pay attention to that.",
    "Have to say, it was lovely.",
    "Must the books be returned?",
    "Ruth promised she'd water my plants.",
    "I wish I'd promised Ruth a plant.",
    "If I promised Ruth I'd come, I'd regret it.",
    "Muss man den Strom bezahlen?",
    "muss er den Strom bezahlen",
    "Il faut que je dorme.",
    "Il faut que tu rappelles le plombier.",
    "Il faut que je rappelle toujours tout le monde.",
    "I'll be tired tomorrow.",
    "I'll be 40 next year.",
    "It will rain tomorrow.",
    "I have to go now.",
    "I have to say I liked it.",
    "I have to admit that.",
    "I need to think.",
    "I need to sleep.",
    "I need to pay rent every month.",
    "I must have called them.",
    "I have to see.",
    "Do I need to buy milk?",
    "If I need to buy milk, I'll tell you.",
    "Maybe I should call Ben.",
    "I don't need to buy milk.",
    "I once promised to climb Everest in a dream.",
    "Lena said she will lend me her drill.",
    "He has to pay the rent.",
    "I wanted to buy milk.",
    "I had to buy milk yesterday.",
    "My mum promised to call me.",
    "I want to learn Spanish.",
    "I want to be happy.",
    "I need you to call the bank.",
    "You have to buy milk.",
    "Anna has to call the bank tomorrow.",
    '"I need to buy milk", she said.',
    "As the song goes: I will always love you.",
    "Ich muss sagen, das war gut.",
    "Ich muss immer Milch kaufen.",
    "Muss ich Milch kaufen?",
    "Er muss Milch kaufen.",
    "Ich muss nicht einkaufen.",
    "Wenn ich Milch kaufen muss, sage ich es.",
    "Je dois dire que c'est bien.",
    "Dois-je acheter du lait ?",
    "Il doit acheter du lait.",
    "Je ne dois pas acheter de lait.",
    "Tengo que decir que sí.",
    "Tiene que comprar leche.",
    "No tengo que comprar leche.",
    "我不用买牛奶。",
    "你要买牛奶。",
    "我要睡了。",
    "明天会下雨。",
    "牛乳を買わなくてもいい。",
]


# row: E16
@pytest.mark.parametrize("text", NO_PROMISES)
def test_what_others_do_what_happens_and_what_is_not_asserted_is_no_promise(text):
    assert "commitment" not in categories(text)


# row: E16
@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("Ich muss Milch kaufen.", "Die Person muss Milch kaufen."),
    ],
)
def test_a_promise_says_what_and_when(text, statement):
    turn = Turn("1", "s", "user", text, MONDAY, speaker="user")
    (one,) = engine.extract([turn], Policy().extraction).candidates
    assert one.text == statement
    assert (one.when is not None) == ("明天" in text)
