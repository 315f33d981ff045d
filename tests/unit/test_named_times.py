"""Times in words wherever a command asks for one (row X13)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engram.ingest.requests import named_time
from engram.operations.table import OPERATIONS

NOW = datetime(2026, 11, 24, 11, 30, tzinfo=UTC)  # a Tuesday


# row: X13
@pytest.mark.parametrize(
    ("text", "begins", "ends"),
    [
        ("3d", "2026-11-21", "2026-11-22"),
        ("3 days", "2026-11-21", "2026-11-22"),
        ("the last 3 days", "2026-11-21", "2026-11-22"),
        ("past 2 weeks", "2026-11-10", "2026-11-11"),
        ("2w", "2026-11-10", "2026-11-11"),
        ("6 months", "2026-05-24", "2026-05-25"),
        ("9mo", "2026-02-24", "2026-02-25"),
        ("1y", "2025-11-24", "2025-11-25"),
        ("6h", "2026-11-24T05:30", "2026-11-24T05:30"),
        ("now", "2026-11-24T11:30", "2026-11-24T11:30"),
        ("2 weeks ago", "2026-11-09", "2026-11-16"),
        ("yesterday", "2026-11-23", "2026-11-24"),
        ("last March", "2026-03-01", "2026-04-01"),
        ("since March", "2026-03-01", "2026-04-01"),
        ("Monday", "2026-11-23", "2026-11-24"),
        ("1 May", "2026-05-01", "2026-05-02"),
        ("2025", "2025-01-01", "2026-01-01"),
        ("2026-02", "2026-02-01", "2026-03-01"),
        ("vor 3 Tagen", "2026-11-21", "2026-11-22"),
        ("hace 3 días", "2026-11-21", "2026-11-22"),
    ],
)
def test_a_time_that_stands_alone_counts_back_from_now(text, begins, ends):
    expected = (
        datetime.fromisoformat(day).replace(tzinfo=UTC) for day in (begins, ends)
    )
    assert named_time(text, NOW) == tuple(expected)


@pytest.mark.parametrize(
    ("text", "begins"),
    [("3d", "2026-11-27"), ("Monday", "2026-11-30"), ("1 May", "2027-05-01")],
)
def test_what_expires_is_ahead(text, begins):
    first, _ = named_time(text, NOW, ahead=True)
    assert first == datetime.fromisoformat(begins).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        *("", "3", "3m", "next 3 days", "blue moon", "noon and yesterday", "3 cats"),
        *("9999y", "the 45th", "1066", "yesterday and 3 days"),
    ],
)
def test_what_names_no_single_time_is_refused(text):
    assert named_time(text, NOW) is None


def test_each_time_of_each_operation_takes_words(memory):
    """A new argument of this kind is found here."""
    needs = {"recall": {"query": "tea"}, "context": {"query": "tea"}}
    needs |= {"remember": {"text": "The tea is green."}}
    tried = 0
    for operation in OPERATIONS:
        for param in operation.params:
            if param.kind == "time":
                for words in ("3d", "yesterday", "last March", "2 weeks ago"):
                    asked = {**needs.get(operation.name, {}), param.name: words}
                    memory.call(operation.name, asked)
                    tried += 1
    assert tried >= 40
