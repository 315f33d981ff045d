"""The operations `doctor`, `stats` and `status`: problems, counts, process state."""

from __future__ import annotations

import os
import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

from engram.config import Settings, has_sentence_weights, without_password
from engram.core.records import Problem
from engram.errors import ConfigError, EngramError, ModelError
from engram.operations.signature import ANY_CALLER, operation
from engram.pipeline.embed import EmbeddingWorker
from engram.pipeline.embed import calibrate as calibration
from engram.vault import disk, sessions
from engram.vault.paths import printable, walk
from engram.vault.template import FOLDERS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from engram.index.catalog import Catalog
    from engram.ingest.queue import State, TurnQueue
    from engram.maintenance.loop import MaintenanceLoop
    from engram.operations.file_sync import FileSync

NOTICE = "notice"
"""The level of a finding that needs no correction."""
SHOWN_PATHS = 3
BY_RULES = "rules, from plain English and German; a model (`[model]` in the configuration) reads every language"
OPEN_MODE = "other users of this machine may read the vault; `chmod 700` closes it"
OPEN_IT = "Give your user write access (`chmod -R u+rwX`), or mount it so that it can be written."
NOTHING_TO_DO = "Nothing needs to be done: turns, undo history and index of each folder are separate."
DEFAULT_FIX = (
    "Correct it in an editor, or move the file away; engram leaves it as it is."
)
FIXES = {
    "unreadable": "Give this user access to it; until then its last known content counts.",
    "symlink-out": "Replace the link by the file itself.",
    "name": "Then it is indexed.",
    "duplicate-id": "Delete one of the two files, or take the id out of one.",
    "sync-conflict": "Keep one of the two files and delete the other.",
}
BATCHES: Mapping[State, tuple[str, str]] = {
    "stuck": (
        "stuck",
        "The batch is kept and tried again later; `engram flush` tries at once.",
    ),
    "parked": (
        "parked",
        "The batch is kept and tried again later; `engram flush` tries at once.",
    ),
    "dead": (
        "dead-letter",
        "The rules have extracted it; `engram flush` asks the model again and prints the error.",
    ),
}
"""Code and fix for each state of a batch that does not proceed."""


class HealthOperations:
    """The operations `doctor`, `stats` and `status`."""

    def __init__(
        self,
        files: FileSync,
        queue: TurnQueue,
        maintenance_loop: MaintenanceLoop,
        embedding: EmbeddingWorker | None,
    ) -> None:
        self.files = files
        self.index = files.index
        self.settings = files.settings
        self.clock = files.clock
        self.health = files.health
        self.entity_writer = files.reconciler.entity_writer
        self.queue = queue
        self.maintenance_loop = maintenance_loop
        self.embedding = embedding
        self.extractor = maintenance_loop.extractor
        self._started = time.monotonic()

    @operation("Diagnosis", waits=True)
    def doctor(
        self,
        *,
        accept_deletions: Annotated[
            bool, "accept that many notes were deleted at once"
        ] = False,
        calibrate: Annotated[
            bool,
            "add the calibration of the embedding model's similarities in this vault",
        ] = False,
    ) -> dict[str, Any]:
        """Check vault, journal, index and models for problems. Shows each problem with
        its place and its fix.

        `accept_deletions` treats vanished notes as deleted. `calibrate` adds the
        calibration of the embedding model's similarities in this vault.
        """
        rows = self.maintenance_loop.as_writer(
            lambda: self._vault_findings(accept_deletions=accept_deletions)
        )
        known = {row["code"] for row in rows}
        rows += [row for row in self._model_findings() if row["code"] not in known]
        scale = {"scale": calibration(self.index)} if calibrate else {}
        healthy = all(row["level"] == NOTICE for row in rows)
        return {"healthy": healthy, "findings": rows, **scale}

    def _vault_findings(self, *, accept_deletions: bool) -> list[dict[str, Any]]:
        if accept_deletions:
            self.files.rescan(None, accept_deletions=True)
        problems = [*self.index.catalog.problems(), *self.entity_writer.find_problems()]
        rows = findings(self.settings, problems, self.queue, self.health.problems())
        return [*rows, *self._database_findings()]

    def _database_findings(self) -> Iterator[dict[str, Any]]:
        """Compare the vault with the database of its index, if it has one (`X15`)."""
        if not self.settings.postgres:
            return
        where = without_password(self.settings.postgres)
        wrong = differences(
            self.index.catalog,
            self.settings.vault,
            self.index.scanner.files_at(""),
        )
        for words, paths in wrong.items():
            number = f"{len(paths)} file{'s' * (len(paths) > 1)}"
            examples = ", ".join(map(printable, paths[:SHOWN_PATHS]))
            what = f"{number} {words}: {examples}"
            fix = "`engram reindex` reads the vault again."
            yield _finding("warning", "database", what, where, fix)
        if not wrong:
            files = self.index.counts()["files"]
            what = f"The index in PostgreSQL has the vault's {files} files."
            yield _finding(NOTICE, "database", what, where)

    def _model_findings(self) -> Iterator[dict[str, Any]]:
        """Ask each configured model one short question; yield whether it answers."""
        probes: dict[str, Callable[[], str]] = {}
        if self.settings.model:
            probes["model"] = self.extractor.probe
        if self.embedding:
            probes["embeddings"] = self._probe_embeddings
        elif not has_sentence_weights():
            fix = "The first thing to add is `pip install 'engram-md[semantic]'`, with which it also finds what has the same meaning in other words."
            what = "Recall compares words only."
            yield _finding(NOTICE, "embeddings", what, fix=fix)
        for code, probe in probes.items():
            try:
                row = _finding(NOTICE, code, probe())
            except (ModelError, ConfigError) as fault:
                row = _finding("error", code, str(fault))
            yield row

    def _probe_embeddings(self) -> str:
        assert self.embedding
        size = len(self.embedding.vectors(["tea"])[0]) // 4
        return f"The embedding model answers ({size} dimensions); {self._scale()}."

    def _meaning(self) -> str:
        """Return in words how much of the vault can be found by its meaning."""
        semantic = self.index.semantic
        assert semantic
        have, wanted = semantic.coverage(self.index.lexical)
        return f"{have:,} of {wanted:,} memories embedded; {self._scale()}"

    def _scale(self) -> str:
        """Return in words whether the embedding model's similarities are calibrated."""
        semantic = self.index.semantic
        if semantic and semantic.only_ranks:
            return "its similarities order the hits only"
        if semantic is None or not semantic.scale.calibrated:
            return "its similarities are used for ranking only, until there are enough pairs to calibrate"
        return "its similarities are calibrated on the memories of this vault"

    @operation("VaultCounts", callers=ANY_CALLER, own_command=True)
    def stats(
        self,
    ) -> dict[str, Any]:
        """Count memories, turns and files. Shows one line for each count, and how many
        turns wait.
        """
        return {
            "vault": str(self.settings.vault),
            **self.index.counts(),
            **self.queue.counts(),
            "blocked": blocked(self.queue),
        }

    def _budget(self) -> dict[str, Any]:
        """Return the cost of today's model calls, by task, and the daily limit (`X24`)."""
        spent, policy = self.extractor.spend.today(self.clock()), self.settings.policy
        return {
            "calls": spent.calls,
            "calls_per_day": policy.model.calls_per_day,
            "tokens": spent.tokens,
            "tokens_per_day": policy.model.tokens_per_day,
            "tasks": {name: asdict(one) for name, one in sorted(spent.tasks.items())},
        }

    def _run(self) -> dict[str, Any]:
        """Return the maintenance run that is being planned, if there is one."""
        run = self.maintenance_loop.maintenance.progress.current
        if run is None:
            return {}
        since = run.began.isoformat()
        return {"run": {"cadence": run.name, "pass": run.present, "since": since}}

    def _said_again(self) -> str:
        """Return in words what the user said again within a week after forgetting it."""
        since = self.clock() - timedelta(weeks=1)
        stones = self.index.tombstones.forgotten.stones
        again = {one.named for one in stones if (one.restated_at or since) > since}
        told = (
            "forgotten, but shown again because you said it again; see `engram digest`"
        )
        return f"{len(again)} {told}" if again else ""

    @operation("VaultStatus", callers=ANY_CALLER, own_command=True)
    def status(
        self,
        *,
        ready: bool = True,
    ) -> dict[str, Any]:
        """Show the state of the daemon, and the parts that do not work.

        `ready` is true if the index covers the whole vault.
        """
        place = self.settings.place
        return {
            "vault": str(self.settings.vault),
            "place": place.notice() if place else "",
            "pid": os.getpid(),
            "ready": ready,
            "uptime_seconds": round(time.monotonic() - self._started, 1),
            "extractor": self.extractor.name,
            "learned_by": "" if self.settings.model else BY_RULES,
            "faults": self.health.problems(),
            "model_faults": self.extractor.failures,
            "budget": self._budget(),
            **({"meaning": self._meaning()} if self.embedding else {}),
            **self._run(),
            "said_again": self._said_again(),
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
    """Return each problem with its level, code, place and fix.

    `problems` are those of the notes that were read; files that cannot be read are
    added here. `faults` are the parts of the process that do not work now, by name.
    """
    known = list(problems)
    found = [
        _finding(
            "warning",
            one.code,
            one.message,
            printable(one.path),
            FIXES.get(one.code, DEFAULT_FIX),
        )
        | {"line": one.line}
        for one in (*known, *unreadable(settings.vault, known, settings.leave_out))
    ]
    found += [_finding("error", code, what) for code, what in faults.items()]
    where = str(settings.vault)
    if settings.place and (notice := settings.place.notice()):
        found.append(_finding(NOTICE, "place", notice, where, NOTHING_TO_DO))
    if settings.vault.stat().st_mode & 0o077:
        found.append(_finding("warning", "mode", OPEN_MODE, where))
    if closed := closed_folders(settings.vault):
        what = "the folder cannot be written, so no memory is stored"
        found.append(_finding("error", "read-only", what, str(closed[0]), OPEN_IT))
    for row in blocked(queue):
        (code, fix), number = BATCHES[row["state"]], row["turns"]
        what = f"{number} turn{'s' * (number > 1)}: {row['reason']}"
        found.append(_finding("warning", code, what, row["where"], fix))
    return found


def _finding(
    level: str, code: str, what: str, where: str = "", fix: str = ""
) -> dict[str, Any]:
    return {"level": level, "code": code, "where": where, "what": what, "fix": fix}


def closed_folders(vault: Path) -> list[Path]:
    """Return the folders of a vault that this process may not write to."""
    folders = [vault, *(vault / name for name in FOLDERS)]
    return [
        one for one in folders if one.is_dir() and not os.access(one, os.W_OK | os.X_OK)
    ]


def blocked(queue: TurnQueue) -> list[dict[str, Any]]:
    """Return the turns that cannot be distilled or filed, by file, state and reason."""
    turns: Counter[tuple[str, State, str]] = Counter()
    for state, batch, why in queue.blocked:
        where = sessions.path(batch.waiting[0].filed.note)
        turns[where, state, why] += len(batch.waiting)
    return [
        {"where": where, "state": state, "turns": number, "reason": why}
        for (where, state, why), number in turns.items()
    ]


def unreadable(
    vault: Path, known: Collection[Problem], left_out: Collection[str] = ()
) -> Iterator[Problem]:
    """Yield the files that a scan does not read: outside links, odd names, no access.

    Problems in `known` are left out. Access is checked here because a scan does not
    notice when it changes.
    """
    seen = walk(str(vault), left_out=left_out)
    yield from [
        problem for problem in dict.fromkeys(seen.problems) if problem not in known
    ]
    for path in sorted(seen.files.keys() - {problem.path for problem in known}):
        if not os.access(vault / path, os.R_OK):
            yield Problem("unreadable", "the file cannot be read", path)


def differences(
    catalog: Catalog, root: Path, files: Collection[str]
) -> dict[str, list[str]]:
    """Read the `files` of the vault `root`, and return the paths that differ.

    They are grouped by the difference, in words. A file that is indexed with its last
    good version has no hash in the catalogue, and does not differ; neither does an
    unreadable file.
    """
    known = catalog.hashes()
    files = set(files)
    different: list[str] = []
    for path in sorted(files & known.keys()):
        with suppress(EngramError):
            if known[path] and disk.sha256(disk.read(root / path)) != known[path]:
                different.append(path)
    found = {
        "not in the index": sorted(files - known.keys()),
        "only in the index": sorted(known.keys() - files),
        "in the index as it was before": different,
        "in the index without its file": catalog.units_without_file(),
    }
    return {words: paths for words, paths in found.items() if paths}
