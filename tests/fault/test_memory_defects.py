"""The batteries of the whole path are tested: each defect, put in on purpose, is found
by one of them.
"""

from __future__ import annotations

from contextlib import suppress

import pytest
from batteries import fail_everywhere, kill_everywhere
from harness import Bench, BrokenPromiseError
from lives import ERRORS, HEALED, KILLS, any_cache, heal_everywhere, holds_nothing_up
from works import DeedsWork, IngestWork, ReindexWork

from engram.errors import EngramError
from engram.index.search import Index
from engram.ingest.intake import Intake
from engram.operations.file_sync import FileSync
from engram.pipeline.forgetting import Forgetting
from engram.pipeline.process import TurnPipeline
from engram.pipeline.write import NoteWriter
from engram.vault.journal import Journal
from engram.vault.store import ACTIONS, Vault


def settle_first(self, batch, outcome):
    """The journal lets go before the facts are there."""
    self.intake.remove_filed(batch)
    self.reconciler.file(batch, outcome, self.clock())


def acknowledge_unstored(self, placed, ticket, now):
    """The turns are taken, and the journal never hears of them."""
    self.index.add_turns(placed)
    for seq, filed in enumerate(placed, 1000):
        self.queue.add([self._waiting(seq, filed, now)])
    ticket.set_result(None)


def no_session_file(self, turns):
    """The turns are taken for filed."""
    self.index.filed(turns)
    return tuple(turns)


def log_or_nothing(self, path, write):
    """What explains holds everything up."""
    write()


def record_later(self, facts, _now):
    """A deletion is acknowledged first and recorded afterwards, in a later step."""
    self._later = [*getattr(self, "_later", ()), *facts]


def rescan_then_record(
    self,
    paths,
    *,
    accept_deletions=False,
    honest=FileSync.rescan,
    record=Forgetting.record_deletions,
):
    unsettled = honest(self, paths, accept_deletions=accept_deletions)
    later, self.forgetting._later = getattr(self.forgetting, "_later", []), []
    if later:
        record(self.forgetting, later, self.clock())
    return unsettled


def forgets_waiting(self):
    """A refused snapshot takes the waiting turns out of the index."""
    for key in self._waiting:
        self.lexical.remove([key])
    self.lexical.save(self.settings.cache, self._mark)
    self.lexical.add([])


def believes_any_mark(self):
    """The snapshot is taken to stand where the catalogue stands."""
    return self.catalog.mark if self.lexical.load(self.settings.cache) else ""


def nothing(*_given, **_named):
    """It is not done."""


def swallow(_self, work, *values):
    """A refusal is taken for success."""
    with suppress(EngramError):
        work(*values)


def found(arena, work, battery, *more):
    """Whether the battery breaks a promise of the scenario."""
    with pytest.raises(BrokenPromiseError):
        battery(Bench.prepare(work, arena), *more)


def test_settling_the_journal_before_the_facts_is_found_by_a_kill(arena, monkeypatch):
    """The turns stand in their file, but what they say was never distilled."""
    monkeypatch.setattr(TurnPipeline, "file", settle_first)
    found(arena, IngestWork(), kill_everywhere, KILLS)


def test_an_acknowledgement_without_the_journal_is_found_by_a_kill(arena, monkeypatch):
    """The caller is told before anything is written."""
    monkeypatch.setattr(Intake, "_commit", acknowledge_unstored)
    found(arena, IngestWork(), kill_everywhere, KILLS)


def test_facts_without_a_session_file_are_found_undisturbed(arena, monkeypatch):
    """The evidence of a fact does not stand."""
    monkeypatch.setattr(NoteWriter, "file_turns", no_session_file)
    found(arena, IngestWork(), kill_everywhere, KILLS)


def test_a_tombstone_after_the_acknowledgement_is_found_by_a_kill(arena, monkeypatch):
    """A deleted statement could come back after a crash."""
    monkeypatch.setattr(Forgetting, "record_deletions", record_later)
    monkeypatch.setattr(FileSync, "rescan", rescan_then_record)
    # few calls lie between the two
    found(arena, DeedsWork(caches=("kept",)), kill_everywhere, 2 * KILLS)


def test_a_lost_tombstone_is_found_undisturbed(arena, monkeypatch):
    """What was forgotten and said again stands among the active facts."""
    monkeypatch.setattr(Vault, "add_tombstones", nothing)
    found(arena, DeedsWork(), kill_everywhere, KILLS)


def test_a_batch_handed_out_and_dropped_is_found_by_healing(arena, monkeypatch):
    """When the session file cannot be written, nobody holds the batch any more."""
    monkeypatch.setattr(TurnPipeline, "postpone", nothing)
    found(arena, IngestWork(), heal_everywhere, HEALED)


def test_a_log_that_holds_up_filing_is_found_by_a_log_that_cannot_be_written(
    arena, monkeypatch
):
    """The journal is never settled while the action log refuses."""
    monkeypatch.setattr(NoteWriter, "_write_auxiliary", log_or_nothing)
    IngestWork().setup(arena)
    with pytest.raises(AssertionError, match="held up"):
        holds_nothing_up(arena, ACTIONS)


def test_waiting_turns_lost_with_a_snapshot_are_found_by_healing(arena, monkeypatch):
    """Recall does not find what the journal holds."""
    monkeypatch.setattr(Index, "save", forgets_waiting)
    found(arena, ReindexWork(), heal_everywhere, HEALED)


def test_a_snapshot_believed_at_any_mark_is_found_by_older_caches(arena, monkeypatch):
    """Turns are missing from recall while every note is there."""
    monkeypatch.setattr(Index, "_load_snapshot", believes_any_mark)
    found(arena, IngestWork(), any_cache)


def test_an_errno_taken_for_success_is_found(arena, monkeypatch):
    """The journal says that it stored what the disk refused."""
    monkeypatch.setattr(Journal, "_without_lock", swallow)
    found(arena, IngestWork(), fail_everywhere, ERRORS)
