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

from engram.core.language.equal_statements import statement_hashes, without_answer
from engram.core.language.quotations import without_parts
from engram.core.language.sentences import sentences
from engram.core.language.topics import content, is_question

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

OMISSION = "[…]"
"""The replacement for hidden sentences."""
ELSEWHERE = "elsewhere"
"""The key of rows that are not in the vault as git checked it out."""
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Utterance:
    """The time of a text and the key of its turn ('' for none).

    `by` is the source class of its speaker. `at` is None if the time is unknown. `fact`
    marks the statement of a note and `memory` is the id of that note: the status in the
    note decides whether it is forgotten, because a request that a crash interrupted has
    no effect.
    """

    at: datetime | None = None
    key: str = ""
    by: str = ""
    fact: bool = False
    memory: str = ""


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A forgotten statement: the hashes of its wordings (`exact`).

    It was forgotten at `at`. `in_turn` limits `exact` to one turn. `restated_at` is the
    time at which the user stated it again, in the turns `restated_in`. With
    `only_turns` no notes are hidden, because the user deleted the note. `memory` was
    forgotten along with `named`. One from `elsewhere` is not in the vault as git checked
    it out, and hides its own note too.
    """

    memory: str
    hash: str
    at: datetime
    exact: frozenset[str] = frozenset()
    in_turn: str = ""
    restated_at: datetime | None = None
    restated_in: frozenset[str] = frozenset()
    only_turns: bool = False
    named: str = ""
    elsewhere: bool = False

    def holds(self, utterance: Utterance) -> bool:
        """Return whether the tombstone hides a text with this origin."""
        if utterance.key and utterance.key in self.restated_in:
            return False
        if (self.only_turns and utterance.fact) or (
            utterance.memory == self.memory and self.memory and not self.elsewhere
        ):
            return False
        if utterance.at is None:
            return self.restated_at is None
        later = utterance.at > self.at
        return not (
            later
            and (
                utterance.by == "user"
                or (self.restated_at is not None and utterance.at >= self.restated_at)
            )
        )


def read_restored(rows: Iterable[Mapping[str, object]]) -> dict[str, datetime]:
    """Return the time at which a person last restored each memory, by memory id."""
    return {
        str(row.get("memory")): at
        for row in rows
        if row.get("restored")
        and not row.get("lifted")
        and (at := time_of(row.get("at")))
    }


def removed_keys(rows: Iterable[Mapping[str, object]]) -> set[str]:
    """Return content hashes of removed statements, and the keys of their turns.

    Restored statements are left out. A turn is in the set until every removed statement
    of it is restored.
    """
    holders: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        digest, turn, memory = (
            str(row.get(name) or "") for name in ("hash", "turn", "memory")
        )
        for stone, holder in ((digest, digest), (turn, memory or digest)):
            held = holders[stone]
            (held.discard if row.get("restored") else held.add)(holder)
    return {stone for stone, held in holders.items() if stone and held}


def read_tombstones(rows: Iterable[Mapping[str, object]]) -> tuple[Tombstone, ...]:
    """Return the tombstones in force, from their rows in order.

    A row with `restored` removes the earlier ones of its memory and hash; one with
    `lifted` (a turn's key) records that the user stated it again. Invalid rows are
    skipped. Rows of older versions have fingerprints in `says`; they are read as exactly
    their statement, which is `hash`.
    """
    found: dict[tuple[str, str, str], Tombstone] = {}
    for row in rows:
        memory, digest, within = (
            str(row.get(name) or "") for name in ("memory", "hash", "in")
        )
        name, at = (memory, digest, within), time_of(row.get("at"))
        lifted = str(row.get("lifted") or "")
        if lifted and name in found:
            old = found[name]
            found[name] = replace(
                old,
                restated_at=min(filter(None, (old.restated_at, at))),
                restated_in=old.restated_in | {lifted},
            )
        elif row.get("restored"):
            found.pop(name, None)
        elif "says" in row or "cut" in row:
            cut = row.get("cut")
            exact = frozenset(map(str, cut)) if isinstance(cut, list) else frozenset()
            if "says" in row and not within:
                exact |= {digest}
            only_turns, named = (
                row.get("only") == "turns",
                str(row.get("for") or memory),
            )
            found[name] = Tombstone(
                memory,
                digest,
                at,
                exact,
                within,
                only_turns=only_turns,
                named=named,
                elsewhere=ELSEWHERE in row,
            )
    return tuple(found.values())


def time_of(value: object) -> datetime:
    """Return the time in a row, or one long ago if there is none."""
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        return _LONG_AGO
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def tombstone_row(*statements: str) -> dict[str, object]:
    """Return the field of a tombstone that identifies forgotten statements."""
    return {"cut": sorted(frozenset().union(*map(statement_hashes, statements)))}


def statements_of(text: str) -> list[str]:
    """Return a text and those of its sentences that state something.

    A sentence without content, such as "Yes, please.", is none: it occurs elsewhere.
    """
    parts = [text[start:end] for start, end in sentences(text)]
    return [text, *(one for one in parts if content(one) and not is_question(one))]


class TombstoneSet:
    """The tombstones in force, compiled once; thread-safe, and cheap if empty."""

    def __init__(self, known: Sequence[Tombstone] = ()) -> None:
        self.stones = tuple(known)
        self._exact: defaultdict[str, list[Tombstone]] = defaultdict(list)
        for stone in self.stones:
            for digest in stone.exact:
                self._exact[digest].append(stone)

    def __bool__(self) -> bool:
        return bool(self.stones)

    def of(self, memory: str) -> list[Tombstone]:
        """Return the tombstones of `memory` and those created together with it."""
        return [stone for stone in self.stones if memory in {stone.named, stone.memory}]

    def _hiding(self, statement: str, utterance: Utterance) -> list[Tombstone]:
        return [
            stone
            for stone in self._repeated_by(statement, utterance)
            if stone.holds(utterance)
        ]

    def hides(self, text: str, utterance: Utterance) -> bool:
        """Return whether any sentence of `text` is hidden."""
        return self.visible(text, utterance) != text

    def visible(self, text: str, utterance: Utterance) -> str:
        """Return `text` with `OMISSION` for each run of hidden sentences.

        It is '' if all of it is hidden, and unchanged if nothing is.
        """
        if not self._exact:
            return text
        if self._hiding(text, utterance):
            return ""
        spans = [
            (start, end)
            for start, end in sentences(text)
            if self._hiding(text[start:end], utterance)
        ]
        if not spans:
            return text
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

    def restated(
        self, text: str, utterance: Utterance, *, is_request: bool = False
    ) -> list[Tombstone]:
        """Return the tombstones that the user lifts by repeating the statement.

        A question and a quotation of the statement lift nothing. With
        `is_request` the user asks to remember the statement; then an equal time is late
        enough.
        """
        if not self.stones or utterance.by != "user" or utterance.at is None:
            return []
        found: dict[tuple[str, str, str], Tombstone] = {}
        text = without_parts(text)
        for start, end in sentences(text):
            sentence = text[start:end]
            if is_question(sentence):
                continue
            for stone in self._repeated_by(sentence, utterance):
                later = is_request or utterance.at > stone.at
                if later and utterance.key not in stone.restated_in:
                    found[stone.memory, stone.hash, stone.in_turn] = stone
        return list(found.values())

    def _repeated_by(self, statement: str, utterance: Utterance) -> Iterator[Tombstone]:
        """Yield the tombstones, each once, whose statement is equal to this one.

        An assistant's may follow a short lead-in such as "Noted:".
        """
        seen, key = set[int](), utterance.key
        digests = statement_hashes(statement)
        if utterance.by == "assistant":
            digests |= statement_hashes(without_answer(statement))
        for digest in digests:
            for stone in self._exact.get(digest, ()):
                if id(stone) not in seen and stone.in_turn in {"", key}:
                    seen.add(id(stone))
                    yield stone


_NOTHING = " \t\r\n.!?…,;:-–—*#>()[]\"'"
