"""What is to be done, asked for in the minutes before turns are filed (row E16)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from engram.testing import Simulation

AT = datetime(2027, 3, 1, 9, 0, tzinfo=UTC)


@pytest.fixture
def simulation(tmp_path):
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "engram.toml").write_text('id = "v"\nzone = "UTC"\n')
    with Simulation(tmp_path / "vault", at=AT, home=tmp_path / "home") as running:
        yield running


def say(simulation, text):
    simulation.call("observe", turns=[{"text": text, "session": "s", "role": "user"}])


def asked(simulation, question):
    hits = simulation.call("recall", query=question, k=5)["hits"]
    return [hit["text"] for hit in hits if not hit.get("ended")]


# row: E16
@pytest.mark.parametrize(
    ("duty", "done", "question"),
    [],
)
def test_a_duty_is_listed_and_settled_at_once(simulation, duty, done, question):
    """Not only when its turn was filed."""
    say(simulation, duty)
    assert asked(simulation, question) == [duty]

    simulation.advance(AT + timedelta(days=2))
    [fact] = asked(simulation, question)
    say(simulation, done)
    assert asked(simulation, question) == []
    assert fact not in asked(simulation, duty)
