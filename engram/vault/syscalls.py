"""The system calls that change the disk, one method each, and helpers around them.

`SYS` is the one place for fault injection: tests replace it with a variant that fails,
stops or loses writes. Only `disk`, `exchange` and `locks` use this module.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import hashlib
import os
import secrets
import signal
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from engram.errors import (
    ConflictError,
    EngramError,
    ForbiddenError,
    NotFoundError,
    StorageError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700
NOREPLACE, EXCHANGE = 1, 2
"""The flags of renameat2(2)."""

UNSUPPORTED = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)
_CHUNK = 1 << 20

_WORDS = {
    errno.ENOSPC: ("the disk is full", "Free some space and try again."),
    errno.EDQUOT: ("the disk quota is used up", "Free some space and try again."),
    errno.EROFS: (
        "the file system is read-only",
        "Mount it for writing and try again.",
    ),
    errno.EACCES: (
        "permission denied",
        "Give this user access to the file and its folder.",
    ),
    errno.EPERM: ("not permitted", "Give this user access to the file and its folder."),
    errno.EMFILE: (
        "too many files are open",
        "Raise the limit of open files (LimitNOFILE).",
    ),
    errno.ENFILE: (
        "too many files are open in the system",
        "Raise the limit of open files (fs.file-max).",
    ),
    errno.EIO: ("the disk failed", "Look at the kernel log and check the disk."),
}

_libc = ctypes.CDLL(None, use_errno=True)
_renameat2 = getattr(_libc, "renameat2", None)


def return_memory() -> None:
    """Give freed memory back to the system, where the C library offers it (glibc).

    Large temporary objects, such as those of a compiled automaton, would stay resident.
    """
    if trim := getattr(_libc, "malloc_trim", None):
        trim(0)


class Syscalls:
    """The system calls that change the disk or make a change durable, one method each.

    `folder` is the descriptor of the folder that contains a name.
    """

    def open(
        self, name: str, flags: int, mode: int = PRIVATE_FILE, folder: int | None = None
    ) -> int:
        """Return a descriptor of the file, not inherited by child processes."""
        return os.open(name, flags | os.O_CLOEXEC, mode, dir_fd=folder)

    def close(self, descriptor: int) -> None:
        """Close a descriptor."""
        os.close(descriptor)

    def read(self, descriptor: int, size: int) -> bytes:
        """Return the next bytes, at most `size`; b'' at the end."""
        return os.read(descriptor, size)

    def write(self, descriptor: int, content: bytes) -> int:
        """Write, and return the number of written bytes, which may be less than all."""
        return os.write(descriptor, content)

    def truncate(self, descriptor: int, size: int) -> None:
        """Truncate or extend the file to `size` bytes."""
        os.ftruncate(descriptor, size)

    def fsync(self, descriptor: int) -> None:
        """Make a file, or the names in a folder, durable."""
        os.fsync(descriptor)

    def fdatasync(self, descriptor: int) -> None:
        """Make the content of a file durable."""
        os.fdatasync(descriptor)

    def chmod(self, descriptor: int, mode: int) -> None:
        """Set the mode."""
        os.fchmod(descriptor, mode)

    def chown(self, descriptor: int, user: int, group: int) -> None:
        """Set the owner."""
        os.fchown(descriptor, user, group)

    def mkdir(self, name: str, mode: int, folder: int) -> None:
        """Create a folder."""
        os.mkdir(name, mode, dir_fd=folder)

    def link(self, old: str, new: str, folder: int) -> None:
        """Give a file a second name in the same folder."""
        os.link(old, new, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)

    def unlink(self, name: str, folder: int) -> None:
        """Remove a name."""
        os.unlink(name, dir_fd=folder)

    def rename(self, old: str, new: str, folder: int, to: int, flags: int = 0) -> None:
        """Move a name from `folder` into `to`; `flags` are those of renameat2(2)."""
        if not flags:
            os.rename(old, new, src_dir_fd=folder, dst_dir_fd=to)
        elif _renameat2 is None:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        elif _renameat2(folder, os.fsencode(old), to, os.fsencode(new), flags):
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))

    def lock(self, descriptor: int) -> None:
        """Lock the file exclusively with flock(2). Raises BlockingIOError if taken."""
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def has_no_writer(self, descriptor: int) -> bool | None:
        """Return whether no process has the file open for writing; None if unknown.

        Only then does the kernel grant a read lease (fcntl(2)), which ends with the
        descriptor. When a lease is broken the kernel sends a signal; the default SIGIO
        would end the process, so SIGURG is set.
        """
        try:
            fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            return bool(fcntl.fcntl(descriptor, fcntl.F_GETLEASE) == fcntl.F_RDLCK)
        except OSError as error:
            return False if error.errno == errno.EAGAIN else None


SYS = Syscalls()


class OversizedError(StorageError):
    """The file is larger than the limit of the caller."""

    code = "oversized"


def sha256(content: bytes) -> str:
    """Return the SHA-256 of `content`, 64 hex digits."""
    return hashlib.sha256(content).hexdigest()


@contextmanager
def os_errors(path: Path) -> Iterator[None]:
    """Raise an OSError of the block as an EngramError that names `path`."""
    try:
        yield
    except OSError as error:
        raise _translated(error, path) from error


def _translated(error: OSError, path: Path) -> EngramError:
    where = str(path)
    if error.errno in {errno.ENOENT, errno.ENOTDIR}:
        return NotFoundError(
            "the file or its folder is gone",
            where=where,
            fix="Check where it was moved.",
        )
    if error.errno == errno.ELOOP:
        return ForbiddenError(
            "a symlink is there",
            where=where,
            fix="Replace the link by the file itself.",
        )
    if error.errno == errno.EEXIST:
        return ConflictError(
            "the name is taken", where=where, fix="Move or rename that file."
        )
    if error.errno == errno.ENAMETOOLONG:
        return ForbiddenError(
            "the name is too long", where=where, fix="Use a shorter one."
        )
    what, fix = _WORDS.get(
        error.errno or 0,
        (error.strerror or "the disk refused", "Look at the kernel log."),
    )
    return StorageError(what, where=where, fix=fix)


@contextmanager
def opened(name: str, flags: int, folder: int | None = None) -> Iterator[int]:
    """Open a descriptor of an existing file; refuse symlinks, never block."""
    descriptor = SYS.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK, folder=folder)
    try:
        yield descriptor
    finally:
        SYS.close(descriptor)


@contextmanager
def folder_of(path: Path) -> Iterator[int]:
    """Open a descriptor of the folder of `path`, which then cannot be exchanged."""
    with opened(str(path.parent), os.O_RDONLY | os.O_DIRECTORY) as descriptor:
        yield descriptor


@contextmanager
def temporary(
    folder: int,
    content: bytes,
    like: os.stat_result | None = None,
    *,
    durable: bool = True,
) -> Iterator[str]:
    """Create a complete temporary file and yield its name.

    An error in the block removes the file.
    """
    name = f".engram-{secrets.token_hex(8)}.tmp"
    try:
        _fill(folder, name, content, like, durable=durable)
        yield name
    except (OSError, EngramError):
        with suppress(OSError):
            SYS.unlink(name, folder)
        raise


def _fill(
    folder: int,
    name: str,
    content: bytes,
    like: os.stat_result | None,
    *,
    durable: bool,
) -> None:
    """Write and sync a new file with the owner and mode of `like`."""
    descriptor = SYS.open(
        name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE, folder
    )
    try:
        write_all(descriptor, content)
        if like is not None:
            mine = os.fstat(descriptor)
            if (mine.st_uid, mine.st_gid) != (like.st_uid, like.st_gid):
                with suppress(PermissionError):
                    SYS.chown(descriptor, like.st_uid, like.st_gid)
            if stat.S_IMODE(mine.st_mode) != stat.S_IMODE(like.st_mode):
                SYS.chmod(descriptor, stat.S_IMODE(like.st_mode))
        if durable:
            SYS.fsync(descriptor)
    finally:
        SYS.close(descriptor)


def read_all(descriptor: int, path: Path, limit: int | None = None) -> bytes:
    """Return the bytes of a regular file; OversizedError above `limit` bytes."""
    regular_status(descriptor, path)
    parts: list[bytes] = []
    size = 0
    while part := SYS.read(descriptor, _CHUNK):
        parts.append(part)
        size += len(part)
        if limit is not None and size > limit:
            raise OversizedError(
                f"the file is larger than {limit} bytes",
                where=str(path),
                fix="Split it.",
            )
    return b"".join(parts)


def regular_status(descriptor: int, path: Path) -> os.stat_result:
    """Return the status of a regular file; ForbiddenError for anything else."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise ForbiddenError(
            "this is no regular file",
            where=str(path),
            fix="Replace it by a regular file.",
        )
    return status


def write_all(descriptor: int, content: bytes) -> None:
    """Write all bytes, in as many calls as necessary."""
    while content:
        content = content[SYS.write(descriptor, content) :]


def durable(descriptor: int, path: Path, pending: set[Path] | None) -> None:
    """Sync now, or add `path` to `pending` for a later `sync`."""
    if pending is None:
        SYS.fsync(descriptor)
    else:
        pending.add(path)
