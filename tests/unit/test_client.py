"""The client against a real server on loopback: forms, headers, budget, addresses,
words.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from engram.config import ModelSettings
from engram.core.policy import ModelPolicy
from engram.errors import BudgetSpentError, ConfigError, ModelError
from engram.llm.api_forms import (
    error_message,
    extract_json,
)
from engram.llm.budget import Budget, DailySpend
from engram.llm.client import Model, ReplayedModel
from engram.llm.endpoint import DEFAULT_URL, RateLimitedError
from tests.fakes.openai_server import (
    FakeServer,
    fenced,
    redirect,
    shape,
    status,
)

NOW = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "number"}},
    "required": ["a"],
    "additionalProperties": False,
}
POLICY = replace(ModelPolicy(), timeout_seconds=5)
KEY = "sk-canary-0123456789"


def model(fake, *, api="auto", key=KEY, policy=POLICY, spend=None, clock=lambda: NOW):
    return Model(
        ModelSettings("fake", fake.url, key, api), policy, spend or Budget(), clock
    )


def ask(one, system="be brief", user="how many?"):
    return one.complete("count", system, user, SCHEMA, 0.3)


@pytest.fixture
def fake(running):
    running.script('{"a": 1}')
    running.requests.clear()
    return running


# The ladder


def test_the_responses_form_is_asked_not_to_store(fake):
    """The body is exactly this, with `store` false."""
    assert ask(model(fake, api="responses")) == '{"a": 1}'
    assert fake.requests[0].path == "/v1/responses"
    assert fake.requests[0].body == {
        "model": "fake",
        "temperature": 0.3,
        "instructions": "be brief",
        "input": "how many?",
        "text": {
            "format": {
                "type": "json_schema",
                "name": "count",
                "strict": True,
                "schema": SCHEMA,
            }
        },
        "store": False,
    }


def test_the_default_address_starts_with_responses_and_any_other_with_chat():
    """`api` overrides the choice."""
    local = "http://127.0.0.1:1/v1"
    starts = {
        (base, api): str(
            Model(
                ModelSettings("m", base, KEY, api), POLICY, Budget(), lambda: NOW
            ).form
        )
        for base in (None, DEFAULT_URL + "/", local)
        for api in ("auto", "responses", "chat")
    }
    assert starts == {
        (None, "auto"): "responses/schema",
        (None, "responses"): "responses/schema",
        (None, "chat"): "chat/schema",
        (DEFAULT_URL + "/", "auto"): "responses/schema",
        (DEFAULT_URL + "/", "responses"): "responses/schema",
        (DEFAULT_URL + "/", "chat"): "chat/schema",
        (local, "auto"): "chat/schema",
        (local, "responses"): "responses/schema",
        (local, "chat"): "chat/schema",
    }


@pytest.mark.parametrize(
    ("lacks", "form", "asked"),
    [
        ({"responses"}, "chat/schema", 2),
        ({"responses", "json_schema"}, "chat/object", 3),
        ({"responses", "json_schema", "json_object"}, "chat/plain", 4),
        ({"json_schema"}, "chat/object", 3),
    ],
)
def test_a_form_the_server_lacks_steps_down_and_the_one_that_worked_is_remembered(
    lacks, form, asked
):
    """Each rung is asked once; the second question goes straight to the form that
    worked.
    """
    with FakeServer(lacks=lacks) as fake:
        fake.script('{"a": 1}')
        one = model(fake, api="responses")
        assert ask(one) == '{"a": 1}'
        assert (str(one.form), len(fake.asked)) == (form, asked)
        ask(one)
        assert len(fake.asked) == asked + 1
        assert (one.spent.calls, one.spent.failures) == (asked + 1, 0)


def test_below_the_schema_rung_the_schema_stands_in_the_prompt():
    """A server without reply formats still learns the shape."""
    with FakeServer(lacks={"json_schema", "json_object"}) as fake:
        fake.script(fenced({"a": 1}))
        assert ask(model(fake)) == '{"a": 1}'
        assert json.dumps(SCHEMA) in fake.asked[-1]["messages"][0]["content"]
        assert "response_format" not in fake.asked[-1]


def test_a_model_without_temperature_is_asked_without():
    """The refusal is remembered."""
    with FakeServer(lacks={"temperature"}) as fake:
        one = model(fake)
        ask(one)
        ask(one)
        assert ["temperature" in body for body in fake.asked] == [True, False, False]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (401, "response_format"),
        (500, "response_format is not supported"),
        (429, "json_schema"),
        (400, "Bad Request"),
        (404, "The model `response` does not exist"),
    ],
)
def test_other_faults_do_not_step_down(fake, code, words):
    """Only a refused form moves to the next one."""
    fake.script(status(code, words))
    one = model(fake, api="responses")
    with pytest.raises(ModelError):
        ask(one)
    assert str(one.form) == "responses/schema"
    assert len(fake.asked) == 1


# What leaves the machine


def test_only_our_own_headers_are_sent(fake, monkeypatch):
    """Neither the library's telemetry nor keys and headers of the environment reach the
    endpoint.
    """
    monkeypatch.setenv("OPENAI_API_KEY", "sk-environment")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "sk-admin")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-environment")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-environment")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv(
        "OPENAI_CUSTOM_HEADERS", "X-Tracked: yes\nAuthorization: Bearer sk-custom"
    )
    ask(model(fake))
    headers = dict(fake.requests[0].headers)
    assert headers.pop("authorization") == f"Bearer {KEY}"
    assert set(headers) == {
        *(
            "host",
            "connection",
            "content-type",
            "content-length",
            "accept",
            "accept-encoding",
            "user-agent",
        )
    }
    assert "environment" not in str(headers)


def test_a_redirect_is_not_followed(fake):
    """The key goes to its origin only."""
    with FakeServer() as other:
        fake.script(redirect(other.url + "/chat/completions"))
        with pytest.raises(ModelError, match=r"elsewhere.*final address"):
            ask(model(fake))
        assert other.requests == []


# Addresses


@pytest.mark.parametrize(
    "address",
    [
        "http://example.org/v1",
        "http://10.0.0.5:8000/v1",
        "http://localhost.example.org/v1",
        "http://0.0.0.0:8000/v1",
        "http://169.254.169.254/latest",
        "https://169.254.169.254/v1",
        "https://2852039166/v1",
        "https://0xa9fea9fe/v1",
        "https://[fe80::1]/v1",
        "https://[::ffff:169.254.169.254]/v1",
        "https://metadata.google.internal/v1",
        "https://metadata.google.internal./v1",
        "https://100.100.100.200/v1",
        "https://user:pass@example.org/v1",
        "https://example.org/v1?key=1",
        "https://example.org/v1#x",
        "ftp://example.org/v1",
        "file:///etc/passwd",
        "example.org/v1",
        "https://",
        "https://exa mple.org/v1",
        "https://example.org:99999/v1",
        "https://[::1/v1",
        "",
    ],
)
def test_an_address_that_must_not_be_used_is_refused_at_once(address):
    """Plain http beyond loopback, the machine's own network, and what is no address."""
    with pytest.raises(ConfigError):
        Model(ModelSettings("m", address, KEY), POLICY, Budget(), lambda: NOW)


@pytest.mark.parametrize(
    "key", [None, "", "sk with blank", "sk\nX-Header: 1", "schlüssel"]
)
def test_a_key_that_cannot_work_is_refused_without_being_shown(key):
    """The default address needs a key, and a key has no blanks, line ends or umlauts."""
    with pytest.raises(ConfigError) as caught:
        Model(ModelSettings("m", None, key), POLICY, Budget(), lambda: NOW)
    assert not key or key not in str(caught.value)


# Faults in words


def test_a_rate_limit_says_how_long_to_wait(fake):
    """Seconds or a date; nonsense is None."""
    one = model(fake)
    waits = []
    for value in (
        "7",
        "0.5",
        "Wed, 04 Mar 2026 12:01:00 GMT",
        "Wed, 04 Mar 2026 11:00:00 GMT",
        "soon",
        "-3",
        "9" * 400,
    ):
        fake.script(status(429, "slow down", retry_after=value))
        with pytest.raises(RateLimitedError) as caught:
            ask(one)
        waits.append(caught.value.retry_after)
    assert waits == [7.0, 0.5, 60.0, 0.0, None, None, float("inf")]


def test_a_server_that_is_not_there_is_named():
    """Connection refused asks whether it runs."""
    one = Model(
        ModelSettings("m", "http://127.0.0.1:1/v1"), POLICY, Budget(), lambda: NOW
    )
    with pytest.raises(
        ModelError, match=r"Cannot connect.*127\.0\.0\.1:1.*server runs"
    ) as caught:
        ask(one)
    assert caught.value.retryable
    assert one.spent == DailySpend("2026-03-04", calls=1, failures=1)


def test_the_servers_words_are_cut_and_cleaned():
    """Terminal escapes, line ends and novels stay out of our messages."""
    words = error_message(
        json.dumps({"error": {"message": "\x1b[31mred\nline " + "x" * 999}}).encode(),
        None,
    )
    assert words.startswith("[31mred line xxx")
    assert len(words) == 200
    assert error_message(b"\xff\xfe plain", None).endswith("plain")
    assert error_message(b'{"error": "model gone"}', None) == "model gone"
    assert error_message(b'{"error": {"message": 5}}', None) == ""
    assert error_message(b"[[", None) == "[["


# Replies


# row: A2
@pytest.mark.parametrize(
    ("text", "json_text"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ('  {"a": 1}\n', '{"a": 1}'),
        ('```json\n{"a": 1}\n```', '{"a": 1}'),
        ('```\n{"a": 1}\n``` done', '{"a": 1}'),
        ('``` {"a": 1} ```', '{"a": 1}'),
        ('```json\n{"a": 1}', '{"a": 1}'),
        ('Sure! {"a": 1} Anything else?', '{"a": 1}'),
        ('<think>perhaps {"a": 2}</think>{"a": 1}', '{"a": 1}'),
        ('{"a": "```", "b": "</think>"}', '{"a": "```", "b": "</think>"}'),
        ("no idea", "no idea"),
        ("", ""),
    ],
)
def test_fences_thoughts_and_talk_are_taken_off(text, json_text):
    """A fenced block, else from the first brace to the last."""
    assert extract_json(text) == json_text


def test_a_reply_in_several_parts_is_joined(fake):
    """The Responses API may split the text."""
    parts = [
        {"type": "output_text", "text": '{"a"'},
        {"type": "output_text", "text": ": 1}"},
    ]
    fake.script(shape({"output": [{"type": "message", "content": parts}]}))
    assert ask(model(fake, api="responses")) == '{"a": 1}'


# The fake server itself


# The budget


# row: X24
def test_a_spent_budget_of_calls_stops_before_the_call(fake):
    """The third of two calls is not made; tomorrow it is."""
    day = [NOW]
    one = model(fake, policy=replace(POLICY, calls_per_day=2), clock=lambda: day[0])
    ask(one)
    ask(one)
    with pytest.raises(BudgetSpentError, match="2 of 2 model calls") as caught:
        ask(one)
    assert caught.value.retryable
    assert len(fake.asked) == 2
    assert (one.spent.calls, one.spent.failures) == (2, 0)
    day[0] += timedelta(days=1)
    ask(one)
    assert one.spent.calls == 1


# row: X24
def test_a_prompt_that_passes_the_token_budget_is_not_sent(fake):
    """The estimate counts before, the server's figure after."""
    one = model(fake, policy=replace(POLICY, tokens_per_day=500))
    ask(one)
    assert (one.spent.tokens_in, one.spent.tokens_out) == (
        len("be brief\nhow many?") // 4,
        len('{"a": 1}') // 4,
    )
    with pytest.raises(BudgetSpentError, match="model tokens"):
        ask(one, user="x" * 2000)
    assert len(fake.asked) == 1


# Recordings


# row: X2
def test_calls_are_recorded_without_secrets_and_answer_again_without_a_server(
    fake, tmp_path
):
    """Each question by its words; an unknown one is an error in words."""
    secret = "sk-proj-Zx81kQmPq4TtV9bLr2WcNs7YdFa3HuJe6GiKo0RxTbM5nE"
    fake.script('{"a": 1}', '{"a": 2}')
    settings = ModelSettings("m", fake.url, record=tmp_path / "calls")
    recorded = Model(settings, POLICY, Budget(), lambda: NOW)
    ask(recorded, user=f"the key is {secret}")
    ask(recorded, user="how many?")
    raw = (tmp_path / "calls" / "calls.jsonl").read_text()
    assert secret not in raw
    rows = [json.loads(line) for line in raw.splitlines()]
    assert [row["reply"] for row in rows] == ['{"a": 1}', '{"a": 2}']
    assert all(row["tokens"][0] > 0 for row in rows)

    replayed = ReplayedModel(tmp_path / "calls", Budget(), lambda: NOW)
    assert ask(replayed, user="how many?") == '{"a": 2}'
    assert ask(replayed, user=f"the key is {secret}") == '{"a": 1}'
    with pytest.raises(ModelError, match="No reply to this question"):
        ask(replayed, user="who else?")
    assert replayed.spent.calls == 0
