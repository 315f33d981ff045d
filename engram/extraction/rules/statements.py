"""Statements from clauses: the filled template of a rule, with dates and evidence."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engram.core.categories import category_of
from engram.core.entities import OWNER, relation_label
from engram.core.language.dates import day_in_words
from engram.core.language.entity_names import animals
from engram.core.language.sentences import (
    conjugated,
    third_person,
)
from engram.core.records import Candidate, Relation
from engram.extraction.rules.objects import (
    bare,
    fits,
    is_apart,
    is_pointing,
    is_untied,
    is_whole,
    shortened,
)
from engram.extraction.rules.people import (
    RelationHint,
    names,
    relation_hint,
    resolved_pronouns,
)
from engram.extraction.rules.table import (
    REMEMBER,
    Rule,
    pattern_of,
)
from engram.extraction.rules.wording import lowered, reworded, tidy

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from engram.core.policy import ExtractionPolicy
    from engram.core.records import Interval
    from engram.extraction.rules.clauses import Clause, ClauseSpeaker


@dataclass(frozen=True, slots=True)
class RuleStatement:
    """A candidate with the relation it gives and the types of its entities.

    `is_mention` is true if it comes from a mention, such as `our cat Pixel`, and not
    from the assertion of the clause.
    """

    candidate: Candidate
    relation: Relation | None = None
    types: Mapping[str, str] = field(default_factory=dict)
    is_mention: bool = False


def is_speaker_name(name: str, speaker: ClauseSpeaker) -> bool:
    """Return whether the label of the speaker has each word of a name."""
    return set(name.casefold().split()) <= set(speaker.name.casefold().split())


SPEAKS_OF_SELF = pattern_of("speaks_of_self")


def read_by_rule(
    clause: Clause,
    rule: Rule,
    match: re.Match[str],
    policy: ExtractionPolicy,
    other_name: str,
) -> RuleStatement | None:
    """Return the statement of a clause whose beginning a rule matched, or None.

    The rest of the clause must be an object of the kind that the rule requires.
    """
    place, when = match.end(), clause.when()
    raw = shortened(rule.object_kind, bare(clause.text, place, clause.end))
    if not _is_usable(clause, rule, raw, place, when):
        return None
    if other_name and SPEAKS_OF_SELF.search(raw):
        return None
    object_ = _object(clause, raw, place)
    if object_ is None:
        return None

    words = {name: match.groupdict().get(name) or "" for name in "vwx"}
    text = _filled(rule, clause, words, object_, other_name)
    if rule.as_of and when is None:
        text += f" (as of {day_in_words(clause.turn.occurred_at)})"
    if len(text) >= LONGEST:
        return None

    hint = relation_hint(
        rule,
        other_name or clause.speaker.name,
        clause.speaker.name,
        words["w"] or words["x"],
        raw,
    )
    return built(clause, rule, text, policy, other_name, hint)


def _is_usable(
    clause: Clause, rule: Rule, raw: str, place: int, when: Interval | None
) -> bool:
    """Return whether a rule's object is whole and fits it, with all dates.

    `place` is the position of the object. No date of the clause may be outside of it.
    """
    if not is_whole(raw) or not _fits(rule, raw, when, clause):
        return False
    if when and category_of(rule.category).promise:
        raw = _DOES_IT.sub(lambda found: "x" * len(found.group()), raw)
    is_annual = _ANNUAL.search(clause.words) is not None
    return not is_untied(raw, place, clause.dates, is_annual=is_annual)


def _object(clause: Clause, raw: str, place: int) -> str | None:
    """Return the object in the third person with its dates and pronouns resolved.

    None if a pronoun in it refers to no named person.
    """
    names_meant = resolved_pronouns(
        raw,
        clause.text[clause.start : place],
        clause.text[clause.before : clause.start],
    )
    if names_meant is None:
        return None

    text = reworded(raw, place, clause.dates, clause.turn.occurred_at)
    for pronoun, name in names_meant.items():
        text = re.sub(rf"\b{pronoun}\b", name, text)
    if clause.lead is None or clause.dates:
        return text
    return (
        f"{text} ({clause.lead.words})"
        if is_apart(text)
        else f"{text} {clause.lead.words}"
    )


def _filled(
    rule: Rule, clause: Clause, words: Mapping[str, str], object_: str, other_name: str
) -> str:
    """Return the template of a rule with subject, matched words and object."""
    x = words["x"]
    return rule.template.format(
        s=other_name or clause.speaker.name or "the user",
        p=clause.speaker.possessive,
        v=conjugated(words["v"]) if words["v"] else "",
        w=third_person(lowered(words["w"])),
        x=third_person(lowered(x) if x.casefold().startswith("my ") else x),
        o=object_,
    )


_ANNUAL = pattern_of("annual")
_DOES_IT = pattern_of("does_it")
LONGEST = 200
"""The most characters of a statement, which is also the title of a note."""


def built(
    clause: Clause,
    rule: Rule,
    text: str,
    policy: ExtractionPolicy,
    other_name: str = "",
    hint: RelationHint | None = None,
) -> RuleStatement:
    """Return a statement with its evidence, dates, confidence and relation."""
    share = {"sure": 1.0, "probable": policy.rules_probable, "weak": policy.rules_weak}[
        rule.strength
    ]
    category = category_of(rule.category)
    is_correction = clause.corrects and category.correctable
    text = tidy(text)
    of_animals = dict.fromkeys(animals(text), "animal")
    about = (*_people(clause, rule, other_name), *of_animals)
    candidate = Candidate(
        text=text,
        category="correction" if is_correction else rule.category,
        confidence=round(policy.rules_confidence * share * clause.speaker.share, 4),
        turn_id=clause.turn.id,
        quote=clause.turn.text[clause.start : clause.end].rstrip(" .!,;"),
        about=tuple(dict.fromkeys(filter(None, about)))[: policy.max_entities],
        tags=rule.tags,
        when=clause.when() if _is_dated(rule) else None,
    )
    if hint is None:
        return RuleStatement(candidate, types=of_animals)
    # `My sister Anna has lived here since 2019`: a time of the life, not of the kinship
    when = clause.when() if rule is not KINSHIP else None
    relation = _relation(candidate, hint, when, clause.turn.occurred_at)
    return RuleStatement(candidate, relation, {**dict(hint.kinds), **of_animals})


def _people(clause: Clause, rule: Rule, other_name: str) -> tuple[str, ...]:
    """Return the names of the people that a statement is about, '' for the owner."""
    subjects = [other_name]
    if "{p}" in rule.template or not other_name:
        subjects.append(clause.speaker.name)
    if category_of(rule.category).relates_people and rule is not KINSHIP:
        subjects += names(clause.words)
    return tuple(subjects)


def _relation(
    candidate: Candidate, hint: RelationHint, when: Interval | None, said_at: datetime
) -> Relation:
    """Return the relation that a statement gives, with the time in which it holds.

    `when` is the time in the words of the statement, which was made at `said_at`.
    """
    begins = ends = None
    if when:
        is_ahead = when.start > said_at and not hint.ended
        begins = when if is_ahead or when.role == "since" else None
        ends = when if hint.ended or when.role == "until" else None
    return Relation(
        hint.subject or OWNER,
        relation_label(hint.type),
        hint.object,
        candidate.turn_id,
        candidate.quote,
        confidence=candidate.confidence,
        ended=hint.ended,
        begins=begins,
        ends=ends,
    )


def _is_dated(rule: Rule) -> bool:
    """Return whether the time in a clause is that of the statement of a rule."""
    return rule.object_kind != "none" or category_of(rule.category).promise


def _fits(rule: Rule, raw: str, when: Interval | None, clause: Clause) -> bool:
    """Return whether the object, in its clause, is of the kind for the rule."""
    if rule.object_kind == "then-i":
        return _THEN_I.match(clause.text, clause.end) is not None
    if rule.object_kind == "correction":
        return bool(raw) and clause.corrects
    if rule.object_kind == "word":
        return len(raw.split()) <= 4 and not is_pointing(clause.words)
    is_own_name = rule.object_kind == "name" and is_speaker_name(raw, clause.speaker)
    return not is_own_name and fits(
        rule.object_kind, raw, when, clause.turn.occurred_at
    )


_THEN_I = pattern_of("then_i")
KINSHIP = Rule(
    "kinship",
    "relationship",
    "sure",
    "none",
    REMEMBER,
    "{s} is {p} {o}",
    ("relationship",),
)
