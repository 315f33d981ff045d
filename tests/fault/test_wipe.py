"""Every derived store is deleted, at rest and under the running daemon: the answers
stay the same.
"""

from __future__ import annotations

import json
import shutil

import pytest
from harness import FULL

from tests.fakes.world import until

QUERIES = 200 if FULL else 20
TOWNS = (
    "Aveiro",
    "Braga",
    "Coimbra",
    "Evora",
    "Faro",
    "Guarda",
    "Leiria",
    "Lagos",
    "Porto",
    "Sintra",
)
THINGS = (
    "lemon tree",
    "old piano",
    "red bicycle",
    "paper boat",
    "copper kettle",
    "wool coat",
    "radio",
    "map",
)
WHEN = "2026-12-01T12:00:00"


@pytest.fixture
def world(world):
    talk = [
        {
            "id": str(number),
            "session": f"day {number // 20}",
            "speaker": ("Ana", "Rui", "Eva")[number % 3],
            "text": f"I {verb} the {THINGS[number % 8]} number {number} in {TOWNS[number * 7 % 10]}.",
            "occurred_at": f"2026-11-{number // 20 + 1:02}T10:{number % 60:02}:00",
        }
        for number in range(QUERIES)
        for verb in [("love", "decided to buy", "saw")[number % 3]]
    ]
    world.engram("observe", stdin="\n".join(map(json.dumps, talk)))
    (world.vault / "notes").mkdir(exist_ok=True)
    for town in TOWNS:
        (world.vault / "notes" / f"{town}.md").write_text(
            f"# {town}\n\nThe station of {town} has a garden.\n"
        )
    return world


def answers(world):
    """What comes first for each question, with its score."""
    asked = [
        f"who has the {THINGS[n % 8]} of {TOWNS[n % 10]}, number {n}?"
        for n in range(QUERIES)
    ]
    # An explained answer is no use of a memory, which would move it up.
    found = [
        world.call("recall", query=query, now=WHEN, explain=True)["hits"]
        for query in asked
    ]
    return [
        [(hit["key"], hit["text"], hit["path"], round(hit["score"], 3)) for hit in hits]
        for hits in found
    ]


# row: X20
def test_no_answer_changes_when_the_cache_is_deleted(world, covered):
    """Between two runs, and while the daemon runs, mended by a reindex and by the next
    look at the vault.
    """
    world.start()
    expected = answers(world)
    assert sum(len(hits) > 0 for hits in expected) == QUERIES
    world.stop()
    shutil.rmtree(world.cache)
    world.start()
    assert answers(world) == expected
    shutil.rmtree(world.cache)
    world.call("reindex")
    assert answers(world) == expected
    shutil.rmtree(world.cache)
    (world.vault / "notes" / "late.md").write_text("A heron stands in the harbour.\n")
    until(lambda: world.call("recall", query="heron in the harbour")["hits"][:1])
    (world.vault / "notes" / "late.md").unlink()
    until(
        lambda: (
            "heron"
            not in str(world.call("recall", query="heron in the harbour")["hits"])
        )
    )
    until(lambda: answers(world) == expected)
    assert world.stop() == 0
    shutil.rmtree(world.cache.parent)
    world.start()
    assert answers(world) == expected
    assert [
        finding
        for finding in world.call("doctor")["findings"]
        if finding["level"] == "error"
    ] == []
    covered("wipe of the cache", "queries at rest", 2 * QUERIES)
    covered("wipe of the cache", "queries under the daemon", 2 * QUERIES)
