"""Statements from introductions: the name of the speaker."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engram.core.attributes import attribute
from engram.core.entities import ALIAS
from engram.core.language.dates import day_in_words
from engram.core.language.sentences import (
    MASK,
)
from engram.core.language.states import in_third_person
from engram.extraction.rules.clauses import Clause, clauses_of
from engram.extraction.rules.introductions import appositions, introduction
from engram.extraction.rules.people import (
    RelationHint,
)
from engram.extraction.rules.statements import (
    RuleStatement,
    built,
    is_speaker_name,
    of_speaker,
)
from engram.extraction.rules.table import SPEAKERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.core.policy import ExtractionPolicy
    from engram.extraction.rules.introductions import Introduction


def introduced_name(
    sentence: Clause, preceding: str, policy: ExtractionPolicy, *, is_question: bool
) -> Iterator[RuleStatement]:
    """Yield the statement of the speaker's name, with its relation.

    A question may begin with it: `I'm Jonas, can you help me?`
    """
    if sentence.is_task:
        return
    starts = [clause.start for clause in clauses_of(sentence)]
    found = introduction(sentence.text, sentence.start, sentence.end, starts, preceding)
    if found is None or not _is_news(found, sentence, is_question=is_question):
        return

    clause = replace(sentence, start=found.start, end=found.end)
    if MASK not in clause.words and not _matches_rule(found, clause, policy):
        yield _naming(found, clause, policy)
    if MASK not in sentence.words and not is_question:
        yield from _further(found, sentence, policy)


def _further(
    found: Introduction, sentence: Clause, policy: ExtractionPolicy
) -> Iterator[RuleStatement]:
    """Yield the statements of what follows the name: `I'm Priya, 41, from Leeds`."""
    label = sentence.speaker.name
    for one in appositions(found.code, sentence.text, found.end, sentence.end):
        speaker = SPEAKERS[found.code]
        text = in_third_person(
            one.words, one.state, label or speaker.subject, speaker.possessive(label)
        )
        if one.state.attribute == "age" and found.code == "en":
            text += f" (as of {day_in_words(sentence.turn.occurred_at)})"
        clause = replace(sentence, start=one.start, end=one.end, dates=(), lead=None)
        yield built(clause, attribute(one.state.attribute), text, policy)


def _is_news(found: Introduction, sentence: Clause, *, is_question: bool) -> bool:
    """Return whether an introduction is new to the listener.

    A wish is for an assistant, and a name in the speaker's label is known. In a
    question, a separate question must follow.
    """
    if found.is_wish and not sentence.speaker.to_bot:
        return False

    rest = sentence.text[found.end : sentence.end]
    if is_question and not (rest[:1] in ",;" and len(rest.split()) > _QUESTION_WORDS):
        return False
    return not is_speaker_name(found.name, sentence.speaker)


def _matches_rule(
    found: Introduction, clause: Clause, policy: ExtractionPolicy
) -> bool:
    """Return whether a rule matches the words of an uncertain introduction."""
    is_likely = found.is_sure or found.is_backed
    return not is_likely and bool(of_speaker(clause, policy))


def _naming(
    found: Introduction, clause: Clause, policy: ExtractionPolicy
) -> RuleStatement:
    """Return the statement of the speaker's name, with its relation."""
    label = clause.speaker.name
    subject = SPEAKERS[found.code].subject if found.code in SPEAKERS else "the user"
    text = found.template.format(
        s=label or subject, p=clause.speaker.possessive, o=found.name
    )

    rule = attribute("nickname" if found.is_wish else "name")
    if not found.is_sure:
        rule = replace(rule, sure=False)
    hint = RelationHint(label, ALIAS, found.name, ())
    return built(clause, rule, text, policy, hint=hint)


_QUESTION_WORDS = 2
"""The most words after an introduction that are not a separate question."""
