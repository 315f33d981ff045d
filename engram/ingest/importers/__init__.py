"""Read conversations from other programs as turns (row X28).

It takes the path of an export and returns `Turn`s, oldest first within a conversation,
or the `ImportedMemory`s of a memory program, and a `Problem` for each fault of the
text. Start with `read_export`. Each format is one function `(path, zone)`, mostly
`read` in a file of its own, and one row in `IMPORTERS`. Every reader streams at most
one conversation at a time, and gives each turn the same id on every import.
"""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engram.core.records import ImportedMemory, Problem, Turn
from engram.errors import BadRequestError, NotFoundError
from engram.ingest.importers import (
    basic_memory,
    chatgpt,
    claude,
    files,
    jsonl,
    locomo,
    markdown,
    memories,
    obsidian,
    remnic,
    table,
    text_list,
    values,
)
from engram.vault.location import refuse_special
from engram.vault.template import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import tzinfo
    from pathlib import Path

    Reader = Callable[[Path, tzinfo], Iterator[Turn | ImportedMemory | Problem]]


@dataclass(frozen=True, slots=True)
class Importer:
    """A format: its name, its reader, and the key that identifies its conversations.

    `key` is '' for a format that is not recognised by a key of a JSON object.
    """

    kind: str
    read: Reader
    key: str = ""


IMPORTERS = (
    Importer("jsonl", jsonl.read),
    Importer("chatgpt", chatgpt.read, chatgpt.MARK),
    Importer("claude", claude.read, claude.MARK),
    Importer("markdown", markdown.read),
    Importer("locomo", locomo.read, locomo.MARK),
    Importer("mem0", memories.mem0, memories.MEM0_MARK),
    Importer("claude-memories", memories.claude_memories, memories.CLAUDE_MARK),
    Importer("letta", memories.letta, memories.LETTA_MARKS[0]),
    Importer("mcp-memory", memories.mcp_memory),
    Importer("basic-memory", basic_memory.read),
    Importer("remnic", remnic.read),
    Importer("obsidian", obsidian.read),
    Importer("csv", table.read),
    Importer("text-list", text_list.read),
)
KINDS = tuple(importer.kind for importer in IMPORTERS)

_READERS = {importer.kind: importer.read for importer in IMPORTERS}
_KEYED = {importer.key: importer.read for importer in IMPORTERS if importer.key}
_KEYED |= dict.fromkeys(memories.LETTA_MARKS, memories.letta)


def read_export(
    path: Path, zone: tzinfo, kind: str = "auto"
) -> Iterator[Turn | ImportedMemory | Problem]:
    """Return the turns in `path`; `zone` is for times without an offset (`X28`).

    `auto` examines the content, not the name. Raises at once, not on the first turn:
    NotFoundError if there is nothing at `path`, ForbiddenError if it is, or contains,
    a pipe or a device, BadRequestError if the format is not known or the file cannot be
    read.
    """
    if not path.exists():
        raise NotFoundError("nothing to import", where=str(path))
    if kind not in {"auto", *KINDS}:
        raise BadRequestError(
            f"unknown format {kind!r}", fix=f"Use auto or one of: {', '.join(KINDS)}."
        )
    for file in _files(path):
        refuse_special(file)
    try:
        read = _detected(path) if kind == "auto" else _READERS[kind]
        if path.is_file():
            path.open("rb").close()
    except files.UNREADABLE as error:
        raise BadRequestError(
            f"cannot read the export: {files.reason(error)}",
            where=str(path),
            fix="Check that you may read it, and that it is complete.",
        ) from error
    return _read_on(read, path, zone)


def _read_on(
    read: Reader, path: Path, zone: tzinfo
) -> Iterator[Turn | ImportedMemory | Problem]:
    """Yield what a reader yields, and a Problem where the file cannot be read on."""
    try:
        yield from read(path, zone)
    except files.UNREADABLE as error:
        yield Problem("unreadable", f"cannot read on: {files.reason(error)}", str(path))


def _files(path: Path) -> list[Path]:
    """Return the file, or the files of a folder that an importer may read."""
    if not path.is_dir():
        return [path]
    return [*files.members(path), path / memories.CLAUDE_FILE, *markdown.notes(path)]


def is_pasted(path: Path) -> bool:
    """Return whether a file is recognised as a pasted list with a memory a line."""
    return path.is_file() and _detected(path) is text_list.read


def _detected(path: Path) -> Reader:
    """Return the reader of the content; BadRequestError if no format matches."""
    if path.is_dir() and not files.members(path):
        return _detected_folder(path)

    if path.is_file() and path.suffix.lower() in markdown.SUFFIXES:
        return markdown.read
    is_table = path.is_file() and path.suffix.lower() in table.SUFFIXES
    if is_table and table.has_statements(path):
        return table.read
    if _is_plain_file(path) and (line := _first_line(path)) is not None:
        is_graph = line.get("type") in memories.MCP_TYPES and "text" not in line
        return memories.mcp_memory if is_graph else jsonl.read

    with closing(files.texts(path)) as texts:
        elements = (item for name, text in texts for item in files.elements(text, name))
        return _reader_of(path, next(elements, None))


def _detected_folder(path: Path) -> Reader:
    """Return the reader of a folder of Markdown; BadRequestError for a vault."""
    if (path / SETTINGS).exists():
        raise BadRequestError(
            "this folder is a vault of engram",
            where=str(path),
            fix="What is in it is remembered already; to work with it name it with"
            " --vault.",
        )
    if (path / memories.CLAUDE_FILE).exists():
        return memories.claude_memories
    if remnic.is_folder(path):
        return remnic.read
    if note := next(markdown.notes(path), None):
        with note.open(encoding="utf-8-sig", errors="replace") as file:
            is_known = basic_memory.is_note(file.read())
        return basic_memory.read if is_known else markdown.read
    raise _unknown(path, "a folder without Markdown files or conversations.json")


def _reader_of(path: Path, first: Any) -> Reader:
    """Return the reader of the format whose first element is `first`."""
    is_text = path.is_file() and path.suffix.lower() in text_list.SUFFIXES
    if is_text and not isinstance(first, dict | None):
        if reason := text_list.why_no_list(path):
            raise _unknown(path, reason)
        return text_list.read
    if first is None:
        raise _unknown(path, "nothing")
    if isinstance(first, Problem):
        raise _unknown(
            path, f"no whole JSON, line {first.line} is broken or breaks off"
        )
    if not isinstance(first, dict):
        raise _unknown(path, f"a JSON list of {type(first).__name__}")

    for key, read in _KEYED.items():
        if key in first:
            return read
    rows = memories.mem0_list(first) or ()
    if any(memories.MEM0_MARK in values.as_object(row) for row in rows):
        return memories.mem0
    if _is_plain_file(path) and values.first(first, jsonl.TEXT_KEYS) is not None:
        return jsonl.read_whole
    keys = ", ".join(sorted(first)[:8]) or "none"
    raise _unknown(path, f"JSON objects with the keys {keys}")


def _is_plain_file(path: Path) -> bool:
    return path.is_file() and path.suffix.lower() != ".zip"


def _unknown(path: Path, content: str) -> BadRequestError:
    return BadRequestError(
        f"this is no export we know; it holds {content}",
        where=str(path),
        fix=f"Give one of these, or name the kind if you are sure: {', '.join(KINDS)}.",
    )


def _first_line(path: Path) -> dict[str, Any] | None:
    """Return the first line if it is a JSON object and not a whole export."""
    with path.open("rb") as file:
        line = next((line for line in file if line.strip()), b"")
    try:
        value = json.loads(line.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return None
    is_whole = not isinstance(value, dict) or not _KEYED.keys().isdisjoint(value)
    return None if is_whole or memories.mem0_list(value) else value
