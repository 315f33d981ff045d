"""Send turns to `observe` in batches: JSON lines from a stream, or an import."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from contextlib import contextmanager

from engram.errors import (
    BadRequestError,
    BusyError,
    ConflictError,
)

TYPE_CHECKING = False  # loading typing would slow each call of the command line
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime
    from typing import Any, TextIO

    from engram.core.records import ImportedMemory, Problem, Turn

    Call = Callable[[str, dict[str, Any]], dict[str, Any]]
    Items = list[dict[str, Any]]

BATCH_TURNS = 200
READ_BYTES = 1 << 20
LONGEST_LINE = 1 << 26
POLL_SECONDS, REPORT_SECONDS = 0.1, 5.0
_STORED = frozenset({"created", "restored", "waits in review"})
"""Verdicts on a memory that an import stores, or shows again."""


class TurnSender:
    """Sends turns and memories, and counts stored, duplicate and refused ones."""

    def __init__(self, call: Call, run: str = "") -> None:
        self.call = call
        self.run = {"run": run} if run else {}
        self.sending = 0
        self.stored = 0
        self.duplicates = 0
        self.verdicts: Counter[str] = Counter()
        self.refused: list[str] = []
        self.not_remembered: list[str] = []

    def send(self, turns: Items, places: Sequence[str] = ()) -> None:
        """Send a batch of turns; `places` are their lines, for messages."""
        for answer, _ in self._answers("observe", "turns", turns, places):
            self.stored += answer["stored"]
            self.duplicates += answer["duplicates"]
            self.not_remembered += [
                f"turn {one['turn']}: {one['why']}. {one['fix']}"
                for one in answer.get("not_remembered", ())
            ]
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{self.stored + self.duplicates} turns")

    def remember(self, memories: Items, places: Sequence[str]) -> None:
        """Send a batch of memories; count the verdicts on them."""
        batch = self._answers("remember_all", "memories", memories, places)
        for answer, lines in batch:
            for place, one in zip(lines, answer["memories"], strict=True):
                if one["verdict"] == "refused":
                    self.refused.append(f"{place}: {one['why']}")
                    continue
                self.verdicts[one["verdict"]] += 1
                self.stored += one["verdict"] in _STORED
                self.duplicates += one["verdict"] not in _STORED

    def _answers(
        self, name: str, argument: str, items: Items, places: Sequence[str]
    ) -> Iterator[tuple[dict[str, Any], Sequence[str]]]:
        """Send a batch, and yield the answers with the places of their items.

        It is repeated while the daemon is busy. A refused batch is halved until only
        the invalid items are refused.
        """
        while True:
            try:
                answer = self.call(name, {argument: items, **self.run})
            except KeyboardInterrupt:
                self.sending = len(items)
                raise
            except BusyError as busy:
                time.sleep(busy.retry_after)
            except (BadRequestError, ConflictError) as fault:
                if len(items) == 1:
                    self.refused.append(
                        "".join([*(f"{place}: " for place in places), str(fault)])
                    )
                    return
                half = len(items) // 2
                yield from self._answers(name, argument, items[:half], places[:half])
                yield from self._answers(name, argument, items[half:], places[half:])
                return
            else:
                yield answer, places
                return

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Return a context that prints the number of stored turns on Ctrl-C."""
        try:
            yield
        except KeyboardInterrupt:
            stored = self.stored + self.duplicates
            perhaps = (
                f", and perhaps the {self.sending} that were being sent"
                if self.sending
                else ""
            )
            sys.stderr.write(
                f"\nengram: interrupted; turns stored already: {stored}{perhaps}. "
                "Run it again to go on: a turn with an id is never stored twice.\n"
            )
            raise

    def close(self) -> dict[str, Any]:
        """Return the counts, and each refusal with its reason."""
        if sys.stderr.isatty():
            sys.stderr.write("\r\033[K")
        counts = {
            "stored": self.stored,
            "duplicates": self.duplicates,
            "refused": self.refused,
        }
        if self.not_remembered:
            return counts | {"not_remembered": self.not_remembered}
        return counts


def observe(source: TextIO | None, call: Call) -> dict[str, Any]:
    """Send the JSON lines of `source` as they arrive; return the counts.

    `source` is None if standard input is closed; that raises BadRequestError.
    """
    if source is None:
        raise BadRequestError(
            "standard input is closed",
            fix="Pipe the turns in: `engram observe < turns.jsonl`.",
        )
    if source.isatty():
        sys.stderr.write(
            'One JSON object a line, as {"text": "I like tea."}; Ctrl-D ends.\n'
        )
    sender = TurnSender(call)
    number = 0
    with sender.interruptible():
        for lines in _arriving(source.fileno()):
            turns: dict[str, dict[str, Any]] = {}
            for line in lines:
                number += 1
                if line.strip():
                    _read(line, f"line {number}", turns, sender.refused)
            for start in range(0, len(turns), BATCH_TURNS):
                some = list(turns)[start : start + BATCH_TURNS]
                sender.send([turns[place] for place in some], some)
    return sender.close()


def exit_code(result: dict[str, Any]) -> int:
    """Return 65 if a turn was refused, else 0."""
    return ConflictError.exit_code if result["refused"] else 0


def parked(call: Call) -> dict[str, Any]:
    """Return the number of parked turns and the reasons, or an empty result."""
    count = call("stats", {})["parked_turns"]
    return {"parked": count, "why": why_parked(call)} if count else {}


def why_parked(call: Call) -> str:
    """Return why turns were not extracted or filed."""
    return "; ".join(call("status", {}).get("faults", {}).values())


def _arriving(source: int) -> Iterator[list[bytes]]:
    """Yield the complete lines of each read; the last line may have no newline."""
    rest = b""
    while chunk := os.read(source, READ_BYTES):
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > LONGEST_LINE:
            raise BadRequestError(
                f"a line of standard input is longer than {LONGEST_LINE} bytes",
                fix="Give one JSON object a line.",
            )
        if lines:
            yield lines
    if rest:
        yield [rest]


def _read(
    line: bytes, place: str, turns: dict[str, dict[str, Any]], refused: list[str]
) -> None:
    try:
        turn = json.loads(line)
    except (ValueError, RecursionError) as fault:
        refused.append(f"{place}: not JSON ({fault})")
        return
    if not isinstance(turn, dict):
        refused.append(f"{place}: not a JSON object")
    elif isinstance(turn.get("messages"), list):
        common = {key: turn[key] for key in ("session", "persona") if turn.get(key)}
        for number, message in enumerate(turn["messages"], 1):
            if isinstance(message, dict):
                turns[f"{place}, message {number}"] = {**common, **message}
            else:
                refused.append(f"{place}, message {number}: not a JSON object")
    else:
        turns[place] = turn


class UndatedCount:
    """The items of an import; counts the turns without a time, which get the file's."""

    def __init__(
        self, items: Iterable[Turn | ImportedMemory | Problem], modified: datetime
    ) -> None:
        self._items = items
        self._modified = modified
        self.turns = 0

    def __iter__(self) -> Iterator[Turn | ImportedMemory | Problem]:
        from engram.core.records import Turn

        for item in self._items:
            if isinstance(item, Turn) and item.occurred_at == self._modified:
                self.turns += 1
            yield item

    def note(self) -> str:
        """Return a message about such turns, or ''."""
        if not self.turns:
            return ""
        day = self._modified.date()
        return (
            f"{self.turns} of the turns name no time and count as said on {day}, when the file "
            "was last changed; a time is read from `timestamp`, `time`, `at` or "
            "`created_at`"
        )


def feed(
    items: Iterable[Turn | ImportedMemory | Problem],
    call: Call,
    total: int = 0,
    run: str = "",
) -> dict[str, Any]:
    """Send the items of an import; items that its reader could not parse are refused.

    `total` is the number of items, for the bar on a terminal; `run` is the import. The
    result counts, as `facts`, the increase of active memories.
    """
    from engram.core.records import ImportedMemory, Problem
    from engram.serve.terminal import Bar

    before = _active(call)
    sender = TurnSender(call, run)
    turns: list[dict[str, Any]] = []
    memories: list[ImportedMemory] = []

    def send(least: int) -> None:
        if len(turns) >= least:
            sender.send(turns)
            bar.advance(len(turns))
            turns.clear()
        if len(memories) >= least:
            sender.remember(list(map(_asked, memories)), list(map(_place, memories)))
            bar.advance(len(memories))
            memories.clear()

    with sender.interruptible(), Bar("import", total) as bar:
        for item in items:
            if isinstance(item, Problem):
                sender.refused.append(_problem_text(item))
            elif isinstance(item, ImportedMemory):
                memories.append(item)
            else:
                turns.append(_imported(item))
            send(BATCH_TURNS)
        send(1)
        result = sender.close()
    if run and sender.stored:
        result["run"] = run
    if sender.verdicts:
        result["memories"] = dict(sender.verdicts)
    with sender.interruptible():
        distil(call)
    made = max(0, _active(call) - before)
    return result | {"facts": made, "parked": 0} | parked(call)


def _active(call: Call) -> int:
    """Return the number of active memories."""
    number: int = call("stats", {}).get("facts.active", 0)
    return number


def _asked(memory: ImportedMemory) -> dict[str, Any]:
    """Return an imported memory as arguments of `remember`."""
    return {
        "text": memory.text,
        "source_id": memory.id,
        "occurred_at": memory.when.isoformat() if memory.when else None,
        "about": list(memory.about) or None,
        "tags": list(memory.tags) or None,
        "category": memory.category or None,
        "confidence": memory.confidence,
        "expires": memory.until.isoformat() if memory.until else None,
    }


def distil(call: Call) -> None:
    """Extract memories from all waiting turns, and print how many remain."""
    from engram.serve.terminal import Bar

    call("flush", {"background": True})
    reported = time.monotonic()
    total = max(1, _unextracted(call("stats", {})))
    with Bar("extraction", total) as bar:
        while remaining := _unextracted(call("stats", {})):
            bar.reach(total - remaining)
            is_watched = sys.stderr.isatty()
            if not is_watched and time.monotonic() - reported > REPORT_SECONDS:
                reported = time.monotonic()
                sys.stderr.write(f"{remaining} turns to distil\n")
            time.sleep(POLL_SECONDS)


def _unextracted(counts: dict[str, Any]) -> int:
    turns: int = counts["waiting_turns"] + counts["distilling_turns"]
    return turns


def counted(items: Iterable[Turn | ImportedMemory | Problem]) -> dict[str, Any]:
    """Count what an import would send, without sending it."""
    from engram.core.records import ImportedMemory, Problem

    turns = memories = 0
    sessions: set[str] = set()
    refused: list[str] = []
    for item in items:
        if isinstance(item, Problem):
            refused.append(_problem_text(item))
        elif isinstance(item, ImportedMemory):
            memories += 1
        else:
            turns += 1
            sessions.add(item.session)
    counts = {"turns": turns, "sessions": len(sessions), "refused": refused}
    return counts | ({"memories": memories} if memories else {})


def _imported(turn: Turn) -> dict[str, Any]:
    """Return a turn as an argument of `observe`, marked as imported."""
    return {
        "id": turn.id,
        "session": turn.session,
        "role": turn.role,
        "text": turn.text,
        "speaker": turn.speaker,
        "persona": turn.persona,
        "private": turn.private,
        "occurred_at": turn.occurred_at.isoformat(),
        "origin": "import",
        "group": turn.group,
        "title": turn.title,
    }


def _place(item: Problem | ImportedMemory) -> str:
    return f"{item.path}:{item.line}" if item.line else item.path


def _problem_text(problem: Problem) -> str:
    place = _place(problem)
    return f"{place}: {problem.message}" if place else problem.message
