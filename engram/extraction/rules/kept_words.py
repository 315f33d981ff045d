"""Literal statements from words that the user asks to remember."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engram.core.attributes import Attribute
from engram.core.language.keep_requests import (
    asks_reminder,
    language_of_request,
    requested_parts,
    words_to_keep,
)
from engram.core.language.sentences import MASK, third_person
from engram.extraction.rules.people import has_open_pronoun
from engram.extraction.rules.statements import (
    RuleStatement,
    bare,
    built,
    is_pointing,
    is_whole,
)
from engram.extraction.rules.wording import lowered, with_dates

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engram.core.policy import ExtractionPolicy
    from engram.extraction.rules.clauses import Clause


def literal_statements(
    whole: Clause, statements: Sequence[RuleStatement], policy: ExtractionPolicy
) -> Iterator[RuleStatement]:
    """Yield statements of the words to remember that no rule turned into one.

    Words that the user asks to remember are always stored, at least literally (law 1).
    """
    if whole.is_task or not whole.speaker.to_bot:
        return
    text = whole.turn.text
    read = [
        (text.find(statement.candidate.quote), statement.candidate.quote)
        for statement in statements
        if not (statement.is_mention and _has_statement(statement))
    ]
    for first, last in words_to_keep(text):
        for start, end in requested_parts(text, first, last):
            if any(at < end and start < at + len(quote) for at, quote in read):
                continue
            clause = whole.cut(start, end)
            if MASK not in clause.words:
                yield from _literal(clause, policy)


def _has_statement(mention: RuleStatement) -> bool:
    """Return whether a clause states something about the person whom it mentions."""
    candidate = mention.candidate
    return len(candidate.quote.split()) >= len(candidate.text.split()) - 1


def _literal(clause: Clause, policy: ExtractionPolicy) -> Iterator[RuleStatement]:
    """Yield a statement in the words of the clause.

    An English clause in the first person becomes `the user asks to remember that …`.
    """
    raw = bare(clause.words)
    if not raw or len(raw) > policy.rules_sentence:
        return
    if language_of_request(clause.text) == "en":
        raw = _in_english(clause, raw)
    when = clause.when()
    is_over = when is not None and when.end <= clause.turn.occurred_at
    is_due = asks_reminder(clause.text) and not is_over
    yield built(clause, _DUE if is_due else _KEEP, raw, policy)


def _in_english(clause: Clause, raw: str) -> str:
    """Return the words of an English clause as a statement."""
    mine = _FIRST_PERSON_START.match(raw)
    place = mine.end() if mine and mine["of"] else 0
    is_own = is_whole(raw) and not is_pointing(raw)
    if is_own and not has_open_pronoun(raw[place:]):
        dated = with_dates(raw[place:], clause.start + place, clause.dates)
        statement = third_person(dated)
        if place:
            return f"{clause.speaker.possessive} {statement}"
        if not mine:
            return statement
        raw = statement
    return f"{clause.speaker.name or 'the user'} asks to remember that {lowered(raw)}"


_FIRST_PERSON_START = re.compile(r"(?:(?P<of>my|our)\s+|(?:i|we)\b)", re.IGNORECASE)
_KEEP = Attribute(sure=False)
_DUE = Attribute(category="commitment", sure=False)
