"""The known facts that a model is given with a batch of turns (rows A7, A9; model §3).

"Guess where I'm writing from: Hamburg!" shares no word with "Jonas lives in Leipzig",
so similarity alone does not find the facts that a batch may change. Always given are
the health of the household and the open promises. Then come the facts that state the
same attributes, facts about the user's circumstances in life and about named entities,
and the facts nearest by words and vectors to each sentence of the user and to the turns
just before: "he died last night" may be about the dog of the turn before. None is left
out for its kind: a booking can change like a taste. The prompt has room for so many.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import accumulate, chain, zip_longest
from typing import TYPE_CHECKING

from engram.core import ranking, todos
from engram.core.language.sentences import MASK, plain, sentences
from engram.core.language.words import STOP, words
from engram.core.lifecycle import hidden_reason
from engram.core.records import Fact, Turn
from engram.index.filters import SearchFilter
from engram.index.hiding import is_sensitive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from engram.core.entities import EntityNames
    from engram.pipeline.compare import Comparison

ALWAYS = (
    *("allergy", "health", "medication", "diet"),
    *("home", "employer", "job", "partner", "study"),
)
"""Attributes of anybody whose facts are given before all others."""
SENTENCES = 20
"""Number of sentences of the user that are searched for."""
NEAREST = 5
"""Number of facts taken from one search."""
WORDS = 40
"""Number of significant words of the turns that are searched for singly."""
SUBJECTS = 12
"""Number of named entities whose facts are searched for."""
OVERDUE, AHEAD = 7, 30
"""Days after and before the day of a promise in which it is given always."""
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
        """Return the facts that the user's words may change, as many as a prompt takes.

        They are active facts that the persona of the turns sees, without highly
        sensitive ones: those about the household's health, the open promises, then the
        nearest. `before` are the turns just before; `embed` makes vectors.
        """
        from engram.llm.links import known_line

        policy, most = self.policy.extraction, SENTENCES
        own = [turn for turn in turns if turn.role == "user"]
        if not own or not policy.known:
            return ()

        now = own[-1].occurred_at
        where = SearchFilter(("fact",), ("active",), own[-1].persona or "")
        statements = _sentences(own)[:most]
        replies = [turn for turn in turns if turn.role == "assistant"]
        few = most // 2
        beside = [*_sentences(before)[-few:], *_sentences(replies)[:few]]
        by_words = self._by_sentences(statements, now, where)
        searches = [
            self._by_state(statements, where),
            *self._by_vectors(statements, where, embed),
            by_words,
            self._by_single_words(statements, now, where),
            self._by_subject(turns, now, where),
            self._by_sentences(beside, now, where),
        ]
        search = self.comparison.states
        always = [search.standing(one, where.persona) for one in ALWAYS]
        always.append(self._promises(by_words, now, where))
        nearest = chain.from_iterable(zip_longest(*searches))
        found = self._shown(self._with_resting(chain(*always, nearest)), now)
        sizes = accumulate(len(known_line(fact, policy)) for fact in found)
        return tuple(
            fact
            for fact, size in zip(found, sizes, strict=True)
            if size <= policy.known
        )

    def _with_resting(self, facts: Iterable[Fact | None]) -> Iterator[Fact]:
        """Yield each fact and after it those that name it as their ground (`X29`)."""
        known = list(filter(None, facts))
        resting = self.index.catalog.resting_on([fact.id for fact in known])
        for fact in known:
            yield fact
            beside = self.index.facts(resting.get(fact.id, ()))
            yield from (one for one in beside if fact.id in one.because)

    @staticmethod
    def _shown(facts: Iterable[Fact | None], now: datetime) -> list[Fact]:
        """Return the facts that hold and that a model may see, each once."""
        found = {fact.id: fact for fact in facts if fact}
        return [
            fact
            for fact in found.values()
            if not (fact.done or hidden_reason(fact, now) or is_sensitive(fact))
        ]

    def names(
        self, facts: Iterable[Fact], turns: Iterable[Turn]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the names of the user, and names of others that matter to `turns`.

        If a turn says "Daniel", every Daniel is included; a name that is shown in its
        fact is not.
        """
        owner = tuple(self.comparison.states.owner_names())
        about = (name for fact in facts for name in fact.about if name not in fact.text)
        return owner, tuple(dict.fromkeys([*self._named(turns), *about]))

    def _named(self, turns: Iterable[Turn]) -> list[str]:
        """Return the names of entities of which the turns contain at least a part."""
        texts = [turn.text for turn in turns]
        spoken = {word for text in texts for word in words(text)} - _COMMON
        found = []
        for entity in self.entities.all():
            parts = {
                word for name in (entity.name, *entity.aliases) for word in words(name)
            }
            is_named = parts & spoken or (
                parts <= _COMMON and any(entity.name in text for text in texts)
            )
            if is_named and not self.entities.is_owner(entity.name):
                found.append(entity.name)
        return found[:SUBJECTS]

    def _by_subject(
        self, turns: Sequence[Turn], when: datetime, where: SearchFilter
    ) -> list[Fact]:
        """Return facts about the entities that the turns name, the best of each first."""
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
        """Return the facts with an attribute that the texts state too."""
        states = self.comparison.states.states_of(*texts)
        return self.comparison.states.near(states, ("active",), where.persona)

    def _promises(
        self, near: Sequence[Fact], now: datetime, where: SearchFilter
    ) -> list[Fact]:
        """Return the open promises: those near the words first, then by their days.

        One that is overdue for long, or due much later, is given only if it is near.
        """
        soon, last = now + timedelta(days=AHEAD), datetime.max.replace(tzinfo=UTC)
        is_open = [
            one
            for one in self.index.catalog.promises()
            if todos.is_open(one)
            and one.persona in {None, where.persona or None}
            and not todos.is_past(one, now, OVERDUE)
            and (one.valid_from or now) <= soon
        ]
        places = {fact.id: place for place, fact in enumerate(near)}
        return sorted(
            is_open,
            key=lambda one: (
                places.get(one.id, len(places)),
                todos.due_at(one) or last,
                one.id,
            ),
        )

    def _by_sentences(
        self, texts: Iterable[str], when: datetime, where: SearchFilter
    ) -> list[Fact]:
        """Return facts that recall would find by each sentence, best of each first."""
        return _best_first([self._by_words(text, when, where) for text in texts])

    def _by_words(
        self, text: str, when: datetime, where: SearchFilter
    ) -> list[tuple[float, Fact]]:
        """Return the facts that recall would find by the words of a sentence.

        Each comes with its score. Words for time are left out: "two weeks ago" does not
        refer to all statements of that day.
        """
        question = replace(ranking.parse_question(text, when), span=None)
        found = self.index.by_words(question, where, NEAREST)
        return [(score, unit) for score, unit in found if isinstance(unit, Fact)]

    def _by_single_words(
        self, texts: Sequence[str], when: datetime, where: SearchFilter
    ) -> list[Fact]:
        """Return the facts with one of the significant words, rarest words first.

        In a long sentence "coffee" has less weight than the other words together.
        """
        all_words = (word for text in texts for word in words(text))
        significant = dict.fromkeys(word for word in all_words if word not in _COMMON)
        found = [
            self._by_words(word, when, where) for word in list(significant)[:WORDS]
        ]
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
        if not self.comparison.is_calibrated:
            return []
        vectors = filter(None, map(semantic.vector, texts))
        found = (
            semantic.similar(self.index.lexical, vector, where, NEAREST)
            for vector in vectors
        )
        return [self.index.facts(key for key, _ in near) for near in found]


def _best_first(searches: Sequence[Sequence[tuple[float, Fact]]]) -> list[Fact]:
    """Return the best fact of each search, then the others by their scores."""
    firsts = [found[0] for found in searches if found]
    others = [one for found in searches for one in found[1:]]
    return [
        fact
        for scored in (firsts, others)
        for _, fact in sorted(scored, key=lambda one: (-one[0], one[1].id))
    ]


def _sentences(turns: Iterable[Turn]) -> list[str]:
    """Return the distinct sentences of turns, without code and quotations."""
    texts = [plain(turn.text) for turn in turns]
    found = (text[start:end] for text in texts for start, end in sentences(text))
    return list(dict.fromkeys(one.replace(MASK, " ").strip() for one in found))
