"""Runs an evaluation: fills a temporary vault with a conversation, and asks (row X16).

Each conversation gets a vault of its own with the user's configuration, in a folder
that is deleted. Its turns are observed and filed like those of an import; nightly runs
are left out. Every question is recalled with default limits, and once more without
limits for the ranking; neither counts as a use.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from engram.core.language.echo import HandedOut
from engram.errors import UnavailableError
from engram.extraction.extract import Extractor
from engram.memory import VaultMemory
from engram.pipeline.executor import Inline
from engram.serve.replay import SetClock, create_like, settings_for
from evaluation import metrics
from evaluation.baselines import BASELINES, filled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from engram.config import Settings
    from engram.core.policy import Policy
    from engram.core.records import Turn
    from evaluation.datasets import EvaluationCase, EvaluationQuestion
    from evaluation.results import ResultFile
    from evaluation.sample import Sample

NAME = "evaluation"
RANKED = {"k": 50, "budget": 100_000}
"""Arguments of a recall that returns the whole ranking."""
KEPT = ("recall@1", "recall@5", "recall@10", "all@10", "mrr", "ndcg@10")
"""Metrics of a ranking that are stored."""
GIVEN = ("id", "session", "role", "text", "speaker", "group")
BATCH_TURNS = 200
NO_LIMIT = 10**12


def without_models(settings: Settings) -> Settings:
    """Return the settings without language model and embeddings."""
    return replace(settings, model=None, embeddings=None)


class EvaluationVault:
    """A temporary vault with one conversation."""

    def __init__(
        self, memory: VaultMemory, clock: SetClock, case: EvaluationCase
    ) -> None:
        self.memory = memory
        self.clock = clock
        self.case = case
        self.turn_of: dict[str, str] = {}

    def fill(self) -> None:
        """Observe and file the conversation, and embed it if that is configured.

        Raises UnavailableError if a part of it could not be filed, ModelError and
        ConfigError if it could not be embedded.
        """
        for _, said in groupby(self.case.turns, key=lambda turn: turn.session):
            turns = list(said)
            for start in range(0, len(turns), BATCH_TURNS):
                some = turns[start : start + BATCH_TURNS]
                rows = [_observed(turn) for turn in some]
                keys = self.memory.call("observe", {"turns": rows})["keys"]
                ids = [turn.id for turn in some]
                self.turn_of |= dict(zip(keys, ids, strict=True))
        self.memory.pipeline.drain()
        if self.memory.queue.counts()["parked_turns"]:
            raise UnavailableError(
                f"a part of {self.case.id} could not be filed",
                where="; ".join(self.memory.health.problems().values()),
                fix="Run it again: existing results are kept.",
            )
        while self.memory.embed():
            pass

    def ranked(self, question: EvaluationQuestion) -> list[str]:
        """Return the turns that recall finds for a question, best first."""
        found = self._turns(self.asked("recall", question, **RANKED))
        return list(dict.fromkeys(found))

    def recalled(self, question: EvaluationQuestion) -> tuple[dict[str, Any], set[str]]:
        """Return the answer of `recall` with default limits, and its turns."""
        answer = self.asked("recall", question)
        return answer, set(self._turns(answer))

    def spent(self) -> dict[str, Any]:
        """Return the cost of the models of the pipeline so far."""
        return _spent(self.memory.extractor, self.case.end)

    def asked(
        self, operation: str, question: EvaluationQuestion, **limits: Any
    ) -> dict[str, Any]:
        """Return the answer to a question at its time, without a record of the use."""
        self.clock.now = question.when or self.case.end
        asked = {"query": question.text, "record": False, **limits}
        return self.memory.call(operation, asked)

    def _turns(self, given: Mapping[str, Any]) -> list[str]:
        """Return the turns of hits; a fact counts as its source turn."""
        keys = [
            hit["source"] if hit["kind"] == "fact" else hit["id"]
            for hit in given["hits"]
        ]
        return [self.turn_of[key] for key in keys if key in self.turn_of]


def _observed(turn: Turn) -> dict[str, Any]:
    given = {key: getattr(turn, key) for key in GIVEN}
    return given | {"occurred_at": turn.occurred_at.isoformat()}


@contextmanager
def opened(
    settings: Settings, case: EvaluationCase, postgres: str = ""
) -> Iterator[EvaluationVault]:
    """Make and fill a temporary vault for a conversation; it is deleted at the end.

    The speakers are not the owner of the vault, so the owner's names are left out. The
    daily budget does not end the evaluation, because its cost was agreed to. Its index
    is in the database `postgres`, or in files.
    """
    with TemporaryDirectory(prefix="engram-eval-") as folder:
        vault = Path(folder, "vault")
        create_like(settings, vault, NAME)
        own = settings_for(settings, vault, NAME, Path(folder, "home"))
        clock = SetClock(case.end)
        policy = _without_limits(own.policy)
        own = replace(own, owner=(), policy=policy, postgres=postgres, place=None)
        memory = VaultMemory(own, executor=Inline(attended=True), clock=clock)
        memory.start()
        try:
            memory.catch_up()
            made = EvaluationVault(memory, clock, case)
            made.fill()
            yield made
        finally:
            memory.close()


class Evaluation:
    """Asks the questions of a sample and stores the results."""

    def __init__(self, settings: Settings, results: ResultFile) -> None:
        self.settings = settings
        self.results = results

    def run(
        self, chosen: Sample, *, answers: bool, report_progress: Callable[[int], object]
    ) -> None:
        """Ask the questions without a result.

        `report_progress` is called with the number of results. Raises the errors of a
        model or a vault; earlier results are kept.
        """
        kept = self.results.rows
        report_progress(sum(one in kept for one in chosen.order))
        with TemporaryDirectory(prefix="engram-eval-") as folder:
            examiner = _Examiner(self.settings, Path(folder)) if answers else None
            for case in chosen.chosen(self.settings):
                remaining = tuple(one for one in case.questions if one.id not in kept)
                if remaining:
                    self._ask(
                        replace(case, questions=remaining), examiner, report_progress
                    )

    def _ask(
        self,
        case: EvaluationCase,
        examiner: _Examiner | None,
        report_progress: Callable[[int], object],
    ) -> None:
        with opened(self.settings, case) as vault:
            self._add_costs(vault.spent())
            baselines = Baselines(case, self.settings)
            try:
                for question in case.questions:
                    row = measure(vault, question, baselines)
                    if examiner:
                        row |= examiner.examine(question, row["text"], case.end)
                    self.results.add(row)
                    report_progress(len(self.results.rows))
            finally:
                if examiner:
                    self._add_costs(examiner.take_spent())

    def _add_costs(self, spent: dict[str, Any]) -> None:
        if spent:
            self.results.add({"spent": spent})


def measure(
    vault: EvaluationVault, question: EvaluationQuestion, baselines: Baselines
) -> dict[str, Any]:
    """Return the result of a question: its metrics, and details for an inspection."""
    begun = time.perf_counter()
    answer_given, turns = vault.recalled(question)
    took = time.perf_counter() - begun
    row: dict[str, Any] = {
        "id": question.id,
        "case": vault.case.id,
        "category": question.category,
        "question": question.text,
        "answer": question.answer,
        "answerable": question.answerable,
        "milliseconds": round(1000 * took, 1),
        "text": answer_given["text"],
    }
    if not question.has_evidence:
        return row
    texts = vault.case.texts
    ranked = vault.ranked(question)
    systems = {
        "recall": _ranking(vault.case, question, ranked)
        | {"evidence complete": float(question.evidence <= turns)}
        | _handed_out(question, texts, answer_given),
        "context": _handed_out(question, texts, vault.asked("context", question)),
        **baselines.measured(question),
    }
    lacking = sorted(question.evidence - turns)
    return row | {
        "evidence": sorted(question.evidence),
        "missing": {one: texts[one] for one in lacking},
        "found": ranked[:20],
        "systems": {name: _rounded(scores) for name, scores in systems.items()},
    }


def _rounded(scores: Mapping[str, float]) -> dict[str, float]:
    return {name: round(score, 4) for name, score in scores.items()}


def _ranking(
    case: EvaluationCase, question: EvaluationQuestion, ranked: list[str]
) -> dict[str, float]:
    scores = metrics.ranking_scores(ranked, question.evidence)
    session_of = {turn.id: turn.session for turn in case.turns}
    sessions = list(dict.fromkeys(session_of[one] for one in ranked))
    whole = metrics.ranking_scores(sessions, question.sessions)
    kept = {name: scores[name] for name in KEPT}
    return kept | {"session recall@5": whole["recall@5"]}


def _handed_out(
    question: EvaluationQuestion, texts: Mapping[str, str], answer: Mapping[str, Any]
) -> dict[str, float]:
    """Return the metrics of what an assistant gets: its `text`, and its `tokens`."""
    return {
        "shown whole": metrics.shown_whole(
            answer["text"], [texts[one] for one in question.evidence]
        ),
        "gold words": metrics.word_share(answer["text"], question.answer),
        "tokens": float(answer["tokens"]),
    }


class Baselines:
    """The simple retrievers, on the turns of one conversation."""

    def __init__(self, case: EvaluationCase, settings: Settings) -> None:
        self.case = case
        self.policy = settings.policy.recall
        self.lines = {turn.id: f"{turn.speaker}: {turn.text}" for turn in case.turns}
        self.rankers = {name: make(case.turns) for name, make in BASELINES.items()}

    def measured(self, question: EvaluationQuestion) -> dict[str, dict[str, float]]:
        """Return the metrics of each; the full context has no limit of tokens."""
        rows, texts = {}, self.case.texts
        for name, rank in self.rankers.items():
            ranked = rank(question.text)
            is_whole = name == "full context"
            budget = NO_LIMIT if is_whole else self.policy.budget
            taken, tokens = filled(ranked, self.lines, budget, self.policy)
            text = "\n".join(self.lines[one] for one in taken)
            answer = {"text": text, "tokens": tokens}
            ranking = {} if is_whole else _ranking(self.case, question, ranked)
            rows[name] = (
                ranking
                | {"evidence complete": float(question.evidence <= set(taken))}
                | _handed_out(question, texts, answer)
            )
        return rows


class _Examiner:
    """The configured model, which answers questions and grades the answers."""

    def __init__(self, settings: Settings, state: Path) -> None:
        policy = _without_limits(settings.policy)
        own = replace(settings, state=state, policy=policy)
        self._heat = policy.model.temperature
        self._now = datetime.now(UTC)
        self._extractor = Extractor(own, lambda: self._now, HandedOut(policy.echo))
        self._known: dict[str, dict[str, int]] = {}

    def examine(
        self, question: EvaluationQuestion, notes: str, end: datetime
    ) -> dict[str, Any]:
        """Return the model's answer from `notes`, and whether it is right."""
        from evaluation import answering

        model, heat = self._extractor.model(), self._heat
        when = f"{question.when or end:%A, %d %B %Y}"
        reply = answering.answer(model, notes, question.text, when, heat)
        expected = question.answer if question.answerable else answering.NOT_KNOWN
        right = answering.is_right(model, question.text, expected, reply, heat)
        return {"reply": reply, "right": right}

    def take_spent(self) -> dict[str, Any]:
        """Return the cost since the last call."""
        before, self._known = self._known, _spent(self._extractor, self._now)
        return {
            task: {
                name: count - before.get(task, {}).get(name, 0)
                for name, count in row.items()
            }
            for task, row in self._known.items()
        }


def _without_limits(policy: Policy) -> Policy:
    """Return the policy without a budget of the day, for what was agreed to."""
    model = replace(policy.model, calls_per_day=NO_LIMIT, tokens_per_day=NO_LIMIT)
    return replace(policy, model=model)


def _spent(extractor: Extractor, when: datetime) -> dict[str, Any]:
    day = extractor.spend.today(when)
    return {name: asdict(task) for name, task in day.tasks.items()}
