"""The known facts that a model is shown with a batch of turns (rows A7, A9; model §3).

"Guess where I'm writing from: Hamburg!" shares no word with "Jonas lives in Leipzig",
so similarity alone does not find what a batch may change. Candidates are the facts that
tell the same states, those on the user's circumstances in life, those about named
entities, and the nearest by words and vectors to each sentence of the user and to what
was said just before: "he died last night" may be about the dog of the turn before.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

from engram.core import ranking
from engram.core.categories import category_of
from engram.core.dedup import is_event
from engram.core.language.sentences import MASK, plain, sentences
from engram.core.language.state_subjects import USER
from engram.core.language.states import State
from engram.core.language.words import STOP, words
from engram.core.lifecycle import hidden_reason
from engram.core.records import Fact
from engram.index.filters import SearchFilter
from engram.index.hiding import is_sensitive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from engram.core.entities import EntityNames
    from engram.core.records import Turn
    from engram.pipeline.compare import Comparison

STANDING = ("home", "employer", "job", "partner", "diet", "study")
"""Attributes of the user that are shown with any turns."""
OF_EACH = 2
"""Facts shown for each of them."""
NEAREST = 5
"""Facts taken from one search."""
SHARE = 3
"""Facts found by the words of sentences, as a multiple of those of another search."""
WORDS = 40
"""Telling words of the turns that are looked for one by one."""
SUBJECTS = 12
"""Entities named in turns whose facts are looked for."""
_COMMON = frozenset[str]().union(*STOP.values())


class KnownFacts:
    """Finds the known facts that turns may change; may be called from any thread."""

    def __init__(self, comparison: Comparison, entities: EntityNames) -> None:
        self.comparison = comparison
        self.entities = entities
        self.index = comparison.index
        self.policy = comparison.settings.policy

    def near(
        self,
        turns: Sequence[Turn],
        before: Sequence[Turn],
        embed: Callable[[Sequence[str]], list[bytes]] | None,
    ) -> tuple[Fact, ...]:
        """Return the facts that words of the user may change, the likeliest first.

        They are active facts that the persona of the turns sees, without the highly
        sensitive ones. `before` are the turns just before; `embed` makes vectors.
        """
        most = self.policy.extraction.known
        own = [turn for turn in turns if turn.role == "user"]
        if not own or not most:
            return ()

        last = own[-1]
        where = SearchFilter(("fact",), ("active",), last.persona or "")
        said = list(dict.fromkeys(_sentences(own)))[:most]
        others = [turn for turn in turns if turn.role == "assistant"]
        replies = list(dict.fromkeys(_sentences(others)))[: most // 2]
        by_words = [self._by_words(text, last.occurred_at, where) for text in said]
        promises = [self._by_words(text, last.occurred_at, where) for text in replies]
        earlier = list(dict.fromkeys(_sentences(before)))[-most // 2 :]
        by_earlier = [self._by_words(one, last.occurred_at, where) for one in earlier]
        nearest = _best_first(by_words)
        single = self._by_single_words(said, last.occurred_at, where)
        searches = [
            self._by_state(said, where)[: most // 2],
            self._standing(where),
            *self._by_vectors(said, where, embed),
            *(nearest[part::SHARE] for part in range(SHARE)),
            self._by_subject(turns, last.occurred_at, where),
            *(single[part::SHARE] for part in range(SHARE)),
            _best_first(by_earlier),
            [one for one in _best_first(promises) if category_of(one.category).promise],
        ]
        found: dict[str, Fact] = {}
        for fact in filter(None, chain.from_iterable(zip_longest(*searches))):
            hidden = hidden_reason(fact, last.occurred_at) or is_sensitive(fact)
            if not hidden and not fact.done:
                found.setdefault(fact.id, fact)
        # What happened cannot end, so it is shown where there is room.
        return tuple(sorted(found.values(), key=is_event)[:most])

    def names(
        self, facts: Iterable[Fact], turns: Iterable[Turn]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the names of the user, and those of others that matter to `turns`.

        Both Daniels are named where a turn says "Daniel".
        """
        owner = tuple(self.comparison.states.owner_names())
        about = (name for fact in facts for name in fact.about)
        return owner, tuple(dict.fromkeys([*self._named(turns), *about]))

    def _named(self, turns: Iterable[Turn]) -> list[str]:
        """Return the names of entities of which the turns say at least a part."""
        texts = [turn.text for turn in turns]
        said = {word for text in texts for word in words(text)} - _COMMON
        found = []
        for entity in self.entities.all():
            parts = {
                word for name in (entity.name, *entity.aliases) for word in words(name)
            }
            is_named = parts & said or (
                parts <= _COMMON and any(entity.name in text for text in texts)
            )
            if is_named and not self.entities.is_owner(entity.name):
                found.append(entity.name)
        return found[:SUBJECTS]

    def _by_subject(
        self, turns: Sequence[Turn], when: datetime, where: SearchFilter
    ) -> list[Fact]:
        """Return facts about the entities that the turns name, best of each first."""
        searches = [
            [
                (score, fact)
                for score, fact in self._by_words(name, when, where)
                if name in fact.about
            ]
            for name in self._named(turns)
        ]
        return _best_first(searches)

    def _by_state(self, texts: Sequence[str], where: SearchFilter) -> list[Fact]:
        """Return the facts with an attribute that the texts tell too."""
        states = self.comparison.states.states_of(*texts)
        told = {state.attribute for state in states}
        near = self.comparison.states.near(states, ("active",), where.persona)
        return [fact for fact in near if told & self._attributes(fact)]

    def _standing(self, where: SearchFilter) -> list[Fact]:
        """Return the facts that tell the user's home, work, partner and the like."""
        found: list[Fact] = []
        for attribute in STANDING:
            asked = State("", (USER,), attribute, ())
            near = self.comparison.states.near([asked], ("active",), where.persona)
            own = [fact for fact in near if attribute in self._attributes(fact)]
            found += own[:OF_EACH]
        return found

    def _attributes(self, fact: Fact) -> set[str]:
        """Return the attributes whose states a fact tells, of the user or of others."""
        return {
            state.attribute for state in self.comparison.states.states_of(fact.text)
        }

    def _by_words(
        self, text: str, when: datetime, where: SearchFilter
    ) -> list[tuple[float, Fact]]:
        """Return the facts that recall would find by the words of a sentence.

        Its time is left out: "two weeks ago" is not about all that was told then.
        """
        question = replace(ranking.parse_question(text, when), span=None)
        hits = self.index.lexical.search(question, where, NEAREST).hits
        scores = {hit.key: hit.score for hit in hits}
        return [(scores[fact.id], fact) for fact in self._facts(list(scores))]

    def _by_single_words(
        self, texts: Sequence[str], when: datetime, where: SearchFilter
    ) -> list[Fact]:
        """Return the facts with one of the telling words, the rarest words first.

        In a long sentence "coffee" weighs less than its other words together.
        """
        said = (word for text in texts for word in words(text))
        telling = dict.fromkeys(word for word in said if word not in _COMMON)
        found = [self._by_words(word, when, where) for word in list(telling)[:WORDS]]
        return _best_first([[one] for some in found for one in some])

    def _by_vectors(
        self,
        texts: Sequence[str],
        where: SearchFilter,
        embed: Callable[[Sequence[str]], list[bytes]] | None,
    ) -> list[list[Fact]]:
        """Return the facts near each sentence, by vectors, if the model is calibrated."""
        semantic = self.index.semantic
        if semantic is None or embed is None:
            return []
        self.comparison.embed_new(texts, embed)
        if not self.comparison.neighbours.is_calibrated:
            return []
        vectors = filter(None, map(semantic.vector, texts))
        found = (
            semantic.similar(self.index.lexical, vector, where, NEAREST)
            for vector in vectors
        )
        return [self._facts([key for key, _ in near]) for near in found]

    def _facts(self, keys: Sequence[str]) -> list[Fact]:
        units = self.index.units(keys)
        return [unit for key in keys if isinstance(unit := units.get(key), Fact)]


def _best_first(searches: Sequence[Sequence[tuple[float, Fact]]]) -> list[Fact]:
    """Return the best fact of each search, then the others by their scores."""
    firsts = [found[0] for found in searches if found]
    others = [one for found in searches for one in found[1:]]
    return [
        fact
        for scored in (firsts, others)
        for _, fact in sorted(scored, key=lambda one: (-one[0], one[1].id))
    ]


def _sentences(turns: Iterable[Turn]) -> Iterable[str]:
    """Yield the sentences of turns, without code and what others are quoted with."""
    for turn in turns:
        words = plain(turn.text)
        for start, end in sentences(words):
            yield words[start:end].replace(MASK, " ").strip()
