"""Sockets as systemd and the kernel hand them out: listening, activation, notification."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from engram.errors import StorageError, UnavailableError
from engram.vault import disk

if TYPE_CHECKING:
    from pathlib import Path

    from engram.config import Settings

FIRST_GIVEN = 3
"""The first descriptor that systemd passes to a unit started by its socket."""

BACKLOG = 128
LOOPBACK = "127.0.0.1"


class Listeners:
    """The listening sockets of a process: those it was given and those it opened; the
    latter go at the end.
    """

    def __init__(self) -> None:
        self._given = activated()
        self._own: dict[Path | int, socket.socket] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for place in list(self._own):
            self._close(place)

    def open(self, settings: Settings) -> list[socket.socket]:
        """Copies of all sockets for `settings`; what is open stays open, what is no
        longer asked for is closed.

        The caller holds the vault's lock, so a socket file in the way is a dead one.
        """
        families = {listener.family for listener in self._given}
        wanted: set[Path | int] = set()
        if socket.AF_UNIX not in families:
            wanted.add(settings.socket)
        if settings.tcp_port and socket.AF_INET not in families:
            wanted.add(settings.tcp_port)
        for place in set(self._own) - wanted:
            self._close(place)
        for place in wanted - set(self._own):
            self._own[place] = tcp(place) if isinstance(place, int) else unix(place)
        return [listener.dup() for listener in (*self._given, *self._own.values())]

    def elsewhere(self, settings: Settings) -> bool:
        """Whether another process listens on the vault's socket."""
        return (
            not self._given
            and settings.socket not in self._own
            and answered(settings.socket)
        )

    def _close(self, place: Path | int) -> None:
        self._own.pop(place).close()
        if not isinstance(place, int):
            disk.remove(place)


def activated() -> list[socket.socket]:
    """The sockets that systemd opened for this process; none if it was started
    otherwise.
    """
    if os.environ.pop("LISTEN_PID", "") != str(os.getpid()):
        return []
    count = int(os.environ.pop("LISTEN_FDS", "0"))
    os.environ.pop("LISTEN_FDNAMES", None)
    given = [
        socket.socket(fileno=descriptor)
        for descriptor in range(FIRST_GIVEN, FIRST_GIVEN + count)
    ]
    for listener in given:
        listener.set_inheritable(False)
    return given


def unix(path: Path) -> socket.socket:
    """Listen on a Unix socket, mode 0600 from its first moment, in a folder of mode
    0700.
    """
    disk.make_folders(path.parent)
    if path.parent.stat().st_mode & 0o077:
        raise StorageError(
            "other users may reach the socket's folder",
            where=str(path.parent),
            fix="chmod 700 it.",
        )
    disk.remove(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # the file takes the socket's own mode, so it is never open to others
    os.fchmod(listener.fileno(), 0o600)
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        # through the folder's descriptor: an address holds 107 bytes, a path may be
        # longer
        listener.bind(f"/proc/self/fd/{folder}/{path.name}")
        listener.listen(BACKLOG)
    except OSError as fault:
        listener.close()
        raise StorageError(
            "the socket cannot be made",
            where=f"{path}: {os.strerror(fault.errno or 0)}",
        ) from fault
    finally:
        os.close(folder)
    return listener


def answered(path: Path) -> bool:
    """Whether somebody listens on a Unix socket."""
    try:
        folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    except OSError:
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        # as `unix` binds it
        code = probe.connect_ex(f"/proc/self/fd/{folder}/{path.name}")
    os.close(folder)
    return code == 0


def tcp(port: int) -> socket.socket:
    """Listen on a port of this machine's loopback address."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
        listener.listen(BACKLOG)
    except OSError as fault:
        listener.close()
        raise UnavailableError(
            "the port cannot be opened",
            where=f"{port}: {os.strerror(fault.errno or 0)}",
            fix="Choose another port.",
        ) from fault
    return listener


def notify(*lines: str) -> None:
    """Tell systemd, if it listens: `READY=1`, `STATUS=…`, `WATCHDOG=1`, `STOPPING=1`."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address or not lines:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel, suppress(OSError):
        channel.connect("\0" + address[1:] if address.startswith("@") else address)
        channel.sendall("\n".join(lines).encode())


def watchdog_seconds() -> float:
    """How long systemd waits for a sign of life; endless if it does not."""
    if os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return float("inf")
    micros = os.environ.get("WATCHDOG_USEC", "")
    return int(micros) / 1e6 if micros.isdigit() else float("inf")
