"""Claude's memory: `memories.json`, also inside the zip or folder of an export.

An object has `conversations_memory`, a text in Markdown, and `project_memories`, such
texts by project. Each sentence and each list item becomes a memory.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

from engram.core.records import ImportedMemory, Problem
from engram.ingest.importers import files, memories, values

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo
    from pathlib import Path
    from typing import TextIO

MARK = "conversations_memory"
NAME = "memories.json"


def read(path: Path, zone: tzinfo) -> Iterator[ImportedMemory | Problem]:
    """Yield the memories of the file, or of the one in a zip or a folder."""
    del zone  # the format has no times
    try:
        if path.suffix.lower() == ".zip":
            with ZipFile(path) as archive:
                for name in archive.namelist():
                    if name.rpartition("/")[2] == NAME:
                        with archive.open(name) as raw:
                            text = io.TextIOWrapper(raw, "utf-8-sig", "replace")
                            yield from _from(text, f"{path}/{name}")
            return
        file = path / NAME if path.is_dir() else path
        with file.open(encoding="utf-8-sig", errors="replace") as stream:
            yield from _from(stream, str(file))
    except files.UNREADABLE as error:
        message = f"cannot read on: {files.reason(error)}"
        yield Problem("unreadable", message, str(path))


def _from(stream: TextIO, name: str) -> Iterator[ImportedMemory | Problem]:
    for item in files.elements(stream, name):
        if isinstance(item, Problem):
            yield item
            continue
        row: dict[str, Any] = values.as_object(item)
        texts = [row.get(MARK), *values.as_object(row.get("project_memories")).values()]
        for text in texts:
            if isinstance(text, str):
                for words in memories.statements(text):
                    yield memories.memory("claude-memories", words, name=name)
