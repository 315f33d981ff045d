"""basic-memory: a folder of notes with observations and relations.

`- [category] text #tag (context)` is an observation, `- relation [[Other]]` a relation
(https://docs.basicmemory.com/concepts/knowledge-format). Only these are imported; other
text stays in the notes, which can be moved to `notes/` of a vault.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engram.core.records import ImportedMemory, Problem
from engram.ingest.importers import markdown, memories

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo
    from pathlib import Path

KIND = "basic-memory"
_OBSERVATION = re.compile(
    r"^\s*-\s+\[(?P<category>[^\]\[ ][^\]\[]{0,60})\]\s+(?P<text>\S.*)$"
)
_RELATION = re.compile(
    r"^\s*-\s+(?P<type>[^\[\]]{1,60}?)\s+\[\[(?P<to>[^\]|]+)(?:\|[^\]]*)?\]\]"
)
_TAG = re.compile(r"(?:^|\s)#([\w/-]+)")
_TITLE = re.compile(r"^title:\s*[\"']?(.+?)[\"']?\s*$", re.MULTILINE)
_TASK = frozenset((" ", "x", "X", "-", "/"))


def is_note(text: str) -> bool:
    """Return whether a note contains an observation of this format."""
    return any(map(_observation, text.splitlines()))


def read(path: Path, zone: tzinfo) -> Iterator[ImportedMemory | Problem]:
    """Yield each observation and each relation of each note as a memory."""
    del zone  # observations have no times
    for note in markdown.notes(path):
        try:
            text = note.read_text("utf-8-sig", "replace")
        except OSError as error:
            yield Problem("unreadable", error.strerror or str(error), str(note))
            continue
        found = _TITLE.search(text) if text.startswith("---") else None
        title = found[1] if found else note.stem
        for number, line in enumerate(text.splitlines(), 1):
            if found := _observation(line):
                words = _TAG.sub("", found["text"]).strip()
                tags = (found["category"], *_TAG.findall(found["text"]))
                about = title if title.casefold() in words.casefold() else ""
                statement = words if about else f"{title}: {words}"
                yield memories.memory(
                    KIND,
                    statement,
                    name=str(note),
                    about=(title,),
                    tags=tags,
                    line=number,
                )
            elif found := _RELATION.match(line):
                kind = found["type"].replace("_", " ")
                yield memories.memory(
                    KIND,
                    f"{title} {kind} {found['to']}",
                    name=str(note),
                    about=(title, found["to"]),
                    line=number,
                )


def _observation(line: str) -> re.Match[str] | None:
    match = _OBSERVATION.match(line)
    return match if match and match["category"] not in _TASK else None
