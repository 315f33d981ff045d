"""Clauses about a state, converted to the third person of a note (A7).

"Our dog died" becomes "the user's dog died". The extraction by rules uses it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.core.language import languages
from engram.core.language.state_subjects import USER, bare
from engram.core.language.state_table import KEY, third_person
from engram.core.language.state_words import reading_of
from engram.core.language.states import states
from engram.core.language.words import fold

if TYPE_CHECKING:
    from engram.core.language.states import State


def in_third_person(clause: str, state: State, subject: str, possessive: str) -> str:
    """Return a clause about a state in the third person, or ''.

    `subject` and `possessive` are those of the speaker: "our dog died" becomes "the
    user's dog died". The result is '' if a word of the first person remains. Leading
    fillers are omitted if the state is recognised only without them.
    """
    bare_clause = reading_of(state.language).without_lead(clause)
    whole = (clause, bare_clause) if bare_clause != clause else (clause,)
    clauses = [_converted(part, state, subject, possessive) for part in whole]
    with_subject = (part for part in clauses if subject.casefold() in part.casefold())
    return next(with_subject, "") or next(filter(None, clauses), "")


def _converted(clause: str, state: State, subject: str, possessive: str) -> str:
    """Return the clause in the third person, with its fillers, or ''."""
    text = _with_holes(clause, state)
    own = state.subject[0] == USER
    if own and state.language in _OWN_THIRD_PERSON and not _names_speaker(text):
        return ""  # a verb may be in the first person without a pronoun
    if not text.startswith("{s}") and subject in _NEUTRAL_SUBJECTS:
        subject = subject[:1].lower() + subject[1:]
    text = text.replace("{s}", subject).replace("{p}", possessive)
    reading = reading_of(state.language)
    if reading.speaks_of_self(text):
        return ""

    section = languages.section(KEY)[state.language]
    before = [section.get(key, "") for key in ("told_subject", "told_possessive")]
    if not own:
        before = [""]
    elif reading.names_user(text):
        before = ["", *before]
    whole = (f"{words}{text}" for words in before)
    return next((candidate for candidate in whole if _has_state(candidate, state)), "")


def _with_holes(clause: str, state: State) -> str:
    """Return a clause with `{s}` for the speaker and `{p}` for their possessive."""
    text = clause
    if state.language in _OWN_THIRD_PERSON:
        text = reading_of(state.language).without_lead(text)
        first = fold(text.split(maxsplit=1)[0])
        if not first.startswith((*state.value, *state.subject)):
            text = text[:1].lower() + text[1:]
    for pattern, replaced in third_person(state.language):
        text = pattern.sub(replaced, text)
    return text


def _has_state(text: str, state: State) -> bool:
    """Return whether a text has the same state."""
    return any(_is_same(stated, state) for stated in states(text))


def _names_speaker(text: str) -> bool:
    return "{s}" in text or "{p}" in text


_OWN_THIRD_PERSON = frozenset(languages.texts("extraction", "by_states"))
"""The languages whose third person needs the name of the speaker in each statement."""
_NEUTRAL_SUBJECTS = frozenset(languages.texts("extraction", "subject").values())
"""The subjects for a speaker without a name."""


def _is_same(first: State, second: State) -> bool:
    same = bare(first.subject) == bare(second.subject)
    return same and (first.attribute, first.over) == (second.attribute, second.over)
