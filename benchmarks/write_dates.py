"""Dates: expressions of time in ten languages, and how they are resolved (row X14).

Each row of `write/dates.jsonl` has a sentence, the local time at which it was said in
Berlin and its `date`: a day `2026-11-27`, a week `2026-W48`, a month, a year, a time of
a day `2026-11-27T15:30`, or a range of days or months `2026-11-28/2026-11-29`; `<` marks
an end and `>` a beginning; `` is none. A date that differs is wrong, none is lost.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from engram.core.language.dates import resolve

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from engram.core.records import Interval

TABLE = Path(__file__).resolve().parent / "write" / "dates.jsonl"
ZONE = ZoneInfo("Europe/Berlin")
RESOLVED = 0.90
_ROLES = {"until": "<", "since": ">"}


@dataclass(frozen=True, slots=True)
class DateRow:
    """A sentence, when it was said, its date, and the date that is resolved."""

    language: str
    text: str
    when: datetime
    date: str
    found: str

    @property
    def is_wrong(self) -> bool:
        """Whether a date is resolved that is not the right one."""
        return self.found not in {"", self.date}

    @property
    def is_lost(self) -> bool:
        """Whether the sentence has a date and none is resolved."""
        return bool(self.date) and not self.found

    def __str__(self) -> str:
        return f"{self.language}: {self.text} [{self.date or 'none'}, not {self.found or 'none'}]"


def rows(path: Path = TABLE) -> Iterator[DateRow]:
    """Resolve each row of the table."""
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        when = datetime.fromisoformat(row["at"]).replace(tzinfo=ZONE)
        found = " ".join(in_figures(one) for one in resolve(row["text"], when))
        yield DateRow(row["language"], row["text"], when, row["date"], found)


def in_figures(interval: Interval) -> str:
    """Return an interval as the table writes it."""
    start, last = interval.start, interval.end - timedelta(microseconds=1)
    match interval.granularity:
        case "minute":
            text = f"{start:%Y-%m-%dT%H:%M}"
        case "hour":
            text = f"{start:%Y-%m-%dT}{start.hour}"
        case "week":
            text = f"{start:%G-W%V}"
        case "year":
            text = f"{start:%Y}"
        case "month" | "season":
            text = _range(f"{start:%Y-%m}", f"{last:%Y-%m}")
        case _:
            text = _range(f"{start:%Y-%m-%d}", f"{last:%Y-%m-%d}")
    return _ROLES.get(interval.role, "") + text


def _range(first: str, last: str) -> str:
    return first if first == last else f"{first}/{last}"


def resolved_share(table: Iterable[DateRow]) -> float:
    """Return the share of the sentences with a date for which it is resolved."""
    dated = [row for row in table if row.date]
    return sum(row.found == row.date for row in dated) / len(dated)
