"""Promises that a turn of the user keeps or cancels (row E16).

The turn is read by rules (`core/language/promises.py`) when it is filed. Each change is
a row of the action log by `rule`, and `engram settle ID --stage open` undoes it. If a
turn may refer to several promises, a note in `review/` asks once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.core import ranking, todos
from engram.core.categories import category_of
from engram.core.decide import Effect
from engram.core.language.promises import only_says_done, reports
from engram.core.language.role_play import played
from engram.core.records import Fact, FiledTurn, Turn
from engram.index.filters import SearchFilter
from engram.pipeline.plan import WritePlan
from engram.pipeline.write import NoteWriter, action_row
from engram.vault import reviews

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from engram.core.todos import Settlement

RULE = "rule"
NEAREST = 5
"""Number of plans that words may call off."""


class PromiseSettler:
    """Reads the promises that turns keep or cancel. For the writer thread."""

    def __init__(self, note_writer: NoteWriter) -> None:
        self.note_writer = note_writer
        self.index = note_writer.index
        self.zone = note_writer.settings.zone
        self.minutes = note_writer.settings.policy.retraction.minutes

    def enter(self, turns: Iterable[FiledTurn], plan: WritePlan) -> None:
        """Enter the settlements of the promises that these turns keep or cancel."""
        for turn in sorted(turns, key=lambda one: one.order):
            text = turn.turn.text
            if _counts(turn) and (reports(text) or only_says_done(text)):
                self._read(turn, plan)

    def _read(self, turn: FiledTurn, plan: WritePlan) -> None:
        promises = self._open_at(turn, plan)
        before = self.index.turns_before(turn, self.minutes) if promises else []
        if not promises or played([one.turn for one in (*before, turn)])[-1]:
            return
        words = [*(one.turn.text for one in before[-1:]), turn.turn.text]
        at = turn.turn.occurred_at
        for one in todos.settlements(turn.turn.text, promises, "\n".join(words), at):
            if any(self._was_reopened(fact, turn) for fact in one.promises):
                continue
            is_users = (
                not plan.is_new(fact) and self.note_writer.is_users(fact)
                for fact in one.promises
            )
            if one.asks or any(is_users):
                self._ask(one, turn, plan)
            else:
                self._settle(one.promises, one.tag, one.why, turn, plan)

    def _open_at(self, turn: FiledTurn, plan: WritePlan) -> list[Fact]:
        """Return the open promises that were made before a turn and that it may settle."""
        own = turn.turn
        known = [*self.index.catalog.promises(), *self._announced(own)]
        promises = {fact.id: fact for fact in (*map(plan.latest, known), *plan.new)}
        return [
            fact
            for fact in promises.values()
            if (todos.is_open(fact) or todos.ran_out(fact) or _is_announced(fact, own))
            and own.private_to in {None, fact.persona}
            and (fact.created is None or fact.created <= own.occurred_at)
            and turn.key not in fact.turns
        ]

    def _announced(self, turn: Turn) -> list[Fact]:
        """Return the facts near the words, which may be plans."""
        where = SearchFilter(("fact",), ("active",), turn.private_to)
        asked = ranking.parse_question(turn.text, turn.occurred_at)
        found = self.index.by_words(asked, where, NEAREST)
        return [fact for _, fact in found if isinstance(fact, Fact)]

    def _was_reopened(self, fact: Fact, turn: FiledTurn) -> bool:
        """Return whether the user reopened a promise that this turn had settled."""
        rows = self.note_writer.vault.actions_of(fact.id)
        return any(
            row.get("action") in {"settle", "invalidate"}
            and row.get("turn") == turn.key
            for row in rows
        )

    def _settle(
        self,
        promises: Iterable[Fact],
        tag: str,
        why: str,
        turn: FiledTurn,
        plan: WritePlan,
        by: str = RULE,
    ) -> None:
        """Enter promises as settled on the day that a turn names, or at its time."""
        why = f"{why}, as said in {turn.key}"
        said_at = turn.turn.occurred_at.astimezone(self.zone)
        done = todos.deed_at(turn.turn.text, said_at)
        for fact in promises:
            is_promise = category_of(fact.category).promise or tag != todos.EXPIRED
            effect = Effect("settle", fact, why, settled=tag)
            if not is_promise:  # a plan that is called off
                effect = Effect("supersede", fact, why)
            plan.end(effect, done, turn=turn.key)
            action = "settle" if is_promise else "invalidate"
            row = action_row(plan.now, action, fact.id, why, by)
            plan.rows.append(row | {"turn": turn.key})

    def settle_chosen(
        self, asked: str, chosen: Sequence[str], tag: str, now: datetime
    ) -> None:
        """Settle or end those of the facts `chosen` by the user that still hold.

        `asked` is the key of the turn that may refer to any of them.
        """
        turn = self.index.unit(asked)
        facts = list(filter(todos.still_holds, self.index.facts(chosen)))
        if facts and isinstance(turn, FiledTurn):
            why = todos.KEPT if tag == todos.FULFILLED else todos.CANCELLED
            plan = WritePlan(self.note_writer.settings, now, self.note_writer)
            self._settle(facts, tag, why, turn, plan, by="user")
            plan.ask_what_rests_on_ended()
            self.note_writer.write(plan.updates, plan.rows)

    def _ask(self, one: Settlement, turn: FiledTurn, plan: WritePlan) -> None:
        """Ask in review, once, which of these promises a turn settles."""
        texts = {fact.id: fact.text for fact in one.promises}
        at = turn.turn.occurred_at
        note = reviews.settle_note(
            turn.key, turn.turn.text, texts, one.tag, at, self.zone
        )
        row = action_row(plan.now, "ask", turn.key, note.why, RULE)
        plan.ask(note, row | {"turn": turn.key})


def _is_announced(fact: Fact, turn: Turn) -> bool:
    """Return whether a fact plans to end another one after a turn (`A7`)."""
    begins = fact.valid_from
    return bool(fact.supersedes and begins and begins > turn.occurred_at)


def _counts(filed: FiledTurn) -> bool:
    """Return whether a turn may settle promises: the user's own words, not in a group."""
    turn = filed.turn
    return (
        turn.role == "user"
        and turn.origin == "chat"
        and not (turn.group and turn.speaker)
    )
