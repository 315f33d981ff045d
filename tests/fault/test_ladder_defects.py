"""The laws of what the ladder writes are tested: each defect, put in on purpose, is
found by a battery.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from batteries import kill_everywhere
from harness import Bench, BrokenPromiseError
from ladders import JudgeWork, LadderWork
from lives import KILLS

from engram.operations.review import ReviewQueue
from engram.pipeline.apply import PlanWriter
from engram.pipeline.boxes import BoxWriter
from engram.pipeline.entities import EntityWriter
from engram.vault import edges


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


DEFECTS = [
    (JudgeWork, PlanWriter, "write", notes_first),
    (LadderWork, PlanWriter, "write_unrepeatable", asked_as_heard),
    (LadderWork, ReviewQueue, "_decide_conflict", question_first),
    (LadderWork, BoxWriter, "_file", settled_first),
    (LadderWork, EntityWriter, "_note_changes", edges_first),
    (JudgeWork, edges, "_raw", run_together),
]
"""The life, and what is replaced by what."""


@pytest.mark.parametrize(
    ("work", "owner", "name", "defect"),
    DEFECTS,
    ids=[defect[3].__name__ for defect in DEFECTS],
)
def test_a_write_out_of_order_is_found_by_a_kill(
    arena, monkeypatch, work, owner, name, defect
):
    """The order of commit keeps links, successors, boxes, relations and questions
    whole.
    """
    monkeypatch.setattr(owner, name, defect)
    with pytest.raises(BrokenPromiseError):
        kill_everywhere(Bench.prepare(work(), arena), KILLS)
