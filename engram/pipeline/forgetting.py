"""Tombstones of statements and turns: set, lifted and restored (rows A26, X8).

Every row of the tombstone file is made here. A forgotten or deleted statement is hidden
wherever it is stated (`Forgetting.add_tombstones`). A statement that was
corrected, or dropped in review, is only prevented from being filed again
(`Forgetting.bury`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.core import decide, ranking
from engram.core.forgetting import (
    TombstoneSet,
    statements_of,
    tombstone_row,
)
from engram.core.language import similarity
from engram.core.language.echo import own_words
from engram.core.language.equal_statements import are_equal
from engram.core.language.sentences import sentences
from engram.core.language.topics import content
from engram.core.records import Fact, FiledTurn
from engram.core.text import content_hash
from engram.core.turn_versions import turn_digest
from engram.index import hiding
from engram.index.database import key_of
from engram.index.filters import SearchFilter
from engram.pipeline.summary_removal import SummaryRemoval
from engram.pipeline.write import action_row
from engram.vault import reviews

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from engram.pipeline.write import NoteWriter

FORGOTTEN = "the user had it forgotten"
DELETED = "a person deleted the note"
REMOVED = "a person removed the turn"
DROPPED = "dropped in review"
ANEW = "the user said it again"
USER_DECIDED = "you said so"
POOL = 100
"""Numbers of facts and of turns that are searched for equal or similar statements."""
FEW = 2
"""The least number of telling words of a sentence that is recognised elsewhere."""
SIMILAR = 0.5
"""The similarity from which a statement is listed as similar to a forgotten one."""
MOST_SIMILAR = 10
STATUSES = ("active", "archived", "superseded", "invalidated")


_SUPPORTING = frozenset({"confirm", "reinforce", "rewrite"})
"""Actions of the log whose turn supports the memory."""


@dataclass(frozen=True, slots=True)
class Grounds:
    """The keys of the turns that support a fact, and the words quoted from them."""

    turns: tuple[str, ...]
    quotes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hidden:
    """Further facts, and keys of turns, that a request to forget hides."""

    facts: tuple[Fact, ...] = ()
    turns: tuple[str, ...] = ()


def is_question(fact: Fact) -> bool:
    """Return whether a note in `review/` asks about other notes and states nothing."""
    if fact.status != "review":
        return False
    name = fact.path.rpartition("/")[2]
    return fact.kind == reviews.KIND or name.startswith(reviews.CONFLICT_PREFIX)


class Forgetting:
    """Writes and lifts tombstones. For the writer thread."""

    def __init__(self, note_writer: NoteWriter) -> None:
        self.note_writer = note_writer
        self.vault = note_writer.vault
        self.index = note_writer.index
        self.summaries = SummaryRemoval(note_writer)

    # -- statements --------------------------------------------------------------------

    def bury(
        self, facts: Iterable[Fact], now: datetime, why: str, *, turns: bool = True
    ) -> None:
        """Set tombstones on the texts of facts; with `turns` also on turns (`X8`).

        They keep the same text from being filed again.
        """
        self.index.tombstones.add(
            [
                tombstone(fact, now, why, turn=fact.source if turns else "")
                for fact in facts
            ]
        )

    def unbury(self, facts: Iterable[Fact], now: datetime) -> None:
        """Lift the tombstones on the texts of these facts and on their turns."""
        keys = self.index.tombstones.keys
        rows = [
            {**tombstone(fact, now, USER_DECIDED, turn=fact.source), "restored": True}
            for fact in facts
            if {content_hash(fact.text), fact.source} & keys
        ]
        if rows:
            self.index.tombstones.add(rows)

    def bring_back(self, facts: Iterable[Fact], now: datetime) -> None:
        """Record that ended facts are true again, also those that others replaced.

        A corrected statement may be filed again (rows X6, X8).
        """
        rows = []
        for fact in facts:
            turn = fact.source if fact.source in self.index.tombstones.keys else None
            row = tombstone(fact, now, USER_DECIDED, turn=turn)
            rows.append(row | {"restored": True})
        self.index.tombstones.add(rows)

    # -- requests to forget ------------------------------------------------------------

    def add_tombstones(
        self,
        units: Iterable[Fact | FiledTurn],
        now: datetime,
        why: str,
        *,
        whole: str = "",
        only: str = "",
    ) -> None:
        """Set tombstones that hide facts, or whole turns, and equal statements (`X8`).

        `whole` is the name of the memory or turn that the request named; it is given
        for units that are hidden along with that one. With `only="turns"` no other note
        is hidden: the user deleted one note and may keep others that say the same.
        """
        at = now.isoformat()
        extra = {key: value for key, value in (("for", whole), ("only", only)) if value}
        rows: list[Mapping[str, object]] = []
        decision = self.note_writer.decision
        for unit in units:
            if decision:
                decision.hidden.append(key_of(unit))
            if isinstance(unit, FiledTurn):
                parts = self._of_turn(unit)
            else:
                parts = self._of_fact(unit)
            rows += [{"at": at, **part, "reason": why, **extra} for part in parts]
        self.index.tombstones.add(rows)

    def record_deletions(self, deleted: Collection[Fact], now: datetime) -> None:
        """Record that a user deleted notes: tombstones, and rows of the action log.

        Call it before the catalogue removes the facts, so that a crash cannot lose the
        deletion. The note of a question is not a statement and gets no tombstone. A
        memory that was dropped in review has a tombstone already; its note may have
        been removed by engram in a process that ended before it wrote the log (`X8`).
        """
        dropped = self._dropped()
        dropped_here, deleted_by_user = list[Fact](), list[Fact]()
        for fact in deleted:
            interrupted = fact.status == "review" and fact.id in dropped
            (dropped_here if interrupted else deleted_by_user).append(fact)

        statements = [fact for fact in deleted_by_user if not is_question(fact)]
        self.add_tombstones(statements, now, DELETED, only="turns")
        rows = [action_row(now, "forget", fact.id, DELETED) for fact in deleted_by_user]
        for fact in dropped_here:
            logged = {row.get("action") for row in self.vault.actions_of(fact.id)}
            if "drop" not in logged:
                rows.append(action_row(now, "drop", fact.id, DROPPED) | {"by": "user"})
        self.note_writer.log_actions(rows)

    def record_deleted_turns(self, turns: Iterable[FiledTurn], now: datetime) -> None:
        """Record that a user removed turns from session files (`X9`).

        A client that sends the turns again does not restore them. The rows contain
        hashes and no words.
        """
        at = now.isoformat(timespec="seconds")
        self.index.tombstones.add(
            [
                {
                    "at": at,
                    "sent": turn_digest(turn.turn),
                    "was": turn.key,
                    "reason": REMOVED,
                }
                for turn in turns
            ]
        )

    def _dropped(self) -> set[str]:
        """Return the ids of memories that were dropped in review and not restored."""
        dropped: set[str] = set()
        for row in self.vault.tombstone_rows():
            memory = str(row.get("memory") or "")
            if row.get("restored"):
                dropped.discard(memory)
            elif row.get("reason") == DROPPED:
                dropped.add(memory)
        return dropped

    def restore(self, memory: str, now: datetime, why: str) -> list[str]:
        """Lift every tombstone of `memory`, and those set along with it.

        Returns the ids of the other memories that are restored.
        """
        memories = self.restore_all([memory], now, why)
        return [other for other in memories if other != memory]

    def restore_all(
        self, memories: Iterable[str], now: datetime, why: str
    ) -> list[str]:
        """Lift every tombstone of memories or turns, and those set along with them.

        Returns the names of all restored memories and turns.
        """
        at = now.isoformat()
        names = ("hash", "turn", "memory", "in")
        lifted = [
            {name: row[name] for name in names if name in row}
            for row in self._active_rows(frozenset(memories))
        ]
        self.index.tombstones.add(
            [{"at": at, **row, "reason": why, "restored": True} for row in lifted]
        )
        self.summaries.drop(
            str(row.get(name) or "")
            for row in lifted
            for name in ("memory", "turn", "in")
        )
        return list(dict.fromkeys(str(row["memory"]) for row in lifted))

    def _active_rows(self, memories: frozenset[str]) -> list[Mapping[str, object]]:
        """Return the tombstones of `memories`, and those set along, that are in force."""
        active: dict[tuple[str, ...], Mapping[str, object]] = {}
        for row in self.vault.tombstone_rows():
            if memories.isdisjoint((row.get("memory"), row.get("for"))):
                continue
            identity = tuple(
                str(row.get(key) or "") for key in ("memory", "hash", "in", "turn")
            )
            if not row.get("restored") or row.get("lifted"):
                active[identity] = row
            else:
                active.pop(identity, None)
        return list(active.values())

    def lift_restated(
        self, turns: Iterable[FiledTurn], now: datetime, *, asked: bool = False
    ) -> bool:
        """Lift the tombstones on statements that the user makes again in these turns.

        Returns whether any was lifted. With `asked` a turn with exactly the time of the
        tombstone counts too.
        """
        said = [(turn, own_words(turn.turn.text)) for turn in turns]
        return self.lift_stated(said, now, asked=asked)

    def lift_stated(
        self,
        said: Iterable[tuple[FiledTurn, str]],
        now: datetime,
        *,
        asked: bool = False,
    ) -> bool:
        """Lift the tombstones on statements that were read in turns of the user."""
        rows: list[dict[str, object]] = []
        log: list[dict[str, object]] = []
        for turn, text in said:
            for stone in self.index.tombstones.forgotten.anew(
                text, hiding.utterance_of(turn), is_request=asked
            ):
                at = max(turn.turn.occurred_at, stone.at).isoformat()
                named = {"hash": stone.hash, "memory": stone.memory, "in": stone.within}
                rows.append(
                    {
                        "at": at,
                        **named,
                        "reason": ANEW,
                        "restored": True,
                        "lifted": turn.key,
                    }
                )
                log.append(
                    action_row(now, "lift", stone.memory, ANEW) | {"turn": turn.key}
                )
        if rows:
            self.index.tombstones.add(rows)
            self.note_writer.log_actions(log)
        return bool(rows)

    # -- evidence ----------------------------------------------------------------------

    def evidence(self, fact: Fact) -> Grounds:
        """Return all turns that support a fact, and their quotes.

        These are the turns named in its note, the turns that confirmed it according to
        the action log, and the turns of memories that were merged into it.
        """
        older = self.index.units(fact.supersedes).values()
        facts = [fact]
        facts += [
            one
            for one in older
            if isinstance(one, Fact) and decide.is_merged(one, fact)
        ]
        rows = [row for one in facts for row in self.vault.actions_of(one.id)]
        keys = [key for one in facts for key in (one.source, *one.also)]
        keys += [
            str(row.get("turn") or "")
            for row in rows
            if row.get("action") in _SUPPORTING
        ]
        quotes = [str(row["quote"]) for row in rows if row.get("quote")]
        return Grounds(tuple(dict.fromkeys(filter(None, keys))), tuple(quotes))

    def sharing(self, turns: Collection[str], without: str) -> list[Fact]:
        """Return the other memories with one of these turns as evidence, by path."""
        some = self.index.catalog.facts(*turns) if turns else ()
        return [
            fact
            for fact in some
            if fact.id != without
            and fact.status not in {"forgotten", "superseded"}
            and {fact.source, *fact.also} & {*turns}
        ]

    # -- hidden units ------------------------------------------------------------------

    def is_forgotten(self, fact: Fact, source: FiledTurn) -> bool:
        """Return whether a tombstone hides a fact extracted from the turn `source`."""
        tombstones = self.index.tombstones
        if source.key in tombstones.keys and any(
            stone.memory == source.key for stone in tombstones.forgotten.stones
        ):
            return True
        return tombstones.forgotten.hides(fact.text, hiding.utterance_of(source))

    def find_hidden(
        self, text: str, named: str, now: datetime, before: Collection[str]
    ) -> Hidden:
        """Return the further facts and turns that the tombstones of `named` hide.

        Only units that share most words with `text` are checked, and turns that are
        hidden as a whole. A fact is hidden if all of it is the forgotten statement.
        `before` are the keys that were hidden before. Units hidden by another request
        are left out.
        """
        whole = self.index.tombstones.keys.difference(before)
        stones = TombstoneSet(self.index.tombstones.forgotten.of(named))
        keys = [key for key in whole if "#" in key]
        keys += [stone.within for stone in stones.stones if stone.within]
        near = self.near(text, now, STATUSES)
        facts, turns = dict[str, Fact](), set[str]()
        for unit in (*near, *self.index.units(keys).values()):
            seen = hiding.without_forgotten(unit, stones, self.index.lexical.voices)
            if isinstance(unit, Fact) and unit.id != named and seen is None:
                facts[unit.id] = unit
            elif isinstance(unit, FiledTurn) and unit.key != named:
                turns |= {unit.key} if unit.key in whole or seen != unit else set()
        return Hidden(tuple(facts.values()), tuple(sorted(turns)))

    def near(
        self, text: str, now: datetime, statuses: tuple[str, ...]
    ) -> list[Fact | FiledTurn]:
        """Return the facts and the turns that share most words with `text`."""
        question = ranking.parse_question(text, now)
        filters = (
            SearchFilter(("fact",), statuses, persona=None),
            SearchFilter(("turn",), persona=None),
        )
        keys = [
            hit.key
            for where in filters
            for hit in self.index.lexical.search(question, where, POOL).hits
        ]
        units = self.index.units(list(dict.fromkeys(keys))).values()
        return [unit for unit in units if isinstance(unit, (Fact, FiledTurn))]

    def similar(
        self, texts: Sequence[str], now: datetime, without: Collection[str]
    ) -> list[dict[str, str]]:
        """Return memories and sentences of turns that resemble forgotten statements.

        They have other words, so nothing is done to them (`A26`). Each has `id`, `text`
        and the reason `why`; of equal texts the first is listed. `without` are the ids
        and keys to leave out.
        """
        stems, hidden = self.index.lexical.stems, self.index.tombstones.keys
        found: dict[str, tuple[float, dict[str, str]]] = {}
        for text in texts:
            parsed = similarity.statement(text, stems)
            for unit in self.near(text, now, STATUSES):
                key = unit.id if isinstance(unit, Fact) else unit.key
                seen = hiding.without_forgotten(
                    unit, self.index.tombstones.forgotten, self.index.lexical.voices
                )
                if seen is None or key in without or key in hidden:
                    continue
                whole = seen.turn.text if isinstance(seen, FiledTurn) else seen.text
                for start, end in sentences(whole):
                    part = whole[start:end]
                    near = similarity.compared(
                        parsed, similarity.statement(part, stems)
                    )
                    best = found.get(key, (SIMILAR, {}))[0]
                    if near.similarity > best and not are_equal(text, part):
                        row = {"id": key, "text": part, "why": near.why}
                        found[key] = near.similarity, row
        ranked = sorted(found.values(), key=lambda one: (-one[0], one[1]["id"]))
        listed = list[dict[str, str]]()
        for _, row in ranked:
            if not any(are_equal(row["text"], other["text"]) for other in listed):
                listed.append(row)
        return listed[:MOST_SIMILAR]

    def _of_turn(self, turn: FiledTurn) -> Iterator[dict[str, object]]:
        text = own_words(turn.turn.text)
        yield {
            "hash": content_hash(text),
            "turn": turn.key,
            "memory": turn.key,
            **tombstone_row(*statements_of(text)),
        }

    def _of_fact(self, fact: Fact) -> Iterator[dict[str, object]]:
        """Yield the tombstone of a fact, and those of the turns that support it.

        The tombstone of the fact also hides each sentence that states the fact, so a
        turn with such a sentence needs none.
        """
        named: dict[str, object] = {
            "hash": content_hash(fact.text),
            "memory": fact.id,
        }
        yield {**named, **tombstone_row(fact.text)}

        evidence = self.evidence(fact)
        units = self.index.units(evidence.turns)
        for key in evidence.turns:
            unit = units.get(key)
            if not isinstance(unit, FiledTurn):
                yield {**named, "turn": key}
                continue

            stating = self.stating(fact, unit, evidence.quotes)
            if stating == [unit.turn.text]:
                yield {**named, "turn": key}
            elif not all(are_equal(fact.text, sentence) for sentence in stating):
                cut = [content_hash(sentence) for sentence in stating]
                yield {**named, "in": key, "cut": cut}
        for text in self.wordings(fact):
            yield {
                "hash": content_hash(text),
                "memory": fact.id,
                **tombstone_row(text),
                "only": "turns",
            }

    def wordings(self, fact: Fact) -> list[str]:
        """Return the sentences that a fact was drawn from, in other words than its own.

        A turn that repeats one of them states the fact. A short answer such as "Yes,
        please." occurs in other conversations and is none.
        """
        evidence = self.evidence(fact)
        units = self.index.units(evidence.turns).values()
        return [
            sentence
            for unit in units
            if isinstance(unit, FiledTurn)
            for sentence in self.stating(fact, unit, evidence.quotes)
            if len(content(sentence)) >= FEW and not are_equal(fact.text, sentence)
        ]

    def stating(self, fact: Fact, turn: FiledTurn, quotes: Sequence[str]) -> list[str]:
        """Return the sentences of a turn that a fact was drawn from, or its whole text.

        They are those that state the fact or have one of its `quotes`. If there are
        none, they are the sentences that support no other memory.
        """
        text = turn.turn.text
        plain = [text[start:end] for start, end in sentences(text)]
        for found in (
            [one for one in plain if are_equal(fact.text, one)]
            or [one for one in plain if any(quote in one for quote in quotes)],
            [one for one in plain if any(one in quote for quote in quotes)],
            [one for one in plain if not self._supports_other(one, fact, turn.key)],
        ):
            if found:
                all_equal = all(are_equal(fact.text, one) for one in found)
                return found if all_equal or len(found) < len(plain) else [text]
        return [text]

    def _supports_other(self, sentence: str, fact: Fact, key: str) -> bool:
        """Return whether a sentence of a turn supports a memory other than `fact`."""
        return any(
            are_equal(other.text, sentence)
            or _quoted(sentence, self.evidence(other).quotes)
            for other in self.sharing((key,), fact.id)
        )


def _quoted(sentence: str, quotes: Iterable[str]) -> bool:
    return any(quote in sentence or sentence in quote for quote in quotes)


def tombstone(
    fact: Fact, now: datetime, why: str, turn: str | None = None
) -> dict[str, object]:
    """Return the row of a tombstone on the text of a fact and, if given, on a turn."""
    row: dict[str, object] = {
        "at": now.isoformat(timespec="seconds"),
        "hash": content_hash(fact.text),
    }
    if turn is not None:
        row["turn"] = turn
    return row | {"memory": fact.id, "reason": why}
