"""Questions to the catalogue; safe from any thread."""

from __future__ import annotations

import json
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, cast

from engram.core import graph
from engram.core.records import REMEMBERED, Fact, FiledTurn, Problem
from engram.core.trust import Voice
from engram.errors import ConflictError, NotFoundError
from engram.index.rows import ORIGIN, ROLE, SPEAKER, SessionFile, unpack

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from engram.core.graph import EdgeTuple
    from engram.core.policy import LinkPolicy
    from engram.index.rows import CatalogDatabase, Unit

_SHOWN = 5
UNKNOWN = "Recall it, and use the id that is shown, such as 01KBH2Q0M6T4W2Y0B7C5D9E1FX or 2026-11-20-talk#^t2."
"""What to do about an id that nobody knows."""
_BESIDE = """
SELECT name, cause, key, (
    SELECT json_group_array(key) FROM (
        SELECT key FROM strand
        WHERE name = here.name AND (at, key) < (here.at, here.key) AND persona IN ('', ?)
        ORDER BY at DESC, key DESC LIMIT ?
    )
), (
    SELECT json_group_array(json_array(key, cause)) FROM (
        SELECT key, cause FROM strand
        WHERE name = here.name AND (at, key) > (here.at, here.key) AND persona IN ('', ?)
        ORDER BY at, key LIMIT ?
    )
)
FROM strand AS here WHERE key IN (SELECT value FROM json_each(?))
"""


class Lookups:
    """What may be asked of the catalogue's rows."""

    def __init__(self, rows: CatalogDatabase, kept: int) -> None:
        self.rows = rows
        self._most = kept
        self._kept: dict[str, Unit] = {}
        self._read_at = 0

    @property
    def complete(self) -> bool:
        """Whether a scan of the whole vault has ended since the catalogue was last
        empty.
        """
        return self.rows.setting("complete") == "yes"

    def fact(self, name: str) -> Fact:
        """The fact with this id, this path, or the only one whose id begins so (in
        either case).

        Raises NotFoundError, or ConflictError naming the candidates.
        """
        if not name:
            raise NotFoundError(
                "there is no memory without a name",
                fix="Give an id, the beginning of one, or a path.",
            )
        if found := self._facts("key = ? OR path = ?", name, name):
            return found[0]
        start = name.upper()
        found = self._facts("key >= ? AND key < ?", start, start + "\U0010ffff")
        if not found:
            raise NotFoundError("there is no such memory", where=name, fix=UNKNOWN)
        if len(found) > 1:
            ids = ", ".join(fact.id for fact in found)
            raise ConflictError(
                "several memories begin like this",
                where=name,
                fix=f"Give more of the id: {ids}.",
            )
        return found[0]

    def turn_like(self, start: str, also: Sequence[str] = ()) -> str | None:
        """The key of the only turn whose key begins like this, among those of `also`
        too; ConflictError for several.
        """
        if not start:
            return None
        question = "SELECT key FROM unit WHERE kind = 'turn' AND key >= ? AND key < ? ORDER BY key LIMIT ?"
        filed = (
            key
            for (key,) in self.rows.ask(question, (start, start + "\U0010ffff", _SHOWN))
        )
        found = sorted({*filed, *also})
        if len(found) > 1:
            keys = ", ".join(found[:_SHOWN])
            raise ConflictError(
                "several turns begin like this",
                where=start,
                fix=f"Give more of the id: {keys}.",
            )
        return found[0] if found else None

    def facts(self, *holding: str) -> list[Fact]:
        """Every fact, by path; with `holding` only those whose record holds one of
        these.
        """
        some = " OR ".join("instr(record, ?)" for _ in holding) or "1"
        question = (
            f"SELECT record FROM unit WHERE kind = 'fact' AND ({some}) ORDER BY path"  # noqa: S608
        )
        found = self.rows.ask(question, holding)
        return [cast("Fact", unpack("fact", record)) for (record,) in found]

    def facts_at(self, paths: Iterable[str]) -> list[Fact]:
        """The facts whose notes stand at these paths."""
        question = "SELECT record FROM unit WHERE kind = 'fact' AND path IN (SELECT value FROM json_each(?))"
        found = self.rows.ask(question, (json.dumps(list(paths)),))
        return [cast("Fact", unpack("fact", record)) for (record,) in found]

    def fact_ids(self) -> list[str]:
        """The ids of all facts."""
        return [
            key
            for (key,) in self.rows.ask(
                "SELECT key FROM unit WHERE kind = 'fact' ORDER BY key"
            )
        ]

    def active(self, content_hash: str) -> tuple[str, ...]:
        """The ids of the active facts that state this (`core.text.content_hash`; row
        C5).
        """
        return tuple(
            key
            for (key,) in self.rows.ask(
                "SELECT key FROM unit WHERE hash = ? AND hash <> '' ORDER BY key",
                (content_hash,),
            )
        )

    def hashes(self) -> dict[str, str]:
        """The content hashes of all active facts, by id."""
        return dict(self.rows.ask("SELECT key, hash FROM unit WHERE hash <> ''"))

    def active_hashes(self) -> list[str]:
        """The content hashes of all active facts, each once, in order."""
        return [
            told
            for (told,) in self.rows.ask(
                "SELECT DISTINCT hash FROM unit WHERE hash <> '' ORDER BY hash"
            )
        ]

    def named(self, name: str) -> tuple[str, ...]:
        """The ids of the facts in files of this name, in any folder (`C7`: links lead
        to one).
        """
        found = self.rows.ask(
            "SELECT key FROM unit WHERE name = ? AND name <> ''", (name,)
        )
        return tuple(key for (key,) in found)

    def ties(
        self, keys: Iterable[str], persona: str, policy: LinkPolicy
    ) -> list[EdgeTuple]:
        """The ties of these facts that follow from the notes (`links.strands`), among
        what `persona` may see.
        """
        found: list[EdgeTuple] = []
        values = (
            persona,
            policy.siblings,
            persona,
            policy.siblings,
            json.dumps(list(keys)),
        )
        for name, cause, key, before, after in self.rows.ask(_BESIDE, values):
            reach, here = graph.reach(name, policy), graph.kind(name, cause=cause)
            found += [
                (earlier, key, here, 1.0) for earlier in json.loads(before)[:reach]
            ]
            found += [
                (key, one, graph.kind(name, cause=led), 1.0)
                for one, led in json.loads(after)[:reach]
            ]
        return found

    def unit(self, key: str) -> Unit | None:
        """The fact, turn or note with this key."""
        found = self.rows.ask("SELECT kind, record FROM unit WHERE key = ?", (key,))
        return unpack(*found[0]) if found else None

    def units(self, keys: Sequence[str]) -> dict[str, Unit]:
        """The facts, turns and notes with these keys, as far as there are any."""
        question = "SELECT key, kind, record FROM unit WHERE key IN (SELECT value FROM json_each(?))"
        with self.rows.lock:
            if self._read_at != self.rows.changes:
                self._read_at = self.rows.changes
                self._kept.clear()
            kept = self._kept
            known = {key: kept.pop(key) for key in keys if key in kept}
            found = self.rows.ask(
                question, (json.dumps([key for key in keys if key not in known]),)
            )
            fresh = {key: unpack(kind, record) for key, kind, record in found}
            kept |= known  # what was asked for last goes last
            kept |= fresh
            for key in list(islice(kept, max(len(kept) - self._most, 0))):
                del kept[key]
        return known | fresh

    def voices(self, keys: Sequence[str]) -> dict[str, Voice]:
        """Role, origin and speaker of the turns with these keys."""
        question = f"SELECT key, {ROLE}, {ORIGIN}, {SPEAKER} FROM unit WHERE key IN (SELECT value FROM json_each(?))"  # noqa: S608
        found = self.rows.ask(f"{question} AND kind = 'turn'", (json.dumps(keys),))
        return {key: Voice(*said) for key, *said in found}

    def turn_by(self, session: str, turn_id: str) -> FiledTurn | None:
        """The turn that the caller knows as `turn_id` of `session`: the same id twice
        is one turn (row X2).
        """
        question = (
            "SELECT record FROM unit WHERE kind = 'turn' AND session = ? AND turn = ?"
        )
        found = self.rows.ask(question, (session, turn_id))
        return cast("FiledTurn", unpack("turn", found[0][0])) if found else None

    def place(self, key: str) -> tuple[str, str] | None:
        """The path of the unit's file and the SHA-256 the catalogue knows of it."""
        return self.places([key]).get(key)

    def places(self, keys: Sequence[str]) -> dict[str, tuple[str, str]]:
        """The places of the units with these keys, as far as they have one."""
        asked = "SELECT value FROM json_each(?)"
        question = f"SELECT key, path, sha FROM unit JOIN file USING (path) WHERE key IN ({asked})"  # noqa: S608
        return {
            key: (path, sha)
            for key, path, sha in self.rows.ask(question, (json.dumps(keys),))
        }

    def sessions(self, session: str) -> list[SessionFile]:
        """The files of a conversation, oldest first; the last one is where the next
        turn may go.
        """
        return self._sessions("session = ? ORDER BY started, path", session)

    def untold(self, users: int) -> list[SessionFile]:
        """The files of conversations without a summary of all they hold, or, where
        there are `users` turns of a user for each, without as many episodes (0: that is
        not asked); the latest first (rows E11, A27).
        """
        short = "summarised < turns OR (? > 0 AND episodes < users / max(?, 1))"
        return self._sessions(
            f"session <> ? AND ({short}) ORDER BY ended DESC, path",
            REMEMBERED,
            users,
            users,
        )

    def latest(self, persona: str | None, most: int) -> list[SessionFile]:
        """The files of the conversations of this persona that ended last, the last one
        first.
        """
        return self._sessions(
            "session <> ? AND persona IS ? ORDER BY ended DESC, path DESC LIMIT ?",
            REMEMBERED,
            persona,
            most,
        )

    def messages(self) -> dict[str, int]:
        """How many turns were said, by persona; '' is nobody's in particular (row E9)."""
        question = "SELECT ifnull(persona, ''), sum(turns) FROM session WHERE session <> ? GROUP BY persona"
        return dict(self.rows.ask(question, (REMEMBERED,)))

    def _sessions(self, where: str, *values: object) -> list[SessionFile]:
        moment = datetime.fromisoformat
        return [
            SessionFile(path, name, persona, moment(started), moment(ended), *numbers)
            for path, name, persona, started, ended, *numbers in self.rows.ask(
                f"SELECT * FROM session WHERE {where}",  # noqa: S608
                values,
            )
        ]

    def counts(self) -> dict[str, int]:
        """How many: `facts`, `facts.<status>`, `turns`, `notes`, `sessions`, `files`,
        `problems`.
        """
        counts = dict.fromkeys(("facts", "turns", "notes"), 0)
        for kind, status, number in self.rows.ask(
            "SELECT kind, status, count(*) FROM unit GROUP BY kind, status"
        ):
            counts[f"{kind}s"] += number
            if kind == "fact":
                counts[f"facts.{status}"] = number
        for table in ("session", "file", "problem"):
            rows = self.rows.ask(f"SELECT count(*) FROM {table}")  # noqa: S608
            counts[f"{table}s"] = rows[0][0] if rows else 0
        return counts

    def problems(self, path: str | None = None) -> list[Problem]:
        """What is wrong with files of the vault, or with the one at `path`; by path and
        line.
        """
        where = ("", ()) if path is None else ("WHERE path = ?", (path,))
        found = self.rows.ask(
            f"SELECT code, message, path, line FROM problem {where[0]} ORDER BY path, line",  # noqa: S608
            where[1],
        )
        return [Problem(*row) for row in found]

    def problems_of(self, paths: Collection[str]) -> dict[str, list[Problem]]:
        """What is wrong with these files, by path; files without a problem are left
        out.
        """
        asked = "SELECT code, message, path, line FROM problem WHERE path IN (SELECT value FROM json_each(?))"
        found: dict[str, list[Problem]] = {}
        for row in self.rows.ask(f"{asked} ORDER BY line", (json.dumps(list(paths)),)):
            found.setdefault(row[2], []).append(Problem(*row))
        return found

    def _facts(self, where: str, *values: object) -> list[Fact]:
        question = f"SELECT record FROM unit WHERE kind = 'fact' AND ({where}) ORDER BY key LIMIT ?"  # noqa: S608
        found = self.rows.ask(question, (*values, _SHOWN))
        return [cast("Fact", unpack("fact", record)) for (record,) in found]
