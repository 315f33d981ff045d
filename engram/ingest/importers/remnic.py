"""remnic (openclaw-engram): its folder of facts, one Markdown file for each.

A fact has `id`, `category`, `created`, `confidence` and more in its front matter
(https://github.com/joshuaswarren/remnic, docs/architecture). A superseded fact is
imported as over since the same day; facts that wait for review or were rejected are
refused.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from engram.core.categories import category_of
from engram.core.records import Fact, ImportedMemory, Problem
from engram.ingest.importers import markdown, memories
from engram.vault import facts, frontmatter
from engram.vault.formats import time_value

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime, tzinfo
    from pathlib import Path

KIND = "remnic"
FOLDER = "facts"
_KEYS = frozenset({"id", "category", "created"})
_OF_REMNIC = frozenset({"confidenceTier", "updated", "source"})
_OVER = ("superseded", "invalidated")
_ENDED = ("supersededAt", "invalidAt", "updated", "created")
"""Keys with the time of an end, the most reliable first."""
_WITHHELD = {
    "review": "it waits for review there",
    "forgotten": "it was rejected there",
}


def is_note(raw: bytes) -> bool:
    """Return whether a note has the keys of a fact of this format."""
    keys = frontmatter.read(raw).keys.keys()
    return keys >= _KEYS and not _OF_REMNIC.isdisjoint(keys)


def is_folder(path: Path) -> bool:
    """Return whether a folder is a memory of this format."""
    note = next(markdown.notes(path / FOLDER), None)
    return note is not None and is_note(note.read_bytes())


def read(path: Path, zone: tzinfo) -> Iterator[ImportedMemory | Problem]:
    """Yield each fact as a memory.

    It has the fact's id, date, subjects, tags, category and confidence.
    """
    names = {note.stem: _heading(note) for note in markdown.notes(path / "entities")}
    for note in markdown.notes(path):
        raw = note.read_bytes()
        if not is_note(raw):
            continue
        parsed = frontmatter.read(raw)
        fact, problems = facts.fact_from(
            parsed, note.relative_to(path).as_posix(), sha256(raw).hexdigest(), zone
        )
        if fact is None:
            yield Problem("unreadable", problems[0].message, str(note))
        elif why := _WITHHELD.get(fact.status):
            yield Problem("left-out", why, str(note))
        else:
            yield _memory(fact, _until(parsed, fact, zone), names, str(note))


def _memory(
    fact: Fact, until: datetime | None, names: dict[str, str], path: str
) -> ImportedMemory | Problem:
    about = tuple(names.get(name, _spelled(name)) for name in fact.about)
    imported = memories.memory(
        KIND,
        fact.text,
        name=path,
        when=fact.created,
        about=about,
        tags=fact.tags,
    )
    if isinstance(imported, Problem):
        return imported
    category = fact.category
    if category_of(category).not_from_outside:
        category = ""
    return ImportedMemory(
        f"{KIND} {fact.id}",
        imported.text,
        imported.when,
        imported.about,
        imported.tags,
        category,
        imported.path,
        until=until,
        confidence=fact.confidence,
    )


def _until(note: frontmatter.Note, fact: Fact, zone: tzinfo) -> datetime | None:
    """Return the time at which a fact ended, None for one that holds."""
    if fact.status not in _OVER:
        return fact.expires
    times = (time_value(note.keys.get(key), zone) for key in _ENDED)
    return fact.valid_until or next(filter(None, times), fact.created)


def _heading(note: Path) -> str:
    """Return the name in the first heading of an entity, or in its reference."""
    for line in note.read_text("utf-8-sig", "replace").splitlines():
        if line.startswith("# "):
            return line.removeprefix("# ").strip()
    return _spelled(note.stem)


def _spelled(reference: str) -> str:
    """Return the name in a reference such as `person-jane-doe`.

    >>> _spelled("person-jane-doe")
    'Jane Doe'
    """
    kind, _, name = reference.partition("-")
    known = {"person", "project", "place", "company", "org", "tool", "topic", "other"}
    return name.replace("-", " ").title() if kind in known and name else reference
