"""Requests generated from the OpenAPI document: whatever they hold, no 5xx.

The real operations answer on a socket, in a vault of their own; answers fit their
schemas.
"""

from __future__ import annotations

import json
import threading
from urllib.parse import quote, urlencode

import jsonschema
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from engram.memory import VaultMemory
from engram.serve.http import openapi
from tests.fakes.answers import ask, serving, settings_in
from tests.size import examples

DOCUMENT = openapi()
CALLS = [
    (path, method, described)
    for path, methods in DOCUMENT["paths"].items()
    for method, described in methods.items()
]
ODD = st.sampled_from(
    ["", " ", "\0", "\ud800", "..", "../x", "%", "#^t1", "2026-13-45"]
)
KNOWN = st.sampled_from(["main", "Carla", "m1", "active", "open", "fact", "2026-11-23"])
TEXTS = st.one_of(st.text(max_size=12), ODD, KNOWN)
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)
    ),
    max_leaves=5,
)


class Answers:
    """A vault, asked by one thread at a time."""

    def __init__(self, memory):
        self.memory = memory
        self.busy = threading.Lock()

    def call(self, name, params, standing="chat"):
        with self.busy:
            return self.memory.call(name, params, standing)

    def unready(self):
        return ""


def values(schema):
    """Values that fit a schema, and now and then others."""
    return st.one_of(fitting(schema), fitting(schema), fitting(schema), ANY)


def fitting(schema):
    kind = schema.get("type")
    if isinstance(kind, list) and kind[1:] == ["null"]:
        return st.none() | fitting({**schema, "type": kind[0]})
    if kind == "object":
        named = {key: values(one) for key, one in schema.get("properties", {}).items()}
        required = {key: named[key] for key in schema.get("required", ())}
        others = {key: one for key, one in named.items() if key not in required}
        return st.fixed_dictionaries(required, optional=others)
    if kind == "array":
        return st.lists(values(schema["items"]), max_size=3)
    least, most = schema.get("minimum", -9), schema.get("maximum", 9)
    plain = {
        "integer": st.integers(int(least), int(most)),
        "number": st.floats(least, most),
        "boolean": st.booleans(),
        "string": TEXTS,
    }
    return plain[kind] if isinstance(kind, str) and kind in plain else ANY


@pytest.fixture(scope="module")
def socket(tmp_path_factory):
    home = tmp_path_factory.mktemp("openapi")
    settings = settings_in(home / "home", home / "vault")
    memory = VaultMemory(settings)
    memory.start()
    memory.catch_up()
    memory.call("remember", {"text": "Carla is allergic to peanuts."})
    memory.call("observe", {"turns": [{"id": "m1", "text": "I live in Porto."}]})
    with serving(Answers(memory), settings) as path:
        yield path
    memory.close()


def send(socket, method, path, query, body):
    target = path + (
        f"?{urlencode(query, doseq=True, errors='replace')}" if query else ""
    )
    raw = json.dumps(body).encode() if body is not None else b""
    lines = [
        f"{method.upper()} {target} HTTP/1.1",
        "Host: engram",
        "Content-Type: application/json",
        f"Content-Length: {len(raw)}",
    ]
    return ask(socket, "\n".join(lines), raw)


@pytest.mark.parametrize(
    ("path", "method", "described"),
    CALLS,
    ids=[one["operationId"] for *_, one in CALLS],
)
def test_no_request_breaks_the_server(socket, path, method, described):
    params = described["parameters"]
    queries = {
        one["name"]: values(one["schema"]) for one in params if one["in"] == "query"
    }
    body = described.get("requestBody", {}).get("content", {}).get("application/json")
    answered = next(iter(described["responses"].values()))
    fits = answered["content"]["application/json"]["schema"]

    @examples(40, 4, suppress_health_check=list(HealthCheck), derandomize=True)
    @given(
        st.one_of(TEXTS, KNOWN).filter(bool),
        st.fixed_dictionaries({}, optional=queries),
        values(body["schema"]) if body else st.none(),
    )
    def play(name, query, sent):
        place = path.replace("{id}", quote(name, safe="", errors="replace"))
        status, _, answer = send(socket, method, place, query, sent)
        assert status < 500, answer
        if status < 300:
            whole = {"components": DOCUMENT["components"], **fits}
            jsonschema.validate(answer, whole)
        else:
            assert answer["error"]["what"]

    play()
