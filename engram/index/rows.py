"""The catalogue's rows in SQLite: the schema, the records as text, and a file that may
be damaged or deleted.

Derived and disposable: a database that is damaged, or that was written under another
stamp, is replaced by an empty one.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from engram.core.records import Fact, FiledTurn, Turn
from engram.core.sessions import SessionProgress
from engram.errors import EngramError, StorageError
from engram.vault import disk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class OwnNote:
    """A note of the user's own, or an episode, which may be a persona's: its title is
    the file's stem.

    `changed` is when it was last written.
    """

    path: str
    title: str
    text: str
    changed: datetime
    sha: str = ""
    persona: str | None = None


@dataclass(frozen=True, slots=True)
class SessionFile:
    """A file of a conversation: how many turns it holds, and users' turns, and the
    number of its last block.

    (`t12` → 12.) `rolled`, `episodes` and `summarised` as in its front matter.
    """

    path: str
    session: str
    persona: str | None
    started: datetime
    ended: datetime
    turns: int
    last_block: int
    users: int = 0
    rolled: int = 0
    episodes: int = 0
    summarised: int = 0

    @property
    def stand(self) -> SessionProgress:
        """How far it is told in short."""
        return SessionProgress(
            self.turns,
            self.users,
            self.ended,
            self.rolled,
            self.episodes,
            self.summarised,
        )


Unit = Fact | FiledTurn | OwnNote

SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE file (
    path TEXT PRIMARY KEY, inode INTEGER NOT NULL, size INTEGER NOT NULL, mtime INTEGER NOT NULL,
    sha TEXT NOT NULL, kind TEXT NOT NULL, claim TEXT NOT NULL, holds INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX file_claim ON file (claim);
CREATE INDEX file_sha ON file (sha);
CREATE TABLE unit (
    seq INTEGER NOT NULL, key TEXT NOT NULL UNIQUE, path TEXT NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL,
    status TEXT NOT NULL, hash TEXT NOT NULL, session TEXT NOT NULL, turn TEXT NOT NULL, record TEXT NOT NULL
);
CREATE INDEX unit_seq ON unit (seq);
CREATE INDEX unit_path ON unit (path);
CREATE INDEX unit_name ON unit (name) WHERE name <> '';
CREATE INDEX unit_hash ON unit (hash, key) WHERE hash <> '';
CREATE INDEX unit_review ON unit (path) WHERE status = 'review';
CREATE INDEX unit_turn ON unit (session, turn) WHERE kind = 'turn';
CREATE TABLE strand (
    name TEXT NOT NULL, at REAL NOT NULL, key TEXT NOT NULL, persona TEXT NOT NULL, cause INTEGER NOT NULL,
    PRIMARY KEY (name, at, key)
) WITHOUT ROWID;
CREATE INDEX strand_key ON strand (key);
CREATE TABLE gone (seq INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE);
CREATE TABLE session (
    path TEXT PRIMARY KEY, session TEXT NOT NULL, persona TEXT, started TEXT NOT NULL, ended TEXT NOT NULL,
    turns INTEGER NOT NULL, last_block INTEGER NOT NULL, users INTEGER NOT NULL,
    rolled INTEGER NOT NULL, episodes INTEGER NOT NULL, summarised INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX session_name ON session (session);
CREATE TABLE problem (path TEXT NOT NULL, line INTEGER, code TEXT NOT NULL, message TEXT NOT NULL);
CREATE INDEX problem_path ON problem (path);
"""

_FACT = tuple(field.name for field in fields(Fact))
_FACT_TIMES = tuple(
    map(
        _FACT.index,
        ("created", "expires", "valid_from", "valid_until", "done", "event_end"),
    )
)
_FACT_LISTS = tuple(
    map(
        _FACT.index,
        ("about", "tags", "also", "supersedes", "superseded_by", "derived_from"),
    )
)
_TURN = tuple(field.name for field in fields(Turn))
_TURN_TIME = _TURN.index("occurred_at")
ROLE, ORIGIN, SPEAKER = (
    f"json_extract(record, '$[{2 + _TURN.index(name)}]')"
    for name in ("role", "origin", "speaker")
)
"""What a turn was said as, how it came in and by whom, in SQL."""
_fact_values, _turn_values = attrgetter(*_FACT), attrgetter(*_TURN)
SHAPE = ",".join(_FACT + _TURN)
"""Part of the stamp: records of another shape are not read."""

_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_read = json.JSONDecoder().raw_decode
_json = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), default=datetime.isoformat
).encode


def key_of(unit: Unit) -> str:
    """The key of a unit: a fact's id, `<note>#^<block>` for a turn, the path of a note."""
    if isinstance(unit, Fact):
        return unit.id
    return unit.key if isinstance(unit, FiledTurn) else unit.path


def pack(unit: Unit) -> str:
    """A unit as text."""
    if isinstance(unit, Fact):
        return _json(_fact_values(unit))
    if isinstance(unit, FiledTurn):
        return _json((unit.note, unit.block, *_turn_values(unit.turn)))
    return _json(
        (unit.path, unit.title, unit.text, unit.changed, unit.sha, unit.persona)
    )


def unpack(kind: str, record: str) -> Unit:
    """The unit that `pack` wrote."""
    values: list[Any] = _read(record)[0]
    if kind == "fact":
        for place in _FACT_TIMES:
            if values[place]:
                values[place] = datetime.fromisoformat(values[place])
        for place in _FACT_LISTS:
            values[place] = tuple(values[place])
        return Fact(*values)
    if kind == "turn":
        note, block, *turn = values
        turn[_TURN_TIME] = time(turn[_TURN_TIME])
        return FiledTurn(Turn(*turn), note, block)
    values[3] = time(values[3])
    return OwnNote(*values)


def time(text: str | None) -> datetime | None:
    """The instant that `text` writes, or None."""
    return datetime.fromisoformat(text) if text else None


class CatalogDatabase:
    """One connection, shared by all threads under one lock.

    `generation` changes whenever it starts empty, `changes` whenever what was asked may
    be answered otherwise.
    """

    def __init__(self, path: Path, stamp: str) -> None:
        self.path = path
        self.stamp = stamp
        self.lock = threading.RLock()
        self.generation = ""
        self.changes = 0
        disk.make_folders(path.parent)
        try:
            self._open()
        except BaseException:
            # else the database stays open, and mapped, until the garbage collector
            # finds it
            self.close()
            raise

    def _open(self) -> None:
        """Connect to the database, and begin anew where it is none of ours."""
        try:
            self._connect()
            usable = self._usable()
        except sqlite3.DatabaseError as fault:
            if not _damaged(fault) and fault.sqlite_errorcode != sqlite3.SQLITE_ERROR:
                raise _storage(fault, self.path) from fault
            usable = False
        if not usable:
            self.start_over()

    def ask(
        self, question: str, values: Sequence[object] = ()
    ) -> list[tuple[Any, ...]]:
        """The answer's rows; none from a catalogue found damaged, which is replaced by
        an empty one.
        """
        with self.lock:
            try:
                return self._db.execute(question, values).fetchall()
            except sqlite3.DatabaseError as fault:
                if not _damaged(fault):
                    raise _storage(fault, self.path) from fault
                self.start_over()
                return []

    @contextmanager
    def change(self) -> Iterator[sqlite3.Connection]:
        """One transaction; StorageError when the disk refuses, and on damage, after
        which all is empty.
        """
        with self.lock:
            self.changes += 1
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield self._db
                self._db.execute("COMMIT")
            except sqlite3.DatabaseError as fault:
                if _damaged(fault):
                    self.start_over()
                raise _storage(fault, self.path) from fault
            finally:
                self.changes += 1
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")

    def setting(self, name: str) -> str:
        """A value kept beside the rows, or ''."""
        found = self.ask("SELECT value FROM meta WHERE name = ?", (name,))
        return str(found[0][0]) if found else ""

    def set(self, name: str, value: str) -> None:
        """Keep a value beside the rows."""
        with self.change() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    def start_over(self) -> None:
        """Throw the database away and begin with an empty one of another generation."""
        with self.lock:
            self.changes += 1
            self.close()
            unsynced: set[Path] = set()
            try:
                for ending in ("-wal", "-shm", "-journal", ""):
                    disk.remove(self.path.with_name(self.path.name + ending), unsynced)
            except EngramError:
                with suppress(sqlite3.DatabaseError):
                    self._connect()  # what still stands there serves on
                    if not self._usable():
                        self._begin()
                raise
            try:
                self._connect()
                self._begin()
            except sqlite3.DatabaseError as fault:
                raise _storage(fault, self.path) from fault

    def _begin(self) -> None:
        """Make the tables of a database that has none."""
        self._db.executescript(SCHEMA)
        self.generation = secrets.token_hex(8)
        rows = (("stamp", self.stamp), ("generation", self.generation))
        self._db.executemany("INSERT INTO meta VALUES (?, ?)", rows)

    def close(self) -> None:
        """Close the connection; a damaged file is no reason to complain."""
        with self.lock, suppress(sqlite3.DatabaseError, AttributeError):
            self._db.close()

    def _connect(self) -> None:
        self._db = sqlite3.connect(
            self.path, timeout=5, isolation_level=None, check_same_thread=False
        )
        for pragma in (
            "journal_mode = WAL",
            "synchronous = NORMAL",
            "cache_size = -16000",
            "temp_store = MEMORY",
        ):
            self._db.execute(f"PRAGMA {pragma}")

    def _usable(self) -> bool:
        """Whether we wrote it under this stamp; another database has other tables."""
        tables = self._db.execute(
            "SELECT count(*) FROM sqlite_schema WHERE name = 'meta'"
        ).fetchone()
        have = (
            dict(self._db.execute("SELECT name, value FROM meta").fetchall())
            if tables[0]
            else {}
        )
        self.generation = have.get("generation", "")
        return have.get("stamp") == self.stamp


def _damaged(fault: sqlite3.DatabaseError) -> bool:
    code = getattr(fault, "sqlite_errorcode", 0)
    return code & 0xFF in _DAMAGE or code == sqlite3.SQLITE_IOERR_SHORT_READ


def _storage(fault: sqlite3.DatabaseError, path: Path) -> StorageError:
    return StorageError(
        f"the catalogue cannot be used: {fault}",
        where=str(path),
        fix="It may be deleted; it is rebuilt from the vault.",
    )
