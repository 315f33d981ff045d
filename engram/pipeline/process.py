"""Turns become notes: taken, handed out in batches, distilled, filed, put off (rows C2,
C3, X1, X2).
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from engram.errors import EngramError, ModelError, UnavailableError
from engram.extraction.rules import engine
from engram.ingest import intake as ingest_intake
from engram.ingest.queue import ASKED
from engram.pipeline.reconcile import BatchResult, Reconciler

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Collection
    from datetime import datetime
    from pathlib import Path

    from engram.config import Settings
    from engram.core.records import Extraction
    from engram.errors import Health
    from engram.extraction.extract import Extractor
    from engram.index.search import Index
    from engram.ingest.queue import Batch, TurnQueue
    from engram.maintenance.commits import CommitLog
    from engram.maintenance.questions import MaintenanceLoop
    from engram.pipeline.usage import UsageTracker
    from engram.pipeline.write import NoteWriter


class TurnPipeline:
    """The half of a memory that turns pass through; the other half, which makes and
    ends all this, is `Memory`.

    `observe`, `flush` and `distil` may be called from any thread, the rest by the
    writer.
    """

    settings: Settings
    clock: Callable[[], datetime]
    on_turns: Callable[[], None] | None
    health: Health
    index: Index
    intake: ingest_intake.Intake
    queue: TurnQueue
    note_writer: NoteWriter
    usage_tracker: UsageTracker
    reconciler: Reconciler
    extractor: Extractor
    maintenance_loop: MaintenanceLoop
    commits: CommitLog
    _read: threading.Condition
    _reading: bool
    _sealing: set[str | None]

    @property
    def ready(self) -> bool:
        """Whether the catalogue knows what is in the vault."""
        raise NotImplementedError

    def _obey(self, paths: Collection[Path] | None, now: datetime) -> None:
        raise NotImplementedError

    # -- turns -------------------------------------------------------------------------

    def observe(
        self, turns: list[dict[str, Any]], standing: str = "chat"
    ) -> dict[str, Any]:
        """Take turns of a conversation; when this returns they are on disk and recall
        finds them.

        A catalogue that is begun anew is waited for: only it knows which turns are in
        the vault already.
        """
        with self._read:
            longest = self.settings.policy.serve.read_seconds
            self._read.wait_for(lambda: self.index.known or not self._reading, longest)
        if not self.index.known:
            raise ingest_intake.unread()
        now = self.clock()
        taken = [
            ingest_intake.turn_from(raw, now, self.settings, standing=standing)
            for raw in turns
        ]
        accepted = self.intake.accept(taken, now)
        if self.on_turns:
            self.on_turns()
        else:
            self._drain()
        return {
            "keys": accepted.keys,
            "stored": accepted.stored,
            "duplicates": accepted.duplicates,
        }

    def flush(
        self, session: str | None = None, *, background: bool = False
    ) -> dict[str, Any]:
        """Distil everything that waits now, parked and dead batches too; answer when it
        is done, or at once.
        """
        session = session and ingest_intake.name_from(session, self.settings)
        self.queue.revive(session)
        self._sealing.add(session)
        wanted = self.flush_waiting(session, background=background)
        return {"flushed": len(wanted), **self.queue.counts()}

    def flush_waiting(
        self, session: str | None = None, *, background: bool = False
    ) -> set[int]:
        """As `flush`, but what is parked or dead stays so; the journal numbers of the
        turns.
        """
        wanted = self.queue.hurry(session)
        if self.on_turns is None:
            self._drain()
        else:
            self.on_turns()
            if not background and not self.queue.wait(
                wanted, self.settings.policy.serve.flush_seconds
            ):
                raise UnavailableError(
                    "distilling takes longer than expected",
                    fix="It goes on; look at `engram status`.",
                )
            if not background and (why := self.queue.stuck(wanted)):
                raise UnavailableError(
                    f"what waits cannot be filed now: {why}",
                    fix="It is kept, and tried again.",
                )
        return wanted

    def due(self, now: datetime) -> list[Batch]:
        """The batches to distil now, their turns already in their session file, in the
        order they were said.

        After an unforeseen fault all are given back, and the one that met it is left
        alone for a while.
        """
        self._seal(now)
        self.commits.done("box", "close boxes")
        # Before the vault is compared, what stands in it already is not known and would
        # be filed twice.
        taken = self.queue.due(now, self.extractor.most) if self.ready else []
        ready: list[Batch] = []
        try:
            for batch in taken:
                ready += self._filed(batch, now)
            # the session files go along with what is made of them
            self.commits.passing()
        except BaseException:
            self.queue.give_back([batch], self._soon())
            self.queue.give_back(taken, now)
            raise
        return ready

    def _seal(self, now: datetime) -> None:
        """Close the boxes of conversations that are silent or, once all is filed, whose
        end somebody asked for.
        """
        if not self.ready:
            return
        counts = self.queue.counts()
        try:
            if (
                self._sealing
                and not counts["waiting_turns"] + counts["distilling_turns"]
            ):
                for session in tuple(self._sealing):
                    self.reconciler.box_writer.flush(now, session)
                    self._sealing.discard(session)
            if not self.commits.away():
                self.reconciler.box_writer.seal_due(now)
        except EngramError as fault:
            self.health.report("boxes", str(fault))
        else:
            self.health.report("boxes", "")

    def _filed(self, batch: Batch, now: datetime) -> list[Batch]:
        """The batch as its session file says from now on; nothing if it is put off, or
        none of it is left.

        One whose session file a person is editing waits until that rests, unless
        somebody asked for it.
        """
        batch = self.intake.counted(batch, now)
        until = (
            None
            if batch.filed or batch.why == ASKED
            else self.note_writer.quiet_until(batch, now)
        )
        if until:
            self.intake.parked(
                batch, until, "a person edits the session file", durable=False
            )
            return []
        try:
            if batch.filed:
                said = self.intake.still_said(batch)
            else:
                said = [
                    self.intake.placed(
                        batch,
                        self.note_writer.file_turns(
                            [item.filed for item in batch.waiting]
                        ),
                    )
                ]
        except EngramError as fault:
            self._put_off(batch, "session file", fault)
            return []
        self.health.clear("session file")
        return said

    def _put_off(self, batch: Batch, what: str, fault: EngramError) -> None:
        """Try the batch again soon: its turns are stored, only the disk or an editor
        refuses.
        """
        self.health.report(what, str(fault))
        self.intake.parked(batch, self._soon(), fault.what, durable=False)

    def _soon(self) -> datetime:
        return self.clock() + timedelta(
            seconds=self.settings.policy.model.retry_seconds
        )

    def next_due(self) -> datetime | None:
        """When the next batch or box becomes due by the clock; None while none is
        handed out.
        """
        times = (
            (self.queue.next_due(), self.reconciler.box_writer.next_due())
            if self.ready
            else ()
        )
        return min(filter(None, times), default=None)

    def distil(self, batch: Batch) -> Extraction:
        """What the batch says; slow with a model, in any thread. Raises ModelError."""
        return self.extractor.distil(batch)

    def file(self, batch: Batch, outcome: Extraction | ModelError) -> BatchResult:
        """Write the batch into the vault; after a model's failure park it, in the end
        use the rules (C3, X2).
        """
        filed = self._file(batch, outcome, self.clock())
        self.commits.filed(len(filed.created), batch.waiting[0].filed.note)
        return filed

    def _file(
        self, batch: Batch, outcome: Extraction | ModelError, now: datetime
    ) -> BatchResult:
        if isinstance(outcome, ModelError):
            self.health.report("model", str(outcome))
            again = self.extractor.again(batch, outcome, now)
            if again is not None:
                self.intake.parked(*again, outcome.what)
                return BatchResult()
            filed = self._climbed(batch, self.extractor.by_rules(batch), now)
            self.intake.buried(batch, outcome.what)
            return filed
        if outcome.extractor != engine.EXTRACTOR:
            self.health.clear("model")
        filed = self._climbed(batch, outcome, now)
        self.intake.settled(batch)
        self._seal(now)
        return filed

    def tend(self) -> None:
        """Put the vault in order where that is due; not in the writer's thread."""
        counts = self.queue.counts()
        self.maintenance_loop.tend(
            busy=bool(counts["waiting_turns"] + counts["distilling_turns"])
        )

    def _climbed(
        self, batch: Batch, extraction: Extraction, now: datetime
    ) -> BatchResult:
        """The batch filed; what it said again counts as confirmed (`C17`)."""
        filed = self.reconciler.file(batch, extraction, now)
        # a question was perhaps answered before one of its two memories stood
        if batch.attempts:
            self._obey(None, now)
        self.maintenance_loop.schedule.filed(len(filed.created))
        for fact_id in filed.confirmed:
            self.usage_tracker.confirmed(fact_id, now)
        return filed

    def _drain(self) -> None:
        """Without a daemon: distil and file at once what waits."""
        self.queue.hurry()
        for batch in self.due(self.clock()):
            try:
                outcome: Extraction | ModelError = self.distil(batch)
            except ModelError as fault:
                outcome = fault
            try:
                self.file(batch, outcome)
            except EngramError as fault:
                self._put_off(batch.tried(), "filing", fault)
            else:
                self.health.clear("filing")
