"""Requests to a model's server, with the budget of the day.

The server is not trusted. Every error is a `ModelError`; `retryable` is False only if
the batch itself is the cause. Each endpoint has one HTTP client of `openai` with
persistent connections, which runs in the event loop of its own thread and lives as long
as the endpoint. The server receives the API key, the request and a fixed set of
headers. Redirects are not followed, and time and size of a reply are limited.
"""

from __future__ import annotations

import asyncio
import importlib
import ipaddress
import re
import socket
import threading
import weakref
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

from engram.errors import ConfigError, ModelError
from engram.llm.api_forms import error_message, status_fault
from engram.llm.budget import Budget, DailySpend, TaskSpend

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping
    from datetime import datetime

    from engram.config import EmbeddingSettings, ModelSettings
    from engram.core.policy import ModelPolicy


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
                    "Cannot connect to the model", fix="Check that the server runs."
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


_METADATA = {
    "metadata",
    "metadata.google.internal",
    "metadata.goog",
    "100.100.100.200",
    "fd00:ec2::254",
}


class RateLimitedError(ModelError):
    """The server limits the rate; `retry_after` is its wait in seconds, or None."""

    status = 429

    def __init__(self, what: str, *, retry_after: float | None, fix: str) -> None:
        super().__init__(what, fix=fix)
        self.retry_after = retry_after


class Endpoint:
    """A server with the daily budget. Thread-safe.

    The constructor raises ConfigError for settings that cannot work: no key for the
    default address, plain http to another machine, a link-local or metadata address.
    """

    def __init__(
        self,
        settings: ModelSettings | EmbeddingSettings,
        policy: ModelPolicy,
        spend: Budget,
        clock: Callable[[], datetime],
    ) -> None:
        self.host = checked_host(settings)
        self._connection = Connection(settings)
        self._settings = settings
        self._policy = policy
        self._spend = spend
        self._clock = clock

    @property
    def is_default(self) -> bool:
        """Whether it is the default endpoint, OpenAI's own."""
        return (self._settings.base_url or DEFAULT_URL).rstrip("/") == DEFAULT_URL

    @property
    def spent(self) -> DailySpend:
        """Calls, tokens and failures of today."""
        return self._spend.today(self._clock())

    @contextmanager
    def counted(self, task: str, tokens: int) -> Iterator[None]:
        """Count a call of `task` in the budget, with a prompt of about `tokens`.

        A ModelError in the context counts as a failure. Raises BudgetSpentError, and
        counts nothing, if the budget of the day is spent.
        """
        self._spend.take(self._clock(), self._policy, tokens)
        try:
            yield
        except ModelError as error:
            self._spend.fail(self._clock())
            error.where = error.where or f"{self.host}, {task}"
            raise

    def used(
        self,
        reserved: int,
        tokens_in: int = 0,
        tokens_out: int = 0,
        *,
        task: str = "",
        cached: int = 0,
    ) -> None:
        """Replace the reserved tokens of a call by the used ones.

        They are counted for `task`; `cached` are those of the prompt that the server
        had in its cache.
        """
        used = TaskSpend(1, tokens_in, tokens_out, cached)
        self._spend.settle(self._clock(), reserved, used, task)

    def ask(
        self, create: Callable[[Any], Awaitable[Any]], reserved: int, limits: Limits
    ) -> Reply:
        """Send one request, and return the reply, including one with an error status.

        `create` sends it with a client that returns raw responses. Raises ModelError.
        """
        try:
            reply = self._connection.send(create, limits)
        except NoReplyError:
            self.used(reserved)
            raise
        if reply.status // 100 != 2:
            self.used(reserved)
        elif len(reply.raw) > limits.most_bytes:
            raise ModelError(
                "The model's answer is too large",
                fix="The policy model.max_reply_chars limits it.",
            )
        return reply

    def error_message(self, reply: Reply) -> str:
        """Return the server's message in a reply with an error status."""
        return error_message(reply.raw, self._settings.api_key)

    def refusal(self, reply: Reply) -> ModelError:
        """Return the error for the status of a reply."""
        words = self.error_message(reply)
        if reply.status != 429:
            return status_fault(reply.status, words, self._settings.section)
        wait = _retry_after(reply.headers.get("retry-after", ""), self._clock())
        return RateLimitedError(
            f"The endpoint asks to slow down: {words or 429}",
            retry_after=wait,
            fix="It is tried again later.",
        )

    def estimate(self, text: str) -> int:
        """Return the estimated number of tokens of `text`."""
        return round(len(text) / self._policy.chars_per_token)


def encodable(text: str) -> str:
    """Return `text` without lone surrogates, which cannot be encoded."""
    return text.encode("utf-8", "replace").decode("utf-8")


def checked_host(settings: ModelSettings | EmbeddingSettings) -> str:
    """Return `host` or `host:port` of the endpoint.

    Raises ConfigError for an address or a key that must not be used.
    """
    key, name = settings.api_key, f"{settings.section}.base_url"
    if key and not re.fullmatch(r"[!-~]+", key):
        raise _refused(
            settings,
            "The model's API key holds blanks or characters that no key has",
            "Copy the key again.",
        )
    if settings.base_url is None:
        if not key:
            raise _refused(
                settings,
                "The default model endpoint needs an API key",
                f"Set a key, or {name} to a local server.",
            )
        return urlsplit(DEFAULT_URL).netloc

    url, port = _parsed_url(settings, settings.base_url)
    host = url.hostname or ""
    _check_address(settings, url.scheme, host)
    return f"{host}:{port}" if port else host


def _refused(
    settings: ModelSettings | EmbeddingSettings, fault: str, fix: str
) -> ConfigError:
    return ConfigError(fault, where=settings.section, fix=fix)


def _parsed_url(
    settings: ModelSettings | EmbeddingSettings, base_url: str
) -> tuple[SplitResult, int | None]:
    """Return the parts of the URL and its port; ConfigError unless it is plain http(s).

    User names, passwords, queries and fragments are refused too.
    """
    name = f"{settings.section}.base_url"
    no_address = _refused(
        settings, f"{name} is not an address", "Example: http://127.0.0.1:11434/v1"
    )
    try:
        url = urlsplit(base_url)
        host, port = url.hostname or "", url.port
    except ValueError:
        raise no_address from None
    if url.scheme not in {"http", "https"} or not re.fullmatch(r"[a-z0-9.:-]+", host):
        raise no_address
    if url.username or url.password or url.query or url.fragment:
        raise _refused(
            settings,
            f"{name} holds more than an address",
            "A key belongs in the key file or the environment.",
        )
    return url, port


def _check_address(
    settings: ModelSettings | EmbeddingSettings, scheme: str, host: str
) -> None:
    """Raise ConfigError for a link-local host, or plain http to another machine."""
    name = f"{settings.section}.base_url"
    address = _address(host)
    internal = host.rstrip(".") in _METADATA or (
        address and (address.is_link_local or str(address) in _METADATA)
    )
    if internal:
        raise _refused(
            settings,
            f"{name} leads to {host}, an address of the machine's own network",
            "Models are not there.",
        )

    local = address.is_loopback if address else host == "localhost"
    if scheme == "http" and not local:
        raise _refused(
            settings,
            f"{name} is plain http to {host}",
            "Use https; plain http is for this machine only (127.0.0.1).",
        )


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the IP address in `host`, also from `0x7f.1` or `2852039166`, or None."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        try:
            return ipaddress.IPv4Address(socket.inet_aton(host))
        except OSError:
            return None
    return getattr(address, "ipv4_mapped", None) or address


def _retry_after(value: str, now: datetime) -> float | None:
    """Return the seconds of a `Retry-After` header (seconds or a date), or None."""
    try:
        seconds = (
            float(value)
            if value.strip()[:1].isdigit()
            else (parsedate_to_datetime(value) - now).total_seconds()
        )
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0.0, seconds)
