"""The operation `list`: memories one page at a time, newest first."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from engram.core.entities import name_key
from engram.core.lifecycle import STAGES
from engram.core.personas import sees, shown_name
from engram.core.records import STATUSES, Fact
from engram.errors import BadRequestError
from engram.ingest import intake
from engram.operations.retrieval import asking
from engram.recall import formatting

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from engram.operations.explain import Explainer
    from engram.operations.fact_table import FactRow, FactTable
    from engram.operations.retrieval import Retriever

ACTIVE, FORGOTTEN = "active", "forgotten"
CHOICES = (*STATUSES, "all")


class MemoryList:
    """Lists memories by category, subject, status and time. For any thread."""

    def __init__(
        self, retriever: Retriever, table: FactTable, explainer: Explainer
    ) -> None:
        self.explainer = explainer
        self.index = retriever.index
        self.table = table
        self.settings = retriever.settings
        self.clock = retriever.clock

    def page(
        self,
        status: str,
        limit: int,
        *,
        category: str | None = None,
        about: str | None = None,
        stage: str | None = None,
        since: str | None = None,
        until: str | None = None,
        after: str | None = None,
        persona: str | None = None,
        all_personas: bool = False,
        owner: bool = False,
    ) -> dict[str, Any]:
        """Return up to `limit` memories, newest first, and where the next page begins.

        `after` is the `next` of the page before. Those of the persona and those of no
        persona are listed, or with `all_personas` those of all, for the `owner`. A
        `stage` is computed for each memory that the other arguments leave (`C24`).
        Raises BadRequestError for an unknown status or stage, or a time that cannot be
        read.
        """
        if status not in CHOICES:
            raise BadRequestError(
                f"there is no status {status!r}", fix=f"Use: {', '.join(CHOICES)}."
            )
        if stage and stage not in STAGES:
            raise BadRequestError(
                f"there is no stage {stage!r}", fix=f"Use: {', '.join(STAGES)}."
            )
        asking_persona = asking(
            persona, self.settings, owner=owner, everyone=all_personas
        )
        zone, now = self.settings.zone, self.clock()
        first = intake.moment(since, zone, "since", now=now) if since else None
        last = intake.moment(until, zone, "until", end=True, now=now) if until else None

        chosen = [
            row
            for row in self._with_status(status)
            if sees(asking_persona, row.persona)
            and (category is None or row.category == category)
            and (about is None or _is_about(row, about))
            and _is_between(row.created, first, last)
        ]
        if stage:
            units = self.index.catalog.units([row.id for row in chosen])
            known = [unit for unit in units.values() if isinstance(unit, Fact)]
            stages = self.explainer.stages(known)
            chosen = [row for row in chosen if stages.get(row.id) == stage]
        chosen.sort(key=attrgetter("mark"), reverse=True)
        rest = [row for row in chosen if after is None or row.mark < after]
        units = self.index.catalog.units([row.id for row in rest[:limit]])
        facts = (units.get(row.id) for row in rest[:limit])
        shown = [fact for fact in facts if isinstance(fact, Fact)]
        sources = formatting.provenance(self.index, shown, self.settings.policy.trust)
        return {
            "memories": [
                self._row(fact) | formatting.attributed(sources[fact.id])
                for fact in shown
            ],
            "total": len(chosen),
            "next": rest[limit - 1].mark if len(rest) > limit else None,
        }

    def _with_status(self, status: str) -> Iterator[FactRow]:
        """Yield the rows with a status; an expired memory is not active."""
        now = self.clock()
        for row in self.table:
            if (
                row.is_current(now)
                if status == ACTIVE
                else status in {"all", row.status}
            ):
                yield row

    def _row(self, fact: Fact) -> dict[str, Any]:
        if fact.status == FORGOTTEN:
            # also its path and tags hold words of the statement
            fact = replace(fact, text="", about=(), tags=(), path="")
        zone = self.settings.zone
        times = {
            "created": fact.created,
            "valid_from": fact.valid_from,
            "valid_until": fact.valid_until,
        }
        return {
            "id": fact.id,
            "text": fact.text,
            "category": fact.category,
            "status": fact.status,
            "about": list(fact.about),
            "tags": list(fact.tags),
            "confidence": fact.confidence,
            "importance": fact.importance,
            "pinned": fact.pinned,
            "persona": shown_name(fact.persona),
            "sensitivity": fact.sensitivity,
            "path": fact.path,
            **{
                name: when.astimezone(zone).isoformat() if when else None
                for name, when in times.items()
            },
        }


def _is_about(row: FactRow, name: str) -> bool:
    return name_key(name) in {name_key(one) for one in row.about}


def _is_between(
    when: datetime | None, first: datetime | None, last: datetime | None
) -> bool:
    """Whether a time lies in a span; a memory without a date lies in none."""
    if when is None:
        return first is None and last is None
    return (first is None or first <= when) and (last is None or when < last)
