"""Statements from one clause: about the speaker, a person, or a wish."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engram.core.language.keep_requests import (
    after_request,
)
from engram.core.language.sentences import (
    MASK,
    is_doubtful,
)
from engram.core.language.wishes import wish_statement
from engram.extraction.rules.foreign import in_other_language
from engram.extraction.rules.people import (
    NamedSubject,
    leading_person,
    name_given,
    people_mentioned,
    relation_hint,
)
from engram.extraction.rules.state_changes import change_of_state, pronoun_subject
from engram.extraction.rules.statements import (
    KINSHIP,
    SPEAKS_OF_SELF,
    RuleStatement,
    built,
    read_by_rule,
)
from engram.extraction.rules.table import (
    REMEMBER,
    Rule,
    continued_rules,
    other_rules,
    pattern_of,
    speaker_rules,
)

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Sequence

    from engram.core.policy import ExtractionPolicy
    from engram.extraction.rules.clauses import Clause


def from_clause(clause: Clause, policy: ExtractionPolicy) -> Iterator[RuleStatement]:
    """Yield the statements of one clause."""
    if clause.speaker.to_bot:
        start = after_request(clause.text, clause.start, clause.end)
        clause = replace(clause, start=clause.start if start is None else start)
    if MASK in clause.words or is_doubtful(clause.words):
        return

    found = of_speaker(clause, policy) or _of_named(clause, policy)
    if not found:
        found = list(in_other_language(clause, policy)) or _wish(clause, policy)
    yield from found or list(change_of_state(clause, policy))

    if not clause.is_task:
        for person in people_mentioned(clause.text, clause.start, clause.end):
            yield _kinship(clause, person, policy)


def _wish(clause: Clause, policy: ExtractionPolicy) -> list[RuleStatement]:
    """Return the request for a lasting behaviour of the assistant, if any (`C19`)."""
    rest = len(clause.text.strip()) - len(clause.words)
    if not clause.speaker.to_bot or (clause.is_task and rest > _FEW_CHARS):
        return []
    text = wish_statement(clause.words)
    return [built(clause, _WISH, text, policy)] if text else []


def of_speaker(clause: Clause, policy: ExtractionPolicy) -> list[RuleStatement]:
    """Return the statement of a speaker about themselves, if any.

    After `and` it may lack the `I`.
    """
    found = list(_by_first_rule(clause, speaker_rules(), clause.start, policy))
    if not found and clause.text.endswith("and ", 0, clause.start):
        found = list(_by_first_rule(clause, continued_rules(), clause.start, policy))
    return found


def _of_named(clause: Clause, policy: ExtractionPolicy) -> list[RuleStatement]:
    """Return the statement about a named person, or the name of a preceding one."""
    found: list[RuleStatement] = []
    person = leading_person(clause.text, clause.start, clause.end) or pronoun_subject(
        clause
    )
    has_speaker = SPEAKS_OF_SELF.search(clause.text + clause.earlier)
    is_known = person is not None and person.name in clause.speaker.known
    if person and (has_speaker or is_known) and not clause.is_task:
        found = list(_about_person(clause, person, policy))
    if found:
        return found

    naming = name_given(clause.text, clause.before, clause.start, clause.end)
    if naming:
        text = f"{clause.speaker.possessive} {naming}"
        return [built(clause, _NAMED, text, policy)]
    return []


def _by_first_rule(
    clause: Clause,
    rules: Sequence[Rule],
    place: int,
    policy: ExtractionPolicy,
    subject: str = "",
) -> Iterator[RuleStatement]:
    """Yield the statement of the first rule that matches the clause at `place`."""
    for rule in rules:
        match = rule.pattern.match(clause.text, place, clause.end)
        if not match or (rule.to_bot and not clause.speaker.to_bot):
            continue
        if statement := read_by_rule(
            clause, rule, match, policy, subject
        ) or _up_to_aside(clause, rule, match, policy, subject):
            yield statement
            return


def _up_to_aside(
    clause: Clause,
    rule: Rule,
    match: re.Match[str],
    policy: ExtractionPolicy,
    subject: str,
) -> RuleStatement | None:
    """Return the statement up to an aside that cannot be parsed.

    `My favourite band is Muse, saw them live twice`.
    """
    aside = _ASIDE.search(clause.text, match.end(), clause.end)
    if aside is None:
        return None
    dates = tuple(date for date in clause.dates if date.end <= aside.start())
    return read_by_rule(
        replace(clause, end=aside.start(), dates=dates), rule, match, policy, subject
    )


_ASIDE = pattern_of("aside")
"""An aside after a comma that begins no list; a number may be another date."""


def _about_person(
    clause: Clause, person: NamedSubject, policy: ExtractionPolicy
) -> Iterator[RuleStatement]:
    """Yield the statements about a named person.

    A name alone may be a brand, so only sure rules apply without kinship.
    """
    if person.kin:
        yield _kinship(clause, person, policy)
    place = person.end
    while place < clause.end and clause.text[place] in ", ":
        place += 1
    is_known = (
        person.is_known or bool(person.kin) or person.name in clause.speaker.known
    )
    rules = [rule for rule in other_rules() if is_known or rule.strength == "sure"]
    for start, end in _predicates(clause.text, place, clause.end):
        dates = tuple(
            date for date in clause.dates if start <= date.start and date.end <= end
        )
        part = replace(clause, end=end, dates=dates)
        if start > place:
            part = replace(part, start=start)
        yield from _by_first_rule(part, rules, start, policy, person.name)


def _predicates(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of `text[start:end]`, split at `and` with a verb.

    `is a dentist and lives in Porto` has two.
    """
    for match in _AND_ALSO.finditer(text, start, end):
        yield start, match.start()
        start = match.end()
    yield start, end


_AND_ALSO = pattern_of("and_also")


def _kinship(
    clause: Clause, person: NamedSubject, policy: ExtractionPolicy
) -> RuleStatement:
    """Return the statement of a person's relation to the speaker: `my sister Anna`."""
    text = f"{person.name} is {clause.speaker.possessive} {person.kin.lower()}"
    hint = relation_hint(KINSHIP, person.name, clause.speaker.name, person.kin, "")
    statement = built(clause, KINSHIP, text, policy, person.name, hint)
    return replace(statement, is_mention=True)


_NAMED = Rule(
    "named", "relationship", "probable", "none", REMEMBER, "", ("relationship",)
)
_FEW_CHARS = 3
"""The most words besides a wish in a task that is only the wish."""
_WISH = Rule("wish", "preference", "probable", "none", REMEMBER, "", ("instruction",))
