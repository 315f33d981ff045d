"""Result types of operations on the whole vault: runs, checks, counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime  # noqa: TC003  # `typed` reads the annotations
from typing import Any

from engram.operations.memory_results import (
    SimilarText,  # noqa: TC001  # `typed` reads the annotations
)


@dataclass(frozen=True, slots=True)
class RunAction:
    """An action of a run on a memory or a file, with its reason.

    `name` is the pass, `memory` an id ('' for other files), `path` the file before it
    ('' for a new one) and `to` the file after it.
    """

    name: str
    memory: str
    path: str
    to: str
    why: str


@dataclass(frozen=True, slots=True)
class RunReport:
    """The result of a run, or with `dry_run` of its plan; its actions are `deeds`.

    `run` is its id for `undo`, '' if it wrote nothing. `put_off`, `failures`, `held`
    and `frozen` have the reasons for changes that were not made. `left` counts memories
    that belong to a user, and `unasked` questions without an answer; `model` is the
    reason why no model answered. `kept` and `merged` are the statements or names of
    `merge`.
    """

    run: str
    cadence: str
    started: datetime
    ended: datetime
    deeds: list[RunAction]
    put_off: dict[str, str] = field(default_factory=dict)
    left: dict[str, int] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    unasked: dict[str, int] = field(default_factory=dict)
    findings: list[RunAction] = field(default_factory=list)
    held: dict[str, str] = field(default_factory=dict)
    holding: list[RunAction] = field(default_factory=list)
    frozen: str = ""
    dry_run: bool = False
    counts: dict[str, int] = field(default_factory=dict)
    model: str = ""
    kept: str = ""
    merged: str = ""


@dataclass(frozen=True, slots=True)
class LoggedRun:
    """A run that was made; `file` is that of an import."""

    id: str
    at: str
    cadence: str
    counts: dict[str, int]
    can_be_undone: bool
    ended: str = ""
    file: str = ""
    failures: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LoggedRuns:
    """The latest runs, newest first."""

    runs: list[LoggedRun]


@dataclass(frozen=True, slots=True)
class ComingChange:
    """A coming change of a memory without use: its time, kind and reason.

    `curve` are the values of the memory until then, 0–1.
    """

    id: str
    path: str
    text: str
    at: datetime
    what: str
    why: str
    heat: float
    feedback: float
    curve: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ComingChanges:
    """The changes of the next `days`, the soonest first."""

    days: int
    coming: list[ComingChange]


@dataclass(frozen=True, slots=True)
class Reindexed:
    """The seconds that a rebuild took, and the content of the index."""

    seconds: float
    facts: int
    turns: int
    notes: int
    sessions: int
    files: int
    problems: int
    waiting: int


@dataclass(frozen=True, slots=True)
class Diagnosed:
    """A problem; `level` is error, warning or notice."""

    level: str
    code: str
    what: str
    where: str = ""
    line: int | None = None
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The problems of a vault; notices do not make it unhealthy."""

    healthy: bool
    findings: list[Diagnosed]
    scale: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BlockedTurns:
    """Turns of a file from which no memory can be extracted now."""

    where: str
    state: str
    turns: int
    reason: str


@dataclass(frozen=True, slots=True)
class VaultCounts:
    """Numbers of memories, turns, notes and files, and of waiting turns by state."""

    vault: str
    facts: int
    turns: int
    notes: int
    sessions: int
    files: int
    problems: int
    waiting: int
    waiting_turns: int
    distilling_turns: int
    parked_turns: int
    dead_turns: int
    blocked: list[BlockedTurns]


@dataclass(frozen=True, slots=True)
class VaultStatus:
    """The state of the process that has the vault open, and its faults."""

    vault: str
    place: str
    pid: int
    ready: bool
    uptime_seconds: float
    extractor: str
    faults: dict[str, str]
    model_faults: int
    budget: dict[str, Any]
    held: dict[str, Any]
    next_consolidation: datetime
    facts: int
    turns: int
    notes: int
    sessions: int
    files: int
    problems: int
    waiting: int
    waiting_turns: int
    distilling_turns: int
    parked_turns: int
    dead_turns: int
    said_again: str = ""
    meaning: str = ""
    run: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class PurgedText:
    """A deleted or remaining memory with its words; `left` is the rest of a turn."""

    id: str
    text: str = ""
    left: str = ""


@dataclass(frozen=True, slots=True)
class LeftWords:
    """A file that still contains purged words, and the reason."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class SearchedStore:
    """The amount of a store that was searched; a database has `rows`."""

    files: int
    bytes: int
    rows: int = 0


@dataclass(frozen=True, slots=True)
class Purged:
    """The purged content or, with `dry_run`, the plan; `stay` loses evidence.

    `similar` are statements that resemble a purged one and stay.

    `clean` is true if a search found no purged word, else `left` has the places.
    `traces` is the number of sentences, names and words that were searched for. If the
    trash was emptied, there are `removed` and `failures` instead.
    """

    dry_run: bool
    memories: list[PurgedText] = field(default_factory=list)
    turns: list[PurgedText] = field(default_factory=list)
    stay: list[PurgedText] = field(default_factory=list)
    similar: list[SimilarText] = field(default_factory=list)
    memory_count: int = 0
    turn_count: int = 0
    clean: bool = True
    left: list[LeftWords] = field(default_factory=list)
    searched: dict[str, SearchedStore] = field(default_factory=dict)
    traces: int = 0
    history: dict[str, Any] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
