"""The tokens of the port: which there are, and in which standing a caller comes."""

from __future__ import annotations

import json

import pytest

from engram.core.records import STANDINGS
from engram.operations.table import OPERATIONS
from engram.serve import auth
from tests.fakes.answers import (
    FakeAnswers,
    ask,
    free_port,
    serving,
    settings_in,
    value_of,
)


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    """One server on a port: its answers, port and tokens."""
    home = tmp_path_factory.mktemp("home")
    settings = settings_in(home, home / "vault")
    answers, number = FakeAnswers(), free_port()
    with serving(answers, settings, number) as path:
        tokens = {
            name: (settings.state / file).read_text().strip()
            for name, file in auth.TOKENS.items()
        }
        yield answers, number, tokens, path


def asked(port, operation, token):
    """The status of a call of `operation` with `token`."""
    head = [
        f"{operation.method} {operation.path.replace('{id}', '01K')} HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
    ]
    head.append(f"Authorization: Bearer {token}")
    body = b""
    if operation.method in {"POST", "PATCH"}:
        given = {
            param.name: value_of(param)
            for param in operation.params
            if param.required and f"{{{param.name}}}" not in operation.path
        }
        body = json.dumps(given).encode()
        head += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return ask(port, "\n".join(head), body)


# row: X17
def test_the_token_tells_the_standing():
    access = auth.tcp_access(
        80, {"chat": "a" * 64, "import": "b" * 64, "tool": "c" * 64}
    )
    for name, token in access.tokens.items():
        assert access.standing([(b"authorization", b"Bearer " + token)]) == name
    wrong = [
        b"",
        b"Bearer ",
        b"Bearer " + b"d" * 64,
        b"bearer " + b"a" * 64,
        b"a" * 64,
        b"Bearer " + b"a" * 65,
    ]
    for given in wrong:
        assert access.standing([(b"authorization", given)]) is None
    assert access.standing([(b"authorization", b"Bearer " + b"a" * 64)] * 2) is None
    assert access.standing([]) is None


# row: X17
def test_whoever_comes_through_the_socket_is_a_chatbot(port):
    """Its mode lets only this user in."""
    assert auth.unix_access().standing([]) == "chat"
    *_, path = port
    assert ask(path, "DELETE /v1/memories/01K HTTP/1.1\nHost: engram")[0] == 200


# row: X27
@pytest.mark.parametrize("standing", STANDINGS)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_importers_and_tools_reach_only_what_reads_and_adds(port, standing, operation):
    """The refusal says why, and nothing behind the door hears of the call."""
    answers, number, tokens, _ = port
    answers.calls.clear()
    status, _, body = asked(number, operation, tokens[standing])
    if standing in operation.callers:
        assert status in {200, 202}, body
        assert [name for name, _ in answers.calls] == [operation.name]
    else:
        assert status == 403
        assert body["error"]["what"].endswith(
            f" may add and read, not {operation.name}"
        )
        assert not answers.calls
