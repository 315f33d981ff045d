"""Letta: an agent file or the state of an agent, as JSON.

A block has a `label` and a `value`; `human` contains the statements about the user
(https://docs.letta.com/guides/agents/memory-blocks). The agent's own blocks are left
out, because they describe the agent and not the user.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.core.records import ImportedMemory, Problem
from engram.ingest.importers import files, memories, values

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo
    from pathlib import Path

MARKS = ("core_memory", "memory_blocks", "blocks")
AGENT = frozenset(("persona", "system", "skills"))


def read(path: Path, zone: tzinfo) -> Iterator[ImportedMemory | Problem]:
    """Yield the statements of the blocks, each with its line in the block."""
    del zone  # blocks have no times of their statements
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as stream:
            for item in files.elements(stream, str(path)):
                if isinstance(item, Problem):
                    yield item
                else:
                    yield from _blocks(values.as_object(item), str(path))
    except files.UNREADABLE as error:
        message = f"cannot read on: {files.reason(error)}"
        yield Problem("unreadable", message, str(path))


def _blocks(agent: dict[str, Any], name: str) -> Iterator[ImportedMemory | Problem]:
    found = [row for key in MARKS for row in values.as_list(agent.get(key))]
    for row in map(values.as_object, found):
        value, label = row.get("value"), values.string(row.get("label"))
        if label not in AGENT and isinstance(value, str):
            for text in memories.statements(value):
                yield memories.memory("letta", text, name=name)
