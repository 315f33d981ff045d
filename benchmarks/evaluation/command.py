"""The command `engram eval`: selects questions, confirms costs, measures, reports."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram.errors import BadRequestError, ConfigError
from engram.serve.output import INTERRUPTED
from engram.serve.terminal import Bar
from evaluation import report
from evaluation.results import (
    ResultFile,
    default_file,
    header,
    read_results,
)
from evaluation.run import Evaluation, without_models
from evaluation.sample import estimate, sample
from evaluation.write import evaluate_write

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engram.config import Settings


def evaluate(
    settings: Settings,
    paths: Sequence[Path],
    *,
    limit: int | None = None,
    seed: int = 7,
    answers: bool = False,
    offline: bool = False,
    write: bool = False,
    results: Path | None = None,
    against: Path | None = None,
    agree: Callable[[str], bool],
) -> dict[str, Any]:
    """Measure the questions of files, and return the figures.

    `agree` is called before a model is used. Exits with 130 on Ctrl-C. Raises the
    errors of `Evaluation.run`, ConfigError for `answers` without a model, and
    BadRequestError if the costs are not agreed to.
    """
    if answers:
        _need_model(settings, offline=offline)
    earlier = read_results(against)[1] if against else None
    settings = without_models(settings) if offline else settings
    if write:
        return evaluate_write(settings, paths, lambda costs: _ask_first(costs, agree))
    chosen = sample(paths, settings, limit=limit, seed=seed, answers=answers)
    first = header(paths, settings, answers=answers)
    kept = ResultFile(results or default_file(paths, Path.cwd()), first)
    if any(one not in kept.rows for one in chosen.order):
        _ask_first(estimate(chosen, settings, answers=answers), agree)
    with Bar("eval", len(chosen.order)) as bar:
        try:
            Evaluation(settings, kept).run(
                chosen, answers=answers, report_progress=bar.reach
            )
        except KeyboardInterrupt:
            done = sum(one in kept.rows for one in chosen.order)
            sys.stderr.write(
                f"\nengram: interrupted; {done} of {len(chosen.order)} questions are in"
                f" {kept.path}. Run it again to continue.\n"
            )
            raise SystemExit(INTERRUPTED) from None
    rows = [kept.rows[one] for one in chosen.order]
    figures = report.report(rows, kept.spent, seed)
    if earlier is not None:
        asked = [row for row in earlier if "id" in row]
        figures["against"] = report.compared(rows, asked, seed)
    return {
        "cases": chosen.cases,
        "turns": chosen.turns,
        **figures,
        "results": str(kept.path),
        "problems": list(chosen.problems),
    }


def _need_model(settings: Settings, *, offline: bool) -> None:
    if offline:
        raise BadRequestError(
            "answers need a model", fix="Leave --answers or --offline out."
        )
    if settings.model is None:
        raise ConfigError(
            "answers need a language model, and none is configured",
            fix="Set model.name, or leave --answers out.",
        )


def _ask_first(costs: dict[str, dict[str, Any]], agree: Callable[[str], bool]) -> None:
    """Have the cost of the models agreed to; raise BadRequestError if it is not."""
    if not costs:
        return
    words = ", and ".join(
        f"{row['name']} at {row['server']} about {row['calls']:,} times,"
        f" with {row['tokens']:,} tokens"
        for row in costs.values()
    )
    fix = "Give --yes to agree, --offline to use no model, or --limit to ask fewer questions."
    if not agree(f"This asks {words}."):
        raise BadRequestError(f"this would ask {words}", fix=fix)
