"""The daemon: one memory with its server, its threads and its watcher.

Start: lock, journal replay, listen, READY, warm-up. Requests that only read, and
`observe`, run in the threads of the server. Every change of the vault is a job of the
one writer. Workers call the models and pass the outcome to the writer.

Stop: refuse new requests, extract from waiting turns as far as the time allows, run the
queued jobs of the writer, close the memory. Turns that are still waiting stay in the
journal.
"""

from __future__ import annotations

import logging
import os
import select
import signal
import sys
import time
from concurrent.futures import Future, wait
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from engram.daemon import sockets
from engram.daemon.background import Background
from engram.daemon.threads import DaemonThreads, in_new_thread
from engram.errors import (
    ConfigError,
    LockedError,
)
from engram.memory import VaultMemory
from engram.operations.table import named
from engram.vault.watcher import Watcher

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from engram.config import Settings

    Job = Callable[[], Any]
    Serve = Callable[["Daemon", Settings, Sequence[socket.socket]], "SocketServer"]

log = logging.getLogger("engram.daemon")

PRIORITIES = (
    (logging.CRITICAL, 2),
    (logging.ERROR, 3),
    (logging.WARNING, 4),
    (logging.INFO, 6),
    (0, 7),
)
"""The syslog priority for each minimum level of the log."""

UNREAD_FAULTS = frozenset(("warm-up", "rescan", "vault"))
"""Faults during which the index may differ from the vault."""


class SocketServer(Protocol):
    """The server on the sockets."""

    @property
    def beat(self) -> float:
        """The monotonic time at which its event loop last ran."""

    def start(self) -> None:
        """Start to answer requests."""

    def stop(self) -> None:
        """Finish the current requests and close the sockets."""


class Daemon:
    """The daemon of a started `memory`, from `start` to `stop`."""

    def __init__(
        self,
        memory: VaultMemory,
        threads: DaemonThreads,
        serve: Serve,
        listeners: Sequence[socket.socket],
    ) -> None:
        settings = memory.settings
        self.memory = memory
        self.settings = settings
        self.policy = settings.policy.serve
        self.threads = threads
        self.writer = threads.writer
        self.server = serve(self, settings, listeners)
        self.background = Background(memory, threads, self.writer.health)
        self._watch = Watcher(
            settings.vault,
            self.background.files_changed,
            settings.policy.files,
            settings.leave_out,
        )
        self._began = time.monotonic()

    # -- requests ----------------------------------------------------------------------

    def call(
        self, name: str, params: dict[str, Any], standing: str = "chat"
    ) -> dict[str, Any] | Future[dict[str, Any]]:
        """Carry out an operation in the thread of the caller.

        For an operation that writes, or waits for a model, a future is returned.
        """
        if not self.memory.ready:
            self.background.check_batches()  # this reads a damaged vault again
        operation = named(name)
        job = partial(self.memory.call, name, params, standing)
        if operation.writes:
            return self.writer.submit(name, job)
        if operation.waits:
            return in_new_thread(name, job)
        result = job()
        if "complete" in result and self.unready():
            result["complete"] = False
        return result | {"daemon": self.state()} if name == "status" else result

    def unready(self) -> str:
        """Return why an answer may be incomplete, or ''."""
        if not UNREAD_FAULTS.isdisjoint(self.faults()):
            return "the index is behind the vault; `engram status` tells why"
        return "" if self.memory.ready else "the vault is still being read"

    def faults(self) -> dict[str, str]:
        """Return the failing background work by name, and whether the vault is missing."""
        is_missing = not self.memory.vault.is_present
        return {
            **self.writer.health.problems(),
            **({"vault": "the vault is gone"} if is_missing else {}),
        }

    def replaced(self) -> bool:
        """Return whether the vault has to be reopened.

        That is so if another vault is at its path, or another process has acquired it.
        While nothing is at the path, the daemon waits for the vault.
        """
        exchanged = self.memory.vault.was_exchanged and os.access(
            self.settings.vault / "engram.toml", os.F_OK
        )
        return exchanged or self.memory.index.catalog.database.lost

    def state(self) -> dict[str, Any]:
        """Return the state of the daemon for `status`."""
        faults = self.faults()
        return {
            "pid": os.getpid(),
            "uptime_seconds": round(time.monotonic() - self._began, 1),
            "queue": self.writer.waiting(),
            "writer_silent_seconds": round(self.writer.silence(), 1),
            "batches_waiting": self.threads.batches_waiting(),
            "degraded": faults,
            "degraded_count": len(faults),
        }

    # -- life --------------------------------------------------------------------------

    def start(self) -> None:
        """Start to answer requests, then start the background work."""
        self.threads.start(self.background, self.memory.between_operations)
        self.server.start()
        # start before the vault is read, so that no edit is missed
        self._watch.start()
        self.background.start()

    def stop(self) -> None:
        """Stop within about `stop_seconds`; no acknowledged turn is lost."""
        last = time.monotonic() + self.policy.stop_seconds
        self.threads.end_runs()
        self.server.stop()
        self._watch.stop()
        self.threads.stop_timers()
        wait(
            [in_new_thread("flush", self.memory.pipeline.flush_waiting)],
            max(0.0, last - time.monotonic()),
        )
        self.background.stopping = True
        self.threads.stop()
        self.memory.close()

    def alive(self) -> bool:
        """Return whether the server answers and the writer works.

        systemd's watchdog is notified only then.
        """
        silent = time.monotonic() - self.server.beat
        return (
            silent < self.policy.silent_seconds
            and self.writer.silence() < self.policy.stall_seconds
        )

    def is_idle(self) -> bool:
        """Return whether no work is queued, in progress or due."""
        memory = self.memory
        if not memory.ready or memory.queue.is_busy() or self.writer.waiting():
            return False
        return self.threads.batches_waiting() == 0 and self.next_due() > memory.clock()

    def next_due(self) -> datetime:
        """Return the time of the next background work, including retries."""
        extract = self.memory.pipeline.next_due()
        due = self.threads.run_as_writer(self.memory.maintenance_loop.next_due)
        return min(extract, due) if extract else due

    def summary(self) -> str:
        """Return one line for `systemctl status`."""
        state = self.unready() or "ready"
        faults = ", ".join(self.faults())
        return f"{state}, {self.writer.waiting()} jobs" + (
            f", degraded: {faults}" if faults else ""
        )


class SignalWatcher:
    """Receives signals. `request` is '' at first, then 'stop' or 'reload'."""

    def __init__(self) -> None:
        self.request = ""
        self._read_end, self._write_end = os.pipe()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._receive)

    def wait(self, seconds: float) -> None:
        """Sleep for `seconds`, or until the next signal."""
        if select.select([self._read_end], [], [], seconds)[0]:
            os.read(self._read_end, 16)

    def _receive(self, number: int, _frame: object) -> None:
        if number != signal.SIGHUP:
            self.request = "stop"
        elif self.request != "stop":
            self.request = "reload"
        os.write(self._write_end, b".")


def run(load: Callable[[], Settings], serve: Serve) -> None:
    """Serve until SIGTERM or SIGINT; on SIGHUP start again with a fresh configuration.

    The sockets stay open in between, so that callers wait and are not refused. Raises
    ConfigError, NotFoundError, LockedError or StorageError if it cannot start.
    """
    start_log()
    signals = SignalWatcher()
    settings = load()
    with sockets.Listeners() as listeners:
        while signals.request != "stop":
            memory, threads = _opened(settings, listeners, signals, load)
            settings = memory.settings
            daemon = Daemon(memory, threads, serve, listeners.open(settings))
            daemon.start()
            sockets.notify("READY=1", f"STATUS={daemon.summary()}")
            log.info("serving vault %s", settings.vault_id)
            fresh = _serve(daemon, signals, load)
            if fresh is not None:
                sockets.notify_reloading()
            else:
                sockets.notify("STOPPING=1", "STATUS=finishing current work")
                listeners.close()  # from now on commands see that no daemon runs
            daemon.stop()
            settings = fresh or settings
    log.info("stopped")


def start_log() -> None:
    """Log to standard error, without the lines of libraries for each job and request."""
    logging.basicConfig(level=logging.INFO, handlers=[log_handler()])
    logging.getLogger("apscheduler").setLevel(logging.ERROR)
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # it logs complete URLs


def log_handler() -> logging.Handler:
    """Return the handler that writes the log to standard error.

    If standard error is the journal, each line begins with its priority.
    """
    handler = logging.StreamHandler(sys.stderr)
    words = "%(levelname)s %(name)s: %(message)s"
    is_journal = sockets.is_journal(sys.stderr.fileno())
    kind = JournalFormatter if is_journal else logging.Formatter
    handler.setFormatter(kind(words))
    return handler


class JournalFormatter(logging.Formatter):
    """Begins each line with a priority of syslog, as `<4>`, which journald reads."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as text, with all lines of a traceback."""
        priority = next(
            number for level, number in PRIORITIES if record.levelno >= level
        )
        lines = super().format(record).splitlines()
        return "\n".join(f"<{priority}>{line}" for line in lines)


def _opened(
    settings: Settings,
    listeners: sockets.Listeners,
    signals: SignalWatcher,
    load: Callable[[], Settings],
) -> tuple[VaultMemory, DaemonThreads]:
    """Return the started memory and its threads.

    Waits while a command has the vault open. Raises LockedError at once if another
    daemon has it open.
    """
    policy = settings.policy.serve
    last = time.monotonic() + policy.lock_seconds
    while True:
        threads = DaemonThreads(settings)
        memory = VaultMemory(settings, executor=threads)
        try:
            memory.start()
        except LockedError:
            if (
                signals.request == "stop"
                or time.monotonic() > last
                or listeners.is_used_elsewhere(settings)
            ):
                raise
            signals.wait(policy.lock_look_seconds)
            settings = load()  # another vault may have acquired a free state
        else:
            return memory, threads


def _serve(
    daemon: Daemon, signals: SignalWatcher, load: Callable[[], Settings]
) -> Settings | None:
    """Notify the watchdog until a signal arrives.

    Returns the settings to start again with, or None to stop.
    """
    interval = min(sockets.watchdog_seconds() / 2, daemon.policy.beat_seconds)
    notified = ""
    while signals.request != "stop":
        signals.wait(interval)
        summary = f"STATUS={daemon.summary()}"
        lines = ["WATCHDOG=1"] * daemon.alive() + [summary] * (summary != notified)
        notified = summary
        sockets.notify(*lines)
        if daemon.replaced():
            log.warning(
                "another folder is at %s now; starting again with it",
                daemon.settings.vault,
            )
            signals.request = signals.request or "reload"
        if signals.request == "reload":
            signals.request = ""
            try:
                return load()
            except ConfigError as fault:
                log.error("the configuration stays as it was: %s", fault)  # noqa: TRY400
    return None
