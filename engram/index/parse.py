"""Read one file of the vault and parse it into an entry of the catalogue."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from hashlib import sha256
from typing import TYPE_CHECKING, Literal

from engram.core.categories import CATEGORIES
from engram.core.records import HIGH, STATUSES, UNKNOWN_PERSONA, Fact, Problem
from engram.core.sessions import EPISODES
from engram.core.text import is_ulid
from engram.index.database import OwnNote, SessionFile, Unit
from engram.vault.facts import fact_from, statement_of
from engram.vault.formats import without_blocks
from engram.vault.frontmatter import NOT_UTF_8, UNREADABLE_KEYS, Note, read
from engram.vault.paths import (
    UNKNOWN,
    Kind,
    Stat,
    is_conflict_copy,
    kind_of_indexed,
    stat_of,
)
from engram.vault.sessions import Conversation, conversation_from

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engram.core.policy import FilePolicy

_BROKEN = dict.fromkeys(UNREADABLE_KEYS, "front matter broken") | {
    NOT_UTF_8: "not all of it is UTF-8",
    "conflict": "unresolved conflict markers",
}
"""Problems that make the keys of a note unusable, in the words of an answer."""


FACT_KEYS = frozenset({"id", "category", "created", "origin"})
"""The keys of every fact that engram wrote."""
EVIDENCE_KEYS = frozenset({"source", "derived_from"})
"""The keys of what a fact rests on, of which every fact that engram wrote has one."""


@dataclass(frozen=True, slots=True)
class FileReading:
    """The bytes of a file and its stat, or the fault that prevented reading."""

    raw: bytes = b""
    stat: Stat = UNKNOWN
    fault: Literal["", "vanished", "busy", "unreadable", "too-large"] = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A parsed file.

    A `claim` belongs to one file: a fact's id, conversation and id of a session file, a
    note's path. `units` is None if there is nothing to index; then the last good
    version stays. `conflict` is the reason why a user must decide about the file.
    `broken` is the parsed note of a file of engram with unusable keys, for
    `with_last_keys`.
    """

    path: str
    kind: Kind
    stat: Stat
    sha: str = ""
    claim: str = ""
    units: tuple[Unit, ...] | None = None
    session: SessionFile | None = None
    problems: tuple[Problem, ...] = ()
    conflict: str = ""
    broken: Note | None = None


@dataclass(frozen=True, slots=True)
class LastGood:
    """The catalogue's entry of a file: units, claim, and the row of a session file."""

    units: tuple[Unit, ...] = ()
    claim: str = ""
    session: SessionFile | None = None


def read_file(path: str, limit: int) -> FileReading:
    """Read at most `limit` bytes of the file at the absolute `path`.

    A file whose length differs from its stat is busy; the caller compares the stat
    again. It never follows a link, and never waits for a pipe.
    """
    try:
        descriptor = os.open(
            path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        )
    except (FileNotFoundError, NotADirectoryError):
        return FileReading(fault="vanished")
    except OSError:
        return FileReading(fault="unreadable")
    try:
        stat = stat_of(os.fstat(descriptor))
        if stat.size > limit:
            return FileReading(stat=stat, fault="too-large")
        raw = os.read(descriptor, stat.size + 1)
    except OSError:
        return FileReading(fault="unreadable")
    finally:
        os.close(descriptor)
    return FileReading(raw, stat, "" if len(raw) == stat.size else "busy")


def parse(path: str, raw: bytes, stat: Stat, policy: FilePolicy, zone: tzinfo) -> Entry:
    """Parse the bytes `raw` of the file at `path`.

    Faults of the file become problems, never exceptions.
    """
    kind, sha = kind_of_indexed(path), sha256(raw).hexdigest()
    if is_conflict_copy(path):
        problem = Problem(
            "sync-conflict",
            "a copy that a sync tool put aside; keep one and delete the other",
            path,
        )
        return Entry(
            path, kind, stat, sha, problems=(problem,), conflict="sync-conflict"
        )
    ours = kind != "note" or path.startswith(EPISODES)
    note = read(raw, policy, ours=ours)
    if ours and note.problems:
        return _broken_entry(note, path, sha, stat)
    if not ours and _is_moved_fact(note):
        kind = "fact"
    if kind == "note":
        return _parse_own_note(note, path, sha, stat, zone)
    if kind == "fact":
        fact, problems = fact_from(note, path, sha, zone)
        if fact is not None:
            return Entry(path, kind, stat, sha, fact.id, (fact,), None, problems)
    else:
        conversation, problems = conversation_from(note, path, zone)
        if conversation is not None:
            own = str(
                note.keys.get("id")
                or f"{conversation.persona or ''} {conversation.started.isoformat()}"
            )
            return _session_entry(
                conversation, f"{conversation.session} {own}", problems, path, sha, stat
            )
    return Entry(path, kind, stat, sha, problems=problems)


def _is_moved_fact(note: Note) -> bool:
    """Return whether a user moved a fact of engram to another folder.

    Such a note has the keys of every fact, with an id in engram's format.
    """
    keys = note.keys
    return (
        not note.problems
        and keys.keys() >= FACT_KEYS
        and not EVIDENCE_KEYS.isdisjoint(keys)
        and is_ulid(str(keys["id"]))
        and keys["category"] in CATEGORIES
        and keys.get("kind", "note") in {"episode", "note"}
        and keys.get("status", "active") in STATUSES
    )


def with_last_keys(entry: Entry, last: LastGood, zone: tzinfo) -> Entry:
    """Return a broken `entry` with its present body and its last good keys.

    Without such keys its owner is unknown: then it is a plain note of the persona
    `UNKNOWN_PERSONA`. A file without text, such as a binary one, has no units.
    """
    note = entry.broken
    assert note is not None
    text = statement_of(note.body)
    if not text:
        return entry
    known = last.units[0] if last.units else None
    if isinstance(known, Fact) and entry.kind == "fact":
        fact = replace(known, text=text, path=entry.path, sha=entry.sha)
        return replace(entry, claim=fact.id, units=(fact,))
    if entry.kind == "session" and last.session is not None:
        known_note = replace(note, keys=_session_keys(last.session), problems=())
        conversation, problems = conversation_from(known_note, entry.path, zone)
        if conversation is not None:
            all_problems = (*entry.problems, *problems)
            return replace(
                _session_entry(
                    conversation,
                    last.claim,
                    all_problems,
                    entry.path,
                    entry.sha,
                    entry.stat,
                ),
                broken=note,
            )
    persona = (
        known.persona
        if isinstance(known, OwnNote) and entry.kind == "note"
        else UNKNOWN_PERSONA
    )
    own = _own_note(entry.path, text, entry.sha, entry.stat, zone, persona)
    return replace(entry, claim=entry.path, units=(own,))


def broken(unit: Unit, problems: Iterable[Problem]) -> str:
    """Return the remark on a recalled `unit` whose file has these problems, or ''.

    `front matter broken (line 4): shown with its last good keys`.
    """
    problem = next((fault for fault in problems if fault.code in _BROKEN), None)
    if problem is None:
        return ""
    description = _BROKEN[problem.code]
    if problem.line:
        description += f" (line {problem.line})"
    if not isinstance(unit, OwnNote):
        return f"{description}: shown with its last good keys"
    if unit.persona == UNKNOWN_PERSONA:
        return f"{description}: its keys are not known, so only the owner sees it"
    return description


def _session_keys(session: SessionFile) -> dict[str, object]:
    """Return the front matter of a session file from its row."""
    times = {"started": session.started.isoformat(), "ended": session.ended.isoformat()}
    counts = {
        "rolled": session.rolled,
        "episodes": session.episodes,
        "summarised": session.summarised,
    }
    names = {"session": session.session, "persona": session.persona}
    sensitivity = HIGH if session.sensitive else "normal"
    return {**names, "sensitivity": sensitivity, **times, **counts}


def _broken_entry(note: Note, path: str, sha: str, stat: Stat) -> Entry:
    """Return the entry of a file of engram whose keys cannot be used."""
    problems = tuple(replace(problem, path=path) for problem in note.problems)
    merging = problems[0].code == "conflict" and kind_of_indexed(path) != "note"
    conflict = "merge-markers" if merging else ""
    return Entry(
        path,
        kind_of_indexed(path),
        stat,
        sha,
        problems=problems,
        conflict=conflict,
        broken=note,
    )


def unread_entry(path: str, stat: Stat, code: str, message: str) -> Entry:
    """Return the entry of a file that is not read, with its problem."""
    return Entry(
        path, kind_of_indexed(path), stat, problems=(Problem(code, message, path),)
    )


def _session_entry(
    conversation: Conversation,
    claim: str,
    problems: tuple[Problem, ...],
    path: str,
    sha: str,
    stat: Stat,
) -> Entry:
    """Return the entry of a session file.

    `claim` distinguishes it from other files of its conversation.
    """
    turns = conversation.turns
    file = SessionFile(
        path,
        conversation.session,
        conversation.persona,
        conversation.started,
        conversation.ended,
        turns=len(turns),
        last_block=max((int(turn.block[1:]) for turn in turns), default=0),
        users=sum(filed.turn.role == "user" for filed in turns),
        rolled=conversation.rolled,
        episodes=conversation.episodes,
        summarised=conversation.summarised,
        sensitive=conversation.sensitive,
    )
    return Entry(path, "session", stat, sha, claim, turns, file, problems)


def _says_something(text: str) -> bool:
    """Return whether a text has more than a title, which engram writes above blocks."""
    lines = (line for line in text.splitlines() if line.strip())
    return any(not line.startswith("# ") for line in lines)


def _parse_own_note(note: Note, path: str, sha: str, stat: Stat, zone: tzinfo) -> Entry:
    """Return the entry of a user's own note.

    If the front matter is faulty, its keys are ignored and its text counts.
    """
    problems = tuple(replace(problem, path=path) for problem in note.problems)
    if problems and not note.body:
        return Entry(path, "note", stat, sha, problems=problems)
    # generated blocks repeat memories, which are indexed themselves
    text = without_blocks(note.body)
    if text != note.body and not _says_something(text):
        return Entry(path, "note", stat, sha, problems=problems)
    persona = None
    if path.startswith(EPISODES):
        if note.keys.get("status") == "forgotten":
            return Entry(path, "note", stat, sha, problems=problems)
        persona = str(note.keys.get("persona") or "") or None
    if str(note.keys.get("sensitivity") or "").strip().casefold() == HIGH:
        persona = persona or UNKNOWN_PERSONA
    return Entry(
        path,
        "note",
        stat,
        sha,
        path,
        (_own_note(path, text, sha, stat, zone, persona),),
        None,
        problems,
    )


def _own_note(
    path: str, text: str, sha: str, stat: Stat, zone: tzinfo, persona: str | None
) -> OwnNote:
    changed = datetime.fromtimestamp(stat.mtime / 1e9, zone)
    return OwnNote(path, path.rpartition("/")[2][:-3], text, changed, sha, persona)
