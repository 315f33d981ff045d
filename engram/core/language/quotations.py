"""Find the parts of a turn that another author wrote: quoted, forwarded or pasted.

The offline rules ignore such a part, and a statement that a model extracts from it does
not count as the user's (rows X2, X27). Words of mail headers and the like are in
section `[quotations]` of the language files.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from engram.core.language import languages
from engram.core.language.languages import LazyPattern
from engram.core.language.synonyms import synonyms
from engram.core.language.words import FIRST_PERSON, content, fold, of_oneself, words

if TYPE_CHECKING:
    from collections.abc import Iterator

_MARKS = LazyPattern(
    r"(?<!\w)\"(?=\S)(?:[^\"]+\"|[^\"\n]+)"  # one that is left open ends with its line
    r"|„[^“”„]+[“”]|“[^“”]+”|«[^«»]+»|»[^«»]+«|「[^「」]+」|『[^『』]+』"
    r"|(?<!\w)[‘'][^'‘’\n]{2,80}[’'](?!\w)"
)
_BLOCKS = LazyPattern(r"(```|~~~).*?(?:\1|\Z)|^[ \t]*>[^\n]*", re.DOTALL | re.MULTILINE)
_TAGGED = LazyPattern(
    r"^[ \t]*<(?P<tag>[a-z][\w-]*)(?: [^<>\n]*)?>[ \t]*\n.*?(?:</(?P=tag)>|\Z)",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
"""A document between two tags, of which the first has a line of its own."""
_RULED = LazyPattern(
    r"[?:：？][ \t]*\n\s*(?P<part>-{3,}[ \t]*\n.*?(?:\n-{3,}[ \t]*$|\Z))",
    re.DOTALL | re.MULTILINE,
)
"""A text below a question or a colon and a line of dashes, up to the next such line."""
_PATTERNS = {
    key: languages.any_pattern("quotations", key)
    for key in languages.keys("quotations")
}
_HEADED = LazyPattern(
    r"^[ \t>]*(?:-{2,}[^\n]{0,20}\b"
    rf"(?:{_PATTERNS['forwarded']})\b[^\n]*"
    r"|(?:begin )?forwarded message:"
    rf"|(?:{_PATTERNS['first_header']})[ \t]?:[ \t]*\S[^\n]*\n[ \t>]*"
    rf"(?:{_PATTERNS['header']})[ \t]?:"
    rf"|(?:{_PATTERNS['subject']})[ \t]?:[ \t]*\S"
    rf"|(?:{_PATTERNS['wrote']})[ \t]?:[ \t]*$)",
    re.IGNORECASE | re.MULTILINE,
)
_ANNOUNCES = LazyPattern("[:：]|--")
"""A sign that every head, label and announcement of words has."""
_PASSED_ON = LazyPattern(
    rf"^(?=[^\n]*\b(?:{_PATTERNS['passes_on']})\b)[^\n]*:[ \t]*\n",
    re.IGNORECASE | re.MULTILINE,
)
"""A line with a colon at its end, which announces a text up to the end of the turn."""


_WORKED_ON = LazyPattern(
    r"^[ \t]*(?:(?!(?:i|let|ich|lass|je|laisse|yo|déjame|io|eu|ik|laat|я)\b)[^\W\d_]+[ ,]+){0,4}?"
    rf"(?:{_PATTERNS['works_on']})[^\n:：]{{0,80}}[:：][ \t]*(?=\S)",
    re.IGNORECASE | re.MULTILINE,
)
"""A request to process a text after a colon: "Translate: I live in …"."""


_LABEL = LazyPattern(
    r"(?:^|(?<=[.!?:…)]\s)|(?<=\n))[ \t]*(?:\[?\d{1,2}[:.]\d{2}[^\]\n]{0,20}\]?[ \t]*)?"
    r"(?P<name>[A-ZÀ-ÖØ-Þ][\w'’-]{1,20}(?: [A-ZÀ-ÖØ-Þ][\w'’-]*)?):[ \t](?=\S)"
)
"""The name of a speaker before their words in a pasted chat: `Amma: I'm home.`"""
_SPEAKERS = 2
"""The least number of names in a chat."""


def _chat(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of words in a pasted chat, each up to the end of its line."""
    labels = [one for one in _LABEL.finditer(text) if _is_speaker(one["name"])]
    if len({one["name"] for one in labels}) < _SPEAKERS:
        return
    ends = [*(one.start() for one in labels[1:]), len(text)]
    for label, end in zip(labels, ends, strict=True):
        line = text.find("\n", label.end(), end)
        yield label.start(), line if line >= 0 else end


def _is_speaker(name: str) -> bool:
    """Return whether a label is a person's name: `Amma` or `Mum`, not `Breakfast`."""
    word = name.casefold()
    if word in FIRST_PERSON:
        return True
    is_relative = _RELATIVE.fullmatch(word) is not None
    return is_relative or not (synonyms(word) or word in _not_names())


_RELATIVE = languages.LazyPattern(languages.any_pattern("words", "relatives"))


@cache
def _not_names() -> frozenset[str]:
    """Return the words before a colon that are headings and not names of persons."""
    weekdays = " ".join(languages.texts("dates", "weekdays").values())
    listed = languages.all_words("quotations", "labels")
    return listed.union(weekdays.casefold().replace("/", " ").split())


@lru_cache(maxsize=1 << 5)
def parts(text: str) -> tuple[tuple[int, int], ...]:
    """Return the spans of `text` by another author, in order and disjoint.

    (Rows `X2`, `X27`.) `He said "go" twice` has the one part `"go"`. A text that a line
    announces, or that is below the head of a forwarded message, extends to the end,
    because its end is not marked. The time is linear in the length.
    """
    found = [
        match.span()
        for pattern in (_BLOCKS, _MARKS, _TAGGED)
        for match in pattern.finditer(text)
    ]
    found += [one.span("part") for one in _RULED.finditer(text)]
    if not _ANNOUNCES.search(text):
        return tuple(_joined(sorted(found)))
    found += _chat(text)
    if headed := _HEADED.search(text):
        found.append((headed.start(), len(text)))
    for announcement in (_PASSED_ON, _WORKED_ON):
        if announced := announcement.search(text):
            found.append((announced.end(), len(text)))
    return tuple(_joined(sorted(found)))


def _joined(found: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the spans with overlapping ones merged."""
    start, end = -1, -1
    for first, last in found:
        if first >= end:
            if end > start:
                yield start, end
            start = first
        end = max(end, last)
    if end > start:
        yield start, end


def without_parts(text: str) -> str:
    """Return `text` without the parts that another author wrote."""
    for start, end in reversed(parts(text)):
        text = text[:start] + "\n" + text[end:]
    return text


def quoted(text: str, words: str) -> str:
    """Return the part by another author that contains `words`, or '' (`X27`).

    It is '' also if `words` occur outside such a part. `quoted('She wrote "I live in
    Rome."', "I live in Rome") == '"I live in Rome."'`.
    """
    known = parts(text)
    part = ""
    place = text.find(words) if words else -1
    while place >= 0:
        end = place + len(words)
        span = next(
            (
                part_span
                for part_span in known
                if part_span[0] <= place and end <= part_span[1]
            ),
            None,
        )
        if span is None:
            return ""
        part = part or text[span[0] : span[1]]
        place = text.find(words, end)
    return part


def narrowed(text: str, quote: str, statement: str) -> str:
    """Return the part of `quote` by another author if `statement` rests on it alone.

    `quote` occurs in `text` and extends beyond such a part. For the quote `Translate:
    "I live in Rome."`, the statement "The user lives in Rome." gives `I live in Rome.`,
    and "The user asks for a translation." gives the whole quote.
    """
    start = text.find(quote) if quote else -1
    if start < 0 or quoted(text, quote):
        return quote
    end = start + len(quote)
    inside = [
        (max(start, first), min(end, last))
        for first, last in parts(text)
        if first < end and start < last
    ]
    told = _stems(statement)
    shared = [told & _stems(text[first:last]) for first, last in inside]
    own = quote
    for first, last in reversed(inside):
        own = own[: first - start] + " " + own[last - start :]
    best = max(range(len(inside)), key=lambda place: len(shared[place]), default=None)
    if best is None or not shared[best] or told & _stems(own):
        return quote
    first, last = inside[best]
    return text[first:last].strip(_QUOTATION_SIGNS) or quote


_QUOTATION_SIGNS = " \t\n>\"'“”„«»‘’「」『』"
_STEM = 5
"""The number of letters that identify the forms of a word."""


def _stems(text: str) -> frozenset[str]:
    """Return the beginnings of the meaningful words, without words for the user."""
    nouns = languages.all_words("topics", "user_nouns")
    carrying = content(words(text), "en")
    return frozenset(word[:_STEM] for word in carrying if word not in nouns)


_TITLE = LazyPattern(r"[A-Z0-9][^.!?]*[.!?]?\Z")
_SPEECH = LazyPattern(rf"\b(?:{_PATTERNS['speech']})\b", re.IGNORECASE)


def is_title(part: str) -> bool:
    """Return whether a quoted part is a title, not speech: `"Charlotte's Web"`."""
    inner = part.strip("\"'“”„«»‘’")
    return (
        len(inner.split()) <= 8
        and _TITLE.match(inner) is not None
        and not _SPEECH.search(inner)
        and not of_oneself(fold(inner))
    )
