"""Importers of memory programs in JSON, and what importers of memories share.

- Claude: `memories.json`, also inside the zip or folder of an export. An object has
  `conversations_memory`, a text in Markdown, and `project_memories`, such texts by
  project. Each sentence and each list item becomes a memory.
- mem0: the result of `get_all()` or of an export. Each memory has `memory`, and
  optionally `id`, `created_at` and `categories`
  (https://docs.mem0.ai/cookbooks/essentials/exporting-memories).
- Letta: an agent file or the state of an agent. A block has a `label` and a `value`;
  `human` contains the statements about the user
  (https://docs.letta.com/guides/agents/memory-blocks). The agent's own blocks are left
  out, because they describe the agent and not the user.
- The memory server of the Model Context Protocol: `memory.jsonl`. A line is an entity
  with its observations, or a relation between two entities
  (https://github.com/modelcontextprotocol/servers/tree/main/src/memory).
"""

from __future__ import annotations

import io
import json
import re
from typing import TYPE_CHECKING, Any, TextIO
from zipfile import ZipFile

from engram.core.records import ImportedMemory, Problem
from engram.ingest.importers import files, values

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime, tzinfo
    from pathlib import Path

LONGEST = 2000
"""The most characters of one memory; a longer text is no single statement."""
_BULLET = re.compile(r"^\s*(?:[-*+•–]|\d+[.)])\s+")
_MARKS = re.compile(r"\*\*|__|^#+\s*|`")
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+(?=\S)")
_DATE = re.compile(r"^\[?(\d{4}-\d\d-\d\d)\]?\s*[-–—:]\s*")
OWNERS = frozenset(("user", "the user", "default_user", "me", "human"))
"""Names of other programs for the memories about the user."""
CLAUDE_FILE, CLAUDE_KEY = "memories.json", "conversations_memory"
_MEM0_LISTS = ("results", "memories")
LETTA_KEYS = ("core_memory", "memory_blocks", "blocks")
_AGENT_BLOCKS = frozenset(("persona", "system", "skills"))
_MCP = "mcp-memory"
MCP_TYPES = frozenset(("entity", "relation"))


def memory(
    kind: str,
    text: str,
    *,
    name: str,
    known: str = "",
    when: datetime | None = None,
    about: tuple[str, ...] = (),
    tags: tuple[str, ...] = (),
    line: int | None = None,
) -> ImportedMemory | Problem:
    """Return a memory with an id derived from its own id or its text.

    A text that is empty or too long for a statement is refused.
    """
    plain = " ".join(text.split())
    if not plain:
        return Problem("empty", "there is no text", name, line)
    if len(plain) > LONGEST:
        message = f"{len(plain):,} characters are no single statement"
        return Problem("too-long", message, name, line)
    named = tuple(
        name_.replace("_", " ") for name_ in about if name_.casefold() not in OWNERS
    )
    identity = values.made_id(kind, known or plain)
    return ImportedMemory(identity, plain, when, named, tags, path=name, line=line)


def statements(text: str) -> Iterator[str]:
    """Yield the statements of a text: its list items, and the sentences of the rest.

    Headings and marks of Markdown are left out.
    """
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            continue
        is_item = bool(_BULLET.match(line))
        plain = _MARKS.sub("", _BULLET.sub("", line)).strip()
        if not plain or (len(plain.split()) < 4 and plain.endswith(":")):
            continue
        if line.strip().startswith("**") and line.strip().endswith("**"):
            continue  # a heading in bold
        if is_item and len(plain) <= LONGEST:
            yield plain
        else:
            yield from (part for part in _SENTENCE.split(plain) if part.strip())


def without_bullet(line: str) -> str:
    """Return a line without the mark of a list item."""
    return _BULLET.sub("", line).strip()


def dated(text: str, zone: tzinfo) -> tuple[datetime | None, str]:
    """Return the date at the beginning of a line, and the rest of it."""
    match = _DATE.match(text)
    if match is None:
        return None, text
    return values.time_of(match[1], zone), text[match.end() :]


def lines(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield number and value of each JSON line; an invalid one as a Problem."""
    with path.open(encoding="utf-8-sig", errors="replace") as stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError) as error:
                yield number, Problem("not-json", str(error), str(path), number)


def claude_memories(path: Path, zone: tzinfo) -> Iterator[ImportedMemory | Problem]:
    """Yield the memories of the file, or of the one in a zip or a folder."""
    del zone  # the format has no times
    if path.suffix.lower() == ".zip":
        with ZipFile(path) as archive:
            for name in archive.namelist():
                if name.rpartition("/")[2] == CLAUDE_FILE:
                    with archive.open(name) as raw:
                        text = io.TextIOWrapper(raw, "utf-8-sig", "replace")
                        yield from _from_claude(text, f"{path}/{name}")
        return
    file = path / CLAUDE_FILE if path.is_dir() else path
    with file.open(encoding="utf-8-sig", errors="replace") as stream:
        yield from _from_claude(stream, str(file))


def _from_claude(stream: TextIO, name: str) -> Iterator[ImportedMemory | Problem]:
    for item in files.elements(stream, name):
        if isinstance(item, Problem):
            yield item
            continue
        row = values.as_object(item)
        projects = values.as_object(row.get("project_memories"))
        for text in (row.get(CLAUDE_KEY), *projects.values()):
            if isinstance(text, str):
                for words in statements(text):
                    yield memory("claude-memories", words, name=name)


def _items(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8-sig", errors="replace") as stream:
        yield from files.elements(stream, str(path))


def mem0(path: Path, zone: tzinfo) -> Iterator[ImportedMemory | Problem]:
    """Yield the memories of an export: of a list, or of one in an object."""
    for item in _items(path):
        if isinstance(item, Problem):
            yield item
            continue
        rows = mem0_list(values.as_object(item))
        for number, row in enumerate([item] if rows is None else rows, 1):
            if isinstance(row, dict):
                yield _from_mem0(row, zone, str(path))
            else:
                reason = f"entry {number} is {type(row).__name__}, no object"
                yield Problem("not-an-object", reason, str(path))


def mem0_list(row: dict[str, Any]) -> list[Any] | None:
    """Return the list of memories in an object, None if there is none."""
    return next(
        (row[key] for key in _MEM0_LISTS if isinstance(row.get(key), list)), None
    )


def _from_mem0(
    row: dict[str, Any], zone: tzinfo, name: str
) -> ImportedMemory | Problem:
    text = row.get("memory") or row.get("text") or row.get("data")
    tags = values.as_list(row.get("categories"))
    return memory(
        "mem0",
        text if isinstance(text, str) else "",
        name=name,
        known=values.string(row.get("id")),
        when=values.time_of(row.get("created_at"), zone),
        tags=tuple(tag for tag in tags if isinstance(tag, str)),
    )


def letta(path: Path, zone: tzinfo) -> Iterator[ImportedMemory | Problem]:
    """Yield the statements of the blocks of an agent."""
    del zone  # blocks have no times of their statements
    for item in _items(path):
        if isinstance(item, Problem):
            yield item
            continue
        agent = values.as_object(item)
        blocks = [row for key in LETTA_KEYS for row in values.as_list(agent.get(key))]
        for row in map(values.as_object, blocks):
            value, label = row.get("value"), values.string(row.get("label"))
            if label not in _AGENT_BLOCKS and isinstance(value, str):
                for text in statements(value):
                    yield memory("letta", text, name=str(path))


def mcp_memory(path: Path, zone: tzinfo) -> Iterator[ImportedMemory | Problem]:
    """Yield each observation and each relation as a memory."""
    del zone  # the format has no times
    for number, row in lines(path):
        if isinstance(row, Problem):
            yield row
            continue
        kind = row.get("type") if isinstance(row, dict) else None
        if kind == "entity":
            yield from _observations(row, str(path), number)
        elif kind == "relation":
            yield _relation(row, str(path), number)
        else:
            message = f"neither an entity nor a relation: {kind!r}"
            yield Problem("unknown-type", message, str(path), number)


def _observations(
    row: dict[str, Any], path: str, line: int
) -> Iterator[ImportedMemory | Problem]:
    name = values.string(row.get("name"))
    subject = name.replace("_", " ")
    for text in values.as_list(row.get("observations")):
        words = values.string(text)
        if words and subject.casefold() not in words.casefold() and not _is_owner(name):
            words = f"{subject}: {words}"
        yield memory(
            _MCP, words, name=path, known=f"{name}\n{words}", about=(name,), line=line
        )


def _relation(row: dict[str, Any], path: str, line: int) -> ImportedMemory | Problem:
    first, last, kind = (
        values.string(row.get(key)) for key in ("from", "to", "relationType")
    )
    if not (first and last and kind):
        return Problem("no-relation", "from, to or relationType is missing", path, line)
    subject = "The user" if _is_owner(first) else first
    text = f"{subject} {kind} {last}".replace("_", " ")
    return memory(_MCP, text, name=path, about=(first, last), line=line)


def _is_owner(name: str) -> bool:
    return name.casefold() in OWNERS
