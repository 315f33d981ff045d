"""The pipeline from turns to notes (rows C2, X1, X2).

`observe` makes turns durable. `due` returns the due batches, `distil` extracts their
statements, and `file` writes them. A daemon calls the last three itself; without a
daemon, `observe` and `flush` call `drain`, which does the same.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from engram.core.buffer import retry_wait
from engram.core.turn_versions import first_id
from engram.errors import (
    BadRequestError,
    ConflictError,
    EngramError,
    Health,
    ModelError,
    NotFoundError,
    UnavailableError,
)
from engram.extraction.rules import engine
from engram.ingest import intake as ingest_intake
from engram.ingest import requests
from engram.ingest.messages import as_turns
from engram.ingest.queue import ASKED, UNFORESEEN, Batch, State
from engram.pipeline.reconcile import BatchResult, Reconciler

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from engram.config import Settings
    from engram.core.records import Extraction, Turn
    from engram.ingest.intake import Intake
    from engram.pipeline.commits import CommitLog
    from engram.pipeline.distil import Distiller
    from engram.pipeline.executor import Executor
    from engram.pipeline.readiness import Readiness


class TurnPipeline:
    """Takes turns into the vault.

    `observe`, `flush` and `distil` may be called from any thread; the other methods are
    for the writer thread.
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
        self._filed_again = False
        # Sessions whose boxes are closed when all their turns are filed.
        self._sealing: set[str | None] = set()

    # -- turns in ----------------------------------------------------------------------

    def observe(
        self,
        turns: list[dict[str, Any]] | None = None,
        standing: str = "chat",
        participants: list[str] | None = None,
        messages: list[dict[str, Any]] | None = None,
        session: str | None = None,
        persona: str | None = None,
        run: str | None = None,
        *,
        record: bool = True,
    ) -> dict[str, Any]:
        """Take turns of a conversation; on return they are on disk and can be recalled.

        A request to remember a secret is in `not_remembered`; its turn is stored
        without the secret. `messages` are turns in OpenAI's form, which `turns` may have too. `session` and
        `persona` apply to all turns that have none of their own. With `record` false no
        turn is stored; as a field of a turn it applies to that turn. `run` is the
        import that the turns belong to. With more than one of `participants` each
        speaker is a separate person. Waits while the catalogue is being built, because
        only the catalogue knows which turns are in the vault already.
        """
        if not self.readiness.wait(self.settings.policy.serve.read_seconds):
            raise ingest_intake.unread()

        common = {"session": session, "persona": persona, "participants": participants}
        rows_given = [*(turns or ()), *(messages or ())]
        if turns is None and messages is None:
            raise BadRequestError(
                "there are no turns", fix="Give `turns`, or `messages`."
            )
        spoken = list(as_turns(rows_given, {k: v for k, v in common.items() if v}))
        rows = [row for row in spoken if requests.is_recorded(row) and record]

        now = self.clock()
        parsed = [
            requests.turn_from(raw, now, self.settings, standing=standing)
            for raw in rows
        ]
        pairs = zip(rows, parsed, strict=True)
        unnamed = frozenset(turn.id for raw, turn in pairs if not raw.get("id"))
        shown_again = self._note_import(run, parsed, now) if run else 0
        accepted = self.intake.accept(parsed, now, unnamed)

        if not self.executor.attended:
            self.drain()
        return {
            "keys": accepted.keys,
            "stored": accepted.stored + shown_again,
            "duplicates": accepted.duplicates - shown_again,
            "replaced": accepted.replaced,
            "without_words": len(rows_given) - len(spoken),
            "off_record": len(spoken) - len(rows),
            "not_remembered": requests.refused_requests(parsed),
        }

    def _note_import(self, run: str, turns: Sequence[Turn], now: datetime) -> int:
        """Record the turns of an import; show those again that an undo had hidden.

        Returns the number of turns shown again.
        """
        imports = self.reconciler.imports
        names = [(turn.session, turn.id) for turn in turns]
        hidden = imports.hidden(names)
        new = [name for name in names if not self.intake.is_known(*name)]
        imports.note(run, [*hidden, *new])
        if hidden:
            self.executor.run_as_writer(partial(imports.show_again, hidden, now))
            tidy = self.reconciler.entity_removal.tidy
            self.executor.run_as_writer(partial(tidy, now))
        return len(hidden)

    def flush(
        self, session: str | None = None, *, background: bool = False
    ) -> dict[str, Any]:
        """Distil every waiting turn, including those of parked and dead batches.

        Returns when the turns are filed; with `background` returns at once.
        """
        session = session and requests.name_from(session, self.settings)
        self.queue.revive(session)
        self._sealing.add(session)
        wanted = self.flush_waiting(session, background=background)
        return {"flushed": len(wanted), **self.queue.counts()}

    def flush_waiting(
        self, session: str | None = None, *, background: bool = False
    ) -> set[int]:
        """Distil the waiting turns, but not those of parked and dead batches.

        Returns the journal numbers of the turns. Raises UnavailableError if they cannot
        be filed, or not in time.
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
                fix="It continues in the background; see `engram status`.",
            )
        if why := self.queue.stuck_reason(wanted):
            raise UnavailableError(
                f"waiting turns cannot be filed now: {why}",
                fix="The turns are kept and tried again.",
            )
        return wanted

    # -- batches out -------------------------------------------------------------------

    def due(self, now: datetime) -> list[Batch]:
        """Return the batches to distil now, in the order of their turns.

        Their turns are written into the session files. After an unexpected error all
        batches go back to the queue, and the batch that caused it is parked.
        """
        self._close_boxes(now)
        self.commits.done("box", "close boxes")

        batches: list[Batch] = []
        if self.readiness.ready:
            # Without the catalogue known turns would be filed a second time.
            batches = self.queue.due(now, self.extractor.most)
        ready: list[Batch] = []
        try:
            for batch in batches:
                ready += self._with_session_file(batch, now)
            self.commits.defer_commit()  # committed together with the notes of these turns
        except BaseException:
            batch, until, reason = self._next_try(batch, EngramError(UNFORESEEN))
            self.queue.put(batch, "parked", until=until, reason=reason)
            self.queue.give_back(batches, now)
            raise
        return ready

    def next_due(self) -> datetime | None:
        """Return the time when the next batch or box is due; None if none is waiting."""
        if not self.readiness.ready:
            return None
        times = (self.queue.next_due(), self.reconciler.box_writer.next_due())
        return min(filter(None, times), default=None)

    def _close_boxes(self, now: datetime) -> None:
        """Seal the boxes of idle sessions, and of flushed ones without waiting turns."""
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
        """Write the turns of a batch into their session file.

        Returns the batch with the turns that the file contains, or an empty list if the
        batch is parked or a user deleted all its turns. If a user is editing the
        session file, the batch waits until the file is at rest, except after a flush.
        """
        note_writer = self.reconciler.note_writer
        batch = self.intake.count_restart(batch, now)
        until = None
        if not batch.filed and batch.why != ASKED:
            until = note_writer.quiet_until(batch, now)
        if until:
            why = "a user is editing the session file"
            self.intake.park(batch, until, why, durable=False)
            return []

        try:
            if batch.filed:
                batches = self.intake.without_gone_turns(batch)
            else:
                batches = self._filed(batch, now)
        except EngramError as error:
            self.postpone(batch, "session file", error)
            return []
        self.health.clear("session file")
        return batches

    def _filed(self, batch: Batch, now: datetime) -> list[Batch]:
        """Write the turns of a batch into their session file; return those to file.

        The older version of an edited message is withdrawn.
        """
        edits = self.reconciler.turn_edits
        turns = [item.filed for item in batch.waiting]
        filed = self.reconciler.note_writer.file_turns(turns)
        placed = self.intake.update_placement(batch, filed)
        edited = any(first_id(one.turn) is not None for one in filed)
        if edited and edits.replace_older(filed, self.queue.numbers(), now):
            self.reconciler.entity_removal.tidy(now)
        if any(map(edits.is_withdrawn, filed)):
            return self.intake.without_gone_turns(placed)
        return [placed]

    def postpone(
        self, batch: Batch, part: str, error: EngramError, state: State = "parked"
    ) -> None:
        """Delay a batch after a failed write; its turns are in the journal."""
        batch, until, reason = self._next_try(batch, error)
        self.health.report(part, reason)
        self.queue.put(batch, state, until=until, reason=reason)

    def _next_try(
        self, batch: Batch, error: EngramError
    ) -> tuple[Batch, datetime, str]:
        """Count a failed write; return the batch, its next try and the reason.

        The reason contains the error, the time of the first failure and that of the
        next try.
        """
        now, zone = self.clock(), self.settings.zone
        batch = batch.as_failed(now)
        until = now + retry_wait(batch.failures, self.settings.policy.model)
        since = (batch.failing_since or now).astimezone(zone)
        reason = (
            f"{error} It has failed since {since:%Y-%m-%d %H:%M}"
            f" and is tried again at {until.astimezone(zone):%Y-%m-%d %H:%M}."
        )
        return batch, until, reason

    # -- batches in --------------------------------------------------------------------

    def distil(self, batch: Batch) -> Extraction:
        """Return the extraction of a batch; slow with a model. Raises ModelError."""
        return self.distiller.distil(batch)

    def file(self, batch: Batch, outcome: Extraction | ModelError) -> BatchResult:
        """Write the extraction of a batch into the vault.

        After a ModelError the batch is parked; after the last try the offline rules
        extract it (`C3`, `X2`).
        """
        now = self.clock()
        if isinstance(outcome, ModelError):
            result = self._file_failed(batch, outcome, now)
        else:
            if outcome.extractor != engine.EXTRACTOR:
                self.health.clear("model")
            result = self._reconciled(batch, outcome, now)
            self.intake.remove_filed(batch)
            self._close_boxes(now)
        self.health.report("filing", self.queue.stuck_reason())
        self.commits.filed(len(result.created), batch.waiting[0].filed.note)
        return result

    def _file_failed(
        self, batch: Batch, error: ModelError, now: datetime
    ) -> BatchResult:
        self.health.report("model", str(error))
        again = self.extractor.again(batch, error, now)
        if again is not None:
            self.intake.park(*again, error.what)
            return BatchResult()

        extraction = self.distiller.distil_by_rules(batch)
        result = self._reconciled(batch, extraction, now)
        self.intake.give_up(batch, error.what)
        return result

    def _reconciled(
        self, batch: Batch, extraction: Extraction, now: datetime
    ) -> BatchResult:
        """Write the batch; a memory that it states again is confirmed (`C17`).

        If a user edited or moved a note that the batch changes, and the catalogue does
        not know it yet, the vault is scanned and the batch is planned again.
        """
        try:
            result = self.reconciler.file(batch, extraction, now)
        except (ConflictError, NotFoundError):
            self.reconciler.note_writer.scan_all()
            result = self.reconciler.file(batch, extraction, now)
        self._filed_again |= bool(batch.attempts)
        for fact_id in result.confirmed:
            self.reconciler.usage_tracker.record_confirmation(fact_id, now)
        return result

    def take_filed_again(self) -> bool:
        """Return whether a batch was filed again since the last call.

        Questions in review may have been answered before both of their memories
        existed.
        """
        filed_again, self._filed_again = self._filed_again, False
        return filed_again

    def drain(self) -> None:
        """Distil and file all waiting turns at once."""
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
                self.postpone(batch.as_tried(), "filing", error)
