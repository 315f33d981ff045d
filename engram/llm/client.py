"""The one place that talks to a model: any OpenAI-compatible server, through the `openai` package.

The ladder of API forms (`forms.py`): Responses API with a JSON schema, on the default address; chat
completions with a strict schema, with "any JSON object", plain. A server that does not know a form is asked
in the next one; the form that worked is remembered as long as the `Model` lives.

The endpoint is a stranger. It gets our key and the request and no other header of ours; it cannot send us
elsewhere, keep us longer than the timeout, or make us read more than the cap. Every fault of it is a
`ModelError`, and `retryable` is False only where the batch itself is the reason.
"""

from __future__ import annotations

import ipaddress
import json
import re
import socket
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from engram.errors import ConfigError, ModelError
from engram.llm.forms import (
    LADDER,
    Answer,
    Form,
    Question,
    bare,
    next_form,
    read,
    refuses_temperature,
    request,
    said,
    status_fault,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from datetime import datetime

    from engram.config import ModelSettings
    from engram.core.policy import ModelPolicy
    from engram.llm.spend import Day, Spend

DEFAULT_URL = "https://api.openai.com/v1"
_METADATA = {"metadata", "metadata.google.internal", "metadata.goog", "100.100.100.200", "fd00:ec2::254"}
_HEADERS = {"host", "connection", "content-type", "content-length"}
_OURS = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "engram"}


class RateLimitedError(ModelError):
    """The endpoint asks us to slow down; `retry_after` are the seconds it named, or None."""

    status = 429

    def __init__(self, what: str, *, retry_after: float | None, where: str = "", fix: str = "") -> None:
        super().__init__(what, where=where, fix=fix)
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    headers: Mapping[str, str]
    raw: bytes


class Model:
    """A language model behind an endpoint, with its budget. May be shared between threads.

    Raises ConfigError at once where the settings cannot work: no key for the default address, plain http to
    another machine, a link-local or metadata address.
    """

    def __init__(
        self, settings: ModelSettings, policy: ModelPolicy, spend: Spend, clock: Callable[[], datetime]
    ) -> None:
        self.host = checked_host(settings)
        self._settings = settings
        self._policy = policy
        self._spend = spend
        self._clock = clock
        default = (settings.base_url or DEFAULT_URL).rstrip("/") == DEFAULT_URL
        responses = settings.api == "responses" or (settings.api == "auto" and default)
        self._form = LADDER[0] if responses else LADDER[1]
        self._warm = True

    @property
    def form(self) -> Form:
        """The form of the API in use."""
        return self._form

    @property
    def spent(self) -> Day:
        """Calls, tokens and failures of today."""
        return self._spend.today(self._clock())

    def complete(self, task: str, system: str, user: str, schema: Mapping[str, Any], temperature: float) -> str:
        """The model's answer to one prompt, freed of fences and talk; JSON if the model did as asked.

        `task` is one word for the server and for errors; `schema` is a closed JSON schema.
        Raises ModelError for every fault of the endpoint, BudgetSpentError when the day's budget is spent.
        """
        question = Question(task, _encodable(system), _encodable(user), schema, temperature)
        while True:
            form, warm = self._form, self._warm
            body = request(form, question, self._settings.name, warm=warm)
            reserved = self._estimate(json.dumps(body))
            self._spend.take(self._clock(), self._policy, reserved)
            try:
                reply = self._ask(form, body, reserved)
                if reply.status // 100 == 2:
                    return self._text(form, reply, reserved)
                self._spend.settle(self._clock(), reserved, 0, 0)
                words = said(reply.raw, self._settings.api_key)
                lower = next_form(form, reply.status, words)
                if lower:
                    self._form = lower
                elif warm and refuses_temperature(reply.status, words):
                    self._warm = False
                else:
                    raise self._refusal(reply, words)
            except ModelError as error:
                self._spend.fail(self._clock())
                error.where = error.where or f"{self.host}, {task}"
                raise

    def _ask(self, form: Form, body: dict[str, Any], reserved: int) -> _Reply:
        import openai

        seconds = self._policy.timeout_seconds
        try:
            return _run(lambda: _post(self._settings, self._policy, form, body))
        except (TimeoutError, openai.APITimeoutError):
            raise ModelError(
                f"The model gave no complete answer within {seconds:g} seconds",
                fix="Is the server busy? The limit is model.timeout.",
            ) from None
        except openai.OpenAIError as error:
            self._spend.settle(self._clock(), reserved, 0, 0)
            if type(error.__cause__).__name__ == "ConnectError":
                raise ModelError("Cannot connect to the model", fix="Is the server running?") from None
            raise ModelError("The connection to the model broke off", fix="It is tried again later.") from None

    def _text(self, form: Form, reply: _Reply, reserved: int) -> str:
        if len(reply.raw) > _most_bytes(self._policy):
            raise ModelError("The model's answer is too large", fix="The limit is max_reply_chars.")
        answer = read(form, reply.raw)
        tokens = answer.tokens or (reserved, self._estimate(answer.text))
        self._spend.settle(self._clock(), reserved, *tokens)
        _accept(answer, self._policy)
        return bare(answer.text)

    def _refusal(self, reply: _Reply, words: str) -> ModelError:
        if reply.status != 429:
            return status_fault(reply.status, words)
        wait = _retry_after(reply.headers.get("retry-after", ""), self._clock())
        return RateLimitedError(
            f"The endpoint asks to slow down: {words or 429}", retry_after=wait, fix="It is tried again later."
        )

    def _estimate(self, text: str) -> int:
        return round(len(text) / self._policy.chars_per_token)


def checked_host(settings: ModelSettings) -> str:
    """`host` or `host:port` of the endpoint. Raises ConfigError for an address or key that must not be used."""
    key = settings.api_key
    if key and not re.fullmatch(r"[!-~]+", key):
        raise _bad("The model's API key holds blanks or characters that no key has", "Copy the key again.")
    if settings.base_url is None:
        if not key:
            raise _bad("The default model endpoint needs an API key", "Set a key, or model.base_url to a local server.")
        return urlsplit(DEFAULT_URL).netloc
    try:
        url = urlsplit(settings.base_url)
        host, port = url.hostname or "", url.port
    except ValueError:
        raise _bad("model.base_url is not an address", "Example: http://127.0.0.1:11434/v1") from None
    if url.scheme not in {"http", "https"} or not re.fullmatch(r"[a-z0-9.:-]+", host):
        raise _bad("model.base_url is not an address", "Example: http://127.0.0.1:11434/v1")
    if url.username or url.password or url.query or url.fragment:
        raise _bad("model.base_url holds more than an address", "A key belongs in the key file or the environment.")
    address = _address(host)
    if host.rstrip(".") in _METADATA or (address and (address.is_link_local or str(address) in _METADATA)):
        raise _bad(f"model.base_url leads to {host}, an address of the machine's own network", "Models are not there.")
    if url.scheme == "http" and not (address.is_loopback if address else host == "localhost"):
        raise _bad(
            f"model.base_url is plain http to {host}", "Use https; plain http is for this machine only (127.0.0.1)."
        )
    return f"{host}:{port}" if port else host


def _bad(what: str, fix: str) -> ConfigError:
    return ConfigError(what, where="model", fix=fix)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that `host` spells, also in the old forms (`0x7f.1`, `2852039166`); None for a name."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        try:
            return ipaddress.IPv4Address(socket.inet_aton(host))
        except OSError:
            return None
    return getattr(address, "ipv4_mapped", None) or address


async def _post(settings: ModelSettings, policy: ModelPolicy, form: Form, body: dict[str, Any]) -> _Reply:
    """One request and its reply, read to the cap; the timeout covers all of it, from the name lookup on.

    The transport decides which headers leave the machine, whatever the environment would add.
    """
    import asyncio

    import openai

    class Transport(openai.DefaultAsyncHttpxClient):
        async def send(self, request: Any, **options: Any) -> Any:
            headers = {name: request.headers[name] for name in _HEADERS if name in request.headers} | _OURS
            if settings.api_key:
                headers["Authorization"] = f"Bearer {settings.api_key}"
            bare_request = type(request)(
                request.method, request.url, headers=headers, content=request.content, extensions=request.extensions
            )
            response = await super().send(bare_request, **options | {"stream": True})
            raw = bytearray()
            async for part in response.aiter_raw():
                raw += part
                if len(raw) > _most_bytes(policy):
                    break
            await response.aclose()
            kept = {
                name: response.headers[name] for name in ("content-type", "retry-after") if name in response.headers
            }
            return type(response)(response.status_code, headers=kept, content=bytes(raw), request=request)

    async with (
        asyncio.timeout(policy.timeout_seconds),
        openai.AsyncOpenAI(
            api_key=settings.api_key or "none",
            base_url=settings.base_url or DEFAULT_URL,
            max_retries=0,
            timeout=policy.timeout_seconds,
            http_client=Transport(trust_env=False, follow_redirects=False),
        ) as client,
    ):
        create = (
            client.responses.with_raw_response
            if form.route == "responses"
            else client.chat.completions.with_raw_response
        )
        try:
            response = (await create.create(**body)).http_response
        except openai.APIStatusError as error:
            response = error.response
        return _Reply(response.status_code, response.headers, response.content)


def _run(start: Callable[[], Coroutine[Any, Any, _Reply]]) -> _Reply:
    """Runs a coroutine to its end, also for a caller whose thread has an event loop already."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(lambda: asyncio.run(start())).result()
    return asyncio.run(start())


def _accept(answer: Answer, policy: ModelPolicy) -> None:
    """Raises ModelError where the model gave no whole answer."""
    if answer.refusal or answer.finish == "content_filter":
        raise ModelError("The model refused to answer", retryable=False, fix="Another model may take this text.")
    if answer.finish == "length":
        raise ModelError("The model's answer was cut off", fix="Give the server more room for answers.")
    if not answer.text.strip():
        raise ModelError("The model's answer is empty", fix="It is tried again later.")
    if len(answer.text) > policy.max_reply_chars:
        raise ModelError("The model's answer is too large", fix="The limit is max_reply_chars.")


def _most_bytes(policy: ModelPolicy) -> int:
    """Bytes of a reply that are read: the text, each character at worst escaped as six, and its frame."""
    return 6 * policy.max_reply_chars + 65536


def _retry_after(value: str, now: datetime) -> float | None:
    """Seconds from a `Retry-After` header, which holds seconds or a date; None where it holds neither."""
    try:
        seconds = float(value) if value.strip()[:1].isdigit() else (parsedate_to_datetime(value) - now).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0.0, seconds)


def _encodable(text: str) -> str:
    """`text` without the lone surrogates that no request can carry."""
    return text.encode("utf-8", "replace").decode("utf-8")
