"""What a person had forgotten, and what of a text may still be handed out (rows A26,
X8; model §0.11).

`TombstoneSet` is made from the rows of `state/tombstones.jsonl`. It cuts sentences out of
texts when they are handed out, and tells the writer which statements to leave out.
Files are never rewritten for it. The rule:

- a sentence that says what was forgotten is hidden, whoever said it, if it was said
  before the wish to forget or by anybody but the user in the chat;
- what the user says in the chat afterwards is shown; where it says the same again as a
  statement, the tombstone is lifted from then on: what anybody says later is shown too,
  older sentences stay hidden.
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
"""What stands in the place of sentences that are hidden."""
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Utterance:
    """When words were said, in which turn (its key, '' for none), and whether by the
    user in the chat (`own`).

    `at` None: nobody knows when. `fact` marks the statement of a note, `memory` is the
    id of that one: its note says by itself whether it is forgotten, for a wish that a
    crash cut short has not happened.
    """

    at: datetime | None = None
    key: str = ""
    own: bool = False
    fact: bool = False
    memory: str = ""


@dataclass(frozen=True, slots=True)
class Tombstone:
    """One thing that was forgotten at `at`: what it says, or its very words (`exact`:
    content hashes of sentences).

    `within` confines `exact` to one turn. `until` is when the user said it anew, in the
    turns `anew`. `turns`: only turns are hidden, for it was a note that a person
    deleted. `memory` was forgotten along with `whole`.
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
        """Whether it hides words that were said like this."""
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


def read_tombstones(rows: Iterable[Mapping[str, object]]) -> tuple[Tombstone, ...]:
    """The tombstones that stand, from their rows in any order of writing; rows of
    another form are passed over.

    A row with `restored` takes the earlier ones of its memory and hash back, one with
    `lifted` (a turn's key) says that the user said it anew.
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
    """What a tombstone keeps of forgotten words: their gists, and the hashes of
    sentences that have none.
    """
    known = fingerprints(text)
    plain = [text[start:end] for start, end in sentences(text)]
    bare = [content_hash(one) for one in plain if not fingerprints(one)]
    return {"says": [one.row() for one in known]} | ({"cut": bare} if bare else {})


class TombstoneSet:
    """The tombstones that stand, compiled once; asking is safe from any thread. Empty,
    it costs nothing.
    """

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
        """The tombstones that stand because `memory` was forgotten, its own and those
        set along with it.
        """
        return [stone for stone in self.stones if memory in {stone.whole, stone.memory}]

    def met(self, sentence: str, said: Utterance) -> list[Tombstone]:
        """The tombstones that hide this sentence, said like this."""
        return [
            stone for stone in self._said_by(sentence, said.key) if stone.holds(said)
        ]

    def hides(self, text: str, said: Utterance) -> bool:
        """Whether any sentence of `text` is hidden."""
        return self.shown(text, said) != text

    def shown(self, text: str, said: Utterance) -> str:
        """`text` with `OMISSION` for each run of hidden sentences; '' where nothing is left,
        itself where none is hidden.
        """
        if not self.stones or not self._may(text, said.key):
            return text
        spans = [
            (start, end)
            for start, end in sentences(text)
            if self.met(text[start:end], said)
        ]
        if not spans:
            return self._across(text, said)
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
        """The tombstones that the user lifts with these words: they state it after they
        had it forgotten.

        No question does that, no words that they only quote, and no denial of what was
        stated. With `asked` they want it kept, so that it counts at the very moment
        too.
        """
        if (
            not self.stones
            or not said.own
            or said.at is None
            or not self._may(text, said.key)
        ):
            return []
        found: dict[tuple[str, str, str], Tombstone] = {}
        for start, end in reversed(parts(text)):
            text = text[:start] + "\n" + text[end:]
        for start, end in sentences(text):
            sentence = text[start:end]
            if is_question(sentence):
                continue
            for stone in self._said_by(sentence, said.key):
                later = (asked or said.at > stone.at) and said.key not in stone.anew
                if later and all(
                    one.denied == is_denied(sentence)
                    for one in stone.fingerprints
                    if restates(one, sentence)
                ):
                    found[stone.memory, stone.hash, stone.within] = stone
        return list(found.values())

    def _may(self, text: str, key: str) -> bool:
        """Whether a look at each sentence is needed."""
        if self._bare or key in self._within:
            return True
        held = tokens(text)
        return any(
            may_restate(one, held)
            for word in self._by_word.keys() & held
            for _, one in self._by_word[word]
        )

    def _across(self, text: str, said: Utterance) -> str:
        """A text without a full stop may be a single statement over several lines."""
        one = " ".join(text.split())
        return (
            ""
            if "\n" in text and len(one) <= _STATEMENT and self.met(one, said)
            else text
        )

    def _said_by(self, sentence: str, key: str) -> Iterator[Tombstone]:
        """The tombstones, each once, that say what this sentence says; whether they
        hide it is not asked.
        """
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
