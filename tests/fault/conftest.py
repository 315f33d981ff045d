"""Adds up what the batteries covered and prints it at the end."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COVERED: Counter[tuple[str, str]] = Counter()
MARK = "points"


@pytest.fixture
def covered(request: pytest.FixtureRequest) -> Callable[[str, str, int], None]:
    """Count points: `covered(battery, scenario, number)`."""

    def count(battery: str, scenario: str, number: int) -> None:
        request.node.user_properties.append((MARK, [battery, scenario, number]))

    return count


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up what a test counted; the report comes from the worker process that ran it,
    if there is one.
    """
    if report.when == "call":
        for name, value in report.user_properties:
            if name == MARK:
                battery, scenario, number = value
                COVERED[battery, scenario] += number


@pytest.fixture
def arena() -> Iterator[Path]:
    """A folder in memory where there is such a place: thousands of small trees are made
    and thrown away.
    """
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line a battery: how many points, in which scenarios."""
    for battery in dict.fromkeys(name for name, _ in COVERED):
        parts = {
            scenario: number
            for (name, scenario), number in COVERED.items()
            if name == battery
        }
        shares = ", ".join(
            f"{scenario} {number:,}" for scenario, number in parts.items()
        )
        terminalreporter.write_line(
            f"{battery}: {sum(parts.values()):,} points, no promise broken ({shares})"
        )
