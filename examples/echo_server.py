"""A server with the form of OpenAI's API that answers with what it was sent.

It stands for the model in `demo_proxy.py` and in the tests: standard library only,
loopback only. The answer to a conversation is "You said: …", and the memories that came
with it; `say` sets another answer, `call` the call of a tool.
"""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterator


class EchoServer:
    """A running server; use it as a context manager and give `url` to a client.

    `requests` are the requests in their order, as (path, headers, raw body); `sent` the
    raw bodies of the answers. `pause` is the time in seconds between two events of a
    stream; `cut` breaks a stream after that many events.
    """

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.sent: list[bytes] = []
        self.answer: str | None = None
        self.tool: dict[str, Any] | None = None
        self.status = 200
        self.pause = 0.0
        self.cut = 0
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.echo = self
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """The base URL for a client."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The parsed bodies of the requests to a model."""
        return [json.loads(raw) for path, _, raw in self.requests if raw and path]

    def say(self, text: str) -> None:
        """Answer with this text from now on."""
        self.answer = text

    def call(self, name: str, arguments: str) -> None:
        """Answer the next request of a chat with the call of a tool."""
        self.tool = {
            "id": "call_1",
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }


class _Server(ThreadingHTTPServer):
    echo: EchoServer
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a client that hangs up."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        """List the one model."""
        self._keep(b"")
        models = [{"id": "echo", "object": "model", "created": 0, "owned_by": "you"}]
        self._send_json({"object": "list", "data": models})

    def do_POST(self) -> None:
        """Answer a conversation, an embedding or an upload."""
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._keep(raw)
        route = self.path.removeprefix("/v1/")
        if self.server.echo.status != 200:
            error = {"message": "scripted", "type": "scripted", "code": "scripted"}
            self._send_json({"error": error}, self.server.echo.status)
        elif route == "embeddings":
            row = {"object": "embedding", "index": 0, "embedding": [0.0, 1.0]}
            self._send_json({"object": "list", "data": [row], "model": "echo"})
        elif route == "chat/completions":
            self._chat(json.loads(raw))
        elif route == "responses":
            self._responses(json.loads(raw))
        else:
            self._send_json({"bytes": len(raw)})

    def _keep(self, raw: bytes) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.echo.requests.append((self.path, headers, raw))

    def _words(self, messages: list[dict[str, Any]]) -> str:
        echo = self.server.echo
        if echo.answer is not None:
            return echo.answer
        texts = [_text(one.get("content")) for one in messages]
        said = next(
            text
            for text, one in zip(reversed(texts), reversed(messages), strict=True)
            if one.get("role") == "user"
        )
        memories = "".join(
            f"\nI remember: {text}"
            for text, one in zip(texts, messages, strict=True)
            if one.get("role") == "system"
        )
        return f"You said: {said}{memories}"

    def _chat(self, body: dict[str, Any]) -> None:
        echo = self.server.echo
        tool, echo.tool = echo.tool, None
        words = "" if tool else self._words(body["messages"])
        head = {"id": "chatcmpl-1", "created": 0, "model": body.get("model", "echo")}
        if body.get("stream"):
            self._send_events(_chat_events(head, words, tool))
            return
        message: dict[str, Any] = {"role": "assistant", "content": words or None}
        message |= {"tool_calls": [tool]} if tool else {}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self._send_json({**head, "object": "chat.completion", "choices": [choice]})

    def _responses(self, body: dict[str, Any]) -> None:
        given = body["input"]
        items = (
            [{"role": "user", "content": given}] if isinstance(given, str) else given
        )
        words = self._words(items)
        part = {"type": "output_text", "text": words, "annotations": []}
        message = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [part],
        }
        response = {
            "id": f"resp_{len(self.server.echo.requests)}",
            "object": "response",
            "created_at": 0,
            "status": "completed",
            "model": "echo",
            "output": [message],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
        }
        if body.get("stream"):
            self._send_events(_response_events(response, words))
        else:
            self._send_json(response)

    def _send_json(self, value: object, status: int = 200) -> None:
        raw = json.dumps(value, ensure_ascii=False).encode()
        self.server.echo.sent.append(raw)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.send_header("X-Request-Id", "req_1")
        self.end_headers()
        self.wfile.write(raw)

    def _send_events(self, events: Iterator[bytes]) -> None:
        echo = self.server.echo
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Connection", "close")
        self.end_headers()
        raw = b""
        for number, event in enumerate(events, 1):
            self.wfile.write(event)
            self.wfile.flush()
            raw += event
            if number == echo.cut:
                break
            time.sleep(echo.pause)
        echo.sent.append(raw)
        self.close_connection = True


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return " ".join(str(part.get("text", "")) for part in parts)


def _event(value: object, name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(value, ensure_ascii=False)}\n\n".encode()


def _chat_events(
    head: dict[str, Any], words: str, tool: dict[str, Any] | None
) -> Iterator[bytes]:
    head = {**head, "object": "chat.completion.chunk"}
    delta: dict[str, Any] = {"role": "assistant", "content": ""}
    if tool:
        delta["tool_calls"] = [{"index": 0, **tool}]
    yield _event({**head, "choices": [{"index": 0, "delta": delta}]})
    for word in words.split(" "):
        choice = {"index": 0, "delta": {"content": f"{word} "}}
        yield _event({**head, "choices": [choice]})
    end = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if tool else "stop"}
    yield _event({**head, "choices": [end]})
    yield b"data: [DONE]\n\n"


def _response_events(response: dict[str, Any], words: str) -> Iterator[bytes]:
    started = {**response, "status": "in_progress", "output": []}
    created = {"type": "response.created", "response": started, "sequence_number": 0}
    yield _event(created, "response.created")
    for number, word in enumerate(words.split(" "), 1):
        event = {
            "type": "response.output_text.delta",
            "item_id": "msg_1",
            "output_index": 0,
            "content_index": 0,
            "delta": f"{word} ",
            "logprobs": [],
            "sequence_number": number,
        }
        yield _event(event, "response.output_text.delta")
    done = {"type": "response.completed", "response": response, "sequence_number": 9999}
    yield _event(done, "response.completed")
