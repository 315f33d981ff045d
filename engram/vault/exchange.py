"""Rewriting a file that a person may be editing: exchange, look at what was displaced,
put it back if need be.

No call replaces a file only if it still holds what we read. So ours and theirs change
places in one step, and then what came out is looked at. A file set aside has a hidden
name that tells what is not a person's.
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
    content_of,
    durable,
    folder_of,
    opened,
    sha256,
    temporary,
    worded,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


_SHA_SHOWN = 32
"""Hex digits of a hash in the name of a hidden file: 128 bits, and the name stays below
143 bytes.
"""


class ChangedError(ConflictError):
    """A person was faster: the file holds their bytes, `theirs`, and ours were not
    stored.

    `left` names hidden files that may hold more of a person's words; `settle` says.
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
    """Put `content` in the place of the bytes with SHA-256 `expected`; mode and owner
    are kept.

    The two files are exchanged and the displaced one is looked at: only when it holds
    what was expected and nobody has it open for writing is it dropped. Otherwise it is
    put back. Where the file system cannot tell who has a file open, the displaced
    file's hidden path is returned; the caller hands it to `settle` after a time of
    grace. Raises ChangedError (a person was faster), NotFoundError, ForbiddenError.
    """
    ours = sha256(content)
    with worded(path), folder_of(path) as folder:
        before = os.stat(path.name, dir_fd=folder, follow_symlinks=False)
        with temporary(folder, content, before) as fresh:
            with opened(path.name, os.O_RDONLY, folder) as descriptor:
                theirs = content_of(descriptor, path)
            if sha256(theirs) != expected:
                raise ChangedError(path, theirs)
            hidden = _hidden_name(expected, ours, _name_hash(path.name))
            syscalls.SYS.rename(fresh, hidden, folder, folder)
        left = _exchange(folder, path, hidden, expected, ours)
        durable(folder, path.parent, pending)
        return left


def leftovers(root: Path) -> Iterator[Path]:
    """The hidden files under `root` that an interrupted write left; each wants
    `settle`.
    """
    for folder, _, names in os.walk(root):
        for name in sorted(names):
            if name.startswith(".engram-") and name.endswith(".tmp"):
                yield Path(folder, name)


@dataclass(frozen=True, slots=True)
class Leftover:
    """What became of a hidden file: `gone`; `theirs`, with a person's bytes; `open`,
    ask again later.

    `unsure`, which `settle` calls open: the file system cannot tell whether somebody
    writes to it.
    """

    state: Literal["gone", "theirs", "open", "unsure"]
    content: bytes = b""


def settle(hidden: Path, now: float, grace: float) -> Leftover:
    """Finish with a hidden file: drop it, unless it holds words of a person that its
    note has not.

    Such words stand nowhere else: the caller files them and then calls `remove`. That
    is said only of a file at rest for `grace` seconds before `now` (seconds since the
    epoch); so long, too, one must wait where the file system cannot tell who has a file
    open.
    """
    with worded(hidden), folder_of(hidden) as folder, suppress(FileNotFoundError):
        known = _known(hidden.name)
        if known:
            left = _look(folder, hidden, known[:2], now - grace)
            if left.state != "theirs":
                return (
                    Leftover("open", left.content) if left.state == "unsure" else left
                )
            if (
                os.stat(hidden.name, dir_fd=folder, follow_symlinks=False).st_ctime
                > now - grace
            ):
                return Leftover("open", left.content)
            if not _stands_in_note(folder, hidden, left.content):
                return left
        syscalls.SYS.unlink(hidden.name, folder)
    return Leftover("gone")


def _stands_in_note(folder: int, hidden: Path, content: bytes) -> bool:
    """Whether the note from which a hidden file comes has all its lines."""
    for name in os.listdir(folder):
        if _name_hash(name) == _known(hidden.name)[-1]:
            with opened(name, os.O_RDONLY, folder) as descriptor:
                return set(content.splitlines()) <= set(
                    content_of(descriptor, hidden).splitlines()
                )
    return False


def _look(
    folder: int, hidden: Path, known: Iterable[str], before: float = -math.inf
) -> Leftover:
    """Drop a hidden file whose hash is `known` and to which nobody writes, or wrote
    after `before`.
    """
    with opened(hidden.name, os.O_RDONLY, folder) as descriptor:
        unwritten = syscalls.SYS.unwritten(descriptor)
        if unwritten is None and os.fstat(descriptor).st_ctime <= before:
            unwritten = True
        content = content_of(descriptor, hidden)
        if not unwritten:
            return Leftover("unsure" if unwritten is None else "open", content)
        if sha256(content)[:_SHA_SHOWN] not in known:
            return Leftover("theirs", content)
        if syscalls.SYS.unwritten(descriptor) is False:
            return Leftover("open", content)
        syscalls.SYS.unlink(hidden.name, folder)
        return Leftover("gone")


def _exchange(
    folder: int, path: Path, hidden: str, expected: str, ours: str
) -> Path | None:
    """Exchange and verify; the hidden path, when it must wait. Raises ChangedError
    after putting back.
    """
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
    kept = (
        []
        if sha256(left.content) == expected
        else [_keep(folder, path, hidden, left.content)]
    )
    back = _look(folder, aside, [ours[:_SHA_SHOWN]])
    if back.state != "gone":
        kept.append(aside)
    if back.state == "gone" or sha256(back.content) == ours:
        raise ChangedError(path, left.content, tuple(kept))
    # They saved over ours in the moment it stood there: their newest words stay in the
    # note.
    _swap(folder, hidden, path.name)
    kept.append(_keep(folder, path, hidden, back.content))
    raise ChangedError(path, back.content, tuple(kept))


def _keep(folder: int, path: Path, hidden: str, content: bytes) -> Path:
    """A copy of a person's bytes that were put back.

    For a moment ours stood in the note. An editor that read it then does not know these
    bytes, and its next save would be the end of them.
    """
    with temporary(folder, content) as name:
        copy = _hidden_name(*_known(hidden))
        syscalls.SYS.rename(name, copy, folder, folder)
    return path.with_name(copy)


def _swap(folder: int, hidden: str, name: str) -> None:
    """Exchange two files; in three steps, with a moment in which a save can be lost,
    where it must be.
    """
    try:
        syscalls.SYS.rename(hidden, name, folder, folder, EXCHANGE)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
        spare = _hidden_name(*_known(hidden))
        syscalls.SYS.link(name, spare, folder)
        syscalls.SYS.rename(hidden, name, folder, folder)
        syscalls.SYS.rename(spare, hidden, folder, folder)


def _hidden_name(expected: str, ours: str, note: str) -> str:
    """A name that tells `settle` which bytes in the file are not a person's, and where
    it comes from.
    """
    return f".engram-{secrets.token_hex(8)}.{expected[:_SHA_SHOWN]}.{ours[:_SHA_SHOWN]}.{note}.tmp"


def _name_hash(name: str) -> str:
    return sha256(os.fsencode(name))[:16]


def _known(name: str) -> list[str]:
    """What the name of a hidden file tells; nothing, when it was never published."""
    return name.removesuffix(".tmp").split(".")[2:]
