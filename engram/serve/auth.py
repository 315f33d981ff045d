"""The gate in front of HTTP: who may come in, by which door, and how much they may
carry.

A Unix socket is guarded by its file mode and the peer's user id. A TCP port can be
reached by any local user and, through a browser, by any web page: there every request
must show a token, and its Host, Origin and Sec-Fetch-Site must be ours. The token also
tells in which standing the caller comes: a chatbot, an importer or a tool (row X17).
Refusals are JSON like every other fault.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engram.core.trust import OWNER
from engram.errors import (
    BadRequestError,
    ConflictError,
    EngramError,
    ForbiddenError,
    UnauthorisedError,
)
from engram.serve.output import fault_fields
from engram.serve.socket_client import FOLDER_HEADER, folder_mark
from engram.vault import disk

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOCAL_SITES = frozenset({b"same-origin", b"none"})
"""Values of Sec-Fetch-Site that a request of ours may have; another port of this
machine is a stranger.
"""
FOLDER = FOLDER_HEADER.lower().encode()
TOKEN_BYTES = 32
TOKENS = {"chat": "token", "import": "token-import", "tool": "token-tool"}
"""The file of each standing's token, beside the others; the most trusted first."""


class TooLargeError(BadRequestError):
    """The request's body is larger than is read."""

    status = 413


class MediaTypeError(BadRequestError):
    """The request's body is not declared as JSON."""

    status = 415


@dataclass(frozen=True, slots=True)
class SocketAccess:
    """What a request through one listening socket must carry: a token of `tokens`,
    which are by standing.

    Without tokens the socket's mode is the guard, and whoever comes is a chatbot, or
    says to be the owner's command line (`wire.call`): who may open the socket may read
    the files too.
    """

    hosts: frozenset[bytes]
    origins: frozenset[bytes] = frozenset()
    tokens: Mapping[str, bytes] = field(default_factory=dict)

    def standing(self, headers: list[tuple[bytes, bytes]]) -> str | None:
        """In which standing a request with these headers comes, or None; takes as long
        for any token.
        """
        if not self.tokens:
            return (
                OWNER if _all(headers, b"engram-caller") == [OWNER.encode()] else "chat"
            )
        shown = _all(headers, b"authorization")
        given = shown[0] if len(shown) == 1 else b""
        fitting = [
            name
            for name, token in self.tokens.items()
            if hmac.compare_digest(given, b"Bearer " + token)
        ]
        return fitting[-1] if fitting else None


def unix_door() -> SocketAccess:
    """The Unix socket: no browser can reach it, so a request with any Origin is not
    ours.
    """
    return SocketAccess(frozenset({b"engram", b"localhost"}))


def tcp_door(port: int, tokens: Mapping[str, str]) -> SocketAccess:
    """A loopback port: exact host and port, exact origin, one of the tokens."""
    names = (f"127.0.0.1:{port}", f"localhost:{port}")
    return SocketAccess(
        frozenset(name.encode() for name in names),
        frozenset(f"http://{name}".encode() for name in names),
        {name: token.encode() for name, token in tokens.items()},
    )


def tokens_of(state: Path) -> dict[str, str]:
    """The token of each standing, kept in the folder `state`."""
    return {name: token_of(state / file) for name, file in TOKENS.items()}


def token_of(path: Path) -> str:
    """The bearer token kept at `path`: 256 random bits in hex, written 0600 when first
    asked for.
    """
    if not path.exists():
        disk.make_folders(path.parent)
        disk.write_new(path, secrets.token_hex(TOKEN_BYTES).encode() + b"\n")
    mode = path.stat().st_mode & 0o077
    token = disk.read(path).decode("ascii", "replace").strip()
    if mode or len(token) < 2 * TOKEN_BYTES:
        raise ForbiddenError(
            "the token file is not safe to use",
            where=str(path),
            fix="Delete it; a new one is made at the next start.",
        )
    return token


class AuthMiddleware:
    """Lets a request through to the application, with its standing as its state, or
    answers with the reason why not.

    `vault` is the folder that is served; a request that means another one is refused.
    """

    def __init__(
        self, app: ASGIApp, door: SocketAccess, body_bytes: int, vault: str = ""
    ) -> None:
        self.app = app
        self.door = door
        self.body_bytes = body_bytes
        self.vault = vault

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI connection; only HTTP is spoken."""
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        fault = self.fault(scope["method"], headers)
        if fault is not None:
            await refuse(fault, send)
            return
        scope.setdefault("state", {})["standing"] = self.door.standing(headers)
        left = self.body_bytes

        async def capped() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                raise self._too_large()
            return message

        await self.app(scope, capped, send)

    def fault(
        self, method: str, headers: list[tuple[bytes, bytes]]
    ) -> EngramError | None:
        """Why a request may not pass, or None; the first reason found, strangers before
        forms.
        """
        door = self.door
        if [value.lower() for value in _all(headers, b"host")] not in [
            [host] for host in door.hosts
        ]:
            return ForbiddenError(
                "the Host header names somebody else",
                fix="Use the exact address and port.",
            )
        if any(origin not in door.origins for origin in _all(headers, b"origin")):
            return ForbiddenError("requests from web pages are not answered")
        if any(site not in LOCAL_SITES for site in _all(headers, b"sec-fetch-site")):
            return ForbiddenError("requests from other sites are not answered")
        if door.standing(headers) is None:
            return UnauthorisedError(
                "the token is missing or wrong",
                fix="Send `Authorization: Bearer <token>`.",
            )
        if any(
            mark.decode("latin-1") != folder_mark(self.vault)
            for mark in _all(headers, FOLDER)
        ):
            return ConflictError(
                "this daemon serves another folder; nothing was done",
                where=self.vault,
                fix=f"Stop it (`kill {os.getpid()}`) if its vault was moved, then try again.",
            )
        if method in {"POST", "PATCH", "PUT"} and not _is_json(
            _all(headers, b"content-type")
        ):
            return MediaTypeError(
                "the body must be JSON", fix="Send `Content-Type: application/json`."
            )
        if any(
            not length.isdigit() or int(length) > self.body_bytes
            for length in _all(headers, b"content-length")
        ):
            return self._too_large()
        return None

    def _too_large(self) -> TooLargeError:
        return TooLargeError(
            f"the body is larger than {self.body_bytes} bytes",
            fix="Send it in smaller parts.",
        )


async def refuse(fault: EngramError, send: Send) -> None:
    """Answer with `fault`; the rest of the request is not read."""
    body = json.dumps({"error": fault_fields(fault)}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    if fault.status == UnauthorisedError.status:
        headers.append((b"www-authenticate", b"Bearer"))
    await send(
        {
            "type": "http.response.start",
            "status": fault.status,
            "headers": [*headers, (b"connection", b"close")],
        }
    )
    await send({"type": "http.response.body", "body": body})


def _all(headers: list[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    return [value for key, value in headers if key == name]


def _is_json(types: list[bytes]) -> bool:
    return (
        len(types) == 1
        and types[0].partition(b";")[0].strip().lower() == b"application/json"
    )
