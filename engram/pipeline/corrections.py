"""Values that the user corrects in a conversation: "it's Tuesday, not Wednesday" (A10).

With any extractor, the turns are read by the closed rules of
`core/language/corrections.py`. The fact with the wrong value is searched for among
those of the last turns of the conversation; if the correction names its subject, in the
whole vault. The result is a candidate, the same statement with the right value, with a
link to that fact, on which `decide` decides. Unless exactly one fact matches, the words
are an ordinary turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.core import trust
from engram.core.decide import CORRECTED_BY_USER
from engram.core.language.corrections import (
    Correction,
    corrected,
    corrections,
    is_about,
    names_subject,
)
from engram.core.language.dates import named_dates, spans, without_written_dates
from engram.core.language.sentences import sentences
from engram.core.language.words import language, of_oneself, words
from engram.core.reading import with_named_dates
from engram.core.records import Candidate, Fact, FactLinks, FiledTurn, Interval
from engram.extraction.rules.table import tidy, with_dates
from engram.pipeline.retraction import Retraction, sentence_tombstone
from engram.pipeline.write import action_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from engram.pipeline.plan import WritePlan

TURNS = 10
"""Number of earlier turns of the user that a correction may refer to."""
POOL = 20


@dataclass(frozen=True, slots=True)
class CorrectionRequest:
    """A correction that the user makes in a turn."""

    turn: FiledTurn
    correction: Correction

    @property
    def quote(self) -> str:
        """The sentence of the correction."""
        return self.turn.turn.text[self.correction.start : self.correction.end]

    def covers(self, candidate: Candidate) -> bool:
        """Return whether a candidate was extracted from the sentence of the correction."""
        if candidate.turn_id != self.turn.turn.id:
            return False
        return candidate.quote in self.quote or self.quote in candidate.quote


class Corrections:
    """Finds the facts that the turns of a batch correct. For the writer thread."""

    def __init__(self, retraction: Retraction) -> None:
        self.retraction = retraction
        self.index = retraction.index

    def requests(self, turns: Iterable[FiledTurn]) -> list[CorrectionRequest]:
        """Return the corrections that the user makes in these turns."""
        return [
            CorrectionRequest(turn, found)
            for turn in turns
            if turn.turn.role == "user" and trust.source_class(turn.turn) == "user"
            for found in corrections(turn.turn.text)
            if not self.retraction.in_play(turn)
        ]

    def candidate(
        self, request: CorrectionRequest, plan: WritePlan
    ) -> Candidate | None:
        """Return the statement with the wrong value as a candidate with the right one.

        Its quote is the sentence of the correction. The latest turn with the wrong
        value counts; if no fact came from it, its sentence is the statement. None if
        the statement is not certain.
        """
        correction = request.correction
        for turn in self._recent(request.turn):
            facts = self._facts_of(turn, plan)
            said = self._sentences(turn, request)
            if found := self._corrected(facts, said, correction):
                return self._like(*found[0], request) if len(found) == 1 else None
            if not facts and len(said) == 1 and is_about(correction, *said):
                return self._anew(turn, said[0], request)
        if names_subject(correction):
            found = self._corrected(self._in_vault(request, plan), (), correction)
            return self._like(*found[0], request) if len(found) == 1 else None
        return None

    def hide(
        self, request: CorrectionRequest, candidate: Candidate, plan: WritePlan
    ) -> None:
        """Hide the sentence with the wrong value; an undo of the run shows it again."""
        old = plan.fact(candidate.links.corrects[0]) if candidate.links else None
        if old and old.status == "active":
            return
        key, why = request.turn.key, CORRECTED_BY_USER
        for turn in self._recent(request.turn):
            said = self._sentences(turn, request)
            for one in said:
                row = sentence_tombstone(turn, one, plan.now, why, key)
                plan.tombstones.append(row | ({"memory": old.id} if old else {}))
            if said and old is None:
                hides: dict[str, object] = {"memories": [], "turns": [turn.key]}
                logged = action_row(plan.now, "retract", key, why, "rule")
                plan.rows.append(logged | {"turn": key} | hides)
            if said:
                return

    # -- the corrected fact ------------------------------------------------------------

    def _recent(self, turn: FiledTurn) -> list[FiledTurn]:
        """Return this turn and the speaker's earlier ones, the latest first."""
        return [turn, *reversed(self.retraction.own_before(turn, TURNS))]

    def _facts_of(self, turn: FiledTurn, plan: WritePlan) -> list[Fact]:
        """Return the active facts of a turn, with those of the plan."""
        facts = [*map(plan.latest, self.index.catalog.facts(turn.key)), *plan.new]
        return list(
            {
                fact.id: fact
                for fact in facts
                if fact.status == "active" and turn.key in fact.turns
            }.values()
        )

    @staticmethod
    def _sentences(turn: FiledTurn, request: CorrectionRequest) -> list[str]:
        """Return the sentences of a turn, before the correction, with the wrong value."""
        text, end = turn.turn.text, len(turn.turn.text)
        if turn.key == request.turn.key:
            end = request.correction.start
        every = (text[first:last] for first, last in sentences(text) if first < end)
        return [
            one
            for one in every
            if corrected(one, request.correction) and not corrections(one)
        ]

    @staticmethod
    def _corrected(
        facts: Iterable[Fact], said: Sequence[str], correction: Correction
    ) -> list[tuple[Fact, str]]:
        """Return the facts that have the wrong value, each with its corrected text."""
        return [
            (fact, text)
            for fact in facts
            if fact.status == "active"
            and is_about(correction, fact.text, *said)
            and (text := corrected(without_written_dates(fact.text), correction))
        ]

    def _in_vault(self, request: CorrectionRequest, plan: WritePlan) -> list[Fact]:
        """Return the facts of the vault that have the subject of a correction."""
        source, correction = request.turn.turn, request.correction
        near = self.retraction.forgetting.near(
            f"{correction.subject} {correction.wrong}",
            source.occurred_at,
            ("active",),
            source.persona or "",
        )
        return [plan.latest(fact) for fact in near if isinstance(fact, Fact)]

    # -- the new statement -------------------------------------------------------------

    def _like(self, old: Fact, text: str, request: CorrectionRequest) -> Candidate:
        """Return a candidate like a known fact, with another text.

        Relative dates count from the day of the fact.
        """
        said_at = old.created or request.turn.turn.occurred_at
        local = said_at.astimezone(self.retraction.settings.zone)
        statement, when = _redated(text, local)
        return Candidate(
            statement,
            old.category,
            old.confidence,
            request.turn.turn.id,
            request.quote,
            old.importance,
            old.about,
            old.tags,
            when,
            links=FactLinks(corrects=(old.id,)),
        )

    def _anew(
        self, turn: FiledTurn, sentence: str, request: CorrectionRequest
    ) -> Candidate | None:
        """Return a sentence with the right value, unless its speaker is the subject."""
        if of_oneself(" ".join(words(sentence))):
            return None
        local = turn.turn.occurred_at.astimezone(self.retraction.settings.zone)
        statement, when = _redated(corrected(sentence, request.correction), local)
        source = request.turn.turn.id
        return Candidate(statement, "fact", 0.7, source, request.quote, when=when)


def _redated(text: str, when: datetime) -> tuple[str, Interval | None]:
    """Return a statement with its dates resolved relative to `when`, and its interval.

    Dates of an English statement are written in words. An interval that starts or ends
    a state counts only if there is no other.
    """
    found = spans(text, when)
    if language(words(text)) == "en":
        dated = with_dates(text, 0, found)
    else:
        dated = with_named_dates(text, named_dates(text, when))
    times: Sequence[Interval] = sorted(
        (one.interval for one in found), key=lambda one: bool(one.role)
    )
    return tidy(dated), times[0] if times else None
