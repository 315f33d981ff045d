"""Boxes and traces: notes that list the memories of a stretch of conversation.

(Rows C31, C32.) A box collects the memories of one conversation. When it is sealed, it
gets a note and is added to the trace of its topics. A trace gets a note with its second
box.

The order of writes is: state (`state/open-boxes.jsonl`), box note, trace note. After a
crash

- before the first write, the batch is filed again with the same result;
- after the first write, the next call writes the notes of the sealed box;
- after the notes, the next call writes the notes again without a change.

The next change of the state records that the notes are written. `state/traces.json`
grows with the vault, so it is written only before boxes are dropped from the state.
Together with the sealed boxes in the state it is always complete. A memory that is
added twice is recognized if its first box was filled by this process or is among the
latest boxes of the state.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from engram.core import boxes
from engram.errors import EngramError, Health, NotFoundError, StorageError
from engram.vault import boxes as forms
from engram.vault import changes
from engram.vault.boxes import OPEN, TRACES, OpenBox
from engram.vault.changes import Write

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from engram.config import Settings
    from engram.core.records import Box, Fact, Trace
    from engram.index.search import Index
    from engram.vault.store import Vault

    Stretch = tuple[Sequence[Fact], datetime]
    """Memories of a few turns, and the time of the last turn, on the conversation's clock."""

FAULT = "boxes"


class BoxWriter:
    """Fills, seals and writes boxes. For the writer thread.

    The index must be up to date. Failures are reported to `health`. `owner_names`
    returns the names of the owner, which title no box.
    """

    def __init__(
        self,
        vault: Vault,
        index: Index,
        settings: Settings,
        health: Health,
        owner_names: Callable[[], tuple[str, ...]],
    ) -> None:
        self.vault = vault
        self.index = index
        self.settings = settings
        self.policy = settings.policy.boxes
        self.health = health
        self.owner_names = owner_names
        self._retry_at: datetime | None = None
        self._dropped = 0  # rows marked as dropped since all were written
        # Whether the state was missing or damaged. Then the traces may lack boxes.
        self._state_lost = False
        self._set_rows(self._load())

    def _set_rows(self, rows: list[OpenBox]) -> None:
        """Replace the rows in memory by those of the state file."""
        self._rows = self._stored = rows
        self._unsaved = False  # whether written notes are not yet marked in the file
        self._traces_cache: dict[str, Trace] | None = None
        self._boxed: defaultdict[tuple[str, str | None], set[str]] = defaultdict(set)
        for row in rows:
            self._boxed[row.box.session, row.box.persona].update(row.box.memories)

    def reload(self) -> None:
        """Read the state file if git has changed it. Raises StorageError."""
        rows = self._load()
        if rows != self._stored:
            self._set_rows(rows)

    # -- operations --------------------------------------------------------------------

    def add(
        self,
        session: str,
        persona: str | None,
        stretches: Iterable[Stretch],
        now: datetime,
        people: Collection[str] = (),
    ) -> list[Box]:
        """Add the memories of a batch to the open box; return the sealed boxes (`C31`).

        `people` are the names of the owner and the speakers, which never become topics.
        Memories that are in a box already are left out. Raises StorageError if the
        state cannot be written; nothing has changed in that case.
        """
        thread = (session, persona)
        boxed = set(self._boxed[thread])
        before = next((row for row in self._open() if _thread(row) == thread), None)
        box = before.box if before else None
        sealed: list[Box] = []
        for memories, said_at in stretches:
            new = [memory for memory in memories if memory.id not in boxed]
            boxed.update(memory.id for memory in new)
            topics = boxes.topics(new, people, self.policy)
            batch = boxes.box_of_batch(session, persona, new, topics, said_at)
            box, full = boxes.add_batch(box, batch, self.policy)
            sealed += [full] if full else []

        if sealed or box != (before.box if before else None):
            self._replace(before, box, sealed, now)
        self._file(now)
        return sealed

    def _replace(
        self,
        before: OpenBox | None,
        box: Box | None,
        sealed: Iterable[Box],
        now: datetime,
    ) -> None:
        """Store `box` and the sealed boxes instead of the row `before`."""
        others = [row for row in self._rows if row is not before]
        opened = [OpenBox(box, now)] if box else []
        self._update(others, opened, [OpenBox(one, now) for one in sealed])

    def seal_due(self, now: datetime) -> None:
        """Seal boxes without a new memory for `gap_minutes`; write the waiting notes."""
        gap = timedelta(minutes=self.policy.gap_minutes)
        self._seal(
            [row for row in self._open() if now - row.touched >= gap], "time_gap", now
        )

    def flush(self, now: datetime, session: str | None = None) -> None:
        """Seal all open boxes, or those of one session."""
        self._seal(
            [row for row in self._open() if session in {None, row.box.session}],
            "flush",
            now,
        )

    def next_due(self) -> datetime | None:
        """Return the time of the next work for `seal_due`, or None."""
        gap = timedelta(minutes=self.policy.gap_minutes)
        times = [row.touched + gap for row in self._open()]
        times += [self._retry_at or row.touched for row in self._unwritten()]
        return min(times, default=None)

    def save(self) -> None:
        """Write the traces and the written marks; drop all but the latest boxes.

        Raises StorageError. A later call repeats the work.
        """
        if self._unsaved:
            self.vault.put(TRACES, forms.traces_text(self._traces()))
            old = [row for row in self._rows if row.filed][: -self.policy.kept]
            self._store([row for row in self._rows if row not in old])
            self._unsaved = False

    # -- state changes -----------------------------------------------------------------

    def _open(self) -> list[OpenBox]:
        return [row for row in self._rows if not _is_sealed(row)]

    def _unwritten(self) -> list[OpenBox]:
        """Return the sealed boxes whose notes are not written."""
        return [row for row in self._rows if _is_sealed(row) and not row.filed]

    def _seal(self, ended: Sequence[OpenBox], why: str, now: datetime) -> None:
        if ended:
            others = [row for row in self._rows if row not in ended]
            sealed = [
                replace(row, box=boxes.seal(row.box, why, now, self.policy))
                for row in ended
            ]
            self._update(others, [], sealed)
        self._file(now)

    def _update(
        self, others: list[OpenBox], opened: list[OpenBox], sealed: list[OpenBox]
    ) -> None:
        """Store the state with newly opened and sealed boxes, and assign traces.

        `others` are the unchanged rows. A sealed box with fewer than `least` memories
        is dropped. Raises StorageError; nothing has changed in that case.
        """
        least = self.policy.least
        sealed = [row for row in sealed if len(self._facts(row.box)) >= least]
        traces = dict(self._traces()) if sealed else {}
        assigned: list[OpenBox] = []
        for row in sealed:
            trace_id = boxes.find_trace(row.box, traces, self.policy)
            titled = self._titled(replace(row, trace=trace_id))
            traces[trace_id] = self._with_box(traces.get(trace_id), titled)
            assigned.append(titled)

        self._store([*others, *assigned, *opened])
        if sealed:
            self._traces_cache = traces
        for row in (*assigned, *opened):
            self._boxed[_thread(row)].update(row.box.memories)

    def _titled(self, row: OpenBox) -> OpenBox:
        """Return a sealed box with its title."""
        facts = self._facts(row.box)
        title = boxes.box_title(facts, row.box, self.owner_names())
        return replace(row, box=replace(row.box, title=title))

    def _facts(self, box: Box) -> list[Fact]:
        """Return the memories of a box that are not deleted."""
        return [*filter(None, map(self.index.catalog.fact, box.memories))]

    def _with_box(self, trace: Trace | None, row: OpenBox) -> Trace:
        name = forms.box_name(row.box, self.settings.zone)
        return boxes.add_to_trace(trace, row.trace, name, row.box)

    # -- notes -------------------------------------------------------------------------

    def _file(self, now: datetime) -> None:
        """Write the notes of sealed boxes.

        A note that a user is editing, or that cannot be written, is tried again later.
        """
        written: list[OpenBox] = []
        problems: list[str] = []
        for row in self._unwritten():
            try:
                if self._write(row, now):
                    written.append(row)
            except EngramError as fault:
                problems.append(str(fault))
        if written:
            try:
                self._mark_written(written)
            except EngramError as fault:
                problems.append(str(fault))
        self.health.report(FAULT, "; ".join(problems))

        policy = self.settings.policy
        pause = max(policy.files.quiet_seconds, policy.model.retry_seconds)
        waits = bool(self._unwritten())
        self._retry_at = now + timedelta(seconds=pause) if waits else None

    def _write(self, row: OpenBox, now: datetime) -> bool:
        """Write the notes of a box and its trace; return False while a user edits one.

        A trace with one box gets no note, because it would only repeat the box.
        """
        zone, box, trace = self.settings.zone, row.box, self._traces()[row.trace]
        path = forms.box_path(forms.box_name(box, zone))
        trace_path = forms.trace_path(trace)
        begun = self.vault.exists(trace_path)
        linked = trace if begun or len(trace.boxes) > 1 else None
        others = [] if begun else [forms.box_path(name) for name, _ in trace.boxes]
        others = [one for one in others if one != path and self.vault.exists(one)]
        quiet = self.settings.policy.files.quiet_seconds
        for one in (path, trace_path, *others):
            if not self.vault.is_at_rest(one, now, quiet):
                return False

        shown = {PurePosixPath(fact.path).stem: fact.text for fact in self._facts(box)}
        self._write_note(
            path, lambda raw: forms.box_note(raw, box, shown, linked, zone)
        )
        if linked:
            for one in others:
                self._write_note(one, lambda raw: forms.linked_box_note(raw, trace))
            self._write_note(
                trace_path,
                lambda raw: forms.trace_note(raw, trace, zone, self.policy),
            )
        return True

    def _write_note(self, path: str, note: Callable[[bytes], bytes]) -> None:
        """Write a note; `note` returns its bytes from the present ones."""
        before = path if self.vault.exists(path) else ""
        raw = self.vault.read(path) if before else b""
        changes.apply(self.vault, [Write(before, path, raw, note(raw))]).check()

    def _mark_written(self, rows: Collection[OpenBox]) -> None:
        """Record that the notes of these boxes are written."""
        self._rows = [
            replace(row, filed=True) if row in rows else row for row in self._rows
        ]
        self._unsaved = True
        if sum(row.filed for row in self._rows) > 2 * self.policy.kept:
            self.save()

    # -- state files -------------------------------------------------------------------

    def _store(self, rows: list[OpenBox]) -> None:
        """Append the changed rows to the state; write all if many were dropped.

        Dropped rows wait for the next changed one: after a crash they are dropped again.
        """
        ids = {row.box.id for row in rows}
        gone = [row for row in self._stored if row.box.id not in ids]
        changed = [row for row in rows if row not in self._stored]
        dropped = self._dropped + len(gone)
        if dropped > self.policy.kept or not self.vault.exists(OPEN):
            self.vault.put(OPEN, forms.open_boxes_text(rows))
            dropped = 0
        elif changed:
            marks = (replace(row, trace="", filed=True) for row in gone)
            self.vault.append(OPEN, forms.open_boxes_text([*marks, *changed]))
        else:
            self._rows = rows
            return
        self._rows = self._stored = rows
        self._dropped = dropped

    def _load(self) -> list[OpenBox]:
        """Return the rows of the state file without damaged lines. Raises StorageError.

        A file that cannot be read raises, because its content is not lost.
        """
        try:
            rows, sound = forms.open_boxes_from(self.vault.read(OPEN))
        except NotFoundError:
            rows, sound = (), False
        else:
            if not sound:
                fix = "The line is left out; the notes of boxes are not affected."
                self.health.report(
                    FAULT, str(StorageError("a line is damaged", where=OPEN, fix=fix))
                )
        self._state_lost = not sound
        return list(rows)

    def _traces(self) -> dict[str, Trace]:
        """Return the traces, including every sealed box, by id.

        The first call reads them from their file, or from the box notes if that fails.
        """
        if self._traces_cache is None:
            traces = self._load_traces()
            # The file may be older than the sealed boxes of the state.
            for row in filter(_is_sealed, self._rows):
                traces[row.trace] = self._with_box(traces.get(row.trace), row)
            self._traces_cache = traces
        return self._traces_cache

    def _load_traces(self) -> dict[str, Trace]:
        if not self._state_lost:
            with suppress(NotFoundError, StorageError):
                return forms.traces_from(self.vault.read(TRACES))
        return forms.traces_from_notes(self.vault, self.settings.zone)


def _thread(row: OpenBox) -> tuple[str, str | None]:
    return row.box.session, row.box.persona


def _is_sealed(row: OpenBox) -> bool:
    return row.box.sealed is not None
