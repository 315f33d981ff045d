"""VaultMemory: opens, wires and closes one vault in one process.

Operations that read, and `observe`, may be called from any thread. Only one thread at a
time may write notes: the writer of a daemon, or the caller if no daemon runs.
"""

from __future__ import annotations

import json
import logging
import time
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from engram.core import trust
from engram.core.language.echo import HandedOut
from engram.errors import (
    ConfigError,
    EngramError,
    Health,
    LockedError,
    ModelError,
    NotFoundError,
)
from engram.extraction.extract import Extractor
from engram.index.conversations import SessionReader
from engram.index.database import open_store
from engram.index.search import Index
from engram.ingest import intake
from engram.maintenance.clock import ClockGuard, FreezeGuard, boottime
from engram.maintenance.loop import MaintenanceLoop
from engram.maintenance.run import Maintenance
from engram.maintenance.schedule import Schedule
from engram.operations.cases import CaseReader
from engram.operations.context import ContextBuilder
from engram.operations.digest import Digest
from engram.operations.explain import Explainer
from engram.operations.file_sync import FileSync, NoteEditor
from engram.operations.health import HealthOperations
from engram.operations.listing import FactTable, MemoryList
from engram.operations.memories import MemoryOperations
from engram.operations.overview import Overview
from engram.operations.purge import PurgeOperations
from engram.operations.questions import Questions
from engram.operations.requested import RequestedRuns
from engram.operations.retrieval import Retriever, asking
from engram.operations.review import ReviewQueue
from engram.operations.signature import declared
from engram.operations.statements import StatementOperations
from engram.operations.table import READER, checked, named
from engram.operations.turns import TurnOperations
from engram.operations.views import Views
from engram.pipeline.commits import CommitLog
from engram.pipeline.distil import Distiller
from engram.pipeline.embed import (
    EmbeddingWorker,
    calibrate_when_due,
    embed_some,
)
from engram.pipeline.executor import Inline
from engram.pipeline.process import TurnPipeline
from engram.pipeline.readiness import Readiness
from engram.pipeline.reconcile import Reconciler
from engram.pipeline.usage import UsageTracker
from engram.pipeline.write import NoteWriter
from engram.vault import disk, location, locks, spool, template
from engram.vault.journal import Journal
from engram.vault.store import Vault
from engram.vault.usage import UsageLog, device_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from engram.config import Settings
    from engram.index.protocol import IndexStore
    from engram.operations.table import Operation
    from engram.pipeline.executor import Executor

log = logging.getLogger("engram.memory")
UNLOCKED = (
    "the file system of the vault cannot lock folders ({why}); only the state folder "
    "keeps a second writer away, so run no daemon with another ENGRAM_HOME or on another "
    "machine on this folder"
)

HANDED_OUT = "injected.json"
"""File in the state folder: the texts that recall returned, by session (`X7`)."""

FILING = frozenset({"observe", "flush", "remember", "correct"})
"""Operations that file memories, which then need vectors."""

ASKING = frozenset({"recall", "context"})
"""Operations that search by vectors."""

FEW = 16
"""Maximum number of units that are embedded before an answer: half a second."""

OWN_WRITES = "own-writes.json"
"""File in the cache: the files that this program wrote in the last minute."""


def utc_now() -> datetime:
    """Return the time of the wall clock."""
    return datetime.now(UTC)


def _before_write(store: IndexStore, commits: CommitLog) -> Callable[[str], None]:
    """Return the check before each write that this process still owns the vault."""

    def check(path: str) -> None:
        store.check_owner()
        commits.before_write(path)

    return check


class VaultMemory:
    """One vault with its journal and index. `start` before use, `close` after.

    `executor` does the work between calls. `clock` is the wall clock, `steady`
    (seconds) the clock that it is compared with, and `monotonic` (seconds) times the
    second scan of missing files; tests and simulations pass their own.
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
        self._lock: locks.Lock | None = None
        self.clock = clock
        self.steady = steady
        self._monotonic = monotonic
        self.executor = executor or Inline()
        self.health = Health()
        self.handed_out = HandedOut(settings.policy.echo)

    # -- life --------------------------------------------------------------------------

    def start(self) -> None:
        """Acquire the locks, open the index, replay the journal.

        From then on recall works, and reports that it is incomplete until `warm` is
        done. Raises NotFoundError (no vault), LockedError (another process has the
        vault or its state) and StorageError.
        """
        settings = self.settings
        template.check_vault(settings.vault)
        for folder in (settings.state, settings.cache):
            disk.make_folders(folder)
        self._lock = self._locked()
        if self._lock.unlocked and not settings.postgres:
            self.health.report("lock", UNLOCKED.format(why=self._lock.unlocked))
        try:
            self._record_place()
            self._build()
            self._load()
            for fault in self.intake.recover(self.clock()):
                self.health.report("journal", fault)
            self.between_operations()
        except BaseException:
            if hasattr(self, "store"):
                self.store.close()
            self._lock.release()
            raise

    def _locked(self) -> locks.Lock:
        settings = self.settings
        try:
            return locks.lock(
                settings.state / "lock",
                settings.vault,
                optional=bool(settings.postgres),
            )
        except LockedError:
            if settings.postgres:
                from engram.index.owner import raise_for_owner

                raise_for_owner(settings.postgres, settings.rows_name)
            raise

    def open_copy(self) -> None:
        """Open the vault for `read` only, without its locks; `close_copy` ends it.

        The settings name copies of the cache and the state of the process that owns the
        vault. The vault itself is read in place, and not written.
        """
        template.check_vault(self.settings.vault)
        for folder in (self.settings.state, self.settings.cache):
            disk.make_folders(folder)
        self._build()
        self.intake.recover(self.clock())
        self.index.scan(None)
        self.reconciler.entity_writer.refresh()
        self.readiness.set_compared(compared=True)

    def close_copy(self) -> None:
        """Close what `open_copy` opened, and write nothing."""
        self.index.catalog.close()
        self.journal.close()

    def _record_place(self) -> None:
        """Record that the state folder belongs to this vault folder.

        Raises LockedError if another folder has acquired it since the settings were
        loaded. A restored backup is another folder, so its catalogue begins anew and
        nothing counts as deleted.
        """
        settings, place = self.settings, self.settings.place
        if place is None or str(settings.state) != place.state:
            return  # the caller chose the state folder

        now = location.choose_again(place, str(settings.vault), settings.vault_id)
        if now.leaf != place.leaf:
            raise LockedError(
                "another vault has acquired this state in the meantime",
                where=place.state,
                fix="Try again: the vault then gets its own state.",
            )

        record = settings.state / location.RECORD
        if not record.exists() or disk.read(record) != place.record():
            disk.write_derived(record, place.record())
            disk.sync([record, settings.state])
        if notice := place.notice():
            log.warning("%s: %s", settings.vault, notice)

    def _build(self) -> None:
        """Build every part from parts above it."""
        settings = self.settings
        self.store = open_store(settings)
        self.commits = CommitLog(settings, self.health, self.executor, self.store)
        self.clock_guard = ClockGuard(settings, self.health, self.clock, self.steady)
        self.vault = Vault(settings.vault, _before_write(self.store, self.commits))
        self.index = Index(
            settings,
            self.vault,
            monotonic=self._monotonic,
            git=self.commits.repository,
            store=self.store,
            health=self.health,
        )
        self.journal = Journal(
            settings.state / "journal",
            settings.policy.journal,
            self.store.check_owner,
            self.store.owner_number,
        )
        device = device_of(settings.state)
        self.intake = intake.Intake(
            self.journal, self.index, settings, self.health, self.vault, device
        )
        self.queue = self.intake.queue
        self.note_writer = NoteWriter(self.vault, self.index, settings, self.health)
        usage_log = UsageLog(self.vault, device, settings.policy.usage)
        self.usage_tracker = UsageTracker(usage_log, self.index, settings.policy)
        self.reconciler = Reconciler(self.note_writer, self.usage_tracker)
        entity_writer = self.reconciler.entity_writer
        self.extractor = Extractor(
            settings, self.clock, self.handed_out, entity_writer.names
        )
        model = settings.embeddings
        self.embedding = (
            EmbeddingWorker(settings, model, self.extractor.spend, self.clock)
            if model
            else None
        )
        distiller = Distiller(
            self.extractor, self.reconciler.comparison, self.embedding
        )
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
        )
        maintenance = Maintenance(
            self.note_writer,
            self.usage_tracker,
            entity_writer,
            self.reconciler.comparison,
            self.clock,
            FreezeGuard(self.clock_guard, self.commits, self.health),
            self.commits.git,
        )
        self.maintenance_loop = MaintenanceLoop(
            maintenance,
            schedule,
            self.extractor,
            settings,
            self.clock,
            self.executor,
            self.reconciler.imports,
            self.reconciler.entity_removal,
        )
        cases = CaseReader(self.vault, self.index, settings)
        forgetting = self.reconciler.forgetting
        self.review_queue = ReviewQueue(self.reconciler, cases, maintenance, self.clock)
        self.files = FileSync(
            self.reconciler,
            self.review_queue,
            self.readiness,
            self.commits,
            schedule,
        )
        editor = NoteEditor(self.files)
        self.memory_operations = MemoryOperations(
            editor,
            forgetting,
            self.review_queue,
            self.usage_tracker,
            self.reconciler.entity_removal,
        )
        statements = StatementOperations(
            editor, self.reconciler, self.intake, self.memory_operations
        )
        purging = PurgeOperations(
            self.reconciler, self.intake, maintenance, self.files, self.commits
        )
        fact_table = FactTable(self.index)
        explainer = Explainer(
            self.note_writer, self.usage_tracker, entity_writer, self.clock, fact_table
        )
        sessions = SessionReader(self.vault, self.index, settings)
        self.retriever = Retriever(
            self.index,
            settings,
            self.clock,
            entity_writer,
            self.usage_tracker,
            self.handed_out,
            self.embedding,
            self.note_writer,
            sessions,
        )
        questions = Questions(cases, self.clock)
        self.context_builder = ContextBuilder(sessions, self.retriever, questions)
        health_operations = HealthOperations(
            self.files, self.queue, self.maintenance_loop, self.embedding
        )
        parts = (
            self.files,
            self.memory_operations,
            statements,
            explainer,
            questions,
            self.review_queue,
            self.retriever,
            self.context_builder,
            MemoryList(self.retriever, fact_table, explainer.stages),
            Overview(self.retriever, fact_table),
            TurnOperations(self.retriever, self.reconciler, self.pipeline),
            Views(self.retriever, sessions, explainer),
            purging,
            RequestedRuns(self.maintenance_loop, self.retriever),
            Digest(self.retriever, self.context_builder),
            health_operations,
        )
        self._handlers = {
            name: method for part in parts for name, method in declared(part)
        }

    def _load(self) -> None:
        """Read the state that the last process saved; any of the files may be missing."""
        settings = self.settings
        with suppress(EngramError, ValueError, TypeError):
            self.vault.own_writes.update(
                json.loads(disk.read(settings.cache / OWN_WRITES))
            )
        with suppress(NotFoundError, ValueError, AttributeError):
            self.handed_out.load(json.loads(disk.read(settings.state / HANDED_OUT)))

    def catch_up(self) -> set[Path]:
        """Compare the vault with the catalogue and index the changes.

        Returns the paths that need a second scan, as `FileSync.rescan` does; without a
        daemon they have had it.
        """
        # First, so that the files of an interrupted run do not count as user edits.
        self.maintenance_loop.maintenance.recover()
        self.usage_tracker.refresh(self.clock())
        unsettled: set[Path] = set()
        if self.executor.attended:
            unsettled = self.files.rescan(None)
        else:
            self.files.rescan_settled(None)
        self.files.meet_unrecorded()
        self.reconciler.forgetting.renew()
        self.note_writer.update_hashes()
        self.commits.defer_commit()
        self.readiness.set_compared(compared=True)
        self.store_spooled()
        return unsettled

    def store_spooled(self) -> None:
        """Store the turns that hooks could not give to a daemon.

        A file that cannot be stored remains in the spool, and the health tells why.
        """
        problem = ""
        for path in spool.waiting(self.settings.state):
            try:
                if turns := spool.turns_of(path):
                    self.read("observe", {"turns": turns})
                disk.remove(path)
            except (EngramError, ValueError) as fault:
                problem = f"{path}: {fault}"
            else:
                if self.executor.attended:
                    self.executor.turns_arrived()
        self.health.report("spool", problem)

    @property
    def ready(self) -> bool:
        """Whether the catalogue covers the whole vault."""
        return self.readiness.ready

    def embed(self) -> bool:
        """Embed some units without a vector; return whether more are waiting (`X18`).

        May be called from any thread.
        """
        if self.embedding is None or not self.ready:
            return False
        some = self.settings.policy.vectors.texts
        if embed_some(self.index, self.embedding, some) == some:
            return True
        if report := calibrate_when_due(self.index):
            log.info("similarities calibrated on %d pairs", report["pairs"])
        return False

    def save(self) -> None:
        """Write the usage, and snapshots of data that is slow to compute."""
        if self.store.lost:
            return
        self.store_spooled()
        self.index.save()
        self.maintenance_loop.schedule.save()
        self._save_handed_out()
        self._save_own_writes()
        if not self.commits.away():
            self.usage_tracker.flush()
            self.reconciler.box_writer.save()
        self.commits.done("use", "record which memories were used")

    def _save_handed_out(self) -> None:
        """Save the texts that recall returned for the next start (`X7`).

        A crash loses those of an hour.
        """
        content = json.dumps(self.handed_out.dump()).encode()
        disk.write_derived(self.settings.state / HANDED_OUT, content)

    def _save_own_writes(self) -> None:
        """Record for the next process which recent writes were not user edits."""
        quiet = self.settings.policy.files.quiet_seconds
        oldest = (self.clock().timestamp() - quiet) * 1e9
        recent = {
            path: written
            for path, written in self.vault.own_writes.items()
            if written > oldest
        }
        content = json.dumps(recent).encode()
        disk.write_derived(self.settings.cache / OWN_WRITES, content)

    def close(self) -> None:
        """Save, and release the vault. Waiting turns stay in the journal."""
        self.readiness.set_compared(compared=False)
        self.queue.close()
        try:
            if not self.store.lost:
                with suppress(EngramError):
                    self._save_on_close()
        finally:
            self.journal.close()
            self.store.clean = self.journal.is_empty
            try:
                self.index.close()
            finally:
                if self._lock:
                    self._lock.release()

    def _save_on_close(self) -> None:
        self.usage_tracker.flush()
        self.maintenance_loop.schedule.save()
        self._save_handed_out()
        self._save_own_writes()
        if not self.commits.away():
            self.reconciler.box_writer.save()

    def call(
        self, name: str, params: dict[str, Any], standing: str = "chat"
    ) -> dict[str, Any]:
        """Carry out the operation `name`; its result fits JSON. Raises EngramError.

        `standing` is the kind of the caller's token (`X17`): chat, import or tool; or
        `owner` for the owner's command line, which counts as a chat and also gets notes
        whose persona is unknown.
        """
        operation = named(name)
        self._refresh_for(operation)
        if name in ASKING and not self.executor.attended:
            self._embed_few()
        # What is to be hidden is hidden by the files alone: no full disk undoes it.
        late = self.index.may_be_late() if operation.retracts else nullcontext()
        if operation.decides and not params.get("run"):
            with late, self.note_writer.deciding(name, self.clock()) as decision:
                result = self.read(name, params, standing)
            result |= {"run": decision.run} if decision.run else {}
        else:
            with late:
                result = self.read(name, params, standing)
        if operation.retracts:
            self.maintenance_loop.retell()
        if operation.writes:
            self.commits.called(name, result)
        if name in FILING:
            if self.executor.attended:
                self.executor.turns_arrived()
            else:
                self._embed_alone()
        return result

    def read(
        self, name: str, params: dict[str, Any], standing: str = "chat"
    ) -> dict[str, Any]:
        """Carry out an operation on the index as it is, without scanning the files.

        Called directly it is only for operations that read, because another thread may
        change the vault at the same time. Raises EngramError.
        """
        operation, arguments = named(name), checked(name, params)
        operation.authorise(standing)
        owner = standing == trust.OWNER
        facts: dict[str, Any] = {
            "standing": "chat" if owner else standing,
            "owner": owner,
            "ready": self.ready,
        }
        if "asks" in operation.call_facts:
            everyone = arguments.pop("all_personas")
            persona = arguments.pop("persona")
            facts["asks"] = asking(
                persona, self.settings, owner=owner, everyone=everyone
            )
        arguments |= {fact: facts[fact] for fact in operation.call_facts}
        if standing == READER:
            recorded = {"record", "with_question"} & arguments.keys()
            arguments |= dict.fromkeys(recorded, False)
        return self._handlers[name](**arguments)

    def _embed_alone(self) -> None:
        """Embed waiting units if there is no daemon; do not try again after an error."""
        if "embeddings" in self.health.problems():
            return
        try:
            while self.embed():
                pass
        except (ModelError, ConfigError) as fault:
            self.health.report("embeddings", str(fault))

    def _embed_few(self) -> None:
        """Embed the waiting units with a model in process, if they are few."""
        semantic = self.index.semantic
        if semantic is None or not semantic.only_ranks:
            return
        have, wanted = semantic.coverage(self.index.lexical)
        if have < wanted and 0 < len(self.index.unembedded(FEW + 1)) <= FEW:
            self._embed_alone()

    def _refresh_for(self, operation: Operation) -> None:
        """Compare the vault with the index if this operation needs it.

        With a daemon the watcher reports changed files; without one the files are
        scanned after a while.
        """
        alone = not self.executor.attended
        if alone:
            self.between_operations()
        stale = alone and time.monotonic() > self.files.look_due
        unread = (alone or operation.writes) and not self.index.scanner.generation
        if self.readiness.compared and (stale or unread):
            self.files.rescan(None)

    def between_operations(self) -> None:
        """Check the clock and commit the operation that has ended.

        The writer of a daemon calls this between its jobs, a process without a daemon
        before each operation.
        """
        self.clock_guard.look()
        if self.pipeline.take_filed_again():
            self.files.apply_answers(None)
        self.commits.commit_if_due()
