"""The operation `digest`: memories learned, changed and ended, and due promises (A35)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from engram.core import lifecycle, todos
from engram.core.personas import sees
from engram.ingest import requests
from engram.operations.signature import (
    ANY_CALLER,
    Since,
    operation,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from engram.core.records import Fact
    from engram.operations.context import ContextBuilder
    from engram.operations.retrieval import Retriever

DAYS = 7
"""Days that a digest covers without `since`, and days ahead for due promises."""
MOST = 25
"""Maximum number of rows of each part; the counts include all."""
PARTS = {
    "learned": "Learned",
    "changed": "Changed",
    "ended": "Ended",
    "due": "Due",
}
REPLACED = frozenset({"superseded", "invalidated"})


class Digest:
    """The operation `digest`. May be called from any thread."""

    def __init__(self, retriever: Retriever, context: ContextBuilder) -> None:
        self.index = retriever.index
        self.settings = retriever.settings
        self.clock = retriever.clock
        self.context = context

    @operation("DigestOfSpan", callers=ANY_CALLER)
    def digest(
        self,
        *,
        since: Since = None,
        asks: str | None = None,
    ) -> dict[str, Any]:
        """Show what was learned, changed or ended, and what is due. Lists at
        most 25 memories of each kind, those of a week if no time is named.

        Raises BadRequestError for a time that cannot be read.
        """
        zone, now = self.settings.zone, self.clock()
        begin = (
            requests.moment(since, zone, "since", now=now)
            if since
            else now - timedelta(days=DAYS)
        )
        facts = {
            one.id: one for one in self.index.catalog.facts() if sees(asks, one.persona)
        }
        parts = {
            "learned": [*self._learned(facts.values(), begin, now)],
            "changed": [*self._changed(facts, begin)],
            "ended": [*self._ended(facts.values(), begin, now)],
            "due": [*self._due(now, asks)],
        }
        counts = {name: len(rows) for name, rows in parts.items()}
        listed = {name: rows[:MOST] for name, rows in parts.items()}
        return {
            "since": begin.astimezone(zone).isoformat(timespec="seconds"),
            "until": now.astimezone(zone).isoformat(timespec="seconds"),
            "counts": counts,
            **listed,
            "text": _text(listed, counts),
        }

    def _learned(
        self, facts: Iterable[Fact], begin: datetime, now: datetime
    ) -> Iterator[dict[str, Any]]:
        some = [
            one
            for one in facts
            if one.created
            and one.created >= begin
            and lifecycle.hidden_reason(one, now) is None
            and self._is_shown(one)
        ]
        some.sort(key=lambda one: (one.category, -one.importance, one.id))
        for one in some:
            yield self._row(one, one.created)

    def _changed(
        self, facts: Mapping[str, Fact], begin: datetime
    ) -> Iterator[dict[str, Any]]:
        """Yield the memories replaced in the span, with their successors."""
        for old in facts.values():
            later = (facts[one] for one in old.superseded_by if one in facts)
            new = next((one for one in later if one.status == "active"), None)
            fresh = new and new.created and new.created >= begin
            if old.status in REPLACED and new and fresh and self._is_shown(old, new):
                yield {**self._row(new, new.created), "was": old.text}

    def _ended(
        self, facts: Iterable[Fact], begin: datetime, now: datetime
    ) -> Iterator[dict[str, Any]]:
        for one in facts:
            over = one.valid_until or lifecycle.effective_expiry(one)
            ended = over is not None and begin <= over <= now
            is_over = one.status in {*REPLACED, "archived", "active"}
            if ended and is_over and not one.superseded_by and self._is_shown(one):
                yield self._row(one, over)

    def _due(self, now: datetime, asks: str | None) -> Iterator[dict[str, Any]]:
        """Yield the open promises that are overdue, or whose time is within a week.

        `when` is the end of the time that the words name.
        """
        for row in self.context.todos(asks=asks)["todos"]:
            due = row.get("due")
            if due and datetime.fromisoformat(due) <= now + timedelta(days=DAYS):
                fact = self.index.catalog.find_fact(row["id"])
                yield {**self._row(fact, todos.due_at(fact)), "text": row["text"]}

    def _is_shown(self, *facts: Fact) -> bool:
        return all(self.index.visible(one) == one for one in facts)

    def _row(self, fact: Fact, when: datetime | None) -> dict[str, Any]:
        zone = self.settings.zone
        at = when.astimezone(zone).isoformat(timespec="seconds") if when else None
        return {
            "id": fact.id,
            "text": fact.text,
            "category": fact.category,
            "when": at,
            "was": "",
        }


def _text(parts: Mapping[str, list[dict[str, Any]]], counts: Mapping[str, int]) -> str:
    """Return a digest as plain text; '' if it has no rows."""
    lines: list[str] = []
    for name, head in PARTS.items():
        rows = parts[name]
        if not rows:
            continue
        lines += ["", f"{head} ({counts[name]})"]
        for row in rows:
            day = f"{row['when'][:10]}  " if row["when"] else ""
            was = f" (before: {row['was']})" if row["was"] else ""
            lines.append(f"- {day}{' '.join(row['text'].split())}{was}")
        if counts[name] > len(rows):
            lines.append(f"- and {counts[name] - len(rows)} more")
    return "\n".join(lines).strip()
