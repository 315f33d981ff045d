"""Find the parts of a turn that another author wrote: quoted, forwarded or pasted.

The offline rules ignore such a part, and a statement that a model extracts from it does
not count as the user's (rows X2, X27). Words of mail headers and the like are in
section `[quotations]` of the language files.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from engram.core.language import languages
from engram.core.language.synonyms import synonyms

if TYPE_CHECKING:
    from collections.abc import Iterator

_MARKS = re.compile(
    r"(?<!\w)\"(?=\S)(?:[^\"]+\"|[^\"\n]+)"  # one that is left open ends with its line
    r"|„[^“”„]+[“”]|“[^“”]+”|«[^«»]+»|»[^«»]+«|「[^「」]+」|『[^『』]+』"
    r"|(?<!\w)[‘'][^'‘’\n]{2,80}[’'](?!\w)"
)
_BLOCKS = re.compile(r"(```|~~~).*?(?:\1|\Z)|^[ \t]*>[^\n]*", re.DOTALL | re.MULTILINE)
_PATTERNS = {
    key: languages.any_pattern("quotations", key)
    for key in languages.keys("quotations")
}
_HEADED = re.compile(
    r"^[ \t>]*(?:-{2,}[^\n]{0,20}\b"
    rf"(?:{_PATTERNS['forwarded']})\b[^\n]*"
    r"|(?:begin )?forwarded message:"
    rf"|(?:{_PATTERNS['first_header']})[ \t]?:[ \t]*\S[^\n]*\n[ \t>]*"
    rf"(?:{_PATTERNS['header']})[ \t]?:"
    rf"|(?:{_PATTERNS['subject']})[ \t]?:[ \t]*\S"
    rf"|(?:{_PATTERNS['wrote']})[ \t]?:[ \t]*$)",
    re.IGNORECASE | re.MULTILINE,
)
_PASSED_ON = re.compile(
    rf"^(?=[^\n]*\b(?:{_PATTERNS['passes_on']})\b)[^\n]*:[ \t]*\n",
    re.IGNORECASE | re.MULTILINE,
)
"""A line with a colon at its end that announces a text, which goes on to the end."""


_LABEL = re.compile(
    r"(?:^|(?<=[.!?:…)]\s)|(?<=\n))[ \t]*(?:\[?\d{1,2}[:.]\d{2}[^\]\n]{0,20}\]?[ \t]*)?"
    r"(?P<name>[A-ZÀ-ÖØ-Þ][\w'’-]{1,20}(?: [A-ZÀ-ÖØ-Þ][\w'’-]*)?):[ \t](?=\S)"
)
"""The name of a speaker before their words in a pasted chat: `Amma: I'm home.`"""
_SPEAKERS = 2
"""The fewest names that make a chat."""


def _chat(text: str) -> Iterator[tuple[int, int]]:
    """Yield the words of each speaker of a pasted chat, up to the end of their line."""
    labels = [one for one in _LABEL.finditer(text) if _is_speaker(one["name"])]
    if len({one["name"] for one in labels}) < _SPEAKERS:
        return
    ends = [*(one.start() for one in labels[1:]), len(text)]
    for label, end in zip(labels, ends, strict=True):
        line = text.find("\n", label.end(), end)
        yield label.start(), line if line >= 0 else end


def _is_speaker(name: str) -> bool:
    """Whether a label is the name of a person: `Amma` or `Mum`, not `Breakfast`."""
    word = name.casefold()
    return word in _relatives() or not (synonyms(word) or word in _not_names())


@cache
def _relatives() -> frozenset[str]:
    groups = languages.section("permanent_attributes.groups").values()
    return frozenset(
        word.casefold()
        for one in groups
        for word in languages.phrases(one.get("kin", ""))
    )


@cache
def _not_names() -> frozenset[str]:
    """The words before a colon that are headings and not names of persons."""
    weekdays = " ".join(languages.texts("dates", "weekdays").values())
    listed = languages.all_words("quotations", "labels")
    return listed.union(weekdays.casefold().replace("/", " ").split())


def parts(text: str) -> tuple[tuple[int, int], ...]:
    """Return the spans of `text` by another author, in order and disjoint.

    (Rows `X2`, `X27`.) `He said "go" twice` has the one part `"go"`. A text announced
    by a line or below the head of a forwarded message goes on to the end, because its
    end is not marked. Linear.
    """
    found = [
        one.span() for pattern in (_BLOCKS, _MARKS) for one in pattern.finditer(text)
    ]
    found += _chat(text)
    if headed := _HEADED.search(text):
        found.append((headed.start(), len(text)))
    if announced := _PASSED_ON.search(text):
        found.append((announced.end(), len(text)))
    return tuple(_joined(sorted(found)))


def _joined(found: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Overlapping places as one."""
    start, end = -1, -1
    for first, last in found:
        if first >= end:
            if end > start:
                yield start, end
            start = first
        end = max(end, last)
    if end > start:
        yield start, end


def quoted(text: str, words: str) -> str:
    """Return the part by another author that contains `words`, or '' (`X27`).

    It is '' also if `words` occur outside such a part. `quoted('She wrote "I live in
    Rome."', "I live in Rome") == '"I live in Rome."'`.
    """
    known = parts(text)
    held = ""
    place = text.find(words) if words else -1
    while place >= 0:
        end = place + len(words)
        around = next((one for one in known if one[0] <= place and end <= one[1]), None)
        if around is None:
            return ""
        held = held or text[around[0] : around[1]]
        place = text.find(words, end)
    return held


_TITLE = re.compile(r"[A-Z0-9][^.!?]*[.!?]?\Z")
_SPEECH = re.compile(rf"\b(?:{_PATTERNS['speech']})\b", re.IGNORECASE)


def is_title(part: str) -> bool:
    """Return whether a quoted part is a title, not speech: `"Charlotte's Web"`."""
    inner = part.strip("\"'“”„«»‘’")
    return (
        len(inner.split()) <= 8
        and _TITLE.match(inner) is not None
        and not _SPEECH.search(inner)
    )
