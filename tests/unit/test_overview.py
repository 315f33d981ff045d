"""The operations `timeline`, `entities` and `neighbours`, and the table behind lists."""

from __future__ import annotations

import pytest

from engram.core.records import ENTITY_TYPES
from engram.errors import BadRequestError, ForbiddenError, NotFoundError


@pytest.fixture
def told(memory, clock):
    """Three memories on two days: two about Anna, one of them private, one of Ben."""
    ids = {}

    def tell(name, text, **more):
        ids[name] = memory.call("remember", {"text": text, **more})["id"]

    tell("milk", "Anna drinks oat milk", about=["Anna"])
    clock.advance(days=2)
    tell("secret", "Anna plans a surprise for Ben", about=["Anna"], persona="p1")
    tell("tea", "Ben drinks tea", about=["Ben"])
    return ids


def test_the_timeline_counts_what_the_asking_persona_sees_by_local_day(memory, told):
    counted = memory.call("timeline", {})
    assert counted == {"days": {"2026-11-20": 1, "2026-11-22": 1}, "total": 2}
    assert memory.call("timeline", {"persona": "p1"})["total"] == 3
    assert memory.call("timeline", {"since": "2026-11-21"})["days"] == {"2026-11-22": 1}
    assert memory.call("timeline", {"until": "2026-11-20"})["total"] == 1
    everything = memory.call("timeline", {"all_personas": True}, "owner")
    assert everything["total"] == 3
    with pytest.raises(ForbiddenError):
        memory.call("timeline", {"all_personas": True})


def test_a_forgotten_memory_leaves_every_overview(memory, told):
    memory.call("forget", {"id": told["milk"]})
    assert memory.call("timeline", {})["days"] == {"2026-11-22": 1}
    assert memory.call("entities", {"name": "Anna"})["entities"][0]["memories"] == 0
    nodes = memory.call("neighbours", {"id": "Anna"})["nodes"]
    assert [node["id"] for node in nodes] == ["Anna"]
    with pytest.raises(NotFoundError):
        memory.call("neighbours", {"id": told["milk"]})


def test_entities_count_their_memories_under_every_name(memory, told):
    rows = {row["name"]: row for row in memory.call("entities", {})["entities"]}
    assert {name: row["memories"] for name, row in rows.items()} == {
        "Anna": 1,
        "Ben": 1,
    }
    assert rows["Anna"]["type"] in ENTITY_TYPES
    assert rows["Ben"]["last"].startswith("2026-11-22")
    assert memory.call("entities", {"type": "place"})["entities"] == []
    with pytest.raises(BadRequestError):
        memory.call("entities", {"type": "planet"})
    with pytest.raises(NotFoundError):
        memory.call("entities", {"name": "Zoe"})


def test_a_neighbourhood_reaches_two_steps_and_keeps_to_its_limit(memory, told):
    memory.call(
        "remember", {"text": "Anna and Ben row on Sundays", "about": ["Anna", "Ben"]}
    )
    found = memory.call("neighbours", {"id": told["milk"]})
    by_id = {node["id"]: node for node in found["nodes"]}
    assert (found["center"], by_id[told["milk"]]["distance"]) == (told["milk"], 0)
    assert (by_id["Anna"]["kind"], by_id["Anna"]["distance"]) == ("entity", 1)
    assert told["secret"] not in by_id
    assert [node for node in found["nodes"] if node["distance"] == 2]
    assert all(
        edge["source"] in by_id and edge["target"] in by_id for edge in found["edges"]
    )
    assert len(memory.call("neighbours", {"id": "Anna", "limit": 2})["nodes"]) == 2


# row: B1
def test_who_holds_a_place_now_and_who_will_are_told_apart(memory, clock):
    """The boss from December is none yet; then the other one was it."""
    said = (
        "My name is Tom and my boss is called Karin.",
        "From December my boss is Eva.",
    )
    for number, text in enumerate(said):
        turn = {"id": f"t{number}", "session": f"s{number}", "text": text}
        memory.call("observe", {"turns": [turn]})
        memory.call("flush", {})
        clock.advance(days=1)

    def relations():
        row = memory.call("entities", {"name": "Tom"})["entities"][0]
        keys = ("relations", "planned_relations", "former_relations")
        return [[one["name"] for one in row[key]] for key in keys]

    def ties():
        edges = memory.call("neighbours", {"id": "Tom"})["edges"]
        return [edge["target"] for edge in edges if edge["type"] == "boss"]

    assert (relations(), ties()) == ([["Karin"], ["Eva"], []], ["Karin"])
    first = memory.call("recall", {"query": "who is my boss?"})["hits"][0]
    assert "Karin" in first["text"]
    clock.advance(days=30)
    assert (relations(), ties()) == ([["Eva"], [], ["Karin"]], ["Eva"])
    note = (memory.settings.vault / "entities/people/Tom.md").read_text()
    assert (
        "- boss: [[Eva]] (from 2026-12)\n- boss: [[Karin]] (until 2026-12-01)" in note
    )
