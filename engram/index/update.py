"""Store the content of files in the catalogue, and record the changes.

Two files may claim the same fact id, conversation or path; one of them holds the claim
and is indexed. Each function runs in a transaction of the caller.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from engram.core.records import Fact, FiledTurn, Problem
from engram.index.database import SessionFile, Unit, key_of, pack, unpack
from engram.index.diff import Conflict, DiffBuilder, MovedFile
from engram.index.unit_rows import (
    StoredUnit,
    facts_of,
    remove_units,
    renumber_facts,
    renumber_turns,
    stored_units,
    write_units,
)
from engram.vault.paths import NO_INODE, Stat

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import tzinfo

    from engram.index.parse import Entry
    from engram.index.protocol import RowTransaction

_WRITE_FILE = """
INSERT INTO file (path, inode, size, mtime, ctime, sha, kind, claim, holds)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET
    inode = excluded.inode, size = excluded.size, mtime = excluded.mtime,
    ctime = excluded.ctime, sha = excluded.sha, kind = excluded.kind,
    claim = excluded.claim, holds = excluded.holds
"""


_GENERATED_NAME = re.compile(r"-[0-9a-f]{8}\.md$")


def store(
    db: RowTransaction,
    entry: Entry,
    stat: Stat,
    exists: Callable[[str], bool],
    diff: DiffBuilder,
    zone: tzinfo,
) -> None:
    """Store one file; the next scan compares the file with `stat`.

    `zone` is the local time zone, in which the words of turns name dates.

    A file without anything to index keeps the units of its last good version. Of two
    files with one claim, the better one by `_rank` holds it; if the other does not
    exist any more, the file was moved.
    """
    known = db.execute(
        "SELECT claim, holds FROM file WHERE path = ?", (entry.path,)
    ).fetchone()
    claim, holds = known or ("", 0)
    diff.problems += entry.problems
    if entry.conflict:
        diff.conflicts.append(Conflict(entry.path, entry.conflict))

    if entry.units is None:
        # without a hash, because the units are not those of these bytes
        stored = replace(entry, sha="") if holds else entry
        _write_file(db, stored, stat, claim, holds)
        return

    renumber_facts(db, entry)
    released = claim if claim != entry.claim else ""
    rival = _rival(db, entry, known, exists)
    sources = [entry.path]
    if rival and not exists(rival):
        _forget_file(db, rival)
        sources.append(rival)
        diff.moved.append(MovedFile(entry.claim, rival, entry.path))
    elif rival and _rank(db, rival) < _rank_of(entry):
        _store_duplicate(db, entry, stat, rival, diff)
        _release(db, released, diff)
        return
    elif rival:
        _take_claim(db, rival, entry.path, diff)
        sources.append(rival)
    elif known:
        diff.changed.append(entry.path)
    else:
        diff.added.append(entry.path)

    _write_file(db, entry, stat, entry.claim, 1)
    _replace_units(db, entry, sources, diff, zone)
    _release(db, released if holds else "", diff)


def store_new(
    db: RowTransaction,
    entries: Sequence[tuple[Entry, Stat]],
    diff: DiffBuilder,
    zone: tzinfo,
) -> list[tuple[Entry, Stat]]:
    """Store at once all new files without a collision; return the others.

    On a cold start these are nearly all: five statements for a batch instead of ten a
    file.
    """
    taken_names = _taken_names(db, [entry for entry, _ in entries])
    colliding: list[tuple[Entry, Stat]] = []
    new: list[tuple[Entry, Stat]] = []
    for entry, stat in entries:
        is_new = entry.units is not None and taken_names.isdisjoint(_names(entry))
        (new if is_new else colliding).append((entry, stat))

    for entry, _ in new:
        diff.added.append(entry.path)
        diff.problems += entry.problems
    _write_files(db, [(entry, stat, entry.claim, 1) for entry, stat in new])
    units = [
        (entry.path, unit, pack(unit)) for entry, _ in new for unit in entry.units or ()
    ]
    write_units(db, units, zone)
    renumber_turns(db, (), (unit for _, unit, _ in units))
    return colliding


def _names(entry: Entry) -> set[str]:
    """Return all values by which another file could collide with `entry`."""
    keys = map(key_of, entry.units or ())
    return {entry.path, entry.claim, entry.sha, *keys}


def _taken_names(db: RowTransaction, entries: Sequence[Entry]) -> set[str]:
    """Return the names of `entries` that are in the catalogue or in two of them."""
    keys = [key_of(unit) for entry in entries for unit in entry.units or ()]
    claims = [entry.claim for entry in entries]
    paths = [entry.path for entry in entries]
    hashes = [entry.sha for entry in entries]

    taken = _present(db, "SELECT path FROM file WHERE path", paths)
    taken |= _present(db, "SELECT claim FROM file WHERE claim", claims)
    taken |= _present(db, "SELECT sha FROM file WHERE sha", hashes)
    taken |= _present(db, "SELECT key FROM unit WHERE key", keys)
    taken |= _present(db, "SELECT key FROM removed WHERE key", keys)
    taken |= {claim for claim, number in Counter(claims).items() if number > 1}
    taken |= {key for key, number in Counter(keys).items() if number > 1}
    return taken


def drop(db: RowTransaction, path: str, diff: DiffBuilder) -> None:
    """Remove a file; the next file with its claim is read again.

    Without such a file, its facts are deleted, which is a user change.
    """
    claims = db.execute(
        "SELECT claim FROM file WHERE path = ? AND holds", (path,)
    ).fetchall()
    units = db.execute(
        "SELECT key, kind, record FROM unit WHERE path = ?", (path,)
    ).fetchall()
    _forget_file(db, path)
    remove_units(db, [key for key, *_ in units])
    known = {key: StoredUnit(kind, path, record) for key, kind, record in units}
    renumber_turns(db, facts_of(known).values(), ())
    diff.removed.append(path)
    if any(_release(db, claim, diff) for (claim,) in claims):
        return
    for key, kind, record in units:
        if kind in {"fact", "turn"} and diff.by_user:
            _write_user_change(db, key, kind, record, "")


# -- claims ----------------------------------------------------------------------------


def _rival(
    db: RowTransaction,
    entry: Entry,
    known: tuple[str, int] | None,
    exists: Callable[[str], bool],
) -> str:
    """Return the path of the other file that holds the claim of `entry`, or ''.

    `known` is the claim that the file had, and whether it held it.
    """
    if entry.kind == "fact" and known == (entry.claim, 1):
        return ""  # it already holds the id
    found = db.execute(
        "SELECT path FROM file WHERE claim = ? AND holds AND path <> ?",
        (entry.claim, entry.path),
    ).fetchone()
    if found is None and entry.units:
        key = key_of(entry.units[0])
        found = db.execute(
            "SELECT path FROM unit WHERE key = ? AND path <> ?", (key, entry.path)
        ).fetchone()
    if found:
        return str(found[0])
    return "" if known else _moved_from(db, entry, exists)


def _moved_from(db: RowTransaction, entry: Entry, exists: Callable[[str], bool]) -> str:
    """Return the path of a vanished file with the same bytes, or ''."""
    found = db.execute(
        "SELECT path FROM file WHERE sha = ? AND holds AND path <> ?",
        (entry.sha, entry.path),
    )
    return next((path for (path,) in found.fetchall() if not exists(path)), "")


def _rank_of(entry: Entry) -> tuple[object, ...]:
    """Return the rank of a file among those with the same claim; the least holds it.

    It depends on the files alone, so that a rebuild agrees. A fact: one in `facts/`,
    under a generated name, the older, the first by path. A conversation: the longer (a
    copy does not grow), the older, the first by path.
    """
    turns = entry.session.turns if entry.session else 0
    return _rank_key(entry.path, entry.stat.mtime, turns)


def _rank(db: RowTransaction, path: str) -> tuple[object, ...]:
    row = db.execute(
        "SELECT mtime, "
        "coalesce((SELECT turns FROM session WHERE session.path = file.path), 0) "
        "FROM file WHERE path = ?",
        (path,),
    ).fetchone()
    return _rank_key(path, *row)


def _rank_key(path: str, mtime: int, turns: int) -> tuple[object, ...]:
    return (
        not path.startswith("facts/"),
        path.startswith("review/"),
        -turns,
        _GENERATED_NAME.search(path) is None,
        mtime,
        path,
    )


def _store_duplicate(
    db: RowTransaction, entry: Entry, stat: Stat, rival: str, diff: DiffBuilder
) -> None:
    """Store a file whose claim `rival` holds; none of it is indexed."""
    problem = Problem("duplicate-id", f"the id belongs to {rival}", entry.path)
    duplicate = replace(entry, problems=(*entry.problems, problem))
    _write_file(db, duplicate, stat, entry.claim, 0)
    found = db.execute("SELECT key FROM unit WHERE path = ?", (entry.path,))
    remove_units(db, [key for (key,) in found.fetchall()])
    diff.problems.append(problem)
    diff.conflicts.append(Conflict(entry.path, "duplicate-id", rival))


def _take_claim(db: RowTransaction, rival: str, path: str, diff: DiffBuilder) -> None:
    """Move the claim from `rival` to the file at `path`."""
    problem = Problem("duplicate-id", f"the id belongs to {path}", rival)
    db.execute("UPDATE file SET holds = FALSE WHERE path = ?", (rival,))
    db.execute("DELETE FROM session WHERE path = ?", (rival,))
    db.execute(
        "INSERT INTO problem VALUES (?, ?, ?, ?)",
        (rival, None, problem.code, problem.message),
    )
    diff.problems.append(problem)
    diff.conflicts.append(Conflict(rival, "duplicate-id", path))


def _release(db: RowTransaction, claim: str, diff: DiffBuilder) -> bool:
    """Schedule the files that wait for `claim`; return whether there are any."""
    if not claim:
        return False
    found = db.execute("SELECT path FROM file WHERE claim = ? AND NOT holds", (claim,))
    waiting = [path for (path,) in found]
    db.executemany(
        "UPDATE file SET sha = '', inode = ? WHERE path = ?",
        [(NO_INODE, path) for path in waiting],
    )
    diff.reread += waiting
    return bool(waiting)


# -- rows of files ---------------------------------------------------------------------


def _write_file(
    db: RowTransaction, entry: Entry, stat: Stat, claim: str, holds: int
) -> None:
    db.execute("DELETE FROM problem WHERE path = ?", (entry.path,))
    _write_files(db, [(entry, stat, claim, holds)])


def _write_files(
    db: RowTransaction, files: Sequence[tuple[Entry, Stat, str, int]]
) -> None:
    rows = [
        (entry.path, *stat, entry.sha, entry.kind, claim, bool(holds))
        for entry, stat, claim, holds in files
    ]
    db.executemany(_WRITE_FILE, rows)
    problems = [
        (entry.path, problem.line, problem.code, problem.message)
        for entry, *_ in files
        for problem in entry.problems
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
            "DELETE FROM session WHERE path = ?", [row[:1] for row in sessions]
        )
        db.executemany(
            "INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", sessions
        )


def _session_row(file: SessionFile) -> tuple[object, ...]:
    return (
        file.path,
        file.session,
        file.persona,
        file.started.isoformat(),
        file.ended.isoformat(),
        file.turns,
        file.last_block,
        file.users,
        file.rolled,
        file.episodes,
        file.summarised,
        file.sensitive,
    )


def _forget_file(db: RowTransaction, path: str) -> None:
    for table in ("file", "session", "problem"):
        db.execute(f"DELETE FROM {table} WHERE path = ?", (path,))  # noqa: S608


# -- the units of a file ---------------------------------------------------------------


def _replace_units(
    db: RowTransaction,
    entry: Entry,
    sources: Sequence[str],
    diff: DiffBuilder,
    zone: tzinfo,
) -> None:
    """Replace the units of the files `sources` by those of `entry`.

    Equal units keep their sequence number.
    """
    before = stored_units(db, sources)
    facts = facts_of(before)
    units = {key_of(unit): unit for unit in entry.units or ()}
    records = {key: pack(unit) for key, unit in units.items()}
    known = {(key, old.path, old.record) for key, old in before.items()}
    changed = [key for key in records if (key, entry.path, records[key]) not in known]

    remove_units(db, [key for key in before if key not in records])
    written = [(entry.path, units[key], records[key]) for key in changed]
    write_units(db, written, zone, facts)
    if new := [(key,) for key in changed if key not in before]:
        db.executemany("DELETE FROM removed WHERE key = ?", new)
    renumber_turns(db, facts.values(), units.values())

    if diff.by_user:
        _record_removed_turns(db, before, units)
        _record_edits(db, facts, units, moved=len(sources) > 1)
    if diff.by_user or diff.by_engram:
        _record_edited_turns(db, before, {key: units[key] for key in changed})


def _present(db: RowTransaction, select: str, values: Sequence[str]) -> set[str]:
    """Return those of `values` that the statement `select` finds."""
    found = db.execute(
        f"{select} IN (SELECT value FROM json_each(?))",  # noqa: S608
        (json.dumps(values),),
    )
    return {value for (value,) in found}


# -- user changes ----------------------------------------------------------------------


def _record_removed_turns(
    db: RowTransaction, before: Mapping[str, StoredUnit], after: Mapping[str, Unit]
) -> None:
    for key, old in before.items():
        if old.kind == "turn" and key not in after:
            _write_user_change(db, key, "turn", old.record, "")


def _record_edited_turns(
    db: RowTransaction, before: Mapping[str, StoredUnit], changed: Mapping[str, Unit]
) -> None:
    for key, unit in changed.items():
        old = before.get(key)
        if old and _is_edited_turn(old, unit):
            _write_user_change(db, key, "turn", old.record, pack(unit))


def _is_edited_turn(before: StoredUnit, after: Unit) -> bool:
    """Return whether a user changed the words of a turn in its session file."""
    if not isinstance(after, FiledTurn):
        return False
    old = unpack(before.kind, before.record)
    return (
        isinstance(old, FiledTurn)
        and old.turn.id == after.turn.id
        and old.turn.text != after.turn.text
    )


def _record_edits(
    db: RowTransaction,
    before: Mapping[str, Fact],
    after: Mapping[str, Unit],
    *,
    moved: bool,
) -> None:
    for key, fact in before.items():
        for unit in after.values():
            if _is_edit(fact, unit, moved=moved):
                _write_user_change(db, key, "fact", pack(fact), pack(unit))


def _is_edit(before: Fact, after: Unit, *, moved: bool) -> bool:
    """Return whether more than the path and the bytes of a fact changed.

    A moved note without an id has a new one, because it is derived from the path.
    """
    if not isinstance(after, Fact):
        return False
    own_id = after.id if moved else before.id
    return replace(before, path=after.path, sha=after.sha, id=own_id) != after


def _write_user_change(
    db: RowTransaction, key: str, kind: str, before: str, after: str
) -> None:
    """Record that a user changed or, if `after` is '', deleted a unit.

    The row stays until it is acknowledged, so that a crash loses no user change.
    """
    db.execute(
        "INSERT INTO user_change (key, kind, before, after) VALUES (?, ?, ?, ?)",
        (key, kind, before, after),
    )
