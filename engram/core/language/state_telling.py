"""Clauses that tell a state, in the third person, as a note has them (A7).

"Our dog died" becomes "the user's dog died". For the extraction by rules.
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


def told(clause: str, state: State, subject: str, possessive: str) -> str:
    """A clause that tells a state, in the third person, or ''.

    `subject` and `possessive` are those of the speaker: "our dog died" becomes "the
    user's dog died". '' where it still has a word of the first person. Fillers before
    the clause are left out where it is told without them only.
    """
    bare_clause = reading_of(state.language).without_lead(clause)
    whole = (clause, bare_clause) if bare_clause != clause else (clause,)
    ways = [_told(one, state, subject, possessive) for one in whole]
    named = (one for one in ways if subject.casefold() in one.casefold())
    return next(named, "") or next(filter(None, ways), "")


def _told(clause: str, state: State, subject: str, possessive: str) -> str:
    """The clause in the third person with its fillers, or ''."""
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
    return next((one for one in whole if _tells(one, state)), "")


def _with_holes(clause: str, state: State) -> str:
    """A clause with `{s}` and `{p}` in the place of the speaker and what is theirs."""
    text = clause
    if state.language in _OWN_THIRD_PERSON:
        text = reading_of(state.language).without_lead(text)
        first = fold(text.split(maxsplit=1)[0])
        if not first.startswith((*state.value, *state.subject)):
            text = text[:1].lower() + text[1:]
    for pattern, replaced in third_person(state.language):
        text = pattern.sub(replaced, text)
    return text


def _tells(text: str, state: State) -> bool:
    """Whether a text tells the state, too."""
    return any(_is_same(one, state) for one in states(text))


def _names_speaker(text: str) -> bool:
    return "{s}" in text or "{p}" in text


_OWN_THIRD_PERSON = frozenset(languages.texts("extraction", "by_states"))
"""The languages in which the third person names the speaker in each statement."""
_NEUTRAL_SUBJECTS = frozenset(languages.texts("extraction", "subject").values())
"""What a speaker without a name is called."""


def _is_same(one: State, other: State) -> bool:
    same = bare(one.subject) == bare(other.subject)
    return same and (one.attribute, one.over) == (other.attribute, other.over)
