"""What a model server can do wrong, at the call site of extraction, with the real
client on a real socket.

Every fault is a ModelError in bounded time, or a valid extraction where the reply can
be used after all.
"""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from harness import FULL

from engram.config import ModelSettings
from engram.core.policy import ExtractionPolicy, ModelPolicy
from engram.core.records import Extraction, Turn
from engram.errors import ModelError
from engram.llm.budget import Budget
from engram.llm.client import Model
from engram.llm.endpoint import RateLimitedError
from engram.llm.tasks import extract
from tests.fakes.openai_server import (
    FakeServer,
    Reply,
    cut,
    drip,
    fact,
    flood,
    garbage,
    hang,
    page,
    redirect,
    refusal,
    shape,
    status,
    truncated,
)

NOW = datetime(2026, 3, 4, 9, 30, tzinfo=UTC)
TURNS = (
    Turn(
        "a",
        "s",
        "user",
        "I moved to Lisbon last Friday, and my sister came along.",
        NOW,
        speaker="Ana",
    ),
)
MOVED = fact("t1", "I moved to Lisbon", "Ana moved to Lisbon.")
GOOD = json.dumps({"facts": [MOVED]})
COMPLETION = json.dumps({"choices": [{"message": {"content": GOOD}}]}).encode()
SLACK = 20.0
"""Seconds that a loaded machine may add to a timeout."""

# Reply and whether the batch may be tried again, by name.
FAULTS = {
    "bad request": (status(400, "something is wrong"), False),
    "bad key": (status(401, "Incorrect API key"), True),
    "no credit": (status(402, "pay first"), True),
    "forbidden": (status(403, "not for you"), True),
    "no such route": (status(404), True),
    "no such model": (
        status(404, "The model `m` does not exist", error="model_not_found"),
        True,
    ),
    "method not allowed": (status(405), True),
    "server timed out": (status(408), True),
    "conflict": (status(409), True),
    "prompt too large": (status(413), False),
    "context too long": (
        status(
            400,
            "maximum context length is 8192 tokens",
            error="context_length_exceeded",
        ),
        False,
    ),
    "unprocessable": (status(422, "no"), False),
    "teapot": (status(418), False),
    "rate limit": (status(429, "slow down", retry_after=7), True),
    "rate limit, nonsense to wait": (
        status(429, "slow down", retry_after="a while"),
        True,
    ),
    "quota": (
        status(429, "You exceeded your current quota", error="insufficient_quota"),
        True,
    ),
    "server error": (status(500), True),
    "server error as a page": (page(502), True),
    "overloaded": (status(503, retry_after="Wed, 21 Oct 2026 07:28:00 GMT"), True),
    "huge error": (Reply(status=500, raw=b"x" * 5_000_000), True),
    "garbage error": (Reply(status=500, raw=bytes(range(256))), True),
    "nested error": (Reply(status=400, raw=b'{"error":' * 50_000), False),
    "redirect": (redirect("http://127.0.0.1:1/v1"), True),
    "redirect to metadata": (redirect("http://169.254.169.254/latest/meta-data"), True),
    "no content": (Reply(status=204, raw=b""), True),
    "closed before the status line": (cut(0), True),
    "closed at once": (Reply(raw=GOOD.encode(), cut=1), True),
    "closed in the body": (cut(20, GOOD), True),
    "empty body": (Reply(raw=b""), True),
    "garbage": (garbage(), True),
    "a web page": (page(), True),
    "not UTF-8": (Reply(raw=b'{"choices": "\xff\xfe"}'), True),
    "compressed though not asked for": (
        Reply(raw=gzip.compress(COMPLETION), headers={"Content-Encoding": "gzip"}),
        True,
    ),
    "lies about its length": (
        Reply(raw=b"{}", headers={"Content-Length": "9999"}),
        True,
    ),
    "header nonsense": (Reply(raw=b"{}", headers={"Content-Length": "many"}), True),
    "deep nesting": (Reply(raw=b"[" * 200_000), True),
    "a list": (shape([]), True),
    "null": (shape(None), True),
    "a number": (shape(5), True),
    "an empty object": (shape({}), True),
    "no choices": (shape({"choices": [], "output": []}), True),
    "choices of another type": (shape({"choices": {"0": 1}, "output": {"0": 1}}), True),
    "a choice of another type": (
        shape({"choices": ["text"], "output": ["text"]}),
        True,
    ),
    "a message of another type": (
        shape({"choices": [{"message": "hi"}], "output": [{"type": "message"}]}),
        True,
    ),
    "content of another type": (
        shape(
            {
                "choices": [{"message": {"content": {"a": 1}}}],
                "output": [{"type": "message", "content": [{"text": 7}]}],
            }
        ),
        True,
    ),
    "usage of another type": (
        shape({"choices": [], "output": [], "usage": "lots"}),
        True,
    ),
    "an error with status 200": (shape({"error": {"message": "overloaded"}}), True),
    "refusal": (refusal(), False),
    "content filter": (Reply("", finish="content_filter"), False),
    "truncated": (truncated(GOOD), True),
    "truncated without a word": (Reply(GOOD[: len(GOOD) // 2]), True),
    "empty text": (Reply(""), True),
    "blank text": (Reply(" \n "), True),
    "prose": (Reply("Ana moved to Lisbon."), True),
    "an echo of the question": (lambda body: Reply(json.dumps(body)), True),
    "only talk in a fence": (Reply("```\nnothing\n```"), True),
    "a huge text": (Reply("x" * 2_000_000), True),
    "a huge body": (Reply(raw=b'{"choices": [' + b" " * 9_000_000 + b"]}"), True),
}
SLOW = {
    "hang": hang(),
    "drip of the body": drip(),
    "drip of the headers": drip(headers=True),
}
# Reply, number of facts kept, and reasons of what is dropped, by name.
USABLE = {
    "nothing": (Reply('{"facts": []}'), 0, {}),
    "with a byte order mark": (Reply("\ufeff" + GOOD), 1, {}),
    "without usage": (Reply(GOOD, usage=False), 1, {}),
    "unknown finish": (Reply(GOOD, finish="eos"), 1, {}),
    "NaN": (
        Reply(
            '{"facts": [{"turn": "t1", "text": "A", "confidence": NaN, "importance": -Infinity}]}'
        ),
        1,
        {},
    ),
    "lone surrogate": (
        Reply('{"facts": [{"turn": "t1", "text": "A\\ud83d", "quote": "\\udc00"}]}'),
        1,
        {},
    ),
}


@pytest.fixture(scope="module")
def fake():
    with FakeServer() as server:
        yield server


APIS = ("chat", "responses")
EACH = [
    (name, api)
    for number, name in enumerate(FAULTS)
    for api in (APIS if FULL else APIS[number % 2 :][:1])
]
"""Each fault in one of the two forms at least."""


@pytest.fixture(params=APIS)
def api(request):
    return request.param


def asking(base_url, api="chat", *, seconds=20.0, spend=None):
    policy = replace(ModelPolicy(), timeout_seconds=seconds)
    model = Model(
        ModelSettings("m", base_url, "sk-canary", api),
        policy,
        spend or Budget(),
        lambda: NOW,
    )
    return extract(TURNS, model, ExtractionPolicy(), policy)


@pytest.mark.parametrize(("name", "api"), EACH)
def test_a_fault_is_a_model_error_in_words(fake, api, name):
    """What happened, where, what to do, and whether the batch may be tried again; never
    another exception.
    """
    step, retryable = FAULTS[name]
    fake.script(step)
    with pytest.raises(ModelError) as caught:
        asking(fake.url, api)
    assert "within" not in caught.value.what  # nothing waits for the timeout
    assert caught.value.retryable is retryable
    assert caught.value.what
    assert caught.value.fix
    assert "127.0.0.1" in caught.value.where
    assert "sk-canary" not in str(caught.value)
    assert len(str(caught.value)) < 600
    assert isinstance(caught.value, RateLimitedError) is (caught.value.status == 429)


@pytest.mark.parametrize("name", SLOW)
def test_a_silent_or_dripping_server_costs_no_more_than_the_timeout(fake, api, name):
    """The limit is on the whole exchange, not on the wait for the next byte."""
    fake.script(SLOW[name])
    started = time.monotonic()
    with pytest.raises(ModelError, match=r"within 0\.4 seconds"):
        asking(fake.url, api, seconds=0.4)
    assert time.monotonic() - started < 0.4 + SLACK


@pytest.mark.parametrize(
    "step", [flood(), FAULTS["a huge body"][0], FAULTS["a huge text"][0]]
)
def test_a_reply_is_read_to_the_cap_and_no_further(fake, api, step):
    """A body without an end is left, long before the timeout."""
    fake.script(step)
    with pytest.raises(ModelError, match="too large"):
        asking(fake.url, api)


@pytest.mark.parametrize("name", USABLE)
def test_a_reply_that_can_be_used_is_used(fake, api, name):
    """What is sound in it is kept; the rest is counted."""
    step, kept, dropped = USABLE[name]
    fake.script(step)
    found = asking(fake.url, api)
    assert isinstance(found, Extraction)
    assert (len(found.candidates), dict(found.dropped)) == (kept, dropped)
    assert all(candidate.quote in TURNS[0].text for candidate in found.candidates)


def test_a_listener_that_never_accepts_is_a_model_error():
    """The connection is made by the kernel and nobody reads."""
    with (
        socket.create_server(("127.0.0.1", 0), backlog=1) as deaf,
        pytest.raises(ModelError, match="within"),
    ):
        asking(f"http://127.0.0.1:{deaf.getsockname()[1]}/v1", seconds=0.3)


def test_a_server_that_speaks_another_protocol_is_a_model_error():
    """A mail server on the port; and https to a server that speaks plain http."""
    with socket.create_server(("127.0.0.1", 0)) as other:

        def greet():
            for _ in range(2):
                peer, _ = other.accept()
                with peer:
                    peer.sendall(b"220 mail ready\r\n")
                    peer.recv(65536)

        thread = threading.Thread(target=greet, daemon=True)
        thread.start()
        for scheme in ("http", "https"):
            with pytest.raises(ModelError):
                asking(f"{scheme}://127.0.0.1:{other.getsockname()[1]}/v1", seconds=5)
        thread.join()


def test_a_name_that_does_not_resolve_is_a_model_error():
    """`.invalid` names nothing by definition."""
    with pytest.raises(ModelError):
        asking("https://no-such-host.invalid/v1", seconds=10)


def test_after_any_fault_the_same_model_works_again(fake):
    """No fault leaves anything behind: the next question is answered."""
    policy = replace(ModelPolicy(), timeout_seconds=0.5, re_asks=0)
    model = Model(ModelSettings("m", fake.url), policy, Budget(), lambda: NOW)
    for step in (hang(), cut(5), status(500), garbage(), drip(headers=True)):
        fake.script(step)
        with pytest.raises(ModelError):
            extract(TURNS, model, ExtractionPolicy(), policy)
    assert model.spent.failures == 5
    patient = Model(ModelSettings("m", fake.url), ModelPolicy(), Budget(), lambda: NOW)
    fake.script(GOOD)
    assert (
        len(extract(TURNS, patient, ExtractionPolicy(), ModelPolicy()).candidates) == 1
    )
