"""The conversations of a vault with their waiting turns (rows E9–E14)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from engram.core.markdown import read_block
from engram.core.records import REMEMBERED, FiledTurn
from engram.core.sessions import (
    STATE_FILE,
    SUMMARY_KEYS,
    SessionProgress,
    SessionView,
    due,
    read_state,
    stale_stems,
)
from engram.core.text import note_name
from engram.core.trust import said_by_user
from engram.errors import EngramError
from engram.index import hiding
from engram.index.database import SessionFile
from engram.vault import frontmatter, sessions
from engram.vault.disk import sha256
from engram.vault.usage import device_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from collections.abc import Set as AbstractSet

    from engram.config import Settings
    from engram.index.search import Index
    from engram.vault.store import Vault

_INSTANT = timedelta(microseconds=1)
"""A session is over once its silence is longer than the gap by this time."""


class SessionReader:
    """Look-ups of sessions. Thread-safe; requires an up-to-date catalogue."""

    def __init__(self, vault: Vault, index: Index, settings: Settings) -> None:
        self.vault = vault
        self.index = index
        self.settings = settings
        self.policy = settings.policy.sessions

    @property
    def model(self) -> bool:
        """Whether a model is configured."""
        return self.settings.model is not None

    def due(self, now: datetime) -> list[str]:
        """Return the paths of the sessions to summarise now, latest first."""
        return [
            path
            for path, progress in self._progress().items()
            if self._is_own(path) and self._due(progress, now)
        ]

    def next_over(self, now: datetime) -> datetime | None:
        """Return when the next session will be over (row E10), or None."""
        gap = timedelta(minutes=self.settings.policy.buffer.session_gap_minutes)
        ends = [
            progress.ended + gap + _INSTANT
            for path, progress in self._progress().items()
            if self._is_own(path)
        ]
        return min((end for end in ends if end > now), default=None)

    def _is_own(self, path: str) -> bool:
        """Return whether a file is summarised here: another device does so for its own."""
        stem = note_name(path)
        written_by = sessions.device_in(stem)
        return not written_by or sessions.is_written_by(stem, self._device)

    @cached_property
    def _device(self) -> str:
        return device_of(self.settings.state)

    def view(self, now: datetime) -> tuple[SessionView, ...]:
        """Return the sessions to summarise now, limited to the number of one run."""
        waiting = self._waiting()
        stretches = (
            self.stretch(path, waiting.get(path, []))
            for path in self.due(now)[: self.policy.together]
        )
        return tuple(filter(None, stretches))

    def messages(self) -> dict[str, int]:
        """Return the number of turns by persona, '' for those without one (row E9)."""
        waiting = Counter(
            filed.turn.persona or ""
            for some in self._waiting().values()
            for filed in some
        )
        return dict(Counter(self.index.catalog.turn_counts()) + waiting)

    def last_message(
        self, persona: str | None
    ) -> tuple[datetime | None, FiledTurn | None]:
        """Return the time of a persona's last turn, and the user's last turn (`E9`)."""
        waiting = [
            filed
            for some in self._waiting().values()
            for filed in some
            if filed.turn.persona == persona
        ]
        user_turns = [filed for filed in waiting if said_by_user(filed.turn)]
        times = [filed.turn.occurred_at for filed in waiting]
        for file in self.index.catalog.latest_sessions(persona, 1):
            times.append(file.progress.ended)
            if filed := self.index.catalog.last_user_turn(file.path):
                user_turns.append(filed)
        last = max(user_turns, key=lambda filed: filed.turn.occurred_at, default=None)
        return max(times, default=None), self._with_marks(last) if last else None

    def stretches(self) -> list[SessionFile]:
        """Return the session files of all conversations, with their waiting turns."""
        found = {file.path: file for file in self.index.catalog.all_sessions()}
        for path, waiting in self._waiting().items():
            turns = [filed.turn for filed in waiting]
            times = [turn.occurred_at for turn in turns]
            file = found.get(path) or SessionFile(
                path, turns[0].session, turns[0].persona, min(times), max(times), 0, 0
            )
            found[path] = replace(
                file,
                started=min([file.started, *times]),
                ended=max([file.ended, *times]),
                turns=file.turns + len(turns),
            )
        return list(found.values())

    def turns_at(self, path: str) -> list[FiledTurn]:
        """Return the turns of a session file, with those that wait for it."""
        filed = {
            unit.key: unit
            for unit in self.index.catalog.units_at(path)
            if isinstance(unit, FiledTurn)
        }
        waiting = {
            waiting_turn.key: waiting_turn
            for waiting_turn in self._waiting().get(path, ())
        }
        return list((waiting | filed).values())

    def one_liner(self, path: str) -> str:
        """Return the summary of a session file in one line, '' if it has none."""
        return str(self._summary_keys(path, self._stale()).get("one_liner") or "")

    def _summary_keys(self, path: str, stale: Collection[str]) -> Mapping[str, object]:
        """Return the front matter of a session file; {} if its summary is `stale`."""
        keys = frontmatter.read(self.read(path)).keys
        return {} if keys.get("one_liner") and note_name(path) in stale else keys

    def _stale(self) -> set[str]:
        return stale_stems(self.read(STATE_FILE))

    def last_over(
        self, persona: str | None, without: Collection[str]
    ) -> tuple[Mapping[str, object], datetime] | None:
        """Return the front matter and the end of a persona's last session, or None.

        The session has a summary, and its file is none of the stems in `without`.
        """
        stale = self._stale()
        for file in self.index.catalog.latest_sessions(
            persona, self.policy.spine_sessions
        ):
            keys = self._summary_keys(file.path, stale)
            if note_name(file.path) not in without and keys.get("one_liner"):
                return keys, file.progress.ended
        return None

    def running(
        self, session: str | None, persona: str | None, now: datetime
    ) -> set[str]:
        """Return the stems of the files of a session that is not over, or nothing."""
        if not session:
            return set()
        ended = {
            note_name(file.path): file.progress.ended
            for file in self.index.catalog.sessions(session, persona)[-1:]
        }
        for path, some in self._waiting().items():
            times = [
                filed.turn.occurred_at
                for filed in some
                if (filed.turn.session, filed.turn.persona) == (session, persona)
            ]
            if times:
                ended[note_name(path)] = max(
                    [*times, ended.get(note_name(path), times[0])]
                )
        gap = timedelta(minutes=self.settings.policy.buffer.session_gap_minutes)
        return {stem for stem, last in ended.items() if now - last <= gap}

    def rolling(self, persona: str | None, running: AbstractSet[str]) -> str:
        """Return the rolling text of the session whose stems are `running`, or ''.

        Before the session has a file, the text comes from the state (rows E9, E14). The
        text of another session is never returned.
        """
        fresh = running - self._stale()
        for file in self.index.catalog.latest_sessions(
            persona, self.policy.spine_sessions
        ):
            if note_name(file.path) in fresh:
                body = frontmatter.read(self.read(file.path)).body
                if text := read_block(body, "rolling"):
                    return text
        row = read_state(self.read(STATE_FILE), "personas").get(persona or "", {})
        known = row.get("rollingFile") in running
        return str(row.get("rollingSummary") or "") if known else ""

    def read(self, path: str) -> bytes:
        """Return the bytes of a file of the vault, b'' if it cannot be read."""
        try:
            return self.vault.read(path)
        except EngramError:
            return b""

    def stretch(self, path: str, waiting: list[FiledTurn]) -> SessionView | None:
        """Return a session with its turns.

        The result is None if its file cannot be parsed or has line ends of both kinds.
        """
        raw = self.read(path)
        if not raw:
            some = list(map(self._with_marks, waiting))
            return (
                _unfiled(path, some, read_state(self.read(STATE_FILE)))
                if some
                else None
            )
        known = frontmatter.read(raw, self.settings.policy.files)
        conversation, _ = sessions.conversation_from(known, path, self.settings.zone)
        covered = {"rolled", "episodes", "summarised"}
        if note_name(path) in self._stale():
            covered = {"episodes"}
        plain = known.body.replace("\n", known.newline).encode()
        if conversation is None or not raw.endswith(plain):
            return None
        turns = tuple(map(self._with_marks, (*conversation.turns, *waiting)))
        ended = max(
            [conversation.ended, *(filed.turn.occurred_at for filed in waiting)]
        )
        return SessionView(
            path,
            conversation.session,
            conversation.persona,
            conversation.started,
            ended,
            turns,
            len(conversation.turns),
            sha256(raw),
            {
                key: value
                for key, value in known.keys.items()
                if key in covered.union(SUMMARY_KEYS)
            },
            known.body,
        )

    def _with_marks(self, turn: FiledTurn) -> FiledTurn:
        """Return the turn with marks for forgotten and highly sensitive text."""
        turn = cast("FiledTurn", self.index.catalog.with_sensitivity(turn))
        return hiding.with_marks(
            turn, self.index.tombstones.forgotten, self.index.tombstones.keys
        )

    def _due(self, progress: SessionProgress, now: datetime) -> tuple[str, ...]:
        minutes = self.settings.policy.buffer.session_gap_minutes
        return due(progress, now, minutes, self.policy, model=self.model)

    def _progress(self) -> dict[str, SessionProgress]:
        """Return the progress of unfinished sessions by path, latest first."""
        waiting = self._waiting()
        files: dict[str, SessionFile] = {
            file.path: file
            for file in self.index.catalog.unsummarised(
                self.policy.episode_users if self.model else 0
            )
        }
        progress = {}
        stale = {sessions.path(stem) for stem in self._stale()} - files.keys()
        for path in stale:
            if file := self.index.catalog.session_at(path):
                files[path] = replace(file, summarised=0, rolled=0)
        for path in [*(path for path in waiting if path not in files), *files]:
            some = waiting.get(path, [])
            if path in files:
                known = files[path].progress
                users = sum(filed.turn.role == "user" for filed in some)
                ended = max([known.ended, *(filed.turn.occurred_at for filed in some)])
                progress[path] = replace(
                    known,
                    turns=known.turns + len(some),
                    users=known.users + users,
                    ended=ended,
                )
            elif view := self.stretch(path, some):
                progress[path] = view.progress
        return progress

    def _waiting(self) -> dict[str, list[FiledTurn]]:
        """Return the turns that wait for their file, by its path."""
        found: dict[str, list[FiledTurn]] = {}
        for filed in self.index.waiting():
            if filed.turn.session != REMEMBERED:
                found.setdefault(sessions.path(filed.note), []).append(filed)
        return {
            path: sorted(some, key=lambda filed: int(filed.block[1:]))
            for path, some in found.items()
        }


def _unfiled(
    path: str, waiting: list[FiledTurn], summaries: Mapping[str, Mapping[str, Any]]
) -> SessionView:
    times = [filed.turn.occurred_at for filed in waiting]
    first = waiting[0].turn
    talk = SessionView(
        path, first.session, first.persona, min(times), max(times), tuple(waiting)
    )
    return replace(talk, keys={"rolled": summaries.get(talk.stem, {}).get("rolled", 0)})
