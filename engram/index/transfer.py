"""Move the rows of an index from the cache of this machine to PostgreSQL (`X15`).

The rows are copied and not read again from the vault, because they include user changes
that were found and not recorded yet. An interrupted copy can be continued.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.index.database import DATABASE, CatalogDatabase
from engram.vault import disk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from engram.index.postgres import PostgresStore

COPYING = "copying"
"""The setting that names the generation of the rows being copied."""
BATCH = 2_000

_COPIED = {
    "file": "path, inode, size, mtime, sha, kind, claim, holds",
    "unit": "seq, key, path, name, kind, status, hash, session, turn, record, reading",
    "strand": "name, at, key, persona, cause",
    "evidence": "source, key",
    "slot": "attribute, subject, value, over, key",
    "removed": "seq, key",
    "user_change": "key, kind, before, after",
    "session": "path, session, persona, started, ended, turns, last_block, users, "
    "rolled, episodes, summarised, sensitive",
    "problem": "path, line, code, message",
}
"""The columns of each table, in the order of the statements that fill them."""
_ORDER = {"user_change": "seq"}
_TRUTHS = frozenset(("holds", "cause", "sensitive"))
"""The columns that are numbers in SQLite and truth values in PostgreSQL."""


def take_over(
    store: PostgresStore, cache: Path, report: Callable[[int, int], object]
) -> None:
    """Fill a store without a whole vault from the catalogue in `cache`, if it exists.

    The catalogue is deleted afterwards, since no scan would update it. `report` is
    called with the number of copied rows and of all rows.
    """
    if not (cache / DATABASE).exists():
        return
    if store.setting("complete") != "yes":
        source = CatalogDatabase(cache / DATABASE, store.stamp)
        try:
            if source.setting("complete") == "yes":
                _copy(source, store, report)
        finally:
            source.close()
    for ending in ("-wal", "-shm", "-journal", ""):
        disk.remove(cache / f"{DATABASE}{ending}")


def _copy(
    source: CatalogDatabase, store: PostgresStore, report: Callable[[int, int], object]
) -> None:
    state = f"{source.generation}:{_count(source, 'unit')}"
    if store.setting(COPYING) != state:
        store.start_over()
        store.set_setting(COPYING, state)
    total = sum(_count(source, table) for table in _COPIED)
    copied = 0
    for table, columns in _COPIED.items():
        done = _count(store, table)
        copied += done
        report(copied, total)
        marks = ", ".join("?" for _ in columns.split(","))
        insertion = f"INSERT INTO {table} ({columns}) VALUES ({marks})"  # noqa: S608
        for rows in _batches(source, table, done):
            with store.transaction() as db:
                db.executemany(insertion, rows)
            copied += len(rows)
            report(copied, total)
    store.finish_copy(source.generation)


def _count(store: CatalogDatabase | PostgresStore, table: str) -> int:
    return int(store.query(f"SELECT count(*) FROM {table}")[0][0])  # noqa: S608


def _batches(
    source: CatalogDatabase, table: str, copied: int
) -> Iterator[list[list[Any]]]:
    """Yield the rows of a table after the first `copied`, always in the same order."""
    columns = _COPIED[table].split(", ")
    truths = [place for place, name in enumerate(columns) if name in _TRUTHS]
    order = _ORDER.get(table, ", ".join(columns[:3]))
    sql = f"SELECT {_COPIED[table]} FROM {table} ORDER BY {order} LIMIT ? OFFSET ?"  # noqa: S608
    while found := source.query(sql, (BATCH, copied)):
        rows = [list(row) for row in found]
        for row in rows:
            for place in truths:
                row[place] = bool(row[place])
        yield rows
        copied += len(rows)
