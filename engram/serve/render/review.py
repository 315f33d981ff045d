"""The cases of the review queue as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.serve.render.lines import block_lines, joined

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


_LABELS = ((), ("",), ("newer: ", "older: "))
"""Labels of the statements of a case, by their number."""


def review_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the review cases: the reason, the statements and the possible answers."""
    return _cases(result, evidence=False)


def diff_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield a review case, with the turn behind each statement."""
    return _cases(result, evidence=True)


def _cases(result: Mapping[str, Any], *, evidence: bool) -> Iterator[str]:
    cases, waiting = result.get("cases", []), result.get("waiting", 0)
    if not cases:
        yield "There are no new cases." if waiting else "There are no cases to decide."
    for place, case in enumerate(cases, 1):
        subject = f"{case['subject']}: " if case.get("subject") else ""
        yield f"{place:>2}. {subject}{case['why']}"
        statements = case["statements"]
        for label, one in zip(_LABELS[len(statements)], statements, strict=True):
            yield from _statement(label, one, evidence=evidence)
        if evidence and case["text"]:
            yield from block_lines("    ", "    ", case["text"])
        yield f"    {', '.join(case['choices']) or 'by hand'} · {case['id']}"
        if case["problem"]:
            yield f"    {case['problem']}"
    if waiting:
        yield f"{waiting} more can wait; `engram review --all` lists all."


def _statement(
    label: str, statement: Mapping[str, Any], *, evidence: bool
) -> Iterator[str]:
    yield from block_lines(f"    {label}", "    ", statement["text"])
    marks = [
        str(statement["when"] or "")[:10],
        statement["status"],
        statement.get("provenance"),
        statement["path"],
    ]
    yield "      " + joined(marks)
    if evidence and statement["evidence"]:
        yield from block_lines("      “", "      ", f"{statement['evidence']}”")
