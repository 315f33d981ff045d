"""What engram tells in notes that are no memories: lines made from memories, between
markers (rows B11, C14, C15, D9).

A line ends with numbered links to the notes that it rests on: `She lives in Porto.
[[fact-…|1]] [[fact-…|2]]`. What stands outside of the markers is the person's.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engram.core.records import Line, Page
from engram.core.text import is_ulid
from engram.vault import frontmatter as notes
from engram.vault.entities import with_relations
from engram.vault.formats import (
    between,
    blocks,
    inert,
    original,
    plain_text,
    without_blocks,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.core.policy import FilePolicy
    from engram.core.records import BlockEdit

PROSE = ("description", "story")
"""Blocks of sentences; they stand below the title, those of list items at the end."""

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


def is_foreign(page: Page) -> bool:
    """Whether a note that is no memory is somebody's own, in which engram neither wrote
    nor tells anything.
    """
    ours = page.keys.get("kind") == "entity" and is_ulid(str(page.keys.get("id") or ""))
    said = any(
        not line.startswith(("# ", "![[about.base]]"))
        for line in page.own.splitlines()
        if line.strip()
    )
    return said and not page.blocks and not ours


def block_lines(text: str) -> tuple[Line, ...]:
    """The lines of a block, as `block_text` wrote them or a person changed them."""
    found = (
        _LINE.fullmatch(line.strip()) for line in text.splitlines() if line.strip()
    )
    return tuple(
        Line(original(line["text"]), tuple(_STEM.findall(line["links"])))
        for line in found
        if line
    )


def block_text(lines: Sequence[Line], name: str) -> str:
    """The lines as they stand in the block `name`; each source keeps its number,
    nothing in the words is markup.
    """
    numbers: dict[str, int] = {}
    told = []
    for line in lines:
        words = inert(" ".join(plain_text(line.text).split()))
        links = [
            f"[[{stem}|{numbers.setdefault(stem, len(numbers) + 1)}]]"
            for stem in line.sources
        ]
        told.append(("" if name in PROSE else "- ") + " ".join([words, *links]))
    return "\n".join(told)


def apply_block_edit(raw: bytes, change: BlockEdit, policy: FilePolicy) -> bytes:
    """The note `raw`, b'' for none, with what `change` tells in it. Raises
    ConflictError where it cannot be patched.
    """
    raw = raw or notes.emit(change.keys, f"# {change.title}\n" if change.title else "")
    keys = {**_unlinked(notes.read(raw, policy), change.unlink), **change.keys}
    raw = notes.edit(raw, keys, policy=policy)
    if change.add or change.drop:
        body = with_relations(notes.read(raw, policy).body, change.add, change.drop)
        raw = notes.edit(raw, {}, body, policy)
    head = notes.read(raw, policy).body_line - 1
    body = raw.split(b"\n", head)[-1].decode()
    front = raw.removesuffix(body.encode())
    for name, text in blocks(body).items() if change.unlink else ():
        body = between(body, name, _link(change.unlink).sub(change.unlink, text))
    for name, lines in change.blocks.items():
        body = _placed(body, name, block_text(lines, name))
    return front + body.encode()


def _unlinked(note: notes.Note, name: str) -> dict[str, object]:
    """The keys of `note` whose value is a link to the note of this name, each with the
    name alone.
    """
    return {
        key: name for key, value in note.keys.items() if name and value == f"[[{name}]]"
    }


def _link(name: str) -> re.Pattern[str]:
    return re.compile(rf"\[\[{re.escape(name)}(?:\|[^\[\]]*)?\]\]")


def _placed(body: str, name: str, text: str) -> str:
    """`body` with this block, which goes when it is empty; a new one of sentences comes
    below the title.
    """
    held = name in blocks(body)
    if not text:
        return without_blocks(body, name)
    title = _TITLE.match(body) if not held and name in PROSE else None
    if title is None:
        return between(body, name, text)
    rest = body[title.end() :]
    return (
        between(body[: title.end()], name, text)
        + ("" if rest.startswith(("\n", "\r")) or not rest else "\n")
        + rest
    )
