"""More turns than can be filed: what is taken is kept, what is not is refused in words."""

from __future__ import annotations

import json
import random
import threading
from collections import Counter

import pytest
from harness import FULL
from ledger import turns_filed

from tests.fakes.answers import ask
from tests.fakes.world import until

CLIENTS = 8
TURNS = 10_000 if FULL else 1_500
QUEUE = 600 if FULL else 100
HEAD = "POST /v1/turns HTTP/1.1\nHost: engram\nConnection: close\nContent-Type: application/json\nContent-Length: "


@pytest.fixture
def world(world):
    world.configure(f"[buffer]\nqueue = {QUEUE}\n")
    world.start()
    return world


def flood(world, client, taken, refused, wrong):
    """One client's share, in requests of 1 to 20 turns, without a pause and without a
    second try.
    """
    chance, number = random.Random(client), 0
    while number < TURNS // CLIENTS:
        size = min(chance.randint(1, 20), TURNS // CLIENTS - number)
        names = [f"f{client}-{n}" for n in range(number, number + size)]
        number += size
        turns = [
            {
                "id": name,
                "session": f"flood {client}",
                "text": f"Water rises at {name}.",
            }
            for name in names
        ]
        body = json.dumps({"turns": turns}).encode()
        status, headers, answer = ask(world.socket, f"{HEAD}{len(body)}", body)
        if status == 202 and answer["stored"] == size:
            taken.extend(names)
        elif (
            status == 429
            and int(headers.get("retry-after", "0")) >= 1
            and answer["error"]["code"] == "busy"
        ):
            refused.extend(names)
        else:
            wrong.append((status, headers, answer))


# row: X18
def test_every_turn_of_a_flood_is_stored_once_or_refused_with_a_time_to_come_back(
    world, covered
):
    """Acknowledged and refused together are all that was sent; nothing refused is
    stored.
    """
    taken, refused, wrong = [], [], []
    clients = [
        threading.Thread(target=flood, args=(world, client, taken, refused, wrong))
        for client in range(CLIENTS)
    ]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    sent = CLIENTS * (TURNS // CLIENTS)
    assert wrong == []
    assert len(taken) + len(refused) == sent
    assert taken
    assert refused
    world.call("flush", background=True)
    until(lambda: world.call("stats")["waiting"] == 0, 120)
    assert turns_filed(world.vault) == Counter(taken)
    assert world.call("stats")["turns"] == len(taken)
    assert [
        finding
        for finding in world.call("doctor")["findings"]
        if finding["level"] == "error"
    ] == []
    world.call(
        "observe",
        turns=[{"id": "after", "session": "flood 1", "text": "The water falls."}],
    )
    assert world.stop() == 0
    covered("flood", "turns stored once", len(taken))
    covered("flood", "turns refused with 429", len(refused))
