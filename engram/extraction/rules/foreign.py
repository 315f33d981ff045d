"""Statements from clauses in other languages than English."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.core.categories import category_of
from engram.core.language.date_display import in_figures
from engram.core.language.words import stop_words_by_language
from engram.core.language.words import words as words_of
from engram.extraction.rules.languages import AHEAD, other_languages
from engram.extraction.rules.objects import (
    NAME_ONLY,
    bare,
    is_whole,
    shortened,
)
from engram.extraction.rules.people import (
    relation_hint,
)
from engram.extraction.rules.statements import RuleStatement, built

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from engram.core.policy import ExtractionPolicy
    from engram.core.records import Interval
    from engram.extraction.rules.clauses import Clause
    from engram.extraction.rules.languages import LanguageRules
    from engram.extraction.rules.table import (
        Rule,
    )


def in_other_language(
    clause: Clause, policy: ExtractionPolicy
) -> Iterator[RuleStatement]:
    """Yield the statement of the first matching rule of another language."""
    counts = stop_words_by_language(words_of(clause.words))
    for language in sorted(other_languages(), key=lambda one: -counts[one.code]):
        if not language.clause_start.match(clause.text, clause.start, clause.end):
            continue
        for rule in language.rules:
            match = rule.pattern.match(clause.text, clause.start, clause.end)
            if match and (clause.speaker.to_bot or not rule.to_bot):
                yield from _from_language_rule(clause, language, rule, match, policy)
                return


def _from_language_rule(
    clause: Clause,
    language: LanguageRules,
    rule: Rule,
    match: re.Match[str],
    policy: ExtractionPolicy,
) -> Iterator[RuleStatement]:
    """Yield the statement of a rule that matched, unless its object is refused."""
    when = clause.when()
    raw = ""
    if clause.lead and rule.object_kind == "foreign":
        return  # only temporary: "today I drink no wine"
    if rule.object_kind != "none":
        rest = bare(clause.text, match.end(), clause.end)
        short = shortened(rule.object_kind, rest)
        raw = language.third_person(short, rule.object_kind)
    if not _fits_foreign(rule, raw, when, clause) or language.refused.search(raw):
        return

    groups = match.groupdict()
    verb, words = groups.get("v") or "", groups.get("w") or ""
    text = rule.template.format(
        s=clause.speaker.name or _subject_in(rule.template, language.subject),
        p=language.possessive(clause.speaker.name),
        v=language.verbs.get(verb.casefold(), verb),
        w=words,
        o=raw,
    )
    if when and (rule.object_kind in AHEAD or category_of(rule.category).promise):
        text = f"{text} ({in_figures(when)})"
    # `meine Schwester Clara wohnt …`: the name precedes the verb
    kin, is_before = groups.get("k"), rule.object_kind == "none" and not rule.ends
    name = verb if kin or is_before else raw
    hint = relation_hint(rule, clause.speaker.name, "", kin or words, name)
    yield built(clause, rule, text, policy, hint=hint)


def _subject_in(template: str, subject: str) -> str:
    """Return the neutral subject, in lower case inside a sentence."""
    if template.startswith("{s}"):
        return subject
    return subject[:1].lower() + subject[1:]


def _fits_foreign(rule: Rule, raw: str, when: Interval | None, clause: Clause) -> bool:
    is_over = when is not None and when.end <= clause.turn.occurred_at
    if is_over and category_of(rule.category).promise:
        return False
    if rule.object_kind in {"name", "person"}:
        return NAME_ONLY.match(raw) is not None
    if rule.object_kind in AHEAD:
        is_ahead = (
            when.end > clause.turn.occurred_at if when else rule.object_kind == "task"
        )
        is_day = when is not None and raw.casefold() == when.words.casefold()
        return is_ahead and (is_day or 2 <= len(raw.split()) <= _LONGEST_FOREIGN)
    return (
        (bool(raw) or rule.object_kind in {"any", "none"})
        and len(raw.split()) <= _LONGEST_FOREIGN
        and is_whole(raw)
    )


_LONGEST_FOREIGN = 10
"""The most words of an object that is used without rewriting."""
