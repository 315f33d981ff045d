"""Turns on their way in: JSON lines from a stream, sent in batches; a busy daemon is
waited for.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import contextmanager

from engram.errors import BadRequestError, BusyError, ConflictError
from engram.serve.output import INTERRUPTED

TYPE_CHECKING = False  # loading typing would slow each call of the command line
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, TextIO

    from engram.core.records import Problem, Turn

    Call = Callable[[str, dict[str, Any]], dict[str, Any]]

BATCH_TURNS = 200
READ_BYTES = 1 << 20
LOOK_SECONDS, TELL_SECONDS = 0.1, 5.0


class TurnSender:
    """Sends turns to `observe` and adds up what became of them."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.sending = 0
        self.stored = 0
        self.duplicates = 0
        self.refused: list[str] = []

    def send(self, turns: list[dict[str, Any]], places: Sequence[str] = ()) -> None:
        """Send a batch; a busy daemon is waited for, and of a refused batch only the
        bad turns stay behind.

        `places` says where each turn stands, for who has to look for it.
        """
        while True:
            try:
                answer = self.call("observe", {"turns": turns})
                break
            except KeyboardInterrupt:
                self.sending = len(turns)
                raise
            except BusyError as busy:
                time.sleep(busy.retry_after)
            except (BadRequestError, ConflictError) as fault:
                if len(turns) == 1:
                    self.refused.append(
                        "".join([*(f"{place}: " for place in places), str(fault)])
                    )
                    return
                half = len(turns) // 2
                self.send(turns[:half], places[:half])
                self.send(turns[half:], places[half:])
                return
        self.stored += answer["stored"]
        self.duplicates += answer["duplicates"]
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{self.stored + self.duplicates} turns")

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """When the user breaks off, say what is stored and end."""
        try:
            yield
        except KeyboardInterrupt:
            stored = self.stored + self.duplicates
            perhaps = (
                f", and perhaps the {self.sending} that were on their way"
                if self.sending
                else ""
            )
            sys.stderr.write(
                f"\nengram: interrupted; turns stored already: {stored}{perhaps}. "
                "Run it again to go on: a turn with an id is never stored twice.\n"
            )
            raise SystemExit(INTERRUPTED) from None

    def close(self) -> dict[str, Any]:
        """The sums, and each refusal with its reason."""
        if sys.stderr.isatty():
            sys.stderr.write("\r\033[K")
        return {
            "stored": self.stored,
            "duplicates": self.duplicates,
            "refused": self.refused,
        }


def observe(source: TextIO | None, call: Call) -> dict[str, Any]:
    """Send the JSON lines of `source`, which is None where standard input is closed, as
    they arrive.
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
    sink = TurnSender(call)
    number = 0
    with sink.interruptible():
        for lines in _arriving(source.fileno()):
            turns: dict[str, dict[str, Any]] = {}
            for line in lines:
                number += 1
                if line.strip():
                    _read(line, f"line {number}", turns, sink.refused)
            for start in range(0, len(turns), BATCH_TURNS):
                some = list(turns)[start : start + BATCH_TURNS]
                sink.send([turns[place] for place in some], some)
    return sink.close()


def exit_code(result: dict[str, Any]) -> int:
    """Whether a turn was refused: what came in is wrong then, not the command line."""
    return ConflictError.exit_code if result["refused"] else 0


def parked(call: Call) -> dict[str, Any]:
    """How many turns wait for the model to recover, and what it said; nothing if none
    do.
    """
    count = call("stats", {})["parked_turns"]
    return {"parked": count, "why": why_parked(call)} if count else {}


def why_parked(call: Call) -> str:
    """What kept turns from being distilled or filed."""
    return "; ".join(call("status", {}).get("faults", {}).values())


def _arriving(source: int) -> Iterator[list[bytes]]:
    """Whole lines, in groups as large as what has arrived; the last line may lack its
    end.
    """
    rest = b""
    while chunk := os.read(source, READ_BYTES):
        *lines, rest = (rest + chunk).split(b"\n")
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
    if isinstance(turn, dict):
        turns[place] = turn
    else:
        refused.append(f"{place}: not a JSON object")


def feed(found: Iterable[Turn | Problem], call: Call) -> dict[str, Any]:
    """Send the turns of an import; what its reader could not make sense of counts as
    refused.
    """
    from engram.core.records import Problem

    sink = TurnSender(call)
    batch: list[dict[str, Any]] = []
    with sink.interruptible():
        for item in found:
            if isinstance(item, Problem):
                sink.refused.append(_told(item))
            else:
                batch.append(_sent(item))
            if len(batch) == BATCH_TURNS:
                sink.send(batch)
                batch = []
        if batch:
            sink.send(batch)
        result = sink.close()
        distil(call)
    return result | {"facts": call("stats", {})["facts"], "parked": 0} | parked(call)


def distil(call: Call) -> None:
    """Have everything distilled that waits, and say how much is left while it lasts."""
    call("flush", {"background": True})
    told = time.monotonic()
    while left := _left(call("stats", {})):
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\033[K{left} turns to distil")
        elif time.monotonic() - told > TELL_SECONDS:
            told = time.monotonic()
            sys.stderr.write(f"{left} turns to distil\n")
        time.sleep(LOOK_SECONDS)
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")


def _left(counts: dict[str, Any]) -> int:
    left: int = counts["waiting_turns"] + counts["distilling_turns"]
    return left


def counted(found: Iterable[Turn | Problem]) -> dict[str, Any]:
    """What an import would send, without sending it."""
    from engram.core.records import Problem

    turns = 0
    sessions: set[str] = set()
    refused: list[str] = []
    for item in found:
        if isinstance(item, Problem):
            refused.append(_told(item))
        else:
            turns += 1
            sessions.add(item.session)
    return {"turns": turns, "sessions": len(sessions), "refused": refused}


def _sent(turn: Turn) -> dict[str, Any]:
    """A turn as `observe` takes it, marked as imported."""
    return {
        "id": turn.id,
        "session": turn.session,
        "role": turn.role,
        "text": turn.text,
        "speaker": turn.speaker,
        "persona": turn.persona,
        "occurred_at": turn.occurred_at.isoformat(),
        "origin": "import",
    }


def _told(problem: Problem) -> str:
    place = f"{problem.path}:{problem.line}" if problem.line else problem.path
    return f"{place}: {problem.message}" if place else problem.message
