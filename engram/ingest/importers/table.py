"""A table with a header: CSV, or TSV, with a column of statements."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from engram.core.records import ImportedMemory, Problem
from engram.ingest.importers import memories, values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import tzinfo
    from pathlib import Path

SUFFIXES = frozenset((".csv", ".tsv"))
TEXT = ("text", "memory", "statement", "content", "fact")
COLUMNS = {
    "id": ("id", "uuid"),
    "when": ("date", "created_at", "created", "when", "timestamp"),
    "about": ("about", "subject", "person", "entity"),
    "tags": ("tags", "categories", "labels"),
}


def has_statements(path: Path) -> bool:
    """Return whether a table has a column of statements."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
        try:
            header = next(csv.reader(stream, delimiter=_delimiter(path)), [])
        except csv.Error:
            return False
    return not {name.strip().casefold() for name in header}.isdisjoint(TEXT)


def _delimiter(path: Path) -> str:
    return "\t" if path.suffix.lower() == ".tsv" else ","


def read(path: Path, zone: tzinfo) -> Iterator[ImportedMemory | Problem]:
    """Yield each row as a memory; a row without a text is refused with its line."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
            rows = csv.DictReader(stream, delimiter=_delimiter(path))
            header = [str(name).strip().casefold() for name in rows.fieldnames or ()]
            rows.fieldnames = header
            if not set(TEXT) & set(header):
                columns = ", ".join(TEXT)
                what = f"no column is called one of: {columns}"
                yield Problem("no-text-column", what, str(path), 1)
                return
            for row in rows:
                yield _memory(row, zone, str(path), rows.line_num)
    except csv.Error as error:
        yield Problem("not-csv", str(error), str(path))


def _memory(
    row: Mapping[str, str | None], zone: tzinfo, name: str, line: int
) -> ImportedMemory | Problem:
    found = {
        key: next((row[column] or "" for column in names if row.get(column)), "")
        for key, names in COLUMNS.items()
    }
    text = next((row[column] or "" for column in TEXT if row.get(column)), "")
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
