"""Recall on real conversations, beside rank_bm25 on the same data in the same run.

    python benchmarks/bench_recall.py              the tables
    python benchmarks/bench_recall.py --quick      those of the index alone
    python benchmarks/bench_recall.py --exact      questions of exact words alone
    python benchmarks/bench_recall.py --vaults     what vaults hand out alone
    python benchmarks/bench_recall.py --ablation   what each weight does to both sets
    python benchmarks/bench_recall.py --facts      facts and turns together against turns alone

The data stand in ../shared/bench beside the project; without them the script says so.
What a vault hands out is measured as `engram eval` does. A retriever is a function from
a conversation to a function from a question to the ranked ids of turns.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC
from itertools import groupby
from pathlib import Path
from typing import Any

import exact_words
import numpy as np
from evaluation import metrics, report
from evaluation.baselines import lower_words, okapi, split_at_blanks
from evaluation.datasets import (
    EvaluationCase,
    EvaluationQuestion,
    read_cases,
)
from evaluation.run import Baselines, measure, opened

from engram import config
from engram.core import ranking
from engram.core.policy import ExtractionPolicy, LexicalPolicy
from engram.core.records import Problem
from engram.extraction.rules.engine import extract
from engram.index.bm25 import Bm25Index, IndexedText
from engram.index.filters import SearchFilter

DATA = Path(__file__).resolve().parents[2] / "shared" / "bench" / "data"
FILES = {
    "LoCoMo": "locomo-dev.json",
    "LongMemEval-S": "longmemeval-s-dev.jsonl.gz",
}
POOL = 200
SEED = 7
SHOWN = (
    "recall@1",
    "recall@5",
    "recall@10",
    "all@5",
    "all@10",
    "any@5",
    "any@10",
    "mrr",
    "ndcg@10",
)
OFF = {
    "date": 0,
    "back": 0,
    "forward": 0,
    "answer": 0,
    "neighbour_words": 1000,
    "short_words": 0,
    "session": 0,
    "speaker": 0,
    "role": 0,
    "when": 0,
    "counted": 0,
    "telling": 0,
    "span": 0,
    "question": 0,
    "faint": 1,
    "akin": 0,
}

Ranker = Callable[[EvaluationQuestion], list[str]]
Retriever = Callable[[EvaluationCase], Ranker]


def cases_of(path: Path) -> list[EvaluationCase]:
    cases = read_cases([path], UTC)
    return [one for one in cases if not isinstance(one, Problem)]


def docs(case: EvaluationCase) -> Iterator[IndexedText]:
    for session, turns in groupby(case.turns, key=lambda turn: turn.session):
        for place, turn in enumerate(turns):
            yield IndexedText(
                turn.id,
                "turn",
                turn.text,
                session,
                place,
                turn.speaker,
                "" if turn.group else turn.role,
                turn.occurred_at.timestamp(),
            )


# The retrievers.


def by_okapi(tokens: Callable[[str], list[str]]) -> Retriever:
    """rank_bm25 as its README uses it."""

    def retriever(case: EvaluationCase) -> Ranker:
        rank = okapi(case.turns, tokens)
        return lambda question: rank(question.text)[:POOL]

    return retriever


def lexical(case: EvaluationCase) -> Ranker:
    index = Bm25Index()
    index.add(docs(case))
    return asked(index, case)


def asked(index: Bm25Index, case: EvaluationCase) -> Ranker:
    def ranked(question: EvaluationQuestion) -> list[str]:
        found = index.search(
            ranking.parse_question(question.text, question.when or case.end),
            SearchFilter(),
            POOL,
        )
        return [hit.key for hit in found.hits]

    return ranked


def with_facts(*, merge: bool) -> Retriever:
    """Turns and the facts the offline rules read from them, in one index; `merge` is
    how recall joins them.
    """

    def retriever(case: EvaluationCase) -> Ranker:
        index = Bm25Index()
        units = {turn.id: ranking.UnitSignals(turn.id) for turn in case.turns}
        facts = list(read(case))
        units |= {
            fact.key: ranking.UnitSignals(fact.key, source, importance)
            for fact, source, importance in facts
        }
        index.add([*docs(case), *(fact for fact, _, _ in facts)])

        def ranked(question: EvaluationQuestion) -> list[str]:
            now = question.when or case.end
            found = index.search(
                ranking.parse_question(question.text, now), SearchFilter(), POOL
            ).hits
            keys = (
                [slot.key for slot in ranking.rank(found, units, now)]
                if merge
                else [hit.key for hit in found]
            )
            return [units[key].source or key for key in keys]

        return ranked

    return retriever


def read(case: EvaluationCase) -> Iterator[tuple[IndexedText, str, float]]:
    """Facts in batches of five turns of a session, each with its turn and importance."""
    for _, said in groupby(case.turns, key=lambda turn: turn.session):
        turns = list(said)
        for first in range(0, len(turns), 5):
            for place, fact in enumerate(
                extract(turns[first : first + 5], ExtractionPolicy()).candidates
            ):
                doc = IndexedText(f"fact {fact.turn_id} {place}", "fact", fact.text)
                yield (
                    doc,
                    fact.turn_id,
                    0.5 if fact.importance is None else fact.importance,
                )


def evaluated(sets: dict[str, list[EvaluationCase]]) -> None:
    """What `recall` and `context` of a vault hand out with the default limits."""
    for name, cases in sets.items():
        rows = []
        with tempfile.TemporaryDirectory() as folder:
            environment = {"ENGRAM_HOME": folder, "HOME": folder, "TZ": "UTC"}
            settings = config.load(Path(folder, "vault"), environment)
            for case in cases:
                with opened(settings, case) as vault:
                    baselines = Baselines(case, settings)
                    rows += [
                        measure(vault, question, baselines)
                        for question in case.questions
                        if question.has_evidence
                    ]
        took = np.median([row["milliseconds"] for row in rows])
        print(f"\n{name}, as shipped (recall: median {took:.1f} ms)")
        print(*report.lines(report.report(rows, [], SEED)), sep="\n")


def exact() -> None:
    """Exact words on 10,000 short notes, beside FTS5."""
    print("\nexact words on 10,000 short notes, hit@5")
    for kind, number, ours, theirs in exact_words.rows():
        bar = "  bar ≥.980" if kind == "all" else ""
        print(f"{kind:16}{number:4}{ours:9.3f}  FTS5 {theirs:.3f}{bar}")


# Measuring.


def measured(
    cases: list[EvaluationCase], retriever: Retriever
) -> dict[str, list[dict[str, float]]]:
    """Rows of metrics by what is ranked: turns, sessions, and turns for questions
    without an answer.
    """
    rows: dict[str, list[Any]] = {"turns": [], "sessions": [], "unanswerable": []}
    for case in cases:
        rank = retriever(case)
        session_of = {turn.id: turn.session for turn in case.turns}
        for question in case.questions:
            if not question.evidence:
                continue
            ranked = rank(question)
            turns = metrics.ranking_scores(ranked, question.evidence)
            if not question.answerable:
                rows["unanswerable"].append(turns)
                continue
            sessions = list(dict.fromkeys(session_of[turn] for turn in ranked))
            rows["turns"].append(turns)
            rows["sessions"].append(metrics.ranking_scores(sessions, question.sessions))
    return rows


def table(name: str, systems: dict[str, dict[str, list[Any]]], what: str) -> None:
    """One table: a line for each metric, mean and 95 % interval for each system."""
    boots = {
        system: metrics.bootstrap(rows[what], SEED)
        for system, rows in systems.items()
        if len(rows[what]) > 1
    }
    if not boots:
        return
    count = len(next(iter(systems.values()))[what])
    print(f"\n{name}, {what} ({count} questions)")
    print(" " * 10 + "".join(f"{system:>24}" for system in boots))
    for metric in SHOWN:
        cells = [
            f"{one.mean:.3f} ({one.low:.3f}–{one.high:.3f})"
            for one in (boot[metric] for boot in boots.values())
        ]
        print(f"{metric:10}" + "".join(f"{cell:>24}" for cell in cells))


def compare(
    sets: dict[str, list[EvaluationCase]], retrievers: dict[str, Retriever]
) -> None:
    for name, cases in sets.items():
        systems = {}
        for system, retriever in retrievers.items():
            begun = time.perf_counter()
            systems[system] = measured(cases, retriever)
            print(f"{name}: {system} took {time.perf_counter() - begun:.1f} s")
        for what in ("turns", "sessions", "unanswerable"):
            table(name, systems, what)


def ablation(sets: dict[str, list[EvaluationCase]]) -> None:
    """Each weight turned off alone, and all of them: turn recall@10, recall@5, MRR;
    session recall@5.
    """
    variants = {"all on": LexicalPolicy()}
    variants |= {
        f"no {name}": replace(LexicalPolicy(), **{name: value})
        for name, value in OFF.items()
    }
    variants["plain Okapi"] = replace(LexicalPolicy(), **OFF)
    with tempfile.TemporaryDirectory() as folder:
        for name, cases in sets.items():
            for case in cases:
                index = Bm25Index()
                index.add(docs(case))
                place = Path(folder, name, case.id)
                place.mkdir(parents=True)
                index.save(place)
            print(
                f"\n{name:22}"
                + "".join(
                    f"{title:>14}"
                    for title in ("turn r@10", "turn r@5", "turn MRR", "session r@5")
                )
            )
            for label, policy in variants.items():
                rows = measured(
                    cases,
                    lambda case, policy=policy, name=name: loaded(
                        policy, case, Path(folder, name, case.id)
                    ),
                )
                cells = [
                    np.mean([row[metric] for row in rows[what]])
                    for what, metric in (
                        ("turns", "recall@10"),
                        ("turns", "recall@5"),
                        ("turns", "mrr"),
                        ("sessions", "recall@5"),
                    )
                ]
                print(f"{label:22}" + "".join(f"{100 * cell:14.1f}" for cell in cells))


def loaded(policy: LexicalPolicy, case: EvaluationCase, place: Path) -> Ranker:
    index = Bm25Index(policy)
    assert index.load(place)
    return asked(index, case)


def main(flags: list[str]) -> None:
    sets = {name: cases_of(DATA / file) for name, file in FILES.items()}
    if "--exact" in flags:
        exact()
    elif "--vaults" in flags:
        evaluated(sets)
    elif "--ablation" in flags:
        ablation(sets)
    elif "--facts" in flags:
        together = {
            "facts, merged": with_facts(merge=True),
            "facts, as they come": with_facts(merge=False),
        }
        compare(sets, {"turns alone": lexical, **together})
    else:
        peers = {
            "rank_bm25, split": by_okapi(split_at_blanks),
            "rank_bm25, words": by_okapi(lower_words),
        }
        compare(sets, {**peers, "engram, lexical": lexical})
        if "--quick" not in flags:
            evaluated(sets)
            exact()


if __name__ == "__main__":
    if not DATA.is_dir():
        print("skipped: no conversations in ../shared/bench")
        sys.exit(0)
    main(sys.argv[1:])
