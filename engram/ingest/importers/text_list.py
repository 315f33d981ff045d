"""A text with one memory a line, such as memories copied from ChatGPT's settings.

A line may begin with a bullet and with a date: `- [2026-03-02] - Likes tea.`
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.core.records import ImportedMemory, Problem
from engram.ingest.importers import files, memories

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo
    from pathlib import Path

SUFFIXES = frozenset((".txt", ".text"))


def read(path: Path, zone: tzinfo) -> Iterator[ImportedMemory | Problem]:
    """Yield each line as a memory; blank lines and headings are left out."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as stream:
            for number, line in enumerate(stream, 1):
                if line.lstrip().startswith(("#", "```")):
                    continue
                words = memories.without_bullet(line)
                when, text = memories.dated(words, zone)
                if text.strip():
                    yield memories.memory(
                        "text-list", text, name=str(path), when=when, line=number
                    )
    except files.UNREADABLE as error:
        message = f"cannot read on: {files.reason(error)}"
        yield Problem("unreadable", message, str(path))
