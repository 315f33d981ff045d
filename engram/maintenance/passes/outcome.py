"""What memories, notes, conversations and ties will be once a planned step is done, as
far as later passes ask.
"""

from __future__ import annotations

import re
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from engram.core.records import BlockEdit, Change, Edge, Edit, Entity, Fact, Move, Page
from engram.maintenance.passes.steps import EdgeUpdate, NewEdge

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo

    from engram.core.sessions import SessionView

_PLAIN = frozenset(
    {
        "category",
        "status",
        "layer",
        "end_reason",
        "verification",
        "pinned",
        "confidence",
        "importance",
    }
)
_LISTS = frozenset({"supersedes", "superseded_by", "tags"})
_LINK = re.compile(r"\[\[([^\]|]*)(?:\|[^\]]*)?\]\]")
_DEFAULTS: dict[str, Any] = {
    item.name: item.default for item in fields(Fact) if item.name in _PLAIN
}


def changed(fact: Fact, change: Change, zone: tzinfo) -> Fact:
    """The fact as its note will tell it, as far as the passes ask."""
    told: dict[str, Any] = {
        key: _DEFAULTS[key] if value is None else value
        for key, value in change.keys.items()
        if key in _PLAIN
    }
    told |= {key: _names(change.keys[key]) for key in _LISTS & change.keys.keys()}
    if change.keys.get("done"):
        told["done"] = (
            datetime.fromisoformat(str(change.keys["done"]))
            .replace(tzinfo=zone)
            .astimezone(UTC)
        )
    if isinstance(about := change.keys.get("about"), list):
        told["about"] = tuple(_LINK.sub(r"\1", name) for name in about)
    if "source" in change.keys:
        told |= _sources(change.keys["source"])
    return replace(
        fact, path=change.to if isinstance(change, Move) else fact.path, **told
    )


def _names(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list | tuple) else ()


def _sources(value: object) -> dict[str, Any]:
    """The turns of a note's `source`, a link or a list of links."""
    links = (
        [value] if isinstance(value, str) else value if isinstance(value, list) else []
    )
    source, *also = [link.removeprefix("[[").removesuffix("]]") for link in links] or [
        ""
    ]
    return {"source": source, "also": tuple(also)}


def retold(talk: SessionView, change: Change) -> SessionView:
    """The conversation with the keys and the body that a change gives it, if it is
    about its file.
    """
    if not isinstance(change, Edit) or talk.path != change.path:
        return talk
    return replace(
        talk,
        keys={**talk.keys, **change.keys},
        body=talk.body if change.body is None else change.body,
    )


def tied(edges: Sequence[Edge], step: EdgeUpdate | NewEdge) -> list[Edge]:
    """The ties with a new one, or with one of them as weak as it is by now."""
    if isinstance(step, NewEdge):
        return [*edges, step.edge]
    return [step.edge if _same(edge, step.edge) else edge for edge in edges]


def amended(page: Page | None, step: BlockEdit) -> Page:
    """The note, or a new one, with the keys and blocks it is given; what is given as
    empty goes.
    """
    page = page or Page({})
    keys = {
        key: value
        for key, value in {**page.keys, **step.keys}.items()
        if value is not None
    }
    return replace(
        page,
        keys=keys,
        blocks={
            name: lines
            for name, lines in {**page.blocks, **step.blocks}.items()
            if lines
        },
    )


def reentered(entity: Entity, step: BlockEdit) -> Entity:
    """The entity as its amended note will tell it."""
    aliases, kind = step.keys.get("aliases"), step.keys.get("type")
    return replace(
        entity,
        type=kind if isinstance(kind, str) else entity.type,
        aliases=tuple(aliases) if isinstance(aliases, list) else entity.aliases,
        relations=(
            *(one for one in entity.relations if one not in step.drop),
            *step.add,
        ),
        blocks=tuple(dict.fromkeys([*entity.blocks, *step.blocks])),
        superseded="superseded_by" in step.keys or entity.superseded,
    )


def _same(one: Edge, other: Edge) -> bool:
    return (
        replace(one, confidence=other.confidence, reinforced=other.reinforced) == other
    )
