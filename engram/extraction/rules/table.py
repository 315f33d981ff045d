"""The patterns of the offline extractor and the words for a speaker (rows X2, C3)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from engram.core.language import languages
from engram.core.language.dates import MONTHS
from engram.core.language.languages import LazyPattern

if TYPE_CHECKING:
    from collections.abc import Mapping

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


@cache
def groups() -> Mapping[str, str]:
    """Return the groups of the patterns by name, each as a pattern."""
    found = {
        "NAME": NAME,
        "TITLE": TITLE,
        "TITLED": TITLED_NAME,
        "MONTH": f"(?:{'|'.join(MONTHS)})",
    }
    for name, text in languages.section("rules.groups")["en"].items():
        found[name] = _expanded(languages.pattern(text), found)
    return found


def _expanded(pattern: str, known: Mapping[str, str]) -> str:
    return re.sub(r"<([A-Z_]+)>", lambda found: known[found[1]], pattern)


def pattern_of(key: str) -> LazyPattern:
    """Return the pattern of a key of `[rules.patterns]`, ignoring case."""
    return LazyPattern(_any(key), re.IGNORECASE)


def pattern_with_case(key: str) -> LazyPattern:
    """Return the pattern of `pattern_of`, with regard to case."""
    return LazyPattern(_any(key))


def _any(key: str) -> str:
    return _expanded(languages.any_pattern("rules.patterns", key), groups())
