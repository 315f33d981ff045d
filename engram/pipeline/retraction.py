"""Statements that the user takes back in a conversation or asks to forget (A26, X8).

"Just kidding" takes back the user's last statement; "forget what I told you about Rome"
takes back the statements that it names. With any extractor, the turns are read by the
closed rules of `core/language/retraction.py`. Statements are hidden by tombstones,
facts that only they support are marked as forgotten, and the facts that those had
replaced become active again. Each step is a row of the action log by `rule`; restoring
the turn with the request undoes all of them.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from engram.core import ranking, todos, trust
from engram.core.decide import is_scheduled
from engram.core.forgetting import tombstone_row
from engram.core.language.equal_statements import are_equal
from engram.core.language.promises import only_says_done, reports
from engram.core.language.retraction import (
    codes,
    named_codes,
    names,
    withdrawals,
)
from engram.core.language.role_play import played
from engram.core.language.sentences import sentences
from engram.core.language.topics import content, frame_words, is_question
from engram.core.records import Edit, Fact, FiledTurn
from engram.core.text import content_hash, normalise
from engram.errors import ConflictError, NotFoundError
from engram.index.filters import SearchFilter
from engram.pipeline.write import action_row
from engram.vault import reviews

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from engram.core.language.retraction import Withdrawal
    from engram.core.records import Candidate, Extraction, Relation
    from engram.pipeline.forgetting import Forgetting
    from engram.pipeline.write import NoteWriter

TAKEN_BACK = "the user took it back"
ASKED = "the user asked to forget it"
RULE = "rule"
POOL = 100
STATUSES = ("active", "archived", "superseded", "invalidated", "review")


@dataclass(slots=True)
class Withdrawn:
    """The sentences that were taken back, by the key of their turn."""

    sentences: dict[str, set[str]] = field(default_factory=dict)

    def add(self, key: str, sentence: str) -> None:
        """Add a sentence of the turn `key`."""
        self.sentences.setdefault(key, set()).add(sentence)

    def covers(self, key: str, quote: str) -> bool:
        """Return whether the words `quote` of a turn were taken back."""
        words = quote.strip()
        return bool(words) and any(
            words in one or one in words for one in self.sentences.get(key, ())
        )

    def remaining(self, filed: FiledTurn) -> FiledTurn:
        """Return a turn without the sentences that were taken back."""
        text = filed.turn.text
        for sentence in self.sentences.get(filed.key, ()):
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

    def __init__(self, note_writer: NoteWriter, forgetting: Forgetting) -> None:
        self.note_writer = note_writer
        self.forgetting = forgetting
        self.vault = note_writer.vault
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
        if not found or self._in_play(turn):
            return []
        requests = []
        for wish in found:
            sentence = next(
                (
                    text
                    for start, end, text in _sentences(turn)
                    if start <= wish.start < end
                ),
                "",
            )
            # An imported old chat does not refer to facts that are known today.
            foreign = wish.named and trust.source_class(turn.turn) != "user"
            if sentence and not foreign:
                requests.append(_Request(turn, wish, sentence))
        return requests

    def _in_play(self, turn: FiledTurn) -> bool:
        """Return whether the turn is part of a game or a role play."""
        before = self.turns_before(turn, {"user", "assistant"})
        return played([one.turn for one in (*before, turn)])[-1]

    def _carry_out(
        self, request: _Request, now: datetime, withdrawn: Withdrawn
    ) -> None:
        if request.wish.named:
            self._forget_named(request, now, withdrawn)
        else:
            self._take_back(request, now, withdrawn)

    def _forget_named(
        self, request: _Request, now: datetime, withdrawn: Withdrawn
    ) -> None:
        """Forget the named statements; ask if they are unclear or too many."""
        passages, facts = self._named(request)
        found = facts or any(one.turn.role == "user" for one, _ in passages)
        if request.wish.unsure and not _is_known(request, passages, facts):
            return
        if not found:
            self._ask(request, [], [], now)
            return
        withdrawn.add(request.turn.key, request.sentence)
        statements = len(facts) + len(self._without_fact(passages, facts))
        few = statements <= self.policy.most
        if few and not any(map(self._only_user_may_end, facts)):
            passages.append((request.turn, request.sentence))
            self._withdraw_all(request, passages, facts, now, withdrawn)
        else:
            self._ask(request, passages, facts, now)

    def _take_back(
        self, request: _Request, now: datetime, withdrawn: Withdrawn
    ) -> None:
        """Withdraw the user's last statement and the replies to it."""
        passages = self._last_statement(request)
        if not passages:
            return
        if request.wish.after == request.wish.end:
            passages.append((request.turn, request.sentence))
        passages += self._replies(request.turn, passages)
        self._withdraw_all(request, passages, [], now, withdrawn)

    def _withdraw_all(
        self,
        request: _Request,
        passages: Sequence[tuple[FiledTurn, str]],
        facts: Sequence[Fact],
        now: datetime,
        withdrawn: Withdrawn,
    ) -> None:
        """Withdraw sentences and the facts from them; ask about nearby statements."""
        for turn, sentence in passages:
            withdrawn.add(turn.key, sentence)
        self._withdraw(request, passages, facts or self._facts_from(passages), now)
        if others := self._nearby(request):
            self._ask(request, others, self._facts_from(others), now)

    def _ask(
        self,
        request: _Request,
        passages: Sequence[tuple[FiledTurn, str]],
        facts: Sequence[Fact],
        now: datetime,
    ) -> None:
        """Ask in review, once, which of these statements are to be forgotten."""
        known = {key for fact in facts for key in (fact.source, *fact.also)}
        units = {fact.id: fact.text for fact in facts}
        for one, text in passages:
            if one.turn.role == "user" and one.key not in known:
                units[one.key] = f"{units.get(one.key, '')} {text}".strip()
        turn = request.turn
        at, zone = turn.turn.occurred_at, self.settings.zone
        why = reviews.UNCLEAR if request.wish.named else reviews.JEST
        note = reviews.forget_note(turn.key, request.sentence, units, at, zone, why)
        hidden = sentence_tombstone(
            turn, request.sentence, at, request.why, turn.key, plain=True
        )
        self.index.tombstones.add([hidden])
        decided = self.note_writer.is_logged("decide", str(note.keys["id"]))
        if not decided and not self.index.scanner.exists(note.path):
            row = action_row(now, "ask", turn.key, note.why, RULE) | {"turn": turn.key}
            self.note_writer.write([note], [row])

    def forget(self, asked: str, chosen: Sequence[str], now: datetime) -> None:
        """Forget those of these memories and turns that the user chose.

        `asked` is the key of the turn with the request.
        """
        turn = self.index.unit(asked)
        if not isinstance(turn, FiledTurn):
            return
        units = self.index.units(list(chosen)).values()
        facts = [unit for unit in units if isinstance(unit, Fact)]
        keys = {key for fact in facts for key in (fact.source, *fact.also)} - {""}
        sources = self.index.units([*keys, *chosen]).values()
        turns = [unit for unit in sources if isinstance(unit, FiledTurn)]
        for request in self._requests(turn):
            passages = self._chosen(request, facts, turns)
            resting = [] if facts or request.wish.named else self._facts_from(passages)
            passages.append((turn, request.sentence))
            self._withdraw(request, passages, [*facts, *resting], now)

    def _chosen(
        self, request: _Request, facts: Sequence[Fact], turns: Sequence[FiledTurn]
    ) -> list[tuple[FiledTurn, str]]:
        """Return the sentences of these turns that the user wants forgotten.

        If facts were chosen and the user named nothing, only the sentences of these
        facts.
        """
        if request.wish.named:
            return [
                (one, text)
                for one in turns
                for *_, text in _sentences(one)
                if names(request.wish, text)
            ]
        keys = {one.key for one in turns}
        nearby = [item for item in self._nearby(request) if item[0].key in keys]
        if not facts:
            return nearby
        return [
            (one, text)
            for one, text in nearby
            if any(self._was_extracted(fact, one, {text}) for fact in facts)
        ]

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
            for one in self.turns_before(turn, {"user"})[-self.policy.turns :]
            if one.turn.speaker == turn.turn.speaker
            for *_, text in _sentences(one)
        ]
        for one, text in reversed([*earlier, *own]):
            if _states(text):
                return [(one, text)]
            if is_question(text) and len(content(text)) > 1:
                break
        return []

    def _nearby(self, request: _Request) -> list[tuple[FiledTurn, str]]:
        """Return the other statements in the same turn as a joke.

        They may be part of the joke; no rule can decide. The list is empty if the
        statement is in another turn than the withdrawal, or is a slip of the tongue.
        """
        if request.wish.named or not request.wish.untrue:
            return []
        meant = self._last_statement(request)
        if not meant:
            return []
        turn, taken = meant[0][0], {text for _, text in meant}
        end = (
            request.wish.start if turn.key == request.turn.key else len(turn.turn.text)
        )
        return [
            (turn, text)
            for start, _, text in _sentences(turn)
            if start < end and text not in taken and _states(text)
        ]

    def _replies(
        self, turn: FiledTurn, passages: Sequence[tuple[FiledTurn, str]]
    ) -> list[tuple[FiledTurn, str]]:
        """Return the sentences of later replies that share words with these sentences."""
        first = min(_order(one) for one, _ in passages)
        words = frozenset[str]().union(*(content(text) for _, text in passages))
        return [
            (one, text)
            for one in self.turns_before(turn, {"assistant"})
            if _order(one) > first
            for *_, text in _sentences(one)
            if words & content(text)
        ]

    def turns_before(self, turn: FiledTurn, roles: Collection[str]) -> list[FiledTurn]:
        """Return the turns of the conversation just before, in order."""
        source = turn.turn
        since = source.occurred_at - timedelta(minutes=self.policy.minutes)
        units = [
            unit
            for file in self.index.catalog.sessions(source.session, source.persona)
            if file.ended >= since and file.started <= source.occurred_at
            for unit in self.index.catalog.units_at(file.path)
        ]
        before = [
            unit
            for unit in units
            if isinstance(unit, FiledTurn)
            and unit.turn.role in roles
            and unit.turn.origin == source.origin
            and since <= unit.turn.occurred_at
            and _order(unit) < _order(turn)
        ]
        return sorted(before, key=_order)

    def _named(
        self, request: _Request
    ) -> tuple[list[tuple[FiledTurn, str]], list[Fact]]:
        """Return the sentences and the facts that contain all words of the object."""
        wish, persona = request.wish, request.turn.turn.persona
        words = f"{wish.named} {frame_words(wish.named)}"
        question = ranking.parse_question(words, request.turn.turn.occurred_at)
        wheres = (
            SearchFilter(("fact",), STATUSES, persona=persona or ""),
            SearchFilter(("turn",), persona=persona or ""),
        )
        keys = [
            hit.key
            for where in wheres
            for hit in self.index.lexical.search(question, where, POOL).hits
        ]
        units = self.index.units(keys).values()
        wanted = named_codes(wish, request.sentence)
        passages = [
            (unit, text)
            for unit in units
            if isinstance(unit, FiledTurn) and _order(unit) < _order(request.turn)
            for *_, text in _sentences(unit)
            if names(wish, text)
            and wanted <= codes(text)
            and not is_question(text)
            and not withdrawals(text)
        ]
        facts = [
            unit
            for unit in units
            if isinstance(unit, Fact)
            and names(wish, unit.text)
            and wanted <= codes(unit.text)
        ]
        return passages, facts

    def _without_fact(
        self, passages: Sequence[tuple[FiledTurn, str]], facts: Sequence[Fact]
    ) -> list[str]:
        """Return the user's sentences that support none of these facts."""
        known = {key for fact in facts for key in (fact.source, *fact.also)}
        return [
            text
            for turn, text in passages
            if turn.turn.role == "user" and turn.key not in known
        ]

    def _only_user_may_end(self, fact: Fact) -> bool:
        """Return whether a user wrote or edited the note of a fact."""
        foreign = fact.id not in self.note_writer.creation_times()
        return foreign or self.note_writer.is_edited(fact.id)

    def _facts_from(self, passages: Sequence[tuple[FiledTurn, str]]) -> list[Fact]:
        """Return the facts that only these sentences support."""
        withdrawn: dict[str, set[str]] = {}
        for turn, text in passages:
            withdrawn.setdefault(turn.key, set()).add(text)
        turns = {turn.key: turn for turn, _ in passages}

        by_id = {
            fact.id: fact
            for key in withdrawn
            for fact in self.index.catalog.facts(key)
            if self._supported_only_by(fact, turns, withdrawn)
        }
        by_id |= self.derived_from(by_id)
        return [fact for fact in by_id.values() if not self._only_user_may_end(fact)]

    def _supported_only_by(
        self,
        fact: Fact,
        turns: Mapping[str, FiledTurn],
        withdrawn: Mapping[str, Collection[str]],
    ) -> bool:
        """Return whether every source of the fact is among the withdrawn sentences.

        `turns` and `withdrawn` have the turns and their sentences by the key of the
        turn.
        """
        sources = {fact.source, *fact.also} - {""}
        if (
            fact.status not in STATUSES
            or not sources
            or not sources <= withdrawn.keys()
        ):
            return False
        return all(
            self._was_extracted(fact, turns[one], withdrawn[one]) for one in sources
        )

    def derived_from(self, found: Mapping[str, Fact]) -> dict[str, Fact]:
        """Return the facts that are derived only from the found ones, by id."""
        return {
            fact.id: fact
            for name in found
            for fact in self.index.catalog.facts(name)
            if fact.derived_from
            and set(fact.derived_from) <= found.keys()
            and fact.status in STATUSES
        }

    def _was_extracted(
        self, fact: Fact, turn: FiledTurn, withdrawn: Collection[str]
    ) -> bool:
        """Return whether the fact was extracted from the withdrawn sentences."""
        if len(withdrawn) == sum(1 for _ in _sentences(turn)):
            return True
        quotes = [
            str(row["quote"])
            for row in self.vault.actions_of(fact.id)
            if row.get("quote") and row.get("turn") == turn.key
        ]
        if quotes:
            return any(
                quote in text or text in quote for quote in quotes for text in withdrawn
            )
        return any(are_equal(fact.text, text) for text in withdrawn)

    # -- withdrawal --------------------------------------------------------------------

    def _withdraw(
        self,
        request: _Request,
        passages: Sequence[tuple[FiledTurn, str]],
        facts: Sequence[Fact],
        now: datetime,
    ) -> None:
        """Hide the sentences, forget the facts, and restore the replaced ones."""
        key, at, why = request.turn.key, request.turn.turn.occurred_at, request.why
        covered = {name for fact in facts for name in (fact.source, *fact.also)}
        # A joke hides no earlier words, which may be serious.
        is_joke = not request.wish.named
        self.index.tombstones.add(
            [
                sentence_tombstone(
                    turn,
                    text,
                    at,
                    why,
                    key,
                    plain=is_joke or turn.key in covered or text == request.sentence,
                )
                for turn, text in passages
            ]
        )
        self.forgetting.add_tombstones(facts, at, why, whole=key)

        rows: list[Mapping[str, object]] = []
        for fact in facts:
            keys = {"status": "forgotten", "end_reason": why}
            if self.patch(fact, keys, why):
                rows.append(
                    action_row(now, "forget", fact.id, why, RULE) | {"turn": key}
                )
            rows += self.revive(fact, key, now)
        kept_in = {
            turn.key for turn, text in passages if reports(text) or only_says_done(text)
        }
        rows += self.reopened(kept_in, now)
        turns = sorted({turn.key for turn, _ in passages} - {key})
        hides = {"memories": sorted(fact.id for fact in facts), "turns": turns}
        rows.append(action_row(now, "retract", key, why, RULE) | {"turn": key} | hides)
        self.note_writer.log_actions(rows)
        self.forgetting.summaries.drop({turn.key for turn, _ in passages})

    def reopened(
        self, keys: Collection[str], now: datetime
    ) -> Iterator[Mapping[str, object]]:
        """Reopen the promises that these turns had settled (`E16`); yield log rows."""
        why = "the statement that settled it was taken back"
        for fact, key in self._changed_in(keys, "settle"):
            if todos.is_settled(fact) and self.patch(
                fact, todos.reopened_keys(fact), why
            ):
                yield action_row(now, "revive", fact.id, why, RULE) | {"turn": key}

    def revived(
        self, keys: Collection[str], now: datetime
    ) -> Iterator[Mapping[str, object]]:
        """Make the facts active again that only these turns had ended; yield log rows."""
        why = "the statement that ended it was taken back"
        for fact, key in self._changed_in(keys, "invalidate"):
            if fact.status != "invalidated" or fact.superseded_by:
                continue
            active = {"status": "active", "end_reason": None, "valid_until": None}
            self.forgetting.unbury([fact], now)
            if self.patch(fact, active, TAKEN_BACK):
                yield action_row(now, "revive", fact.id, why, RULE) | {"turn": key}

    def _changed_in(
        self, keys: Collection[str], action: str
    ) -> Iterator[tuple[Fact, str]]:
        """Yield the facts that these turns, and no user, changed by `action`.

        Each comes with the key of its turn.
        """
        rows = {
            str(row.get("memory")): str(row.get("turn"))
            for row in self.vault.rows_with(action)
            if row.get("turn") in keys and row.get("by") != "user"
        }
        for fact in self.note_writer.facts(rows):
            yield fact, rows[fact.id]

    def revive(
        self, withdrawn: Fact, key: str, now: datetime
    ) -> Iterator[Mapping[str, object]]:
        """Make the facts active again that only one fact had replaced; yield log rows."""
        for old in self.index.catalog.facts(withdrawn.id):
            ended = old.status in {"superseded", "invalidated"} or is_scheduled(old)
            if withdrawn.id not in old.superseded_by or not ended:
                continue
            remaining = [name for name in old.superseded_by if name != withdrawn.id]
            keys: dict[str, object] = {"superseded_by": remaining or None}
            if not remaining:
                keys |= {"status": "active", "end_reason": None, "valid_until": None}
                self.forgetting.unbury([old], now)
            if self.patch(old, keys, TAKEN_BACK) and not remaining:
                why = "the statement that replaced it was taken back"
                yield action_row(now, "revive", old.id, why, RULE) | {"turn": key}

    def patch(self, fact: Fact, keys: Mapping[str, object], why: str) -> bool:
        """Set front-matter keys; return False for a note that a user broke or deleted."""
        with suppress(ConflictError, NotFoundError):
            self.note_writer.write([Edit(fact.path, fact.sha, keys, why)], [])
            return True
        return False


def _is_known(
    request: _Request,
    passages: Sequence[tuple[FiledTurn, str]],
    facts: Sequence[Fact],
) -> bool:
    """Return whether a wish names a code, an address, or what was called by this name."""
    if named_codes(request.wish, request.sentence):
        return True
    named = normalise(request.wish.named)
    texts = [fact.text for fact in facts] + [text for _, text in passages]
    as_name = re.compile(rf"\b{re.escape(request.wish.named.title())}\b")
    return any(map(as_name.search, texts)) or any(
        normalise(name) == named for fact in facts for name in fact.about
    )


def _states(text: str) -> bool:
    """Return whether a sentence states something that can be taken back."""
    return bool(content(text)) and not is_question(text) and not withdrawals(text)


def _sentences(turn: FiledTurn) -> Iterator[tuple[int, int, str]]:
    text = turn.turn.text
    for start, end in sentences(text):
        yield start, end, text[start:end]


def _order(turn: FiledTurn) -> tuple[datetime, str, int]:
    digits = turn.block[1:]
    number = int(digits) if digits.isdecimal() else 0
    return turn.turn.occurred_at, turn.note, number


def sentence_tombstone(
    turn: FiledTurn, text: str, at: datetime, why: str, whole: str, *, plain: bool
) -> dict[str, object]:
    """Return the row that hides one sentence of a turn.

    With `plain` it hides only the sentence in that turn; otherwise equal statements
    elsewhere too.
    """
    row: dict[str, object] = {
        "at": at.isoformat(),
        "hash": content_hash(text),
        "memory": turn.key,
        "for": whole,
        "reason": why,
    }
    if plain or turn.turn.role != "user":
        return row | {"in": turn.key, "cut": [content_hash(text)]}
    row |= tombstone_row(text)
    return row
