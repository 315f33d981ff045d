"""Requests to remember something, and the words to remember (law 1).

`Don't forget: the spare key is under the pot.` has the request before the words, `…,
please remember that.` after them. The patterns are in section `[keep_requests]` of the
language files; in scripts without blanks a request may be anywhere in its sentence.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from engram.core.language import languages
from engram.core.language.languages import LazyPattern, Screen
from engram.core.language.secrets import is_redacted
from engram.core.language.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Iterator

REMEMBER_TAG = "remember"
"""The tag of a memory that the user asked to keep in a conversation."""

_KEY = "keep_requests"
_QUESTION = re.compile(r"[?？吗嗎]\s*$")
_AND_THAT = LazyPattern(languages.any_pattern(_KEY, "and_that"), re.IGNORECASE)
_REMINDS = LazyPattern(languages.any_pattern(_KEY, "reminds"), re.IGNORECASE)
_EDGES = " \t,;:，：、–—-"
_FEWEST_WORDS, _FEWEST_SIGNS = 3, 4
"""The least number of words, or of characters without blanks, worth remembering."""


def asked_to_keep(text: str, quote: str) -> bool:
    """Return whether `text` asks to remember the words of `quote`, or a part of them.

    "Please remember that the key is under the pot" does; "Do you remember the film?"
    and "Remember to call" do not (law 1).
    """
    place = text.find(quote) if quote else -1
    end = place + len(quote)
    return place >= 0 and any(
        first < end and place < last for first, last in words_to_keep(text)
    )


def asked_to_keep_secret(text: str) -> bool:
    """Return whether the words that `text` asks to remember contain a redacted secret."""
    return is_redacted(text) and any(
        is_redacted(text[start:end]) for start, end in words_to_keep(text)
    )


def asks_reminder(text: str) -> bool:
    """Return whether `text` asks for a reminder of what else it says."""
    return _REMINDS.search(text) is not None


def words_to_keep(text: str) -> list[tuple[int, int]]:
    """Return the spans of the words that `text` asks to remember, in their order.

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


def requested_parts(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of the sentences to remember in `text[start:end]`.

    `I moved, and that my rent is due on the 3rd` has two.
    """
    for first, last in sentences(text[start:end]):
        place = start + first
        for match in _AND_THAT.finditer(text, place, start + last):
            if _is_enough(text[place : match.start()]):
                yield place, match.start()
                place = match.end()
        yield place, start + last


def language_of_request(text: str) -> str:
    """Return the language of the first request in a text, or '' if it is unknown."""
    return next(_languages().found(text), "")


@cache
def _languages() -> Screen[str]:
    return Screen(
        (
            code,
            LazyPattern(rf"(?<!\w)(?:{languages.pattern(values[key])})", re.IGNORECASE),
        )
        for code, values in languages.section(_KEY).items()
        for key in ("before", "after", "reminds", "anywhere")
        if key in values
    )


def after_request(text: str, start: int, end: int) -> int | None:
    """Return the beginning of the words after a request at the start of a span.

    The span is `text[start:end]`; without such a request the result is None.
    """
    before = dict(_forms().of(text[start:end])).get("before")
    match = before.match(text, start, end) if before else None
    return match.end() if match else None


def _is_enough(words: str) -> bool:
    """Return whether the words are enough for a memory."""
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
    """Return the span `start:end` without some characters at its edges."""
    part = text[start:end]
    start += len(part) - len(part.lstrip(chars))
    return start, max(start, start + len(text[start:end].rstrip(chars)))


def _in_sentence(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the span of the words that a sentence asks to remember, or None.

    The span is empty if the words are not in the sentence itself. None means that there
    is no request.
    """
    forms = dict(_forms().of(text[start:end]))
    if not forms:
        return None
    is_question = _QUESTION.search(text, start, end) is not None
    if "before" in forms and (match := forms["before"].match(text, start, end)):
        if is_question and not _asked().search(match["openings"]):
            return None
        return _stripped(text, match.end(), end, _EDGES + ".!?")
    if is_question:
        return None
    if "after" in forms and (match := forms["after"].search(text, start, end)):
        return _stripped(text, start, match.start(), _EDGES)
    if "anywhere" in forms and (match := forms["anywhere"].search(text, start, end)):
        first = _stripped(text, start, match.start(), _EDGES)
        last = _stripped(text, match.end(), end, _EDGES + ".!。！")
        longer = max(first, last, key=lambda place: place[1] - place[0])
        return longer if longer[0] < longer[1] else (start, start)
    return None


@cache
def _forms() -> Screen[str]:
    """Return the patterns of requests before, after and among the words."""
    request, joins = languages.any_pattern(_KEY, "before"), _alternatives("joins")
    after, reminds = (languages.any_pattern(_KEY, key) for key in ("after", "reminds"))
    rows = (
        (
            "before",
            (
                rf"\W*(?P<openings>{_openings()})(?:{request})"
                rf"(?:[\s,;:–—-]+(?:(?:{joins})(?:(?<=')|(?!\w)))?)*"
            ),
        ),
        (
            "after",
            (
                r"(?:^|(?<=[.!?,;:–—\n-])|(?<=[.!?,;:–—-]\s))\s*"
                rf"{_openings()}(?:{after}|{reminds})(?:[ ,]+(?:{_alternatives('openings')}))?[\s.!]*$"
            ),
        ),
        ("anywhere", languages.any_pattern(_KEY, "anywhere")),
    )
    return Screen((name, LazyPattern(form, re.IGNORECASE)) for name, form in rows)


def _openings() -> str:
    """Return the alternatives of words that may precede a request."""
    return rf"(?:(?:{_alternatives('openings')}|{_alternatives('asked')})[, ]+)*"


@cache
def _asked() -> re.Pattern[str]:
    """Return the pattern of a request in the form of a question."""
    return re.compile(_alternatives("asked"), re.IGNORECASE)


def _alternatives(key: str) -> str:
    return "|".join(
        phrase
        for listed in languages.texts(_KEY, key).values()
        for phrase in languages.phrases(listed)
    )
