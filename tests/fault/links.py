"""Symlinks that lead out of the vault, at every place of a path, before every function."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from harness import snapshot

from engram.errors import EngramError
from engram.vault import disk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SECRET = b"theirs\n"


def _replace(path: Path) -> None:
    disk.replace(path, b"ours\n", disk.sha256(SECRET))


FUNCTIONS: dict[str, Callable[[Path], object]] = {
    "write_new": lambda path: disk.write_new(path, b"ours\n"),
    "replace": _replace,
    "append": lambda path: disk.append(path, b"ours\n"),
    "write_derived": lambda path: disk.write_derived(path, b"ours\n"),
    "remove": disk.remove,
    "move": lambda path: disk.move(path, path.with_name("moved.md")),
    "move, looked at": lambda path: disk.move(
        path, path.with_name("moved.md"), expected=disk.sha256(SECRET)
    ),
    "make_folders": lambda path: disk.make_folders(path.with_name("new")),
    "read": lambda path: _must_not_read(disk.read(path)),
}


def _must_not_read(content: bytes) -> None:
    assert content != SECRET, "a file outside was read"


def links_everywhere(root: Path) -> int:
    """Plant a link as the file and as its folder, call each function on it; the number
    of cases.

    Nothing outside may change or be read.
    """
    cases = 0
    for name, function in FUNCTIONS.items():
        for place in ("file", "folder"):
            here, outside = root / f"{name}-{place}", root / f"{name}-{place}-outside"
            (here / "facts").mkdir(parents=True)
            outside.mkdir()
            (outside / "a.md").write_bytes(SECRET)
            if place == "file":
                (here / "facts/a.md").symlink_to(outside / "a.md")
            else:
                (here / "facts").rmdir()
                (here / "facts").symlink_to(outside)
            before = snapshot(outside)
            with suppress(EngramError):
                function(disk.safe_join(here, "facts/a.md"))
            with suppress(EngramError):
                function(here / "facts/a.md")
            assert snapshot(outside) == before, f"{name} followed a link ({place})"
            assert sorted(path.name for path in outside.iterdir()) == ["a.md"]
            cases += 1
    return cases
