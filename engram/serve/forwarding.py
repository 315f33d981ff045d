"""Forwards requests over HTTP, streamed, to the daemon that has their vault open.

The daemons of a fleet share a key in the folder of their states. A request with this
key was forwarded by another daemon: it is not forwarded again, and its Host and Origin
were checked there. Its token is always checked by the daemon that has the vault open.
"""

from __future__ import annotations

import asyncio
import hmac
import ssl
import time
from typing import TYPE_CHECKING

from engram.errors import UnavailableError
from engram.serve.auth import SlowRequestError
from engram.serve.proxy.routes import HOP_BY_HOP

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    import httpx2
    from starlette.types import Receive, Scope, Send

    from engram.core.policy import ServePolicy

    Headers = list[tuple[bytes, bytes]]

FORWARDED = b"x-engram-forwarded"
"""The header with the key of the fleet."""
VAULT = b"x-engram-forwarded-vault"
"""The header with the id of the vault whose Unix socket a request used."""
CONNECT_SECONDS = 3.0
KEPT_SECONDS = 2.0
"""Seconds that an idle connection is kept; the server closes it after five."""
LOOK_SECONDS = 1.0
"""Seconds between two checks whether the daemon still has the vault open."""
RETRY_SECONDS = 1

_CHECKED = {b"host", b"origin", b"sec-fetch-site", b"expect", b"content-length"}
_HOPS = {name.encode() for name in HOP_BY_HOP} | {FORWARDED, VAULT}


class OwnerGoneError(UnavailableError):
    """The daemon with the vault did not answer; `sent` is true if it may have acted."""

    def __init__(self, address: str, *, sent: bool) -> None:
        super().__init__(
            "the daemon that has this vault open closed the connection; it may have acted"
            if sent
            else "the daemon that has this vault open does not answer",
            where=address,
            fix="Try again in a moment; a turn with the same id is stored once.",
            retry_after=RETRY_SECONDS,
        )
        self.sent = sent


def is_forwarded(headers: Headers, key: bytes) -> bool:
    """Return whether another daemon of the fleet forwarded this request."""
    sent = [value for name, value in headers if name == FORWARDED]
    return len(sent) == 1 and hmac.compare_digest(sent[0], key)


def without(headers: Headers, *names: bytes) -> Headers:
    """Return the headers without those of these names."""
    return [pair for pair in headers if pair[0] not in names]


class Forwarder:
    """Forwards requests to other daemons. For one event loop."""

    def __init__(self, key: bytes, policy: ServePolicy) -> None:
        self._key = key
        self._policy = policy
        self._client: httpx2.AsyncClient | None = None

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()

    async def forward(
        self,
        address: str,
        vault: str,
        scope: Scope,
        receive: Receive,
        send: Send,
        still_owner: Callable[[], Awaitable[bool]],
    ) -> None:
        """Forward a request to the daemon at `address`, and return its answer.

        `vault` is the id of the vault of a Unix socket, or ''. Raises OwnerGoneError if
        the answer has not begun and either the daemon cannot be reached or
        `still_owner` returns false; SlowRequestError for a body that does not arrive.
        """
        exchange = _Exchange(receive, send, self._policy.body_seconds)
        request = self._request(address, vault, scope, exchange)
        work = asyncio.create_task(exchange.run(self._opened(), request))
        client = asyncio.create_task(exchange.client_gone())
        try:
            while not work.done() and not client.done():
                await asyncio.wait(
                    {work, client},
                    timeout=LOOK_SECONDS,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                # An answer that has begun continues, even if the vault has moved.
                if not work.done() and not exchange.began and not await still_owner():
                    raise OwnerGoneError(address, sent=True)
            if work.done():
                await work
        finally:
            for task in (work, client):
                task.cancel()
            await asyncio.wait({work, client})

    def _request(
        self, address: str, vault: str, scope: Scope, exchange: _Exchange
    ) -> httpx2.Request:
        import httpx2

        headers_received: Headers = scope["headers"]
        has_body = {b"content-length", b"transfer-encoding"} & {
            name for name, _ in headers_received
        }
        headers = [pair for pair in headers_received if pair[0] not in _HOPS | _CHECKED]
        headers += [pair for pair in headers_received if pair[0] == b"content-length"]
        headers.append((FORWARDED, self._key))
        if vault:
            headers.append((VAULT, vault.encode()))
        url = address.rstrip("/") + scope["raw_path"].decode("ascii")
        if scope["query_string"]:
            url += "?" + scope["query_string"].decode("ascii")
        content = exchange.body() if has_body else None
        return httpx2.Request(scope["method"], url, headers=headers, content=content)

    def _opened(self) -> httpx2.AsyncClient:
        import httpx2

        if self._client is None:
            self._client = httpx2.AsyncClient(
                # The owner limits the time of a request, and its lease the wait for it.
                timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
                limits=httpx2.Limits(
                    max_connections=self._policy.connections,
                    keepalive_expiry=KEPT_SECONDS,
                ),
                verify=ssl.create_default_context(),
                trust_env=False,
                follow_redirects=False,
            )
        return self._client


class _Exchange:
    """One forwarded request. `began` is true once the answer has begun."""

    def __init__(self, receive: Receive, send: Send, body_seconds: float) -> None:
        self.began = False
        self._receive = receive
        self._send = send
        self._body_seconds = body_seconds
        self._is_read = asyncio.Event()

    async def body(self) -> AsyncIterator[bytes]:
        """Yield the parts of the body as the client sends them."""
        last = time.monotonic() + self._body_seconds
        while not self._is_read.is_set():
            try:
                async with asyncio.timeout(last - time.monotonic()):
                    message = await self._receive()
            except TimeoutError:
                raise SlowRequestError(
                    f"the body did not arrive within {self._body_seconds:g} s",
                    fix="Send it faster, or in smaller parts.",
                ) from None
            if message["type"] == "http.disconnect":
                raise _ClientGoneError
            if not message.get("more_body", False):
                self._is_read.set()
            yield message.get("body", b"")

    async def client_gone(self) -> None:
        """Return when the client has closed its connection after the request."""
        await self._is_read.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def run(self, client: httpx2.AsyncClient, request: httpx2.Request) -> None:
        """Send the request, and stream the answer."""
        import httpx2

        if request.headers.get(
            "content-length", "0"
        ) == "0" and not request.headers.get("transfer-encoding"):
            self._is_read.set()
        try:
            reply = await client.send(request, stream=True)
        except _ClientGoneError:
            return
        except httpx2.HTTPError as fault:
            unsent = isinstance(
                fault, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout
            )
            safe = request.method in {"GET", "HEAD"}
            raise OwnerGoneError(
                f"{request.url.scheme}://{request.url.netloc.decode()}",
                sent=not unsent and not safe,
            ) from fault
        try:
            headers = [
                (name.lower(), value)
                for name, value in reply.headers.raw
                if name.lower() not in _HOPS - {b"content-length"} | {b"date"}
            ]
            self.began = True
            await self._send(
                {
                    "type": "http.response.start",
                    "status": reply.status_code,
                    "headers": headers,
                }
            )
            async for part in reply.aiter_raw():
                await self._send(
                    {"type": "http.response.body", "body": part, "more_body": True}
                )
            await self._send({"type": "http.response.body", "body": b""})
        finally:
            await reply.aclose()


class _ClientGoneError(Exception):
    """The client closed its connection before its request was complete."""
