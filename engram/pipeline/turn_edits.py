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
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
                    self.withdraw([old], now, EDITED, turn.turn.text)

    def is_withdrawn(self, turn: FiledTurn) -> bool:
        """Whether the turn is hidden as a whole."""
        return turn.key in self.index.tombstones.keys

    def drop(self, turns: Iterable[FiledTurn], withdrawn: Withdrawn) -> None:
        """Add the words of withdrawn turns, so that nothing is learned from them."""
        for turn in turns:
            if self.is_withdrawn(turn):
                withdrawn.add(turn.key, turn.turn.text)

    def withdraw(
        self,
        turns: Sequence[FiledTurn],
        now: datetime,
        why: str,
        instead: str = "",
        name: str = "",
    ) -> list[str]:
        """Hide turns and what rests on them alone; return the ids of these memories.

        A memory stays if the new text `instead` holds its quotation too, or if a person
        wrote, edited or confirmed it. `name` is what hides them together; the key of the
        one turn if it is ''.
        """
        if not turns:
            return []
        name = name or turns[0].key
        keys = [turn.key for turn in turns]
        facts = self.resting_on(turns, instead)
        row = {"at": now.isoformat(), "reason": why, "for": name}
        self.index.tombstones.add(
            [
                *({**row, "turn": key, "memory": key} for key in keys),
                *({**row, "memory": one} for one in facts),
            ]
        )
        hides = {"memories": sorted(facts)}
        self.note_writer.log_actions(
            [
                *self._forget(facts.values(), keys[0], now, why),
                *(action_row(now, "withdraw", key, why) for key in keys[1:]),
                action_row(now, "withdraw", keys[0], why) | hides,
            ]
        )
        self.forgetting.cut_summaries(keys)
        return sorted(facts)

    def resting_on(
        self, turns: Sequence[FiledTurn], instead: str = ""
    ) -> dict[str, Fact]:
        """Return by id the memories that would go with these turns."""
        keys = {turn.key for turn in turns}
        facts = {
            fact.id: fact
            for turn in turns
            for fact in self.index.catalog.facts(turn.key)
            if self._goes(fact, keys, instead)
        }
        return facts | self.retraction.derived_from(facts)

    def bring_back(
        self, turns: Sequence[FiledTurn], reason: str, now: datetime, why: str
    ) -> None:
        """Show withdrawn turns again, and the memories that went with them.

        `reason` is that of their end.
        """
        facts = self.hidden_with(turns, reason)
        names = [turn.key for turn in turns] + [fact.id for fact in facts]
        self.forgetting.restore_all(names, now, why)
        keys = {"status": "active", "end_reason": None}
        rows = [
            action_row(now, "revive", fact.id, why)
            for fact in facts
            if self.retraction.patch(fact, keys, why)
        ]
        rows += [action_row(now, "revive", turn.key, why) for turn in turns]
        self.note_writer.log_actions(rows)

    def hidden_with(self, turns: Iterable[FiledTurn], reason: str) -> list[Fact]:
        """Return the memories that were forgotten with these turns, for this reason."""
        found = {
            fact.id: fact
            for turn in turns
            for fact in self.index.catalog.facts(turn.key)
            if fact.status == "forgotten" and fact.end_reason == reason
        }
        return list(found.values())

    def _forget(
        self, facts: Iterable[Fact], key: str, now: datetime, why: str
    ) -> Iterator[Mapping[str, object]]:
        keys = {"status": "forgotten", "end_reason": why}
        for fact in facts:
            turn = fact.source or key
            if self.retraction.patch(fact, keys, why):
                yield action_row(now, "forget", fact.id, why) | {"turn": turn}
            yield from self.retraction.revive(fact, turn, now)

    def _goes(self, fact: Fact, keys: Collection[str], instead: str) -> bool:
        """Whether a memory rests on the old words of these turns alone."""
        if (
            fact.status not in STATUSES
            or not {fact.source, *fact.also} - {""} <= set(keys)
            or fact.pinned
            or self.note_writer.user_claim(fact)
        ):
            return False
        if not instead:
            return True
        quotes = [
            str(row["quote"])
            for row in self.note_writer.vault.actions_of(fact.id)
            if row.get("quote") and row.get("turn") in keys
        ]
        return not (quotes and all(one in instead for one in quotes))
