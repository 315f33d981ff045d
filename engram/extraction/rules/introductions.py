"""The names by which speakers introduce themselves, and what follows (rows A20, X2).

The rule table has the forms. Some are sure (`my name is Jonas`, `call me Jo`). Those
that need an introduction (`I'm Jonas`, `Jonas here`) give a name if a greeting, a
question for the name or more about the speaker stands beside them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.core.language.languages import LazyPattern
from engram.core.language.states import USER, State, grammar, of_clause
from engram.core.language.synonyms import synonyms
from engram.core.language.words import STOP
from engram.extraction.rules.table import pattern_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.extraction.rules.clauses import Clause

_WORD = r"(?-i:(?=\w*[^\W\d_A-ZÀ-ÖØ-Þ])[^\W\d_a-zß-öø-ÿ][^\W\d_]+(?:[-'][^\W\d_]+)*)"
_NAME = LazyPattern(rf"{_WORD}(?: (?:[a-z]{{2,3}} )?{_WORD}){{0,2}}")
"""Up to three capitalised words, also with a particle: `Ana da Silva`."""
_LOWER_NAME = LazyPattern(r"[^\W\d_]{2,}(?<!ed)(?<!ing)")
_NO_NAME = pattern_of("never_names")
_SELF = LazyPattern(r"\b(?:im?|my|me|ich|mein|mich)\b|^the name", re.IGNORECASE)
_PRESENTED = LazyPattern(r"\b(?:im?|ich|this|it|here|hier|das)\b", re.IGNORECASE)
_FIRST = LazyPattern(r"im?\b|ich\b", re.IGNORECASE)
_SIGNS = " \t,.!;:)(–—-"
_GOES_ON = LazyPattern(
    r"\W*(?:(?:and|und|but|aber) )?(?P<own>(?:im?|my|ich|meine?)\b.*)", re.IGNORECASE
)
_PART = LazyPattern(
    r" *(?:[,;(–—]+ *(?:(?:and|und) )?|(?<= )(?:and|und) )(?P<part>(?:(?! and | und )[^,;()–—])+)",
    re.IGNORECASE,
)
"""A part after a sign or a word such as `and`."""


@dataclass(frozen=True, slots=True)
class Apposition:
    """What speakers say of themselves right after their name, `text[start:end]`.

    `words` are a clause with "I am" before it, `state` is what it says.
    """

    words: str
    state: State
    start: int
    end: int


def introduction(clause: Clause) -> State | None:
    """Return the name that a clause gives its speaker, or None."""
    state = next(iter(of_clause(clause.words, introduces=True)), None)
    if state is None or state.subject != (USER,):
        return None
    if state.attribute not in {"name", "nickname"} or not _may_be_name(state):
        return None
    is_meant = _is_meant(clause, state) if state.needs else _SELF.search(clause.words)
    return state if is_meant else None


def _may_be_name(state: State) -> bool:
    """Return whether the words are written like a name, and mean nothing else."""
    words, code = state.written, state.language
    if any(_NO_NAME.match(word) for word in words.split()):
        return False
    if state.needs and grammar(code).no_name.fullmatch(words):
        return False
    if words.islower():
        is_known = words in STOP[code] or bool(synonyms(words, code))
        return not is_known and _LOWER_NAME.fullmatch(words) is not None
    return _NAME.fullmatch(words) is not None


def _is_meant(clause: Clause, state: State) -> bool:
    """Return whether the words around uncertain ones show that they are a name."""
    if clause.is_asked:
        return True
    if not _PRESENTED.search(clause.words):  # "Jonas."
        return False
    if _is_greeted(clause, state.language):
        return True
    if not _FIRST.match(clause.words):  # "Jonas here"
        return False
    goes_on = _GOES_ON.match(clause.text, clause.end)
    more = of_clause(goes_on["own"].splitlines()[0]) if goes_on else ()
    return bool(more) or any(more_about_speaker(clause, state))


def _is_greeted(clause: Clause, code: str) -> bool:
    """Return whether a greeting precedes a clause, in its sentence or as the last one."""
    greeting = grammar(code).greeting
    before = clause.text[clause.sentence : clause.start].strip() or (
        clause.text[clause.before : clause.sentence].strip()
    )
    if before and greeting.fullmatch(before):
        return True
    own = greeting.match(clause.words)
    return own is not None and not own.group()[-1].isalpha()


def more_about_speaker(clause: Clause, state: State) -> Iterator[Apposition]:
    """Yield what follows a name or an age: `I'm Priya, 41, from Leeds`."""
    begins = grammar(state.language).further
    place = clause.text.find(state.written, clause.start, clause.end)
    after = place + len(state.written) if place >= 0 else clause.end
    for part in _PART.finditer(clause.text, after, clause.end):
        value, first = part["part"].rstrip(_SIGNS), part.start("part")
        said = (
            Apposition(words, read, first, first + len(value))
            for words in (f"{begin} {value}" for begin in begins)
            for read in of_clause(words)[:1]
        )
        one = next(said, None)
        if one is None:
            return
        yield one
