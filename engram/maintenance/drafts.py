"""The notes that a run creates: concluded memories, and questions to a person (rows
A23, X8, X9).
"""

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
        """Return a new memory with the path of its note, which is none of `taken`."""
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
        """Return the note that asks about two memories, None if a person was asked."""
        zone = self.note_writer.settings.zone
        if self.note_writer.is_logged(
            "decide", reviews.case_id(case.new.id, case.old.id)
        ):
            return None
        asked = reviews.conflict_note(case.new, case.old, case.why, now, zone)
        return None if self.note_writer.index.scanner.exists(asked.path) else asked
