"""Review notes for files that conflict with a memory (row X9).

Such a file is not indexed, because it would become a second memory with the same id or
name. Its note in `review/` shows how it differs from the memory.
"""

from __future__ import annotations

from difflib import unified_diff
from itertools import islice
from typing import TYPE_CHECKING

from engram.core.categories import PLAIN
from engram.core.markdown import escape, plain_text
from engram.core.records import Create
from engram.core.text import content_hash, slug, ulid
from engram.errors import EngramError
from engram.vault import changes, frontmatter, reviews
from engram.vault.formats import time_text
from engram.vault.paths import printable

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from engram.config import Settings
    from engram.index.diff import Conflict
    from engram.index.search import Index
    from engram.vault.store import Vault

DIFF_LINES = 200
"""Maximum number of lines of a difference in a note."""
COMPARED_LINES = 5000
"""Maximum number of lines of a file that are compared; time grows with the square."""


class ConflictNotes:
    """Writes review notes for conflicts of the catalogue. For the writer thread."""

    def __init__(self, vault: Vault, index: Index, settings: Settings) -> None:
        self.vault = vault
        self.index = index
        self.settings = settings
        self._waiting: list[Conflict] = []

    def found(self, conflicts: Iterable[Conflict]) -> None:
        """Add conflicts that a scan found; they wait until their note is written.

        A scan reports each conflict only once. A copy of a review note is left alone: a
        note about it would be copied and conflict in turn.
        """
        self._waiting += [
            one for one in conflicts if not one.path.startswith(f"{reviews.FOLDER}/")
        ]

    def ask(self, now: datetime) -> None:
        """Write the notes of the waiting conflicts. Raises EngramError."""
        while self._waiting:
            conflict = self._waiting[0]
            path = _note_path(conflict)
            if not self.vault.exists(path) and self.vault.exists(conflict.path):
                keys = {
                    "id": ulid(now, path),
                    "category": PLAIN,
                    "kind": "note",
                    "created": time_text(now, self.settings.zone),
                    "status": "review",
                    "confidence": 0.0,
                    "importance": 0.5,
                    "end_reason": conflict.why,
                }
                note = Create(path, keys, self._difference(conflict), conflict.why)
                self.index.wrote(changes.write(self.vault, [note]))
            del self._waiting[0]

    def _difference(self, conflict: Conflict) -> str:
        """Return the body of a note: the difference between the two files.

        It is escaped, so that no editor runs or renders a part of it.
        """
        words = f"`{printable(conflict.path)}` is not indexed: {conflict.why}."
        other = conflict.other or self._original(conflict.path)
        lines = self._lines(other) if other else []
        if not lines:
            return escape(f"{words} Correct the file, or delete it.\n")
        diff = unified_diff(
            lines,
            self._lines(conflict.path),
            printable(other),
            printable(conflict.path),
            lineterm="",
        )
        quoted = "\n".join(islice(diff, DIFF_LINES))
        return escape(
            f"{words} Keep one of the two and delete the other.\n\n~~~diff\n{quoted}\n~~~\n"
        )

    def _lines(self, path: str) -> list[str]:
        """Return the lines of a file; none if it is missing or cannot be read."""
        try:
            raw = self.vault.read(path)
        except EngramError:
            return []
        return plain_text(raw.decode(errors="replace")).splitlines()[:COMPARED_LINES]

    def _original(self, copy: str) -> str:
        """Return the path of the memory that a sync tool copied to `copy`, or ''."""
        try:
            raw = self.vault.read(copy)
        except EngramError:
            return ""
        fact = self.index.catalog.fact(
            str(frontmatter.read(raw, self.settings.policy.files).keys.get("id"))
        )
        return fact.path if fact and fact.path != copy else ""


def _note_path(conflict: Conflict) -> str:
    text = f"{conflict.path} {conflict.other} {conflict.why}"
    stem = slug(conflict.path.rpartition("/")[2].removesuffix(".md"), 60)
    name = f"{reviews.CONFLICT_PREFIX}{stem}-{content_hash(text)[:8]}"
    return f"{reviews.FOLDER}/{name}.md"
