"""The batteries of the whole path are tested: each defect, put in on purpose, is found
by one of them.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from batteries import fail_everywhere, kill_everywhere
from harness import FULL, Bench, BrokenPromiseError
from ladders import JudgeWork, LadderWork
from lives import ERRORS, HEALED, KILLS, any_cache, heal_everywhere, holds_nothing_up
from works import DeedsWork, IngestWork, ReindexWork

from engram.errors import EngramError
from engram.index.search import Index
from engram.ingest.intake import Intake
from engram.operations.file_sync import FileSync
from engram.operations.review import ReviewQueue
from engram.pipeline.apply import PlanWriter
from engram.pipeline.boxes import BoxWriter
from engram.pipeline.entities import EntityWriter
from engram.pipeline.forgetting import Forgetting
from engram.pipeline.process import TurnPipeline
from engram.pipeline.write import NoteWriter
from engram.vault import edges
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


def notes_first(self, plan):
    """The new facts, then what happens to those that are known."""
    self.note_writer.write(plan.notes, [])
    self._write_tombstones(plan)
    self._write_changes(plan, [], plan.updates)


def asked_as_heard(self, plan):
    """What somebody asks for is written like a batch, which is filed again."""
    self.write(plan)


def question_first(self, case, decision, now, honest=ReviewQueue._decide_conflict):
    """The note that asked goes, then what it asked about is changed."""
    trash = self._changes.trash(case.path, case.sha, now, "decided")
    self.note_writer.write([trash], [])
    honest(self, case, decision, now)


def settled_first(self, now):
    """The state forgets that a box wants its note, then the note is written."""
    unwritten = self._unwritten()
    if unwritten:
        self._mark_written(unwritten)
        self.save()
    for row in unwritten:
        self._write(row, now)


def edges_first(self, lines, named, honest=EntityWriter._note_changes):
    """A relation counts as shown before its note shows it."""
    wishes = honest(self, lines, named)
    self.edges.append([replace(line, unlisted=False) for line in lines.values()])
    return wishes


def run_together(lines, honest=edges._raw):
    """Lines without an end."""
    return honest(lines).replace(b"\n", b"")


KILLED, HEALS = (kill_everywhere, KILLS), (heal_everywhere, HEALED)
DEFECTS = [
    (IngestWork(), KILLED, TurnPipeline, "file", settle_first),
    (IngestWork(), KILLED, Intake, "_commit", acknowledge_unstored),
    (IngestWork(), KILLED, NoteWriter, "file_turns", no_session_file),
    (DeedsWork(), KILLED, Vault, "add_tombstones", nothing),
    (JudgeWork(), KILLED, PlanWriter, "write", notes_first),
    (LadderWork(), KILLED, BoxWriter, "_file", settled_first),
    (JudgeWork(), KILLED, edges, "_raw", run_together),
    (IngestWork(), HEALS, TurnPipeline, "postpone", nothing),
    (ReindexWork(), HEALS, Index, "save", forgets_waiting),
    (IngestWork(), (any_cache,), Index, "_load_snapshot", believes_any_mark),
    (IngestWork(), (fail_everywhere, ERRORS), Journal, "_without_lock", swallow),
]
"""The life, the battery, and what is replaced by what."""
if FULL:  # those that are found late
    DEFECTS += [
        (LadderWork(), KILLED, PlanWriter, "write_unrepeatable", asked_as_heard),
        (LadderWork(), KILLED, ReviewQueue, "_decide_conflict", question_first),
        (LadderWork(), KILLED, EntityWriter, "_note_changes", edges_first),
    ]


@pytest.mark.parametrize(
    ("work", "battery", "owner", "name", "defect"),
    DEFECTS,
    ids=[f"{defect[3]}-{defect[4].__name__}" for defect in DEFECTS],
)
def test_a_defect_breaks_a_promise(
    arena, monkeypatch, work, battery, owner, name, defect
):
    monkeypatch.setattr(owner, name, defect)
    play, *size = battery
    with pytest.raises(BrokenPromiseError):
        play(Bench.prepare(work, arena), *size)


def test_a_tombstone_after_the_acknowledgement_is_found_by_a_kill(arena, monkeypatch):
    """A deleted statement could come back after a crash; few calls lie between the two."""
    monkeypatch.setattr(Forgetting, "record_deletions", record_later)
    monkeypatch.setattr(FileSync, "rescan", rescan_then_record)
    bench = Bench.prepare(DeedsWork(caches=("kept",)), arena)
    with pytest.raises(BrokenPromiseError):
        kill_everywhere(bench, 2 * KILLS)


def test_a_log_that_holds_up_filing_is_found_by_a_log_that_cannot_be_written(
    arena, monkeypatch
):
    """The journal is never settled while the action log refuses."""
    monkeypatch.setattr(NoteWriter, "_write_auxiliary", log_or_nothing)
    IngestWork().setup(arena)
    with pytest.raises(AssertionError, match="held up"):
        holds_nothing_up(arena, ACTIONS)
