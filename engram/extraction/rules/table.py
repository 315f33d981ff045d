"""The patterns of the offline extractor and the words for a speaker (rows X2, C3)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from engram.core.language import languages
from engram.core.language.dates import MONTHS
from engram.core.language.languages import LazyPattern, pattern

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


_GROUP = re.compile(r"<([A-Z_]+)>")
_NAMES = {"NAME": NAME, "TITLED": TITLED_NAME, "MONTH": f"(?:{'|'.join(MONTHS)})"}


def _group(found: re.Match[str]) -> str:
    """Return a group of the rules in both languages, or that of a name or a month."""
    name = found[1]
    listed = _NAMES.get(name) or languages.any_pattern("rules.groups", name)
    return f"(?:{_GROUP.sub(_group, listed)})"
