"""The notes of entities: one for each entity (row C13), and their generated text.

The subjects of memories (row A33); descriptions, sentences on relations, and cards
(rows B11–B14, C14, D9).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from engram.core import lifecycle
from engram.core.entities import name_key
from engram.core.language.words import words
from engram.core.records import HIGH, BlockEdit, Edit, Entity, Fact, Line, Move
from engram.core.relations import current_lines
from engram.core.text import note_name
from engram.maintenance.passes.generated_text import (
    GeneratedText,
    by_date,
    by_weight,
    entity_names,
    line_of,
    memories_by_entity,
    public_memories,
)
from engram.maintenance.passes.groups import link_list
from engram.maintenance.passes.view import (
    TRASH,
    MemoryState,
    ModelQuestion,
    PassView,
    Step,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


def unite(view: PassView, _now: datetime) -> list[Step]:
    """Unite notes of one name, or of a name that is an alias of the other (`C13`).

    Similar names do not unite notes. A note that a user wrote in is kept; two such
    notes are left to the user. Further names, relations and links move to the kept
    note.
    """
    return united_steps(view, _fragments(view))


def united_steps(view: PassView, pairs: Iterable[tuple[Entity, Entity]]) -> list[Step]:
    """Return the steps that unite each second entity with the first."""
    steps: list[Step] = []
    entities = dict(view.entities)
    memories_by_entity = {name: one.fact.about for name, one in view.memories.items()}
    for kept, merged in pairs:
        winner, loser = entities[kept.path], entities[merged.path]
        united = _united(winner, loser)
        steps += _difference(winner, united, f"{loser.name} is the same")
        entities[kept.path] = united

        why = f"{loser.name} is {winner.name}"
        for path, relinked in _relinked_entities(entities, united, loser).items():
            steps += _difference(entities[path], relinked, why)
            entities[path] = relinked
        for name, links in _relinked_memories(
            memories_by_entity, united, loser
        ).items():
            fact = view.memories[name].fact
            steps.append(Edit(fact.path, fact.sha, {"about": link_list(links)}, why))
            memories_by_entity[name] = links
    return steps


def retire(view: PassView, now: datetime) -> list[Step]:
    """Move a united note to the trash when no memory links to it any more (`C13`).

    If text of a user links to it, it stays and names the note that replaces it.
    """
    return retired_steps(view, _fragments(view), now)


def retired_steps(
    view: PassView, pairs: Iterable[tuple[Entity, Entity]], now: datetime
) -> list[Step]:
    """Return the steps that retire each second entity that was united with the first."""
    memories_by_entity = {name: one.fact.about for name, one in view.memories.items()}
    return [
        _retired(view, winner, loser, now)
        for winner, loser in pairs
        if _united(winner, loser) == winner
        and not _relinked_entities(view.entities, winner, loser)
        and not _relinked_memories(memories_by_entity, winner, loser)
    ]


def _fragments(view: PassView) -> list[tuple[Entity, Entity]]:
    """Return pairs of a note that is kept and a note that is merged into it.

    A note of a user is kept, else one whose name is not an alias, else the older one. A
    kept note is not merged into another.
    """
    return view.once(_fragments, lambda: list(_paired(view.entities)), view.entities)


def _paired(entities: Mapping[str, Entity]) -> Iterator[tuple[Entity, Entity]]:
    """Yield pairs of an entity that is kept and one that is merged into it."""
    groups, aliases = _alike(entities)

    def rank(one: Entity) -> tuple[bool, bool, str, str]:
        return not one.has_user_text, name_key(one.name) in aliases, one.id, one.path

    for group in groups:
        members = [entities[path] for path in group]
        types = {one.type for one in members} - {"concept"}
        # with two types it is unknown to which of them a concept belongs
        for kind in [""] if len(types) < 2 else sorted(types):
            same = [one for one in members if kind in {"", one.type}]
            kept, *others = sorted(same, key=rank)
            yield from ((kept, merged) for merged in others if not merged.has_user_text)


def _alike(entities: Mapping[str, Entity]) -> tuple[list[list[str]], set[str]]:
    """Group the paths of entities of one name; return also the uniting aliases.

    An alias unites entities only if all entities that have it are united already.
    """
    named: defaultdict[str, set[str]] = defaultdict(set)
    aliased: defaultdict[str, set[str]] = defaultdict(set)
    for path, one in entities.items():
        named[name_key(one.name)].add(path)
        for alias in {name_key(alias) for alias in one.aliases} - {name_key(one.name)}:
            aliased[alias].add(path)

    uniting: set[str] = set()
    while True:
        by_alias = [named[name] | aliased[name] for name in uniting]
        groups = _joined_groups([*named.values(), *by_alias])
        place = {path: number for number, group in enumerate(groups) for path in group}
        further = {
            name
            for name in aliased.keys() & named.keys()
            if len({place[path] for path in aliased[name]}) == 1
        }
        if further == uniting:
            return groups, uniting
        uniting = further


def _joined_groups(groups: Iterable[set[str]]) -> list[list[str]]:
    group_of: dict[str, set[str]] = {}
    for group in groups:
        joined = group.union(*(group_of[path] for path in group & group_of.keys()))
        group_of |= dict.fromkeys(joined, joined)
    distinct = {id(group): group for group in group_of.values()}
    return sorted(sorted(group) for group in distinct.values())


def _united(winner: Entity, loser: Entity) -> Entity:
    """Return the kept entity with the names and relations of the other."""
    known = {name_key(name) for name in (winner.name, *winner.aliases)}
    aliases = [
        name
        for name in dict.fromkeys((loser.name, *loser.aliases))
        if name_key(name) not in known
    ]
    own = {name_key(winner.name), name_key(loser.name)}
    relations = [
        one
        for one in loser.relations
        if one not in winner.relations and name_key(one.name) not in own
    ]
    return replace(
        winner,
        type=loser.type if winner.type == "concept" else winner.type,
        aliases=(*winner.aliases, *aliases),
        relations=(*winner.relations, *relations),
    )


def _difference(before: Entity, after: Entity, why: str) -> list[BlockEdit]:
    """Return the edit that changes the note of `before` to `after`, if any."""
    keys: dict[str, object] = {}
    if after.aliases != before.aliases:
        keys["aliases"] = list(after.aliases)
    if after.type != before.type:
        keys["type"] = after.type
    add = tuple(one for one in after.relations if one not in before.relations)
    drop = tuple(one for one in before.relations if one not in after.relations)
    if not keys and not add and not drop:
        return []
    return [BlockEdit(before.path, why, keys, add=add, drop=drop)]


def _relinked_memories(
    memories_by_entity: Mapping[str, Sequence[str]], winner: Entity, loser: Entity
) -> dict[str, tuple[str, ...]]:
    """Return the links of memories to the old note as links to the kept one, by id."""
    if _resolves_to(winner.name, loser):  # both files have the same name
        return {}
    return {
        memory: tuple(
            winner.name if _resolves_to(name, loser) else name for name in links
        )
        for memory, links in memories_by_entity.items()
        if any(_resolves_to(name, loser) for name in links)
    }


def _relinked_entities(
    entities: Mapping[str, Entity], winner: Entity, loser: Entity
) -> dict[str, Entity]:
    """Return the entities related to the old note as related to the kept one, by path."""
    if _resolves_to(winner.name, loser):
        return {}
    return {
        path: replace(
            other,
            relations=tuple(
                dict.fromkeys(
                    replace(one, name=winner.name)
                    if _resolves_to(one.name, loser)
                    else one
                    for one in other.relations
                )
            ),
        )
        for path, other in entities.items()
        if path not in {winner.path, loser.path}
        and any(_resolves_to(one.name, loser) for one in other.relations)
    }


def _retired(view: PassView, winner: Entity, loser: Entity, now: datetime) -> Step:
    """Return the step that retires a merged note: moved, or marked if it is linked."""
    why = f"the note of {winner.name} is {winner.path}"
    if not _resolves_to(winner.name, loser) and _linked(view, loser):
        return BlockEdit(loser.path, why, {"superseded_by": f"[[{winner.name}]]"})
    to = f"{TRASH}/{now.astimezone(view.zone):%Y-%m-%d}/{loser.path.rpartition('/')[2]}"
    return Move(loser.path, loser.sha, to, {"superseded_by": f"[[{winner.name}]]"}, why)


def _linked(view: PassView, loser: Entity) -> bool:
    link = f"[[{loser.name}".casefold()
    pages = (
        view.page(path) for path, one in view.entities.items() if one.has_user_text
    )
    texts = [page.own for page in pages if page]
    texts += [one.fact.text for one in view.memories.values()]
    if any(link in text.casefold() for text in texts):
        return True
    return bool(view.reader.linking(loser.name))


def _resolves_to(name: str, entity: Entity) -> bool:
    return name.casefold() == entity.name.casefold()


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
        ask = ModelQuestion.about(
            "subjects", {"facts": rows}, "memories without a subject"
        )
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
    size = view.policy.profiles.together
    return [
        group[at : at + size]
        for _, group in sorted(groups.items())
        for at in range(0, len(group), size)
    ]


def describe(view: PassView, now: datetime) -> list[Step]:
    """Describe entities in one to four sentences of a model (rows B11, B12, C14).

    The model is given the present description, and the memories by date. At most 10
    entities a run are described, only those mentioned or recalled in the last 21 days
    (`B14`), and only if their memories changed. An entity with one memory gets no
    description.
    """
    policy, texts = view.policy.profiles, GeneratedText(view, now)
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
        about = {"name": entity.name, "type": entity.type}
        room -= texts.tell(
            path, "description", "describe", facts, about, rewritten=True
        )
    return texts.finish()


def relate(view: PassView, now: datetime) -> list[Step]:
    """Write a sentence of a model on each relation of an entity (rows B11, B12, B14).

    The same entities as in `describe`, in the same order, if their memories changed.
    """
    policy, texts = view.policy.profiles, GeneratedText(view, now)
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
            about = {
                "name": entity.name,
                "type": entity.type,
                "relations": relations,
            }
            room -= texts.tell(path, "relationships", "relate", facts, about)
    return texts.finish()


def _relations_in(
    view: PassView, entity: Entity, memories: Sequence[MemoryState], today: date
) -> tuple[list[dict[str, object]], list[Fact]]:
    """Return the current relations that memories mention, and those memories.

    The relations are rows in the form of a question.
    """
    policy = view.policy.profiles
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
    touched = _last_recalled if view.policy.profiles.lazy else _last_mentioned_or_used
    latest = view.once(
        _recent, lambda: {path: touched(some) for path, some in known.items()}, known
    )
    since = (now - timedelta(days=view.policy.profiles.recent_days)).timestamp()
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
    policy = view.policy.profiles
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
        note_name(one.fact.path)
        for one in view.memories.values()
        if one.fact.sensitivity != HIGH
        and not lifecycle.hidden_reason(one.fact, now, archive=True)
    }
    alive |= {note_name(path) for path in view.pages("traces")}
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
    paths = [path for path, one in view.entities.items() if one.blocks]
    for folder in ("", "macros", "traces"):
        paths += [path for path in view.pages(folder) if _is_generated(path)]
    return paths


def _is_generated(path: str) -> bool:
    if path in {"profile.md", "IDENTITY.md"}:
        return True
    return path.startswith("macros/") or path.endswith("-story.md")
