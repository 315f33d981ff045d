"""A Markdown file or a folder of them, as turns of the user.

Of a vault of Obsidian the daily notes can be imported alone, as turns on their days: the
name of such a note is its date (https://help.obsidian.md/plugins/daily-notes). That
format must be named.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from engram.core.records import Problem, Turn
from engram.ingest.importers import files, values
from engram.vault.template import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime, tzinfo


SUFFIXES = frozenset({".md", ".markdown"})
FENCED = re.compile(r"^\s*(```+|~~~+).*?^\s*\1[^\n]*$", re.DOTALL | re.MULTILINE)
"""A block of code."""
_DAY = re.compile(r"(?:.*/)?\d{4}-\d\d-\d\d(?!\d)[^/]*")
_EMBED = re.compile(r"!\[\[[^\]]*\]\]")
_LINK = re.compile(r"\[\[([^\]|#]*)(?:#[^\]|]*)?(?:\|([^\]]*))?\]\]")
_TASK = re.compile(r"^(\s*[-*+] )\[.\] ", re.MULTILINE)
_COMMENT = re.compile(r"%%.*?%%", re.DOTALL)
_BLOCK_ID = re.compile(r"\s\^[\w-]+$", re.MULTILINE)


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
        front, body = front_matter(text)
        when = dated(front, note.stem, zone) or values.modified(note, zone)
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


def front_matter(text: str) -> tuple[str, str]:
    """Return the lines between the fences at the start, and the rest."""
    match = re.match(
        r"---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", text, re.DOTALL | re.MULTILINE
    )
    return (match[1], text[match.end() :]) if match else ("", text)


def dated(front: str, stem: str, zone: tzinfo) -> datetime | None:
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


# -- daily notes of Obsidian -------------------------------------------------------------


def daily_notes(path: Path, zone: tzinfo) -> Iterator[Turn | Problem]:
    """Yield the paragraphs of each daily note, without links, embeds and comments."""
    found = False
    for item in read(path, zone):
        if isinstance(item, Problem):
            yield item
        elif _DAY.fullmatch(item.session):
            found = True
            if text := plain(item.text):
                yield replace(item, text=text)
    if not found:
        message = "no note has a date such as 2026-03-02 as its name"
        yield Problem("no-daily-notes", message, str(path))


def plain(text: str) -> str:
    """Return a text of Obsidian without its special syntax.

    >>> plain("- [ ] Call [[Anna Keller|Anna]] %%soon%% ^a1")
    '- Call Anna'
    """
    for pattern, instead in ((_COMMENT, ""), (_EMBED, ""), (_BLOCK_ID, "")):
        text = pattern.sub(instead, text)
    text = _TASK.sub(r"\1", text)
    text = _LINK.sub(lambda found: found[2] or found[1], text)
    return "\n".join(line.rstrip() for line in text.splitlines()).strip()
