"""Which sentences take back what was said, which wish it forgotten, and how far back
that reaches.
"""

from __future__ import annotations

import pytest

from engram.core.language.retraction import SpokenSentence, names, reach, withdrawals

TAKEN_BACK = """
Just kidding!
lol I'm messing with you
That was a joke.
I made that up.
April fool!
April Fools!
not really, I'm joking
haha jk
Nah, I'm just kidding.
Only joking :)
I was just pulling your leg.
I'm pulling your leg 😂
Sorry, that was a lie.
I lied.
No wait, I made it all up.
None of that is true.
What I just said wasn't true.
Just kidding about that, sorry.
It was just a joke, obviously.
Ha, gotcha!
I was only teasing you.
Kidding!
Scratch that.
never mind, I misspoke
Strike that from the record.
Ignore that last message.
I take that back.
Forget what I just said.
Please forget that I said that.
Don't remember that.
Can you forget what I just told you?
I own a castle, just kidding.
I have a tiger (just kidding).
I'm an astronaut lol, jk
Just kidding, I'm actually a teacher.
When I said that, I was joking.
I don't actually own a castle, I was just joking.
Ok I'll be honest, I made that up.
Nah I'm kidding, I don't have a tiger.
I’m just messing with you 😜
Hahaha no, I'm kidding!!!
that was a lie, sorry about that
It was all made up.
Stimmt gar nicht, war nur ein Scherz!
Das habe ich alles nur erfunden, sorry.
Ce n'est pas vrai, je plaisante.
No es verdad, era broma.
さっきの話は冗談です
War nur Spaß!
Das war gelogen.
Nur Spaß.
Das habe ich mir nur ausgedacht.
April, April!
Haha, ich nehm dich nur auf den Arm.
War nicht ernst gemeint.
Nein, das war nur ein Scherz.
Ich hab mich versprochen.
Vergiss, was ich gerade gesagt habe.
Das nehme ich zurück.
Je plaisante !
Non, je rigole.
C'était une blague.
Poisson d'avril !
J'ai tout inventé.
Je te fais marcher.
C'était pour rire.
Oublie ce que je viens de dire.
Es broma.
Era una broma, jaja.
Estoy bromeando.
Te estoy tomando el pelo.
Me lo he inventado.
Retiro lo dicho.
Olvida lo que acabo de decir.
开玩笑的
我开玩笑的。
骗你的！
刚才是开玩笑的，别当真
我瞎说的
逗你玩的
我说错了
冗談です
冗談だよ。
さっきのは嘘です
うそうそ
なんちゃって
今のなし
言い間違えました
Stavo scherzando!
Estava brincando.
Het was maar een grapje.
Я пошутил.
농담이에요
"""

NOT_TAKEN_BACK = """
I'm not kidding.
I'm not joking, I live in Leeds.
No kidding!
Are you kidding?
Just kidding?
You're joking, right?
My brother is always joking.
He was just kidding.
My sister said she was just kidding.
I was joking with Tom at work.
My boss yelled at me, I was joking around.
The film about the castle was a joke.
I'm not kidding, I own a castle.
My dad loves to joke about the castle.
We were just joking around all evening.
He fooled me.
You got me!
I told a lie when I was ten.
I made it up the hill.
I made it home.
I was lying on the beach all day.
I lied to my boss about it.
I made that cake for Ella.
I made up with Paul.
That meeting was a joke.
He said "just kidding" and left.
She wrote: "I made that up."
I love telling jokes.
What is a good April fool joke?
If I were joking, you would know.
Never mind.
Forget it.
Forget about it.
Don't forget to call the bank.
Please don't forget my birthday.
I forgot my keys.
I planted forget-me-nots.
I will never forget my trip to Rome.
Never forget that I told you about Anna.
Did you forget what I told you about Rome?
Have you forgotten about my trip to Rome?
I can't forget what you told me about Rome.
He told me to forget what he said about Rome.
"Forget what I told you about Rome" is a line from a film.
I want to forget about work.
Let's forget about it.
I don't remember that.
You don't remember that, do you?
Forget the gym, let's eat cake.
How do I forget my ex?
Tell me a joke.
Ich mache keinen Spaß.
Das macht Spaß!
Es war nur ein Tag in Rom.
Machst du Spaß?
Ich habe das vergessen.
Vergiss nicht, Anna anzurufen.
Vergiss es.
Vergiss mein nicht.
Mein Bruder macht nur Spaß.
Ich liege auf dem Arm.
Ich habe dir das versprochen.
Ich hab mir den Arm gebrochen.
Je ne plaisante pas.
Il plaisante toujours.
N'oublie pas d'appeler la banque.
Laisse tomber.
J'ai oublié mes clés.
Tu plaisantes ?
No es broma.
Mi hermano está bromeando.
No te olvides de llamar al banco.
He olvidado las llaves.
¿Es broma?
我不是开玩笑的
他在开玩笑
你在开玩笑吗？
别忘了给妈妈打电话
我忘了带钥匙
我喜欢开玩笑
冗談じゃない
彼は冗談が好きです
冗談ですか？
傘を忘れました
忘れないでください
"""

WISHES = [
    ("Forget what I told you about the trip to Rome, it is off.", "trip to rome"),
    ("please forget my old address", "my address"),
    ("Forget what I told you about Dr. Vos.", "dr vos"),
    ("Please forget everything I said about Ralph.", "ralph"),
    ("Could you forget what I told you about my ex-husband?", "my ex husband"),
    ("Forget everything you know about my divorce.", "my divorce"),
    ("forget that I live in Rome", "i live in rome"),
    ("Delete my phone number from your memory.", "my phone number"),
    ("Don't remember my weight.", "my weight"),
    ("Please delete what you know about my salary!", "my salary"),
    ("I don't want you to remember my weight.", "my weight"),
    ("I was joking about the tiger.", "tiger"),
    ("I lied about my age.", "my age"),
    ("I was just kidding about the castle in Wales!", "castle in wales"),
    ("That thing about the castle was a joke.", "castle"),
    ("What I told you about my sister isn't true.", "my sister"),
    ("The part about Paris was made up, sorry.", "paris"),
    ("Das mit dem Hund war nur Spaß.", "hund"),
    ("Vergiss das mit dem Hund.", "hund"),
    ("Lo del perro era broma.", "perro"),
    ("Can you please delete everything about Ralph?", "ralph"),
    ("I'd like you to forget my job at Siemens.", "my job at siemens"),
    ("Vergiss, was ich über Ralf gesagt habe.", "ralf"),
    (
        "Vergiss bitte alles, was ich dir über meine Scheidung erzählt habe.",
        "scheidung",
    ),
    ("Bitte vergiss meine alte Adresse.", "adresse"),
    ("Vergiss, dass ich in Rom wohne.", "ich in rom wohne"),
    ("Oublie ce que je t'ai dit sur Rome.", "rome"),
    ("Oublie tout ce que j'ai dit à propos de mon divorce.", "mon divorce"),
    ("S'il te plaît, oublie mon ancienne adresse.", "adresse"),
    ("Olvida lo que te dije sobre el viaje a Roma.", "viaje a roma"),
    ("Por favor, olvida mi antigua dirección.", "dirección"),
    ("忘掉我说过的关于罗马的事", "罗马"),
    ("忘记我告诉你的关于小李的事情", "小李"),
    ("ローマ旅行について話したことは忘れてください", "ローマ旅行"),
    ("ローマのことは忘れて", "ローマ"),
]

NO_WISHES = """
Forget it.
Forget about it.
Just forget it, okay?
Forget what you know and start anew.
Forget everything.
Don't forget what I told you about Rome.
What did I tell you about Rome, did you forget?
I always forget my umbrella.
We should forget our worries.
I want to remove the stain from the carpet.
How can I delete photos from my phone?
Remove the lid from the jar.
My mother wants me to forget about Tom.
Delete the last column about sales from the table.
Ich vergesse immer meinen Schirm.
Vergiss nicht, was ich über Rom gesagt habe.
J'oublie toujours mon parapluie.
N'oublie pas ce que je t'ai dit sur Rome.
No olvides lo que te dije sobre Roma.
别忘了我说过的关于罗马的事
ローマのことは忘れないで
"""


def lines(table):
    return table.strip().splitlines()


# row: A26
@pytest.mark.parametrize("text", lines(TAKEN_BACK))
def test_a_turn_takes_back_what_was_said_just_before(text):
    found = withdrawals(text)
    assert [one.named for one in found] == [""]


# row: A26
@pytest.mark.parametrize("text", lines(NOT_TAKEN_BACK))
def test_a_turn_that_only_looks_like_it_takes_nothing_back(text):
    assert withdrawals(text) == ()


# row: A26
@pytest.mark.parametrize(("text", "named"), WISHES)
def test_a_wish_to_forget_names_its_object(text, named):
    found = [one for one in withdrawals(text) if one.named]
    assert len(found) == 1
    assert set(named.split()) <= set(found[0].named.lower().split())


# row: A26
@pytest.mark.parametrize("text", lines(NO_WISHES))
def test_no_wish_to_forget_is_heard(text):
    assert withdrawals(text) == ()


# row: A26
@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("please forget my old address", True),
        ("Bitte vergiss meine alte Adresse.", True),
        ("please forget my address", False),
    ],
)
def test_a_wish_may_mean_only_what_is_over(text, old):
    (wish,) = withdrawals(text)
    assert wish.old is old


# row: A26
def test_what_the_user_is_told_not_to_keep_may_stand_behind_the_wish():
    (wish,) = withdrawals("Don't remember this: I hate my boss.")
    assert wish.whole


def taken(*texts):
    said = [SpokenSentence(f"t{number}", text) for number, text in enumerate(texts)]
    return [one.text for one in reach(said)]


# row: A26
@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (["I own a tiger."], ["I own a tiger."]),
        (["I live in Leeds.", "I own a tiger."], ["I own a tiger."]),
        (
            ["I live in Leeds.", "I own a tiger.", "His name is Bob."],
            ["His name is Bob.", "I own a tiger."],
        ),
        (
            ["I own a tiger.", "The tiger eats pizza."],
            ["The tiger eats pizza.", "I own a tiger."],
        ),
        (["I own a tiger.", "lol", "haha"], ["I own a tiger."]),
        (["I own a tiger.", "Just kidding!"], ["I own a tiger."]),
        (["I own a tiger.", "What is the weather in Porto tomorrow?"], []),
        (["I love cats.", "I love Rome."], ["I love Rome."]),
        (["我在北京工作。", "我养了一只老虎。"], ["我养了一只老虎。"]),
        ([], []),
    ],
)
def test_a_retraction_reaches_back_over_one_subject(said, expected):
    assert taken(*said) == expected


# row: A26
@pytest.mark.parametrize(
    ("wish", "statement", "meant"),
    [
        ("Forget what I told you about the trip to Rome.", "A trip to Rome", True),
        ("Forget what I told you about the trip to Rome.", "A trip to Oslo", False),
        ("Forget what I told you about Ralph.", "Ralph is the user's ex-husband", True),
        ("Please forget my address.", "The user lives at 12 Oak Street", True),
        ("Please forget my address.", "My sister lives in Rome.", False),
        ("Vergiss, was ich über Ralf gesagt habe.", "Ralf mag Jazz", True),
        ("忘掉我说过的关于罗马旅行的事", "用户要去罗马的旅行", True),
        ("忘掉我说过的关于罗马的事", "用户住在北京", False),
    ],
)
def test_a_wish_means_what_has_all_of_its_words(wish, statement, meant):
    (found,) = withdrawals(wish)
    assert names(found, statement) is meant
