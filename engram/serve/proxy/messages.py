"""Read and extend the requests of OpenAI clients: chat completions and responses.

All functions are pure; a request is its parsed JSON. Nothing is changed in place, and
unknown parts (tools, images, new fields) are passed on.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from engram.errors import BadRequestError
from engram.ingest.messages import text_of as checked_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Api = Literal["chat/completions", "responses"]
"""The two routes whose requests are conversations."""

APIS: tuple[Api, ...] = ("chat/completions", "responses")
TASK_WORDS = "titles?|tags?|follow-?ups?|quer(?:y|ies)|emojis?|summar(?:y|ies|ize)|autocompletion|标题|タイトル"
HOUSEKEEPING = (
    re.compile(
        rf"\A\s*#+ *task\b.{{0,300}}?\b(?:{TASK_WORDS}|prompt|completion)\b.*"
        r"(?:<chat_history>|#+ *chat history|<messages|<text>)",
        re.IGNORECASE | re.DOTALL,
    ),
    re.compile(
        r"\A.{0,400}?\b(?:generate|create|write|suggest|provide|reply with)\b"
        r"[^.!?]{0,120}\b(?:titles?|tags?|follow-?up questions?)\b"
        r"[^.!?]{0,60}\b(?:conversation|chat|dialogue|discussion)\b",
        re.IGNORECASE | re.DOTALL,
    ),
    re.compile(r"\A.{0,200}(?:总结|生成|概括).{0,60}(?:标题|会话名)", re.DOTALL),
)
"""Requests of chat interfaces for their own use, such as a title of the conversation.
"""
HOUSEKEEPING_MESSAGES = 4
"""Maximum number of messages of such a request; a longer one is a conversation."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a user or an assistant: its text, and its place among these."""

    role: str
    text: str
    place: int


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """The messages of a request.

    `messages` are the items as received; `asked` is the index of the last user message.
    """

    messages: tuple[Mapping[str, Any], ...]
    asked: int

    @property
    def query(self) -> str:
        """The text of the last user message."""
        return text_of(self.messages[self.asked])

    @property
    def first(self) -> str:
        """The text of the first user message."""
        return next(text_of(one) for one in self.messages if one.get("role") == "user")

    @property
    def unanswered(self) -> tuple[Message, ...]:
        """The user messages after the last message of the assistant."""
        pending: list[Message] = []
        for message in self._spoken():
            if message.role == "user":
                pending.append(message)
            else:
                pending.clear()
        return tuple(pending)

    @property
    def length(self) -> int:
        """The number of messages of users and assistants."""
        return sum(1 for _ in self._spoken())

    def _spoken(self) -> Iterator[Message]:
        """Yield the messages of users and assistants, tool calls too."""
        place = 0
        for item in self.messages:
            role = "assistant" if _is_answer(item) else item.get("role")
            if role in {"user", "assistant"}:
                yield Message(role, text_of(item), place)
                place += 1


def conversation_of(api: Api, body: Mapping[str, Any]) -> ChatRequest | None:
    """Return the conversation of a request, or None if it has no user message."""
    items = body.get("messages" if api == "chat/completions" else "input")
    if isinstance(items, str) and api == "responses":
        items = [{"role": "user", "content": items}]
    if not isinstance(items, list) or not all(isinstance(one, dict) for one in items):
        return None

    places = [place for place, one in enumerate(items) if one.get("role") == "user"]
    return ChatRequest(tuple(items), places[-1]) if places else None


def with_memory(
    api: Api, body: Mapping[str, Any], conversation: ChatRequest, text: str
) -> dict[str, Any]:
    """Return the request with `text` as a message before the last user message.

    The messages before it do not change, so that a cached prefix stays valid.
    """
    before = conversation.messages[: conversation.asked]
    after = conversation.messages[conversation.asked :]
    messages = [*before, {"role": "system", "content": text}, *after]
    return {**body, ("messages" if api == "chat/completions" else "input"): messages}


def text_of(item: Mapping[str, Any]) -> str:
    """Return the text of a message; '' if its content has an unknown form."""
    try:
        return checked_text(item)
    except BadRequestError:
        return ""


def is_housekeeping(conversation: ChatRequest) -> bool:
    """Return whether a chat interface asks for its own use, such as for a title.

    The first instruction and the last message of a short request are read.
    """
    messages = conversation.messages
    if len(messages) > HOUSEKEEPING_MESSAGES:
        return False
    texts = {text_of(messages[0]), conversation.query}
    return any(pattern.search(text) for text in texts for pattern in HOUSEKEEPING)


def session_of(
    headers: Mapping[str, str],
    body: Mapping[str, Any],
    conversation: ChatRequest,
    sessions: Mapping[str, str],
) -> str:
    """Return the session of a request.

    It is the first of: the header X-Engram-Session, the chat in the headers of Open
    WebUI, the conversation of the Responses API, the session of the previous response
    (`sessions`, by the id of a response), `user`, a hash of the first user message.
    """
    chain = body.get("conversation")
    if isinstance(chain, dict):
        chain = chain.get("id")
    names = (
        headers.get("x-engram-session"),
        headers.get("x-openwebui-chat-id"),
        chain,
        sessions.get(str(body.get("previous_response_id") or "")),
        body.get("user"),
    )
    for name in names:
        if isinstance(name, str) and name.strip():
            return name.strip()[:200]
    return f"chat-{digest(conversation.first)}"


def digest(*texts: str) -> str:
    """Return a digest of the texts (16 hex digits)."""
    joined = "\0".join(texts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(joined).hexdigest()[:16]


def turns_of(
    session: str, conversation: ChatRequest, common: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the unanswered user messages as turns for `observe`.

    The id of a turn is made from session, place and text, so that a repeated request
    stores nothing twice.
    """
    return [
        turn(session, message, common)
        for message in conversation.unanswered
        if message.text.strip()
    ]


def turn(session: str, message: Message, common: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message as a turn for `observe`; `common` are persona and the like."""
    name = digest(session, message.role, str(message.place), message.text)
    return {
        **common,
        "id": f"proxy-{name}",
        "session": session,
        "role": message.role,
        "text": message.text,
    }


def _is_answer(item: Mapping[str, Any]) -> bool:
    """Return whether an item is of the assistant: message, tool call or reasoning."""
    if item.get("role") == "assistant":
        return True
    return "role" not in item and str(item.get("type", "")).endswith(
        ("_call", "reasoning")
    )
