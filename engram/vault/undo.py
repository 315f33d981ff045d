"""Undo history: the steps of maintenance runs, stored outside the vault.

(Rows X6, X8.) Before a run changes anything, its steps and the bytes that it will
replace are recorded here, each content once. The file of a run is durable and whole, or
missing. Undoing a run compares with the disk: a file that is as the run left it is
restored byte for byte, a file that was changed since stays and is reported.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from engram.core.decide import JUDGEMENTS_FILE
from engram.errors import ConflictError, EngramError, NotFoundError, StorageError
from engram.vault import disk, frontmatter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from engram.vault.store import Vault

SUFFIX = ".run"
UNDO = "undo"
"""The first word of the cadence of an undo, before the id of its run."""
DONE = "finished"
PURGED = "it was removed from the trash, which is final"


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


class UndoHistory:
    """The recorded runs, one file each in `folder`.

    Together they have at most `most` bytes; the oldest are removed first.
    """

    def __init__(self, folder: Path, most: int) -> None:
        self.folder = folder
        self.most = most
        self._size: int | None = None

    def runs(self) -> list[str]:
        """Return the ids of the recorded runs, oldest first."""
        if not self.folder.is_dir():
            return []
        return sorted(
            path.stem for path in self.folder.iterdir() if path.suffix == SUFFIX
        )

    def find(self, name: str) -> str:
        """Return the id of the run with this id or unique prefix.

        Raises NotFoundError, and ConflictError if several runs match.
        """
        found = [run for run in self.runs() if name and run.startswith(name.upper())]
        if not found:
            raise NotFoundError(
                "no such run is recorded", where=name, fix="`engram runs` lists them."
            )
        if len(found) > 1:
            raise ConflictError(
                "several runs begin with this id",
                where=name,
                fix=f"Give more: {', '.join(found)}.",
            )
        return found[0]

    def record(
        self,
        run: str,
        steps: Iterable[FileStep],
        contents: Mapping[str, bytes],
        cadence: str = "",
        **units: Sequence[str],
    ) -> None:
        """Record a run durably, before it begins; `contents` by SHA-256.

        `units` are `hidden` and `told` of a decision. Raises ConflictError if a run
        with this id is already recorded.
        """
        steps = [step for step in steps if step.after != JUDGEMENTS_FILE]
        places, blob = {}, bytearray()
        for sha in sorted({step.was for step in steps if step.was}):
            places[sha] = (len(blob), len(contents[sha]))
            blob += contents[sha]
        record = {"run": run, "steps": [asdict(step) for step in steps]}
        named = {"cadence": cadence, **units}
        named = {name: value for name, value in named.items() if value}
        head = json.dumps({**record, "contents": places, **named})
        raw = head.encode("utf-8", "surrogatepass") + b"\n" + bytes(blob)
        disk.make_folders(self.folder)
        self._make_room(len(raw))
        disk.write_new(self._path(run), raw)

    def is_kept(self, run: str) -> bool:
        """Return whether a run of this id is recorded."""
        return self._path(run).exists()

    def load(self, run: str) -> RecordedRun:
        """Return a recorded run.

        Raises NotFoundError, or StorageError for a damaged file.
        """
        head, _, blob = disk.read(self._path(run)).partition(b"\n")
        try:
            record = json.loads(head)
            steps = tuple(FileStep(**step) for step in record["steps"])
            contents = {
                sha: blob[start : start + size]
                for sha, (start, size) in record["contents"].items()
            }
        except (ValueError, TypeError, KeyError) as fault:
            raise self._damaged(run) from fault
        if any(disk.sha256(content) != sha for sha, content in contents.items()):
            raise self._damaged(run)
        cadence, units = str(record.get("cadence", "")), ("hidden", "told")
        return RecordedRun(
            run,
            steps,
            contents,
            cadence,
            *(tuple(record.get(name, ())) for name in units),
        )

    def first_undoable(self, runs: Iterable[str]) -> str:
        """Return the first of these runs that is no undo and was not undone, or ''.

        The latest run comes first.
        """
        undone = set[str]()
        for run in filter(self.is_kept, runs):
            word, _, name = self.load(run).cadence.partition(" ")
            if word == UNDO:
                undone.add(name)
            elif run not in undone:
                return run
        return ""

    def remove_where(self, run: str, selects: Callable[[bytes], bool]) -> None:
        """Remove a recorded run for good if `selects` accepts its bytes."""
        if selects(disk.read(self._path(run))):
            disk.remove(self._path(run))
            self._size = None

    def mark_finished(self, run: str) -> None:
        """Record that every step of the run was applied or refused.

        Of simultaneous runs the one with the largest id counts as the latest.
        """
        disk.write_derived(self.folder / DONE, max(run, self._finished()).encode())

    def unfinished(self) -> str:
        """Return the id of the latest run if it did not finish, else ''."""
        latest = (self.runs() or [""])[-1]
        return "" if latest == self._finished() else latest

    def _finished(self) -> str:
        try:
            return disk.read(self.folder / DONE).decode(errors="replace")
        except NotFoundError:
            return ""

    def _make_room(self, size: int) -> None:
        """Remove the oldest runs until `size` more bytes fit.

        The files are read only if the known size shows that they may not fit, because
        an import makes thousands of runs.
        """
        if self._size is not None and self._size + size <= self.most:
            self._size += size
            return
        sizes = {run: self._path(run).stat().st_size for run in self.runs()}
        for run in sorted(sizes):
            if sum(sizes.values()) + size <= self.most:
                break
            disk.remove(self._path(run))
            del sizes[run]
        self._size = sum(sizes.values()) + size

    def _path(self, run: str) -> Path:
        return self.folder / f"{run}{SUFFIX}"

    def _damaged(self, run: str) -> StorageError:
        return StorageError(
            "the replaced contents cannot be read",
            where=str(self._path(run)),
            fix="Restore the file from a backup.",
        )


def recorded_size(step: FileStep, raw: bytes) -> int:
    """Return the approximate bytes of a recorded step that replaces `raw`."""
    return (
        0
        if step.after == JUDGEMENTS_FILE
        else len(raw) + len(step.before) + len(step.after) + 256
    )


# -- applying -------------------------------------------------------------------------


def apply_step(
    vault: Vault, step: FileStep, content: bytes, pending: set[Path] | None = None
) -> dict[str, bytes]:
    """Apply one step, which writes `content`; return the new content by path.

    A removed path has b''. With `pending` the caller syncs the folders. Raises
    ConflictError if the file is not as planned or the path is taken.
    """
    for path in filter(None, (step.before, step.after)):
        vault.before_write(path)
    if not step.before:
        vault.create(step.after, content, pending)
        return {step.after: content}
    if not step.after:
        _remove(vault, step, pending)
        return {step.before: b""}
    if step.after != step.before:
        vault.move(step.before, step.after, pending, step.was)
    if step.now != step.was:
        vault.rewrite(
            step.after,
            lambda raw: (
                content if disk.sha256(raw) == step.was else _refuse(step.after)
            ),
            pending,
        )
    return ({step.before: b""} if step.after != step.before else {}) | {
        step.after: content
    }


def _remove(vault: Vault, step: FileStep, pending: set[Path] | None) -> None:
    """Remove a file that is as planned; the recorded run contains its bytes."""
    if disk.sha256(vault.read(step.before)) != step.was:
        _refuse(step.before)
    disk.remove(disk.safe_join(vault.root, step.before), pending)


def _refuse(path: str) -> bytes:
    raise ConflictError(
        "the file changed since this was planned", where=path, fix="Try again."
    )


# -- undoing --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """The plan of an undo: steps with the new contents, and the files that stay.

    `stays` maps paths to reasons, `replaced` maps hashes to the replaced bytes.
    """

    steps: tuple[tuple[FileStep, bytes], ...]
    stays: Mapping[str, str]
    replaced: Mapping[str, bytes]


def plan_undo(vault: Vault, run: RecordedRun) -> UndoPlan:
    """Plan the undo of a run from the present files (`X6`).

    A file that is already as before the run needs no step.
    """
    steps: list[tuple[FileStep, bytes]] = []
    stays: dict[str, str] = {}
    replaced: dict[str, bytes] = {}
    for step in reversed(run.steps):
        # commits, and runs of older versions, contain this file
        if step.after == JUDGEMENTS_FILE:
            continue
        try:
            path, raw = _present(vault, step)
        except EngramError as fault:
            stays[step.after or step.before] = fault.what
            continue
        original = run.contents.get(step.was, b"") if step.before else b""
        if _has_appended_lines(step, path, raw):
            original += raw[step.size :]
        if why := _purge_refusal(vault, run, step, path) or _refused(
            vault, step, path, raw
        ):
            stays[path or step.after or step.before] = why
        elif (path, raw) != (step.before, original):
            reverse = _reverse(step, path, raw, original)
            steps.append((reverse, original))
            if reverse.was:
                replaced[reverse.was] = raw
    return UndoPlan(tuple(steps), stays, replaced)


def _reverse(step: FileStep, path: str, raw: bytes, original: bytes) -> FileStep:
    """Return the step from the present file to its content before the run, `original`.

    The file has the content `raw` at the path `path`.
    """
    was = disk.sha256(raw) if path else ""
    if not step.before:
        return FileStep(path, "", was, "", 0)
    return FileStep(path, step.before, was, disk.sha256(original), len(original))


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


def _purge_refusal(
    vault: Vault, run: RecordedRun, step: FileStep, path: str
) -> str | None:
    """Return PURGED if the note of a step was purged after the run, else None.

    A purge is final (`C16`). The action log decides, since a commit cannot show it: git
    ignores the trash.
    """
    if path or not step.before:
        return None
    name = frontmatter.read(run.contents.get(step.was, b"")).keys.get("id")
    rows = vault.actions_of(name) if isinstance(name, str) else []
    of_run = (number for number, row in enumerate(rows) if row.get("run") == run.run)
    later = rows[max(of_run, default=-1) + 1 :]
    purged = any(row.get("action") == "purge" for row in later)
    return PURGED if purged else None


def _has_appended_lines(step: FileStep, path: str, raw: bytes) -> bool:
    """Return whether a log only has additional lines at its end."""
    log = (
        path == step.before == step.after
        and path.endswith(".jsonl")
        and len(raw) > step.size
    )
    return log and disk.sha256(raw[: step.size]) == step.now


def settle_steps(vault: Vault, steps: Iterable[FileStep]) -> dict[str, bytes]:
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
    try:
        apply_step(vault, FileStep(step.after, step.before, step.was, step.was), raw)
    except EngramError:  # the note stays at its new path
        return {step.before: b"", step.after: raw}
    return {}
