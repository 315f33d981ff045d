"""English forms of the offline extractor: what is to be done or reminded of, and what
newcomers say of themselves.
"""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from engram.core.policy import ExtractionPolicy
from engram.core.records import Turn
from engram.extraction.rules.engine import extract

NOW = datetime(2026, 11, 21, 21, 14, tzinfo=ZoneInfo("Europe/Berlin"))  # a Saturday


def facts(text, when=NOW, **about):
    return extract(
        [Turn("t1", "s1", "user", text, when, **about)], ExtractionPolicy()
    ).candidates


TO_DO = [
    (
        "Please remind me to send Ben the contract on Monday.",
        "The user wants to be reminded to send Ben the contract on Monday (23 November 2026).",
        "2026-11-23",
    ),
    (
        "Remind me on Monday to send Ben the contract.",
        "The user wants to be reminded on Monday (23 November 2026) to send Ben the contract.",
        "2026-11-23",
    ),
    (
        "On Monday, please remind me to send Ben the contract.",
        "The user wants to be reminded to send Ben the contract on 23 November 2026.",
        "2026-11-23",
    ),
    (
        "Can you remind me to water the plants?",
        "The user wants to be reminded to water the plants.",
        None,
    ),
    (
        "Hey, could you please remind me to call mum tomorrow?",
        "The user wants to be reminded to call mum tomorrow (22 November 2026).",
        "2026-11-22",
    ),
    (
        "Remind me about the dentist tomorrow.",
        "The user wants to be reminded about the dentist tomorrow (22 November 2026).",
        "2026-11-22",
    ),
    (
        "Don't let me forget to pick up the parcel on Friday.",
        "The user wants to be reminded to pick up the parcel on Friday (27 November 2026).",
        "2026-11-27",
    ),
    (
        "Set a reminder to call mum on Sunday.",
        "The user wants to be reminded to call mum on Sunday (22 November 2026).",
        "2026-11-22",
    ),
    (
        "I mustn't forget to buy a present for Anna.",
        "The user must not forget to buy a present for Anna.",
        None,
    ),
    (
        "I must call the bank tomorrow.",
        "The user must call the bank tomorrow (22 November 2026).",
        "2026-11-22",
    ),
    (
        "I need to call the bank on Friday.",
        "The user needs to call the bank on Friday (27 November 2026).",
        "2026-11-27",
    ),
    (
        "I still have to book a hotel for May.",
        "The user has to book a hotel for May.",
        None,
    ),
    (
        "I promise to call Anna on Friday.",
        "The user promises to call Anna on Friday (27 November 2026).",
        "2026-11-27",
    ),
    (
        "I promised Mia we'd go to the zoo next weekend.",
        "The user promised Mia they would go to the zoo next weekend (the weekend of 28 November 2026).",
        "2026-11-28",
    ),
    (
        "I promised Mia a poem for Sunday.",
        "The user promised Mia a poem for Sunday (22 November 2026).",
        "2026-11-22",
    ),
    (
        "I'll send Ben the plan by the end of the month.",
        "The user will send Ben the plan by the end of the month (30 November 2026).",
        "2026-11-30",
    ),
    (
        "The van's service is due on 14 December.",
        "The van's service is due on 14 December (14 December 2026).",
        "2026-12-14",
    ),
    (
        "My passport expires in March 2027.",
        "The user's passport expires in March 2027.",
        "2027-03-01",
    ),
    (
        "Our flight to Lisbon leaves on 20 December at 7:40.",
        "The user's flight to Lisbon leaves on 20 December at 7:40 (07:40 on 20 December 2026).",
        "2026-12-20",
    ),
    (
        "My appointment with Dr. Vogel is on 3 December at 9.",
        "The user's appointment with Dr. Vogel is on 3 December (3 December 2026) at 9.",
        "2026-12-03",
    ),
    (
        "The plumber is coming tomorrow.",
        "The plumber is coming tomorrow (22 November 2026).",
        "2026-11-22",
    ),
]


# row: X2
# row: X14
@pytest.mark.parametrize(
    ("text", "statement", "due"), TO_DO, ids=[case[0] for case in TO_DO]
)
def test_what_is_still_to_be_done_is_a_promise_with_its_day(text, statement, due):
    """A promise, a duty, a wish to be reminded; the day is reckoned from the turn, and
    none is made up.
    """
    (one,) = facts(text)
    assert (one.category, one.text) == ("commitment", statement)
    assert (one.when.start.date().isoformat() if one.when else None) == due
    assert one.quote in text


# row: E16
@pytest.mark.parametrize(
    ("text", "statement", "day"),
    [
        (
            "My sister is getting married in June.",
            "The user's sister is getting married in June (June 2027).",
            "2027-06-01",
        ),
        (
            "My parents are coming on Friday.",
            "The user's parents are coming on Friday (27 November 2026).",
            "2026-11-27",
        ),
    ],
)
def test_what_another_person_plans_is_no_promise(text, statement, day):
    """It is an event with its day."""
    (one,) = facts(text)
    assert (one.category, one.text) == ("moment", statement)
    assert one.when.start.date().isoformat() == day


def test_the_day_of_a_promise_is_that_of_the_turns_zone():
    """Half an hour after midnight in Auckland it is still the day before in Berlin."""
    # a Friday
    there = datetime(2026, 11, 27, 0, 30, tzinfo=ZoneInfo("Pacific/Auckland"))
    (one,) = facts("Remind me to call Anna tomorrow.", there)
    assert (
        one.text
        == "The user wants to be reminded to call Anna tomorrow (28 November 2026)."
    )
    (same,) = facts(
        "Remind me to call Anna tomorrow.", there.astimezone(ZoneInfo("Europe/Berlin"))
    )
    assert (
        same.text
        == "The user wants to be reminded to call Anna tomorrow (27 November 2026)."
    )


# row: X2
@pytest.mark.parametrize(
    "text",
    [
        "Can you remind me what we decided on Monday?",
        "Could you remind me how to install numpy?",
        "Remind me in English how to sort a list.",
        "Remind me of the way to the station.",
        "Can you remind me about the dentist?",
        "Remind me to never eat there again.",
        "Remind me to thank you tomorrow.",
        "Remind me to do it tomorrow.",
        "Remind me to call Anna yesterday.",
        "Don't remind me.",
        "You reminded me to call Anna tomorrow.",
        "Thanks for reminding me to call Anna tomorrow.",
        "If it rains tomorrow, remind me to take an umbrella.",
        "Would you remind me to call mum if I asked?",
        '"Please remind me to call Anna tomorrow," she said.',
        "> Please remind me to call Anna tomorrow.",
        "She asked me to remind her to call Anna tomorrow.",
        "My boss wants me to remind him to call Ben tomorrow.",
        "Let's role-play: I am a knight. Remind me to feed the horse tomorrow.",
        "Write an email that says: remind me to call Anna tomorrow.",
        "Do I have to pay the rent by Friday?",
        "I don't need to call the bank tomorrow.",
        "Maybe I must call the bank tomorrow.",
        "I can't forget to breathe.",
        "I still have to figure out this bug.",
        "I promise you'll love the film on Friday.",
        "My success is due to luck next week.",
        "My patience runs out on Mondays.",
        "Our milk runs out quickly.",
        "My visa expired in January.",
        "If my visa expires in March I must leave.",
        "The plumber is coming every week.",
        "My sister is coming.",
    ],
)
def test_what_is_asked_told_or_played_is_no_promise(text):
    """A question for what is known, others' words, conditions, denials, jokes."""
    assert facts(text) == ()


def test_between_two_people_nobody_is_asked_to_remind():
    """Nor by an assistant, which says of itself what it likes."""
    text = "Remind me to call Anna tomorrow."
    people = [
        Turn("a", "s1", "assistant", "Hi!", NOW, "Ben"),
        Turn("b", "s1", "user", text, NOW, "Eva"),
    ]
    assert extract(people, ExtractionPolicy()).candidates == ()
    assert (
        extract(
            [Turn("a", "s1", "assistant", text, NOW)], ExtractionPolicy()
        ).candidates
        == ()
    )


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("Hi! I'm Laura.", ["The user's name is Laura."]),
        (
            "I live in Leeds and study law.",
            ["The user lives in Leeds.", "The user studies law."],
        ),
        (
            "I'm married and have two kids.",
            ["The user is married.", "The user has two kids."],
        ),
        ("I know people who live in Rome and work at Siemens.", []),
        ("I'm going to leave and live in Madrid.", []),
        ("im allergic to nuts", ["The user is allergic to nuts."]),
        ("i dont eat meat", ["The user does not eat meat."]),
        ("We have two kids, Mia and Noah.", ["The user has two kids, Mia and Noah."]),
        ("We have a cat called Luna.", ["The user has a cat called Luna."]),
        ("I have a problem with a dog.", []),
        (
            "I have a cat and a dog. Her name is Luna.",
            ["The user has a cat and a dog."],
        ),
        ("My neighbour's dog barks. He's called Rex.", []),
        ("Our dog Rex sleeps.", ["Rex is the user's dog."]),
        ("I have type 2 diabetes.", ["The user has type 2 diabetes."]),
        ("My son has asthma.", ["The user's son has asthma."]),
        (
            "My mum was diagnosed with diabetes.",
            ["The user's mum was diagnosed with diabetes."],
        ),
        (
            "I've been a nurse for 10 years.",
            ["The user has been a nurse for 10 years."],
        ),
        ("I study law in Vienna.", ["The user studies law in Vienna."]),
        ("I drive an old Volvo.", ["The user drives an old Volvo."]),
        ("I drive a lot.", []),
        ("I usually get up at 5:30.", ["The user usually gets up at 5:30."]),
        ("I bought a lamp on Sunday, getting another on 4 May.", []),
        ("Please keep your answers to yourself.", []),
        ("Keep your answers short for this quiz.", []),
    ],
)
def test_what_newcomers_say_of_themselves(text, statements):
    """One statement for each thing that is plainly said, none for what only looks like
    it.
    """
    assert [one.text for one in facts(text)] == statements


# row: X14
@pytest.mark.parametrize(
    "text", ["My sister Anna moves in May.", "I left with my friend Anna last week."]
)
def test_what_somebody_is_has_not_the_time_of_what_they_do(text):
    """Anna is a sister before she moves."""
    bond = next(one for one in facts(text) if one.text.startswith("Anna is the user's"))
    assert bond.when is None


# row: C3
@pytest.mark.parametrize(
    ("text", "statement"),
    [
        (
            "We have to pay it back by June.",
            "The user and others have to pay it back by June (June 2027).",
        ),
        (
            "We must call the landlord on Monday.",
            "The user and others must call the landlord on Monday (23 November 2026).",
        ),
        ("We're vegetarian.", "The user is vegetarian."),
        (
            "My husband and I moved to York.",
            "The user's husband and the user moved to York.",
        ),
        ("We have to laugh every time.", ""),
        ("We need to talk.", ""),
        ("We're vegan bakers.", ""),
    ],
)
def test_what_couples_say_of_themselves(text, statement):
    assert [one.text for one in facts(text)] == [statement] * bool(statement)
