"""Memory: one vault in one process. It opens, wires and closes; the parts do the rest.

Operations that read, and `observe`, may be called from any thread. Everything that
writes notes belongs to one thread at a time: the writer of a daemon, or the caller where
no daemon runs.
"""

from __future__ import annotations

import json
import logging
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from engram.core import trust
from engram.core.language.echo import HandedOut
from engram.errors import (
    EngramError,
    Health,
    LockedError,
    NotFoundError,
)
from engram.extraction.extract import Extractor
from engram.index.conversations import SessionReader
from engram.index.search import Index
from engram.ingest import intake
from engram.maintenance.clock import ClockGuard, FreezeGuard, boottime
from engram.maintenance.questions import MaintenanceLoop
from engram.maintenance.run import Maintenance
from engram.maintenance.schedule import Schedule
from engram.operations.cases import CaseReader
from engram.operations.explain import Explainer
from engram.operations.file_sync import FileSync
from engram.operations.health import HealthOperations
from engram.operations.memories import MemoryOperations
from engram.operations.notes import NoteEditor
from engram.operations.retrieval import Retriever
from engram.operations.review import ReviewQueue
from engram.operations.statements import StatementOperations
from engram.operations.table import checked, handlers, named
from engram.pipeline.commits import CommitLog
from engram.pipeline.distil import Distiller
from engram.pipeline.embed import EmbeddingWorker, embed_some
from engram.pipeline.executor import Inline
from engram.pipeline.process import TurnPipeline
from engram.pipeline.readiness import Readiness
from engram.pipeline.reconcile import Reconciler
from engram.pipeline.usage import UsageTracker
from engram.pipeline.write import NoteWriter
from engram.recall.context import ContextBuilder
from engram.vault import disk, location, locks, template
from engram.vault.journal import Journal
from engram.vault.store import Vault
from engram.vault.usage import UsageLog, device_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from engram.config import Settings
    from engram.operations.table import Operation
    from engram.pipeline.executor import Executor

log = logging.getLogger("engram.memory")
UNLOCKED = (
    "the file system of the vault cannot lock folders ({why}); only the state folder keeps a second writer away, so "
    "run no daemon with another ENGRAM_HOME or on another machine on this folder"
)
INJECTED = "injected.json"
OWN = "own-writes.json"


def utc_now() -> datetime:
    """The clock outside tests."""
    return datetime.now(UTC)


class Memory:
    """One vault with its journal and index. `start` before use, `close` after.

    `executor` does the work between calls. `clock` is the wall clock, `steady` (seconds)
    the clock that it is checked against, `monotonic` (seconds) times the second look at
    files that are gone; tests and simulations pass clocks of their own.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        executor: Executor | None = None,
        clock: Callable[[], datetime] = utc_now,
        steady: Callable[[], float] = boottime,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.steady = steady
        self._monotonic = monotonic
        self.executor = executor or Inline()
        self.health = Health()
        self.handed_out = HandedOut(settings.policy.echo)

    # -- life --------------------------------------------------------------------------

    def start(self) -> None:
        """Take the lock, replay the journal, open the index: recall works from here on,
        marked incomplete.

        Raises NotFoundError (no vault there), LockedError (another process owns it, or
        its state), StorageError.
        """
        settings = self.settings
        template.check_vault(settings.vault)
        for folder in (settings.state, settings.cache):
            disk.make_folders(folder)
        self._lock = locks.lock(settings.state / "lock", settings.vault)
        if self._lock.unlocked:
            self.health.report("lock", UNLOCKED.format(why=self._lock.unlocked))
        try:
            self._settle_in()
            self._open()
            for fault in self.intake.recover(self.clock()):
                self.health.report("journal", fault)
            self.between()
        except BaseException:
            if hasattr(self, "index"):
                self.index.catalog.close()
            self._lock.release()
            raise

    def _settle_in(self) -> None:
        """Record that the state is this folder's, unless another folder took it since
        the settings were loaded.

        A folder that holds other files than the catalogue knows, as a backup that was
        put back, has another identity; then the catalogue begins anew, and nothing
        passes for deleted.
        """
        settings, place = self.settings, self.settings.place
        # a state folder of the caller's choice
        if place is None or str(settings.state) != place.state:
            return
        now = location.choose_again(place, str(settings.vault), settings.vault_id)
        if now.leaf != place.leaf:
            fix = "Try again: it gets a state of its own."
            raise LockedError(
                "another vault took this state meanwhile", where=place.state, fix=fix
            )
        record = settings.state / location.RECORD
        if not record.exists() or disk.read(record) != place.record():
            disk.write_derived(record, place.record())
            disk.sync([record, settings.state])
        if told := place.told():
            log.warning("%s: %s", settings.vault, told)

    def _open(self) -> None:
        settings = self.settings
        self.commits = CommitLog(settings, self.health, self.executor)
        self.vault = Vault(settings.vault, self.commits.before_write)
        self.clock_guard = ClockGuard(settings, self.health, self.clock, self.steady)
        self.index = Index(
            settings,
            self.vault,
            monotonic=self._monotonic,
            git=self.commits.repository,
        )
        self.journal = Journal(settings.state / "journal", settings.policy.journal)
        self.intake = intake.Intake(self.journal, self.index, settings, self.health)
        self.queue = self.intake.queue
        self.note_writer = NoteWriter(self.vault, self.index, settings, self.health)
        usage_log = UsageLog(
            self.vault, device_of(settings.state), settings.policy.usage
        )
        self.usage_tracker = UsageTracker(usage_log, self.index, settings.policy)
        self.reconciler = Reconciler(self.note_writer, self.usage_tracker)
        entity_writer = self.reconciler.entity_writer
        self.extractor = Extractor(settings, self.clock, self.handed_out)
        model = settings.embeddings
        self.embedding = (
            EmbeddingWorker(settings, model, self.extractor.spend, self.clock)
            if model
            else None
        )
        distiller = Distiller(self.extractor, self.reconciler.ladder, self.embedding)
        self.readiness = Readiness(self.index)
        schedule = Schedule(
            settings.state / "consolidation.json",
            settings.zone,
            settings.policy.consolidation,
        )
        self.pipeline = TurnPipeline(
            settings,
            self.clock,
            self.health,
            self.executor,
            readiness=self.readiness,
            intake=self.intake,
            distiller=distiller,
            reconciler=self.reconciler,
            commits=self.commits,
            filed_memories=schedule,
        )
        order = Maintenance(
            self.note_writer,
            self.usage_tracker,
            entity_writer,
            self.clock,
            FreezeGuard(self.clock_guard, self.commits, self.health),
            self.commits.git,
        )
        self.maintenance_loop = MaintenanceLoop(
            order, schedule, self.extractor, settings, self.clock, self.executor
        )
        cases = CaseReader(self.vault, self.index, settings)
        self.review_queue = ReviewQueue(self.note_writer, cases, order, self.clock)
        self.files = FileSync(
            self.reconciler, self.review_queue, self.readiness, self.commits
        )
        editor = NoteEditor(self.note_writer, self.clock, self.files.rescan)
        self.memory_operations = MemoryOperations(
            editor, self.reconciler.forgetting, self.review_queue, self.usage_tracker
        )
        statements = StatementOperations(
            editor, self.reconciler, self.intake, self.memory_operations
        )
        explainer = Explainer(
            self.note_writer, self.usage_tracker, entity_writer, self.clock
        )
        talks = SessionReader(self.vault, self.index, settings)
        self.retriever = Retriever(
            self.index,
            settings,
            self.clock,
            entity_writer,
            self.usage_tracker,
            self.handed_out,
            self.embedding,
        )
        self.context_builder = ContextBuilder(
            talks, self.handed_out, self.clock, self.retriever.recall
        )
        health_operations = HealthOperations(
            self.index,
            settings,
            self.clock,
            self.queue,
            self.health,
            entity_writer,
            self.extractor,
            self.maintenance_loop,
            self.files.rescan,
        )
        self._handlers = handlers(
            {
                "turns": self.pipeline,
                "files": self.files,
                "memories": self.memory_operations,
                "statements": statements,
                "explainer": explainer,
                "cases": cases,
                "review": self.review_queue,
                "retriever": self.retriever,
                "context": self.context_builder,
                "maintenance": self.maintenance_loop,
                "health": health_operations,
            }
        )
        with suppress(EngramError, ValueError, TypeError):
            self.vault.own_writes.update(json.loads(disk.read(settings.cache / OWN)))
        with suppress(NotFoundError, ValueError, AttributeError):
            self.handed_out.load(json.loads(disk.read(settings.state / INJECTED)))

    def warm(self) -> set[Path]:
        """Compare the vault with the catalogue and take in what changed meanwhile.

        As with `rescan`, the paths given back want another look; without a daemon they
        had it.
        """
        # else what a run did that was cut short passes for a person's doing
        self.maintenance_loop.order.recover()
        self.usage_tracker.refresh(self.clock())
        unsettled: set[Path] = set()
        if self.executor.attended:
            unsettled = self.files.rescan(None)
        else:
            self.files.rescan_settled(None)
        self.files.meet_unrecorded()
        self.note_writer.seed()
        self.commits.passing()
        self.readiness.set_compared(compared=True)
        return unsettled

    @property
    def ready(self) -> bool:
        """Whether the catalogue knows what is in the vault."""
        return self.readiness.ready

    def embed(self) -> bool:
        """Give a share of the units that have none their vectors, in any thread;
        whether more are waiting (`X18`).
        """
        if self.embedding is None or not self.ready:
            return False
        some = self.settings.policy.vectors.texts
        return embed_some(self.index, self.embedding, some) == some

    def save(self) -> None:
        """Write down what would be slow to make again after a crash, and how memories
        were used.
        """
        self.index.save()
        self.maintenance_loop.schedule.save()
        self._save_injected()
        self._save_own()
        if not self.commits.away():
            self.usage_tracker.flush()
            self.reconciler.box_writer.save()
        self.commits.passing()

    def _save_injected(self) -> None:
        """What was handed out is known after a restart too; a crash loses the last hour
        of it (`X7`).
        """
        disk.write_derived(
            self.settings.state / INJECTED, json.dumps(self.handed_out.dump()).encode()
        )

    def _save_own(self) -> None:
        """The next process, as the next command is, need not take what this one just
        wrote for a person's doing.
        """
        first = (
            self.clock().timestamp() - self.settings.policy.files.quiet_seconds
        ) * 1e9
        late = {
            path: when for path, when in self.vault.own_writes.items() if when > first
        }
        disk.write_derived(self.settings.cache / OWN, json.dumps(late).encode())

    def close(self) -> None:
        """Save the index and let go of the vault. What waits stays in the journal."""
        self.readiness.set_compared(compared=False)
        self.queue.close()
        try:
            with suppress(EngramError):
                self.usage_tracker.flush()
                self.maintenance_loop.schedule.save()
                self._save_injected()
                self._save_own()
                if not self.commits.away():
                    self.reconciler.box_writer.save()
            self.index.close()
        finally:
            self.journal.close()
            self._lock.release()

    def call(
        self, name: str, params: dict[str, Any], standing: str = "chat"
    ) -> dict[str, Any]:
        """Carry out the operation `name`; its result fits JSON. Raises EngramError.

        `standing` is the kind of token that the caller showed (`X17`): chat, import or
        tool; or `owner` for the owner's command line, which counts as a chat and also
        gets notes whose persona is not known.
        """
        operation, arguments = named(name), checked(name, params)
        operation.authorise(standing)
        self._catch_up(operation)
        owner = standing == trust.OWNER
        facts = {
            "standing": "chat" if owner else standing,
            "owner": owner,
            "ready": self.ready,
        }
        arguments |= {fact: facts[fact] for fact in operation.call_facts}
        result = self._handlers[name](**arguments)
        if operation.retracts:
            self.maintenance_loop.retell()
        if operation.writes:
            self.commits.called(name, result)
        return result

    def _catch_up(self, operation: Operation) -> None:
        """Compare the vault with the index where this operation needs it.

        With a daemon the watcher reports changed files; without one they are looked for
        after a while.
        """
        alone = not self.executor.attended
        if alone:
            self.between()
        stale = alone and time.monotonic() > self.files.look_due
        unread = (alone or operation.writes) and not self.index.scanner.generation
        if self.readiness.compared and (stale or unread):
            self.files.rescan(None)

    def between(self) -> None:
        """What is due whatever else is done: look at the clock, commit the operation
        that has ended.
        """
        self.clock_guard.look()
        if self.pipeline.take_filed_again():
            self.files.apply_answers(None)
        self.commits.settle()
