"""What the user takes back in a conversation, or wishes to be forgotten (A26, X8).

"Just kidding" takes back what the user said just before, "forget what I told you about
Rome" what it names. Whatever extracts, the turns are read by the closed rules of
`core/language/retraction.py`. Statements are hidden by tombstones, the facts that rest on
them alone are marked forgotten, and what those had replaced is true again. Each step is a
row of the action log by `rule`; restoring the turn that asked for it undoes all of it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from engram.core import ranking, todos, trust
from engram.core.language.paraphrase import (
    content,
    fingerprints,
    frame_words,
    is_question,
    restates,
)
from engram.core.language.promises import only_says_done, reports
from engram.core.language.retraction import (
    Said,
    is_past,
    is_statement,
    names,
    reach,
    withdrawals,
)
from engram.core.language.role_play import played
from engram.core.language.sentences import sentences
from engram.core.records import Edit, Fact, FiledTurn
from engram.core.text import content_hash
from engram.errors import ConflictError, NotFoundError
from engram.index.filters import SearchFilter
from engram.pipeline.write import action_row
from engram.vault import reviews

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from engram.core.language.paraphrase import Fingerprint
    from engram.core.language.retraction import Withdrawal
    from engram.core.records import Candidate, Extraction, Relation
    from engram.pipeline.forgetting import Forgetting
    from engram.pipeline.write import NoteWriter

TAKEN_BACK = "the user took it back"
ASKED = "the user asked to forget it"
RULE = "rule"
POOL = 100
_PAIR = 2
STATUSES = ("active", "archived", "superseded", "invalidated", "review")
ENDED = ("superseded", "invalidated", "archived")


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

    def left(self, filed: FiledTurn) -> FiledTurn:
        """Return a turn without the sentences that were taken back."""
        text = filed.turn.text
        for sentence in self.sentences.get(filed.key, ()):
            text = text.replace(sentence, " ")
        return replace(filed, turn=replace(filed.turn, text=text))

    def without(
        self, extraction: Extraction, turns: Mapping[str, FiledTurn]
    ) -> Extraction:
        """Return the extraction without what was read in these sentences."""

        def stays(one: Candidate | Relation) -> bool:
            filed = turns.get(one.turn_id)
            return filed is None or not self.covers(filed.key, one.quote)

        candidates = tuple(filter(stays, extraction.candidates))
        gone = len(extraction.candidates) - len(candidates)
        return replace(
            extraction,
            candidates=candidates,
            relations=tuple(filter(stays, extraction.relations)),
            dropped={**extraction.dropped, **({"taken back": gone} if gone else {})},
        )


@dataclass(frozen=True, slots=True)
class _Request:
    """A withdrawal in its turn; `sentence` is the sentence that says it."""

    turn: FiledTurn
    wish: Withdrawal
    sentence: str

    @property
    def why(self) -> str:
        """The reason in words."""
        return ASKED if self.wish.kind == "forget" else TAKEN_BACK


class Retraction:
    """Carries out what the turns of a batch take back. For the writer thread."""

    def __init__(self, note_writer: NoteWriter, forgetting: Forgetting) -> None:
        self.note_writer = note_writer
        self.forgetting = forgetting
        self.vault = note_writer.vault
        self.index = note_writer.index
        self.settings = note_writer.settings
        self.policy = note_writer.settings.policy.retraction

    def apply(self, turns: Iterable[FiledTurn], now: datetime) -> Withdrawn:
        """Take back what these turns take back; return the sentences that go.

        A second time, as after a crash, it changes nothing.
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
            # an old chat that is imported does not speak about what is known today
            foreign = wish.named and trust.source_class(turn.turn) != "user"
            if sentence and not foreign:
                requests.append(_Request(turn, wish, sentence))
        return requests

    def _in_play(self, turn: FiledTurn) -> bool:
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
        """Forget what the user names, or ask where that is not plain or too much."""
        said, facts = self._named(request)
        if not facts and not any(one.turn.role == "user" for one, _ in said):
            return
        withdrawn.add(request.turn.key, request.sentence)
        is_plain = True
        if request.wish.old:
            told, over = self._old(request.wish, said, facts)
            is_plain = bool(told or over)
            said, facts = (told, over) if is_plain else (said, facts)
        statements = len(facts) + len(self._apart(said, facts))
        few = statements <= self.policy.most
        if is_plain and few and not any(map(self._is_persons, facts)):
            said.append((request.turn, request.sentence))
            self._withdraw_all(request, said, facts, now, withdrawn)
        else:
            self._ask(request, said, facts, now)

    def _take_back(
        self, request: _Request, now: datetime, withdrawn: Withdrawn
    ) -> None:
        """Take back what the user said just before, and the replies to it."""
        said = self._just_said(request)
        if not said:
            return
        if request.wish.bare:
            said.append((request.turn, request.sentence))
        said += self._replies(request.turn, said)
        self._withdraw_all(request, said, [], now, withdrawn)

    def _withdraw_all(
        self,
        request: _Request,
        said: Sequence[tuple[FiledTurn, str]],
        facts: Sequence[Fact],
        now: datetime,
        withdrawn: Withdrawn,
    ) -> None:
        """Withdraw sentences and facts that rest on them; ask about those beside."""
        for turn, sentence in said:
            withdrawn.add(turn.key, sentence)
        self._withdraw(request, said, facts or self._resting_on(said), now)
        if others := self._beside(request):
            self._ask(request, others, self._resting_on(others), now)

    def _ask(
        self,
        request: _Request,
        said: Sequence[tuple[FiledTurn, str]],
        facts: Sequence[Fact],
        now: datetime,
    ) -> None:
        """Ask in review, once, which of these statements are to be forgotten."""
        known = {key for fact in facts for key in (fact.source, *fact.also)}
        units = {fact.id: fact.text for fact in facts}
        for one, text in said:
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
        """Forget what the user chose of these memories and turns.

        `asked` is the key of the turn that wished it.
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
            said = self._chosen(request, facts, turns)
            resting = [] if facts or request.wish.named else self._resting_on(said)
            said.append((turn, request.sentence))
            self._withdraw(request, said, [*facts, *resting], now)

    def _chosen(
        self, request: _Request, facts: Sequence[Fact], turns: Sequence[FiledTurn]
    ) -> list[tuple[FiledTurn, str]]:
        """Return the sentences of these turns that the user wants forgotten.

        Where facts were chosen, and the user named nothing, only those they rest on.
        """
        if request.wish.named:
            return [
                (one, text)
                for one in turns
                for *_, text in _sentences(one)
                if names(request.wish, text)
            ]
        keys = {one.key for one in turns}
        beside = [item for item in self._beside(request) if item[0].key in keys]
        if not facts:
            return beside
        return [
            (one, text)
            for one, text in beside
            if any(self._was_read(fact, one, {text}) for fact in facts)
        ]

    # -- what is meant -----------------------------------------------------------------

    def _just_said(self, request: _Request) -> list[tuple[FiledTurn, str]]:
        """Return the sentences that a retraction without an object takes back."""
        turn, wish = request.turn, request.wish
        by_key = {turn.key: turn}
        said: list[Said] = []
        for one in self.turns_before(turn, {"user"})[-self.policy.turns :]:
            if one.turn.speaker == turn.turn.speaker:
                by_key[one.key] = one
                said += [Said(one.key, text) for *_, text in _sentences(one)]
        own = [(start, text) for start, _, text in _sentences(turn)]
        if wish.whole and any(start > wish.start for start, _ in own):
            return [(turn, text) for start, text in own if start >= wish.start]
        said += [Said(turn.key, text) for start, text in own if start < wish.start]
        head = turn.turn.text[wish.start : wish.cut].strip(" ,;:-–—(")
        reached = reach([*said, Said(turn.key, head)] if head else said)
        meant = [
            (by_key[one.turn], request.sentence if one.text == head else one.text)
            for one in reached
        ]
        return self._without_promises(meant)

    def _without_promises(
        self, meant: list[tuple[FiledTurn, str]]
    ) -> list[tuple[FiledTurn, str]]:
        """Return what is meant without promises that the last statement keeps (`E16`).

        Who was joking that a promise is kept still has to keep it.
        """
        if len(meant) < _PAIR or not reports(meant[0][1]):
            return meant
        promises = self.index.catalog.facts(*todos.PROMISE_MARKERS)
        made_in = {key for fact in promises for key in (fact.source, *fact.also)}
        return [meant[0], *(one for one in meant[1:] if one[0].key not in made_in)]

    def _beside(self, request: _Request) -> list[tuple[FiledTurn, str]]:
        """Return the statements in one turn with a jest, about something else.

        They may be part of it: nothing tells them apart. After a statement of another
        turn, and for a slip of the tongue, there are none.
        """
        if request.wish.named or request.wish.whole or request.wish.kind != "untrue":
            return []
        meant = self._just_said(request)
        if not meant:
            return []
        turn, taken = meant[0][0], {text for _, text in meant}
        end = (
            request.wish.start if turn.key == request.turn.key else len(turn.turn.text)
        )
        return [
            (turn, text)
            for start, _, text in _sentences(turn)
            if start < end and text not in taken and is_statement(text)
        ]

    def _replies(
        self, turn: FiledTurn, said: Sequence[tuple[FiledTurn, str]]
    ) -> list[tuple[FiledTurn, str]]:
        """Return what an assistant answered meanwhile with words of these sentences."""
        first = min(_order(one) for one, _ in said)
        words = frozenset[str]().union(*(content(text) for _, text in said))
        return [
            (one, text)
            for one in self.turns_before(turn, {"assistant"})
            if _order(one) > first
            for *_, text in _sentences(one)
            if words & content(text)
        ]

    def turns_before(self, turn: FiledTurn, roles: Collection[str]) -> list[FiledTurn]:
        """Return the turns of the conversation just before, in their order."""
        said = turn.turn
        since = said.occurred_at - timedelta(minutes=self.policy.minutes)
        units = [
            unit
            for file in self.index.catalog.sessions(said.session, said.persona)
            if file.ended >= since and file.started <= said.occurred_at
            for unit in self.index.catalog.units_at(file.path)
        ]
        before = [
            unit
            for unit in units
            if isinstance(unit, FiledTurn)
            and unit.turn.role in roles
            and unit.turn.origin == said.origin
            and since <= unit.turn.occurred_at
            and _order(unit) < _order(turn)
        ]
        return sorted(before, key=_order)

    def _named(
        self, request: _Request
    ) -> tuple[list[tuple[FiledTurn, str]], list[Fact]]:
        """Return the sentences and the facts that have all words of the object."""
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
        said = [
            (unit, text)
            for unit in units
            if isinstance(unit, FiledTurn) and _order(unit) < _order(request.turn)
            for *_, text in _sentences(unit)
            if names(wish, text) and not is_question(text) and not withdrawals(text)
        ]
        facts = [
            unit for unit in units if isinstance(unit, Fact) and names(wish, unit.text)
        ]
        return said, facts

    def _old(
        self,
        wish: Withdrawal,
        said: Sequence[tuple[FiledTurn, str]],
        facts: Sequence[Fact],
    ) -> tuple[list[tuple[FiledTurn, str]], list[Fact]]:
        """Return those that are over, by their status or by their own words."""
        over = [
            fact for fact in facts if fact.status in ENDED or is_past(wish, fact.text)
        ]
        prints = [one for fact in over for one in _prints(fact)]
        told = [
            (turn, text)
            for turn, text in said
            if is_past(wish, text) or any(restates(one, text) for one in prints)
        ]
        return told, over

    def _apart(
        self, said: Sequence[tuple[FiledTurn, str]], facts: Sequence[Fact]
    ) -> list[str]:
        """Return the user's sentences on which none of these facts rests."""
        known = {key for fact in facts for key in (fact.source, *fact.also)}
        return [
            text
            for turn, text in said
            if turn.turn.role == "user" and turn.key not in known
        ]

    def _is_persons(self, fact: Fact) -> bool:
        """Whether a person wrote or edited the note, so that only they may end it."""
        foreign = fact.id not in self.note_writer.creation_times()
        return foreign or self.note_writer.is_edited(fact.id)

    def _resting_on(self, said: Sequence[tuple[FiledTurn, str]]) -> list[Fact]:
        """Return the facts whose only evidence are these sentences."""
        taken: dict[str, set[str]] = {}
        for turn, text in said:
            taken.setdefault(turn.key, set()).add(text)
        turns = {turn.key: turn for turn, _ in said}

        found = {
            fact.id: fact
            for key in taken
            for fact in self.index.catalog.facts(key)
            if self._rests_only_on(fact, turns, taken)
        }
        found |= self.derived_from(found)
        return [fact for fact in found.values() if not self._is_persons(fact)]

    def _rests_only_on(
        self,
        fact: Fact,
        turns: Mapping[str, FiledTurn],
        taken: Mapping[str, Collection[str]],
    ) -> bool:
        """Return whether every source of the fact is among the taken sentences.

        `turns` and `taken` have the turns and their sentences by the key of the turn.
        """
        sources = {fact.source, *fact.also} - {""}
        if fact.status not in STATUSES or not sources or not sources <= taken.keys():
            return False
        return all(self._was_read(fact, turns[one], taken[one]) for one in sources)

    def derived_from(self, found: Mapping[str, Fact]) -> dict[str, Fact]:
        """Return by id the facts that are derived from the found ones alone."""
        return {
            fact.id: fact
            for name in found
            for fact in self.index.catalog.facts(name)
            if fact.derived_from
            and set(fact.derived_from) <= found.keys()
            and fact.status in STATUSES
        }

    def _was_read(self, fact: Fact, turn: FiledTurn, taken: Collection[str]) -> bool:
        """Whether the fact was read in the sentences that are taken back."""
        if len(taken) == sum(1 for _ in _sentences(turn)):
            return True
        quotes = [
            str(row["quote"])
            for row in self.vault.actions_of(fact.id)
            if row.get("quote") and row.get("turn") == turn.key
        ]
        if quotes:
            return any(
                quote in text or text in quote for quote in quotes for text in taken
            )
        return any(restates(one, text) for one in _prints(fact) for text in taken)

    # -- taking it back ----------------------------------------------------------------

    def _withdraw(
        self,
        request: _Request,
        said: Sequence[tuple[FiledTurn, str]],
        facts: Sequence[Fact],
        now: datetime,
    ) -> None:
        """Hide the sentences, forget the facts, and let what they replaced be true."""
        key, at, why = request.turn.key, request.turn.turn.occurred_at, request.why
        covered = {name for fact in facts for name in (fact.source, *fact.also)}
        # a jest hides no earlier words, which may be in earnest
        jest = not request.wish.named
        self.index.tombstones.add(
            [
                sentence_tombstone(
                    turn,
                    text,
                    at,
                    why,
                    key,
                    plain=jest or turn.key in covered or text == request.sentence,
                )
                for turn, text in said
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
        done = {
            turn.key for turn, text in said if reports(text) or only_says_done(text)
        }
        rows += self.reopened(done, now)
        turns = sorted({turn.key for turn, _ in said} - {key})
        hides = {"memories": sorted(fact.id for fact in facts), "turns": turns}
        rows.append(action_row(now, "retract", key, why, RULE) | {"turn": key} | hides)
        self.note_writer.log_actions(rows)
        self.forgetting.summaries.drop({turn.key for turn, _ in said})

    def reopened(
        self, keys: Collection[str], now: datetime
    ) -> Iterator[Mapping[str, object]]:
        """Open the promises again that these turns had settled (`E16`)."""
        why = "what had settled it was taken back"
        for fact, key in self._changed_in(keys, "settle"):
            if todos.is_settled(fact) and self.patch(
                fact, todos.reopened_keys(fact), why
            ):
                yield action_row(now, "revive", fact.id, why, RULE) | {"turn": key}

    def revived(
        self, keys: Collection[str], now: datetime
    ) -> Iterator[Mapping[str, object]]:
        """Make the facts active again that words of these turns alone had ended."""
        why = "what had ended it was taken back"
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
        """Yield the facts that these turns, and no person, changed by `action`.

        Each with the key of its turn.
        """
        rows = {
            str(row.get("memory")): str(row.get("turn"))
            for row in self.vault.rows_with(action)
            if row.get("turn") in keys and row.get("by") != "user"
        }
        for fact in self.note_writer.facts(rows):
            yield fact, rows[fact.id]

    def revive(
        self, gone: Fact, key: str, now: datetime
    ) -> Iterator[Mapping[str, object]]:
        """Make the facts active again that only the withdrawn one had ended."""
        for old in self.index.catalog.facts(gone.id):
            if gone.id not in old.superseded_by or old.status not in {
                "superseded",
                "invalidated",
            }:
                continue
            left = [name for name in old.superseded_by if name != gone.id]
            keys: dict[str, object] = {"superseded_by": left or None}
            if not left:
                keys |= {"status": "active", "end_reason": None, "valid_until": None}
                self.forgetting.unbury([old], now)
            if self.patch(old, keys, TAKEN_BACK) and not left:
                why = "what had replaced it was taken back"
                yield action_row(now, "revive", old.id, why, RULE) | {"turn": key}

    def patch(self, fact: Fact, keys: Mapping[str, object], why: str) -> bool:
        """Set front-matter keys; a note that a user broke or deleted is left alone."""
        with suppress(ConflictError, NotFoundError):
            self.note_writer.write([Edit(fact.path, fact.sha, keys, why)], [])
            return True
        return False


def _sentences(turn: FiledTurn) -> Iterator[tuple[int, int, str]]:
    text = turn.turn.text
    for start, end in sentences(text):
        yield start, end, text[start:end]


def _order(turn: FiledTurn) -> tuple[datetime, str, int]:
    digits = turn.block[1:]
    number = int(digits) if digits.isdecimal() else 0
    return turn.turn.occurred_at, turn.note, number


def _prints(fact: Fact) -> tuple[Fingerprint, ...]:
    return fingerprints(fact.text)


def sentence_tombstone(
    turn: FiledTurn, text: str, at: datetime, why: str, whole: str, *, plain: bool
) -> dict[str, object]:
    """Return the row that hides one sentence of a turn.

    With `plain` only its very words there; the tombstone of a fact hides what says the
    same.
    """
    row: dict[str, object] = {
        "at": at.isoformat(),
        "hash": content_hash(text),
        "memory": turn.key,
        "in": turn.key,
        "cut": [content_hash(text)],
        "for": whole,
        "reason": why,
    }
    if not plain and turn.turn.role == "user":
        row["says"] = [one.row() for one in fingerprints(text)]
    return row
