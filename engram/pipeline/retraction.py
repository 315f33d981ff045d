"""Statements that the user takes back in a conversation or asks to forget (A26, X8).

"Just kidding" takes back the user's last statement; "forget what I told you about Rome"
takes back the statements that it names. With any extractor, the turns are read by the
closed forms of `core/language/retraction.py`, and `Forgetting.hide` carries them out.
Each step is a row of the action log by `rule`; restoring the turn with the request
undoes all of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from engram.core import trust
from engram.core.language.equal_statements import are_equal
from engram.core.language.retraction import (
    Withdrawal,
    codes,
    named_codes,
    names,
    withdrawals,
)
from engram.core.language.role_play import played
from engram.core.language.sentences import sentences
from engram.core.language.states import state_asked_for
from engram.core.language.topics import content, frame_words, is_question
from engram.core.records import Candidate, Extraction, Fact, FiledTurn, Relation
from engram.core.text import content_hash, normalise
from engram.extraction.rules.people import is_name
from engram.pipeline.forgetting import (
    RULE,
    STATUSES,
    TAKEN_BACK,
    Forgetting,
    HidePlan,
    naming,
    sentences_of,
)
from engram.vault import reviews

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from engram.index.states import StateSearch
    from engram.pipeline.write import NoteWriter

ASKED = "the user asked to forget it"


@dataclass(slots=True)
class Withdrawn:
    """The sentences that were taken back, by the key of their turn."""

    sentences: dict[str, set[str]] = field(default_factory=dict)

    def covers(self, key: str, quote: str) -> bool:
        """Return whether the words `quote` of a turn were taken back."""
        words = quote.strip()
        return bool(words) and any(
            words in one or one in words for one in self.sentences.get(key, ())
        )

    def remaining(self, filed: FiledTurn) -> FiledTurn:
        """Return a turn without the sentences that were taken back."""
        text, taken_back = filed.turn.text, self.sentences.get(filed.key)
        if not taken_back:
            return filed
        for sentence in taken_back:
            text = text.replace(sentence, " ")
        return replace(filed, turn=replace(filed.turn, text=text))

    def without(
        self, extraction: Extraction, turns: Mapping[str, FiledTurn]
    ) -> Extraction:
        """Return the extraction without what was extracted from these sentences."""

        def remains(extracted: Candidate | Relation) -> bool:
            filed = turns.get(extracted.turn_id)
            return filed is None or not self.covers(filed.key, extracted.quote)

        candidates = tuple(filter(remains, extraction.candidates))
        removed = len(extraction.candidates) - len(candidates)
        return replace(
            extraction,
            candidates=candidates,
            relations=tuple(filter(remains, extraction.relations)),
            dropped={
                **extraction.dropped,
                **({"taken back": removed} if removed else {}),
            },
        )


@dataclass(frozen=True, slots=True)
class _Request:
    """A withdrawal in its turn; `sentence` is the sentence that expresses it."""

    turn: FiledTurn
    wish: Withdrawal
    sentence: str

    @property
    def why(self) -> str:
        """The reason, in words."""
        return TAKEN_BACK if self.wish.untrue else ASKED


class Retraction:
    """Carries out the withdrawals in the turns of a batch. For the writer thread."""

    def __init__(
        self, note_writer: NoteWriter, forgetting: Forgetting, states: StateSearch
    ) -> None:
        self.states = states
        self.note_writer = note_writer
        self.forgetting = forgetting
        self.index = note_writer.index
        self.settings = note_writer.settings
        self.policy = note_writer.settings.policy.retraction

    def apply(self, turns: Iterable[FiledTurn], now: datetime) -> Withdrawn:
        """Carry out the withdrawals in these turns; return the withdrawn sentences.

        A second call, as after a crash, changes nothing.
        """
        withdrawn = Withdrawn()
        for turn in turns:
            for request in self._requests(turn):
                self._carry_out(request, now, withdrawn)
        return withdrawn

    def _requests(self, turn: FiledTurn) -> list[_Request]:
        if turn.turn.role != "user" or trust.source_class(turn.turn) == "tool":
            return []
        found = withdrawals(turn.turn.text)
        if not found or self.in_play(turn):
            return []
        # An imported old chat does not refer to facts that are known today.
        is_own = trust.source_class(turn.turn) == "user"
        return [
            _Request(turn, wish, turn.turn.text[wish.start : wish.end])
            for wish in found
            if is_own or not wish.named
        ]

    def in_play(self, turn: FiledTurn) -> bool:
        """Return whether the turn is part of a game or a role play."""
        before = self.index.turns_before(turn, self.policy.minutes)
        return played([one.turn for one in (*before, turn)])[-1]

    def own_before(self, turn: FiledTurn, most: int) -> list[FiledTurn]:
        """Return the last turns of the user before this one, in order."""
        before = self.index.turns_before(turn, self.policy.minutes)
        return [
            one
            for one in before
            if one.turn.role == "user" and one.turn.speaker == turn.turn.speaker
        ][-most:]

    def _carry_out(
        self, request: _Request, now: datetime, withdrawn: Withdrawn
    ) -> None:
        """Hide what a request means; ask if it is unclear, too much, or a user's own."""
        turn, wish = request.turn, request.wish
        if not wish.named:
            if meant := self._last_statement(request):
                passages = [*meant, *self._replies(turn, meant)]
                self._hide(request, passages, (), now, withdrawn)
            return
        passages, facts = self._named(request)
        if wish.unsure and not _is_known(request, passages, facts):
            return
        withdrawn.sentences.setdefault(turn.key, set()).add(request.sentence)
        found = facts or any(one.turn.role == "user" for one, _ in passages)
        statements = len(facts) + len(_without_fact(passages, facts))
        is_plain = found and statements <= self.policy.most
        if is_plain and not any(map(self.note_writer.is_users, facts)):
            self._hide(request, passages, facts, now, withdrawn)
        else:
            self._ask(request, passages, facts, now)

    def _hide(
        self,
        request: _Request,
        passages: Sequence[tuple[FiledTurn, str]],
        facts: Sequence[Fact],
        now: datetime,
        withdrawn: Withdrawn | None = None,
    ) -> None:
        """Hide sentences and facts for a request, and the sentence of the request.

        Of a named statement that no fact has, equal ones are hidden too; a joke hides
        no earlier words, which may be serious.
        """
        turn, wish = request.turn, request.wish
        plan = self._plan(passages, facts)
        if wish.named:
            plan.statements += _without_fact(passages, facts)
        if wish.after == wish.end or wish.named:
            plan.add(turn, request.sentence)
        self.forgetting.hide(
            turn.key,
            plan,
            request.why,
            now,
            action="retract",
            at=turn.turn.occurred_at,
            by=RULE,
            turn=turn.key,
            revive=not wish.named,
        )
        if withdrawn:
            for key, (_, texts) in plan.cut.items():
                withdrawn.sentences.setdefault(key, set()).update(texts)

    def _ask(
        self,
        request: _Request,
        passages: Sequence[tuple[FiledTurn, str]],
        facts: Sequence[Fact],
        now: datetime,
    ) -> None:
        """Ask in review, once, which of these statements are to be forgotten."""
        units = {fact.id: fact.text for fact in facts}
        known = {key for fact in facts for key in fact.turns}
        for one, text in passages:
            if one.turn.role == "user" and one.key not in known:
                units[one.key] = f"{units.get(one.key, '')} {text}".strip()
        turn = request.turn
        at, zone = turn.turn.occurred_at, self.settings.zone
        note = reviews.forget_note(
            turn.key, request.sentence, units, at, zone, reviews.UNCLEAR
        )
        self.index.tombstones.add(
            [sentence_tombstone(turn, request.sentence, at, request.why, turn.key)]
        )
        self.note_writer.ask(note, turn.key, turn.key, now)

    def forget(self, asked: str, chosen: Sequence[str], now: datetime) -> None:
        """Forget those of these memories and turns that the user chose.

        `asked` is the key of the turn with the request.
        """
        turn = self.index.unit(asked)
        if not isinstance(turn, FiledTurn):
            return
        units = self.index.units(list(chosen))
        facts = [unit for unit in units.values() if isinstance(unit, Fact)]
        for request in self._requests(turn):
            named = self._named(request)[0] if request.wish.named else []
            passages = [one for one in named if one[0].key in units]
            self._hide(request, passages, facts, now)

    # -- scope of a request ------------------------------------------------------------

    def _last_statement(self, request: _Request) -> list[tuple[FiledTurn, str]]:
        """Return the statement that a request without an object refers to, if any.

        It is the user's last one, or what follows in the turn ("Don't remember this:
        …"). A question about something else ends the search.
        """
        turn, wish = request.turn, request.wish
        own = [
            (turn, text) for start, _, text in _sentences(turn) if start < wish.start
        ]
        head = turn.turn.text[wish.start : wish.cut].strip(" ,;:-–—(")
        if _states(head):
            return [(turn, request.sentence)]
        if turn.turn.text[: wish.after].rstrip().endswith((":", "：")):
            found = _sentences(turn)
            return [(turn, text) for start, _, text in found if start >= wish.start]
        earlier = [
            (one, text)
            for one in self.own_before(turn, self.policy.turns)
            for text in sentences_of(one)
        ]
        for one, text in reversed([*earlier, *own]):
            if _states(text):
                return [(one, text)]
            if is_question(text) and len(content(text)) > 1:
                break
        return []

    def _replies(
        self, turn: FiledTurn, passages: Sequence[tuple[FiledTurn, str]]
    ) -> list[tuple[FiledTurn, str]]:
        """Return the sentences of later replies that share words with these sentences."""
        first = min(one.order for one, _ in passages)
        words = frozenset[str]().union(*(content(text) for _, text in passages))
        return [
            (one, text)
            for one in self.index.turns_before(turn, self.policy.minutes)
            if one.turn.role == "assistant" and one.order > first
            for text in sentences_of(one)
            if words & content(text)
        ]

    def _named(
        self, request: _Request
    ) -> tuple[list[tuple[FiledTurn, str]], list[Fact]]:
        """Return the sentences and the facts that the object of a request means.

        "Where I live" means the facts that give the value. Any other object means those
        that state it, or else those that contain all of its words.
        """
        wish, persona = request.wish, request.turn.turn.persona or ""
        if slot := state_asked_for(wish.named):
            return [], self.states.near([slot], ("active", "archived"), persona)
        turns, facts = self._near(request)
        wanted = named_codes(wish, request.sentence)

        def is_equal(text: str) -> bool:
            return are_equal(wish.named, text)

        def is_named(text: str) -> bool:
            return names(wish, text) and wanted <= codes(text)

        texts = [fact.text for fact in facts]
        texts += [text for one in turns for text in sentences_of(one) if _states(text)]
        is_meant = is_equal if any(map(is_equal, texts)) else is_named
        return (
            [
                (one, text)
                for one in turns
                for text in _meant(one, wish, is_meant)
                if _states(text)
            ],
            [fact for fact in facts if is_meant(fact.text)],
        )

    def _near(self, request: _Request) -> tuple[list[FiledTurn], list[Fact]]:
        """Return the earlier turns and the facts with words of the object."""
        named, turn = request.wish.named, request.turn.turn
        words = f"{named} {frame_words(named)}"
        near = self.forgetting.near(
            words, turn.occurred_at, STATUSES, turn.persona or ""
        )
        turns = [unit for unit in near if isinstance(unit, FiledTurn)]
        return (
            [one for one in turns if one.order < request.turn.order],
            [unit for unit in near if isinstance(unit, Fact)],
        )

    def _plan(
        self, passages: Iterable[tuple[FiledTurn, str]], facts: Iterable[Fact]
    ) -> HidePlan:
        """Return the plan to hide sentences and these facts, else those resting on them."""
        plan = HidePlan({fact.id: fact for fact in facts})
        for fact in plan.facts.values():
            self.forgetting.add_evidence(plan, fact)
        for turn, text in passages:
            plan.add(turn, text)
        if plan.facts:
            return plan
        return self.forgetting.add_resting(plan, claimed=False)


def _is_known(
    request: _Request,
    passages: Sequence[tuple[FiledTurn, str]],
    facts: Sequence[Fact],
) -> bool:
    """Return whether a wish names a code, a known value, or a person or thing by name."""
    wish = request.wish
    if named_codes(wish, request.sentence):
        return True
    if state_asked_for(wish.named):
        return bool(facts)
    named = f" {normalise(wish.named)} "
    texts = [fact.text for fact in facts] + [text for _, text in passages]
    written = (one for one in wish.named.split() if one[0].isupper())
    as_names = map(re.escape, (wish.named.title(), *written))
    as_name = re.compile(rf"\b(?:{'|'.join(as_names)})\b")
    return any(map(as_name.search, texts)) or any(
        f" {normalise(name)} " in named for fact in facts for name in fact.about
    )


def _states(text: str) -> bool:
    """Return whether a sentence states something that can be taken back."""
    return bool(content(text)) and not is_question(text) and not withdrawals(text)


def _meant(
    turn: FiledTurn, wish: Withdrawal, is_meant: Callable[[str], bool]
) -> Iterator[str]:
    """Return the sentences of a turn that a wish means."""
    return naming(turn, is_meant, is_person=is_name(wish.named.title()))


def _sentences(turn: FiledTurn) -> Iterator[tuple[int, int, str]]:
    text = turn.turn.text
    for start, end in sentences(text):
        yield start, end, text[start:end]


def _without_fact(
    passages: Sequence[tuple[FiledTurn, str]], facts: Sequence[Fact]
) -> list[str]:
    """Return the user's sentences that support none of these facts."""
    known = {key for fact in facts for key in fact.turns}
    return [
        text
        for turn, text in passages
        if turn.turn.role == "user" and turn.key not in known
    ]


def sentence_tombstone(
    turn: FiledTurn, text: str, at: datetime, why: str, name: str
) -> dict[str, object]:
    """Return the row that hides one sentence in its own turn, for the request `name`."""
    digest = content_hash(text)
    row: dict[str, object] = {"at": at.isoformat(), "hash": digest, "memory": turn.key}
    return row | {"for": name, "reason": why, "in": turn.key, "cut": [digest]}
