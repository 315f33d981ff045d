"""Facts that are private because of turns other than their own (row E14)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from engram.core.entities import names_subject
from engram.core.language.privacy import reference, words_are_private
from engram.core.language.words import words
from engram.core.records import Edit, Extraction, FiledTurn
from engram.pipeline.write import NoteWriter, action_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from engram.core.buffer import WaitingTurn
    from engram.ingest.queue import Batch

ASKED = "the user asked to keep it private"
TURNS_BEFORE = 6
"""Number of turns before a turn that are searched for what it refers to."""


def keep_private(note_writer: NoteWriter, batch: Batch, now: datetime) -> None:
    """Give their persona to facts of earlier turns that a request makes private.

    These turns were filed with an earlier batch, so their facts were visible to all
    personas. A fact that another turn states too stays visible to all.
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


def with_borrowed_privacy(
    note_writer: NoteWriter, batch: Batch, extraction: Extraction
) -> Batch:
    """Return the batch; turns whose facts depend on private words are marked private.

    "He proposed to me" is not private by itself, but the fact that Tom proposed is, if
    only private words before it name Tom.
    """
    names: defaultdict[str, set[str]] = defaultdict(set)
    for candidate in extraction.candidates:
        names[candidate.turn_id].update(candidate.about)
    for relation in extraction.relations:
        names[relation.turn_id].update((relation.subject, relation.object))

    waiting = tuple(
        _marked(item)
        if _borrows(note_writer, item.filed, names[item.filed.turn.id])
        else item
        for item in batch.waiting
    )
    return replace(batch, waiting=waiting)


def with_sensitivity(note_writer: NoteWriter, batch: Batch) -> Batch:
    """Return the batch with highly sensitive turns marked (`B17`).

    A turn is highly sensitive if a memory that it supports is, or if it is an edited
    form of such a turn.
    """
    catalog = note_writer.index.catalog
    filed = [catalog.with_sensitivity(item.filed) for item in batch.waiting]
    if filed == [item.filed for item in batch.waiting]:
        return batch
    waiting = zip(batch.waiting, cast("list[FiledTurn]", filed), strict=True)
    return replace(
        batch, waiting=tuple(replace(item, filed=turn) for item, turn in waiting)
    )


def _marked(item: WaitingTurn) -> WaitingTurn:
    turn = replace(item.filed.turn, private=True)
    return replace(item, filed=replace(item.filed, turn=turn))


def _borrows(note_writer: NoteWriter, filed: FiledTurn, names: Iterable[str]) -> bool:
    """Return whether one of the names is only in private turns before this one."""
    if filed.turn.role != "user" or filed.turn.private:
        return False
    absent = [name for name in names if not _has_name(filed.turn.text, name)]
    return bool(absent) and any(
        words_are_private(one.turn, name) and _has_name(one.turn.text, name)
        for one in note_writer.index.turns_above(filed, TURNS_BEFORE)
        for name in absent
    )


def _has_name(text: str, name: str) -> bool:
    return names_subject(words(text), [name])


def _reached(note_writer: NoteWriter, batch: Batch) -> Iterator[FiledTurn]:
    """Yield the user's private turns just before a bare request in the batch."""
    own = {item.filed.key for item in batch.waiting}
    for item in batch.waiting:
        turn = item.filed.turn
        bare = turn.private and turn.role == "user"
        if not bare or reference(turn.text, turn.persona or "") != "before":
            continue
        for one in note_writer.index.turns_above(item.filed, TURNS_BEFORE):
            if one.turn.private and one.key not in own:
                yield one
