"""Hide forgotten statements in texts that are handed out (rows A26, X8; law 11).

`TombstoneSet` is made from the rows of `state/tombstones.jsonl`. It removes sentences
from texts when they are handed out, and tells the writer which statements to leave out.
Files are never rewritten for it. The rule:

- a sentence that says what was forgotten is hidden, from any source, if it was said
  before the request to forget or not by the user in the chat;
- what the user says in the chat afterwards is shown; if it states the same again, the
  tombstone ends at that time: later sentences from any source are shown too, older ones
  stay hidden.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from engram.core.language.paraphrase import (
    Fingerprint,
    fingerprints,
    from_row,
    is_denied,
    is_question,
    may_restate,
    restates,
    tokens,
)
from engram.core.language.quotations import parts
from engram.core.language.sentences import sentences
from engram.core.text import content_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

OMISSION = "[…]"
"""Replaces hidden sentences."""
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Utterance:
    """When a text was said and in which turn (its key, '' for none).

    `own` says that the user said it in the chat. `at` is None if the time is unknown.
    `fact` marks the statement of a note and `memory` is its id: the note itself says
    whether it is forgotten, because a request that a crash interrupted did not take
    effect.
    """

    at: datetime | None = None
    key: str = ""
    own: bool = False
    fact: bool = False
    memory: str = ""


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A forgotten statement, as fingerprints or as hashes of sentences (`exact`).

    It was forgotten at `at`. `within` limits `exact` to one turn. `until` is when the
    user stated it anew, in the turns `anew`. `turns`: only turns are hidden, because
    the user deleted the note. `memory` was forgotten together with `whole`.
    """

    memory: str
    hash: str
    at: datetime
    fingerprints: tuple[Fingerprint, ...] = ()
    exact: frozenset[str] = frozenset()
    within: str = ""
    until: datetime | None = None
    anew: frozenset[str] = frozenset()
    turns: bool = False
    whole: str = ""

    def holds(self, said: Utterance) -> bool:
        """Return whether it hides a text with this origin."""
        if said.key and said.key in self.anew:
            return False
        if (self.turns and said.fact) or (said.memory and said.memory == self.memory):
            return False
        if said.at is None:
            return self.until is None
        later = said.at > self.at
        return not (
            later and (said.own or (self.until is not None and said.at >= self.until))
        )


def read_restored(rows: Iterable[Mapping[str, object]]) -> dict[str, datetime]:
    """Return when a person last brought a memory back, by its id, from these rows."""
    return {
        str(row.get("memory")): at
        for row in rows
        if row.get("restored")
        and not row.get("lifted")
        and (at := _time(row.get("at")))
    }


def read_tombstones(rows: Iterable[Mapping[str, object]]) -> tuple[Tombstone, ...]:
    """Return the tombstones in force, from their rows in order.

    A row with `restored` removes the earlier ones of its memory and hash; one with
    `lifted` (a turn's key) says that the user stated it anew. Invalid rows are skipped.
    """
    found: dict[tuple[str, str, str], Tombstone] = {}
    for row in rows:
        memory, digest, within = (
            str(row.get(name) or "") for name in ("memory", "hash", "in")
        )
        name, at = (memory, digest, within), _time(row.get("at"))
        lifted = str(row.get("lifted") or "")
        if lifted and name in found:
            old = found[name]
            until = min(filter(None, (old.until, at)))
            found[name] = replace(old, until=until, anew=old.anew | {lifted})
        elif row.get("restored"):
            found.pop(name, None)
        elif "says" in row or "cut" in row:
            said, cut = row.get("says"), row.get("cut")
            known = tuple(
                filter(None, map(from_row, said if isinstance(said, list) else ()))
            )
            exact = frozenset(map(str, cut)) if isinstance(cut, list) else frozenset()
            turns, whole = row.get("only") == "turns", str(row.get("for") or memory)
            found[name] = Tombstone(
                memory, digest, at, known, exact, within, turns=turns, whole=whole
            )
    return tuple(found.values())


def _time(value: object) -> datetime:
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        return _LONG_AGO
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def tombstone_row(text: str) -> dict[str, object]:
    """Return the fields of a tombstone that identify forgotten text.

    They are the fingerprints of its statements, and the hashes of the sentences that
    have none.
    """
    known = fingerprints(text)
    plain = [text[start:end] for start, end in sentences(text)]
    bare = [content_hash(one) for one in plain if not fingerprints(one)]
    return {"says": [one.row() for one in known]} | ({"cut": bare} if bare else {})


class TombstoneSet:
    """The tombstones in force, compiled once; thread-safe, and free if empty."""

    def __init__(self, known: Sequence[Tombstone] = ()) -> None:
        self.stones = tuple(known)
        self._by_word: defaultdict[str, list[tuple[Tombstone, Fingerprint]]] = (
            defaultdict(list)
        )
        self._exact: defaultdict[str, list[Tombstone]] = defaultdict(list)
        self._within = frozenset(stone.within for stone in self.stones if stone.within)
        self._bare = any(stone.exact and not stone.within for stone in self.stones)
        for stone in self.stones:
            for one in stone.fingerprints:
                for word in one.names or one.words:
                    self._by_word[word].append((stone, one))
            for digest in stone.exact:
                self._exact[digest].append(stone)

    def __bool__(self) -> bool:
        return bool(self.stones)

    def of(self, memory: str) -> list[Tombstone]:
        """Return the tombstones of `memory` and those set together with it."""
        return [stone for stone in self.stones if memory in {stone.whole, stone.memory}]

    def _hiding(self, sentence: str, said: Utterance) -> list[Tombstone]:
        """Return the tombstones that hide this sentence."""
        return [
            stone
            for stone in self._repeated_by(sentence, said.key)
            if stone.holds(said)
        ]

    def hides(self, text: str, said: Utterance) -> bool:
        """Return whether any sentence of `text` is hidden."""
        return self.shown(text, said) != text

    def shown(self, text: str, said: Utterance) -> str:
        """Return `text` with `OMISSION` for each run of hidden sentences.

        It is '' if all of it is hidden, and unchanged if nothing is.
        """
        if not self.stones or not self._may_hide(text, said.key):
            return text
        spans = [
            (start, end)
            for start, end in sentences(text)
            if self._hiding(text[start:end], said)
        ]
        if not spans:
            return self._unless_hidden_whole(text, said)
        kept, done = list[str](), 0
        for start, end in spans:
            if between := text[done:start].strip(" \t"):
                kept.append(between)
            if not kept or kept[-1] != OMISSION:
                kept.append(OMISSION)
            done = end
        kept += filter(None, [text[done:].strip(" \t")])
        return (
            ""
            if not any(part.strip(_NOTHING) for part in kept if part != OMISSION)
            else " ".join(kept)
        )

    def anew(
        self, text: str, said: Utterance, *, asked: bool = False
    ) -> list[Tombstone]:
        """Return the tombstones that the user lifts by stating the same again.

        A question, a quotation and a denial of the statement lift nothing. With `asked`
        the user asks to remember it, which counts at the same moment too.
        """
        if (
            not self.stones
            or not said.own
            or said.at is None
            or not self._may_hide(text, said.key)
        ):
            return []
        found: dict[tuple[str, str, str], Tombstone] = {}
        for start, end in reversed(parts(text)):
            text = text[:start] + "\n" + text[end:]
        for start, end in sentences(text):
            sentence = text[start:end]
            if is_question(sentence):
                continue
            for stone in self._repeated_by(sentence, said.key):
                later = (asked or said.at > stone.at) and said.key not in stone.anew
                if later and all(
                    one.denied == is_denied(sentence)
                    for one in stone.fingerprints
                    if restates(one, sentence)
                ):
                    found[stone.memory, stone.hash, stone.within] = stone
        return list(found.values())

    def _may_hide(self, text: str, key: str) -> bool:
        """Return whether the sentences of `text` must be checked one by one."""
        if self._bare or key in self._within:
            return True
        held = tokens(text)
        return any(
            may_restate(one, held)
            for word in self._by_word.keys() & held
            for _, one in self._by_word[word]
        )

    def _unless_hidden_whole(self, text: str, said: Utterance) -> str:
        """Return '' if `text`, read as one statement over several lines, is hidden."""
        one = " ".join(text.split())
        return (
            ""
            if "\n" in text and len(one) <= _STATEMENT and self._hiding(one, said)
            else text
        )

    def _repeated_by(self, sentence: str, key: str) -> Iterator[Tombstone]:
        """Yield the tombstones, each once, whose statement the sentence repeats."""
        held = tokens(sentence)
        seen = set[int]()
        for word in self._by_word.keys() & held:
            for stone, one in self._by_word[word]:
                if id(stone) not in seen and restates(one, sentence):
                    seen.add(id(stone))
                    yield stone
        if self._bare or key in self._within:
            for stone in self._exact.get(content_hash(sentence), ()):
                if id(stone) not in seen and stone.within in {"", key}:
                    seen.add(id(stone))
                    yield stone


_NOTHING = " \t\r\n.!?…,;:-–—*#>()[]\"'"
_STATEMENT = 200
