"""Passes requested by a command: unite memories or entities, conclude a note.

(Rows A34, A35.) Unlike the passes of a night these may change notes of a user, who has
named them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engram.core.decide import SAYS_THE_SAME
from engram.maintenance.passes.entities import retired_steps, united_steps
from engram.maintenance.passes.generated_text import numbered
from engram.maintenance.passes.insight import concluded_fact, is_known
from engram.maintenance.passes.merge import merged_memories
from engram.maintenance.passes.view import (
    Finding,
    MemoryState,
    NewMemory,
    Pass,
    PassView,
    Step,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from engram.core.records import Entity

MOST_SOURCES = 40
"""Maximum number of memories from which one note is concluded."""


def merging(winner: str, loser: str) -> Pass:
    """Return the pass that supersedes one memory by another, by their ids."""

    def join(view: PassView, _now: datetime) -> list[Step]:
        remaining, superseded = view.memories.get(winner), view.memories.get(loser)
        if (
            remaining is None
            or superseded is None
            or superseded.fact.status != "active"
        ):
            return []
        return [merged_memories(view, remaining, [superseded], SAYS_THE_SAME)]

    return join


def uniting(winner: Entity, loser: Entity) -> tuple[Pass, Pass]:
    """Return the passes that unite two entities and retire the note of the second."""

    def pair(view: PassView) -> list[tuple[Entity, Entity]]:
        kept, merged = view.entities.get(winner.path), view.entities.get(loser.path)
        return [(kept, merged)] if kept and merged else []

    def join(view: PassView, _now: datetime) -> list[Step]:
        return united_steps(view, pair(view))

    def retire(view: PassView, now: datetime) -> list[Step]:
        return retired_steps(view, pair(view), now)

    return join, retire


def synthesizing(name: str, sources: Sequence[str], *, ask: bool) -> Pass:
    """Return the pass that concludes one note about `name` from memories, by id.

    With `ask` a model writes it; without an answer it is a list. Nothing is archived.
    """

    def synthesize(view: PassView, now: datetime) -> list[Step]:
        known = [view.memories[one] for one in sources if one in view.memories]
        some = [one for one in known if one.fact.status == "active"][:MOST_SOURCES]
        if len(some) < 2:  # one memory needs no conclusion
            return []
        text, chosen = _list(name, some), some
        steps: list[Step] = []
        if ask:
            why = f"a user asked for one note about {name}"
            material = {"memories": numbered(view, [one.fact for one in some])}
            reply = view.ask("fold", material, why)
            steps += reply.steps
            answer = reply.answer or {}
            named = [some[number - 1] for number in answer.get("from", ())]
            if answer.get("text") and len(named) > 1:
                text, chosen = str(answer["text"]), named
        if is_known(view, text):
            return [*steps, Finding(some[0].fact.id, some[0].fact.path, KNOWN)]
        facts = [one.fact for one in chosen]
        fact = replace(
            concluded_fact(now, "synthesize", text, facts),
            importance=max(fact.importance for fact in facts),
        )
        why = f"concluded from {len(chosen)} memories about {name}"
        return [*steps, NewMemory(fact, why, "synthesize")]

    return synthesize


KNOWN = "a note with this content exists already"


def _list(name: str, memories: Sequence[MemoryState]) -> str:
    texts = (one.fact.text.strip() for one in memories)
    sentences = " ".join(text if text[-1:] in ".!?" else f"{text}." for text in texts)
    return f"{name}: {sentences}"
