"""The operations on runs: those that a user requests, their list, their undo.

(Rows A24, A34, A35, X6, X10.) `merge` declares two memories or entities to be the same; `synthesize` concludes one
note from several. Each is a run, with a dry run and an undo.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Annotated, Any, cast

from engram.core import jsonl
from engram.core.entities import name_key
from engram.core.personas import sees
from engram.core.records import ALL_PERSONAS, HIGH, Entity, Fact
from engram.errors import BadRequestError, ConflictError, NotFoundError
from engram.maintenance.forecast import CURVE_POINTS
from engram.maintenance.passes.requested import merging, synthesizing, uniting
from engram.maintenance.schedule import CADENCES, Cadence
from engram.operations.signature import Between, DryRun, operation
from engram.vault import reviews
from engram.vault.runs import DECISION, FILING, RUNS

if TYPE_CHECKING:
    from engram.maintenance.loop import MaintenanceLoop
    from engram.operations.retrieval import Retriever


class RequestedRuns:
    """The operations on runs."""

    def __init__(self, loop: MaintenanceLoop, retriever: Retriever) -> None:
        self.loop = loop
        self.maintenance = loop.maintenance
        self.retriever = retriever
        self.index = retriever.index
        self.names = retriever.entity_writer.names

    @operation("RunReport", waits=True, own_command=True)
    def consolidate(
        self,
        *,
        cadence: Annotated[str, "which passes to run", CADENCES] = "nightly",
        only: Annotated[str | None, "the only pass to run"] = None,
        dry_run: DryRun = False,
    ) -> dict[str, Any]:
        """Run maintenance now. Archives, merges and ends memories that are due, and
        shows each change with its reason.
        """
        known = cast("Cadence", cadence)
        return self.loop.consolidate(known, dry_run=dry_run, only=only)

    @operation("LoggedRuns")
    def runs(
        self,
        *,
        last: Annotated[int, "maximum number of runs", Between(1, 1000)] = 20,
        owner: bool = False,
    ) -> dict[str, Any]:
        """List the latest runs. Runs are maintenance, imports, and statements that ended
        known facts as they were filed. Shows the id, the time and the changes of each,
        and whether it can still be undone.
        """
        undoable = set(self.maintenance.history.runs())
        made = jsonl.rows(self.maintenance.snapshot.read(RUNS), newest_first=True)
        rows = [
            row | {"can_be_undone": row.get("id") in undoable}
            for row in itertools.islice(made, last)
        ]
        for row in rows:
            if row["can_be_undone"] and row.get("cadence") in {DECISION, FILING}:
                row["memories"] = self._changed(row["id"], owner=owner)
        if imports := [row for log in self.loop.imports.logs() for row in log.rows()]:
            rows += reversed(imports)
            rows.sort(key=lambda row: str(row.get("at")), reverse=True)
        return {"runs": rows[:last]}

    def _changed(self, run: str, *, owner: bool) -> list[dict[str, str]]:
        """Return the ids and texts of the memories that a run made or changed."""
        steps = self.maintenance.history.load(run).steps
        facts = self.index.catalog.facts_at(one.after or one.before for one in steps)
        return [
            {"id": fact.id, "text": fact.text}
            for fact in facts
            if fact.status != "forgotten"
            and fact.kind != reviews.KIND
            and sees(ALL_PERSONAS if owner else None, fact.persona)
            and self.index.visible(fact) == fact
        ]

    @operation("RunReport", "POST /v1/runs/{id}/undo", writes=True)
    def undo(
        self,
        id: Annotated[
            str,
            "the id of a run, or an unambiguous prefix of it; `last` for the latest change",
        ] = "last",
        *,
        dry_run: DryRun = False,
    ) -> dict[str, Any]:
        """Undo a run, by default the latest that was not scheduled. Restores its files
        byte for byte, except those edited since; of an import, hides what it stored.
        Shows each change.
        """
        return self.loop.undo(id, dry_run=dry_run)

    @operation("RunReport", writes=True)
    def prune(
        self,
        *,
        threshold: Annotated[
            float | None,
            "confidence, reduced by age, below which a memory is archived; 0.05 if absent",
            Between(0, 1),
        ] = None,
        dry_run: DryRun = False,
    ) -> dict[str, Any]:
        """Archive unprotected memories of very low confidence. Shows each change;
        `engram undo` reverses the run.
        """
        if threshold is None:
            threshold = self.loop.settings.policy.lifecycle.prune_confidence
        return self.maintenance.prune(threshold, dry_run=dry_run).as_json()

    @operation("ComingChanges", "GET /v1/forecast", writes=True)
    def forecast(
        self,
        *,
        days: Annotated[int, "how many days ahead", Between(1, 3650)] = 30,
        curve: Annotated[bool, "add the values of each memory over time"] = False,
    ) -> dict[str, Any]:
        """Forecast the changes of unused memories. Shows the day on which each becomes
        stale, ends or is archived, and why.
        """
        coming = self.maintenance.forecast(days, CURVE_POINTS if curve else 0)
        return {"days": days, "coming": coming}

    @operation("RunReport", "POST /v1/merge", writes=True)
    def merge(
        self,
        id: Annotated[
            str, "the id of a memory, or the name of a person, place or thing"
        ],
        other: Annotated[str, "the id or the name of the one that is the same"],
        *,
        dry_run: DryRun = False,
    ) -> dict[str, Any]:
        """Merge two memories, or two names of one entity. The memories say the same, or
        the names mean the same person, place or thing. The first one stays and gets the evidence or the names of the second;
        `engram undo` reverses this.

        Raises NotFoundError, BadRequestError and ConflictError if they cannot be
        merged.
        """
        kept, merged = self.names.one(id), self.names.one(other)
        if kept and merged:
            return self._unite(kept, merged, dry_run=dry_run)
        first, second = (self._memory(name) for name in (id, other))
        if first.id == second.id:
            raise BadRequestError(
                "both are the same memory", fix="Give two different memories."
            )
        if first.persona != second.persona or HIGH in {
            first.sensitivity,
            second.sensitivity,
        }:
            raise ConflictError(
                "the memories are private to different personas, or highly sensitive",
                fix="Correct or forget one of them instead.",
            )
        passes = (merging(first.id, second.id),)
        result = self.loop.requested("merge", passes, dry_run=dry_run)
        return result | {"kept": first.text, "merged": second.text}

    def _unite(self, kept: Entity, merged: Entity, *, dry_run: bool) -> dict[str, Any]:
        if kept.path == merged.path:
            raise BadRequestError("both are the same entity already", where=kept.path)
        if self.names.is_owner(merged.name):
            raise ConflictError(
                "the note of the owner cannot be merged into another",
                fix="Name the owner first.",
            )
        if merged.has_user_text:
            raise ConflictError(
                "you wrote in the note that would be removed",
                where=merged.path,
                fix="Name it first, or move your words.",
            )
        result = self.loop.requested("merge", uniting(kept, merged), dry_run=dry_run)
        return result | {"kept": kept.name, "merged": merged.name}

    def _memory(self, name: str) -> Fact:
        fact = self.index.catalog.find_fact(name)
        if fact.status != "active":
            raise ConflictError(
                f"the memory is {fact.status}", where=fact.id, fix="Restore it first."
            )
        return fact

    @operation("RunReport", waits=True)
    def synthesize(
        self,
        about: Annotated[str, "a name, or words for the subject of the note"],
        *,
        dry_run: DryRun = False,
    ) -> dict[str, Any]:
        """Conclude one note from all memories about a subject. The subject is a person,
        place, thing or topic. The note names its sources, which do not change; with a model it is a text, otherwise
        a list. `engram undo` reverses this.

        Raises NotFoundError if fewer than two memories are about it.
        """
        entity = self.names.one(about)
        name = entity.name if entity else about
        if entity:
            links = {name_key(one) for one in (entity.name, *entity.aliases)}
            facts = [
                one
                for one in self.index.catalog.facts()
                if links & {name_key(link) for link in one.about}
            ]
        else:
            found = self.retriever.recall(about, kinds=["fact"], record=False)
            facts = self.index.facts(hit["id"] for hit in found["hits"])
        chosen = [one for one in facts if self._may_be_source(one)]
        if len(chosen) < 2:  # one memory needs no conclusion
            raise NotFoundError(
                "there are fewer than two memories about it",
                where=about,
                fix="Name a person, place or thing: `engram entities` lists them.",
            )
        chosen.sort(key=lambda one: (-one.importance, one.id))
        asks = bool(self.loop.settings.model)
        passes = (synthesizing(name, [one.id for one in chosen], ask=asks),)
        return self.loop.requested("synthesize", passes, dry_run=dry_run, ask=True)

    def _may_be_source(self, fact: Fact) -> bool:
        """Return whether a memory may be a source: current, public and first-hand."""
        return (
            fact.status == "active"
            and fact.persona is None
            and fact.sensitivity != HIGH
            and not fact.derived_from
            and self.index.visible(fact) == fact
        )
