"""Fields of policies with the row of the table: unit, range, source row, meaning."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """One line of the table: the place of the number, its meaning and its source."""

    concern: str
    name: str
    value: float
    unit: str
    low: float
    high: float
    source: str
    meaning: str
    key: str


def number(
    default: float,
    unit: str,
    low: float,
    high: float,
    source: str,
    meaning: str,
    key: str = "",
) -> Any:
    """Return a dataclass field with its row of the table as metadata."""
    return field(
        default=default,
        metadata={
            "unit": unit,
            "low": low,
            "high": high,
            "source": source,
            "meaning": meaning,
            "key": key,
        },
    )
