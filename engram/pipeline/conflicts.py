"""Files that would have become a second memory: a review note for each shows the
difference (row X9).
"""

from __future__ import annotations

from difflib import unified_diff
from itertools import islice
from typing import TYPE_CHECKING

from engram.core.categories import PLAIN
from engram.core.records import Create
from engram.core.text import content_hash, slug, ulid
from engram.errors import EngramError
from engram.vault import frontmatter, reviews
from engram.vault.formats import escape, plain_text, time_text
from engram.vault.paths import printable

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from engram.config import Settings
    from engram.index.search import Index
    from engram.index.update import Conflict
    from engram.vault.store import Vault

DIFF_LINES = 200
"""Lines of a difference that a person is shown."""
COMPARED_LINES = 5000
"""Lines of each file that are compared, for the time it takes grows with their square.
"""


class ConflictNotes:
    """What the catalogue could not take in and nobody was asked about yet. Belongs to
    the one writer.
    """

    def __init__(self, vault: Vault, index: Index, settings: Settings) -> None:
        self.vault = vault
        self.index = index
        self.settings = settings
        self._unasked: list[Conflict] = []

    def found(self, conflicts: Iterable[Conflict]) -> None:
        """The catalogue tells of each only once, and the disk may refuse the note: keep
        them until they are asked.
        """
        self._unasked += conflicts

    def ask(self, now: datetime) -> None:
        """Write the notes that are missing."""
        while self._unasked:
            conflict = self._unasked[0]
            digest = content_hash(f"{conflict.path} {conflict.other} {conflict.why}")[
                :8
            ]
            path = f"{reviews.FOLDER}/{reviews.CONFLICT_PREFIX}{slug(conflict.path.rpartition('/')[2].removesuffix('.md'), 60)}-{digest}.md"
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
                self.index.wrote(
                    self.vault.apply(
                        [Create(path, keys, self._difference(conflict), conflict.why)]
                    )
                )
            del self._unasked[0]

    def _difference(self, conflict: Conflict) -> str:
        """What a person needs to see to choose between two files; nothing of it runs
        when the note is opened.
        """
        words = f"`{printable(conflict.path)}` was not taken in: {conflict.why}."
        held = (
            self._lines(other)
            if (other := conflict.other or self._original(conflict.path))
            else []
        )
        if not held:
            return escape(f"{words} Mend the file, or delete it.\n")
        diff = unified_diff(
            held,
            self._lines(conflict.path),
            printable(other),
            printable(conflict.path),
            lineterm="",
        )
        lines = "\n".join(islice(diff, DIFF_LINES))
        return escape(
            f"{words} Keep one of the two and delete the other.\n\n~~~diff\n{lines}\n~~~\n"
        )

    def _lines(self, path: str) -> list[str]:
        """What stands in a file; nothing if it is gone or cannot be read, which must
        not hold up other questions.
        """
        try:
            raw = self.vault.read(path)
        except EngramError:
            return []
        return plain_text(raw.decode(errors="replace")).splitlines()[:COMPARED_LINES]

    def _original(self, copy: str) -> str:
        """The path of the memory that a sync tool's copy is a copy of, or ''."""
        try:
            raw = self.vault.read(copy)
        except EngramError:
            return ""
        fact = self.index.catalog.fact(
            str(frontmatter.read(raw, self.settings.policy.files).keys.get("id"))
        )
        return fact.path if fact and fact.path != copy else ""
