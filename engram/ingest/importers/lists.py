"""Lists of memories in a text: a pasted list, a table, and memory files of agents.

- A text with one memory a line, such as memories copied from ChatGPT's settings. A line
  may begin with a bullet and with a date: `- [2026-03-02] - Likes tea.`
- A table with a header, CSV or TSV, with a column of statements.
- `MEMORY.md`, and the notes beside it and in the folder `memory`. Claude Code writes
  them in `~/.claude/projects/<project>/memory/`
  (https://code.claude.com/docs/en/memory), OpenClaw in its workspace, with daily notes
  in `memory/YYYY-MM-DD.md` and the user in `USER.md`
  (https://docs.openclaw.ai/concepts/memory). Each list item and each sentence becomes a
  memory. Code, an index of the other files, and notes whose names are in capitals, such
  as the instructions in `AGENTS.md`, are left out.
"""

from __future__ import annotations

import csv
import re
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from engram.core.records import ImportedMemory, Problem
from engram.ingest.importers import files, markdown, memories, values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import tzinfo
    from pathlib import Path

LIST_SUFFIXES = frozenset(("", ".txt", ".text"))
_LOOKED_AT = 200
"""The number of lines that decide whether a file is a list."""
_LONGEST_LINE = 400
_WRAPPED, _SHARE = 40, 0.25
_ENDS = re.compile(r"[.!?:;…。！？][\"'”’)\]]*$")
_SPEAKER = re.compile(r"([^\W\d_][\w .'-]{0,30}):\s")
TABLE_SUFFIXES = frozenset((".csv", ".tsv"))
_TEXT = ("text", "memory", "statement", "content", "fact")
_COLUMNS = {
    "id": ("id", "uuid"),
    "when": ("date", "created_at", "created", "when", "timestamp"),
    "about": ("about", "subject", "person", "entity"),
    "tags": ("tags", "categories", "labels"),
}

MEMORY_FILE, _MEMORY_FOLDER = "MEMORY.md", "memory"
_READ = frozenset({MEMORY_FILE, "USER.md"})
"""The files with a name in capitals that have memories."""
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_INDEX = re.compile(r"^\s*[-*+] \[[^\]]*\]\([^)]*\.md\).*$", re.MULTILINE)
"""An item of an index: a link to another file."""


# -- a pasted list ----------------------------------------------------------------------


def why_no_list(export: files.Export) -> str:
    """Return why a file is not a list with one memory a line, or ''."""
    if export.suffix not in LIST_SUFFIXES or export.row:
        return "no plain text"
    raw = export.path.read_bytes()[: _LOOKED_AT * _LONGEST_LINE]
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


def text_list(path: Path, zone: tzinfo) -> Iterator[ImportedMemory | Problem]:
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


# -- a table ----------------------------------------------------------------------------


def has_statements(path: Path) -> bool:
    """Return whether a file is a table with a column of statements."""
    if not path.is_file() or path.suffix.lower() not in TABLE_SUFFIXES:
        return False
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
        try:
            header = next(csv.reader(stream, delimiter=_delimiter(path)), [])
        except csv.Error:
            return False
    return not {name.strip().casefold() for name in header}.isdisjoint(_TEXT)


def _delimiter(path: Path) -> str:
    return "\t" if path.suffix.lower() == ".tsv" else ","


def table(path: Path, zone: tzinfo) -> Iterator[ImportedMemory | Problem]:
    """Yield each row as a memory; a row without a text is refused with its line."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
            rows = csv.DictReader(stream, delimiter=_delimiter(path))
            header = [str(name).strip().casefold() for name in rows.fieldnames or ()]
            rows.fieldnames = header
            if not set(_TEXT) & set(header):
                columns = ", ".join(_TEXT)
                what = f"no column is called one of: {columns}"
                yield Problem("no-text-column", what, str(path), 1)
                return
            for row in rows:
                yield _from_row(row, zone, str(path), rows.line_num)
    except csv.Error as error:
        yield Problem("not-csv", str(error), str(path))


def _from_row(
    row: Mapping[str, str | None], zone: tzinfo, name: str, line: int
) -> ImportedMemory | Problem:
    found = {
        key: next((row[column] or "" for column in names if row.get(column)), "")
        for key, names in _COLUMNS.items()
    }
    text = next((row[column] or "" for column in _TEXT if row.get(column)), "")
    when = values.time_of(found["when"], zone)
    if found["when"] and when is None:
        message = f"{found['when']!r} is no ISO 8601 time, such as 2026-11-20"
        return Problem("no-time", message, name, line)
    return memories.memory(
        "csv",
        text,
        name=name,
        known=found["id"],
        when=when,
        about=_parts(found["about"]),
        tags=_parts(found["tags"]),
        line=line,
    )


def _parts(text: str) -> tuple[str, ...]:
    separator = ";" if ";" in text else ","
    return tuple(part.strip() for part in text.split(separator) if part.strip())


# -- memory files of agents ------------------------------------------------------------


def agent_notes(path: Path, zone: tzinfo) -> Iterator[ImportedMemory | Problem]:
    """Yield the statements of a memory file, or of those in a folder and below it."""
    notes = filter(_is_memory_file, markdown.notes(path)) if path.is_dir() else [path]
    for note in notes:
        try:
            text = note.read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            yield Problem("unreadable", files.reason(error), str(note))
            continue
        front, body = markdown.front_matter(text)
        when = markdown.dated(front, note.stem, zone)
        prose = _INDEX.sub("", markdown.FENCED.sub("", body))
        for statement in memories.statements(prose):
            yield memories.memory("agent-notes", statement, name=str(note), when=when)


def _is_memory_file(note: Path) -> bool:
    folder = note.parent
    if note.stem.isupper():
        return note.name in _READ
    return folder.name == _MEMORY_FOLDER or (folder / MEMORY_FILE).exists()


def is_openclaw(path: Path) -> bool:
    """Return whether a folder is a workspace of OpenClaw, with daily notes."""
    days = (path / _MEMORY_FOLDER).glob("*.md") if path.is_dir() else ()
    return any(_DAY.match(note.name) for note in days)


def has_agent_notes(path: Path) -> bool:
    """Return whether a path is a `MEMORY.md`, or a folder of one or of such projects."""
    below = ("", f"{_MEMORY_FOLDER}/", f"*/{_MEMORY_FOLDER}/")
    found = (note for one in below for note in path.glob(f"{one}{MEMORY_FILE}"))
    return path.name == MEMORY_FILE or any(found)
