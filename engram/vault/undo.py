"""What runs did to the files, kept outside the vault, so that it can be taken back
(rows X6, X8).

Before a run changes anything, the bytes it will replace are written down here, each
content once, with the list of what it will do; the file of a run is durable and whole,
or not there. Taking a run back looks at the disk: what stands as the run left it is put
back byte for byte, what a person changed since stays and is named.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from engram.core.dedup import COMPARED
from engram.errors import ConflictError, EngramError, NotFoundError, StorageError
from engram.vault import disk, frontmatter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from engram.vault.store import Vault

SUFFIX = ".run"
DONE = "finished"
PURGED = "it was removed from the trash, which is final"


@dataclass(frozen=True, slots=True)
class FileStep:
    """What is done to one file: where it stands before and after, '' for nowhere; the
    SHA-256 of what it holds.

    `size` is how many bytes it holds afterwards: more than that was added since.
    """

    before: str
    after: str
    was: str = ""
    now: str = ""
    size: int = 0


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """One run: its steps in order, and the contents that it replaced, by SHA-256."""

    run: str
    steps: tuple[FileStep, ...]
    contents: Mapping[str, bytes]


class UndoHistory:
    """The kept runs, each in a file of `folder`; together at most `most` bytes, the
    oldest go first.
    """

    def __init__(self, folder: Path, most: int) -> None:
        self.folder = folder
        self.most = most

    def runs(self) -> list[str]:
        """The ids of the kept runs, oldest first."""
        if not self.folder.is_dir():
            return []
        return sorted(
            path.stem for path in self.folder.iterdir() if path.suffix == SUFFIX
        )

    def find(self, name: str) -> str:
        """The run of this id, or the only one that begins so; NotFoundError,
        ConflictError.
        """
        found = [run for run in self.runs() if name and run.startswith(name.upper())]
        if not found:
            raise NotFoundError(
                "no such run is kept", where=name, fix="`engram runs` lists them."
            )
        if len(found) > 1:
            raise ConflictError(
                "several runs begin like this",
                where=name,
                fix=f"Give more: {', '.join(found)}.",
            )
        return found[0]

    def record(
        self, run: str, steps: Iterable[FileStep], contents: Mapping[str, bytes]
    ) -> None:
        """Write down a run, durably, before it begins; ConflictError where one of this
        id is kept already.
        """
        steps = [step for step in steps if step.after != COMPARED]
        places, blob = {}, bytearray()
        for sha in sorted({step.was for step in steps if step.was}):
            places[sha] = (len(blob), len(contents[sha]))
            blob += contents[sha]
        head = json.dumps(
            {"run": run, "steps": [asdict(step) for step in steps], "contents": places}
        )
        raw = head.encode("utf-8", "surrogatepass") + b"\n" + bytes(blob)
        disk.make_folders(self.folder)
        self._make_room(len(raw))
        disk.write_new(self._path(run), raw)

    def load(self, run: str) -> RecordedRun:
        """A kept run; NotFoundError, or StorageError where its file is damaged."""
        head, _, blob = disk.read(self._path(run)).partition(b"\n")
        try:
            told = json.loads(head)
            steps = tuple(FileStep(**step) for step in told["steps"])
            contents = {
                sha: blob[start : start + size]
                for sha, (start, size) in told["contents"].items()
            }
        except (ValueError, TypeError, KeyError) as fault:
            raise self._damaged(run) from fault
        if any(disk.sha256(content) != sha for sha, content in contents.items()):
            raise self._damaged(run)
        return RecordedRun(run, steps, contents)

    def mark_finished(self, run: str) -> None:
        """All that the run planned is done, or was refused."""
        disk.write_derived(self.folder / DONE, run.encode())

    def unfinished(self) -> str:
        """The latest run, if it was cut short; else ''."""
        latest = (self.runs() or [""])[-1]
        try:
            done = disk.read(self.folder / DONE).decode(errors="replace")
        except NotFoundError:
            done = ""
        return "" if latest == done else latest

    def _make_room(self, size: int) -> None:
        """Drop the oldest runs until `size` more bytes fit."""
        sizes = {run: self._path(run).stat().st_size for run in self.runs()}
        for run in sorted(sizes):
            if sum(sizes.values()) + size <= self.most:
                return
            disk.remove(self._path(run))
            del sizes[run]

    def _path(self, run: str) -> Path:
        return self.folder / f"{run}{SUFFIX}"

    def _damaged(self, run: str) -> StorageError:
        return StorageError(
            "what the run replaced cannot be read",
            where=str(self._path(run)),
            fix="Look in a backup.",
        )


def recorded_size(step: FileStep, raw: bytes) -> int:
    """About how many bytes it takes to keep a step that replaces `raw`."""
    return (
        0
        if step.after == COMPARED
        else len(raw) + len(step.before) + len(step.after) + 256
    )


# -- carrying out ----------------------------------------------------------------------


def apply_step(
    vault: Vault, step: FileStep, content: bytes, pending: set[Path] | None = None
) -> dict[str, bytes]:
    """Do one step: `content` is what the file is to hold; what each path holds
    afterwards, b'' for nothing.

    With `pending` its folders are the caller's to make durable. Raises ConflictError
    where the file is not as planned, or the place is taken.
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
    """Take a file away that is as planned; nobody's words are lost, for the run keeps
    them.
    """
    if disk.sha256(vault.read(step.before)) != step.was:
        _refuse(step.before)
    disk.remove(disk.safe_join(vault.root, step.before), pending)


def _refuse(path: str) -> bytes:
    raise ConflictError(
        "the file changed since this was planned", where=path, fix="Try again."
    )


# -- taking back -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """How to take a run back: the steps with what each file is to hold, and what stays
    as it is and why, by path.
    """

    steps: tuple[tuple[FileStep, bytes], ...]
    stays: Mapping[str, str]
    replaced: Mapping[str, bytes]


def plan_undo(vault: Vault, kept: RecordedRun) -> UndoPlan:
    """The way back from where the files stand now; nothing for what stands as before
    the run already (`X6`).
    """
    steps: list[tuple[FileStep, bytes]] = []
    stays: dict[str, str] = {}
    replaced: dict[str, bytes] = {}
    for step in reversed(kept.steps):
        # a commit has it, and so has what older versions kept
        if step.after == COMPARED:
            continue
        try:
            here, raw = _stands(vault, step)
        except EngramError as fault:
            stays[step.after or step.before] = fault.what
            continue
        wanted = kept.contents.get(step.was, b"") if step.before else b""
        wanted += raw[step.size :] if _grew(step, here, raw) else b""
        reverse = FileStep(
            here,
            step.before,
            disk.sha256(raw) if here else "",
            disk.sha256(wanted),
            len(wanted),
        )
        if not step.before:
            reverse = replace(reverse, now="", size=0)
        if why := _purged(vault, kept, step, here) or _refused(vault, step, here, raw):
            stays[here or step.after or step.before] = why
        elif (here, raw) != (step.before, wanted):
            steps.append((reverse, wanted))
            replaced |= {reverse.was: raw} if reverse.was else {}
    return UndoPlan(tuple(steps), stays, replaced)


def _stands(vault: Vault, step: FileStep) -> tuple[str, bytes]:
    """Where the file of a step is now, and what it holds; ('', b'') where it is
    nowhere.

    A run or its undoing may have been cut short: then it is still, or again, where it
    was.
    """
    for path in dict.fromkeys((step.after, step.before)):
        if path and vault.exists(path):
            return path, vault.read(path)
    return "", b""


def _refused(vault: Vault, step: FileStep, here: str, raw: bytes) -> str | None:
    """Why a file stays as it is, or None."""
    sha = disk.sha256(raw) if here else ""
    if here and sha not in {step.was, step.now} and not _grew(step, here, raw):
        return "it was changed since"
    if not here and step.after:
        return "it is gone"
    if here != step.before and step.before and vault.exists(step.before):
        return "its place is taken"
    return None


def _purged(vault: Vault, kept: RecordedRun, step: FileStep, here: str) -> str | None:
    """That the note of a step was purged after the run, or None: a purge is final
    (`C16`).

    A commit of the run knows only that the note left its place, for git does not see
    the trash.
    """
    if here or not step.before:
        return None
    name = frontmatter.read(kept.contents.get(step.was, b"")).keys.get("id")
    rows = vault.actions_of(name) if isinstance(name, str) else []
    last = max(
        (number for number, row in enumerate(rows) if row.get("run") == kept.run),
        default=-1,
    )
    return (
        PURGED
        if any(row.get("action") == "purge" for row in rows[last + 1 :])
        else None
    )


def _grew(step: FileStep, here: str, raw: bytes) -> bool:
    """Whether lines were added to a log since, and nothing else happened to it."""
    log = (
        here == step.before == step.after
        and here.endswith(".jsonl")
        and len(raw) > step.size
    )
    return log and disk.sha256(raw[: step.size]) == step.now


def settle_steps(vault: Vault, steps: Iterable[FileStep]) -> dict[str, bytes]:
    """After a run that was cut short: what paths hold, b'' for nothing, as far as that
    is the run's doing.

    A note that was moved and not yet patched goes back, so that each is either as
    before or as planned.
    """
    held: dict[str, bytes] = {}
    for step in steps:
        try:
            raw = vault.read(step.after) if step.after else b""
            gone = (
                bool(step.before)
                and step.before != step.after
                and not vault.exists(step.before)
            )
            if gone and step.after and disk.sha256(raw) == step.was != step.now:
                try:
                    apply_step(
                        vault,
                        FileStep(step.after, step.before, step.was, step.was),
                        raw,
                    )
                except EngramError:  # it stays where it is, and must be found there
                    held |= {step.before: b"", step.after: raw}
                continue
        except EngramError:
            continue  # a person's doing, which the next scan tells
        if gone and (not step.after or disk.sha256(raw) == step.now):
            held[step.before] = b""
        if step.after and disk.sha256(raw) == step.now:
            held[step.after] = raw
    return held
