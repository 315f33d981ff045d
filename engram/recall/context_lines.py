"""The lines of a context for a chatbot, and the fence around them (rows D6, E18)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.core import todos
from engram.recall.formatting import UNSURE, fence, happened

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, tzinfo

    from engram.core.records import Fact
    from engram.core.trust import Provenance

TITLES = {
    "user": "About the user",
    "foundation": "Always true",
    "named": "Named entities",
    "rolling": "So far",
    "summary": "Last time",
    "promises": "Open promises",
    "habits": "Habits",
    "wins": "Done lately",
    "threads": "Left open",
    "frictions": "Going wrong",
    "cards": "Entities in the hits",
    "relevant": "On the question",
    "question": "To ask the user, if it fits",
}
"""The parts of a context in order, with their titles."""


def fenced(parts: Mapping[str, list[str]], mark: str) -> str:
    """Return the parts as one text, fenced by `mark` as data; '' without lines."""
    lines = [
        line
        for name, title in TITLES.items()
        if parts.get(name)
        for line in (f"{title}:", *parts[name])
    ]
    return fence("\n".join(lines), mark) if lines else ""


def short_line(fact: Fact, provenance: Provenance) -> str:
    """Return a fact with its source as a short line (rows D6, E18)."""
    return f"- [{provenance.label}] {one_line(fact.text)}"


def line(fact: Fact, provenance: Provenance, zone: tzinfo) -> str:
    """Return a fact as a line with its source and its day (rows D6, E18)."""
    head = [provenance.label, day(happened(fact), zone)]
    if fact.confidence < UNSURE:
        head.append("unsure")
    return f"- [{', '.join(head)}] {one_line(fact.text)}"


def promise_line(
    fact: Fact, provenance: Provenance, now: datetime, zone: tzinfo
) -> str:
    """Return a promise as a line with its due date, or the words that it is overdue."""
    due = todos.due_words(fact, now, zone) or day(fact.created, zone)
    return f"- [{provenance.label}, {due}] {one_line(fact.text)}"


def one_line(text: str) -> str:
    """Return the text on one line, with its blanks collapsed."""
    return " ".join(text.split())


def day(moment: datetime | None, zone: tzinfo) -> str:
    """Return the local day of a moment, or `undated`."""
    return f"{moment.astimezone(zone):%Y-%m-%d}" if moment else "undated"
