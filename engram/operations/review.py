"""The review queue: decisions about doubtful memories, conflicts and held runs (X9).

`cases.py` reads the cases from their notes; a case is open as long as its note waits.
The last step of a decision closes the case. After an interruption the ticked box is
still in the note, and the decision is carried out again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from engram.core import decide
from engram.errors import BadRequestError, ConflictError, EngramError
from engram.operations.notes import NoteChanges, superseding
from engram.operations.signature import operation
from engram.pipeline.forgetting import DROPPED, USER_DECIDED
from engram.pipeline.write import KNOWN, action_row
from engram.vault import facts, reviews

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from datetime import datetime
    from pathlib import Path

    from engram.core.records import Change, Fact
    from engram.maintenance.run import Maintenance
    from engram.operations.cases import CaseReader, ReviewCase
    from engram.pipeline.reconcile import Reconciler

SUPERSEDED = "superseded: you said so"
BY_USER = {"by": "user"}


class ReviewQueue:
    """Carries out the user's decisions. For the writer thread."""

    def __init__(
        self,
        reconciler: Reconciler,
        cases: CaseReader,
        maintenance: Maintenance,
        clock: Callable[[], datetime],
    ) -> None:
        self.note_writer = note_writer = reconciler.note_writer
        self.forgetting = reconciler.forgetting
        self.cases = cases
        self.maintenance = maintenance
        self.clock = clock
        self.vault = note_writer.vault
        self.index = note_writer.index
        self.settings = note_writer.settings
        self.retraction = reconciler.retraction
        self.turn_edits = reconciler.turn_edits
        self.promises = reconciler.promises
        self._changes = NoteChanges(note_writer)

    def obey(self, paths: Collection[Path | str] | None = None) -> dict[str, str]:
        """Carry out the ticked decisions in all notes, or at and below `paths`.

        Returns the errors of failed decisions, by path; the others are carried out.
        """
        errors = {}
        for case in self.cases.open_cases(paths, ticked=True):
            if case.decision is None:
                continue
            try:
                self.decide(case, case.decision)
            except EngramError as error:
                errors[case.path] = str(error)
        return errors

    @operation(
        "Decided",
        "POST /v1/review/{id}",
        name="decide",
        writes=True,
        retracts=True,
        own_command=True,
    )
    def answer(
        self,
        id: Annotated[
            str, "the id of a case, an unambiguous prefix of it, or its path"
        ],
        decision: Annotated[
            str, "keep or drop; newer, both or older; approve or reject"
        ],
    ) -> dict[str, Any]:
        """Decide a case of the review queue. Shows the case and what was changed.

        `approve` stands for the first of its choices, `reject` for the last.
        """
        case = self.cases.find(id)
        if case.choices and decision == "approve":
            decision = case.choices[0]
        elif case.choices and decision == "reject":
            decision = case.choices[-1]
        run = self.decide(case, decision)
        return {
            "id": case.id,
            "decision": decision,
            "memories": [fact.id for fact in case.memories],
            "run": run,
        }

    def decide(self, case: ReviewCase, decision: str) -> str:
        """Carry out a decision, unless the case is closed already.

        Returns the id of the run by which it can be undone, or '': forgetting and
        settled promises are undone by commands of their own.

        Raises BadRequestError for an answer that is not one of the choices,
        ConflictError if a user edited a note in the meantime; nothing is lost then.
        """
        if not case.choices:
            raise BadRequestError(
                "this case can only be decided in an editor",
                where=case.path,
                fix="Correct or delete one of the files.",
            )
        if decision not in case.choices and not _are_numbers(decision, case):
            raise BadRequestError(
                f"{decision!r} is not an answer to this case",
                where=case.id,
                fix=f"Use one of: {', '.join(case.choices)}.",
            )
        current = self.cases.read(case.path) if self.vault.exists(case.path) else None
        if current is None or current.id != case.id:
            return ""

        now = self.clock()
        if current.asked:
            self._decide_numbered(current, decision, now)
            return ""
        if current.held_pass:
            return self._decide_held_run(current, decision, now)
        with self.note_writer.deciding(decision, now) as made:
            if current.choices == reviews.CONFLICT:
                self._decide_conflict(current, decision, now)
            elif decision == "keep":
                self._keep(current.memories[0], now)
            else:
                self._drop(current, now)
        return made.run

    def merge_into_equal(self, fact: Fact, now: datetime) -> Fact | None:
        """Replace `fact` by the active memory with the same statement (`C5`).

        Used before `fact` becomes active again, because the statement may have been
        stored anew. The active memory gains the evidence of `fact` and is returned;
        None if there is no such memory, or a user broke its note.
        """
        equal = self.note_writer.duplicate(fact.text, fact.persona, now)
        if equal is None:
            return None
        self.forgetting.allow_again([fact], now)
        also = decide.merge(equal, fact).also
        united = replace(superseding(equal, fact), also=also)
        changes = [
            facts.change(equal, united, self.settings.zone, KNOWN),
            self._changes.supersede(fact, equal, KNOWN, now),
        ]
        row = action_row(now, "supersede", fact.id, KNOWN) | {"met": equal.id} | BY_USER
        try:
            self.note_writer.write(changes, [row])
        except ConflictError:
            return None
        return self.index.catalog.fact(equal.id)

    # -- kinds of cases ----------------------------------------------------------------

    def _keep(self, fact: Fact, now: datetime) -> None:
        """Make a doubtful memory active, even if it was removed before."""
        fact = self.merge_into_equal(fact, now) or fact
        self.forgetting.allow_again([fact], now)
        row = action_row(now, "keep", fact.id, "kept in review") | BY_USER
        self.note_writer.write([self._changes.activate(fact, fact, now)], [row])

    def _drop(self, case: ReviewCase, now: datetime) -> None:
        """Trash a doubtful memory; its tombstone covers its turn only with evidence."""
        (fact,) = case.memories
        self.forgetting.keep_out([fact], now, DROPPED, turns=any(case.evidence))
        self.note_writer.write(
            [self._changes.trash(case.path, case.sha, now, DROPPED)],
            [action_row(now, "drop", fact.id, DROPPED) | BY_USER],
        )

    def _decide_numbered(self, case: ReviewCase, decision: str, now: datetime) -> None:
        """Forget or settle the ticked ones of the offered memories; close the case."""
        chosen = list(case.offered) if decision in {"forget", "settle"} else []
        if _are_numbers(decision, case):
            chosen = [case.offered[int(one) - 1] for one in decision.split(",")]
        if chosen and case.stage:
            self.promises.settle_chosen(case.asked, chosen, case.stage, now)
        elif chosen == [case.asked]:
            self.turn_edits.forget(case.asked, now)
        elif chosen:
            self.retraction.forget(case.asked, chosen, now)
        row = action_row(now, "decide", case.id, decision)
        trash = self._changes.trash(case.path, case.sha, now, "decided")
        self.note_writer.write([trash], [row])

    def _decide_held_run(self, case: ReviewCase, decision: str, now: datetime) -> str:
        """Apply or drop a held pass, then trash its note; return the id of its run.

        In this order an interrupted run is applied again, because its note is still
        open.
        """
        known = set(self.maintenance.history.runs())
        self.maintenance.answer_hold(case.held_pass, apply=decision == "apply")
        made = sorted(set(self.maintenance.history.runs()) - known)
        row = action_row(now, "decide", case.id, f"{case.held_pass}: {decision}")
        self.note_writer.write(
            [self._changes.trash(case.path, case.sha, now, "decided")],
            [row | BY_USER],
        )
        return made[-1] if made else ""

    def _decide_conflict(self, case: ReviewCase, decision: str, now: datetime) -> None:
        """End one of two memories, or neither; then trash the note with the question.

        The log row with the id of the case prevents a second question about the pair.
        """
        decided = any(
            row.get("action") == "decide" and row.get("reason") == decision
            for row in self.vault.actions_of(case.id)
        )
        rows = [action_row(now, "decide", case.id, decision) | BY_USER]
        if decision == "both" or len(case.memories) < 2:
            changes = self._keep_all(case, now)
        else:
            newer, older = case.memories
            winner, loser = (newer, older) if decision == "newer" else (older, newer)
            winner, changes = self._choose(winner, loser, decision, now)
            row = action_row(now, "supersede", loser.id, USER_DECIDED)
            rows.append(row | {"met": winner.id} | BY_USER)
        self.note_writer.write(changes, [] if decided else rows)
        trash = self._changes.trash(case.path, case.sha, now, "decided")
        self.note_writer.write([trash], [])

    def _keep_all(self, case: ReviewCase, now: datetime) -> list[Change]:
        waiting = [
            self.merge_into_equal(fact, now) or fact
            for fact in case.memories
            if fact.status == "review"
        ]
        changes = [self._changes.activate(fact, fact, now) for fact in waiting]
        self.forgetting.allow_again(waiting, now)
        return changes

    def _choose(
        self, winner: Fact, loser: Fact, decision: str, now: datetime
    ) -> tuple[Fact, list[Change]]:
        """Return the remaining memory, and the changes that supersede the other."""
        if winner.status != "active":
            winner = self.merge_into_equal(winner, now) or winner
        self.forgetting.allow_again([winner], now)
        if decision == "older":
            self.forgetting.keep_out([loser], now, USER_DECIDED)
        successor = superseding(winner, loser)
        changes = [self._changes.activate(winner, successor, now)]
        if loser.status != "forgotten":
            ended = decision == "newer"
            changes.append(
                self._changes.supersede(loser, winner, SUPERSEDED, now, ended=ended)
            )
        return winner, changes


def _are_numbers(decision: str, case: ReviewCase) -> bool:
    """Return whether an answer is a list of numbers of the offered memories."""
    numbers = decision.split(",")
    return all(
        one.isdecimal() and 1 <= int(one) <= len(case.offered) for one in numbers
    )
