"""Reads the assistant's words from an answer that is passed on.

The answer arrives as bytes in any pieces: one JSON object, or a stream of server-sent
events.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from engram.serve.proxy.messages import Api

THOUGHT = re.compile(r"\A\s*<(think|thinking|thought)>.*?(?:</\1>|\Z)\s*", re.DOTALL)
"""Reasoning that some local servers put before the answer."""


class ReplyReader:
    """Collects the words of the first choice, up to `most` bytes of the answer."""

    def __init__(self, api: Api, most: int, *, stream: bool) -> None:
        self._api = api
        self._stream = stream
        self._left = most
        self._raw = bytearray()
        self._texts: list[str] = []
        self.response_id = ""

    def feed(self, chunk: bytes) -> None:
        """Read the next bytes of the answer; bytes beyond the limit are ignored."""
        part = chunk[: max(self._left, 0)]
        self._left -= len(part)
        self._raw += part
        if self._stream:
            self._read_events()

    def text(self) -> str:
        """Return the words of the assistant, without its reasoning."""
        if not self._stream:
            self._read_object()
        return THOUGHT.sub("", "".join(self._texts)).strip()

    def _read_events(self) -> None:
        """Read the complete lines of the stream."""
        *lines, rest = self._raw.split(b"\n")
        self._raw = bytearray(rest)
        for line in lines:
            if line.startswith(b"data:"):
                event = _parsed(bytes(line.removeprefix(b"data:")))
                self._texts += self._words_of_event(event)

    def _words_of_event(self, event: Mapping[str, Any]) -> Iterator[str]:
        if self._api == "chat/completions":
            yield from _choice_texts(event, "delta")
            return
        if event.get("type") == "response.output_text.delta":
            yield str(event.get("delta") or "")
        self._keep_id(event.get("response"))

    def _read_object(self) -> None:
        answer = _parsed(bytes(self._raw))
        self._raw.clear()
        if self._api == "chat/completions":
            self._texts += _choice_texts(answer, "message")
            return
        self._keep_id(answer)
        for item in _dicts(answer.get("output")):
            if item.get("type") == "message":
                self._texts += _content_texts(item.get("content"))

    def _keep_id(self, response: object) -> None:
        if isinstance(response, dict) and isinstance(response.get("id"), str):
            self.response_id = response["id"]


def _choice_texts(answer: Mapping[str, Any], key: str) -> Iterator[str]:
    """Yield the texts of the first choice; `key` is `delta` or `message`."""
    for choice in _dicts(answer.get("choices")):
        message = choice.get(key)
        if choice.get("index", 0) == 0 and isinstance(message, dict):
            yield from _content_texts(message.get("content"))


def _content_texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for part in _dicts(content):
        if part.get("type") in {"text", "output_text"}:
            yield str(part.get("text") or "")


def _dicts(value: object) -> list[dict[str, Any]]:
    return (
        [one for one in value if isinstance(one, dict)]
        if isinstance(value, list)
        else []
    )


def _parsed(raw: bytes) -> dict[str, Any]:
    """Return a JSON object, or an empty one for anything else."""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
