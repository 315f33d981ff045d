"""One file of the vault, read once and understood: what the catalogue will hold of it."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Literal

from engram.core.records import Problem
from engram.core.talks import EPISODES
from engram.index.rows import OwnNote, SessionFile
from engram.vault.facts import fact_from
from engram.vault.forms import outside
from engram.vault.note import read
from engram.vault.places import UNKNOWN, Stat, is_conflict_copy, kind_at, stat_of
from engram.vault.sessions import conversation_from

if TYPE_CHECKING:
    from datetime import tzinfo

    from engram.core.policy import FilePolicy
    from engram.index.rows import Unit
    from engram.vault.note import Note
    from engram.vault.places import Kind
    from engram.vault.sessions import Conversation


@dataclass(frozen=True, slots=True)
class Reading:
    """The bytes of a file and its stat, or why there are none: vanished, busy, unreadable, too large."""

    raw: bytes = b""
    stat: Stat = UNKNOWN
    fault: Literal["", "vanished", "busy", "unreadable", "too-large"] = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file understood. Only one file may hold a `claim`: a fact's id, conversation and id of a session file, a note's
    path.

    `units` is None where there is nothing to index, and the last good version stays; `conflict` says why
    such a file is for a person to decide.
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


def read_file(path: str, limit: int) -> Reading:
    """Read the file at the absolute `path` once; one that is longer or shorter than its stat says is busy.

    The caller compares the stat again before it believes the bytes. Never follows a link, never waits for a
    pipe, never reads more than `limit` bytes.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return Reading(fault="vanished")
    except OSError:
        return Reading(fault="unreadable")
    try:
        stat = stat_of(os.fstat(descriptor))
        if stat.size > limit:
            return Reading(stat=stat, fault="too-large")
        raw = os.read(descriptor, stat.size + 1)
    except OSError:
        return Reading(fault="unreadable")
    finally:
        os.close(descriptor)
    return Reading(raw, stat, "" if len(raw) == stat.size else "busy")


def entry_of(path: str, raw: bytes, stat: Stat, policy: FilePolicy, zone: tzinfo) -> Entry:
    """What the file at `path` with the bytes `raw` says; faults in it are problems, never exceptions."""
    kind, sha = kind_at(path), sha256(raw).hexdigest()
    if is_conflict_copy(path):
        problem = Problem("sync-conflict", "a copy that a sync tool put aside; keep one and delete the other", path)
        return Entry(path, kind, stat, sha, problems=(problem,), conflict="sync-conflict")
    note = read(raw, policy)
    if kind == "note":
        return _own(note, path, sha, stat, zone)
    if kind == "fact":
        fact, problems = fact_from(note, path, sha, zone)
        if fact is not None:
            return Entry(path, kind, stat, sha, fact.id, (fact,), None, problems)
    else:
        conversation, problems = conversation_from(note, path, zone)
        if conversation is not None:
            own = str(note.keys.get("id") or f"{conversation.persona or ''} {conversation.started.isoformat()}")
            return _session(conversation, own, problems, path, sha, stat)
    merging = any(problem.code == "conflict" for problem in problems)
    return Entry(path, kind, stat, sha, problems=problems, conflict="merge-markers" if merging else "")


def refused(path: str, stat: Stat, code: str, message: str) -> Entry:
    """A file that is not read, with its problem."""
    return Entry(path, kind_at(path), stat, problems=(Problem(code, message, path),))


def _session(
    conversation: Conversation, own: str, problems: tuple[Problem, ...], path: str, sha: str, stat: Stat
) -> Entry:
    """`own` tells it from other files of its conversation, of which several may begin in one second."""
    turns, session, started = conversation.turns, conversation.session, conversation.started
    last = max((int(turn.block[1:]) for turn in turns), default=0)
    users = sum(filed.turn.role == "user" for filed in turns)
    told = (users, conversation.rolled, conversation.episodes, conversation.summarised)
    file = SessionFile(path, session, conversation.persona, started, conversation.ended, len(turns), last, *told)
    return Entry(path, "session", stat, sha, f"{session} {own}", turns, file, problems)


def _own(note: Note, path: str, sha: str, stat: Stat, zone: tzinfo) -> Entry:
    """The user's own note; with faulty front matter its text still counts, for nothing is believed of it."""
    problems = tuple(replace(problem, path=path) for problem in note.problems)
    if problems and not note.body:
        return Entry(path, "note", stat, sha, problems=problems)
    text = outside(note.body)  # what engram tells in it rests on memories, which are found themselves
    if text != note.body and not text.strip():
        return Entry(path, "note", stat, sha, problems=problems)
    changed = datetime.fromtimestamp(stat.mtime / 1e9, zone)
    persona = str(note.keys.get("persona") or "") or None if path.startswith(EPISODES) else None
    unit = OwnNote(path, path.rpartition("/")[2][:-3], text, changed, sha, persona)
    return Entry(path, "note", stat, sha, path, (unit,), None, problems)
