"""The extraction rules of languages other than English (rows X2, X13).

A small set that needs little rewriting: only the pronouns of the first person are
replaced in the object. The object is refused if it then has a word of the first or
second person, a negation or a doubt. A neutral noun is the subject for a speaker
without a name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from engram.core.language import languages
from engram.extraction.rules.table import expanded, read_rules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.extraction.rules.table import Rule

AHEAD = frozenset({"ahead", "task"})
"""Kinds of object that are still to be done."""
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class LanguageRules:
    """The rules of one language and the words that its statements need.

    `clause_start` matches the clauses of the rules; `refused` the words that refuse an
    object. `subject` and `of_subject` are the words for a speaker without a name.
    `pronouns` and `verbs` map the first person to the third. `ambiguous_possessive` is
    true if `my` has two forms in the third person (`seine`, `ihre`): it then becomes an
    article, and only in an object that is still to be done. `keeps` is the statement
    that the user asks to remember `{o}`; an object that begins with `plain_start` and
    has no word of the `first_person` needs no such statement.
    """

    code: str
    clause_start: re.Pattern[str]
    subject: str
    of_subject: str
    of: str
    elided_before: str
    refused: re.Pattern[str]
    pronouns: Mapping[str, str]
    verbs: Mapping[str, str]
    reflexive: re.Pattern[str]
    reflexive_third: str
    ambiguous_possessive: bool
    keeps: str
    plain_start: re.Pattern[str]
    first_person: re.Pattern[str]
    rules: tuple[Rule, ...]

    def third_person(self, raw: str, object_kind: str) -> str:
        """Return an object in the third person, as far as its form is certain.

        A reflexive pronoun is changed only at the beginning (`me lever`).
        """
        is_ahead = object_kind in AHEAD
        if self.ambiguous_possessive and not is_ahead:
            return raw
        if is_ahead:
            raw = self.reflexive.sub(self.reflexive_third, raw)
        return _WORD.sub(
            lambda found: self.pronouns.get(found.group(), found.group()), raw
        )

    def possessive(self, name: str) -> str:
        """Return the possessive after a noun: `von Anna`, `d'Anna`, `de la persona`."""
        if not name:
            return self.of_subject
        if self.elided_before and name[0].casefold() in self.elided_before:
            return f"d'{name}"
        return f"{self.of} {name}"


@cache
def other_languages() -> tuple[LanguageRules, ...]:
    """Return the languages other than English that have extraction rules."""
    return tuple(
        _language_rules(code)
        for code, section in languages.section("extraction").items()
        if "rules" in section
    )


def _language_rules(code: str) -> LanguageRules:
    section = languages.section("extraction")[code]
    start = languages.pattern(section["clause_start"])
    return LanguageRules(
        code=code,
        clause_start=_pattern(expanded(f"(?:{start})", code)),
        subject=section["subject"],
        of_subject=section["of_subject"],
        of=section["of"],
        elided_before=section.get("elided_before", ""),
        refused=_pattern(rf"\b(?:{languages.pattern(section['refused'])})\b"),
        pronouns=languages.section("extraction.third_person").get(code, {}),
        verbs=languages.section("extraction.third_person_verbs").get(code, {}),
        reflexive=re.compile(rf"^(?:{languages.pattern(section['reflexive'])})"),
        reflexive_third=section["reflexive_third"],
        ambiguous_possessive="ambiguous_possessive" in section,
        keeps=section.get("keeps", "{o}"),
        plain_start=_pattern(rf"(?:{section.get('plain_start', '(?!)')})"),
        first_person=_pattern(
            rf"\b(?:{languages.pattern(section.get('first_person', '(?!)'))})\b"
        ),
        rules=read_rules(code, "rules"),
    )


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)
