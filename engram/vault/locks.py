"""Locks that let one process own a vault.

A lock is flock(2) on an open descriptor. The kernel releases it at the end of the
process, so no stale lock can remain. The lock file itself is never removed: after a
removal two processes could hold locks on two files of one name.
"""

from __future__ import annotations

import errno
import os
import time
from contextlib import suppress
from pathlib import Path

from engram.errors import EngramError, LockedError
from engram.vault import syscalls
from engram.vault.syscalls import UNSUPPORTED, os_errors, write_all

NO_FOLDER_LOCK = (*UNSUPPORTED, errno.ENOLCK, errno.EBADF)
"""The errors of a file system that cannot lock a folder, such as some network mounts.
"""

_UNKNOWN = "unknown"


class Lock:
    """Locks on files or folders, held until `release` or the end of the process.

    `unlocked` is the reason why one of them could not be locked, or ''.
    """

    def __init__(self, path: Path, *descriptors: int, unlocked: str = "") -> None:
        self.path = path
        self.unlocked = unlocked
        self._descriptors = descriptors

    def release(self) -> None:
        """Release the locks; the lock file stays."""
        for descriptor in self._descriptors:
            _close(descriptor)


def lock(path: Path, folder: Path | None = None, *, optional: bool = False) -> Lock:
    """Lock `folder`, if it is given, and then the file `path`, without waiting.

    The lock on the folder also excludes a process whose lock file is elsewhere. With
    `optional` the vault is locked in a database too; then the file system of `path` may
    also be one that cannot lock. Raises LockedError with the process id of the
    holder, or StorageError.
    """
    descriptors: list[int] = []
    unlocked = ""
    if folder is not None:
        descriptor, unlocked = _locked_folder(folder)
        descriptors.append(descriptor)
    try:
        descriptor, why = _locked_file(path, optional=optional)
        descriptors.append(descriptor)
    except EngramError:
        Lock(path, *descriptors).release()
        raise
    return Lock(path, *descriptors, unlocked=unlocked or why)


def lock_vaults(folder: Path) -> Lock:
    """Lock a folder of many vaults, without waiting.

    Raises LockedError with the process id of the holder, or StorageError.
    """
    descriptor, unlocked = _locked_folder(folder, "serves the vaults of this folder")
    return Lock(folder, descriptor, unlocked=unlocked)


def _locked_folder(folder: Path, does: str = "owns this vault") -> tuple[int, str]:
    """Return a descriptor of `folder`, and why it could not be locked or ''."""
    with os_errors(folder):
        descriptor = syscalls.SYS.open(str(folder), os.O_RDONLY | os.O_DIRECTORY)
    try:
        syscalls.SYS.lock(descriptor)
    except BlockingIOError as error:
        holder = _folder_holder(descriptor)
        _close(descriptor)
        stop = f"Stop it (`kill {holder}`)" if holder.isdigit() else "Stop it"
        raise LockedError(
            f"process {holder} {does}",
            where=str(folder),
            fix=f"{stop}, or talk to it instead.",
        ) from error
    except OSError as error:
        if error.errno not in NO_FOLDER_LOCK:
            _close(descriptor)
            with os_errors(folder):
                raise
        return descriptor, os.strerror(error.errno)
    return descriptor, ""


def _locked_file(path: Path, *, optional: bool) -> tuple[int, str]:
    """Return a descriptor of the lock file, and why it could not be locked or ''.

    The file contains the id of this process.
    """
    with os_errors(path):
        descriptor = syscalls.SYS.open(
            str(path), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
        )
        try:
            why = _locked(descriptor, optional=optional)
            syscalls.SYS.truncate(descriptor, 0)
            write_all(descriptor, f"{os.getpid()}\n".encode())
        except OSError as error:
            holder = _file_holder(descriptor)
            _close(descriptor)
            if not isinstance(error, BlockingIOError):
                raise
            raise LockedError(
                f"process {holder} owns this vault",
                where=str(path),
                fix="Stop that process, or ask it instead.",
            ) from error
    return descriptor, why


def _locked(descriptor: int, *, optional: bool) -> str:
    """Lock a file, and return why it cannot be locked or ''.

    A failure that is not allowed raises.
    """
    try:
        syscalls.SYS.lock(descriptor)
    except OSError as error:
        if not optional or error.errno not in NO_FOLDER_LOCK:
            raise
        return os.strerror(error.errno)
    return ""


def _close(descriptor: int) -> None:
    with suppress(OSError):
        syscalls.SYS.close(descriptor)


def _folder_holder(descriptor: int) -> str:
    """Return the id of the process with the lock on an open folder, or 'unknown'."""
    status = os.fstat(descriptor)
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}"
    try:
        table = Path("/proc/locks").read_text("ascii")
    except (OSError, ValueError):
        return _UNKNOWN
    for line in table.splitlines():
        fields = line.split()
        if fields[1] == "FLOCK" and fields[-3] == f"{device}:{status.st_ino}":
            return fields[4]
    return _UNKNOWN


def _file_holder(descriptor: int) -> str:
    """Return the process id in a lock file, whose holder may still be writing it."""
    for _ in range(20):
        if holder := os.pread(descriptor, 32, 0).decode("ascii", "replace").strip():
            return holder
        time.sleep(0.005)
    return _UNKNOWN
