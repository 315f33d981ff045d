"""What a conversation takes back goes from the vault, and comes back when it is
restored.
"""

from __future__ import annotations

import json

import pytest

from engram.pipeline.retraction import TAKEN_BACK
from tests.fakes.batches import by_text, every, held_back, rows, tell, texts


@pytest.fixture
def say(memory, clock):
    """Say something in one conversation; every turn is a minute after the last one."""

    def said(text, role="user", standing="chat", session="talk", **more):
        clock.advance(minutes=1)
        turn = {"text": text, "role": role, "session": session, **more}
        return memory.call("observe", {"turns": [turn]}, standing)["keys"][0]

    return said


def found(memory, query, **wishes):
    hits = memory.call("recall", {"query": query, "k": 20, **wishes})["hits"]
    return [hit["text"] for hit in hits]


def statuses(memory):
    return {fact.text: fact.status for fact in every(memory)}


# row: A26
def test_a_joke_that_was_filed_is_taken_back_over_the_reply_of_the_assistant(
    memory, say
):
    say("I live in Leeds.")
    say("I work as a spy.")
    say("A spy, really?", "assistant")
    asked = say("Just kidding!")
    assert texts(memory) == ["The user lives in Leeds."]
    assert memory.call("review", {})["cases"] == []
    assert statuses(memory)["The user works as a spy."] == "forgotten"
    assert not [text for text in found(memory, "spy") if "spy" in text.lower()]

    fact = by_text(memory, "The user works as a spy.")
    (row,) = [row for row in rows(memory) if row["action"] == "forget"]
    assert (row["memory"], row["reason"]) == (fact.id, TAKEN_BACK)
    assert (row["by"], row["turn"]) == ("rule", asked)


# row: A26
def test_in_one_batch_it_is_not_even_written(memory, say):
    held_back(memory)
    say("I work as a spy.")
    say("I made that up.")
    say("I live in Leeds.")
    memory.executor.attended = False
    memory.call("flush", {})
    assert texts(memory) == ["The user lives in Leeds."]
    assert "The user works as a spy." not in statuses(memory)


# row: A26
@pytest.mark.parametrize(
    "between",
    [
        ("What is the weather in Porto tomorrow?", "user", 0),
        ("Sunny.", "assistant", 300),
    ],
)
def test_neither_another_subject_nor_hours_later(memory, say, clock, between):
    text, role, minutes = between
    say("I work as a spy.")
    say(text, role)
    clock.advance(minutes=minutes)
    say("Just kidding!")
    assert texts(memory) == ["The user works as a spy."]


# row: A26
def test_what_says_itself_that_it_is_old_goes_alone(memory, say):
    say("My old address was 5 Elm Street in Leeds.", session="one")
    say("I live at 12 Oak Street in York.", session="two")
    say("Please forget my old address.", session="three")
    shown = " ".join(found(memory, "Where do I live, my old address?"))
    assert "Elm" not in shown
    assert "Oak" in shown


# row: A26
# row: X9
def test_an_old_address_of_which_nothing_is_known_is_asked_about(memory, say):
    say("I live in Leeds.", session="one")
    say("Please forget my old address.", session="two")
    assert texts(memory) == ["The user lives in Leeds."]
    assert len(memory.call("review", {})["cases"]) == 1


# row: A26
# row: E5
@pytest.mark.parametrize(
    ("wish", "gone"),
    [
        ("forget where I live", "The user lives in Leeds."),
        ("forget my cousin Ella", "Ella is the user's cousin."),
        ("forget the gym, I'm staying in bed", None),
    ],
)
def test_a_wish_may_name_a_value_by_its_question_or_somebody_by_name(
    memory, say, wish, gone
):
    """Other values stay; what names nothing known is no wish."""
    say("I live in Leeds and my cousin Ella plays the oboe.")
    before = texts(memory)
    say(wish)
    assert [text for text in before if text not in texts(memory)] == [
        text for text in [gone] if text
    ]
    assert memory.call("review", {})["cases"] == []


# row: A26
def test_what_is_said_anew_later_is_learned(memory, say):
    say("I work as a spy.")
    say("Just kidding!")
    say("I work as a spy.")
    assert "The user works as a spy." in found(memory, "What is my job?")


# row: X20
def test_a_batch_that_is_filed_again_takes_back_the_same(memory, clock):
    held_back(memory)
    tell(memory, "Anna owns a tiger.", session="talk")
    clock.advance(minutes=2)
    tell(memory, "nothing", turn="Just kidding!", session="talk")
    turns = [
        turn
        for file in memory.index.catalog.sessions("talk", None)
        for turn in memory.index.catalog.units_at(file.path)
    ]
    before = json.dumps(statuses(memory))
    memory.reconciler.retraction.apply(turns, clock())
    assert json.dumps(statuses(memory)) == before


# -- asked in review -------------------------------------------------------------------


@pytest.fixture
def asked(memory, say):
    """A wish that means too much to be carried out unasked: its note in review."""
    for name in ("Ella", "Max", "Paul", "Nina", "Olga", "Ines", "Emil"):
        say(f"My cousin {name} lives in Rome.", session=name)
    say("Forget what I told you about Rome.", session="later")
    (path,) = (memory.settings.vault / "review").glob("forget-*.md")
    return path


def box(path, words):
    lines = path.read_text().splitlines()
    return next(line for line in lines if words in line and line.startswith("- [ ]"))


# row: A26
# row: X9
def test_what_is_ticked_is_forgotten_and_the_rest_stays(memory, clock, asked):
    for name in ("Ella", "Max"):
        line = box(asked, name)
        text = asked.read_text()
        asked.write_text(text.replace(line, line.replace("[ ]", "[x]")))
    clock.advance(minutes=5)
    memory.files.rescan_settled(None)
    assert memory.review_queue.obey() == {}
    assert not asked.exists()
    shown = " ".join(found(memory, "Which cousin lives in Rome?"))
    assert "Ella lives" not in shown
    assert "Max lives" not in shown
    assert "Paul lives" in shown


# row: A26
# row: X9
@pytest.mark.parametrize(("answer", "left"), [("approve", False), ("reject", True)])
def test_a_wish_is_granted_or_refused_as_a_whole(memory, asked, answer, left):
    (case,) = memory.call("review", {})["cases"]
    memory.call("decide", {"id": case["id"], "decision": answer})
    shown = " ".join(found(memory, "Which cousin lives in Rome?"))
    assert ("Ella lives" in shown, "Emil lives" in shown) == (left, left)
    assert not asked.exists()


# row: A26
# row: X23
def test_a_note_of_a_persons_own_is_forgotten_only_when_they_tick_it(
    memory, say, clock
):
    path = memory.settings.vault / "facts" / "vos.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text("My therapist is Dr. Vos.\n")
    clock.advance(minutes=5)
    memory.files.rescan_settled(None)
    say("Forget what I told you about Dr. Vos.")
    assert path.read_text() == "My therapist is Dr. Vos.\n"
    (case,) = memory.call("review", {})["cases"]
    memory.call("decide", {"id": case["id"], "decision": "1"})
    assert not [text for text in found(memory, "therapist Vos") if "Vos" in text]


# -- several statements, and promises --------------------------------------------------


# row: A26
def test_of_two_statements_in_a_turn_a_joke_takes_back_the_last(memory, say):
    say("I own a tiger. I work as a spy.")
    say("Just kidding!")
    assert texts(memory) == ["The user owns a tiger."]


# row: E16
@pytest.mark.parametrize("together", [True, False])
def test_a_promise_that_was_kept_in_jest_is_open_again(memory, say, together):
    """Whether the joke is taken back in the same batch or later."""

    def in_stage(stage):
        return [one["text"] for one in memory.call("todos", {"stage": stage})["todos"]]

    say("I will call the insurance on Friday.")
    (promise,) = in_stage("open")
    if together:
        say("I called the insurance. Just kidding!")
    else:
        say("I called the insurance.")
        assert in_stage("fulfilled") == [promise]
        say("Just kidding!")
    assert (in_stage("open"), in_stage("fulfilled")) == ([promise], [])
