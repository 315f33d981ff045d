"""Turns that were edited, regenerated or deleted in the chat (row X2).

A withdrawn turn remains in its session file and is hidden. A memory that only it
supports is marked as forgotten, and the memory that it had replaced is active again.
Unlike a request to forget, a withdrawal hides the same statement nowhere else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.core import lifecycle
from engram.core.records import Fact, FiledTurn
from engram.core.turn_versions import base_id, first_id, overlaps, replaces
from engram.pipeline.forgetting import Forgetting, HidePlan
from engram.pipeline.write import NoteWriter, action_row
from engram.vault import reviews

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from engram.pipeline.retraction import Withdrawn

EDITED = "the message was edited"
DELETED = "the message was deleted"


class TurnEdits:
    """Withdraws turns. For the writer thread."""

    def __init__(self, note_writer: NoteWriter, forgetting: Forgetting) -> None:
        self.note_writer = note_writer
        self.index = note_writer.index
        self.forgetting = forgetting
        self.settings = note_writer.settings

    def replace_older(
        self,
        turns: Sequence[FiledTurn],
        numbers: Mapping[tuple[str, str], int],
        now: datetime,
    ) -> bool:
        """Withdraw the older versions of edited turns; return whether there were any.

        `numbers` are the journal numbers of turns that are not settled, by session and
        id; a turn with a greater number came later. Versions that the new words do not
        replace (`turn_versions.replaces`) remain, and so do versions that a user
        changed in the session file. A repeated call, as after a crash, changes nothing.
        """
        edited = [turn for turn in turns if first_id(turn.turn) is not None]
        last = {_first(turn): turn.turn.text for turn in edited}
        replaced = False
        for turn in edited:
            if not self.is_withdrawn(turn):
                for old in self._replaced(turn, numbers):
                    self._replace(old, turn, last[_first(turn)], now)
                    replaced = True
        return replaced

    def _replaced(
        self, turn: FiledTurn, numbers: Mapping[tuple[str, str], int]
    ) -> list[FiledTurn]:
        """Return the earlier versions of a turn that it replaces."""
        session, first = _first(turn)
        latest = numbers.get((session, turn.turn.id), 0)
        return [
            old
            for old in self.index.versions(session, first)
            if old.key != turn.key
            and not self.is_withdrawn(old)
            and numbers.get((session, old.turn.id), 0) <= latest
            and replaces(turn.turn, old.turn, self.settings.policy.buffer)
            and not self.index.replaced_words(old.key)
        ]

    def _replace(
        self, old: FiledTurn, new: FiledTurn, instead: str, now: datetime
    ) -> None:
        """Withdraw a turn, or ask if the new words have nothing in common with it.

        Some clients number their messages from 1 in each conversation, so the new words
        may be another message. In that doubt a protected memory is not removed.
        """
        if not overlaps(old.turn.text, new.turn.text) and any(
            map(lifecycle.protection, self.supported_only_by([old], instead).values())
        ):
            self._ask(old, new, now)
        else:
            self.withdraw([old], now, EDITED, instead)

    def _ask(self, old: FiledTurn, new: FiledTurn, now: datetime) -> None:
        """Ask in review, once, whether the words of a turn are to be forgotten."""
        rows = self.note_writer.vault.actions_of(old.key)
        if any(row.get("action") == "ask" for row in rows):
            return
        note = reviews.forget_note(
            old.key,
            new.turn.text,
            {old.key: old.turn.text},
            new.turn.occurred_at,
            self.settings.zone,
            reviews.EDITED,
        )
        self.note_writer.ask(note, old.key, new.key, now)

    def forget(self, key: str, now: datetime) -> None:
        """Withdraw a turn whose message was edited, as the user decided in review."""
        turn = self.index.unit(key)
        if isinstance(turn, FiledTurn) and not self.is_withdrawn(turn):
            self.withdraw([turn], now, EDITED)

    def is_withdrawn(self, turn: FiledTurn) -> bool:
        """Return whether the turn is hidden as a whole."""
        return turn.key in self.index.tombstones.keys

    def drop(self, turns: Iterable[FiledTurn], withdrawn: Withdrawn) -> None:
        """Add the words of withdrawn turns, so that nothing is extracted from them."""
        for turn in turns:
            if self.is_withdrawn(turn):
                withdrawn.sentences.setdefault(turn.key, set()).add(turn.turn.text)

    def withdraw(
        self,
        turns: Sequence[FiledTurn],
        now: datetime,
        why: str,
        instead: str = "",
        name: str = "",
    ) -> list[str]:
        """Hide turns and the memories that only they support; return the ids of these.

        A memory remains if the new text `instead` contains its quotation too, or if a
        user wrote, edited or confirmed it. `name` identifies the units that are hidden
        together; if it is '', the key of the one turn does.
        """
        if not turns:
            return []
        key = turns[0].key
        plan = self._plan(turns, instead)
        self.forgetting.hide(
            name or key,
            plan,
            why,
            now,
            action="withdraw",
            turn=key,
            equal=False,
            revive=True,
        )
        return sorted(plan.facts)

    def supported_only_by(
        self, turns: Sequence[FiledTurn], instead: str = ""
    ) -> dict[str, Fact]:
        """Return the memories that would be withdrawn with these turns, by id.

        Memories that are derived from others come last.
        """
        return self._plan(turns, instead).facts

    def _plan(self, turns: Sequence[FiledTurn], instead: str) -> HidePlan:
        plan = HidePlan(turns={turn.key: turn for turn in turns})
        return self.forgetting.add_resting(plan, instead, claimed=False)

    def restore_turns(
        self, turns: Sequence[FiledTurn], reason: str, now: datetime, why: str
    ) -> None:
        """Show withdrawn turns again, and the memories withdrawn with them.

        `reason` is the reason of their end.
        """
        facts = self.hidden_with(turns, reason)
        names = [turn.key for turn in turns] + [fact.id for fact in facts]
        self.forgetting.restore_all(names, now, why)
        keys = {"status": None, "end_reason": None}  # active, as when it was filed
        rows = [
            action_row(now, "revive", fact.id, why)
            for fact in facts
            if self.forgetting.patch(fact, keys, why)
        ]
        rows += [action_row(now, "revive", turn.key, why) for turn in turns]
        self.note_writer.log_actions(rows)

    def hidden_with(self, turns: Iterable[FiledTurn], reason: str) -> list[Fact]:
        """Return the memories that were forgotten with these turns for this reason."""
        found = {
            fact.id: fact
            for turn in turns
            for fact in self.index.catalog.facts(turn.key)
            if fact.status == "forgotten" and fact.end_reason == reason
        }
        return list(found.values())


def _first(turn: FiledTurn) -> tuple[str, str]:
    """Return the session of a turn and the id of its first version."""
    return turn.turn.session, base_id(turn.turn.id)
