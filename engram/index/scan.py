"""Compare the vault with the catalogue and store the changes (rows X18–X20, C11).

A scan compares each file by inode, size and mtime and reads only those that differ. It
never writes into the vault. The user changes that it finds stay in the catalogue until
the caller has recorded and acknowledged them.
"""

from __future__ import annotations

import os
import threading
import time
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from engram.core.records import Fact, FiledTurn, Problem
from engram.errors import StorageError
from engram.index.database import unpack
from engram.index.diff import Diff, DiffBuilder, EditedFact
from engram.index.parse import (
    Entry,
    FileReading,
    LastGood,
    parse,
    read_file,
    unread_entry,
    with_last_keys,
)
from engram.index.update import drop, store, store_new
from engram.vault import disk
from engram.vault.paths import (
    NO_INODE,
    FilePlace,
    Stat,
    StatRow,
    Walk,
    is_below,
    is_text,
    kind_of,
    parent_folders,
    printable,
    stat_of,
    walk,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from datetime import tzinfo
    from pathlib import Path

    from engram.core.policy import FilePolicy
    from engram.index.catalog import Catalog
    from engram.vault.git import Git

_BULK = 8
"""The number of files from which collisions are checked for a whole batch at once."""


class Scanner:
    """The scanner that updates `catalog` from the files below `root`.

    Dates without a zone are in `zone`; `clock` returns seconds from any origin; `git`
    is the repository of the vault. Only one thread at a time may change the catalogue.
    """

    def __init__(
        self,
        catalog: Catalog,
        root: Path,
        zone: tzinfo,
        policy: FilePolicy,
        clock: Callable[[], float] = time.monotonic,
        *,
        git: Git | None = None,
        left_out: Collection[str] = (),
    ) -> None:
        self.catalog = catalog
        self.database = catalog.database
        self.root = os.path.realpath(root)
        self.zone = zone
        self.policy = policy
        self.clock = clock
        self.git = git
        self.left_out = left_out
        self._scanning = threading.Lock()
        # path → time of the first scan that missed it
        self._missing: dict[str, float] = {}
        self._verified: dict[str, tuple[str, Stat]] = {}
        self._complete_generation = ""
        self._walked_generation = ""

    @property
    def generation(self) -> str:
        """The generation of the catalogue, or '' until it has the whole vault."""
        generation = self.database.generation
        if self._walked_generation == generation or self._is_complete():
            return generation
        return ""

    def start_over(self) -> None:
        """Empty the catalogue; the next scan reads the whole vault."""
        with self._scanning:
            self._missing.clear()
            self.database.start_over()

    def scan(
        self,
        paths: Collection[Path | str] | None = None,
        *,
        accept_deletions: bool = False,
    ) -> Diff:
        """Store the changes at and below `paths`, or in the whole vault.

        A missing file counts as deleted when a second scan, `settle_most_seconds`
        later, misses it too, but not while too many are missing, unless the user
        accepts the deletions. A damaged catalogue is filled again from the whole vault.
        Raises StorageError if the cache disk fails.
        """
        with self._scanning:
            generation = self.database.generation
            try:
                diff = self._scan(paths, accept=accept_deletions)
            except StorageError:
                if self.database.generation == generation:
                    raise
            else:
                if self.database.generation == generation:
                    return diff
            return self._scan(None, accept=False)

    def acknowledge(self, diff: Diff) -> None:
        """Remove the user changes of `diff`, which the caller has recorded.

        Until then every scan returns them again, also after a crash.
        """
        if diff.last_change:
            with self.database.transaction() as db:
                db.execute(
                    "DELETE FROM user_change WHERE seq <= ?", (diff.last_change,)
                )

    def wrote(self, files: Mapping[str, bytes]) -> None:
        """Store engram's own writes at once, which the next scan then skips (`X18`).

        `files` maps each path to its bytes, b'' for a file that was moved away. A file
        that a user has changed meanwhile is left to the next scan.
        """
        diff = DiffBuilder(by_user=False, by_engram=True)
        stats = {path: self._stat(path) for path in files}
        entries = [
            self._parse(path, raw, stat)
            for path, raw in files.items()
            if (stat := stats[path]) and kind_of(path) and stat.size == len(raw)
        ]
        if entries:
            self._store(entries, diff)
        removed = [
            path for path, raw in files.items() if not raw and stats[path] is None
        ]
        if removed:
            with self.database.transaction() as db:
                for path in removed:
                    drop(db, path, diff)
        self._take_in(diff.reread, diff)

    # -- single files ------------------------------------------------------------------

    def is_unchanged(self, place: FilePlace) -> bool:
        """Return whether a file is as it was indexed (`X19`).

        It is with the same stat: each write changes the ctime. Otherwise the file is
        read, once for each of its states. A file that changed just now is read each
        time, because it may change again within one tick of that clock.
        """
        path, sha, known = place
        stat = self._stat(path)
        if stat is None:
            return False
        if stat == known or self._verified.get(path) == (sha, stat):
            return True
        reading = read_file(f"{self.root}/{path}", self.policy.note_bytes)
        if reading.fault or disk.sha256(reading.raw) != sha:
            return False
        if reading.stat == self._trusted(stat):
            if len(self._verified) >= self.policy.units:
                self._verified.clear()
            self._verified[path] = sha, stat
        return True

    def read(self, path: str) -> Entry | None:
        """Return the present file at `path`, None if it cannot be read.

        The catalogue is not changed.
        """
        stat = self._stat(path) if path else None
        if stat is None:
            return None
        reading = read_file(f"{self.root}/{path}", self.policy.note_bytes)
        if reading.fault:
            return None
        return self._parse(path, reading.raw, stat)

    def exists(self, path: str) -> bool:
        """Return whether a file exists, or may exist, at `path`."""
        try:
            os.lstat(f"{self.root}/{path}")
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True
        return True

    # -- the steps of a scan -----------------------------------------------------------

    def _scan(self, paths: Collection[Path | str] | None, *, accept: bool) -> Diff:
        diff = DiffBuilder()
        generation = self.database.generation
        was_complete = self._is_complete()
        if not was_complete or self._git_stamp():
            paths = None

        places = self._places(paths)
        found = self._walk(places)
        self._store_problems(places, found.problems, diff)
        missing = [
            path
            for path in found.known
            if path not in found.files and not is_below(path, found.unseen)
        ]
        if self.left_out:
            missing = self._drop_left_out(missing, diff)
        # after the walk, so that the stamp covers all changes by git until then
        stamp = self._git_stamp()
        if stamp and was_complete:
            missing = self._follow_git(found, missing, diff)
            diff.checked_out = True
        self._take_in(sorted(found.files), diff, found.known)
        self._drop_missing(missing, diff, accept=accept)

        if paths is None:
            self._walked_generation = generation
        if paths is None and not found.unseen:
            if not was_complete and not self._is_complete():
                self.database.set_setting("complete", "yes")
            if self.git and stamp:
                self.git.mark_known(stamp)
        return diff.diff(*self._user_changes())

    def files_at(self, path: str) -> Collection[str]:
        """Return the paths of the files to index at and below `path`."""
        return walk(self.root, path, left_out=self.left_out).files.keys()

    def _drop_left_out(self, missing: list[str], diff: DiffBuilder) -> list[str]:
        """Remove files of folders that are left out now; return the other missing ones.

        They are still there, so this is no deletion by the user.
        """
        left = [path for path in missing if is_below(path, self.left_out)]
        quiet = DiffBuilder(by_user=False)
        with self.database.transaction() as db:
            for path in left:
                drop(db, path, quiet)
        self._take_in(quiet.reread, quiet)
        diff.pending |= quiet.pending
        return [path for path in missing if path not in left]

    def _git_stamp(self) -> str:
        """Return the stamp of git's activity since the last whole scan, or ''."""
        return self.git.changed_stamp() if self.git else ""

    def _is_complete(self) -> bool:
        """Return whether the whole vault was read since the catalogue was empty."""
        generation = self.database.generation
        if self._complete_generation != generation and self.catalog.complete:
            self._complete_generation = self.database.generation
        return self._complete_generation == self.database.generation

    def _user_changes(
        self,
    ) -> tuple[list[EditedFact], list[Fact], list[FiledTurn], list[FiledTurn], int]:
        """Return the user changes, and the number of the last row.

        They are the edited and deleted facts and turns, in their earlier form. A
        deleted fact that is in the catalogue again was restored.
        """
        rows = self.database.query(
            "SELECT seq, key, kind, before, after, "
            "EXISTS (SELECT 1 FROM unit WHERE unit.key = user_change.key) "
            "FROM user_change ORDER BY seq"
        )
        edited: list[EditedFact] = []
        deleted: dict[str, Fact] = {}
        turns: list[FiledTurn] = []
        removed: dict[tuple[str, str], FiledTurn] = {}
        for _, key, kind, before, after, restored in rows:
            if kind == "turn":
                turn = cast("FiledTurn", unpack("turn", before))
                if after:
                    turns.append(turn)
                elif not self.catalog.turn(turn.turn.session, turn.turn.id):
                    removed[turn.turn.session, turn.turn.id] = turn
                continue
            fact = cast("Fact", unpack("fact", before))
            if after:
                edited.append(EditedFact(fact, cast("Fact", unpack("fact", after))))
            elif not restored:
                deleted[key] = fact
        last = rows[-1][0] if rows else 0
        gone = list(removed.values())
        return edited, list(deleted.values()), turns, gone, last

    def _follow_git(
        self, found: Walk, missing: list[str], diff: DiffBuilder
    ) -> list[str]:
        """Store git's writes and removals; return the other files of `lost`.

        They are no user changes, except files that a user deleted through git; if those
        are so many that they may be another tree, they are none either. Files that git
        wrote are removed from `seen`. While git is active, missing files are pending.
        """
        assert self.git
        by_git = self.git.checked_out([*found.files, *missing])
        deleted = self.git.deleted(by_git.intersection(missing))
        if not self._are_too_many(len(deleted)):
            by_git -= deleted
        if not by_git:
            return missing

        quiet = DiffBuilder(by_user=False)
        written = by_git & found.files.keys()
        self._take_in(sorted(written), quiet, found.known)
        for path in written:
            del found.files[path]
        absent = set() if self.git.is_locked else by_git.intersection(missing)
        removed = sorted(path for path in absent if self._is_known(path))
        with self.database.transaction() as db:
            for path in removed:
                if not self.files_at(path):
                    drop(db, path, quiet)
                self._missing.pop(path, None)
        self._take_in(quiet.reread, quiet)
        diff.pending |= quiet.pending
        if self.git.is_locked:
            diff.pending |= by_git
        return [path for path in missing if path not in by_git]

    def _places(self, paths: Collection[Path | str] | None) -> list[str]:
        """Return the outermost of `paths`, relative to the vault; "" is all of it."""
        if paths is None:
            return [""]
        inside = set()
        for path in paths:
            text = str(path)
            if not text.startswith("/"):
                text = f"{self.root}/{text}"
            text = os.path.normpath(text)
            if text == self.root:
                return [""]
            if text.startswith(f"{self.root}/"):
                inside.add(text[len(self.root) + 1 :])
        return sorted(
            path for path in inside if inside.isdisjoint(parent_folders(path))
        )

    def _walk(self, places: Sequence[str]) -> Walk:
        """Walk over the files at and below `places`.

        Returns the files that are new or differ from the catalogue, and as `known` the
        rows of those that differ or are missing.
        """
        seen = Walk()
        columns = "SELECT path, inode, size, mtime FROM file"
        below = (
            f"{columns} WHERE path = ? UNION ALL {columns} WHERE path > ? AND path < ?"
        )
        for place in filter(is_text, places):  # other names are not in the catalogue
            rows = (
                self.database.query(below, (place, f"{place}/", f"{place}0"))
                if place
                else self.database.query(columns)
            )
            seen.known.update({row[0]: row[1:] for row in rows})
        were_missing = self._missing.keys() & seen.known.keys()
        for place in places:
            found = walk(self.root, place, seen.known, self.left_out)
            seen.files.update(found.files)
            seen.problems.extend(found.problems)
            seen.unseen.update(found.unseen)

        for path in list(self._missing):
            unchanged = path in were_missing and path not in seen.known
            if path in seen.files or unchanged:
                del self._missing[path]
        return seen

    def _store_problems(
        self, places: Sequence[str], found: Sequence[Problem], diff: DiffBuilder
    ) -> None:
        """Replace the problems of files without a row at and below `places`.

        Such a file is a link out of the vault, has a name that is not UTF-8, or is a
        folder that cannot be read.
        """
        rows = self.database.query(
            "SELECT code, message, path, line FROM problem "
            "WHERE path NOT IN (SELECT path FROM file)"
        )
        folders = [printable(place) for place in places]
        old = {Problem(*row) for row in rows if is_below(row[2], folders)}
        new = dict.fromkeys(found)
        outdated = old.difference(new)
        added = [problem for problem in new if problem not in old]
        if not outdated and not added:
            return

        with self.database.transaction() as db:
            db.executemany(
                "DELETE FROM problem WHERE path = ?",
                [(problem.path,) for problem in outdated],
            )
            db.executemany(
                "INSERT INTO problem VALUES (?, ?, ?, ?)",
                [(one.path, one.line, one.code, one.message) for one in added],
            )
        diff.problems += added

    # -- reading and storing files -----------------------------------------------------

    def _take_in(
        self,
        paths: list[str],
        diff: DiffBuilder,
        known: Mapping[str, StatRow] = MappingProxyType({}),
    ) -> None:
        """Read and store the files at `paths`, then those that inherit a claim."""
        queue = list(paths)
        while queue:
            batch = queue[: self.policy.scan_batch]
            del queue[: self.policy.scan_batch]
            diff.reread.clear()
            entries = [self._read(path, diff, known.get(path)) for path in batch]
            self._store([entry for entry in entries if entry], diff)
            queue += diff.reread

    def _store(self, entries: list[Entry], diff: DiffBuilder) -> None:
        """Store the files that have not changed since they were read.

        The others are pending.
        """
        with self.database.transaction() as db:
            settled: list[tuple[Entry, Stat]] = []
            for entry in entries:
                reread = entry.stat.inode == NO_INODE
                if reread or self._stat(entry.path) == entry.stat:
                    settled.append((entry, self._trusted(entry.stat)))
                else:
                    diff.pending.add(entry.path)
            if len(settled) > _BULK:
                settled = store_new(db, settled, diff, self.zone)
            for entry, stat in settled:
                store(db, entry, stat, self.exists, diff, self.zone)

    def _read(
        self, path: str, diff: DiffBuilder, known: StatRow | None
    ) -> Entry | None:
        """Read and parse a file; None if it is pending or its bytes are known."""
        reading = read_file(f"{self.root}/{path}", self.policy.note_bytes)
        match reading.fault:
            case "vanished" | "busy":
                diff.pending.add(path)
                return None
            case "too-large":
                message = f"more than {self.policy.note_bytes} bytes; not read"
                return unread_entry(path, reading.stat, "too-large", message)
            case "unreadable":
                message = "the file cannot be read"
                return unread_entry(path, reading.stat, "unreadable", message)
        if (
            not reading.raw
            and _age(reading.stat.mtime) < self.policy.settle_most_seconds
        ):
            diff.pending.add(path)
            return None
        if known and known[1] == reading.stat.size and self._same_bytes(path, reading):
            return None
        return self._parse(path, reading.raw, reading.stat)

    def _parse(self, path: str, raw: bytes, stat: Stat) -> Entry:
        """Parse a file; one with broken front matter gets its last good keys."""
        entry = parse(path, raw, stat, self.policy, self.zone)
        if not entry.broken:
            return entry
        return with_last_keys(entry, self._last_good(entry), self.zone)

    def _last_good(self, entry: Entry) -> LastGood:
        """Return the catalogue's entry of the file, or of the one moved to its path."""
        with self.database.lock:
            rows = self.database.query(
                "SELECT path, claim FROM file WHERE path = ? OR sha = ? "
                "ORDER BY path <> ?",
                (entry.path, entry.sha, entry.path),
            )
            for path, claim in rows:
                if path == entry.path or not self.exists(path):
                    return LastGood(
                        self.catalog.units_at(path),
                        claim,
                        self.catalog.session_at(path),
                    )
        return LastGood()

    def _same_bytes(self, path: str, reading: FileReading) -> bool:
        """Return whether the catalogue has these bytes; if so, store only the stat."""
        rows = self.database.query("SELECT sha FROM file WHERE path = ?", (path,))
        if not rows or rows[0][0] != disk.sha256(reading.raw):
            return False
        if self._stat(path) == reading.stat:
            with self.database.transaction() as db:
                db.execute(
                    "UPDATE file SET inode = ?, size = ?, mtime = ?, ctime = ? "
                    "WHERE path = ?",
                    (*self._trusted(reading.stat), path),
                )
        return True

    def _trusted(self, stat: Stat) -> Stat:
        """Return `stat` without its inode or ctime if it is too new to trust it.

        Such a file may change again without another time.
        """
        if _age(stat.ctime) < self.policy.racy_seconds:
            stat = stat._replace(ctime=0)
        if _age(stat.mtime) < self.policy.racy_seconds:
            stat = stat._replace(inode=NO_INODE)
        return stat

    def _stat(self, path: str) -> Stat | None:
        try:
            return stat_of(os.lstat(f"{self.root}/{path}"))
        except OSError:
            return None

    # -- missing files -----------------------------------------------------------------

    def _drop_missing(
        self, missing: list[str], diff: DiffBuilder, *, accept: bool
    ) -> None:
        """Drop the files missed for the second time, unless too many are missing."""
        now = self.clock()
        self._missing = {
            path: self._missing.get(path, now)
            for path in {*self._missing, *missing}
            if self._is_known(path)
        }
        diff.frozen = not accept and self._are_too_many(len(self._missing))
        settled = now - self.policy.settle_most_seconds
        ripe: list[str] = []
        for path in missing:
            if path not in self._missing:
                continue  # found at another path
            if accept or self._missing[path] <= settled:
                ripe.append(path)
            else:
                diff.pending.add(path)
        if not ripe or diff.frozen:
            return

        with self.database.transaction() as db:
            for path in ripe:
                if not self.files_at(path):
                    drop(db, path, diff)
                del self._missing[path]
        self._take_in(diff.reread, diff)

    def _are_too_many(self, missing: int) -> bool:
        """Return whether so many missing files indicate an unmounted disk."""
        if not missing:
            return False
        known = int(self.database.query("SELECT count(*) FROM file")[0][0])
        share = missing / known if known else 0.0
        return (
            missing > self.policy.vanished_notes
            or (
                missing >= self.policy.vanished_least
                and share > self.policy.vanished_share
            )
            or missing == known > 1
        )

    def _is_known(self, path: str) -> bool:
        return bool(self.database.query("SELECT 1 FROM file WHERE path = ?", (path,)))


def _age(moment: int) -> float:
    """Return the absolute difference in seconds between a time of a file and now."""
    return abs(time.time_ns() - moment) / 1e9
