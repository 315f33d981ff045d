"""The operations `doctor`, `stats` and `status`: problems, counts, and the state of this
process.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from engram.core.records import Problem
from engram.pipeline.embed import calibrate as calibration
from engram.vault import sessions
from engram.vault.paths import printable, walk

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from engram.config import Settings
    from engram.ingest.queue import State, TurnQueue
    from engram.maintenance.questions import MaintenanceLoop
    from engram.operations.file_sync import FileSync

NOTICE = "notice"
"""The level of what is to be known and needs no mending."""
LAX = "other users of this machine may read the vault; `chmod 700` closes it"
STATE = "Nothing needs to be done: turns, undo history and index of each folder are kept apart."
MEND = "Mend it in an editor, or move the file away; engram leaves it as it is."
FIXES = {
    "unreadable": "Give this user access to it; until then it counts as it was last read.",
    "symlink-out": "Put the file itself in place of the link.",
    "name": "Then it is taken in.",
    "duplicate-id": "Delete one of the two files, or take the id out of one.",
    "sync-conflict": "Keep one of the two files and delete the other.",
}
BATCHES: Mapping[State, tuple[str, str]] = {
    "stuck": (
        "stuck",
        "It is kept and tried again by itself once the fault is mended.",
    ),
    "parked": (
        "parked",
        "It is kept and tried again by itself; `engram flush` tries at once.",
    ),
    "dead": (
        "dead-letter",
        "The rules have read it; `engram flush` asks the model again and says why it fails.",
    ),
}
"""The code of a batch that is held up, and what to do."""


class HealthOperations:
    """The operations `doctor`, `stats` and `status`."""

    def __init__(
        self, files: FileSync, queue: TurnQueue, maintenance_loop: MaintenanceLoop
    ) -> None:
        self.files = files
        self.index = files.index
        self.settings = files.settings
        self.clock = files.clock
        self.health = files.health
        self.entity_writer = files.reconciler.entity_writer
        self.queue = queue
        self.maintenance_loop = maintenance_loop
        self.extractor = maintenance_loop.extractor
        self._started = time.monotonic()

    def doctor(
        self, *, accept_deletions: bool = False, calibrate: bool = False
    ) -> dict[str, Any]:
        """Return the problems of vault, journal and index, and what to do about each.

        With `calibrate` also what the numbers of the embedding model mean here.
        """
        if accept_deletions:
            self.files.rescan(None, accept_deletions=True)
        scale = {"scale": calibration(self.index)} if calibrate else {}
        problems = [*self.index.catalog.problems(), *self.entity_writer.find_problems()]
        found = findings(self.settings, problems, self.queue, self.health.problems())
        healthy = all(finding["level"] == NOTICE for finding in found)
        return {"healthy": healthy, "findings": found, **scale}

    def stats(self) -> dict[str, Any]:
        """Return counts of notes, turns and files, and their sizes."""
        return {
            "vault": str(self.settings.vault),
            **self.index.counts(),
            **self.queue.counts(),
        }

    def status(self, *, ready: bool) -> dict[str, Any]:
        """Return what this process does now, and which parts of it do not work.

        `ready` says whether the index covers the whole vault.
        """
        place = self.settings.place
        return {
            "vault": str(self.settings.vault),
            "place": place.notice() if place else "",
            "pid": os.getpid(),
            "ready": ready,
            "uptime_seconds": round(time.monotonic() - self._started, 1),
            "extractor": self.extractor.name,
            "faults": self.health.problems(),
            "model_faults": self.extractor.failures,
            "held": self.maintenance_loop.maintenance.holds.status(),
            "next_consolidation": self.maintenance_loop.schedule.next(
                self.clock()
            ).isoformat(),
            **self.index.counts(),
            **self.queue.counts(),
        }


def findings(
    settings: Settings,
    problems: Iterable[Problem],
    queue: TurnQueue,
    faults: Mapping[str, str],
) -> list[dict[str, Any]]:
    """Each problem with its level and code, where it is, and what to do about it;
    nothing when all is well.

    `problems` are those of the notes that were read; what cannot even be looked at is
    looked for here. `faults` are what is degraded now, by name.
    """
    read = list(problems)
    unread = unreadable(settings.vault, read)
    found: list[dict[str, Any]] = [
        {
            "level": "warning",
            "code": problem.code,
            "where": printable(problem.path),
            "line": problem.line,
            "what": problem.message,
            "fix": FIXES.get(problem.code, MEND),
        }
        for problem in (*read, *unread)
    ]
    found += [
        {"level": "error", "code": code, "what": what} for code, what in faults.items()
    ]
    if settings.place and (told := settings.place.notice()):
        found.append(
            {
                "level": NOTICE,
                "code": "place",
                "where": str(settings.vault),
                "what": told,
                "fix": STATE,
            }
        )
    if settings.vault.stat().st_mode & 0o077:
        found.append(
            {
                "level": "warning",
                "code": "mode",
                "where": str(settings.vault),
                "what": LAX,
            }
        )
    turns: Counter[tuple[str, State, str]] = Counter()
    for state, batch, why in queue.blocked:
        turns[sessions.path(batch.waiting[0].filed.note), state, why] += len(
            batch.waiting
        )
    for (where, state, why), number in turns.items():
        (code, fix), what = BATCHES[state], f"{number} turn{'s' * (number > 1)}: {why}"
        found.append(
            {"level": "warning", "code": code, "where": where, "what": what, "fix": fix}
        )
    return found


def unreadable(vault: Path, told: Collection[Problem]) -> Iterator[Problem]:
    """What the catalogue passes over, or believes as it was: links out, strange names,
    what no right allows to read.

    What is `told` already is left out. A change of rights leaves a file's stat alone,
    so that no scan tells of it.
    """
    seen = walk(str(vault))
    yield from [
        problem for problem in dict.fromkeys(seen.problems) if problem not in told
    ]
    for path in sorted(seen.files.keys() - {problem.path for problem in told}):
        if not os.access(vault / path, os.R_OK):
            yield Problem("unreadable", "the file cannot be read", path)
