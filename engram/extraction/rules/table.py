"""The patterns of the offline extractor, its words for a speaker, and its wording.

(Rows X2, C3, X14.)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.core.language import languages
from engram.core.language.dates import FULL_YEAR, MONTHS, Span, in_words
from engram.core.language.languages import LazyPattern, pattern

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.core.records import Interval

NAME = r"(?-i:[^\W\d_a-z][\w'-]*[a-z][\w-]*(?: [^\W\d_a-z][\w-]*[a-z][\w-]*)?)"
"""A name of one word or two."""
TITLE = rf"(?-i:{languages.any_pattern('rules', 'titles')})\.?"
TITLED_NAME = rf"(?:{TITLE} )?{NAME}"


@dataclass(frozen=True, slots=True)
class SpeakerWords:
    """The words of a language for a speaker: `the user`, `the user's`, `of Anna`.

    `called` gives a relative their name, `reminded` is the wish for a reminder, `named`
    and `nicknamed` give the speaker's name.
    """

    subject: str
    of_subject: str
    of: str
    called: str
    reminded: str
    named: str
    nicknamed: str

    def possessive(self, name: str) -> str:
        """Return the possessive of a named speaker, or of one without a name."""
        return self.of.replace("{s}", name) if name else self.of_subject


SPEAKERS = {
    code: SpeakerWords(*listed.split(" | "))
    for code, listed in languages.texts("rules", "speaker").items()
}


def pattern_of(key: str, code: str = "") -> LazyPattern:
    """Return the pattern of a key of `[rules.patterns]`, of a language or of all."""
    texts = languages.texts("rules.patterns", key)
    listed = [pattern(text) for of, text in texts.items() if code in {"", of}]
    return LazyPattern(_GROUP.sub(_group, "|".join(listed) or "(?!)"), re.IGNORECASE)


_GROUP = LazyPattern(r"<([A-Z_]+)>")
_NAMES = {"NAME": NAME, "TITLED": TITLED_NAME, "MONTH": f"(?:{'|'.join(MONTHS)})"}


def _group(found: re.Match[str]) -> str:
    """Return a group of the rules in both languages, or that of a name or a month."""
    name = found[1]
    listed = _NAMES.get(name) or languages.any_pattern("rules.groups", name)
    return f"(?:{_GROUP.sub(_group, listed)})"


_UNSPACED_END = LazyPattern(r"[\u3041-\u30ff\u3400-\u9fff]$")


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
    """Return the words for a time with its date: `Friday (20 March 2026)`, `3 May 2026`.

    Words with a year are a date already, a day with its month lacks only the year.
    """
    date = in_words(interval)[1]
    day, _, year = date.rpartition(" ")
    if FULL_YEAR.search(words):
        return words
    lacks_year = day and words.endswith(day)
    return f"{words} {year}" if lacks_year else f"{words} ({date})"


def lowered(words: str) -> str:
    """Return `words` as within a sentence: `My brother` becomes `my brother`."""
    return words[:1].lower() + words[1:] if words[:2].istitle() else words


def tidy(text: str) -> str:
    """Return `text` as a complete sentence."""
    text = re.sub(r"\s+([,.])", r"\1", re.sub(r"\s+", " ", text)).strip()
    ended = text.endswith((".", "!", '."', '!"', "。"))
    stop = "。" if _UNSPACED_END.search(text) else "."
    return text[:1].upper() + text[1:] + ("" if ended else stop)
