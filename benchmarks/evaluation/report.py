"""Figures of an evaluation: means with intervals, by system and by category."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from engram.errors import BadRequestError
from evaluation import metrics

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evaluation.metrics import MeanInterval

    Rows = Sequence[Mapping[str, Any]]
    Figure = Mapping[str, float]
    Lines = Iterator[str]

BY_CATEGORY = ("recall@10", "shown whole", "gold words")
"""Metrics of `recall` that are reported for each category."""


def report(rows: Rows, spent: Rows, seed: int) -> dict[str, Any]:
    """Return the figures of the results of questions, as JSON.

    Each figure is a mean with the bounds of its interval.
    """
    measured = [row for row in rows if "systems" in row]
    names = measured[0]["systems"] if measured else ()
    figures: dict[str, Any] = {
        "questions": len(rows),
        "measured": len(measured),
        "systems": {
            name: _bounds(
                metrics.bootstrap([row["systems"][name] for row in measured], seed)
            )
            for name in names
        },
        "categories": _categories(measured, seed),
    }
    if answers := _answers(rows, seed):
        figures["answers"] = answers
    if costs := _costs(spent):
        figures["cost"] = costs
    return figures


def compared(rows: Rows, earlier: Rows, seed: int) -> dict[str, Any]:
    """Return the differences to an earlier run, for the questions of both runs.

    Raises BadRequestError if there is none.
    """
    known = {row["id"]: row for row in earlier}
    pairs = [(known[row["id"]], row) for row in rows if row["id"] in known]
    if not pairs:
        raise BadRequestError(
            "the earlier results are about none of these questions",
            fix="Name with --against the results of the same files.",
        )
    figures: dict[str, Any] = {
        "questions": len(pairs),
        "left_out": len(rows) + len(known) - 2 * len(pairs),
        "systems": _system_differences(pairs, seed),
    }
    answered = [pair for pair in pairs if all("right" in row for row in pair)]
    if answered:
        before, after = (
            [{"right": float(row["right"])} for row in side]
            for side in zip(*answered, strict=True)
        )
        figures["answers"] = _bounds(metrics.paired(before, after, seed))
    return figures


def _system_differences(
    pairs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]], seed: int
) -> dict[str, Any]:
    """Return the differences of each retriever that both runs measured."""
    measured = [pair for pair in pairs if all("systems" in row for row in pair)]
    if not measured:
        return {}
    first, second = measured[0]
    return {
        name: _bounds(
            metrics.paired(
                [old["systems"][name] for old, _ in measured],
                [new["systems"][name] for _, new in measured],
                seed,
            )
        )
        for name in second["systems"]
        if name in first["systems"]
    }


def _bounds(intervals: Mapping[str, MeanInterval]) -> dict[str, dict[str, float]]:
    return {
        name: {key: round(value, 4) for key, value in asdict(one).items()}
        for name, one in intervals.items()
    }


def _categories(measured: Rows, seed: int) -> dict[str, Any]:
    """Return some figures of `recall` for each category, if there are several."""
    groups: dict[str, list[dict[str, float]]] = defaultdict(list)
    for row in measured:
        scores = row["systems"]["recall"]
        kept = {name: scores[name] for name in BY_CATEGORY}
        groups[row["category"] or "other"].append(kept)
    if len(groups) < 2:
        return {}
    return {
        name: {"questions": len(some), **_bounds(metrics.bootstrap(some, seed))}
        for name, some in groups.items()
    }


def _answers(rows: Rows, seed: int) -> dict[str, dict[str, float]]:
    """Return the share of right answers: of all, and of questions without an answer."""
    answered = [row for row in rows if "right" in row]
    groups = {
        "right": answered,
        "right, unanswerable": [row for row in answered if not row["answerable"]],
    }
    return {
        name: _bounds(
            metrics.bootstrap([{name: float(row["right"])} for row in some], seed)
        )[name]
        for name, some in groups.items()
        if some
    }


def _costs(spent: Rows) -> dict[str, Any]:
    """Return calls and tokens by task."""
    totals: dict[str, Counter[str]] = defaultdict(Counter)
    for row in spent:
        for task, counts in row.items():
            totals[task].update(counts)
    return {task: dict(counts) for task, counts in totals.items()}


# -- as text ---------------------------------------------------------------------------


def lines(result: Mapping[str, Any]) -> Lines:
    """Yield the lines of a report for a person."""
    heading = f"{result['measured']:,} questions with known evidence"
    if result["questions"] != result["measured"]:
        heading = f"{result['questions']:,} questions, {heading}"
    yield f"{heading}; means with 95 % intervals"
    yield ""
    yield from _table(result["systems"], list(result["systems"]["recall"]))
    if result["categories"]:
        yield ""
        yield from _by_category(result["categories"])
    if "answers" in result:
        yield ""
        yield from (
            f"{name:<20}{_cell(some)}" for name, some in result["answers"].items()
        )
    for task, row in result.get("cost", {}).items():
        yield (
            f"cost of {task}: {row['calls']:,} calls, {row['tokens_in']:,} tokens in,"
            f" {row['tokens_out']:,} tokens out"
        )
    if "against" in result:
        yield from _differences(result["against"])
    if "results" in result:
        yield ""
        yield f"Results of each question: {result['results']}"
        yield from (f"! {problem}" for problem in result["problems"])


def _table(rows: Mapping[str, Mapping[str, Figure]], names: Sequence[str]) -> Lines:
    """Yield a line for each metric, with a column for each system."""
    widths = {system: max(12, len(system) + 2) for system in rows}
    yield " " * 18 + "".join(f"{name:>{width}}" for name, width in widths.items())
    for name in names:
        cells = (
            f"{_cell(row[name]) if name in row else '–':>{widths[system]}}"
            for system, row in rows.items()
        )
        yield f"{name:<18}" + "".join(cells)


def _by_category(rows: Mapping[str, Mapping[str, Any]]) -> Lines:
    yield f"{'recall':<24}" + "".join(f"{name:>18}" for name in BY_CATEGORY)
    for name, row in rows.items():
        cells = (f"{_cell(row[metric]):>18}" for metric in BY_CATEGORY)
        yield f"{name + ' (' + str(row['questions']) + ')':<24}" + "".join(cells)


def _differences(against: Mapping[str, Any]) -> Lines:
    yield ""
    left_out = f", {against['left_out']} left out" if against["left_out"] else ""
    yield (
        f"difference to the earlier run ({against['questions']:,} questions{left_out});"
        " * is significant"
    )
    differing = [
        f"{name:<13} {metric:<18} {_difference(some)}"
        for name, row in against["systems"].items()
        for metric, some in row.items()
        if any(some.values())
    ]
    yield from differing or ["none in retrieval"]
    if "answers" in against:
        yield f"{'answers':<13} {'right':<18} {_difference(against['answers']['right'])}"


def _cell(some: Figure) -> str:
    half = (some["high"] - some["low"]) / 2
    if some["mean"] >= 10_000:
        return f"{some['mean'] / 1000:.1f}k ±{half / 1000:.1f}k"
    if some["mean"] > 1:
        return f"{some['mean']:,.0f} ±{half:,.0f}"
    return f"{some['mean']:.3f} ±{half:.3f}".replace("0.", ".")


def _difference(some: Figure) -> str:
    form = "+,.0f" if max(map(abs, some.values())) > 1 else "+.3f"
    sure = " *" if some["low"] > 0 or some["high"] < 0 else ""
    low, high = (format(some[name], form) for name in ("low", "high"))
    return f"{some['mean']:{form}} ({low} to {high}){sure}"
