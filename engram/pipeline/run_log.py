"""The runs of a vault: the bytes that each replaced, and a line for each (row X6).

A run is a change that engram makes to memories: a maintenance run, the filing of a
statement that ends known facts, or a decision of the user. `UndoHistory` keeps the
replaced bytes; `state/runs.jsonl` has a line for each run.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from engram.core import jsonl
from engram.core.records import Create, Edit, Move
from engram.core.text import ulid
from engram.errors import ConflictError, NotFoundError
from engram.vault import disk, facts, frontmatter
from engram.vault.undo import FileStep, UndoHistory

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from engram.config import Settings
    from engram.core.records import Change
    from engram.pipeline.plan import WritePlan
    from engram.vault.store import Vault

RUNS = "state/runs.jsonl"
FILING = "filing"
"""The cadence of a run that files statements; its undo keeps the new statements."""

DECISION = "review"
"""The cadence of a run that carries out a decision of the user about a case."""

ENDED = ("superseded", "invalidated")
_END_KEYS = frozenset({"superseded_by", "end_reason", "valid_until"})


class RunLog:
    """The record of the runs of one vault. For the writer thread."""

    def __init__(self, vault: Vault, settings: Settings) -> None:
        self.vault = vault
        self.settings = settings
        most = settings.policy.consolidation.history_bytes
        self.history = UndoHistory(settings.state / "history", most)

    def new_id(self, now: datetime, name: str) -> str:
        """Return an id for a run; two runs at one instant have different ids."""
        number = 0
        while self.history.is_kept(run := ulid(now, f"{name}\n{number}")):
            number += 1
        return run

    def append(
        self,
        run: str,
        cadence: str,
        begun: datetime,
        ended: datetime,
        counts: Mapping[str, int],
        failures: Mapping[str, str],
    ) -> None:
        """Append the line about a run. Raises EngramError."""
        row: dict[str, object] = {
            "id": run,
            "at": begun.isoformat(timespec="seconds"),
            "cadence": cadence,
            "ended": ended.isoformat(timespec="seconds"),
            "counts": dict(counts),
        }
        if failures:
            row["failures"] = dict(failures)
        self.vault.append(RUNS, jsonl.encode([row]))

    # -- filing ------------------------------------------------------------------------

    def begin_filing(self, plan: WritePlan) -> str:
        """Record the old bytes of the notes that the plan ends or weakens.

        Returns the id of the run; '' if there are none, or if a note has changed since
        it was planned, so that its write will be refused. Raises EngramError.
        """
        steps: list[FileStep] = []
        contents: dict[str, bytes] = {}
        for edit in plan.updates:
            if not isinstance(edit, Edit) or edit.path not in plan.contradicted:
                continue
            raw = self.vault.read(edit.path)
            if disk.sha256(raw) != edit.sha:
                return ""
            new = frontmatter.edit(raw, facts.keys_to_write(edit), edit.body)
            steps.append(_step(edit.path, raw, new))
            contents[edit.sha] = raw
        for note in plan.notes:
            raw = _as_before(note, plan.contradicted)
            if raw and isinstance(note, Create):
                new = frontmatter.emit(note.keys, note.body)
                steps.append(_step(note.path, raw, new))
                contents[disk.sha256(raw)] = raw
        if not steps:
            return ""
        run = self.new_id(plan.now, FILING)
        self.history.record(run, steps, contents, FILING)
        return run

    def finish_filing(self, run: str, plan: WritePlan, failure: str) -> None:
        """Append the line of a filing run. Raises EngramError."""
        counts = Counter(plan.contradictions)
        failures = {FILING: failure} if failure else {}
        self.append(run, FILING, plan.now, plan.now, counts, failures)
        self.history.mark_finished(run)


class UserDecision:
    """A decision of the user, with the bytes that it replaces, for its undo (`X6`).

    It writes in several steps; `add` is called before each of them, `finish` after the
    last. An interrupted decision is carried out again, and recorded then. `hidden` are
    the units that it hides, `told` the turns that it files; `run` is its id after the
    end, '' if it changed nothing.
    """

    def __init__(self, run_log: RunLog, name: str) -> None:
        self._run_log = run_log
        self._name = name
        self._steps: list[FileStep] = []
        self._contents: dict[str, bytes] = {}
        self.hidden: list[str] = []
        self.told: list[str] = []
        self.run = ""

    def add(self, changes: Iterable[Change]) -> None:
        """Record the bytes that these changes replace; a refused write records none."""
        with suppress(ConflictError, NotFoundError):
            self._add(changes)

    def _add(self, changes: Iterable[Change]) -> None:
        for change in changes:
            if isinstance(change, Create):
                new = frontmatter.emit(change.keys, change.body)
                sha = disk.sha256(new)
                self._take(FileStep("", change.path, "", sha, len(new)))
                continue
            raw = self._run_log.vault.read(change.path)
            keys = facts.keys_to_write(change)
            new = frontmatter.edit(raw, keys, change.body)
            to = change.to if isinstance(change, Move) else change.path
            was = disk.sha256(raw)
            step = FileStep(change.path, to, was, disk.sha256(new), len(new))
            self._take(step)
            self._contents[was] = raw

    def _take(self, step: FileStep) -> None:
        """Join a step with an earlier one on the same file, unless that was refused."""
        for place, old in enumerate(self._steps):
            if old.after and old.after == step.before:
                if old.now == step.was:
                    step = replace(step, before=old.before, was=old.was)
                self._steps[place] = step
                return
        self._steps.append(step)

    def finish(self, now: datetime) -> None:
        """Record the decision as a run, unless it changed nothing."""
        if not (self._steps or self.hidden or self.told):
            return
        log = self._run_log
        run = log.new_id(now, DECISION)
        units = {"hidden": self.hidden, "told": self.told}
        log.history.record(run, self._steps, self._contents, DECISION, **units)
        log.append(run, DECISION, now, now, {self._name: 1}, {})
        log.history.mark_finished(run)
        self.run = run


def _step(path: str, raw: bytes, new: bytes) -> FileStep:
    return FileStep(path, path, disk.sha256(raw), disk.sha256(new), len(new))


def _as_before(note: Change, contradicted: Mapping[str, str]) -> bytes:
    """Return the bytes that a new note would have if it replaced no fact.

    `contradicted` has the ids of the facts that the plan ends, by path. Returns b'' for
    a note without any relation to them.
    """
    if not isinstance(note, Create):
        return b""
    keys = dict(note.keys)
    named = keys.pop("supersedes", None)
    if isinstance(named, list):
        remaining = [name for name in named if name not in contradicted.values()]
        keys |= {"supersedes": remaining} if remaining else {}
    if note.path in contradicted and keys.get("status") in ENDED:
        keys = {name: value for name, value in keys.items() if name not in _END_KEYS}
        keys["status"] = "active"
    return frontmatter.emit(keys, note.body) if keys != note.keys else b""
