"""Compare-and-swap for files that a person may be editing.

No system call replaces a file on the condition that it still has the bytes that were
read. `replace` therefore exchanges the new file with the old one in one step
(renameat2(2), RENAME_EXCHANGE), reads the displaced file, and exchanges them back if it
has other bytes. The displaced file has a hidden name with the hashes of the two
versions that engram knows: any other content is a person's and is preserved.
"""

from __future__ import annotations

import math
import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from engram.errors import ConflictError, EngramError
from engram.vault import syscalls
from engram.vault.syscalls import (
    EXCHANGE,
    UNSUPPORTED,
    durable,
    folder_of,
    opened,
    os_errors,
    read_all,
    sha256,
    temporary,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


_SHA_SHOWN = 32
"""Hex digits of a hash in a hidden name: 128 bits, and the name is below 143 bytes."""


class ChangedError(ConflictError):
    """The file has other bytes, `theirs`; the new bytes were not stored.

    `left` lists hidden files for `settle`, which may contain more of a person's text.
    """

    code = "changed"

    def __init__(self, where: Path, theirs: bytes, left: tuple[Path, ...] = ()) -> None:
        super().__init__(
            "the file changed",
            where=str(where),
            fix="Read it again and repeat the change.",
        )
        self.theirs = theirs
        self.left = left


def replace(
    path: Path, content: bytes, expected: str, pending: set[Path] | None = None
) -> Path | None:
    """Replace the bytes with SHA-256 `expected` by `content`; mode and owner stay.

    The displaced file is removed only if it has the expected bytes and no process has
    it open for writing; otherwise the two are exchanged back. On a file system that
    does not report open files, the hidden path of the displaced file is returned; the
    caller passes it to `settle` later. Raises ChangedError, NotFoundError,
    ForbiddenError, StorageError.
    """
    ours = sha256(content)
    with os_errors(path), folder_of(path) as folder:
        before = os.stat(path.name, dir_fd=folder, follow_symlinks=False)
        with temporary(folder, content, before) as fresh:
            with opened(path.name, os.O_RDONLY, folder) as descriptor:
                theirs = read_all(descriptor, path)
            if sha256(theirs) != expected:
                raise ChangedError(path, theirs)
            hidden = _hidden_name(expected, ours, _name_hash(path.name))
            syscalls.SYS.rename(fresh, hidden, folder, folder)
        left = _exchange(folder, path, hidden, expected, ours)
        durable(folder, path.parent, pending)
        return left


def leftovers(root: Path) -> Iterator[Path]:
    """Yield the hidden files of interrupted writes under `root`, for `settle`."""
    for folder, _, names in os.walk(root):
        for name in sorted(names):
            if name.startswith(".engram-") and name.endswith(".tmp"):
                yield Path(folder, name)


@dataclass(frozen=True, slots=True)
class Leftover:
    """The state of a hidden file after `settle`.

    `gone`: it was removed. `theirs`: it has a person's bytes, `content`. `open`: a
    process may still write to it; settle it again later. `unsure`, which `settle`
    reports as open: the file system does not report whether a process has it open.
    """

    state: Literal["gone", "theirs", "open", "unsure"]
    content: bytes = b""


def settle(hidden: Path, now: float, grace: float) -> Leftover:
    """Remove a hidden file unless it has lines of a person that its note lacks.

    Those lines are stored nowhere else (`theirs`): the caller saves them and then calls
    `remove`. A file is settled only if it did not change within `grace` seconds before
    `now` (seconds since the epoch) or, if the file system reports open files, if no
    process has it open for writing and its content is known.
    """
    with os_errors(hidden), folder_of(hidden) as folder, suppress(FileNotFoundError):
        known = _name_hashes(hidden.name)
        if known:
            left = _remove_if_known(folder, hidden, known[:2], now - grace)
            if left.state != "theirs":
                return (
                    Leftover("open", left.content) if left.state == "unsure" else left
                )
            if (
                os.stat(hidden.name, dir_fd=folder, follow_symlinks=False).st_ctime
                > now - grace
            ):
                return Leftover("open", left.content)
            if not _note_has_lines(folder, hidden, left.content):
                return left
        syscalls.SYS.unlink(hidden.name, folder)
    return Leftover("gone")


def _note_has_lines(folder: int, hidden: Path, content: bytes) -> bool:
    """Return whether the note of a hidden file has all lines of that file."""
    for name in os.listdir(folder):
        if _name_hash(name) == _name_hashes(hidden.name)[-1]:
            with opened(name, os.O_RDONLY, folder) as descriptor:
                return set(content.splitlines()) <= set(
                    read_all(descriptor, hidden).splitlines()
                )
    return False


def _remove_if_known(
    folder: int, hidden: Path, known: Iterable[str], before: float = -math.inf
) -> Leftover:
    """Remove a hidden file that has a `known` hash and no writer.

    If the file system does not report writers, the file must not have changed after
    `before` (epoch seconds).
    """
    with opened(hidden.name, os.O_RDONLY, folder) as descriptor:
        no_writer = syscalls.SYS.has_no_writer(descriptor)
        if no_writer is None and os.fstat(descriptor).st_ctime <= before:
            no_writer = True
        content = read_all(descriptor, hidden)
        if not no_writer:
            return Leftover("unsure" if no_writer is None else "open", content)
        if sha256(content)[:_SHA_SHOWN] not in known:
            return Leftover("theirs", content)
        if syscalls.SYS.has_no_writer(descriptor) is False:
            return Leftover("open", content)
        syscalls.SYS.unlink(hidden.name, folder)
        return Leftover("gone")


def _exchange(
    folder: int, path: Path, hidden: str, expected: str, ours: str
) -> Path | None:
    """Exchange two files and verify the displaced one.

    Returns the hidden path if it must be settled later. Raises ChangedError after the
    files were exchanged back.
    """
    aside = path.with_name(hidden)
    try:
        _swap(folder, hidden, path.name)
        try:
            left = _remove_if_known(folder, aside, [expected[:_SHA_SHOWN]])
        except (OSError, EngramError):
            _swap(folder, hidden, path.name)
            raise
    except (OSError, EngramError):
        with suppress(OSError, EngramError):
            _remove_if_known(folder, aside, [ours[:_SHA_SHOWN]])
        raise
    if left.state == "gone":
        return None
    if left.state == "unsure" and sha256(left.content) == expected:
        return aside
    _swap(folder, hidden, path.name)
    copies = (
        []
        if sha256(left.content) == expected
        else [_save_copy(folder, path, hidden, left.content)]
    )
    back = _remove_if_known(folder, aside, [ours[:_SHA_SHOWN]])
    if back.state != "gone":
        copies.append(aside)
    if back.state == "gone" or sha256(back.content) == ours:
        raise ChangedError(path, left.content, tuple(copies))
    # A person saved over engram's version while it was in place: their newest bytes
    # stay in the note.
    _swap(folder, hidden, path.name)
    copies.append(_save_copy(folder, path, hidden, back.content))
    raise ChangedError(path, back.content, tuple(copies))


def _save_copy(folder: int, path: Path, hidden: str, content: bytes) -> Path:
    """Save a copy of a person's bytes that were exchanged back into the note.

    For a moment the note had engram's version. An editor that read it then would
    overwrite these bytes with its next save.
    """
    with temporary(folder, content) as name:
        copy = _hidden_name(*_name_hashes(hidden))
        syscalls.SYS.rename(name, copy, folder, folder)
    return path.with_name(copy)


def _swap(folder: int, hidden: str, name: str) -> None:
    """Exchange two files in one step.

    On a file system without renameat2(2) it takes three steps, and a save between them
    can be lost.
    """
    try:
        syscalls.SYS.rename(hidden, name, folder, folder, EXCHANGE)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
        spare = _hidden_name(*_name_hashes(hidden))
        syscalls.SYS.link(name, spare, folder)
        syscalls.SYS.rename(hidden, name, folder, folder)
        syscalls.SYS.rename(spare, hidden, folder, folder)


def _hidden_name(expected: str, ours: str, note: str) -> str:
    """Return a hidden name with the hashes of both versions and of the note's name."""
    return f".engram-{secrets.token_hex(8)}.{expected[:_SHA_SHOWN]}.{ours[:_SHA_SHOWN]}.{note}.tmp"


def _name_hash(name: str) -> str:
    return sha256(os.fsencode(name))[:16]


def _name_hashes(name: str) -> list[str]:
    """Return the three hashes in a hidden name; none for an unpublished file."""
    return name.removesuffix(".tmp").split(".")[2:]
