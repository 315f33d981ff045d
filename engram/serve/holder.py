"""A vault that this process holds and shares, and a copy of one that another holds.

Without a daemon the first process owns the vault. It answers the others on a socket of
its own; where it does not, they read a copy of its index.
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
"""How long a vault is held before its socket opens: most commands are over by then."""


class SharedMemory:
    """A memory of this process that answers others on a socket until `close`."""

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

        While one runs, what only reads is answered from the index as it is.
        """
        if self._busy.acquire(blocking=not reads(name)):
            try:
                return self.memory.call(name, params, standing)
            finally:
                self._busy.release()
        return self.memory.read(name, params, standing)

    def unready(self) -> str:
        """Return ''; the vault was read before it was shared."""
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
        """Open the socket; without it the others read a copy."""
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

    Nothing is written to the vault. What the other process has not put on disk yet is
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
            with suppress(EngramError):  # removed meanwhile: its turns are filed
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
            # whether the question of the day was asked is for the owner to record
            params = {**params, "with_question": False}
        return self._memory.read(name, params, standing)

    def close(self) -> None:
        """Delete the copy."""
        self._memory.close_copy()
        self._folder.cleanup()


def reads(name: str) -> bool:
    """Whether an operation changes nothing."""
    return named(name).reads


def socket_path(settings: Settings) -> Path:
    """Return the socket of a process that holds the vault and is no daemon."""
    return settings.socket.with_name("holder.sock")
