"""Entity notes: united, described, with cards and bridges (rows A33, B11–B14, C13, C14,
D9).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from datetime import timedelta
from itertools import combinations
from typing import TYPE_CHECKING, Any

from engram.core import lifecycle
from engram.core.actions import Eligibility, propose
from engram.core.entities import entity_ref, name_key
from engram.core.language.words import words
from engram.core.records import BlockEdit, Edge, Edit, Fact, Line, Move
from engram.maintenance.passes import TRASH, Finding, NewEdge
from engram.maintenance.passes.generated_text import (
    GeneratedText,
    by_weight,
    entity_names,
    line_of,
    link_name,
    memories_by_entity,
    numbered,
    public_memories,
    question_of,
)
from engram.maintenance.passes.groups import link_list

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from engram.core.records import Entity
    from engram.maintenance.passes import MemoryState, PassView, Step


# -- one note for one name -------------------------------------------------------------


def unite(view: PassView, _now: datetime) -> list[Step]:
    """Unite notes of one name, or of a name that is another's alias (`C13`).

    Similar names unite nothing. A note that a person wrote in is kept; two of them are
    left to the person. Further names, relations and links move to the kept note.
    """
    steps: list[Step] = []
    entities = dict(view.entities)
    memories_by_entity = {name: one.fact.about for name, one in view.memories.items()}
    for kept, merged in _fragments(view):
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
    """Move a united note to the trash once no memory links to it any more (`C13`).

    Where words of a person link to it, it stays and names the note that replaces it.
    """
    memories_by_entity = {name: one.fact.about for name, one in view.memories.items()}
    return [
        _retired(view, winner, loser, now)
        for winner, loser in _fragments(view)
        if _united(winner, loser) == winner
        and not _relinked_entities(view.entities, winner, loser)
        and not _relinked_memories(memories_by_entity, winner, loser)
    ]


def _fragments(view: PassView) -> list[tuple[Entity, Entity]]:
    """Pairs of a note that stays and one that goes into it; none that stays goes into
    another.

    A person's own stays, else one whose name is nobody's alias, else the older one.
    """
    return view.once(_fragments, lambda: list(_paired(view.entities)), view.entities)


def _paired(entities: Mapping[str, Entity]) -> Iterator[tuple[Entity, Entity]]:
    """Yield pairs of an entity that stays and one that is united with it."""
    groups, aliases = _alike(entities)

    def rank(one: Entity) -> tuple[bool, bool, str, str]:
        return not one.theirs, name_key(one.name) in aliases, one.id, one.path

    for group in groups:
        some = [entities[path] for path in group]
        types = {one.type for one in some} - {"concept"}
        # with two types nothing says which of them a concept is
        for kind in [""] if len(types) < 2 else sorted(types):
            same = [one for one in some if kind in {"", one.type}]
            stays, *rest = sorted(same, key=rank)
            yield from ((stays, goes) for goes in rest if not goes.theirs)


def _alike(entities: Mapping[str, Entity]) -> tuple[list[list[str]], set[str]]:
    """Group the paths of entities of one name; return also the aliases that unite them.

    An alias unites only if all entities that have it are one already.
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
    """Return the groups, those with a common member as one."""
    found: dict[str, set[str]] = {}
    for group in groups:
        one = group.union(*(found[path] for path in group & found.keys()))
        found |= dict.fromkeys(one, one)
    distinct = {id(one): one for one in found.values()}
    return sorted(sorted(one) for one in distinct.values())


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
        if one not in winner.relations and name_key(one[1]) not in own
    ]
    return replace(
        winner,
        type=loser.type if winner.type == "concept" else winner.type,
        aliases=(*winner.aliases, *aliases),
        relations=(*winner.relations, *relations),
    )


def _difference(before: Entity, after: Entity, why: str) -> list[BlockEdit]:
    """Return the edit that makes the note of `before` say `after`, if any."""
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
    """Return by id the links of memories to the old note, as links to the kept one."""
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
    """Return by path the entities related to the old note, as related to the other."""
    if _resolves_to(winner.name, loser):
        return {}
    return {
        path: replace(
            other,
            relations=tuple(
                dict.fromkeys(
                    (kind, winner.name) if _resolves_to(name, loser) else (kind, name)
                    for kind, name in other.relations
                )
            ),
        )
        for path, other in entities.items()
        if path not in {winner.path, loser.path}
        and any(_resolves_to(name, loser) for _, name in other.relations)
    }


def _retired(view: PassView, winner: Entity, loser: Entity, now: datetime) -> Step:
    why = f"{winner.name} is told in {winner.path}"
    if not _resolves_to(winner.name, loser) and _linked(view, loser):
        return BlockEdit(loser.path, why, {"superseded_by": f"[[{winner.name}]]"})
    to = f"{TRASH}/{now.astimezone(view.zone):%Y-%m-%d}/{loser.path.rpartition('/')[2]}"
    return Move(loser.path, loser.sha, to, {"superseded_by": f"[[{winner.name}]]"}, why)


def _linked(view: PassView, loser: Entity) -> bool:
    """Whether words of a person lead to the note."""
    link = f"[[{loser.name}".casefold()
    pages = (view.page(path) for path, one in view.entities.items() if one.theirs)
    own = [page.own for page in pages if page]
    own += [one.fact.text for one in view.memories.values()]
    return any(link in text.casefold() for text in own) or bool(
        view.reader.linking(loser.name)
    )


def _resolves_to(name: str, entity: Entity) -> bool:
    """Whether a link by this name finds the note."""
    return name.casefold() == entity.name.casefold()


# -- what is told of each --------------------------------------------------------------


def describe(view: PassView, now: datetime) -> list[Step]:
    """One to four sentences on whom or what memories are about, where that changed
    (rows B11, B12, C14).

    At most 5 a run, of those mentioned or recalled in the last 7 days (`B14`); only
    with a model.
    """
    policy, telling = view.policy.portraits, GeneratedText(view, now)
    room = policy.entities - telling.made_now("description")
    known = memories_by_entity(view, now)
    for path in _recent(view, known, now):
        if room <= 0:
            break
        entity = view.entities[path]
        told = sorted(
            sorted(known[path], key=by_weight)[: policy.together],
            key=lambda one: one.fact.id,
        )
        facts = [one.fact for one in told]
        material = {
            "name": entity.name,
            "type": entity.type,
            "facts": numbered(view, facts),
        }
        ask = question_of(
            "describe", material, f"{entity.name} was mentioned or recalled"
        )
        change = BlockEdit(path, f"told from {len(facts)} memories")
        room -= telling.tell(
            change, "description", ask, [(link_name(fact),) for fact in facts]
        )
    return telling.done()


def relate(view: PassView, now: datetime) -> list[Step]:
    """A sentence on each relation that memories tell of, where that changed (rows B11,
    B12, B14).

    As many entities as `describe` tells of, and the same ones first; only with a model.
    """
    policy, telling = view.policy.portraits, GeneratedText(view, now)
    room = policy.entities - telling.made_now("relationships")
    known = memories_by_entity(view, now)
    for path in _recent(view, known, now):
        if room <= 0:
            break
        entity = view.entities[path]
        listed, facts = _relations_told(view, entity, known[path])
        if not listed and "relationships" in entity.blocks:
            change = BlockEdit(
                path, "no memory tells of a relation", blocks={"relationships": ()}
            )
            telling.show(change, view.page(path))
        elif listed:
            material = {
                "name": entity.name,
                "type": entity.type,
                "relations": listed,
                "facts": numbered(view, facts),
            }
            ask = question_of("relate", material, f"relations of {entity.name}")
            change = BlockEdit(path, f"told from {len(facts)} memories")
            room -= telling.tell(
                change, "relationships", ask, [(link_name(fact),) for fact in facts]
            )
    return telling.done()


def _relations_told(
    view: PassView, entity: Entity, told: Sequence[MemoryState]
) -> tuple[list[dict[str, object]], list[Fact]]:
    """The relations that memories about the entity tell of, as a question shows them,
    and those memories.
    """
    policy, listed, facts = (
        view.policy.portraits,
        list[dict[str, object]](),
        list[Fact](),
    )
    for kind, to in entity.relations:
        other = entity_names(view).one(to)
        called = _name_index([other] if other else ())
        tells = [
            one.fact
            for one in sorted(told, key=by_weight)
            if _names_any(one.fact.text, called)
        ][: policy.beside]
        fresh = [fact for fact in tells if fact not in facts]
        if tells and len(facts) + len(fresh) <= policy.together:
            listed.append({"r": len(listed) + 1, "relation": kind, "to": to})
            facts += fresh
    return listed, sorted(facts, key=lambda fact: fact.id)


def _recent(
    view: PassView, known: Mapping[str, Sequence[MemoryState]], now: datetime
) -> list[str]:
    """The paths of entities that were mentioned or recalled in the last 7 days, the
    latest first (`B14`).
    """
    lately = view.once(
        _recent,
        lambda: {path: max(map(_last_touched, some)) for path, some in known.items()},
        known,
    )
    since = (now - timedelta(days=view.policy.portraits.recent_days)).timestamp()
    return [
        path
        for path in sorted(lately, key=lambda path: (-lately[path], path))
        if lately[path] >= since
    ]


def _last_touched(one: MemoryState) -> float:
    times = (one.fact.created, one.usage.last_access, one.usage.evidence_at)
    return max([when.timestamp() for when in times if when], default=0.0)


def cards(view: PassView, now: datetime) -> list[Step]:
    """What tells most of an entity with 5 memories or more, in at most 400 words, each
    with its source (`D9`).
    """
    telling, known = GeneratedText(view, now), memories_by_entity(view, now)
    told = view.once(cards, lambda: _carded(view, known), known)
    for path, entity in view.entities.items():
        if path in told or "card" in entity.blocks:
            why = f"{len(known.get(path, ()))} memories"
            telling.show(
                BlockEdit(path, why, blocks={"card": told.get(path, ())}),
                view.page(path),
            )
    return telling.done()


def _carded(
    view: PassView, known: Mapping[str, Sequence[MemoryState]]
) -> dict[str, tuple[Line, ...]]:
    """The cards of entities that have one, by path."""
    policy = view.policy.portraits
    return {
        path: _lines_within(view, sorted(memories, key=by_weight), policy.card_words)
        for path, memories in known.items()
        if len(memories) >= policy.card_memories
    }


def _lines_within(
    view: PassView, memories: Iterable[MemoryState], most: int
) -> tuple[Line, ...]:
    found: list[Line] = []
    for one in memories:
        told = line_of(view, one.fact)
        most -= len(told.text.split())
        if most < 0:
            break
        found.append(told)
    return tuple(found)


def cleanup(view: PassView, now: datetime) -> list[Step]:
    """Remove generated lines that rest on memories which are over or gone (`B13`)."""
    alive = {
        link_name(one.fact)
        for one in view.memories.values()
        if not lifecycle.hidden_reason(one.fact, now, archive=True)
    }
    alive |= {
        path.rpartition("/")[2].removesuffix(".md") for path in view.pages("traces")
    }
    found: list[Step] = []
    for path in _generated_pages(view):
        page = view.page(path)
        changed: dict[str, tuple[Line, ...]] = {}
        for name, lines in page.blocks.items() if page else ():
            left = tuple(one for one in lines if alive.issuperset(one.sources))
            if left != lines:
                changed[name] = left
        if changed:
            found.append(BlockEdit(path, "it rested on what is over", blocks=changed))
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


# -- whom a memory is about ------------------------------------------------------------


def subjects(view: PassView, now: datetime) -> list[Step]:
    """Memories that name somebody, and are filed under nobody, get their subjects from
    a model (`A33`).

    Only where the statement holds a name that has a note, which need not mean that one:
    "Anna Karenina". All of a conversation are asked about together, so that the
    question stays the same. What a person touched stays.
    """
    called = _name_index(view.entities.values())
    found: list[Step] = []
    for some in _conversations(view, now):
        if not any(
            _names_any(one.fact.text, called)
            for one in some
            if not one.fact.about and not one.kept
        ):
            continue
        material = {
            "facts": [{"n": n, "text": one.fact.text} for n, one in enumerate(some, 1)]
        }
        ask = question_of("subjects", material, "memories without a subject")
        answer = view.answers.get(ask.key)
        if answer is None:
            found.append(ask)
            continue
        for n, one in enumerate(some, 1):
            named = [
                entity_names(view).one(name)
                for name in answer.get("names", {}).get(str(n), ())
            ]
            links = list(
                dict.fromkeys(f"[[{entity.name}]]" for entity in named if entity)
            )
            if links and not one.fact.about:
                found.append(
                    Edit(
                        one.fact.path,
                        one.fact.sha,
                        {"about": links},
                        "the statement names them",
                    )
                )
    return found


def _name_index(some: Iterable[Entity]) -> dict[str, list[list[str]]]:
    """The names of entities as words, by their first word."""
    found: defaultdict[str, list[list[str]]] = defaultdict(list)
    for one in some:
        for name in (one.name, *one.aliases):
            if held := words(name):
                found[held[0]].append(held)
    return dict(found)


def _names_any(text: str, called: Mapping[str, Sequence[Sequence[str]]]) -> bool:
    held = words(text)
    return any(
        held[at : at + len(name)] == name
        for at, word in enumerate(held)
        for name in called.get(word, ())
    )


def _conversations(view: PassView, now: datetime) -> list[list[MemoryState]]:
    """Memories by the conversation they are from, at most 10 together, in an order that
    does not change.
    """
    held: defaultdict[str, list[MemoryState]] = defaultdict(list)
    for one in public_memories(view, now):
        held[one.fact.source.partition("#")[0]].append(one)
    size = view.policy.portraits.together
    return [
        some[at : at + size]
        for _, some in sorted(held.items())
        for at in range(0, len(some), size)
    ]


# -- what two have in common -----------------------------------------------------------


def bridges(view: PassView, now: datetime) -> list[Step]:
    """Two that nobody has put together, and whose memories have words in common, are
    tied if a model says how (`D9`).

    At most 5 pairs a day, in turn. A bridge is a guess: recall does not follow it, and
    either note says on what it rests.
    """
    policy = view.policy.portraits
    known = {
        path: told
        for path, told in memories_by_entity(view, now).items()
        if len(told) >= policy.bridge_memories
    }
    tied = {
        frozenset((edge.source, edge.target))
        for edge in view.edges
        if edge.type == "bridge"
    }
    pairs = _strangers(view, known)
    found: list[Step] = []
    for path, other in _share_of_day(pairs, now, policy.bridges):
        ends = sorted((path, other), key=lambda one: _ref(view, one))
        refs = [_ref(view, end) for end in ends]
        if frozenset(refs) in tied:
            continue
        told = [
            [
                one.fact
                for one in sorted(known[end], key=by_weight)[: policy.together // 2]
            ]
            for end in ends
        ]
        material = {
            "a": {
                "name": view.entities[ends[0]].name,
                "facts": numbered(view, told[0]),
            },
            "b": {
                "name": view.entities[ends[1]].name,
                "facts": numbered(view, told[1], len(told[0]) + 1),
            },
        }
        ask = question_of("bridge", material, "much in common, and no relation")
        answer = view.answers.get(ask.key)
        if answer is None:
            found.append(ask)
        elif answer:
            found += _bridge(view, ends, refs, answer, [*told[0], *told[1]], now)
    return found


def _bridge(
    view: PassView,
    ends: Sequence[str],
    refs: Sequence[str],
    answer: Mapping[str, Any],
    facts: Sequence[Fact],
    now: datetime,
) -> list[Step]:
    rests = [facts[n - 1] for n in answer["facts"]]
    stages = {fact.id: view.stage(view.memories[fact.id], now) for fact in rests}
    weakest = min(rests, key=lambda fact: (stages[fact.id] != "stale", fact.confidence))
    known = Eligibility(
        weakest.confidence, stages[weakest.id], weakest.importance, "consolidation"
    )
    ready = propose("link_graph", known, view.policy.actions)
    if ready.ruling != "allow":
        return [
            Finding(
                weakest.id, weakest.path, f"no bridge rests on it: {ready.why}", ready
            )
        ]
    how = Line(answer["how"], tuple(map(link_name, rests)))
    confidence = view.policy.portraits.bridge_confidence
    found: list[Step] = [
        NewEdge(Edge(refs[0], refs[1], "bridge", how.text, confidence, now), how.text)
    ]
    for end in ends:
        page = view.page(end)
        held = page.blocks.get("bridges", ()) if page else ()
        if how not in held:
            found.append(BlockEdit(end, how.text, blocks={"bridges": (*held, how)}))
    return found


def _strangers(
    view: PassView, known: Mapping[str, Sequence[MemoryState]]
) -> list[tuple[str, str]]:
    """Return unrelated pairs whose memories share telling words, most similar first."""
    policy = view.policy.portraits
    memories = {one.fact.id: one.fact for told in known.values() for one in told}
    said = view.reader.terms.of(memories.values())
    terms = {
        path: _distinct_terms(told, view.entities[path], said)
        for path, told in known.items()
    }
    ids = {path: {one.fact.id for one in told} for path, told in known.items()}
    related = {
        frozenset((edge.source, edge.target))
        for edge in view.edges
        if edge.type == "relation"
    }
    refs = {path: _ref(view, path) for path in known}
    scores: dict[tuple[str, str], float] = {}
    for (one, other), shared in _shared_terms(terms, policy.bridge_spread).items():
        if shared < policy.bridge_words or not ids[one].isdisjoint(ids[other]):
            continue
        if frozenset((refs[one], refs[other])) in related:
            continue
        if not _is_related(view, one, other):
            scores[one, other] = shared / len(terms[one] | terms[other])
    return sorted(scores, key=lambda pair: (-scores[pair], pair))


def _shared_terms(terms: Mapping[str, set[int]], most: int) -> Counter[tuple[str, str]]:
    """Count by pair of entities the terms that both, and at most `most`, have."""
    spread: defaultdict[int, list[str]] = defaultdict(list)
    for path in sorted(terms):
        for term in terms[path]:
            spread[term].append(path)
    return Counter(
        pair
        for paths in spread.values()
        if len(paths) <= most
        for pair in combinations(paths, 2)
    )


def _is_related(view: PassView, one: str, other: str) -> bool:
    entity_names = [view.entities[path].name for path in (one, other)]
    return any(
        target == entity_names[1 - at]
        for at, path in enumerate((one, other))
        for _, target in view.entities[path].relations
    )


def _distinct_terms(
    told: Iterable[MemoryState], entity: Entity, said: Mapping[str, Sequence[int]]
) -> set[int]:
    own = map(hash, words(" ".join((entity.name, *entity.aliases))))
    return {term for one in told for term in said[one.fact.id]}.difference(own)


def _share_of_day(
    pairs: Sequence[tuple[str, str]], now: datetime, most: int
) -> list[tuple[str, str]]:
    """The pairs whose turn it is today."""
    if not pairs or not most:
        return []
    turns = -(-len(pairs) // most)
    start = now.toordinal() % turns * most
    return list(pairs[start : start + most])


def _ref(view: PassView, path: str) -> str:
    entity = view.entities[path]
    return entity_ref(entity.type, entity.name)
