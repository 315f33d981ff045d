"""The index in PostgreSQL beside the one in files: filling, recall, agreement.

    python benchmarks/bench_postgres.py [NOTES]            a made vault, 10,000 notes
    python benchmarks/bench_postgres.py [NOTES] --others N   with N units of other vaults
    python benchmarks/bench_postgres.py --dev [CASES]      real conversations, as recalled

The server is that of the tests (`tests/postgres.py`). Both indexes are open in one
process, on two copies of the vault, and are asked each question one after the other.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import material
import psycopg
from evaluation import report
from evaluation.datasets import read_cases
from evaluation.run import Baselines, measure, opened
from figures import seconds_of

from engram import config
from engram.memory import VaultMemory
from tests.postgres import server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.config import Settings

QUESTIONS = 200
NOTES = 10_000
TOP = 10
BAR = 3.0
OTHERS_PER_VAULT = 1_000
DATA = Path(__file__).resolve().parents[2] / "shared" / "bench" / "data"


@contextmanager
def running(settings: Settings) -> Iterator[VaultMemory]:
    """A memory on a vault."""
    memory = VaultMemory(settings)
    memory.start()
    try:
        yield memory
    finally:
        memory.close()


def made(folder: Path, notes: int, dsn: str) -> list[Settings]:
    """Two copies of a vault: one with its index in files, one in PostgreSQL."""
    material.vault(folder / "files", notes)
    shutil.copytree(folder / "files", folder / "postgres", copy_function=shutil.copy2)
    own = [
        material.settings(folder / name, folder / f"home-{name}")
        for name in ("files", "postgres")
    ]
    return [own[0], replace(own[1], postgres=dsn)]


def crowd(dsn: str, units: int) -> None:
    """Units of other vaults, a thousand each."""
    with psycopg.connect(dsn, autocommit=True) as admin:
        admin.execute(
            "INSERT INTO engram.unit SELECT number, 'k' || number, 'p' || number, '', "
            "'fact', 'active', md5(number::text), '', '', repeat(md5(number::text), 12), "
            "'other-' || number / %s FROM generate_series(1, %s) AS number",
            (OTHERS_PER_VAULT, units),
        )
        admin.execute("ANALYZE")


def found(memory: VaultMemory, question: str) -> tuple[float, list[str]]:
    """Milliseconds of a recall, and the first ids."""
    given: list[dict[str, Any]] = []
    seconds = seconds_of(
        lambda: given.append(
            memory.call("recall", {"query": question, "record": False})
        )
    )
    return seconds * 1e3, [hit["id"] for hit in given[0]["hits"][:TOP]]


def side_by_side(notes: int, others: int) -> bool:
    """Print the table; return whether the bars hold."""
    writer = material.Writer(23)
    questions = [writer.question() for _ in range(QUESTIONS)]
    with server() as dsn, tempfile.TemporaryDirectory() as name:
        files, database = made(Path(name), notes, dsn)
        with running(files) as first, running(database) as second:
            filled = [seconds_of(memory.catch_up) for memory in (first, second)]
            print(f"{notes:,} notes, filled in s: {filled[0]:.1f}, {filled[1]:.1f}")
        if others:
            took = seconds_of(lambda: crowd(dsn, others))
            print(f"{others:,} units of other vaults added in {took:.0f} s")
        began = time.perf_counter()
        with running(files) as first:
            first.catch_up()
            opened_files = time.perf_counter() - began
            began = time.perf_counter()
            with running(database) as second:
                second.catch_up()
                opened_database = time.perf_counter() - began
                print(f"opened again in s: {opened_files:.2f}, {opened_database:.2f}")
                pairs = [(found(first, one), found(second, one)) for one in questions]
                again = [(found(first, one), found(second, one)) for one in questions]
    return told("first time", pairs) & told("asked again", again)


def told(what: str, pairs: list[tuple[tuple[float, list[str]], ...]]) -> bool:
    """Print one pass over the questions."""
    files, database = ([pair[side][0] for pair in pairs] for side in (0, 1))
    equal = sum(one[1] == other[1] for one, other in pairs)
    same_sets = sum(set(one[1]) == set(other[1]) for one, other in pairs)
    medians = statistics.median(files), statistics.median(database)
    ratio = statistics.median(b / a for a, b in zip(files, database, strict=True))
    tails = (statistics.quantiles(side, n=20)[-1] for side in (files, database))
    print(
        f"{what:12} p50 ms: {medians[0]:6.1f} {medians[1]:6.1f}  ratio {ratio:.2f} "
        f"(bar {BAR:.0f})  p95 ms: {next(tails):6.1f} {next(tails):6.1f}  "
        f"top {TOP} equal: {equal} of {len(pairs)}, as sets {same_sets}"
    )
    return ratio <= BAR and equal == len(pairs)


# Real conversations.


def evaluated(dsn: str, most: int) -> None:
    """The measures of `engram eval` on LoCoMo's dev part, on both indexes."""
    cases = list(read_cases([DATA / "locomo-dev.json"], UTC))[:most]
    for name, where in (("files", ""), ("postgres", dsn)):
        rows: list[dict[str, Any]] = []
        for case in cases:
            rows += measures(case, where)
        print(f"\n{name}", *report.lines(report.report(rows, [], 0)), sep="\n")


def measures(case: Any, dsn: str) -> list[dict[str, Any]]:
    """The rows of one conversation; its index is in `dsn`, '' for files."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        home = {"ENGRAM_HOME": name, "HOME": name, "TZ": "UTC"}
        own = config.load(folder / "none", home)
        with opened(own, case, postgres=dsn) as vault:
            baselines = Baselines(case, own)
            return [
                measure(vault, question, baselines)
                for question in case.questions
                if question.has_evidence
            ]


def main(flags: list[str]) -> int:
    numbers = [int(flag) for flag in flags if flag.isdecimal()]
    if "--dev" in flags:
        with server() as dsn:
            evaluated(dsn, *(numbers or [100]))
        return 0
    others = numbers.pop() if "--others" in flags else 0
    return 0 if side_by_side(numbers[0] if numbers else NOTES, others) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
