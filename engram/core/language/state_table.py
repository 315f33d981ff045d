"""The table of states in section `[states]` of the language files.

Each row is a pattern of a whole clause with holes for subject and value; there are also
patterns of questions, rules for the third person and the cue words of attributes.
`states` and `state_cues` match texts with them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from engram.core.language import languages
from engram.core.text import normalise

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

KEY = "states"
"""The section of the language files."""

PEOPLE = {"partner", "name", "nickname", "role", "kin"}
"""Attributes whose value is the name of a person."""

NAMED = PEOPLE | {"home", "employer", "car", "thing"}
"""Attributes whose value is a proper name."""

DATE_MARK = "§"
"""The placeholder for the date of a plan in its pattern."""

_NUMBER = re.compile(r"\{[nf]\}|\(\?P<v>\\d\{")
"""The hole of a value that begins with a number."""

_WORDS = r"\S+(?: \S+)*?"
_FEW_WORDS = r"\S+(?: \S+){0,6}?"
_HOLES = {
    "s": ("s", _FEW_WORDS),
    "p": ("p", r"\S+(?: \S+)?"),
    "v": ("v", _WORDS),
    "a": ("a", _WORDS),
    "o": ("o", _WORDS),
    "f": ("v", r"[$€£]?\d.*?"),
    "n": ("v", r"\d{1,2}|1[01]\d"),
    "k": ("k", r"\w.{0,29}?"),
}
"""The holes of a pattern.

`{s}` is the subject, `{p}` a subject that is a proper name, `{v}` the value, `{a}` a
whole value up to the end ("coffee", not "coffee at night"), `{o}` an owner that
follows, `{f}` a value that begins with a number, `{n}` an age in years, `{k}` the kind.
"""

_HOLE = re.compile(r"\{([spvaofnk])(\d?)\}")


@dataclass(frozen=True, slots=True)
class StateRow:
    """One row of the table: a pattern of a whole clause.

    `source` is the pattern in the form of the language file. `change` is true if its
    words report a change, `may_change` if they do so with a word like "now",
    `needs_digit` if its value is a number. A `planned` state begins or ends on a future
    day, a `shared` one may be one of several ("an appointment on Friday").
    """

    language: str
    attributes: tuple[str, ...]
    source: str
    over: bool
    change: bool
    may_change: bool
    needs_digit: bool
    planned: bool = False
    shared: bool = False

    @property
    def pattern(self) -> re.Pattern[str]:
        """The compiled pattern; the table has hundreds, and a text needs few."""
        return _compiled(self.source, self.language)


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """A pattern of a whole question, and the attribute that it asks for.

    `is_past` is true if it asks for an earlier value.
    """

    language: str
    attribute: str
    source: str
    is_past: bool

    @property
    def pattern(self) -> re.Pattern[str]:
        """The compiled pattern."""
        return _compiled(self.source, self.language)


_KINDS_OF_ROWS = (
    "planned_ends", "plans", "ends", "changes", "holds", "holds_only", "shared", "shared_only",
)  # fmt: skip


@cache
def rows() -> Mapping[str, tuple[StateRow, ...]]:
    """Return the rows by language; plans and rows that end a state come first."""
    found: dict[str, list[StateRow]] = defaultdict(list)
    for code, section in languages.section(KEY).items():
        for key in _KINDS_OF_ROWS:
            for entry in languages.entries(section.get(key, "")):
                names, pattern = entry.split(None, 1)
                attributes = tuple(names.split("+"))
                row = StateRow(
                    code,
                    attributes,
                    pattern,
                    over=key in {"planned_ends", "ends"},
                    change=key in {"planned_ends", "plans", "ends", "changes"},
                    may_change=not key.endswith("_only"),
                    needs_digit=_NUMBER.search(pattern) is not None,
                    planned=key in {"planned_ends", "plans"},
                    shared=key.startswith("shared"),
                )
                found[code].append(row)
    return {code: tuple(listed) for code, listed in found.items()}


@cache
def questions(code: str) -> tuple[QuestionRow, ...]:
    """Return the rows of questions in a language."""
    section = languages.section(KEY)[code]
    found = []
    for key in ("questions", "past_questions"):
        for entry in languages.entries(section.get(key, "")):
            name, pattern = entry.split(None, 1)
            found.append(QuestionRow(code, name, pattern, key == "past_questions"))
    return tuple(found)


@cache
def third_person(code: str) -> Sequence[tuple[re.Pattern[str], str]]:
    """Return the words of the first person in a language, with the third person."""
    listed = languages.section(KEY)[code].get("told", "")
    return tuple(
        (re.compile(_grouped(pattern, code), re.IGNORECASE), words)
        for pattern, words in languages.replacements(listed)
    )


def cues_of(section: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the cue words of each attribute; a text without one has no such state."""
    cues = {}
    for entry in languages.entries(section.get("cues", "")):
        name, _, listed = entry.partition(" = ")
        cues[name] = tuple(normalise(cue) for cue in languages.phrases(listed))
    return cues


@cache
def _compiled(pattern: str, code: str) -> re.Pattern[str]:
    """Return a pattern with its groups (`<PET>`) and holes expanded."""
    pattern = _grouped(pattern, code)
    pattern = pattern.replace("ß", "ss")  # the form of `normalise`
    pattern = _HOLE.sub(_filled, _numbered(pattern))
    if code in languages.unspaced():
        pattern = pattern.replace(_FEW_WORDS, ".+?").replace(_WORDS, ".+?")
    return re.compile(pattern)


def _grouped(pattern: str, code: str) -> str:
    """Return the pattern with its groups expanded."""
    for section in (f"{KEY}.groups", "extraction.groups"):
        for name, words in languages.section(section).get(code, {}).items():
            pattern = pattern.replace(f"<{name}>", f"(?:{languages.pattern(words)})")
    return pattern


def _numbered(pattern: str) -> str:
    """Return the pattern with a number in each repeated hole."""
    for hole in _HOLES:
        first, *rest = pattern.split(f"{{{hole}}}")
        for number, part in enumerate(rest, 1):
            first += f"{{{hole}{number if number > 1 else ''}}}{part}"
        pattern = first
    return pattern


def _filled(hole: re.Match[str]) -> str:
    group, words = _HOLES[hole[1]]
    return f"(?P<{group}{hole[2]}>{words})"
