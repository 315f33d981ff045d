"""Turns become notes: taken in, handed out in batches, distilled, written (C2, X1, X2).

`observe` makes turns durable. `due` hands out the batches whose time has come, `distil`
says what they state, `file` writes it. A daemon calls the last three itself; without
one, `drain` does so for whoever called `observe` or `flush`.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol

from engram.errors import EngramError, ModelError, UnavailableError
from engram.extraction.rules import engine
from engram.ingest import intake as ingest_intake
from engram.ingest.queue import ASKED
from engram.pipeline.reconcile import BatchResult

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from engram.config import Settings
    from engram.core.records import Extraction
    from engram.errors import Health
    from engram.ingest.intake import Intake
    from engram.ingest.queue import Batch
    from engram.pipeline.commits import CommitLog
    from engram.pipeline.distil import Distiller
    from engram.pipeline.executor import Executor
    from engram.pipeline.readiness import Readiness
    from engram.pipeline.reconcile import Reconciler


class FiledMemories(Protocol):
    """Counts memories as they are filed; a light maintenance run is due after some."""

    def filed(self, memories: int) -> None:
        """Add so many."""


class TurnPipeline:
    """The way of turns into the vault.

    `observe`, `flush` and `distil` may be called from any thread, the rest by the
    writer.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Callable[[], datetime],
        health: Health,
        executor: Executor,
        *,
        readiness: Readiness,
        intake: Intake,
        distiller: Distiller,
        reconciler: Reconciler,
        commits: CommitLog,
        filed_memories: FiledMemories,
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.health = health
        self.executor = executor
        self.readiness = readiness
        self.intake = intake
        self.queue = intake.queue
        self.distiller = distiller
        self.extractor = distiller.extractor
        self.reconciler = reconciler
        self.commits = commits
        self.filed_memories = filed_memories
        self._filed_again = False
        # the sessions whose boxes are closed once all their turns are filed
        self._sealing: set[str | None] = set()

    # -- turns in ----------------------------------------------------------------------

    def observe(
        self, turns: list[dict[str, Any]], standing: str = "chat"
    ) -> dict[str, Any]:
        """Take turns of a conversation; on return they are on disk and can be recalled.

        Waits for a catalogue that is begun anew: only the catalogue knows which turns
        are in the vault already.
        """
        if not self.readiness.wait(self.settings.policy.serve.read_seconds):
            raise ingest_intake.unread()

        now = self.clock()
        taken = [
            ingest_intake.turn_from(raw, now, self.settings, standing=standing)
            for raw in turns
        ]
        accepted = self.intake.accept(taken, now)

        if self.executor.attended:
            self.executor.turns_arrived()
        else:
            self.drain()
        return {
            "keys": accepted.keys,
            "stored": accepted.stored,
            "duplicates": accepted.duplicates,
        }

    def flush(
        self, session: str | None = None, *, background: bool = False
    ) -> dict[str, Any]:
        """Distil everything that waits, parked and dead batches too.

        Return when it is done, or at once with `background`.
        """
        session = session and ingest_intake.name_from(session, self.settings)
        self.queue.revive(session)
        self._sealing.add(session)
        wanted = self.flush_waiting(session, background=background)
        return {"flushed": len(wanted), **self.queue.counts()}

    def flush_waiting(
        self, session: str | None = None, *, background: bool = False
    ) -> set[int]:
        """Distil what waits, but neither parked nor dead batches.

        Return the journal numbers of the turns. Raises UnavailableError where they
        cannot be filed, or not in time.
        """
        wanted = self.queue.hurry(session)
        if not self.executor.attended:
            self.drain()
            return wanted

        self.executor.turns_arrived()
        if background:
            return wanted
        if not self.queue.wait(wanted, self.settings.policy.serve.flush_seconds):
            raise UnavailableError(
                "distilling takes longer than expected",
                fix="It goes on; look at `engram status`.",
            )
        if why := self.queue.stuck(wanted):
            raise UnavailableError(
                f"what waits cannot be filed now: {why}",
                fix="It is kept, and tried again.",
            )
        return wanted

    # -- batches out -------------------------------------------------------------------

    def due(self, now: datetime) -> list[Batch]:
        """Return the batches to distil now, in the order in which they were said.

        Their turns are in their session files then. After an unexpected error all are
        given back, and the batch that met it rests for a while.
        """
        self._close_boxes(now)
        self.commits.done("box", "close boxes")

        taken: list[Batch] = []
        if self.readiness.ready:
            # Before, what the vault holds is not known, and would be filed twice.
            taken = self.queue.due(now, self.extractor.most)
        ready: list[Batch] = []
        try:
            for batch in taken:
                ready += self._with_session_file(batch, now)
            self.commits.passing()  # committed with what is made of these turns
        except BaseException:
            self.queue.give_back([batch], self._soon())
            self.queue.give_back(taken, now)
            raise
        return ready

    def next_due(self) -> datetime | None:
        """Return when the next batch or box becomes due; None while none is given."""
        if not self.readiness.ready:
            return None
        times = (self.queue.next_due(), self.reconciler.box_writer.next_due())
        return min(filter(None, times), default=None)

    def _close_boxes(self, now: datetime) -> None:
        """Close the boxes of silent sessions, and of flushed ones once all is filed."""
        if not self.readiness.ready:
            return
        box_writer = self.reconciler.box_writer
        try:
            if self._sealing and not self.queue.is_busy():
                for session in tuple(self._sealing):
                    box_writer.flush(now, session)
                    self._sealing.discard(session)
            if not self.commits.away():
                box_writer.seal_due(now)
        except EngramError as error:
            self.health.report("boxes", str(error))
        else:
            self.health.clear("boxes")

    def _with_session_file(self, batch: Batch, now: datetime) -> list[Batch]:
        """Write the turns of the batch into their session file.

        Return the batch as the file says it from now on: nothing where it is put off,
        or where a person deleted its turns. A batch whose session file a person edits
        waits until the file rests, unless a flush asked for it.
        """
        note_writer = self.reconciler.note_writer
        batch = self.intake.counted(batch, now)
        until = None
        if not batch.filed and batch.why != ASKED:
            until = note_writer.quiet_until(batch, now)
        if until:
            why = "a person edits the session file"
            self.intake.parked(batch, until, why, durable=False)
            return []

        try:
            if batch.filed:
                batches = self.intake.still_said(batch)
            else:
                filed = note_writer.file_turns([item.filed for item in batch.waiting])
                batches = [self.intake.placed(batch, filed)]
        except EngramError as error:
            self._put_off(batch, "session file", error)
            return []
        self.health.clear("session file")
        return batches

    def _put_off(self, batch: Batch, part: str, error: EngramError) -> None:
        """Try the batch again soon: its turns are safe, the disk or an editor refuses."""
        self.health.report(part, str(error))
        self.intake.parked(batch, self._soon(), error.what, durable=False)

    def _soon(self) -> datetime:
        return self.clock() + timedelta(
            seconds=self.settings.policy.model.retry_seconds
        )

    # -- batches in --------------------------------------------------------------------

    def distil(self, batch: Batch) -> Extraction:
        """Return what the batch states; slow with a model. Raises ModelError."""
        return self.distiller.distil(batch)

    def file(self, batch: Batch, outcome: Extraction | ModelError) -> BatchResult:
        """Write what the batch states into the vault.

        A batch that a model failed to read is parked, and read by the rules after the
        last try (C3, X2).
        """
        now = self.clock()
        if isinstance(outcome, ModelError):
            result = self._file_failed(batch, outcome, now)
        else:
            if outcome.extractor != engine.EXTRACTOR:
                self.health.clear("model")
            result = self._reconciled(batch, outcome, now)
            self.intake.settled(batch)
            self._close_boxes(now)
        self.commits.filed(len(result.created), batch.waiting[0].filed.note)
        return result

    def _file_failed(
        self, batch: Batch, error: ModelError, now: datetime
    ) -> BatchResult:
        self.health.report("model", str(error))
        again = self.extractor.again(batch, error, now)
        if again is not None:
            self.intake.parked(*again, error.what)
            return BatchResult()

        extraction = self.distiller.distil_by_rules(batch)
        result = self._reconciled(batch, extraction, now)
        self.intake.buried(batch, error.what)
        return result

    def _reconciled(
        self, batch: Batch, extraction: Extraction, now: datetime
    ) -> BatchResult:
        """Write the batch; a memory that it states again counts as confirmed (`C17`)."""
        result = self.reconciler.file(batch, extraction, now)
        self._filed_again |= bool(batch.attempts)
        self.filed_memories.filed(len(result.created))
        for fact_id in result.confirmed:
            self.reconciler.usage_tracker.record_confirmation(fact_id, now)
        return result

    def take_filed_again(self) -> bool:
        """Return whether a batch was filed again since the last call.

        A question in review may have been answered before both of its memories existed.
        """
        filed_again, self._filed_again = self._filed_again, False
        return filed_again

    def drain(self) -> None:
        """Distil and file at once everything that waits."""
        self.queue.hurry()
        for batch in self.due(self.clock()):
            outcome: Extraction | ModelError
            try:
                outcome = self.distil(batch)
            except ModelError as error:
                outcome = error
            try:
                self.file(batch, outcome)
            except EngramError as error:
                self._put_off(batch.tried(), "filing", error)
            else:
                self.health.clear("filing")
