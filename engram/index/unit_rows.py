"""The rows of facts, turns and notes in the catalogue, and their sequence numbers.

Every write gives a unit the next number, and a removed unit leaves its key with a
number. A reader that stores the last number it read thus gets the later changes. Each
function runs in a transaction of the caller.
"""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple, cast

from engram.core.graph import positions
from engram.core.records import HIGH, UNKNOWN_PERSONA, Fact, FiledTurn
from engram.core.text import content_hash
from engram.core.turn_versions import base_id
from engram.core.user_facts import slot_basis, slots_of
from engram.index.database import Unit, pack_reading, unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import tzinfo

    from engram.index.parse import Entry
    from engram.index.protocol import RowTransaction

_WRITE_UNIT = """
INSERT INTO unit (
    seq, key, path, name, kind, status, hash, session, turn, record, reading
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET
    seq = excluded.seq, path = excluded.path, name = excluded.name,
    kind = excluded.kind, status = excluded.status, hash = excluded.hash,
    session = excluded.session, turn = excluded.turn, record = excluded.record,
    reading = excluded.reading
"""
LAST_SEQ = """
SELECT coalesce(max(seq), 0) FROM (
    SELECT max(seq) AS seq FROM unit UNION ALL SELECT max(seq) FROM removed
) AS latest
"""
"""The largest assigned sequence number."""
VERSIONS = """
SELECT key, record FROM unit
WHERE kind = 'turn' AND session = ? AND (turn = ? OR (turn >= ? AND turn < ?))
"""
"""The versions of a turn; `version_span` returns the values."""
LAST_CHARACTER = "\U0010ffff"


class StoredUnit(NamedTuple):
    """A unit with the columns of its row; `path` is that of its file."""

    kind: str
    path: str
    record: str


def stored_units(db: RowTransaction, paths: Sequence[str]) -> dict[str, StoredUnit]:
    """Return the units of these files, by key."""
    units: dict[str, StoredUnit] = {}
    for source in paths:
        rows = db.execute(
            "SELECT key, kind, path, record FROM unit WHERE path = ?", (source,)
        )
        units.update({key: StoredUnit(*row) for key, *row in rows})
    return units


def facts_of(units: Mapping[str, StoredUnit]) -> dict[str, Fact]:
    """Return the facts among these units, by key."""
    return {
        key: cast("Fact", unpack("fact", unit.record))
        for key, unit in units.items()
        if unit.kind == "fact"
    }


def write_units(
    db: RowTransaction,
    units: Sequence[tuple[str, Unit, str]],
    zone: tzinfo,
    before: Mapping[str, Fact] | None = None,
) -> None:
    """Write units, each with its path and record, and read their words.

    `before` are the earlier facts; None if all keys are new. `zone` is the local time
    zone.
    """
    last = _last_seq(db)
    rows = [
        (*_unit_row(number, unit, path, record), pack_reading(unit, zone))
        for number, (path, unit, record) in enumerate(units, last + 1)
    ]
    db.executemany(_WRITE_UNIT, rows)

    facts = [unit for _, unit, _ in units if isinstance(unit, Fact)]
    for table, dependent in _DEPENDENT.items():
        _write_dependent(db, table, dependent, facts, before)


def _write_dependent(
    db: RowTransaction,
    table: str,
    dependent: _Dependent,
    facts: Sequence[Fact],
    before: Mapping[str, Fact] | None,
) -> None:
    """Write the rows that follow from facts, where their basis or statement changed."""
    rows_of, basis_of = dependent
    new: dict[str, list[tuple[object, ...]]] = {}
    for fact in facts:
        old = (before or {}).get(fact.id)
        if old is None or old.text != fact.text or basis_of(old) != basis_of(fact):
            new[fact.id] = rows_of(fact)
    if before is not None:
        delete = f"DELETE FROM {table} WHERE key = ?"  # noqa: S608
        db.executemany(delete, [(key,) for key in new])
    if inserted := [row for rows in new.values() for row in rows]:
        places = ", ".join("?" * len(inserted[0]))
        db.executemany(f"INSERT INTO {table} VALUES ({places})", inserted)  # noqa: S608


def _evidence_rows(fact: Fact) -> list[tuple[object, ...]]:
    """Return a row for each turn and each memory that a fact rests on."""
    memories = (*fact.derived_from, *fact.because)
    sources = dict.fromkeys((fact.source, *fact.also, *memories))
    return [(source, fact.id) for source in sources if source]


def _strand_rows(unit: Fact) -> list[tuple[object, ...]]:
    """Return the rows of the strands of a fact; only an active one has any."""
    if unit.status != "active":
        return []
    return [
        (strand.name, strand.at, unit.id, unit.persona or "", strand.cause)
        for strand in positions(unit)
    ]


def _slot_rows(fact: Fact) -> list[tuple[object, ...]]:
    """Return a row for each slot of a fact."""
    rows = {
        (one.attribute, " ".join(one.subject), " ".join(one.value), int(one.over))
        for one in slots_of(fact)
    }
    return [(*row, fact.id) for row in sorted(rows)]


class _Dependent(NamedTuple):
    """The rows of a table that follow from a fact, and their basis in its keys."""

    rows_of: Callable[[Fact], list[tuple[object, ...]]]
    basis_of: Callable[[Fact], object]


_DEPENDENT = {
    "strand": _Dependent(_strand_rows, _strand_rows),
    "evidence": _Dependent(_evidence_rows, _evidence_rows),
    "slot": _Dependent(_slot_rows, slot_basis),
}
"""The tables whose rows follow from facts. To read the slots of a statement takes much
longer than to compare the keys.
"""


def _unit_row(seq: int, unit: Unit, path: str, record: str) -> tuple[object, ...]:
    """Return a row of `unit`; only facts have a file name, the target of links."""
    if isinstance(unit, Fact):
        name = path.rpartition("/")[2]
        digest = content_hash(unit.text) if unit.status == "active" else ""
        return (seq, unit.id, path, name, "fact", unit.status, digest, "", "", record)
    if isinstance(unit, FiledTurn):
        session, turn = unit.turn.session, unit.turn.id
        return (seq, unit.key, path, "", "turn", "", "", session, turn, record)
    return (seq, unit.path, path, "", "note", "", "", "", "", record)


def remove_units(db: RowTransaction, keys: Sequence[str]) -> None:
    """Remove units; each key gets a number among the removed ones."""
    if not keys:
        return
    last = _last_seq(db)
    for table in ("unit", *_DEPENDENT):
        db.executemany(f"DELETE FROM {table} WHERE key = ?", [(key,) for key in keys])  # noqa: S608
    db.executemany("DELETE FROM removed WHERE key = ?", [(key,) for key in keys])
    db.executemany("INSERT INTO removed VALUES (?, ?)", enumerate(keys, last + 1))


def version_span(session: str, turn_id: str) -> tuple[str, str, str, str]:
    """Return the values for `VERSIONS`; `turn_id` has no version suffix."""
    start = f"{turn_id} edit-"
    return session, turn_id, start, start + LAST_CHARACTER


def hidden_turns(units: Iterable[Unit]) -> dict[str, str]:
    """Return the turns that memories make highly sensitive (`B17`), by key.

    The value is the persona that alone sees the turn.
    """
    return {
        key: fact.persona or UNKNOWN_PERSONA
        for fact in units
        if isinstance(fact, Fact) and fact.sensitivity == HIGH
        for key in (fact.source, *fact.also)
        if key
    }


def renumber_turns(
    db: RowTransaction, before: Iterable[Unit], after: Iterable[Unit]
) -> None:
    """Renumber the turns that these memories now hide or no longer hide (`B17`).

    The feed of changes lists them by this number, for clients with a copy. Versions of
    an edited turn are renumbered with it.
    """
    old, new = hidden_turns(before), hidden_turns(after)
    changed = [key for key in old | new if old.get(key) != new.get(key)]
    if not changed:
        return
    found = db.execute(
        "SELECT session, turn FROM unit "
        "WHERE kind = 'turn' AND key IN (SELECT value FROM json_each(?))",
        (json.dumps(changed),),
    )
    keys = {
        key: None
        for session, turn in found.fetchall()
        for key, _ in db.execute(VERSIONS, version_span(session, base_id(turn)))
    }
    _renumber(db, list(keys))


def renumber_facts(db: RowTransaction, entry: Entry) -> None:
    """Renumber the facts of a conversation if its level of sensitivity changed."""
    known = db.execute(
        "SELECT sensitive FROM session WHERE path = ?", (entry.path,)
    ).fetchone()
    if known and entry.session and bool(known[0]) != entry.session.sensitive:
        stem = PurePosixPath(entry.path).stem
        found = db.execute(
            "SELECT key FROM unit WHERE kind = 'fact' AND instr(record, ?)",
            (f"{stem}#^",),
        )
        _renumber(db, [key for (key,) in found.fetchall()])


def _renumber(db: RowTransaction, keys: Sequence[str]) -> None:
    rows = list(enumerate(keys, _last_seq(db) + 1))
    db.executemany("UPDATE unit SET seq = ? WHERE key = ?", rows)


def _last_seq(db: RowTransaction) -> int:
    return int(db.execute(LAST_SEQ).fetchone()[0])
