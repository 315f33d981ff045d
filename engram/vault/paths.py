"""Paths in the vault: kinds of files, ignored names, and the walk over all files.

A path here is relative to the vault, with `/` between its parts. Files are not opened
and links are not followed.

A file name may contain any bytes except `/` and NUL. Python represents those that are
not UTF-8 as lone surrogates, which SQLite, JSON and notes cannot store. Such a name
never leaves this module: `is_text` detects it, the file is reported as a problem with
code `name`, and `printable` formats the name for messages.
"""

from __future__ import annotations

import fnmatch
import os
import re
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from engram.core.records import Problem

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

Kind = Literal["fact", "session", "note"]

FOLDERS: dict[str, Kind] = {
    "facts": "fact",
    "archive": "fact",
    "review": "fact",
    "sessions": "session",
}
"""The folders with files in a format of engram; all other Markdown is the user's own.
"""

NOT_INDEXED = frozenset(
    {
        "artifacts",
        "boxes",
        "entities",
        "macros",
        "traces",
        "state",
        "views",
        "templates",
        "Home.md",
        "spine.md",
    }
)
"""Names at the top of the vault that are not indexed: they repeat turns or facts."""

IGNORED = (
    "4913", "*~", ".*.sw?", "#*#", ".#*", "*.tmp", "*.part", ".~*", "~$*", ".goutputstream-*", ".syncthing.*"
)  # fmt: skip
"""Temporary files of editors and sync tools; hidden files are ignored too."""

NO_INODE = -1
"""An inode that no file has: a file with this stat is always read again."""

_UNSHOWN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters, line ends, direction marks, and bytes that are not UTF-8."""

_IGNORED = re.compile("|".join(["\\..*", *map(fnmatch.translate, IGNORED)]), re.DOTALL)
_CONFLICT_COPY = re.compile(
    r"\.sync-conflict-\d{8}-\d{6}|conflicted copy|\(conflict\b|_conflict-\d{8}",
    re.IGNORECASE,
)
_INT64 = 0x7FFF_FFFF_FFFF_FFFF


class Stat(NamedTuple):
    """The state of a file without its content; times in nanoseconds.

    No program can set `ctime`, the time of the last change; 0 if it is unknown.
    """

    inode: int
    size: int
    mtime: int
    ctime: int = 0


NOT_TEXT = "the name of the file, or of its folder, is not UTF-8; rename it"

UNKNOWN = Stat(NO_INODE, 0, 0)
"""The stat of a file of which only the name is known; each scan reads it again."""


class FilePlace(NamedTuple):
    """The file of a unit as it was indexed: its path, SHA-256 and stat."""

    path: str = ""
    sha: str = ""
    stat: Stat = UNKNOWN


StatRow = tuple[int, int, int]
"""A `Stat` without its ctime as a plain tuple, which is faster to compare."""


@dataclass(frozen=True, slots=True)
class Walk:
    """The result of a walk: new and changed files, by path, with their stat.

    Unchanged files are removed from `known`, so that the missing ones remain in it.
    `unseen` lists the unreadable folders, whose content is unknown.
    """

    files: dict[str, Stat] = field(default_factory=dict)
    known: dict[str, StatRow] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    unseen: set[str] = field(default_factory=set)


def kind_of(path: str) -> Kind | None:
    """Return the kind of the file at `path`; None for a file that is not indexed."""
    parts = path.split("/")
    if (
        not path.lower().endswith(".md")
        or parts[0] in NOT_INDEXED
        or any(map(_IGNORED.fullmatch, parts))
    ):
        return None
    return kind_of_indexed(path)


def kind_of_indexed(path: str) -> Kind:
    """Return the kind of a file that is known to be indexed."""
    folder, _, below = path.partition("/")
    return FOLDERS.get(folder, "note") if below else "note"


def parent_folders(path: str) -> list[str]:
    """Return the folders above `path`."""
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def is_ignored(path: str) -> bool:
    """Return whether nothing at or below the folder `path` is indexed."""
    parts = path.split("/")
    return parts[0] in NOT_INDEXED or any(map(_IGNORED.fullmatch, parts))


def is_below(path: str, folders: Iterable[str]) -> bool:
    """Return whether `path` is one of `folders` or below; '' is the whole vault."""
    return any(
        not folder or path == folder or path.startswith(f"{folder}/")
        for folder in folders
    )


def is_conflict_copy(path: str) -> bool:
    """Return whether a file name is that of a conflict copy (Syncthing, Dropbox, …)."""
    return _CONFLICT_COPY.search(path.rpartition("/")[2]) is not None


def is_text(path: str) -> bool:
    """Return whether the name is UTF-8, so that the catalogue and JSON can store it."""
    if path.isascii():
        return True
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def printable(path: str) -> str:
    r"""Return `path` for a message: on one line, printable, always UTF-8.

    A byte that is not UTF-8 becomes `\xe9`, a control character `\n` or `\x1b`, a
    direction mark `\u202e`. Other names are unchanged.

    >>> printable("notes/caf\udce9.md")
    'notes/caf\\xe9.md'
    """
    return _UNSHOWN.sub(_escaped, path)


def _escaped(match: re.Match[str]) -> str:
    sign = match[0]
    if "\udc80" <= sign <= "\udcff":
        return f"\\x{ord(sign) - 0xDC00:02x}"
    return sign.encode("unicode_escape").decode()


def stat_of(result: os.stat_result) -> Stat:
    """Return the `Stat` of a file, its inode cut to the 63 bits of SQLite."""
    inode, size = result.st_ino & _INT64, result.st_size
    return Stat(inode, size, result.st_mtime_ns, result.st_ctime_ns)


def identity(folder: Path) -> tuple[int, int] | None:
    """Return what differs if another folder takes the place of one; None without any."""
    try:
        found = folder.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def walk(
    root: str,
    path: str = "",
    known: dict[str, StatRow] | None = None,
    left_out: Collection[str] = (),
) -> Walk:
    """Return the indexable files at or below `path` with another stat than in `known`.

    `root` is absolute and free of symbolic links. Unchanged files are removed from
    `known`. The folders `left_out`, relative to `root`, are not read.
    """
    found = Walk(known={} if known is None else known)
    start = f"{root}/{path}" if path else root
    try:
        above = [f"{root}/{folder}" for folder in parent_folders(path)]
        if is_below(path, left_out) or any(map(os.path.islink, above)):
            return found
        status = os.lstat(start)
    except (FileNotFoundError, NotADirectoryError):
        if not path:
            found.unseen.add("")
        return found
    except OSError as fault:
        _not_seen(found, path, fault)
        return found
    if stat.S_ISDIR(status.st_mode):
        if not path or not is_ignored(path):
            _walk_folders(root, path, found, left_out)
    elif kind_of(path):
        if stat.S_ISREG(status.st_mode) and _name_is_text(path, found):
            _add_file(found, path, status)
        elif stat.S_ISLNK(status.st_mode):
            _look_at_link(root, path, found)
    return found


def _walk_folders(root: str, top: str, found: Walk, left_out: Collection[str]) -> None:
    """Walk `top` and all folders below it."""
    folders = [top]
    while folders:
        folder = folders.pop()
        if folder in left_out:
            continue
        try:
            with os.scandir(f"{root}/{folder}") as entries:
                folders += _walk_folder(root, folder, entries, found)
        except FileNotFoundError:
            if not folder:
                found.unseen.add(folder)
        except OSError as fault:
            _not_seen(found, folder, fault)


def _walk_folder(
    root: str, folder: str, entries: Iterable[os.DirEntry[str]], found: Walk
) -> list[str]:
    """Add the files of one folder, and return the folders in it to walk next.

    This loop determines the time of a start. Nearly every file has a plain ASCII name
    that is never ignored, which is tested before the regular expression.
    """
    folders: list[str] = []
    known = found.known
    prefix = f"{folder}/" if folder else ""
    below_top = prefix != "" and prefix.isascii()
    for entry in entries:
        name = entry.name
        path = prefix + name
        indexed = (
            below_top
            and name[-3:] == ".md"
            and name[0].isalnum()
            and name.isascii()
            and entry.is_file(follow_symlinks=False)
        )
        if not indexed and not _is_ignored_name(name, top=not prefix):
            indexed = _look_at(root, entry, path, folders, found)
        if not indexed:
            continue
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
        # as in _add_file, without a call for each file
        state = (status.st_ino & _INT64, status.st_size, status.st_mtime_ns)
        if known.get(path) == state:
            del known[path]
        else:
            found.files[path] = Stat(*state)
    return folders


def _is_ignored_name(name: str, *, top: bool) -> bool:
    """Return whether nothing below a name is indexed; `top` is the vault itself."""
    return (top and name in NOT_INDEXED) or _IGNORED.fullmatch(name) is not None


def _not_seen(found: Walk, path: str, fault: OSError) -> None:
    found.unseen.add(path)
    why = f"it cannot be read ({fault.strerror}), so its content is not known"
    found.problems.append(Problem("unreadable", why, printable(path) or "."))


def _look_at(
    root: str, entry: os.DirEntry[str], path: str, folders: list[str], found: Walk
) -> bool:
    """Return whether `entry` is a file to index; add a folder to `folders`."""
    if entry.is_symlink():
        _look_at_link(root, path, found)
    elif entry.is_dir(follow_symlinks=False):
        folders.append(path)
    else:
        markdown = path[-3:].lower() == ".md" and entry.is_file(follow_symlinks=False)
        return markdown and _name_is_text(path, found)
    return False


def _add_file(found: Walk, path: str, status: os.stat_result) -> None:
    seen = (status.st_ino & _INT64, status.st_size, status.st_mtime_ns)
    if found.known.get(path) == seen:
        del found.known[path]
    else:
        found.files[path] = Stat(*seen)


def _look_at_link(root: str, path: str, found: Walk) -> None:
    """Report a link that leads out of the vault; skip any other."""
    target = os.path.realpath(f"{root}/{path}")
    if not target.startswith(f"{root}/"):
        found.problems.append(
            Problem(
                "symlink-out",
                "this link leads out of the vault and is not followed",
                printable(path),
            )
        )


def _name_is_text(path: str, found: Walk) -> bool:
    if not is_text(path):
        found.problems.append(Problem("name", NOT_TEXT, printable(path)))
        return False
    return True
