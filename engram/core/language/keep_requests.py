"""Requests to remember something, and the words that they ask to keep (law 1).

`Don't forget: the spare key is under the pot.` asks before the words, `…, please
remember that.` after them. The patterns are in section `[keep_requests]` of the language
files; in scripts without blanks a request may stand anywhere in its sentence.
"""

from __future__ import annotations

import re
from functools import cache

from engram.core.language import languages
from engram.core.language.languages import LazyPattern
from engram.core.language.sentences import sentences

REMEMBER_TAG = "remember"
"""The tag of a memory that the user asked to keep in a conversation."""

_KEY = "keep_requests"
_QUESTION = re.compile(r"[?？吗嗎]\s*$")
_EDGES = " \t,;:，：、–—-"
_FEWEST_WORDS, _FEWEST_SIGNS = 3, 4
"""Words, or characters without blanks, of what is worth keeping."""


def asked_to_keep(text: str, quote: str) -> bool:
    """Whether `text` asks to remember the words of `quote`, or a part of them.

    "Please remember that the key is under the pot" does; "Do you remember the film?"
    and "Remember to call" do not (law 1).
    """
    place = text.find(quote) if quote else -1
    end = place + len(quote)
    return place >= 0 and any(
        first < end and place < last for first, last in words_to_keep(text)
    )


def words_to_keep(text: str) -> list[tuple[int, int]]:
    """The places of the words that `text` asks to remember, in their order.

    >>> text = "Hi! Don't forget: the key is under the pot."
    >>> [text[start:end] for start, end in words_to_keep(text)]
    ['the key is under the pot']
    """
    found: list[tuple[int, int]] = []
    listed = list(sentences(text))
    for number, (start, end) in enumerate(listed):
        place = _in_sentence(text, start, end)
        if place is None:
            continue
        if _is_enough(text[slice(*place)]):
            found.append(place)
        elif number and not text[:end].endswith((":", "：")):  # "…. Remember that."
            found.append(listed[number - 1])
        elif number + 1 < len(listed):  # "Remember this: …"
            found.append((listed[number + 1][0], listed[-1][1]))
            break
    return list(dict.fromkeys(found))


def language_of_request(text: str) -> str:
    """The language of the first request in a text, '' where none is known."""
    for code, patterns in _of_languages():
        if any(pattern.search(text) for pattern in patterns):
            return code
    return ""


@cache
def _of_languages() -> tuple[tuple[str, tuple[LazyPattern, ...]], ...]:
    return tuple(
        (
            code,
            tuple(
                LazyPattern(rf"(?i)(?<!\w)(?:{languages.pattern(values[key])})")
                for key in ("before", "after", "anywhere")
                if key in values
            ),
        )
        for code, values in languages.section(_KEY).items()
    )


def after_request(text: str, start: int, end: int) -> int | None:
    """Where the words begin that a request at the start of `text[start:end]` asks to
    keep; None without such a request.
    """
    found = _before().match(text, start, end)
    return found.end() if found else None


def _is_enough(words: str) -> bool:
    """Whether some words are enough to be kept as they are."""
    if len(words.split()) >= _FEWEST_WORDS:
        return True
    letters = [char for char in words if char.isalpha()]
    signs = [char for char in letters if char > _LAST_SPACED]
    return len(signs) >= _FEWEST_SIGNS


_LAST_SPACED = "\u2fff"
"""The last character of the scripts with blanks between words."""


def _stripped(
    text: str, start: int, end: int, chars: str = " \t\r\n"
) -> tuple[int, int]:
    """The place `start:end` without some characters at its edges."""
    part = text[start:end]
    start += len(part) - len(part.lstrip(chars))
    return start, max(start, start + len(text[start:end].rstrip(chars)))


def _in_sentence(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The words that a sentence asks to keep, empty for others than its own.

    None without a request.
    """
    is_question = _QUESTION.search(text, start, end) is not None
    if found := _before().match(text, start, end):
        if is_question and not _asked().search(found["openings"]):
            return None
        return _stripped(text, found.end(), end, _EDGES + ".!?")
    if is_question:
        return None
    if found := _after().search(text, start, end):
        return _stripped(text, start, found.start(), _EDGES)
    if found := _anywhere().search(text, start, end):
        first = _stripped(text, start, found.start(), _EDGES)
        last = _stripped(text, found.end(), end, _EDGES + ".!。！")
        longer = max(first, last, key=lambda place: place[1] - place[0])
        return longer if longer[0] < longer[1] else (start, start)
    return None


@cache
def _before() -> re.Pattern[str]:
    """The request at the beginning of a sentence."""
    request, joins = languages.any_pattern(_KEY, "before"), _alternatives("joins")
    return re.compile(
        rf"\W*(?P<openings>{_openings()})(?:{request})"
        rf"(?:[\s,;:–—-]+(?:(?:{joins})(?:(?<=')|(?!\w)))?)*",
        re.IGNORECASE,
    )


@cache
def _after() -> re.Pattern[str]:
    """The request at the end of a sentence, or as a sentence of its own."""
    request = languages.any_pattern(_KEY, "after")
    return re.compile(
        r"(?:^|(?<=[.!?,;:–—\n-])|(?<=[.!?,;:–—-]\s))\s*"
        rf"{_openings()}(?:{request})[\s.!]*$",
        re.IGNORECASE,
    )


def _openings() -> str:
    """The words that may stand before a request."""
    return rf"(?:(?:{_alternatives('openings')}|{_alternatives('asked')})[, ]+)*"


@cache
def _asked() -> re.Pattern[str]:
    """The words that ask for something in the form of a question."""
    return re.compile(_alternatives("asked"), re.IGNORECASE)


@cache
def _anywhere() -> re.Pattern[str]:
    """The request in scripts without blanks."""
    return re.compile(languages.any_pattern(_KEY, "anywhere"))


def _alternatives(key: str) -> str:
    return "|".join(
        phrase
        for listed in languages.texts(_KEY, key).values()
        for phrase in languages.phrases(listed)
    )
