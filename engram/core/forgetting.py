"""Hide forgotten statements in returned texts (rows A26, X8; law 11).

A `TombstoneSet` is built from the rows of `state/tombstones.jsonl`. It removes
sentences from texts that recall returns, and selects the statements that the writer
leaves out. It never rewrites files. The rule:

- A sentence with a forgotten statement is hidden, from any source, if it is older than
  the request to forget or does not come from the user in the chat.
- A later sentence of the user in the chat is shown; if it repeats the statement, the
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
"""The replacement for hidden sentences."""
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Utterance:
    """The time of a text and the key of its turn ('' for none).

    `own` is true for words of the user in the chat. `at` is None if the time is
    unknown. `fact` marks the statement of a note and `memory` is the id of that note:
    the status in the note decides whether it is forgotten, because a request that a
    crash interrupted has no effect.
    """

    at: datetime | None = None
    key: str = ""
    own: bool = False
    fact: bool = False
    memory: str = ""


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A forgotten statement, as fingerprints or as hashes of sentences (`exact`).

    It was forgotten at `at`. `within` limits `exact` to one turn. `until` is the time
    at which the user stated it again, in the turns `anew`. With `turns` only turns are
    hidden, because the user deleted the note. `memory` was forgotten together with
    `whole`.
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

    def holds(self, utterance: Utterance) -> bool:
        """Return whether the tombstone hides a text with this origin."""
        if utterance.key and utterance.key in self.anew:
            return False
        if (self.turns and utterance.fact) or (
            utterance.memory and utterance.memory == self.memory
        ):
            return False
        if utterance.at is None:
            return self.until is None
        later = utterance.at > self.at
        return not (
            later
            and (
                utterance.own or (self.until is not None and utterance.at >= self.until)
            )
        )


def read_restored(rows: Iterable[Mapping[str, object]]) -> dict[str, datetime]:
    """Return the time at which a person last restored each memory, by memory id."""
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
    `lifted` (a turn's key) records that the user stated it again. Invalid rows are
    skipped.
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
            statements, cut = row.get("says"), row.get("cut")
            known = tuple(
                filter(
                    None,
                    map(from_row, statements if isinstance(statements, list) else ()),
                )
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

    They are the fingerprints of its statements, and hashes of the sentences that have
    no fingerprint.
    """
    known = fingerprints(text)
    plain = [text[start:end] for start, end in sentences(text)]
    bare = [content_hash(sentence) for sentence in plain if not fingerprints(sentence)]
    return {"says": [fingerprint.row() for fingerprint in known]} | (
        {"cut": bare} if bare else {}
    )


class TombstoneSet:
    """The tombstones in force, compiled once; thread-safe, and cheap if empty."""

    def __init__(self, known: Sequence[Tombstone] = ()) -> None:
        self.stones = tuple(known)
        self._by_word: defaultdict[str, list[tuple[Tombstone, Fingerprint]]] = (
            defaultdict(list)
        )
        self._exact: defaultdict[str, list[Tombstone]] = defaultdict(list)
        self._within = frozenset(stone.within for stone in self.stones if stone.within)
        self._bare = any(stone.exact and not stone.within for stone in self.stones)
        for stone in self.stones:
            for fingerprint in stone.fingerprints:
                for word in fingerprint.names or fingerprint.words:
                    self._by_word[word].append((stone, fingerprint))
            for digest in stone.exact:
                self._exact[digest].append(stone)

    def __bool__(self) -> bool:
        return bool(self.stones)

    def of(self, memory: str) -> list[Tombstone]:
        """Return the tombstones of `memory` and those created together with it."""
        return [stone for stone in self.stones if memory in {stone.whole, stone.memory}]

    def _hiding(self, sentence: str, utterance: Utterance) -> list[Tombstone]:
        """Return the tombstones that hide this sentence."""
        return [
            stone
            for stone in self._repeated_by(sentence, utterance.key)
            if stone.holds(utterance)
        ]

    def hides(self, text: str, utterance: Utterance) -> bool:
        """Return whether any sentence of `text` is hidden."""
        return self.visible(text, utterance) != text

    def visible(self, text: str, utterance: Utterance) -> str:
        """Return `text` with `OMISSION` for each run of hidden sentences.

        It is '' if all of it is hidden, and unchanged if nothing is.
        """
        if not self.stones or not self._may_hide(text, utterance.key):
            return text
        spans = [
            (start, end)
            for start, end in sentences(text)
            if self._hiding(text[start:end], utterance)
        ]
        if not spans:
            return self._unless_hidden_whole(text, utterance)
        parts, position = list[str](), 0
        for start, end in spans:
            if between := text[position:start].strip(" \t"):
                parts.append(between)
            if not parts or parts[-1] != OMISSION:
                parts.append(OMISSION)
            position = end
        parts += filter(None, [text[position:].strip(" \t")])
        return (
            ""
            if not any(part.strip(_NOTHING) for part in parts if part != OMISSION)
            else " ".join(parts)
        )

    def anew(
        self, text: str, utterance: Utterance, *, is_request: bool = False
    ) -> list[Tombstone]:
        """Return the tombstones that the user lifts by repeating the statement.

        A question, a quotation and a denial of the statement lift nothing. With
        `is_request` the user asks to remember the statement; then an equal time is late
        enough.
        """
        if (
            not self.stones
            or not utterance.own
            or utterance.at is None
            or not self._may_hide(text, utterance.key)
        ):
            return []
        found: dict[tuple[str, str, str], Tombstone] = {}
        for start, end in reversed(parts(text)):
            text = text[:start] + "\n" + text[end:]
        for start, end in sentences(text):
            sentence = text[start:end]
            if is_question(sentence):
                continue
            for stone in self._repeated_by(sentence, utterance.key):
                later = (
                    is_request or utterance.at > stone.at
                ) and utterance.key not in stone.anew
                if later and all(
                    fingerprint.denied == is_denied(sentence)
                    for fingerprint in stone.fingerprints
                    if restates(fingerprint, sentence)
                ):
                    found[stone.memory, stone.hash, stone.within] = stone
        return list(found.values())

    def _may_hide(self, text: str, key: str) -> bool:
        """Return whether the sentences of `text` must be checked one by one."""
        if self._bare or key in self._within:
            return True
        text_tokens = tokens(text)
        return any(
            may_restate(fingerprint, text_tokens)
            for word in self._by_word.keys() & text_tokens
            for _, fingerprint in self._by_word[word]
        )

    def _unless_hidden_whole(self, text: str, utterance: Utterance) -> str:
        """Return '' if `text`, read as one statement over several lines, is hidden."""
        one_line = " ".join(text.split())
        return (
            ""
            if "\n" in text
            and len(one_line) <= _STATEMENT
            and self._hiding(one_line, utterance)
            else text
        )

    def _repeated_by(self, sentence: str, key: str) -> Iterator[Tombstone]:
        """Yield the tombstones, each once, whose statement the sentence repeats."""
        sentence_tokens = tokens(sentence)
        seen = set[int]()
        for word in self._by_word.keys() & sentence_tokens:
            for stone, fingerprint in self._by_word[word]:
                if id(stone) not in seen and restates(fingerprint, sentence):
                    seen.add(id(stone))
                    yield stone
        if self._bare or key in self._within:
            for stone in self._exact.get(content_hash(sentence), ()):
                if id(stone) not in seen and stone.within in {"", key}:
                    seen.add(id(stone))
                    yield stone


_NOTHING = " \t\r\n.!?…,;:-–—*#>()[]\"'"
_STATEMENT = 200
