"""Claude exports: `conversations.json`, its folder or the zip."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.ingest.importers import files, memories, values

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo
    from pathlib import Path

    from engram.core.records import ImportedMemory, Problem, Turn

MARK = "chat_messages"
"""The key that identifies a conversation of this format."""


def read(path: Path, zone: tzinfo) -> Iterator[Turn | ImportedMemory | Problem]:
    """Yield the turns of the export at `path`, conversation by conversation.

    Memories in the export, if there are any, follow the conversations.
    """
    yield from files.conversations(path, zone, _conversation)
    if path.suffix.lower() == ".zip" or (path / memories.CLAUDE_FILE).exists():
        yield from memories.claude_memories(path, zone)


def _conversation(
    exported: dict[str, Any], zone: tzinfo, name: str
) -> Iterator[Turn | Problem]:
    """Yield the messages in their order, with their text blocks if there are any."""
    session = values.string(exported.get("uuid"))
    begun = values.time_of(exported.get("created_at"), zone)
    messages = (
        (
            values.string(message.get("uuid")),
            values.role_of(message.get("sender")),
            values.text_of(message.get("content"))
            or values.text_of(message.get("text")),
            values.time_of(message.get("created_at"), zone),
        )
        for message in map(
            values.as_object, values.as_list(exported.get("chat_messages"))
        )
    )
    title = values.string(exported.get("name"))
    return files.turns(session, begun, title, messages, name)
