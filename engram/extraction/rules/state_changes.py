"""Statements from clauses about a change of state that no rule matches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.core.attributes import attribute
from engram.core.language.date_display import in_figures
from engram.core.language.sentences import clauses, sentences
from engram.core.language.states import USER, in_third_person, states
from engram.extraction.rules.languages import other_languages
from engram.extraction.rules.objects import (
    bare,
)
from engram.extraction.rules.people import (
    NamedSubject,
    person_meant,
)
from engram.extraction.rules.statements import LONGEST, RuleStatement, built
from engram.extraction.rules.table import (
    REMEMBER,
    Rule,
    pattern_of,
)
from engram.extraction.rules.wording import with_dates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.core.language.states import State
    from engram.core.policy import ExtractionPolicy
    from engram.extraction.rules.clauses import Clause, ClauseSpeaker


def pronoun_subject(clause: Clause) -> NamedSubject | None:
    """Return the person of a leading `he` or `she`, if it is certain."""
    match = _HE_OR_SHE.match(clause.text, clause.start, clause.end)
    name = match and person_meant(
        match.group(), clause.text[clause.before : clause.start], clause.earlier
    )
    return (
        NamedSubject(name, "", match.end(), is_known=True) if match and name else None
    )


_HE_OR_SHE = pattern_of("he_or_she")


def change_of_state(
    clause: Clause, policy: ExtractionPolicy
) -> Iterator[RuleStatement]:
    """Yield the clause in the third person if it gives, changes or ends a state."""
    if clause.is_task or len(clause.words) >= LONGEST or len(clause.dates) > 1:
        return
    person = pronoun_subject(clause)
    start = person.end if person else clause.start
    raw = bare(clause.text, start, clause.end).rstrip("。！")
    words = f"{person.name} {raw.lstrip()}" if person else raw
    for state in states(words, opens=_opens_sentence(clause)):
        if not _is_reported(state):
            continue
        if state.language == "en" and not person:
            words = with_dates(raw, start, clause.dates)
        subject, possessive = _speaker_in(state.language, clause.speaker)
        if text := in_third_person(words, state, subject, possessive):
            name = person.name if person else ""
            yield _of_state(clause, state, text, name, policy)
            return


def _opens_sentence(clause: Clause) -> bool:
    """Return whether only fillers precede a clause in its sentence.

    "My boss was ill, quit her job" is about the boss.
    """
    starts = (
        start for start, end in sentences(clause.text) if start <= clause.start < end
    )
    first = next(clauses(clause.text, next(starts, clause.start), clause.end), None)
    return first is not None and clause.start < first[1]


def _is_reported(state: State) -> bool:
    """Return whether a state changed, is over, or is a lasting one of the user."""
    if state.attribute == "name":
        return False  # an introduction, which `own_names` reads
    if state.change or state.over:
        return True
    return state.subject[0] == USER and bool(attribute(state.attribute).lasts)


def _of_state(
    clause: Clause, state: State, text: str, name: str, policy: ExtractionPolicy
) -> RuleStatement:
    """Return the statement of a state; outside English its date is at the end."""
    when = clause.when() if state.language != "en" else None
    dated = f"{text} ({in_figures(when)})" if when else text
    rule = _STATES[_category(state, clause)]
    return built(clause, rule, dated, policy, name)


def _category(state: State, clause: Clause) -> str:
    """Return the category of a state; an event with a new day is planned for it."""
    name = state.attribute.split()[0]
    is_planned = name == "date" and state.value and clause.when()
    return "commitment" if is_planned else _CATEGORIES.get(name, "fact")


def _speaker_in(code: str, speaker: ClauseSpeaker) -> tuple[str, str]:
    """Return the words of a language for the speaker, and their possessive."""
    for language in other_languages():
        if language.code == code:
            return speaker.name or language.subject, language.possessive(speaker.name)
    return speaker.name or "the user", speaker.possessive


_CATEGORIES = {
    "like": "preference",
    "eats": "preference",
    "favourite": "preference",
    "partner": "relationship",
    "pet": "relationship",
    "kin": "relationship",
    "role": "relationship",
}
_STATES = {
    name: Rule("state", name, "probable", "open", REMEMBER, "")
    for name in ("fact", "preference", "relationship", "commitment")
}
