"""Dates as recall and context show them: beside the words, in the local time zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from engram.testing import Simulation

# 23:30 in UTC is already Friday the 20th in Berlin
AT = datetime(2026, 11, 19, 23, 30, tzinfo=UTC)


@pytest.fixture
def vault(tmp_path):
    """A vault in Berlin."""
    folder = tmp_path / "vault"
    folder.mkdir(mode=0o700)
    (folder / "engram.toml").write_text('id = "dates"\nzone = "Europe/Berlin"\n')
    return folder


@pytest.fixture
def sim(vault, tmp_path):
    """Its daemon on a simulated clock."""
    with Simulation(vault, at=AT, home=tmp_path / "home") as started:
        yield started


def observe(sim, text, role="user"):
    sim.call("observe", turns=[{"text": text, "session": "s", "role": role}])
    sim.advance(sim.now + timedelta(hours=1))


# row: X14
def test_an_episode_has_the_day_on_which_it_happened(sim):
    """Not the day on which it was told."""
    observe(sim, "I visited Lisbon last Monday.")
    found = sim.call("recall", query="Lisbon")
    fact = next(hit for hit in found["hits"] if hit["kind"] == "fact")
    assert fact["when"].startswith("2026-11-16T")
    assert "last Monday (16 November 2026)" in fact["text"]


# row: X14
def test_the_end_of_a_state_is_its_end(sim, vault):
    """`until` gives no beginning; the state is over the day after."""
    observe(sim, "I work at Frachtwerk until the end of December.")
    (fact,) = (path.read_text() for path in vault.glob("facts/**/*.md"))
    assert "valid_from" not in fact
    assert "valid_until: 2026-12-31T23:59:59" in fact
    assert "until the end of December (31 December 2026)" in fact
    sim.advance(datetime(2027, 1, 10, 9, tzinfo=UTC))
    hits = sim.call("recall", query="where do I work?")["hits"]
    assert [hit["ended"] for hit in hits if "Frachtwerk" in hit["text"]] == [
        "2026-12-31"
    ]


# row: X13
def test_a_day_alone_is_no_answer(sim):
    """If the question asks for more than a day, a text of that day is no hit for it."""
    observe(sim, "The dog chewed up my slippers.")
    asked = sim.call("recall", query="what did the dentist say on Friday?")
    assert asked["hits"] == []
    (first, *_) = sim.call("recall", query="what did the dog chew on Friday?")["hits"]
    assert "slippers" in first["text"]
