"""The name that speakers give themselves: `I'm Jonas`, `ich heiße Katrin` (rows A20, X2).

Section `[introductions]` of the language files has lists of patterns, one a line.
`named` always gives a name (`my name is Jonas`), `called` one by which the speaker
wants to be called (`call me Jo`). `maybe` gives one where nothing else
is said, a greeting or a question for the name comes before, or more about oneself comes
after (`I'm Jonas`). `greeted` needs the greeting (`this is Jonas`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from engram.core.language import languages
from engram.extraction.rules.table import pattern_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
    """A name that speakers give themselves, at `start` to `end` of the text.

    `template` is the statement in the language of the words, with {s} for the subject,
    {p} for whose and {o} for the name. `is_wish` tells that it says how the speaker
    wants to be called, `is_sure` that no other reading is likely, `is_backed` that other
    words make this one likely.
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


def _compiled(pattern: str) -> re.Pattern[str]:
    text = languages.pattern(pattern).replace("<N>", _NAME).replace("<W>", _WORD)
    return re.compile(text, re.IGNORECASE)


def introduction(
    text: str, start: int, end: int, starts: Sequence[int], asked: str = ""
) -> Introduction | None:
    """The name that the sentence `text[start:end]` gives its speaker, or None.

    `starts` are the starts of its clauses; `asked` is what was said before the turn.
    """
    for language in _languages():
        is_asked = "?" in asked and language.asks.search(asked) is not None
        greeted_at = _greeted_at(language, text, start, end)

        for place in _places(text, start, end, starts, greeted_at):
            is_greeted = greeted_at == start or place >= greeted_at > start
            for kind, found in _at(language, text, place, end):
                name = " ".join(found["n"].split())
                is_alone = place == start and _is_last(found, end)
                has_more = _has_more(language, kind, found, end)
                is_backed = is_greeted or is_asked or has_more

                is_meant = _is_meant(
                    kind, is_alone=is_alone, is_asked=is_asked, is_backed=is_backed
                )
                if is_meant and not _is_refused(language, kind, name):
                    return _given(
                        language, kind, name, place, found.end(), is_backed=is_backed
                    )
    return None


def _places(
    text: str, start: int, end: int, starts: Sequence[int], greeted_at: int
) -> Iterator[int]:
    """Yield each place where an introduction may begin, the likeliest first."""
    cuts = (found.end() for found in _CUT.finditer(text, start, end))
    yield from dict.fromkeys((greeted_at, start, *starts, *cuts))


def _is_last(found: re.Match[str], end: int) -> bool:
    """Tell whether only signs follow the match in its sentence."""
    return not found.string[found.end() : end].strip(_SIGNS)


def _has_more(language: _Language, kind: str, found: re.Match[str], end: int) -> bool:
    """Tell whether more about oneself follows a likely name."""
    return kind == "maybe" and bool(language.more.match(found.string, found.end(), end))


def _is_meant(kind: str, *, is_alone: bool, is_asked: bool, is_backed: bool) -> bool:
    """Tell whether words of this kind introduce the speaker where they stand."""
    if kind in _SURE:
        return True
    if kind == "answer":
        return is_alone and is_asked
    return is_backed or (kind == "maybe" and is_alone)


def _is_refused(language: _Language, kind: str, name: str) -> bool:
    """Tell whether the words are no name; only a sure pattern allows unusual ones."""
    if _is_no_name(name):
        return True
    return kind not in _SURE and language.refused.match(name) is not None


def _given(
    language: _Language, kind: str, name: str, start: int, end: int, *, is_backed: bool
) -> Introduction:
    """Return the introduction that a pattern of this kind gives."""
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
    """Where the greeting of a sentence ends; `start` for one in the sentence before.

    -1 if there is none.
    """
    found = language.greeting.match(text, start, end)
    if found and found.end() < end:
        return found.end()
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
        if found := pattern.match(text, place, end):
            yield kind, found
