"""The names by which speakers introduce themselves (rows A20, X2).

Examples are `I'm Jonas` and `ich heiße Katrin`. Section `[introductions]` of the
language files has lists of patterns, one a line. `named` always gives a name (`my name
is Jonas`), `called` a preferred name (`call me Jo`). `maybe` gives one if the sentence
has no other words, if a greeting or a question for the name precedes it, or if more
about the speaker follows (`I'm Jonas`). `greeted` needs the greeting (`this is Jonas`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from engram.core.language import languages
from engram.core.language.states import of_clause
from engram.extraction.rules.table import pattern_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from engram.core.language.states import State

_WORD = (
    r"(?-i:(?=[^\W\d_]*[^\W\d_A-ZÀ-ÖØ-ÞА-ЯЁ])[^\W\d_a-zß-öø-ÿа-яё][^\W\d_]+"
    r"(?:[-'][^\W\d_a-zß-öø-ÿа-яё][^\W\d_]*)*(?!\w))"
)
"""A capitalised word of two letters or more, not all in capitals."""
_PARTICLE = "(?-i:van|von|vom|zu|de|da|do|dos|del|della|di|der|den|du|la|le|bin|al|el)"
_NAME = rf"(?P<n>{_WORD}(?: (?:{_PARTICLE} ){{0,2}}{_WORD}){{0,2}})(?!'s\b)(?![\w-])"
_KINDS = ("called", "named", "maybe", "greeted")
_SURE = ("called", "named")
_SIGNS = " \t,.!;:)(–—-"


@dataclass(frozen=True, slots=True)
class Introduction:
    """A name by which speakers introduce themselves, `text[start:end]`.

    `template` is the statement in the language of the words, with {s} for the subject,
    {p} for the possessive and {o} for the name. `is_wish` is true for a preferred name,
    `is_sure` if no other meaning is likely, `is_backed` if other words make this
    meaning likely.
    """

    name: str
    start: int
    end: int
    template: str
    code: str
    is_wish: bool
    is_sure: bool
    is_backed: bool


@dataclass(frozen=True, slots=True)
class _Language:
    """The patterns of one language, by kind."""

    code: str
    template: str
    wish: str
    greeting: re.Pattern[str]
    asks: re.Pattern[str]
    more: re.Pattern[str]
    refused: re.Pattern[str]
    patterns: tuple[tuple[str, re.Pattern[str]], ...]


@cache
def _languages() -> tuple[_Language, ...]:
    return tuple(
        _read(code, section)
        for code, section in languages.section("introductions").items()
    )


def _read(code: str, section: Mapping[str, str]) -> _Language:
    patterns = [
        (kind, _compiled(entry))
        for kind in _KINDS
        for entry in languages.entries(section.get(kind, ""))
    ]
    patterns.append(("answer", _compiled("<N>")))
    return _Language(
        code,
        section["statement"],
        section.get("wish", section["statement"]),
        _compiled(rf"(?:(?:{section['greeting']})[\s,.!:;–—-]*)+"),
        _compiled(section.get("asks", r"(?!)")),
        _compiled(section.get("more", r"(?!)")),
        _compiled(rf"(?:{languages.pattern(section.get('not_names', '(?!)'))})\Z"),
        tuple(patterns),
    )


@dataclass(frozen=True, slots=True)
class Apposition:
    """What speakers say of themselves right after their name, `text[start:end]`.

    `words` are a clause with "I am" before it, `state` is what it says.
    """

    words: str
    state: State
    start: int
    end: int


def appositions(code: str, text: str, start: int, end: int) -> Iterator[Apposition]:
    """Yield what follows a name up to `end`: `I'm Priya, 41, from Leeds`."""
    begins = languages.texts(_KEY, "further").get(code, "").split(" | ")
    for part in _PART.finditer(text, start, end) if begins[0] else ():
        value, first = part["part"].rstrip(_SIGNS), part.start("part")
        said = (
            Apposition(words, state, first, first + len(value))
            for words in (f"{begin} {value}" for begin in begins)
            for state in of_clause(words)[:1]
        )
        one = next(said, None)
        if one is None:
            return
        yield one


_KEY = "introductions"
_PART = re.compile(r"[ ]*[,;(–—]+[ ]*(?P<part>[^,;()–—]+)")
"""A part between signs, after a name."""


def _compiled(pattern: str) -> re.Pattern[str]:
    text = languages.pattern(pattern).replace("<N>", _NAME).replace("<W>", _WORD)
    return re.compile(text, re.IGNORECASE)


def introduction(
    text: str, start: int, end: int, starts: Sequence[int], preceding: str = ""
) -> Introduction | None:
    """Return the introduction in the sentence `text[start:end]`, or None.

    `starts` are the starts of its clauses; `preceding` is the preceding turn.
    """
    for language in _languages():
        is_asked = "?" in preceding and language.asks.search(preceding) is not None
        greeted_at = _greeted_at(language, text, start, end)

        for place in _places(text, start, end, starts, greeted_at):
            is_greeted = greeted_at == start or place >= greeted_at > start
            for kind, found in _at(language, text, place, end):
                name = " ".join(found["n"].split())
                is_alone = place == start and _is_last(found, end)
                has_more = _has_more(language, kind, found, end)
                is_backed = is_greeted or is_asked or has_more

                is_meant = _is_plausible(
                    kind, is_alone=is_alone, is_asked=is_asked, is_backed=is_backed
                )
                if is_meant and not _is_refused(language, kind, name):
                    return _introduction(
                        language, kind, name, place, found.end(), is_backed=is_backed
                    )
    return None


def _places(
    text: str, start: int, end: int, starts: Sequence[int], greeted_at: int
) -> Iterator[int]:
    """Yield each position of a possible introduction, the likeliest first."""
    cuts = (match.end() for match in _CUT.finditer(text, start, end))
    yield from dict.fromkeys((greeted_at, start, *starts, *cuts))


def _is_last(match: re.Match[str], end: int) -> bool:
    """Return whether only signs follow the match in its sentence."""
    return not match.string[match.end() : end].strip(_SIGNS)


def _has_more(language: _Language, kind: str, match: re.Match[str], end: int) -> bool:
    """Return whether more about the speaker follows a likely name."""
    if kind != "maybe":
        return False
    is_followed = any(appositions(language.code, match.string, match.end(), end))
    return is_followed or bool(language.more.match(match.string, match.end(), end))


def _is_plausible(
    kind: str, *, is_alone: bool, is_asked: bool, is_backed: bool
) -> bool:
    """Return whether words of this kind introduce the speaker in this context."""
    if kind in _SURE:
        return True
    if kind == "answer":
        return is_alone and is_asked
    return is_backed or (kind == "maybe" and is_alone)


def _is_refused(language: _Language, kind: str, name: str) -> bool:
    """Return whether the words are no name; only sure patterns allow unusual ones."""
    if _is_no_name(name):
        return True
    return kind not in _SURE and language.refused.match(name) is not None


def _introduction(
    language: _Language, kind: str, name: str, start: int, end: int, *, is_backed: bool
) -> Introduction:
    """Return the introduction for a match of a pattern of this kind."""
    is_wish = kind == "called"
    return Introduction(
        name,
        start,
        end,
        language.wish if is_wish else language.template,
        language.code,
        is_wish,
        kind in _SURE,
        is_backed,
    )


_NO_NAME = pattern_of("never_names")


def _is_no_name(name: str) -> bool:
    return any(_NO_NAME.match(word) for word in name.split())


def _greeted_at(language: _Language, text: str, start: int, end: int) -> int:
    """Return the end of the greeting of a sentence, or -1 without a greeting.

    It is `start` if the greeting is in the preceding sentence.
    """
    match = language.greeting.match(text, start, end)
    if match and match.end() < end:
        return match.end()
    before = text[:start].rstrip()
    last = max(before[:-1].rfind(sign) for sign in ".!?。！\n") + 1
    return (
        start if before and language.greeting.fullmatch(before[last:].strip()) else -1
    )


_CUT = re.compile(
    rf"[,;:，、][ ]*(?:(?:{languages.any_pattern('introductions', 'joins')})[ ])?"
    rf"|[ ](?:{languages.any_pattern('introductions', 'joins')})[ ]",
    re.IGNORECASE,
)
"""The words and signs after which a main clause may begin."""


def _at(
    language: _Language, text: str, place: int, end: int
) -> Iterator[tuple[str, re.Match[str]]]:
    if place < 0:
        return
    for kind, pattern in language.patterns:
        if match := pattern.match(text, place, end):
            yield kind, match
