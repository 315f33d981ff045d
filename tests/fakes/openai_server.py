"""An OpenAI-compatible server for tests: standard library only, loopback only,
scripted.

    with FakeServer() as fake:
        fake.script('{"facts": []}', status(429, retry_after=7), facts_from)
        ...                                   # point a client at fake.url
        assert fake.requests[0].body["model"] == "m"

Routes: `/v1/chat/completions`, `/v1/responses`, `/v1/embeddings`, `/v1/models`. Every
request is kept in `fake.requests`. A body that the real service would refuse is refused
here with 400, and so is what the server is told not to know
(`FakeServer(lacks={"json_schema"})`).

A step of the script is a text (the model says it), a dict (it says this as JSON), a
`Reply` (what the functions below make: statuses, broken bodies, slow and silent
connections), or a function of the request body that gives one of these. Steps are used
in order; the last one stays.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import struct
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Body = dict[str, Any]
LACKS = ("responses", "json_schema", "json_object", "temperature")
"""What a server can be told not to know: a route, two reply formats, a parameter."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes over the wire. `text` is wrapped as a completion; `raw` is sent as it
    stands instead.
    """

    text: str = ""
    status: int = 200
    raw: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    finish: str = "stop"
    refusal: str = ""
    usage: bool = True
    drip: float | None = None
    drip_headers: bool = False
    hang: bool = False
    flood: bool = False
    cut: int | None = None


Step = str | Body | Reply | Callable[[Body], "str | Body | Reply"]


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it arrived; header names in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Body


# Replies that are faults


def status(
    code: int,
    message: str = "scripted fault",
    *,
    error: str = "",
    retry_after: object = None,
) -> Reply:
    """An error in the service's own form, e.g. 429 with `Retry-After`; `error` is its
    code.
    """
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    body = {
        "error": {
            "message": message,
            "type": "scripted",
            "param": None,
            "code": error or None,
        }
    }
    return Reply(status=code, raw=json.dumps(body).encode(), headers=headers)


def hang() -> Reply:
    """The request is read and never answered."""
    return Reply(hang=True)


def drip(interval: float = 0.02, *, headers: bool = False) -> Reply:
    """One byte per `interval` seconds without an end: of the body, or already of the
    headers.
    """
    return Reply(text="x" * 100_000, drip=interval, drip_headers=headers)


def flood() -> Reply:
    """A body that does not end, as fast as the caller reads."""
    return Reply(raw=b" " * 65536, flood=True, headers={"Content-Length": str(10**15)})


def cut(bytes_sent: int = 20, text: str = '{"facts": []}') -> Reply:
    """The connection closes after so many bytes of the body; 0 closes it before the
    status line.
    """
    return Reply(text=text, cut=bytes_sent)


def garbage() -> Reply:
    """A body that is no text at all."""
    return Reply(raw=bytes(range(256)))


def page(code: int = 200) -> Reply:
    """A web page where JSON was expected, as captive portals and wrong addresses give."""
    return Reply(
        status=code,
        raw=b"<html><body>Sign in</body></html>",
        headers={"Content-Type": "text/html"},
    )


def shape(body: object) -> Reply:
    """Any JSON as the whole body of the reply: wrong types, missing parts."""
    return Reply(raw=json.dumps(body).encode())


def redirect(to: str) -> Reply:
    """Sends the caller elsewhere."""
    return Reply(status=307, raw=b"", headers={"Location": to})


def refusal(words: str = "I cannot help with that.") -> Reply:
    """The model declines."""
    return Reply(refusal=words)


def truncated(text: str) -> Reply:
    """The model ran out of room: half of `text`, marked as such."""
    return Reply(text[: len(text) // 2], finish="length")


def fenced(value: object, chatter: str = "Here you are:") -> Reply:
    """JSON inside a Markdown fence with some talk around it."""
    return Reply(f"{chatter}\n```json\n{json.dumps(value)}\n```\nAnything else?")


# An extractor that reads the prompt as a model would


_TURN = re.compile(r"^\[(t\d+)\] \w{3} \S+ \S+ (.+) \((\w+)\): (.*)$")
_FIRST_PERSON = (
    (re.compile(r"^(?:i am|i'm)\b", re.IGNORECASE), "{name} is"),
    (re.compile(r"^i have\b", re.IGNORECASE), "{name} has"),
    (re.compile(r"^my\b", re.IGNORECASE), "{name}'s"),
    (
        re.compile(r"^i (like|love|live|work|prefer|want|need)\b", re.IGNORECASE),
        r"{name} \1s",
    ),
    (re.compile(r"^i\b", re.IGNORECASE), "{name}"),
)


def facts_from(body: Body) -> Body:
    """A plausible answer to an extraction prompt: each first-person sentence of a user
    is a fact.

    Questions are left out; the category follows a few words; quotes are literal, so
    facts are grounded.
    """
    found = []
    asked = body["messages"][-1]["content"] if "messages" in body else body["input"]
    for line in asked.splitlines():
        turn = _TURN.match(line)
        if turn and turn[3] == "user":
            name = "The user" if turn[2] == "user" else turn[2]
            found += [
                _fact(turn[1], name, said)
                for said in re.findall(r"[^.!?]+[.!?]?", turn[4])
            ]
    return {"facts": [fact for fact in found if fact]}


def _fact(turn: str, name: str, said: str) -> Body | None:
    quote = said.strip()
    for pattern, swap in _FIRST_PERSON:
        if pattern.match(quote) and not quote.endswith("?"):
            text = pattern.sub(
                swap.replace("{name}", name.replace("\\", "")), quote, count=1
            )
            liking = re.search(r"\b(like|love|prefer|favourite)", quote, re.IGNORECASE)
            date = re.search(
                r"\b(yesterday|today|tomorrow|(?:last|next) \w+)\b",
                quote,
                re.IGNORECASE,
            )
            return fact(
                turn,
                quote,
                text,
                category="preference" if liking else "fact",
                about=[name],
                when_words=date[0] if date else "",
            )
    return None


def fact(turn: str, quote: str, text: str, **changes: object) -> Body:
    """One fact in the form the extraction schema asks for; `changes` replaces or adds
    keys.
    """
    return {
        "turn": turn,
        "quote": quote,
        "text": text,
        "category": "fact",
        "confidence": 0.9,
        "importance": 0.6,
        "about": [],
        "tags": [],
        "when_words": "",
    } | changes


def prompt_text(body: Body) -> str:
    """Everything the caller said, whichever route it came by."""
    parts = [str(body.get("instructions", "")), str(body.get("input", ""))]
    parts += [str(message.get("content", "")) for message in body.get("messages", [])]
    return "\n".join(part for part in parts if part)


MEANINGS = {
    word: meaning
    for meaning, words in {
        "drink": "tea drink drinks beverage",
        "home": "live lives home flat house moved",
        "sea": "ocean beach surf sailing sea",
    }.items()
    for word in words.split()
}
"""Words that the fake model takes for the same."""


def vector(text: str, dimension: int) -> list[float]:
    """A unit vector that depends on `text` alone: the sum of its words' directions,
    words of one meaning alike.
    """
    numbers = [0.0] * dimension
    for word in re.findall(r"\w+", text.lower()) or [text]:
        stem = MEANINGS.get(word, word[:5])
        digest = hashlib.shake_256(stem.encode()).digest(dimension)
        numbers = [
            number + byte / 127.5 - 1
            for number, byte in zip(numbers, digest, strict=True)
        ]
    length = sum(number * number for number in numbers) ** 0.5
    return [number / length for number in numbers]


# The server


class FakeServer:
    """A running server; use it as a context manager. `dimension` may be changed while
    it runs.
    """

    def __init__(
        self,
        *,
        lacks: frozenset[str] | set[str] = frozenset(),
        dimension: int = 64,
        key: str = "",
    ) -> None:
        unknown = set(lacks) - set(LACKS)
        if unknown:
            raise ValueError(f"cannot lack {sorted(unknown)}; known: {LACKS}")
        self.lacks = frozenset(lacks)
        self.dimension = dimension
        self.key = key
        self.requests: list[Request] = []
        self.stopped = threading.Event()
        self._script: deque[Step] = deque()
        self._embedding_script: deque[Step] = deque()
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Exchange)
        self._server.fake = self
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            kwargs={"poll_interval": 0.01},
            daemon=True,
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """The base URL to give to a client."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def asked(self) -> list[Body]:
        """The bodies of the requests to a model, in order."""
        return [
            request.body
            for request in self.requests
            if request.path in {"/v1/chat/completions", "/v1/responses"}
        ]

    def script(self, *steps: Step) -> None:
        """What the model answers from now on; an empty script answers `{"facts": []}`."""
        with self._lock:
            self._script = deque(steps)

    def script_embeddings(self, *steps: Reply | Callable[[Body], Reply | None]) -> None:
        """Faults of the embedding route from now on; without a script, or for None, it
        answers with `vector`.
        """
        with self._lock:
            self._embedding_script = deque(steps)

    def next_step(self, route: str, body: Body) -> Reply | None:
        """The scripted reply to this request, or None where nothing is scripted."""
        with self._lock:
            steps = self._embedding_script if route == "embeddings" else self._script
            step: Step | None = (
                (steps.popleft() if len(steps) > 1 else steps[0]) if steps else None
            )
        if callable(step):
            step = step(body)
        if isinstance(step, Mapping):
            step = json.dumps(step, ensure_ascii=False)
        return Reply(step) if isinstance(step, str) else step

    def keep(self, request: Request) -> None:
        """Records a request."""
        with self._lock:
            self.requests.append(request)


class _Server(ThreadingHTTPServer):
    fake: FakeServer
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        """A caller that hangs up is part of the game."""


class _Exchange(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""

    def do_GET(self) -> None:
        """Lists the one model."""
        self._keep({})
        if self.path == "/v1/models":
            self._send(
                shape(
                    {
                        "object": "list",
                        "data": [
                            {"id": "fake", "object": "model", "owned_by": "tests"}
                        ],
                    }
                )
            )
        else:
            self._send(status(404, f"no route {self.path}"))

    def do_POST(self) -> None:
        """Reads, checks and answers."""
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        if not isinstance(body, dict):
            self._keep({})
            self._send(status(400, "the body is not a JSON object"))
            return
        self._keep(body)
        self._send(self._answer(body))

    def _keep(self, body: Body) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.fake.keep(Request(self.command, self.path, headers, body))

    def _answer(self, body: Body) -> Reply:
        fake = self.server.fake
        route = self.path.removeprefix("/v1/")
        if fake.key and self.headers.get("Authorization") != f"Bearer {fake.key}":
            return status(401, "Incorrect API key provided", error="invalid_api_key")
        if (
            route not in {"chat/completions", "responses", "embeddings"}
            or route in fake.lacks
        ):
            return status(404, f"unknown route {self.path}")
        refused = _objection(route, body, fake.lacks)
        if refused:
            return status(400, refused, error="invalid_request_error")
        reply = fake.next_step(route, body)
        if route == "embeddings":
            return reply or shape(_embeddings(body, fake.dimension))
        reply = reply or Reply('{"facts": []}')
        wrap = _response if route == "responses" else _completion
        return reply if reply.raw is not None else _with_raw(reply, wrap(reply, body))

    def _send(self, reply: Reply) -> None:
        raw = reply.raw or b""
        usual = {
            "Content-Type": "application/json",
            "Content-Length": str(len(raw)),
            "Connection": "close",
        }
        head = usual | reply.headers
        self.close_connection = True
        try:
            if reply.hang:
                self.server.fake.stopped.wait()
            elif reply.drip is not None:
                self._drip(reply, head, raw)
            elif reply.cut != 0:
                self.send_response(reply.status)
                for name, value in head.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(raw[: reply.cut])
                while reply.flood and not self.server.fake.stopped.is_set():
                    self.wfile.write(raw)
        except ConnectionError:
            pass

    def _drip(self, reply: Reply, head: Mapping[str, str], raw: bytes) -> None:
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        start = f"HTTP/1.1 200 OK\r\n{lines}".encode()
        slow = b"X-Slow: " + b"x" * 50_000 if reply.drip_headers else b"\r\n" + raw
        self.wfile.write(start)
        for byte in slow:
            if self.server.fake.stopped.wait(reply.drip):
                return
            self.wfile.write(bytes([byte]))


def _with_raw(reply: Reply, body: object) -> Reply:
    raw = json.dumps(body).encode()
    return Reply(
        raw=raw,
        status=reply.status,
        headers=reply.headers,
        drip=reply.drip,
        drip_headers=reply.drip_headers,
        hang=reply.hang,
        cut=reply.cut,
    )


def _completion(reply: Reply, body: Body) -> Body:
    message = {
        "role": "assistant",
        "content": None if reply.refusal else reply.text,
        "refusal": reply.refusal or None,
    }
    usage = {
        "prompt_tokens": len(prompt_text(body)) // 4,
        "completion_tokens": len(reply.text) // 4,
    }
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": reply.finish}],
    } | (
        {"usage": usage | {"total_tokens": sum(usage.values())}} if reply.usage else {}
    )


def _response(reply: Reply, body: Body) -> Body:
    said = (
        {"type": "refusal", "refusal": reply.refusal}
        if reply.refusal
        else {"type": "output_text", "text": reply.text}
    )
    whole = reply.finish == "stop"
    reason = {"length": "max_output_tokens"}.get(reply.finish, reply.finish)
    usage = {
        "input_tokens": len(prompt_text(body)) // 4,
        "output_tokens": len(reply.text) // 4,
    }
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 0,
        "model": body["model"],
        "status": "completed" if whole else "incomplete",
        "incomplete_details": None if whole else {"reason": reason},
        "output": [
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "content": [said],
            },
        ],
    } | (
        {"usage": usage | {"total_tokens": sum(usage.values())}} if reply.usage else {}
    )


def _embeddings(body: Body, dimension: int) -> Body:
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    rows: list[Body] = []
    for index, text in enumerate(texts):
        numbers = vector(text, body.get("dimensions", dimension))
        packed = base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()
        rows.append(
            {
                "object": "embedding",
                "index": index,
                "embedding": packed
                if body.get("encoding_format") == "base64"
                else numbers,
            }
        )
    usage = {
        "prompt_tokens": sum(map(len, texts)) // 4,
        "total_tokens": sum(map(len, texts)) // 4,
    }
    return {"object": "list", "model": body["model"], "data": rows, "usage": usage}


# What the real service would refuse


def _objection(route: str, body: Body, lacks: frozenset[str]) -> str:
    if not isinstance(body.get("model"), str) or not body["model"]:
        return "model must be a name"
    if route == "embeddings":
        texts = body.get("input")
        good = texts and (
            isinstance(texts, str)
            or all(isinstance(text, str) and text for text in texts)
        )
        return "" if good else "input must be texts, none empty"
    if "temperature" in body and "temperature" in lacks:
        return "Unsupported parameter: 'temperature' is not supported with this model."
    if route == "responses":
        return _format_objection(
            "text.format", (body.get("text") or {}).get("format"), lacks
        ) or ("" if body.get("input") else "input is missing")
    return _format_objection(
        "response_format", body.get("response_format"), lacks
    ) or _message_objection(body.get("messages"))


def _message_objection(messages: object) -> str:
    if not isinstance(messages, list) or not messages:
        return "messages must be a list, not empty"
    for message in messages:
        known = isinstance(message, dict) and message.get("role") in {
            "system",
            "developer",
            "user",
            "assistant",
        }
        if not known or not isinstance(message.get("content"), str):
            return "a message needs a role and a text"
    return ""


def _format_objection(name: str, wanted: object, lacks: frozenset[str]) -> str:
    if wanted is None:
        return ""
    kind = wanted.get("type") if isinstance(wanted, dict) else None
    if kind not in {"text", "json_object", "json_schema"} or kind in lacks:
        return f"{name}.type {kind!r} is not supported"
    if kind != "json_schema":
        return ""
    described = wanted["json_schema"] if name == "response_format" else wanted
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", str(described.get("name", ""))):
        return f"{name}.name must be a short word"
    return (
        _schema_objection(described.get("schema"), name)
        if described.get("strict")
        else ""
    )


def _schema_objection(schema: object, path: str) -> str:
    """The strict form: every object closed, every property required."""
    if not isinstance(schema, dict):
        return f"Invalid schema for {path}: not an object"
    if schema.get("type") == "object":
        properties = schema.get("properties", {})
        if schema.get("additionalProperties") is not False or set(
            schema.get("required", ())
        ) != set(properties):
            return f"Invalid schema for {path}: objects must be closed and require all their properties"
        for name, inner in properties.items():
            wrong = _schema_objection(inner, f"{path}.{name}")
            if wrong:
                return wrong
    if schema.get("type") == "array":
        return _schema_objection(schema.get("items"), f"{path}[]")
    return ""
