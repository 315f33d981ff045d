"""The daemon: one memory, one writer, and everything that gives it work.

Start: lock → journal replay → listen → READY → warm-up. Requests that only read, and
turns coming in, run in the server's threads; every change of the vault is a job of the
one writer; models are asked by workers, who bring the outcome back to the writer. Stop:
no new requests, waiting turns distilled as far as the time allows, the writer's queue
emptied, the memory closed; what was not distilled stays in the journal.
"""

from __future__ import annotations

import logging
import os
import queue
import select
import signal
import sys
import threading
import time
from concurrent.futures import Future, wait
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from apscheduler.schedulers.background import BackgroundScheduler

from engram.daemon import sockets
from engram.daemon.background import Background, attempt
from engram.errors import (
    BusyError,
    ConfigError,
    EngramError,
    Health,
    LockedError,
    unexpected,
)
from engram.memory import Memory
from engram.operations.table import named
from engram.vault.watcher import Watcher

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence

    from engram.config import Settings
    from engram.core.policy import ServePolicy
    from engram.ingest.queue import Batch

    Job = Callable[[], Any]
    Serve = Callable[["Daemon", Settings, Sequence[socket.socket]], "SocketServer"]

log = logging.getLogger("engram.daemon.daemon")

BLINDING = frozenset(("warm-up", "rescan", "vault"))
"""Faults under which the daemon does not know what is in the vault."""


class SocketServer(Protocol):
    """What answers on the sockets; `beat` is the monotonic time of its last sign of
    life.
    """

    beat: float

    def start(self) -> None:
        """Begin to answer."""

    def stop(self) -> None:
        """Finish what is in hand and close the sockets."""


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
        between: Job | None = None,
        log_content: bool = False,
    ) -> None:
        self.policy = policy
        self._between = between
        self.health = Health()
        self._log_content = log_content
        self._jobs: queue.SimpleQueue[tuple[str, Job, Future[Any] | None] | None] = (
            queue.SimpleQueue()
        )
        self._since = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)

    def start(self) -> None:
        """Begin to work."""
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
        self._thread.join()

    def waiting(self) -> int:
        """How many jobs are in the queue."""
        return self._jobs.qsize()

    def silence(self) -> float:
        """Seconds since the writer last took a job or looked for one."""
        return time.monotonic() - self._since

    def _run(self) -> None:
        while True:
            self._since = time.monotonic()
            if self._between:
                self._do("between", self._between, None)
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


class Daemon:
    """One life of the daemon, from READY to STOPPING. `memory` is started."""

    def __init__(
        self, memory: Memory, serve: Serve, listeners: Sequence[socket.socket]
    ) -> None:
        settings = memory.settings
        self.memory = memory
        self.settings = settings
        self.policy = settings.policy.serve
        self.writer = WriterThread(
            self.policy, between=memory.between, log_content=settings.log_content
        )
        self._server = serve(self, settings, listeners)
        self.background = Background(memory, self, self.writer.health)
        self._watch = Watcher(
            settings.vault, self.background.changed, settings.policy.files
        )
        self._scheduler = BackgroundScheduler(
            timezone=UTC,
            executors={"default": {"type": "threadpool", "max_workers": 1}},
            job_defaults={
                "coalesce": True,
                "max_instances": 1,
                "misfire_grace_time": None,
            },
        )
        self._batches: queue.SimpleQueue[Batch | None] = queue.SimpleQueue()
        self._wordy = threading.Event()
        self._untidy = threading.Event()
        self._stopping = False
        self._began = time.monotonic()

    # -- what the server asks ----------------------------------------------------------

    def call(
        self, name: str, params: dict[str, Any], standing: str = "chat"
    ) -> dict[str, Any] | Future[dict[str, Any]]:
        """Carry out an operation in the caller's thread; one that waits for writer or
        workers is promised.
        """
        if not self.memory.ready:
            self.background.look()  # somebody has to read the vault again
        operation = named(name)
        job = partial(self.memory.call, name, params, standing)
        if operation.writes:
            return self.writer.ask(name, job)
        if operation.waits:
            return aside(name, job)
        result = job()
        if "complete" in result and self.unready():
            result["complete"] = False
        return result | {"daemon": self.state()} if name == "status" else result

    def unready(self) -> str:
        """Why an answer may be incomplete, or ''."""
        if not BLINDING.isdisjoint(self.faults()):
            return "the vault cannot be read"
        return "" if self.memory.ready else "the vault is still being read"

    def faults(self) -> dict[str, str]:
        """What the daemon cannot do now, by name; a vault that was moved away is told
        before anybody needs it.
        """
        gone = not self.memory.vault.stands_here
        return {
            **self.writer.health.problems(),
            **({"vault": "the vault is gone"} if gone else {}),
        }

    def replaced(self) -> bool:
        """Whether another vault stands at the path of ours; a path that is empty waits
        for ours to come back.
        """
        return self.memory.vault.replaced and os.access(
            self.settings.vault / "engram.toml", os.F_OK
        )

    def state(self) -> dict[str, Any]:
        """The daemon's own figures."""
        faults = self.faults()
        return {
            "pid": os.getpid(),
            "uptime_seconds": round(time.monotonic() - self._began, 1),
            "queue": self.writer.waiting(),
            "writer_silent_seconds": round(self.writer.silence(), 1),
            "batches_waiting": self._batches.qsize(),
            "degraded": faults,
            "degraded_count": len(faults),
        }

    # -- life --------------------------------------------------------------------------

    def start(self) -> None:
        """Listen, say READY, then read the vault and begin all other work."""
        self.writer.start()
        self.memory.on_turns = self.background.heard
        self.memory.maintenance_loop.as_writer = lambda job: self.writer.ask(
            "consolidate", job
        ).result()
        threading.Thread(target=self._tend, name="tend", daemon=True).start()
        for number in range(self.policy.workers):
            threading.Thread(
                target=self._distil, name=f"model-{number}", daemon=True
            ).start()
        if self.memory.embedding:
            threading.Thread(target=self._embed, name="embed", daemon=True).start()
        self._server.start()
        sockets.notify("READY=1", f"STATUS={self.summary()}")
        self._scheduler.start()
        # before the vault is read: what is edited meanwhile is told
        self._watch.start()
        self.background.start()

    def stop(self) -> None:
        """End in good order, about `stop_seconds` from now; nothing that was
        acknowledged is lost.
        """
        sockets.notify("STOPPING=1", "STATUS=finishing what is in hand")
        last = time.monotonic() + self.policy.stop_seconds
        self._server.stop()
        self._watch.stop()
        self._scheduler.shutdown(wait=False)
        wait(
            [aside("flush", self.memory.flush_waiting)],
            max(0.0, last - time.monotonic()),
        )
        self._stopping = self.background.stopping = True
        self._wordy.set()
        self._untidy.set()
        for _ in range(self.policy.workers):
            self._batches.put(None)
        self.writer.stop()
        self.memory.close()

    def alive(self) -> bool:
        """Whether the server answers and the writer gets on; only then is the watchdog
        fed.
        """
        silent = time.monotonic() - self._server.beat
        return (
            silent < self.policy.silent_seconds
            and self.writer.silence() < self.policy.stall_seconds
        )

    def summary(self) -> str:
        """One line for `systemctl status`."""
        state = self.unready() or "ready"
        faults = ", ".join(self.faults())
        return f"{state}, {self.writer.waiting()} jobs" + (
            f", degraded: {faults}" if faults else ""
        )

    # -- what carries the work out (`background.Runner`) -------------------------------

    def now(self) -> datetime:
        """The time by which timers are set."""
        return datetime.now(UTC)

    def post(self, name: str, job: Job) -> None:
        """Have the writer do a job of the daemon's own."""
        self.writer.post(name, job)

    def later(self, seconds: float, job: Job) -> None:
        """Call `job` in so many seconds."""
        self._scheduler.add_job(
            job, "date", run_date=self.now() + timedelta(seconds=seconds)
        )

    def at(self, when: datetime, name: str, job: Job) -> None:
        """Call `job` at `when` instead of at the time that was set under this name
        before.
        """
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
        """Wake the thread that puts the vault in order."""
        self._untidy.set()

    def embed(self) -> None:
        """Wake the thread that makes vectors."""
        self._wordy.set()

    # -- threads -----------------------------------------------------------------------

    def _distil(self) -> None:
        """A model worker: batches in, outcomes to the writer."""
        while (batch := self._batches.get()) is not None and not self._stopping:
            self.background.distil(batch)

    def _embed(self) -> None:
        """The embedding worker: recall does not wait for it."""
        while self._wordy.wait() and not self._stopping:
            self._wordy.clear()
            self.background.embed()

    def _tend(self) -> None:
        """The thread that puts the vault in order when that is due."""
        while self._untidy.wait() and not self._stopping:
            self._untidy.clear()
            self.background.tend()


class SignalWatcher:
    """What the process was told: '' while nothing, 'stop' or 'reload'."""

    def __init__(self) -> None:
        self.told = ""
        self._ear, self._mouth = os.pipe()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._hear)

    def wait(self, seconds: float) -> None:
        """Sleep, but no longer than until the next signal."""
        if select.select([self._ear], [], [], seconds)[0]:
            os.read(self._ear, 16)

    def _hear(self, number: int, _frame: object) -> None:
        self.told = (
            "stop" if self.told == "stop" or number != signal.SIGHUP else "reload"
        )
        os.write(self._mouth, b".")


def run(load: Callable[[], Settings], serve: Serve) -> None:
    """Serve until SIGTERM or SIGINT; on SIGHUP start over with the configuration as it
    is then.

    The sockets stay open in between, so that callers wait instead of being refused.
    Raises ConfigError, NotFoundError, LockedError or StorageError when it cannot start.
    """
    logging.basicConfig(
        level=logging.INFO,
        stream=sys.stderr,
        format="%(levelname)s %(name)s: %(message)s",
    )
    logging.getLogger("apscheduler").setLevel(logging.ERROR)
    signals = SignalWatcher()
    settings = load()
    with sockets.Listeners() as listeners:
        while signals.told != "stop":
            memory = _opened(settings, listeners, signals, load)
            settings = memory.settings
            daemon = Daemon(memory, serve, listeners.open(settings))
            daemon.start()
            log.info("serving vault %s", settings.vault_id)
            fresh = _serve(daemon, signals, load)
            daemon.stop()
            settings = fresh or settings
    log.info("stopped")


def _opened(
    settings: Settings,
    listeners: sockets.Listeners,
    signals: SignalWatcher,
    load: Callable[[], Settings],
) -> Memory:
    """The started memory; a command that holds the vault is waited for, another daemon
    refuses at once.
    """
    policy = settings.policy.serve
    last = time.monotonic() + policy.lock_seconds
    while True:
        memory = Memory(settings)
        try:
            memory.start()
        except LockedError:
            if (
                signals.told == "stop"
                or time.monotonic() > last
                or listeners.elsewhere(settings)
            ):
                raise
            signals.wait(policy.lock_look_seconds)
            settings = load()  # another vault may have taken a state that was free
        else:
            return memory


def _serve(
    daemon: Daemon, signals: SignalWatcher, load: Callable[[], Settings]
) -> Settings | None:
    """Feed the watchdog until told to stop (None) or to start over with other settings."""
    interval = min(sockets.watchdog_seconds() / 2, daemon.policy.beat_seconds)
    told = ""
    while signals.told != "stop":
        signals.wait(interval)
        summary = f"STATUS={daemon.summary()}"
        lines = ["WATCHDOG=1"] * daemon.alive() + [summary] * (summary != told)
        told = summary
        sockets.notify(*lines)
        if daemon.replaced():
            log.warning(
                "another folder stands at %s now; starting over with it",
                daemon.settings.vault,
            )
            signals.told = signals.told or "reload"
        if signals.told == "reload":
            signals.told = ""
            try:
                return load()
            except ConfigError as fault:
                log.error("the configuration stays as it was: %s", fault)  # noqa: TRY400
    return None
