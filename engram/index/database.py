"""The SQLite database of the catalogue: its schema, its records and its connection.

The database is derived: an empty one replaces a damaged one, or one with another stamp.

The title is the stem of the file; `changed` is the time of its last write.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import threading
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, fields
from datetime import datetime
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from engram.core.reading import read
from engram.core.records import Fact, FiledTurn, Reading, Turn
from engram.core.sessions import SessionProgress
from engram.core.text import HASH_VERSION
from engram.core.todos import PROMISE_MARKERS
from engram.errors import EngramError, NotFoundError, StorageError
from engram.vault import disk, location
from engram.vault.usage import device_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import tzinfo
    from pathlib import Path

    from engram.config import Settings
    from engram.core.policy import FilePolicy
    from engram.index.postgres import PostgresStore
    from engram.index.protocol import IndexStore, VectorStore


@dataclass(frozen=True, slots=True)
class OwnNote:
    """A note of the user, or an episode, which may belong to a persona.

    The title is the stem of the file; `changed` is when it was last written.
    """

    path: str
    title: str
    text: str
    changed: datetime
    sha: str = ""
    persona: str | None = None


@dataclass(frozen=True, slots=True)
class SessionFile:
    """A file of a conversation.

    `turns` and `users` count all turns and those of users; `last_block` is the number
    of its last block (12 for `t12`). The fields after `users` are those of its front
    matter; `sensitive` is true for a highly sensitive one (row B17).
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
    sensitive: bool = False

    @property
    def progress(self) -> SessionProgress:
        """The number of summarised turns."""
        return SessionProgress(
            self.turns,
            self.users,
            self.ended,
            self.rolled,
            self.episodes,
            self.summarised,
        )


Unit = Fact | FiledTurn | OwnNote

VERSION = 16
"""Version of the schema, and of the parsing of files into it."""

PROMISES = "kind = 'fact' AND ({})".format(
    " OR ".join(f"instr(record, '{marker}')" for marker in PROMISE_MARKERS)
)
"""The condition of facts with a todo stage; an index of this condition finds them."""

SCHEMA = f"""
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE file (
    path TEXT PRIMARY KEY, inode INTEGER NOT NULL, size INTEGER NOT NULL,
    mtime INTEGER NOT NULL, ctime INTEGER NOT NULL, sha TEXT NOT NULL,
    kind TEXT NOT NULL, claim TEXT NOT NULL, holds INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX file_claim ON file (claim);
CREATE INDEX file_sha ON file (sha);
CREATE TABLE unit (
    seq INTEGER NOT NULL, key TEXT NOT NULL UNIQUE, path TEXT NOT NULL,
    name TEXT NOT NULL, kind TEXT NOT NULL, status TEXT NOT NULL, hash TEXT NOT NULL,
    session TEXT NOT NULL, turn TEXT NOT NULL, record TEXT NOT NULL,
    reading TEXT NOT NULL
);
CREATE INDEX unit_seq ON unit (seq);
CREATE INDEX unit_path ON unit (path);
CREATE INDEX unit_name ON unit (name) WHERE name <> '';
CREATE INDEX unit_hash ON unit (hash, key) WHERE hash <> '';
CREATE INDEX unit_review ON unit (path) WHERE status = 'review';
CREATE INDEX unit_sensitive ON unit (key)
    WHERE kind = 'fact' AND instr(record, '"high"');
CREATE INDEX unit_promise ON unit (path) WHERE {PROMISES};
CREATE INDEX unit_turn ON unit (session, turn) WHERE kind = 'turn';
CREATE TABLE strand (
    name TEXT NOT NULL, at REAL NOT NULL, key TEXT NOT NULL, persona TEXT NOT NULL,
    cause INTEGER NOT NULL, PRIMARY KEY (name, at, key)
) WITHOUT ROWID;
CREATE INDEX strand_key ON strand (key);
CREATE TABLE evidence (
    source TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (source, key)
) WITHOUT ROWID;
CREATE INDEX evidence_key ON evidence (key);
CREATE TABLE slot (
    attribute TEXT NOT NULL, subject TEXT NOT NULL, value TEXT NOT NULL,
    over INTEGER NOT NULL, key TEXT NOT NULL,
    PRIMARY KEY (attribute, subject, value, over, key)
) WITHOUT ROWID;
CREATE INDEX slot_key ON slot (key);
CREATE TABLE removed (seq INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE);
CREATE TABLE user_change (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, kind TEXT NOT NULL,
    before TEXT NOT NULL, after TEXT NOT NULL
);
CREATE TABLE session (
    path TEXT PRIMARY KEY, session TEXT NOT NULL, persona TEXT, started TEXT NOT NULL,
    ended TEXT NOT NULL, turns INTEGER NOT NULL, last_block INTEGER NOT NULL,
    users INTEGER NOT NULL, rolled INTEGER NOT NULL, episodes INTEGER NOT NULL,
    summarised INTEGER NOT NULL, sensitive INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX session_name ON session (session);
CREATE TABLE problem (
    path TEXT NOT NULL, line INTEGER, code TEXT NOT NULL, message TEXT NOT NULL
);
CREATE INDEX problem_path ON problem (path);
"""

_FACT = tuple(field.name for field in fields(Fact))
_TIMES = ("created", "expires", "valid_from", "valid_until", "done", "event_end")
_LISTS = (
    *(
        "about",
        "tags",
        "also",
        "supersedes",
        "superseded_by",
        "derived_from",
        "because",
    ),
)
_FACT_TIMES = tuple(map(_FACT.index, _TIMES))
_FACT_LISTS = tuple(map(_FACT.index, _LISTS))
_TURN = tuple(field.name for field in fields(Turn))
_TURN_TIME = _TURN.index("occurred_at")
_fact_values, _turn_values = attrgetter(*_FACT), attrgetter(*_TURN)
SHAPE = ",".join(_FACT + _TURN)
"""The fields of a record, as a part of the stamp: other records are not valid."""

_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_read = json.JSONDecoder().raw_decode
_json = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), default=datetime.isoformat
).encode


def key_of(unit: Unit) -> str:
    """Return a fact's id, `<note>#^<block>` of a turn, or the path of a note."""
    if isinstance(unit, Fact):
        return unit.id
    return unit.key if isinstance(unit, FiledTurn) else unit.path


def pack(unit: Unit) -> str:
    """Return a unit as text."""
    if isinstance(unit, Fact):
        return _json(_fact_values(unit))
    if isinstance(unit, FiledTurn):
        return _json((unit.note, unit.block, *_turn_values(unit.turn)))
    return _json(
        (unit.path, unit.title, unit.text, unit.changed, unit.sha, unit.persona)
    )


def pack_reading(unit: Unit, zone: tzinfo) -> str:
    """Return what recall needs of the words of a turn as text; '' for other units."""
    return _json(read(unit.turn, zone)) if isinstance(unit, FiledTurn) else ""


@lru_cache(maxsize=1 << 10)
def unpack(kind: str, record: str, reading: str = "") -> Unit:
    """Return the unit that `pack` serialised, with what `pack_reading` did."""
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
        turn[_TURN_TIME] = _time(turn[_TURN_TIME])
        known = _reading(*_read(reading)[0]) if reading else None
        return FiledTurn(Turn(*turn), note, block, known)
    values[3] = _time(values[3])
    return OwnNote(*values)


def _reading(shown: str, dates: list[list[str]], stems: list[str]) -> Reading:
    return Reading(shown, tuple((words, date) for words, date in dates), tuple(stems))


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


DATABASE = "catalogue.db"


def open_database(
    root: Path, cache: Path, zone: tzinfo, policy: FilePolicy
) -> CatalogDatabase:
    """Open the database of the vault `root` in the folder `cache`."""
    return CatalogDatabase(cache / DATABASE, stamp(root, zone, policy))


def open_store(settings: Settings) -> IndexStore:
    """Open the store of the index, in PostgreSQL or in the cache of this machine."""
    policy = settings.policy.files
    if not settings.postgres:
        return open_database(settings.vault, settings.cache, settings.zone, policy)
    from engram.index.postgres import PostgresStore

    store = PostgresStore(
        settings.postgres,
        settings.rows_name,
        stamp(settings.vault, settings.zone, policy),
        address=settings.address,
        state=device_of(settings.state),
    )
    try:
        _forget_restored(store, settings.state / OWNER_NUMBER)
        # no scan would update a catalogue in files
        for path in settings.cache.glob(f"{DATABASE}*"):
            disk.remove(path)
    except BaseException:
        store.close()
        raise
    return store


OWNER_NUMBER = "owner-number"
"""The file in the state folder with the largest number of an owner on this machine."""


def _forget_restored(store: PostgresStore, path: Path) -> None:
    """Empty a store that was restored from an older backup.

    Its rows are older than the vault: later writes of engram would be taken for edits
    by the user. The numbers of owners only grow, so a repeated one reveals the backup.
    """
    with suppress(NotFoundError, ValueError):
        if store.owner_number <= int(disk.read(path)):
            store.start_over()
    disk.make_folders(path.parent)
    disk.write_derived(path, b"%d\n" % store.owner_number)


def stamp(root: Path, zone: tzinfo, policy: FilePolicy) -> str:
    """Return the stamp of the rows of the vault `root`: their format and folder.

    A vault that was replaced, as by a backup, gets empty rows; otherwise the files that
    it lacks would be taken for deleted.
    """
    limits = (
        policy.front_matter_bytes,
        policy.nesting,
        policy.nodes,
        policy.note_bytes,
    )
    identity = location.identity(os.path.realpath(root))
    return f"{VERSION} {HASH_VERSION} {zone} {limits} {SHAPE} {identity}"


def copy_database(source: Path, target: Path) -> None:
    """Copy the catalogue in the folder `source` into the folder `target`.

    Another process may write to it meanwhile. After a failure there is no copy, and the
    vault is read again.
    """
    disk.make_folders(target)
    path = source / DATABASE
    if not path.exists():
        return
    with (
        suppress(sqlite3.Error),
        closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=1)) as own,
        closing(sqlite3.connect(target / DATABASE)) as copy,
    ):
        own.backup(copy)


class CatalogDatabase:
    """One connection, shared by all threads under one lock.

    `generation` names the database: an empty one has another. `changes` is a number
    that differs after each transaction, for caches. `stamp` is that of the rows.
    """

    def __init__(self, path: Path, stamp: str) -> None:
        self.path = path
        self.stamp = stamp
        self.lock = threading.RLock()
        self.generation = ""
        self.changes = 0
        self.lost = False
        self.owner_number = 0
        self.clean = False
        self.due: datetime | None = None
        disk.make_folders(path.parent)
        try:
            self._open()
        except BaseException:
            # otherwise it stays open and mapped until it is garbage-collected
            self.close()
            raise

    def _open(self) -> None:
        """Connect to the database; replace one that is not usable."""
        try:
            self._connect()
            usable = self._usable()
        except sqlite3.DatabaseError as fault:
            if not _damaged(fault) and fault.sqlite_errorcode != sqlite3.SQLITE_ERROR:
                raise _storage(fault, self.path) from fault
            usable = False
        if not usable:
            self.start_over()

    def query(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query.

        A damaged database is replaced by an empty one, without rows. Raises
        StorageError.
        """
        with self.lock:
            try:
                return self._db.execute(sql, values).fetchall()
            except sqlite3.DatabaseError as fault:
                if not _damaged(fault):
                    raise _storage(fault, self.path) from fault
                self.start_over()
                return []

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Open a transaction for the block.

        Raises StorageError if the disk fails, and for a damaged database, which is
        replaced by an empty one.
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
        """Return a value of the table `meta`, or ''."""
        found = self.query("SELECT value FROM meta WHERE name = ?", (name,))
        return str(found[0][0]) if found else ""

    def set_setting(self, name: str, value: str) -> None:
        """Store a value in the table `meta`."""
        with self.transaction() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    def check_owner(self) -> None:
        """Do nothing, because locks on the files exclude other processes."""

    def vectors(self, folder: Path, tag: str) -> VectorStore:
        """Return the vector store of a model in this folder."""
        from engram.index.vectors import Vectors

        return Vectors(folder, tag)

    def start_over(self) -> None:
        """Replace the database by an empty one of another generation."""
        with self.lock:
            self.changes += 1
            self.close()
            unsynced: set[Path] = set()
            try:
                for ending in ("-wal", "-shm", "-journal", ""):
                    disk.remove(self.path.with_name(self.path.name + ending), unsynced)
            except EngramError:
                with suppress(sqlite3.DatabaseError):
                    self._connect()  # to the files that could not be removed
                    if not self._usable():
                        self._begin()
                raise
            try:
                self._connect()
                self._begin()
            except sqlite3.DatabaseError as fault:
                raise _storage(fault, self.path) from fault

    def _begin(self) -> None:
        """Create the tables of an empty database."""
        self._db.executescript(SCHEMA)
        self.generation = secrets.token_hex(8)
        rows = (("stamp", self.stamp), ("generation", self.generation))
        self._db.executemany("INSERT INTO meta VALUES (?, ?)", rows)

    def close(self) -> None:
        """Close the connection, even one to a damaged file."""
        with self.lock, suppress(sqlite3.DatabaseError, AttributeError):
            self._db.close()

    def _connect(self) -> None:
        disk.create_private(self.path)
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
        """Return whether the database has this stamp."""
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
        fix="Free some space if the disk is full, else run `engram reindex`. The vault has everything.",
    )
