"""Values that the user corrects in a conversation: "it's Tuesday, not Wednesday" (A10).

With any extractor, the turns are read by the closed rules of
`core/language/corrections.py`. The fact with the wrong value is searched for in the
last turns of the conversation; if the correction names its subject, in the whole vault.
The fact is superseded by the same statement with the right value. Nothing is guessed:
unless exactly one fact or sentence matches, the words are an ordinary turn.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engram.core import ranking, trust
from engram.core.changes import EndedFact
from engram.core.language.corrections import (
    Correction,
    corrected,
    corrections,
    is_about,
    names_subject,
)
from engram.core.language.date_display import named_dates
from engram.core.language.dates import spans, without_written_dates
from engram.core.language.role_play import played
from engram.core.language.sentences import sentences
from engram.core.language.words import language, of_oneself, words
from engram.core.reading import with_named_dates
from engram.core.records import Candidate, Fact
from engram.extraction.rules import engine
from engram.extraction.rules.wording import tidy, with_dates
from engram.index.filters import SearchFilter
from engram.pipeline.retraction import sentence_tombstone
from engram.pipeline.write import action_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from engram.core.records import FiledTurn, Interval, Turn
    from engram.pipeline.plan import WritePlan
    from engram.pipeline.retraction import Retraction

RULE = "rule of corrections"
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

    @property
    def why(self) -> str:
        """The reason, in words."""
        return f'corrected to "{self.correction.right}" ({RULE})'

    def covers(self, candidate: Candidate) -> bool:
        """Return whether a candidate was extracted from the sentence of the correction."""
        if candidate.turn_id != self.turn.turn.id:
            return False
        return candidate.quote in self.quote or self.quote in candidate.quote


@dataclass(frozen=True, slots=True)
class Corrected:
    """The new statement of a correction, and the fact that it ends.

    `sentence` is the sentence with the wrong value in the turn `turn`, if it was found.
    `ended` is None if no fact was extracted from that sentence.
    """

    candidate: Candidate
    ended: EndedFact | None = None
    turn: FiledTurn | None = None
    sentence: str = ""


class Corrections:
    """Finds the facts that the turns of a batch correct. For the writer thread."""

    def __init__(self, retraction: Retraction) -> None:
        self.retraction = retraction
        self.vault = retraction.vault
        self.index = retraction.index
        self.policy = retraction.settings.policy

    def requests(self, turns: Iterable[FiledTurn]) -> list[CorrectionRequest]:
        """Return the corrections that the user makes in these turns."""
        return [
            CorrectionRequest(turn, found)
            for turn in turns
            if turn.turn.role == "user" and trust.source_class(turn.turn) == "user"
            for found in corrections(turn.turn.text)
            if not self._in_play(turn)
        ]

    def carried_out(
        self, request: CorrectionRequest, plan: WritePlan
    ) -> Corrected | None:
        """Return the new statement of a correction, or None if the fact is not certain."""
        turn, correction = request.turn, request.correction
        for one, sentence in reversed(self._earlier_sentences(turn, correction)):
            text = corrected(sentence, correction)
            if not text or corrections(sentence):
                continue
            facts = self._facts_from(one, sentence, plan)
            known = [sentence, *(fact.text for fact in facts)]
            if not is_about(correction, *known):
                continue
            old = self._target(facts, correction)
            if facts and old is None:
                return None
            candidate = self._statement(one, sentence, text, old, correction)
            if candidate is None:
                return None
            ended = EndedFact(old, request.why) if old else None
            return Corrected(_quoted_from(request, candidate), ended, one, sentence)
        return self._in_vault(request, plan)

    def hide(
        self, request: CorrectionRequest, found: Corrected, plan: WritePlan
    ) -> None:
        """Hide the sentence with the wrong value; an undo of the run shows it again."""
        old = plan.fact(found.ended.fact.id) if found.ended else None
        if found.turn is None or (old and old.status == "active"):
            return
        key, why = request.turn.key, request.why
        row = sentence_tombstone(found.turn, found.sentence, plan.now, why, key)
        plan.tombstones.append(row | ({"memory": old.id} if old else {}))
        if old is None:
            hides: dict[str, object] = {"memories": [], "turns": [found.turn.key]}
            logged = action_row(plan.now, "retract", key, why, "rule")
            plan.rows.append(logged | {"turn": key} | hides)

    # -- the corrected fact ------------------------------------------------------------

    def _in_play(self, turn: FiledTurn) -> bool:
        """Return whether the turn is part of a game or a role play."""
        before = self.retraction.turns_before(turn, {"user", "assistant"})
        return played([earlier.turn for earlier in (*before, turn)])[-1]

    def _earlier_sentences(
        self, turn: FiledTurn, correction: Correction
    ) -> list[tuple[FiledTurn, str]]:
        """Return the sentences of the last turns, and the earlier ones of this turn."""
        before = [
            one
            for one in self.retraction.turns_before(turn, {"user"})
            if one.turn.speaker == turn.turn.speaker
        ]
        return [
            (one, one.turn.text[start:end])
            for one in (*before[-TURNS:], turn)
            for start, end in sentences(one.turn.text)
            if one is not turn or start < correction.start
        ]

    def _facts_from(
        self, turn: FiledTurn, sentence: str, plan: WritePlan
    ) -> list[Fact]:
        """Return the active facts extracted from a sentence, with those of the plan."""
        facts = [*map(plan.latest, self.index.catalog.facts(turn.key)), *plan.new]
        resting = {
            fact.id: fact
            for fact in facts
            if fact.status == "active" and turn.key in {fact.source, *fact.also}
        }
        return [
            fact
            for fact in resting.values()
            if any(
                quote in sentence or sentence in quote
                for quote in self._quotes(fact, turn, plan)
            )
        ]

    def _quotes(self, fact: Fact, turn: FiledTurn, plan: WritePlan) -> list[str]:
        """Return the quotes from a turn that support a fact."""
        rows = [*self.vault.actions_of(fact.id), *plan.rows]
        return [
            str(row["quote"])
            for row in rows
            if row.get("quote")
            and row.get("turn") == turn.key
            and fact.id in {row["memory"], row.get("met")}
        ]

    @staticmethod
    def _target(facts: Sequence[Fact], correction: Correction) -> Fact | None:
        """Return the one fact with the wrong value, else the only fact, else None."""
        holding = [fact for fact in facts if corrected(fact.text, correction)]
        choices = holding or list(facts)
        return choices[0] if len(choices) == 1 else None

    def _in_vault(
        self, request: CorrectionRequest, plan: WritePlan
    ) -> Corrected | None:
        """Return the correction of the one fact in the vault that has its subject."""
        source, correction = request.turn.turn, request.correction
        if not names_subject(correction):
            return None
        question = ranking.parse_question(
            f"{correction.subject} {correction.wrong}", source.occurred_at
        )
        where = SearchFilter(("fact",), ("active",), persona=source.persona or "")
        hits = self.index.lexical.search(question, where, POOL).hits
        units = self.index.units([hit.key for hit in hits]).values()
        found = [
            (fact, text)
            for fact in units
            if isinstance(fact, Fact)
            and plan.latest(fact).status == "active"
            and is_about(correction, fact.text)
            and (text := corrected(fact.text, correction))
        ]
        if len(found) != 1:
            return None
        ((old, text),) = found
        candidate = _like_fact(old, *_redated(text, self._local(source)))
        return Corrected(_quoted_from(request, candidate), EndedFact(old, request.why))

    def _local(self, turn: Turn) -> datetime:
        return turn.occurred_at.astimezone(self.retraction.settings.zone)

    # -- the new statement -------------------------------------------------------------

    def _statement(
        self,
        turn: FiledTurn,
        sentence: str,
        text: str,
        old: Fact | None,
        correction: Correction,
    ) -> Candidate | None:
        """Return the statement of an earlier sentence with the right value.

        `text` is the sentence with the right value. It is read as of its own turn, so
        that relative dates count from that day. If the rules extract nothing, the text
        of the fact, or of a sentence that is not about the speaker, gets the right
        value word for word.
        """
        source = replace(turn.turn, text=text)
        read = engine.extract([source], self.policy.extraction).candidates
        if old is None:
            if len(read) == 1:
                return read[0]
            if read or of_oneself(" ".join(words(sentence))):
                return None
            statement, when = _redated(text, self._local(source))
            return Candidate(statement, "fact", 0.7, "", "", when=when)
        alike = [one for one in read if one.category == old.category]
        if len(alike) == 1 and alike[0].text != old.text:
            return _like_fact(old, alike[0].text, alike[0].when, about=alike[0].about)
        literal = corrected(old.text, correction)
        return (
            _like_fact(old, *_redated(literal, self._local(source)))
            if literal
            else None
        )


def _quoted_from(request: CorrectionRequest, candidate: Candidate) -> Candidate:
    """Return the candidate with the sentence of the correction as its quote."""
    turn = request.turn.turn
    return replace(candidate, turn_id=turn.id, quote=request.quote)


def _redated(text: str, when: datetime) -> tuple[str, Interval | None]:
    """Return a statement with its dates resolved relative to `when`, and its interval.

    Other words in brackets stay. Dates of an English statement are written in words. An
    interval that starts or ends a state counts only if there is no other.
    """
    plain = without_written_dates(text)
    found = spans(plain, when)
    if language(words(plain)) == "en":
        dated = with_dates(plain, 0, found)
    else:
        dated = with_named_dates(plain, named_dates(plain, when))
    times = sorted((one.interval for one in found), key=lambda one: bool(one.role))
    return tidy(dated), times[0] if times else None


def _like_fact(
    old: Fact,
    text: str,
    when: Interval | None,
    *,
    about: Sequence[str] | None = None,
) -> Candidate:
    """Return a candidate with the category and tags of a known fact, and another text."""
    names = old.about if about is None else about
    return Candidate(
        text,
        old.category,
        old.confidence,
        "",
        "",
        old.importance,
        tuple(names),
        old.tags,
        when,
    )
