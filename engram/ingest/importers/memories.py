"""Helpers for importers of memories: ids, lines, sentences of a text."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from engram.core.records import ImportedMemory, Problem
from engram.ingest.importers import files, values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime, tzinfo
    from pathlib import Path

    Read = Callable[[dict[str, Any], tzinfo, str], Iterator[ImportedMemory | Problem]]

LONGEST = 2000
"""The most characters of one memory; a longer text is no single statement."""
_BULLET = re.compile(r"^\s*(?:[-*+•–]|\d+[.)])\s+")
_MARKS = re.compile(r"\*\*|__|^#+\s*|`")
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+(?=\S)")
_DATE = re.compile(r"^\[?(\d{4}-\d\d-\d\d)\]?\s*[-–—:]\s*")
OWNERS = frozenset(("user", "the user", "default_user", "me", "human"))
"""Names of other programs for the memories about the user."""


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


def objects(
    path: Path, zone: tzinfo, wrappers: tuple[str, ...], read: Read
) -> Iterator[ImportedMemory | Problem]:
    """Yield the memories of a JSON file: a list of objects, or one below `wrappers`."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as stream:
            for item in files.elements(stream, str(path)):
                if isinstance(item, Problem):
                    yield item
                    continue
                row = values.as_object(item)
                inner = next(
                    (row[key] for key in wrappers if isinstance(row.get(key), list)),
                    [item],
                )
                for number, entry in enumerate(inner, 1):
                    if isinstance(entry, dict):
                        yield from read(entry, zone, str(path))
                    else:
                        reason = f"entry {number} is {type(entry).__name__}, no object"
                        yield Problem("not-an-object", reason, str(path))
    except files.UNREADABLE as error:
        message = f"cannot read on: {files.reason(error)}"
        yield Problem("unreadable", message, str(path))


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
