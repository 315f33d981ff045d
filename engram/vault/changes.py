"""Changes of files: planned, applied in one order, settled and undone (rows X6, X17).

Every writer plans its changes as `Write` values: the bytes of a file before and after.
`apply` writes them only over the bytes that they were planned for, so the words of a
person who saved the file meanwhile stay. The same rows, recorded as `FileStep` values,
settle an interrupted run and undo a finished one. Undo restores exactly the old bytes;
a file that was changed since stays and is reported.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from engram.core.records import Change, Create, Edit, Move
from engram.errors import ConflictError, EngramError
from engram.vault import disk, facts, frontmatter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from engram.vault.store import Vault

INCOMPLETE = "another change of its group has to wait"


@dataclass(frozen=True, slots=True)
class FileStep:
    """One change of a file: its path before and after ('' for none), both SHA-256.

    `was` and `now` are the hashes of its content before and after, `size` its length
    afterwards (bytes): later bytes were appended since.
    """

    before: str
    after: str
    was: str = ""
    now: str = ""
    size: int = 0


@dataclass(frozen=True, slots=True)
class Write:
    """One file to write: its path before and after ('' for none), and both contents.

    `key` is the id of its memory, or its path. `group` are the keys of the notes that
    are written together with this one or not at all.
    """

    before: str
    after: str
    raw: bytes
    new: bytes
    why: str = ""
    key: str = ""
    group: frozenset[str] = frozenset()

    @property
    def step(self) -> FileStep:
        """The row of this write in the undo history."""
        was = disk.sha256(self.raw) if self.before else ""
        now = disk.sha256(self.new) if self.after else ""
        return FileStep(self.before, self.after, was, now, len(self.new))

    @property
    def place(self) -> str:
        """The path before the write, or after it for a new file."""
        return self.before or self.after

    @property
    def paths(self) -> list[str]:
        """All paths that the write touches."""
        return [path for path in dict.fromkeys((self.before, self.after)) if path]

    @property
    def contents(self) -> dict[str, bytes]:
        """The new content by path; b'' for a path without a file."""
        contents = dict.fromkeys(self.paths, b"")
        return contents | {self.after: self.new} if self.after else contents

    @property
    def is_change(self) -> bool:
        """Whether the file differs after the write."""
        return (self.before, self.raw) != (self.after, self.new)


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run: its steps in order, and the contents that they replaced, by SHA-256.

    `cadence` is recorded if undoing it differs from undoing a maintenance run. A
    decision of the user may also have `hidden` units, and have `told` turns; both are
    keys of units.
    """

    run: str
    steps: tuple[FileStep, ...]
    contents: Mapping[str, bytes]
    cadence: str = ""
    hidden: tuple[str, ...] = ()
    told: tuple[str, ...] = ()


# -- planning -------------------------------------------------------------------------


def plan(vault: Vault, changes: Iterable[Change]) -> list[Write]:
    """Return the writes of these changes of notes; nothing is written.

    Raises ConflictError if the bytes of a note are not those that the change was
    planned for or if a person has to repair it, NotFoundError, StorageError.
    """
    return [_planned(vault, change) for change in changes]


def _planned(vault: Vault, change: Change) -> Write:
    if isinstance(change, Create):
        new = frontmatter.emit(change.keys, change.body)
        return Write("", change.path, b"", new, change.why)
    to = change.to if isinstance(change, Move) else change.path
    # after a crash the note may be at its new path, and not changed yet
    arrived = to != change.path and not vault.exists(change.path) and vault.exists(to)
    place = to if arrived else change.path
    raw = vault.read(place)
    if disk.sha256(raw) != change.sha:
        raise _changed(change.path)
    return Write(place, to, raw, patched(raw, change), change.why)


def patched(raw: bytes, change: Edit | Move) -> bytes:
    """Return the bytes of a note with the keys and the body of a change.

    Raises ConflictError if a person has to repair the note.
    """
    try:
        return frontmatter.edit(raw, facts.keys_to_write(change), change.body)
    except ConflictError as fault:
        raise ConflictError(
            fault.what, where=f"{change.path}, {fault.where}", fix=fault.fix
        ) from fault


def _changed(path: str) -> ConflictError:
    return ConflictError(
        "the file changed since this was planned", where=path, fix="Try again."
    )


# -- applying -------------------------------------------------------------------------


@dataclass(slots=True)
class Outcome:
    """The result of `apply`.

    `written` has the present content of each file that changed, b'' for a removed one;
    `uncertain` are paths whose content is unknown after a failure. `failed` has the
    error of each write that was not made, by its place.
    """

    done: list[Write] = field(default_factory=list)
    written: dict[str, bytes] = field(default_factory=dict)
    uncertain: list[str] = field(default_factory=list)
    failed: dict[str, EngramError] = field(default_factory=dict)

    def check(self) -> None:
        """Raise the error of the first failed write."""
        for fault in self.failed.values():
            raise fault


def apply(
    vault: Vault,
    writes: Sequence[Write],
    *,
    every: bool = False,
    pending: set[Path] | None = None,
) -> Outcome:
    """Write files as planned, in order, durably.

    The writes after a failed one are made only with `every`, and then without those of
    its group. With `pending` the caller syncs the folders.
    """
    outcome, lost = Outcome(), frozenset[str]()
    folders: set[Path] = set() if pending is None else pending
    for write in writes:
        if write.key in lost:
            outcome.failed[write.place] = ConflictError(INCOMPLETE, where=write.place)
            continue
        try:
            _apply(vault, write, folders)
        except EngramError as fault:
            _note_failure(vault, write, fault, outcome)
            lost |= write.group
            if not every:
                break
        else:
            outcome.done.append(write)
            outcome.written |= write.contents
    if pending is None:
        try:
            disk.sync(folders)
        except EngramError as fault:
            unsure = dict.fromkeys((write.place for write in outcome.done), fault)
            outcome.failed = unsure | outcome.failed
    return outcome


def write(
    vault: Vault, changes: Iterable[Change], pending: set[Path] | None = None
) -> dict[str, bytes]:
    """Make changes of notes; return the new content by path, b'' for a removed one.

    Raises the errors of `plan`, then nothing was written, and those of `apply`; the
    preceding changes then stay. `pending` is as in `apply`.
    """
    outcome = apply(vault, plan(vault, changes), pending=pending)
    outcome.check()
    return outcome.written


def _apply(vault: Vault, write: Write, pending: set[Path]) -> None:
    """Make one write. At every moment its note is whole and at one path."""
    if not write.before:
        vault.create(write.after, write.new, pending)
    elif not write.after:
        if vault.read(write.before) != write.raw:
            raise _changed(write.before)
        vault.remove(write.before, pending)
    elif write.after == write.before:
        vault.rewrite(write.after, partial(_exchanged, write), pending)
    else:
        vault.move(write.before, write.after, pending, disk.sha256(write.raw))
        if write.new != write.raw:
            _finish_move(vault, write, pending)


def _finish_move(vault: Vault, write: Write, pending: set[Path]) -> None:
    try:
        vault.rewrite(write.after, partial(_exchanged, write), pending)
    except EngramError:
        with suppress(EngramError):
            if vault.read(write.after) != write.new:
                vault.move(write.after, write.before, pending)
        raise


def _exchanged(write: Write, raw: bytes) -> bytes:
    if raw != write.raw:
        raise _changed(write.after)
    return write.new


def _note_failure(
    vault: Vault, write: Write, fault: EngramError, outcome: Outcome
) -> None:
    outcome.failed[write.place] = fault
    standing = settle(vault, [write.step])
    outcome.written |= standing
    # the next scan finds the edit of a person
    if not isinstance(fault, ConflictError) or not write.before:
        outcome.uncertain += [path for path in write.paths if path not in standing]


def settle(vault: Vault, steps: Iterable[FileStep]) -> dict[str, bytes]:
    """Settle the steps of an interrupted run; return the changed paths with content.

    A removed path has b''. A note that was moved and not yet patched is moved back, so
    that each note is either as before or as planned.
    """
    changed: dict[str, bytes] = {}
    for step in steps:
        try:
            raw = vault.read(step.after) if step.after else b""
            moved = bool(step.before) and step.before != step.after
            gone = moved and not vault.exists(step.before)
        except EngramError:
            continue  # an edit of a person, which the next scan finds
        sha = disk.sha256(raw) if step.after else ""
        if gone and step.after and sha == step.was != step.now:
            changed |= _moved_back(vault, step, raw)
            continue
        if gone and (not step.after or sha == step.now):
            changed[step.before] = b""
        if step.after and sha == step.now:
            changed[step.after] = raw
    return changed


def _moved_back(vault: Vault, step: FileStep, raw: bytes) -> dict[str, bytes]:
    """Move a note back to its old path; return the changed paths where that fails."""
    back = Write(step.after, step.before, raw, raw)
    try:
        with disk.DeferredSyncs() as pending:
            _apply(vault, back, pending)
    except EngramError:  # the note stays at its new path
        return {step.before: b"", step.after: raw}
    return {}


# -- undoing --------------------------------------------------------------------------


def plan_undo(vault: Vault, run: RecordedRun) -> tuple[list[Write], dict[str, str]]:
    """Plan the undo of a run from the present files (`X6`).

    Returns the writes, and the files that stay with the reason. A file that is already
    as before the run needs no write.
    """
    writes: list[Write] = []
    stays: dict[str, str] = {}
    for step in reversed(run.steps):
        try:
            path, raw = _present(vault, step)
        except EngramError as fault:
            stays[step.after or step.before] = fault.what
            continue
        original = run.contents.get(step.was, b"") if step.before else b""
        if _has_appended_lines(step, path, raw):
            original += raw[step.size :]
        if why := _refused(vault, step, path, raw):
            stays[path or step.after or step.before] = why
            continue
        write = Write(path, step.before, raw, original, key=_id_in(original or raw))
        if write.is_change:
            writes.append(write)
    return writes, stays


def _id_in(raw: bytes) -> str:
    """Return the id of the memory in a note, or '' for any other file."""
    name = frontmatter.read(raw).keys.get("id")
    return name if isinstance(name, str) else ""


def _present(vault: Vault, step: FileStep) -> tuple[str, bytes]:
    """Return the present path and content of a step's file, ('', b'') if missing.

    After an interrupted run or undo the file is still, or again, at its old path.
    """
    for path in dict.fromkeys((step.after, step.before)):
        if path and vault.exists(path):
            return path, vault.read(path)
    return "", b""


def _refused(vault: Vault, step: FileStep, path: str, raw: bytes) -> str | None:
    """Return why a file is not changed by an undo, or None."""
    sha = disk.sha256(raw) if path else ""
    if (
        path
        and sha not in {step.was, step.now}
        and not _has_appended_lines(step, path, raw)
    ):
        return "it was changed since"
    if not path and step.after:
        return "it is gone"
    if path != step.before and step.before and vault.exists(step.before):
        return "its place is taken"
    return None


def _has_appended_lines(step: FileStep, path: str, raw: bytes) -> bool:
    """Return whether a log only has additional lines at its end."""
    log = (
        path == step.before == step.after
        and path.endswith(".jsonl")
        and len(raw) > step.size
    )
    return log and disk.sha256(raw[: step.size]) == step.now
