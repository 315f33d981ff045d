"""The threads and timers of a daemon.

`DaemonThreads` is the executor of a memory, which is built with it, and the runner of
`Background`, which decides what is done. One thread writes; models and embeddings are
asked by workers.
"""

from __future__ import annotations

import queue
import threading
import time
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from apscheduler.schedulers.background import BackgroundScheduler

from engram.daemon.background import attempt
from engram.errors import BusyError, EngramError, Health, unexpected

if TYPE_CHECKING:
    from collections.abc import Callable

    from engram.config import Settings
    from engram.core.policy import ServePolicy
    from engram.daemon.background import Background
    from engram.ingest.queue import Batch

    Job = Callable[[], Any]

T = TypeVar("T")


class WriterThread:
    """One thread that does jobs in the order they came, and between them, idle or not,
    `between`.

    A fault of a request goes to whoever asked; a fault of the daemon's own work is
    logged and reported to `health` under the work's name until that work succeeds.
    """

    def __init__(
        self,
        policy: ServePolicy,
        *,
        log_content: bool = False,
    ) -> None:
        self.policy = policy
        self.health = Health()
        self._log_content = log_content
        self._jobs: queue.SimpleQueue[tuple[str, Job, Future[Any] | None] | None] = (
            queue.SimpleQueue()
        )
        self._since = time.monotonic()
        self._thread: threading.Thread | None = None

    def start(self, between: Job | None = None) -> None:
        """Begin to work, with `between` done between the jobs."""
        self._thread = threading.Thread(
            target=self._run, args=(between,), name="writer", daemon=True
        )
        self._thread.start()

    def ask(self, name: str, job: Job) -> Future[Any]:
        """Have a request's job done; BusyError when too many wait already."""
        if self._jobs.qsize() >= self.policy.queue_jobs:
            raise BusyError(
                "the writer has too much to do",
                retry_after=1,
                fix="Nothing was changed; try again.",
            )
        asked: Future[Any] = Future()
        self._jobs.put((name, job, asked))
        return asked

    def post(self, name: str, job: Job) -> None:
        """Have a job of the daemon's own done; it is never refused."""
        self._jobs.put((name, job, None))

    def stop(self) -> None:
        """Do what is in the queue, then end."""
        self._jobs.put(None)
        if self._thread:
            self._thread.join()

    def waiting(self) -> int:
        """How many jobs are in the queue."""
        return self._jobs.qsize()

    def silence(self) -> float:
        """Seconds since the writer last took a job or looked for one."""
        return time.monotonic() - self._since

    def _run(self, between: Job | None) -> None:
        while True:
            self._since = time.monotonic()
            if between:
                self._do("between", between, None)
            try:
                item = self._jobs.get(timeout=self.policy.beat_seconds)
            except queue.Empty:
                continue
            if item is None:
                return
            self._since = time.monotonic()
            self._do(*item)

    def _do(self, name: str, job: Job, asked: Future[Any] | None) -> None:
        if asked is not None:
            fulfil(name, job, asked)
            return
        attempt(name, job, self.health, log_content=self._log_content)


def fulfil(name: str, job: Job, asked: Future[Any]) -> None:
    """Do the job unless whoever asked has gone; its result and its fault are theirs."""
    if not asked.set_running_or_notify_cancel():
        return
    try:
        asked.set_result(job())
    except Exception as fault:  # noqa: BLE001
        asked.set_exception(
            fault if isinstance(fault, EngramError) else unexpected(name, fault)
        )


def aside(name: str, job: Job) -> Future[Any]:
    """Have a job that mostly waits done in a thread of its own, which no stop waits
    for.
    """
    asked: Future[Any] = Future()
    threading.Thread(
        target=fulfil, args=(name, job, asked), name=name, daemon=True
    ).start()
    return asked


class DaemonThreads:
    """The writer, the workers and the timers of one daemon."""

    attended = True

    def __init__(self, settings: Settings) -> None:
        self.policy = settings.policy.serve
        self.writer = WriterThread(self.policy, log_content=settings.log_content)
        self._embeds = bool(settings.embeddings)
        self._scheduler = BackgroundScheduler(
            timezone=UTC,
            executors={"default": {"type": "threadpool", "max_workers": 1}},
            job_defaults={
                "coalesce": True,
                "max_instances": 1,
                "misfire_grace_time": None,
            },
        )
        self._background: Background | None = None
        self._batches: queue.SimpleQueue[Batch | None] = queue.SimpleQueue()
        self._embedding_due = threading.Event()
        self._maintenance_due = threading.Event()
        self._stopping = False

    # -- life --------------------------------------------------------------------------

    def start(self, background: Background, between: Job) -> None:
        """Start the threads and timers; the writer does `between` between its jobs."""
        self._background = background
        self.writer.start(between)
        self._start_thread("tend", self._tend, background)
        for number in range(self.policy.workers):
            self._start_thread(f"model-{number}", self._distil, background)
        if self._embeds:
            self._start_thread("embed", self._embed, background)
        self._scheduler.start()

    def stop_timers(self) -> None:
        """Start nothing more by the clock."""
        self._scheduler.shutdown(wait=False)

    def stop(self) -> None:
        """End the workers and, when its queue is empty, the writer."""
        self._stopping = True
        self._embedding_due.set()
        self._maintenance_due.set()
        for _ in range(self.policy.workers):
            self._batches.put(None)
        self.writer.stop()

    def batches_waiting(self) -> int:
        """Return how many batches wait for a worker."""
        return self._batches.qsize()

    # -- the executor of the memory ----------------------------------------------------

    def turns_arrived(self) -> None:
        """Look for batches that are due, once the daemon has started."""
        if self._background:
            self._background.heard()

    def run_as_writer(self, job: Callable[[], T]) -> T:
        """Have the writer do `job`, and return its result."""
        done: Future[T] = self.writer.ask("consolidate", job)
        return done.result()

    # -- the runner of `Background` ----------------------------------------------------

    def now(self) -> datetime:
        """Return the time by which timers are set."""
        return datetime.now(UTC)

    def post(self, name: str, job: Job) -> None:
        """Have the writer do a job of the daemon's own."""
        self.writer.post(name, job)

    def later(self, seconds: float, job: Job) -> None:
        """Call `job` in so many seconds."""
        run_date = self.now() + timedelta(seconds=seconds)
        self._scheduler.add_job(job, "date", run_date=run_date)

    def at(self, when: datetime, name: str, job: Job) -> None:
        """Call `job` at `when`, in place of an earlier timer of the same name."""
        self._scheduler.add_job(
            job, "date", run_date=when, id=name, replace_existing=True
        )

    def every(self, seconds: float, name: str, job: Job) -> None:
        """Call `job` each time so many seconds have passed."""
        self._scheduler.add_job(job, "interval", seconds=seconds, id=f"every {name}")

    def distil(self, batch: Batch) -> None:
        """Hand the batch to the model workers."""
        self._batches.put(batch)

    def tend(self) -> None:
        """Wake the thread that makes the maintenance runs that are due."""
        self._maintenance_due.set()

    def embed(self) -> None:
        """Wake the thread that makes vectors."""
        self._embedding_due.set()

    # -- threads -----------------------------------------------------------------------

    @staticmethod
    def _start_thread(
        name: str, target: Callable[[Background], None], background: Background
    ) -> None:
        threading.Thread(
            target=target, args=(background,), name=name, daemon=True
        ).start()

    def _distil(self, background: Background) -> None:
        """A model worker: take batches, and bring the outcomes to the writer."""
        while (batch := self._batches.get()) is not None and not self._stopping:
            background.distil(batch)

    def _embed(self, background: Background) -> None:
        """The embedding worker; recall does not wait for it."""
        while self._embedding_due.wait() and not self._stopping:
            self._embedding_due.clear()
            background.embed()

    def _tend(self, background: Background) -> None:
        """Make the maintenance runs that are due."""
        while self._maintenance_due.wait() and not self._stopping:
            self._maintenance_due.clear()
            background.tend()
