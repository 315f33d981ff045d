"""Simple retrievers for comparison: rank_bm25, a word search, the whole text.

A retriever is made from the turns of a conversation and ranks them for a question.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
from rank_bm25 import BM25Okapi

from engram.core.excerpts import count_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from engram.core.policy import RecallPolicy
    from engram.core.records import Turn

    Ranker = Callable[[str], list[str]]

_WORD = re.compile(r"\w+")


def split_at_blanks(text: str) -> list[str]:
    """Return the words as in the documentation of rank_bm25."""
    return text.split(" ")


def lower_words(text: str) -> list[str]:
    """Return the words in lower case, without punctuation."""
    return _WORD.findall(text.lower())


def okapi(
    turns: Sequence[Turn], tokens: Callable[[str], list[str]] = lower_words
) -> Ranker:
    """Return a ranker by rank_bm25's Okapi."""
    index = BM25Okapi([tokens(turn.text) for turn in turns])
    ids = [turn.id for turn in turns]

    def ranked(question: str) -> list[str]:
        scores = index.get_scores(tokens(question))
        return [ids[place] for place in np.argsort(-scores, kind="stable")]

    return ranked


def grep(turns: Sequence[Turn]) -> Ranker:
    """Return a ranker by the number of the question's words in a turn.

    Turns without any are left out. Of two turns with equal numbers the newer one comes
    first.
    """
    spoken = [(frozenset(lower_words(turn.text)), turn.id) for turn in turns]

    def ranked(question: str) -> list[str]:
        wanted = frozenset(lower_words(question))
        counts = [(len(wanted & some), at) for at, (some, _) in enumerate(spoken)]
        return [spoken[at][1] for count, at in sorted(counts, reverse=True) if count]

    return ranked


def full_context(turns: Sequence[Turn]) -> Ranker:
    """Return a ranker that has all turns, the newest first."""
    ids = [turn.id for turn in reversed(turns)]
    return lambda _: ids


BASELINES: Mapping[str, Callable[[Sequence[Turn]], Ranker]] = {
    "rank_bm25": okapi,
    "grep": grep,
    "full context": full_context,
}


def filled(
    ranked: Sequence[str], lines: Mapping[str, str], budget: int, policy: RecallPolicy
) -> tuple[list[str], int]:
    """Return the first turns that fit into a budget of tokens, and their tokens.

    `lines` are the turns in the form of a context, with their speaker, by id.
    """
    chosen: list[str] = []
    spent = 0
    for one in ranked:
        cost = count_tokens(lines[one], policy)
        if spent + cost > budget:
            break
        chosen.append(one)
        spent += cost
    return chosen, spent
