"""The memory server of the Model Context Protocol: `memory.jsonl`.

A line is an entity with its observations, or a relation between two entities
(https://github.com/modelcontextprotocol/servers/tree/main/src/memory).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.core.records import ImportedMemory, Problem
from engram.ingest.importers import memories, values

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo
    from pathlib import Path

KIND = "mcp-memory"
TYPES = frozenset(("entity", "relation"))


def read(path: Path, zone: tzinfo) -> Iterator[ImportedMemory | Problem]:
    """Yield each observation and each relation as a memory."""
    del zone  # the format has no times
    for number, row in memories.lines(path):
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
        yield memories.memory(
            KIND, words, name=path, known=f"{name}\n{words}", about=(name,), line=line
        )


def _relation(row: dict[str, Any], path: str, line: int) -> ImportedMemory | Problem:
    first, last, kind = (
        values.string(row.get(key)) for key in ("from", "to", "relationType")
    )
    if not (first and last and kind):
        return Problem("no-relation", "from, to or relationType is missing", path, line)
    subject = "The user" if _is_owner(first) else first
    text = f"{subject} {kind} {last}".replace("_", " ")
    return memories.memory(KIND, text, name=path, about=(first, last), line=line)


def _is_owner(name: str) -> bool:
    return name.casefold() in memories.OWNERS
