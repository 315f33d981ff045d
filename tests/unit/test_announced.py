"""A change that is announced for a day happens on that day, unless it is called off."""

from __future__ import annotations

import json
from datetime import datetime

import pytest

from engram.config import ModelSettings
from tests.fakes.batches import by_text, held_back, tell
from tests.unit.test_known_facts import said

GRAZ, LISBON = "The user lives in Graz.", "The user is moving to Lisbon on 3 May."
PLANNED = "The user is moving to Lisbon on 3 May (2026-05-03)."
SAID = "I'm moving to Lisbon on 3 May, by the way, I never told you."
PLAN = {"category": "commitment", "sort": "plan", "when_words": "on 3 May"}
SLOT = {"about": ["The user", "Lisbon"], "attribute": "home", "value": "Lisbon"}
MAY = {"when": "2026-05-03"}


@pytest.fixture
def spring(clock):
    """The clock on a day of April."""
    clock.now = datetime.fromisoformat("2026-04-10T10:00:00+02:00")
    return clock


@pytest.fixture
def planned(opened, running, spring):
    """A memory that knows a home, and to which a model reads an announced move."""
    running.script()
    running.script_embeddings()

    def start(links, **changes):
        memory = held_back(opened(model=ModelSettings("m", running.url)))
        tell(memory, GRAZ)
        spring.advance(hours=20)
        said(memory, running, SAID, (LISBON, links, PLAN | MAY | changes))
        return memory

    return start


def night(memory):
    memory.call("consolidate", {"cadence": "nightly"})


def homes(memory):
    hits = memory.call("recall", {"query": "Where does the user live? Graz, Lisbon"})
    return {hit["text"] for hit in hits["hits"] if hit["kind"] == "fact"} & {GRAZ}


def on(memory, clock, day):
    clock.now = datetime.fromisoformat(f"2026-{day}T12:00:00+02:00")
    return homes(memory) == {GRAZ}


# row: A7
# row: X14
@pytest.mark.parametrize(
    ("links", "slot"), [({"replaces": [GRAZ]}, {}), ({"ends": [GRAZ]}, {}), ({}, SLOT)]
)
def test_a_move_that_a_model_reads_happens_on_its_day(planned, spring, links, slot):
    """By its link or by the slot alone; without a night, and the night closes it."""
    memory = planned(links, **slot)
    old = by_text(memory, GRAZ)
    new = by_text(memory, PLANNED)
    assert (old.status, old.superseded_by) == ("active", (new.id,))
    assert [on(memory, spring, day) for day in ("04-20", "05-02", "05-04")] == [
        True,
        True,
        False,
    ]
    night(memory)
    assert by_text(memory, GRAZ).status == "superseded"
    if slot:
        assert by_text(memory, new.text).category == "fact"


# row: C33
@pytest.mark.parametrize("words", ["The landlord there has changed his mind about us."])
def test_a_move_that_is_called_off_does_not_happen(planned, running, spring, words):
    """At once, by a model's word; no night is needed."""
    memory = planned({"replaces": [GRAZ]})
    said(memory, running, words, ended=[(PLANNED, words)])
    old = by_text(memory, GRAZ)
    assert (old.superseded_by, old.valid_until) == ((), None)
    assert on(memory, spring, "05-04")


# row: X29
def test_what_rests_on_what_an_announced_day_ends_is_asked_once(
    planned, spring, running
):
    """In the night after that day; what is left unticked is not asked again."""
    memory = planned({"replaces": [GRAZ]})
    bus = "The user takes bus 5 to work."
    told = "I take bus 5 to work, as I live in Graz, up there."
    said(memory, running, told, (bus, {"because": [GRAZ]}, {}))
    night(memory)
    assert not memory.call("review", {})["cases"]
    spring.now = datetime.fromisoformat("2026-05-04T12:00:00+02:00")
    night(memory)
    (case,) = memory.call("review", {})["cases"]
    assert bus in json.dumps(case)
    memory.call("decide", {"id": case["id"], "decision": "leave"})
    night(memory)
    assert not memory.call("review", {})["cases"]
    assert by_text(memory, bus).status == "active"


# row: X29
def test_what_goes_on_in_an_announced_state_is_still_a_ground(planned, spring, running):
    """An announced dose of a medicine ends the dose and not the medicine."""
    memory = planned({})
    pill, rule = "The user takes 20 mg of simvastatin.", "The user eats no grapefruit."
    told = "And there is simvastatin, 20 mg, so no grapefruit in this house, ever."
    said(memory, running, told, (rule, {}, {"because": [-2]}), (pill, {}, {}))
    spring.advance(hours=20)
    more = ("The user takes 40 mg of simvastatin from 3 May.", {"replaces": [pill]})
    told = "It goes up to 40 mg on 3 May, says the doctor, which I do not like."
    said(memory, running, told, (*more, PLAN | MAY))
    (plan,) = by_text(memory, pill).superseded_by
    spring.now = datetime.fromisoformat("2026-05-04T12:00:00+02:00")
    night(memory)
    assert by_text(memory, pill).status == "superseded"
    assert by_text(memory, rule).because == (plan,)
    assert not memory.call("review", {})["cases"]


# row: C33
def test_a_move_to_another_day_moves_the_end(planned, running, spring):
    """The new plan takes the place of the old one."""
    memory = planned({"replaces": [GRAZ]})
    later = "The user moves to Lisbon on 10 May."
    words = "The truck is not free, so we take the 10 May for it."
    when = PLAN | {"when_words": "10 May", "when": "2026-05-10"}
    said(memory, running, words, (later, {"replaces": [PLANNED]}, when))
    assert [on(memory, spring, day) for day in ("05-04", "05-11")] == [True, False]


def listen(memory, clock, *told, **time):
    for text in told:
        clock.advance(**time or {"hours": 20})
        turn = {"text": text, "session": "s"}
        memory.call("observe", {"turns": [turn]})
        memory.call("flush", {})


# row: A26
# row: E16
@pytest.mark.parametrize("words", ["The move to Lisbon is off.", "Scratch that."])
def test_the_words_of_the_user_call_a_plan_off(memory, spring, words):
    """The night lets the old state go on."""
    listen(memory, spring, "I live in Graz.", "I'm moving to Lisbon on 3 May.")
    listen(memory, spring, words, minutes=2)
    night(memory)
    old = by_text(memory, GRAZ)
    assert (old.status, old.superseded_by, old.valid_until) == ("active", (), None)
    assert on(memory, spring, "05-20")


# row: A7
def test_the_present_state_said_meanwhile_lets_the_plan_stand(memory, spring):
    """Until its day the user does live there."""
    listen(memory, spring, "I live in Graz.", "I'm moving to Lisbon on 3 May.")
    listen(memory, spring, "I live in Graz.", "I live in Graz, near the park.")
    assert on(memory, spring, "05-02")
    night(memory)
    assert not on(memory, spring, "05-04")
