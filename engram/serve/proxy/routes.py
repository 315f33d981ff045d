"""Forwards requests to an OpenAI-compatible server, with context from the memory.

The routes are `/proxy/v1/…`. A conversation gets its context before the last user
message; after its answer both sides are observed. If the memory fails, the request is
forwarded unchanged.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from engram.core.trust import OWNER
from engram.errors import (
    BadRequestError,
    BusyError,
    ForbiddenError,
    UnavailableError,
)
from engram.serve.http import result_of
from engram.serve.proxy.messages import (
    APIS,
    Message,
    conversation_of,
    digest,
    is_housekeeping,
    session_of,
    turn,
    turns_of,
    with_memory,
)
from engram.serve.proxy.replies import ReplyReader

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    import httpx2
    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from engram.config import Settings
    from engram.serve.http import Routes
    from engram.serve.proxy.messages import Api, ChatRequest

log = logging.getLogger("engram.proxy")

PREFIX = "/proxy/v1/"
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
HOP_BY_HOP = frozenset(
    {
        "connection",
        "content-length",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Headers that concern one connection only."""
OWN_HEADERS = ("x-engram-", "engram-", "x-openwebui-")
"""Headers for the proxy; those of Open WebUI name the user and their address."""
CALLERS = frozenset({"chat", OWNER})
"""Callers that may use the user's API key of the model."""
REPORT = "X-Engram-Memory"
"""Header that opts out of memory; in an answer it reports what was added."""
REMEMBERED = 512
"""Number of contexts and response ids kept for the next request of a conversation."""
CONNECT_SECONDS = 10.0
READ_SECONDS = 600.0
TRIES = 5
"""Number of attempts to observe turns while the daemon is busy."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A conversation whose answer is awaited.

    `reads` is true if it gets memories, `records` if it is observed; `common` are the
    common fields of its turns: persona, speaker, privacy.
    """

    api: Api
    body: Mapping[str, Any]
    conversation: ChatRequest
    session: str
    common: Mapping[str, Any]
    standing: str
    reads: bool
    records: bool


class Relay(StreamingResponse):
    """A streamed answer that calls `on_end` after its end, also after a disconnect."""

    on_end: Callable[[], None]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.on_end()


class Proxy:
    """Forwards requests to the server of the settings.

    It belongs to one event loop, in which `close` must be awaited.
    """

    def __init__(self, answers: Routes, settings: Settings) -> None:
        self._answers = answers
        self._settings = settings
        self._policy = settings.policy.serve
        # separate threads: while the daemon is busy, turns wait for seconds
        threads = self._policy.proxy_threads
        self._context_threads = ThreadPoolExecutor(threads, "context")
        self._observe_threads = ThreadPoolExecutor(threads, "observe")
        self._upstream: httpx2.AsyncClient | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._contexts: OrderedDict[str, str] = OrderedDict()
        self._sessions: OrderedDict[str, str] = OrderedDict()

    def routes(self) -> list[Route]:
        """Return the route of all requests below `/proxy/v1/`."""
        return [Route(f"{PREFIX}{{path:path}}", self.answer, methods=METHODS)]

    async def close(self) -> None:
        """Observe the turns of finished answers, then close the connections."""
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=self._policy.stop_seconds)
        if self._upstream is not None:
            await self._upstream.aclose()
        for threads in (self._context_threads, self._observe_threads):
            threads.shutdown(wait=False, cancel_futures=True)

    async def answer(self, request: Request) -> Response:
        """Answer one request with the answer of the upstream server, byte for byte.

        Raises ForbiddenError for the token of an import or a tool, and BadRequestError
        for a path that leads outside the base URL.
        """
        import httpx2

        if request.state.standing not in CALLERS:
            raise ForbiddenError(
                "only a chatbot may use the proxy", fix="Use the token of the chatbot."
            )
        path = raw_path(request)
        raw = await request.body()
        exchange, report = None, "none"
        if request.method == "POST" and request.path_params["path"] in APIS:
            exchange, report = await run_in_threadpool(self._read, request, raw)
        if exchange and exchange.reads:
            raw, report = await self._extended(exchange, raw)

        try:
            reply = await self._send(request, path, raw)
        except (httpx2.HTTPError, httpx2.InvalidURL) as fault:
            return self._unreachable(fault)

        headers = {REPORT: report}
        if exchange:
            headers["X-Engram-Session"] = exchange.session
        return self._relay(reply, exchange, headers)

    # -- the request -------------------------------------------------------------------

    def _read(self, request: Request, raw: bytes) -> tuple[Exchange | None, str]:
        """Return the conversation of a request, or None and the reason."""
        api: Api = request.path_params["path"]
        try:
            body = json.loads(raw)
        except (ValueError, RecursionError):
            return None, "none: no JSON"
        conversation = conversation_of(api, body) if isinstance(body, dict) else None
        if conversation is None:
            return None, "none: no user message"
        if is_housekeeping(conversation):
            return None, "none: housekeeping"

        headers = request.headers
        mode = headers.get(REPORT, "on").strip().lower()
        records = headers.get("x-engram-record", "true").strip().lower() != "false"
        exchange = Exchange(
            api,
            body,
            conversation,
            session_of(headers, body, conversation, self._sessions),
            _common(headers),
            request.state.standing,
            reads=mode in {"on", "read"},
            records=records and mode in {"on", "write"},
        )
        return exchange, "none" if exchange.reads else "off"

    async def _extended(self, exchange: Exchange, raw: bytes) -> tuple[bytes, str]:
        """Return the request with its context, and a report.

        The request does not change if nothing is known, if the memory fails, or if it
        takes longer than the policy allows.
        """
        conversation = exchange.conversation
        key = digest(exchange.session, str(conversation.asked), conversation.query)
        loop, threads = asyncio.get_running_loop(), self._context_threads
        task = loop.run_in_executor(threads, self._with_context, exchange, key)
        await asyncio.wait({task}, timeout=self._policy.proxy_milliseconds / 1000)
        if not task.done():
            task.cancel()  # a call that has begun ends by itself
            _keep(self._contexts, key, "")
            return raw, "none: late"
        if fault := task.exception():
            log.warning("a request passed without memory: %s", type(fault).__name__)
            return raw, "none: fault"
        text, body = task.result()
        _keep(self._contexts, key, text)
        return (body, "added") if body else (raw, "none: nothing known")

    def _with_context(self, exchange: Exchange, key: str) -> tuple[str, bytes]:
        """Return a context and the request with it; '' and b'' if nothing is known.

        The context of a message stays the same while tools are called to answer it. A
        message that is sent again gets a new one, because memories may have been
        forgotten.
        """
        conversation = exchange.conversation
        is_answering = conversation.asked < len(conversation.messages) - 1
        text = self._contexts.get(key) if is_answering else None
        if text is None:
            question = {
                "query": conversation.query[: self._policy.proxy_characters],
                "session": exchange.session,
            }
            if persona := exchange.common.get("persona"):
                question["persona"] = persona
            found = result_of(self._answers, "context", question, exchange.standing)
            text = str(found["text"])
        if not text:
            return "", b""
        body = with_memory(exchange.api, exchange.body, conversation, text)
        return text, json.dumps(body).encode("ascii")

    async def _send(self, request: Request, path: str, raw: bytes) -> httpx2.Response:
        """Send the request to the upstream server; return its answer, unread."""
        client = self._client()
        upstream = self._settings.proxy
        headers = [
            (name, value)
            for name, value in request.headers.items()
            if name not in HOP_BY_HOP
            and not name.startswith(OWN_HEADERS)
            and name != "accept-encoding"
        ]
        if not request.state.own_authorization:
            headers = [pair for pair in headers if pair[0] != "authorization"]
            if upstream.api_key:
                headers.append(("authorization", f"Bearer {upstream.api_key}"))
        # not compressed, so that the proxy can read the words
        headers.append(("accept-encoding", "identity"))
        url = f"{upstream.base_url.rstrip('/')}/{path}"
        if request.url.query:
            url += f"?{request.url.query}"
        built = client.build_request(request.method, url, headers=headers, content=raw)
        return await client.send(built, stream=True)

    def _client(self) -> httpx2.AsyncClient:
        import httpx2

        if self._upstream is None:
            self._upstream = httpx2.AsyncClient(
                timeout=httpx2.Timeout(READ_SECONDS, connect=CONNECT_SECONDS),
                limits=httpx2.Limits(max_connections=self._policy.connections),
            )
        return self._upstream

    # -- the answer --------------------------------------------------------------------

    def _relay(
        self,
        reply: httpx2.Response,
        exchange: Exchange | None,
        headers: Mapping[str, str],
    ) -> Response:
        """Return the answer as a stream; its words are observed at its end."""
        reader = None
        if exchange and reply.is_success:
            kind = reply.headers.get("content-type", "")
            reader = ReplyReader(
                exchange.api,
                self._policy.body_bytes,
                stream=kind.startswith("text/event-stream"),
            )

        def end() -> None:
            self._start(self._finish(reply, exchange, reader))

        relay = Relay(_chunks(reply, reader), reply.status_code)
        relay.on_end = end
        relay.raw_headers = [
            (name, value)
            for name, value in reply.headers.raw
            if name.decode("latin-1").lower() not in HOP_BY_HOP | {"date"}
        ]
        if length := reply.headers.get("content-length"):
            relay.headers["Content-Length"] = length
        relay.headers.update(headers)
        return relay

    async def _finish(
        self,
        reply: httpx2.Response,
        exchange: Exchange | None,
        reader: ReplyReader | None,
    ) -> None:
        """Close the answer and observe both sides."""
        await reply.aclose()
        if exchange and reader:
            loop, threads = asyncio.get_running_loop(), self._observe_threads
            await loop.run_in_executor(threads, self._observe, exchange, reader)

    def _observe(self, exchange: Exchange, reader: ReplyReader) -> None:
        text = reader.text()
        if reader.response_id:
            _keep(self._sessions, reader.response_id, exchange.session)
        if not exchange.records:
            return

        conversation, session = exchange.conversation, exchange.session
        rows = turns_of(session, conversation, exchange.common)
        if text:
            answer = Message("assistant", text, conversation.length)
            shared = {k: v for k, v in exchange.common.items() if k != "speaker"}
            rows.append(turn(session, answer, shared))
        # one by one, so that a refused turn does not affect the others
        for row in rows:
            self._observe_turn(row, exchange.standing)

    def _observe_turn(self, row: dict[str, Any], standing: str) -> None:
        """Observe one turn; wait while the daemon is busy."""
        for _ in range(TRIES):
            try:
                result_of(self._answers, "observe", {"turns": [row]}, standing)
            except (BusyError, UnavailableError) as busy:
                time.sleep(busy.retry_after or 1)
            except Exception as fault:  # noqa: BLE001  # the answer is already out
                # the message of the error may contain words of the conversation
                log.warning("a turn was not stored: %s", type(fault).__name__)
                return
            else:
                return
        log.error("a turn was not stored: the daemon stayed busy")

    # -- helpers -----------------------------------------------------------------------

    def _start(self, work: Any) -> None:
        """Start `work` in parallel to the answer; `close` waits for it."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _unreachable(self, fault: Exception) -> Response:
        """Return the error for an upstream server that does not answer, in its format."""
        words = (
            f"engram's proxy cannot reach {self._settings.proxy.base_url} "
            f"({type(fault).__name__}). Check `proxy.base_url` in the configuration."
        )
        error = {"message": words, "type": "upstream_unreachable", "code": "upstream"}
        raw = json.dumps({"error": error}).encode()
        return Response(raw, 502, media_type="application/json")


def raw_path(request: Request) -> str:
    """Return the path below `/proxy/v1/` as received, percent-encoded.

    Raises BadRequestError for a path with a segment `.` or `..`.
    """
    sent: str = request.scope["raw_path"].decode("ascii", "replace")
    segments = unquote(sent).replace("\\", "/").split("/")
    # some servers treat the text after a semicolon as a parameter of the segment
    names = {segment.partition(";")[0] for segment in segments}
    if not sent.startswith(PREFIX) or {".", ".."} & names:
        raise BadRequestError(
            "the path leads outside the base URL", fix="Send the path of the API."
        )
    return sent.removeprefix(PREFIX)


async def _chunks(
    reply: httpx2.Response, reader: ReplyReader | None
) -> AsyncIterator[bytes]:
    async for chunk in reply.aiter_raw():
        if reader:
            reader.feed(chunk)
        yield chunk


def _common(headers: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields that the headers give to all turns of a request.

    Names that are not ASCII are percent-encoded, as in URLs.
    """
    named = {
        "persona": unquote(headers.get("x-engram-persona", "")).strip(),
        "speaker": unquote(headers.get("x-engram-speaker", "")).strip(),
    }
    common: dict[str, Any] = {key: name for key, name in named.items() if name}
    if headers.get("x-engram-private", "").strip().lower() == "true":
        common["private"] = True
    return common


def _keep(kept: OrderedDict[str, str], key: str, value: str) -> None:
    kept[key] = value
    while len(kept) > REMEMBERED:
        kept.popitem(last=False)
