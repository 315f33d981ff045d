"""Turns that were edited, regenerated or deleted in the chat (row X2).

A withdrawn turn stays in its session file and is hidden. A memory that rests on it
alone is marked forgotten, and the memory that it had replaced holds again. Unlike
forgetting, this hides no other words: the same statement elsewhere stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.core.turn_versions import first_id, replaces
from engram.pipeline.retraction import STATUSES
from engram.pipeline.write import action_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime

    from engram.core.records import Fact, FiledTurn
    from engram.pipeline.forgetting import Forgetting
    from engram.pipeline.retraction import Retraction, Withdrawn
    from engram.pipeline.write import NoteWriter

EDITED = "the message was edited"
DELETED = "the message was deleted"


class TurnEdits:
    """Withdraws turns. For the writer thread."""

    def __init__(
        self, note_writer: NoteWriter, forgetting: Forgetting, retraction: Retraction
    ) -> None:
        self.note_writer = note_writer
        self.index = note_writer.index
        self.forgetting = forgetting
        self.retraction = retraction
        self._hours = note_writer.settings.policy.buffer.edit_hours

    def replace_older(self, turns: Iterable[FiledTurn], now: datetime) -> None:
        """Withdraw the other versions of those of these turns that were edited.

        Versions from more than a day before stay (`turn_versions.replaces`).
        A repeated call, as after a crash, changes nothing.
        """
        for turn in turns:
            first = first_id(turn.turn)
            if first is None or self.is_withdrawn(turn):
                continue
            for old in self.index.versions(turn.turn.session, first):
                is_other = old.key != turn.key and not self.is_withdrawn(old)
                if is_other and replaces(turn.turn, old.turn, self._hours):
                    self.withdraw(old, now, EDITED, turn.turn.text)

    def is_withdrawn(self, turn: FiledTurn) -> bool:
        """Whether the turn is hidden as a whole."""
        return turn.key in self.index.tombstones.keys

    def drop(self, turns: Iterable[FiledTurn], withdrawn: Withdrawn) -> None:
        """Add the words of withdrawn turns, so that nothing is learned from them."""
        for turn in turns:
            if self.is_withdrawn(turn):
                withdrawn.add(turn.key, turn.turn.text)

    def withdraw(
        self, turn: FiledTurn, now: datetime, why: str, instead: str = ""
    ) -> list[str]:
        """Hide a turn and what rests on it alone; return the ids of these memories.

        A memory stays if the new text `instead` holds its quotation too, or if a person
        wrote, edited or confirmed it.
        """
        facts = {
            fact.id: fact
            for fact in self.index.catalog.facts(turn.key)
            if self._goes(fact, turn, instead)
        }
        facts |= self.retraction.derived_from(facts)
        row = {"at": now.isoformat(), "reason": why, "for": turn.key}
        self.index.tombstones.add(
            [
                {**row, "turn": turn.key, "memory": turn.key},
                *({**row, "memory": name} for name in facts),
            ]
        )
        hides = {"memories": sorted(facts)}
        self.note_writer.log_actions(
            [
                *self._forget(facts.values(), turn, now, why),
                action_row(now, "withdraw", turn.key, why) | hides,
            ]
        )
        self.forgetting.cut_summaries([turn.key])
        return sorted(facts)

    def _forget(
        self, facts: Iterable[Fact], turn: FiledTurn, now: datetime, why: str
    ) -> Iterator[Mapping[str, object]]:
        keys = {"status": "forgotten", "end_reason": why}
        for fact in facts:
            if self.retraction.patch(fact, keys, why):
                yield action_row(now, "forget", fact.id, why) | {"turn": turn.key}
            yield from self.retraction.revive(fact, turn.key, now)

    def _goes(self, fact: Fact, turn: FiledTurn, instead: str) -> bool:
        """Whether a memory rests on the old words of a turn alone."""
        if (
            fact.status not in STATUSES
            or {fact.source, *fact.also} - {""} != {turn.key}
            or fact.pinned
            or self.note_writer.user_claim(fact)
        ):
            return False
        quotes = [
            str(row["quote"])
            for row in self.note_writer.vault.actions_of(fact.id)
            if row.get("quote") and row.get("turn") == turn.key
        ]
        return not (instead and quotes and all(one in instead for one in quotes))
