"""Obsidian: the daily notes of a vault, as turns of the user on their days.

The name of a daily note is its date (https://help.obsidian.md/plugins/daily-notes).
Other notes of the vault are not imported: in a folder of engram's vault they are
indexed directly. A whole folder of notes is imported as Markdown, so this format must
be named.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from engram.core.records import Problem, Turn
from engram.ingest.importers import markdown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo
    from pathlib import Path

_DAY = re.compile(r"(?:.*/)?\d{4}-\d\d-\d\d(?!\d)[^/]*")
_EMBED = re.compile(r"!\[\[[^\]]*\]\]")
_LINK = re.compile(r"\[\[([^\]|#]*)(?:#[^\]|]*)?(?:\|([^\]]*))?\]\]")
_TASK = re.compile(r"^(\s*[-*+] )\[.\] ", re.MULTILINE)
_COMMENT = re.compile(r"%%.*?%%", re.DOTALL)
_BLOCK_ID = re.compile(r"\s\^[\w-]+$", re.MULTILINE)


def read(path: Path, zone: tzinfo) -> Iterator[Turn | Problem]:
    """Yield the paragraphs of each daily note, without links, embeds and comments."""
    found = False
    for item in markdown.read(path, zone):
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
