"""Statements from words that the user asks to remember, as they were said."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engram.core.language.keep_requests import (
    language_of_request,
    words_to_keep,
)
from engram.core.language.sentences import (
    MASK,
    sentences,
)
from engram.core.language.state_words import reading_of
from engram.extraction.rules.languages import other_languages
from engram.extraction.rules.objects import (
    bare,
    is_pointing,
    is_whole,
)
from engram.extraction.rules.people import (
    resolved_pronouns,
)
from engram.extraction.rules.statements import RuleStatement, built
from engram.extraction.rules.table import (
    REMEMBER,
    Rule,
    pattern_of,
)
from engram.extraction.rules.wording import lowered, reworded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engram.core.policy import ExtractionPolicy
    from engram.extraction.rules.clauses import Clause


def kept_as_asked(
    whole: Clause, made: Sequence[RuleStatement], policy: ExtractionPolicy
) -> Iterator[RuleStatement]:
    """The words that the user asks to remember and of which no rule made a statement.

    Whatever the user asks to keep is kept, at least as it was said (law 1).
    """
    if whole.is_task or not whole.speaker.to_bot:
        return
    text = whole.turn.text
    read = [
        (text.find(one.candidate.quote), one.candidate.quote)
        for one in made
        if not (one.is_mention and _says_more(one))
    ]
    for first, last in words_to_keep(text):
        for begin, stop in sentences(text[first:last]):
            start, end = first + begin, first + stop
            if any(at < end and start < at + len(quote) for at, quote in read):
                continue
            dates = tuple(
                date for date in whole.dates if start <= date.start and date.end <= end
            )
            clause = replace(whole, start=start, end=end, dates=dates)
            if MASK not in clause.words:
                yield from _as_said(clause, policy)


def _says_more(mention: RuleStatement) -> bool:
    """Whether a clause says something of the person whom it mentions."""
    one = mention.candidate
    return len(one.quote.split()) >= len(one.text.split()) - 1


def _as_said(clause: Clause, policy: ExtractionPolicy) -> Iterator[RuleStatement]:
    """A statement in the words of the clause.

    A clause in the first person becomes `the user asks to remember that …`.
    """
    raw = bare(clause.text, clause.start, clause.end)
    if not raw or len(raw) > policy.rules_sentence:
        return
    code = language_of_request(clause.text)
    language = next((one for one in other_languages() if one.code == code), None)
    if language is None:
        text = _in_english(clause, raw)
    elif language.plain_start.match(raw) and not (
        language.first_person.search(raw)
        or reading_of(language.code).speaks_of_self(raw)
    ):
        text = raw
    else:
        text = language.keeps.format(s=clause.speaker.name or language.subject, o=raw)
    yield built(clause, _KEEP, text, policy)


def _in_english(clause: Clause, raw: str) -> str:
    """The words of an English clause as a statement."""
    mine = _FIRST_PERSON_START.match(raw)
    place = mine.end() if mine and mine["of"] else 0
    is_own = is_whole(raw) and not is_pointing(raw)
    if is_own and resolved_pronouns(raw[place:], "", "") is not None:
        statement = reworded(
            raw[place:], clause.start + place, clause.dates, clause.turn.occurred_at
        )
        if place:
            return f"{clause.speaker.possessive} {statement}"
        if not mine:
            return statement
        raw = statement
    return f"{clause.speaker.name or 'the user'} asks to remember that {lowered(raw)}"


_FIRST_PERSON_START = pattern_of("mine")
_KEEP = Rule("remember", "fact", "probable", "open", REMEMBER, "")
