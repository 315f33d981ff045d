"""A text with one memory a line, such as memories copied from ChatGPT's settings.

A line may begin with a bullet and with a date: `- [2026-03-02] - Likes tea.`
"""

from __future__ import annotations

import re
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from engram.ingest.importers import memories

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import tzinfo
    from pathlib import Path

    from engram.core.records import ImportedMemory, Problem

SUFFIXES = frozenset(("", ".txt", ".text"))
_LOOKED_AT = 200
"""The number of lines that decide whether a file is a list."""
_LONGEST_LINE = 400
_WRAPPED, _SHARE = 40, 0.25
_ENDS = re.compile(r"[.!?:;…。！？][\"'”’)\]]*$")
_SPEAKER = re.compile(r"([^\W\d_][\w .'-]{0,30}):\s")


def why_no_list(path: Path) -> str:
    """Return why a file is not a list with one memory a line, or ''."""
    raw = path.read_bytes()[: _LOOKED_AT * _LONGEST_LINE]
    text = raw.decode("utf-8-sig", "replace")
    if "\0" in text or text.count("\ufffd") > 1:
        return "bytes that are no text"
    listed = (line.rstrip() for line in text.splitlines() if line.strip())
    lines = list(islice(listed, _LOOKED_AT))
    if not lines:
        return "nothing"
    if lines[0].lstrip().startswith(("{", "[{", "[[", "<")):
        return "JSON or markup that is broken or breaks off in line 1"
    if max(map(len, lines)) > _LONGEST_LINE:
        return "long paragraphs"
    if _is_wrapped(lines):
        return "sentences that run over several lines"
    speakers = [match[1] for line in lines if (match := _SPEAKER.match(line))]
    if len(speakers) > len(lines) / 2 and len(set(speakers)) <= len(speakers) / 2:
        return f"a conversation of {', '.join(sorted(set(speakers))[:4])}"
    return ""


def _is_wrapped(lines: Sequence[str]) -> bool:
    """Return whether many sentences continue in the next line.

    A text whose first line begins in lower case does not count.
    """
    broken = sum(
        len(line) >= _WRAPPED and not _ENDS.search(line) and following[:1].islower()
        for line, following in pairwise(lines)
    )
    return not lines[0][:1].islower() and broken > _SHARE * len(lines)


def read(path: Path, zone: tzinfo) -> Iterator[ImportedMemory | Problem]:
    """Yield each line as a memory; blank lines and headings are left out."""
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
