"""Recall on real conversations, beside rank_bm25 on the same data in the same run.

    python benchmarks/bench_recall.py              the tables
    python benchmarks/bench_recall.py --quick      those of the index alone
    python benchmarks/bench_recall.py --ablation   what each weight does to both sets
    python benchmarks/bench_recall.py --facts      facts and turns together against turns alone
    python benchmarks/bench_recall.py --through-product    observe and recall of a vault against the index alone

The data stand in ../shared/bench beside the project; without them the script says so. A
retriever is a function from a conversation to a function from a question to the ranked
ids of turns.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import exact_words
import numpy as np
from rank_bm25 import BM25Okapi

from engram import config
from engram.core import ranking
from engram.core.language.words import content, words
from engram.core.policy import ExtractionPolicy, LexicalPolicy
from engram.core.records import Turn
from engram.extraction.rules.engine import extract
from engram.index.bm25 import Bm25Index, IndexedText
from engram.index.filters import SearchFilter
from engram.memory import Memory

BENCH = Path(__file__).resolve().parents[2] / "shared" / "bench"
POOL = 200
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

Ranker = Callable[[Any], list[str]]
Retriever = Callable[[Any], Ranker]


def instant(text: str | None) -> datetime:
    return datetime.fromisoformat(text or "1970-01-01").replace(tzinfo=UTC)


def docs(case: Any) -> Iterator[IndexedText]:
    for session, turns in groupby(case.turns, key=lambda turn: turn.session):
        for place, turn in enumerate(turns):
            when = instant(turn.when).timestamp() if turn.when else None
            yield IndexedText(
                turn.id,
                "turn",
                turn.text,
                session,
                place,
                turn.speaker,
                turn.role,
                when,
            )


# The retrievers.


def okapi(tokens: Callable[[str], list[str]]) -> Retriever:
    """rank_bm25 as its README uses it."""

    def retriever(case: Any) -> Ranker:
        index = BM25Okapi([tokens(turn.text) for turn in case.turns])
        ids = [turn.id for turn in case.turns]

        def ranked(question: Any) -> list[str]:
            scores = index.get_scores(tokens(question.text))
            return [ids[place] for place in np.argsort(-scores, kind="stable")[:POOL]]

        return ranked

    return retriever


def lexical(case: Any) -> Ranker:
    index = Bm25Index()
    index.add(docs(case))
    return asked(index)


def asked(index: Bm25Index) -> Ranker:
    def ranked(question: Any) -> list[str]:
        found = index.search(
            ranking.parse_question(question.text, instant(question.when)),
            SearchFilter(),
            POOL,
        )
        return [hit.key for hit in found.hits]

    return ranked


def with_facts(*, merge: bool) -> Retriever:
    """Turns and the facts the offline rules read from them, in one index; `merge` is
    how recall joins them.
    """

    def retriever(case: Any) -> Ranker:
        index = Bm25Index()
        units = {turn.id: ranking.UnitSignals(turn.id) for turn in case.turns}
        facts = list(read(case))
        units |= {
            fact.key: ranking.UnitSignals(fact.key, source, importance)
            for fact, source, importance in facts
        }
        index.add([*docs(case), *(fact for fact, _, _ in facts)])

        def ranked(question: Any) -> list[str]:
            now = instant(question.when)
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


def read(case: Any) -> Iterator[tuple[IndexedText, str, float]]:
    """Facts in batches of five turns of a session, each with its turn and importance."""
    for _, said in groupby(case.turns, key=lambda turn: turn.session):
        turns = [
            Turn(t.id, t.session, t.role, t.text, instant(t.when), t.speaker)
            for t in said
        ]
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


def product(case: Any) -> Ranker:
    """Every turn observed by a memory with a vault of its own, filed with its facts;
    questions are recalls.
    """
    with tempfile.TemporaryDirectory() as folder:
        memory, unit_of = filled(Path(folder), case)

        def recalled(question: Any) -> list[str]:
            wishes = {
                "query": question.text,
                "k": 50,
                "budget": 100000,
                "now": instant(question.when).isoformat(),
            }
            hits = memory.call("recall", wishes)["hits"]
            return [
                unit_of[hit["source"] if hit["kind"] == "fact" else hit["id"]]
                for hit in hits
            ]

        answers = {question.id: recalled(question) for question in case.questions}
        memory.close()
    return lambda question: answers[question.id]


def filled(folder: Path, case: Any) -> tuple[Memory, dict[str, str]]:
    """A memory in `folder` that holds the conversation, and the turns by their keys
    there.
    """
    vault = folder / "vault"
    vault.mkdir()
    (vault / "engram.toml").write_text('id = "bench"\nzone = "UTC"\n')
    settings = config.load(
        vault, {"ENGRAM_HOME": str(folder / "home"), "HOME": str(folder)}
    )
    last = max(instant(turn.when) for turn in case.turns)
    memory = Memory(settings, clock=lambda: last)
    memory.start()
    memory.catch_up()
    memory.executor.attended = True
    unit_of: dict[str, str] = {}
    for _, said in groupby(case.turns, key=lambda turn: turn.session):
        # the product refuses a turn without words
        turns = [turn for turn in said if turn.text.strip()]
        raw = [asdict(turn) | {"occurred_at": turn.when} for turn in turns]
        for one in raw:
            del one["when"]
        keys = memory.call("observe", {"turns": raw})["keys"]
        unit_of |= {key: turn.id for key, turn in zip(keys, turns, strict=True)}
    memory.pipeline.flush(background=True)
    for batch in memory.pipeline.due(last):
        memory.pipeline.file(batch, memory.pipeline.distil(batch))
    return memory, unit_of


# What is handed out.


HANDED_OUT = ("complete", "covered", "gold words", "tokens", "hits", "turn recall@10")


def handed_out(cases: list[Any]) -> dict[str, tuple[list[list[float]], float]]:
    """What a vault gives an assistant, as shipped: by operation a row for each
    question, and the median of seconds.

    `complete`: all turns of the evidence are there; `covered`: their share; `gold
    words`: the share of the words of the right answer that the text has.
    """
    rows: dict[str, list[list[float]]] = {"recall": [], "context": []}
    took: dict[str, list[float]] = {"recall": [], "context": []}
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            memory, unit_of = filled(Path(folder), case)
            texts = {turn.id: turn.text for turn in case.turns}
            asked = [one for one in case.questions if one.gold and one.answerable]
            for question in asked:
                for operation, some in rows.items():
                    begun = time.perf_counter()
                    given = ask(memory, operation, question)
                    took[operation].append(time.perf_counter() - begun)
                    some.append(row(given, question, unit_of, texts))
            memory.close()
    return {what: (some, float(np.median(took[what]))) for what, some in rows.items()}


def row(
    given: dict[str, Any],
    question: Any,
    unit_of: dict[str, str],
    texts: dict[str, str],
) -> list[float]:
    """The figures of one question, in the order of `HANDED_OUT`."""
    gold = question.gold
    ranked = [
        unit_of.get(hit["source"] if hit["kind"] == "fact" else hit["id"])
        for hit in given.get("hits", ())
    ]
    found = gold.intersection(ranked)
    if "hits" not in given:
        found = {turn for turn in gold if shows(given["text"], texts[turn])}
    said = set(words(given["text"]))
    wanted = content(words(question.answer), "en")
    return [
        float(found == gold),
        len(found) / len(gold),
        sum(word in said for word in wanted) / max(len(wanted), 1),
        given["tokens"],
        len(ranked),
        len(gold.intersection(ranked[:10])) / len(gold),
    ]


def ask(memory: Memory, operation: str, question: Any) -> dict[str, Any]:
    if operation == "context":
        return memory.call("context", {"query": question.text})
    now = instant(question.when).isoformat()
    return memory.call("recall", {"query": question.text, "now": now})


def shows(text: str, turn: str) -> bool:
    """Whether at least half of a turn's words, or forty of them, follow in a text."""
    spoken = words(turn)
    least = min(len(spoken) // 2 + 1, 40)
    flat = f" {' '.join(words(text))} "
    return any(
        f" {' '.join(spoken[first : first + least])} " in flat
        for first in range(max(len(spoken) - least, 0) + 1)
    )


def answers(sets: dict[str, list[Any]]) -> None:
    """What `recall` and `context` hand out with the default limits."""
    for name, cases in sets.items():
        for operation, (rows, median) in handed_out(cases).items():
            means, low, high = metrics.bootstrap(rows)
            print(
                f"\n{name}, {operation} ({len(rows)} questions, {1000 * median:.1f} ms)"
            )
            for at, what in enumerate(HANDED_OUT):
                if operation == "recall" or at < 4:
                    print(f"{what:16}{means[at]:9.3f} ({low[at]:.3f}–{high[at]:.3f})")


def exact() -> None:
    """Exact words on 10,000 short notes, beside FTS5."""
    print("\nexact words on 10,000 short notes, hit@5")
    for kind, ours, theirs in exact_words.rows():
        print(f"{kind:16}{ours:9.3f}  FTS5 {theirs:.3f}  bar ≥.980")


# Measuring.


def measured(cases: list[Any], retriever: Retriever) -> dict[str, list[Any]]:
    """Rows of metrics by what is ranked: turns, sessions, and turns for questions
    without an answer.
    """
    rows: dict[str, list[Any]] = {"turns": [], "sessions": [], "unanswerable": []}
    for case in cases:
        rank = retriever(case)
        session_of = {turn.id: turn.session for turn in case.turns}
        for question in case.questions:
            if not question.gold:
                continue
            ranked = rank(question)
            sessions = list(dict.fromkeys(session_of[turn] for turn in ranked))
            turns = metrics.score_ranking(ranked, lambda unit: (unit,), question.gold)
            if not question.answerable:
                rows["unanswerable"].append(turns)
                continue
            rows["turns"].append(turns)
            rows["sessions"].append(
                metrics.score_ranking(
                    sessions, lambda unit: (unit,), question.gold_sessions
                )
            )
    return rows


def table(name: str, systems: dict[str, dict[str, list[Any]]], what: str) -> None:
    """One table: a line for each metric, mean and 95 % interval for each system."""
    boots = {
        system: metrics.bootstrap(rows[what])
        for system, rows in systems.items()
        if rows[what]
    }
    if not boots:
        return
    count = len(next(iter(systems.values()))[what])
    print(f"\n{name}, {what} ({count} questions)")
    print(" " * 10 + "".join(f"{system:>24}" for system in boots))
    for metric in SHOWN:
        at = metrics.NAMES.index(metric)
        cells = [
            f"{m[at]:.3f} ({low[at]:.3f}–{high[at]:.3f})"
            for m, low, high in boots.values()
        ]
        print(f"{metric:10}" + "".join(f"{cell:>24}" for cell in cells))


def compare(sets: dict[str, list[Any]], retrievers: dict[str, Retriever]) -> None:
    for name, cases in sets.items():
        systems = {}
        for system, retriever in retrievers.items():
            begun = time.perf_counter()
            systems[system] = measured(cases, retriever)
            print(f"{name}: {system} took {time.perf_counter() - begun:.1f} s")
        for what in ("turns", "sessions", "unanswerable"):
            table(name, systems, what)


def ablation(sets: dict[str, list[Any]]) -> None:
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
                        policy, Path(folder, name, case.id)
                    ),
                )
                turns, sessions = (
                    np.mean(rows[what], axis=0) for what in ("turns", "sessions")
                )
                at = metrics.NAMES.index
                cells = (
                    turns[at("recall@10")],
                    turns[at("recall@5")],
                    turns[at("mrr")],
                    sessions[at("recall@5")],
                )
                print(f"{label:22}" + "".join(f"{100 * cell:14.1f}" for cell in cells))


def loaded(policy: LexicalPolicy, place: Path) -> Ranker:
    index = Bm25Index(policy)
    assert index.load(place)
    return asked(index)


def main(flags: list[str]) -> None:
    sets = {"LoCoMo": loader.load_locomo(), "LongMemEval-S": loader.load_longmemeval()}
    if "--ablation" in flags:
        ablation(sets)
    elif "--through-product" in flags:
        compare(sets, {"index alone": lexical, "through product": product})
    elif "--facts" in flags:
        together = {
            "facts, merged": with_facts(merge=True),
            "facts, as they come": with_facts(merge=False),
        }
        compare(sets, {"turns alone": lexical, **together})
    else:
        spelled = re.compile(r"\w+")
        peers = {
            "rank_bm25, split": okapi(lambda text: text.split(" ")),
            "rank_bm25, words": okapi(lambda text: spelled.findall(text.lower())),
        }
        compare(sets, {**peers, "engram, lexical": lexical})
        if "--quick" not in flags:
            answers(sets)
            exact()


if __name__ == "__main__":
    if not (BENCH / "data").is_dir():
        print("skipped: no conversations in ../shared/bench")
        sys.exit(0)
    sys.path.insert(0, str(BENCH))
    import loader
    import metrics

    main(sys.argv[1:])
