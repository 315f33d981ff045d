"""Attributes with one value at a time: home, employer, age (rows A7, X13).

A closed table by language, in section `[single_valued]` of the language files. It shows
without a model that "Anna lives in Berlin" and "Anna lives in Munich" cannot both be
true. An attribute that is not in the table may have many values.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import takewhile

from engram.core.language import languages
from engram.core.text import normalise


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute in words of one language: its subject, name and value."""

    language: str
    subject: tuple[str, ...]
    name: str
    value: tuple[str, ...]


_KEY = "single_valued"
_NO_SUBJECT = languages.all_words(_KEY, "no_subject")
_NO_SUBJECT_SIGN = re.compile(languages.any_pattern(_KEY, "no_subject_signs"))
_AFTER_VALUE = languages.all_words(_KEY, "after_value")
_SEVERAL = languages.all_words(_KEY, "several")
_SEVERAL_SIGN = re.compile(languages.any_pattern(_KEY, "several_signs"))
_ARTICLES = languages.all_words(_KEY, "articles")
_INDEFINITE = languages.all_words(_KEY, "indefinite")
"""First words of an indefinite value, as in "works for a bank".

Such a statement does not contradict "works for Barclays".
"""
_COUNTABLE = re.compile(
    rf"\b(?:{languages.any_pattern(_KEY, 'countable')})s?$"
    rf"|(?:{languages.any_pattern(_KEY, 'countable_signs')})$"
)
"""People and animals of whom one may have several; two names then refer to two of them.
"""
_NAMED_ALONE = {"home", "employer"}
_MOST_WORDS = 5
_MOST_CHARS = 200
_ELISION = re.compile(r"\b([ld])'(?=\w)")


@cache
def _rows() -> tuple[tuple[str, str, re.Pattern[str]], ...]:
    rows = []
    for code, section in languages.section(_KEY).items():
        now = section.get("now", "")
        holes = _HOLES | {
            "{now}": f"(?:{now})?"
            if code in languages.unspaced()
            else f"(?:(?:{now}) )*"
        }
        for entry in languages.entries(section["statements"]):
            name, pattern = entry.split(None, 1)
            pattern = pattern.replace("ß", "ss")  # the form of `normalise`
            for hole, group in holes.items():
                pattern = pattern.replace(hole, group)
            rows.append((code, name, re.compile(pattern)))
    return tuple(rows)


_HOLES = {
    "{s}": r"(?P<s>.+?)",
    "{v}": r"(?P<v>.+?)",
    "{n}": r"(?P<v>\d\S*)",
    "{f}": r"(?P<v>\d.*)",
    "{k}": r"(?P<k>\w.{0,29}?)",
    "{called}": r"(?:(?:called|named) )?",
    "{o}": r"(?P<o>.+?)",
}
"""The holes in a statement of the table.

`{s}` is the subject, `{v}` the value, `{n}` a number, `{f}` a value that begins with
one, `{k}` the kind of favourite, `{o}` a subject that follows, `{now}` words for the
present, `{called}` a word for a name.
"""


def attribute(text: str) -> Attribute | None:
    """Return the attribute whose value a statement gives, or None (`A7`).

    Past states ("lived in"), wishes, several values at once and indefinite ones ("works
    for a bank") give None. `attribute("Anna now lives in Berlin with Ben.")` is Anna's
    home, Berlin.
    """
    if len(text) > _MOST_CHARS:
        return None
    plain = _ELISION.sub(r"\1e ", normalise(text))
    for language, name, pattern in _rows():
        match = pattern.fullmatch(plain)
        if match and name == "role" and match["v"].split()[0].capitalize() not in text:
            continue  # a boss who is happy, not one who is Anna
        found = _read(language, name, match.groupdict()) if match else None
        if found:
            return found
    return None


def _read(language: str, name: str, parts: dict[str, str]) -> Attribute | None:
    subject = _subject(f"{parts['s']} {parts.get('o') or ''}")
    value = _value(
        parts["v"],
        named=name in _NAMED_ALONE,
        unspaced=language in languages.unspaced(),
    )
    if not subject or not value:
        return None
    if name == "name" and _COUNTABLE.search(subject[-1]):
        return None
    kind = parts.get("k") or ""
    return Attribute(
        language, subject, kind if name == "role" else f"{name} {kind}".rstrip(), value
    )


def _subject(text: str) -> tuple[str, ...]:
    words = tuple(
        word.removesuffix("'s").removesuffix("'")
        for word in text.split()
        if word not in _ARTICLES
    )
    if (
        len(words) > _MOST_WORDS
        or not _NO_SUBJECT.isdisjoint(words)
        or _NO_SUBJECT_SIGN.search(text)
    ):
        return ()
    return words


def _value(text: str, *, named: bool, unspaced: bool) -> tuple[str, ...]:
    """Return the head of the value, or () if it is not definite.

    It ends at the word that begins another phrase.
    """
    words = text.split()
    head = tuple(
        takewhile(lambda word: word not in _AFTER_VALUE and word not in _SEVERAL, words)
    )
    several = words[len(head) : len(head) + 1]
    if (several and several[0] in _SEVERAL) or (
        unspaced and _SEVERAL_SIGN.search(text)
    ):
        return ()
    if named and head and (head[0] in _INDEFINITE or head[0][0].isdigit()):
        return ()
    return tuple(
        word for word in head if word not in _ARTICLES and word not in _INDEFINITE
    )


def conflict(left: Attribute | None, right: Attribute | None) -> str:
    """Return the attribute for which two statements give different values, or ''.

    A value that is more or less specific (Berlin, Berlin Kreuzberg) is not a conflict,
    nor is one in another language.
    """
    if left is None or right is None:
        return ""
    if (left.language, left.subject, left.name) != (
        right.language,
        right.subject,
        right.name,
    ):
        return ""
    first, second = set(left.value), set(right.value)
    return "" if first <= second or second <= first else left.name
