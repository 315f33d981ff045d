"""mem0: the result of `get_all()` or of an export, saved as JSON.

Each memory has `memory`, and optionally `id`, `created_at` and `categories`
(https://docs.mem0.ai/cookbooks/essentials/exporting-memories).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.ingest.importers import memories, values

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo
    from pathlib import Path

    from engram.core.records import ImportedMemory, Problem

MARK = "memory"
WRAPPERS = ("results", "memories")


def read(path: Path, zone: tzinfo) -> Iterator[ImportedMemory | Problem]:
    """Yield the memories of an export."""
    return memories.objects(path, zone, WRAPPERS, _memory)


def wrapped(row: dict[str, Any]) -> list[Any]:
    """Return the list of memories in an object, [] if there is none."""
    return next((row[key] for key in WRAPPERS if isinstance(row.get(key), list)), [])


def _memory(
    row: dict[str, Any], zone: tzinfo, name: str
) -> Iterator[ImportedMemory | Problem]:
    text = row.get("memory") or row.get("text") or row.get("data")
    tags = [
        category
        for category in values.as_list(row.get("categories"))
        if isinstance(category, str)
    ]
    yield memories.memory(
        "mem0",
        text if isinstance(text, str) else "",
        name=name,
        known=values.string(row.get("id")),
        when=values.time_of(row.get("created_at"), zone),
        tags=tuple(tags),
    )
