"""One file's rows: who holds a claim, which units changed, and what a person must have
done.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from engram.core.graph import strands
from engram.core.records import Fact, FiledTurn, Problem
from engram.core.text import content_hash
from engram.index.diff import Conflict, Edited, Moved
from engram.index.rows import key_of, pack, unpack
from engram.vault.paths import READ_AGAIN

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Mapping, Sequence

    from engram.index.diff import DiffLog
    from engram.index.parse import Entry
    from engram.index.rows import SessionFile, Unit
    from engram.vault.paths import Stat

_WRITE_FILE = """
INSERT INTO file VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET
    inode = excluded.inode, size = excluded.size, mtime = excluded.mtime, sha = excluded.sha, kind = excluded.kind,
    claim = excluded.claim, holds = excluded.holds
"""
_WRITE_UNIT = """
INSERT INTO unit VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET
    seq = excluded.seq, path = excluded.path, name = excluded.name, kind = excluded.kind, status = excluded.status,
    hash = excluded.hash, session = excluded.session, turn = excluded.turn, record = excluded.record
"""
_OUR_NAME = re.compile(r"-[0-9a-f]{8}\.md$")


def store(
    db: sqlite3.Connection,
    entry: Entry,
    stat: Stat,
    stands: Callable[[str], bool],
    log: DiffLog,
) -> None:
    """Make the rows say what `entry` says; `stat` is what the next scan compares with.

    Where there is nothing to index, the last good version stays known and is not shown.
    Of two files with one claim the better one by `_rank` holds it; if the other no
    longer `stands` on the disk, this is a move.
    """
    known = db.execute(
        "SELECT claim, holds FROM file WHERE path = ?", (entry.path,)
    ).fetchone()
    claim, held = known or ("", 0)
    for problem in entry.problems:
        log.tell("problems", problem)
    if entry.conflict:
        log.tell("conflicts", Conflict(entry.path, entry.conflict))
    if entry.units is None:
        # what is known of it is not what it says
        bytes_known = replace(entry, sha="") if held else entry
        _write_file(db, bytes_known, stat, claim, held)
        return
    # it holds its id, and who holds it is the only one
    alone = entry.kind == "fact" and known == (entry.claim, 1)
    rival = (
        ""
        if alone
        else _rival(db, entry) or ("" if known else _same_bytes(db, entry, stands))
    )
    sources = [entry.path]
    if rival and not stands(rival):
        _forget_file(db, rival)
        sources.append(rival)
        log.tell("moved", Moved(entry.claim, rival, entry.path))
    elif rival and _rank(db, rival) < _rank_of(entry):
        _yield(db, entry, stat, rival, log)
        _release(db, claim if claim != entry.claim else "", log)
        return
    elif rival:
        _demote(db, rival, entry.path, log)
        sources.append(rival)
    else:
        log.tell("changed" if known else "added", entry.path)
    _write_file(db, entry, stat, entry.claim, 1)
    _replace(db, entry, sources, log)
    _release(db, claim if held and claim != entry.claim else "", log)


def store_new(
    db: sqlite3.Connection, entries: Sequence[tuple[Entry, Stat]], log: DiffLog
) -> list[tuple[Entry, Stat]]:
    """Store at once all that are new and meet nothing they could collide with; the
    others are returned.

    A cold start is made of these: five statements for a whole batch instead of ten for
    each file.
    """
    keys = [key_of(unit) for entry, _ in entries for unit in entry.units or ()]
    claims = Counter(entry.claim for entry, _ in entries)
    taken = _present(
        db, "SELECT path FROM file WHERE path", [entry.path for entry, _ in entries]
    )
    taken |= _present(db, "SELECT claim FROM file WHERE claim", list(claims))
    taken |= _present(
        db, "SELECT sha FROM file WHERE sha", [entry.sha for entry, _ in entries]
    )
    taken |= _present(db, "SELECT key FROM unit WHERE key", keys)
    taken |= _present(db, "SELECT key FROM gone WHERE key", keys)
    taken |= {key for key, times in Counter(keys).items() if times > 1}
    rest: list[tuple[Entry, Stat]] = []
    plain: list[tuple[Entry, Stat]] = []
    for entry, stat in entries:
        met = {entry.path, entry.claim, entry.sha, *map(key_of, entry.units or ())}
        alone = (
            entry.units is not None
            and claims[entry.claim] == 1
            and taken.isdisjoint(met)
        )
        (plain if alone else rest).append((entry, stat))
    for entry, _ in plain:
        log.tell("added", entry.path)
        for problem in entry.problems:
            log.tell("problems", problem)
    _write_files(db, [(entry, stat, entry.claim, 1) for entry, stat in plain])
    _write_units(
        db,
        [
            (entry.path, unit, pack(unit))
            for entry, _ in plain
            for unit in entry.units or ()
        ],
    )
    return rest


def drop(db: sqlite3.Connection, path: str, log: DiffLog) -> None:
    """Take the file out; what it alone held goes to the next file that claims it, else
    is deleted.
    """
    claims = db.execute(
        "SELECT claim FROM file WHERE path = ? AND holds", (path,)
    ).fetchall()
    units = db.execute(
        "SELECT kind, record FROM unit WHERE path = ?", (path,)
    ).fetchall()
    _forget_file(db, path)
    _remove(
        db,
        [
            key
            for (key,) in db.execute(
                "SELECT key FROM unit WHERE path = ?", (path,)
            ).fetchall()
        ],
    )
    log.tell("removed", path)
    if not any(_release(db, claim, log) for (claim,) in claims):
        for kind, record in units:
            if kind == "fact":
                log.tell("deleted", unpack(kind, record))


def _rival(db: sqlite3.Connection, entry: Entry) -> str:
    """The other file that holds what `entry` claims: the claim itself, or the key of
    its first unit.
    """
    found = db.execute(
        "SELECT path FROM file WHERE claim = ? AND holds AND path <> ?",
        (entry.claim, entry.path),
    ).fetchone()
    if found is None and entry.units:
        key = key_of(entry.units[0])
        found = db.execute(
            "SELECT path FROM unit WHERE key = ? AND path <> ?", (key, entry.path)
        ).fetchone()
    return found[0] if found else ""


def _same_bytes(
    db: sqlite3.Connection, entry: Entry, stands: Callable[[str], bool]
) -> str:
    """A file gone from the disk that held the same bytes: a new path for an old note."""
    found = db.execute(
        "SELECT path FROM file WHERE sha = ? AND holds AND path <> ?",
        (entry.sha, entry.path),
    )
    return next((path for (path,) in found.fetchall() if not stands(path)), "")


def _rank_of(entry: Entry) -> tuple[object, ...]:
    """Who keeps a claim, least first, from the state of the files alone, so that a
    rebuild agrees.

    A fact: one in `facts/`, under a name we gave, the older, the first by path. A
    conversation: the longer (a copy does not grow), the older, the first by path.
    """
    turns = entry.session.turns if entry.session else 0
    return _order(entry.path, entry.stat.mtime, turns)


def _rank(db: sqlite3.Connection, path: str) -> tuple[object, ...]:
    row = db.execute(
        "SELECT mtime, ifnull((SELECT turns FROM session WHERE session.path = file.path), 0) FROM file WHERE path = ?",
        (path,),
    ).fetchone()
    return _order(path, *row)


def _order(path: str, mtime: int, turns: int) -> tuple[object, ...]:
    return (
        not path.startswith("facts/"),
        path.startswith("review/"),
        -turns,
        _OUR_NAME.search(path) is None,
        mtime,
        path,
    )


def _yield(
    db: sqlite3.Connection, entry: Entry, stat: Stat, rival: str, log: DiffLog
) -> None:
    """Another file keeps the claim: this one is known, and nothing of it is indexed."""
    problem = Problem("duplicate-id", f"the id belongs to {rival}", entry.path)
    _write_file(
        db, replace(entry, problems=(*entry.problems, problem)), stat, entry.claim, 0
    )
    _remove(
        db,
        [
            key
            for (key,) in db.execute(
                "SELECT key FROM unit WHERE path = ?", (entry.path,)
            ).fetchall()
        ],
    )
    log.tell("problems", problem)
    log.tell("conflicts", Conflict(entry.path, "duplicate-id", rival))


def _demote(db: sqlite3.Connection, rival: str, path: str, log: DiffLog) -> None:
    problem = Problem("duplicate-id", f"the id belongs to {path}", rival)
    db.execute("UPDATE file SET holds = 0 WHERE path = ?", (rival,))
    db.execute("DELETE FROM session WHERE path = ?", (rival,))
    db.execute(
        "INSERT INTO problem VALUES (?, ?, ?, ?)",
        (rival, None, problem.code, problem.message),
    )
    log.tell("problems", problem)
    log.tell("conflicts", Conflict(rival, "duplicate-id", path))


def _release(db: sqlite3.Connection, claim: str, log: DiffLog) -> bool:
    """Let the files that wait for `claim` be read again; whether there are any."""
    if not claim:
        return False
    waiting = [
        path
        for (path,) in db.execute(
            "SELECT path FROM file WHERE claim = ? AND NOT holds", (claim,)
        )
    ]
    db.executemany(
        "UPDATE file SET sha = '', inode = ? WHERE path = ?",
        [(READ_AGAIN, path) for path in waiting],
    )
    log.heirs += waiting
    return bool(waiting)


def _write_file(
    db: sqlite3.Connection, entry: Entry, stat: Stat, claim: str, holds: int
) -> None:
    db.execute("DELETE FROM problem WHERE path = ?", (entry.path,))
    _write_files(db, [(entry, stat, claim, holds)])


def _write_files(
    db: sqlite3.Connection, files: Sequence[tuple[Entry, Stat, str, int]]
) -> None:
    rows = [
        (entry.path, *stat, entry.sha, entry.kind, claim, holds)
        for entry, stat, claim, holds in files
    ]
    db.executemany(_WRITE_FILE, rows)
    problems = [
        (entry.path, fault.line, fault.code, fault.message)
        for entry, *_ in files
        for fault in entry.problems
    ]
    if problems:
        db.executemany("INSERT INTO problem VALUES (?, ?, ?, ?)", problems)
    sessions = [
        _session_row(entry.session)
        for entry, _, _, holds in files
        if holds and entry.session
    ]
    if sessions:
        db.executemany(
            "INSERT OR REPLACE INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            sessions,
        )


def _session_row(file: SessionFile) -> tuple[object, ...]:
    times = (file.started.isoformat(), file.ended.isoformat())
    told = (file.users, file.rolled, file.episodes, file.summarised)
    return (
        file.path,
        file.session,
        file.persona,
        *times,
        file.turns,
        file.last_block,
        *told,
    )


def _forget_file(db: sqlite3.Connection, path: str) -> None:
    for table in ("file", "session", "problem"):
        db.execute(f"DELETE FROM {table} WHERE path = ?", (path,))  # noqa: S608


def _replace(
    db: sqlite3.Connection, entry: Entry, sources: Sequence[str], log: DiffLog
) -> None:
    """Put the units of `entry` in place of those of `sources`; equal ones keep their
    number.
    """
    before: dict[str, tuple[str, str, str]] = {}
    for source in sources:
        found = db.execute(
            "SELECT key, kind, path, record FROM unit WHERE path = ?", (source,)
        )
        before.update({row[0]: row[1:] for row in found})
    units = {key_of(unit): unit for unit in entry.units or ()}
    after = {key: pack(unit) for key, unit in units.items()}
    _remove(db, [key for key in before if key not in after])
    new = [
        key
        for key, record in after.items()
        if before.get(key, ())[1:] != (entry.path, record)
    ]
    facts = {
        key: unpack(kind, record)
        for key, (kind, _, record) in before.items()
        if kind == "fact"
    }
    _write_units(db, [(entry.path, units[key], after[key]) for key in new], facts)
    if fresh := [(key,) for key in new if key not in before]:
        db.executemany("DELETE FROM gone WHERE key = ?", fresh)
    for fact in facts.values():
        _tell_edit(fact, units, log, moved=len(sources) > 1)


def _write_units(
    db: sqlite3.Connection,
    units: Sequence[tuple[str, Unit, str]],
    before: Mapping[str, Unit] | None = None,
) -> None:
    """Write units with their path and record; who stood there `before` keeps the
    strands that are alike.

    Without `before` nobody did: all the keys are new.
    """
    last = _last(db)
    rows = [
        _row(number, unit, path, record)
        for number, (path, unit, record) in enumerate(units, last + 1)
    ]
    db.executemany(_WRITE_UNIT, rows)
    held = {key: _standing(unit) for key, unit in (before or {}).items()}
    standing = {
        unit.id: _standing(unit) for _, unit, _ in units if isinstance(unit, Fact)
    }
    changed = [key for key, rows in standing.items() if held.get(key) != rows]
    if before is not None and changed:
        db.executemany("DELETE FROM strand WHERE key = ?", [(key,) for key in changed])
    if changed:
        db.executemany(
            "INSERT INTO strand VALUES (?, ?, ?, ?, ?)",
            [row for key in changed for row in standing[key]],
        )


def _standing(unit: Unit) -> list[tuple[object, ...]]:
    """The rows of the strands on which a unit stands: only an active fact stands on
    any.
    """
    if not isinstance(unit, Fact) or unit.status != "active":
        return []
    return [
        (strand.name, strand.at, unit.id, unit.persona or "", strand.cause)
        for strand in strands(unit)
    ]


def _present(db: sqlite3.Connection, question: str, values: Sequence[str]) -> set[str]:
    """Which of `values` the question finds, asked for all of them at once."""
    found = db.execute(
        f"{question} IN (SELECT value FROM json_each(?))",  # noqa: S608
        (json.dumps(values),),
    )
    return {value for (value,) in found}


def _row(seq: int, unit: Unit, path: str, record: str) -> tuple[object, ...]:
    """A row of `unit`: the name of a file is known of facts alone, for only they are
    linked to by it.
    """
    if isinstance(unit, Fact):
        own = content_hash(unit.text) if unit.status == "active" else ""
        return (
            seq,
            unit.id,
            path,
            path.rpartition("/")[2],
            "fact",
            unit.status,
            own,
            "",
            "",
            record,
        )
    if isinstance(unit, FiledTurn):
        return (
            seq,
            unit.key,
            path,
            "",
            "turn",
            "",
            "",
            unit.turn.session,
            unit.turn.id,
            record,
        )
    return (seq, unit.path, path, "", "note", "", "", "", "", record)


def _tell_edit(
    before: Unit, units: dict[str, Unit], log: DiffLog, *, moved: bool
) -> None:
    """One fact before, one after: whatever differs but the place and the bytes was
    changed by a person.

    A moved note without an id has another one now, for it is derived from the path.
    """
    for after in units.values():
        if isinstance(before, Fact) and isinstance(after, Fact):
            same_place = replace(
                before,
                path=after.path,
                sha=after.sha,
                id=after.id if moved else before.id,
            )
            if same_place != after:
                log.tell("edited", Edited(before, after))


def _remove(db: sqlite3.Connection, keys: list[str]) -> None:
    if not keys:
        return
    number = _last(db)
    for table in ("unit", "strand"):
        db.executemany(f"DELETE FROM {table} WHERE key = ?", [(key,) for key in keys])  # noqa: S608
    db.executemany(
        "INSERT OR REPLACE INTO gone VALUES (?, ?)",
        [(number + n, key) for n, key in enumerate(keys, 1)],
    )


def _last(db: sqlite3.Connection) -> int:
    """The greatest number given so far."""
    found = db.execute(
        "SELECT max(ifnull((SELECT max(seq) FROM unit), 0), ifnull((SELECT max(seq) FROM gone), 0))"
    ).fetchone()
    return int(found[0])
