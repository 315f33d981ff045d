"""The evidence of facts: the turns in the vault that support them, and the speakers.

Reads the index and the action log; writes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engram.core import trust
from engram.core.language.quotations import parts
from engram.core.records import FiledTurn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.core.dedup import Neighbour
    from engram.core.records import Fact, Turn
    from engram.pipeline.plan import WritePlan
    from engram.pipeline.write import NoteWriter

QUOTE_CHARS = 280
"""Characters of a quote in a note for review (as in row C9)."""


@dataclass(frozen=True, slots=True)
class EvidenceReader:
    """Finds the evidence of facts; the log rows of `plan` count as written."""

    note_writer: NoteWriter
    plan: WritePlan

    def turns(self, fact: Fact) -> list[Turn]:
        """Return the attributed turns that support a fact (`trust.turn_as_evidence`)."""
        keys = [key for key in (fact.source, *fact.also) if key]
        units = self.note_writer.index.units(keys)
        filed = [unit for unit in units.values() if isinstance(unit, FiledTurn)]
        # In a turn without a quotation all words are the speaker's.
        if not any(parts(one.turn.text) for one in filed):
            return [one.turn for one in filed]

        rows = [
            *self.note_writer.vault.actions_of(fact.id),
            *(
                row
                for row in self.plan.rows
                if fact.id in {row["memory"], row.get("met")}
            ),
        ]
        return [_attributed(one, rows) for one in filed]

    def quote(self, fact: Fact) -> str:
        """Return the beginning of the first turn that supports a fact, or ''."""
        turns = self.turns(fact)
        return turns[0].text[:QUOTE_CHARS] if turns else ""

    def as_confirmed_if_guarded(self, fact: Fact, turn: Turn) -> Fact:
        """Return the fact, marked as confirmed if `turn` must not change its note.

        That is so if a user edited the note, or if `turn` is private and other personas
        know the fact (`X23`, `E14`).
        """
        edited = self.note_writer.is_edited(fact.id)
        if edited or turn.private_to not in {None, fact.persona}:
            return replace(fact, verification="user_confirmed")
        return fact

    def only_user_may_end(self, fact: Fact, turn: Turn) -> bool:
        """Return whether a batch may not end a fact: edited, hand-written or shared.

        A note that engram did not write has no creation in the action log. A private
        `turn` ends nothing that other personas know; an open one may end private facts
        too (`X23`, `E14`).
        """
        if turn.private_to not in {None, fact.persona}:
            return True
        if self.note_writer.is_edited(fact.id):
            return True
        return fact.id not in self.note_writer.creation_times()

    def with_confirmations(self, near: Neighbour) -> Neighbour:
        """Return the neighbour with the turns that confirmed it literally (`A10`).

        Only the action log names these turns.
        """
        fact = near.fact
        keys = [*fact.also]
        for row in self.note_writer.vault.actions_of(fact.id):
            key = str(row.get("turn") or "")
            if row.get("action") == "confirm" and key and key != fact.source:
                keys.append(key)
        return replace(near, fact=replace(fact, also=tuple(dict.fromkeys(keys))))


def _attributed(filed: FiledTurn, rows: Sequence[Mapping[str, object]]) -> Turn:
    """Return the turn attributed by its quotes in the log rows.

    It counts as the user's own if one of the quotes does, or if there is none.
    """
    quotes = [
        str(row["quote"])
        for row in rows
        if row.get("turn") == filed.key and row.get("quote")
    ]
    turns = [trust.turn_as_evidence(filed.turn, quote) for quote in quotes]
    if not turns or filed.turn in turns:
        return filed.turn
    return turns[0]
