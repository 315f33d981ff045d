"""Which sentences ask to take back or to forget what was said, and what they name."""

from __future__ import annotations

import pytest

from engram.core.language.retraction import names, withdrawals

OF_THE_LAST = """
Just kidding!
lol I'm messing with you
April fool!
Sorry, that was a lie.
None of that is true.
I made that up.
Scratch that.
never mind, I misspoke
Forget that.
Please forget that I said that.
Don't remember that.
Can you forget what I just told you?
Please delete that from your memory.
I have a tiger (just kidding).
Just kidding, I'm actually a teacher.
When I said that, I was joking.
Nah I'm kidding, I don't have a tiger.
Stimmt gar nicht, war nur ein Scherz!
Das habe ich alles nur erfunden, sorry.
Haha, ich nehm dich nur auf den Arm.
Vergiss, was ich gerade gesagt habe.
Ce n'est pas vrai, je plaisante.
J'ai tout inventé.
Oublie ce que je viens de dire.
No es verdad, era broma.
Retiro lo dicho.
刚才是开玩笑的，别当真
我说错了
さっきの話は冗談です
言い間違えました
Non è vero, ti prendo in giro.
Dimentica quello che ho detto.
Estava a brincar.
Nee hoor, dat was maar een grap.
Vergeet wat ik net zei.
Да шучу я.
Забудь, что я только что сказал.
농담이에요
"""
NONE = """
I'm not kidding.
No kidding!
Are you kidding?
My brother is always joking.
I was joking with Tom at work.
We were just joking around all evening.
The film about the castle was a joke.
I told a lie when I was ten.
I lied to my boss about it.
He said "just kidding" and left.
Never mind.
Forget it.
Don't forget to call the bank.
Never forget that I told you about Anna.
Did you forget what I told you about Rome?
"Forget what I told you about Rome" is a line from a film.
I want to forget about work.
How do I forget my ex?
Forget everything.
Remove the lid from the jar.
Delete the last column about sales from the table.
Ich mache keinen Spaß.
Vergiss nicht, Anna anzurufen.
Ich hab mir den Arm gebrochen.
Je ne plaisante pas.
N'oublie pas d'appeler la banque.
Mi hermano está bromeando.
No olvides lo que te dije sobre Roma.
Non è uno scherzo.
Vergeet de melk niet!
Ik maak geen grapje.
Я не шучу.
Não estou a brincar.
我不是开玩笑的
别忘了我说过的关于罗马的事
冗談じゃない
ローマのことは忘れないで
"""
OF_THE_NAMED = """
Forget what I told you about the trip to Rome, it is off. = the trip to Rome
Forget what I told you about Dr. Vos. = Dr Vos
can u forget everything about sam pls = sam
Please forget alice@acme.io. = alice acme io
Could you forget what I told you about my ex-husband? = my ex husband
forget that I live in Rome = I live in Rome
Delete my phone number from your memory. = my phone number
Don't remember my weight. = my weight
I was joking about the tiger. = the tiger
That thing about the castle was a joke. = the castle
Das mit dem Hund war nur Spaß. = dem Hund
Vergiss, was ich über Ralf gesagt habe. = Ralf
Bitte vergiss meine alte Adresse. = meine alte Adresse
Oublie tout ce que j'ai dit à propos de mon divorce. = mon divorce
Olvida todo lo de Rubén porfa. = Rubén
Lo del perro era broma. = perro
Dimentica quello che ti ho detto su Marco. = Marco
Vergeet wat ik over Pieter heb verteld. = Pieter
Podes esquecer a minha morada antiga? = a minha morada antiga
Забудь всё, что я говорила о Пете. = Пете
忘掉我说过的关于罗马的事 = 罗马
ローマ旅行について話したことは忘れてください = ローマ旅行
"""


def lines(table):
    return table.strip().splitlines()


# row: A26
def test_a_request_without_an_object_means_what_was_said_last():
    assert [
        text
        for text in lines(OF_THE_LAST)
        if [one.named for one in withdrawals(text)] != [""]
    ] == []


# row: A26
def test_a_turn_that_only_looks_like_a_request_is_none():
    assert [text for text in lines(NONE) if withdrawals(text)] == []


# row: A26
def test_a_request_names_its_object():
    for text, named in (line.split(" = ") for line in lines(OF_THE_NAMED)):
        assert [one.named for one in withdrawals(text)] == [named]


# row: A26
def test_only_the_words_around_a_request_are_asserted():
    text = "Just kidding, I'm actually a teacher."
    (request,) = withdrawals(text)
    assert request.untrue
    assert text[request.after :].strip() == "I'm actually a teacher."


# row: A26
@pytest.mark.parametrize(
    ("wish", "statement", "meant"),
    [
        ("Forget what I told you about the trip to Rome.", "A trip to Rome", True),
        ("Forget what I told you about the trip to Rome.", "A trip to Oslo", False),
        ("Please forget my address.", "The user lives at 12 Oak Street", True),
        ("Please forget my address.", "My sister lives in Rome.", False),
        ("忘掉我说过的关于罗马旅行的事", "用户要去罗马的旅行", True),
        ("忘掉我说过的关于罗马的事", "用户住在北京", False),
    ],
)
def test_a_request_means_what_has_all_of_its_words(wish, statement, meant):
    (found,) = withdrawals(wish)
    assert names(found, statement) is meant
