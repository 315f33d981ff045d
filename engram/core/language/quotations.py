"""Find the parts of a turn that another author wrote: quoted, forwarded or pasted.

The offline rules ignore such a part, and a statement that a model extracts from it does
not count as the user's (rows X2, X27). Words of mail headers and the like are in
section `[quotations]` of the language files.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engram.core.language import languages

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


def parts(text: str) -> tuple[tuple[int, int], ...]:
    """Return the spans of `text` by another author, in order and disjoint.

    (Rows `X2`, `X27`.) `He said "go" twice` has the one part `"go"`. A text announced
    by a line or below the head of a forwarded message goes on to the end, because its
    end is not marked. Linear.
    """
    found = [
        one.span() for pattern in (_BLOCKS, _MARKS) for one in pattern.finditer(text)
    ]
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
