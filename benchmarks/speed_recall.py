"""CPU time of recall, of questions that are asked for the first time.

The caches of a process answer for texts that it has read before. Therefore every bounded
cache of the package is emptied before each question, except those of single words, which
any use of a vault fills. Beside it stands the median of other questions before which no
cache was emptied.
"""

from __future__ import annotations

import functools
import inspect
import statistics
import sys
import time
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Any

import material
from evaluation.datasets import read_cases
from evaluation.run import opened
from figures import Row, milliseconds, quantile, ratio, seconds_of

from engram.core.records import Problem
from engram.memory import VaultMemory

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engram.config import Settings

QUESTIONS = 100
LOCOMO = (
    Path(__file__).resolve().parents[2]
    / "shared"
    / "bench"
    / "data"
    / "locomo-dev.json"
)
BARS = ((1_000, 1.5), (10_000, 3.0), (100_000, 8.0), (1_000_000, 40.0))
"""Milliseconds of the median by the number of notes."""
CONVERSATION_BAR = 4.0
CACHE: type = type(functools.cache(lambda: None))


def rows(settings: Settings, _home: Path, notes: int) -> Iterator[Row]:
    """The start of the vault, and its recall."""
    writer, size = material.Writer(3), f"{notes:,}"
    first, *questions = [writer.question() for _ in range(2 * QUESTIONS + 1)]
    memory = VaultMemory(settings)
    start = seconds_of(memory.start) + seconds_of(lambda: ask(memory, first))
    took = milliseconds(start)
    yield Row("start to first recall", size, took, "–", start * 1e3, 1000, " ms")
    memory.catch_up()
    bar = next((bar for most, bar in BARS if notes <= most), BARS[-1][1])
    yield from told(*times(memory, questions), "recall CPU", size, bar)
    yield context(memory, size)
    memory.close()


def context(memory: VaultMemory, size: str) -> Row:
    """The context for a message, each after a statement that was stored."""
    spent = []
    for number in range(5):
        memory.call("remember", {"text": f"The spare key {number} is in the cellar."})
        message = {"query": f"Where did I leave the spare key {number}?"}
        spent.append(
            seconds_of(
                lambda message=message: memory.call("context", message),
                time.process_time,
            )
        )
    middle = statistics.median(spent)
    took = milliseconds(middle)
    return Row("context after a write, CPU", size, took, "–", middle * 1e3, 200, " ms")


def locomo(folder: Path) -> Iterator[Row]:
    """Recall in vaults with real conversations, if the data stand beside the project."""
    if not LOCOMO.is_file():
        print("recall CPU, LoCoMo: skipped, no conversations in ../shared/bench")
        return
    settings = material.settings(folder / "vault", folder / "home")
    cases = [
        case for case in read_cases([LOCOMO], UTC) if not isinstance(case, Problem)
    ]
    warm: list[float] = []
    cold: list[float] = []
    for case in cases:
        asked = [one.text for one in case.questions if one.has_evidence]
        step = len(cases) * len(asked) // (2 * QUESTIONS) or 1
        with opened(settings, case) as vault:
            ask(vault.memory, asked[-1])
            kept, emptied = times(vault.memory, asked[:-1:step])
        warm += kept
        cold += emptied
    yield from told(warm, cold, "recall CPU, LoCoMo", "–", CONVERSATION_BAR)


def told(
    warm: Sequence[float], cold: Sequence[float], what: str, size: str, bar: float
) -> Iterator[Row]:
    """The rows of times with caches kept and with caches emptied."""
    middle, late = statistics.median(cold), quantile(cold, 0.95)
    took = milliseconds(middle)
    beside = f"caches kept {milliseconds(statistics.median(warm))}"
    yield Row(f"{what}, p50", size, took, beside, middle * 1e3, bar, " ms")
    yield ratio(f"{what}, p95", size, late, ("p50", middle), 3.0)


def ask(memory: VaultMemory, question: str) -> None:
    """One recall."""
    memory.call("recall", {"query": question})


def times(
    memory: VaultMemory, questions: Sequence[str]
) -> tuple[list[float], list[float]]:
    """The CPU seconds of every second question with caches kept, then of the others with
    caches emptied.
    """

    def spent(question: str) -> float:
        return seconds_of(lambda: ask(memory, question), time.process_time)

    def emptied(question: str) -> float:
        for cache in caches:
            cache.cache_clear()
        return spent(question)

    warm = [spent(question) for question in questions[::2]]
    caches = caches_of_texts()
    return warm, [emptied(question) for question in questions[1::2]]


def caches_of_texts() -> list[Any]:
    """The bounded caches of the modules whose keys are more than a word."""
    return [
        value
        for name, module in list(sys.modules.items())
        if name.startswith("engram.")
        for value in vars(module).values()
        if isinstance(value, CACHE)
        and value.cache_parameters()["maxsize"] is not None
        and next(iter(inspect.signature(value.__wrapped__).parameters)) != "word"
    ]
