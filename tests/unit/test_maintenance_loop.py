"""The vault put in order by a call or when it is due, looked ahead and taken back,
through the running memory.
"""

from __future__ import annotations

import pytest

from engram.errors import BadRequestError, NotFoundError
from engram.vault import syscalls
from tests.unit.test_passes_entities import entity

FADING = {"importance": 0.2, "confidence": 0.9}


def test_a_cadence_a_pass_or_a_run_that_is_not_there_is_refused_in_words(keeping):
    call = keeping.memory.call
    with pytest.raises(BadRequestError, match="talk, nightly, weekly"):
        call("consolidate", {"cadence": "hourly"})
    with pytest.raises(BadRequestError, match="there is no pass 'magic'"):
        call("consolidate", {"only": "magic"})
    with pytest.raises(NotFoundError):
        call("undo", {"id": "01ZZZZ"})
    with pytest.raises(BadRequestError):
        call("forecast", {"days": 0})


# row: X10
def test_the_forecast_says_what_the_nights_to_come_will_do(keeping, clock):
    """What is foreseen happens on that day and not before it."""
    name = keeping.fact("Anna saw a red car.", days=80, **FADING)
    coming = keeping.memory.call("forecast", {"days": 30, "curve": True})["coming"]
    ends = next(row for row in coming if row["what"] == "archive")
    assert (ends["id"], ends["why"]) == (
        name,
        "a moment, old, unimportant, unused, faded",
    )
    assert len(ends["curve"]) == 31
    assert ends["curve"] == sorted(ends["curve"], reverse=True)
    days = (int(ends["at"][8:10]) - clock().day) % 30
    clock.advance(days=days - 1)
    keeping.memory.call("consolidate", {})
    assert keeping.seen(name).status == "active"
    clock.advance(days=1)
    keeping.memory.call("consolidate", {})
    assert keeping.seen(name).status == "archived"


def test_nothing_is_put_in_order_while_many_notes_are_missing(keeping, clock):
    """What is due stays due."""
    keeping.fact("Anna saw a red car.", days=100, **FADING)
    keeping.memory.health.report("frozen", "many notes vanished at once")
    assert (
        keeping.memory.call("consolidate", {})["frozen"]
        == "many notes vanished at once"
    )
    assert [report.frozen for report in keeping.memory.maintenance_loop.tend()] == [
        "many notes vanished at once"
    ] * 2
    keeping.memory.health.clear("frozen")
    assert [report.name for report in keeping.memory.maintenance_loop.tend()] == [
        "nightly",
        "weekly",
    ]


# row: B3
# row: C23
def test_an_archived_memory_comes_back_by_a_persons_word_and_stays(keeping, clock):
    """To the folder of its day, and no night takes it away again."""
    name = keeping.fact("Anna saw a red car.", days=100, **FADING)
    home = keeping.seen(name).path
    keeping.memory.call("consolidate", {})
    assert keeping.seen(name).path.startswith("archive/")
    keeping.memory.call("update", {"id": name, "status": "active"})
    assert (keeping.seen(name).status, keeping.seen(name).path) == ("active", home)
    clock.advance(days=200)
    report = keeping.memory.call("consolidate", {})
    assert keeping.seen(name).status == "active"
    assert name not in {deed["memory"] for deed in report["actions"]}


# row: D7
def test_a_person_promotes_and_demotes(keeping):
    """What is promoted lasts, what is demoted passes; twice changes nothing more."""
    name = keeping.fact("Anna saw a red car.", days=100, kind="episode", **FADING)
    update = keeping.memory.call
    assert update("update", {"id": name, "layer": "up"})["changed"] == ["layer"]
    assert update("update", {"id": name, "layer": "up"})["changed"] == []
    keeping.memory.call("consolidate", {})
    assert (keeping.seen(name).status, keeping.seen(name).layer) == (
        "active",
        "semantic",
    )
    update("update", {"id": name, "layer": "down"})
    assert keeping.seen(name).layer == "episodic"


# row: B13
def test_what_was_forgotten_is_forgotten_though_what_is_told_of_it_cannot_be_written(
    keeping, monkeypatch
):
    """The wish is carried out and answered; that a copy is left is told, and the next
    run takes it out.
    """
    texts = (
        "Anna is a nurse.",
        "Anna lives in Porto.",
        "Anna sails.",
        "Anna sings.",
        "Anna cooks.",
    )
    entity(keeping, "Anna")
    first, *_ = keeping.plant(
        *(keeping.made(text, about=("Anna",), kind="note") for text in texts)
    )
    keeping.memory.call("consolidate", {})
    path = keeping.root / "entities/people/Anna.md"
    assert "nurse" in path.read_text()
    with monkeypatch.context() as patch:
        patch.setattr(syscalls, "SYS", Refusing(b"engram:begin card"))
        assert keeping.memory.call("forget", {"id": first})["status"] == "forgotten"
    assert keeping.seen(first).status == "forgotten"
    assert "disk" in keeping.memory.health.problems()["consolidation"]
    keeping.memory.call("consolidate", {"cadence": "nightly"})
    assert "nurse" not in path.read_text()


class Refusing(syscalls.Syscalls):
    """A disk that takes everything but certain bytes."""

    def __init__(self, mark):
        self.mark = mark

    def write(self, descriptor, content):
        if self.mark in content:
            raise OSError(5, "Input/output error")
        return super().write(descriptor, content)
