"""The system calls that change the disk, one method each, and their errors in words.

Only `files` uses them.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

from engram.errors import ConflictError, EngramError, ForbiddenError, NotFoundError, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOREPLACE, EXCHANGE = 1, 2
"""The flags of renameat2(2)."""

_WORDS = {
    errno.ENOSPC: ("the disk is full", "Free some space and try again."),
    errno.EDQUOT: ("the disk quota is used up", "Free some space and try again."),
    errno.EROFS: ("the file system is read-only", "Mount it for writing and try again."),
    errno.EACCES: ("permission denied", "Give this user access to the file and its folder."),
    errno.EPERM: ("not permitted", "Give this user access to the file and its folder."),
    errno.EMFILE: ("too many files are open", "Raise the limit of open files (LimitNOFILE)."),
    errno.ENFILE: ("too many files are open in the system", "Raise the limit of open files (fs.file-max)."),
    errno.EIO: ("the disk failed", "Look at the kernel log and check the disk."),
}

_renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)


class Syscalls:
    """The system calls that change the disk or make a change durable, one method each.

    `folder` is the descriptor of the folder in which a name stands. Tests put a variant in place of
    `files.SYS`.
    """

    def open(self, name: str, flags: int, mode: int = 0o600, folder: int | None = None) -> int:
        """A descriptor of the file, not inherited by child processes."""
        return os.open(name, flags | os.O_CLOEXEC, mode, dir_fd=folder)

    def close(self, descriptor: int) -> None:
        """Let go of a descriptor."""
        os.close(descriptor)

    def read(self, descriptor: int, size: int) -> bytes:
        """The next bytes, at most `size`; none at the end."""
        return os.read(descriptor, size)

    def write(self, descriptor: int, content: bytes) -> int:
        """The number of bytes taken, which may be less than all."""
        return os.write(descriptor, content)

    def truncate(self, descriptor: int, size: int) -> None:
        """Cut or stretch the file to `size` bytes."""
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
        """A second name for a file, in the same folder."""
        os.link(old, new, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)

    def unlink(self, name: str, folder: int) -> None:
        """Take a name away."""
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
        """Lock the file for ourselves alone, without waiting: flock(2)."""
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def unwritten(self, descriptor: int) -> bool | None:
        """Whether nobody has the file open for writing; None where the file system cannot say.

        A read lease (fcntl(2)) is granted only then; it ends when the descriptor is closed. Should it be
        broken, the kernel sends a signal, which must not be the deadly SIGIO.
        """
        try:
            fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            return bool(fcntl.fcntl(descriptor, fcntl.F_GETLEASE) == fcntl.F_RDLCK)
        except OSError as error:
            return False if error.errno == errno.EAGAIN else None


@contextmanager
def worded(path: Path) -> Iterator[None]:
    """An OSError inside becomes an EngramError that names `path`."""
    try:
        yield
    except OSError as error:
        raise _in_words(error, path) from error


def _in_words(error: OSError, path: Path) -> EngramError:
    """The fault of the project that an error of the system stands for."""
    where = str(path)
    if error.errno in {errno.ENOENT, errno.ENOTDIR}:
        return NotFoundError("the file or its folder is gone", where=where, fix="Look where it was moved.")
    if error.errno == errno.ELOOP:
        return ForbiddenError("a symlink stands there", where=where, fix="Put the file itself in its place.")
    if error.errno == errno.EEXIST:
        return ConflictError("the name is taken", where=where, fix="Move or rename that file.")
    if error.errno == errno.ENAMETOOLONG:
        return ForbiddenError("the name is too long", where=where, fix="Use a shorter one.")
    what, fix = _WORDS.get(error.errno or 0, (error.strerror or "the disk refused", "Look at the kernel log."))
    return StorageError(what, where=where, fix=fix)
