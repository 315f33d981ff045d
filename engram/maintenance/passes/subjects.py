"""The subjects of memories that name an entity (row A33)."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from engram.core.language.words import words
from engram.core.records import Edit
from engram.maintenance.passes.generated_text import (
    entity_names,
    public_memories,
    question_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from engram.core.records import Entity
    from engram.maintenance.passes import MemoryState, PassView, Step


def subjects(view: PassView, now: datetime) -> list[Step]:
    """Ask a model which entities memories without a subject are about (`A33`).

    Only memories that contain the name of an entity with a note are included; the name
    may be that of another one, as in "Anna Karenina". Memories extracted by a model
    have subjects already. All memories of a conversation are in one question, so that
    the question stays the same. Memories that belong to a user do not change.
    """
    names = name_index(view.entities.values())
    steps: list[Step] = []
    for memories in _conversations(view, now):
        open_texts = (
            one.fact.text
            for one in memories
            if not one.fact.about and not one.kept and one.fact.origin != "model"
        )
        if not any(names_any(text, names) for text in open_texts):
            continue
        rows = [{"n": n, "text": one.fact.text} for n, one in enumerate(memories, 1)]
        ask = question_of("subjects", {"facts": rows}, "memories without a subject")
        answer = view.answers.get(ask.key)
        if answer is None:
            steps.append(ask)
        else:
            steps += _subject_edits(view, memories, answer)
    return steps


def _subject_edits(
    view: PassView, memories: Sequence[MemoryState], answer: Mapping[str, Any]
) -> list[Step]:
    """Return the edits that give memories the subjects named in an answer."""
    steps: list[Step] = []
    for n, one in enumerate(memories, 1):
        names = answer.get("names", {}).get(str(n), ())
        entities = [entity_names(view).one(name) for name in names]
        links = dict.fromkeys(f"[[{entity.name}]]" for entity in entities if entity)
        if links and not one.fact.about:
            keys = {"about": list(links)}
            why = "the statement names these entities"
            steps.append(Edit(one.fact.path, one.fact.sha, keys, why))
    return steps


def name_index(entities: Iterable[Entity]) -> dict[str, list[list[str]]]:
    """Return the names of entities as lists of words, by their first word."""
    index: defaultdict[str, list[list[str]]] = defaultdict(list)
    for one in entities:
        for name in (one.name, *one.aliases):
            if parts := words(name):
                index[parts[0]].append(parts)
    return dict(index)


def names_any(text: str, names: Mapping[str, Sequence[Sequence[str]]]) -> bool:
    """Return whether a text contains one of the names of an index."""
    parts = words(text)
    return any(
        parts[at : at + len(name)] == name
        for at, word in enumerate(parts)
        for name in names.get(word, ())
    )


def _conversations(view: PassView, now: datetime) -> list[list[MemoryState]]:
    """Return the public memories by conversation, at most 10 together.

    Their order is stable.
    """
    groups: defaultdict[str, list[MemoryState]] = defaultdict(list)
    for one in public_memories(view, now):
        groups[one.fact.source.partition("#")[0]].append(one)
    size = view.policy.portraits.together
    return [
        group[at : at + size]
        for _, group in sorted(groups.items())
        for at in range(0, len(group), size)
    ]
