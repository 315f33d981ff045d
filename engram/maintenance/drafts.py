"""Drafts of notes that a run creates: conclusions and questions (rows A23, X8, X9)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engram.core.records import Create, Fact
from engram.vault import facts, reviews

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from engram.maintenance.passes import NewCase
    from engram.pipeline.write import NoteWriter


class NoteDrafts:
    """Drafts of new notes. Writes nothing."""

    def __init__(self, note_writer: NoteWriter) -> None:
        self.note_writer = note_writer

    def placed(self, fact: Fact, taken: Collection[str]) -> Fact:
        """Return a new memory with a path for its note that is not in `taken`."""
        return replace(fact, path=self.note_writer.path_of(fact, taken))

    def note(self, fact: Fact, why: str) -> Create:
        """Return the note of a new memory."""
        zone = self.note_writer.settings.zone
        return Create(
            fact.path,
            facts.fact_keys(fact, zone),
            facts.fact_body(fact.text, fact.source),
            why,
        )

    def case(self, case: NewCase, now: datetime) -> Create | None:
        """Return the note that asks about two memories, or None if it was asked before."""
        zone = self.note_writer.settings.zone
        if self.note_writer.is_logged(
            "decide", reviews.case_id(case.new.id, case.old.id)
        ):
            return None
        question = reviews.conflict_note(case.new, case.old, case.why, now, zone)
        return (
            None if self.note_writer.index.scanner.exists(question.path) else question
        )
