"""What stands behind the routes in tests: it records each call and answers as told; and
a plain HTTP question.
"""

from __future__ import annotations

import itertools
import json
import os
import socket
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from engram import config
from engram.daemon import sockets
from engram.operations.table import checked
from engram.serve import socket_client
from engram.serve.output import PROBLEM_TYPE
from engram.serve.server import HttpServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from engram.config import Settings
    from engram.operations.table import Param

ID = "01KBH2Q0M6T4W2Y0B7C5D9E1FX"
RECALLED = {
    "query": "q",
    "hits": [],
    "text": "",
    "tokens": 0,
    "filtered": {},
    "note": "",
    "complete": True,
    "mode": "words",
}
COUNTS = {"facts": 1, "waiting_turns": 0, "distilling_turns": 0, "parked_turns": 0}
RESULTS: dict[str, dict[str, Any]] = {
    "begin_import": {"run": ID},
    "recall": RECALLED,
    "observe": {"stored": 1, "duplicates": 0},
    "stats": COUNTS,
}


@dataclass
class FakeAnswers:
    """Answers every operation with its entry of `results`, or raises it if it is a
    fault.
    """

    results: dict[str, Any] = field(default_factory=lambda: dict(RESULTS))
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    standings: list[str] = field(default_factory=list)
    reason: str = ""

    def call(
        self, name: str, params: dict[str, Any], standing: str = "chat"
    ) -> dict[str, Any]:
        self.calls.append((name, params))
        self.standings.append(standing)
        checked(name, params)
        result = self.results.get(name, {"done": name})
        if isinstance(result, Exception):
            raise result
        return result

    def unready(self) -> str:
        return self.reason


EXAMPLES: dict[str, Any] = {
    "text": 'Grüße, "Anna" & co / 50 % + ünï',
    "int": 59,
    "float": 0.5,
    "bool": True,
    "time": "2026-11-20T21:14:05+01:00",
    "list": ["a", "b/c"],
    "objects": [{"text": "hello", "id": "1"}],
}


def value_of(param: Param) -> Any:
    """A value that an argument may have."""
    if param.choices:
        return param.choices if param.kind == "list" else param.choices[-1]
    return EXAMPLES[param.kind]


def settings_in(home: Path, vault: Path, **more: str) -> Settings:
    """Settings of a vault with an id, everything else of it below `home`."""
    vault.mkdir(parents=True, exist_ok=True)
    if not (vault / "engram.toml").exists():
        (vault / "engram.toml").write_text(f'id = "{ID}"\n')
    return config.load(
        vault, {"ENGRAM_HOME": str(home), "HOME": str(home), "TZ": "UTC", **more}
    )


@contextmanager
def serving(
    answers: FakeAnswers, settings: Settings, port: int | None = None
) -> Iterator[str]:
    """A server on the settings' socket, and on a loopback port if one is given; yields
    the socket's path.
    """
    listeners = [sockets.listen_unix(settings.socket)]
    if port is not None:
        listeners.append(sockets.listen_tcp(port))
    server = HttpServer(answers, settings, listeners)
    server.start()
    try:
        yield str(settings.socket)
    finally:
        server.stop()


PORTS = itertools.count(10_000 + os.getpid() * 37 % 20_000)


def free_port() -> int:
    """A port below those that the kernel gives to connections, which might take it
    before the daemon does.
    """
    for port in PORTS:
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError


def ask(
    address: str | int, head: str, body: bytes = b""
) -> tuple[int, dict[str, str], Any]:
    """Send one raw request to a socket's path or a port; status, headers and the
    decoded body.
    """
    line = (
        socket_client.connect(address)
        if isinstance(address, str)
        else socket.create_connection(("127.0.0.1", address))
    )
    with line, line.makefile("rb") as reply:
        line.sendall(head.replace("\n", "\r\n").encode() + b"\r\n\r\n" + body)
        line.settimeout(60)
        status = int(reply.readline().split()[1])
        headers = {}
        while (header := reply.readline().strip()) != b"":
            name, _, value = header.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        raw = reply.read(int(headers.get("content-length", "0")))
    return (
        status,
        headers,
        json.loads(raw)
        if headers.get("content-type") in {"application/json", PROBLEM_TYPE}
        else raw.decode(),
    )
