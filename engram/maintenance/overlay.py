"""The planned bytes of files, on top of those on disk; nothing is written here.

Each change of a pass is applied to the bytes at once, and the result is read by the
readers of the index. So later passes see the records that the next scan would read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engram.core.records import BlockEdit, Change, Create, Entity, Fact, Move
from engram.vault import blocks, changes, entities, facts, frontmatter
from engram.vault.changes import Write

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from datetime import tzinfo

    from engram.core.policy import FilePolicy
    from engram.vault.frontmatter import Note
    from engram.vault.store import Vault


class Overlay:
    """The planned state of one vault. Belongs to one plan."""

    def __init__(self, vault: Vault, policy: FilePolicy, zone: tzinfo) -> None:
        self.vault = vault
        self.policy = policy
        self.zone = zone
        self.notes: dict[str, Write] = {}
        self._pages: dict[str, tuple[bytes, bytes]] = {}

    # -- plan --------------------------------------------------------------------------

    def patched(self, key: str, step: Change) -> Write:
        """Return the note `key` after `step` and earlier changes, without planning it.

        Raises ConflictError if the note changed on disk or cannot be patched.
        """
        before = self.notes.get(key)
        if isinstance(step, Create) or before is None:
            (write,) = changes.plan(self.vault, [step])
            return replace(write, key=key)
        to = step.to if isinstance(step, Move) else before.after
        new = changes.patched(before.new, step)
        return replace(before, after=to, new=new, why=step.why)

    def keep(self, note: Write) -> None:
        """Plan a note under its key: the id of its memory, or its path."""
        self.notes[note.key] = note

    def amend(self, edit: BlockEdit) -> None:
        """Plan an edit of generated blocks. Raises EngramError if it is refused."""
        if edit.path in self._pages:
            raw, new = self._pages[edit.path]
        else:
            raw = new = self._on_disk(edit.path)
        self._pages[edit.path] = raw, blocks.apply_block_edit(new, edit, self.policy)

    # -- read back ---------------------------------------------------------------------

    def note(self, key: str) -> Note:
        """Read the planned bytes of the note `key`."""
        return frontmatter.read(self.notes[key].new, self.policy)

    def fact(self, key: str) -> Fact | None:
        """Return the memory in the planned note `key`; its hash is the one on disk."""
        planned = self.notes[key]
        sha = planned.step.was
        return facts.fact_from(self.note(key), planned.after, sha, self.zone)[0]

    def page(self, path: str) -> Note:
        """Read the planned bytes of the note with generated blocks at `path`."""
        return frontmatter.read(self._pages[path][1], self.policy)

    def entity(self, path: str, sha: str) -> Entity:
        """Return the entity in the planned note at `path`."""
        return entities.entity_from(self.page(path), path, sha, self.zone)[0]

    # -- the writes --------------------------------------------------------------------

    def file_writes(self, files: Mapping[str, bytes | None]) -> Iterator[Write]:
        """Yield the writes of files that are not notes; None deletes one."""
        for path, content in files.items():
            after = path if content is not None else ""
            yield self._file_write(path, after, self._on_disk(path), content or b"")

    def page_writes(self) -> Iterator[Write]:
        """Yield the writes of notes with generated blocks."""
        for path, (raw, new) in self._pages.items():
            yield self._file_write(path, path, raw, new)

    def note_writes(self, groups: Mapping[str, Collection[str]]) -> Iterator[Write]:
        """Yield the writes of notes, new ones first; `groups` are those of a note."""
        for note in sorted(self.notes.values(), key=lambda note: bool(note.before)):
            yield replace(note, group=frozenset(groups.get(note.key, ())))

    def _file_write(self, path: str, after: str, raw: bytes, new: bytes) -> Write:
        before = path if self.vault.exists(path) else ""
        return Write(before, after, raw, new, key=path)

    def _on_disk(self, path: str) -> bytes:
        return self.vault.read(path) if self.vault.exists(path) else b""
