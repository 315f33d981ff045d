"""Forgetting at a person's wish: tombstones for what is to be hidden, their lifting and
their undoing (A26, X8).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from engram.core import ranking, trust
from engram.core.forgetting import Utterance, tombstone_row
from engram.core.language.echo import own_words
from engram.core.language.paraphrase import fingerprints, restates
from engram.core.language.sentences import sentences
from engram.core.records import Edit, Fact, FiledTurn
from engram.core.sessions import STATE_FILE, cut_summaries
from engram.core.text import content_hash
from engram.errors import EngramError
from engram.index import hiding
from engram.index.filters import SearchFilter
from engram.pipeline.write import deed
from engram.vault import frontmatter, reviews, sessions
from engram.vault.disk import sha256

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from engram.pipeline.write import NoteWriter

FORGOTTEN = "the user had it forgotten"
DELETED = "a person deleted the note"
DROPPED = "dropped in review"
ANEW = "the user said it again"
POOL = 100
"""Facts, and turns, like a statement that are looked at to tell which of them a wish to
forget hides.
"""
FOUND = ("active", "archived", "superseded", "invalidated")


@dataclass(frozen=True, slots=True)
class Hidden:
    """What a wish to forget hides besides what it names: other facts, and the keys of
    turns that say it.
    """

    facts: tuple[Fact, ...] = ()
    turns: tuple[str, ...] = ()


def is_question(fact: Fact) -> bool:
    """Whether a note in `review/` asks about other notes and states nothing itself."""
    if fact.status != "review":
        return False
    name = fact.path.rpartition("/")[2]
    return fact.kind == reviews.KIND or name.startswith(reviews.CONFLICT_PREFIX)


class Forgetting:
    """Writes and lifts tombstones. Belongs to the one writer."""

    def __init__(self, note_writer: NoteWriter) -> None:
        self.vault, self.index, self.note_writer = (
            note_writer.vault,
            note_writer.index,
            note_writer,
        )

    def entomb(
        self,
        gone: Iterable[Fact | FiledTurn],
        now: datetime,
        why: str,
        *,
        whole: str = "",
        only: str = "",
    ) -> None:
        """Set tombstones on facts, or on whole turns (`X8`).

        `whole` is what was asked to be forgotten where these go along with it. `only`
        "turns" hides no note: a person deleted one, and what other notes say is theirs
        to decide.
        """
        at = now.isoformat()
        more = {
            name: value for name, value in (("for", whole), ("only", only)) if value
        }
        rows = [
            {"at": at, **stone, "reason": why, **more}
            for unit in gone
            for stone in (
                self._of_turn(unit)
                if isinstance(unit, FiledTurn)
                else self._of_fact(unit)
            )
        ]
        self._write(rows)

    def entomb_deleted(self, deleted: Collection[Fact], now: datetime) -> None:
        """Record that these notes were deleted: tombstones, and rows of the action log.

        Called before the catalogue forgets the notes, so that a crash cannot lose the
        deletion. A note that asks a question is no statement and gets no tombstone. A
        memory that was dropped in review has its tombstone already: a crash between
        the removal of its note and the log row looks like a deletion (`X8`).
        """
        dropped = self._dropped()
        finished, others = list[Fact](), list[Fact]()
        for fact in deleted:
            cut_short = fact.status == "review" and fact.id in dropped
            (finished if cut_short else others).append(fact)

        statements = [fact for fact in others if not is_question(fact)]
        self.entomb(statements, now, DELETED, only="turns")
        rows = [deed(now, "forget", fact.id, DELETED) for fact in others]
        for fact in finished:
            logged = {row.get("action") for row in self.vault.actions_of(fact.id)}
            if "drop" not in logged:
                rows.append(deed(now, "drop", fact.id, DROPPED) | {"by": "user"})
        self.note_writer.explain(rows)

    def _dropped(self) -> set[str]:
        """The ids of the memories whose drop in review still holds."""
        found: set[str] = set()
        for stone in self.vault.tombstone_rows():
            memory = str(stone.get("memory") or "")
            if stone.get("restored"):
                found.discard(memory)
            elif stone.get("reason") == DROPPED:
                found.add(memory)
        return found

    def restore(self, memory: str, now: datetime, why: str) -> list[str]:
        """Take back every tombstone of `memory` and those set along with it; the ids of
        what went along.
        """
        standing: dict[tuple[str, ...], Mapping[str, object]] = {}
        for stone in self.vault.tombstone_rows():
            if memory in {stone.get("memory"), stone.get("for")}:
                name = tuple(
                    str(stone.get(part) or "")
                    for part in ("memory", "hash", "in", "turn")
                )
                if not stone.get("restored") or stone.get("lifted"):
                    standing[name] = stone
                else:
                    standing.pop(name, None)
        at = now.isoformat()
        kept = ("hash", "turn", "memory", "in")
        rows = [
            {name: one[name] for name in kept if name in one}
            for one in standing.values()
        ]
        self._write(
            [{"at": at, **stone, "reason": why, "restored": True} for stone in rows]
        )
        return list(
            dict.fromkeys(str(one["memory"]) for one in rows if one["memory"] != memory)
        )

    def lift(
        self, turns: Iterable[FiledTurn], now: datetime, *, asked: bool = False
    ) -> None:
        """Lift the tombstones on what the user says anew in these turns; with `asked`
        also at the very same moment.
        """
        if not self.index.tombstones.forgotten:
            return
        rows: list[dict[str, object]] = []
        log: list[dict[str, object]] = []
        for turn in turns:
            text = own_words(turn.turn.text)
            for stone in self.index.tombstones.forgotten.anew(
                text, hiding.spoken(turn), asked=asked
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
                log.append(deed(now, "lift", stone.memory, ANEW) | {"turn": turn.key})
        if rows:
            self._write(rows)
            self.note_writer.explain(log)

    def barred(self, fact: Fact, heard: FiledTurn) -> bool:
        """Whether a statement from this turn was forgotten, and these words do not
        bring it back.
        """
        if heard.key in self.index.tombstones.keys and any(
            one.memory == heard.key for one in self.index.tombstones.forgotten.stones
        ):
            return True
        own = trust.source_class(heard.turn) == "user"
        return self.index.tombstones.forgotten.hides(
            fact.text, Utterance(heard.turn.occurred_at, heard.key, own)
        )

    def hidden(self, text: str, named: str, now: datetime) -> Hidden:
        """What the tombstones hide now besides `named`, of facts and turns that share
        most words with `text`.
        """
        question = ranking.parse_question(text, now)
        wheres = (
            SearchFilter(("fact",), FOUND, persona=None),
            SearchFilter(("turn",), persona=None),
        )
        keys = [
            one.key
            for where in wheres
            for one in self.index.lexical.search(question, where, POOL).hits
        ]
        units = [unit for key, unit in self.index.units(keys).items() if key != named]
        facts = (one for one in units if isinstance(one, Fact))
        turns = sorted(
            one.key for one in units if isinstance(one, FiledTurn) and self._cut(one)
        )
        return Hidden(
            tuple(one for one in facts if self.index.visible(one) != one), tuple(turns)
        )

    def cut_summaries(self, turns: Iterable[str]) -> None:
        """Remove forgotten text from the summaries of the sessions of these turns.

        `turns` are keys of turns. A file that cannot be written is left as it is:
        recall cuts the summary whenever it is handed out.
        """
        for name in sorted({key.partition("#")[0] for key in turns}):
            with suppress(EngramError):
                self._cut_summary(name)

    def _cut_summary(self, name: str) -> None:
        """Rewrite one session file and `state/sessions.json` where that changes them."""
        path = sessions.path(name)
        raw, state = self.vault.read(path), self.vault.read(STATE_FILE)
        note = frontmatter.read(raw, self.note_writer.settings.policy.files)
        allowed = partial(self.index.tombstones.forgotten.shown, said=Utterance())
        cut = cut_summaries(name, note.keys, note.body, state, allowed)

        if cut.keys or cut.body != note.body:
            edit = Edit(path, sha256(raw), cut.keys, FORGOTTEN, cut.body)
            self.note_writer.write([edit], [])
        if cut.state != state:
            self.vault.rewrite(STATE_FILE, lambda _: cut.state)

    def _cut(self, turn: FiledTurn) -> bool:
        return self.index.tombstones.forgotten.hides(
            turn.turn.text, hiding.spoken(turn)
        )

    def _of_turn(self, turn: FiledTurn) -> Iterator[dict[str, object]]:
        text = own_words(turn.turn.text)
        yield {
            "hash": content_hash(text),
            "turn": turn.key,
            "memory": turn.key,
            **tombstone_row(text),
        }

    def _of_fact(self, fact: Fact) -> Iterator[dict[str, object]]:
        """The tombstones of a fact: one for the statement, more for turns behind it.

        A turn needs none where a sentence of it states the fact by its words: the first
        tombstone hides that.
        """
        named: dict[str, object] = {
            "hash": content_hash(fact.text),
            "memory": fact.id,
        }
        yield {**named, **tombstone_row(fact.text)}

        statements = fingerprints(fact.text)
        keys = [key for key in (fact.source, *fact.also) if key]
        units = self.index.units(keys)
        for key in keys:
            unit = units.get(key)
            if not isinstance(unit, FiledTurn):
                yield {**named, "turn": key}
                continue

            text = unit.turn.text
            plain = [text[start:end] for start, end in sentences(text)]
            stated = any(
                restates(one, sentence) for sentence in plain for one in statements
            )
            if not stated:
                yield named | self._of_evidence(fact, key, plain)

    def _of_evidence(
        self, fact: Fact, key: str, plain: Sequence[str]
    ) -> dict[str, object]:
        """What to hide of a turn that a fact was read in, as keys of a tombstone.

        That are the sentences that the action log quotes, or the whole turn where none
        or all of `plain`, its sentences, are quoted.
        """
        rows = self.vault.actions_of(fact.id)
        quotes = [str(one["quote"]) for one in rows if one.get("quote")]
        read = [
            sentence
            for sentence in plain
            if any(quote in sentence or sentence in quote for quote in quotes)
        ]
        if not read or len(read) == len(plain):
            return {"turn": key}

        hashes = [content_hash(sentence) for sentence in read]
        says = [one.row() for sentence in read for one in fingerprints(sentence)]
        return {"in": key, "cut": hashes, "says": says}

    def _write(self, rows: Sequence[Mapping[str, object]]) -> None:
        self.index.tombstones.add(rows)
