"""The filter for Open WebUI, called as Open WebUI does, with the real daemon."""

from __future__ import annotations

import asyncio

import pytest

from engram.serve import auth
from examples.open_webui_filter import Filter
from tests.fakes.answers import ID
from tests.fakes.world import World, knowing_carla, until

ASKED = "What is Carla allergic to?"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    world = World(tmp_path_factory.mktemp("webui"))
    world.take_port()
    with knowing_carla(world):
        yield world


@pytest.fixture(params=["socket", "port"])
def memory(place, request):
    """The filter over one of the ways in."""
    made = Filter()
    if request.param == "socket":
        made.valves.address = place.socket
    else:
        made.valves.address = f"127.0.0.1:{place.port}"
        token = place.home / "state" / ID / auth.TOKENS["chat"]
        made.valves.token = token.read_text().strip()
    made.valves.seconds = 20
    return made


def user(**valves):
    return {"name": "Mira", "valves": Filter.UserValves(**valves)}


def inlet(memory, text, who=None, **metadata):
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    given = {"chat_id": "c1", **metadata}
    return asyncio.run(memory.inlet(body, who or user(), given))["messages"]


def outlet(memory, pairs, who=None, **metadata):
    rows = [
        {"id": f"{place}", "role": role, "content": text} for place, role, text in pairs
    ]
    body = {"model": "m", "messages": rows, "chat_id": "c1"}
    asyncio.run(memory.outlet(body, who or user(), {"chat_id": "c1", **metadata}))


def stored(place, words):
    hits = place.call("recall", query=words, kinds=["turn"], k=20)["hits"]
    return [hit for hit in hits if words in hit["text"]]


def test_what_is_known_comes_before_the_last_message(memory):
    told, asked = inlet(memory, ASKED)
    assert told["role"] == "system"
    assert "peanuts" in told["content"]
    assert asked == {"role": "user", "content": ASKED}


def test_both_sides_are_observed_once_and_an_edit_replaces_the_message(
    place, memory, request
):
    name = f"quay of {request.node.callspec.id}"
    said = [("u1" + name, "user", f"The {name} is closed.")]
    said.append(("a1" + name, "assistant", f"I note that the {name} rests."))
    for _ in range(2):
        outlet(memory, said)
    until(lambda: len(stored(place, name)) == 2)
    (one,) = [hit for hit in stored(place, name) if hit["role"] == "user"]
    assert (one["speaker"], one["session"]) == ("Mira", "c1")

    outlet(memory, [("u1" + name, "user", f"The {name} is open.")])
    until(lambda: [hit for hit in stored(place, name) if "open" in hit["text"]])
    until(lambda: not [hit for hit in stored(place, name) if "closed" in hit["text"]])


@pytest.mark.parametrize(
    ("valves", "metadata"),
    [
        ({"enabled": False}, {}),
        ({}, {"task": "title_generation"}),
        ({"off_the_record": True}, {}),
        ({}, {"chat_id": "local:7"}),
    ],
)
def test_what_is_off_the_record_or_no_conversation_is_not_stored(
    place, memory, request, valves, metadata
):
    name = f"pier {request.node.callspec.id}"
    outlet(
        memory, [("x" + name, "user", f"The {name} fell.")], user(**valves), **metadata
    )
    assert not stored(place, name)
    reads = valves.get("enabled", True) and "task" not in metadata
    assert len(inlet(memory, ASKED, user(**valves), **metadata)) == 1 + reads


def test_without_a_daemon_the_conversation_goes_on():
    alone = Filter()
    alone.valves.address = "/nowhere/engram.sock"
    assert inlet(alone, ASKED) == [{"role": "user", "content": ASKED}]
    outlet(alone, [("1", "user", "x")])
