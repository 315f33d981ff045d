"""Words that ask for privacy, and whom a turn, a fact or a promise is told to."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engram.core.language.privacy import (
    asks_privacy,
    private_parts,
    reference,
    with_privacy,
)
from engram.core.personas import fact_persona, sees
from engram.core.records import (
    ALL_PERSONAS,
    NO_PERSONA,
    REMEMBERED,
    UNKNOWN_PERSONA,
    Turn,
)
from tests.cpu import cpu_below
from tests.fakes.sentences import rows

ITSELF = """
Just between us: I'm seeing a therapist because of panic attacks.
Please keep this private: I had a crush on my colleague Nadja.
Between you and me, I want to quit.
I'm pregnant, but keep it to yourself for now.
I'm applying for a job in Galway. Don't tell anyone!
Don't tell Chef that I ate a burger.
Coach, please keep this between us: I smoke again.
Can I tell you a secret? I'm in love with Nadja.
Off the record: my boss drinks.
What I'm telling you now stays between us: I failed the exam.
Nobody else must know that I was fired.
You're the only one I've told, but I'm moving out.
My salary is 80k, that's just between you and me.
I want this to stay between us: I lost my job.
Don’t let Chef know that I skipped training.
Not a word to Coach: I ate cake.
I'm telling you this in confidence: we are getting divorced.
This must stay between us. I crashed dad's car.
Unter uns: Ich habe gekündigt.
Mal unter uns gesagt, ich finde ihn langweilig.
Sag es keinem weiter, aber ich bin schwanger.
Ich bin krankgeschrieben, sag Chef bitte nichts davon.
Behalte das bitte für dich: ich ziehe aus.
Sag Coach nichts, aber ich rauche wieder.
Das darf niemand wissen: ich bin verliebt.
Im Vertrauen: Papa ist krank.
Ich verrate dir ein Geheimnis: Ich schreibe ein Buch.
Entre nous, je cherche un autre travail.
Que ça reste entre nous : je suis enceinte.
Ne le dis à personne, mais j'ai démissionné.
Entre nosotros: estoy embarazada.
Que quede entre nosotros, voy a dejar el trabajo.
No se lo digas a nadie, pero me voy a Lima.
No le digas a Coach que fumo.
别告诉别人，我辞职了。
这件事别跟Chef说，我怀孕了。
我只跟你说：我喜欢小李。
ここだけの話、転職を考えています。
内緒だけど、彼女ができた。
Chefには言わないで。私は貝を食べた。
This is just for you: I'm going to propose to Lea.
For your ears only: I hate my job.
Let's keep it between you and me, but I failed my exam.
I don't want anyone else to know, but I'm moving to Oslo.
I don't want Chef to know that I eat sweets at night.
Don't mention it to Coach, but I skipped training.
Don't share this with anyone: I have diabetes.
Nobody knows this yet, but I'm pregnant.
Nobody else knows, but I'm gay.
Keep it a secret: I'm writing a novel.
It's a secret, but I'm getting married in May.
I trust you with this: I'm bankrupt.
Please don't pass this on: we're selling the house.
Pls keep this private, I have an interview at Siemens.
This is private: I have depression.
Promise me you won't tell anyone: I'm in debt.
You must not tell Chef that I'm on a diet.
Sag's keinem, aber ich bin verliebt.
Das ist privat: Ich habe Depressionen.
Bitte nicht weitersagen: Ich ziehe nach Oslo.
Das muss ja keiner wissen, aber ich rauche wieder.
Kein Wort zu Chef: ich habe Kuchen gegessen.
Psst, nicht verraten: Ich plane eine Party.
Ich sag dir das im Vertrauen: Ich bin krank.
Ganz im Vertrauen: Ich bin krank.
Ne dis rien à Chef : je fume.
Je te le dis en confidence : je divorce.
C'est entre toi et moi : je divorce.
Personne ne le sait, mais je suis malade.
Nadie lo sabe, pero estoy enfermo.
Te lo digo en confianza: me divorcio.
Es un secreto: me caso.
这是秘密，我要结婚了。
帮我保密哦，我怀孕了。
秘密だよ、結婚します。
Xさんには内緒にして。
""".strip().splitlines()
BEFORE = """
Could you keep that between us?
Keep that between us, please.
And please don't tell anybody.
That stays between us, ok?
This is confidential.
I'd like to keep this private.
Let's keep this between us.
Das bleibt aber unter uns!
Das muss unter uns bleiben.
Bitte sag das niemandem.
Das ist streng vertraulich.
Das darf Coach nicht erfahren.
Ça reste entre nous, d'accord ?
N'en parle pas à Chef.
Garde ça pour toi.
C'est un secret.
Guárdame el secreto.
Esto es confidencial.
请保密。
这是我们之间的秘密。
不要告诉任何人。
誰にも言わないでください。
内緒にしてね。
Don't share that with the others.
Keep it secret please.
That's a secret between us.
That's our little secret.
Shh, don't tell anybody.
What I say here stays here.
Nicht weitersagen!
Ich möchte nicht, dass Coach das weiß.
Das soll unter uns bleiben.
Bleibt das unter uns?
Behalt es für dich.
Erzähl es bitte niemandem.
Das ist unser Geheimnis.
Verrate es keinem.
Ne le répète pas.
Garde-le pour toi.
Esto queda entre tú y yo.
No lo cuentes.
别跟任何人说。
你知我知。
这个只能你知道。
内緒だよ。
人に言わないでね。
""".strip().splitlines()
AFTER = """
Can I tell you a secret?
Can you keep a secret?
Kann ich dir was anvertrauen?
Kannst du ein Geheimnis für dich behalten?
Je vais te dire un secret.
¿Puedo contarte un secreto?
""".strip().splitlines()
NOTHING = """
Please don't tell my wife, but I bought her a ring.
Erzähl das bitte nicht meinem Mann: Ich habe im Lotto gewonnen.
My boss mustn't know: I'm applying elsewhere.
Don't tell my landlord, ha, I AM my landlord.
Don't tell the Mudroom about the flood.
The distance between us is 300 km.
Things between us have been strange lately.
It's over between us.
Between us we have three kids.
I live in Galway now and it is no secret any more.
It's not a secret that I like jazz.
You don't have to keep this private.
No need to keep it between us.
Don't tell me you forgot!
I never tell lies.
Why don't you tell Anna?
They don't tell you that at school.
I didn't tell my boss yet.
I keep my diary private.
I work in private equity.
My secret ingredient is cinnamon.
I have a secret recipe for chili.
She told me "keep this between us" and then told everyone.
He asked me to keep his password safe.
I have a private lesson on Monday.
This is private property.
My doctor is between patients.
It's a private school.
I don't keep secrets.
How do I keep my data private?
Is it a secret that you are an AI?
If I asked you to keep something between us, would you?
You can tell Chef that I live in Bonn.
Tell Coach I moved.
Unter uns wohnt eine Familie mit Hund.
Wir bleiben unter uns.
Heute bleiben wir unter uns.
Das ist kein Geheimnis.
Das muss nicht unter uns bleiben.
Sag mir nicht, dass du das vergessen hast.
Sag das nicht!
Sag nichts!
Sag bitte nicht immer Liebling zu mir.
Im Vertrauen darauf, dass es klappt, habe ich unterschrieben.
Ich habe ihm das im Vertrauen gesagt.
Wir haben unter vier Augen gesprochen.
Il y a de la tension entre nous.
Ce n'est pas un secret.
Ce n'est plus un secret.
Ne dis pas de bêtises.
Ne me dis pas que tu as oublié.
Il n'y a plus rien entre nous.
Las cosas entre nosotros van bien.
No es un secreto.
Él me dijo que no se lo digas a nadie.
No digas tonterías.
No me digas que lo olvidaste.
别告诉我你忘了。
这不是秘密。
不用保密。
不需要保密。
我签了保密协议。
我们之间没有秘密。
他不说话。
秘密じゃないよ。
私には言わないで。
内緒話は嫌いです。
彼は秘密にしている。
I told you that my sister is between jobs.
I keep this quiet corner for reading.
Keep this recipe for later.
Keep it short please.
Keep that in mind.
I prefer private lessons.
My flat has a private entrance.
Let's keep this simple.
Is our conversation private?
Don't tell me what to do.
Don't let me know too early.
You must tell Chef about my allergy.
I have no secrets.
What is the secret of good bread?
The secret is to use cold butter.
Don't forget to tell Anna.
Don't mention it!
Don't say that!
I don't tell jokes.
Das bleibt so.
Bleib gesund!
Ich sage dir nicht alles.
Sag mal, was kochst du?
Sag Coach, dass ich umgezogen bin.
Mein Privatleben ist langweilig.
Das ist kein Problem.
Behalte die Rezepte für Sonntag.
Ich weiß das nicht.
Davon will ich nichts hören.
Dis à Coach que j'ai déménagé.
Le secret de la pâte, c'est le beurre.
Dile a Coach que me mudé.
Mi secreto es el ajo.
请告诉Chef我搬家了。
密码别忘了。
秘密基地で遊んだ。
言わないといけない。
My boss can't know everything.
Nobody knows the trouble I've seen.
I don't want to know.
I don't want you to know less than me.
""".strip().splitlines()


def said(*texts, persona="Mona", role="user", **more):
    """Turns of one conversation; `assistant: …` is an answer."""
    when = datetime(2026, 11, 22, 12, tzinfo=UTC)
    turns = []
    for number, text in enumerate(texts):
        who, answer = (
            ("assistant", text[11:]) if text.startswith("assistant: ") else (role, text)
        )
        private = who == "user" and asks_privacy(answer)
        turns.append(
            Turn(
                str(number),
                more.get("session", "s"),
                who,
                answer,
                when,
                persona=persona,
                private=private,
            )
        )
    return turns


def private(turns):
    return [turn.text for turn in with_privacy(turns) if turn.private]


# row: E14
@pytest.mark.parametrize("text", ITSELF)
def test_a_statement_with_a_request_for_privacy_is_private_itself(text):
    assert reference(text) == "itself"


# row: E14
@pytest.mark.parametrize("text", BEFORE)
def test_a_bare_request_refers_to_what_was_said_before(text):
    assert reference(text) == "before"


# row: E14
@pytest.mark.parametrize("text", AFTER)
def test_an_announcement_refers_to_what_is_said_next(text):
    assert reference(text) == "after"


# row: E14
@pytest.mark.parametrize("text", NOTHING)
def test_words_about_secrets_ask_for_nothing(text):
    assert not reference(text)


# row: E14
def test_a_persona_may_be_addressed_by_name_in_a_bare_request():
    assert reference("Please keep that between us, Mona.", "Mona") == "before"
    assert reference("Mona, das bleibt aber unter uns!", "Mona") == "before"


# row: E14
def test_a_bare_request_reaches_what_the_user_said_just_before():
    """Up to the answer before that, and no further."""
    turns = said(
        "I live in Bonn.",
        "assistant: Nice!",
        "I'm seeing a therapist.",
        "Because of panic attacks.",
        "assistant: I'm sorry.",
        "Please keep that between us.",
        "I love Thai food.",
    )
    assert private(turns) == [
        "I'm seeing a therapist.",
        "Because of panic attacks.",
        "Please keep that between us.",
    ]


# row: E14
@pytest.mark.parametrize(
    ("text", "covered"),
    rows("privacy", "a_request_covers_its_own_sentence"),
)
def test_a_request_covers_its_own_sentence(text, covered):
    assert [text[start:end] for start, end in private_parts(text)] == covered


# row: E14
def test_an_announcement_reaches_the_next_words_of_the_user():
    turns = said(
        "I live in Bonn.",
        "Can I tell you a secret?",
        "assistant: Of course.",
        "I'm in love with Nadja.",
        "What shall I cook?",
    )
    assert private(turns) == ["Can I tell you a secret?", "I'm in love with Nadja."]
    first = said("Keep this between us.", "I quit my job.")
    assert private(first) == ["Keep this between us.", "I quit my job."]


# row: E14
def test_an_answer_to_private_words_is_private_where_no_persona_keeps_it():
    texts = ("Just between us: I quit.", "assistant: Good luck!", "I like tea.")
    assert private(said(*texts, persona=None)) == [texts[0], "Good luck!"]
    assert private(said(*texts)) == [texts[0]]


# row: E14
def test_what_is_asked_to_be_kept_is_no_conversation():
    turns = said("I live in Bonn.", "Keep that between us.", session=REMEMBERED)
    assert private(turns) == ["Keep that between us."]


# row: E14
def test_the_users_words_are_everybodys_and_answers_the_personas():
    (user, answer) = said("I live in Bonn.", "assistant: Nice!")
    assert (user.private_to, answer.private_to) == (None, "Mona")
    (secret,) = said("Just between us: I live in Bonn.")
    assert secret.private_to == "Mona"
    (alone,) = said("Just between us: I live in Bonn.", persona=None)
    assert alone.private_to == NO_PERSONA


# row: E14
def test_a_promise_stays_with_its_persona_and_a_fact_does_not():
    (turn,) = said("I'll run on Sunday.", persona="Coach")
    assert fact_persona("commitment", turn) == "Coach"
    assert fact_persona("preference", turn) is None


# row: E14
@pytest.mark.parametrize(
    ("asking", "private_to", "seen"),
    [
        (None, None, True),
        ("Chef", None, True),
        ("Chef", "Chef", True),
        ("Chef", "Mona", False),
        (None, "Mona", False),
        (UNKNOWN_PERSONA, "Mona", False),
        ("Chef", NO_PERSONA, False),
        (None, NO_PERSONA, True),
        ("", NO_PERSONA, True),
        (UNKNOWN_PERSONA, NO_PERSONA, True),
        (UNKNOWN_PERSONA, UNKNOWN_PERSONA, True),
        (None, UNKNOWN_PERSONA, False),
        ("Chef", UNKNOWN_PERSONA, False),
        (ALL_PERSONAS, "Mona", True),
        (ALL_PERSONAS, NO_PERSONA, True),
    ],
)
def test_who_sees_what(asking, private_to, seen):
    assert sees(asking, private_to) is seen


# row: X13
@pytest.mark.parametrize(
    "words",
    [
        "please",
        "and please",
        "und bitte",
        "kannst du bitte",
        "s'il te plaît et",
        "y por favor",
        "could you please and",
        "别把这",
        "keep what i said",
    ],
)
def test_words_over_and_over_take_no_time(words):
    """A pattern that tries all their groupings would not end."""
    with cpu_below(2, words):
        reference(f"tell sag dis digas secret. {words} " * 400)
        reference("tell sag dis digas secret. " + f"{words} " * 400)
