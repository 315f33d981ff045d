"""A Markdown file or a folder of them, as turns of the user."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from engram.core.records import Problem, Turn
from engram.ingest.importers import files, values
from engram.vault.template import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime, tzinfo


SUFFIXES = frozenset({".md", ".markdown"})


def read(path: Path, zone: tzinfo) -> Iterator[Turn | Problem]:
    """Yield each block between blank lines as a turn of the user, file by file."""
    for note in [path] if path.is_file() else notes(path):
        session = (
            note.stem
            if path.is_file()
            else note.relative_to(path).with_suffix("").as_posix()
        )
        try:
            text = note.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            yield Problem(
                "unreadable", f"cannot read the file: {files.reason(error)}", str(note)
            )
            continue
        front, body = _front_matter(text)
        when = _dated(front, note.stem, zone) or values.modified(note, zone)
        seen: Counter[str] = Counter()
        for block in _blocks(body):
            seen[block] += 1
            yield Turn(
                values.made_id(session, block, str(seen[block])),
                session,
                "user",
                block,
                when,
                origin="import",
            )


def notes(folder: Path) -> Iterator[Path]:
    """Yield the Markdown files below `folder` by name, without links and vaults.

    Files and folders whose names begin with a dot are left out too.
    """
    for place, folders, names in os.walk(folder):
        if SETTINGS in names:
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            note = Path(place, name)
            if (
                note.suffix.lower() in SUFFIXES
                and not name.startswith(".")
                and not note.is_symlink()
            ):
                yield note


def _front_matter(text: str) -> tuple[str, str]:
    """Return the lines between the fences at the start, and the rest."""
    match = re.match(
        r"---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", text, re.DOTALL | re.MULTILINE
    )
    return (match[1], text[match.end() :]) if match else ("", text)


def _dated(front: str, stem: str, zone: tzinfo) -> datetime | None:
    """Return the time in the front matter, else in the file's name, else None."""
    keys = dict(
        re.findall(
            r"^(date|created|created_at):[ \t]*[\"']?([^\"'#\n]+)", front, re.MULTILINE
        )
    )
    for key in ("date", "created", "created_at"):
        if when := values.time_of(keys.get(key, "").strip(), zone):
            return when
    match = re.search(r"(?<!\d)(\d{4})[-_.]?(\d\d)[-_.]?(\d\d)(?!\d)", stem)
    return values.time_of("-".join(match.groups()), zone) if match else None


def _blocks(body: str) -> Iterator[str]:
    """Yield paragraphs; a fenced block is not split, a heading joins the next block."""
    block: list[str] = []
    fence = ""
    for line in [*body.splitlines(), ""]:
        fence = _fence_after(line, fence)
        if line.strip() or fence:
            block.append(line.rstrip())
        elif any(line and not line.startswith("#") for line in block):
            yield "\n".join(block)
            block = []
        elif block:
            block.append("")
    if rest := "\n".join(block).strip():
        yield rest


def _fence_after(line: str, fence: str) -> str:
    """Return the fence that is open after the line, '' for none."""
    mark = re.match(r"\s*(```+|~~~+)", line)
    if not mark:
        return fence
    if fence and mark[1].startswith(fence):
        return ""
    return fence or mark[1]
