"""Measures what an extractor makes of a conversation: `engram eval --write` (row X16).

A golden file has JSON lines: the turns, and the statements that they should give. A
statement is met by a memory of its turn that contains all its words.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from engram.core import todos
from engram.core.language.words import fold
from engram.core.records import Fact, Turn
from engram.errors import BadRequestError
from engram.ingest.importers import jsonl, values
from engram.vault.location import refuse_special
from evaluation.datasets import EvaluationCase
from evaluation.run import opened
from evaluation.sample import Sample, estimate

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Collection,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )
    from datetime import tzinfo
    from pathlib import Path

    from engram.config import Settings


@dataclass(frozen=True, slots=True)
class Expected:
    """A statement that a turn should give: its words, its day, and whether it is over."""

    words: tuple[str, ...]
    turn: str
    over: bool
    date: str

    def is_met(self, text: str, turns: Collection[str]) -> bool:
        """Return whether a memory with this text and these turns says it."""
        told = fold(text)
        return self.turn in turns and all(fold(word) in told for word in self.words)


def read_golden(path: Path, settings: Settings) -> tuple[list[Turn], list[Expected]]:
    """Return turns and expected statements; BadRequestError names a line at fault."""
    refuse_special(path)
    turns: dict[str, Turn] = {}
    expected: list[Expected] = []
    latest = values.modified(path, settings.zone)
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        where = f"{path}:{number}"
        try:
            row = json.loads(line)
        except ValueError:
            raise BadRequestError("no JSON", where=where) from None
        if isinstance(row, dict) and isinstance(row.get("fact"), list):
            over, words = row.get("over") is True, tuple(map(str, row["fact"]))
            turn, date = str(row.get("turn", "")), str(row.get("date") or "")
            if not words or turn not in turns:
                raise BadRequestError("a fact needs words and a turn", where=where)
            expected.append(Expected(words, turn, over, date))
            continue
        made = jsonl.turn_of(row, path.stem, settings.zone, latest)
        if not isinstance(made, Turn):
            raise BadRequestError(made[1], where=where)
        latest = made.occurred_at
        turns[made.id] = made
    if not expected:
        raise BadRequestError("no line has a `fact`", where=str(path))
    return list(turns.values()), expected


def evaluate_write(
    settings: Settings, paths: Sequence[Path], agree: Callable[[Any], None]
) -> dict[str, Any]:
    """Extract the conversations of files and return the figures.

    `agree` is given the estimated cost of the models, and raises if it is refused.
    """
    golden = [(path, *read_golden(path, settings)) for path in paths]
    turns = [turn for _, some, _ in golden for turn in some]
    chars = sum(len(turn.text) for turn in turns)
    sample = Sample(tuple(paths), (), (), len(golden), len(turns), chars)
    agree(estimate(sample, settings, answers=False))
    score = Score()
    for path, some, expected in golden:
        case = EvaluationCase(path.stem, tuple(some), ())
        with opened(settings, case) as vault:
            vault.memory.call("consolidate", {"only": "end_states"})
            facts = {
                unit: {vault.turn_of.get(key, "") for key in (unit.source, *unit.also)}
                for unit in vault.memory.index.catalog.all_units()
                if isinstance(unit, Fact) and unit.source
            }
            score.add(expected, facts, settings.zone)
    return {"turns": len(turns), **score.figures()}


@dataclass(slots=True)
class Score:
    """What was right, and what was not, in words."""

    facts: int = 0
    right: int = 0
    rows: dict[str, list[tuple[str, bool]]] = field(default_factory=dict)
    extra: list[str] = field(default_factory=list)

    def add(
        self,
        expected: Iterable[Expected],
        facts: Mapping[Fact, Collection[str]],
        zone: tzinfo,
    ) -> None:
        """Hold the memories of a conversation, with their turns, against its list."""
        met: set[str] = set()
        for one in expected:
            found = [
                fact for fact, turns in facts.items() if one.is_met(fact.text, turns)
            ]
            met.update(fact.id for fact in found)
            name = " ".join(one.words)
            self._enter("recall", name, is_right=bool(found))
            if not found:
                continue
            holds = any(todos.still_holds(fact) for fact in found)
            self._enter(
                "ends" if one.over else "current", name, is_right=holds != one.over
            )
            if one.date:
                days = (fact.valid_from for fact in found if fact.valid_from)
                local = [day.astimezone(zone).date().isoformat() for day in days]
                is_right = any(day.startswith(one.date) for day in local)
                self._enter("dates", f"{name}: {', '.join(local)}", is_right=is_right)
        self.facts += len(facts)
        self.right += len(met)
        self.extra += [fact.text for fact in facts if fact.id not in met]

    def _enter(self, figure: str, name: str, *, is_right: bool) -> None:
        self.rows.setdefault(figure, []).append((name, is_right))

    def figures(self) -> dict[str, Any]:
        """Return each figure as right, of how many, and what is wrong."""
        found = {
            figure: {
                "right": sum(is_right for _, is_right in rows),
                "of": len(rows),
                "wrong": [name for name, is_right in rows if not is_right],
            }
            for figure, rows in self.rows.items()
        }
        precision = {"right": self.right, "of": self.facts, "wrong": self.extra}
        return {"write": {"precision": precision, **found}}


def lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the figures for a person, each with what is wrong."""
    yield f"{result['turns']} turns"
    for figure, row in result["write"].items():
        share = row["right"] / row["of"] if row["of"] else 0.0
        yield f"{figure:<10}{row['right']:>5} of {row['of']:<5}{share:>6.0%}"
        yield from (f"  - {name}" for name in row["wrong"])
