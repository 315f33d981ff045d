"""The threads and timers of a daemon.

`DaemonThreads` is the executor of a `VaultMemory` and the runner of its `Background`.
One thread writes; worker threads call the models. The model calls of many vaults are
limited, with fair turns.
"""

from __future__ import annotations

import itertools
import queue
import threading
import time
from collections import Counter
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from apscheduler.schedulers.background import BackgroundScheduler

from engram.daemon.background import Background, attempt
from engram.errors import BusyError, EngramError, Health, unexpected

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from engram.config import Settings
    from engram.core.policy import ServePolicy
    from engram.ingest.queue import Batch

    Job = Callable[[], Any]


class ModelPlaces:
    """A limited number of places for concurrent model calls; thread-safe.

    A free place goes to the waiting vault that was served longest ago. So a vault with
    many calls waits only for its own calls, and any other vault waits for at most one
    of them.
    """

    def __init__(self, number: int) -> None:
        self._free = number
        self._turns = itertools.count(1)
        self._served: dict[str, int] = {}
        self._waiting: Counter[str] = Counter()
        self._changed = threading.Condition()

    @contextmanager
    def held(self, vault: str) -> Iterator[None]:
        """Wait for a place, and occupy it until the end of the block."""
        with self._changed:
            self._waiting[vault] += 1
            try:
                self._changed.wait_for(lambda: self._free and self._next() == vault)
                self._free -= 1
                self._served[vault] = next(self._turns)
            finally:
                self._waiting[vault] -= 1
                if not self._waiting[vault]:
                    del self._waiting[vault]
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._free += 1
                self._changed.notify_all()

    def waiting(self) -> int:
        """Return the number of waiting calls."""
        with self._changed:
            return self._waiting.total()

    def _next(self) -> str:
        """Return the vault that is next; of those never served the first to come."""
        return min(self._waiting, key=lambda vault: self._served.get(vault, 0))


T = TypeVar("T")


class WriterThread:
    """One thread that runs jobs in the order in which they were queued.

    An error in the job of a request is raised by its future. An error in another job is
    logged, and reported to `health` under the name of the job until that job succeeds.
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
        """Start the thread; it calls `between` before each job and while it is idle."""
        self._thread = threading.Thread(
            target=self._run, args=(between,), name="writer", daemon=True
        )
        self._thread.start()

    def submit(self, name: str, job: Job) -> Future[Any]:
        """Queue the job of a request; raise BusyError if too many jobs wait."""
        if self._jobs.qsize() >= self.policy.queue_jobs:
            raise BusyError(
                "too many jobs wait for the writer",
                retry_after=1,
                fix="Nothing was changed; try again.",
            )
        future: Future[Any] = Future()
        self._jobs.put((name, job, future))
        return future

    def post(self, name: str, job: Job) -> None:
        """Queue a job that no request waits for; it is never refused."""
        self._jobs.put((name, job, None))

    def stop(self) -> None:
        """Run the queued jobs, then end the thread."""
        self._jobs.put(None)
        if self._thread:
            self._thread.join()

    def waiting(self) -> int:
        """Return the number of queued jobs."""
        return self._jobs.qsize()

    def silence(self) -> float:
        """Return the seconds since the writer last took a job or checked for one."""
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

    def _do(self, name: str, job: Job, future: Future[Any] | None) -> None:
        if future is not None:
            complete(name, job, future)
            return
        attempt(name, job, self.health, log_content=self._log_content)


def complete(name: str, job: Job, future: Future[Any]) -> None:
    """Run the job, and set its result or error; do nothing if `future` was cancelled."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(job())
    except Exception as fault:  # noqa: BLE001
        error = fault if isinstance(fault, EngramError) else unexpected(name, fault)
        future.set_exception(error)


def in_new_thread(name: str, job: Job) -> Future[Any]:
    """Run a job that mostly waits in a new daemon thread."""
    future: Future[Any] = Future()
    threading.Thread(
        target=complete, args=(name, job, future), name=name, daemon=True
    ).start()
    return future


class DaemonThreads:
    """The writer, the workers and the timers of one daemon.

    `places` limits model calls; the daemons of one process share it.
    """

    attended = True

    def __init__(self, settings: Settings, places: ModelPlaces | None = None) -> None:
        self._vault = settings.vault_id
        self._places = places
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
        self._runs_end = False

    # -- life --------------------------------------------------------------------------

    def start(self, background: Background, between: Job) -> None:
        """Start the threads and timers; the writer calls `between` between its jobs."""
        self._background = background
        self.writer.start(between)
        self._start_thread("tend", self._maintain, background)
        for number in range(self.policy.workers):
            self._start_thread(f"model-{number}", self._distil, background)
        if self._embeds:
            self._start_thread("embed", self._embed, background)
        self._scheduler.start()

    def end_runs(self) -> None:
        """Give up the maintenance run that is being planned, and each later one."""
        self._runs_end = True

    def stop_timers(self) -> None:
        """Stop all timers."""
        self._scheduler.shutdown(wait=False)

    def stop(self) -> None:
        """End the workers, and the writer when its queue is empty."""
        self._stopping = True
        self._embedding_due.set()
        self._maintenance_due.set()
        for _ in range(self.policy.workers):
            self._batches.put(None)
        self.writer.stop()

    def batches_waiting(self) -> int:
        """Return the number of batches that wait for a model worker."""
        return self._batches.qsize()

    # -- the executor of the memory ----------------------------------------------------

    def turns_arrived(self) -> None:
        """Check for due batches, once the daemon has started."""
        if self._background:
            self._background.turns_arrived()

    def run_as_writer(self, job: Callable[[], T]) -> T:
        """Run `job` in the writer thread and return its result."""
        future: Future[T] = self.writer.submit("consolidate", job)
        return future.result()

    def waiting_work(self, *, gives_way: bool) -> str:
        """Return why a long job of the writer must end now, or ''."""
        if self._runs_end:
            return "the daemon is stopping"
        return "other work waits" if gives_way and self.writer.waiting() else ""

    def model_place(self) -> AbstractContextManager[None]:
        """Return a context that occupies a place for a model call of this vault."""
        return self._places.held(self._vault) if self._places else nullcontext()

    # -- the runner of `Background` ----------------------------------------------------

    def now(self) -> datetime:
        """Return the time by which timers are set."""
        return datetime.now(UTC)

    def post(self, name: str, job: Job) -> None:
        """Queue a job for the writer that no request waits for."""
        self.writer.post(name, job)

    def call_later(self, seconds: float, job: Job) -> None:
        """Call `job` after `seconds`."""
        run_date = self.now() + timedelta(seconds=seconds)
        self._scheduler.add_job(job, "date", run_date=run_date)

    def call_at(self, when: datetime, name: str, job: Job) -> None:
        """Call `job` at `when`; this replaces an earlier timer of the same `name`."""
        self._scheduler.add_job(
            job, "date", run_date=when, id=name, replace_existing=True
        )

    def call_every(self, seconds: float, name: str, job: Job) -> None:
        """Call `job` every `seconds`."""
        self._scheduler.add_job(job, "interval", seconds=seconds, id=f"every {name}")

    def distil(self, batch: Batch) -> None:
        """Pass the batch to the model workers."""
        self._batches.put(batch)

    def maintain(self) -> None:
        """Wake the thread that makes maintenance runs."""
        self._maintenance_due.set()

    def embed(self) -> None:
        """Wake the thread that makes vectors."""
        self._embedding_due.set()

    def read(self, name: str, job: Job) -> None:
        """Run the job in a thread of its own; its errors are ignored."""
        in_new_thread(name, job)

    # -- threads -----------------------------------------------------------------------

    @staticmethod
    def _start_thread(
        name: str, target: Callable[[Background], None], background: Background
    ) -> None:
        threading.Thread(
            target=target, args=(background,), name=name, daemon=True
        ).start()

    def _distil(self, background: Background) -> None:
        """Run a model worker, which extracts the candidates of batches."""
        while (batch := self._batches.get()) is not None and not self._stopping:
            background.distil(batch)

    def _embed(self, background: Background) -> None:
        """Run the embedding worker; recall does not wait for it."""
        while self._embedding_due.wait() and not self._stopping:
            self._embedding_due.clear()
            background.embed()

    def _maintain(self, background: Background) -> None:
        """Run the maintenance worker, which makes the due runs."""
        while self._maintenance_due.wait() and not self._stopping:
            self._maintenance_due.clear()
            background.maintain()
