"""Which questions an evaluation asks, and what a model would cost for them."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from engram.core.records import Problem
from engram.errors import BadRequestError
from engram.serve.evaluation.datasets import read_cases

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from engram.config import Settings
    from engram.serve.evaluation.datasets import EvaluationCase

FIXED_TOKENS = {"extract": 1500, "answer": 300, "grade": 250}
"""Tokens of a call besides the text it is about: instructions and reply."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The chosen questions of files; `order` are their ids as the files have them."""

    paths: tuple[Path, ...]
    order: tuple[str, ...]
    problems: tuple[str, ...]
    cases: int
    turns: int
    chars: int

    def chosen(self, settings: Settings) -> Iterator[EvaluationCase]:
        """Yield the conversations with their chosen questions."""
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
    """Choose `limit` questions by chance, or all, and count what they need.

    Without `answers` only those with known evidence are chosen, since nothing else can
    be measured. Raises BadRequestError where none is left.
    """
    problems: list[str] = []
    found: dict[str, int] = {}
    sizes: list[tuple[int, int]] = []
    for case in read_cases(paths, settings.zone):
        if isinstance(case, Problem):
            place = f"{case.path}:{case.line}" if case.line else case.path
            problems.append(f"{place}: {case.message}")
            continue
        sizes.append((len(case.turns), sum(len(turn.text) for turn in case.turns)))
        for one in case.questions:
            if one.id in found:
                problems.append(f"{case.id}: a second question with the id {one.id}")
            elif answers or one.has_evidence:
                found[one.id] = len(sizes) - 1
    if not found:
        raise BadRequestError(
            "no question has known evidence",
            where=", ".join(map(str, paths)),
            fix=problems[0] if problems else "Name the turns under `evidence`.",
        )
    order = list(found)
    if limit is not None and limit < len(order):
        some = set(random.Random(seed).sample(order, limit))  # noqa: S311
        order = [one for one in order if one in some]
    used = {found[one] for one in order}
    return Sample(
        tuple(paths),
        tuple(order),
        tuple(problems),
        len(used),
        sum(sizes[at][0] for at in used),
        sum(sizes[at][1] for at in used),
    )


def estimate(chosen: Sample, settings: Settings, *, answers: bool) -> dict[str, Any]:
    """Return about how many calls and tokens the configured models would need.

    Empty where no model is configured.
    """
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
    if settings.embeddings:
        rows["embeddings"] = {
            "name": settings.embeddings.name,
            "server": settings.embeddings.base_url or "the language model's",
            "calls": math.ceil(chosen.turns / policy.vectors.texts),
            "tokens": words,
        }
    return rows
