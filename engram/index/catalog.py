"""The catalogue: what every file of the vault held when it was last read (rows X18,
X19, X20, C11).

Path → (inode, size, mtime, SHA-256, records), in SQLite, derived and disposable. A scan
compares the disk with it by stat and reads only what differs. It never writes into the
vault.
"""

from __future__ import annotations

import os
import threading
import time
from types import MappingProxyType
from typing import TYPE_CHECKING

from engram.core.policy import FilePolicy
from engram.core.records import Problem
from engram.core.text import HASH_VERSION
from engram.errors import StorageError
from engram.index.diff import Delta, Diff, DiffLog
from engram.index.lookups import Lookups
from engram.index.parse import LastGood, entry_of, read_file, refused, with_last_keys
from engram.index.rows import SHAPE, CatalogDatabase, unpack
from engram.index.scan import drop, store, store_new
from engram.vault import disk, location
from engram.vault.paths import (
    READ_AGAIN,
    Stat,
    Walk,
    above,
    is_text,
    kind_of,
    shown,
    stat_of,
    walk,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from datetime import tzinfo
    from pathlib import Path

    from engram.core.records import Fact
    from engram.index.diff import Edited
    from engram.index.parse import Entry, FileReading
    from engram.index.rows import Unit
    from engram.vault.git import Git
    from engram.vault.paths import Seen

VERSION = 7
"""Version of the rows and of what is read into them."""


_FEW = 8
"""Up to so many files it costs more to ask what they could collide with than to store
them one by one.
"""


class Catalog(Lookups):
    """The catalogue of the vault `root`, kept in the folder `cache`; dates without a
    zone are in `zone`.

    `clock` counts seconds and need not tell the time. `gone` is told of the facts a
    person deleted, `edited` of those they changed, before the catalogue believes it; if
    that fails, the next scan tells them again. What `git`, the vault's repository, took
    away or changed is told to neither. Changes come from one writer thread at a time,
    look-ups from any.
    """

    def __init__(
        self,
        root: Path,
        cache: Path,
        zone: tzinfo,
        policy: FilePolicy | None = None,
        clock: Callable[[], float] = time.monotonic,
        *,
        gone: Callable[[Sequence[Fact]], None] | None = None,
        edited: Callable[[Sequence[Edited]], None] | None = None,
        git: Git | None = None,
    ) -> None:
        self.git = git
        self.root = os.path.realpath(root)
        self.zone = zone
        self.policy = policy or FilePolicy()
        self.clock = clock
        limits = (
            self.policy.front_matter_bytes,
            self.policy.nesting,
            self.policy.nodes,
            self.policy.note_bytes,
        )
        # a folder that is another one, as a backup put back, lacks nothing: with it the
        # catalogue begins anew
        stamp = f"{VERSION} {HASH_VERSION} {zone} {limits} {SHAPE} {location.identity(self.root)}"
        super().__init__(
            CatalogDatabase(cache / "catalogue.db", stamp), self.policy.units
        )
        self._scanning = threading.Lock()
        self._gone = gone
        self._edited = edited
        self._missing: dict[str, float] = {}
        self._seen_whole = self._walked = ""

    def close(self) -> None:
        """Let go of the database."""
        self.rows.close()

    def start_over(self) -> None:
        """Forget everything; the next scan of the whole vault brings it back."""
        with self._scanning:
            self._missing.clear()
            self.rows.start_over()

    # ------------------------------------------------------------------------------------- disk → rows

    def scan(
        self,
        paths: Collection[Path | str] | None = None,
        *,
        accept_deletions: bool = False,
    ) -> Diff:
        """Compare the vault, or only what is at and below `paths`, with the catalogue
        and take in the rest.

        A file gone is believed gone when a second scan, `settle_most_seconds` later,
        misses it too, and never while too many are gone at once, unless a person
        accepts the deletions. A catalogue found damaged is begun again from the whole
        vault. Raises StorageError when the cache disk refuses.
        """
        with self._scanning:
            generation = self.rows.generation
            try:
                diff = self._scan(paths, accept=accept_deletions)
            except StorageError:
                if self.rows.generation == generation:
                    raise
            else:
                if self.rows.generation == generation:
                    return diff
            return self._scan(None, accept=False)

    def wrote(self, held: Mapping[str, bytes]) -> None:
        """Take in our own writes at once (`X18`): the next look-up finds them, the next
        scan finds nothing new.

        `held` is what each path holds now, b'' for one that holds nothing any more, as
        after a move. Where a person was faster, the next scan tells.
        """
        log = DiffLog(ours=True)
        stats = {path: self._stat(path) for path in held}
        entries = [
            self._understood(path, raw, stat)
            for path, raw in held.items()
            if (stat := stats[path]) and kind_of(path) and stat.size == len(raw)
        ]
        if entries:
            self._store(entries, log)
        if gone := [
            path for path, raw in held.items() if not raw and stats[path] is None
        ]:
            with self.rows.change() as db:
                for path in gone:
                    drop(db, path, log)
        self._take(log.heirs, log)

    def verify(self, path: str, sha: str) -> bytes | None:
        """The bytes now at `path` if their SHA-256 is `sha`, else None (`X19`)."""
        reading = read_file(f"{self.root}/{path}", self.policy.note_bytes)
        return (
            reading.raw
            if not reading.fault and disk.sha256(reading.raw) == sha
            else None
        )

    def reread(self, path: str) -> Entry | None:
        """The file at `path` as it is now, the rows left as they are; None if it is not
        there.
        """
        stat = self._stat(path) if path else None
        if stat is None:
            return None
        reading = read_file(f"{self.root}/{path}", self.policy.note_bytes)
        if reading.fault:
            return None
        return self._understood(path, reading.raw, stat)

    # ----------------------------------------------------------------------------------- rows → indexes

    @property
    def mark(self) -> str:
        """Where the catalogue stands; an index that stands at the same mark holds the
        same units.
        """
        return f"{self.rows.generation}:{self._last()}"

    def since(self, mark: str) -> Delta:
        """What changed since an index stood at `mark`; everything, if that was another
        catalogue or ''.
        """
        with self.rows.lock:
            generation, _, number = mark.partition(":")
            last = self._last()
            # a power cut takes the last rows back
            fresh = generation != self.rows.generation or int(number) > last
            first = 0 if fresh else int(number)
            removed = (
                []
                if fresh
                else self.rows.ask("SELECT key FROM gone WHERE seq > ?", (first,))
            )
            keys = tuple(str(key) for (key,) in removed)
            return Delta(
                f"{self.rows.generation}:{last}", fresh, keys, self._units(first, last)
            )

    def _last(self) -> int:
        found = self.rows.ask(
            "SELECT max(ifnull((SELECT max(seq) FROM unit), 0), ifnull((SELECT max(seq) FROM gone), 0))"
        )
        return int(found[0][0]) if found else 0

    def _units(self, first: int, last: int) -> Iterator[Unit]:
        question = "SELECT seq, kind, record FROM unit WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
        while first < last and (
            found := self.rows.ask(question, (first, last, self.policy.scan_batch))
        ):
            first = found[-1][0]
            yield from (unpack(kind, record) for _, kind, record in found)

    # --------------------------------------------------------------------------------------------- scan

    def _scan(self, paths: Collection[Path | str] | None, *, accept: bool) -> Diff:
        log, generation = DiffLog(), self.rows.generation
        whole = self._whole()
        paths = paths if whole and not (self.git and self.git.moved()) else None
        places = self._inside(paths)
        seen = self._look(places)
        known = seen.known
        self._keep_problems(places, seen.problems, log)
        lost = [
            path
            for path in known
            if path not in seen.files and not _below(path, seen.unseen)
        ]
        # asked behind the look: what git did until then is in the stamp
        stamp = self.git.moved() if self.git else ""
        if stamp and whole:
            lost, log.checked_out = self._follow_git(seen, lost, log), True
        self._take(sorted(seen.files), log, known)
        self._let_go(lost, log, accept=accept)
        if paths is None and not seen.unseen:
            if not whole and not self._whole():
                self.rows.set("complete", "yes")
            if self.git and stamp:
                self.git.saw(stamp)
        if paths is None:
            self._walked = generation
        return log.diff()

    def _follow_git(self, seen: Walk, lost: list[str], log: DiffLog) -> list[str]:
        """Take in what git brought and took away, and tell nobody: nobody edited or
        deleted it. What else is lost.

        The files that git brought are taken out of `seen`. What a person deleted
        through git is lost like what they deleted by hand, unless it is so much that
        nothing tells a deletion from another tree. While git is at work what is absent
        is looked for again.
        """
        assert self.git
        by_git = self.git.checked_out([*seen.files, *lost])
        theirs = self.git.deleted(by_git.intersection(lost))
        if not self._many(len(theirs)):
            by_git -= theirs
        if not by_git:
            return lost
        quiet = DiffLog(ours=True)
        self._take(sorted(by_git & seen.files.keys()), quiet, seen.known)
        for path in by_git & seen.files.keys():
            del seen.files[path]
        absent = () if self.git.at_work else by_git.intersection(lost)
        gone = sorted(path for path in absent if self._known(path))
        with self.rows.change() as db:
            for path in gone:
                if not walk(self.root, path).files:
                    drop(db, path, quiet)
                self._missing.pop(path, None)
        self._take(quiet.heirs, quiet)
        log.pending |= quiet.pending | (by_git if self.git.at_work else set())
        return [path for path in lost if path not in by_git]

    @property
    def known(self) -> str:
        """The catalogue's generation if all of the vault that can be read is in it, ''
        since it began anew.
        """
        generation = self.rows.generation
        return generation if self._walked == generation or self._whole() else ""

    def _whole(self) -> bool:
        """`complete`, remembered, for every scan asks."""
        if self._seen_whole != self.rows.generation and self.complete:
            self._seen_whole = self.rows.generation
        return self._seen_whole == self.rows.generation

    def _inside(self, paths: Collection[Path | str] | None) -> list[str]:
        """The asked places as paths in the vault; those outside are none of ours."""
        if paths is None:
            return [""]
        inside = set()
        for path in paths:
            text = str(path)
            text = os.path.normpath(
                text if text.startswith("/") else f"{self.root}/{text}"
            )
            if text == self.root:
                return [""]
            if text.startswith(f"{self.root}/"):
                inside.add(text[len(self.root) + 1 :])
        return sorted(path for path in inside if inside.isdisjoint(above(path)))

    def _look(self, places: Sequence[str]) -> Walk:
        """The files at and below `places` that stand otherwise on the disk than the
        catalogue knows them.
        """
        seen = Walk()
        known = seen.known
        question = "SELECT path, inode, size, mtime FROM file"
        for place in filter(is_text, places):  # no row has another name
            at_and_below = f"{question} WHERE path = ? UNION ALL {question} WHERE path > ? AND path < ?"
            asked = (
                (at_and_below, (place, f"{place}/", f"{place}0"))
                if place
                else (question,)
            )
            known.update({row[0]: row[1:] for row in self.rows.ask(*asked)})
        missed = self._missing.keys() & known.keys()
        for place in places:
            found = walk(self.root, place, known)
            seen.files.update(found.files)
            seen.problems.extend(found.problems)
            seen.unseen.update(found.unseen)
        for path in [
            path
            for path in self._missing
            if path in seen.files or (path in missed and path not in known)
        ]:
            del self._missing[path]
        return seen

    def _keep_problems(
        self, places: Sequence[str], found: Sequence[Problem], log: DiffLog
    ) -> None:
        """Keep the problems of what was passed over at and below `places`, in place of
        those that were kept so far.

        Such a file has no row: a link out of the vault, a name that is not UTF-8, a
        folder that cannot be read.
        """
        asked = "SELECT code, message, path, line FROM problem WHERE path NOT IN (SELECT path FROM file)"
        looked = [shown(place) for place in places]
        kept = [
            Problem(*row)
            for row in self.rows.ask(asked)
            if any(
                not place or row[2] == place or row[2].startswith(f"{place}/")
                for place in looked
            )
        ]
        gone, fresh = set(kept).difference(found), set(found).difference(kept)
        if not gone and not fresh:
            return
        with self.rows.change() as db:
            db.executemany(
                "DELETE FROM problem WHERE path = ?",
                [(problem.path,) for problem in gone],
            )
            rows = [
                (one.path, one.line, one.code, one.message)
                for one in dict.fromkeys(found)
                if one in fresh
            ]
            db.executemany("INSERT INTO problem VALUES (?, ?, ?, ?)", rows)
        for problem in dict.fromkeys(found):
            if problem in fresh:
                log.tell("problems", problem)

    def _take(
        self,
        paths: list[str],
        log: DiffLog,
        known: Mapping[str, Seen] = MappingProxyType({}),
    ) -> None:
        """Read, understand and store the files at `paths`, and then those that inherit
        a claim.
        """
        while paths:
            batch, paths = (
                paths[: self.policy.scan_batch],
                paths[self.policy.scan_batch :],
            )
            log.heirs.clear()
            self._store(
                [
                    entry
                    for path in batch
                    if (entry := self._read(path, log, known.get(path)))
                ],
                log,
            )
            paths += log.heirs

    def _store(self, entries: list[Entry], log: DiffLog) -> None:
        """Write the rows of files that still stand as they were read; the others are
        pending.
        """
        told = len(log.found["edited"])
        with self.rows.change() as db:
            still = [
                entry
                for entry in entries
                if entry.stat.inode == READ_AGAIN
                or self._stat(entry.path) == entry.stat
            ]
            log.pending.update(
                {entry.path for entry in entries}.difference(
                    entry.path for entry in still
                )
            )
            rest = [(entry, self._trusted(entry.stat)) for entry in still]
            for entry, stat in store_new(db, rest, log) if len(rest) > _FEW else rest:
                store(db, entry, stat, self.stands, log)
            if self._edited and (edits := log.found["edited"][told:]):
                self._edited(edits)

    def _read(self, path: str, log: DiffLog, known: Seen | None) -> Entry | None:
        """The file understood; None if it is to be looked at again, or holds the bytes
        it held before.
        """
        reading = read_file(f"{self.root}/{path}", self.policy.note_bytes)
        match reading.fault:
            case "vanished" | "busy":
                log.pending.add(path)
                return None
            case "too-large":
                return refused(
                    path,
                    reading.stat,
                    "too-large",
                    f"more than {self.policy.note_bytes} bytes; not read",
                )
            case "unreadable":
                return refused(
                    path, reading.stat, "unreadable", "the file cannot be read"
                )
        if not reading.raw and _age(reading.stat) < self.policy.settle_most_seconds:
            log.pending.add(path)
            return None
        if known and known[1] == reading.stat.size and self._same_bytes(path, reading):
            return None
        return self._understood(path, reading.raw, reading.stat)

    def _understood(self, path: str, raw: bytes, stat: Stat) -> Entry:
        """What a file says; one with broken front matter under the keys that were last
        read in it.
        """
        entry = entry_of(path, raw, stat, self.policy, self.zone)
        return (
            with_last_keys(entry, self._last_good(entry), self.zone)
            if entry.broken
            else entry
        )

    def _last_good(self, entry: Entry) -> LastGood:
        """What is known of the file, or of the one with these bytes that was moved
        there.
        """
        with self.rows.lock:
            asked = "SELECT path, claim FROM file WHERE path = ? OR sha = ? ORDER BY path <> ?"
            for path, claim in self.rows.ask(
                asked, (entry.path, entry.sha, entry.path)
            ):
                if path != entry.path and self.stands(path):
                    continue
                found = self.rows.ask(
                    "SELECT kind, record FROM unit WHERE path = ? ORDER BY seq", (path,)
                )
                sessions = self._sessions("path = ?", path)
                return LastGood(
                    tuple(unpack(*row) for row in found),
                    claim,
                    next(iter(sessions), None),
                )
        return LastGood()

    def _same_bytes(self, path: str, reading: FileReading) -> bool:
        """Whether the catalogue holds these bytes already; then only the stat is new."""
        have = self.rows.ask("SELECT sha FROM file WHERE path = ?", (path,))
        if not have or have[0][0] != disk.sha256(reading.raw):
            return False
        if self._stat(path) == reading.stat:
            with self.rows.change() as db:
                stat = self._trusted(reading.stat)
                db.execute(
                    "UPDATE file SET inode = ?, size = ?, mtime = ? WHERE path = ?",
                    (*stat, path),
                )
        return True

    def _trusted(self, stat: Stat) -> Stat:
        """`stat`, or one that differs from every other if the file may change again in
        the same instant.
        """
        return (
            stat
            if _age(stat) >= self.policy.racy_seconds
            else stat._replace(inode=READ_AGAIN)
        )

    def _stat(self, path: str) -> Stat | None:
        try:
            return stat_of(os.lstat(f"{self.root}/{path}"))
        except OSError:
            return None

    def stands(self, path: str) -> bool:
        """Whether something is at `path`, or may be: only a clear no is a no."""
        try:
            os.lstat(f"{self.root}/{path}")
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True
        return True

    # -------------------------------------------------------------------------------------------- gone

    def _let_go(self, lost: list[str], log: DiffLog, *, accept: bool) -> None:
        """Drop the files missed for the second time; none of them while too many are
        missing.
        """
        now = self.clock()
        self._missing = {
            path: self._missing.get(path, now)
            for path in {*self._missing, *lost}
            if self._known(path)
        }
        lost = [path for path in lost if path in self._missing]
        log.frozen = not accept and self._too_many()
        settled = now - self.policy.settle_most_seconds
        ripe = [path for path in lost if accept or self._missing[path] <= settled]
        log.pending.update(set(lost).difference(ripe))
        if ripe and not log.frozen:
            with self.rows.change() as db:
                for path in ripe:
                    if not walk(self.root, path).files:
                        drop(db, path, log)
                    del self._missing[path]
                if self._gone and log.found["deleted"]:
                    self._gone(log.found["deleted"])
            self._take(log.heirs, log)

    def _too_many(self) -> bool:
        """An unmounted disk or an emptied folder looks like this."""
        return self._many(len(self._missing))

    def _many(self, gone: int) -> bool:
        """Whether so many files gone at once are too many to be believed deleted."""
        if not gone:
            return False
        all_files = int(self.rows.ask("SELECT count(*) FROM file")[0][0])
        share = gone / all_files if all_files else 0.0
        large = (
            gone >= self.policy.vanished_least and share > self.policy.vanished_share
        )
        return gone > self.policy.vanished_notes or large or gone == all_files > 1

    def _known(self, path: str) -> bool:
        """Whether there is still a row: what was missed may have been found under
        another path.
        """
        return bool(self.rows.ask("SELECT 1 FROM file WHERE path = ?", (path,)))


def _below(path: str, folders: Collection[str]) -> bool:
    return any(
        not folder or path == folder or path.startswith(f"{folder}/")
        for folder in folders
    )


def _age(stat: Stat) -> float:
    """Seconds between the file's own time and now, in either direction."""
    return abs(time.time_ns() - stat.mtime) / 1e9
