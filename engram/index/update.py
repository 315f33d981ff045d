"""Store what files say in the catalogue, and note what that changed.

Two files may claim the same fact id, conversation or path; one of them holds the claim
and is indexed. Each function runs in a transaction that the caller opened.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, cast

from engram.core.graph import positions
from engram.core.records import HIGH, UNKNOWN_PERSONA, Fact, FiledTurn, Problem
from engram.core.text import content_hash
from engram.core.turn_versions import base_id
from engram.index.database import key_of, pack, unpack
from engram.vault.paths import NO_INODE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from engram.index.database import SessionFile, Unit
    from engram.index.parse import Entry
    from engram.index.protocol import RowTransaction
    from engram.vault.paths import Stat

_WRITE_FILE = """
INSERT INTO file VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET
    inode = excluded.inode, size = excluded.size, mtime = excluded.mtime,
    sha = excluded.sha, kind = excluded.kind,
    claim = excluded.claim, holds = excluded.holds
"""
_WRITE_UNIT = """
INSERT INTO unit VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET
    seq = excluded.seq, path = excluded.path, name = excluded.name,
    kind = excluded.kind, status = excluded.status, hash = excluded.hash,
    session = excluded.session, turn = excluded.turn, record = excluded.record
"""
LAST_SEQ = """
SELECT coalesce(max(seq), 0) FROM (
    SELECT max(seq) AS seq FROM unit UNION ALL SELECT max(seq) FROM removed
) AS latest
"""
"""The greatest sequence number given so far."""

VERSIONS = """
SELECT key, record FROM unit
WHERE kind = 'turn' AND session = ? AND (turn = ? OR (turn >= ? AND turn < ?))
"""
"""The versions of a turn; `version_span` returns the values."""

LAST_CHARACTER = "\U0010ffff"
_GENERATED_NAME = re.compile(r"-[0-9a-f]{8}\.md$")


@dataclass(frozen=True, slots=True)
class MovedFile:
    """A user moved a file from `path` to `to`.

    `claim` is what only one file may hold: a fact's id, a conversation, a note's path.
    """

    claim: str
    path: str
    to: str


@dataclass(frozen=True, slots=True)
class EditedFact:
    """A user changed the body, the status or another key of a fact.

    The ids differ where the user changed the id.
    """

    before: Fact
    after: Fact


@dataclass(frozen=True, slots=True)
class Conflict:
    """A file that must not become a second memory.

    `why` is sync-conflict, merge-markers or duplicate-id; `other` is the path of the
    file that holds the id, '' where it is not known.
    """

    path: str
    why: str
    other: str = ""


@dataclass(frozen=True, slots=True)
class Diff:
    """The changes that a scan found; paths are relative to the vault.

    `edited` and `deleted` are the user changes that are not acknowledged yet, without
    the writes of engram and of git; so are `edited_turns`, turns as they were before a
    user changed their words in a session file, and `deleted_turns`. `last_change` is the
    number of the last one.
    `checked_out` is true where git changed files. The files of `pending` need another
    scan after `settle_most_seconds`. `frozen` is true where so many files are missing
    that none counts as deleted.
    """

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    moved: tuple[MovedFile, ...] = ()
    edited: tuple[EditedFact, ...] = ()
    deleted: tuple[Fact, ...] = ()
    edited_turns: tuple[FiledTurn, ...] = ()
    deleted_turns: tuple[FiledTurn, ...] = ()
    last_change: int = 0
    conflicts: tuple[Conflict, ...] = ()
    problems: tuple[Problem, ...] = ()
    pending: frozenset[str] = frozenset()
    frozen: bool = False
    checked_out: bool = False


@dataclass(slots=True)
class DiffBuilder:
    """The changes that a scan found so far.

    `by_user` is false for the writes of engram and of git, which are no user changes;
    `by_engram` is true for those of engram. It changes no words of a turn, so where they
    differ, a user changed the file just before.
    `reread` has the files that get a claim which another file released.
    """

    by_user: bool = True
    by_engram: bool = False
    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    moved: list[MovedFile] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    pending: set[str] = field(default_factory=set)
    reread: list[str] = field(default_factory=list)
    frozen: bool = False
    checked_out: bool = False

    def diff(
        self,
        edited: Sequence[EditedFact],
        deleted: Sequence[Fact],
        edited_turns: Sequence[FiledTurn],
        deleted_turns: Sequence[FiledTurn],
        last_change: int,
    ) -> Diff:
        """Return the finished value, with the user changes that the catalogue holds."""
        return Diff(
            added=tuple(self.added),
            changed=tuple(self.changed),
            removed=tuple(self.removed),
            moved=tuple(self.moved),
            edited=tuple(edited),
            deleted=tuple(deleted),
            edited_turns=tuple(edited_turns),
            deleted_turns=tuple(deleted_turns),
            last_change=last_change,
            conflicts=tuple(self.conflicts),
            problems=tuple(self.problems),
            pending=frozenset(self.pending),
            frozen=self.frozen,
            checked_out=self.checked_out,
        )


def store(
    db: RowTransaction,
    entry: Entry,
    stat: Stat,
    exists: Callable[[str], bool],
    diff: DiffBuilder,
) -> None:
    """Store one file; `stat` is what the next scan compares with.

    A file without anything to index keeps the units of its last good version. Of two
    files with one claim, the better one by `_rank` holds it; if the other does not
    exist any more, the file was moved.
    """
    known = db.execute(
        "SELECT claim, holds FROM file WHERE path = ?", (entry.path,)
    ).fetchone()
    claim, held = known or ("", 0)
    diff.problems += entry.problems
    if entry.conflict:
        diff.conflicts.append(Conflict(entry.path, entry.conflict))

    if entry.units is None:
        # without a hash: the units are not those of these bytes
        kept = replace(entry, sha="") if held else entry
        _write_file(db, kept, stat, claim, held)
        return

    _renumber_facts(db, entry)
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
    _replace_units(db, entry, sources, diff)
    _release(db, released if held else "", diff)


def store_new(
    db: RowTransaction, entries: Sequence[tuple[Entry, Stat]], diff: DiffBuilder
) -> list[tuple[Entry, Stat]]:
    """Store at once all new files that collide with nothing; return the others.

    A cold start consists of these: five statements for a batch instead of ten a file.
    """
    taken = _taken_names(db, [entry for entry, _ in entries])
    colliding: list[tuple[Entry, Stat]] = []
    new: list[tuple[Entry, Stat]] = []
    for entry, stat in entries:
        is_new = entry.units is not None and taken.isdisjoint(_names(entry))
        (new if is_new else colliding).append((entry, stat))

    for entry, _ in new:
        diff.added.append(entry.path)
        diff.problems += entry.problems
    _write_files(db, [(entry, stat, entry.claim, 1) for entry, stat in new])
    units = [
        (entry.path, unit, pack(unit)) for entry, _ in new for unit in entry.units or ()
    ]
    _write_units(db, units)
    _renumber_turns(db, (), (unit for _, unit, _ in units))
    return colliding


def _names(entry: Entry) -> set[str]:
    """Return everything by which another file could collide with `entry`."""
    keys = map(key_of, entry.units or ())
    return {entry.path, entry.claim, entry.sha, *keys}


def _taken_names(db: RowTransaction, entries: Sequence[Entry]) -> set[str]:
    """Return the names of `entries` that the catalogue or two of them have."""
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
    """Remove a file; the next file that claims what it held is read again.

    Where there is no such file, its facts are deleted, which is a user change.
    """
    claims = db.execute(
        "SELECT claim FROM file WHERE path = ? AND holds", (path,)
    ).fetchall()
    units = db.execute(
        "SELECT key, kind, record FROM unit WHERE path = ?", (path,)
    ).fetchall()
    _forget_file(db, path)
    _remove_units(db, [key for key, *_ in units])
    known = {key: (kind, path, record) for key, kind, record in units}
    _renumber_turns(db, _facts_of(known).values(), ())
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
        return ""  # it holds the id already
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
    """Return the path of a vanished file that held the same bytes, or ''."""
    found = db.execute(
        "SELECT path FROM file WHERE sha = ? AND holds AND path <> ?",
        (entry.sha, entry.path),
    )
    return next((path for (path,) in found.fetchall() if not exists(path)), "")


def _rank_of(entry: Entry) -> tuple[object, ...]:
    """Return the rank of a file among those with the same claim; the least holds it.

    It follows from the files alone, so that a rebuild agrees. A fact: one in `facts/`,
    under a generated name, the older, the first by path. A conversation: the longer
    (a copy does not grow), the older, the first by path.
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
    """Store a file whose claim `rival` holds: nothing of it is indexed."""
    problem = Problem("duplicate-id", f"the id belongs to {rival}", entry.path)
    duplicate = replace(entry, problems=(*entry.problems, problem))
    _write_file(db, duplicate, stat, entry.claim, 0)
    found = db.execute("SELECT key FROM unit WHERE path = ?", (entry.path,))
    _remove_units(db, [key for (key,) in found.fetchall()])
    diff.problems.append(problem)
    diff.conflicts.append(Conflict(entry.path, "duplicate-id", rival))


def _take_claim(db: RowTransaction, rival: str, path: str, diff: DiffBuilder) -> None:
    """Take the claim from `rival` for the file at `path`."""
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
    """Have the files that wait for `claim` read again; return whether there are any."""
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


# -- rows of units ---------------------------------------------------------------------


def _replace_units(
    db: RowTransaction, entry: Entry, sources: Sequence[str], diff: DiffBuilder
) -> None:
    """Replace the units of the files `sources` by those of `entry`.

    Equal ones keep their sequence number.
    """
    before = _stored_units(db, sources)
    facts = _facts_of(before)
    units = {key_of(unit): unit for unit in entry.units or ()}
    records = {key: pack(unit) for key, unit in units.items()}
    stored = {key: (path, record) for key, (_, path, record) in before.items()}
    changed = [
        key
        for key, record in records.items()
        if stored.get(key) != (entry.path, record)
    ]

    gone = [key for key in before if key not in records]
    if diff.by_user:
        _record_removed_turns(db, {key: before[key] for key in gone})
    _remove_units(db, gone)
    _write_units(db, [(entry.path, units[key], records[key]) for key in changed], facts)
    if new := [(key,) for key in changed if key not in before]:
        db.executemany("DELETE FROM removed WHERE key = ?", new)
    _renumber_turns(db, facts.values(), units.values())
    if diff.by_user:
        _record_edits(db, facts, units, moved=len(sources) > 1)
    if diff.by_user or diff.by_engram:
        for key in changed:
            if _is_edited_turn(before.get(key), units[key]):
                _write_user_change(db, key, "turn", before[key][2], records[key])


def _record_removed_turns(
    db: RowTransaction, units: Mapping[str, tuple[str, str, str]]
) -> None:
    for key, (kind, _, record) in units.items():
        if kind == "turn":
            _write_user_change(db, key, kind, record, "")


def _facts_of(units: Mapping[str, tuple[str, str, str]]) -> dict[str, Fact]:
    return {
        key: cast("Fact", unpack(kind, record))
        for key, (kind, _, record) in units.items()
        if kind == "fact"
    }


def _is_edited_turn(before: tuple[str, str, str] | None, after: Unit) -> bool:
    """Whether a user changed the words of a turn in its session file."""
    if before is None or not isinstance(after, FiledTurn):
        return False
    kind, _, record = before
    old = unpack(kind, record)
    return (
        isinstance(old, FiledTurn)
        and old.turn.id == after.turn.id
        and old.turn.text != after.turn.text
    )


def _stored_units(
    db: RowTransaction, paths: Sequence[str]
) -> dict[str, tuple[str, str, str]]:
    """Return kind, path and record of the units of these files, by key."""
    units: dict[str, tuple[str, str, str]] = {}
    for source in paths:
        rows = db.execute(
            "SELECT key, kind, path, record FROM unit WHERE path = ?", (source,)
        )
        units.update({key: (kind, path, record) for key, kind, path, record in rows})
    return units


def _write_units(
    db: RowTransaction,
    units: Sequence[tuple[str, Unit, str]],
    before: Mapping[str, Fact] | None = None,
) -> None:
    """Write units, each with its path and record.

    `before` are the facts that were there; None where all keys are new.
    """
    last = _last_seq(db)
    rows = [
        _unit_row(number, unit, path, record)
        for number, (path, unit, record) in enumerate(units, last + 1)
    ]
    db.executemany(_WRITE_UNIT, rows)

    _write_strands(db, [unit for _, unit, _ in units], before)


def _write_strands(
    db: RowTransaction, units: Sequence[Unit], before: Mapping[str, Fact] | None
) -> None:
    old = {key: _strand_rows(unit) for key, unit in (before or {}).items()}
    new = {unit.id: _strand_rows(unit) for unit in units if isinstance(unit, Fact)}
    changed = [key for key, rows in new.items() if old.get(key) != rows]
    if not changed:
        return
    if before is not None:
        db.executemany("DELETE FROM strand WHERE key = ?", [(key,) for key in changed])
    rows = [row for key in changed for row in new[key]]
    db.executemany("INSERT INTO strand VALUES (?, ?, ?, ?, ?)", rows)


def _strand_rows(unit: Unit) -> list[tuple[object, ...]]:
    """Return the rows of the strands of a unit; only an active fact has any."""
    if not isinstance(unit, Fact) or unit.status != "active":
        return []
    return [
        (strand.name, strand.at, unit.id, unit.persona or "", strand.cause)
        for strand in positions(unit)
    ]


def _unit_row(seq: int, unit: Unit, path: str, record: str) -> tuple[object, ...]:
    """Return a row of `unit`; only facts have a file name, for links lead to them."""
    if isinstance(unit, Fact):
        name = path.rpartition("/")[2]
        digest = content_hash(unit.text) if unit.status == "active" else ""
        return (seq, unit.id, path, name, "fact", unit.status, digest, "", "", record)
    if isinstance(unit, FiledTurn):
        session, turn = unit.turn.session, unit.turn.id
        return (seq, unit.key, path, "", "turn", "", "", session, turn, record)
    return (seq, unit.path, path, "", "note", "", "", "", "", record)


def _remove_units(db: RowTransaction, keys: list[str]) -> None:
    if not keys:
        return
    last = _last_seq(db)
    for table in ("unit", "strand"):
        db.executemany(f"DELETE FROM {table} WHERE key = ?", [(key,) for key in keys])  # noqa: S608
    db.executemany("DELETE FROM removed WHERE key = ?", [(key,) for key in keys])
    db.executemany("INSERT INTO removed VALUES (?, ?)", enumerate(keys, last + 1))


def version_span(session: str, turn_id: str) -> tuple[str, str, str, str]:
    """Return the values for `VERSIONS`; `turn_id` has no mark of a version."""
    start = f"{turn_id} edit-"
    return session, turn_id, start, start + LAST_CHARACTER


def hidden_turns(units: Iterable[Unit]) -> dict[str, str]:
    """Return the turns that are highly sensitive because memories rest on them (`B17`).

    They are given by key, with the persona that alone sees them.
    """
    return {
        key: fact.persona or UNKNOWN_PERSONA
        for fact in units
        if isinstance(fact, Fact) and fact.sensitivity == HIGH
        for key in (fact.source, *fact.also)
        if key
    }


def _renumber_turns(
    db: RowTransaction, before: Iterable[Unit], after: Iterable[Unit]
) -> None:
    """Give turns a new number that these memories hide now, or no longer hide (`B17`).

    The feed of changes lists them by this number, for clients that keep a copy.
    Versions of an edited turn get a new number with it.
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


def _renumber_facts(db: RowTransaction, entry: Entry) -> None:
    """Give the facts a new number that rest on a conversation, if its level changed."""
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


def _present(db: RowTransaction, select: str, values: Sequence[str]) -> set[str]:
    """Return which of `values` the statement `select` finds."""
    found = db.execute(
        f"{select} IN (SELECT value FROM json_each(?))",  # noqa: S608
        (json.dumps(values),),
    )
    return {value for (value,) in found}


def _last_seq(db: RowTransaction) -> int:
    return int(db.execute(LAST_SEQ).fetchone()[0])


# -- user changes ----------------------------------------------------------------------


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
    """Return whether more than the place and the bytes of a fact changed.

    A moved note without an id has another one now, for it is derived from the path.
    """
    if not isinstance(after, Fact):
        return False
    own_id = after.id if moved else before.id
    return replace(before, path=after.path, sha=after.sha, id=own_id) != after


def _write_user_change(
    db: RowTransaction, key: str, kind: str, before: str, after: str
) -> None:
    """Record that a user changed or, where `after` is '', deleted a unit.

    The row stays until it is acknowledged, so that a crash loses no user change.
    """
    db.execute(
        "INSERT INTO user_change (key, kind, before, after) VALUES (?, ?, ?, ?)",
        (key, kind, before, after),
    )
