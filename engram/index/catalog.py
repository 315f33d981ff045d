"""The catalogue: look-ups of the facts, turns, notes and files of the vault.

All data comes from SQLite and is as of the last scan. Every method is thread-safe.
"""

from __future__ import annotations

import json
from collections.abc import (
    Callable,
    Collection,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, fields, replace
from datetime import datetime
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from engram.core import graph
from engram.core.lifecycle import hidden_reason
from engram.core.personas import own_name
from engram.core.records import (
    HIGH,
    REMEMBERED,
    UNKNOWN_PERSONA,
    Fact,
    FiledTurn,
    Problem,
)
from engram.core.trust import said_by_user
from engram.core.turn_versions import base_id
from engram.core.user_facts import Slot
from engram.errors import ConflictError, NotFoundError
from engram.index.database import PROMISES, SessionFile, Unit, unpack
from engram.index.unit_rows import (
    LAST_CHARACTER,
    LAST_SEQ,
    VERSIONS,
    hidden_turns,
    version_span,
)
from engram.vault.paths import FilePlace, Stat

if TYPE_CHECKING:
    from engram.core.graph import WeightedEdge
    from engram.core.policy import FilePolicy, LinkPolicy
    from engram.index.protocol import IndexStore

_CANDIDATES = 5
"""The most facts or turns that an error lists for an ambiguous id."""
_EdgeKey = tuple[str | None, int, str]
"""A persona, the number of neighbours on a strand, and the key of a fact."""
_PLACE = "path, sha, inode, size, mtime, ctime"
_IN_LIST = "IN (SELECT value FROM json_each(?))"
_SESSION = ", ".join(field.name for field in fields(SessionFile))
_PROBLEM = "SELECT code, message, path, line FROM problem"
UNKNOWN = (
    "Recall it, and use the id that is shown, such as "
    "01KBH2Q0M6T4W2Y0B7C5D9E1FX or 2026-11-20-talk#^t2."
)
"""The advice for an unknown id."""
_SIBLINGS = """
SELECT name, cause, key, (
    SELECT coalesce(json_group_array(key), '[]') FROM (
        SELECT key FROM strand
        WHERE name = here.name AND (at, key) < (here.at, here.key)
        AND (CAST(?1 AS text) IS NULL OR persona IN ('', ?1))
        ORDER BY at DESC, key DESC LIMIT ?2
    ) AS earlier
), (
    SELECT coalesce(json_group_array(json_array(key, cause)), '[]') FROM (
        SELECT key, cause FROM strand
        WHERE name = here.name AND (at, key) > (here.at, here.key)
        AND (CAST(?1 AS text) IS NULL OR persona IN ('', ?1))
        ORDER BY at, key LIMIT ?2
    ) AS later
)
FROM strand AS here WHERE key IN (SELECT value FROM json_each(?3))
"""


@dataclass(frozen=True, slots=True)
class Delta:
    """The changes that bring an index to `mark`.

    If `fresh`, empty the index first; then remove the keys of `removed` and add or
    replace the units of `added`.
    """

    mark: str
    fresh: bool
    removed: tuple[str, ...]
    added: Iterator[Unit]


@dataclass(frozen=True, slots=True)
class CatalogChanges:
    """Some changes in their order: keys with their units, None for a removed one.

    They end at `mark`; `more` is true if others follow.
    """

    mark: str
    more: bool
    units: tuple[tuple[str, Unit | None], ...]


class Catalog:
    """The content of the vault's files as of the last scan.

    `why_absent` returns what became of the note of an id that is not there, or ''.
    """

    def __init__(
        self,
        database: IndexStore,
        policy: FilePolicy,
        why_absent: Callable[[str], str] = lambda _: "",
    ) -> None:
        self.database = database
        self.why_absent = why_absent
        self.policy = policy
        size = policy.units
        self._units: LookupCache[str, tuple[Unit, FilePlace]] = LookupCache(
            database, size
        )
        self._resting: LookupCache[str, list[str]] = LookupCache(database, size)
        self._faulty: LookupCache[str, frozenset[str]] = LookupCache(database, 1)
        self._edges: LookupCache[_EdgeKey, list[WeightedEdge]] = LookupCache(
            database, size
        )
        self._sensitive_units: tuple[Mapping[str, str], frozenset[str]] = (
            {},
            frozenset(),
        )
        self._sensitive_at = -1

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    @property
    def complete(self) -> bool:
        """Whether the whole vault was read since the catalogue was last empty."""
        return self.database.setting("complete") == "yes"

    # -- changes -----------------------------------------------------------------------

    @property
    def mark(self) -> str:
        """The state of the catalogue; an index at the same mark has equal units."""
        return f"{self.database.generation}:{self._last_seq()}"

    def since(self, mark: str) -> Delta:
        """Return the changes since an index was at `mark`.

        For '' and for a mark of another catalogue they are all units.
        """
        with self.database.lock:
            own = self.database.generation
            generation, _, number = mark.partition(":")
            last = self._last_seq()
            # after a power cut the last rows may be missing
            if generation != own or int(number) > last:
                return Delta(f"{own}:{last}", True, (), self._units_between(0, last))
            first = int(number)
            removed = self.database.query(
                "SELECT key FROM removed WHERE seq > ?", (first,)
            )
            keys = tuple(str(key) for (key,) in removed)
            added = self._units_between(first, last)
            return Delta(f"{own}:{last}", False, keys, added)

    def mark_before(self, mark: str, keys: Collection[str]) -> str:
        """Return `mark`, or an earlier one that all units of `keys` come after."""
        if not keys:
            return mark
        generation, _, number = mark.partition(":")
        rows = self.database.query(
            "SELECT min(seq) FROM unit WHERE key IN (SELECT value FROM json_each(?))",
            (json.dumps(list(keys)),),
        )
        first = rows[0][0]
        if first is None or not number or first > int(number):
            return mark
        return f"{generation}:{first - 1}"

    def changes(self, mark: str, limit: int) -> CatalogChanges | None:
        """Return up to `limit` changes after `mark`; None for an unknown mark."""
        with self.database.lock:
            own = self.database.generation
            generation, _, number = mark.partition(":")
            if generation != own or not number.isdecimal():
                return None
            if int(number) > self._last_seq():
                return None
            rows = self.database.query(
                "SELECT seq, key, kind, record FROM unit WHERE seq > ?1 UNION ALL "
                "SELECT seq, key, '', '' FROM removed WHERE seq > ?1 "
                "ORDER BY seq LIMIT ?2",
                (int(number), limit + 1),
            )
        page = rows[:limit]
        last = page[-1][0] if page else int(number)
        return CatalogChanges(
            f"{own}:{last}",
            len(rows) > limit,
            tuple(
                (key, self._unit(kind, record) if kind else None)
                for _, key, kind, record in page
            ),
        )

    def all_units(self) -> Iterator[Unit]:
        """Yield every fact, turn and note."""
        return self._units_between(0, self._last_seq())

    def _last_seq(self) -> int:
        rows = self.database.query(LAST_SEQ)
        return int(rows[0][0]) if rows else 0

    def _units_between(self, first: int, last: int) -> Iterator[Unit]:
        """Yield the units with sequence numbers from `first` + 1 to `last`."""
        sql = (
            "SELECT seq, kind, record FROM unit "
            "WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
        )
        while first < last:
            rows = self.database.query(sql, (first, last, self.policy.scan_batch))
            if not rows:
                return
            first = rows[-1][0]
            for _, kind, record in rows:
                yield self._unit(kind, record)

    # -- facts -------------------------------------------------------------------------

    def find_fact(self, name: str) -> Fact:
        """Return the fact with this id or path, or with this unique id prefix.

        Raises NotFoundError, or ConflictError with the candidates.
        """
        if not name:
            raise NotFoundError(
                "there is no memory without a name",
                fix="Give an id, the beginning of one, or a path.",
            )
        if found := self._facts("key = ? OR path = ?", name, name):
            return found[0]
        start = name.upper()
        found = self._facts("key >= ? AND key < ?", start, start + LAST_CHARACTER)
        if not found:
            if fix := self.why_absent(start):
                raise NotFoundError("its note is deleted", where=name, fix=fix)
            near = self._similar_ids(start)
            fix = f"Did you mean {' or '.join(near)}?" if near else UNKNOWN
            raise NotFoundError("there is no such memory", where=name, fix=fix)
        if len(found) > 1:
            ids = ", ".join(fact.id for fact in found)
            raise ConflictError(
                "the ids of several memories begin like this",
                where=name,
                fix=f"Give more letters of the id: {ids}.",
            )
        return found[0]

    def _similar_ids(self, name: str) -> list[str]:
        """Return ids with the first or last ten characters of a mistyped id."""
        if not 20 <= len(name) <= 30 or not name.isalnum():
            return []
        return self._column(
            "SELECT key FROM unit WHERE kind = 'fact' AND status <> 'forgotten' "
            "AND (substr(key, 1, 10) = ?1 OR substr(key, length(key) - 9) = ?2) ORDER BY key LIMIT 3",
            (name[:10], name[-10:]),
        )

    def fact(self, fact_id: str) -> Fact | None:
        """Return the fact with exactly this id."""
        unit = self.unit(fact_id)
        return unit if isinstance(unit, Fact) else None

    def facts(self, *substrings: str) -> list[Fact]:
        """Return all facts by path, or those whose record has one of `substrings`."""
        condition = " OR ".join("instr(record, ?)" for _ in substrings) or "TRUE"
        rows = self.database.query(
            f"SELECT record FROM unit WHERE kind = 'fact' AND ({condition}) "  # noqa: S608
            "ORDER BY path",
            substrings,
        )
        return [cast("Fact", self._unit("fact", record)) for (record,) in rows]

    def promises(self) -> list[Fact]:
        """Return all facts with a todo stage, and few others, by path (`E16`)."""
        rows = self.database.query(
            f"SELECT record FROM unit WHERE {PROMISES} ORDER BY path"  # noqa: S608
        )
        return [cast("Fact", self._unit("fact", record)) for (record,) in rows]

    def facts_of_conversations(self, stems: Sequence[str]) -> list[Fact]:
        """Return the active facts whose first source is a turn of these files."""
        names = [f"{graph.SESSION_PREFIX}{stem}" for stem in stems]
        rows = self.database.query(
            "SELECT record FROM unit WHERE key IN (SELECT key FROM strand WHERE name "
            "IN (SELECT value FROM json_each(?))) ORDER BY path",
            (json.dumps(names),),
        )
        return [cast("Fact", self._unit("fact", record)) for (record,) in rows]

    def facts_at(self, paths: Iterable[str]) -> list[Fact]:
        """Return the facts in the files `paths`."""
        rows = self.database.query(
            f"SELECT record FROM unit WHERE kind = 'fact' AND path {_IN_LIST}",  # noqa: S608
            (json.dumps(list(paths)),),
        )
        return [cast("Fact", self._unit("fact", record)) for (record,) in rows]

    def resting_on(self, keys: Sequence[str]) -> dict[str, list[str]]:
        """Return the ids of the facts that rest on these turns or memories, by key.

        On a memory rest the conclusions from it, the questions about it, and those that
        name it in `because`.
        """
        return self._resting.get(keys, self._read_resting)

    def _read_resting(self, keys: Sequence[str]) -> dict[str, list[str]]:
        rows = self.database.query(
            f"SELECT source, key FROM evidence WHERE source {_IN_LIST} ORDER BY key",  # noqa: S608
            (json.dumps(keys),),
        )
        found: dict[str, list[str]] = {}
        for source, key in rows:
            found.setdefault(source, []).append(key)
        return found

    def in_slot(self, attribute: str) -> list[tuple[str, str, str]]:
        """Return the facts that give a value of an attribute, newest ids last.

        Each is an id with its subject and value, in folded words.
        """
        return self.database.query(
            "SELECT key, subject, value FROM slot "
            "WHERE attribute = ? AND over = 0 ORDER BY key",
            (attribute,),
        )

    def slots(self, keys: Sequence[str] | None = None) -> dict[str, list[Slot]]:
        """Return the slots of all facts, or of those with these ids, by id."""
        where = "TRUE" if keys is None else f"key {_IN_LIST}"
        rows = self.database.query(
            f"SELECT key, attribute, subject, value, over FROM slot WHERE {where} "  # noqa: S608
            "ORDER BY key",
            () if keys is None else (json.dumps(keys),),
        )
        found: dict[str, list[Slot]] = {}
        for key, name, subject, value, over in rows:
            slot = Slot(name, tuple(subject.split()), tuple(value.split()), bool(over))
            found.setdefault(key, []).append(slot)
        return found

    def slots_naming(self, word: str) -> list[tuple[str, str, str]]:
        """Return the facts whose slot has a folded word in its subject or value."""
        part = f"% {word} %"
        return self.database.query(
            "SELECT key, subject, value FROM slot WHERE over = 0 AND "
            "(' ' || subject || ' ' LIKE ? OR ' ' || value || ' ' LIKE ?) ORDER BY key",
            (part, part),
        )

    def fact_ids(self) -> list[str]:
        """Return the ids of all facts, in order."""
        return self._column("SELECT key FROM unit WHERE kind = 'fact' ORDER BY key")

    def fact_ids_by_name(self, name: str) -> list[str]:
        """Return the ids of the facts in files of this name, in any folder (`C7`)."""
        return self._column(
            "SELECT key FROM unit WHERE name = ? AND name <> ''", (name,)
        )

    def duplicate(
        self, content_hash: str, persona: str | None, now: datetime
    ) -> Fact | None:
        """Return an active fact with this content hash, global or of `persona`.

        Facts that have expired by `now` or are not valid yet do not count (row C5). A
        highly sensitive one counts for every persona, because it must not get a copy
        with a lower level (row B17).
        """
        rows = self.database.query(
            "SELECT record FROM unit WHERE hash = ? AND hash <> '' ORDER BY key",
            (content_hash,),
        )
        for (record,) in rows:
            fact = cast("Fact", self._unit("fact", record))
            known = fact.persona in {None, persona} or fact.sensitivity == HIGH
            if known and hidden_reason(fact, now) is None:
                return fact
        return None

    def active_hashes(self) -> dict[str, str]:
        """Return the content hashes of all active facts, by id."""
        return dict(self.database.query("SELECT key, hash FROM unit WHERE hash <> ''"))

    def edges(
        self, keys: Iterable[str], persona: str | None, policy: LinkPolicy
    ) -> list[WeightedEdge]:
        """Return the edges between facts that follow from the notes.

        One end is in `keys`. The edges connect neighbours on a strand
        (`graph.positions`), among the facts that `persona` may see; None sees all.
        """
        name = None if persona is None else own_name(persona)
        found = self._edges.get(
            ((name, policy.siblings, key) for key in keys),
            lambda missing: self._read_edges(
                name, [edge_key[2] for edge_key in missing], policy
            ),
        )
        return [edge for edges in found.values() for edge in edges]

    def _read_edges(
        self, name: str | None, keys: Sequence[str], policy: LinkPolicy
    ) -> dict[_EdgeKey, list[WeightedEdge]]:
        """Return the edges of each key that has any, with the persona's name."""
        values = (name, policy.siblings, json.dumps(keys))
        found: dict[_EdgeKey, list[WeightedEdge]] = {}
        for strand, cause, key, before, after in self.database.query(_SIBLINGS, values):
            edges = found.setdefault((name, policy.siblings, key), [])
            reach = graph.lookback(strand, policy)
            kind = graph.edge_type(strand, cause=cause)
            for earlier in json.loads(before)[:reach]:
                edges.append((earlier, key, kind, 1.0))
            for later, later_cause in json.loads(after)[:reach]:
                edges.append(
                    (key, later, graph.edge_type(strand, cause=later_cause), 1.0)
                )
        return found

    def _facts(self, where: str, *values: object) -> list[Fact]:
        rows = self.database.query(
            f"SELECT record FROM unit WHERE kind = 'fact' AND ({where}) "  # noqa: S608
            "ORDER BY key LIMIT ?",
            (*values, _CANDIDATES),
        )
        return [cast("Fact", self._unit("fact", record)) for (record,) in rows]

    # -- sensitivity -------------------------------------------------------------------

    def with_sensitivity(self, unit: Unit) -> Unit:
        """Return the unit as highly sensitive if another unit makes it so (`B17`).

        A highly sensitive memory makes its turns so, and a conversation makes a memory
        so that rests on it alone.
        """
        turns, sessions = self._sensitive()
        if isinstance(unit, FiledTurn):
            if unit.turn.sensitive_to is not None:
                return unit
            to = turns.get(unit.key)
            if to is None and (turns or sessions):
                to = self._inherited_sensitivity(unit, turns)
            if to is None:
                return unit
            return replace(unit, turn=replace(unit.turn, sensitive_to=to))
        if isinstance(unit, Fact) and sessions and unit.source:
            names = {key.partition("#")[0] for key in (unit.source, *unit.also)}
            if names <= sessions:
                persona = unit.persona or UNKNOWN_PERSONA
                return replace(unit, sensitivity=HIGH, persona=persona)
        return unit

    def _inherited_sensitivity(
        self, turn: FiledTurn, turns: Mapping[str, str]
    ) -> str | None:
        """Return the persona that may see an edited turn's older version, or None."""
        first = base_id(turn.turn.id)
        if first == turn.turn.id:
            return None
        found = (
            turns.get(old.key, old.turn.sensitive_to)
            for old in self._versions(turn.turn.session, first)
        )
        return next((to for to in found if to is not None), None)

    @property
    def sensitive_sessions(self) -> frozenset[str]:
        """The stems of the files of highly sensitive conversations."""
        return self._sensitive()[1]

    @property
    def sessions_with_sensitive_turns(self) -> frozenset[str]:
        """The stems of the session files that have a highly sensitive turn."""
        turns, sessions = self._sensitive()
        return sessions | {key.partition("#")[0] for key in turns}

    def _unit(self, kind: str, record: str, reading: str = "") -> Unit:
        return self.with_sensitivity(unpack(kind, record, reading))

    def _sensitive(self) -> tuple[Mapping[str, str], frozenset[str]]:
        """Return the turns that a memory makes highly sensitive, and the sessions.

        The turns are by key with the persona that alone sees them, the sessions are
        stems of files.
        """
        if self._sensitive_at != self.database.changes:
            with self.database.lock:
                self._sensitive_at = self.database.changes
                self._sensitive_units = self._read_sensitive()
        return self._sensitive_units

    def _read_sensitive(self) -> tuple[dict[str, str], frozenset[str]]:
        rows = self.database.query(
            "SELECT record FROM unit WHERE kind = 'fact' AND instr(record, '\"high\"')"
        )
        turns = hidden_turns(unpack("fact", record) for (record,) in rows)
        paths = self._column("SELECT path FROM session WHERE sensitive")
        return turns, frozenset(PurePosixPath(path).stem for path in paths)

    # -- units of any kind -------------------------------------------------------------

    def unit(self, key: str) -> Unit | None:
        """Return the fact, turn or note with this key."""
        rows = self.database.query(
            "SELECT kind, record FROM unit WHERE key = ?", (key,)
        )
        return self._unit(*rows[0]) if rows else None

    def units(self, keys: Sequence[str]) -> dict[str, Unit]:
        """Return the facts, turns and notes with these keys, without unknown keys."""
        return {key: unit for key, (unit, _) in self.placed_units(keys).items()}

    def placed_units(self, keys: Sequence[str]) -> dict[str, tuple[Unit, FilePlace]]:
        """Return the units with these keys, each with the place of its file."""
        return self._units.get(keys, self._read_units)

    def _read_units(self, keys: Sequence[str]) -> dict[str, tuple[Unit, FilePlace]]:
        rows = self.database.query(
            f"SELECT key, unit.kind, record, reading, {_PLACE} "  # noqa: S608
            f"FROM unit LEFT JOIN file USING (path) WHERE key {_IN_LIST}",
            (json.dumps(keys),),
        )
        return {
            key: (
                self._unit(kind, record, reading),
                FilePlace(path, sha or "", Stat(*stat)),
            )
            for key, kind, record, reading, path, sha, *stat in rows
        }

    def units_at(self, path: str) -> tuple[Unit, ...]:
        """Return the units of the file at `path`."""
        rows = self.database.query(
            "SELECT kind, record FROM unit WHERE path = ? ORDER BY seq", (path,)
        )
        return tuple(self._unit(*row) for row in rows)

    def last_user_turn(self, path: str) -> FiledTurn | None:
        """Return the user's last turn in the session file at `path` (`E9`)."""
        rows = self.database.query(
            "SELECT record, reading FROM unit WHERE path = ? AND kind = 'turn' "
            "ORDER BY seq DESC",
            (path,),
        )
        turns = (cast("FiledTurn", unpack("turn", *row)) for row in rows)
        last = next((one for one in turns if said_by_user(one.turn)), None)
        return cast("FiledTurn", self.with_sensitivity(last)) if last else None

    # -- turns and sessions ------------------------------------------------------------

    def turn(self, session: str, turn_id: str) -> FiledTurn | None:
        """Return the turn with this caller's id in `session` (row X2)."""
        rows = self.database.query(
            "SELECT record FROM unit WHERE kind = 'turn' AND session = ? AND turn = ?",
            (session, turn_id),
        )
        return cast("FiledTurn", self._unit("turn", rows[0][0])) if rows else None

    def versions(self, session: str, turn_id: str) -> list[FiledTurn]:
        """Return the turn with this id in `session`, and its edited versions."""
        found = self._versions(session, turn_id)
        return [cast("FiledTurn", self.with_sensitivity(version)) for version in found]

    def _versions(self, session: str, turn_id: str) -> list[FiledTurn]:
        rows = self.database.query(VERSIONS, version_span(session, turn_id))
        return [cast("FiledTurn", unpack("turn", record)) for _, record in rows]

    def replaced_words(self, key: str) -> list[str]:
        """Return the earlier words of a turn that a user changed, until recorded."""
        rows = self.database.query(
            "SELECT before FROM user_change "
            "WHERE key = ? AND kind = 'turn' AND after <> ''",
            (key,),
        )
        return [cast("FiledTurn", unpack("turn", row)).turn.text for (row,) in rows]

    def turn_key(self, start: str, also: Sequence[str] = ()) -> str | None:
        """Return the only key of a turn that begins with `start`, or None.

        `also` are keys of turns that are not in the catalogue yet. Raises ConflictError
        for several keys.
        """
        if not start:
            return None
        filed = self._column(
            "SELECT key FROM unit WHERE kind = 'turn' AND key >= ? AND key < ? "
            "ORDER BY key LIMIT ?",
            (start, start + LAST_CHARACTER, _CANDIDATES),
        )
        found = sorted({*filed, *also})
        if len(found) > 1:
            keys = ", ".join(found[:_CANDIDATES])
            raise ConflictError(
                "the ids of several turns begin like this",
                where=start,
                fix=f"Give more of the id: {keys}.",
            )
        return found[0] if found else None

    def sessions(self, session: str, persona: str | None) -> list[SessionFile]:
        """Return the files of a conversation, oldest first."""
        return self._sessions(
            "session = ? AND persona IS ? ORDER BY started, path", session, persona
        )

    def session_at(self, path: str) -> SessionFile | None:
        """Return the session file at `path`."""
        return next(iter(self._sessions("path = ?", path)), None)

    def unsummarised(self, turns_per_episode: int) -> list[SessionFile]:
        """Return the session files without a summary of all turns, latest first.

        Files with fewer episodes than one for each `turns_per_episode` turns of a user
        are included; 0 ignores episodes (rows E11, A27).
        """
        return self._sessions(
            "NOT sensitive AND session <> ? AND (summarised < turns "
            "OR (? > 0 AND episodes < users / ?)) "
            "ORDER BY ended DESC, path",
            REMEMBERED,
            turns_per_episode,
            max(turns_per_episode, 1),
        )

    def latest_sessions(self, persona: str | None, limit: int) -> list[SessionFile]:
        """Return the session files of a persona that ended last, latest first.

        Highly sensitive ones, and those with such a turn, are left out: a summary may
        repeat it (row B17).
        """
        left_out = self.sessions_with_sensitive_turns
        files = self._sessions(
            "session <> ? AND persona IS ? ORDER BY ended DESC, path DESC LIMIT ?",
            REMEMBERED,
            persona,
            limit,
        )
        return [file for file in files if PurePosixPath(file.path).stem not in left_out]

    def all_sessions(self) -> list[SessionFile]:
        """Return the session files of all conversations."""
        return self._sessions("session <> ?", REMEMBERED)

    def turn_counts(self) -> dict[str, int]:
        """Return the number of turns by persona, '' for those without one (row E9)."""
        rows = self.database.query(
            "SELECT coalesce(persona, ''), sum(turns) FROM session "
            "WHERE session <> ? GROUP BY persona",
            (REMEMBERED,),
        )
        return dict(rows)

    def _sessions(self, where: str, *values: object) -> list[SessionFile]:
        rows = self.database.query(
            f"SELECT {_SESSION} FROM session WHERE {where}",  # noqa: S608
            values,
        )
        return [
            SessionFile(
                path,
                session,
                persona,
                datetime.fromisoformat(started),
                datetime.fromisoformat(ended),
                *numbers,
            )
            for path, session, persona, started, ended, *numbers in rows
        ]

    # -- files -------------------------------------------------------------------------

    def hashes(self) -> dict[str, str]:
        """Return the SHA-256 of all files, by path."""
        return dict(self.database.query("SELECT path, sha FROM file"))

    def units_without_file(self) -> list[str]:
        """Return the keys of the units whose file is not in the catalogue."""
        return self._column(
            "SELECT key FROM unit WHERE path NOT IN (SELECT path FROM file) ORDER BY key"
        )

    def review_paths(self) -> list[str]:
        """Return the paths of the facts that wait for a review, in order."""
        return self._column(
            "SELECT path FROM unit WHERE status = 'review' ORDER BY path"
        )

    def problems(self, path: str | None = None) -> list[Problem]:
        """Return the problems of all files, or of one, by path and line."""
        where, values = ("", ()) if path is None else ("WHERE path = ?", (path,))
        rows = self.database.query(f"{_PROBLEM} {where} ORDER BY path, line", values)
        return [Problem(*row) for row in rows]

    def problems_by_path(self, paths: Collection[str]) -> dict[str, list[Problem]]:
        """Return the problems of these files; files without one are left out."""
        faulty = self._faulty.get([""], self._read_faulty)[""].intersection(paths)
        found: dict[str, list[Problem]] = {path: [] for path in sorted(faulty)}
        if found:
            wanted = f"{_PROBLEM} WHERE path {_IN_LIST} ORDER BY line"
            rows = self.database.query(wanted, (json.dumps(list(found)),))
            for code, message, path, line in rows:
                found[path].append(Problem(code, message, path, line))
        return found

    def _read_faulty(self, _keys: Sequence[str]) -> dict[str, frozenset[str]]:
        """Return the paths of all files with problems, under the only key ''."""
        return {"": frozenset(self._column("SELECT DISTINCT path FROM problem"))}

    def counts(self) -> dict[str, int]:
        """Return the numbers of `facts`, `facts.<status>`, `turns`, `notes`,
        `sessions`, `files` and `problems`.
        """
        counts = dict.fromkeys(("facts", "turns", "notes"), 0)
        rows = self.database.query(
            "SELECT kind, status, count(*) FROM unit GROUP BY kind, status"
        )
        for kind, status, number in rows:
            counts[f"{kind}s"] += number
            if kind == "fact":
                counts[f"facts.{status}"] = number
        for table in ("session", "file", "problem"):
            rows = self.database.query(f"SELECT count(*) FROM {table}")  # noqa: S608
            counts[f"{table}s"] = rows[0][0] if rows else 0
        return counts

    def _column(self, sql: str, values: Sequence[object] = ()) -> list[str]:
        return [value for (value,) in self.database.query(sql, values)]


Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class FactValues(Generic[Value]):
    """A value of each fact in the catalogue, computed again only where it changed.

    `values_of` returns the values of some facts, by id. Thread-safe.
    """

    def __init__(
        self,
        catalog: Catalog,
        values_of: Callable[[Sequence[Fact]], Mapping[str, Value]],
    ) -> None:
        self._catalog = catalog
        self._values_of = values_of
        self._values: dict[str, Value] = {}
        self._mark = ""
        self._sensitive: frozenset[str] = frozenset()

    def read(self) -> Mapping[str, Value]:
        """Return the values of all facts, by id."""
        with self._catalog.database.lock:
            if self._mark != self._catalog.mark:
                self._update()
            return dict(self._values)

    def _update(self) -> None:
        delta = self._catalog.since(self._mark)
        sensitive = self._catalog.sensitive_sessions
        if delta.fresh or sensitive != self._sensitive:
            self._sensitive = sensitive
            self._values = dict(self._values_of(self._catalog.facts()))
        else:
            for key in delta.removed:
                self._values.pop(key, None)
            changed = [unit for unit in delta.added if isinstance(unit, Fact)]
            self._values |= self._values_of(changed)
        self._mark = delta.mark


class LookupCache(Generic[Key, Value]):
    """A cache of values from the catalogue for up to `size` keys.

    The oldest entries are removed first. A key without a value is cached too.
    Thread-safe.
    """

    def __init__(self, database: IndexStore, size: int) -> None:
        self._database = database
        self._size = size
        self._found: dict[Key, Value | None] = {}
        self._read_at = -1

    def get(
        self,
        keys: Iterable[Key],
        load: Callable[[list[Key]], Mapping[Key, Value]],
    ) -> dict[Key, Value]:
        """Return the values of `keys`; `load` returns those that are not cached."""
        with self._database.lock:
            if self._read_at != self._database.changes:
                self._read_at = self._database.changes
                self._found.clear()
            requested = list(dict.fromkeys(keys))
            missing = [key for key in requested if key not in self._found]
            if missing:
                values = load(missing)
                self._found.update(dict.fromkeys(missing))
                self._found.update(values)
            found = {
                key: value
                for key in requested
                if (value := self._found[key]) is not None
            }
            for key in list(islice(self._found, max(len(self._found) - self._size, 0))):
                del self._found[key]
            return found
