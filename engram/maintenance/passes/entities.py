"""One note for each entity: notes of the same entity are united (row C13)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from engram.core.entities import name_key
from engram.core.records import BlockEdit, Edit, Move
from engram.maintenance.passes import TRASH
from engram.maintenance.passes.groups import link_list

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from engram.core.records import Entity
    from engram.maintenance.passes import PassView, Step


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
    """Return the groups, with groups that share a member joined."""
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
    """Return whether text of a user links to the note."""
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
    """Return whether a link by this name leads to the note."""
    return name.casefold() == entity.name.casefold()
