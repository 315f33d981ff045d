"""The names by which speakers introduce themselves, and what follows them (rows A20, X2).

The rule table has the forms. Some are sure (`my name is Jonas`, `call me Jo`). Those
that need an introduction (`I'm Jonas`, `Jonas here`) give a name if a greeting, a
question for the name or more about the speaker stands beside them, or if `I'm Jonas` is
the whole sentence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.core.language.sentences import sentences
from engram.core.language.states import USER, introduction_words, of_clause
from engram.core.language.synonyms import synonyms
from engram.core.language.words import STOP
from engram.extraction.rules.table import pattern_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.core.language.states import State
    from engram.extraction.rules.clauses import Clause

_WORD = (
    r"(?=[^\W\d_]*[^\W\d_A-ZÀ-ÖØ-ÞА-ЯЁ])[^\W\d_a-zß-öø-ÿа-яё][^\W\d_]+"
    r"(?:[-'][^\W\d_a-zß-öø-ÿа-яё][^\W\d_]*)*"
)
"""A capitalised word of two letters or more, not all in capitals."""
_PARTICLE = "(?:van|von|vom|zu|de|da|do|dos|del|della|di|der|den|du|la|le|bin|al|el)"
_NAME = re.compile(rf"{_WORD}(?: (?:{_PARTICLE} ){{0,2}}{_WORD}){{0,2}}")
_LOWER_NAME = re.compile(r"[^\W\d_]{2,}(?<!ed)(?<!ing)")
_NO_NAME = pattern_of("never_names")
_SIGNS = " \t,.!;:)(–—-"
_PART = re.compile(
    r"[ ]*(?:[,;(–—]+[ ]*(?:(?:and|und) )?|(?<= )(?:and|und) )(?P<part>(?:(?! and | und )[^,;()–—])+)",
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
    words = clause.words
    for state in of_clause(words, introduces=True):
        if state.subject != (USER,) or state.attribute not in {"name", "nickname"}:
            return None
        is_lower = state.written.islower()
        shape = _LOWER_NAME if is_lower else _NAME
        if not shape.fullmatch(state.written) or any(
            _NO_NAME.match(word) for word in state.written.split()
        ):
            return None
        code = state.language
        if is_lower and (state.written in STOP[code] or synonyms(state.written, code)):
            return None
        if state.needs and introduction_words(state.language).no_name.fullmatch(
            state.written
        ):
            return None
        is_meant = (
            _is_meant(clause, state, is_lower=is_lower)
            if state.needs
            else _SELF.search(words) is not None
        )
        return state if is_meant else None
    return None


def _is_meant(clause: Clause, state: State, *, is_lower: bool) -> bool:
    """Return whether the words around uncertain ones show that they are a name."""
    if clause.is_asked:
        return True
    if not _PRESENTED.search(clause.words):  # "Jonas."
        return False
    if _is_greeted(clause, state.language):
        return True
    if not _FIRST.match(clause.words):  # "Jonas here"
        return False
    if more_about_speaker(clause, state):
        return True
    start, end = _sentence(clause)
    rest = clause.text[clause.end : end].strip(_SIGNS)
    is_alone = not clause.text[start : clause.start].strip(_SIGNS) and not rest
    after = clause.words.partition(state.written)[2].strip()
    is_cut = bool(after) and after[0] in _SIGNS  # "I'm Olga, late again"
    more = _GOES_ON.match(rest)
    if is_lower:  # "im priya and i live in leeds", not "im sure and i hope so"
        return more is not None and bool(of_clause(rest[more.start("own") :]))
    return is_cut or (not after and (is_alone or more is not None))


_SELF = re.compile(r"\b(?:im?|my|me|ich|mein|mich)\b|^the name", re.IGNORECASE)
_PRESENTED = re.compile(r"\b(?:im?|ich|this|it|here|hier|das)\b", re.IGNORECASE)
_FIRST = re.compile(r"im?\b|ich\b", re.IGNORECASE)
_GOES_ON = re.compile(
    r"(?:(?:and|und|but|aber) )?(?P<own>(?:im?|my|ich|meine?)\b.*)", re.IGNORECASE
)


def _is_greeted(clause: Clause, code: str) -> bool:
    """Return whether a greeting precedes a clause, in its sentence or as the last one."""
    greeting = introduction_words(code).greeting
    start, _ = _sentence(clause)
    before = clause.text[start : clause.start].strip() or (
        clause.text[clause.before : start].strip()
    )
    if before and greeting.fullmatch(before):
        return True
    own = greeting.match(clause.words)
    return own is not None and not own.group()[-1].isalpha()


def _sentence(clause: Clause) -> tuple[int, int]:
    """Return the span of the sentence of a clause."""
    spans = sentences(clause.text)
    return next(
        (span for span in spans if span[0] <= clause.start < span[1]),
        (clause.start, clause.end),
    )


def more_about_speaker(clause: Clause, state: State) -> tuple[Apposition, ...]:
    """Return what follows a name or an age: `I'm Priya, 41, from Leeds`."""
    return tuple(_appositions(clause, state))


def _appositions(clause: Clause, state: State) -> Iterator[Apposition]:
    begins = introduction_words(state.language).further
    place = clause.text.find(state.written, clause.start, clause.end)
    after = place + len(state.written) if place >= 0 else clause.end
    for part in _PART.finditer(clause.text, after, clause.end):
        value, first = part["part"].rstrip(_SIGNS), part.start("part")
        said = (
            Apposition(words, state, first, first + len(value))
            for words in (f"{begin} {value}" for begin in begins)
            for state in of_clause(words)[:1]
        )
        one = next(said, None)
        if one is None:
            return
        yield one
