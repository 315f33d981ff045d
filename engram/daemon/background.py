"""The background work of a vault: batches, maintenance runs, scans and vectors.

`Background` decides which work is due and retries failed work. A `Runner` carries the
work out: in the daemon with threads and timers (`engram.daemon.threads`), in a
simulation one job after another on a simulated clock (`engram.testing`). So both behave
alike.
"""

from __future__ import annotations

import logging
import threading
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from engram.core.buffer import retry_wait
from engram.core.language.states import read_rules
from engram.errors import EngramError, Health, ModelError, unexpected
from engram.vault.syscalls import return_memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from engram.core.records import Extraction
    from engram.ingest.queue import Batch
    from engram.memory import VaultMemory

    Job = Callable[[], Any]

log = logging.getLogger("engram.daemon")


class Runner(Protocol):
    """Carries out jobs. Every method returns at once; the work is done later."""

    def now(self) -> datetime:
        """Return the current time of the clock that `call_at` uses."""

    def post(self, name: str, job: Job) -> None:
        """Queue `job` for the writer, which runs its jobs in order by `attempt`."""

    def call_later(self, seconds: float, job: Job) -> None:
        """Call `job` after `seconds`."""

    def call_at(self, when: datetime, name: str, job: Job) -> None:
        """Call `job` at `when`; this replaces an earlier timer of the same `name`."""

    def call_every(self, seconds: float, name: str, job: Job) -> None:
        """Call `job` every `seconds`."""

    def distil(self, batch: Batch) -> None:
        """Have a model worker call `Background.distil` with this batch."""

    def maintain(self) -> None:
        """Have `Background.maintain` called soon, outside the writer thread.

        Several requests before the call begins lead to one call.
        """

    def embed(self) -> None:
        """Have `Background.embed` called soon, outside the writer thread.

        Several requests before the call begins lead to one call.
        """

    def read(self, name: str, job: Job) -> None:
        """Run a read-only job in the background, if there is time for it."""


def attempt(name: str, job: Job, health: Health, *, log_content: bool = False) -> None:
    """Run a job that no request waits for.

    An error is logged, and reported to `health` under `name` until the job succeeds.
    """
    try:
        job()
    except Exception as fault:  # noqa: BLE001
        error = fault if isinstance(fault, EngramError) else unexpected(name, fault)
        health.report(name, str(error))
        log.warning("%s failed: %s", name, error if log_content else error.code)
    else:
        health.clear(name)


class Background:
    """Decides which background work of a started `memory` is due.

    `health` records failing work by name. `check_batches`, `files_changed` and
    `turns_arrived` may be called from any thread, `distil` and `embed` from a worker,
    `maintain` from any thread except the writer's.
    """

    def __init__(self, memory: VaultMemory, runner: Runner, health: Health) -> None:
        self.memory = memory
        self.runner = runner
        self.health = health
        self.stopping = False
        self._policy = memory.settings.policy
        self._lock = threading.Lock()
        self._check_posted = False
        self._warming = True
        self._dirty: set[Path] | None = set()
        self._scan_posted = False
        self._embedding_failures = 0
        # extractions of batches that could not be filed, by journal numbers
        self._unfiled: dict[tuple[int, ...], Extraction | ModelError] = {}

    def start(self) -> None:
        """Start to read the vault, and set the timers of the regular work."""
        self.runner.call_every(
            self._policy.consolidation.look_seconds, "tend", self.runner.maintain
        )
        self.runner.call_every(
            self._policy.files.rescan_minutes * 60, "rescan", self._rescan_all
        )
        self.runner.post("warm-up", self._warm)

    # -- turns become notes ------------------------------------------------------------

    def turns_arrived(self) -> None:
        """Check for batches and session summaries that are due because of new turns."""
        self.runner.maintain()
        self.check_batches()

    def check_batches(self) -> None:
        """Have the writer check for due batches.

        Several calls before the check lead to one check.
        """
        self.runner.embed()
        with self._lock:
            if self._check_posted:
                return
            self._check_posted = True
        self.runner.post("look", self._check_batches)

    def _check_batches(self) -> None:
        """Pass on the due batches, and set the timer for the next one."""
        with self._lock:
            self._check_posted = False

        # A warm-up checks again when it is done. If none is in progress, the catalogue
        # was damaged after the last one.
        if not self.memory.ready:
            if not self._warming:
                self._warming = True
                self.runner.post("warm-up", self._warm)
            return
        try:
            for batch in self.memory.pipeline.due(self.memory.clock()):
                self.runner.distil(batch)
        finally:  # an error in one batch must not delay the others
            due = self.memory.pipeline.next_due()
            if due is not None:
                pause = timedelta(seconds=self._policy.serve.beat_seconds)
                soonest = self.runner.now() + pause
                self.runner.call_at(max(due, soonest), "due", self.check_batches)

    def distil(self, batch: Batch) -> None:
        """Extract the candidates of a batch, and have the writer file them.

        A batch that could not be filed is not extracted a second time.
        """
        outcome: Extraction | ModelError
        try:
            known = self._unfiled.pop(batch.seqs, None)
            outcome = known or self._distilled(batch)
        except ModelError as fault:
            outcome = fault
        except Exception as fault:  # noqa: BLE001
            outcome = ModelError(unexpected("distil", fault).what)
        self.runner.post("file", partial(self._file, batch, outcome))

    def _distilled(self, batch: Batch) -> Extraction:
        with self.memory.executor.model_place():
            return self.memory.pipeline.distil(batch)

    def _file(self, batch: Batch, outcome: Extraction | ModelError) -> None:
        """File the outcome of a batch; after an error retry at growing intervals."""
        pipeline = self.memory.pipeline
        try:
            pipeline.file(batch, outcome)
        except Exception as fault:  # noqa: BLE001
            if isinstance(fault, EngramError):
                error = fault
            else:
                error = unexpected("filing", fault)
            message = error if self.memory.settings.log_content else error.code
            log.warning("filing failed: %s", message)
            self._unfiled[batch.seqs] = outcome
            pipeline.postpone(batch.as_tried(), "filing", error, "stuck")
        else:
            self.runner.maintain()
        self.check_batches()

    def embed(self) -> None:
        """Embed every unit that has no vector; after an error try again later."""
        policy = self._policy.model
        try:
            while not self.stopping and self._embed_some():
                pass
        except Exception as fault:  # noqa: BLE001
            self.health.report("embeddings", _message(fault))
            self._embedding_failures += 1
            wait = retry_wait(self._embedding_failures, policy)
            self.runner.call_later(wait.total_seconds(), self.runner.embed)
        else:
            self.health.clear("embeddings")
            self._embedding_failures = 0

    def _embed_some(self) -> bool:
        with self.memory.executor.model_place():
            return self.memory.embed()

    def maintain(self) -> None:
        """Make the due maintenance runs."""
        if not self.memory.ready:
            return
        try:
            self.memory.maintenance_loop.tend()
            # a memory that is used again gets its full vector back
            self.runner.embed()
        except Exception as fault:  # noqa: BLE001
            self.health.report("consolidate", _message(fault))
        else:
            self.health.clear("consolidate")
        return_memory()

    # -- files change ------------------------------------------------------------------

    def _warm(self) -> None:
        """Read the vault, then the rules; after an error try again later."""
        try:
            unsettled = self.memory.catch_up()
        except Exception:
            job = partial(self.runner.post, "warm-up", self._warm)
            self.runner.call_later(self._policy.model.retry_seconds, job)
            raise
        self._warming = False
        self._rescan_later(unsettled)
        self.check_batches()
        read_rules()
        self.runner.read("first context", self.first_context)

    def first_context(self) -> None:
        """Build a context in advance, so that the first requested one is quick.

        It compiles the patterns of the language of the last turn and fills the caches.
        """
        catalog = self.memory.index.catalog
        files = catalog.latest_sessions(None, 1)
        last = catalog.last_user_turn(files[0].path) if files else None
        query = last.turn.text if last else "What do I have to do today?"
        self.memory.call("context", {"query": query, "record": False})
        return_memory()

    def files_changed(self, paths: set[Path] | None) -> None:
        """Have the writer scan these paths, or the whole vault for None.

        Several calls before the scan lead to one scan.
        """
        with self._lock:
            self._add_dirty(paths)
            if self._scan_posted:
                return
            self._scan_posted = True
        self.runner.post("rescan", self._rescan)

    def _add_dirty(self, paths: set[Path] | None) -> None:
        """Add to the paths of the next scan; None stands for all. Needs the lock."""
        if paths is None or self._dirty is None:
            self._dirty = None
        else:
            self._dirty = self._dirty | paths

    def _rescan(self) -> None:
        with self._lock:
            paths, self._dirty, self._scan_posted = self._dirty, set(), False
        try:
            unsettled = self.memory.files.rescan(paths)
        except Exception:
            with self._lock:  # the next scan covers these paths too
                self._add_dirty(paths)
            job = partial(self.files_changed, set())
            self.runner.call_later(self._policy.model.retry_seconds, job)
            raise
        self._rescan_later(unsettled)

    def _rescan_later(self, unsettled: set[Path]) -> None:
        """Schedule a second scan of paths that vanished or are still being written."""
        if unsettled:
            job = partial(self.files_changed, unsettled)
            self.runner.call_later(self._policy.files.settle_most_seconds, job)

    def _rescan_all(self) -> None:
        """Scan the whole vault, and save snapshots for the next start."""
        if self.memory.ready:
            self.files_changed(None)
            self.runner.post("snapshot", self.memory.save)
            self.check_batches()


def _message(fault: Exception) -> str:
    return str(fault if isinstance(fault, EngramError) else type(fault))
