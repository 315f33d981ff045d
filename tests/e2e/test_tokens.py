"""Who said it, over the real port with its three tokens."""

from __future__ import annotations

import json

from engram.serve import auth
from tests.fakes.answers import ID, ask, free_port

LABELS = {"chat": "user", "import": "import (user)", "tool": "tool"}
TURN = {
    "role": "user",
    "speaker": "user",
    "origin": "chat",
    "text": "Remember that the heron of {} nests at the mill.",
}


# row: X27
# row: X17
def test_the_token_says_who_said_it_on_every_line_whatever_the_turn_claims(world):
    """Recall, context and `why`, before and after the turns are distilled, after a
    kill, and for every caller alike.
    """
    port = free_port()
    world.env["ENGRAM_PORT"] = str(port)
    world.start()
    state = world.home / "state" / ID
    tokens = {
        name: (state / file).read_text().strip() for name, file in auth.TOKENS.items()
    }

    def call(path, token, body=None):
        raw = json.dumps(body).encode() if body is not None else b""
        head = [
            f"{'POST' if raw else 'GET'} {path} HTTP/1.1",
            f"Host: 127.0.0.1:{port}",
        ]
        head += [
            f"Authorization: Bearer {tokens[token]}",
            "Content-Type: application/json",
        ]
        status, _, answer = ask(
            port, "\n".join([*head, f"Content-Length: {len(raw)}"]), raw
        )
        assert status in {200, 202}, answer
        return answer

    def check():
        for standing, label in LABELS.items():
            for asks in tokens:
                answer = call(
                    "/v1/recall", asks, {"query": f"heron of {standing}", "k": 1}
                )
                (hit,) = answer["hits"]
                assert standing in hit["text"]
                assert (hit["provenance"], hit["role"]) == (label, "user")
                assert answer["text"].splitlines()[3].startswith(f"- [{label}")
                context = call("/v1/context", asks, {"query": f"heron of {standing}"})[
                    "text"
                ]
                (line,) = [
                    one for one in context.splitlines() if f"of {standing} " in one
                ]
                assert line.startswith((f"- [{label}, ", f"- [{label}] "))

    for standing in tokens:
        text = TURN["text"].format(standing)
        call(
            "/v1/turns",
            standing,
            {"turns": [TURN | {"text": text, "session": f"of {standing}"}]},
        )
    check()
    world.process.kill()
    world.process.wait()
    world.start()
    check()
    call("/v1/flush", "chat", {})
    check()
    for fact in call("/v1/recall", "chat", {"query": "heron mill", "kinds": ["fact"]})[
        "hits"
    ]:
        why = call(f"/v1/memories/{fact['key']}/why", "tool")
        assert (
            why["provenance"]
            == why["turns"][0]["provenance"]
            == LABELS[fact["session"].removeprefix("of ")]
        )
