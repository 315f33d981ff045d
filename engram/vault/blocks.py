"""Generated blocks in notes that are not facts (rows B11, C14, C15, D9).

A block is a list of lines made from memories, between two markers. A line ends with
numbered links to its sources: `She lives in Porto. [[fact-…|1]] [[fact-…|2]]`. All text
outside of the markers belongs to the user.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engram.core.records import Line, Page
from engram.core.text import is_ulid
from engram.vault import frontmatter as notes
from engram.vault.entities import with_relations
from engram.vault.formats import (
    blocks,
    escape,
    plain_text,
    replace_block,
    unescape,
    without_blocks,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.core.policy import FilePolicy
    from engram.core.records import BlockEdit

PROSE = ("description", "story")
"""Blocks of sentences, placed below the title; blocks of list items are at the end."""

_LINE = re.compile(r"(?:- )?(?P<text>.*?)(?P<links>(?: \[\[[^\[\]|]+\|\d+\]\])*)")
_STEM = re.compile(r"\[\[([^\[\]|]+)\|")
_TITLE = re.compile(r"\A\s*# [^\n]*\n")


def page_from(note: notes.Note) -> Page:
    """The page in a note."""
    held = {
        name: block_lines(text)
        for name, text in blocks(note.body).items()
        if name != "relations"
    }
    return Page(note.keys, held, without_blocks(note.body))


def is_user_page(page: Page) -> bool:
    """Whether a note that is not a fact was written by the user alone."""
    ours = page.keys.get("kind") == "entity" and is_ulid(str(page.keys.get("id") or ""))
    said = any(
        not line.startswith(("# ", "![[about.base]]"))
        for line in page.own.splitlines()
        if line.strip()
    )
    return said and not page.blocks and not ours


def block_lines(text: str) -> tuple[Line, ...]:
    """The lines of a block, as `block_text` or the user wrote them, with no heading."""
    found = (
        _LINE.fullmatch(line.strip())
        for line in text.splitlines()
        if line.strip() and not line.startswith(_TITLE_MARK)
    )
    return tuple(
        Line(unescape(line["text"]), tuple(_STEM.findall(line["links"])))
        for line in found
        if line
    )


TITLES = {
    "card": "In short",
    "relationships": "In words",
    "bridges": "In common with others",
}
"""The headings of the lists in the note of an entity, by the name of the block."""

_TITLE_MARK = "## "


def block_text(lines: Sequence[Line], name: str) -> str:
    """The text of the block `name`; markup in the lines is made inert."""
    numbers: dict[str, int] = {}
    rendered = []
    for line in lines:
        words = escape(" ".join(plain_text(line.text).split()))
        links = [
            f"[[{stem}|{numbers.setdefault(stem, len(numbers) + 1)}]]"
            for stem in line.sources
        ]
        rendered.append(("" if name in PROSE else "- ") + " ".join([words, *links]))
    if rendered and name in TITLES:
        rendered = [f"{_TITLE_MARK}{TITLES[name]}", "", *rendered]
    return "\n".join(rendered)


def apply_block_edit(raw: bytes, change: BlockEdit, policy: FilePolicy) -> bytes:
    """The note `raw` (b'' for a new one) with the blocks and keys of `change`.

    Raises ConflictError where the note cannot be patched.
    """
    heading = f"# {change.title}\n" if change.title else ""
    raw = raw or (notes.emit(change.keys, heading) if change.keys else heading.encode())
    keys = {**_unlinked(notes.read(raw, policy), change.unlink), **change.keys}
    raw = notes.edit(raw, keys, policy=policy)
    if change.add or change.drop:
        body = with_relations(notes.read(raw, policy).body, change.add, change.drop)
        raw = notes.edit(raw, {}, body, policy)
    head = notes.read(raw, policy).body_line - 1
    body = raw.split(b"\n", head)[-1].decode()
    front = raw.removesuffix(body.encode())
    for name, text in blocks(body).items() if change.unlink else ():
        body = replace_block(body, name, _without_link(text, change.unlink))
    for name, lines in change.blocks.items():
        body = _placed(body, name, block_text(lines, name))
    return front + body.encode()


def _unlinked(note: notes.Note, name: str) -> dict[str, object]:
    """The keys of `note` that link to the note `name`, with the plain name instead."""
    return {
        key: name for key, value in note.keys.items() if name and value == f"[[{name}]]"
    }


GONE = "- gone"
"""A line in place of a link to a note that was removed."""

_MEMORY = re.compile(r"-[0-9a-f]{8}(?:-\d+)?$")
"""The end of the name of a memory's note: a digest of its statement."""


def _link(name: str) -> re.Pattern[str]:
    return re.compile(rf"\[\[{re.escape(name)}(?:\|[^\[\]]*)?\]\]")


def _without_link(text: str, name: str) -> str:
    """Return the text of a block without links to a note that is gone.

    In their place stands the plain name, but for the note of a memory, whose name says
    what the line says. A line that is nothing but such a link says that it is gone.
    """
    link = _link(name)
    instead = "" if _MEMORY.search(name) else name

    def without(line: str) -> str:
        if not link.search(line):
            return line
        alone = link.fullmatch(line.removeprefix("-").strip())
        return GONE if alone else link.sub(instead, line).rstrip()

    return "\n".join(map(without, text.split("\n")))


def _placed(body: str, name: str, text: str) -> str:
    """`body` with this block set, or removed where `text` is empty."""
    held = name in blocks(body)
    if not text:
        return without_blocks(body, name)
    title = _TITLE.match(body) if not held and name in PROSE else None
    if title is None:
        return replace_block(body, name, text)
    rest = body[title.end() :]
    return (
        replace_block(body[: title.end()], name, text)
        + ("" if rest.startswith(("\n", "\r")) or not rest else "\n")
        + rest
    )
