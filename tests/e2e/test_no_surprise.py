"""The real daemon on a folder of notes that another tool wrote: it answers from them
and leaves every byte alone.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from engram.testing import Simulation
from tests.fakes.foreign import foreign
from tests.fakes.world import until
from tests.size import FULL

MANY = 1_000 if FULL else 200
NOTES = ("facts", "archive", "entities", "review", ".trash")


def notes_in(vault):
    """The bytes of every note that stands in the vault, by path."""
    return {
        path: path.read_bytes()
        for folder in NOTES
        for path in (vault / folder).rglob("*.md")
    }


def is_found(call, text):
    hits = call("recall", query=text, kinds=["fact"])["hits"]
    return bool(hits) and hits[0]["text"] == text


# row: X23
def test_a_vault_of_another_tool_survives_three_starts_and_eight_nightly_runs_unchanged(
    world,
):
    """Notes in the form of seed C, dated two years ago; recall finds those that have not
    expired.
    """
    told = dict(foreign(world.vault, number) for number in range(MANY))
    before = notes_in(world.vault)
    assert before.keys() == set(told.values())
    sample = [text for number, text in enumerate(told) if number % 10 != 7][
        :: MANY // 25
    ]
    for _ in range(3):
        world.start()
        until(lambda: world.call("stats")["facts.active"] == MANY)
        report = world.call("consolidate", cadence="nightly")
        assert (report["frozen"], report["failures"]) == ("", {})
        assert report["left_alone"]["engram did not write it"] > 0, (
            "the passes looked at these notes"
        )
        assert [text for text in sample if not is_found(world.call, text)] == []
        assert world.stop() == 0
        assert notes_in(world.vault) == before
    began = datetime.now(UTC)
    with Simulation(world.vault, at=began, home=world.home) as sim:
        sim.advance(began + timedelta(days=5, hours=1))
        status = sim.call("status")
        assert status["faults"] == status["held"] == {}
        due = datetime.fromisoformat(status["next_consolidation"])
        assert timedelta() < due - sim.now <= timedelta(days=1), (
            "no night is left to be made"
        )
        assert [text for text in sample if not is_found(sim.call, text)] == []
    assert notes_in(world.vault) == before
