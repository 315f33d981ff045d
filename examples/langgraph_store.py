"""A store of LangGraph on engram: one file, to be copied into your program.

The text of a value becomes a memory, so that `search` is recall and a person reads, edits
and forgets it in the vault. Namespaces, keys and the other fields are in a database of
their own, which holds none of these texts.
"""

from __future__ import annotations

import asyncio
import json
import operator
import sqlite3
import threading
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)

from engram.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from engram import Memory

FIELDS = ("text", "memory", "content", "data")
"""Which field of a value is its text; the first one that is a string."""
SCHEMA = """
CREATE TABLE IF NOT EXISTS item (
    namespace TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
    field TEXT NOT NULL, memory TEXT NOT NULL, own INTEGER NOT NULL,
    created TEXT NOT NULL, updated TEXT NOT NULL, PRIMARY KEY (namespace, key)
)
"""
COMPARE = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


class EngramStore(BaseStore):
    """Items with their texts in a vault, and the rest in the database at `path`.

    A text that the vault knows already is not stored twice. An item whose memory a
    person forgot is gone; one that a person corrected has the new text.
    """

    def __init__(self, memory: Memory, path: str | Path) -> None:
        self.memory = memory
        self.path = Path(path)
        self._lock = threading.RLock()
        with self._lock, closing(self._open()) as db, db:
            db.execute(SCHEMA)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out the operations in their order."""
        with self._lock, closing(self._open()) as db:
            results = []
            for op in ops:
                with db:
                    results.append(self._carry_out(db, op))
            return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out the operations in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _open(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, timeout=10)
        db.row_factory = sqlite3.Row
        return db

    def _carry_out(self, db: sqlite3.Connection, op: Op) -> Result:
        if isinstance(op, GetOp):
            row = _row(db, op.namespace, op.key)
            return self._item(db, row) if row else None
        if isinstance(op, SearchOp):
            return self._search(db, op)
        if isinstance(op, ListNamespacesOp):
            return _namespaces(db, op)
        if isinstance(op, PutOp):
            self._put(db, op)
            return None
        raise ValueError(f"there is no operation {type(op).__name__}")

    # -- put and delete ----------------------------------------------------------------

    def _put(self, db: sqlite3.Connection, op: PutOp) -> None:
        row = _row(db, op.namespace, op.key)
        old = self._item(db, row) if row else None
        row = _row(db, op.namespace, op.key)  # its memory may be a newer one
        if op.value is None:
            self._delete(db, row)
            return
        value = dict(op.value)
        field = _text_field(value, op)
        memory, own = "", 0
        if field:
            text = value.pop(field)
            if row and old and row["field"] == field and old.value[field] == text:
                memory, own = row["memory"], row["own"]
            elif row and row["memory"] and row["own"] and _alone(db, row):
                memory, own = self.memory.correct(row["memory"], text).id, 1
            else:
                made = self.memory.remember(text)
                memory, own = made.id, int(made.verdict != "confirmed")
        elif row:
            self._forget(db, row)
        now = datetime.now(UTC).isoformat()
        db.execute(
            "INSERT OR REPLACE INTO item VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                json.dumps(op.namespace),
                op.key,
                json.dumps(value),
                field,
                memory,
                own,
                row["created"] if row else now,
                now,
            ),
        )

    def _delete(self, db: sqlite3.Connection, row: sqlite3.Row | None) -> None:
        if row:
            self._forget(db, row)
            _drop(db, row)

    def _forget(self, db: sqlite3.Connection, row: sqlite3.Row) -> None:
        """Forget the memory of an item, unless others told it too."""
        if row["memory"] and row["own"] and _alone(db, row):
            self.memory.forget(row["memory"], "deleted by LangGraph")

    # -- get and search ----------------------------------------------------------------

    def _item(
        self, db: sqlite3.Connection, row: sqlite3.Row, score: float | None = None
    ) -> SearchItem | None:
        """Return the item of a row; None, and no row any more, if it was forgotten."""
        value = json.loads(row["value"])
        if row["memory"]:
            found = self._current(row["memory"])
            if found is None:
                _drop(db, row)
                return None
            value[row["field"]] = found["text"]
            if found["id"] != row["memory"]:
                db.execute(
                    "UPDATE item SET memory = ? WHERE namespace = ? AND key = ?",
                    (found["id"], row["namespace"], row["key"]),
                )
        return SearchItem(
            tuple(json.loads(row["namespace"])),
            row["key"],
            value,
            datetime.fromisoformat(row["created"]),
            datetime.fromisoformat(row["updated"]),
            score,
        )

    def _current(self, name: str) -> dict[str, Any] | None:
        """Return a memory, or what replaced it; None for a forgotten one."""
        seen = set()
        while name not in seen:
            seen.add(name)
            try:
                found = self.memory.show(name).memory
            except NotFoundError:
                return None
            if found["status"] == "forgotten":
                return None
            name = (found.get("superseded_by") or [name])[0]
        return found

    def _search(self, db: sqlite3.Connection, op: SearchOp) -> list[SearchItem]:
        items = (
            item
            for row, score in self._rows(db, op)
            if tuple(json.loads(row["namespace"]))[: len(op.namespace_prefix)]
            == tuple(op.namespace_prefix)
            and (item := self._item(db, row, score))
            and _fits(item.value, op.filter or {})
        )
        wanted = op.offset + op.limit
        found = [item for _, item in zip(range(wanted), items, strict=False)]
        return found[op.offset :]

    def _rows(
        self, db: sqlite3.Connection, op: SearchOp
    ) -> Iterator[tuple[sqlite3.Row, float | None]]:
        """Yield the rows that a query recalls, the best first; else all, newest first."""
        if not op.query:
            rows = db.execute("SELECT * FROM item ORDER BY updated DESC").fetchall()
            yield from ((row, None) for row in rows)
            return
        found = self.memory.recall(op.query, k=1000, budget=100000, kinds=["fact"])
        for hit in found.hits:
            rows = db.execute(
                "SELECT * FROM item WHERE memory = ?", (hit.id,)
            ).fetchall()
            yield from ((row, hit.score) for row in rows)


def _row(
    db: sqlite3.Connection, namespace: tuple[str, ...], key: str
) -> sqlite3.Row | None:
    found: sqlite3.Row | None = db.execute(
        "SELECT * FROM item WHERE namespace = ? AND key = ?",
        (json.dumps(namespace), key),
    ).fetchone()
    return found


def _drop(db: sqlite3.Connection, row: sqlite3.Row) -> None:
    db.execute(
        "DELETE FROM item WHERE namespace = ? AND key = ?",
        (row["namespace"], row["key"]),
    )


def _alone(db: sqlite3.Connection, row: sqlite3.Row) -> bool:
    """Whether no other item has the memory."""
    (number,) = db.execute(
        "SELECT count(*) FROM item WHERE memory = ?", (row["memory"],)
    ).fetchone()
    return bool(number == 1)


def _text_field(value: dict[str, Any], op: PutOp) -> str:
    """Return the field whose text becomes a memory, or ''."""
    if op.index is False:
        return ""
    names = op.index or FIELDS
    texts = (one for one in names if isinstance(value.get(one), str))
    return next((one for one in texts if value[one].strip()), "")


def _fits(value: dict[str, Any], wanted: dict[str, Any]) -> bool:
    return all(_equals(value.get(key), want) for key, want in wanted.items())


def _equals(have: Any, want: Any) -> bool:
    if not isinstance(want, dict):
        return bool(have == want)
    if not any(key in COMPARE for key in want):
        return isinstance(have, dict) and _fits(have, want)
    try:
        return all(COMPARE[key](have, limit) for key, limit in want.items())
    except TypeError:  # such as a number and a text
        return False


def _namespaces(db: sqlite3.Connection, op: ListNamespacesOp) -> list[tuple[str, ...]]:
    rows = db.execute("SELECT DISTINCT namespace FROM item").fetchall()
    known = [tuple(json.loads(row["namespace"])) for row in rows]
    conditions = op.match_conditions or ()
    found = {
        one[: op.max_depth]
        for one in known
        if all(_matches(one, condition) for condition in conditions)
    }
    return sorted(found)[op.offset : op.offset + op.limit]


def _matches(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    path = condition.path
    part = namespace[: len(path)]
    if condition.match_type == "suffix":
        part = namespace[max(0, len(namespace) - len(path)) :]
    return len(part) == len(path) and all(
        want in {"*", have} for want, have in zip(path, part, strict=True)
    )
