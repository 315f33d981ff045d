"""The planned bytes of files, on top of those on disk; nothing is written here.

Each change of a pass is applied to the bytes at once, and the result is read by the
readers of the index. So later passes see the records that the next scan would read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.core.records import Create, Edit, Move
from engram.errors import ConflictError
from engram.maintenance.passes.view import FileWrite
from engram.vault import blocks, disk, entities, facts, frontmatter
from engram.vault.edges import EDGES, edge_id
from engram.vault.undo import FileStep, recorded_size

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from datetime import tzinfo

    from engram.core.policy import FilePolicy
    from engram.core.records import BlockEdit, Change, Edge, Entity, Fact
    from engram.vault.edges import EdgeStore
    from engram.vault.frontmatter import Note
    from engram.vault.store import Vault


@dataclass(frozen=True, slots=True)
class PlannedNote:
    """A note with all its planned changes: the bytes before and after."""

    change: Change
    raw: bytes
    new: bytes

    @property
    def path(self) -> str:
        """The path of the note after the change."""
        return self.change.to if isinstance(self.change, Move) else self.change.path


@dataclass(frozen=True, slots=True)
class PlannedWrite:
    """One file to write: the step for the undo history, and the bytes before and after.

    `change` is that of a note, None for other files. `group` are the keys of the notes
    that are written together with this one or not at all.
    """

    key: str
    step: FileStep
    raw: bytes
    new: bytes
    change: Change | None = None
    group: frozenset[str] = frozenset()

    @property
    def place(self) -> str:
        """The path before the write, or after it for a new file."""
        return self.step.before or self.step.after

    @property
    def paths(self) -> list[str]:
        """All paths that the write touches."""
        both = (self.step.before, self.step.after)
        return [path for path in dict.fromkeys(both) if path]


class Overlay:
    """The planned state of one vault. Belongs to one plan."""

    def __init__(self, vault: Vault, policy: FilePolicy, zone: tzinfo) -> None:
        self.vault = vault
        self.policy = policy
        self.zone = zone
        self.notes: dict[str, PlannedNote] = {}
        self._pages: dict[str, tuple[bytes, bytes]] = {}
        self._files: dict[str, FileWrite] = {}
        self._edges: dict[str, Edge] = {}

    # -- plan --------------------------------------------------------------------------

    def patched(self, key: str, step: Change) -> PlannedNote:
        """Return the note `key` after `step` and earlier changes, without planning it.

        Raises ConflictError if the note changed on disk or cannot be patched.
        """
        if isinstance(step, Create):
            return PlannedNote(step, b"", frontmatter.emit(step.keys, step.body))
        before = self.notes.get(key)
        if before is None:
            change, raw = step, self.vault.read(step.path)
        elif isinstance(before.change, Create):
            raise ConflictError("it is made in this run", where=step.path)
        else:
            change, raw = _combined(before.change, step), before.raw
        if disk.sha256(raw) != change.sha:
            message = "it changed since it was last read"
            raise ConflictError(message, where=change.path)
        keys = facts.keys_to_write(change)
        return PlannedNote(change, raw, frontmatter.edit(raw, keys, change.body))

    def keep(self, key: str, note: PlannedNote) -> None:
        """Plan the note under its key: the id of its memory, or its path."""
        self.notes[key] = note

    def amend(self, edit: BlockEdit) -> None:
        """Plan an edit of generated blocks. Raises EngramError if it is refused."""
        if edit.path in self._pages:
            raw, new = self._pages[edit.path]
        else:
            raw = new = self._on_disk(edit.path)
        self._pages[edit.path] = raw, blocks.apply_block_edit(new, edit, self.policy)

    def write(self, write: FileWrite) -> None:
        """Plan the content of a file that is not a note."""
        self._files[write.path] = write

    def tie(self, edge: Edge) -> None:
        """Plan a new or changed edge of the graph."""
        self._edges[edge_id(edge)] = edge

    # -- read back ---------------------------------------------------------------------

    def note(self, key: str) -> Note:
        """Read the planned bytes of the note `key`."""
        return frontmatter.read(self.notes[key].new, self.policy)

    def fact(self, key: str) -> Fact | None:
        """Return the memory in the planned note `key`; its hash is the one on disk."""
        planned = self.notes[key]
        sha = "" if isinstance(planned.change, Create) else planned.change.sha
        return facts.fact_from(self.note(key), planned.path, sha, self.zone)[0]

    def page(self, path: str) -> Note:
        """Read the planned bytes of the note with generated blocks at `path`."""
        return frontmatter.read(self._pages[path][1], self.policy)

    def entity(self, path: str, sha: str) -> Entity:
        """Return the entity in the planned note at `path`."""
        return entities.entity_from(self.page(path), path, sha, self.zone)[0]

    # -- the writes --------------------------------------------------------------------

    def file_writes(self, edges: EdgeStore) -> Iterator[PlannedWrite]:
        """Yield the writes of changed files that are not notes. Raises EngramError."""
        files = dict(self._files)
        if self._edges:
            files[EDGES] = FileWrite(EDGES, edges.with_edges(self._edges.values()), "")
        for path, file in files.items():
            exists = self.vault.exists(path)
            raw, new = self._on_disk(path), file.content or b""
            before, after = (
                path if exists else "",
                path if file.content is not None else "",
            )
            if (before, raw) != (after, new):
                yield PlannedWrite(path, _file_step(before, after, raw, new), raw, new)

    def page_writes(self) -> Iterator[PlannedWrite]:
        """Yield the notes whose generated blocks change."""
        for path, (raw, new) in self._pages.items():
            if raw != new:
                before = path if self.vault.exists(path) else ""
                yield PlannedWrite(path, _file_step(before, path, raw, new), raw, new)

    def note_writes(
        self, groups: Mapping[str, Collection[str]]
    ) -> Iterator[PlannedWrite]:
        """Yield the notes that change, new ones first; `groups` are those of a note."""
        new_first = sorted(
            self.notes.items(), key=lambda item: not isinstance(item[1].change, Create)
        )
        for key, note in new_first:
            before = "" if isinstance(note.change, Create) else note.change.path
            if (before, note.raw) == (note.path, note.new):
                continue
            step = _file_step(before, note.path, note.raw, note.new)
            group = frozenset(groups.get(key, ()))
            yield PlannedWrite(key, step, note.raw, note.new, note.change, group)

    def _on_disk(self, path: str) -> bytes:
        return self.vault.read(path) if self.vault.exists(path) else b""


def within(
    writes: Iterable[PlannedWrite], limit: int
) -> tuple[list[PlannedWrite], list[PlannedWrite]]:
    """Split writes into those that replace at most `limit` bytes together, and others.

    A write is taken as long as it fits.
    """
    fitting: list[PlannedWrite] = []
    others: list[PlannedWrite] = []
    for write in writes:
        size = recorded_size(write.step, write.raw)
        if size <= limit:
            fitting.append(write)
            limit -= size
        else:
            others.append(write)
    return fitting, others


def _file_step(before: str, after: str, raw: bytes, new: bytes) -> FileStep:
    was = disk.sha256(raw) if before else ""
    now = disk.sha256(new) if after else ""
    return FileStep(before, after, was, now, len(new))


def _combined(first: Edit | Move, then: Edit | Move) -> Edit | Move:
    """Return two changes of one note as one, based on the bytes before the first."""
    keys = {**first.keys, **then.keys}
    body = first.body if then.body is None else then.body
    if isinstance(then, Move):
        target = then.to
    elif isinstance(first, Move):
        target = first.to
    else:
        target = first.path
    if target == first.path:
        return Edit(first.path, first.sha, keys, then.why, body)
    return Move(first.path, first.sha, target, keys, then.why, body)
