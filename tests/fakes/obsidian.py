"""A vault as Obsidian sees it: which links lead nowhere, and which boxes hang in the
air.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

import yaml

if TYPE_CHECKING:
    from pathlib import Path

LINK = re.compile(r"(?<!\\)!?\[\[([^\[\]\n]+)\]\]")
FENCE = re.compile(
    r"(?P<quote>(?:>[ \t]?)*)[ \t]{0,3}(?P<fence>`{3,}|~{3,})(?P<rest>.*)"
)
SPAN = re.compile(r"(?<!`)(`+)(?!`)(?:.|\n(?!\n))+?(?<!`)\1(?!`)")
COMMENT = re.compile(r"%%.*?(?:%%|\Z)", re.DOTALL)
HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
BLOCK = re.compile(r"(?:^|[ \t])\^([A-Za-z0-9-]+)[ \t]*$", re.MULTILINE)
GONE = re.compile(r"^- gone$", re.MULTILINE)
PLACEHOLDER = re.compile(r"\{\{.*?\}\}")
UNSAID = re.compile(r"[#^|:%\[\]\\]+")


class Page(NamedTuple):
    """A Markdown file: the links in its keys and in its body as they are written, its
    headings and its block ids.
    """

    keys: list[str]
    body: list[str]
    headings: set[str]
    blocks: list[str]


class Look:
    """One look at a vault. Hidden files and folders are none of Obsidian's."""

    def __init__(self, vault: Path) -> None:
        found = [path for path in vault.rglob("*") if path.is_file()]
        names = [path.relative_to(vault).as_posix() for path in found]
        self.names = [
            name
            for name in names
            if not any(part.startswith(".") for part in name.split("/"))
        ]
        self.pages = {
            name: page((vault / name).read_text("utf-8"))
            for name in self.names
            if name.endswith(".md")
        }
        self.views = {
            name: {
                view["name"]
                for view in yaml.safe_load((vault / name).read_text("utf-8"))["views"]
            }
            for name in self.names
            if name.endswith(".base")
        }
        self._ends: dict[str, list[str]] = {}
        for name in self.names:
            parts = folded(name).split("/")
            for start in range(len(parts)):
                end = "/".join(parts[start:])
                for key in {end, end.removesuffix(".md")}:
                    self._ends.setdefault(key, []).append(name)

    def target(self, source: str, link: str) -> tuple[str, str]:
        """The file that a link in `source` leads to, and '' or what is wrong with it."""
        path, _, place = link.partition("|")[0].rstrip("\\").partition("#")
        if path.strip() != path or path.startswith("/"):
            return "", "not the way a link is written"
        held = self._ends.get(folded(path), []) if path else [source]
        if len(held) != 1:
            return (
                "",
                "leads nowhere"
                if not held
                else f"may mean {' or '.join(sorted(held))}",
            )
        return held[0], self._lacks(held[0], place)

    def targets(self, source: str, links: list[str]) -> list[str]:
        """The files that the links in `source` lead to, '' for nowhere."""
        return [self.target(source, link)[0] for link in links]

    def _lacks(self, name: str, place: str) -> str:
        """What of `place` is not in the file."""
        if not place:
            return ""
        if name in self.views:
            return "" if place in self.views[name] else "no such view"
        if name not in self.pages:
            return "no place in such a file"
        held = self.pages[name]
        if place.startswith("^"):
            count = held.blocks.count(folded(place[1:]))
            return (
                ""
                if count == 1
                else "no such block"
                if not count
                else "several such blocks"
            )
        return (
            ""
            if all(heading(part) in held.headings for part in place.split("#"))
            else "no such heading"
        )


def page(text: str) -> Page:
    """What Obsidian would index of a note."""
    head, body = {}, text
    if found := re.match(
        r"\ufeff?---\r?\n(.*?)^---[ \t]*\r?(?:\n|\Z)", text, re.DOTALL | re.MULTILINE
    ):
        head, body = (
            yaml.safe_load(PLACEHOLDER.sub("0", found[1])) or {},
            text[found.end() :],
        )
    prose = COMMENT.sub("", SPAN.sub("", uncoded(body)))
    keys = [link for value in head.values() for link in in_keys(value)]
    headings = {heading(words) for words in HEADING.findall(prose)}
    return Page(
        keys,
        LINK.findall(prose),
        headings,
        [folded(name) for name in BLOCK.findall(prose)],
    )


def uncoded(body: str) -> str:
    """`body` without its fenced code; a fence in a quotation ends with it."""
    kept, fence, depth = [], "", 0
    for line in body.splitlines():
        found = FENCE.fullmatch(line)
        level = line[: len(line) - len(line.lstrip("> \t"))].count(">")
        if fence and level < depth:
            fence = ""
        if not fence and found and not ("`" in found["fence"] and "`" in found["rest"]):
            fence, depth = found["fence"], found["quote"].count(">")
        elif (
            fence
            and found
            and not found["rest"].strip()
            and found["fence"].startswith(fence)
        ):
            fence = ""
        elif not fence:
            kept.append(line)
            continue
        kept.append("")
    return "\n".join(kept)


def in_keys(value: object) -> list[str]:
    """The links in a value of the front matter; one without quotes is a list in a list
    to YAML, and no link.
    """
    if isinstance(value, list):
        nested = [
            f"{item[0]}|unquoted" for item in value if isinstance(item, list) and item
        ]
        return nested + [
            link
            for item in value
            if not isinstance(item, list)
            for link in in_keys(item)
        ]
    return LINK.findall(value) if isinstance(value, str) else []


def folded(name: str) -> str:
    """A name as it is looked up."""
    return unicodedata.normalize("NFC", name).casefold()


def heading(words: str) -> str:
    """A heading as it is looked up: signs that no link can hold are blanks."""
    return " ".join(folded(UNSAID.sub(" ", words)).split())


def broken_links(vault: Path) -> list[str]:
    """Each link and embed that does not lead to exactly one place, and why.

    A forgotten memory may have been the only one that named a person.
    """
    look = Look(vault)
    found = []
    for name, held in look.pages.items():
        if "\nstatus: forgotten\n" in (vault / name).read_text("utf-8"):
            continue
        for link in held.keys + held.body:
            why = (
                "not in quotes"
                if link.endswith("|unquoted")
                else look.target(name, link)[1]
            )
            found += [f"{name}: [[{link}]] {why}"] if why else []
    return found


def _is_trace(name: str) -> bool:
    """Storylines stand beside the traces."""
    return name.startswith("traces/") and not name.endswith("-story.md")


def orphan_boxes(vault: Path) -> list[str]:
    """Each box without memories, or that names a trace that does not list it, and each
    trace with a box that is not there.

    A box says of a memory that went to the trash by rule that it is gone.
    """
    look = Look(vault)
    listed = {
        name: look.targets(name, held.body)
        for name, held in look.pages.items()
        if _is_trace(name)
    }
    found = [f"{name} lists no box" for name, boxes in listed.items() if not boxes]
    found += [
        f"{name} lists {box}"
        for name, boxes in listed.items()
        for box in boxes
        if not box.startswith("boxes/")
    ]
    for name, held in look.pages.items():
        if name.startswith("boxes/"):
            memories = [
                end
                for end in look.targets(name, held.body)
                if end.startswith(("facts/", "archive/"))
            ]
            traces = [
                end
                for end in look.targets(name, held.keys)
                if name in listed.get(end, ())
            ]
            named = GONE.search((vault / name).read_text("utf-8"))
            found += [] if memories or named else [f"{name} holds no memory"]
            alone = "\ntrace:" not in (vault / name).read_text("utf-8")
            found += [] if traces or alone else [f"{name} is in no trace"]
    return found
