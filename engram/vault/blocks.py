"""Generated blocks in notes that are not facts (rows B11, C14, C15, D9).

A block is a list of lines made from memories, between two markers. A line ends with
numbered links to its sources: `She lives in Porto. [[fact-…|1]] [[fact-…|2]]`. All text
outside of the markers belongs to the user.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engram.core.markdown import escape, plain_text, replace_block, unescape
from engram.core.records import BlockEdit, Line, Page
from engram.core.text import is_ulid
from engram.vault import frontmatter as notes
from engram.vault.entities import with_relations
from engram.vault.formats import blocks, without_blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.core.policy import FilePolicy

PROSE = ("description", "story")
"""Blocks of sentences, placed below the title; blocks of list items follow at the end.
"""

_ROW = re.compile(r"\| (?P<text>.*) \|(?P<links>(?: \[\[[^\[\]|]+\]\])*) +\|")
_LINE = re.compile(r"(?:- )?(?P<text>.*?)(?P<links>(?: \[\[[^\[\]|]+\|\d+\]\])*)")
_STEM = re.compile(r"\[\[([^\[\]|]+)")
_TITLE = re.compile(r"\A\s*# [^\n]*\n")


def page_from(note: notes.Note) -> Page:
    """Return the page in a note."""
    blocks_by_name = {
        name: block_lines(text, name)
        for name, text in blocks(note.body).items()
        if name != "relations"
    }
    return Page(note.keys, blocks_by_name, without_blocks(note.body))


def is_user_page(page: Page) -> bool:
    """Return whether a note that is not a fact was written by the user alone."""
    ours = page.keys.get("kind") == "entity" and is_ulid(str(page.keys.get("id") or ""))
    has_text = any(
        not line.startswith(("# ", "![[about.base]]"))
        for line in page.own.splitlines()
        if line.strip()
    )
    return has_text and not page.blocks and not ours


def block_lines(text: str, name: str) -> tuple[Line, ...]:
    """Return the lines of the block `name` without its heading.

    The text is that of `block_text`, or the user changed it.
    """
    form = _ROW if name in TABLES else _LINE
    found = (
        form.fullmatch(line.strip())
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
"""The headings of the lists in the note of an entity, by block name."""

_TITLE_MARK = "## "

TABLES = {"slots": "| Attribute | Value | Since | Memory |\n| --- | --- | --- | --- |"}
"""The heads of the tables, by block name; ` | ` parts the cells of a line."""


def block_text(lines: Sequence[Line], name: str) -> str:
    """Return the text of the block `name`; markup in the lines is made inert."""
    numbers: dict[str, int] = {}
    rendered = []
    for line in lines:
        words = escape(" ".join(plain_text(line.text).split()))
        if name in TABLES:
            links = [f"[[{stem}]]" for stem in line.sources]
            rendered.append(f"| {words} | {' '.join(links)} |")
            continue
        links = [
            f"[[{stem}|{numbers.setdefault(stem, len(numbers) + 1)}]]"
            for stem in line.sources
        ]
        rendered.append(("" if name in PROSE else "- ") + " ".join([words, *links]))
    if rendered and name in TABLES:
        rendered.insert(0, TABLES[name])
    if rendered and name in TITLES:
        rendered = [f"{_TITLE_MARK}{TITLES[name]}", "", *rendered]
    return "\n".join(rendered)


def apply_block_edit(raw: bytes, change: BlockEdit, policy: FilePolicy) -> bytes:
    """Return the note `raw` (b'' for a new one) with the blocks and keys of `change`.

    Raises ConflictError if the note cannot be patched.
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
    """Return the keys of `note` that link to the note `name`, with the plain name."""
    return {
        key: name for key, value in note.keys.items() if name and value == f"[[{name}]]"
    }


GONE = "- gone"
"""The line in place of a link to a removed note."""

_MEMORY = re.compile(r"-[0-9a-f]{8}(?:-\d+)?$")
"""The end of the name of a memory's note, a digest of its statement."""


def _without_link(text: str, name: str) -> str:
    """Return the text of a block without links to a removed note.

    The plain name replaces a link. A link to the note of a memory is removed entirely,
    because its name repeats the line. A line that consists of such a link becomes a
    notice of the removal.
    """
    link = re.compile(rf"\[\[{re.escape(name)}(?:\|[^\[\]]*)?\]\]")
    instead = "" if _MEMORY.search(name) else name

    def without(line: str) -> str:
        if not link.search(line):
            return line
        alone = link.fullmatch(line.removeprefix("-").strip())
        return GONE if alone else link.sub(instead, line).rstrip()

    return "\n".join(map(without, text.split("\n")))


def _placed(body: str, name: str, text: str) -> str:
    """Return `body` with this block set, or removed if `text` is empty."""
    exists = name in blocks(body)
    if not text:
        return without_blocks(body, name)
    title = _TITLE.match(body) if not exists and name in PROSE else None
    if title is None:
        return replace_block(body, name, text)
    rest = body[title.end() :]
    return (
        replace_block(body[: title.end()], name, text)
        + ("" if rest.startswith(("\n", "\r")) or not rest else "\n")
        + rest
    )
