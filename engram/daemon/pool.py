"""Many vaults in one process: each is opened on demand and closed when idle.

The vaults are the folders of one directory. A closed vault uses no thread and no
memory; it is opened for a request, and when its own maintenance is due. A vault that
cannot be opened does not affect the others.

With the index in PostgreSQL several daemons may serve one folder (`X15`). Each vault is
open in one of them, and its work is done there; what is due after its daemon died is
done by the daemon that opens the vault next.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from engram.daemon import sockets
from engram.daemon.daemon import Daemon, SignalWatcher, start_log
from engram.daemon.threads import DaemonThreads, ModelPlaces
from engram.errors import (
    BusyError,
    EngramError,
    MisdirectedError,
    NotFoundError,
    unexpected,
)
from engram.memory import VaultMemory
from engram.vault.template import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from engram.config import Settings
    from engram.core.policy import ServePolicy
    from engram.daemon.daemon import Serve

log = logging.getLogger("engram.pool")
OPENERS = 4
"""Number of vaults that are opened or closed concurrently."""
AT_ONCE = 4 * OPENERS
"""Maximum number of shared vaults that are opened for due work at once."""
WARM_SECONDS, WARM_LOOK = 5.0, 0.005
"""Seconds that a request waits until the vault that it opens is read."""


class PoolListener(Protocol):
    """The server in front of a pool."""

    @property
    def beat(self) -> float:
        """The monotonic time at which its event loop last ran."""

    def start(self) -> None:
        """Start to answer requests."""

    def follow(self) -> None:
        """Listen for the vaults that the pool has now."""

    def stop(self) -> None:
        """Finish the current requests and close the sockets."""


class PooledVault:
    """One folder of a pool. `daemon` is None while the vault is closed.

    `users` counts the requests in progress; `fault` is the reason why the vault could
    not be opened, and it is tried again after `retry_at`. Times are monotonic seconds,
    except `wake_at`, the time at which maintenance is due.
    """

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.folder = folder
        self.settings = settings
        self.lock = threading.Lock()
        self.daemon: Daemon | None = None
        self.server: Any = None
        self.users = 0
        self.used_at = 0.0
        self.fault: EngramError | None = None
        self.retry_at = 0.0
        self.wake_at = datetime.min.replace(tzinfo=UTC)


class VaultPool:
    """The vaults below the folder `root`.

    `load` reads the settings of a folder. `serve`, which the server sets before it
    starts, makes the server of an opened vault. `due` is given if other daemons may
    open the vaults: it returns those with due work and no owner, by `rows_name`.
    Methods may be called from any thread; `acquire` may take a long time.
    """

    def __init__(
        self,
        root: Path,
        load: Callable[[Path], Settings],
        policy: ServePolicy,
        due: Callable[[Sequence[str], int], list[str]] | None = None,
    ) -> None:
        self.root = root
        self.policy = policy
        self._shared_due = due
        self._fault = ""
        self._load = load
        self._vaults: dict[Path, PooledVault] = {}
        self._broken: dict[Path, str] = {}
        self._lock = threading.Lock()
        self._openers = ThreadPoolExecutor(OPENERS, "opener")
        self._model_places = ModelPlaces(policy.model_places)
        self._waking: set[Path] = set()
        self._stopping = False
        self.serve: Serve | None = None
        self.scan()

    # -- folders -----------------------------------------------------------------------

    def vaults(self) -> list[PooledVault]:
        """Return the vaults, ordered by folder."""
        with self._lock:
            return list(self._vaults.values())

    def scan(self) -> None:
        """Add new folders, and remove those that no longer exist."""
        try:
            found = {
                self.root / entry.name
                for entry in os.scandir(self.root)
                if entry.is_dir(follow_symlinks=False)
                and os.access(f"{entry.path}/{SETTINGS}", os.F_OK)
            }
        except OSError as fault:
            log.warning("the folder of the vaults cannot be read: %s", fault.strerror)
            return
        for folder in sorted(found - self._vaults.keys()):
            self._take_in(folder)
        for folder in [*self._vaults]:
            if folder not in found:
                with self._lock:
                    removed = self._vaults.pop(folder)
                log.info("vault %s is gone", folder.name)
                self._openers.submit(self._close, removed)
        self._broken = {one: why for one, why in self._broken.items() if one in found}

    def _take_in(self, folder: Path) -> None:
        try:
            settings = replace(self._load(folder), tcp_port=None)
        except EngramError as fault:
            if self._broken.get(folder) != str(fault):
                log.warning("vault %s is not served: %s", folder.name, fault)
            self._broken[folder] = str(fault)
            return
        self._broken.pop(folder, None)
        with self._lock:
            self._vaults[folder] = PooledVault(folder, settings)

    # -- requests ----------------------------------------------------------------------

    def acquire_open(self, vault: PooledVault) -> Any:
        """Return the server of a vault that is open, else None; never waits.

        `release` must follow if it is not None.
        """
        if not vault.lock.acquire(blocking=False):
            return None
        try:
            if vault.daemon is None or vault.daemon.memory.store.lost:
                return None
            vault.users += 1
            return vault.server
        finally:
            vault.lock.release()

    def acquire(self, vault: PooledVault) -> Any:
        """Open a vault if it is closed, and return its server; `release` must follow.

        Raises EngramError if it cannot be opened, MisdirectedError if another daemon
        has it, BusyError if too many are open.
        """
        with vault.lock:
            if vault.daemon is not None and vault.daemon.memory.store.lost:
                self._end(vault, vault.daemon)
            if vault.daemon is None:
                self._open(vault)
            vault.users += 1
            return vault.server

    def release(self, vault: PooledVault) -> None:
        """End the use of a vault."""
        with vault.lock:
            vault.users -= 1
            vault.used_at = time.monotonic()

    # -- open and close ----------------------------------------------------------------

    def _open(self, vault: PooledVault) -> None:
        if vault.fault and time.monotonic() < vault.retry_at:
            raise vault.fault
        if self._stopping or vault.folder not in self._vaults:
            raise NotFoundError(
                "the vault is gone",
                where=str(vault.folder),
                fix="Check whether its folder was moved or deleted.",
            )
        self._make_room()
        try:
            self._start(vault)
        except EngramError as fault:
            self._cannot_open(vault, fault)
            raise
        except Exception as surprise:  # raised again as an error for the caller
            error = unexpected("open", surprise)
            self._cannot_open(vault, error)
            raise error from surprise
        vault.fault = None

    def _cannot_open(self, vault: PooledVault, fault: EngramError) -> None:
        """Record the fault for the requests of the next seconds; log it once.

        The owner of a vault is not recorded, because it may change at any time.
        """
        if isinstance(fault, MisdirectedError):
            return
        if vault.fault is None:
            log.warning("vault %s cannot be opened: %s", vault.folder.name, fault)
        vault.fault = fault
        vault.retry_at = time.monotonic() + self.policy.broken_seconds

    def _start(self, vault: PooledVault) -> None:
        settings = replace(self._load(vault.folder), tcp_port=None)
        threads = DaemonThreads(settings, self._model_places)
        memory = VaultMemory(settings, executor=threads)
        memory.start()
        try:
            assert self.serve is not None
            daemon = Daemon(memory, threads, self.serve, ())
            daemon.start()
        except BaseException:
            memory.close()
            raise
        vault.settings, vault.daemon, vault.server = settings, daemon, daemon.server
        vault.used_at = time.monotonic()
        # Reading a closed vault takes a moment: wait, so that the answer is complete.
        last = time.monotonic() + WARM_SECONDS
        while not memory.ready and time.monotonic() < last:
            time.sleep(WARM_LOOK)
        log.info("opened vault %s", vault.folder.name)

    def _make_room(self) -> None:
        """Close the vault that was unused for the longest time, if too many are open."""
        opened = [one for one in self.vaults() if one.daemon is not None]
        if len(opened) < self.policy.open_vaults:
            return
        for vault in sorted(opened, key=lambda one: one.used_at):
            if vault.users == 0 and self._close(vault, only_unused=True):
                return
        raise BusyError(
            "too many vaults are in use", retry_after=1, fix="Try again in a moment."
        )

    def _close(self, vault: PooledVault, *, only_unused: bool = False) -> bool:
        """Close a vault; return False if it is in use, or being opened or closed."""
        if not vault.lock.acquire(timeout=0.0 if only_unused else -1):
            return False
        try:
            if vault.daemon is None or (only_unused and vault.users):
                return False
            self._end(vault, vault.daemon)
            return True
        finally:
            vault.lock.release()

    def _end(self, vault: PooledVault, daemon: Daemon) -> None:
        vault.daemon, vault.server = None, None
        try:
            with suppress(EngramError):  # the vault may be lost
                vault.wake_at = daemon.memory.store.due = daemon.next_due()
            daemon.stop()
            log.info("closed vault %s", vault.folder.name)
        except Exception as fault:  # noqa: BLE001  # other vaults go on
            error = fault if isinstance(fault, EngramError) else type(fault).__name__
            log.warning("vault %s did not close: %s", vault.folder.name, error)

    # -- regular work ------------------------------------------------------------------

    def look(self) -> None:
        """Add new folders, close idle vaults, and open those with due work."""
        self.scan()
        for vault in self._due():
            self._wake(vault)
        now = time.monotonic()
        for vault in self.vaults():
            daemon = vault.daemon
            if daemon is None:
                continue
            if daemon.replaced():
                self._openers.submit(self._close, vault)
            elif not vault.users and now - vault.used_at > self.policy.idle_seconds:
                self._openers.submit(self._close_if_idle, vault)

    def _due(self) -> list[PooledVault]:
        """Return the closed vaults with due work, of shared ones those without owner."""
        now, clock, vaults = time.monotonic(), datetime.now(UTC), self.vaults()
        closed = [one for one in vaults if one.daemon is None and now >= one.retry_at]
        if self._shared_due is None:
            return [vault for vault in closed if vault.wake_at <= clock]
        in_use = sum(vault.users > 0 for vault in vaults) + len(self._waking)
        places = max(0, min(AT_ONCE, self.policy.open_vaults - in_use))
        names = {vault.settings.rows_name: vault for vault in closed}
        fault, due = "", []
        try:
            due = self._shared_due([*names], places)
        except EngramError as error:
            fault = str(error)
            if fault != self._fault:
                log.warning("due work cannot be read from the database: %s", fault)
        self._fault = fault
        return [names[name] for name in due]

    def _wake(self, vault: PooledVault) -> None:
        """Open a vault for its own work; it is closed when the work is done."""
        with self._lock:
            if vault.folder in self._waking:
                return
            self._waking.add(vault.folder)

        def wake() -> None:
            try:
                with suppress(EngramError):
                    self.acquire(vault)
                    self.release(vault)
                    # no request waits: close it as soon as its work is done
                    vault.used_at -= self.policy.idle_seconds
            finally:
                with self._lock:
                    self._waking.discard(vault.folder)

        self._openers.submit(wake)

    def _close_if_idle(self, vault: PooledVault) -> None:
        daemon = vault.daemon
        if daemon is None:
            return
        if daemon.is_idle():
            self._close(vault, only_unused=True)
        else:
            daemon.background.turns_arrived()  # due work need not wait for its timer

    def reload(self) -> None:
        """Close every vault, so that it is opened with a fresh configuration."""
        for vault in self.vaults():
            self._openers.submit(self._close, vault)

    def stop(self) -> None:
        """Close every vault; no acknowledged turn is lost."""
        self._stopping = True
        for vault in self.vaults():
            self._openers.submit(self._close, vault)
        self._openers.shutdown(wait=True)

    def summary(self) -> str:
        """Return one line for `systemctl status`."""
        vaults = self.vaults()
        opened = sum(one.daemon is not None for one in vaults)
        broken = sum(one.fault is not None for one in vaults) + len(self._broken)
        more = f", {broken} broken" if broken else ""
        return f"{len(vaults)} vaults, {opened} open{more}"


def run(pool: VaultPool, server: PoolListener) -> None:
    """Serve the vaults of a pool until SIGTERM or SIGINT; SIGHUP reloads settings."""
    start_log()
    signals = SignalWatcher()
    server.start()
    server.follow()
    log.info("serving %s", pool.summary())
    sockets.notify("READY=1", f"STATUS={pool.summary()}")
    interval = min(sockets.watchdog_seconds() / 2, pool.policy.pool_look_seconds)
    while signals.request != "stop":
        signals.wait(interval)
        if signals.request == "reload":
            signals.request = ""
            sockets.notify_reloading()
            pool.reload()
            sockets.notify("READY=1")
        pool.look()
        server.follow()
        alive = time.monotonic() - server.beat < pool.policy.silent_seconds
        sockets.notify(*["WATCHDOG=1"] * alive, f"STATUS={pool.summary()}")
    sockets.notify("STOPPING=1", "STATUS=finishing what is in hand")
    server.stop()
    pool.stop()
    log.info("stopped")
