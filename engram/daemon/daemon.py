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
import select
import signal
import sys
import time
from concurrent.futures import Future, wait
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from engram.daemon import sockets
from engram.daemon.background import Background
from engram.daemon.threads import DaemonThreads, aside
from engram.errors import (
    ConfigError,
    LockedError,
)
from engram.memory import Memory
from engram.operations.table import named
from engram.vault.watcher import Watcher

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence

    from engram.config import Settings

    Job = Callable[[], Any]
    Serve = Callable[["Daemon", Settings, Sequence[socket.socket]], "SocketServer"]

log = logging.getLogger("engram.daemon")

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


class Daemon:
    """One life of the daemon, from READY to STOPPING. `memory` is started."""

    def __init__(
        self,
        memory: Memory,
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
        self._server = serve(self, settings, listeners)
        self.background = Background(memory, threads, self.writer.health)
        self._watch = Watcher(
            settings.vault, self.background.changed, settings.policy.files
        )
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
        gone = not self.memory.vault.is_present
        return {
            **self.writer.health.problems(),
            **({"vault": "the vault is gone"} if gone else {}),
        }

    def replaced(self) -> bool:
        """Whether another vault stands at the path of ours; a path that is empty waits
        for ours to come back.
        """
        return self.memory.vault.was_exchanged and os.access(
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
            "batches_waiting": self.threads.batches_waiting(),
            "degraded": faults,
            "degraded_count": len(faults),
        }

    # -- life --------------------------------------------------------------------------

    def start(self) -> None:
        """Listen, say READY, then read the vault and begin all other work."""
        self.threads.start(self.background, self.memory.between)
        self._server.start()
        sockets.notify("READY=1", f"STATUS={self.summary()}")
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
        self.threads.stop_timers()
        wait(
            [aside("flush", self.memory.pipeline.flush_waiting)],
            max(0.0, last - time.monotonic()),
        )
        self.background.stopping = True
        self.threads.stop()
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
            memory, threads = _opened(settings, listeners, signals, load)
            settings = memory.settings
            daemon = Daemon(memory, threads, serve, listeners.open(settings))
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
) -> tuple[Memory, DaemonThreads]:
    """The started memory and its threads; a command that holds the vault is waited for, another daemon
    refuses at once.
    """
    policy = settings.policy.serve
    last = time.monotonic() + policy.lock_seconds
    while True:
        threads = DaemonThreads(settings)
        memory = Memory(settings, executor=threads)
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
            return memory, threads


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
