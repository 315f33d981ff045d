"""The extraction rules and patterns, read from the language files (rows X2, C3).

A rule in section `[extraction]` has three lines or more. The first has its name with
category, strength, the kind of object it requires and further properties: `tag:`,
`to-bot` for words addressed to an assistant, `as-of` for statements that are true at a
date. Then follows its pattern, indented; last, after `=`, the template of the
statement.

A pattern is matched at the beginning of a clause, without regard to case; `<KIN>` is a
group of `[extraction.groups]`. The words after the match are the object `{o}`, which a
rule of object kind `none` leaves out with the time it names. `{s}` is the subject's
name, `{p}` the speaker's possessive, `{v}` the present verb of group `v`, conjugated,
`{w}` and `{x}` the words of the groups `w` and `x`. The first rule that matches a
clause and whose object is accepted decides.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from engram.core.language import languages
from engram.core.language.dates import MONTHS
from engram.core.language.languages import LazyPattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

NAME = r"(?-i:[^\W\d_a-z][\w'-]*[a-z][\w-]*(?: [^\W\d_a-z][\w-]*[a-z][\w-]*)?)"
"""A name of one word or two."""
TITLE = rf"(?-i:{languages.any_pattern('extraction', 'titles')})\.?"
TITLED_NAME = rf"(?:{TITLE} )?{NAME}"


@dataclass(frozen=True, slots=True)
class Rule:
    """One extraction rule.

    `strength` is sure, probable or weak; `object_kind` names the test of the object
    (`objects.fits`). `relations` maps the words matched by group `w`, or '', to the
    type of relation the statement gives and the kind of its object; `ends` is the type
    of relation that the statement ends, or ''.
    """

    name: str
    category: str
    strength: str
    object_kind: str
    pattern: LazyPattern
    template: str
    tags: tuple[str, ...] = ()
    to_bot: bool = False
    as_of: bool = False
    relations: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    ends: str = ""


@cache
def groups(code: str) -> Mapping[str, str]:
    """Return the groups of a language with those of English, each as a pattern."""
    found = {
        "NAME": NAME,
        "TITLE": TITLE,
        "TITLED": TITLED_NAME,
        "MONTH": f"(?:{'|'.join(MONTHS)})",
    }
    sections = languages.section("extraction.groups")
    for listed in (sections["en"], sections.get(code, {})):
        for name, text in listed.items():
            found[name] = _expanded(languages.pattern(text), found)
    return found


def expanded(pattern: str, code: str) -> str:
    """Return a pattern with the groups of a language put in."""
    return _expanded(pattern, groups(code))


def _expanded(pattern: str, known: Mapping[str, str]) -> str:
    return re.sub(r"<([A-Z_]+)>", lambda found: known[found[1]], pattern)


def pattern_of(key: str) -> LazyPattern:
    """Return the pattern of a key of `[extraction.patterns]`, ignoring case."""
    return LazyPattern(_any(key), re.IGNORECASE)


def pattern_with_case(key: str) -> LazyPattern:
    """Return the pattern of `pattern_of`, with regard to case."""
    return LazyPattern(_any(key))


def _any(key: str) -> str:
    return _expanded(languages.any_pattern("extraction.patterns", key), groups("en"))


def read_rules(code: str, key: str) -> tuple[Rule, ...]:
    """Return the rules of a key of section `[extraction]` of a language."""
    section = languages.section("extraction")[code]
    relations = _relations(section.get("relations", ""))
    ends = dict(_pairs(section.get("ended_relations", "")))
    pairs = (pair.split("=") for pair in section.get("kin", "").split())
    kin = {word: (relation, "person") for word, relation in pairs}
    rules = []
    for title, lines in _blocks(section[key]):
        name, _, rest = title.partition(": ")
        category, strength, object_kind, *more = rest.split()
        pattern = _expanded("".join(lines[:-1]), groups(code))
        rules.append(
            Rule(
                name,
                category,
                strength,
                object_kind,
                LazyPattern(rf"(?:{pattern})(?!\w)\s*", re.IGNORECASE),
                lines[-1].removeprefix("= "),
                tuple(line.removeprefix("tag:") for line in more if "tag:" in line),
                to_bot="to-bot" in more,
                as_of="as-of" in more,
                relations=kin if "kin" in more else relations.get(name, {}),
                ends=ends.get(name, ""),
            )
        )
    return tuple(rules)


def _blocks(text: str) -> list[tuple[str, list[str]]]:
    """Return each unindented line with the indented lines below it."""
    blocks: list[tuple[str, list[str]]] = []
    for line in text.strip().splitlines():
        if line.startswith(" "):
            blocks[-1][1].append(line.strip())
        else:
            blocks.append((line, []))
    return blocks


def _relations(text: str) -> dict[str, dict[str, tuple[str, str]]]:
    """Return lines `rule, words = type kind` as `{rule: {words: (type, kind)}}`."""
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for rule_and_words, type_and_kind in _pairs(text):
        rule, _, words = rule_and_words.partition(", ")
        relation, kind = type_and_kind.split()
        found.setdefault(rule, {})[words] = (relation, kind)
    return found


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for line in languages.entries(text):
        left, _, right = line.partition(" = ")
        yield left, right


@cache
def speaker_rules() -> tuple[Rule, ...]:
    """Return the English rules for clauses of speakers about themselves."""
    return read_rules("en", "speaker_rules")


@cache
def continued_rules() -> tuple[Rule, ...]:
    """Return the rules for a clause that continues the speaker's without `I`.

    `I'm 34 and work at Siemens`.
    """
    return read_rules("en", "continued_rules")


@cache
def other_rules() -> tuple[Rule, ...]:
    """Return the rules for a clause about a named person, matched after the name."""
    return read_rules("en", "other_rules")


REMEMBER = pattern_of("remember")
"""A request to remember the words after it."""
