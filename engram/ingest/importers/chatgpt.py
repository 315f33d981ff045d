"""ChatGPT exports: `conversations.json`, its folder or the zip."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.ingest.importers import files, values

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo
    from pathlib import Path

    from engram.core.records import Problem, Turn

MARK = "mapping"
"""The key that identifies a conversation of this format."""
_HIDDEN = "is_visually_hidden_from_conversation"


def read(path: Path, zone: tzinfo) -> Iterator[Turn | Problem]:
    """Yield the turns of the export at `path`, conversation by conversation."""
    return files.conversations(path, zone, _conversation)


def _conversation(
    exported: dict[str, Any], zone: tzinfo, name: str
) -> Iterator[Turn | Problem]:
    """Yield the turns of the current branch: from the root to the current node."""
    mapping = values.as_object(exported.get("mapping"))
    session = values.string(values.first(exported, ("conversation_id", "id")))
    begun = values.time_of(exported.get("create_time"), zone)
    messages = (
        (
            values.string(message.get("id")) or node,
            _author(message),
            _spoken_text(message),
            values.time_of(message.get("create_time"), zone),
        )
        for node in _branch(mapping, values.string(exported.get("current_node")))
        for message in [values.as_object(mapping[node].get("message"))]
    )
    title = values.string(exported.get("title"))
    return files.turns(session, begun, title, messages, name)


def _spoken_text(message: dict[str, Any]) -> str:
    """Return the text of user or assistant; '' for tools and hidden messages."""
    content = values.as_object(message.get("content"))
    if _author(message) not in {"user", "assistant"}:
        return ""
    if content.get("content_type") not in ("text", "multimodal_text"):
        return ""
    if message.get("recipient") not in (None, "all"):
        return ""
    if values.as_object(message.get("metadata")).get(_HIDDEN):
        return ""
    return values.text_of(content.get("parts"))


def _author(message: dict[str, Any]) -> str:
    return values.string(values.as_object(message.get("author")).get("role"))


def _branch(mapping: dict[str, Any], leaf: str) -> list[str]:
    """Return the nodes from the root to `leaf`, or to the last one without `leaf`."""
    if leaf not in mapping:
        parents = {
            values.string(values.as_object(node).get("parent"))
            for node in mapping.values()
        }
        leaf = next((node for node in reversed(mapping) if node not in parents), "")
    branch: dict[str, None] = {}
    while isinstance(mapping.get(leaf), dict) and leaf not in branch:
        branch[leaf] = None
        leaf = values.string(mapping[leaf].get("parent"))
    return list(reversed(branch))
