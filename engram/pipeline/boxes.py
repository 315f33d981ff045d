"""Filed memories → boxes → traces: the notes that show what a stretch of conversation
taught (rows C31, C32).

Order of commit: what was decided (`state/open-boxes.jsonl`) → box note → trace note. A
crash leaves
- before the first: nothing; filing the batch again does the same;
- behind the first: a sealed box that still wants its notes, which the next call writes;
- behind the notes: the same once more, with nothing left to change. That the notes
  stand is written down with the next decision. `state/traces.json` grows with the
  vault, so it is written only before boxes leave the state: at any time it is whole
  together with the sealed boxes there. A memory that is handed in again is known by its
  box: those of this process, and the latest ones in the state.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from engram.core import boxes
from engram.errors import EngramError, NotFoundError, StorageError
from engram.vault import boxes as forms
from engram.vault.boxes import OPEN, TRACES, OpenBox

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from engram.config import Settings
    from engram.core.records import Box, Fact, Trace
    from engram.errors import Health
    from engram.index.search import Index
    from engram.vault.store import Vault

    Stretch = tuple[Sequence[Fact], datetime]
    """Memories of a few turns, and when the last of these was said: silence is measured
    in the conversation's time.
    """

FAULT = "boxes"


class BoxWriter:
    """Keeps the boxes. Belongs to the one writer and wants a catalogue that is up to
    date; see also `health`.
    """

    def __init__(
        self, vault: Vault, index: Index, settings: Settings, health: Health
    ) -> None:
        self.vault = vault
        self.index = index
        self.settings = settings
        self.policy = settings.policy.boxes
        self.health = health
        self._again: datetime | None = None
        # whether state is gone, and with it some of the latest boxes of the traces
        self._lost = False
        self._begin(self._load())

    def _begin(self, held: list[OpenBox]) -> None:
        """These are the boxes, and the file has them so."""
        self._held = self._stored = held
        self._unsaved = False  # whether the notes of some box stand and no file says so
        self._traces: dict[str, Trace] | None = None
        self._known: defaultdict[tuple[str, str | None], set[str]] = defaultdict(set)
        for one in held:
            self._known[one.box.session, one.box.persona].update(one.box.memories)

    def reload(self) -> None:
        """Go on from the file if git brought another one; raises StorageError."""
        if (held := self._load()) != self._stored:
            self._begin(held)

    # -- what may be asked -------------------------------------------------------------

    def add(
        self,
        session: str,
        persona: str | None,
        stretches: Iterable[Stretch],
        now: datetime,
        people: Collection[str] = (),
    ) -> list[Box]:
        """Put what a batch taught into the open box of its conversation; the boxes that
        this closed (`C31`).

        `people` are the owner and the speakers. Memories that are in a box already are
        left out. Raises StorageError, and nothing has happened, where the decision
        cannot be written down.
        """
        thread = (session, persona)
        known = set(self._known[thread])
        before = next((held for held in self._open() if _thread(held) == thread), None)
        first = box = before.box if before else None
        closed: list[Box] = []
        for memories, said in stretches:
            fresh = [memory for memory in memories if memory.id not in known]
            known.update(memory.id for memory in fresh)
            topics = boxes.topics(fresh, people, self.policy)
            new = boxes.box_of_batch(session, persona, fresh, topics, said)
            box, sealed = boxes.add_batch(box, new, self.policy)
            if sealed:
                closed.append(sealed)

        if closed or box != first:
            rest = [held for held in self._held if held is not before]
            self._decide(
                rest,
                [OpenBox(box, now)] if box else [],
                [OpenBox(sealed, now) for sealed in closed],
            )
        self._file(now)
        return closed

    def seal_due(self, now: datetime) -> None:
        """Close the boxes nothing was added to for `gap_minutes`, and write what could
        not be written before.
        """
        gap = timedelta(minutes=self.policy.gap_minutes)
        self._seal(
            [held for held in self._open() if now - held.touched >= gap],
            "time_gap",
            now,
        )

    def flush(self, now: datetime, session: str | None = None) -> None:
        """Close all open boxes, or those of one session."""
        self._seal(
            [held for held in self._open() if session in {None, held.box.session}],
            "flush",
            now,
        )

    def next_due(self) -> datetime | None:
        """When `seal_due` will have something to do."""
        gap = timedelta(minutes=self.policy.gap_minutes)
        dues = [held.touched + gap for held in self._open()]
        return min(
            dues + [self._again or held.touched for held in self._owed()], default=None
        )

    def save(self) -> None:
        """Write down what so far is only known here: the traces, and that notes stand;
        forget all but the latest boxes.

        Raises StorageError; then it is done with a later call.
        """
        if self._unsaved:
            self._put(TRACES, forms.traces_text(self._woven()))
            old = [held for held in self._held if held.filed][: -self.policy.kept]
            self._keep([held for held in self._held if held not in old])
            self._unsaved = False

    # -- decisions ---------------------------------------------------------------------

    def _open(self) -> list[OpenBox]:
        return [held for held in self._held if not _is_sealed(held)]

    def _owed(self) -> list[OpenBox]:
        """Sealed boxes that want their notes."""
        return [held for held in self._held if _is_sealed(held) and not held.filed]

    def _seal(self, ended: Sequence[OpenBox], why: str, now: datetime) -> None:
        if ended:
            rest = [held for held in self._held if held not in ended]
            sealed = [
                replace(held, box=boxes.seal(held.box, why, now, self.policy))
                for held in ended
            ]
            self._decide(rest, [], sealed)
        self._file(now)

    def _decide(
        self, rest: list[OpenBox], opened: list[OpenBox], sealed: list[OpenBox]
    ) -> None:
        """Write down what is open and what is sealed from now on, and for which trace;
        only then believe it.

        A box whose memories are all deleted by now leaves nothing behind.
        """
        sealed = [
            held
            for held in sealed
            if any(map(self.index.catalog.fact, held.box.memories))
        ]
        traces, woven = dict(self._woven()) if sealed else {}, []
        for held in sealed:
            trace_id = boxes.find_trace(held.box, traces, self.policy)
            traces[trace_id] = self._threaded(traces.get(trace_id), trace_id, held.box)
            woven.append(replace(held, trace=trace_id))
        self._keep([*rest, *woven, *opened])
        if sealed:
            self._traces = traces
        for held in (*woven, *opened):
            self._known[_thread(held)].update(held.box.memories)

    def _threaded(self, trace: Trace | None, trace_id: str, box: Box) -> Trace:
        return boxes.add_to_trace(
            trace, trace_id, forms.box_name(box, self.settings.zone), box
        )

    # -- files -------------------------------------------------------------------------

    def _file(self, now: datetime) -> None:
        """Write the notes of sealed boxes; one that a person edits, or the disk
        refuses, is put off.
        """
        filed, problems = [], []
        rest = self.settings.policy.files.quiet_seconds
        for held in self._owed():
            try:
                if self._write(held, now):
                    filed.append(held)
            except EngramError as fault:
                problems.append(str(fault))
        if filed:
            try:
                self._settle(filed)
            except EngramError as fault:
                problems.append(str(fault))
        self.health.report(FAULT, "; ".join(problems))
        pause = timedelta(seconds=max(rest, self.settings.policy.model.retry_seconds))
        self._again = now + pause if self._owed() else None

    def _write(self, held: OpenBox, now: datetime) -> bool:
        """Bring the box's and the trace's note to what they should say; False while a
        person is at one of them.
        """
        zone, box, trace = self.settings.zone, held.box, self._woven()[held.trace]
        places = forms.box_path(forms.box_name(box, zone)), forms.trace_path(trace)
        quiet = self.settings.policy.files.quiet_seconds
        if not all(self.vault.is_at_rest(path, now, quiet) for path in places):
            return False
        known = (self.index.catalog.fact(memory) for memory in box.memories)
        stems = [PurePosixPath(fact.path).stem for fact in known if fact]
        for path, new, again in (
            (
                places[0],
                forms.box_note(box, stems, trace, zone),
                lambda raw: forms.updated_box_note(raw, box, stems, trace),
            ),
            (
                places[1],
                forms.trace_note(trace, zone, self.policy),
                lambda raw: forms.updated_trace_note(raw, trace, zone, self.policy),
            ),
        ):
            if self.vault.exists(path):
                self.vault.rewrite(path, again)
            else:
                self.vault.create(path, new)
        return True

    def _settle(self, filed: Collection[OpenBox]) -> None:
        """The notes stand."""
        self._held = [
            replace(held, filed=True) if held in filed else held for held in self._held
        ]
        self._unsaved = True
        if sum(held.filed for held in self._held) > 2 * self.policy.kept:
            self.save()

    def _keep(self, held: list[OpenBox]) -> None:
        """Write down what the boxes are from now on: the changed ones behind the
        others, or all where one is gone.
        """
        stays = {one.box.id for one in held}.issuperset(
            one.box.id for one in self._stored
        )
        if stays and self.vault.exists(OPEN):
            self.vault.append(
                OPEN,
                forms.open_boxes_text(one for one in held if one not in self._stored),
            )
        else:
            self._put(OPEN, forms.open_boxes_text(held))
        self._held = self._stored = held

    def _put(self, path: str, raw: bytes) -> None:
        if self.vault.exists(path):
            self.vault.rewrite(path, lambda _: raw)
        else:
            self.vault.create(path, raw)

    # -- state -------------------------------------------------------------------------

    def _load(self) -> list[OpenBox]:
        """What the state holds; a disk that refuses to be read raises, for what is
        there is not lost.
        """
        try:
            held, sound = forms.open_boxes_from(self.vault.read(OPEN))
        except NotFoundError:
            held, sound = (), False
        else:
            if not sound:
                fix = "What it said is left out; the notes stand."
                self.health.report(
                    FAULT, str(StorageError("a line is damaged", where=OPEN, fix=fix))
                )
        self._lost = not sound
        return list(held)

    def _woven(self) -> dict[str, Trace]:
        """The traces with every box that is sealed; read, or made from the box notes,
        when first asked for.
        """
        if self._traces is None:
            try:
                traces = (
                    None if self._lost else forms.traces_from(self.vault.read(TRACES))
                )
            except (NotFoundError, StorageError):
                traces = None
            if traces is None:
                traces = forms.traces_from_notes(self.vault, self.settings.zone)
            # a copy of the file may be older than they are
            for held in filter(_is_sealed, self._held):
                traces[held.trace] = self._threaded(
                    traces.get(held.trace), held.trace, held.box
                )
            self._traces = traces
        return self._traces


def _thread(held: OpenBox) -> tuple[str, str | None]:
    return held.box.session, held.box.persona


def _is_sealed(held: OpenBox) -> bool:
    return held.box.sealed is not None
