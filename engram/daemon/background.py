"""The work that a memory does by itself: batches, runs, rescans, vectors, and what
follows when one of them fails.

`Background` decides what is due and what comes next. A `Runner` carries it out: the
daemon with threads and timers (`engram.daemon.threads`), a simulation one job after
another on a clock of its own (`engram.testing`). So both behave alike.
"""

from __future__ import annotations

import logging
import threading
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from engram.errors import EngramError, ModelError, unexpected

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path

    from engram.core.records import Extraction
    from engram.errors import Health
    from engram.ingest.queue import Batch
    from engram.memory import Memory

    Job = Callable[[], Any]

log = logging.getLogger("engram.daemon")


class Runner(Protocol):
    """What carries jobs out. Every method returns at once; the work happens later."""

    def now(self) -> datetime:
        """The time by which `at` is counted."""

    def post(self, name: str, job: Job) -> None:
        """Have the writer do `job` with `attempt`; jobs are done in the order they were
        posted.
        """

    def later(self, seconds: float, job: Job) -> None:
        """Call `job` in so many seconds."""

    def at(self, when: datetime, name: str, job: Job) -> None:
        """Call `job` at `when`; an earlier appointment of the same `name` is dropped."""

    def every(self, seconds: float, name: str, job: Job) -> None:
        """Call `job` each time so many seconds have passed."""

    def distil(self, batch: Batch) -> None:
        """Have a model worker call `Background.distil` with this batch."""

    def tend(self) -> None:
        """Have `Background.tend` called soon, not by the writer; several wishes before
        it begins are one.
        """

    def embed(self) -> None:
        """Have `Background.embed` called soon, not by the writer; several wishes before
        it begins are one.
        """


def attempt(name: str, job: Job, health: Health, *, log_content: bool = False) -> None:
    """Do a job of the daemon's own; log its error and report it until the job succeeds."""
    try:
        job()
    except Exception as fault:  # noqa: BLE001
        known = fault if isinstance(fault, EngramError) else unexpected(name, fault)
        health.report(name, str(known))
        log.warning("%s failed: %s", name, known if log_content else known.code)
    else:
        health.clear(name)


class Background:
    """What a memory does by itself. `memory` is started; `health` records the work
    that fails, by its name.

    `look`, `changed` and `heard` may be called from any thread, `distil` and `embed`
    from a worker's, `tend` from one that is not the writer's.
    """

    def __init__(self, memory: Memory, runner: Runner, health: Health) -> None:
        self.memory = memory
        self.runner = runner
        self.health = health
        self.stopping = False
        self._policy = memory.settings.policy
        self._lock = threading.Lock()
        self._looking = False
        self._warming = True
        self._dirty: set[Path] | None = set()
        self._rescanning = False
        self._embedding_tries = 0

    def start(self) -> None:
        """Begin: the vault is read, and what is due is looked for regularly."""
        self.runner.every(
            self._policy.consolidation.look_seconds, "tend", self.runner.tend
        )
        self.runner.every(
            self._policy.files.rescan_minutes * 60, "rescan", self._rescan_all
        )
        self.runner.post("warm-up", self._warm)

    # -- turns become notes ------------------------------------------------------------

    def heard(self) -> None:
        """Turns came in: a batch may be due, and a talk may have its fourth turn."""
        self.runner.tend()
        self.look()

    def look(self) -> None:
        """Have the writer look for batches that are due; many calls before it does so
        are one.
        """
        self.runner.embed()
        with self._lock:
            if self._looking:
                return
            self._looking = True
        self.runner.post("look", self._look)

    def _look(self) -> None:
        with self._lock:
            self._looking = False
        # a warm-up looks when it is done; without one the catalogue was found damaged
        if not self.memory.ready:
            if not self._warming:
                self._warming = True
                self.runner.post("warm-up", self._warm)
            return
        try:
            for batch in self.memory.pipeline.due(self.memory.clock()):
                self.runner.distil(batch)
        finally:  # whatever one batch met, the others have their time
            due = self.memory.pipeline.next_due()
            if due is not None:
                # what fails may rest
                soonest = self.runner.now() + timedelta(
                    seconds=self._policy.serve.beat_seconds
                )
                self.runner.at(max(due, soonest), "due", self.look)

    def distil(self, batch: Batch) -> None:
        """Distil the batch and have the writer file the outcome."""
        outcome: Extraction | ModelError
        try:
            outcome = self.memory.pipeline.distil(batch)
        except ModelError as fault:
            outcome = fault
        except Exception as fault:  # noqa: BLE001
            outcome = ModelError(unexpected("distil", fault).what)
        self.runner.post("file", partial(self._file, batch, outcome))

    def _file(self, batch: Batch, outcome: Extraction | ModelError) -> None:
        """File the outcome; while the disk refuses, or the outcome trips us, keep it
        and come back.
        """
        try:
            self.memory.pipeline.file(batch, outcome)
        except Exception as fault:
            self.memory.queue.put(batch, "stuck", reason=str(fault))
            job = partial(
                self.runner.post, "file", partial(self._file, batch.tried(), outcome)
            )
            self.runner.later(self._policy.model.retry_seconds, job)
            raise
        self.runner.tend()
        self.look()

    def embed(self) -> None:
        """Give all that has no vector one; an endpoint that fails is tried again later."""
        policy = self._policy.model
        try:
            while not self.stopping and self.memory.embed():
                pass
        except Exception as fault:  # noqa: BLE001
            self.health.report("embeddings", _words(fault))
            wait = min(
                policy.retry_seconds * 2**self._embedding_tries,
                policy.retry_most_seconds,
            )
            self._embedding_tries = min(self._embedding_tries + 1, policy.attempts)
            self.runner.later(wait, self.runner.embed)
        else:
            self.health.clear("embeddings")
            self._embedding_tries = 0

    def tend(self) -> None:
        """Make the runs that are due; a model that they ask holds nobody up."""
        if not self.memory.ready:
            return
        try:
            busy = self.memory.queue.is_busy()
            self.memory.maintenance_loop.tend(busy=busy)
            # a memory that is in use again wants its whole vector back
            self.runner.embed()
        except Exception as fault:  # noqa: BLE001
            self.health.report("consolidate", _words(fault))
        else:
            self.health.clear("consolidate")

    # -- files change ------------------------------------------------------------------

    def _warm(self) -> None:
        """Read the vault; while that fails, come back."""
        try:
            unsure = self.memory.warm()
        except Exception:
            job = partial(self.runner.post, "warm-up", self._warm)
            self.runner.later(self._policy.model.retry_seconds, job)
            raise
        self._warming = False
        self._look_again(unsure)
        self.look()

    def changed(self, paths: set[Path] | None) -> None:
        """Have the writer look at these paths, or at all; many calls before it does so
        are one.
        """
        with self._lock:
            self._dirty = (
                None if paths is None or self._dirty is None else self._dirty | paths
            )
            if self._rescanning:
                return
            self._rescanning = True
        self.runner.post("rescan", self._rescan)

    def _rescan(self) -> None:
        with self._lock:
            paths, self._dirty, self._rescanning = self._dirty, set(), False
        try:
            unsure = self.memory.files.rescan(paths)
        except Exception:
            with self._lock:  # the next change looks at these as well
                self._dirty = (
                    None
                    if paths is None or self._dirty is None
                    else self._dirty | paths
                )
            self.runner.later(
                self._policy.model.retry_seconds, partial(self.changed, set())
            )
            raise
        self._look_again(unsure)

    def _look_again(self, unsure: set[Path]) -> None:
        """Have what is gone, or still being written, looked at once more."""
        if unsure:
            self.runner.later(
                self._policy.files.settle_most_seconds, partial(self.changed, unsure)
            )

    def _rescan_all(self) -> None:
        """The hourly look, and a snapshot for the next start."""
        if self.memory.ready:
            self.changed(None)
            self.runner.post("snapshot", self.memory.save)
            self.look()


def _words(fault: Exception) -> str:
    return str(fault if isinstance(fault, EngramError) else type(fault))
