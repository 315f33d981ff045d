"""
title: engram
description: Long-term memory: adds what is known before an answer, and observes both sides.
version: 0.1.0
"""

# One file, standard library and pydantic alone: paste it into Open WebUI,
# Admin Panel > Functions, and enable it for the models that shall remember.

from __future__ import annotations

import asyncio
import http.client
import json
import socket
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field


class Filter:
    """A filter of Open WebUI: `inlet` before the model, `outlet` after it.

    Whatever fails in the memory, the conversation goes on without it.
    """

    class Valves(BaseModel):
        """The settings of the administrator."""

        address: str = Field(
            "127.0.0.1:7077",
            description="host and port of the daemon, or the path of its socket",
        )
        token: str = Field("", description="the token of the chatbot, for a port")
        seconds: float = Field(2.0, description="how long an answer may wait for it")
        persona: str = Field(
            "", description="the persona that answers, if there are several"
        )
        priority: int = 0

    class UserValves(BaseModel):
        """The settings of each user."""

        enabled: bool = Field(True, description="add memories, and observe")
        off_the_record: bool = Field(False, description="add memories, store nothing")

    def __init__(self) -> None:
        self.valves = self.Valves()

    async def inlet(
        self,
        body: dict[str, Any],
        __user__: dict[str, Any] | None = None,
        __metadata__: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Add what is known as a message before the last one of the user."""
        chat = _Chat(body, __user__, __metadata__)
        places = [
            at for at, one in enumerate(chat.messages) if one.get("role") == "user"
        ]
        if not chat.reads or not places:
            return body
        question = {
            **chat.common(self.valves),
            "query": _text(chat.messages[places[-1]])[:2000],
            "record": chat.records,
        }
        question.pop("speaker", None)
        known = await self._ask("/v1/context", question)
        if text := known.get("text"):
            messages = [*chat.messages]
            messages.insert(places[-1], {"role": "system", "content": text})
            body = {**body, "messages": messages}
        return body

    async def outlet(
        self,
        body: dict[str, Any],
        __user__: dict[str, Any] | None = None,
        __metadata__: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Observe the last message of the user and the answer, once by their ids."""
        chat = _Chat(body, __user__, __metadata__)
        if not chat.records:
            return body
        common = chat.common(self.valves)
        turns = []
        for message in chat.messages[-2:]:
            if message.get("role") in {"user", "assistant"} and _text(message).strip():
                turn = {"role": message["role"], "text": _text(message), **common}
                if message.get("id"):
                    turn["id"] = str(message["id"])
                if turn["role"] == "assistant":
                    turn.pop("speaker", None)
                turns.append(turn)
        if turns:
            await self._ask("/v1/turns", {"turns": turns})
        return body

    async def _ask(self, path: str, value: dict[str, Any]) -> dict[str, Any]:
        try:
            return await asyncio.to_thread(self._post, path, value)
        except (OSError, ValueError, http.client.HTTPException) as fault:
            print(f"engram does not answer: {type(fault).__name__}")
            return {}

    def _post(self, path: str, value: dict[str, Any]) -> dict[str, Any]:
        valves = self.valves
        if valves.address.startswith("/"):
            line: http.client.HTTPConnection = _SocketConnection(
                valves.address, valves.seconds
            )
        else:
            line = http.client.HTTPConnection(valves.address, timeout=valves.seconds)
        headers = {"Content-Type": "application/json"}
        if valves.token:
            headers["Authorization"] = f"Bearer {valves.token}"
        try:
            line.request("POST", path, json.dumps(value).encode(), headers)
            reply = line.getresponse()
            answer = json.loads(reply.read())
            return answer if reply.status < 300 else {}
        finally:
            line.close()


class _Chat:
    """What a request of Open WebUI says of its conversation."""

    def __init__(
        self,
        body: dict[str, Any],
        user: dict[str, Any] | None,
        metadata: dict[str, Any] | None,
    ) -> None:
        metadata = metadata or body.get("metadata") or {}
        self.messages: list[dict[str, Any]] = list(body.get("messages") or [])
        self.id = str(metadata.get("chat_id") or body.get("chat_id") or "")
        self.user = str((user or {}).get("name") or "")
        wishes = (user or {}).get("valves")
        enabled = getattr(wishes, "enabled", True)
        # titles, tags and the like are requests of the interface for itself
        self.reads = enabled and not metadata.get("task")
        # Open WebUI keeps a temporary chat nowhere, and so do we
        temporary = self.id.startswith("local:") or not self.id
        off = getattr(wishes, "off_the_record", False)
        self.records = self.reads and not temporary and not off

    def common(self, valves: Filter.Valves) -> dict[str, Any]:
        """Return what the turns of the conversation share."""
        said = {"session": self.id, "persona": valves.persona, "speaker": self.user}
        return {key: value for key, value in said.items() if value}


class _SocketConnection(http.client.HTTPConnection):
    """HTTP over the Unix socket of the daemon."""

    def __init__(self, path: str, seconds: float) -> None:
        super().__init__("localhost", timeout=seconds)
        self.path = Path(path)

    def connect(self) -> None:
        """Connect to the socket."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))


def _text(message: dict[str, Any]) -> str:
    """Return the words of a message; parts that are not text are left out."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(
        str(part.get("text") or "")
        for part in content
        if isinstance(part, dict) and part.get("type") == "text"
    )
