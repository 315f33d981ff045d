"""A vault that this process shares with others, and a copy of another's vault.

Without a daemon the first process owns the vault. It answers the others on a socket of
its own; if it does not, they read a copy of its index.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram.errors import EngramError
from engram.operations.table import named
from engram.vault import disk

if TYPE_CHECKING:
    from engram.config import Settings
    from engram.memory import VaultMemory
    from engram.serve.server import HttpServer

SHARE_SECONDS = 0.3
"""Seconds for which a vault is open before its socket opens.

Most commands end earlier.
"""


class SharedMemory:
    """A memory in this process that answers others on a socket until `close`."""

    def __init__(self, memory: VaultMemory) -> None:
        self.memory = memory
        self._path = socket_path(memory.settings)
        self._busy = threading.RLock()
        self._changing = threading.Lock()
        self._server: HttpServer | None = None
        self._closed = False
        self._timer = threading.Timer(SHARE_SECONDS, self._listen)
        self._timer.daemon = True
        self._timer.start()

    def call(
        self, name: str, params: dict[str, Any], standing: str = "chat"
    ) -> dict[str, Any]:
        """Carry out an operation; only one at a time changes the vault.

        In the meantime operations that only read are answered from the index as it is.
        """
        if self._busy.acquire(blocking=not reads(name)):
            try:
                return self.memory.call(name, params, standing)
            finally:
                self._busy.release()
        return self.memory.read(name, params, standing)

    def unready(self) -> str:
        """Return '', because the vault was read before it was shared."""
        return ""

    def close(self) -> None:
        """Stop answering other processes, and release the vault."""
        self._timer.cancel()
        with self._changing:
            self._closed = True
            if self._server:
                self._server.stop()
                with suppress(EngramError):
                    disk.remove(self._path)
        with self._busy:
            self.memory.close()

    def _listen(self) -> None:
        """Open the socket; if that fails, the other processes read a copy."""
        from engram.daemon import sockets
        from engram.serve.server import HttpServer

        with self._changing, suppress(EngramError):
            if self._closed:
                return
            listener = sockets.listen_unix(self._path)
            server = HttpServer(self, self.memory.settings, [listener])
            server.start()
            self._server = server


class VaultCopy:
    """A memory that reads a copy of another process's index and journal.

    The vault is not written. Data that the other process has not written to disk is
    missing.
    """

    def __init__(self, settings: Settings) -> None:
        from tempfile import TemporaryDirectory

        from engram.index.database import copy_database
        from engram.memory import VaultMemory

        self._folder = TemporaryDirectory(prefix="engram-")
        own = Path(self._folder.name)
        cache, state = own / "cache", own / "state"
        copy_database(settings.cache, cache)
        for source in sorted((settings.state / "journal").glob("*")):
            disk.make_folders(state / "journal")
            with suppress(EngramError):  # it was removed because its turns are filed
                disk.write_derived(state / "journal" / source.name, disk.read(source))
        self._memory = VaultMemory(
            replace(settings, cache=cache, state=state, git=False, postgres="")
        )
        try:
            self._memory.open_copy()
        except BaseException:
            self._folder.cleanup()
            raise

    def call(self, name: str, params: dict[str, Any], standing: str) -> dict[str, Any]:
        """Answer an operation that only reads."""
        if name == "context":
            # only the owner records that the question of the day was asked
            params = {**params, "with_question": False}
        return self._memory.read(name, params, standing)

    def close(self) -> None:
        """Delete the copy."""
        self._memory.close_copy()
        self._folder.cleanup()


def reads(name: str) -> bool:
    """Return whether an operation changes nothing."""
    return named(name).reads


def socket_path(settings: Settings) -> Path:
    """Return the socket of a process, not a daemon, that has the vault open."""
    return settings.socket.with_name("holder.sock")
