"""Facts in a context that answer no question: about the user and named entities.

Only active facts are returned (law 7). Rows C14, E18.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.core import lifecycle, personas, user_facts
from engram.core.categories import category_of
from engram.core.entities import EntityNames, entity_ref, name_key
from engram.core.language.languages import LazyPattern
from engram.core.language.words import words
from engram.core.records import Entity, Fact, SearchHit
from engram.core.trust import EXTERNAL, Provenance
from engram.recall import formatting
from engram.recall.topics import past_states

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from engram.config import Settings
    from engram.index.search import Index

_NAME_WORDS = 4
_UNSPACED = LazyPattern(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_UNSPACED_SIGNS = 6


def may_show(fact: Fact, persona: str | None, now: datetime) -> bool:
    """Return whether a fact is active and its persona matches."""
    return (
        personas.sees(persona, fact.persona)
        and lifecycle.hidden_reason(fact, now) is None
    )


class CurrentFacts:
    """Selects current facts for one context; `facts` are those of the vault."""

    def __init__(
        self,
        index: Index,
        settings: Settings,
        names: EntityNames,
        persona: str | None,
        now: datetime,
    ) -> None:
        self.index = index
        self.settings = settings
        self.names = names
        self.persona = persona
        self.now = now

    def about_user(
        self,
        facts: Iterable[Fact],
        slots: Mapping[str, Sequence[user_facts.Slot]],
        cost: Callable[[Fact], int],
    ) -> list[Fact]:
        """Return the facts about the user, within the budget of the policy (`E18`).

        `slots` are those of the facts by id.
        """
        policy = self.settings.policy.recall
        owner = user_facts.Owner(self.names.is_owner, self.names.owner_words())
        own = [
            fact
            for fact in facts
            if slots.get(fact.id) and may_show(fact, self.persona, self.now)
        ]
        found = user_facts.candidates(
            own, owner, slots, policy.user_read, policy.user_each
        )
        past = self._past(fact for some in found.values() for fact in some)
        sources = self._sources(fact for some in found.values() for fact in some)
        current = {
            name: [
                visible_fact
                for fact in some
                if fact.id not in past
                and sources[fact.id].said_by != "tool"
                and (name != user_facts.WISH or sources[fact.id].said_by == "user")
                if isinstance(visible_fact := self.index.visible(fact), Fact)
            ]
            for name, some in found.items()
        }
        return user_facts.choose(current, cost, policy.user_tokens)

    def cards(self, query: str, facts: Sequence[Fact]) -> dict[str, list[Fact]]:
        """Return the facts about each entity that a question names, by its name.

        Kinship and standing attributes come first. What an import or a tool says is
        left out (`X27`).
        """
        policy = self.settings.policy.recall
        cards: dict[str, list[Fact]] = {}
        for entity in self._named(query)[: policy.cards]:
            keys = {name_key(name) for name in (entity.name, *entity.aliases)}
            about = [
                fact
                for fact in facts
                if not keys.isdisjoint(map(name_key, fact.about))
                and may_show(fact, self.persona, self.now)
                and fact.kind != "episode"
                and not user_facts.is_doubted(fact)
            ]
            best = sorted(about, key=_card_order)[: 3 * policy.card_lines]
            past, sources = self._past(best), self._sources(best)
            visible_facts = (
                self.index.visible(one)
                for one in best
                if one.id not in past and sources[one.id].said_by not in EXTERNAL
            )
            lines = [one for one in visible_facts if isinstance(one, Fact)]
            if lines:
                cards[entity.name] = lines[: policy.card_lines]
        return cards

    def cards_of_hits(
        self, hits: Sequence[SearchHit], facts: Iterable[Fact]
    ) -> dict[str, frozenset[str]]:
        """Return a line on each entity that the hits are about, best first (`E8`).

        `- [person:john]: f1; f2; f3` lists the most important facts about the entity:
        current facts stated by the user that are pinned or important and that are not
        among the hits. The values are the ids of these facts.
        """
        policy = self.settings.policy
        found = {hit.key for hit in hits if "text" in hit.parts}
        entities = self._entities_of(hits)[: policy.recall.hit_cards]
        keys = [
            {name_key(name) for name in (entity.name, *entity.aliases)}
            for entity in entities
        ]
        named = frozenset[str]().union(*keys)
        weighty = [
            fact
            for fact in facts
            if not named.isdisjoint(map(name_key, fact.about))
            and self._is_weighty(fact)
            and fact.id not in found
        ]
        lines: dict[str, frozenset[str]] = {}
        for entity, own in zip(entities, keys, strict=True):
            about = [
                fact
                for fact in weighty
                if not own.isdisjoint(map(name_key, fact.about))
            ]
            some = self._current_from_user(sorted(about, key=_weight_order))
            if some := some[: policy.recall.hit_card_facts]:
                ref = entity_ref(entity.type, entity.name)
                texts = "; ".join(" ".join(fact.text.split()) for fact in some)
                ids = frozenset(fact.id for fact in some)
                lines[f"- [{ref}]: {texts}"] = ids
                weighty = [fact for fact in weighty if fact.id not in ids]
        return lines

    def _is_weighty(self, fact: Fact) -> bool:
        """Return whether a fact about an entity is important and visible (`E8`).

        A pinned fact counts as important.
        """
        least = self.settings.policy.recall.card_importance
        return (
            bool(fact.about)
            and (fact.pinned or fact.importance >= least)
            and may_show(fact, self.persona, self.now)
            and not user_facts.is_doubted(fact)
        )

    def _entities_of(self, hits: Sequence[SearchHit]) -> list[Entity]:
        """Return the entities that hits are about, without the owner, best first."""
        entities: dict[str, Entity] = {}
        for name in (name for hit in hits for name in hit.about):
            entity = self.names.one(name)
            if entity and not self.names.is_owner(name):
                entities.setdefault(entity.path, entity)
        return list(entities.values())

    def _current_from_user(self, facts: Sequence[Fact]) -> list[Fact]:
        """Return those of the first facts that the user stated and that are current."""
        first = facts[: 3 * self.settings.policy.recall.hit_card_facts]
        sources = self._sources(first)
        return [
            visible_fact
            for fact in first
            if sources[fact.id].said_by == "user"
            if isinstance(visible_fact := self.index.visible(fact), Fact)
        ]

    def _past(self, facts: Iterable[Fact]) -> Collection[str]:
        """Return the ids of the facts that a newer statement probably replaced."""
        return past_states(self.index, [one.id for one in facts], self.now)

    def _sources(self, facts: Iterable[Fact]) -> Mapping[str, Provenance]:
        return formatting.provenance(self.index, facts, self.settings.policy.trust)

    def _named(self, query: str) -> list[Entity]:
        """Return the entities that a question names, in order, without the owner."""
        found: dict[str, Entity] = {}
        for name in _possible_names(query):
            if self.names.is_owner(name):
                continue
            one = self.names.one(name)
            for entity in self.names.called(name) or ([one] if one else []):
                found.setdefault(entity.path, entity)
        return [one for one in found.values() if not self.names.is_owner(one.name)]


def _card_order(fact: Fact) -> tuple[object, ...]:
    name = user_facts.standing_attribute(fact.text, fact.attribute)
    close = category_of(fact.category).relates_people or name == "family"
    return (not close, not name, *user_facts.by_worth(fact))


def _weight_order(fact: Fact) -> tuple[object, ...]:
    """Order pinned facts first, then by importance, then latest first (`E8`)."""
    created = fact.created.timestamp() if fact.created else 0.0
    return not fact.pinned, -fact.importance, -created, fact.id


def _possible_names(query: str) -> list[str]:
    """Return the parts of a question that may be names, longer ones first."""
    spoken = words(query)
    found = [
        " ".join(spoken[start : start + length])
        for length in range(_NAME_WORDS, 0, -1)
        for start in range(len(spoken) - length + 1)
    ]
    for run in _UNSPACED.findall(query):
        found += [
            run[start : start + length]
            for length in range(min(_UNSPACED_SIGNS, len(run)), 1, -1)
            for start in range(len(run) - length + 1)
        ]
    return list(dict.fromkeys(found))
