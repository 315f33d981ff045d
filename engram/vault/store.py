"""The files of a vault, its logs and its lists (rows X3, X8, X17, A32).

`vault.changes` writes notes through this class. Tombstones are durable before the
return, the action log is not synced.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from engram.core import jsonl
from engram.core.actions import CREATION_ACTIONS
from engram.core.text import HASH_VERSION
from engram.errors import ConflictError, EngramError, NotFoundError
from engram.vault import disk
from engram.vault.paths import identity, printable, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

ACTIONS = "state/memory-actions.jsonl"
TOMBSTONES = "state/tombstones.jsonl"
HASHES = "state/fact-hashes.txt"
HASHES_HEAD = (
    f"# SHA-256 of the normal form, version {HASH_VERSION}, of every active fact"
)
RETRIES = 5
MOST_OWN = 4096
"""The number of files in `own_writes`; only recent writes are looked up."""
# A pattern of rows in the form of `log_actions`: the log of a large vault is read as a
# whole before the first maintenance run.
_BIRTH = re.compile(
    rb'^\{"at": "([^"\n]*)", "action": "(?:%s)", [^\n]*?"memory": "([^"\n]*)"'
    % "|".join(sorted(CREATION_ACTIONS)).encode(),
    re.MULTILINE,
)


class Vault:
    """A folder of Markdown and the only writer of it.

    `root` is resolved and exists. `before_write` is called with the path of each file
    before it changes. `own_writes` maps the files that engram wrote last to the time of
    that write (ns): a file with another time was written by another program.
    """

    def __init__(
        self, root: Path, before_write: Callable[[str], None] | None = None
    ) -> None:
        self.root = root
        self.before_write = before_write or _ignore
        self.own_writes: dict[str, int] = {}
        self.unsettled: dict[str, str] = {}
        self._folder = identity(root)
        self._left = set(disk.leftovers(root))

    def read(self, path: str) -> bytes:
        """Return the bytes of the vault-relative `path`.

        Raises NotFoundError, ForbiddenError or StorageError.
        """
        return disk.read(disk.safe_join(self.root, path))

    def exists(self, path: str) -> bool:
        """Return whether a file or folder exists at `path`."""
        return disk.safe_join(self.root, path).exists()

    def notes(self, folder: str) -> list[str]:
        """Return the paths of the notes at and below `folder`, in order."""
        return sorted(walk(str(self.root), folder).files)

    def edited_at(self, path: str) -> float | None:
        """Return the time of the last write by another program (epoch seconds).

        None if engram wrote the file last, or if its status cannot be read.
        """
        try:
            mtime = (self.root / path).lstat().st_mtime_ns
        except OSError:
            return None
        return None if mtime == self.own_writes.get(path) else mtime / 1e9

    def is_at_rest(self, path: str, now: datetime, quiet: float) -> bool:
        """Return whether no other program wrote the file within `quiet` seconds.

        A time far in the future also counts as at rest: the clock was wrong.
        """
        edited = self.edited_at(path)
        return edited is None or abs(now.timestamp() - edited) >= quiet

    def create(self, path: str, raw: bytes, pending: set[Path] | None = None) -> None:
        """Create a file. Raises ConflictError if `path` exists with other bytes."""
        target = self._target(path, pending)
        disk.write_new(target, raw, pending)
        self._record_own_write(path)

    def rewrite(
        self,
        path: str,
        patch: Callable[[bytes], bytes],
        pending: set[Path] | None = None,
    ) -> bytes:
        """Replace the file by `patch` of its bytes, and return the new bytes.

        If the user saves the file meanwhile, `patch` is applied to the newer bytes, up
        to RETRIES times. Raises ConflictError after that.
        """
        self.check_present()
        target = disk.safe_join(self.root, path)
        for _ in range(RETRIES):
            raw = disk.read(target)
            new = patch(raw)
            if new == raw:
                return raw
            self.before_write(path)
            try:
                left = disk.replace(target, new, disk.sha256(raw), pending)
            except disk.ChangedError as fault:
                self._left.update(fault.left)
                continue
            self._left |= {left} if left else set()
            self._record_own_write(path)
            return new
        raise ConflictError(
            "the note is being edited",
            where=path,
            fix="Try again when the editor is done.",
        )

    def put(self, path: str, raw: bytes) -> None:
        """Make `raw` the content of a file, which is created if it is missing."""
        if self.exists(path):
            self.rewrite(path, lambda _: raw)
        else:
            self.create(path, raw)

    def move(
        self,
        path: str,
        to: str,
        pending: set[Path] | None = None,
        expected: str | None = None,
    ) -> None:
        """Rename a file; the folder of `to` is created.

        Raises ConflictError if `to` exists, or if the bytes have another SHA-256 than
        `expected`.
        """
        target = self._target(to)
        self.before_write(path)
        disk.move(disk.safe_join(self.root, path), target, pending, expected)
        if path in self.own_writes:
            self.own_writes[to] = self.own_writes.pop(path)

    def remove(self, path: str, pending: set[Path] | None = None) -> None:
        """Remove a file; its bytes are in the history of runs, or in the trash."""
        self.check_present()
        self.before_write(path)
        disk.remove(disk.safe_join(self.root, path), pending)

    def trash_paths(self) -> list[str]:
        """Return the files in `.trash/YYYY-MM-DD/`; any others are the user's."""
        folder = self.root / ".trash"
        found = (
            folder.glob("[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]/*")
            if not folder.is_symlink()
            else ()
        )
        ours = (
            path for path in found if path.is_file() and not path.parent.is_symlink()
        )
        return sorted(path.relative_to(self.root).as_posix() for path in ours)

    def erase(self, path: str) -> None:
        """Remove a file of the trash durably, and its folder if that is empty then."""
        self.remove(path)
        disk.remove_empty_folder(disk.safe_join(self.root, path).parent)

    def _record_own_write(self, path: str) -> None:
        self.own_writes.pop(path, None)
        with suppress(OSError):
            self.own_writes[path] = (self.root / path).lstat().st_mtime_ns
        if len(self.own_writes) > MOST_OWN:
            del self.own_writes[next(iter(self.own_writes))]

    def settle_leftovers(self, now: datetime, grace: float) -> list[str]:
        """Remove displaced files, and return the paths of new notes in `review/`.

        A displaced file with text of the user becomes such a note. `grace` is the time
        in seconds that a file must have been at rest if the file system does not report
        who has it open. A file that cannot be settled is listed in `unsettled`, with
        the reason.
        """
        saved = []
        self.unsettled.clear()
        for hidden in sorted(self._left):
            try:
                saved += self._settle(hidden, now, grace)
            except EngramError as fault:
                self.unsettled[printable(hidden.relative_to(self.root).as_posix())] = (
                    printable(str(fault))
                )
        return saved

    def _settle(self, hidden: Path, now: datetime, grace: float) -> list[str]:
        left = disk.settle(hidden, now.timestamp(), grace)
        if left.state == "open":
            return []
        path = f"review/{now:%Y-%m-%d}-late-words-{disk.sha256(left.content)[:8]}.md"
        # In `state` the file is the list of hashes, left by a power cut.
        saved = (
            [path]
            if left.state == "theirs" and self.root / "state" not in hidden.parents
            else []
        )
        for path in saved:
            self.create(path, left.content)
        if left.state == "theirs":
            disk.remove(hidden)
        self._left.discard(hidden)
        return saved

    def log_actions(self, rows: Sequence[Mapping[str, object]]) -> None:
        """Append rows to the action log; not synced, since no state depends on it."""
        self._append(ACTIONS, rows, set())

    def add_tombstones(self, rows: Sequence[Mapping[str, object]]) -> None:
        """Append tombstones durably: statements that must not return (`X8`)."""
        self._append(TOMBSTONES, rows, None)

    def actions_of(self, memory: str) -> list[dict[str, object]]:
        """Return the rows of the action log that name `memory`, oldest first."""
        return [
            row
            for row in self._rows(ACTIONS, memory)
            if memory in {row.get("memory"), row.get("met")}
        ]

    def rows_with(self, action: str) -> list[dict[str, object]]:
        """Return the rows of the action log with this action, oldest first."""
        rows = self._rows(ACTIONS, action)
        return [row for row in rows if row.get("action") == action]

    def replaced_words(self, turn: str) -> set[str]:
        """Return digests of the words of a turn that a user changed in its file.

        `turn` is the key of the turn; the set is empty if a user changed nothing.
        """
        rows = self.actions_of(turn)
        return {str(row.get("was")) for row in rows if row.get("action") == "edit"}

    def creation_times(self) -> dict[str, str]:
        """Return the time of the first `CREATION_ACTIONS` row of each memory, by id."""
        try:
            raw = disk.read(disk.safe_join(self.root, ACTIONS))
        except NotFoundError:
            return {}
        found: dict[str, str] = {}
        for row in _BIRTH.finditer(raw):
            found.setdefault(
                row[2].decode(errors="replace"), row[1].decode(errors="replace")
            )
        return found

    def logged_actions(self, actions: Collection[str]) -> set[tuple[str, str]]:
        """Return (action, memory) of each log row with one of these actions."""
        rows = (row for action in actions for row in self._rows(ACTIONS, action))
        return {
            (str(row.get("action")), str(row.get("memory")))
            for row in rows
            if row.get("action") in actions
        }

    def tombstone_rows(self) -> list[dict[str, object]]:
        """Return every row of the tombstones, including restored ones, oldest first."""
        return self._rows(TOMBSTONES)

    def add_hashes(self, hashes: Iterable[str]) -> None:
        """Add to the hashes of active facts (`C5`); not synced: they are derived."""
        target = self._target(HASHES)
        disk.append(target, "".join(f"{line}\n" for line in hashes).encode(), set())

    def seed_hashes(self, hashes: Collection[str]) -> bool:
        """Make the list contain exactly `hashes` (`C5`).

        Returns whether it was written.
        """
        target = disk.safe_join(self.root, HASHES)
        have = disk.read(target) if target.exists() else b""
        lines = have.decode(errors="replace").splitlines()
        if lines[:1] == [HASHES_HEAD] and sorted(lines[1:]) == sorted(hashes):
            return False
        new = "\n".join([HASHES_HEAD, *sorted(hashes), ""]).encode()
        self.put(HASHES, new)
        return True

    @property
    def is_present(self) -> bool:
        """Whether the folder at `root` is still the opened one, and a vault."""
        return identity(self.root) == self._folder and os.access(
            self.root / "engram.toml", os.F_OK
        )

    @property
    def was_exchanged(self) -> bool:
        """Whether another folder is at `root` now."""
        return identity(self.root) not in {self._folder, None}

    def check_present(self) -> None:
        """Raise NotFoundError if the vault was moved or exchanged."""
        if not self.is_present:  # also if it cannot be read
            raise NotFoundError(
                "the vault is gone",
                where=str(self.root),
                fix="Put it back, or start on its new place.",
            )

    def _target(self, path: str, pending: set[Path] | None = None) -> Path:
        """Return the absolute path of `path`, after preparing a write to it.

        The folder is created, and the write is reported.
        """
        self.check_present()
        target = disk.safe_join(self.root, path)
        disk.make_folders(target.parent, pending)
        self.before_write(path)
        return target

    def append(self, path: str, raw: bytes) -> None:
        """Append whole lines to a file durably; a new file appears whole."""
        self.check_present()
        if self.exists(path):
            self.before_write(path)
            disk.append(disk.safe_join(self.root, path), raw)
        else:
            self.create(path, raw)

    def _append(
        self, path: str, rows: Sequence[Mapping[str, object]], pending: set[Path] | None
    ) -> None:
        disk.append(self._target(path), jsonl.encode(rows), pending)

    def _rows(self, path: str, needle: str = "") -> list[dict[str, object]]:
        """Return the JSON rows of `path` whose line contains `needle`."""
        try:
            raw = disk.read(disk.safe_join(self.root, path))
        except NotFoundError:
            return []
        return list(jsonl.rows(raw, needle))


def _ignore(_path: str) -> None:
    """Do nothing before a write, because no commits are made."""
