"""A number that carries its own row of the table: unit, range, source row, meaning."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """One line of the table: where the number stands, what it is and where it comes
    from.
    """

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
    """A dataclass field that carries its own row."""
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
