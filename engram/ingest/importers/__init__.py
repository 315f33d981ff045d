"""Read conversations from other programs as turns (rows X28, X36).

It takes the path of an export and returns `Turn`s, oldest first within a conversation,
or the `ImportedMemory`s of a memory program, and a `Problem` for each fault of the
text. Start with `read_export`. Each format is one row in `IMPORTERS`: its reader, a
function `(path, zone)`, and a test of what it is recognised by. Every reader streams at
most one conversation at a time, and gives each turn the same id on every import.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.core.records import ImportedMemory, Problem, Turn
from engram.errors import BadRequestError, NotFoundError
from engram.ingest.importers import (
    basic_memory,
    chats,
    files,
    jsonl,
    lists,
    locomo,
    markdown,
    memories,
    remnic,
    values,
)
from engram.vault.location import refuse_special
from engram.vault.template import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import tzinfo
    from pathlib import Path

    from engram.ingest.importers.files import Export

    Reader = Callable[[Path, tzinfo], Iterator[Turn | ImportedMemory | Problem]]


@dataclass(frozen=True, slots=True)
class Importer:
    """A format: its name, its reader, and the test that recognises it."""

    kind: str
    read: Reader
    recognises: Callable[[Export], bool]


def _is_grok(export: Export) -> bool:
    rows = values.as_list(export.row.get("conversations"))
    return bool(rows) and "responses" in values.as_object(rows[0])


def _is_mem0(export: Export) -> bool:
    rows = memories.mem0_list(export.row) or [export.row]
    return any("memory" in values.as_object(row) for row in rows)


def _is_graph(export: Export) -> bool:
    row = export.line or {}
    return row.get("type") in memories.MCP_TYPES and "text" not in row


def _are_turns(export: Export) -> bool:
    has_text = values.first(export.row, jsonl.TEXT_KEYS) is not None
    return export.line is not None or (has_text and export.suffix not in {"/", ".zip"})


def _is_basic_memory(export: Export) -> bool:
    note = next(markdown.notes(export.path), None) if export.is_folder else None
    return note is not None and basic_memory.is_note(
        note.read_text("utf-8-sig", "replace")
    )


def _is_markdown(export: Export) -> bool:
    is_file = export.suffix in markdown.SUFFIXES
    return is_file or (export.is_folder and any(markdown.notes(export.path)))


IMPORTERS = (
    Importer("openclaw", lists.agent_notes, lambda it: lists.is_openclaw(it.path)),
    Importer(
        "claude-code", lists.agent_notes, lambda it: lists.has_agent_notes(it.path)
    ),
    Importer(
        "remnic", remnic.read, lambda it: it.is_folder and remnic.is_folder(it.path)
    ),
    Importer("basic-memory", basic_memory.read, _is_basic_memory),
    Importer("obsidian", markdown.daily_notes, lambda _: False),
    Importer(
        "claude-memories",
        memories.claude_memories,
        lambda it: (
            it.has(memories.CLAUDE_KEY)
            or (it.is_folder and (it.path / memories.CLAUDE_FILE).exists())
        ),
    ),
    Importer("markdown", markdown.read, _is_markdown),
    Importer("csv", lists.table, lambda it: lists.has_statements(it.path)),
    Importer("chatgpt", chats.chatgpt, lambda it: it.has("mapping")),
    Importer("claude", chats.claude, lambda it: it.has("chat_messages")),
    Importer("grok", chats.grok, _is_grok),
    Importer("gemini", chats.gemini, lambda it: it.has("header", "title", "time")),
    Importer("locomo", locomo.read, lambda it: it.has(locomo.KEY)),
    Importer("letta", memories.letta, lambda it: any(map(it.has, memories.LETTA_KEYS))),
    Importer("mem0", memories.mem0, _is_mem0),
    Importer("mcp-memory", memories.mcp_memory, _is_graph),
    Importer("jsonl", jsonl.read, _are_turns),
    Importer("text-list", lists.text_list, lambda it: not lists.why_no_list(it)),
)
"""The formats, the most special first. Obsidian's daily notes must be named."""
KINDS = tuple(importer.kind for importer in IMPORTERS)


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
        by_kind = {importer.kind: importer for importer in IMPORTERS}
        importer = _detected(path) if kind == "auto" else by_kind[kind]
        if path.is_file():
            path.open("rb").close()
    except files.UNREADABLE as error:
        raise BadRequestError(
            f"cannot read the export: {files.reason(error)}",
            where=str(path),
            fix="Check that you may read it, and that it is complete.",
        ) from error
    return _read_on(importer.read, path, zone)


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
    return path.is_file() and _detected(path).read is lists.text_list


def _detected(path: Path) -> Importer:
    """Return the format of the content; BadRequestError if none is recognised."""
    export = files.Export(path)
    if export.is_folder and (path / SETTINGS).exists():
        raise BadRequestError(
            "this folder is a vault of engram",
            where=str(path),
            fix="What is in it is remembered already; to work with it name it with"
            " --vault.",
        )
    for importer in IMPORTERS:
        if importer.recognises(export):
            return importer
    raise BadRequestError(
        f"engram does not know the form of this export; it holds {_content(export)}",
        where=str(path),
        fix=f"Give one of these, or name the kind if you are sure: {', '.join(KINDS)}.",
    )


def _content(export: Export) -> str:
    """Return in words what stands in a file or folder that is not recognised."""
    if export.is_folder:
        return "a folder without Markdown files or conversations"
    if export.suffix in lists.LIST_SUFFIXES and not export.row:
        return lists.why_no_list(export)
    if isinstance(export.first, Problem):
        return f"no whole JSON, line {export.first.line} is broken or breaks off"
    if export.first is None:
        return "nothing"
    if not isinstance(export.first, dict):
        return f"a JSON list of {type(export.first).__name__}"
    return f"JSON objects with the keys {', '.join(sorted(export.row)[:8]) or 'none'}"
