"""Claude exports: `conversations.json`, its folder or the zip."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.ingest.importers import claude_memories, files, values

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo
    from pathlib import Path

    from engram.core.records import ImportedMemory, Problem, Turn

MARK = "chat_messages"
"""The key by which a conversation of this format is recognised."""


def read(path: Path, zone: tzinfo) -> Iterator[Turn | ImportedMemory | Problem]:
    """Yield the turns of the export at `path`, conversation by conversation.

    Then the memories that the export holds beside the conversations, if there are any.
    """
    yield from files.conversations(path, zone, _conversation)
    if path.suffix.lower() == ".zip" or (path / claude_memories.NAME).exists():
        yield from claude_memories.read(path, zone)


def _conversation(
    talk: dict[str, Any], zone: tzinfo, name: str
) -> Iterator[Turn | Problem]:
    """Return the messages in their order; the text blocks where there are blocks."""
    session = values.string(talk.get("uuid"))
    begun = values.time_of(talk.get("created_at"), zone)
    messages = (
        (
            values.string(message.get("uuid")),
            values.role_of(message.get("sender")),
            values.text_of(message.get("content"))
            or values.text_of(message.get("text")),
            values.time_of(message.get("created_at"), zone),
        )
        for message in map(values.as_object, values.as_list(talk.get("chat_messages")))
    )
    title = values.string(talk.get("name"))
    return files.turns(session, begun, title, messages, name)
