"""What a text says of a subject: the rule table of English and German (A7, E5, X31)."""

from __future__ import annotations

import re

import pytest

from engram.core.attributes import ATTRIBUTES, attribute
from engram.core.changes import replacement
from engram.core.language.states import grammar, state_asked_for, states

GIVEN = """
I live in Graz. | user | home | graz
im priya and i live in leeds | user | home | leeds
The user lives in Graz. | user | home | graz
My sister Anna lives in Porto with her husband. | user sister anna | home | porto
Anna works at Siemens. | anna | employer | siemens
I'm a nurse at the Charité. | user | job | nurse
My boss is called Ben. | user | role boss | ben
My name is Anna Müller. | user | name | anna müller
I'm 34 and live in Porto. | user | age | 34
I'm allergic to nuts and eggs. | user | allergy | nuts and eggs
I take 20 mg of citalopram. | user | dose citalopram | 20 mg
I'm vegetarian. | user | diet | vegetarian
My favourite colour is green. | user | favourite colour | green
The rent is 900 euros. | rent | figure | 900 euros
Choir practice is on Tuesdays. | choir practice | schedule | tuesdays
I drive a Skoda Octavia. | user | car | skoda octavia
Ich wohne in Graz. | user | home | graz
Seit Mai wohne ich in Ulm. | user | home | ulm
Die Person wohnt in Ulm. | user | home | ulm
Meine Schwester Clara wohnt in Köln. | user schwester clara | home | köln
Ich arbeite bei Siemens als Ingenieur. | user | employer | siemens
Mein Chef heißt Ben. | user | role chef | ben
Ich bin allergisch gegen Nüsse. | user | allergy | nüsse
Ich nehme 20 mg Citalopram. | user | dose citalopram | 20 mg
Ich bin Vegetarierin. | user | diet | vegetarierin
"""

ENDED = """
I no longer work at Acme. | user | employer | acme
I quit my job at Stripe. | user | employer | stripe
Ben is not my boss any more. | user | role boss | ben
I broke up with Tom. | user | partner | tom
Our dog Rex died last week. | user dog rex | alive |
I'm not allergic to eggs any more. | user | allergy | eggs
I stopped taking metformin. | user | medication | metformin
I don't drink coffee any more. | user | eats | coffee
Ich arbeite nicht mehr bei Bosch. | user | employer | bosch
Ich habe gekündigt. | user | employer |
Ich trinke keinen Kaffee mehr. | user | eats | kaffee
Unser Hund Rex ist gestorben. | user hund rex | alive |
"""

NOTHING = """
Do I live in Graz?
Perhaps I live in Graz.
When I was a kid I moved to Rome.
I moved to Berlin but moved back.
I live in peace.
She lives in Porto.
I have a problem with a dog.
My boss is German.
Wohne ich in Graz?
Als Kind bin ich nach Rom gezogen.
Mein Chef ist Deutscher.
"""

ASKED = """
Where do I live? | user | home
where does Anna live | anna | home
Do you know where I work? | user | employer
Who is my boss? | user | role boss
What's my sister's name? | user | kin sister
how old am i | user | age
What am I allergic to? | user | allergy
How much is the rent? | rent | figure
When is my dentist appointment? | user dentist appointment | date
how much metformin do I take? | user | dose metformin
Wo wohne ich? | user | home
Wie heißt mein Chef? | user | role chef
Was ist meine Lieblingsfarbe? | user | favourite farbe
"""


def rows(table):
    return [
        tuple(part.strip() for part in line.split("|"))
        for line in table.strip().splitlines()
    ]


def first(text):
    (state, *_) = states(text)
    return state


# row: E1
# row: E3
# row: X31
@pytest.mark.parametrize(("text", "subject", "name", "value"), rows(GIVEN))
def test_a_plain_sentence_gives_a_value_of_an_attribute(text, subject, name, value):
    state = first(text)
    assert (" ".join(state.subject), state.attribute) == (subject, name)
    assert (" ".join(state.value), state.over) == (value, False)


# row: A7
@pytest.mark.parametrize(("text", "subject", "name", "value"), rows(ENDED))
def test_an_end_names_what_it_ends(text, subject, name, value):
    state = first(text)
    assert (" ".join(state.subject), state.attribute) == (subject, name)
    assert (" ".join(state.value), state.over) == (value, True)


@pytest.mark.parametrize("text", NOTHING.strip().splitlines())
def test_what_is_not_asserted_of_somebody_gives_nothing(text):
    assert states(text) == ()


# row: E5
@pytest.mark.parametrize(("text", "subject", "name"), rows(ASKED))
def test_a_question_asks_for_an_attribute_of_a_subject(text, subject, name):
    asked = state_asked_for(text)
    assert asked is not None
    assert (" ".join(asked.subject), asked.attribute) == (subject, name)
    assert not asked.over


def test_a_question_about_the_past_asks_for_what_is_over():
    assert state_asked_for("Where did I live before?").over
    assert state_asked_for("Wo habe ich früher gewohnt?").over


@pytest.mark.parametrize(
    ("new", "old", "why"),
    [
        ("I've moved to Graz.", "I live in Ulm.", "another home"),
        ("I live in Graz.", "I live in Ulm.", "another home"),
        ("I live in Berlin Mitte.", "I live in Berlin.", ""),
        ("I work at Acme.", "I work at Bosch.", ""),
        ("I now work at Acme.", "I work at Bosch.", "another employer"),
        ("I also work at Acme.", "I now work at Bosch.", ""),
        ("Anna lives in Graz.", "I live in Ulm.", ""),
        ("I no longer work at Bosch.", "I work at Bosch.", "no longer holds: employer"),
        ("I no longer work at Acme.", "I work at Bosch.", ""),
        ("I hate jazz.", "I love jazz.", "no longer holds: like"),
        ("Our dog died.", "I have a dog.", "the death of its subject"),
        ("Our dog died.", "I live in Ulm.", ""),
    ],
)
def test_a_state_replaces_another(new, old, why):
    assert replacement(first(new), first(old)) == why


GIVEN_UP = """
I play the cello. | I gave up the cello.
I play the cello every day. | I gave the cello up last week.
I play tennis on Tuesdays. | I've stopped playing tennis.
I go to the gym three times a week. | I quit the gym.
I smoke. | I finally quit smoking.
I run every morning. | I don't run any more.
I volunteer at the shelter. | I no longer volunteer at the shelter.
I'm learning Spanish. | I stopped learning Spanish.
I drink coffee. | I gave up coffee.
I have a dog called Rex. | We gave away Rex.
We have a Volvo V60. | We sold the Volvo.
We close on Mondays. | From now on we close on Tuesdays.
I run twice a week. | I run three times a week now.
Ich spiele Cello. | Ich habe mit dem Cello aufgehört.
Ich spiele Cello. | Ich habe aufgehört, Cello zu spielen.
Ich lerne Spanisch. | Ich habe Spanisch aufgegeben.
Ich fahre einen Volvo. | Ich habe mein Auto verkauft.
"""

NOT_GIVEN_UP = """
I play the cello. | I almost gave up the cello.
I play the cello. | She gave up the cello.
I play the cello. | Anna gave up the cello.
I play the cello. | Should I give up the cello?
I play the cello. | I gave up the violin.
I play the cello. | I gave up on the cello repair.
I play the cello. | I haven't given up the cello.
I play the cello. | I gave up the cello when I was ten.
I play tennis. | I stopped playing tennis for now.
I play tennis. | I stopped playing tennis with Ben.
I drink coffee. | I stopped buying coffee.
I usually meet Ada for coffee on Fridays. | I gave up coffee.
I never run on Sundays. | I stopped running.
I have a dog called Rex. | We gave away leaflets about Rex.
We have a Volvo. | My brother sold his Volvo.
We have a Volvo. | We sold a Volvo.
I play golf on Mondays. | I also play golf on Fridays.
I run every morning. | I run every morning now.
I play golf on Mondays. | I play chess on Fridays now.
Ich spiele Cello. | Ich habe das Cello fast aufgegeben.
Ich arbeite bei Bosch. | Ich habe aufgehört, Cello zu spielen.
"""


# row: A7
@pytest.mark.parametrize(
    ("told", "later", "ends"),
    [
        *((*row, True) for row in rows(GIVEN_UP)),
        *((*row, False) for row in rows(NOT_GIVEN_UP)),
    ],
)
def test_what_is_given_up_ends_only_what_it_names(told, later, ends):
    replaced = [replacement(new, first(told)) for new in states(later)]
    assert any(replaced) is ends


def test_an_age_may_be_a_word():
    assert [one.value for one in states("Ada is seven and Bram is four.")] == [
        ("7",),
        ("4",),
    ]
    assert states("The choice is two.") == ()


def test_a_kind_has_the_properties_of_its_attribute():
    assert attribute("favourite colour") is ATTRIBUTES["favourite"]
    assert attribute("shoe size").name == ""


@pytest.mark.parametrize("code", ["de", "en"])
def test_every_pattern_of_the_table_compiles(code):
    """Each is compiled only when a text is held against it."""
    rules = grammar(code)
    for _, pattern in (*rules.rows._rows, *rules.asks._rows):
        re.compile(pattern.pattern, pattern.flags)
