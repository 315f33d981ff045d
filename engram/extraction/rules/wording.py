"""A speaker's words as a statement about them: third person, full dates (rows X2, X14)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engram.core.language.dates import day_in_words, in_words
from engram.core.language.sentences import conjugated, third_person
from engram.extraction.rules.table import compiled, compiled_with_case

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from engram.core.language.dates import Span
    from engram.core.records import Interval

_GOVERNED = compiled("before_date")
_LIMIT = compiled("limit")
_END_OF = compiled("end_of")
_BARE_DAY = compiled("weekday")
_AND_VERB = compiled_with_case("and_verb")
_VAGUE = compiled("vague_past")
_UNSPACED_END = re.compile(r"[\u3041-\u30ff\u3400-\u9fff]$")


def reworded(raw: str, start: int, dates: Sequence[Span], spoken: datetime) -> str:
    """`raw`, at `start`, in the third person with its relative dates resolved (`X14`)."""
    out, place = [], 0
    for date in dates:
        first, last = date.start - start, min(date.end - start, len(raw))
        if first < place or first >= last:
            continue
        before, words = raw[place:first], raw[first:last]
        out.append(
            third_person(before)
            + _dated(before, words, raw[last : last + 2], date.interval)
        )
        place = last
    out.append(third_person(raw[place:]))
    said = _AND_VERB.sub(
        lambda found: (
            found[1]
            + " ".join((conjugated(found[2].split()[0]), *found[2].split()[1:]))
        ),
        "".join(out),
    )
    return _VAGUE.sub(lambda found: f"{found[1]} before {day_in_words(spoken)}", said)


def with_dates(raw: str, start: int, dates: Sequence[Span]) -> str:
    """`raw`, at `start`, with its relative dates resolved and nothing else changed."""
    out, place = [], 0
    for date in dates:
        first, last = date.start - start, min(date.end - start, len(raw))
        if place <= first < last:
            before, after = raw[place:first], raw[last : last + 2]
            dated = _dated(before, raw[first:last], after, date.interval)
            out += [before, dated]
            place = last
    return "".join([*out, raw[place:]])


def _dated(before: str, words: str, after: str, interval: Interval) -> str:
    """A date in a sentence: after its preposition, or in brackets after an adjective."""
    preposition, date = in_words(interval)
    if (
        after == "'s"
        or _END_OF.match(words)
        or (_BARE_DAY.match(words) and not _LIMIT.search(before))
    ):
        return f"{words} ({date})"
    governed = _GOVERNED.search(before) and not re.match(
        r"(?:on|in|at)\b", words, re.IGNORECASE
    )
    return date if governed else f"{preposition} {date}"


def lowered(words: str) -> str:
    """`words` as within a sentence: `My brother` becomes `my brother`."""
    return words[:1].lower() + words[1:] if words[:2].istitle() else words


def tidy(text: str) -> str:
    """`text` as a complete sentence."""
    text = re.sub(r"\s+([,.])", r"\1", re.sub(r"\s+", " ", text)).strip()
    ended = text.endswith((".", "!", '."', '!"', "。"))
    stop = "。" if _UNSPACED_END.search(text) else "."
    return text[:1].upper() + text[1:] + ("" if ended else stop)
