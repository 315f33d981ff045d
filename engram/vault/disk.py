"""Reading and changing files: the only access to the disk for the rest of the project.

Every function has three guarantees. A file appears whole or not at all. After the
return the change is durable, unless its path was added to `pending` for a later `sync`.
Bytes that a person wrote are never overwritten.

A new file is written under a temporary name, synced, renamed without replacing, and the
folder is synced last. A crash therefore leaves the old state, the new state, or a
hidden `.engram-*.tmp` in the same folder (`leftovers`). `exchange` rewrites files that
a person may be editing; `syscalls` holds the system calls, which tests replace to
inject faults.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Self

from engram.errors import ConflictError, EngramError, ForbiddenError
from engram.vault import syscalls
from engram.vault.exchange import ChangedError, Leftover, leftovers, replace, settle
from engram.vault.syscalls import (
    NOREPLACE,
    PRIVATE_FOLDER,
    UNSUPPORTED,
    OversizedError,
    durable,
    folder_of,
    opened,
    os_errors,
    read_all,
    regular_status,
    sha256,
    temporary,
    write_all,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "AppendFile",
    "ChangedError",
    "DeferredSyncs",
    "Leftover",
    "OversizedError",
    "append",
    "leftovers",
    "make_folders",
    "move",
    "overwrite",
    "read",
    "remove",
    "remove_empty_folder",
    "replace",
    "safe_join",
    "settle",
    "sha256",
    "sync",
    "write_derived",
    "write_new",
]


def safe_join(root: Path, relative: str) -> Path:
    """Return `root / relative`, which stays inside `root` and follows no symlink.

    `relative` has components separated by `/`, none of them empty, `.` or `..`; they
    need not exist. Raises ForbiddenError for any other path, and NotFoundError if
    `root` is missing.
    """
    parts = relative.split("/")
    if "\0" in relative or any(part in {"", ".", ".."} for part in parts):
        raise _outside(relative)
    try:
        os.fsencode(relative)
    except UnicodeEncodeError:
        raise _outside(relative) from None

    path = root / relative
    with os_errors(path):
        current = syscalls.SYS.open(str(root), os.O_PATH | os.O_DIRECTORY)
        try:
            for part in parts:
                below = syscalls.SYS.open(
                    part, os.O_PATH | os.O_NOFOLLOW, folder=current
                )
                # Linux closes a descriptor also when close(2) reports an error
                above, current = current, below
                syscalls.SYS.close(above)
                if stat.S_ISLNK(os.fstat(current).st_mode):
                    raise _outside(relative)
        except FileNotFoundError:
            pass
        finally:
            syscalls.SYS.close(current)
    return path


def _outside(relative: str) -> ForbiddenError:
    return ForbiddenError(
        "the path does not stay in the folder",
        where=ascii(relative),
        fix="Use a relative path.",
    )


def read(path: Path, limit: int | None = None) -> bytes:
    """Return the bytes of a regular file.

    Raises NotFoundError, ForbiddenError (a symlink, or not a regular file),
    OversizedError (more than `limit` bytes), StorageError.
    """
    with (
        os_errors(path),
        folder_of(path) as folder,
        opened(path.name, os.O_RDONLY, folder) as descriptor,
    ):
        return read_all(descriptor, path, limit)


def close_to_others(folder: Path) -> None:
    """Let only the owner read a folder."""
    folder.chmod(0o700)


def make_folders(path: Path, pending: set[Path] | None = None) -> None:
    """Create the folder `path` and its missing parents with mode 0700."""
    with os_errors(path):
        missing = list(
            takewhile(lambda folder: not folder.exists(), (path, *path.parents))
        )
    for folder in reversed(missing):
        with os_errors(folder), folder_of(folder) as parent:
            with suppress(FileExistsError):
                syscalls.SYS.mkdir(folder.name, PRIVATE_FOLDER, parent)
            durable(parent, folder.parent, pending)


def write_new(path: Path, content: bytes, pending: set[Path] | None = None) -> None:
    """Create a file with mode 0600; an existing file with the same content is accepted.

    The content is always durable after the return; with `pending` its name in the
    folder becomes durable by a later `sync`. Raises ConflictError if a file with other
    bytes has the name; that file does not change.
    """
    with os_errors(path), folder_of(path) as folder:
        with temporary(folder, content) as fresh:
            try:
                _rename_noreplace(fresh, path.name, folder, folder)
            except FileExistsError:
                _accept_same(folder, path, content)
                syscalls.SYS.unlink(fresh, folder)
        durable(folder, path.parent, pending)


def move(
    path: Path, to: Path, pending: set[Path] | None = None, expected: str | None = None
) -> None:
    """Move a file. Raises ConflictError if `to` exists.

    With `expected`, the SHA-256 of the moved bytes is checked after the move. If it
    differs, because a person saved the file meanwhile, the file is moved back and
    ChangedError is raised.
    """
    with os_errors(path), folder_of(path) as folder, folder_of(to) as target:
        try:
            _rename_noreplace(path.name, to.name, folder, target)
        except FileExistsError as error:
            raise ConflictError(
                "the name is taken", where=str(to), fix="Move or rename that file."
            ) from error
        if expected is not None:
            try:
                _check_moved(target, to, path, expected)
            except (OSError, EngramError):
                # `path` was saved again meanwhile: both versions are preserved
                with suppress(FileExistsError):
                    _rename_noreplace(to.name, path.name, target, folder)
                raise
        durable(target, to.parent, pending)
        if to.parent != path.parent:
            durable(folder, path.parent, pending)


def append(path: Path, content: bytes, pending: set[Path] | None = None) -> None:
    """Append whole lines to a file, which is created if it is missing.

    A torn last line is ended with a newline first. After an error some of the lines may
    be in the file; they are not removed, since another program may have appended too.
    """
    flags = os.O_RDWR | os.O_APPEND
    with os_errors(path), folder_of(path) as folder:
        try:
            descriptor = syscalls.SYS.open(
                path.name, flags | os.O_NOFOLLOW | os.O_NONBLOCK, folder=folder
            )
        except FileNotFoundError:
            descriptor = syscalls.SYS.open(
                path.name, flags | os.O_CREAT | os.O_EXCL, folder=folder
            )
        try:
            size = regular_status(descriptor, path).st_size
            torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
            write_all(descriptor, b"\n" + content if torn else content)
            durable(descriptor, path, pending)
        finally:
            syscalls.SYS.close(descriptor)
        if not size:
            durable(folder, path.parent, pending)


def write_derived(path: Path, content: bytes) -> None:
    """Replace a file that can be derived again; readers always see it whole.

    The file is not synced: after a power cut it may be the old one, truncated, or
    zeroes. Its reader must check it.
    """
    with (
        os_errors(path),
        folder_of(path) as folder,
        temporary(folder, content, durable=False) as fresh,
    ):
        syscalls.SYS.rename(fresh, path.name, folder, folder)


def overwrite(path: Path, content: bytes) -> None:
    """Replace the bytes of a file in place; appending processes are unaffected."""
    with os_errors(path), path.open("r+b") as file:
        file.write(content)
        file.truncate()


def create_private(path: Path) -> None:
    """Create an empty file that only its owner may read, if there is none.

    Does nothing where the folder refuses it; whoever opens the file then reports it.
    """
    with suppress(OSError):
        path.touch(0o600, exist_ok=False)


def remove(path: Path, pending: set[Path] | None = None) -> None:
    """Remove a file that engram wrote; a missing file is accepted."""
    with os_errors(path), folder_of(path) as folder:
        with suppress(FileNotFoundError):
            syscalls.SYS.unlink(path.name, folder)
        durable(folder, path.parent, pending)


def remove_empty_folder(path: Path) -> None:
    """Remove a folder if it is empty; errors are ignored."""
    with suppress(OSError):
        path.rmdir()


def sync(pending: Iterable[Path]) -> None:
    """Make files, and the names in folders, durable: one fsync(2) for each path.

    After a StorageError the state of all paths is unknown, and a second `sync` proves
    nothing, because the kernel reports a failed write-back only once.
    """
    for path in sorted(set(pending)):
        with os_errors(path), opened(str(path), os.O_RDONLY) as descriptor:
            syscalls.SYS.fsync(descriptor)


class DeferredSyncs(set[Path]):
    """Paths that are synced when the `with` block ends, also after an EngramError."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is None or isinstance(error, EngramError):
            sync(self)


class AppendFile:
    """A new append-only file, open for writing. `size` is its length in bytes."""

    def __init__(self, path: Path) -> None:
        """Create `path` durably. Raises ConflictError when it exists."""
        self.path = path
        self.size = 0
        with os_errors(path), folder_of(path) as folder:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL
            self._descriptor = syscalls.SYS.open(path.name, flags, folder=folder)
            try:
                syscalls.SYS.fsync(folder)
            except OSError:
                self.close()
                raise

    def add(self, content: bytes) -> None:
        """Append durably, with fdatasync(2).

        After a StorageError the object must not be used again, only closed.
        """
        with os_errors(self.path):
            write_all(self._descriptor, content)
            syscalls.SYS.fdatasync(self._descriptor)
        self.size += len(content)

    def close(self) -> None:
        """Close the file."""
        with suppress(OSError):
            syscalls.SYS.close(self._descriptor)


def _rename_noreplace(old: str, new: str, folder: int, to: int) -> None:
    """Rename without replacing, with renameat2(2).

    On a file system without that call: by link and unlink within a folder, and into
    another folder over an empty file that reserves the name.
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


def _check_moved(folder: int, path: Path, source: Path, expected: str) -> None:
    """Raise ChangedError unless the file moved from `source` has this SHA-256."""
    with opened(path.name, os.O_RDONLY, folder) as descriptor:
        content = read_all(descriptor, path)
    if sha256(content) != expected:
        raise ChangedError(source, content)


def _accept_same(folder: int, path: Path, content: bytes) -> None:
    """Make an existing file durable. Raises ConflictError unless it is `content`."""
    with opened(path.name, os.O_RDONLY, folder) as descriptor:
        if read_all(descriptor, path) != content:
            raise ConflictError(
                "the name is taken by another text",
                where=str(path),
                fix="Use another name.",
            )
        syscalls.SYS.fsync(descriptor)
