"""What a turn says, read once when it is indexed, so that no recall parses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.core.language.dates import named_dates
from engram.core.language.words import content, words
from engram.core.planted import recallable_text
from engram.core.records import FiledTurn, Reading, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo

_STEM = 5
"""Letters that two forms of a word share."""
_BLANKS = str.maketrans(dict.fromkeys("-–—/(\"“„«'‘¿¡\n", " "))
"""Signs before a word."""


def read(turn: Turn, zone: tzinfo) -> Reading:
    """Return what recall needs of the words of a turn in the local time zone `zone`."""
    shown = recallable_text(turn)
    stems = dict.fromkeys(word[:_STEM] for word in content(words(shown), "en"))
    when = turn.occurred_at.astimezone(zone)
    return Reading(shown, named_dates(shown, when), tuple(stems))


def reading_of(filed: FiledTurn, zone: tzinfo) -> Reading:
    """Return the reading of a turn, from the index where it has one."""
    return filed.reading or read(filed.turn, zone)


def adds_words(reading: Reading, statement: str) -> bool:
    """Return whether a turn has a word that the statement extracted from it has not."""
    known = f" {statement.casefold().translate(_BLANKS)}"
    return any(f" {stem}" not in known for stem in reading.stems)


def with_named_dates(text: str, dates: Sequence[tuple[str, str]]) -> str:
    """Return `text` with each date of `named_dates` in brackets after its words."""
    out, place = [], 0
    for named, date in dates:
        found = text.find(named, place)
        if found < 0:
            continue
        end = found + len(named)
        out += [text[place:end], f" ({date})"]
        place = end
    return "".join([*out, text[place:]])
