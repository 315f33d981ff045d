"""Fill the token budget of an answer with hits, best first (rows C9, E18, X24).

`select` takes whole hits until the budget is used. Long turns are shortened first and
lengthened again if tokens remain. Tokens are counted as in `formatting.fenced`.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engram.core.excerpts import count_tokens, excerpt
from engram.core.text import normalise
from engram.recall import formatting

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engram.core.policy import RecallPolicy
    from engram.core.ranking import Question
    from engram.core.records import SearchHit


@dataclass(frozen=True, slots=True)
class Selection:
    """The hits of an answer; `repeated` counts those that say what a better one says."""

    hits: tuple[SearchHit, ...]
    repeated: int


def select(
    hits: Iterable[SearchHit],
    question: Question,
    policy: RecallPolicy,
    k: int,
    budget: int,
) -> Selection:
    """Return the best of `hits` whose text costs at most `budget` tokens, at most `k`.

    The hits keep their order, and each has its cost in `tokens`. A hit is left out if
    it has the text of a better one (of equal texts a fact is shown), or is a turn whose
    words a fact before it shows. `hits` is read until the budget is used.
    """
    page = _Page(question, policy, budget)
    repeated = 0
    for number, hit in enumerate(hits, 1):
        first = _first_words(hit.text)
        if hit.key in page.quoted or page.has_text(hit, first):
            repeated += 1
        elif not page.add(hit, first):
            break
        if number - repeated == k:
            break
    page.lengthen()
    for place in page.places:
        place.hit.tokens = place.cost
    return Selection(tuple(place.hit for place in page.places), repeated)


def max_hits(k: int, budget: int, policy: RecallPolicy) -> int:
    """Return the number of units that fit into `budget` tokens, at most `k`."""
    return min(k, budget // policy.least_tokens)


@dataclass(slots=True)
class _Chosen:
    """A hit as it is shown, the whole hit, its cost, and the heading of its day."""

    hit: SearchHit
    whole: SearchHit
    cost: int
    day: str


class _Page:
    """The hits chosen so far, and the remaining tokens.

    `quoted` are the keys of turns that a chosen fact shows in full, `texts` the chosen
    hits by the first words of their text.
    """

    def __init__(self, question: Question, policy: RecallPolicy, budget: int) -> None:
        self.question = question
        self.policy = policy
        self.tokens_left = budget - self._cost(formatting.fence("", "0" * 8))
        self.places: list[_Chosen] = []
        self.quoted: set[str] = set()
        self.texts: dict[tuple[str, ...], list[_Chosen]] = {}
        self._days: Counter[str] = Counter()
        self._turns: Counter[str] = Counter()

    def add(self, hit: SearchHit, first: tuple[str, ...]) -> bool:
        """Add a hit, cut to the remaining tokens; return False if it does not fit.

        `first` are the first words of its text.
        """
        whole = hit
        if hit.said and self._turns[hit.source]:
            hit = replace(hit, said="")
        day = formatting.day_line(hit.when)
        room = self.tokens_left - (0 if self._days[day] else self._cost(day))
        short, cost = self._fitted(hit, min(self._most(hit), room), room)
        is_cut = short.text != hit.text
        if cost > room or (is_cut and room < self.policy.least_tokens):
            return False
        self.tokens_left = room - cost
        self._days[day] += 1
        self._turns[hit.source] += 1
        if hit.kind == "fact" and short.said == whole.said:
            self.quoted.add(hit.source)
        place = _Chosen(short, hit, cost, day)
        self.texts.setdefault(first, []).append(place)
        self.places.append(place)
        return True

    def has_text(self, hit: SearchHit, first: tuple[str, ...]) -> bool:
        """Return whether a chosen hit has the same text; a fact takes a turn's place."""
        alike = self.texts.get(first, ())
        text = normalise(hit.text) if alike else ""
        same = next((one for one in alike if normalise(one.whole.text) == text), None)
        if same is None:
            return False
        if hit.kind == "fact" and same.hit.kind == "turn":
            known = same.hit
            same.hit = replace(hit, said="", score=known.score, rank=known.rank)
            same.whole = same.hit
        return True

    def lengthen(self) -> None:
        """Lengthen the hits that were cut, best first, while tokens remain."""
        for place in self.places:
            if self.tokens_left < self.policy.least_tokens:
                return
            if place.hit.text == place.whole.text:
                continue
            limit = place.cost + self.tokens_left
            longer, cost = self._fitted(place.whole, limit, limit)
            if place.cost < cost <= limit:
                self.tokens_left = limit - cost
                place.hit, place.cost = longer, cost

    def _most(self, hit: SearchHit) -> int:
        """Return the maximum number of tokens of a hit while other hits follow."""
        asked = self.question.about_role == "assistant"
        if hit.kind == "turn" and hit.said_by == "assistant" and not asked:
            return self.policy.assistant_tokens
        if hit.said:
            without = self._cost(formatting.line_without_said(hit))
            return without + self.policy.hit_tokens
        return self.policy.hit_tokens

    def _cut(self, hit: SearchHit, limit: int) -> tuple[SearchHit, int]:
        """Return a hit cut to `limit` tokens, if possible, and the cost of its line."""
        cost = self._line_cost(hit)
        if cost <= limit:
            return hit, cost
        if hit.said:
            least = formatting.line_without_said(hit) + formatting.said_words("-")
            tokens_left = limit - self._cost(least)
            if tokens_left < self.policy.least_tokens:
                return self._cut(replace(hit, said=""), limit)
            hit = replace(hit, said=self._excerpt(hit.said, tokens_left))
        else:
            overhead = self._line_cost(replace(hit, text=""))
            hit = replace(hit, text=self._excerpt(hit.text, limit - overhead))
        return hit, self._line_cost(hit)

    def _fitted(self, whole: SearchHit, most: int, limit: int) -> tuple[SearchHit, int]:
        """Return a hit cut to `most` tokens, and its cost.

        It has its dates if they fit into `limit` tokens.
        """
        if not whole.dates:
            return self._cut(whole, most)
        hit, cost = self._cut(replace(whole, dates=()), most)
        dated = formatting.with_dates(hit, whole.dates)
        if dated is hit:
            return hit, cost
        more = self._line_cost(dated)
        return (dated, more) if more <= limit else (hit, cost)

    def _excerpt(self, text: str, limit: int) -> str:
        return excerpt(text, self.question.words, limit, self.policy)

    def _line_cost(self, hit: SearchHit) -> int:
        return self._cost(formatting.line(hit))

    def _cost(self, text: str) -> int:
        return count_tokens(f"{text}\n", self.policy)


def _first_words(text: str) -> tuple[str, ...]:
    """Return words by which most texts differ, without computing their normal form."""
    return tuple(_WORD.findall(text[:200].casefold())[:8])


_WORD = re.compile(r"\w+")
