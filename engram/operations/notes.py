"""Changes of single notes, for operations requested by a user (row X8).

`NoteChanges` builds the changes that activate, supersede or trash a note. `NoteEditor`
finds a memory as it is now in its note, and patches the note.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from engram.core.records import Edit, Move
from engram.errors import ConflictError, NotFoundError
from engram.pipeline.forgetting import USER_DECIDED
from engram.pipeline.write import action_row
from engram.vault import frontmatter, reviews
from engram.vault.formats import time_text, unused_name
from engram.vault.paths import FilePlace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from engram.core.records import Change, Fact
    from engram.operations.file_sync import FileSync
    from engram.pipeline.write import NoteWriter


Keys = dict[str, object]

ACTIVE: Keys = {"status": "active", "end_reason": None}
"""The front-matter keys of a memory that becomes active again."""


class NoteChanges:
    """Builds changes of a memory's note. For the writer thread."""

    def __init__(self, note_writer: NoteWriter) -> None:
        self.vault = note_writer.vault
        self.settings = note_writer.settings

    def activate(self, fact: Fact, keys: Mapping[str, object], now: datetime) -> Change:
        """Return the change that makes a memory active and confirmed, in `facts/`.

        `keys` are further front-matter keys to set.
        """
        active: Keys = {**ACTIVE, "verification": "user_confirmed"}
        if fact.status == "superseded":
            active["valid_until"] = None
        return self._patch(
            fact, {**active, **keys}, self._active_path(fact, now), USER_DECIDED
        )

    def supersede(
        self, fact: Fact, winner: Fact, why: str, now: datetime, *, ended: bool = False
    ) -> Change:
        """Return the change that makes `winner` the successor of a memory.

        With `ended` the memory was true until `winner` became true.
        """
        keys: Keys = {
            "status": "superseded",
            "superseded_by": [*without(fact.superseded_by, winner), winner.id],
            "supersedes": without(fact.supersedes, winner) or None,
            "end_reason": why,
        }
        until = winner.valid_from or winner.created or now
        if ended and (fact.valid_until is None or fact.valid_until > until):
            keys["valid_until"] = time_text(until, self.settings.zone)
        in_review = fact.path.startswith(f"{reviews.FOLDER}/")
        path = self._active_path(fact, now) if in_review else fact.path
        return self._patch(fact, keys, path, why)

    def trash(self, path: str, sha: str, now: datetime, why: str) -> Move:
        """Return the move of a note, unchanged, to the folder of today in `.trash/`."""
        day = f"{now.astimezone(self.settings.zone):%Y-%m-%d}"
        return Move(path, sha, self._free_path(f".trash/{day}", path), {}, why)

    def _patch(
        self, fact: Fact, keys: Mapping[str, object], path: str, why: str
    ) -> Change:
        """Return an edit or a move to `path` that removes a review question."""
        raw = self.vault.read(fact.path)
        body = frontmatter.read(raw, self.settings.policy.files).body
        settled = reviews.without_question(body) if reviews.has_question(body) else None
        if path == fact.path:
            return Edit(fact.path, fact.sha, keys, why, settled)
        return Move(fact.path, fact.sha, path, keys, why, settled)

    def _active_path(self, fact: Fact, now: datetime) -> str:
        """Return the path of a note in `facts/`: its own, or in the folder of its day."""
        if fact.path.startswith("facts/"):
            return fact.path
        day = (fact.created or now).astimezone(self.settings.zone)
        return self._free_path(f"facts/{day:%Y-%m-%d}", fact.path)

    def _free_path(self, folder: str, path: str) -> str:
        """Return an unused path in `folder` with the name of `path`."""
        stem = f"{folder}/{PurePosixPath(path).stem}"
        return unused_name(stem, lambda name: self.vault.exists(f"{name}.md")) + ".md"


def without(names: Sequence[str], fact: Fact) -> list[str]:
    """Return the ids and links in `names` that do not refer to `fact`."""
    return [
        name for name in names if name not in {fact.id, PurePosixPath(fact.path).stem}
    ]


def superseding_keys(winner: Fact, loser: Fact) -> Keys:
    """Return the front-matter keys by which `winner` supersedes `loser`."""
    return {
        "supersedes": [*without(winner.supersedes, loser), loser.id],
        "superseded_by": without(winner.superseded_by, loser) or None,
    }


class NoteEditor:
    """Finds memories and patches their notes. For the writer thread."""

    def __init__(self, files: FileSync) -> None:
        self.files = files
        self.note_writer = files.note_writer
        self.index = files.index
        self.settings = files.settings
        self.clock = files.clock

    def find(self, name: str) -> Fact:
        """Return the memory as it is now in its note, after indexing a new edit.

        `name` is an id, an unambiguous prefix of one, or a path. Raises NotFoundError,
        ConflictError.
        """
        fact = self.index.catalog.find_fact(name)
        if self.index.current(fact, FilePlace(fact.path, fact.sha), {}) is not fact:
            self.files.rescan([self.settings.vault / fact.path])
        return self.index.catalog.find_fact(name)

    def patch(
        self, fact: Fact, keys: Keys, action: str, why: str, *, unarchive: bool = False
    ) -> None:
        """Set front-matter keys; with `unarchive` move an archived note back.

        `action` is the name of the row in the action log. If a user has edited the note
        in the meantime, the patch is applied to the edited version.
        """
        row = action_row(self.clock(), action, fact.id, why)

        def change(fact: Fact) -> Change:
            if unarchive and fact.path.startswith("archive/"):
                path = self.note_writer.path_of(replace(fact, status="active"), ())
                return Move(fact.path, fact.sha, path, keys, why)
            return Edit(fact.path, fact.sha, keys, why)

        try:
            self.note_writer.write([change(fact)], [row])
        except ConflictError:
            self.note_writer.write([change(self.find(fact.id))], [row])

    def try_patch(
        self, fact: Fact, keys: Keys, action: str, why: str, *, unarchive: bool = False
    ) -> str:
        """Patch a memory that the user did not name; return the error or ''.

        A note that a user broke or deleted does not stop the operation on another one.
        """
        try:
            self.patch(fact, keys, action, why, unarchive=unarchive)
        except (ConflictError, NotFoundError) as error:
            return str(error)
        return ""
