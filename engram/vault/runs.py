"""The runs of a vault: the bytes that each replaced, and a line for each (row X6).

A run is a change that engram makes to memories: a maintenance run, the filing of a
statement that ends known facts, a decision of the user, or an undo. The bytes that it
replaces are durable in a file of their own before the first file changes;
`state/runs.jsonl` has a line for each run.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from engram.core import jsonl
from engram.core.decide import JUDGEMENTS_FILE
from engram.core.text import ulid
from engram.errors import ConflictError, NotFoundError, StorageError
from engram.vault import disk
from engram.vault.changes import FileStep, RecordedRun, Write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from engram.vault.store import Vault

RUNS = "state/runs.jsonl"
SUFFIX = ".run"
UNDO = "undo"
"""The first word of the cadence of an undo, before the id of its run."""
FILING = "filing"
"""The cadence of a run that files statements; its undo keeps the new statements."""
DECISION = "review"
"""The cadence of a run that carries out a decision of the user about a case."""
DONE = "finished"


class RunHistory:
    """The runs of one vault, recorded in one file each in `folder`.

    The files together have at most `most` bytes; the oldest are removed first.
    """

    def __init__(self, vault: Vault, folder: Path, most: int) -> None:
        self.vault = vault
        self.folder = folder
        self.most = most
        self._size: int | None = None

    def new_id(self, now: datetime, name: str) -> str:
        """Return an id for a run; two runs at one instant have different ids."""
        number = 0
        while self.is_kept(run := ulid(now, f"{name}\n{number}")):
            number += 1
        return run

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
            what = "no such run is recorded" if name else "there is no change to undo"
            raise NotFoundError(what, where=name, fix="`engram runs` lists the runs.")
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
        writes: Iterable[Write],
        cadence: str = "",
        **units: Sequence[str],
    ) -> None:
        """Record a run durably, before it begins, with the bytes that it replaces.

        `units` are `hidden` and `told` of a decision. Raises ConflictError if a run
        with this id is already recorded.
        """
        steps: list[FileStep] = []
        places: dict[str, tuple[int, int]] = {}
        blob = bytearray()
        for write in writes:
            step = write.step
            if step.after == JUDGEMENTS_FILE:
                continue
            steps.append(step)
            if step.was and step.was not in places:
                places[step.was] = (len(blob), len(write.raw))
                blob += write.raw
        record = {"run": run, "steps": [asdict(step) for step in steps]}
        named = {"cadence": cadence, **units}
        named = {name: value for name, value in named.items() if value}
        head = json.dumps({**record, "contents": places, **named})
        raw = head.encode("utf-8", "surrogatepass") + b"\n" + bytes(blob)
        disk.make_folders(self.folder)
        self._make_room(len(raw))
        disk.write_new(self._path(run), raw)

    def finish(
        self,
        run: str,
        cadence: str,
        times: tuple[datetime, datetime],
        counts: Mapping[str, int],
        failures: Mapping[str, str],
    ) -> None:
        """Append the line about a run that began and ended at `times`.

        A recorded run then counts as finished. Raises EngramError.
        """
        begun, ended = (when.isoformat(timespec="seconds") for when in times)
        row: dict[str, object] = {
            "id": run,
            "at": begun,
            "cadence": cadence,
            "ended": ended,
            "counts": dict(counts),
        }
        if failures:
            row["failures"] = dict(failures)
        try:
            self.vault.append(RUNS, jsonl.encode([row]))
        finally:
            if self.is_kept(run):
                self._mark_finished(run)

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

    def _mark_finished(self, run: str) -> None:
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


class UserDecision:
    """A decision of the user, with what it wrote, for its undo (`X6`).

    It writes in several steps and is recorded after the last one. An interrupted
    decision is carried out again, and recorded then. `hidden` are the units that it
    hides, `told` the turns that it files; `run` is its id after the end, '' if it
    changed nothing.
    """

    def __init__(self, history: RunHistory, name: str) -> None:
        self._history = history
        self._name = name
        self._writes: list[Write] = []
        self.hidden: list[str] = []
        self.told: list[str] = []
        self.run = ""

    def add(self, writes: Iterable[Write]) -> None:
        """Add writes that were made; two of the same file count as one."""
        for write in writes:
            joined = write
            for place, earlier in enumerate(self._writes):
                if earlier.after and earlier.after == write.before:
                    joined = replace(write, before=earlier.before, raw=earlier.raw)
                    del self._writes[place]
                    break
            self._writes.append(joined)

    def finish(self, now: datetime) -> None:
        """Record the decision as a run, unless it changed nothing."""
        if not (self._writes or self.hidden or self.told):
            return
        history = self._history
        run = history.new_id(now, DECISION)
        units = {"hidden": self.hidden, "told": self.told}
        history.record(run, self._writes, DECISION, **units)
        history.finish(run, DECISION, (now, now), {self._name: 1}, {})
        self.run = run
