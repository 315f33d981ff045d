"""HTTP: the routes of the table, the doors and who may come in, faults, metrics, the
document.
"""

from __future__ import annotations

import json
import os
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from urllib.parse import quote

import pytest

from engram.errors import (
    BusyError,
    EngramError,
    ForbiddenError,
    StorageError,
)
from engram.serve import auth, socket_client
from engram.serve.http import metric_lines
from engram.serve.server import peer_uid
from tests.fakes.answers import FakeAnswers, ask, free_port, serving, settings_in
from tests.fakes.world import until

JSON = "Content-Type: application/json"


@pytest.fixture(scope="module")
def doors(tmp_path_factory):
    """One server with both doors: its answers, socket, port and token."""
    home = tmp_path_factory.mktemp("home")
    settings = settings_in(home, home / "vault")
    answers, port = FakeAnswers(), free_port()
    with serving(answers, settings, port) as path:
        yield answers, path, port, (settings.state / "token").read_text().strip()


@pytest.fixture
def fresh(doors):
    answers, *rest = doors
    answers.calls.clear()
    answers.results = FakeAnswers().results
    answers.reason = ""
    return answers, *rest


def post(address, path, value, *headers, host="engram"):
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    lines = [
        f"POST {path} HTTP/1.1",
        f"Host: {host}",
        f"Content-Length: {len(body)}",
        *headers,
    ]
    return ask(address, "\n".join(lines), body)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/recall"),
        ("POST", "/mcp"),
        *(("GET", f"/{one}") for one in ("metrics", "openapi.json", "readyz", "x")),
    ],
)
def test_no_route_of_the_port_answers_without_the_token(fresh, method, path):
    """Not metrics, not the document, not what does not exist."""
    answers, _, port, token = fresh
    wrong = [
        "",
        "Bearer",
        "Bearer ",
        f"Bearer {token[:-1]}",
        f"Bearer {token}0",
        f"bearer {token}",
        f"Basic {token}",
        token,
    ]
    for value in wrong:
        lines = [
            f"{method} {path} HTTP/1.1",
            f"Host: 127.0.0.1:{port}",
            JSON,
            f"Authorization: {value}",
            "Content-Length: 2",
        ]
        status, headers, body = ask(port, "\n".join(lines), b"{}")
        assert (status, body["error"]["code"], headers["www-authenticate"]) == (
            401,
            "unauthorised",
            "Bearer",
        )
    status, *_ = ask(
        port,
        f"{method} {path} HTTP/1.1\nHost: 127.0.0.1:{port}\n{JSON}\nContent-Length: 2",
        b"{}",
    )
    assert status == 401
    assert answers.calls == []


def matrix():
    """Forty pairs of Host and Origin with what the port says to them; `P` is the port,
    `Q` another.
    """
    hosts = {
        "127.0.0.1:P": True,
        "localhost:P": True,
        "LOCALHOST:P": True,
        "127.0.0.1": False,
        "localhost:Q": False,
        "[::1]:P": False,
        "evil.example:P": False,
        "127.0.0.1.evil.example:P": False,
    }
    origins = {
        None: True,
        "http://localhost:P": True,
        "https://localhost:P": False,
        "http://localhost:Q": False,
        "null": False,
    }
    return [
        (host, origin, good and fine)
        for host, good in hosts.items()
        for origin, fine in origins.items()
    ]


@pytest.mark.parametrize(("host", "origin", "passes"), matrix())
def test_host_and_origin_must_be_ours_exactly(fresh, host, origin, passes):
    """A page of another site cannot speak to the port, not even with the token."""
    _, _, port, token = fresh

    def named(text):
        return text.replace("P", str(port)).replace("Q", str(port + 1))

    lines = [f"Host: {named(host)}", f"Authorization: Bearer {token}"]
    lines += [f"Origin: {named(origin)}"] if origin else []
    status, _, body = ask(port, "\n".join(["GET /healthz HTTP/1.1", *lines]))
    assert status == (200 if passes else 403), body


@pytest.mark.parametrize(
    ("site", "passes"),
    [("same-origin", 1), ("none", 1), ("same-site", 0), ("cross-site", 0), ("x", 0)],
)
def test_requests_from_other_sites_are_refused(fresh, site, passes):
    _, _, port, token = fresh
    lines = [
        f"Host: 127.0.0.1:{port}",
        f"Authorization: Bearer {token}",
        f"Sec-Fetch-Site: {site}",
    ]
    assert ask(port, "\n".join(["GET /healthz HTTP/1.1", *lines]))[0] == (
        200 if passes else 403
    )


def test_the_unix_socket_answers_no_browser_and_no_other_name(fresh):
    _, path, *_ = fresh
    assert ask(path, "GET /healthz HTTP/1.1\nHost: localhost")[0] == 200
    assert (
        ask(path, "GET /healthz HTTP/1.1\nHost: localhost\nOrigin: http://localhost")[0]
        == 403
    )
    assert ask(path, "GET /healthz HTTP/1.1\nHost: evil.example")[0] == 403


def test_nothing_is_shared_with_other_origins(fresh):
    """No answer carries a CORS header, and a preflight is refused."""
    _, _, port, token = fresh
    lines = [
        f"Host: 127.0.0.1:{port}",
        f"Authorization: Bearer {token}",
        f"Origin: http://127.0.0.1:{port}",
    ]
    for method in ("GET", "OPTIONS"):
        status, headers, _ = ask(
            port, "\n".join([f"{method} /healthz HTTP/1.1", *lines])
        )
        assert (status == 200) is (method == "GET")
        assert not [name for name in headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("application/json", 200),
        ("Application/JSON; charset=utf-8", 200),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("application/jsonx", 415),
        ("", 415),
    ],
)
def test_a_body_must_be_declared_as_json(fresh, kind, status):
    """What a web form can send without asking is refused."""
    _, path, *_ = fresh
    assert (
        post(path, "/v1/recall", {"query": "x"}, f"Content-Type: {kind}")[0] == status
    )


def test_a_request_without_a_body_needs_no_type(fresh):
    assert ask(fresh[1], "POST /v1/flush HTTP/1.1\nHost: engram")[0] == 200


def test_a_body_that_is_too_large_is_refused_however_it_comes(tmp_path):
    """By its announced length before it is read, in pieces as soon as they are too
    many.
    """
    vault = tmp_path / "v"
    settings = settings_in(tmp_path / "home", vault)
    most = settings.policy.serve.body_bytes
    with serving(FakeAnswers(), settings) as path:
        head = f"POST /v1/recall HTTP/1.1\nHost: engram\n{JSON}\n"
        assert ask(path, head + f"Content-Length: {most + 1}")[0] == 413
        chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
        assert (
            ask(
                path,
                head + "Transfer-Encoding: chunked",
                chunk * (most // 0x100000) + b"1\r\n \r\n0\r\n\r\n",
            )[0]
            == 413
        )


def test_a_refusal_is_heard_though_the_body_comes_after_it(fresh):
    """A connection that is closed with unread bytes would be reset."""
    _, path, port, _ = fresh
    for address, head, status in (
        (path, "POST /v1/recall HTTP/1.1\nHost: engram\nContent-Type: text/plain", 415),
        (port, f"POST /v1/recall HTTP/1.1\nHost: 127.0.0.1:{port}\n{JSON}", 401),
    ):
        line = (
            socket_client.connect(address)
            if isinstance(address, str)
            else socket.create_connection(("127.0.0.1", address))
        )
        with line:
            raw = f"{head}\nContent-Length: 2\n\n".replace("\n", "\r\n").encode()
            line.sendall(raw)
            time.sleep(0.05)
            line.sendall(b"{}")
            line.settimeout(60)
            answer = b""
            while part := line.recv(65536):
                answer += part
        assert answer.startswith(f"HTTP/1.1 {status} ".encode())
        assert b"about:blank" in answer


def test_a_body_that_never_ends_is_refused_and_one_broken_off_is_no_fault(
    tmp_path, caplog
):
    """A half body, half a chunk, and a chunk of a size that no machine has."""
    settings = settings_in(tmp_path / "home", tmp_path / "v")
    serve = replace(settings.policy.serve, body_seconds=0.2)
    settings = replace(settings, policy=replace(settings.policy, serve=serve))
    chunked = "Transfer-Encoding: chunked"
    with serving(FakeAnswers(), settings) as path:
        for line, half in (
            ("Content-Length: 50", b'{"query'),
            (chunked, b"10\r\n{"),
            (chunked, b"FFFFFFFFFFFFFFFFFF\r\n{"),
        ):
            head = f"POST /v1/recall HTTP/1.1\nHost: engram\n{JSON}\n{line}"
            status, _, answer = ask(path, head, half)
            assert status == 408
            assert "0.2 s" in answer["error"]["what"]
        head = f"POST /v1/recall HTTP/1.1\r\nHost: engram\r\n{JSON}\r\n"
        with socket_client.connect(path) as broken_off:
            broken_off.sendall(f"{head}Content-Length: 50\r\n\r\n{{".encode())
        assert post(path, "/v1/recall", {"query": "x"}, JSON)[0] == 200
    assert not caplog.records


@pytest.mark.parametrize("body", [b"{", b"[]", b"5", b'"x"', b"\xff", b"[" * 100_000])
def test_a_body_that_is_no_json_object_is_a_bad_request(fresh, body):
    _, path, *_ = fresh
    status, _, answer = post(path, "/v1/recall", body, JSON)
    assert (status, answer["error"]["code"]) == (400, "bad-request")


@pytest.mark.parametrize("days", ["-1", "0", "3651", "x", "9" * 5000, "²", "--1"])
def test_a_number_in_a_query_is_refused_with_its_range(fresh, days):
    _, path, *_ = fresh
    status, _, answer = ask(
        path, f"GET /v1/forecast?days={quote(days)} HTTP/1.1\nHost: engram"
    )
    assert (status, answer["error"]["what"]) == (
        400,
        "argument 'days' must be a whole number from 1 to 3650",
    )


@pytest.mark.parametrize("kind", ["route", "mcp"])
def test_slow_calls_of_one_kind_leave_threads_to_others(tmp_path, kind):
    """However many clients wait for one operation, health and metrics answer."""
    settings = settings_in(tmp_path / "home", tmp_path / "v")
    most = settings.policy.serve.places
    hold, running = threading.Event(), []

    class Slow(FakeAnswers):
        def call(self, name, params, standing="chat"):
            if name == "status":
                return {"ready": True}
            running.append(name)
            hold.wait(20)
            return super().call(name, params, standing)

    request = {"query": "x"}
    path = "/v1/recall"
    if kind == "mcp":
        call = {"name": "recall", "arguments": request}
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        path = "/mcp"
    with serving(Slow(), settings) as socket_path, ThreadPoolExecutor(60) as clients:
        sent = [
            clients.submit(post, socket_path, path, request, JSON) for _ in range(50)
        ]
        until(lambda: len(running) == most)
        status, *_ = ask(socket_path, "GET /metrics HTTP/1.1\nHost: engram")
        assert (status, len(running)) == (200, most)
        hold.set()
        assert {one.result()[0] for one in sent} == {200}


# row: X18
def test_turns_are_answered_with_202_after_they_were_taken(fresh):
    """The answer comes after the call returned, not before."""
    answers, path, *_ = fresh
    status, _, answer = post(path, "/v1/turns", {"turns": [{"text": "hello"}]}, JSON)
    assert (status, answer) == (202, answers.results["observe"])
    assert answers.calls == [("observe", {"turns": [{"text": "hello"}]})]
    answers.results["observe"] = StorageError("the disk is full")
    assert post(path, "/v1/turns", {"turns": []}, JSON)[0] == 507


def test_a_full_queue_says_when_to_come_back(fresh):
    answers, path, *_ = fresh
    answers.results["observe"] = BusyError("too many turns wait", retry_after=3)
    status, headers, answer = post(path, "/v1/turns", {"turns": []}, JSON)
    assert (status, headers["retry-after"], answer["error"]["code"]) == (
        429,
        "3",
        "busy",
    )


def every_fault():
    kinds = [EngramError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return [kind for kind in kinds if kind.__module__ == "engram.errors"]


@pytest.mark.parametrize("kind", every_fault())
def test_a_fault_is_told_with_code_what_where_and_fix(fresh, kind):
    answers, path, *_ = fresh
    answers.results["stats"] = kind("it broke", where="there", fix="Mend it.")
    status, headers, answer = ask(path, "GET /v1/stats HTTP/1.1\nHost: engram")
    assert status == kind.status
    assert headers["content-type"] == "application/problem+json"
    assert answer == {
        "type": "about:blank",
        "title": "it broke",
        "status": kind.status,
        "detail": "there. Mend it.",
        "error": {
            "code": kind.code,
            "what": "it broke",
            "where": "there",
            "fix": "Mend it.",
            "message": "it broke (there). Mend it.",
        },
    }


def test_an_unexpected_fault_keeps_its_words_to_itself(fresh, caplog):
    """Neither the answer nor the log repeats what may be somebody's text."""
    answers, path, *_ = fresh
    answers.results["stats"] = ValueError("the secret of Anna")
    status, _, answer = ask(path, "GET /v1/stats HTTP/1.1\nHost: engram")
    assert (status, answer["error"]["code"]) == (500, "internal")
    assert "Anna" not in json.dumps(answer) + caplog.text
    assert "ValueError" in caplog.text


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nowhere", 404),
        ("POST", "/v1/digest", 405),
        ("DELETE", "/v1/memories/facts/2026/a.md/why", 405),
    ],
)
def test_what_is_not_there_is_told_in_json(fresh, method, path, status):
    found, _, answer = ask(fresh[1], f"{method} {path} HTTP/1.1\nHost: engram")
    assert found == status
    assert path in answer["error"]["where"]


def test_ready_is_told_apart_from_alive(fresh):
    answers, path, *_ = fresh
    assert ask(path, "GET /readyz HTTP/1.1\nHost: engram")[0] == 200
    answers.reason = "the vault is still being read"
    status, _, answer = ask(path, "GET /readyz HTTP/1.1\nHost: engram")
    assert (status, answer["error"]["what"]) == (503, answers.reason)
    assert ask(path, "GET /healthz HTTP/1.1\nHost: engram")[0] == 200


def test_metrics_are_the_numbers_of_the_status(fresh):
    answers, path, *_ = fresh
    answers.results["status"] = {
        "ready": True,
        "vault": "/x",
        "turns_total": 5,
        "daemon": {"uptime seconds": 1.5},
    }
    status, headers, text = ask(path, "GET /metrics HTTP/1.1\nHost: engram")
    assert (status, headers["content-type"].partition(";")[0]) == (200, "text/plain")
    assert text.splitlines() == [
        "# TYPE engram_ready gauge",
        "engram_ready 1",
        "# TYPE engram_turns_total counter",
        "engram_turns_total 5",
        "# TYPE engram_daemon_uptime_seconds gauge",
        "engram_daemon_uptime_seconds 1.5",
    ]


def test_every_metric_line_has_the_form_prometheus_reads():
    status = {
        "a b": 1,
        "Ünï": 2.25,
        "deep": {"er": {"est": False}},
        "big": 10**20,
        "small": 1e-9,
        "none": None,
        "list": [1],
    }
    for line in metric_lines(status):
        assert re.fullmatch(
            r"# TYPE [a-z_:][a-z0-9_:]* (gauge|counter)|[a-z_:][a-z0-9_:]* -?[0-9.e+-]+",
            line,
        ), line


@pytest.mark.parametrize(
    ("mode", "text"),
    [(0o640, "a" * 64), (0o604, "a" * 64), (0o600, ""), (0o600, "short")],
)
def test_a_token_file_that_others_can_read_or_guess_is_refused(tmp_path, mode, text):
    path = tmp_path / "token"
    path.write_text(text)
    path.chmod(mode)
    with pytest.raises(ForbiddenError):
        auth.token_of(path)


def test_the_peer_of_a_socket_is_known():
    left, right = socket.socketpair()
    with left, right:
        assert peer_uid(left) == os.getuid()
