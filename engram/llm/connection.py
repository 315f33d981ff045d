"""Persistent connections to a model's server, through `openai`.

Each endpoint has one HTTP client, which runs in the event loop of its own thread and
lives as long as the endpoint. The server receives the API key, the request and a fixed
set of headers. Redirects are not followed, and time and size of a reply are limited.
"""

from __future__ import annotations

import asyncio
import importlib
import threading
import weakref
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engram.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from engram.config import EmbeddingSettings, ModelSettings

DEFAULT_URL = "https://api.openai.com/v1"
KEPT_SECONDS = 120.0
"""The seconds for which an idle connection is kept open."""

_MOST_KEPT = 4
_HEADERS = {"host", "connection", "content-type", "content-length"}
_OURS = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "User-Agent": "engram",
}
_MOST_BYTES: ContextVar[int] = ContextVar("most_bytes")


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply, up to the limit of bytes."""

    status: int
    headers: Mapping[str, str]
    raw: bytes


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a call: seconds from name lookup to last byte, and bytes of the reply.

    `key` is the name of the setting with the seconds, if there is one.
    """

    seconds: float
    most_bytes: int
    key: str = ""


class NoReplyError(ModelError):
    """The server sent no complete reply in time."""


class Connection:
    """One HTTP client for a server, with persistent connections. Thread-safe."""

    def __init__(self, settings: ModelSettings | EmbeddingSettings) -> None:
        # slow, so it is done before the first timeout starts
        importlib.import_module("openai")
        self._settings = settings
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._clients: list[Any] = []
        self._served = 0

    def send(self, create: Callable[[Any], Awaitable[Any]], limits: Limits) -> Reply:
        """Send one request, and return the reply, including one with an error status.

        `create` sends it with a client that returns raw responses. Raises ModelError.
        """
        import openai

        sent = asyncio.run_coroutine_threadsafe(
            self._sent(create, limits), self._running_loop()
        )
        try:
            return sent.result()
        except (TimeoutError, openai.APITimeoutError):
            raise ModelError(
                f"The model gave no complete answer within {limits.seconds:g} seconds",
                fix="Is the server busy?"
                + (f" The limit is {limits.key}." if limits.key else ""),
            ) from None
        except openai.OpenAIError as error:
            if type(error.__cause__).__name__ == "ConnectError":
                raise NoReplyError(
                    "Cannot connect to the model", fix="Is the server running?"
                ) from None
            raise NoReplyError(
                "The connection to the model broke off", fix="It is tried again later."
            ) from None
        finally:
            sent.cancel()  # if the caller was interrupted

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        """Return the event loop; its thread ends with this object."""
        with self._lock:
            if self._loop is None:
                self._loop = loop = asyncio.new_event_loop()
                threading.Thread(
                    target=_serve, args=(loop, self._clients), name="model", daemon=True
                ).start()
                weakref.finalize(self, _stop, loop)
            return self._loop

    async def _sent(
        self, create: Callable[[Any], Awaitable[Any]], limits: Limits
    ) -> Reply:
        """Send one request; the timeout includes the name lookup.

        A persistent connection that the server closed meanwhile is replaced once.
        """
        import openai

        if not self._clients:
            self._clients.append(_client(self._settings))
        client = self._clients[0]
        _MOST_BYTES.set(limits.most_bytes)
        reused = self._served > 0
        async with asyncio.timeout(limits.seconds):
            try:
                response = (await create(client.with_raw_response)).http_response
            except openai.APIStatusError as error:
                response = error.response
            except openai.APIConnectionError as error:
                if not reused or "without sending a response" not in str(
                    error.__cause__
                ):
                    raise
                self._served = 0
                return await self._sent(create, limits)
        self._served += 1
        return Reply(response.status_code, response.headers, response.content)


def _serve(loop: asyncio.AbstractEventLoop, clients: list[Any]) -> None:
    """Run the event loop until it is stopped, then close the connections."""
    asyncio.set_event_loop(loop)
    loop.run_forever()
    for client in clients:
        loop.run_until_complete(client.close())
    loop.close()


def _stop(loop: asyncio.AbstractEventLoop) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(loop.stop)


def _client(settings: ModelSettings | EmbeddingSettings) -> Any:
    """Return a client of the library.

    Its transport sends a fixed set of headers and ignores those of the environment.
    """
    import ssl

    import openai

    base_url = settings.base_url or DEFAULT_URL
    # Plain http needs no certificates, and loading them is slow.
    verify = (
        True
        if base_url.lower().startswith("https:")
        else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    )

    class Transport(openai.DefaultAsyncHttpxClient):
        async def send(self, request: Any, **options: Any) -> Any:
            headers = {
                name: request.headers[name]
                for name in _HEADERS
                if name in request.headers
            } | _OURS
            if settings.api_key:
                headers["Authorization"] = f"Bearer {settings.api_key}"
            bare_request = type(request)(
                request.method,
                request.url,
                headers=headers,
                content=request.content,
                extensions=request.extensions,
            )
            response = await super().send(bare_request, **options | {"stream": True})
            raw = bytearray()
            async for part in response.aiter_raw():
                raw += part
                if len(raw) > _MOST_BYTES.get():
                    break
            await response.aclose()
            response_headers = {
                name: response.headers[name]
                for name in ("content-type", "retry-after")
                if name in response.headers
            }
            return type(response)(
                response.status_code,
                headers=response_headers,
                content=bytes(raw),
                request=request,
            )

    limits = type(openai.DEFAULT_CONNECTION_LIMITS)(
        max_keepalive_connections=_MOST_KEPT, keepalive_expiry=KEPT_SECONDS
    )
    return openai.AsyncOpenAI(
        api_key=settings.api_key or "none",
        base_url=base_url,
        max_retries=0,
        timeout=None,
        http_client=Transport(
            trust_env=False, follow_redirects=False, verify=verify, limits=limits
        ),
    )
