"""The sockets of the daemon: listening, socket activation, notification of systemd."""

from __future__ import annotations

import os
import shlex
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from engram.errors import StorageError, UnavailableError
from engram.vault import disk

if TYPE_CHECKING:
    from engram.config import Settings

FIRST_INHERITED = 3
"""The first file descriptor that systemd passes (SD_LISTEN_FDS_START)."""

BACKLOG = 128
LOOPBACK = "127.0.0.1"
LISTENING = "0A"
"""The state of a listening socket in /proc/net/tcp."""


class Listeners:
    """The listening sockets of a process: inherited ones and its own.

    Its own are closed at the end.
    """

    def __init__(self) -> None:
        self._inherited = inherited()
        self._own: dict[Path | int, socket.socket] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the sockets that this process opened, so that no caller waits in one."""
        for place in list(self._own):
            self._close(place)

    def open(self, settings: Settings) -> list[socket.socket]:
        """Return copies of all sockets for `settings`.

        Open sockets stay open; those not in `settings` are closed. The caller holds the
        lock of the vault, so an existing socket file is stale. The Unix socket comes
        last: once it listens, callers take the daemon as started.
        """
        families = {listener.family for listener in self._inherited}
        wanted: list[Path | int] = []
        if settings.tcp_port and socket.AF_INET not in families:
            wanted.append(settings.tcp_port)
        if socket.AF_UNIX not in families:
            wanted.append(settings.socket)
        for place in set(self._own).difference(wanted):
            self._close(place)
        for place in wanted:
            self._own[place] = self._own.get(place) or (
                listen_tcp(place) if isinstance(place, int) else listen_unix(place)
            )
        return [listener.dup() for listener in (*self._inherited, *self._own.values())]

    def is_used_elsewhere(self, settings: Settings) -> bool:
        """Return whether another process listens on the socket of the vault."""
        return (
            not self._inherited
            and settings.socket not in self._own
            and is_listening(settings.socket)
        )

    def _close(self, place: Path | int) -> None:
        self._own.pop(place).close()
        if not isinstance(place, int):
            disk.remove(place)


def inherited() -> list[socket.socket]:
    """Return the sockets that systemd opened for this process, if any."""
    if os.environ.pop("LISTEN_PID", "") != str(os.getpid()):
        return []
    count = int(os.environ.pop("LISTEN_FDS", "0"))
    os.environ.pop("LISTEN_FDNAMES", None)
    listeners = [
        socket.socket(fileno=descriptor)
        for descriptor in range(FIRST_INHERITED, FIRST_INHERITED + count)
    ]
    for listener in listeners:
        listener.set_inheritable(False)
    return listeners


def listen_unix(path: Path) -> socket.socket:
    """Listen on a Unix socket of mode 0600 in a folder of mode 0700.

    Raises StorageError if other users may open the folder, or the socket cannot be
    created.
    """
    disk.make_folders(path.parent)
    if path.parent.stat().st_mode & 0o077:
        raise StorageError(
            "other users can open the socket's folder",
            where=str(path.parent),
            fix="chmod 700 it.",
        )
    disk.remove(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # bind gives the file the mode of the socket, so it is never open to other users
    os.fchmod(listener.fileno(), 0o600)
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        # through a descriptor of the folder, because a path may exceed an address
        # (107 bytes)
        listener.bind(f"/proc/self/fd/{folder}/{path.name}")
        listener.listen(BACKLOG)
    except OSError as fault:
        listener.close()
        raise StorageError(
            "the socket cannot be created",
            where=f"{path}: {os.strerror(fault.errno or 0)}",
        ) from fault
    finally:
        os.close(folder)
    return listener


def is_listening(path: Path) -> bool:
    """Return whether a process listens on a Unix socket."""
    try:
        folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    except OSError:
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        # as `listen_unix` binds it
        code = probe.connect_ex(f"/proc/self/fd/{folder}/{path.name}")
    os.close(folder)
    return code == 0


def listen_tcp(port: int) -> socket.socket:
    """Listen on a loopback port; raise UnavailableError if it is in use.

    The protocol is named, because asyncio turns off Nagle's algorithm only then; it
    would delay the body of each answer by 40 ms.
    """
    kind, protocol = socket.SOCK_STREAM, socket.IPPROTO_TCP
    listener = socket.socket(socket.AF_INET, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
        listener.listen(BACKLOG)
    except OSError as fault:
        listener.close()
        used_by = listening_process(port)
        raise UnavailableError(
            "the port cannot be opened",
            where=f"{port}: {os.strerror(fault.errno or 0)}"
            + (f", by process {used_by}" if used_by else ""),
            fix="Choose another port with `--tcp PORT`, or serve several vaults by one"
            " daemon: `engram daemon --vaults FOLDER --tcp PORT`.",
        ) from fault
    return listener


def listening_process(port: int) -> str:
    """Return number and command line of the process of this user at a port, or ''."""
    sockets = {
        f"socket:[{row[9]}]"
        for table in ("tcp", "tcp6")
        for row in map(str.split, _lines(Path(f"/proc/net/{table}")))
        if row[1].endswith(f":{port:04X}") and row[3] == LISTENING
    }
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if sockets & {str(one.readlink()) for one in (process / "fd").iterdir()}:
                words = (process / "cmdline").read_text(errors="replace")
                return f"{process.name}: {shlex.join(words.split(chr(0))[:-1])}"
    return ""


def _lines(table: Path) -> list[str]:
    """Return the rows of a table of the kernel without its head."""
    with suppress(OSError):
        return table.read_text("ascii").splitlines()[1:]
    return []


def notify(*lines: str) -> None:
    """Send lines such as `READY=1` or `STATUS=…` to systemd if it started this process."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address or not lines:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel, suppress(OSError):
        channel.connect("\0" + address[1:] if address.startswith("@") else address)
        channel.sendall("\n".join(lines).encode())


def notify_reloading() -> None:
    """Tell systemd that the process reloads its configuration; READY=1 ends that."""
    microseconds = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    notify(
        "RELOADING=1",
        f"MONOTONIC_USEC={microseconds}",
        "STATUS=starting again with a fresh configuration",
    )


def is_journal(descriptor: int) -> bool:
    """Return whether systemd connected a descriptor to the journal."""
    try:
        found = os.fstat(descriptor)
    except OSError:
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"


def watchdog_seconds() -> float:
    """Return systemd's watchdog interval in seconds, or inf if there is none."""
    if os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return float("inf")
    micros = os.environ.get("WATCHDOG_USEC", "")
    return int(micros) / 1e6 if micros.isdigit() else float("inf")
