"""The day and the slot of a memory follow the words that a person edits in its note."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from engram.testing import Simulation
from engram.vault import frontmatter

START = datetime(2027, 1, 11, 9, tzinfo=UTC)


@pytest.fixture
def sim(tmp_path):
    (tmp_path / "engram.toml").write_text("")
    with Simulation(tmp_path, at=START, home=tmp_path.parent / "home") as simulation:
        simulation.call(
            "observe",
            turns=[{"text": "I will prune the apple tree on 3 March.", "session": "s"}],
        )
        simulation.advance(START + timedelta(minutes=30))
        yield simulation


@pytest.fixture
def note(sim, tmp_path):
    (found,) = tmp_path.glob("facts/*/*apple*")
    return found


def edit(sim, note, *changes):
    text = note.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    note.write_text(text)
    sim.files_changed()
    sim.advance(sim.now + timedelta(minutes=12))
    return text


def due(sim):
    (promise,) = sim.call("todos")["todos"]
    return promise["due"][:10]


# row: X3
# row: X14
# row: E16
@pytest.mark.parametrize(
    ("words", "day"),
    [
        ("on 10 March", "2027-03-10"),
        ("on 10 March 2028", "2028-03-10"),
        ("tomorrow", "2027-01-12"),
        ("some day", "2027-03-03"),
        ("on 10 March or on 12 March", "2027-03-03"),
    ],
)
def test_a_promise_is_due_on_the_day_that_its_edited_words_name(sim, note, words, day):
    assert due(sim) == "2027-03-03"
    edit(sim, note, ("on 3 March 2027", words))
    assert due(sim) == day


# row: X3
def test_the_keys_of_a_note_change_after_its_edited_words_and_nothing_else_does(
    sim, note
):
    text = edit(sim, note, ("on 3 March 2027", "on 10 March, early"))
    expected = text.replace("2027-03-03", "2027-03-10")
    assert note.read_text() == expected.replace("2027-03-04", "2027-03-11")


# row: X6
def test_an_undone_day_does_not_come_again(sim, note):
    text = edit(sim, note, ("on 3 March 2027", "on 10 March"))
    (run,) = [
        row["id"] for row in sim.call("runs")["runs"] if "redate" in row["counts"]
    ]
    sim.call("undo", id=run)
    assert note.read_text() == text
    sim.advance(sim.now + timedelta(days=2))
    assert note.read_text() == text


# row: X31
@pytest.mark.parametrize(
    ("words", "keys"),
    [
        (
            "The user's favourite colour is dark blue.",
            ("favourite colour", "dark blue"),
        ),
        ("The user likes nothing more than dark blue.", (None, None)),
        ("The user's favourite colour is still green.", ("favourite colour", "green")),
    ],
)
def test_the_slot_of_a_note_follows_its_edited_words(sim, tmp_path, words, keys):
    sim.call(
        "observe", turns=[{"text": "My favourite colour is green.", "session": "c"}]
    )
    sim.advance(sim.now + timedelta(minutes=30))
    (path,) = tmp_path.glob("facts/*/*green*")
    edit(sim, path, ("The user's favourite colour is green.", words))
    found = frontmatter.read(path.read_bytes()).keys
    assert (found.get("attribute"), found.get("value")) == keys
