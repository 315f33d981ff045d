"""The questions of an evaluation, and an estimate of the cost of their answers."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from engram.core.records import Problem
from engram.errors import BadRequestError
from evaluation.datasets import read_cases

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from engram.config import Settings
    from evaluation.datasets import EvaluationCase

FIXED_TOKENS = {"extract": 1500, "answer": 300, "grade": 250}
"""Tokens of a call besides its text: instructions and reply."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The selected questions of files; `order` has their ids in the order of the files."""

    paths: tuple[Path, ...]
    order: tuple[str, ...]
    problems: tuple[str, ...]
    cases: int
    turns: int
    chars: int

    def chosen(self, settings: Settings) -> Iterator[EvaluationCase]:
        """Yield the conversations with their selected questions."""
        wanted = set(self.order)
        for case in read_cases(self.paths, settings.zone):
            if isinstance(case, Problem):
                continue
            asked = tuple(one for one in case.questions if one.id in wanted)
            wanted -= {one.id for one in asked}
            if asked:
                yield replace(case, questions=asked)


def sample(
    paths: Sequence[Path],
    settings: Settings,
    *,
    limit: int | None,
    seed: int,
    answers: bool,
) -> Sample:
    """Select `limit` questions at random, or all, and estimate their cost.

    Without `answers` only questions with known evidence are selected, because others
    cannot be measured. Raises BadRequestError if there are none.
    """
    problems: list[str] = []
    case_of: dict[str, int] = {}
    sizes: list[tuple[int, int]] = []
    for case in read_cases(paths, settings.zone):
        if isinstance(case, Problem):
            place = f"{case.path}:{case.line}" if case.line else case.path
            problems.append(f"{place}: {case.message}")
            continue
        sizes.append((len(case.turns), sum(len(turn.text) for turn in case.turns)))
        for one in case.questions:
            if one.id in case_of:
                problems.append(f"{case.id}: a second question with the id {one.id}")
            elif answers or one.has_evidence:
                case_of[one.id] = len(sizes) - 1
    if not case_of:
        raise BadRequestError(
            "no question has known evidence",
            where=", ".join(map(str, paths)),
            fix=problems[0] if problems else "Name the turns under `evidence`.",
        )
    chosen = _chosen(list(case_of), limit, seed)
    cases = {case_of[one] for one in chosen}
    return Sample(
        tuple(paths),
        tuple(chosen),
        tuple(problems),
        len(cases),
        sum(sizes[case][0] for case in cases),
        sum(sizes[case][1] for case in cases),
    )


def _chosen(ids: Sequence[str], limit: int | None, seed: int) -> list[str]:
    """Return at most `limit` of the ids, selected at random, in order."""
    if limit is None or limit >= len(ids):
        return list(ids)
    some = set(random.Random(seed).sample(ids, limit))
    return [one for one in ids if one in some]


def estimate(chosen: Sample, settings: Settings, *, answers: bool) -> dict[str, Any]:
    """Return estimates of the calls and tokens of the models that a server answers."""
    policy = settings.policy
    words = math.ceil(chosen.chars / policy.recall.chars_per_token)
    rows: dict[str, Any] = {}
    if settings.model:
        calls = math.ceil(chosen.turns / policy.buffer.turns)
        tokens = calls * FIXED_TOKENS["extract"] + words
        if answers:
            asked = len(chosen.order)
            calls += 2 * asked
            each = FIXED_TOKENS["answer"] + FIXED_TOKENS["grade"]
            tokens += asked * (each + policy.recall.budget)
        rows["model"] = {
            "name": settings.model.name,
            "server": settings.model.base_url or "OpenAI",
            "calls": calls,
            "tokens": tokens,
        }
    if settings.embeddings and not settings.embeddings.in_process:
        rows["embeddings"] = {
            "name": settings.embeddings.name,
            "server": settings.embeddings.base_url or "the language model's",
            "calls": math.ceil(chosen.turns / policy.vectors.texts),
            "tokens": words,
        }
    return rows
