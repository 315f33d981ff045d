"""Exports of chatbots: a JSON file with conversations, its folder or the zip.

- ChatGPT: `conversations*.json`. The messages form a tree; the branch that was kept is
  read.
- Claude: `conversations.json`, with the memories of the export after them.
- Grok: `prod-grok-backend.json`, one object with all conversations.
- Gemini: `MyActivity.json` of Google Takeout, a list of prompts with their answers in
  HTML, the newest first. A day is a conversation.
"""

from __future__ import annotations

import html
import re
from itertools import groupby
from typing import TYPE_CHECKING, Any

from engram.core.records import ImportedMemory, Problem, Turn
from engram.ingest.importers import files, memories, values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime, tzinfo
    from pathlib import Path

    Message = tuple[str, str, str, datetime | None]
    """The id, the role, the text and the time of a message."""

TITLE_CHARACTERS = 200
_HIDDEN = "is_visually_hidden_from_conversation"
_PROMPTED = "Prompted "
_BREAK = re.compile(r"<(?:br|/p|/li|/h\d|/tr|/pre)\b[^>]*>", re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")


def chatgpt(path: Path, zone: tzinfo) -> Iterator[Turn | Problem]:
    """Yield the turns of the export at `path`, conversation by conversation."""
    return conversations(path, zone, _chatgpt)


def claude(path: Path, zone: tzinfo) -> Iterator[Turn | ImportedMemory | Problem]:
    """Yield the turns of the export at `path`, and then its memories."""
    yield from conversations(path, zone, _claude)
    if path.suffix.lower() == ".zip" or (path / memories.CLAUDE_FILE).exists():
        yield from memories.claude_memories(path, zone)


def grok(path: Path, zone: tzinfo) -> Iterator[Turn | Problem]:
    """Yield the turns of the export at `path`, conversation by conversation."""
    return conversations(path, zone, _grok)


def gemini(path: Path, zone: tzinfo) -> Iterator[Turn | Problem]:
    """Yield the prompts and the answers of each day of the export at `path`."""
    activity = _elements(path)
    for day, rows in groupby(activity, lambda item: _day(item[1], zone)):
        if day is None:
            yield from (_refused(name, item) for name, item in rows)
            continue
        newest_first = list(rows)
        messages = (
            message
            for _, row in reversed(newest_first)
            for message in _prompt_and_answer(row, zone)
        )
        name = f"gemini-{day.date().isoformat()}"
        yield from turns(name, day, "", messages, newest_first[0][0])


# -- what they share -------------------------------------------------------------------


def conversations(
    path: Path,
    zone: tzinfo,
    read: Callable[[dict[str, Any], tzinfo, str], Iterator[Turn | Problem]],
) -> Iterator[Turn | Problem]:
    """Yield the turns of each conversation of each file, as `read` converts them.

    Yields a Problem if a folder or zip has no file of conversations.
    """
    for name, item in _elements(path):
        if isinstance(item, dict):
            yield from read(item, zone, name)
        else:
            yield _refused(name, item)


def _elements(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield each element of each file with the file's name."""
    opened = False
    try:
        for name, text in files.texts(path):
            opened = True
            yield from ((name, item) for item in files.elements(text, name))
    except files.UNREADABLE as error:
        message = f"cannot read on: {files.reason(error)}"
        yield str(path), Problem("unreadable", message, str(path))
        return
    if not opened:
        problem = Problem("no-conversations", files.NO_CONVERSATIONS, str(path))
        yield str(path), problem


def _refused(name: str, item: Any) -> Problem:
    """Return the problem of an element that is no conversation."""
    if isinstance(item, Problem):
        return item
    kind = "one without a time" if isinstance(item, dict) else type(item).__name__
    return Problem("not-an-object", f"a conversation is wanted, this is {kind}", name)


def turns(
    session: str,
    begun: datetime | None,
    title: str,
    messages: Iterable[Message],
    name: str,
) -> Iterator[Turn | Problem]:
    """Yield the turns of a conversation of an export, which began at `begun`.

    The default id of a message is made, its default time is that of the one before.
    Messages without a text are left out.
    """
    if not session or begun is None:
        message = f"a conversation without id or time: {title!r}"
        yield Problem("no-conversation", message, name)
        return
    latest, title = begun, title[:TITLE_CHARACTERS]
    for identity, role, text, when in messages:
        latest = when or latest
        if text:
            known = identity or values.made_id(
                session, role, "", latest.isoformat(), text
            )
            yield Turn(known, session, role, text, latest, origin="import", title=title)


# -- each format -----------------------------------------------------------------------


def _chatgpt(
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
    return turns(session, begun, title, messages, name)


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


def _claude(
    exported: dict[str, Any], zone: tzinfo, name: str
) -> Iterator[Turn | Problem]:
    """Yield the messages in their order, with their text blocks if there are any."""
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
    return turns(
        values.string(exported.get("uuid")),
        values.time_of(exported.get("created_at"), zone),
        values.string(exported.get("name")),
        messages,
        name,
    )


def _grok(
    exported: dict[str, Any], zone: tzinfo, name: str
) -> Iterator[Turn | Problem]:
    """Yield the turns of each conversation of the one object of the export."""
    for entry in map(values.as_object, values.as_list(exported.get("conversations"))):
        head = values.as_object(entry.get("conversation"))
        responses = map(values.as_object, values.as_list(entry.get("responses")))
        rows = (values.as_object(row.get("response")) for row in responses)
        messages = (
            (
                values.string(row.get("_id")),
                values.role_of(row.get("sender")),
                values.text_of(row.get("message")),
                values.time_of(_date(row.get("create_time")), zone),
            )
            for row in rows
        )
        yield from turns(
            values.string(head.get("id")),
            values.time_of(_date(head.get("create_time")), zone),
            values.string(head.get("title")),
            messages,
            name,
        )


def _date(value: Any) -> Any:
    """Return the time in a date of MongoDB: `{"$date": {"$numberLong": "17…"}}`."""
    for key in ("$date", "$numberLong"):
        value = value.get(key) if isinstance(value, dict) else value
    return value


def _day(row: Any, zone: tzinfo) -> datetime | None:
    """Return the midnight of the day of a prompt, None for anything else."""
    when = values.time_of(values.as_object(row).get("time"), zone)
    if when is None:
        return None
    return when.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)


def _prompt_and_answer(row: dict[str, Any], zone: tzinfo) -> Iterator[Message]:
    """Yield a prompt and its answer; nothing for an activity without an answer."""
    items = map(values.as_object, values.as_list(row.get("safeHtmlItem")))
    answer = _plain("\n".join(values.string(item.get("html")) for item in items))
    if answer:
        when = values.time_of(row.get("time"), zone)
        prompt = values.string(row.get("title")).removeprefix(_PROMPTED).strip()
        yield "", "user", prompt, when
        yield "", "assistant", answer, when


def _plain(text: str) -> str:
    r"""Return the words of a text in HTML.

    >>> _plain("<p>Tea &amp; <b>cake</b></p><p>Now</p>")
    'Tea & cake\nNow'
    """
    lines = html.unescape(_TAG.sub("", _BREAK.sub("\n", text))).splitlines()
    return "\n".join(filter(None, map(str.strip, lines)))
