"""Count the tokens of a text, and cut it at a sentence or an item of a list (`X24`)."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from engram.core.language.languages import LazyPattern

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.core.policy import RecallPolicy

_WIDE = LazyPattern(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]"
)
_BORDER = LazyPattern(r"[.!?]+[\"'”’)\]*_]*\s+|[。！？]+[”’」』)\]]*\s*|\n+")
"""The end of a sentence or of a line."""
_ITEM = LazyPattern(r"\s*(?:[-*•–]|\d{1,3}[.)]|[a-zA-Z][.)])\s+")
"""The sign before an item of a list; no cut may separate it from the item."""
_ELLIPSIS = "…"
_STEM = 6
"""The number of letters that identify a word of the question in other inflections."""


def count_tokens(text: str, policy: RecallPolicy) -> int:
    """Return the estimated number of tokens of `text`.

    The estimate is one token for `chars_per_token` characters, and one a character in
    scripts that write words without spaces.
    """
    wide = 0 if text.isascii() else len(_WIDE.findall(text))
    return math.ceil((len(text) - wide) / policy.chars_per_token) + wide


def excerpt(
    text: str, search_words: Sequence[str], limit: int, policy: RecallPolicy
) -> str:
    """Return the consecutive sentences of `text` with most of the `search_words`.

    The excerpt costs at most `limit` tokens; an ellipsis marks each cut, followed by
    the number of omitted list items. Of equal passages the first is chosen. A single
    sentence that is too long is cut at a word.
    """
    pieces = _pieces(text)
    wanted_words = _one_of(tuple(search_words))
    shared = [
        set(map(str.casefold, wanted_words.findall(piece))) if wanted_words else set()
        for piece in pieces
    ]
    costs = [count_tokens(piece, policy) for piece in pieces]
    limit -= count_tokens(f"{_ELLIPSIS} ", policy) + count_tokens(_end(99), policy)

    start, end, most, first, spent = 0, 1, -1, 0, 0
    for last in range(len(pieces)):
        spent += costs[last]
        while first < last and spent > limit:
            spent -= costs[first]
            first += 1
        score = len(set().union(*shared[first : last + 1]))
        if score > most or (score == most and first == start):
            start, end, most = first, last + 1, score

    passage = "".join(pieces[start:end]).strip()
    cut = end < len(pieces)
    if count_tokens(passage, policy) > limit:
        passage, cut = _truncate(passage, limit, policy), True
    before = f"{_ELLIPSIS} " if start else ""
    missing = sum(bool(_ITEM.match(piece)) for piece in pieces[end:])
    return f"{before}{passage}{_end(missing) if cut else ''}"


@lru_cache(maxsize=1 << 4)
def _one_of(search_words: tuple[str, ...]) -> re.Pattern[str] | None:
    """Return a pattern that matches the beginnings of these words."""
    if not search_words:
        return None
    begun = sorted({re.escape(word[:_STEM]) for word in search_words})
    border = r"\b" if all(word.isascii() for word in search_words) else ""
    return re.compile(f"{border}(?:{'|'.join(begun)})", re.IGNORECASE)


def _pieces(text: str) -> list[str]:
    """Return the sentences and lines of a text, which concatenate to the text."""
    pieces, start = [], 0
    for border in _BORDER.finditer(text):
        piece = text[start : border.end()]
        if not piece.strip() or (_ITEM.fullmatch(piece) and "\n" not in border.group()):
            continue
        pieces.append(piece)
        start = border.end()
    return [*pieces, text[start:]] if text[start:].strip() else pieces or [text]


def _end(items: int) -> str:
    """Return the sign of a cut, with the number of omitted list items."""
    if not items:
        return f" {_ELLIPSIS}"
    return f" {_ELLIPSIS} (+{items} item{'s' if items > 1 else ''})"


def _truncate(text: str, limit: int, policy: RecallPolicy) -> str:
    """Return the first words of `text` that cost at most `limit` tokens.

    A single word that is too long is cut.
    """
    head = text[: max(0, int(limit * policy.chars_per_token))]
    while head and count_tokens(head, policy) > limit:
        head = head[: -max(1, len(head) // 20)]
    end = head.rfind(" ")
    return head[:end] if end > 0 else head
