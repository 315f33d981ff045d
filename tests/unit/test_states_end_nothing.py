"""Everyday talk ends no fact of a person, and a real change does (A7; law 7)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache

import pytest

from engram.core.changes import ended_facts
from engram.core.language.state_changes import replacement, state_time
from engram.core.language.state_subjects import USER
from engram.core.language.state_telling import in_third_person
from engram.core.language.states import in_context, states
from engram.core.records import Fact
from tests.unit.talk_about_states import CHANGES, KNOWN, TALK

NOW = datetime(2027, 3, 12, 9, tzinfo=UTC)
TOLD = NOW - timedelta(days=60)
THIRD_PERSON = {
    "en": ("the user", "the user's"),
    "de": ("die Person", "der Person"),
    "fr": ("la personne", "de la personne"),
    "es": ("la persona", "de la persona"),
}


def ended(text, *facts, told=TOLD):
    """The facts, each told at `told`, that a sentence said now ends."""
    known = [_fact(fact, told) for fact in facts]
    return [one.fact.text for one in ended_facts(states(text), NOW, known)]


@cache
def _fact(text, told):
    return Fact(id=text, text=text, created=told), states(text)


# row: A7
def test_talk_with_the_same_words_ends_nothing():
    found = [
        (text, over)
        for code, texts in TALK.items()
        for text in texts
        if (over := ended(text, *KNOWN[code]))
    ]
    assert found == []


# row: A7
def test_a_change_ends_the_fact():
    found = [
        (text, fact, over)
        for text, fact in CHANGES
        if (over := ended(text, fact)) != [fact]
    ]
    assert found == []


def test_a_change_is_told_in_the_third_person_or_not_at_all():
    assert [text for text, _ in CHANGES if not _is_told_whole(text)] == []


def _is_told_whole(text):
    """Whether a sentence has the same change in the third person, if it has that form."""
    state = next(iter(states(text)), None)
    if state is None:
        return False
    if state.subject[0] != USER or state.language not in THIRD_PERSON:
        return True
    words = in_third_person(text.rstrip("."), state, *THIRD_PERSON[state.language])
    again = states(words) if words else (state,)
    return (state.attribute, state.over) in {(one.attribute, one.over) for one in again}


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("I moved to Berlin but moved back after a week.", "I moved to Berlin"),
        ("We lost our dog. Luckily we found him again.", "We lost our dog"),
        ("When I was six we moved to Hamburg.", "we moved to Hamburg"),
        ("Ich habe gekündigt, bin aber doch geblieben.", "Ich habe gekündigt"),
    ],
)
def test_a_change_that_the_words_around_it_undo_is_none(text, quote):
    assert states(quote)
    assert in_context(states(quote), text, quote) == ()


def test_a_change_is_dated_by_the_words_around_it():
    text = "In 2010 I finished school, and we moved to Hamburg."
    (home,) = in_context(states("we moved to Hamburg"), text, "we moved to Hamburg")
    assert state_time(home, NOW) < TOLD


def test_every_known_fact_tells_a_state():
    facts = [fact for listed in KNOWN.values() for fact in listed]
    assert [fact for fact in facts if not states(fact)] == []


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("I moved to Berlin in 2010.", "The user lives in Munich."),
        ("I moved to Berlin ten years ago.", "The user lives in Munich."),
        ("In 2010 we moved to Berlin.", "The user lives in Munich."),
        ("J'ai déménagé à Paris en 2010.", "La personne habite à Nantes."),
        ("Me mudé a Madrid en 2010.", "La persona vive en Valencia."),
        ("Wir sind 2010 nach Berlin gezogen.", "Die Person wohnt in Ulm."),
        ("我2010年搬到北京。", "用户住在上海。"),
        ("2010年に東京に引っ越しました。", "ユーザーは大阪に住んでいます。"),
        ("I quit my job in 2015.", "The user works at Bosch."),
        ("Our dog died in 2012.", "The user has a dog."),
    ],
)
def test_a_change_dated_before_the_fact_was_told_ends_nothing(text, fact):
    assert ended(text, fact) == []


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("I moved to Berlin in January.", "The user lives in Munich."),
        ("I moved to Berlin at the weekend.", "The user lives in Munich."),
        ("Am Wochenende sind wir nach Ulm gezogen.", "Die Person wohnt in Köln."),
        ("我周末搬到杭州了。", "用户住在上海。"),
        ("週末に東京に引っ越しました。", "ユーザーは大阪に住んでいます。"),
        ("I moved to Berlin in 2025.", "The user lives in Munich."),
        ("Our dog died last week.", "The user has a dog."),
    ],
)
def test_a_change_dated_after_the_fact_was_told_ends_it(text, fact):
    assert ended(text, fact, told=datetime(2024, 5, 1, tzinfo=UTC)) == [fact]


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("My neighbour is Paul.", "The user's neighbour is Tom."),
        ("My teacher is Mrs Green.", "The user's teacher is Mr Brown."),
        ("My coach is called Ben.", "The user's coach is called Tom."),
        ("I work as a barista.", "The user works as a nurse."),
        ("I work at Aldi.", "The user works at Bosch."),
        ("I started at Aldi.", "The user works at Bosch."),
        ("I drive a Polo.", "The user drives a Golf."),
        ("My laptop is a MacBook.", "The user's laptop is a ThinkPad."),
        ("My number is 0170 555.", "The user's phone number is 0170 123."),
        ("I also moved into Bosch as a cook.", "The user works at Siemens."),
        ("Ich arbeite bei Lidl.", "Die Person arbeitet bei Bosch."),
        ("Ich habe bei Lidl angefangen.", "Die Person arbeitet bei Bosch."),
        ("Je travaille chez Lidl.", "La personne travaille chez Airbus."),
        ("Trabajo en Lidl.", "La persona trabaja en Seat."),
        ("我在阿里工作。", "用户在腾讯工作。"),
    ],
)
def test_another_one_of_several_ends_nothing_without_a_word_of_change(text, fact):
    assert ended(text, fact) == []


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("I live in Ulm.", "The user lives in Munich."),
        ("I'm 35.", "The user is 34 years old."),
        ("My favourite colour is red.", "The user's favourite colour is blue."),
        ("My rent is 1,310 euros.", "The user's rent is 1,250 euros."),
        ("I'm vegan.", "The user is vegetarian."),
        ("I work at Aldi now.", "The user works at Bosch."),
        ("My new laptop is a MacBook.", "The user's laptop is a ThinkPad."),
        ("My number is 0170 555 now.", "The user's phone number is 0170 123."),
    ],
)
def test_a_later_value_of_what_is_one_at_a_time_ends_the_old_one(text, fact):
    assert ended(text, fact) == [fact]


@pytest.mark.parametrize(
    ("text", "fact", "is_ended"),
    [
        ("I can't stand jazz.", "The user loves jazz.", True),
        ("I can't stand jazz.", "The user loves jazz concerts.", True),
        ("I can't stand jazz concerts.", "The user loves jazz.", False),
        ("I stopped drinking black coffee.", "The user drinks coffee.", False),
        (
            "I stopped drinking coffee.",
            "The user drinks four cups of coffee a day.",
            True,
        ),
        ("I no longer live in Munich.", "The user lives in Munich Schwabing.", True),
        ("I no longer live in Munich Schwabing.", "The user lives in Munich.", False),
        ("I love jazz.", "The user can't stand jazz concerts.", False),
        ("I love jazz.", "The user can't stand jazz.", True),
    ],
)
def test_an_end_covers_only_what_it_names(text, fact, is_ended):
    assert ended(text, fact) == ([fact] if is_ended else [])


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("My flat is 5 minutes from the station.", "My flat is 60 square metres."),
        ("My son is 3.", "The user's son is 5."),
        ("My son is 12.", "The user's son is 5."),
    ],
)
def test_a_number_of_another_thing_ends_nothing(text, fact):
    assert ended(text, fact) == []


def test_i_quit_is_unclear_where_two_jobs_are_known():
    known = [
        _fact(fact, TOLD) for fact in ("The user works at Bosch.", "I work at Aldi.")
    ]
    (first, second) = ended_facts(states("I quit."), NOW, known)
    assert first.is_unclear
    assert second.is_unclear
    (only,) = ended_facts(states("I quit."), NOW, known[:1])
    assert not only.is_unclear


# row: A7
@pytest.mark.parametrize(
    ("text", "fact", "is_ended"),
    [
        ("Not vegan anymore, I caved.", "The user is vegan.", True),
        ("I'm not vegan any more, I gave in.", "The user is vegan.", True),
        (
            "Ich bin nicht mehr vegan, ich bin schwach geworden.",
            "Die Person ist vegan.",
            True,
        ),
        ("I quit smoking. I caved after a week.", "The user smokes.", False),
        ("I went vegan in May. I caved in June.", "The user is vegetarian.", False),
    ],
)
def test_who_gave_in_ends_a_diet_and_takes_back_a_resolution(text, fact, is_ended):
    """What was resolved does not last; the end of what was resolved does."""
    assert bool(ended(text, fact)) is is_ended


def test_a_moved_appointment_is_the_only_one_of_its_kind_or_in_doubt():
    moved = states("They moved my appointment to Monday.")
    known = [
        _fact("The user's dentist appointment is on 18 March.", TOLD),
        _fact("The user's eye appointment is on 20 March.", TOLD),
    ]
    (one,) = ended_facts(moved, NOW, known[:1])
    assert not one.is_unclear
    assert all(one.is_unclear for one in ended_facts(moved, NOW, known))


def test_leaving_a_workplace_ends_the_job_that_names_it():
    job = "The user is a waitress in a restaurant."
    assert ended("I quit the restaurant.", job) == []  # guests leave restaurants
    assert ended(
        "J'ai démissionné du restaurant.",
        "La personne est serveuse dans un restaurant.",
    )


# row: A7
@pytest.mark.parametrize(
    ("text", "fact"),
    [
        (
            "I'm not allergic to nuts any more.",
            "The user is allergic to nuts and eggs.",
        ),
        (
            "I'm not allergic to eggs any more.",
            "The user is allergic to nuts and eggs.",
        ),
        ("I no longer take ramipril.", "The user takes ramipril and metformin."),
        ("I no longer take metformin.", "The user takes ramipril and metformin."),
        (
            "Ich bin nicht mehr allergisch gegen Eier.",
            "Die Person ist allergisch gegen Nüsse und Eier.",
        ),
    ],
)
def test_the_end_of_one_of_several_is_asked_about(text, fact):
    (one,) = ended_facts(states(text), NOW, [_fact(fact, TOLD)])
    assert one.is_unclear
    assert not any(
        replacement(new, old) for new in states(text) for old in states(fact)
    )


def test_the_end_of_another_one_is_not():
    fact = "The user is allergic to nuts and eggs."
    assert ended("I'm not allergic to cats any more.", fact) == []
