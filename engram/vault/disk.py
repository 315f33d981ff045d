"""The files: the only door to the disk for the rest of the project.

The rules: a file appears whole or not at all; what a function returned from is on the
disk, unless it was put in `pending`, to be made durable with others (`sync`); nothing a
person wrote is ever overwritten. The calls themselves, and the seam for fault
injection, are in `syscalls`; rewriting a file that a person may be editing is in
`exchange`.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Self

from engram.errors import ConflictError, EngramError, ForbiddenError, LockedError
from engram.vault import syscalls
from engram.vault.exchange import ChangedError, Leftover, leftovers, replace, settle
from engram.vault.syscalls import (
    NOREPLACE,
    PRIVATE_FOLDER,
    UNSUPPORTED,
    OversizedError,
    content_of,
    durable,
    folder_of,
    opened,
    regular,
    sha256,
    temporary,
    worded,
    write_all,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "AppendFile",
    "ChangedError",
    "FolderSyncs",
    "Leftover",
    "Lock",
    "OversizedError",
    "append",
    "leftovers",
    "lock",
    "make_folders",
    "move",
    "read",
    "remove",
    "replace",
    "safe_join",
    "settle",
    "sha256",
    "sync",
    "write_derived",
    "write_new",
]


def safe_join(root: Path, relative: str) -> Path:
    """`root / relative`, refused unless it stays inside without passing through a
    symlink.

    `relative` has components divided by `/`, none of them empty, `.` or `..`. What does
    not exist yet is allowed. Raises ForbiddenError; NotFoundError when `root` itself is
    missing.
    """
    parts = relative.split("/")
    refused = ForbiddenError(
        "the path does not stay in the folder",
        where=ascii(relative),
        fix="Use a relative path.",
    )
    if "\0" in relative or any(part in {"", ".", ".."} for part in parts):
        raise refused
    try:
        os.fsencode(relative)
    except UnicodeEncodeError:
        raise refused from None
    with worded(root / relative):
        here = syscalls.SYS.open(str(root), os.O_PATH | os.O_DIRECTORY)
        try:
            for part in parts:
                below = syscalls.SYS.open(part, os.O_PATH | os.O_NOFOLLOW, folder=here)
                # Linux lets go of a descriptor also when its close fails
                above, here = here, below
                syscalls.SYS.close(above)
                if stat.S_ISLNK(os.fstat(here).st_mode):
                    raise refused
        except FileNotFoundError:
            pass
        finally:
            syscalls.SYS.close(here)
    return root / relative


def read(path: Path, most: int | None = None) -> bytes:
    """The bytes of a regular file; a symlink in its place is not followed.

    Raises NotFoundError, ForbiddenError (not a regular file), OversizedError (more than
    `most` bytes), StorageError.
    """
    with (
        worded(path),
        folder_of(path) as folder,
        opened(path.name, os.O_RDONLY, folder) as descriptor,
    ):
        return content_of(descriptor, path, most)


# --------------------------------------------------------------------------------------------- writing


def make_folders(path: Path, pending: set[Path] | None = None) -> None:
    """Create `path` and its missing parents, 0700, durably, or with `pending` by a
    later `sync`.
    """
    with worded(path):
        missing = list(
            takewhile(lambda folder: not folder.exists(), (path, *path.parents))
        )
    for folder in reversed(missing):
        with worded(folder), folder_of(folder) as parent:
            with suppress(FileExistsError):
                syscalls.SYS.mkdir(folder.name, PRIVATE_FOLDER, parent)
            durable(parent, folder.parent, pending)


def write_new(path: Path, content: bytes, pending: set[Path] | None = None) -> None:
    """Create a file, whole, 0600, durably; the same file with the same bytes is no
    fault.

    With `pending` its name is made durable later, by `sync`. Raises ConflictError when
    the name is taken by other bytes, which stay as they are.
    """
    with worded(path), folder_of(path) as folder:
        with temporary(folder, content) as fresh:
            try:
                _place(fresh, path.name, folder, folder)
            except FileExistsError:
                _same(folder, path, content)
                syscalls.SYS.unlink(fresh, folder)
        durable(folder, path.parent, pending)


def move(
    path: Path, to: Path, pending: set[Path] | None = None, expected: str | None = None
) -> None:
    """Move a file durably; ConflictError when `to` is taken.

    With `expected`, what arrived is looked at: if its SHA-256 is another, a person was
    faster, and the file is put back. Raises ChangedError then.
    """
    with worded(path), folder_of(path) as folder, folder_of(to) as target:
        try:
            _place(path.name, to.name, folder, target)
        except FileExistsError as error:
            raise ConflictError(
                "the name is taken", where=str(to), fix="Move or rename that file."
            ) from error
        if expected is not None:
            try:
                _expect(target, to, path, expected)
            except (OSError, EngramError):
                # saved anew meanwhile: both versions stay
                with suppress(FileExistsError):
                    _place(to.name, path.name, target, folder)
                raise
        durable(target, to.parent, pending)
        if to.parent != path.parent:
            durable(folder, path.parent, pending)


def append(path: Path, content: bytes, pending: set[Path] | None = None) -> None:
    """Add whole lines to a file, creating it; a torn last line is closed with a newline
    first.

    With `pending` they are made durable later, by `sync`. After a failure some of the
    lines may stand in the file; they are not taken back, since somebody else may have
    added more.
    """
    flags = os.O_RDWR | os.O_APPEND
    with worded(path), folder_of(path) as folder:
        try:
            descriptor = syscalls.SYS.open(
                path.name, flags | os.O_NOFOLLOW | os.O_NONBLOCK, folder=folder
            )
        except FileNotFoundError:
            descriptor = syscalls.SYS.open(
                path.name, flags | os.O_CREAT | os.O_EXCL, folder=folder
            )
        try:
            size = regular(descriptor, path).st_size
            torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
            write_all(descriptor, b"\n" + content if torn else content)
            durable(descriptor, path, pending)
        finally:
            syscalls.SYS.close(descriptor)
        if not size:
            durable(folder, path.parent, pending)


def write_derived(path: Path, content: bytes) -> None:
    """Write a file that can be made again: whole to every reader, but nothing is
    synced.

    After a power cut it may be the old one, cut short or zeroes; its reader checks it.
    """
    with (
        worded(path),
        folder_of(path) as folder,
        temporary(folder, content, durable=False) as fresh,
    ):
        syscalls.SYS.rename(fresh, path.name, folder, folder)


def remove(path: Path, pending: set[Path] | None = None) -> None:
    """Remove one of our own temporary, journal or derived files; a missing one is no
    fault.
    """
    with worded(path), folder_of(path) as folder:
        with suppress(FileNotFoundError):
            syscalls.SYS.unlink(path.name, folder)
        durable(folder, path.parent, pending)


def drop_folder(path: Path) -> None:
    """Remove a folder where it is empty; one that is not, or that cannot go, stays."""
    with suppress(OSError):
        path.rmdir()


def sync(pending: Iterable[Path]) -> None:
    """Make files and the names in folders durable, once each.

    After a StorageError none of them may be relied on, and a second `sync` proves
    nothing.
    """
    for path in sorted(set(pending)):
        with worded(path), opened(str(path), os.O_RDONLY) as descriptor:
            syscalls.SYS.fsync(descriptor)


class FolderSyncs(set[Path]):
    """What is to be made durable when the `with` block ends, also with a fault of the
    project.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is None or isinstance(error, EngramError):
            sync(self)


class AppendFile:
    """A new append-only file, held open: what `add` returned from is on the disk."""

    def __init__(self, path: Path) -> None:
        """Create `path` durably; ConflictError when it exists."""
        self.path = path
        self.size = 0
        with worded(path), folder_of(path) as folder:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL
            self._descriptor = syscalls.SYS.open(path.name, flags, folder=folder)
            try:
                syscalls.SYS.fsync(folder)
            except OSError:
                self.close()
                raise

    def add(self, content: bytes) -> None:
        """Append durably. After a StorageError the log must not be used again, only
        closed.
        """
        with worded(self.path):
            write_all(self._descriptor, content)
            syscalls.SYS.fdatasync(self._descriptor)
        self.size += len(content)

    def close(self) -> None:
        """Let go of the file."""
        with suppress(OSError):
            syscalls.SYS.close(self._descriptor)


class Lock:
    """Locks on files or folders, held until `release` or the end of the process.

    `unlocked` says why a folder could not be locked beside its file, or is ''.
    """

    def __init__(self, path: Path, *descriptors: int, unlocked: str = "") -> None:
        self.path = path
        self.unlocked = unlocked
        self._descriptors = descriptors

    def release(self) -> None:
        """Let go; the file stays, since removing it would let two processes in."""
        for descriptor in self._descriptors:
            _let_go(descriptor)


NO_FOLDER_LOCK = (*UNSUPPORTED, errno.ENOLCK, errno.EBADF)
"""What a file system says that cannot lock a folder, as some that other machines share.
"""


def lock(path: Path, folder: Path | None = None) -> Lock:
    """Lock `folder` itself, if one is given, and the file `path`, or raise LockedError
    with the holder's process id.

    The folder's own lock holds whatever the other process keeps its lock file in.
    """
    unlocked, descriptors = "", []
    if folder is not None:
        with worded(folder):
            descriptor = syscalls.SYS.open(str(folder), os.O_RDONLY | os.O_DIRECTORY)
        try:
            syscalls.SYS.lock(descriptor)
        except OSError as error:
            if isinstance(error, BlockingIOError):
                holder = _locker(descriptor)
                _let_go(descriptor)
                fix = f"Stop it{f' (`kill {holder}`)' if holder.isdigit() else ''}, or talk to it instead."
                raise LockedError(
                    f"process {holder} owns this vault", where=str(folder), fix=fix
                ) from error
            if error.errno not in NO_FOLDER_LOCK:
                _let_go(descriptor)
                with worded(folder):
                    raise
            unlocked = os.strerror(error.errno)
        descriptors.append(descriptor)
    try:
        descriptors.append(_locked(path))
    except EngramError:
        Lock(path, *descriptors).release()
        raise
    return Lock(path, *descriptors, unlocked=unlocked)


def _locked(path: Path) -> int:
    """A descriptor of the lock file, locked, which holds our process id."""
    with worded(path):
        descriptor = syscalls.SYS.open(
            str(path), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
        )
        try:
            syscalls.SYS.lock(descriptor)
            syscalls.SYS.truncate(descriptor, 0)
            write_all(descriptor, f"{os.getpid()}\n".encode())
        except OSError as error:
            holder = _holder(descriptor)
            _let_go(descriptor)
            if not isinstance(error, BlockingIOError):
                raise
            fix = "Stop it, or talk to it instead."
            raise LockedError(
                f"process {holder} owns this vault", where=str(path), fix=fix
            ) from error
    return descriptor


def _let_go(descriptor: int) -> None:
    """Close a locked file or folder; a failure to close hides no other error, and the
    lock is gone all the same.
    """
    with suppress(OSError):
        syscalls.SYS.close(descriptor)


def _locker(descriptor: int) -> str:
    """The process id of who holds the lock on an open folder, as far as the kernel
    tells.
    """
    known = os.fstat(descriptor)
    where = f"{os.major(known.st_dev):02x}:{os.minor(known.st_dev):02x}:{known.st_ino}"
    try:
        lines = Path("/proc/locks").read_text("ascii").splitlines()
    except (OSError, ValueError):
        return "unknown"
    held = (line.split() for line in lines)
    return next(
        (words[4] for words in held if words[1] == "FLOCK" and words[-3] == where),
        "unknown",
    )


def _holder(descriptor: int) -> str:
    """The process id in a lock file, which its holder may just be writing."""
    for _ in range(20):
        if holder := os.pread(descriptor, 32, 0).decode("ascii", "replace").strip():
            return holder
        time.sleep(0.005)
    return "unknown"


def _place(old: str, new: str, folder: int, to: int) -> None:
    """Rename without replacing.

    Where the file system lacks the call: by link and unlink, or into another folder
    over an empty file that holds the name.
    """
    try:
        syscalls.SYS.rename(old, new, folder, to, NOREPLACE)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
        if folder == to:
            syscalls.SYS.link(old, new, folder)
            syscalls.SYS.unlink(old, folder)
            return
        syscalls.SYS.close(
            syscalls.SYS.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, folder=to)
        )
        try:
            syscalls.SYS.rename(old, new, folder, to)
        except OSError:
            with suppress(OSError):
                syscalls.SYS.unlink(new, to)
            raise


def _expect(folder: int, path: Path, source: Path, expected: str) -> None:
    """Look at a file that came from `source`; ChangedError unless its SHA-256 is
    `expected`.
    """
    with opened(path.name, os.O_RDONLY, folder) as descriptor:
        content = content_of(descriptor, path)
    if sha256(content) != expected:
        raise ChangedError(source, content)


def _same(folder: int, path: Path, content: bytes) -> None:
    """Make the file that stands there durable; ConflictError when it is not `content`."""
    with opened(path.name, os.O_RDONLY, folder) as descriptor:
        if content_of(descriptor, path) != content:
            raise ConflictError(
                "the name is taken by another text",
                where=str(path),
                fix="Use another name.",
            )
        syscalls.SYS.fsync(descriptor)
