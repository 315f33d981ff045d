"""Generated text in entity notes (rows B11–B14, C14, D9).

Descriptions, sentences on relations, and cards.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from engram.core import lifecycle
from engram.core.records import HIGH, BlockEdit, Fact, Line
from engram.core.relations import current_lines
from engram.maintenance.passes.generated_text import (
    GeneratedText,
    by_date,
    by_weight,
    entity_names,
    line_of,
    link_name,
    memories_by_entity,
    numbered,
    question_of,
)
from engram.maintenance.passes.subjects import name_index, names_any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import date, datetime

    from engram.core.records import Entity
    from engram.maintenance.passes import MemoryState, PassView, Step


def describe(view: PassView, now: datetime) -> list[Step]:
    """Describe entities in one to four sentences of a model (rows B11, B12, C14).

    The model is given the present description, and the memories by date. At most 10
    entities a run are described, only those mentioned or recalled in the last 21 days
    (`B14`), and only if their memories changed. An entity with one memory gets no
    description.
    """
    policy, texts = view.policy.portraits, GeneratedText(view, now)
    room = policy.entities - texts.made_now("description")
    known = memories_by_entity(view, now)
    for path in _recent(view, known, now):
        if room <= 0:
            break
        if len(known[path]) < policy.described:
            continue
        entity = view.entities[path]
        weightiest = sorted(known[path], key=by_weight)[: policy.together]
        facts = sorted((one.fact for one in weightiest), key=by_date)
        material = {
            "name": entity.name,
            "type": entity.type,
            "facts": numbered(view, facts),
        }
        why = f"{entity.name} was mentioned or recalled"
        ask = question_of("describe", material, why)
        change = BlockEdit(path, f"generated from {len(facts)} memories")
        sources = [(link_name(fact),) for fact in facts]
        room -= texts.generate(change, "description", ask, sources, rewritten=True)
    return texts.finish()


def relate(view: PassView, now: datetime) -> list[Step]:
    """Write a sentence of a model on each relation of an entity (rows B11, B12, B14).

    The same entities as in `describe`, in the same order, if their memories changed.
    """
    policy, texts = view.policy.portraits, GeneratedText(view, now)
    room = policy.entities - texts.made_now("relationships")
    known = memories_by_entity(view, now)
    for path in _recent(view, known, now):
        if room <= 0:
            break
        entity = view.entities[path]
        today = now.astimezone(view.zone).date()
        relations, facts = _relations_in(view, entity, known[path], today)
        if not relations and "relationships" in entity.blocks:
            why = "no memory mentions a relation"
            change = BlockEdit(path, why, blocks={"relationships": ()})
            texts.show(change, view.page(path))
        elif relations:
            material = {
                "name": entity.name,
                "type": entity.type,
                "relations": relations,
                "facts": numbered(view, facts),
            }
            ask = question_of("relate", material, f"relations of {entity.name}")
            change = BlockEdit(path, f"generated from {len(facts)} memories")
            sources = [(link_name(fact),) for fact in facts]
            room -= texts.generate(change, "relationships", ask, sources)
    return texts.finish()


def _relations_in(
    view: PassView, entity: Entity, memories: Sequence[MemoryState], today: date
) -> tuple[list[dict[str, object]], list[Fact]]:
    """Return the current relations that memories mention, and those memories.

    The relations are rows in the form of a question.
    """
    policy = view.policy.portraits
    rows: list[dict[str, object]] = []
    facts: list[Fact] = []
    by_rank = sorted(memories, key=by_weight)
    for line in current_lines(entity.relations, today):
        other = entity_names(view).one(line.name)
        names = name_index([other] if other else ())
        mentions = [one.fact for one in by_rank if names_any(one.fact.text, names)]
        mentions = mentions[: policy.beside]
        fresh = [fact for fact in mentions if fact not in facts]
        if mentions and len(facts) + len(fresh) <= policy.together:
            rows.append({"r": len(rows) + 1, "relation": line.type, "to": line.name})
            facts += fresh
    return rows, sorted(facts, key=by_date)


def _recent(
    view: PassView, known: Mapping[str, Sequence[MemoryState]], now: datetime
) -> list[str]:
    """Return the entities mentioned or recalled in the last 21 days, latest first.

    With `lazy` only those recalled after the last mention. A question about them may
    wait for two of the three weeks (rows B14, X24).
    """
    touched = _last_recalled if view.policy.portraits.lazy else _last_mentioned_or_used
    latest = view.once(
        _recent, lambda: {path: touched(some) for path, some in known.items()}, known
    )
    since = (now - timedelta(days=view.policy.portraits.recent_days)).timestamp()
    recent = [path for path, when in latest.items() if when >= since]
    return sorted(recent, key=lambda path: (-latest[path], path))


def _last_mentioned_or_used(memories: Sequence[MemoryState]) -> float:
    """Return the time of the last mention, recall or confirmation, in epoch seconds."""
    times = [
        when
        for one in memories
        for when in (one.fact.created, one.usage.last_access, one.usage.evidence_at)
    ]
    return max([when.timestamp() for when in times if when], default=0.0)


def _last_recalled(memories: Sequence[MemoryState]) -> float:
    """Return the time of the last recall in epoch seconds; 0 before the last mention."""
    recalls = [one.usage.last_access for one in memories]
    mentions = [one.fact.created for one in memories]
    last = max([when.timestamp() for when in recalls if when], default=0.0)
    made = max([when.timestamp() for when in mentions if when], default=0.0)
    return last if last >= made else 0.0


def cards(view: PassView, now: datetime) -> list[Step]:
    """Write the card of each entity with 5 memories or more (`D9`).

    A card lists the most important memories in at most 400 words, each with its source.
    """
    texts, known = GeneratedText(view, now), memories_by_entity(view, now)
    lines_by_path = view.once(cards, lambda: _cards(view, known), known)
    for path, entity in view.entities.items():
        if path in lines_by_path or "card" in entity.blocks:
            why = f"{len(known.get(path, ()))} memories"
            blocks = {"card": lines_by_path.get(path, ())}
            texts.show(BlockEdit(path, why, blocks=blocks), view.page(path))
    return texts.finish()


def _cards(
    view: PassView, known: Mapping[str, Sequence[MemoryState]]
) -> dict[str, tuple[Line, ...]]:
    """Return the cards of the entities that have one, by path."""
    policy = view.policy.portraits
    return {
        path: _lines_within(
            view,
            sorted(memories, key=by_weight),
            policy.card_words,
        )
        for path, memories in known.items()
        if len(memories) >= policy.card_memories
    }


def _lines_within(
    view: PassView, memories: Iterable[MemoryState], most: int
) -> tuple[Line, ...]:
    """Return memories as lines, up to `most` words."""
    lines: list[Line] = []
    for one in memories:
        line = line_of(view, one.fact)
        most -= len(line.text.split())
        if most < 0:
            break
        lines.append(line)
    return tuple(lines)


def cleanup(view: PassView, now: datetime) -> list[Step]:
    """Remove generated lines whose memories are over or deleted (`B13`).

    Also removes lines from a memory that became highly sensitive (`B17`).
    """
    alive = {
        link_name(one.fact)
        for one in view.memories.values()
        if one.fact.sensitivity != HIGH
        and not lifecycle.hidden_reason(one.fact, now, archive=True)
    }
    alive |= {
        path.rpartition("/")[2].removesuffix(".md") for path in view.pages("traces")
    }
    found: list[Step] = []
    for path in _generated_pages(view):
        page = view.page(path)
        changed: dict[str, tuple[Line, ...]] = {}
        for name, lines in page.blocks.items() if page else ():
            remaining = tuple(one for one in lines if alive.issuperset(one.sources))
            if remaining != lines:
                changed[name] = remaining
        if changed:
            found.append(BlockEdit(path, "its sources are over", blocks=changed))
    return found


def _generated_pages(view: PassView) -> list[str]:
    """Return the paths of the notes with generated lines."""
    paths = [path for path, one in view.entities.items() if one.blocks]
    for folder in ("", "macros", "traces"):
        paths += [path for path in view.pages(folder) if _is_generated(path)]
    return paths


def _is_generated(path: str) -> bool:
    if path in {"profile.md", "IDENTITY.md"}:
        return True
    return path.startswith("macros/") or path.endswith("-story.md")
