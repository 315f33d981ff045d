"""Rewording of a speaker's text: third person, full dates (rows X2, X14)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engram.core.language.dates import FULL_YEAR, in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.core.language.dates import Span
    from engram.core.records import Interval

_UNSPACED_END = re.compile(r"[\u3041-\u30ff\u3400-\u9fff]$")


def with_dates(raw: str, start: int, dates: Sequence[Span]) -> str:
    """Return `raw`, at `start`, with each date after its words and no other change."""
    out, place = [], 0
    for date in dates:
        first, last = date.start - start, min(date.end - start, len(raw))
        if place <= first < last:
            out += [raw[place:first], _dated(raw[first:last], date.interval)]
            place = last
    return "".join([*out, raw[place:]])


def _dated(words: str, interval: Interval) -> str:
    """Return the words for a time, with its date in brackets unless they are one."""
    return words if FULL_YEAR.search(words) else f"{words} ({in_words(interval)[1]})"


def lowered(words: str) -> str:
    """Return `words` as within a sentence: `My brother` becomes `my brother`."""
    return words[:1].lower() + words[1:] if words[:2].istitle() else words


def tidy(text: str) -> str:
    """Return `text` as a complete sentence."""
    text = re.sub(r"\s+([,.])", r"\1", re.sub(r"\s+", " ", text)).strip()
    ended = text.endswith((".", "!", '."', '!"', "。"))
    stop = "。" if _UNSPACED_END.search(text) else "."
    return text[:1].upper() + text[1:] + ("" if ended else stop)
