"""Facts that a later request for privacy reaches: "keep that between us" (row E14)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engram.core.language.privacy import reference
from engram.core.records import Edit, FiledTurn
from engram.pipeline.write import action_row

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from engram.ingest.queue import Batch
    from engram.pipeline.write import NoteWriter

ASKED = "the user asked to keep it private"
TURNS_BEFORE = 6
"""Turns before a request among which it is looked for what it refers to."""


def keep_private(note_writer: NoteWriter, batch: Batch, now: datetime) -> None:
    """Give the facts of turns that a request in the batch made private their persona.

    These turns were filed with an earlier batch, so their facts were everybody's. A
    fact that another turn states too stays everybody's.
    """
    reached = {filed.key: filed.turn for filed in _reached(note_writer, batch)}
    if not reached:
        return
    changes, rows = [], []
    for fact in note_writer.index.catalog.facts(*reached):
        turn = reached.get(fact.source)
        if turn is None or fact.persona is not None or fact.also:
            continue
        keys = {"persona": turn.private_to}
        changes.append(Edit(fact.path, fact.sha, keys, ASKED))
        rows.append(action_row(now, "private", fact.id, ASKED))
    if changes:
        note_writer.write(changes, rows)


def _reached(note_writer: NoteWriter, batch: Batch) -> Iterator[FiledTurn]:
    """The private turns of the user just before a bare request in the batch."""
    own = {item.filed.key for item in batch.waiting}
    for item in batch.waiting:
        filed, turn = item.filed, item.filed.turn
        bare = turn.private and turn.role == "user"
        if not bare or reference(turn.text, turn.persona or "") != "before":
            continue
        number = int(filed.block[1:])
        keys = [
            replace(filed, block=f"t{earlier}").key
            for earlier in range(max(1, number - TURNS_BEFORE), number)
        ]
        units = note_writer.index.units([key for key in keys if key not in own])
        for unit in units.values():
            if isinstance(unit, FiledTurn) and unit.turn.private:
                yield unit
