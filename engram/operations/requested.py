"""The operations `merge` and `synthesize`, requested by a user (rows A34, A35).

`merge` declares two memories or entities to be the same; `synthesize` concludes one
note from several. Each is a run, with a dry run and an undo.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.core.entities import name_key
from engram.core.records import HIGH, Fact
from engram.errors import BadRequestError, ConflictError, NotFoundError
from engram.maintenance.passes.requested import merging, synthesizing, uniting

if TYPE_CHECKING:
    from engram.core.records import Entity
    from engram.maintenance.loop import MaintenanceLoop
    from engram.operations.retrieval import Retriever


class RequestedRuns:
    """The operation `merge`, for the writer thread, and `synthesize`, for any other."""

    def __init__(self, loop: MaintenanceLoop, retriever: Retriever) -> None:
        self.loop = loop
        self.retriever = retriever
        self.index = retriever.index
        self.names = retriever.entity_writer.names

    def merge(self, id: str, other: str, *, dry_run: bool) -> dict[str, Any]:  # noqa: A002
        """Merge two memories, or two entities; the first remains.

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
                "different personas know them",
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

    def synthesize(self, about: str, *, dry_run: bool) -> dict[str, Any]:
        """Conclude one note about an entity, or about a subject in words.

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
            units = self.index.units([hit["id"] for hit in found["hits"]])
            facts = [one for one in units.values() if isinstance(one, Fact)]
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
