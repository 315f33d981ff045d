"""Connections to a vault: its daemon, this process, or the process that holds it.

Only the standard library is loaded as long as a daemon answers.
"""

from __future__ import annotations

import os
import time

from engram.errors import LockedError, UnavailableError
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
"""How long a change waits for a locked vault, and the pause between two tries."""
COPY_SECONDS, ANSWER_SECONDS = 1.0, 3.0
"""How long a question waits for a socket, and for an answer, before it asks a copy."""


class RemoteVault:
    """The daemon behind a socket; it refuses if it does not serve `folder`."""

    def __init__(
        self, path: str, folder: str | None = None, *, owner: bool = False
    ) -> None:
        self.path = path
        self.folder = folder
        self.owner = owner

    def call(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        """Ask the daemon; raise the EngramError that it answers with."""
        return socket_client.call(
            self.path, name, params, owner=self.owner, folder=self.folder
        )

    def close(self) -> None:
        """Do nothing: there is no connection between two calls."""


class LocalVault:
    """A memory in this process, which answers other processes too."""

    def __init__(self, opened: memory.VaultMemory, *, owner: bool) -> None:
        from engram.serve.holder import SharedMemory

        self._shared = SharedMemory(opened)
        self._standing = "owner" if owner else "chat"

    def call(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        """Carry out one operation."""
        return self._shared.call(name, params, self._standing)

    def close(self) -> None:
        """Release the vault."""
        self._shared.close()


class HeldVault(RemoteVault):
    """A vault that another process holds, which is no daemon.

    It answers on its socket. While it does not, what only reads is answered from a
    copy, and other calls wait until it answers or releases the vault.
    """

    def __init__(self, settings: Settings, vault: Path | None, *, owner: bool) -> None:
        from engram.serve.holder import socket_path

        path = str(socket_path(settings))
        super().__init__(path, str(settings.vault), owner=owner)
        self._settings = settings
        self._vault = vault
        self._instead: VaultConnection | None = None

    def call(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        """Carry out one operation; raise LockedError if the vault stays locked."""
        from engram.serve.holder import reads

        is_question = reads(name)
        last = time.monotonic() + (COPY_SECONDS if is_question else LOCK_SECONDS)
        while self._instead is None:
            try:
                return self._asked(
                    name, params, ANSWER_SECONDS if is_question else None
                )
            except socket_client.AbsentError:
                try:
                    self._instead = _opened(self._vault, owner=self.owner)
                except LockedError:
                    if time.monotonic() > last:
                        if is_question:
                            return self._from_copy(name, params)
                        raise
                    time.sleep(LOCK_LOOK_SECONDS)
            except UnavailableError:
                if not is_question:
                    raise
                return self._from_copy(name, params)
        return self._instead.call(name, params)

    def close(self) -> None:
        """Release the vault, where this process got it meanwhile."""
        if self._instead:
            self._instead.close()

    def _asked(
        self, name: str, params: dict[str, Any], timeout: float | None
    ) -> dict[str, Any]:
        """Ask the process that holds the vault."""
        return socket_client.call(
            self.path,
            name,
            params,
            timeout=timeout,
            owner=self.owner,
            folder=self.folder,
        )

    def _from_copy(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        from engram.serve.holder import VaultCopy

        copy = VaultCopy(self._settings)
        try:
            return copy.call(name, params, "owner" if self.owner else "chat")
        finally:
            copy.close()


def connect(vault: Path | None, *, owner: bool = False) -> VaultConnection:
    """Connect to a vault: to its daemon, to this process, or to the one that holds it.

    `owner` says that the caller is the owner's command line, not a chatbot. Raises
    ConfigError, or NotFoundError where there is no vault.
    """
    from engram import config

    try:
        return _opened(vault, owner=owner)
    except LockedError:
        return HeldVault(config.load(vault, os.environ), vault, owner=owner)


def _opened(vault: Path | None, *, owner: bool) -> VaultConnection:
    """Connect to the daemon of a vault, or open it; LockedError if it is held."""
    from engram import config

    settings = config.load(vault, os.environ)
    if socket_client.answers(path := str(settings.socket)):
        return RemoteVault(path, str(settings.vault), owner=owner)
    return LocalVault(embedded(settings), owner=owner)


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


class ClosedVault:
    """A vault that was released."""

    def call(self, name: str, _params: dict[str, Any]) -> dict[str, Any]:
        """Raise UnavailableError."""
        raise UnavailableError(
            "this memory was closed", where=name, fix="Open another: `Memory(folder)`."
        )

    def close(self) -> None:
        """Do nothing."""
