"""Requests to a model's server, with the budget of the day; `connection` sends them.

The server is not trusted. Every error is a `ModelError`; `retryable` is False only if
the batch itself is the cause.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

from engram.errors import ConfigError, ModelError
from engram.llm.api_forms import error_message, status_fault
from engram.llm.budget import TaskSpend
from engram.llm.connection import DEFAULT_URL, Connection, NoReplyError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from datetime import datetime

    from engram.config import EmbeddingSettings, ModelSettings
    from engram.core.policy import ModelPolicy
    from engram.llm.budget import Budget, DailySpend
    from engram.llm.connection import Limits, Reply

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

    def __init__(
        self, what: str, *, retry_after: float | None, where: str = "", fix: str = ""
    ) -> None:
        super().__init__(what, where=where, fix=fix)
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
                "The model's answer is too large", fix="It was not read to its end."
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
