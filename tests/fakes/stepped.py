"""The real daemon in this process, on a clock that a test moves: it stands still until
all that is due is done.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from engram.daemon import sockets
from engram.daemon.daemon import Daemon
from engram.daemon.threads import DaemonThreads
from engram.memory import VaultMemory
from engram.serve import socket_client
from engram.serve.server import HttpServer

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from typing import Self

    from engram.config import Settings

PATIENCE = 60.0


class Bell(threading.Event):
    """The event that wakes the thread which puts the vault in order; it knows whether
    that sleeps.
    """

    def __init__(self) -> None:
        super().__init__()
        self._mine = threading.Lock()
        self.asleep = False

    def set(self) -> None:
        """Wake it."""
        with self._mine:
            self.asleep = False
            super().set()

    def wait(self, timeout: float | None = None) -> bool:
        """Sleep."""
        with self._mine:
            self.asleep = not self.is_set()
        return super().wait(timeout)


class SteppedThreads(DaemonThreads):
    """Threads of which a test can tell whether maintenance rests.

    A run does not give way to other work: the steps come one after another.
    """

    def __init__(self, settings: Settings, bell: Bell) -> None:
        super().__init__(settings)
        self._maintenance_due = bell

    def waiting_work(self, *, gives_way: bool) -> str:  # noqa: ARG002
        """Return why a run must end now, or ''."""
        return super().waiting_work(gives_way=False)

    def turns_arrived(self) -> None:
        """Look for batches; maintenance is looked at once they are filed."""
        if self._background:
            self._background.check_batches()


class SteppedDaemon:
    """A daemon with its threads, its socket and its watcher; only the time is told,
    with `step`.
    """

    def __init__(self, settings: Settings, now: datetime) -> None:
        self.settings = settings
        self.now = now

    def __enter__(self) -> Self:
        self._listeners = sockets.Listeners()
        self._listeners.__enter__()
        self._bell = Bell()
        threads = SteppedThreads(self.settings, self._bell)
        self.memory = VaultMemory(
            self.settings,
            executor=threads,
            clock=lambda: self.now,
            steady=self._seconds,
        )
        self.memory.start()
        self.daemon = Daemon(
            self.memory, threads, HttpServer, self._listeners.open(self.settings)
        )
        self.daemon.start()
        wait_for(lambda: self.memory.ready and self._bell.asleep)
        return self

    def _seconds(self) -> float:
        return self.now.timestamp()

    def __exit__(self, *_: object) -> None:
        self.daemon.stop()
        self._listeners.__exit__(None, None, None)

    def call(self, name: str, **params: Any) -> dict[str, Any]:
        """What a client asks for over the socket."""
        answer: dict[str, Any] = socket_client.call(
            str(self.settings.socket), name, params, timeout=PATIENCE
        )
        return answer

    def step(self, moment: datetime) -> None:
        """It is this time now; return when all that is due is done."""
        self.now = moment
        self.daemon.background.check_batches()
        self.settle()

    def settle(self) -> None:
        """Until nothing is in anybody's hands; then what is due is put in order."""
        self.rest()
        self._bell.set()
        self.rest()

    def rest(self) -> None:
        """Until nothing is in anybody's hands."""
        last = time.monotonic() + PATIENCE
        while True:
            self.daemon.writer.submit("rest", int).result()
            busy = (
                self.memory.queue.counts()["distilling_turns"]
                or self.daemon.writer.waiting()
            )
            if not busy and self._bell.asleep:
                return
            assert time.monotonic() < last, (
                self.daemon.state(),
                self.memory.health.problems(),
            )
            time.sleep(0.003)


def wait_for(ready: Callable[[], object]) -> None:
    """Wait for something to become true."""
    last = time.monotonic() + PATIENCE
    while not ready():
        assert time.monotonic() < last
        time.sleep(0.001)
