"""Finds a memory as it is now in its note, and patches the note (row X8)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engram.core.records import Edit, Move
from engram.errors import ConflictError, NotFoundError
from engram.pipeline.write import action_row

if TYPE_CHECKING:
    from engram.core.records import Change, Fact
    from engram.operations.file_sync import FileSync
    from engram.operations.notes import Keys


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
        if self.index.current(fact, (fact.path, fact.sha), {}) is not fact:
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
