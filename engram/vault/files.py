"""The files: the only module that changes the disk, and the one seam for fault injection.

Every change is made of the calls of `Syscalls`, through `SYS`. The rules: a file appears whole or not at
all; what a function returned from is on the disk, unless it was put in `pending`, to be made
durable with others (`sync`); nothing a person wrote is ever overwritten.
"""

from __future__ import annotations

import errno
import hashlib
import math
import os
import secrets
import stat
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from engram.errors import ConflictError, EngramError, ForbiddenError, LockedError, StorageError
from engram.vault.syscalls import EXCHANGE, NOREPLACE, Syscalls, worded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700
_CHUNK = 1 << 20
_SHA_SHOWN = 32
"""Hex digits of a hash in the name of a hidden file: 128 bits, and the name stays below 143 bytes."""

_UNSUPPORTED = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)


class ChangedError(ConflictError):
    """A person was faster: the file holds their bytes, `theirs`, and ours were not stored.

    `left` names a hidden file that may hold more of a person's words; `settle` says.
    """

    code = "changed"

    def __init__(self, where: Path, theirs: bytes, left: Path | None = None) -> None:
        super().__init__("the file changed", where=str(where), fix="Read it again and repeat the change.")
        self.theirs = theirs
        self.left = left


class OversizedError(StorageError):
    """The file is larger than the caller wants to read."""

    code = "oversized"


SYS = Syscalls()


def sha256(content: bytes) -> str:
    """The SHA-256 of `content`, 64 hex digits."""
    return hashlib.sha256(content).hexdigest()


def safe_join(root: Path, relative: str) -> Path:
    """`root / relative`, refused unless it stays inside without passing through a symlink.

    `relative` has components divided by `/`, none of them empty, `.` or `..`. What does not exist yet
    is allowed. Raises ForbiddenError; NotFoundError when `root` itself is missing.
    """
    parts = relative.split("/")
    refused = ForbiddenError("the path does not stay in the folder", where=ascii(relative), fix="Use a relative path.")
    if "\0" in relative or any(part in {"", ".", ".."} for part in parts):
        raise refused
    try:
        os.fsencode(relative)
    except UnicodeEncodeError:
        raise refused from None
    with worded(root / relative):
        here = SYS.open(str(root), os.O_PATH | os.O_DIRECTORY)
        try:
            for part in parts:
                below = SYS.open(part, os.O_PATH | os.O_NOFOLLOW, folder=here)
                SYS.close(here)
                here = below
                if stat.S_ISLNK(os.fstat(here).st_mode):
                    raise refused
        except FileNotFoundError:
            pass
        finally:
            SYS.close(here)
    return root / relative


def read(path: Path, most: int | None = None) -> bytes:
    """The bytes of a regular file; a symlink in its place is not followed.

    Raises NotFoundError, ForbiddenError (not a regular file), OversizedError (more than `most` bytes),
    StorageError.
    """
    with worded(path), _folder(path) as folder, _opened(path.name, os.O_RDONLY, folder) as descriptor:
        return _content(descriptor, path, most)


def leftovers(root: Path) -> Iterator[Path]:
    """The hidden files under `root` that an interrupted write left; each wants `settle`."""
    for folder, _, names in os.walk(root):
        for name in sorted(names):
            if name.startswith(".engram-") and name.endswith(".tmp"):
                yield Path(folder, name)


# --------------------------------------------------------------------------------------------- writing


def make_folders(path: Path, pending: set[Path] | None = None) -> None:
    """Create `path` and its missing parents, 0700, durably, or with `pending` by a later `sync`."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        with worded(folder), _folder(folder) as parent:
            with suppress(FileExistsError):
                SYS.mkdir(folder.name, PRIVATE_FOLDER, parent)
            _durable(parent, folder.parent, pending)


def write_new(path: Path, content: bytes, pending: set[Path] | None = None) -> None:
    """Create a file, whole, 0600, durably; the same file with the same bytes is no fault.

    With `pending` its name is made durable later, by `sync`. Raises ConflictError when the name is
    taken by other bytes, which stay as they are.
    """
    with worded(path), _folder(path) as folder:
        with _temporary(folder, content) as temporary:
            try:
                _place(temporary, path.name, folder, folder)
            except FileExistsError:
                _same(folder, path, content)
                SYS.unlink(temporary, folder)
        _durable(folder, path.parent, pending)


def replace(path: Path, content: bytes, expected: str, pending: set[Path] | None = None) -> Path | None:
    """Put `content` in the place of the bytes with SHA-256 `expected`; mode and owner are kept.

    The two files are exchanged and the displaced one is looked at: only when it holds what was expected
    and nobody has it open for writing is it dropped. Otherwise it is put back. Where the file system
    cannot tell who has a file open, the displaced file's hidden path is returned; the caller hands it to
    `settle` after a time of grace. Raises ChangedError (a person was faster), NotFoundError, ForbiddenError.
    """
    ours = sha256(content)
    with worded(path), _folder(path) as folder:
        before = os.stat(path.name, dir_fd=folder, follow_symlinks=False)
        with _temporary(folder, content, before) as temporary:
            with _opened(path.name, os.O_RDONLY, folder) as descriptor:
                theirs = _content(descriptor, path)
            if sha256(theirs) != expected:
                raise ChangedError(path, theirs)
            hidden = _hidden_name(expected, ours)
            SYS.rename(temporary, hidden, folder, folder)
        left = _exchange(folder, path, hidden, expected, ours)
        _durable(folder, path.parent, pending)
        return left


def move(path: Path, to: Path, pending: set[Path] | None = None) -> None:
    """Move a file durably; ConflictError when `to` is taken."""
    with worded(path), _folder(path) as folder, _folder(to) as target:
        try:
            _place(path.name, to.name, folder, target)
        except FileExistsError as error:
            raise ConflictError("the name is taken", where=str(to), fix="Move or rename that file.") from error
        _durable(target, to.parent, pending)
        if to.parent != path.parent:
            _durable(folder, path.parent, pending)


def append(path: Path, content: bytes, pending: set[Path] | None = None) -> None:
    """Add whole lines to a file, creating it; a torn last line is closed with a newline first.

    With `pending` they are made durable later, by `sync`. After a failure some of the lines may stand in
    the file; they are not taken back, since somebody else may have added more.
    """
    flags = os.O_RDWR | os.O_APPEND
    with worded(path), _folder(path) as folder:
        try:
            descriptor = SYS.open(path.name, flags | os.O_NOFOLLOW | os.O_NONBLOCK, folder=folder)
        except FileNotFoundError:
            descriptor = SYS.open(path.name, flags | os.O_CREAT | os.O_EXCL, folder=folder)
        try:
            size = _regular(descriptor, path).st_size
            torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
            _write_all(descriptor, b"\n" + content if torn else content)
            _durable(descriptor, path, pending)
        finally:
            SYS.close(descriptor)
        if not size:
            _durable(folder, path.parent, pending)


def write_derived(path: Path, content: bytes) -> None:
    """Write a file that can be made again: whole to every reader, but nothing is synced.

    After a power cut it may be the old one, cut short or zeroes; its reader checks it.
    """
    with worded(path), _folder(path) as folder, _temporary(folder, content, durable=False) as temporary:
        SYS.rename(temporary, path.name, folder, folder)


def remove(path: Path, pending: set[Path] | None = None) -> None:
    """Remove one of our own temporary, journal or derived files; a missing one is no fault."""
    with worded(path), _folder(path) as folder:
        with suppress(FileNotFoundError):
            SYS.unlink(path.name, folder)
        _durable(folder, path.parent, pending)


def sync(pending: Iterable[Path]) -> None:
    """Make files and the names in folders durable, once each.

    After a StorageError none of them may be relied on, and a second `sync` proves nothing.
    """
    for path in sorted(set(pending)):
        with worded(path), _opened(str(path), os.O_RDONLY) as descriptor:
            SYS.fsync(descriptor)


class FolderSyncs(set[Path]):
    """What is to be made durable when the `with` block ends, also with a fault of the project."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is None or isinstance(error, EngramError):
            sync(self)


# ---------------------------------------------------------------------------- what a write left behind


@dataclass(frozen=True, slots=True)
class Left:
    """What became of a hidden file: `gone`; `theirs`, with a person's bytes; `open`, ask again later.

    `unsure`, which `settle` calls open: the file system cannot tell whether somebody writes to it.
    """

    state: Literal["gone", "theirs", "open", "unsure"]
    content: bytes = b""


def settle(hidden: Path, now: float, grace: float) -> Left:
    """Finish with a hidden file: drop it, unless it holds a person's words or may still get some.

    Such words stand nowhere else: the caller files them and then calls `remove`. Where the file system
    cannot tell who has a file open, it must have been at rest for `grace` seconds before `now` (seconds
    since the epoch).
    """
    with worded(hidden), _folder(hidden) as folder, suppress(FileNotFoundError):
        known = _known(hidden.name)
        if known:
            left = _look(folder, hidden, known, now - grace)
            return Left("open", left.content) if left.state == "unsure" else left
        SYS.unlink(hidden.name, folder)
    return Left("gone")


def _look(folder: int, hidden: Path, known: Iterable[str], before: float = -math.inf) -> Left:
    """Drop a hidden file whose hash is `known` and to which nobody writes, or wrote after `before`."""
    with _opened(hidden.name, os.O_RDONLY, folder) as descriptor:
        unwritten = SYS.unwritten(descriptor)
        if unwritten is None and os.fstat(descriptor).st_ctime <= before:
            unwritten = True
        content = _content(descriptor, hidden)
        if not unwritten:
            return Left("unsure" if unwritten is None else "open", content)
        if sha256(content)[:_SHA_SHOWN] not in known:
            return Left("theirs", content)
        if SYS.unwritten(descriptor) is False:
            return Left("open", content)
        SYS.unlink(hidden.name, folder)
        return Left("gone")


def _exchange(folder: int, path: Path, hidden: str, expected: str, ours: str) -> Path | None:
    """Exchange and verify; the hidden path, when it must wait. Raises ChangedError after putting back."""
    aside = path.with_name(hidden)
    try:
        _swap(folder, hidden, path.name)
        try:
            left = _look(folder, aside, [expected[:_SHA_SHOWN]])
        except (OSError, EngramError):
            _swap(folder, hidden, path.name)
            raise
    except (OSError, EngramError):
        with suppress(OSError, EngramError):
            _look(folder, aside, [ours[:_SHA_SHOWN]])
        raise
    if left.state == "gone":
        return None
    if left.state == "unsure" and sha256(left.content) == expected:
        return aside
    _swap(folder, hidden, path.name)
    back = _look(folder, aside, [ours[:_SHA_SHOWN]])
    if back.state == "gone":
        raise ChangedError(path, left.content)
    if sha256(back.content) != ours:
        # They saved over ours in the moment it stood there: their newest words stay in the note.
        _swap(folder, hidden, path.name)
        raise ChangedError(path, back.content, aside)
    raise ChangedError(path, left.content, aside)


def _swap(folder: int, hidden: str, name: str) -> None:
    """Exchange two files; in three steps, with a moment in which a save can be lost, where it must be."""
    try:
        SYS.rename(hidden, name, folder, folder, EXCHANGE)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        spare = _hidden_name(*_known(hidden))
        SYS.link(name, spare, folder)
        SYS.rename(hidden, name, folder, folder)
        SYS.rename(spare, hidden, folder, folder)


class Log:
    """A new append-only file, held open: what `add` returned from is on the disk."""

    def __init__(self, path: Path) -> None:
        """Create `path` durably; ConflictError when it exists."""
        self.path = path
        self.size = 0
        with worded(path), _folder(path) as folder:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL
            self._descriptor = SYS.open(path.name, flags, folder=folder)
            try:
                SYS.fsync(folder)
            except OSError:
                self.close()
                raise

    def add(self, content: bytes) -> None:
        """Append durably. After a StorageError the log must not be used again, only closed."""
        with worded(self.path):
            _write_all(self._descriptor, content)
            SYS.fdatasync(self._descriptor)
        self.size += len(content)

    def close(self) -> None:
        """Let go of the file."""
        with suppress(OSError):
            SYS.close(self._descriptor)


class Lock:
    """A lock on a file, held until `release` or the end of the process."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    def release(self) -> None:
        """Let go; the file stays, since removing it would let two processes in."""
        with suppress(OSError):
            SYS.close(self._descriptor)


def lock(path: Path) -> Lock:
    """Lock `path`, or raise LockedError with the process id of the holder."""
    with worded(path):
        descriptor = SYS.open(str(path), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
        try:
            SYS.lock(descriptor)
            SYS.truncate(descriptor, 0)
            _write_all(descriptor, f"{os.getpid()}\n".encode())
        except OSError as error:
            holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
            SYS.close(descriptor)
            if not isinstance(error, BlockingIOError):
                raise
            fix = "Stop it, or talk to it instead."
            raise LockedError(f"process {holder} owns this vault", where=str(path), fix=fix) from error
    return Lock(path, descriptor)


# ---------------------------------------------------------------------------------------------- pieces


@contextmanager
def _opened(name: str, flags: int, folder: int | None = None) -> Iterator[int]:
    """A descriptor of something that exists; symlinks are refused and pipes not waited for."""
    descriptor = SYS.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK, folder=folder)
    try:
        yield descriptor
    finally:
        SYS.close(descriptor)


@contextmanager
def _folder(path: Path) -> Iterator[int]:
    """The folder in which `path` stands, opened once, so that it cannot be exchanged under our hands."""
    with _opened(str(path.parent), os.O_RDONLY | os.O_DIRECTORY) as descriptor:
        yield descriptor


@contextmanager
def _temporary(
    folder: int, content: bytes, like: os.stat_result | None = None, *, durable: bool = True
) -> Iterator[str]:
    """The name of a complete temporary file; it is removed again when the block fails."""
    name = f".engram-{secrets.token_hex(8)}.tmp"
    try:
        _fill(folder, name, content, like, durable=durable)
        yield name
    except (OSError, EngramError):
        with suppress(OSError):
            SYS.unlink(name, folder)
        raise


def _fill(folder: int, name: str, content: bytes, like: os.stat_result | None, *, durable: bool) -> None:
    """Write a new file, with the owner and mode of `like`."""
    descriptor = SYS.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE, folder)
    try:
        _write_all(descriptor, content)
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


def _hidden_name(expected: str, ours: str) -> str:
    """A name that tells `settle` which bytes in the file are not a person's."""
    return f".engram-{secrets.token_hex(8)}.{expected[:_SHA_SHOWN]}.{ours[:_SHA_SHOWN]}.tmp"


def _known(name: str) -> list[str]:
    """The hashes in the name of a hidden file; none in that of a file that was never published."""
    return name.removesuffix(".tmp").split(".")[2:]


def _place(old: str, new: str, folder: int, to: int) -> None:
    """Rename without replacing; by link and unlink where the file system lacks the call."""
    try:
        SYS.rename(old, new, folder, to, NOREPLACE)
    except OSError as error:
        if error.errno not in _UNSUPPORTED or folder != to:
            raise
        SYS.link(old, new, folder)
        SYS.unlink(old, folder)


def _same(folder: int, path: Path, content: bytes) -> None:
    """Make the file that stands there durable; ConflictError when it is not `content`."""
    with _opened(path.name, os.O_RDONLY, folder) as descriptor:
        if _content(descriptor, path) != content:
            raise ConflictError("the name is taken by another text", where=str(path), fix="Use another name.")
        SYS.fsync(descriptor)


def _content(descriptor: int, path: Path, most: int | None = None) -> bytes:
    """Everything in a regular file, at most `most` bytes."""
    _regular(descriptor, path)
    parts: list[bytes] = []
    size = 0
    while part := SYS.read(descriptor, _CHUNK):
        parts.append(part)
        size += len(part)
        if most is not None and size > most:
            raise OversizedError(f"the file is larger than {most} bytes", where=str(path), fix="Split it.")
    return b"".join(parts)


def _regular(descriptor: int, path: Path) -> os.stat_result:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise ForbiddenError("this is no regular file", where=str(path), fix="Put a file in its place.")
    return status


def _write_all(descriptor: int, content: bytes) -> None:
    while content:
        content = content[SYS.write(descriptor, content) :]


def _durable(descriptor: int, path: Path, pending: set[Path] | None) -> None:
    """Sync now, or note `path` for a later `sync`."""
    if pending is None:
        SYS.fsync(descriptor)
    else:
        pending.add(path)
