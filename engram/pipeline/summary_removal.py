"""Removal of texts derived from turns that are hidden or shown again (rows X8, E11).

The next maintenance run derives the summaries anew from the visible turns.
"""

from __future__ import annotations

import re
from collections import defaultdict
from contextlib import suppress
from glob import escape
from typing import TYPE_CHECKING

from engram.core.records import Edit
from engram.core.sessions import EPISODES, STATE_FILE, drop_summaries, with_stale
from engram.errors import EngramError
from engram.vault import frontmatter, sessions
from engram.vault.disk import sha256

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from engram.pipeline.write import NoteWriter

WHY = "its sources are hidden, or shown again"
_TURN = re.compile(r"#\^t(\d+)")


class SummaryRemoval:
    """Removes summaries of conversations. For the writer thread."""

    def __init__(self, note_writer: NoteWriter) -> None:
        self.note_writer = note_writer
        self.vault = note_writer.vault
        self.index = note_writer.index

    def drop(self, turns: Iterable[str]) -> None:
        """Remove the summaries of the sessions of these turns.

        `turns` are keys of turns that are hidden or shown again. If a file cannot be
        written now, its summary is marked as stale in the state and is not shown any
        more.
        """
        blocks: defaultdict[str, set[int]] = defaultdict(set)
        for name, _, block in (key.partition("#^t") for key in turns):
            if block.isdecimal():
                blocks[name].add(int(block))
        for name in sorted(blocks):
            with suppress(EngramError):
                self._drop_of(name)
            with suppress(EngramError):
                self._mark_episodes(name, blocks[name])

    def _drop_of(self, name: str) -> None:
        """Rewrite a session file and `state/sessions.json` if that changes them."""
        path, state = sessions.path(name), b""
        if self.vault.exists(STATE_FILE):
            state = self.vault.read(STATE_FILE)
        raw = self.vault.read(path)
        note = frontmatter.read(raw, self.note_writer.settings.policy.files)
        cut = drop_summaries(name, note.keys, note.body, state)

        new = cut.state
        if cut.keys or cut.body != note.body:
            edit = Edit(path, sha256(raw), cut.keys, WHY, cut.body)
            try:
                self.note_writer.write([edit], [])
            except EngramError:
                new = with_stale(state, name)
        if new != state:
            self.vault.rewrite(STATE_FILE, lambda _: new)

    def _mark_episodes(self, name: str, turns: Collection[int]) -> None:
        """Hide the episodes that describe hidden turns, or show them again.

        `turns` are the numbers of the turns of the session that were hidden or shown.
        """
        folder = self.vault.root / EPISODES
        edits = []
        for file in sorted(folder.glob(f"*/{escape(name)}-episode-*.md")):
            path = file.relative_to(self.vault.root).as_posix()
            raw = self.vault.read(path)
            note = frontmatter.read(raw, self.note_writer.settings.policy.files)
            ends = [int(one) for one in _TURN.findall(str(note.keys.get("source")))]
            span = range(min(ends), max(ends) + 1) if ends else range(0)
            if not any(number in span for number in turns):
                continue
            units = self.index.units([f"{name}#^t{number}" for number in span])
            hidden = any(self.index.visible(one) != one for one in units.values())
            status = "forgotten" if hidden else None
            if note.keys.get("status") != status:
                edits.append(Edit(path, sha256(raw), {"status": status}, WHY))
        self.note_writer.write(edits, [])
