"""The review page: cases that wait for a decision, and the latest runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.serve.web.html import Html, join, said, tag
from engram.serve.web.layout import (
    button,
    day,
    empty,
    marks,
    memory_link,
    minute,
    page,
    title,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.serve.web.layout import Visit

LABELS: dict[int, tuple[str, ...]] = {2: ("newer", "older")}
ANSWERS = {
    "keep": "Keep",
    "drop": "Drop",
    "newer": "Keep the newer",
    "both": "Keep both",
    "older": "Keep the older",
    "apply": "Apply",
    "forget": "Forget all",
    "settle": "Settle all",
}
"""Labels of answers; an answer without a label is shown as it is."""


def review_page(
    visit: Visit,
    cases: Sequence[Mapping[str, Any]],
    runs: Sequence[Mapping[str, Any]],
) -> str:
    """Return the open cases, each with its answers, and the runs that can be undone."""
    number = len(cases)
    words = f"{number} case{'s' * (number != 1)} to decide." if number else ""
    return page(
        "Review",
        visit,
        title("Review", tag("p", words, class_="lead") if words else None),
        tag("ol", *[_case(visit, case) for case in cases], class_="entries cases")
        if cases
        else empty("There are no cases to decide.",
                   tag("p", "Doubtful memories, contradictions and large runs are "
                       "decided here.")),
        _runs(visit, runs),
    )  # fmt: skip


def _case(visit: Visit, case: Mapping[str, Any]) -> Html:
    statements = case["statements"]
    labels = LABELS.get(len(statements), ("",) * len(statements))
    choices = case["choices"]
    buttons = [
        button(
            visit,
            ANSWERS.get(choice, choice.capitalize()),
            "decide",
            key="a" if not place else "x" if place == len(choices) - 1 else "",
            id=case["id"],
            decision=choice,
        )
        for place, choice in enumerate(choices)
    ]
    return tag(
        "li",
        tag(
            "p", case["why"] or "It waits for a decision.", class_="reason", dir="auto"
        ),
        *[
            _statement(label, one)
            for label, one in zip(labels, statements, strict=False)
        ],
        said(case["text"], name="pre", most=6000) if case["text"] else None,
        tag("p", case["problem"], class_="problem") if case["problem"] else None,
        tag("div", *buttons, class_="actions")
        if choices
        else tag("p", "This one is decided in an editor: ", tag("code", case["path"])),
        class_="entry case",
        id=f"case-{case['id']}",
        data_entry=True,
        tabindex="-1",
    )


def _statement(label: str, one: Mapping[str, Any]) -> Html:
    return tag(
        "div",
        tag("span", label, class_="label") if label else None,
        tag("a", said(one["text"], name="span", most=1200), class_="statement",
            href=memory_link(one["id"])),
        marks(day(one["when"]), one["status"], one.get("provenance")),
        said(one["evidence"], name="blockquote", most=800) if one["evidence"] else None,
        class_="side",
    )  # fmt: skip


def _runs(visit: Visit, runs: Sequence[Mapping[str, Any]]) -> Html | None:
    if not runs:
        return None
    rows = []
    for run in runs:
        counts = ", ".join(
            f"{name} {number}" for name, number in (run.get("counts") or {}).items()
        )
        undo = button(visit, "Undo", "undo", key="u", id=run["id"])
        rows.append(
            tag(
                "li",
                tag("p", tag("strong", run["cadence"] or "cut short"), " ",
                    counts or "nothing changed"),
                marks(minute(run["at"]), *(run.get("failures") or {})),
                tag("div", undo, class_="actions") if run["can_be_undone"] else None,
                class_="entry run",
                data_entry=True,
                tabindex="-1",
            )
        )  # fmt: skip
    return join(
        tag("h2", "Latest runs"),
        tag("p", "Each run can be undone; your later edits are kept.",
            class_="hint"),
        tag("ol", *rows, class_="entries runs"),
    )  # fmt: skip
