"""Imports as runs: the turns that each import stored, and its undo (rows X6, X28).

An import has a log in the state folder: a head, the turns that it stored first, and its
undo, if any. The log grows during the import, so an interrupted import is listed and
can be undone too; importing the same file again continues it. A turn whose import was
undone is hidden like a withdrawn turn, and importing it again makes it visible.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engram.core.records import REMEMBERED, FiledTurn
from engram.core.text import ulid
from engram.errors import BadRequestError, ConflictError, NotFoundError
from engram.vault import disk, sessions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from engram.pipeline.turn_edits import TurnEdits

IMPORT = "import"
"""The cadence of an import among the runs."""
UNDONE = "the import was taken back"
AGAIN = "it was imported again"
FOLDER = "imports"
_SUFFIX = ".jsonl"

Identity = tuple[str, str]
"""The session and the id of a turn."""


@dataclass(frozen=True, slots=True)
class ImportLog:
    """The log of an import; `undone` is the run of its undo, or ''."""

    run: str
    at: str
    file: str
    source: str
    turns: tuple[Identity, ...] = ()
    undone: str = ""
    undone_at: str = ""

    @property
    def counts(self) -> dict[str, int]:
        """The number of turns and of memories that were stored."""
        counts = Counter(
            "memories" if session == REMEMBERED else "turns"
            for session, _ in self.turns
        )
        return dict(counts)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the import as a row among the runs, and its undo."""
        if not self.turns:
            return
        row = {"id": self.run, "at": self.at, "cadence": IMPORT, "file": self.file}
        yield row | {"counts": self.counts, "can_be_undone": not self.undone}
        if self.undone:
            row = {"id": self.undone, "at": self.undone_at, "cadence": "undo"}
            counts = {"withdraw": len(self.turns)}
            yield row | {"counts": counts, "can_be_undone": True}


@dataclass(frozen=True, slots=True)
class ImportUndo:
    """The units that an undo hides: turns by session file, and memories by id.

    `turns` are numbers of turns by path, `memories` paths of notes by id.
    """

    run: str
    turns: dict[str, int]
    memories: dict[str, str]


class ImportRuns:
    """The imports of a vault. `begin` and `note` may be called from any thread."""

    def __init__(self, turn_edits: TurnEdits) -> None:
        self.turn_edits = turn_edits
        self.note_writer = turn_edits.note_writer
        self.index = turn_edits.index
        self.folder = self.note_writer.settings.state / FOLDER
        self._lock = threading.Lock()
        self._undone: frozenset[Identity] | None = None

    # -- storing -----------------------------------------------------------------------

    def begin(self, file: str, source: str, now: datetime) -> str:
        """Return the run of an import; the same `source` continues its last run.

        `file` is the name of the file, `source` a hash of its content. After an undo a
        new run begins.
        """
        with self._lock:
            known = [log for log in self.logs() if log.source == source]
            if known and not known[-1].undone:
                return known[-1].run
            run = ulid(now, f"{IMPORT}\n{source}\n{len(known)}")
            head = {"run": run, "at": now.isoformat(timespec="seconds")}
            disk.make_folders(self.folder)
            self._append(run, {**head, "file": file, "source": source})
            return run

    def note(self, run: str, turns: Sequence[Identity]) -> None:
        """Record turns that an import is about to store.

        Raises BadRequestError for an unknown run.
        """
        with self._lock:
            if not (self.folder.is_dir() and self._path(run).exists()):
                raise BadRequestError(
                    f"there is no import {run!r}",
                    fix="Begin one, and give the id of its run.",
                )
            if turns:
                self._append(run, {"turns": turns})

    def hidden(self, turns: Iterable[Identity]) -> list[Identity]:
        """Return those of these turns that are hidden by the undo of an import."""
        if self._undone is None:
            undone = (log.turns for log in self.logs() if log.undone)
            self._undone = frozenset(itertools.chain.from_iterable(undone))
        return [
            name
            for name in turns
            if name in self._undone
            and any(map(self.turn_edits.is_withdrawn, self.index.versions(*name)))
        ]

    def show_again(self, turns: Iterable[Identity], now: datetime) -> None:
        """Make turns visible that are imported again. For the writer thread."""
        self.turn_edits.restore_turns(
            self._filed(turns, hidden=True), UNDONE, now, AGAIN
        )

    def _filed(self, names: Iterable[Identity], *, hidden: bool) -> list[FiledTurn]:
        return [
            turn
            for name in dict.fromkeys(names)
            for turn in self.index.versions(*name)
            if self.turn_edits.is_withdrawn(turn) == hidden
        ]

    # -- listing and undo --------------------------------------------------------------

    def logs(self) -> list[ImportLog]:
        """Return the imports, the oldest first."""
        if not self.folder.is_dir():
            return []
        names = sorted(path for path in self.folder.iterdir() if path.suffix == _SUFFIX)
        return [log for log in map(_read, names) if log]

    def find(self, name: str) -> tuple[ImportLog, bool] | None:
        """Return an import by the id of its run or of its undo, or None.

        The second value is True if the id is that of the undo. `name` is an id or its
        beginning. Raises ConflictError if several runs begin with it.
        """
        logs = self.logs()
        found = [(log, False) for log in logs if _begins(log.run, name)]
        found += [(log, True) for log in logs if _begins(log.undone, name)]
        if len(found) > 1:
            raise ConflictError(
                "several runs begin with this id",
                where=name,
                fix="Give more letters of the id.",
            )
        return found[0] if found else None

    def undo(self, log: ImportLog, now: datetime, *, dry_run: bool) -> ImportUndo:
        """Hide the turns that an import stored, and memories that only they support.

        Raises ConflictError if the import was undone before.
        """
        if log.undone:
            raise ConflictError(
                "this import was undone already",
                where=log.run,
                fix=f"`engram undo {log.undone}` restores its turns.",
            )
        turns = self._filed(log.turns, hidden=False)
        run = ulid(now, f"undo\n{log.run}")
        facts = self.turn_edits.supported_only_by(turns)
        if not dry_run:
            mark = {"undone": run, "at": now.isoformat(timespec="seconds")}
            with self._lock:
                self._append(log.run, mark)
            self.turn_edits.withdraw(turns, now, UNDONE, name=log.run)
        files = Counter(sessions.path(turn.note) for turn in turns)
        return ImportUndo(
            run, dict(files), {key: one.path for key, one in facts.items()}
        )

    def redo(self, log: ImportLog, now: datetime, *, dry_run: bool) -> ImportUndo:
        """Show the units again that the undo of an import hid; its run is the import."""
        turns = self._filed(log.turns, hidden=True)
        facts = self.turn_edits.hidden_with(turns, UNDONE)
        if not dry_run:
            self.turn_edits.restore_turns(turns, UNDONE, now, "the undo was undone")
            with self._lock:
                self._append(log.run, {"undone": "", "at": now.isoformat()})
        files = Counter(sessions.path(turn.note) for turn in turns)
        paths = {fact.id: fact.path for fact in facts}
        return ImportUndo(log.run, dict(files), paths)

    def _append(self, run: str, row: dict[str, Any]) -> None:
        if "undone" in row:
            self._undone = None
        line = json.dumps(row, ensure_ascii=False)
        disk.append(self._path(run), f"{line}\n".encode("utf-8", "surrogatepass"))

    def _path(self, run: str) -> Path:
        return disk.safe_join(self.folder, f"{run}{_SUFFIX}")


def _begins(run: str, name: str) -> bool:
    return bool(run and name) and run.startswith(name.upper())


def _read(path: Path) -> ImportLog | None:
    """Return an import from its log, without incomplete lines; None if there is none."""
    head: dict[str, Any] = {}
    turns: list[Identity] = []
    undone = {"undone": "", "at": ""}
    try:
        lines = disk.read(path).decode("utf-8", "surrogatepass").splitlines()
    except NotFoundError:
        return None
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if "turns" in row:
            turns += [(session, name) for session, name in row["turns"]]
        elif "undone" in row:
            undone = row
        else:
            head = row
    if not head:
        return None
    return ImportLog(
        head["run"],
        head["at"],
        head["file"],
        head["source"],
        tuple(turns),
        undone["undone"],
        undone["at"] if undone["undone"] else "",
    )
