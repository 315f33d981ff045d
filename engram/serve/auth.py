"""Access control for HTTP: rights of a request, and limits of its size.

A Unix socket is guarded by its file mode and the user id of the peer. A TCP port can be
reached by any local user and, through a browser, by any web page: there each request
must have a token, and its Host, Origin and Sec-Fetch-Site must be those of the daemon.
The token also gives the kind of the caller: a chatbot, an importer or a tool (row X17).
The paths of the page require the cookie of a browser session and no token; all others
require a token and no cookie. Refusals are JSON like every other error.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import os
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engram.core.trust import OWNER
from engram.errors import (
    BadRequestError,
    ConflictError,
    EngramError,
    ForbiddenError,
    UnauthorisedError,
    UnavailableError,
)
from engram.serve.output import PROBLEM_TYPE, fault_headers, problem
from engram.serve.socket_client import FOLDER_HEADER, folder_mark
from engram.serve.web.access import FORM_TYPE, OPEN_PATH, WebAccess, is_page
from engram.serve.web.markup import rendered
from engram.vault import disk

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from engram.core.policy import ServePolicy
    from engram.serve.tokens import IssuedTokens

log = logging.getLogger("engram.http")
LOCAL_SITES = frozenset({b"same-origin", b"none"})
"""Values of Sec-Fetch-Site that are allowed; another port of this machine is not."""
FOLDER = FOLDER_HEADER.lower().encode()
TOKEN_BYTES = 32
REST_BYTES, REST_SECONDS = 65536, 0.5
"""Bytes that are read of a refused request, and seconds for reading them."""
TOKEN_HEADER = b"x-engram-token"
"""Header of the token if Authorization is meant for the server behind the proxy."""
PROXY_PATH = "/proxy/"
JSON_TYPE = b"application/json"
BEARER = b"Bearer "
TOKENS = {"chat": "token", "import": "token-import", "tool": "token-tool"}
"""The token file of each kind of caller, the most trusted first."""


class RefusedBodyError(BadRequestError):
    """The body is late (408), too large (413) or of another media type (415)."""

    def __init__(self, status: int, what: str, fix: str = "") -> None:
        super().__init__(what, fix=fix)
        self.status = status


@dataclass(frozen=True, slots=True)
class SocketAccess:
    """The credentials that requests through one listening socket must have.

    `tokens` are the accepted tokens by kind of caller, `issued` those created by
    command. Without tokens the mode of the socket is the guard: the caller is a
    chatbot, or the owner's command line if the request says so (`socket_client.call`).
    A user who can open the socket can read the files too.
    """

    hosts: frozenset[bytes]
    origins: frozenset[bytes] = frozenset()
    tokens: Mapping[str, bytes] = field(default_factory=dict)
    web: WebAccess | None = None
    issued: IssuedTokens | None = None

    def lets_browser_in(
        self, headers: list[tuple[bytes, bytes]], path: str, query: str
    ) -> bool:
        """Return whether a request for the page has a session, or a link to begin one."""
        if self.web is None:
            return False
        if path == OPEN_PATH:
            return self.web.is_link(query)
        return bool(self.web.session(headers))

    def standing(self, headers: list[tuple[bytes, bytes]]) -> str | None:
        """Return the kind of caller (chat, import, tool or owner), or None.

        The comparison takes the same time for any token.
        """
        if not self.tokens:
            is_owner = _all(headers, b"engram-caller") == [OWNER.encode()]
            return OWNER if is_owner else "chat"

        sent = sent_token(headers)
        matching = [
            name
            for name, token in self.tokens.items()
            if hmac.compare_digest(sent, token)
        ]
        if matching:
            return matching[-1]
        return self._issued_standing(sent) if sent else None

    def _issued_standing(self, token: bytes) -> str | None:
        """Return the kind of caller of a token that was created by command, or None.

        Raises UnavailableError if the tokens cannot be read.
        """
        try:
            return self.issued.standing(token) if self.issued else None
        except EngramError as fault:
            log.warning("created tokens are refused: %s", fault)
            raise UnavailableError(
                "the tokens of this vault cannot be read",
                fix="The log of the daemon says why.",
            ) from fault

    def leaves_authorization(self, headers: list[tuple[bytes, bytes]]) -> bool:
        """Return whether Authorization is not the token, but meant for another server."""
        return not self.tokens or bool(_all(headers, TOKEN_HEADER))


def unix_access() -> SocketAccess:
    """Return the access through the Unix socket; it refuses requests with an Origin.

    No browser can reach the socket.
    """
    return SocketAccess(frozenset({b"engram", b"localhost"}))


def sent_token(headers: list[tuple[bytes, bytes]]) -> bytes:
    """Return the only token of a request, or b''."""
    values = _all(headers, TOKEN_HEADER)
    if not values:
        sent = _all(headers, b"authorization")
        values = [value.removeprefix(BEARER) for value in sent if _is_bearer(value)]
        values = values if len(values) == len(sent) else []
    return values[0] if len(values) == 1 else b""


def _is_bearer(value: bytes) -> bool:
    return value.startswith(BEARER)


def tcp_access(
    port: int,
    tokens: Mapping[str, str],
    web: WebAccess | None = None,
    issued: IssuedTokens | None = None,
) -> SocketAccess:
    """Return the access through a loopback port: exact host and origin, and a token.

    `web` allows the browsers of the owner to see the page.
    """
    names = (
        f"127.0.0.1:{port}",
        f"localhost:{port}",
    )
    return SocketAccess(
        frozenset(name.encode() for name in names),
        frozenset(f"http://{name}".encode() for name in names),
        {name: token.encode() for name, token in tokens.items()},
        web,
        issued,
    )


def tokens_of(state: Path) -> dict[str, str]:
    """Return the token of each kind of caller, from the folder `state`."""
    return {name: token_of(state / file) for name, file in TOKENS.items()}


def token_of(path: Path) -> str:
    """Return the bearer token in the file `path`: 256 random bits in hex.

    The file is written with mode 0600 on first use. Raises ForbiddenError if other
    users can read it, or if it is too short.
    """
    if not path.exists():
        disk.make_folders(path.parent)
        disk.write_new(path, secrets.token_hex(TOKEN_BYTES).encode() + b"\n")
    mode = path.stat().st_mode & 0o077
    token = disk.read(path).decode("ascii", "replace").strip()
    if mode or len(token) < 2 * TOKEN_BYTES:
        raise ForbiddenError(
            "the token file can be read by other users, or is incomplete",
            where=str(path),
            fix="Delete it; a new one is made at the next start.",
        )
    return token


class AuthMiddleware:
    """Passes a request on with the kind of its caller in its state, or refuses it.

    `vault` is the folder that is served; a request for another folder is refused.
    """

    def __init__(
        self,
        app: ASGIApp,
        access: SocketAccess,
        policy: ServePolicy,
        vault: str = "",
    ) -> None:
        self.app = app
        self.access = access
        self.policy = policy
        self.vault = vault

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one HTTP request."""
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        path, query = scope["path"], scope.get("query_string", b"").decode("latin-1")
        state = scope.setdefault("state", {})
        try:
            # Origin and token are checked before the form of the request.
            state["standing"] = self._standing(headers, path, query)
            self._check_form(scope["method"], headers, path)
        except EngramError as fault:
            await _read_rest(receive, headers)
            await refuse(fault, send, as_page=_wants_html(headers))
            return
        state["own_authorization"] = self.access.leaves_authorization(headers)
        await self.app(scope, self._bounded(receive, self._most(path)), send)

    def _bounded(self, receive: Receive, most: int) -> Receive:
        """Return `receive` for a body of at most `most` bytes that arrives in time."""
        remaining, is_whole = most, False
        last = time.monotonic() + self.policy.body_seconds

        async def bounded() -> Message:
            nonlocal remaining, is_whole
            if is_whole:  # the next message is the end of the connection
                return await receive()
            try:
                async with asyncio.timeout(last - time.monotonic()):
                    message = await receive()
            except TimeoutError:
                what = f"the body did not arrive within {self.policy.body_seconds:g} s"
                fix = "Send it faster, or in smaller parts."
                raise RefusedBodyError(408, what, fix) from None
            is_whole = not message.get("more_body", False)
            remaining -= len(message.get("body", b""))
            if remaining < 0:
                raise _too_large(most)
            return message

        return bounded

    def is_for_us(self, headers: list[tuple[bytes, bytes]]) -> bool:
        """Return whether Host, Origin and site of a request are those of this server."""
        try:
            self._check_origin(headers)
        except ForbiddenError:
            return False
        return True

    def _most(self, path: str) -> int:
        """Return the maximum number of bytes of a body; the proxy passes images on."""
        policy = self.policy
        is_proxy = path.startswith(PROXY_PATH)
        return policy.proxy_bytes if is_proxy else policy.body_bytes

    def _standing(
        self, headers: list[tuple[bytes, bytes]], path: str, query: str
    ) -> str:
        """Return the kind of caller. Raises EngramError if the call is not allowed."""
        access = self.access
        self._check_origin(headers)
        if is_page(path):
            if access.lets_browser_in(headers, path, query):
                return OWNER
            raise UnauthorisedError(
                "this page is opened by a link that works once, within five minutes",
                fix="Run `engram web` in a terminal; it opens a new one.",
            )
        standing = access.standing(headers)
        if standing is None:
            raise UnauthorisedError(
                "the token is missing or wrong",
                fix="Send `Authorization: Bearer <token>`; `engram web` opens the"
                " pages in a browser.",
            )
        if any(
            mark.decode("latin-1") != folder_mark(self.vault)
            for mark in _all(headers, FOLDER)
        ):
            raise ConflictError(
                "this daemon serves another folder; nothing was changed",
                where=self.vault,
                fix=f"Stop it (`kill {os.getpid()}`) if its vault was moved, then try again.",
            )
        return standing

    def _check_origin(self, headers: list[tuple[bytes, bytes]]) -> None:
        """Raise ForbiddenError if a request is not meant for this server."""
        access = self.access
        if [value.lower() for value in _all(headers, b"host")] not in [
            [host] for host in access.hosts
        ]:
            raise ForbiddenError(
                "the Host header does not name this daemon",
                fix="Use the exact address and port.",
            )
        if any(origin not in access.origins for origin in _all(headers, b"origin")):
            raise ForbiddenError("requests from web pages are not answered")
        if any(site not in LOCAL_SITES for site in _all(headers, b"sec-fetch-site")):
            raise ForbiddenError("requests from other sites are not answered")

    def _check_form(
        self, method: str, headers: list[tuple[bytes, bytes]], path: str
    ) -> None:
        """Raise RefusedBodyError for a body that is not read."""
        types = _all(headers, b"content-type")
        lengths = _all(headers, b"content-length") + _all(headers, b"transfer-encoding")
        has_body = types or set(lengths) - {b"0"}
        with_body = method in {"POST", "PATCH"} and has_body
        # the proxy passes uploads on too
        is_ours = not path.startswith(PROXY_PATH)
        if method == "POST" and is_page(path):
            if _media_type(types) != FORM_TYPE:
                raise RefusedBodyError(415, "the body must be a form")
        elif with_body and is_ours and _media_type(types) != JSON_TYPE:
            fix = "Send `Content-Type: application/json`."
            raise RefusedBodyError(415, "the body must be JSON", fix)
        most = self._most(path)
        if any(
            not length.isdigit() or int(length) > most
            for length in _all(headers, b"content-length")
        ):
            raise _too_large(most)


def _too_large(most: int) -> RefusedBodyError:
    what = f"the body is larger than {most} bytes"
    return RefusedBodyError(413, what, "Send it in smaller parts.")


async def _read_rest(receive: Receive, headers: list[tuple[bytes, bytes]]) -> None:
    """Read a small body that is on its way, for a moment.

    A connection that is closed with unread bytes is reset, and the client may lose the
    answer.
    """
    lengths = _all(headers, b"content-length")
    if len(lengths) != 1 or not lengths[0].isdigit() or int(lengths[0]) > REST_BYTES:
        return
    with suppress(TimeoutError):
        async with asyncio.timeout(REST_SECONDS):
            while (await receive()).get("more_body"):
                pass


async def refuse(fault: EngramError, send: Send, *, as_page: bool = False) -> None:
    """Send `fault` as the response; the rest of the request is not read.

    It is a problem document, or with `as_page` a page for a person.
    """
    body, media_type = json.dumps(problem(fault)).encode(), PROBLEM_TYPE
    if as_page:
        body = rendered("refusal.html", fault=fault)
        media_type = "text/html; charset=utf-8"
    headers = [
        (b"content-type", media_type.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"content-security-policy", b"default-src 'none'"),
    ]
    if fault.status == UnauthorisedError.status:
        headers.append((b"www-authenticate", b"Bearer"))
    headers += [
        (key.encode(), value.encode()) for key, value in fault_headers(fault).items()
    ]
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


def _wants_html(headers: list[tuple[bytes, bytes]]) -> bool:
    return any(b"text/html" in value for value in _all(headers, b"accept"))


def _media_type(types: list[bytes]) -> bytes:
    """Return the media type that the only Content-Type names, b'' otherwise."""
    return types[0].partition(b";")[0].strip().lower() if len(types) == 1 else b""
