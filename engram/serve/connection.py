"""Connections to a vault: through its daemon, in this process, or through its holder.

Only the standard library is loaded as long as a daemon answers.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import closing

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
"""Seconds that a change waits for a locked vault, and that it pauses between tries."""
COPY_SECONDS, ANSWER_SECONDS = 1.0, 3.0
"""Seconds to wait for a socket, and for an answer, before a copy is read."""


class RemoteVault:
    """The daemon behind a socket; it refuses calls for another folder than `folder`."""

    def __init__(
        self, path: str, folder: str | None = None, *, owner: bool = False
    ) -> None:
        self.path = path
        self.folder = folder
        self.owner = owner

    def call(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        """Call the daemon; raise the EngramError of its answer."""
        return socket_client.call(
            self.path, name, params, owner=self.owner, folder=self.folder
        )

    def close(self) -> None:
        """Do nothing: no connection is open between two calls."""


class DaemonVault(RemoteVault):
    """The daemon of a vault.

    If it stops before it reads a request, the vault is opened for that call alone, so
    that the daemon can start again.
    """

    def __init__(self, settings: Settings, vault: Path | None, *, owner: bool) -> None:
        super().__init__(str(settings.socket), str(settings.vault), owner=owner)
        self._vault = vault

    def call(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        """Carry out one operation."""
        try:
            return super().call(name, params)
        except socket_client.AbsentError:
            with closing(connect(self._vault, owner=self.owner)) as opened:
                return opened.call(name, params)


class LocalVault:
    """A memory in this process, which also answers other processes."""

    def __init__(self, opened: memory.VaultMemory, *, owner: bool) -> None:
        from engram.serve.holder import SharedMemory

        self._shared = SharedMemory(opened)
        self._standing = "owner" if owner else "chat"

    def call(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        """Carry out one operation; return the same JSON as a daemon."""
        return _as_json(self._shared.call(name, params, self._standing))

    def close(self) -> None:
        """Release the vault."""
        self._shared.close()


class HeldVault(RemoteVault):
    """A vault that another process, which is not a daemon, has open.

    That process answers on its socket. If it does not, operations that only read are
    answered from a copy, and other calls wait until it answers or releases the vault.
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
        """Release the vault, if this process has acquired it."""
        if self._instead:
            self._instead.close()

    def _asked(
        self, name: str, params: dict[str, Any], timeout: float | None
    ) -> dict[str, Any]:
        """Call the process that has the vault open."""
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
            return _as_json(copy.call(name, params, "owner" if self.owner else "chat"))
        finally:
            copy.close()


def _as_json(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result as it is after its way through a socket."""
    return dict(json.loads(json.dumps(result)))


def connect(vault: Path | None, *, owner: bool = False) -> VaultConnection:
    """Connect to a vault: through its daemon, in this process, or through its holder.

    `owner` is true for the owner's command line, false for a chatbot. Raises
    ConfigError, or NotFoundError if there is no vault.
    """
    from engram import config

    try:
        return _opened(vault, owner=owner)
    except LockedError:
        return HeldVault(config.load(vault, os.environ), vault, owner=owner)


def _opened(vault: Path | None, *, owner: bool) -> VaultConnection:
    """Connect to the daemon of a vault, or open it; LockedError if it is locked."""
    from engram import config

    settings = config.load(vault, os.environ)
    if socket_client.answers(str(settings.socket)):
        return DaemonVault(settings, vault, owner=owner)
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
