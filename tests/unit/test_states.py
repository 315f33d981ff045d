"""States that words give, change or end (`core.language.states`)."""

from __future__ import annotations

import pytest

from engram.core.language.state_changes import replacement
from engram.core.language.state_subjects import names_same
from engram.core.language.states import State, state_asked_for, states


def read(text: str) -> list[str]:
    """The states of a text, each as one line: a minus ends it, a plus tells news."""
    return [_line(one) for one in states(text)]


def _line(state: State) -> str:
    sign = "-" if state.over else "+" if state.change else ""
    value = f": {' '.join(state.value)}" if state.value else ""
    return f"{sign}{' '.join(state.subject)} {state.attribute}{value}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I live in Munich.", ["user home: munich"]),
        ("The user lives in Munich.", ["user home: munich"]),
        ("I've moved to Augsburg.", ["+user home: augsburg"]),
        ("Guess what, we've just moved from Bonn to Ulm!", ["+user home: ulm"]),
        ("My sister moved to Lisbon last week.", ["+user sister home: lisbon"]),
        ("I can't stand jazz any more.", ["-user like: jazz"]),
        ("Paula and I broke up.", ["-user partner: paula"]),
        ("I broke up with Paula yesterday.", ["-user partner: paula"]),
        ("We split up.", ["-user partner"]),
        ("Our dog Rex passed away last night.", ["-user dog rex alive"]),
        ("The rent went up to 1,310.", ["+rent figure: 1,310"]),
        ("My number is now 0170 555.", ["+user phone: 0170 555"]),
        ("My favourite colour is blue now.", ["+user favourite colour: blue"]),
        ("I quit.", ["-user employer", "-user job"]),
        ("I stopped eating meat.", ["-user eats: meat"]),
        ("Tom is no longer my boss.", ["-user role boss: tom"]),
        ("The concert has been cancelled.", ["-concert date"]),
        ("Eva is my sister.", ["user kin sister: eva"]),
        ("My sister is called Eva.", ["user kin sister: eva"]),
        ("Felix got a new job at Bosch.", ["+felix employer: bosch"]),
        ("I've got a new boyfriend called Tim.", ["+user partner: tim"]),
        ("I celebrated my 35th birthday.", ["+user age: 35"]),
        ("We moved house to Leeds.", ["+user home: leeds"]),
        ("I used to live in Rome but now I live in Ulm.", ["+user home: ulm"]),
    ],
)
def test_a_statement_gives_its_state(text: str, expected: list[str]) -> None:
    assert read(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Do I live in Munich?",
        "If I moved to Augsburg, I'd miss you.",
        "I want to move to Berlin.",
        "I might have moved to Berlin.",
        "I almost moved to Berlin.",
        "I moved my desk to the window.",
        'She said "I live in Rome" on stage.',
        "We moved on to the next topic.",
        "My sister is Spanish.",
        "I got a new phone at home.",
        "I found a job for you.",
        "The shop is my friend.",
    ],
)
def test_what_is_not_asserted_gives_no_state(text: str) -> None:
    assert read(text) == []


@pytest.mark.parametrize(
    ("new", "old", "why"),
    [
        ("I've moved to Augsburg.", "I live in Munich.", "another home"),
        (
            "I can't stand jazz any more.",
            "The user loves jazz.",
            "no longer holds: like",
        ),
        ("I love jazz again.", "I can't stand jazz any more.", "holds again: like"),
        (
            "Paula and I broke up.",
            "Paula is my girlfriend.",
            "no longer holds: partner",
        ),
        ("Our dog died.", "The user has a dog.", "the death of its subject"),
        ("The rent went up to 1,310.", "Our rent is 1,250.", "another figure"),
        ("I quit my job.", "The user works at Siemens.", "no longer holds: employer"),
    ],
)
def test_a_change_replaces_the_old_state(new: str, old: str, why: str) -> None:
    assert why in [
        replacement(one, other) for one in states(new) for other in states(old)
    ]


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("My sister moved to Lisbon.", "I live in Munich."),
        ("I can't stand techno any more.", "The user loves jazz."),
        ("Paula and I broke up.", "Anna is my wife."),
        ("Our cat died.", "The user has a dog."),
        ("I live in Munich.", "I live in Munich Schwabing."),
        ("I like tea.", "I like coffee."),
        ("Daniel Okafor is not Jonas's boss.", "Jonas's boss is Daniel Brandt."),
    ],
)
def test_another_state_replaces_nothing(new: str, old: str) -> None:
    assert not any(
        replacement(one, other) for one in states(new) for other in states(old)
    )


@pytest.mark.parametrize(
    ("question", "subject", "attribute"),
    [
        ("Where do I live?", "user", "home"),
        ("what's my name", "user", "name"),
        ("How old am I?", "user", "age"),
        ("What does Eva do for work?", "eva", "job"),
        ("Where is my boss from?", "user boss", "origin"),
        ("How much is the rent?", "rent", "figure"),
        ("What is my favourite colour?", "user", "favourite colour"),
    ],
)
def test_a_question_asks_for_a_state(
    question: str, subject: str, attribute: str
) -> None:
    found = state_asked_for(question)
    assert found
    assert (" ".join(found.subject), found.attribute) == (subject, attribute)


def test_the_names_of_the_user_are_the_user() -> None:
    found = states("Jonas lives in Munich.", names={"jonas"})
    assert [one.subject for one in found] == [("user",)]


def test_my_sister_eva_and_eva_are_one() -> None:
    assert names_same(("user", "sister", "eva"), ("eva",))
    assert names_same(("user", "sister", "eva"), ("user", "sister"))
    assert not names_same(("user", "sister"), ("user", "brother"))
    assert not names_same(("user", "sister"), ("user",))


# row: A7
@pytest.mark.parametrize(
    ("text", "illness"),
    [
        ("The user has Crohn's disease, diagnosed in 2019.", ("crohn's", "disease")),
        ("My father has Parkinson's disease.", ("parkinson's", "disease")),
        ("I have colitis.", ("colitis",)),
    ],
)
def test_an_illness_may_be_called_a_disease(text, illness):
    assert [(one.attribute, one.value) for one in states(text)] == [
        ("illness", illness)
    ]


@pytest.mark.parametrize(
    ("question", "attribute"),
    [
        ("What do I take for my heart?", "medication"),
        ("What do I still take for my blood pressure?", "medication"),
    ],
)
def test_what_one_takes_for_something_is_a_medication(question, attribute):
    asked = state_asked_for(question)
    assert asked is not None
    assert asked.attribute == attribute


# row: A7
@pytest.mark.parametrize(
    ("text", "ended"),
    [
        ("I gave up meat on Sunday.", "meat"),
        ("On Sunday I quit smoking.", "smoking"),
        ("I stopped taking sertraline on 3 May.", "sertraline"),
        ("I quit my job at Arla on Friday, what a relief.", "arla"),
        ("Ich habe am Freitag bei Arla gekündigt.", "arla"),
        ("Dejé mi trabajo en Arla el viernes.", "arla"),
        ("Ik ben vrijdag gestopt met roken.", "roken"),
        ("I will give up meat on Sunday.", ""),
        ("If I quit my job at Arla on Friday, I get no bonus.", ""),
        ("I want to give up meat on Sunday.", ""),
        ("Should I quit my job at Arla on Friday?", ""),
    ],
)
def test_what_ended_on_a_day_is_over(text, ended):
    over = {word for state in states(text) if state.over for word in state.value}
    assert over == ({ended} if ended else set())


# row: A7
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("I'm leaving Arla on Friday.", ("arla",)),
        ("My last day at Arla is 30 April.", ("arla",)),
        ("The user will stop working at Arla on Friday (5 March 2027).", ("arla",)),
        ("I'm leaving the house on Friday.", None),
        ("I'm leaving on Friday.", None),
        ("I'm leaving for Arla on Friday.", None),
    ],
)
def test_a_job_may_end_on_a_day_ahead(text, value):
    ends = [one for one in states(text) if one.over and one.attribute == "employer"]
    assert [one.value for one in ends if one.planned] == ([value] if value else [])
    assert all(one.planned for one in ends)
