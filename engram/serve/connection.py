"""Connections to a vault: through its daemon, or in this process.

Only the standard library is loaded as long as a daemon answers.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import closing, suppress

from engram.errors import LockedError
from engram.operations.table import named
from engram.serve import socket_client

TYPE_CHECKING = False  # loading typing would slow each program that imports this
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any, Protocol

    from engram import memory
    from engram.config import Settings

    class VaultConnection(Protocol):
        """A connection to a vault: to its daemon, or to a memory in this process."""

        def call(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
            """Carry out one operation."""

        def close(self) -> None:
            """Release the vault."""


LOCK_SECONDS, LOCK_LOOK_SECONDS = 10.0, 0.1
"""Seconds that a change waits for a locked vault, and that it pauses between tries."""


class DaemonVault:
    """The daemon of a vault.

    If it stops before it reads a request, the vault is opened for that call alone, so
    that the daemon can start again.
    """

    def __init__(self, settings: Settings, vault: Path | None, *, owner: bool) -> None:
        self.path = str(settings.socket)
        self.folder = str(settings.vault)
        self._vault = vault
        self._owner = owner

    def call(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        """Call the daemon; raise the EngramError of its answer."""
        try:
            return socket_client.call(
                self.path, name, params, owner=self._owner, folder=self.folder
            )
        except socket_client.AbsentError:
            with closing(connect(self._vault, owner=self._owner)) as opened:
                return opened.call(name, params)

    def close(self) -> None:
        """Do nothing: no connection is open between two calls."""


class OpenVault:
    """A vault that this process opens.

    While another process has it open, operations that only read are answered from its
    files and a snapshot of its index; others wait until it is released, or until a
    daemon that has started answers.
    """

    def __init__(self, settings: Settings, vault: Path | None, *, owner: bool) -> None:
        import threading

        self._settings = settings
        self._daemon = DaemonVault(settings, vault, owner=owner)
        self._standing = "owner" if owner else "chat"
        self._busy = threading.RLock()
        self._memory: memory.VaultMemory | None = None
        with suppress(LockedError):
            self._memory = embedded(settings)

    def call(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        """Carry out one operation; return the same JSON as a daemon.

        Only one at a time changes the vault; in the meantime operations that only read
        are answered from the index as it is. Raises LockedError if the vault stays
        locked.
        """
        reads = named(name).reads
        if self._busy.acquire(blocking=not reads or self._memory is None):
            try:
                opened = self._memory or self._try_again(waits=not reads)
                if opened is not None:
                    return _as_json(opened.call(name, params, self._standing))
                if socket_client.answers(self._daemon.path):
                    return self._daemon.call(name, params)
                return read_beside(self._settings, name, params, self._standing)
            finally:
                self._busy.release()
        assert self._memory is not None
        return _as_json(self._memory.read(name, params, self._standing))

    def close(self) -> None:
        """Release the vault."""
        with self._busy:
            if self._memory:
                self._memory.close()

    def _try_again(self, *, waits: bool) -> memory.VaultMemory | None:
        """Open the vault if it is released by now, or with `waits` until then.

        Return None if it stays locked, or if a daemon answers by now.
        """
        last = time.monotonic() + LOCK_SECONDS
        while self._memory is None and not socket_client.answers(self._daemon.path):
            try:
                self._memory = embedded(self._settings)
            except LockedError:
                if not waits:
                    break
                if time.monotonic() > last:
                    raise
                time.sleep(LOCK_LOOK_SECONDS)
        return self._memory


def read_beside(
    settings: Settings, name: str, params: dict[str, Any], standing: str
) -> dict[str, Any]:
    """Answer an operation that only reads, while another process has the vault open.

    The vault is read in place, its index and its journal as that process left them on
    disk. Nothing is written.
    """
    from dataclasses import replace
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from engram.errors import EngramError
    from engram.index.database import copy_database
    from engram.memory import VaultMemory
    from engram.vault import disk

    with TemporaryDirectory(prefix="engram-") as folder:
        cache, state = Path(folder, "cache"), Path(folder, "state")
        copy_database(settings.cache, cache)
        for source in sorted((settings.state / "journal").glob("*")):
            disk.make_folders(state / "journal")
            with suppress(EngramError):  # it was removed because its turns are filed
                disk.write_derived(state / "journal" / source.name, disk.read(source))
        beside = VaultMemory(
            replace(settings, cache=cache, state=state, git=False, postgres="")
        )
        beside.open_copy()
        if name == "context":
            # only the owner records that the question of the day was asked
            params = {**params, "with_question": False}
        try:
            return _as_json(beside.read(name, params, standing))
        finally:
            beside.close_copy()


def _as_json(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result as it is after its way through a socket."""
    return dict(json.loads(json.dumps(result)))


def connect(vault: Path | None, *, owner: bool = False) -> VaultConnection:
    """Connect to a vault: through its daemon if one answers, else in this process.

    `owner` is true for the owner's command line, false for a chatbot. Raises
    ConfigError, or NotFoundError if there is no vault.
    """
    from engram import config

    settings = config.load(vault, os.environ)
    if socket_client.answers(str(settings.socket)):
        return DaemonVault(settings, vault, owner=owner)
    return OpenVault(settings, vault, owner=owner)


def embedded(settings: Settings) -> memory.VaultMemory:
    """Return a memory in this process, ready for use; the caller closes it."""
    from engram.memory import VaultMemory

    opened = VaultMemory(settings)
    opened.start()
    try:
        opened.catch_up()
    except BaseException:
        opened.close()
        raise
    return opened
