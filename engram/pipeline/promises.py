"""Promises that a turn of the user keeps or cancels (row E16).

The turn is read by rules (`core/language/promises.py`) when it is filed. Each change is
a row of the action log by `rule`, and `engram settle ID --stage open` undoes it. If a
turn may refer to several promises, a note in `review/` asks once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.core import ranking, todos
from engram.core.categories import category_of
from engram.core.language.promises import only_says_done, reports
from engram.core.language.role_play import played
from engram.core.records import Edit, Fact, FiledTurn
from engram.index.filters import SearchFilter
from engram.pipeline.write import action_row
from engram.vault import reviews, sessions
from engram.vault.formats import time_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from engram.core.records import Turn
    from engram.core.todos import Settlement
    from engram.pipeline.write import NoteWriter

RULE = "rule"
NEAREST = 5
"""Number of plans that words may call off."""


class PromiseSettler:
    """Settles the promises that turns keep or cancel. For the writer thread."""

    def __init__(self, note_writer: NoteWriter) -> None:
        self.note_writer = note_writer
        self.index = note_writer.index
        self.zone = note_writer.settings.zone

    def apply(self, turns: Iterable[FiledTurn], now: datetime) -> None:
        """Settle the promises that these turns keep or cancel. Idempotent."""
        for turn in sorted(turns, key=_order):
            text = turn.turn.text
            if _counts(turn) and (reports(text) or only_says_done(text)):
                self._read(turn, now)

    def _read(self, turn: FiledTurn, now: datetime) -> None:
        promises = self._open_at(turn)
        before = self._before(turn) if promises else []
        if not promises or played([one.turn for one in (*before, turn)])[-1]:
            return
        words = [*(one.turn.text for one in before[-1:]), turn.turn.text]
        at = turn.turn.occurred_at
        for one in todos.settlements(turn.turn.text, promises, "\n".join(words), at):
            if any(self._was_reopened(fact, turn) for fact in one.promises):
                continue
            if one.asks or any(map(self._only_user_may_settle, one.promises)):
                self._ask(one, turn, now)
            else:
                self.settle(one.promises, one.tag, one.why, turn, now)

    def _open_at(self, turn: FiledTurn) -> list[Fact]:
        """Return the open promises that were made before a turn and that it may settle."""
        own = turn.turn
        promises = self.index.catalog.promises()
        is_waiting = [
            one for one in promises if todos.is_open(one) or todos.ran_out(one)
        ]
        return [
            fact
            for fact in (*is_waiting, *self._announced(own))
            if own.private_to in {None, fact.persona}
            and (fact.created is None or fact.created <= own.occurred_at)
            and turn.key not in {fact.source, *fact.also}
        ]

    def _announced(self, turn: Turn) -> list[Fact]:
        """Return the plans near the words that will end a known fact (`A7`)."""
        at = turn.occurred_at
        where = SearchFilter(("fact",), ("active",), turn.private_to)
        asked = ranking.parse_question(turn.text, at)
        hits = self.index.lexical.search(asked, where, NEAREST).hits
        near = self.index.units([hit.key for hit in hits]).values()
        return [
            fact
            for fact in near
            if isinstance(fact, Fact)
            and fact.supersedes
            and fact.valid_from
            and fact.valid_from > at
            and not category_of(fact.category).promise
        ]

    def _was_reopened(self, fact: Fact, turn: FiledTurn) -> bool:
        """Return whether the user reopened a promise that this turn had settled."""
        rows = self.note_writer.vault.actions_of(fact.id)
        return any(
            row.get("action") == "settle" and row.get("turn") == turn.key
            for row in rows
        )

    def _only_user_may_settle(self, fact: Fact) -> bool:
        """Return whether a user wrote or edited the note of a promise."""
        is_foreign = fact.id not in self.note_writer.creation_times()
        return is_foreign or self.note_writer.is_logged("edit", fact.id)

    def _before(self, turn: FiledTurn) -> list[FiledTurn]:
        """Return the turns before this one in its session stretch, in order."""
        units = self.index.catalog.units_at(sessions.path(turn.note))
        before = [
            unit
            for unit in units
            if isinstance(unit, FiledTurn) and _order(unit) < _order(turn)
        ]
        return sorted(before, key=_order)

    def settle(
        self,
        promises: Sequence[Fact],
        tag: str,
        why: str,
        turn: FiledTurn,
        now: datetime,
        by: str = RULE,
    ) -> None:
        """Mark promises as settled on the day that a turn names, or at its time."""
        why = f"{why}, as said in {turn.key}"
        said_at = turn.turn.occurred_at.astimezone(self.zone)
        done = time_text(todos.deed_at(turn.turn.text, said_at), self.zone)
        self.note_writer.write(
            [
                Edit(fact.path, fact.sha, _keys(fact, tag, done, why), why)
                for fact in promises
            ],
            [
                action_row(now, "settle", fact.id, why, by) | {"turn": turn.key}
                for fact in promises
            ],
        )

    def settle_chosen(
        self, asked: str, chosen: Sequence[str], tag: str, now: datetime
    ) -> None:
        """Settle those of the promises `chosen` by the user that are still open.

        `asked` is the key of the turn that may refer to any of them.
        """
        turn = self.index.unit(asked)
        units = self.index.units(list(chosen)).values()
        facts = [one for one in units if isinstance(one, Fact) and todos.is_open(one)]
        if facts and isinstance(turn, FiledTurn):
            why = todos.KEPT if tag == todos.FULFILLED else todos.CANCELLED
            self.settle(facts, tag, why, turn, now, by="user")

    def _ask(self, one: Settlement, turn: FiledTurn, now: datetime) -> None:
        """Ask in review, once, which of these promises a turn settles."""
        texts = {fact.id: fact.text for fact in one.promises}
        at = turn.turn.occurred_at
        note = reviews.settle_note(
            turn.key, turn.turn.text, texts, one.tag, at, self.zone
        )
        decided = self.note_writer.is_logged("decide", str(note.keys["id"]))
        if not decided and not self.index.scanner.exists(note.path):
            row = action_row(now, "ask", turn.key, note.why, RULE) | {"turn": turn.key}
            self.note_writer.write([note], [row])


def _keys(fact: Fact, tag: str, done: str, why: str) -> dict[str, object]:
    """Return the keys of a settled promise, or of a plan that is called off."""
    if category_of(fact.category).promise or tag != todos.EXPIRED:
        return todos.settled_keys(fact, tag, done, why)
    return {"status": "invalidated", "end_reason": why, "valid_until": done}


def _order(filed: FiledTurn) -> tuple[datetime, str, int, str]:
    return filed.turn.occurred_at, filed.note, len(filed.block), filed.block


def _counts(filed: FiledTurn) -> bool:
    """Return whether a turn may settle promises: the user's own words, not in a group."""
    turn = filed.turn
    return (
        turn.role == "user"
        and turn.origin == "chat"
        and not (turn.group and turn.speaker)
    )
